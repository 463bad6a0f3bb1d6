// The algebra of one leaf: 512 voxels as eight 64-bit words. Word x holds the 8 x 8 slice at x; in
// it byte y holds the row at y; in that bit z is the voxel [G-2]. Every pass works on these words
// by shifts; no pass ever lists voxels.
#pragma once

#include <cstdint>

#include "gpu/arithmetic.h"
#include "gpu/host_device.h"

namespace leafproof::gpu {

struct LeafMask {
  std::uint64_t word[8];
};

inline constexpr std::uint64_t kEveryRow = 0x0101010101010101;  // bit 0 of each byte

LEAFPROOF_HD inline LeafMask empty_mask() {
  return {{0, 0, 0, 0, 0, 0, 0, 0}};
}

LEAFPROOF_HD inline bool any(const LeafMask& mask) {
  std::uint64_t all = 0;
  for (int x = 0; x < 8; ++x) all |= mask.word[x];
  return all != 0;
}

LEAFPROOF_HD inline bool full(const LeafMask& mask) {
  std::uint64_t all = ~std::uint64_t{0};
  for (int x = 0; x < 8; ++x) all &= mask.word[x];
  return ~all == 0;
}

LEAFPROOF_HD inline int count(const LeafMask& mask) {
  int total = 0;
  for (int x = 0; x < 8; ++x) total += popcount(mask.word[x]);
  return total;
}

/// Seven 9-bit inclusive counts, of words 0 ... 6 [G-4].
LEAFPROOF_HD inline std::uint64_t packed_prefix_sum(const LeafMask& mask) {
  std::uint64_t packed = 0, total = 0;
  for (int x = 0; x < 7; ++x) {
    total += static_cast<std::uint64_t>(popcount(mask.word[x]));
    packed |= total << (9 * x);
  }
  return packed;
}

/// ORs the eight bytes of a word: which z occur in any row.
LEAFPROOF_HD inline unsigned any_row(std::uint64_t word) {
  word |= word >> 32;
  word |= word >> 16;
  word |= word >> 8;
  return static_cast<unsigned>(word & 0xFF);
}

/// One bit per byte that is not zero: which y occur.
LEAFPROOF_HD inline unsigned occupied_rows(std::uint64_t word) {
  word |= word >> 4;
  word |= word >> 2;
  word |= word >> 1;
  return static_cast<unsigned>(((word & kEveryRow) * 0x0102040810204080u) >> 56);
}

/// The box of the voxels, in [0, 7]^3; the mask is not empty [G-5].
LEAFPROOF_HD inline Box box_of(const LeafMask& mask) {
  unsigned xs = 0;
  std::uint64_t all = 0;
  for (int x = 0; x < 8; ++x) {
    all |= mask.word[x];
    xs |= static_cast<unsigned>(mask.word[x] != 0) << x;
  }
  const unsigned ys = occupied_rows(all), zs = any_row(all);
  return {{lowest_bit(xs), lowest_bit(ys), lowest_bit(zs)},
          {highest_bit(xs), highest_bit(ys), highest_bit(zs)}};
}

/// The byte with bits n set in every byte of the result whose bit in `rows` is set.
LEAFPROOF_HD inline std::uint64_t spread_rows(unsigned rows) {
  std::uint64_t spread = 0;
  for (int y = 0; y < 8; ++y) spread |= static_cast<std::uint64_t>((rows >> y) & 1) << (8 * y);
  return spread;
}

/// The 8 x 8 window of rows x columns: every bit (y, z) with y in `rows` and z in `columns`.
LEAFPROOF_HD inline std::uint64_t window(unsigned rows, unsigned columns) {
  return spread_rows(rows) * columns;
}

}  // namespace leafproof::gpu
