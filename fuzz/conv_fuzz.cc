// Every operation of convolution on every backend against the reference: grids, kernel maps in both
// forms, numbers and gradients of every type, of batches and views, onto complete and restricted
// targets.
#include "fuzz/case_target.h"
#include "fuzz/differential.h"

namespace leafproof::fuzz {

const std::vector<oracle::Op>& target_ops() {
  return oracle::convolution_ops();
}

void try_case(const oracle::Case& question, bool rarely) {
  demand_the_reference(question, rarely);
}

}  // namespace leafproof::fuzz
