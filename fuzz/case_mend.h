// Any case becomes one that an operation takes and that is answered quickly: what belongs together
// fits, parameters are within their limits, and the work is bounded.
#pragma once

#include "oracle/case.h"

namespace leafproof::fuzz {

/// How much work a case is, roughly: elements of the result, pairs and products, and the nodes of
/// every root tile, which are zeroed. A case that must be refused for its parameters costs little.
/// Never throws. O(voxels).
double cost_of(const oracle::Case& c);

/// Up to here a case is asked of every backend: some milliseconds of each.
constexpr double kBudget = 12'000;

/// Mends in place, field by field; what already fits stays as it is. Afterwards the case can be
/// written, cost_of() it is at most kBudget, and it is refused for its range alone ([L-5], [V-6]).
/// O(voxels), and the complete target of gradients.
void mend(oracle::Case& c);

}  // namespace leafproof::fuzz
