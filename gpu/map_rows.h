// The two inner loops of PairsByLeaf (map_pairs.h): rows of a leaf's voxels laid out in a block,
// and the pairs of a tap picked from it; as plain loops, and by AVX-512, which has instructions for
// both that no compiler finds.
#pragma once

#include <cstdint>

#include "gpu/host_device.h"
#include "gpu/instruction_set.h"
#include "gpu/leaf_mask.h"

#if defined(LEAFPROOF_INSTRUCTION_SETS)
#define LEAFPROOF_MAP_ROWS_AVX512 1
#include <immintrin.h>
#endif

namespace leafproof::gpu::map_rows {

/// What is read and written beyond the end of a list at most.
inline constexpr int kLanes = 16;

struct Range {
  int begin, end;
};

/// A part of a leaf.
struct Part {
  Range xs, ys;
  std::uint64_t window;  // of the words in xs: the bits in ys and in the range along z
};

LEAFPROOF_HD inline Part part_of(Range xs, Range ys, Range zs) {
  const auto bits = [](Range r) {
    return static_cast<unsigned>(bits_below(r.end) & ~bits_below(r.begin));
  };
  return {xs, ys, window(bits(ys), bits(zs))};
}

/// to[first + x * px + y * py + z] = the row of the voxel (x, y, z) of a leaf, for the voxels in a
/// part of it; `row` is that of its first voxel. Where there is no voxel, what was there stays, or
/// is -1. `first` is that of a voxel that may be in no part, and before `to`.
LEAFPROOF_HD inline void lay_out(const std::uint64_t* words, std::int32_t row, const Part& of,
                                 std::int32_t* to, int first, int px, int py) {
  const std::uint64_t part = of.window;
  const Range xs = of.xs;
  for (int x = 0; x < xs.begin; ++x) row += popcount(words[x]);
  for (int x = xs.begin; x < xs.end; ++x) {
    for (std::uint64_t bits = words[x] & part; bits != 0; bits &= bits - 1) {
      const int yz = lowest_bit(bits);
      to[first + x * px + (yz >> 3) * py + (yz & 7)] = row + popcount(words[x] & bits_below(yz));
    }
    row += popcount(words[x]);
  }
}

/// Those of 512 numbers whose bits are set, and how many they are.
LEAFPROOF_HD inline int pick(const std::uint64_t* words, const std::int32_t* numbers,
                             std::int32_t* picked) {
  int n = 0;
  for (int x = 0; x < 8; ++x) {
    for (std::uint64_t bits = words[x]; bits != 0; bits &= bits - 1) {
      picked[n++] = numbers[64 * x + lowest_bit(bits)];
    }
  }
  return n;
}

/// Of n voxels with rows `row`, row + 1, ..., those for which rows[cells[i]] is not -1: both rows,
/// one after the other. Returns how many.
LEAFPROOF_HD inline int keep(const std::int32_t* rows, const std::int32_t* cells, int n,
                             std::int32_t row, std::int32_t* fine_rows, std::int32_t* coarse_rows) {
  int kept = 0;
  for (int i = 0; i < n; ++i) {  // no branch: which voxels have a partner cannot be foretold
    const std::int32_t found = rows[cells[i]];
    fine_rows[kept] = found;
    coarse_rows[kept] = row + i;
    kept += found >= 0;
  }
  return kept;
}

#if defined(LEAFPROOF_MAP_ROWS_AVX512)
#define LEAFPROOF_AVX512 [[gnu::target("arch=x86-64-v4"), gnu::noinline]] inline

LEAFPROOF_AVX512 void lay_out_avx512(const std::uint64_t* words, std::int32_t row, const Part& of,
                                     std::int32_t* to, int first, int px, int py) {
  const std::uint64_t part = of.window;
  const Range xs = of.xs, ys = of.ys;
  const __m256i none = _mm256_set1_epi32(-1);
  const __m256i iota = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (int x = 0; x < xs.begin; ++x) row += __builtin_popcountll(words[x]);
  for (int x = xs.begin; x < xs.end; ++x) {
    const std::uint64_t word = words[x];
    if ((word & part) == 0) {
      row += __builtin_popcountll(word);
      continue;
    }
    for (int y = ys.begin; y < ys.end; ++y) {
      const int before = __builtin_popcountll(word & ((std::uint64_t{1} << (8 * y)) - 1));
      const auto line = static_cast<__mmask8>(word >> (8 * y));
      const __m256i rows = _mm256_add_epi32(iota, _mm256_set1_epi32(row + before));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + (first + x * px + y * py)),
                          _mm256_mask_expand_epi32(none, line, rows));
    }
    row += __builtin_popcountll(word);
  }
}

LEAFPROOF_AVX512 int pick_avx512(const std::uint64_t* words, const std::int32_t* numbers,
                                 std::int32_t* picked) {
  int n = 0;
  for (int x = 0; x < 8; ++x) {
    const std::int32_t* from = numbers + 64 * x;
    for (std::uint64_t bits = words[x]; bits != 0; bits >>= kLanes, from += kLanes) {
      const auto some = static_cast<__mmask16>(bits);
      _mm512_storeu_si512(picked + n, _mm512_maskz_compress_epi32(some, _mm512_loadu_si512(from)));
      n += __builtin_popcount(some);
    }
  }
  return n;
}

LEAFPROOF_AVX512 int keep_avx512(const std::int32_t* rows, const std::int32_t* cells, int n,
                                 std::int32_t row, std::int32_t* fine_rows,
                                 std::int32_t* coarse_rows) {
  const __m512i none = _mm512_set1_epi32(-1);
  __m512i own =
      _mm512_add_epi32(_mm512_set1_epi32(row),
                       _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  int kept = 0;
  for (int i = 0; i < n; i += kLanes, own = _mm512_add_epi32(own, _mm512_set1_epi32(kLanes))) {
    const auto left = static_cast<__mmask16>(n - i < kLanes ? (1 << (n - i)) - 1 : 0xFFFF);
    const __m512i found =
        _mm512_mask_i32gather_epi32(none, left, _mm512_loadu_si512(cells + i), rows, 4);
    const __mmask16 there = _mm512_cmpneq_epi32_mask(found, none);
    _mm512_storeu_si512(fine_rows + kept, _mm512_maskz_compress_epi32(there, found));
    _mm512_storeu_si512(coarse_rows + kept, _mm512_maskz_compress_epi32(there, own));
    kept += __builtin_popcount(there);
  }
  return kept;
}
#undef LEAFPROOF_AVX512
#endif

}  // namespace leafproof::gpu::map_rows
