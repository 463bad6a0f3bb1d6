// A case asked of every backend, and judged as `verify` judges it.
#pragma once

#include "fuzz/sides.h"
#include "oracle/judge.h"

namespace leafproof::fuzz {

inline void demand_the_reference(const oracle::Case& question, bool rarely) {
  const oracle::Standard standard(question, reference_side());
  for (const oracle::Backend* side : candidates(rarely)) {
    const oracle::Verdict verdict = standard.judge(side->answer(question));
    if (verdict.outcome == oracle::Outcome::Different)
      finding_in(question, *side, text_verdict(verdict));
  }
}

}  // namespace leafproof::fuzz
