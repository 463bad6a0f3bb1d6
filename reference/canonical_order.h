// The one order of voxels [G-2]: signed root tile, then offset in upper node, lower node, leaf.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/lattice.h"

namespace leafproof::reference {

/// Offsets of a voxel in the node of each level that holds it [G-2].
int upper_offset(Voxel v);  // 0 ... 32767
int lower_offset(Voxel v);  // 0 ... 4095
int leaf_offset(Voxel v);   // 0 ... 511

/// The root tile of a voxel: its coordinates divided by 4096, rounded down, signed.
Voxel root_tile(Voxel v);

bool canonical_less(const Voxel& left, const Voxel& right);

/// Sorts into canonical order and drops repeats. O(n log n).
void make_canonical(std::vector<Voxel>& voxels);

}  // namespace leafproof::reference
