// A set of voxels that grows by voxels, leaf masks and tiles, and comes out in canonical order
// [G-2]. Repeats cost nothing, so that samplers need not avoid them.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "reference/lattice.h"

namespace leafproof::oracle {

class VoxelSet {
 public:
  using Mask = std::array<std::uint64_t, 8>;  // bit x<<6 | y<<3 | z of the 8^3 block

  void insert(reference::Voxel v) {
    Mask& mask = block({v.x & ~7, v.y & ~7, v.z & ~7});
    const std::uint64_t bit = std::uint64_t{1} << ((v.y & 7) << 3 | (v.z & 7));
    std::uint64_t& word = mask[static_cast<std::size_t>(v.x & 7)];
    count_ += (word & bit) == 0;
    word |= bit;
  }

  /// The on-bits of an 8^3 block; `origin` is a multiple of 8.
  void insert_block(reference::Voxel origin, const Mask& mask);

  /// A solid cube; `origin` and `side` are multiples of 8. O(side^3 / 512).
  void insert_cube(reference::Voxel origin, std::int64_t side);

  std::uint64_t count() const { return count_; }

  /// In canonical order. O(count + blocks log blocks).
  std::vector<reference::Voxel> canonical() const;

 private:
  struct Hash {
    std::size_t operator()(const reference::Voxel& v) const;
  };
  Mask& block(reference::Voxel origin) {
    if (last_ == nullptr || !(last_->first == origin)) last_ = &*blocks_.try_emplace(origin).first;
    return last_->second;
  }

  using Blocks = std::unordered_map<reference::Voxel, Mask, Hash>;
  Blocks blocks_;
  Blocks::value_type* last_ = nullptr;  // neighbours come together; elements never move
  std::uint64_t count_ = 0;
};

/// `voxels` in canonical order without repeats; how many repeats there were. As make_canonical, but
/// O(n) where the list is in order already or its voxels share blocks.
std::uint64_t canonicalise(std::vector<reference::Voxel>& voxels);

}  // namespace leafproof::oracle
