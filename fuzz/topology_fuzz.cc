// Every pass of [T] on every backend against the reference: batches and views, masks, maps and
// names, refusals.
#include "fuzz/case_target.h"
#include "fuzz/differential.h"

namespace leafproof::fuzz {

const std::vector<oracle::Op>& target_ops() {
  return oracle::topology_ops();
}

void try_case(const oracle::Case& question, bool rarely) {
  demand_the_reference(question, rarely);
}

}  // namespace leafproof::fuzz
