// The active voxels of NanoVDB ValueMask and float grids, read with the distrust of layout_view: no
// offset is followed before it is known to lie in the grid, and no node is visited twice.
#pragma once

#include "oracle/input/members.h"
#include "oracle/input/voxel_set.h"

namespace leafproof::oracle {

/// What a grid's header says, checked: Unsupported for rotation, shear and taper [G-7].
struct GridHead {
  std::string name;
  Map map;
};
GridHead read_head(const FileTask& task, std::int64_t member, std::span<const std::byte> grid);

/// Inserts the active voxels of a grid of mGridType 1 (float) or 8 (ValueMask). Active tiles are
/// expanded once all are known to fit into `max_voxels`. Errors name the file and the member:
/// Corrupt, CapacityExceeded.
void read_topology(const FileTask& task, std::int64_t member, std::span<const std::byte> grid,
                   std::uint32_t type, std::uint64_t max_voxels, VoxelSet& voxels);

}  // namespace leafproof::oracle
