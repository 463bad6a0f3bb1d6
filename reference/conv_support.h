// The complete targets of a convolution: every voxel that the relation joins to one of the source
// [K-3], [K-4].
#pragma once

#include "reference/conv_structs.h"

namespace leafproof::reference {

/// [K-3] Every coarse voxel joined to some fine voxel of the source, member by member; maps by
/// [G-7], names kept. Errors, the first of: [K-7] (check_kernel), the source (check_batch), the
/// maps of the result, OutOfRange for the first source voxel in canonical order that is joined to
/// one outside the lattice [L-5] (by the first such tap), CapacityExceeded beyond 10^9 voxels.
/// Cost: O(taps * voxels), times a logarithm.
Batch conv_grid(const Batch& source, const Kernel& kernel);

/// [K-4] Every fine voxel joined to some coarse voxel of the source. Errors and cost: as conv_grid.
Batch conv_transpose_grid(const Batch& source, const Kernel& kernel);

/// The one or the other: the complete target [K-6].
Batch complete_target(const Batch& source, const Kernel& kernel, Direction direction);

}  // namespace leafproof::reference
