// The second implementation: sets of voxels in, sets of voxels out.
#pragma once

#include "tests/faults/plain_lattice.h"

namespace leafproof::faults {

/// Members as the passes read them: the view's, split out of one list of rows by their offsets.
Batch members_read(Fault fault, const Case& question);

/// The voxels of a pass of [T] on `source`, maps and names with them. Refusals as [E-1], by the
/// checks of the reference but for those that a fault bends.
Batch passed(Fault fault, const Case& question, const Batch& source);

/// [K-3] [K-4]
Batch support(Fault fault, const Kernel& kernel, Direction direction, const Batch& source);

}  // namespace leafproof::faults
