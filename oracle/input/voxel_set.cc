// See voxel_set.h.
#include "oracle/input/voxel_set.h"

#include <algorithm>
#include <bit>

#include "reference/canonical_order.h"

namespace leafproof::oracle {

using reference::Voxel;

std::size_t VoxelSet::Hash::operator()(const Voxel& v) const {
  // Block coordinates have 29 bits; mixed by odd multipliers, so that planes and rods spread too.
  auto part = [](std::int32_t c) { return static_cast<std::uint64_t>(c >> 3); };
  std::uint64_t h = part(v.x) * 0x9E3779B97F4A7C15u ^ part(v.y) * 0xC2B2AE3D27D4EB4Fu ^
                    part(v.z) * 0x165667B19E3779F9u;
  return h ^ (h >> 29);
}

void VoxelSet::insert_block(Voxel origin, const Mask& mask) {
  Mask& own = block(origin);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    count_ += static_cast<std::uint64_t>(std::popcount(mask[i] & ~own[i]));
    own[i] |= mask[i];
  }
}

void VoxelSet::insert_cube(Voxel origin, std::int64_t side) {
  Mask full;
  full.fill(~std::uint64_t{0});
  for (std::int64_t x = 0; x < side; x += 8) {
    for (std::int64_t y = 0; y < side; y += 8) {
      for (std::int64_t z = 0; z < side; z += 8) {
        insert_block(
            {static_cast<std::int32_t>(origin.x + x), static_cast<std::int32_t>(origin.y + y),
             static_cast<std::int32_t>(origin.z + z)},
            full);
      }
    }
  }
}

std::vector<Voxel> VoxelSet::canonical() const {
  std::vector<const Blocks::value_type*> order;
  order.reserve(blocks_.size());
  for (const auto& entry : blocks_) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* left, const auto* right) {
    return reference::canonical_less(left->first, right->first);
  });
  std::vector<Voxel> voxels;
  voxels.reserve(count_);
  for (const auto* entry : order) {
    const auto& [origin, mask] = *entry;
    for (int x = 0; x < 8; ++x) {
      for (std::uint64_t word = mask[static_cast<std::size_t>(x)]; word != 0; word &= word - 1) {
        const int bit = std::countr_zero(word);
        voxels.push_back({origin.x + x, origin.y + (bit >> 3), origin.z + (bit & 7)});
      }
    }
  }
  return voxels;
}

std::uint64_t canonicalise(std::vector<Voxel>& voxels) {
  const auto in_order = [](const Voxel& left, const Voxel& right) {
    return !reference::canonical_less(left, right);  // true at the first pair that is not ascending
  };
  if (std::adjacent_find(voxels.begin(), voxels.end(), in_order) == voxels.end()) return 0;
  VoxelSet set;
  for (const Voxel& v : voxels) set.insert(v);
  const std::uint64_t repeats = voxels.size() - set.count();
  voxels = set.canonical();
  return repeats;
}

}  // namespace leafproof::oracle
