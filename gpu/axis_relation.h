// The one shape that every reach has, per axis: a source voxel s and a target voxel t are joined
// iff
//     stride * t = factor * s + d    for some d in { first + i * step : 0 <= i < count }.
// refine(f): factor f, d in [0, f-1]. A box dilation: d in [lo, hi]. An erosion is the dilation of
// what is missing, mirrored. A strided kernel is the same with stride and step.
// Between a source leaf Ls and a target leaf Lt (coordinates voxel / 8) all depends on the one
// number q = stride * Lt - factor * Ls, so the 8 x 8 bit matrices of an axis are tabulated once by
// q.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/arithmetic.h"
#include "gpu/leaf_mask.h"

namespace leafproof::gpu {

struct AxisRelation {
  std::int64_t factor = 1, stride = 1;          // >= 1
  std::int64_t first = 0, step = 1, count = 1;  // the offsets d
  std::int64_t least() const { return first; }
  std::int64_t greatest() const { return first + (count - 1) * step; }
};

/// What leaves at one distance q do to each other on one axis.
struct AxisEntry {
  std::uint64_t reached;  // byte i: the target positions joined to source position i
  std::uint64_t rows[8];  // the same byte i spread to bit 0 of each byte: a multiplier for rows
  std::uint64_t support_rows;  // the source positions as whole rows (bytes)
  std::uint32_t support;       // source positions that reach something
  std::uint32_t image;         // target positions that are reached
};

/// One axis as the device sees it: a view of the table for q in [q_min, q_max].
struct Axis {
  std::int64_t factor = 1, stride = 1, least = 0, greatest = 0;
  std::int64_t q_min = 0, q_max = 0;
  const AxisEntry* entries = nullptr;

  LEAFPROOF_HD const AxisEntry* entry(std::int64_t target_leaf, std::int64_t source_leaf) const {
    const std::int64_t q = stride * target_leaf - factor * source_leaf;
    return q < q_min || q > q_max ? nullptr : entries + (q - q_min);
  }
  /// Voxels of the target that voxels [lo, hi] of the source can reach; exact at both ends when
  /// stride is 1.
  LEAFPROOF_HD std::int64_t first_target(std::int64_t lo) const {
    return ceil_div(factor * lo + least, stride);
  }
  LEAFPROOF_HD std::int64_t last_target(std::int64_t hi) const {
    return floor_div(factor * hi + greatest, stride);
  }
  /// Of the eight positions of a source leaf: which reach anything, and which of these something
  /// outside the lattice. With a stride the coordinates shrink, and nothing leaves it.
  LEAFPROOF_HD void reaches(std::int64_t source_leaf, unsigned& anything, unsigned& outside) const {
    anything = outside = 0;
    for (int i = 0; i < 8; ++i) {
      const std::int64_t first = first_target(8 * source_leaf + i);
      const std::int64_t last = last_target(8 * source_leaf + i);
      if (stride == 1) {
        anything |= 1u << i;
        if (!in_lattice(first) || !in_lattice(last)) outside |= 1u << i;
        continue;
      }
      for (std::int64_t leaf = first >> 3; leaf <= last >> 3; ++leaf) {
        const AxisEntry* found = entry(leaf, source_leaf);
        if (found != nullptr) anything |= found->support & 1u << i;
      }
    }
  }
  /// Source leaves that can reach a target leaf.
  LEAFPROOF_HD std::int64_t first_source_leaf(std::int64_t target_leaf) const {
    return ceil_div(stride * target_leaf - q_max, factor);
  }
  LEAFPROOF_HD std::int64_t last_source_leaf(std::int64_t target_leaf) const {
    return floor_div(stride * target_leaf - q_min, factor);
  }
};

/// The table of one axis, on the host: at most a few thousand entries within the limits of [T-11].
std::vector<AxisEntry> tabulate(const AxisRelation& relation, Axis& axis);

/// Three axes: the reach of a pass.
struct Relation {
  Axis x, y, z;

  /// The box of the target that a box of source voxels can reach; nothing() where a stride steps
  /// over all of them.
  LEAFPROOF_HD Box image(const Box& source) const {
    const Box box{
        {x.first_target(source.min.x), y.first_target(source.min.y), z.first_target(source.min.z)},
        {x.last_target(source.max.x), y.last_target(source.max.y), z.last_target(source.max.z)}};
    return box.empty() ? nothing() : box;
  }
  /// Those voxels of a source leaf that have a result outside the lattice [L-5].
  LEAFPROOF_HD LeafMask leaving(const Coord& source_leaf, const LeafMask& mask) const {
    unsigned any_x, any_y, any_z, out_x, out_y, out_z;
    x.reaches(source_leaf.x, any_x, out_x);
    y.reaches(source_leaf.y, any_y, out_y);
    z.reaches(source_leaf.z, any_z, out_z);
    LeafMask found = empty_mask();
    for (int i = 0; i < 8; ++i) {
      if ((any_x >> i & 1) == 0) continue;
      std::uint64_t there = window(any_y, any_z);
      if ((out_x >> i & 1) == 0) there &= window(out_y, 0xFF) | window(0xFF, out_z);
      found.word[i] = mask.word[i] & there;
    }
    return found;
  }
  /// The source leaves that can reach a target leaf.
  LEAFPROOF_HD Box source_leaves(const Coord& target_leaf) const {
    return {{x.first_source_leaf(target_leaf.x), y.first_source_leaf(target_leaf.y),
             z.first_source_leaf(target_leaf.z)},
            {x.last_source_leaf(target_leaf.x), y.last_source_leaf(target_leaf.y),
             z.last_source_leaf(target_leaf.z)}};
  }

  /// ORs into `target` all that the source leaf contributes: one axis after the other, each an 8 x
  /// 8 bit matrix product by multiplications that cannot carry.
  LEAFPROOF_HD void contribute(const Coord& target_leaf, const Coord& source_leaf,
                               const LeafMask& source, LeafMask& target) const {
    const AxisEntry* ex = x.entry(target_leaf.x, source_leaf.x);
    const AxisEntry* ey = y.entry(target_leaf.y, source_leaf.y);
    const AxisEntry* ez = z.entry(target_leaf.z, source_leaf.z);
    if (ex == nullptr || ey == nullptr || ez == nullptr) return;
    const std::uint64_t support = ey->support_rows & (kEveryRow * ez->support);
    for (unsigned xs = ex->support; xs != 0; xs &= xs - 1) {
      const int i = lowest_bit(xs);
      const std::uint64_t slice = source.word[i] & support;
      if (slice == 0) continue;
      std::uint64_t columns = 0;  // z mapped
      for (unsigned zs = ez->support; zs != 0; zs &= zs - 1) {
        const int k = lowest_bit(zs);
        columns |= ((slice >> k) & kEveryRow) * ((ez->reached >> (8 * k)) & 0xFF);
      }
      std::uint64_t mapped = 0;  // y mapped
      for (unsigned ys = ey->support; ys != 0; ys &= ys - 1) {
        const int j = lowest_bit(ys);
        mapped |= ((columns >> (8 * j)) & 0xFF) * ey->rows[j];
      }
      const unsigned targets = static_cast<unsigned>(ex->reached >> (8 * i)) & 0xFF;
      for (int t = 0; t < 8; ++t) {
        if ((targets >> t) & 1) target.word[t] |= mapped;
      }
    }
  }
};

}  // namespace leafproof::gpu
