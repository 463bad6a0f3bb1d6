// Lists of voxels against those of the reference: the part of `compare` for candidates that have no
// NanoVDB grids.
#pragma once

#include "oracle/compare.h"

namespace leafproof::oracle {

/// Adds to `verdict` what differs, member by member: missing, extra and repeated voxels first,
/// since they are the cause; then, unless the candidate has an order of its own, the first voxel
/// that is out of canonical order [G-2]; then maps, where they are judged and given. O(n log n).
void compare_voxels(const Batch& expected, const VoxelsAnswer& actual, bool judge_maps,
                    Verdict& verdict);

}  // namespace leafproof::oracle
