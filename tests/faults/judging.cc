#include "tests/faults/judging.h"

#include <fmt/format.h>

#include "oracle/backends/builder_backend.h"
#include "oracle/backends/reference_backend.h"
#include "oracle/judge.h"

namespace leafproof::faults {

Killed judged(const Case& question, const std::function<oracle::Answer()>& answer) {
  const auto reference = oracle::make_reference_backend();
  oracle::Standard standard(question, *reference);
  oracle::Verdict verdict;
  try {
    verdict = standard.judge(answer());
  } catch (const gpu::Error& error) {
    verdict = standard.judge(oracle::translated(error));
  } catch (const std::exception& error) {
    verdict = oracle::verdict_of_exception(error);
  }
  return killed_by(std::move(verdict), question.op);
}

Killed killed_by(oracle::Verdict verdict, Op op) {
  if (verdict.ok()) return {};
  verdict = oracle::of_operation(op, std::move(verdict));
  const oracle::Difference none{};
  const oracle::Difference& first = verdict.first ? *verdict.first : none;
  return Kill{verdict.first ? first.what : "not implemented: " + verdict.reason, first.clause,
              std::move(verdict)};
}

}  // namespace leafproof::faults
