// The passes, each as a reach rule and a gather rule over one machine. A rule says
//   image      which target voxels a box of source voxels can reach (of nodes, so that levels above
//              the leaves are found first),
//   reach      exactly which target leaves a source leaf has a voxel in,
//   gather     the mask of a target leaf, pulled from the source by shifts on its eight words.
// Rules are plain structs of pointers, copied into every launch.
#pragma once

#include <cstdint>

#include "gpu/axis_relation.h"
#include "gpu/engine.h"
#include "gpu/leaf_mask.h"
#include "gpu/source_view.h"

namespace leafproof::gpu {

/// A source node's member and the target voxels that it can reach.
struct Reached {
  std::int64_t member;
  Box voxels;
};

LEAFPROOF_HD inline Box voxels_of(const nanovdb::CoordBBox& box) {
  return {coord_of(box.min()), coord_of(box.max())};
}

LEAFPROOF_HD inline Box voxels_of(const LeafNode& leaf) {
  const Coord min = coord_of(leaf.mBBoxMin);
  return {min, {min.x + leaf.mBBoxDif[0], min.y + leaf.mBBoxDif[1], min.z + leaf.mBBoxDif[2]}};
}

/// The box of a mask's voxels in a leaf (coordinates voxel / 8); nothing() for none.
LEAFPROOF_HD inline Box voxels_of(const LeafMask& mask, const Coord& leaf) {
  if (!any(mask)) return nothing();
  const Box box = box_of(mask);
  const Coord at = leaf << kLeafLog;
  return {{at.x + box.min.x, at.y + box.min.y, at.z + box.min.z},
          {at.x + box.max.x, at.y + box.max.y, at.z + box.max.z}};
}

/// Emits one leaf, as a row of one.
template <class Emit>
LEAFPROOF_HD void emit_leaf(std::int64_t member, const Coord& leaf, const Emit& emit) {
  emit(member, Coord{leaf.x, leaf.y, leaf.z & ~std::int64_t{15}}, 1u << (leaf.z & 15));
}

/// Passes whose result lies within the source's own leaves: prune [T-6], and bringing a foreign
/// batch into canonical order. The voxels that stay are those that the view selects.
struct KeepRule {
  SourceView source;

  LEAFPROOF_HD Box image(const Box& voxels) const { return voxels; }

  template <class Emit>
  LEAFPROOF_HD void reach(SegmentCursor& cursor, std::int64_t i, const Emit& emit) const {
    const auto place = source.leaf_place(i, cursor);
    if (any(source.mask(place))) emit_leaf(place.member, leaf_coord(source.leaf(place)), emit);
  }
  template <class Finder>
  LEAFPROOF_HD LeafMask gather(Finder& finder, const Coord& leaf, std::int64_t) const {
    LeafMask mask;
    const std::uint64_t* words = finder.words(leaf);
    for (int x = 0; x < 8; ++x) mask.word[x] = words[x];
    return mask;
  }
};

/// coarsen(f) [T-3]: leaf borders of the target are leaf borders of the source (8 f), so a source
/// leaf reaches exactly one target leaf, whatever f is.
struct CoarsenRule {
  static constexpr bool kHeavyWork = true;
  SourceView source;
  Coord factor;

  LEAFPROOF_HD Coord coarse(const Coord& c) const {
    return {floor_div(c.x, factor.x), floor_div(c.y, factor.y), floor_div(c.z, factor.z)};
  }
  LEAFPROOF_HD Box image(const Box& voxels) const {
    return {coarse(voxels.min), coarse(voxels.max)};
  }
  template <class Emit>
  LEAFPROOF_HD void reach(SegmentCursor& cursor, std::int64_t i, const Emit& emit) const {
    const auto place = source.leaf_place(i, cursor);
    const Coord leaf = leaf_coord(source.leaf(place));
    emit_leaf(place.member, halves() ? leaf >> 1 : coarse(leaf), emit);
  }

  template <class Finder>
  LEAFPROOF_HD LeafMask gather(Finder& finder, const Coord& leaf, std::int64_t) const {
    LeafMask mask = empty_mask();
    if (halves()) {
      halve(finder, leaf, mask);
      return mask;
    }
    const Box window{
        {leaf.x * factor.x, leaf.y * factor.y, leaf.z * factor.z},
        {(leaf.x + 1) * factor.x - 1, (leaf.y + 1) * factor.y - 1, (leaf.z + 1) * factor.z - 1}};
    source.visit_leaves(finder.member(), window,
                        [&](const Coord& from, const std::uint64_t* words) {
                          contribute(leaf, from, words, mask);
                          return !full(mask);
                        });
    return mask;
  }

 private:
  LEAFPROOF_HD bool halves() const { return factor.x == 2 && factor.y == 2 && factor.z == 2; }

  /// Positions in the target leaf of the voxels of a source leaf, on one axis: one division.
  LEAFPROOF_HD static void positions(std::int64_t from, std::int64_t f, std::int64_t leaf,
                                     int (&at)[8]) {
    std::int64_t quotient = floor_div(from * 8, f), rest = from * 8 - quotient * f;
    for (int i = 0; i < 8; ++i) {
      at[i] = static_cast<int>(quotient - leaf * 8);
      if (++rest < f) continue;
      rest = 0;
      ++quotient;
    }
  }

  LEAFPROOF_HD void contribute(const Coord& leaf, const Coord& from, const std::uint64_t* words,
                               LeafMask& mask) const {
    int px[8], py[8], pz[8];
    positions(from.x, factor.x, leaf.x, px);
    positions(from.y, factor.y, leaf.y, py);
    positions(from.z, factor.z, leaf.z, pz);
    std::uint64_t slices[8] = {};
    for (int x = 0; x < 8; ++x) slices[px[x]] |= words[x];
    for (int x = 0; x < 8; ++x) {
      if (slices[x] == 0) continue;
      std::uint64_t columns = 0, rows = 0;
      for (int z = 0; z < 8; ++z) {
        columns |= ((slices[x] >> z) & kEveryRow) << pz[z];
      }
      for (int y = 0; y < 8; ++y) {
        rows |= ((columns >> (8 * y)) & 0xFF) << (8 * py[y]);
      }
      mask.word[x] |= rows;
    }
  }

  /// coarsen(2): pairs of neighbours OR-ed, then the even bits and rows pushed together.
  template <class Finder>
  LEAFPROOF_HD void halve(Finder& finder, const Coord& leaf, LeafMask& mask) const {
    for (int cx = 0; cx < 2; ++cx) {
      std::uint64_t half[4] = {};
      for (int yz = 0; yz < 4; ++yz) {
        const std::uint64_t* words =
            finder.words({leaf.x * 2 + cx, leaf.y * 2 + (yz >> 1), leaf.z * 2 + (yz & 1)});
        if (words != nullptr) push_together(words, 32 * (yz >> 1) + 4 * (yz & 1), half);
      }
      for (int x = 0; x < 4; ++x) mask.word[4 * cx + x] = half[x];
    }
  }
  LEAFPROOF_HD static void push_together(const std::uint64_t* words, int shift,
                                         std::uint64_t (&half)[4]) {
    for (int x = 0; x < 4; ++x) {
      std::uint64_t w = words[2 * x] | words[2 * x + 1];
      w |= w >> 8;                               // rows 2y and 2y+1
      w |= w >> 1;                               // columns 2z and 2z+1
      w &= 0x0055005500550055u;                  // keep the even ones
      w = (w | (w >> 1)) & 0x0033003300330033u;  // columns 0 2 4 6 -> 0 1 2 3
      w = (w | (w >> 2)) & 0x000F000F000F000Fu;
      w = (w | (w >> 8)) & 0x0000FFFF0000FFFFu;  // rows 0 2 4 6 -> 0 1 2 3
      w = (w | (w >> 16)) & 0x00000000FFFFFFFFu;
      half[x] |= w << shift;
    }
  }
};

/// Passes that follow a Relation: refine [T-2], dilate_box [T-4] with any box, conv
/// grids [K-3] [K-4].
struct RelationRule {
  SourceView source;
  Relation relation;
  std::uint64_t* first_out_of_range = nullptr;  // when set: the least source leaf whose image
                                                // leaves the lattice is written here [L-5]

  LEAFPROOF_HD Box image(const Box& voxels) const { return relation.image(voxels); }

  template <class Emit>
  LEAFPROOF_HD void reach(SegmentCursor& cursor, std::int64_t i, const Emit& emit) const {
    const auto place = source.leaf_place(i, cursor);
    const LeafMask mask = source.mask(place);
    const Box box = voxels_of(mask, leaf_coord(source.leaf(place)));
    if (box.empty()) return;
    const Box result = relation.image(box);
    const Coord from = box.min >> 3;
    if (first_out_of_range != nullptr && !in_lattice(result) && any(relation.leaving(from, mask))) {
      atomic_min(first_out_of_range, static_cast<std::uint64_t>(i));
      return;
    }
    const Box targets = result >> 3;
    for (std::int64_t x = targets.min.x; x <= targets.max.x; ++x) {
      const AxisEntry* ex = relation.x.entry(x, from.x);
      if (ex == nullptr) continue;
      std::uint64_t slice = 0;
      for (unsigned xs = ex->support; xs != 0; xs &= xs - 1) slice |= mask.word[lowest_bit(xs)];
      if (slice == 0) continue;
      for (std::int64_t y = targets.min.y; y <= targets.max.y; ++y) {
        const AxisEntry* ey = relation.y.entry(y, from.y);
        const unsigned columns = ey == nullptr ? 0 : any_row(slice & ey->support_rows);
        if (columns == 0) continue;
        unsigned row = 0;
        for (std::int64_t z = targets.min.z; z <= targets.max.z; ++z) {
          const AxisEntry* ez = relation.z.entry(z, from.z);
          if (ez != nullptr && (columns & ez->support) != 0) row |= 1u << (z & 15);
          if (((z & 15) == 15 || z == targets.max.z) && row != 0) {
            emit(place.member, Coord{x, y, z & ~std::int64_t{15}}, row);
            row = 0;
          }
        }
      }
    }
  }

  template <class Finder>
  LEAFPROOF_HD LeafMask gather(Finder& finder, const Coord& leaf, std::int64_t) const {
    LeafMask mask = empty_mask();
    source.visit_leaves(finder.member(), relation.source_leaves(leaf),
                        [&](const Coord& from, const std::uint64_t* words) {
                          LeafMask given;
                          for (int x = 0; x < 8; ++x) given.word[x] = words[x];
                          relation.contribute(leaf, from, given, mask);
                          return !full(mask);  // a full leaf gains nothing more
                        });
    return mask;
  }
};

/// refine(f) [T-2]: a target leaf comes out of exactly one source leaf (8 f is a multiple of 8).
struct RefineRule : RelationRule {
  static constexpr bool kHeavyWork = true;
  template <class Emit>
  LEAFPROOF_HD void reach(SegmentCursor& cursor, std::int64_t i, const Emit& emit) const {
    if (!doubles() || first_out_of_range != nullptr) {
      RelationRule::reach(cursor, i, emit);
      return;
    }
    const auto place = source.leaf_place(i, cursor);
    const LeafMask mask = source.mask(place);
    const Coord leaf = leaf_coord(source.leaf(place)) << 1;
    const Coord row{leaf.x, leaf.y, leaf.z & ~std::int64_t{15}};
    for (int x = 0; x < 2; ++x) {
      const std::uint64_t* w = mask.word + 4 * x;
      const std::uint64_t half = w[0] | w[1] | w[2] | w[3];
      for (int y = 0; y < 2; ++y) {
        const unsigned columns = any_row(half >> (32 * y) & 0xFFFFFFFF);
        const unsigned two = (columns & 15 ? 1 : 0) | (columns >> 4 ? 2 : 0);
        if (two != 0) emit(place.member, Coord{row.x + x, row.y + y, row.z}, two << (leaf.z & 15));
      }
    }
  }

  template <class Finder>
  LEAFPROOF_HD LeafMask gather(Finder& finder, const Coord& leaf, std::int64_t) const {
    LeafMask mask = empty_mask();
    if (doubles()) {
      twice(finder.words(leaf >> 1), leaf, mask);
      return mask;
    }
    const Coord from{relation.x.first_source_leaf(leaf.x), relation.y.first_source_leaf(leaf.y),
                     relation.z.first_source_leaf(leaf.z)};
    LeafMask given;
    const std::uint64_t* words = finder.words(from);
    for (int x = 0; x < 8; ++x) given.word[x] = words[x];
    relation.contribute(leaf, from, given, mask);
    return mask;
  }

 private:
  LEAFPROOF_HD bool doubles() const {
    return relation.x.factor == 2 && relation.y.factor == 2 && relation.z.factor == 2;
  }

  /// refine(2): an octant of 4 x 4 x 4 voxels, its rows and columns drawn apart, each doubled.
  LEAFPROOF_HD static void twice(const std::uint64_t* words, const Coord& leaf, LeafMask& mask) {
    const std::uint64_t* from = words + 4 * (leaf.x & 1);
    const auto shift = static_cast<int>(32 * (leaf.y & 1) + 4 * (leaf.z & 1));
    std::uint64_t apart[4];
    for (int x = 0; x < 4; ++x) {
      std::uint64_t w = from[x] >> shift & 0x0F0F0F0Fu;
      w = (w | w << 16) & 0x0000FFFF0000FFFFu;  // rows 0 1 2 3 -> 0 2 4 6
      w = (w | w << 8) & 0x00FF00FF00FF00FFu;
      w = (w | w << 2) & 0x0033003300330033u;  // columns 0 1 2 3 -> 0 2 4 6
      w = (w | w << 1) & 0x0055005500550055u;
      w |= w << 1;
      apart[x] = w | w << 8;
    }
    for (int x = 0; x < 8; ++x) mask.word[x] = apart[x / 2];
  }
};

/// The dilation of one leaf by a box within [-8, 8]^3, from the 27 leaves around it: x by whole
/// words, y by bytes, z by bits. With `Missing`, the dilation of the voxels that are *not* there:
/// the part that an erosion loses.
struct NearBox {
  int lo[3], hi[3];

  template <bool Missing, class Finder>
  LEAFPROOF_HD LeafMask dilate(Finder& finder, const Coord& leaf) const {
    std::uint64_t planes[3][8] = {};  // by z neighbour, after x and y
    for (int nz = hi[2] > 0 ? -1 : 0; nz <= (lo[2] < 0 ? 1 : 0); ++nz) {
      std::uint64_t columns[3][8] = {};  // by y neighbour, after x
      for (int ny = hi[1] > 0 ? -1 : 0; ny <= (lo[1] < 0 ? 1 : 0); ++ny) {
        std::uint64_t line[24] = {};  // the words of three leaves in a row
        if (!load<Missing>(finder, leaf, ny, nz, line)) continue;
        for (int d = lo[0]; d <= hi[0]; ++d) {
          for (int x = 0; x < 8; ++x) columns[ny + 1][x] |= line[8 + x - d];
        }
      }
      for (int d = lo[1]; d <= hi[1]; ++d) shift_rows(d, columns, planes[nz + 1]);
    }
    LeafMask mask = empty_mask();
    for (int d = lo[2]; d <= hi[2]; ++d) shift_columns(d, planes, mask);
    return mask;
  }

 private:
  template <bool Missing, class Finder>
  LEAFPROOF_HD bool load(Finder& finder, const Coord& leaf, int ny, int nz,
                         std::uint64_t* line) const {
    bool found = Missing;
    for (int nx = hi[0] > 0 ? -1 : 0; nx <= (lo[0] < 0 ? 1 : 0); ++nx) {
      const std::uint64_t* words = finder.words({leaf.x + nx, leaf.y + ny, leaf.z + nz});
      std::uint64_t* part = line + 8 * (nx + 1);
      if (words != nullptr) {
        found = true;
        for (int x = 0; x < 8; ++x) part[x] = Missing ? ~words[x] : words[x];
      } else if (Missing) {
        for (int x = 0; x < 8; ++x) part[x] = ~std::uint64_t{0};
      }
    }
    return found;
  }

  /// ORs the rows moved by d in y: t = s + d, with rows from the neighbour before or after.
  LEAFPROOF_HD static void shift_rows(int d, const std::uint64_t (&from)[3][8],
                                      std::uint64_t (&to)[8]) {
    if (d == 0) {
      for (int x = 0; x < 8; ++x) to[x] |= from[1][x];
    } else if (d == 8 || d == -8) {
      for (int x = 0; x < 8; ++x) to[x] |= from[d > 0 ? 0 : 2][x];
    } else if (d > 0) {
      for (int x = 0; x < 8; ++x) to[x] |= from[1][x] << (8 * d) | from[0][x] >> (64 - 8 * d);
    } else {
      for (int x = 0; x < 8; ++x) to[x] |= from[1][x] >> (-8 * d) | from[2][x] << (64 + 8 * d);
    }
  }

  /// ORs the bits moved by d in z, within each row and from the neighbours' rows.
  LEAFPROOF_HD static void shift_columns(int d, const std::uint64_t (&from)[3][8], LeafMask& to) {
    if (d == 0) {
      for (int x = 0; x < 8; ++x) to.word[x] |= from[1][x];
    } else if (d == 8 || d == -8) {
      for (int x = 0; x < 8; ++x) to.word[x] |= from[d > 0 ? 0 : 2][x];
    } else if (d > 0) {
      const std::uint64_t low = kEveryRow * ((1u << d) - 1);
      for (int x = 0; x < 8; ++x) {
        to.word[x] |= ((from[1][x] << d) & ~low) | ((from[0][x] >> (8 - d)) & low);
      }
    } else {
      const std::uint64_t low = kEveryRow * ((1u << (8 + d)) - 1);
      for (int x = 0; x < 8; ++x) {
        to.word[x] |= ((from[1][x] >> -d) & low) | ((from[2][x] << (8 + d)) & ~low);
      }
    }
  }
};

/// dilate_box(lo, hi) within [-8, 8]^3 [T-4].
struct DilateNearRule : RelationRule {
  static constexpr bool kHeavyWork = true;
  NearBox box;
  template <class Finder>
  LEAFPROOF_HD LeafMask gather(Finder& finder, const Coord& leaf, std::int64_t) const {
    return box.dilate<false>(finder, leaf);
  }
};

/// dilate_box(lo, hi) within [-1, 1]^3: 26 neighbours, octant pads, dual. Straight-line code, since
/// this is the box that networks use.
struct DilateUnitRule : RelationRule {
  static constexpr bool kHeavyWork = true;
  bool down[3], up[3];  // is -1, is 1 in the box, per axis

  /// Which of the 27 leaves around leaf i it has a voxel for: bits z = 0, 1, 2, by x and y from 0.
  LEAFPROOF_HD void reached(const LeafMask& mask, unsigned (&three)[3][3]) const {
    std::uint64_t slices[3] = {mask.word[0] & all_if(down[0]), 0, mask.word[7] & all_if(up[0])};
    for (int x = 0; x < 8; ++x) slices[1] |= mask.word[x];
    const unsigned below = down[2], above = up[2];
    for (int x = 0; x < 3; ++x) {
      const std::uint64_t rows[3] = {slices[x] & 0xFF & all_if(down[1]), any_row(slices[x]),
                                     slices[x] >> 56 & all_if(up[1])};
      for (int y = 0; y < 3; ++y) {
        const auto row = static_cast<unsigned>(rows[y]);
        three[x][y] = (row & below) | (row != 0 ? 2 : 0) | (row >> 7 & above) << 2;
      }
    }
  }

  template <class Emit>
  LEAFPROOF_HD void reach(SegmentCursor& cursor, std::int64_t i, const Emit& emit) const {
    const auto place = source.leaf_place(i, cursor);
    const Coord leaf = leaf_coord(source.leaf(place));
    unsigned three[3][3];
    reached(source.mask(place), three);
    for (int x = 0; x < 3; ++x) {
      for (int y = 0; y < 3; ++y) {
        if (three[x][y] == 0) continue;
        emit_three(place.member, {leaf.x + x - 1, leaf.y + y - 1, leaf.z - 1}, three[x][y], emit);
      }
    }
  }

  /// Along z and y by whole words, then x moves words. Only the last word of a leaf before, and the
  /// first of one after, come into it.
  template <class Finder>
  LEAFPROOF_HD LeafMask gather(Finder& finder, const Coord& leaf, std::int64_t) const {
    const auto near = finder.around(leaf);
    std::uint64_t ends[3][3][2], slices[8], beyond[2];
    for (int y = 0; y < 3; ++y) {
      for (int z = 0; z < 3; ++z) {
        ends[y][z][0] = near(0, y, z)[7];
        ends[y][z][1] = near(2, y, z)[0];
      }
    }
    spread<8>([&near](int y, int z) { return near(1, y, z); }, slices);
    spread<2>([&ends](int y, int z) { return ends[y][z]; }, beyond);
    LeafMask mask;
    for (int x = 0; x < 8; ++x) {
      const std::uint64_t before = x == 0 ? beyond[0] : slices[x - 1];
      const std::uint64_t after = x == 7 ? beyond[1] : slices[x + 1];
      mask.word[x] = slices[x] | (before & all_if(up[0])) | (after & all_if(down[0]));
    }
    return mask;
  }

 private:
  /// The leaves of up to three slots along z from `first` on, as rows of their lower nodes.
  template <class Emit>
  LEAFPROOF_HD static void emit_three(std::int64_t member, const Coord& first, unsigned three,
                                      const Emit& emit) {
    const Coord row{first.x, first.y, first.z & ~std::int64_t{15}};
    const unsigned bits = three << (first.z & 15);
    if ((bits & 0xFFFF) != 0) emit(member, row, bits & 0xFFFF);
    if (bits >> 16 != 0) emit(member, Coord{row.x, row.y, row.z + 16}, bits >> 16);
  }

  LEAFPROOF_HD static std::uint64_t all_if(bool condition) {
    return condition ? ~std::uint64_t{0} : 0;
  }

  /// Dilates n words along z, then y, from nine lines of them.
  template <int n, class Line>
  LEAFPROOF_HD void spread(const Line& line, std::uint64_t (&to)[n]) const {
    constexpr std::uint64_t kFirst = kEveryRow, kLast = kEveryRow << 7;
    const std::uint64_t first = kFirst & all_if(up[2]), last = kLast & all_if(down[2]);
    const std::uint64_t forward = ~kFirst & all_if(up[2]), back = ~kLast & all_if(down[2]);
    const std::uint64_t rows_up = all_if(up[1]), rows_down = all_if(down[1]);
    std::uint64_t rows[3][n];
    for (int y = 0; y < 3; ++y) {
      const std::uint64_t *before = line(y, 0), *here = line(y, 1), *after = line(y, 2);
      for (int x = 0; x < n; ++x) {
        rows[y][x] = here[x] | (here[x] << 1 & forward) | (here[x] >> 1 & back) |
                     (before[x] >> 7 & first) | (after[x] << 7 & last);
      }
    }
    for (int x = 0; x < n; ++x) {
      to[x] = rows[1][x] | ((rows[1][x] << 8 | rows[0][x] >> 56) & rows_up) |
              ((rows[1][x] >> 8 | rows[2][x] << 56) & rows_down);
    }
  }
};

/// erode_box(lo, hi) [T-5]: a voxel is lost when a voxel is missing at c + d, so what is lost is
/// the dilation by [-hi, -lo] of what is missing. The relation is that dilation's.
struct ErodeRule {
  SourceView source;
  Relation relation;
  NearBox box;  // the same dilation, where it is near
  bool near = false;

  LEAFPROOF_HD Box image(const Box& voxels) const { return voxels; }

  template <class Emit>
  LEAFPROOF_HD void reach(SegmentCursor& cursor, std::int64_t i, const Emit& emit) const {
    const auto place = source.leaf_place(i, cursor);
    const Coord leaf = leaf_coord(source.leaf(place));
    SourceView::Finder finder(source, place.member);
    if (any(gather(finder, leaf, 0))) emit_leaf(place.member, leaf, emit);
  }

  template <class Finder>
  LEAFPROOF_HD LeafMask gather(Finder& finder, const Coord& leaf, std::int64_t) const {
    LeafMask mask;
    const std::uint64_t* words = finder.words(leaf);
    for (int x = 0; x < 8; ++x) mask.word[x] = words[x];
    if (near) {
      const LeafMask lost = box.dilate<true>(finder, leaf);
      for (int x = 0; x < 8; ++x) mask.word[x] &= ~lost.word[x];
      return mask;
    }
    const Box from = relation.source_leaves(leaf);
    for (std::int64_t x = from.min.x; x <= from.max.x; ++x) {
      for (std::int64_t y = from.min.y; y <= from.max.y; ++y) {
        for (std::int64_t z = from.min.z; z <= from.max.z; ++z) {
          const std::uint64_t* there = finder.words({x, y, z});
          LeafMask missing, lost = empty_mask();
          for (int i = 0; i < 8; ++i) missing.word[i] = there == nullptr ? ~0ull : ~there[i];
          relation.contribute(leaf, {x, y, z}, missing, lost);
          for (int i = 0; i < 8; ++i) mask.word[i] &= ~lost.word[i];
          if (!any(mask)) return mask;
        }
      }
    }
    return mask;
  }
};

/// merge, intersect, subtract [T-6], member by member. The leaves of `source` come first, then, for
/// a merge, those of `other`.
struct SetRule {
  SourceView source, other;
  SetOperation operation;

  LEAFPROOF_HD Box image(const Box& voxels) const { return voxels; }

  template <class Emit>
  LEAFPROOF_HD void reach(SegmentCursor& cursor, std::int64_t i, const Emit& emit) const {
    const bool second = i >= source.leaves;
    const SourceView& from = second ? other : source;
    const auto place = from.leaf_place(second ? i - source.leaves : i, cursor);
    const Coord leaf = leaf_coord(from.leaf(place));
    if (operation != SetOperation::Merge) {
      SourceView::Finder finder(source, place.member);
      if (!any(gather(finder, leaf, 0))) return;
    }
    emit_leaf(place.member, leaf, emit);
  }

  template <class Finder>
  LEAFPROOF_HD LeafMask gather(Finder& finder, const Coord& leaf, std::int64_t) const {
    const std::uint64_t* p = finder.words(leaf);
    SourceView::Finder second(other, finder.member());
    const std::uint64_t* q = second.words(leaf);
    LeafMask mask;
    for (int x = 0; x < 8; ++x) {
      const std::uint64_t v = p == nullptr ? 0 : p[x], w = q == nullptr ? 0 : q[x];
      mask.word[x] = operation == SetOperation::Merge       ? v | w
                     : operation == SetOperation::Intersect ? v & w
                                                            : v & ~w;
    }
    return mask;
  }
};

/// The nodes that reach out: those of the source, and for a merge those of the second batch too.
template <class Rule>
LEAFPROOF_HD const SourceView& second_of(const Rule& rule) {
  return rule.source;
}
LEAFPROOF_HD inline const SourceView& second_of(const SetRule& rule) {
  return rule.other;
}
template <class Rule>
LEAFPROOF_HD bool reads_second(const Rule&) {
  return false;
}
LEAFPROOF_HD inline bool reads_second(const SetRule& rule) {
  return rule.operation == SetOperation::Merge;
}

}  // namespace leafproof::gpu
