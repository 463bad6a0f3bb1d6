// The refusal of [L-5]: which source voxel, first in canonical order, has a result beyond the
// lattice.
#pragma once

#include <string>

#include "gpu/build.h"
#include "gpu/rules.h"

namespace leafproof::gpu {

/// A leaf on its way to the host.
struct LeafCopy {
  LeafMask leaving;  // the voxels that have a result outside; of the masked, where there is a mask
  LeafMask whole;    // all of them: rows number these
  Coord at;
  std::int64_t member, first_row;
};

/// Which voxels leave the lattice is found where the tables of the relation are.
struct CopyLeaf {
  SourceView source;
  Relation relation;
  std::int64_t leaf;
  LeafCopy* to;
  LEAFPROOF_HD void operator()(std::int64_t) const {
    const auto place = source.leaf_place(leaf);
    to->at = leaf_coord(source.leaf(place));
    to->leaving = relation.leaving(to->at, source.mask(place));
    to->whole = mask_of(source.leaf(place));
    to->member = place.member;
    to->first_row = source.members[place.member].first_row +
                    static_cast<std::int64_t>(source.leaf(place).mOffset) - 1;
  }
};

/// The least source leaf with a voxel that has a result outside the lattice.
struct FindOutOfRange {
  RelationRule rule;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const auto place = rule.source.leaf_place(i);
    const LeafMask mask = rule.source.mask(place);
    if (any(rule.relation.leaving(leaf_coord(rule.source.leaf(place)), mask))) {
      atomic_min(rule.first_out_of_range, static_cast<std::uint64_t>(i));
    }
  }
};

/// The least result on one axis of a voxel that has some, or where that is in the lattice the
/// greatest: results lie in a row, so one that is outside is one of these. `cut` is added, up to
/// the nearest number where 64 bits cannot hold the sum.
inline std::int64_t worst_result(const AxisRelation& axis, std::int64_t at, std::int64_t cut) {
  std::int64_t least = 0, greatest = 0;
  bool found = false;
  for (std::int64_t i = 0; i < axis.count; ++i) {
    const std::int64_t multiple = axis.factor * at + axis.first + i * axis.step;
    if (multiple % axis.stride != 0) continue;
    greatest = multiple / axis.stride;
    if (!found) least = greatest;
    found = true;
  }
  const std::int64_t result = in_lattice(least) ? greatest : least;
  std::int64_t sum = 0;
  if (__builtin_add_overflow(result, cut, &sum)) return cut < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

/// Throws the refusal for source leaf `leaf`. `axes`: what the relation of the rule was made of.
template <Executor E>
[[noreturn]] void throw_out_of_range(E& executor, const PassPlan& plan, const RelationRule& rule,
                                     const AxisRelation (&axes)[3], std::uint64_t leaf) {
  auto* device = scratch<LeafCopy>(executor, 1);
  executor.for_each_index(
      {1}, CopyLeaf{rule.source, rule.relation, static_cast<std::int64_t>(leaf), device}, 1);
  LeafCopy copy;
  executor.read_back(&copy, device, sizeof copy);
  std::int64_t row = copy.first_row;
  for (int x = 0; x < 8; ++x) {
    for (std::uint64_t bits = copy.leaving.word[x]; bits != 0; bits &= bits - 1) {
      const int yz = lowest_bit(bits);
      const Coord voxel{copy.at.x * 8 + x, copy.at.y * 8 + (yz >> 3), copy.at.z * 8 + (yz & 7)};
      const auto text = [](std::int64_t a, std::int64_t b, std::int64_t c) {
        return "(" + std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(c) + ")";
      };
      throw Error(ErrorKind::OutOfRange, plan.operation, "voxel", text(voxel.x, voxel.y, voxel.z),
                  "its result " +
                      text(worst_result(axes[0], voxel.x, plan.cut.x),
                           worst_result(axes[1], voxel.y, plan.cut.y),
                           worst_result(axes[2], voxel.z, plan.cut.z)) +
                      " is outside the 32-bit lattice",
                  copy.member, row + popcount(copy.whole.word[x] & bits_below(yz)));
    }
    row += popcount(copy.whole.word[x]);
  }
  throw Error(ErrorKind::OutOfRange, plan.operation, "source", "",
              "a result is outside the 32-bit lattice", copy.member);
}

}  // namespace leafproof::gpu
