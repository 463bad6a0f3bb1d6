// from_ijk and from_points [T-1]: the only passes that read coordinates. Lists of all members are
// one array of rows. Where the boxes of the members are small for their rows, a dense array of leaf
// masks over the boxes takes every voxel with one OR; elsewhere the voxels are sorted as keys.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/discover.h"
#include "gpu/leaf_mask.h"
#include "gpu/rules.h"

namespace leafproof::gpu {

/// Rows of all members in device memory.
struct Rows {
  const std::int32_t* ijk = nullptr;      // [N, 3]
  const std::int64_t* offsets = nullptr;  // B+1
  std::int64_t members = 0, rows = 0;
  std::int64_t chunk = 2048;  // rows that one index of a launch walks

  std::int64_t chunks() const { return (rows + chunk - 1) / chunk; }
  LEAFPROOF_HD Coord voxel(std::int64_t row) const {
    return {ijk[3 * row], ijk[3 * row + 1], ijk[3 * row + 2]};
  }
};

/// Calls visit(member, begin, end) for the runs of rows of one member among rows [row, end).
template <class Visit>
LEAFPROOF_HD void visit_rows(const Rows& rows, std::int64_t row, std::int64_t end,
                             const Visit& visit) {
  end = smaller(rows.rows, end);
  while (row < end) {
    const std::int64_t member = segment_of(rows.offsets, rows.members, row);
    const std::int64_t stop = smaller(end, rows.offsets[member + 1]);
    visit(member, row, stop);
    row = stop;
  }
}
/// The same for a chunk.
template <class Visit>
LEAFPROOF_HD void visit_chunk(const Rows& rows, std::int64_t chunk, const Visit& visit) {
  visit_rows(rows, chunk * rows.chunk, (chunk + 1) * rows.chunk, visit);
}

/// Six numbers a member that only ever fall, so that threads may meet in them: least biased
/// coordinates, and the complements of the greatest.
struct MeasureRows {
  static constexpr bool kHeavyWork = true;
  Rows rows;
  std::uint64_t* corners;  // B x 6, all ones before
  std::uint64_t* runs;     // runs of rows in one lower node: no fewer than there are lower nodes
  LEAFPROOF_HD void operator()(std::int64_t chunk) const { (*this)(chunk, Alone{}); }
  template <class Team>
  LEAFPROOF_HD void operator()(std::int64_t chunk, const Team& team) const {
    visit_chunk(rows, chunk, [&](std::int64_t member, std::int64_t begin, std::int64_t end) {
      const std::int32_t* voxel = rows.ijk + 3 * begin;
      std::int32_t x0 = voxel[0], y0 = voxel[1], z0 = voxel[2], x1 = x0, y1 = y0, z1 = z0;
      int begun = team.rank() == 0;
      for (std::int64_t row = begin + 1 + team.rank(); row < end; row += team.size()) {
        voxel = rows.ijk + 3 * row;
        const std::int32_t* last = voxel - 3;
        x0 = voxel[0] < x0 ? voxel[0] : x0;
        y0 = voxel[1] < y0 ? voxel[1] : y0;
        z0 = voxel[2] < z0 ? voxel[2] : z0;
        x1 = voxel[0] > x1 ? voxel[0] : x1;
        y1 = voxel[1] > y1 ? voxel[1] : y1;
        z1 = voxel[2] > z1 ? voxel[2] : z1;
        // A coordinate's bits from kLowerLog on change exactly when it leaves the lower node.
        begun += (((voxel[0] ^ last[0]) | (voxel[1] ^ last[1]) | (voxel[2] ^ last[2])) >>
                  kLowerLog) != 0;
      }
      const std::int64_t falling[6] = {kBias + team.least(x0),    kBias + team.least(y0),
                                       kBias + team.least(z0),    kBias - team.greatest(x1),
                                       kBias - team.greatest(y1), kBias - team.greatest(z1)};
      begun = team.sum(begun);
      if (team.rank() != 0) return;
      for (int i = 0; i < 6; ++i) {
        atomic_min(corners + 6 * member + i, static_cast<std::uint64_t>(falling[i]));
      }
      atomic_add(runs, static_cast<std::uint64_t>(begun));
    });
  }
  static constexpr std::int64_t kBias = std::int64_t{1} << 32;
};

/// The voxel nearest to (p - origin) / size, halves upward [T-1].
struct QuantisePoints {
  const double* xyz;  // [N, 3]
  Rows rows;          // offsets and counts; ijk is written through `ijk`
  const double* voxel_sizes;
  const double* origins;  // B x 3
  std::int32_t* ijk;
  std::uint64_t* not_finite;    // least such row
  std::uint64_t* out_of_range;  // least such row
  LEAFPROOF_HD void operator()(std::int64_t chunk) const { (*this)(chunk, Alone{}); }
  template <class Team>
  LEAFPROOF_HD void operator()(std::int64_t chunk, const Team& team) const {
    visit_chunk(rows, chunk, [&](std::int64_t member, std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin + team.rank(); row < end; row += team.size()) {
        quantise(member, row);
      }
    });
  }

 private:
  LEAFPROOF_HD void quantise(std::int64_t member, std::int64_t row) const {
    for (int axis = 0; axis < 3; ++axis) {
      ijk[3 * row + axis] = 0;
      const double p = xyz[3 * row + axis];
      if (!(p - p == 0)) {  // NaN or infinity
        atomic_min(not_finite, static_cast<std::uint64_t>(row));
        continue;
      }
      const double moved = p - origins[3 * member + axis];
      const double x = moved / voxel_sizes[3 * member + axis];
      double n = floor(x);
      if (x - n >= 0.5) n += 1.0;
      if (n >= -2147483648.0 && n <= 2147483647.0) {
        ijk[3 * row + axis] = static_cast<std::int32_t>(n);
      } else {
        atomic_min(out_of_range, static_cast<std::uint64_t>(row));
      }
    }
  }
};

/// A member's part of the dense array: leaf masks over a box of leaf coordinates, z fastest.
struct DenseMember {
  Box leaves;
  std::int64_t first_cell;
  LEAFPROOF_HD std::int64_t cell(const Coord& leaf) const {
    return first_cell +
           ((leaf.x - leaves.min.x) * (leaves.max.y - leaves.min.y + 1) + leaf.y - leaves.min.y) *
               (leaves.max.z - leaves.min.z + 1) +
           leaf.z - leaves.min.z;
  }
  LEAFPROOF_HD std::int64_t words() const { return 8 * discovery::volume(leaves); }
};

/// The lower nodes that a member's box meets; those without a voxel get no rank later.
struct MarkLowersOfBoxes {
  const DenseMember* members;
  LeafSet set;
  LEAFPROOF_HD void operator()(std::int64_t member) const {
    const Box& leaves = members[member].leaves;
    if (!leaves.empty()) discovery::mark_lowers(set, member, leaves >> (kLowerLog - kLeafLog));
  }
};

/// ORs voxels into the dense array, and counts those that are met for the first time.
struct FillDense {
  static constexpr bool kHeavyWork = true;
  Rows rows;
  const DenseMember* members;
  LeafMask* masks;
  Extent* extents;  // B: `voxels` are counted
  LEAFPROOF_HD void operator()(std::int64_t chunk) const { (*this)(chunk, Alone{}); }
  template <class Team>
  LEAFPROOF_HD void operator()(std::int64_t chunk, const Team& team) const {
    visit_chunk(rows, chunk, [&](std::int64_t member, std::int64_t begin, std::int64_t end) {
      const auto met = fill(member, begin + team.rank(), end, team.size());
      const int all = team.sum(static_cast<int>(met));  // of a chunk
      if (team.rank() == 0) count(member, static_cast<std::uint64_t>(all));
    });
  }
  /// A member all of whose rows are in these chunks is filled by one thread.
  LEAFPROOF_HD void run(std::int64_t first, std::int64_t last) const {
    const std::int64_t from = first * rows.chunk, to = last * rows.chunk;
    visit_rows(rows, from, to, [&](std::int64_t member, std::int64_t begin, std::int64_t end) {
      const bool whole = rows.offsets[member] >= from && rows.offsets[member + 1] <= to;
      if (members[member].words() > INT32_MAX) {
        count(member, fill(member, begin, end, 1));
      } else if (whole) {
        fill_blocks<false>(member, begin, end);
      } else {
        fill_blocks<true>(member, begin, end);
      }
    });
  }

 private:
  LEAFPROOF_HD std::uint64_t fill(std::int64_t member, std::int64_t begin, std::int64_t end,
                                  std::int64_t step) const {
    const DenseMember to = members[member];
    std::uint64_t met = 0;
    for (std::int64_t row = begin; row < end; row += step) {
      const Coord voxel = rows.voxel(row);
      met += atomic_or(masks[to.cell(voxel >> kLeafLog)].word + (voxel.x & 7),
                       std::uint64_t{1} << ((voxel.y & 7) << 3 | (voxel.z & 7)));
    }
    return met;
  }
  /// By blocks: first where all of its voxels go, in 32-bit vectors, then one OR after the other.
  template <bool kShared>
  LEAFPROOF_HD void fill_blocks(std::int64_t member, std::int64_t begin, std::int64_t end) const {
    constexpr int kBlock = 128;
    std::uint32_t word[kBlock], bit[kBlock];
    const DenseMember to = members[member];
    std::uint64_t* const words = masks[to.first_cell].word;
    const auto x0 = static_cast<std::int32_t>(to.leaves.min.x),
               y0 = static_cast<std::int32_t>(to.leaves.min.y),
               z0 = static_cast<std::int32_t>(to.leaves.min.z);
    const auto across_y = static_cast<std::uint32_t>(to.leaves.max.y - to.leaves.min.y + 1),
               across_z = static_cast<std::uint32_t>(to.leaves.max.z - to.leaves.min.z + 1);
    std::uint64_t met = 0;
    for (std::int64_t row = begin; row < end; row += kBlock) {
      const auto n = static_cast<int>(smaller(kBlock, end - row));
      const std::int32_t* voxel = rows.ijk + 3 * row;
      for (int i = 0; i < n; ++i) {
        const std::int32_t x = voxel[3 * i], y = voxel[3 * i + 1], z = voxel[3 * i + 2];
        const auto cx = static_cast<std::uint32_t>((x >> kLeafLog) - x0),
                   cy = static_cast<std::uint32_t>((y >> kLeafLog) - y0),
                   cz = static_cast<std::uint32_t>((z >> kLeafLog) - z0);
        word[i] = ((cx * across_y + cy) * across_z + cz) * 8 + static_cast<std::uint32_t>(x & 7);
        bit[i] = static_cast<std::uint32_t>((y & 7) << 3 | (z & 7));
      }
      for (int i = 0; i < n; ++i) {
        if constexpr (kShared) {
          met += atomic_or(words + word[i], std::uint64_t{1} << bit[i]);
        } else {
          const std::uint64_t before = words[word[i]];
          met += ~before >> bit[i] & 1;
          words[word[i]] = before | std::uint64_t{1} << bit[i];
        }
      }
    }
    count(member, met);
  }
  LEAFPROOF_HD void count(std::int64_t member, std::uint64_t met) const {
    if (met > 0) atomic_add(reinterpret_cast<std::uint64_t*>(&extents[member].voxels), met);
  }
};

/// Lines of dense cells along z as sources: what they hold is what the result holds.
struct DenseRule {
  static constexpr bool kHeavyWork = true;
  SourceView source;  // of no members: nothing is read from a grid
  const DenseMember* members = nullptr;
  const std::int64_t* first_line = nullptr;  // B+1: (x, y) lines of cells
  std::int64_t size = 0, lines = 0;
  const LeafMask* masks = nullptr;

  template <class Emit>
  LEAFPROOF_HD void reach(SegmentCursor& cursor, std::int64_t line, const Emit& emit) const {
    const std::int64_t member = cursor.find(first_line, size, line);
    const Box& box = members[member].leaves;
    const std::int64_t at = line - first_line[member], width = box.max.y - box.min.y + 1;
    Coord leaf{box.min.x + at / width, box.min.y + at % width, box.min.z};
    const LeafMask* mask = masks + members[member].cell(leaf);
    unsigned row = 0;
    for (; leaf.z <= box.max.z; ++leaf.z, ++mask) {
      if (any(*mask)) row |= 1u << (leaf.z & 15);
      if (((leaf.z & 15) == 15 || leaf.z == box.max.z) && row != 0) {
        emit(member, Coord{leaf.x, leaf.y, leaf.z & ~std::int64_t{15}}, row);
        row = 0;
      }
    }
  }
  template <class Finder>
  LEAFPROOF_HD LeafMask gather(Finder& finder, const Coord& leaf, std::int64_t) const {
    return masks[members[finder.member()].cell(leaf)];
  }
};

/// One key a voxel: its leaf's key, then 9 bits of offset in the leaf.
template <class Key>
struct ListVoxels {
  Rows rows;
  LeafCodec codec;
  Key* keys;
  LEAFPROOF_HD void operator()(std::int64_t chunk) const { (*this)(chunk, Alone{}); }
  template <class Team>
  LEAFPROOF_HD void operator()(std::int64_t chunk, const Team& team) const {
    visit_chunk(rows, chunk, [&](std::int64_t member, std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin + team.rank(); row < end; row += team.size()) {
        const Coord voxel = rows.voxel(row);
        const auto offset =
            static_cast<std::uint64_t>((voxel.x & 7) << 6 | (voxel.y & 7) << 3 | (voxel.z & 7));
        keys[row] = codec.encode<Key>(member, voxel >> kLeafLog) << 9 | static_cast<Key>(offset);
      }
    });
  }
};

/// Where each leaf's voxels begin among the sorted keys.
template <class Key>
struct StartLeaves {
  const std::int64_t* leaf_index;  // n+1: leaves begun before key i
  std::int64_t* first_key;
  Count n;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    if (leaf_index[i + 1] != leaf_index[i]) first_key[leaf_index[i]] = i;
    if (i + 1 == n.get()) first_key[leaf_index[i + 1]] = i + 1;
  }
};

/// Leaves from sorted voxel keys.
template <class Key>
struct SortedRule {
  SourceView source;  // of no members
  const Key* keys = nullptr;
  const std::int64_t* first_key = nullptr;

  template <class Finder>
  LEAFPROOF_HD LeafMask gather(Finder&, const Coord&, std::int64_t leaf) const {
    LeafMask mask = empty_mask();
    for (std::int64_t i = first_key[leaf]; i < first_key[leaf + 1]; ++i) {
      const auto offset = static_cast<std::uint64_t>(keys[i]) & 511;
      mask.word[offset >> 6] |= std::uint64_t{1} << (offset & 63);
    }
    return mask;
  }
};

}  // namespace leafproof::gpu
