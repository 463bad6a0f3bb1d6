// Finding the pairs of a kernel map [M-2], leaf by leaf of the coarse side: rows come from mOffset
// and popcounts, and which pairs there are from masks. Two ways that find the same:
//   PairsByLeaf  lays the rows of all fine voxels that a leaf's taps can meet out in a block once,
//                then goes through the taps: for a CPU, and kernels whose block is small;
//   PairsByTap   looks each voxel's partner up: for a GPU, which has a thread for every tap of
//   every
//                leaf, and for kernels of any size.
// Both run twice: to count, and to write from where the counts before say.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/source_view.h"

namespace leafproof::gpu {

/// fine = stride * coarse + dilation * tap - phase, per axis [K-1]; its numbers come from
/// conv_relation.
struct TapGeometry {
  std::int32_t kernel[3], stride[3], dilation[3], phase[3];

  LEAFPROOF_HD std::int64_t taps() const { return std::int64_t{kernel[0]} * kernel[1] * kernel[2]; }
  /// Fine voxels from the first to the last that the eight positions of a leaf can meet.
  LEAFPROOF_HD std::int32_t extent(int axis) const {
    return 7 * stride[axis] + dilation[axis] * (kernel[axis] - 1) + 1;
  }
};

/// Row of the first voxel of a leaf whose mask words these are.
LEAFPROOF_HD inline std::int64_t first_row_of(const SourceMember& member,
                                              const std::uint64_t* words) {
  const auto* leaf = reinterpret_cast<const LeafNode*>(reinterpret_cast<const std::byte*>(words) -
                                                       offsetof(LeafNode, mValueMask));
  return member.first_row + static_cast<std::int64_t>(leaf->mOffset) - 1;
}

/// Where pairs go, or how many there are: counts[tap * chunks + chunk] holds the number of pairs of
/// a tap in a chunk of coarse leaves, and after a scan the number before it.
struct PairLists {
  std::int64_t chunks, chunk_leaves;
  std::int64_t* counts;
  std::int32_t *fine_rows, *coarse_rows;  // null: count only
};

struct PairsByTap {
  SourceView fine, coarse;
  TapGeometry geometry;
  PairLists lists;

  LEAFPROOF_HD void operator()(std::int64_t item) const {
    const std::int64_t tap = item / lists.chunks, chunk = item % lists.chunks;
    const std::int64_t begin = chunk * lists.chunk_leaves;
    const std::int64_t end = smaller(coarse.leaves, begin + lists.chunk_leaves);
    const bool writes = lists.fine_rows != nullptr;
    std::int64_t at = writes ? lists.counts[item] : 0;
    SourceView::Finder finder(fine);
    for (std::int64_t i = begin; i < end; ++i) at = of_leaf(finder, tap, i, at);
    if (!writes) lists.counts[item] = at;
  }

 private:
  LEAFPROOF_HD std::int64_t of_leaf(SourceView::Finder& finder, std::int64_t tap, std::int64_t i,
                                    std::int64_t at) const {
    const auto place = coarse.leaf_place(i);
    const LeafNode& leaf = coarse.leaf(place);
    const Coord corner = leaf_coord(leaf) << kLeafLog;
    const std::int64_t tz = tap % geometry.kernel[2], ty = tap / geometry.kernel[2];
    const Coord step{(ty / geometry.kernel[1]) * geometry.dilation[0] - geometry.phase[0],
                     (ty % geometry.kernel[1]) * geometry.dilation[1] - geometry.phase[1],
                     tz * geometry.dilation[2] - geometry.phase[2]};
    std::int64_t row = first_row_of(coarse.members[place.member], leaf.mValueMask.words());
    finder.enter(place.member);
    Coord at_leaf{INT64_MAX, 0, 0};
    const std::uint64_t* words = nullptr;
    for (int x = 0; x < 8; ++x) {
      for (std::uint64_t bits = leaf.mValueMask.words()[x]; bits != 0; bits &= bits - 1, ++row) {
        const int yz = lowest_bit(bits);
        const Coord f{geometry.stride[0] * (corner.x + x) + step.x,
                      geometry.stride[1] * (corner.y + (yz >> 3)) + step.y,
                      geometry.stride[2] * (corner.z + (yz & 7)) + step.z};
        const Coord home = f >> kLeafLog;
        if (!(home == at_leaf)) {
          at_leaf = home;
          words = finder.words(home);
        }
        const int fx = static_cast<int>(f.x & 7),
                  bit = static_cast<int>((f.y & 7) << 3 | (f.z & 7));
        if (words == nullptr || (words[fx] >> bit & 1) == 0) continue;
        if (lists.fine_rows != nullptr) {
          std::int64_t found = first_row_of(fine.members[place.member], words);
          for (int w = 0; w < fx; ++w) found += popcount(words[w]);
          found += popcount(words[fx] & bits_below(bit));
          lists.fine_rows[at] = static_cast<std::int32_t>(found);
          lists.coarse_rows[at] = static_cast<std::int32_t>(row);
        }
        ++at;
      }
    }
    return at;
  }
};

struct PairsByLeaf {
  static constexpr int kAcross = 24;  // of a block: kernels up to 17 at stride 1, 8 at stride 2

  SourceView fine, coarse;
  TapGeometry geometry;
  PairLists lists;

  LEAFPROOF_HD static bool fits(const TapGeometry& geometry) {
    return geometry.extent(0) <= kAcross && geometry.extent(1) <= kAcross &&
           geometry.extent(2) <= kAcross;
  }

  /// One chunk: all taps of its leaves.
  LEAFPROOF_HD void operator()(std::int64_t chunk) const { run(chunk, chunk + 1); }
  LEAFPROOF_HD void run(std::int64_t first, std::int64_t last) const {
    Block block(fine);
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      const std::int64_t begin = chunk * lists.chunk_leaves;
      const std::int64_t end = smaller(coarse.leaves, begin + lists.chunk_leaves);
      if (lists.fine_rows == nullptr) {
        for (std::int64_t tap = 0; tap < geometry.taps(); ++tap) {
          lists.counts[tap * lists.chunks + chunk] = 0;
        }
      }
      for (std::int64_t i = begin; i < end; ++i) of_leaf(block, chunk, i);
    }
  }

 private:
  /// Rows of the fine voxels around one coarse leaf, and which there are.
  struct Block {
    LEAFPROOF_HD explicit Block(const SourceView& fine) : finder(fine) {}
    SourceView::Finder finder;
    std::uint32_t there[kAcross * kAcross];  // bit z
    std::int32_t rows[kAcross * kAcross * kAcross];
  };

  LEAFPROOF_HD void lay_out(Block& block, std::int64_t member, const Coord& corner) const {
    const Coord low{geometry.stride[0] * corner.x - geometry.phase[0],
                    geometry.stride[1] * corner.y - geometry.phase[1],
                    geometry.stride[2] * corner.z - geometry.phase[2]};
    const Coord high{low.x + geometry.extent(0) - 1, low.y + geometry.extent(1) - 1,
                     low.z + geometry.extent(2) - 1};
    for (int xy = 0; xy < kAcross * geometry.extent(0); ++xy) block.there[xy] = 0;
    block.finder.enter(member);
    const Box leaves = Box{low, high} >> kLeafLog;
    for (std::int64_t x = leaves.min.x; x <= leaves.max.x; ++x) {
      for (std::int64_t y = leaves.min.y; y <= leaves.max.y; ++y) {
        for (std::int64_t z = leaves.min.z; z <= leaves.max.z; ++z) {
          const std::uint64_t* words = block.finder.words({x, y, z});
          if (words != nullptr) lay_out_leaf(block, member, words, {x, y, z}, low, high);
        }
      }
    }
  }

  LEAFPROOF_HD void lay_out_leaf(Block& block, std::int64_t member, const std::uint64_t* words,
                                 const Coord& leaf, const Coord& low, const Coord& high) const {
    // The part of the leaf in the block, in positions of the leaf.
    const auto from = [](std::int64_t edge, std::int64_t l) {
      return static_cast<int>(edge > l * 8 ? edge - l * 8 : 0);
    };
    const auto to = [](std::int64_t edge, std::int64_t l) {
      return static_cast<int>(edge < l * 8 + 7 ? edge - l * 8 : 7);
    };
    const int x0 = from(low.x, leaf.x), x1 = to(high.x, leaf.x);
    const int y0 = from(low.y, leaf.y), y1 = to(high.y, leaf.y);
    const int z0 = from(low.z, leaf.z), z1 = to(high.z, leaf.z);
    const auto columns = static_cast<unsigned>(bits_below(z1 + 1) & ~bits_below(z0));
    const int shift = static_cast<int>(leaf.z * 8 - low.z);
    std::int64_t row = first_row_of(fine.members[member], words);
    for (int x = 0; x < x0; ++x) row += popcount(words[x]);
    for (int x = x0; x <= x1; ++x) {
      const std::uint64_t word = words[x];
      if (word != 0) {
        for (int y = y0; y <= y1; ++y) {
          const auto line = static_cast<unsigned>(word >> (8 * y)) & columns;
          if (line == 0) continue;
          const auto xy =
              static_cast<int>((leaf.x * 8 + x - low.x) * kAcross + (leaf.y * 8 + y - low.y));
          block.there[xy] |= shift < 0 ? line >> -shift : line << shift;
          std::int64_t r = row + popcount(word & bits_below(8 * y + z0));
          for (unsigned bits = line; bits != 0; bits &= bits - 1) {
            block.rows[xy * kAcross + lowest_bit(bits) + shift] = static_cast<std::int32_t>(r++);
          }
        }
      }
      row += popcount(word);
    }
  }

  /// Every stride-th bit from bit 0 on, eight of them.
  LEAFPROOF_HD static unsigned thinned(std::uint32_t bits, int stride) {
    if (stride == 1) return bits & 0xFF;
    if (stride == 2) {
      bits &= 0x5555;
      bits = (bits | bits >> 1) & 0x3333;
      bits = (bits | bits >> 2) & 0x0F0F;
      return (bits | bits >> 4) & 0xFF;
    }
    unsigned found = 0;
    for (int z = 0; z < 8; ++z) found |= (bits >> (stride * z) & 1) << z;
    return found;
  }

  LEAFPROOF_HD void of_leaf(Block& block, std::int64_t chunk, std::int64_t i) const {
    const auto place = coarse.leaf_place(i);
    const LeafNode& leaf = coarse.leaf(place);
    lay_out(block, place.member, leaf_coord(leaf) << kLeafLog);
    const std::uint64_t* words = leaf.mValueMask.words();
    std::int64_t row_of_word[8];
    std::int64_t row = first_row_of(coarse.members[place.member], words);
    for (int x = 0; x < 8; ++x) {
      row_of_word[x] = row;
      row += popcount(words[x]);
    }
    std::int64_t* count = lists.counts + chunk;
    for (int tx = 0; tx < geometry.kernel[0]; ++tx) {
      for (int ty = 0; ty < geometry.kernel[1]; ++ty) {
        for (int tz = 0; tz < geometry.kernel[2]; ++tz, count += lists.chunks) {
          const int corner = (geometry.dilation[0] * tx * kAcross + geometry.dilation[1] * ty);
          const int dz = geometry.dilation[2] * tz;
          std::int64_t at = *count;
          for (int x = 0; x < 8; ++x) {
            if (words[x] == 0) continue;
            const std::uint64_t met =
                met_in(block, words[x], corner + geometry.stride[0] * x * kAcross, dz);
            if (lists.fine_rows == nullptr) {
              at += popcount(met);
            } else {
              at = write(block, words[x], met, corner + geometry.stride[0] * x * kAcross, dz,
                         row_of_word[x], at);
            }
          }
          *count = at;
        }
      }
    }
  }

  /// Which voxels of a slice of the coarse leaf have a partner.
  LEAFPROOF_HD std::uint64_t met_in(const Block& block, std::uint64_t word, int xy, int dz) const {
    std::uint64_t met = 0;
    for (int y = 0; y < 8; ++y) {
      const std::uint32_t line = block.there[xy + geometry.stride[1] * y] >> dz;
      met |= static_cast<std::uint64_t>(thinned(line, geometry.stride[2])) << (8 * y);
    }
    return met & word;
  }

  LEAFPROOF_HD std::int64_t write(const Block& block, std::uint64_t word, std::uint64_t met, int xy,
                                  int dz, std::int64_t row, std::int64_t at) const {
    for (; met != 0; met &= met - 1, ++at) {
      const int yz = lowest_bit(met);
      const int cell =
          (xy + geometry.stride[1] * (yz >> 3)) * kAcross + dz + geometry.stride[2] * (yz & 7);
      lists.fine_rows[at] = block.rows[cell];
      lists.coarse_rows[at] = static_cast<std::int32_t>(row + popcount(word & bits_below(yz)));
    }
    return at;
  }
};

/// The first pair of each tap, and the end.
struct PickOffsets {
  const std::int64_t* before;  // per tap and chunk, and the end
  std::int64_t chunks;
  std::int64_t* offsets;
  LEAFPROOF_HD void operator()(std::int64_t tap) const { offsets[tap] = before[tap * chunks]; }
};

struct FillRows {
  std::int32_t* rows;
  std::int32_t value;
  LEAFPROOF_HD void operator()(std::int64_t i) const { rows[i] = value; }
};

/// The dense form of a map, from -1 everywhere [M-4].
struct ScatterPairs {
  const std::int64_t* offsets;
  std::int64_t taps, rows;
  const std::int32_t *gather, *scatter;
  std::int32_t* index;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const std::int64_t tap = segment_of(offsets, taps, i);
    index[tap * rows + scatter[i]] = gather[i];
  }
};

}  // namespace leafproof::gpu
