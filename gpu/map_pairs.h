// Finding the pairs of a kernel map [M-2], leaf by leaf of the coarse side: rows come from mOffset
// and popcounts, and which pairs there are from masks. Two ways that find the same:
//   PairsByLeaf  lays out once all fine voxels that a leaf's taps can meet (as bits to count, their
//                rows to write), then goes through the taps: for a CPU, where such a block is
//                small;
//   PairsByTap   looks each voxel's partner up: for a GPU, which has a thread for each tap of each
//                leaf, and for kernels of any size.
// Both run twice: to count, and to write from where the counts before say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gpu/instruction_set.h"
#include "gpu/line_words.h"
#include "gpu/map_rows.h"
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
  static constexpr bool kHeavyWork = true;
  static constexpr int kAcross = 24;      // of a block: kernels up to 17 at stride 1, 8 at stride 2
  static constexpr int kMostTaps = 4096;  // [K-7]

  SourceView fine, coarse;
  TapGeometry geometry;
  PairLists lists;
  InstructionSet instructions;

  LEAFPROOF_HD static bool fits(const TapGeometry& geometry) {
    return geometry.extent(0) <= kAcross && geometry.extent(1) <= kAcross &&
           geometry.extent(2) <= kAcross;
  }

  /// One chunk: all taps of its leaves.
  LEAFPROOF_HD void operator()(std::int64_t chunk) const { run(chunk, chunk + 1); }
  LEAFPROOF_HD void run(std::int64_t first, std::int64_t last) const {
    SourceView::GridFinder finder(fine);
    if (lists.fine_rows == nullptr) {
      count(finder, first, last);
    } else {
      write(finder, first, last);
    }
  }

 private:
  /// A fine leaf with a part in the block of a coarse leaf.
  struct Near {
    Coord step;  // from stride * coarse leaf to this leaf: the same for every coarse leaf
    map_rows::Part part;
    int x0, y0;  // where it begins in the block
    int y, z;    // which one it is along these
  };
  struct Neighbourhood {
    Near near[64];
    int size = 0;
  };

  /// Where the block begins in the fine leaves along z, 0 ... 7: the same for every coarse leaf.
  LEAFPROOF_HD int first_z() const { return -geometry.phase[2] & 7; }

  LEAFPROOF_HD Neighbourhood neighbourhood() const {
    Neighbourhood all;
    const Box block{
        {-geometry.phase[0], -geometry.phase[1], -geometry.phase[2]},
        {geometry.extent(0) - 1 - geometry.phase[0], geometry.extent(1) - 1 - geometry.phase[1],
         geometry.extent(2) - 1 - geometry.phase[2]}};
    const Box leaves = block >> kLeafLog;
    const auto inside = [](int from, int across) {  // positions of a leaf in the block
      return map_rows::Range{from < 0 ? -from : 0, across - from < 8 ? across - from : 8};
    };
    for (std::int64_t x = leaves.min.x; x <= leaves.max.x; ++x) {
      for (std::int64_t y = leaves.min.y; y <= leaves.max.y; ++y) {
        for (std::int64_t z = leaves.min.z; z <= leaves.max.z; ++z) {
          Near& near = all.near[all.size++];
          near.step = {x, y, z};
          near.x0 = static_cast<int>(x * 8 - block.min.x);
          near.y0 = static_cast<int>(y * 8 - block.min.y);
          near.y = static_cast<int>(y - leaves.min.y);
          near.z = static_cast<int>(z - leaves.min.z);
          const int z0 = static_cast<int>(z * 8 - block.min.z);
          near.part = map_rows::part_of(inside(near.x0, geometry.extent(0)),
                                        inside(near.y0, geometry.extent(1)),
                                        inside(z0, geometry.extent(2)));
        }
      }
    }
    return all;
  }

  /// Calls visit(near, mask words) for each fine leaf with a part in the block of a coarse leaf.
  template <class Visit>
  LEAFPROOF_HD void visit_block(SourceView::GridFinder& finder, const Neighbourhood& all,
                                std::int64_t member, const Coord& leaf, const Visit& visit) const {
    finder.enter(member);
    if (geometry.stride[0] == 1 && geometry.stride[1] == 1 && geometry.stride[2] == 1) {
      const auto around = finder.around(leaf);  // farther leaves would not fit in a block
      for (int i = 0; i < all.size; ++i) {
        const Coord& step = all.near[i].step;
        const std::uint64_t* words =
            around(static_cast<int>(step.x) + 1, static_cast<int>(step.y) + 1,
                   static_cast<int>(step.z) + 1);
        if (finder.is_leaf(words)) visit(all.near[i], words);
      }
      return;
    }
    const Coord home{geometry.stride[0] * leaf.x, geometry.stride[1] * leaf.y,
                     geometry.stride[2] * leaf.z};
    for (int i = 0; i < all.size; ++i) {
      const Coord& step = all.near[i].step;
      const std::uint64_t* words =
          finder.words({home.x + step.x, home.y + step.y, home.z + step.z});
      if (words != nullptr) visit(all.near[i], words);
    }
  }

  /// Calls visit(tap, tx, ty, tz) for each tap, in order [K-2].
  template <class Visit>
  LEAFPROOF_HD void visit_taps(const Visit& visit) const {
    int tap = 0;
    for (int tx = 0; tx < geometry.kernel[0]; ++tx) {
      for (int ty = 0; ty < geometry.kernel[1]; ++ty) {
        for (int tz = 0; tz < geometry.kernel[2]; ++tz) visit(tap++, tx, ty, tz);
      }
    }
  }

  // --- counting: which fine voxels there are, as bits

  static constexpr int kLeaves = 4;  // of a block along an axis
  static constexpr int kWords = kAcross * kLeaves;

  /// Which voxels there are in a block: words by leaves along z (and one of zeros), slices, leaves
  /// along y. And for each tz, the eight positions of a coarse leaf along z that meet one, a byte
  /// for each line, by rests of y by the stride, slices, and y: the lines of the eight positions
  /// along y stand together, and eight bytes are a slice of a leaf mask.
  struct Lines {
    static constexpr int kBytes = 3 * kAcross * 12 + 32;  // of a tz; eight are read at once
    std::uint64_t there[kLeaves + 1][kWords];
    std::uint8_t met[17 * kBytes];
    std::int32_t first_met[kMostTaps];  // of tap t: where slice 0 stands in `met`
    std::int64_t found[kMostTaps];
  };
  /// Bytes of a slice and a rest in Lines::met; a block holds strides of up to 3.
  LEAFPROOF_HD static int bytes_of_slice(int stride) {
    return stride == 1 ? 32 : stride == 2 ? 16 : 12;
  }

  LEAFPROOF_HD void count(SourceView::GridFinder& finder, std::int64_t first,
                          std::int64_t last) const {
    const Neighbourhood near = neighbourhood();
    SegmentCursor cursor;
    Lines lines;
    const int stride = geometry.stride[1], bytes = bytes_of_slice(stride);
    visit_taps([&](int tap, int tx, int ty, int tz) {
      const int line = (-geometry.phase[1] & 7) + geometry.dilation[1] * ty;
      lines.first_met[tap] = tz * Lines::kBytes + line % stride * (kAcross * bytes) +
                             geometry.dilation[0] * tx * bytes + line / stride;
    });
    const auto taps = static_cast<int>(geometry.taps());
    const int next_slice = geometry.stride[0] * bytes;
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      for (int tap = 0; tap < taps; ++tap) lines.found[tap] = 0;
      const std::int64_t begin = chunk * lists.chunk_leaves;
      const std::int64_t end = smaller(coarse.leaves, begin + lists.chunk_leaves);
      for (std::int64_t i = begin; i < end; ++i) {
        const auto place = coarse.leaf_place(i, cursor);
        const LeafNode& leaf = coarse.leaf(place);
        find_there(finder, near, place.member, leaf_coord(leaf), lines);
        for (int tz = 0; tz < geometry.kernel[2]; ++tz) find_met(lines, tz);
        count_leaf(lines, mask_of(leaf), taps, next_slice);
      }
      for (int tap = 0; tap < taps; ++tap) {
        lists.counts[tap * lists.chunks + chunk] = lines.found[tap];
      }
    }
  }

  LEAFPROOF_HD void find_there(SourceView::GridFinder& finder, const Neighbourhood& all,
                               std::int64_t member, const Coord& leaf, Lines& lines) const {
    const int words = geometry.extent(0) * kLeaves;
    for (int z = 0; 8 * z < first_z() + geometry.extent(2) + 8; ++z) {
      for (int i = 0; i < words; ++i) lines.there[z][i] = 0;
    }
    visit_block(finder, all, member, leaf, [&](const Near& near, const std::uint64_t* given) {
      const map_rows::Range xs = near.part.xs;
      std::uint64_t* to = lines.there[near.z];  // x0 may lie before it, x0 + xs.begin does not
      for (int x = xs.begin; x < xs.end; ++x) to[(near.x0 + x) * kLeaves + near.y] = given[x];
    });
  }

  LEAFPROOF_HD void find_met(Lines& lines, int tz) const {
    const int words = geometry.extent(0) * kLeaves, at = first_z() + geometry.dilation[2] * tz;
    std::uint64_t met[kWords];
    const EightBits<kWords> bits(lines.there, at);
    if (geometry.stride[2] == 1) {
      for (int i = 0; i < words; ++i) met[i] = bits(i);
    } else if (geometry.stride[2] == 2) {
      const EightBits<kWords> next(lines.there, at + 8);
      for (int i = 0; i < words; ++i) met[i] = even_bits(bits(i)) | even_bits(next(i)) << 4;
    } else {
      for (int i = 0; i < words; ++i) met[i] = 0;
      for (int z = 0; z < 8; ++z) {
        const int bit = at + geometry.stride[2] * z;
        const std::uint64_t* plane = lines.there[bit >> 3];
        for (int i = 0; i < words; ++i) met[i] |= (plane[i] >> (bit & 7) & kEveryRow) << z;
      }
    }
    std::uint8_t* to = lines.met + tz * Lines::kBytes;
    if (geometry.stride[1] == 1) {
      std::memcpy(to, met, static_cast<std::size_t>(words) * sizeof met[0]);
    } else if (geometry.stride[1] == 2) {
      std::uint32_t even[kWords], odd[kWords];
      for (int i = 0; i < words; ++i) even[i] = static_cast<std::uint32_t>(even_bytes(met[i]));
      for (int i = 0; i < words; ++i) odd[i] = static_cast<std::uint32_t>(even_bytes(met[i] >> 8));
      const std::size_t bytes = static_cast<std::size_t>(words) * sizeof even[0];
      std::memcpy(to, even, bytes);
      std::memcpy(to + kAcross * bytes_of_slice(2), odd, bytes);
    } else {
      const int stride = geometry.stride[1], bytes = bytes_of_slice(stride);
      for (int x = 0; x < geometry.extent(0); ++x) {
        for (int line = 0; line < 8 * kLeaves; ++line) {
          to[(line % stride * kAcross + x) * bytes + line / stride] =
              static_cast<std::uint8_t>(met[x * kLeaves + line / 8] >> (line & 7) * 8);
        }
      }
    }
  }

  LEAFPROOF_HD static void count_leaf(Lines& lines, const LeafMask& mask, int taps,
                                      int next_slice) {
    for (int tap = 0; tap < taps; ++tap) {
      const std::uint8_t* met = lines.met + lines.first_met[tap];
      int found = 0;
      for (int x = 0; x < 8; ++x, met += next_slice) {
        std::uint64_t slice;
        std::memcpy(&slice, met, sizeof slice);
        found += popcount(slice & mask.word[x]);
      }
      lines.found[tap] += found;
    }
  }

  // --- writing: which rows the fine voxels have

  /// The rows of the fine voxels around a coarse leaf, -1 where there is none; z fastest, in whole
  /// leaves. And where tap 0 of each position, and of each voxel, of the leaf looks in it.
  struct Block {
    static constexpr int kMostZ = 32;
    std::int32_t rows[kAcross * kAcross * kMostZ];
    std::int32_t all_cells[512], cells[512 + map_rows::kLanes];
    std::int32_t some_fine[512 + map_rows::kLanes], some_coarse[512 + map_rows::kLanes];
    std::int32_t steps[kMostTaps];               // from tap 0 to tap t in `rows`
    std::int64_t at[kMostTaps], end[kMostTaps];  // of the chunk's list of each tap
    int px, py;                                  // from line to line in `rows`
  };

  LEAFPROOF_HD void write(SourceView::GridFinder& finder, std::int64_t first,
                          std::int64_t last) const {
    const Neighbourhood near = neighbourhood();
    SegmentCursor cursor;
    Block block;
    block.py = (first_z() + geometry.extent(2) + 7) & ~7;
    block.px = geometry.extent(1) * block.py;
    visit_taps([&](int tap, int tx, int ty, int tz) {
      block.steps[tap] = geometry.dilation[0] * tx * block.px +
                         geometry.dilation[1] * ty * block.py + geometry.dilation[2] * tz;
    });
    for (int i = 0; i < 512; ++i) {
      block.all_cells[i] = geometry.stride[0] * (i >> 6) * block.px +
                           geometry.stride[1] * (i >> 3 & 7) * block.py +
                           geometry.stride[2] * (i & 7) + first_z();
    }
    const auto taps = static_cast<int>(geometry.taps());
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      for (int tap = 0; tap < taps; ++tap) {
        block.at[tap] = lists.counts[tap * lists.chunks + chunk];
        block.end[tap] = lists.counts[tap * lists.chunks + chunk + 1];
      }
      const std::int64_t begin = chunk * lists.chunk_leaves;
      const std::int64_t end = smaller(coarse.leaves, begin + lists.chunk_leaves);
      for (std::int64_t i = begin; i < end; ++i) {
        const auto place = coarse.leaf_place(i, cursor);
        const LeafNode& leaf = coarse.leaf(place);
        lay_out(finder, near, place.member, leaf_coord(leaf), block);
        const std::uint64_t* words = leaf.mValueMask.words();
        const std::int64_t row = first_row_of(coarse.members[place.member], words);
        write_leaf(block, list_cells(words, block), static_cast<std::int32_t>(row), taps);
      }
    }
  }

  LEAFPROOF_HD void lay_out(SourceView::GridFinder& finder, const Neighbourhood& all,
                            std::int64_t member, const Coord& leaf, Block& block) const {
    const int px = block.px, py = block.py, size = geometry.extent(0) * px;
    for (int i = 0; i < size; ++i) block.rows[i] = -1;
    visit_block(finder, all, member, leaf, [&](const Near& near, const std::uint64_t* words) {
      const int at = near.x0 * px + near.y0 * py + 8 * near.z;
      const auto row = static_cast<std::int32_t>(first_row_of(fine.members[member], words));
#if defined(LEAFPROOF_MAP_ROWS_AVX512)
      if (instructions == InstructionSet::Avx512) {
        map_rows::lay_out_avx512(words, row, near.part, block.rows, at, px, py);
        return;
      }
#endif
      map_rows::lay_out(words, row, near.part, block.rows, at, px, py);
    });
  }

  LEAFPROOF_HD int list_cells(const std::uint64_t* words, Block& block) const {
#if defined(LEAFPROOF_MAP_ROWS_AVX512)
    if (instructions == InstructionSet::Avx512) {
      return map_rows::pick_avx512(words, block.all_cells, block.cells);
    }
#endif
    return map_rows::pick(words, block.all_cells, block.cells);
  }

  LEAFPROOF_HD int keep(const std::int32_t* rows, const std::int32_t* cells, int n,
                        std::int32_t row, std::int32_t* fine_rows,
                        std::int32_t* coarse_rows) const {
#if defined(LEAFPROOF_MAP_ROWS_AVX512)
    if (instructions == InstructionSet::Avx512) {
      return map_rows::keep_avx512(rows, cells, n, row, fine_rows, coarse_rows);
    }
#endif
    return map_rows::keep(rows, cells, n, row, fine_rows, coarse_rows);
  }

  LEAFPROOF_HD void write_leaf(Block& block, int n, std::int32_t row, int taps) const {
    for (int tap = 0; tap < taps; ++tap) {
      const std::int64_t at = block.at[tap], left = block.end[tap] - at;
      if (left == 0) continue;
      const std::int32_t* rows = block.rows + block.steps[tap];
      std::int32_t *to_fine = lists.fine_rows + at, *to_coarse = lists.coarse_rows + at;
      if (left >= n + map_rows::kLanes) {
        block.at[tap] = at + keep(rows, block.cells, n, row, to_fine, to_coarse);
        continue;
      }
      // What does not count would be written into the next chunk's list.
      const int kept = keep(rows, block.cells, n, row, block.some_fine, block.some_coarse);
      const std::size_t bytes = static_cast<std::size_t>(kept) * sizeof(std::int32_t);
      std::memcpy(to_fine, block.some_fine, bytes);
      std::memcpy(to_coarse, block.some_coarse, bytes);
      block.at[tap] = at + kept;
    }
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
