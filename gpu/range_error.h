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

/// Throws the refusal for source leaf `leaf`.
template <Executor E>
[[noreturn]] void throw_out_of_range(E& executor, const PassPlan& plan, const RelationRule& rule,
                                     std::uint64_t leaf) {
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
      const Box image = rule.relation.image({voxel, voxel});
      const auto worse = [](std::int64_t low, std::int64_t high, std::int64_t cut) {
        const std::int64_t result = in_lattice(low) ? high : low;
        std::int64_t sum = 0;  // or the nearest number where 64 bits cannot hold it
        if (__builtin_add_overflow(result, cut, &sum)) return cut < 0 ? INT64_MIN : INT64_MAX;
        return sum;
      };
      const auto text = [](std::int64_t a, std::int64_t b, std::int64_t c) {
        return "(" + std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(c) + ")";
      };
      throw Error(ErrorKind::OutOfRange, plan.operation, "voxel", text(voxel.x, voxel.y, voxel.z),
                  "its result " +
                      text(worse(image.min.x, image.max.x, plan.cut.x),
                           worse(image.min.y, image.max.y, plan.cut.y),
                           worse(image.min.z, image.max.z, plan.cut.z)) +
                      " is outside the 32-bit lattice",
                  copy.member, row + popcount(copy.whole.word[x] & bits_below(yz)));
    }
    row += popcount(copy.whole.word[x]);
  }
  throw Error(ErrorKind::OutOfRange, plan.operation, "source", "",
              "a result is outside the 32-bit lattice", copy.member);
}

}  // namespace leafproof::gpu
