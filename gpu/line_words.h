// Lines of bits along z as bytes of words, the words of several leaves side by side: what a window
// of leaves (window_rule.h) and the block of a kernel map (map_pairs.h) are laid out in. The loops
// over words are for vector registers.
#pragma once

#include <cstdint>

#include "gpu/leaf_mask.h"

namespace leafproof::gpu {

/// Of each line the eight bits from bit `at` on; `planes` are arrays of words, one for each leaf
/// along z and one more.
template <int kWords>
struct EightBits {
  const std::uint64_t *low, *high;
  int down, up;
  std::uint64_t mask;
  LEAFPROOF_HD EightBits(const std::uint64_t (*planes)[kWords], int at)
      : low(planes[at >> 3]),
        high(planes[(at >> 3) + 1]),
        down(at & 7),
        up(8 - (at & 7)),
        mask(kEveryRow * (0xFFu >> (at & 7))) {}
  LEAFPROOF_HD std::uint64_t operator()(int word) const {
    return (low[word] >> down & mask) | (high[word] << up & ~mask);
  }
};

/// The even bits of each byte, in its lower half.
LEAFPROOF_HD inline std::uint64_t even_bits(std::uint64_t word) {
  word &= 0x5555555555555555u;
  word = (word | word >> 1) & 0x3333333333333333u;
  return (word | word >> 2) & 0x0F0F0F0F0F0F0F0Fu;
}

/// The even bytes, in the lower half.
LEAFPROOF_HD inline std::uint64_t even_bytes(std::uint64_t word) {
  word &= 0x00FF00FF00FF00FFu;
  word = (word | word >> 8) & 0x0000FFFF0000FFFFu;
  return (word | word >> 16) & 0xFFFFFFFF;
}

}  // namespace leafproof::gpu
