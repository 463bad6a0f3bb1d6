// The canonical order [G-2], by comparing two voxels at the coarsest level that tells them apart.
#include "reference/canonical_order.h"

#include <algorithm>
#include <tuple>

namespace leafproof::reference {

int upper_offset(Voxel v) {
  return ((v.x >> 7) & 31) << 10 | ((v.y >> 7) & 31) << 5 | ((v.z >> 7) & 31);
}

int lower_offset(Voxel v) {
  return ((v.x >> 3) & 15) << 8 | ((v.y >> 3) & 15) << 4 | ((v.z >> 3) & 15);
}

int leaf_offset(Voxel v) {
  return (v.x & 7) << 6 | (v.y & 7) << 3 | (v.z & 7);
}

// A right shift rounds down for every sign (C++20).
Voxel root_tile(Voxel v) {
  return {v.x >> 12, v.y >> 12, v.z >> 12};
}

// Within one root tile the upper offset orders like (x>>7, y>>7, z>>7), because the bits above are
// equal; likewise the lower offset like v>>3 and the leaf offset like v itself. So it suffices to
// find the coarsest of the four levels at which some bit differs, and to compare there, x first.
bool canonical_less(const Voxel& left, const Voxel& right) {
  const std::uint32_t differing =
      static_cast<std::uint32_t>((left.x ^ right.x) | (left.y ^ right.y) | (left.z ^ right.z));
  const int level = differing >= 4096 ? 12 : differing >= 128 ? 7 : differing >= 8 ? 3 : 0;
  return std::tuple(left.x >> level, left.y >> level, left.z >> level) <
         std::tuple(right.x >> level, right.y >> level, right.z >> level);
}

void make_canonical(std::vector<Voxel>& voxels) {
  std::sort(voxels.begin(), voxels.end(), canonical_less);
  voxels.erase(std::unique(voxels.begin(), voxels.end()), voxels.end());
}

}  // namespace leafproof::reference
