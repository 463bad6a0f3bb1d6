// Where a node stands: slots in its parent, and the key by which root tiles are ordered [G-2].
#pragma once

#include <cstdint>

#include "gpu/arithmetic.h"
#include "gpu/host_device.h"

namespace leafproof::gpu {

inline constexpr int kLeafLog = 3, kLowerLog = 7, kUpperLog = 12;  // log2 of voxels across [G-1]
inline constexpr int kUpperSlots = 32768, kUpperWords = 512;       // lower nodes in an upper node
inline constexpr int kLowerSlots = 4096, kLowerWords = 64;         // leaves in a lower node

/// Slot of a lower node (coordinates voxel / 128) in its upper node.
LEAFPROOF_HD inline int upper_slot(const Coord& lower) {
  return static_cast<int>((lower.x & 31) << 10 | (lower.y & 31) << 5 | (lower.z & 31));
}
LEAFPROOF_HD inline Coord lower_at(const Coord& tile, int slot) {
  return {tile.x * 32 + (slot >> 10), tile.y * 32 + ((slot >> 5) & 31), tile.z * 32 + (slot & 31)};
}

/// Slot of a leaf (coordinates voxel / 8) in its lower node.
LEAFPROOF_HD inline int lower_slot(const Coord& leaf) {
  return static_cast<int>((leaf.x & 15) << 8 | (leaf.y & 15) << 4 | (leaf.z & 15));
}
LEAFPROOF_HD inline Coord leaf_at(const Coord& lower, int slot) {
  return {lower.x * 16 + (slot >> 8), lower.y * 16 + ((slot >> 4) & 15),
          lower.z * 16 + (slot & 15)};
}

/// Member and signed tile, in canonical order as one number: 44 bits of member, then 20 for each of
/// x, y, z (a tile is in [-2^19, 2^19)). There are few tiles, so 128 bits are never the cost, and
/// no input is too far apart for them.
__extension__ typedef unsigned __int128 TileKey;

inline constexpr std::int64_t kTileBias = std::int64_t{1} << 19;

LEAFPROOF_HD inline bool tile_exists(const Coord& tile) {
  return tile.x >= -kTileBias && tile.x < kTileBias && tile.y >= -kTileBias && tile.y < kTileBias &&
         tile.z >= -kTileBias && tile.z < kTileBias;
}
LEAFPROOF_HD inline TileKey tile_key(std::int64_t member, const Coord& tile) {
  const auto low = static_cast<std::uint64_t>(tile.x + kTileBias) << 40 |
                   static_cast<std::uint64_t>(tile.y + kTileBias) << 20 |
                   static_cast<std::uint64_t>(tile.z + kTileBias);
  return static_cast<TileKey>(static_cast<std::uint64_t>(member)) << 60 | low;
}
/// How many bits the keys of so many members take.
inline int tile_key_bits(std::int64_t members) {
  int bits = 60;
  while (bits < 104 && members > std::int64_t{1} << (bits - 60)) ++bits;
  return bits;
}
LEAFPROOF_HD inline std::int64_t member_of(TileKey key) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(key >> 60));
}
LEAFPROOF_HD inline Coord tile_of(TileKey key) {
  const auto low = static_cast<std::uint64_t>(key);
  const std::uint64_t mask = (std::uint64_t{1} << 20) - 1;
  return {static_cast<std::int64_t>((low >> 40) & mask) - kTileBias,
          static_cast<std::int64_t>((low >> 20) & mask) - kTileBias,
          static_cast<std::int64_t>(low & mask) - kTileBias};
}

/// Index of the first element of a sorted array that is not less than `value`.
template <class T>
LEAFPROOF_HD std::int64_t lower_bound_of(const T* sorted, std::int64_t n, const T& value) {
  std::int64_t begin = 0;
  while (n > 0) {
    const std::int64_t half = n / 2;
    if (sorted[begin + half] < value) {
      begin += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return begin;
}

/// The segment that holds item i: the last s with offsets[s] <= i, so empty segments are skipped
/// over. `offsets` has n + 1 entries, i < offsets[n].
LEAFPROOF_HD inline std::int64_t segment_of(const std::int64_t* offsets, std::int64_t n,
                                            std::int64_t i) {
  return lower_bound_of(offsets + 1, n, i + 1);
}

/// segment_of() for items in turn: remembers the last segment, and that of which list.
class SegmentCursor {
 public:
  LEAFPROOF_HD std::int64_t find(const std::int64_t* offsets, std::int64_t n, std::int64_t i) {
    if (offsets != offsets_ || i < begin_ || i >= end_) {
      segment_ = n == 1 ? 0 : segment_of(offsets, n, i);
      offsets_ = offsets;
      begin_ = offsets[segment_];
      end_ = offsets[segment_ + 1];
    }
    return segment_;
  }

 private:
  const std::int64_t* offsets_ = nullptr;
  std::int64_t begin_ = 0, end_ = 0, segment_ = 0;
};

}  // namespace leafproof::gpu
