// An answer judged: where it differs from the reference's the input is a finding, with the report.
#pragma once

#include <string>

#include "fuzz/target.h"
#include "oracle/backend.h"
#include "oracle/compare.h"
#include "oracle/report.h"

namespace leafproof::fuzz {

inline void demand_equal(const oracle::Case& question, const oracle::Backend& backend,
                         const oracle::Answer& expected, const oracle::Answer& actual,
                         oracle::Profile profile) {
  const oracle::Verdict verdict = oracle::compare(expected, actual, profile, /*judge_maps=*/true);
  if (verdict.outcome == oracle::Outcome::Different) {
    finding(std::string(backend.name()) + ", " + std::string(to_string(question.op)) + ": " +
            text_verdict(verdict));
  }
}

}  // namespace leafproof::fuzz
