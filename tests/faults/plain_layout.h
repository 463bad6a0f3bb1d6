// The second implementation: the nodes, offsets and boxes of a batch [G].
#pragma once

#include "reference/layout.h"
#include "tests/faults/plain_lattice.h"

namespace leafproof::faults {

/// Leaves as the voxels come, then the levels above them, one after the other.
reference::Layout laid_out(Fault fault, const Batch& batch);

}  // namespace leafproof::faults
