// For tests of the batched builder against NanoVDB: what NanoVDB's own CPU builder makes of voxels.
#pragma once

// At -O3 g++ 12 sees an empty array of threads in NanoVDB's forEach, which is never entered.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Warray-bounds"
#endif
#include <nanovdb/tools/CreateNanoGrid.h>
#include <nanovdb/tools/GridBuilder.h>
#include <nanovdb/tools/GridValidator.h>

#include <string>
#include <vector>

#include "tests/builder_support.h"

namespace leafproof::tests {

/// What NanoVDB makes of one member.
/// Its pass through build::Grid knows no map per axis, so the matrix is set as a whole.
inline nanovdb::GridHandle<> created(const std::vector<Voxel>& voxels, const gpu::MemberMap& map,
                                     const std::string& name) {
  nanovdb::tools::build::Grid<nanovdb::ValueMask> grid(false, name);
  double mat[3][3]{}, inverse[3][3]{};
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    mat[axis][axis] = map.voxel_size[a];
    inverse[axis][axis] = 1 / map.voxel_size[a];
  }
  grid.mMap.set(mat, inverse, map.origin);
  {
    auto accessor = grid.getAccessor();
    for (const Voxel& v : voxels) accessor.setValueOn({v.x, v.y, v.z});
  }
  return nanovdb::tools::createNanoGrid<decltype(grid), nanovdb::ValueOnIndex>(grid, 0u, false,
                                                                               false);
}

}  // namespace leafproof::tests
