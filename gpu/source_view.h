// What a pass reads: a batch, or any view of one, as the device sees it. A plain struct of
// pointers: per member of the view where its nodes are, and prefix sums over the view, so that
// "leaf i of the view" is found by one search and members may be permuted or repeated [T-9].
#pragma once

#include <nanovdb/NanoVDB.h>

#include <cstdint>

#include "gpu/leaf_mask.h"
#include "gpu/node_key.h"

namespace leafproof::gpu {

using Build = nanovdb::ValueOnIndex;
using RootNode = nanovdb::NanoRoot<Build>::DataType;
using UpperNode = nanovdb::NanoUpper<Build>::DataType;
using LowerNode = nanovdb::NanoLower<Build>::DataType;
using LeafNode = nanovdb::NanoLeaf<Build>::DataType;

/// One member of a view.
struct SourceMember {
  const RootNode* root;
  const UpperNode* uppers;
  const LowerNode* lowers;
  const LeafNode* leaves;
  std::int64_t first_row;  // in the view's rows
};

LEAFPROOF_HD inline Coord coord_of(const nanovdb::Coord& c) {
  return {c[0], c[1], c[2]};
}

LEAFPROOF_HD inline LeafMask mask_of(const LeafNode& leaf) {
  LeafMask mask;
  for (int x = 0; x < 8; ++x) mask.word[x] = leaf.mValueMask.words()[x];
  return mask;
}

/// Coordinates of a leaf (voxel / 8): the corner of its box is in it.
LEAFPROOF_HD inline Coord leaf_coord(const LeafNode& leaf) {
  return coord_of(leaf.mBBoxMin) >> 3;
}

struct SourceView {
  const SourceMember* members = nullptr;
  const std::int64_t* first_leaf = nullptr;   // B+1
  const std::int64_t* first_lower = nullptr;  // B+1
  const std::int64_t* first_upper = nullptr;  // B+1
  const LeafMask* selected = nullptr;  // when set: per leaf of the view, the voxels that count
  std::int64_t size = 0, leaves = 0, lowers = 0, uppers = 0;
  bool tiles_in_order = true;  // false only while a foreign batch is brought into order

  struct Place {
    std::int64_t member, node;  // the view's member, and the node in that member
  };
  LEAFPROOF_HD Place leaf_place(std::int64_t i) const { return place(first_leaf, i); }
  LEAFPROOF_HD Place lower_place(std::int64_t i) const { return place(first_lower, i); }
  LEAFPROOF_HD Place upper_place(std::int64_t i) const { return place(first_upper, i); }

  /// Leaf i's voxels: all of them, or those selected by a mask.
  LEAFPROOF_HD LeafMask mask(const Place& place) const {
    if (selected != nullptr) return selected[first_leaf[place.member] + place.node];
    return mask_of(members[place.member].leaves[place.node]);
  }

  LEAFPROOF_HD const LeafNode& leaf(const Place& place) const {
    return members[place.member].leaves[place.node];
  }

  /// The lower node at these coordinates (voxel / 128), or null. Tiles are few; a foreign batch may
  /// store them in any order.
  LEAFPROOF_HD const LowerNode* find_lower(std::int64_t member, const Coord& lower) const {
    const UpperNode* upper = find_upper(members[member].root, lower >> (kUpperLog - kLowerLog));
    if (upper == nullptr) return nullptr;
    const int slot = upper_slot(lower);
    if (((upper->mChildMask.words()[slot >> 6] >> (slot & 63)) & 1) == 0) return nullptr;
    return reinterpret_cast<const LowerNode*>(reinterpret_cast<const std::byte*>(upper) +
                                              upper->mTable[slot].child);
  }

  /// The leaf in a slot of a lower node that has it.
  LEAFPROOF_HD static const LeafNode* leaf_in(const LowerNode* lower, int slot) {
    return reinterpret_cast<const LeafNode*>(reinterpret_cast<const std::byte*>(lower) +
                                             lower->mTable[slot].child);
  }
  LEAFPROOF_HD static bool has_leaf(const LowerNode* lower, int slot) {
    return ((lower->mChildMask.words()[slot >> 6] >> (slot & 63)) & 1) != 0;
  }

  /// The mask words of a leaf found in `member`.
  LEAFPROOF_HD const std::uint64_t* words(std::int64_t member, const LeafNode* leaf) const {
    if (selected == nullptr) return leaf->mValueMask.words();
    return selected[first_leaf[member] + (leaf - members[member].leaves)].word;
  }

  /// Finds leaves of one member near each other: keeps the lower nodes around the last one.
  class Finder {
   public:
    LEAFPROOF_HD Finder(const SourceView& view, std::int64_t member)
        : view_(view), member_(member) {}

    LEAFPROOF_HD std::int64_t member() const { return member_; }

    /// The mask words of the leaf at these coordinates (voxel / 8), or null.
    LEAFPROOF_HD const std::uint64_t* words(const Coord& leaf) {
      settle(leaf >> 4);
      return words_in(lower(1, 1, 1), lower_slot(leaf));
    }

    /// The mask words of the 27 leaves around one, [x][y][z] from -1 to 1; null where there is
    /// none.
    LEAFPROOF_HD void around(const Coord& leaf, const std::uint64_t* (&near)[3][3][3]) {
      settle(leaf >> 4);
      const auto inner = [](std::int64_t v) { return (v & 15) != 0 && (v & 15) != 15; };
      if (inner(leaf.x) && inner(leaf.y) && inner(leaf.z)) {
        around_within(lower(1, 1, 1), lower_slot(leaf), near);
        return;
      }
      const std::int64_t coord[3] = {leaf.x, leaf.y, leaf.z};
      int node[3][3], slot[3][3];  // per axis and neighbour: which lower node, and where in it
      for (int axis = 0; axis < 3; ++axis) {
        const auto at = static_cast<int>(coord[axis] & 15);
        for (int n = 0; n < 3; ++n) {
          node[axis][n] = at + n == 0 ? 0 : at + n == 17 ? 2 : 1;
          slot[axis][n] = (at + n - 1) & 15;
        }
      }
      for (int x = 0; x < 3; ++x) {
        for (int y = 0; y < 3; ++y) {
          const int row = slot[0][x] << 8 | slot[1][y] << 4;
          const LowerNode* here = lower(node[0][x], node[1][y], 1);
          const std::uint64_t line =
              here == nullptr ? 0 : here->mChildMask.words()[row >> 6] >> (row & 63);
          for (int z = 0; z < 3; ++z) {
            const std::uint64_t* found = nullptr;
            if (node[2][z] != 1) {
              found = words_in(lower(node[0][x], node[1][y], node[2][z]), row | slot[2][z]);
            } else if ((line >> slot[2][z] & 1) != 0) {
              found = view_.words(member_, leaf_in(here, row | slot[2][z]));
            }
            near[x][y][z] = found;
          }
        }
      }
    }

   private:
    /// The same where all 27 are slots of one lower node: three bits in a row of z, nine times.
    LEAFPROOF_HD void around_within(const LowerNode* home, int centre,
                                    const std::uint64_t* (&near)[3][3][3]) const {
      for (int x = 0; x < 3; ++x) {
        for (int y = 0; y < 3; ++y) {
          const int slot = centre + (x - 1) * 256 + (y - 1) * 16 - 1;
          std::uint64_t there = 0;
          if (home != nullptr) there = home->mChildMask.words()[slot >> 6] >> (slot & 63) & 7;
          for (int z = 0; z < 3; ++z) near[x][y][z] = nullptr;
          for (; there != 0; there &= there - 1) {
            const int z = lowest_bit(there);
            near[x][y][z] = view_.words(member_, leaf_in(home, slot + z));
          }
        }
      }
    }

    LEAFPROOF_HD void settle(const Coord& home) {
      if (known_ != 0 && home == home_) return;
      home_ = home;
      known_ = 0;
    }
    LEAFPROOF_HD const LowerNode* lower(int x, int y, int z) {
      const int i = 9 * x + 3 * y + z;
      if ((known_ >> i & 1) == 0) {
        lowers_[i] = view_.find_lower(member_, {home_.x + x - 1, home_.y + y - 1, home_.z + z - 1});
        known_ |= 1u << i;
      }
      return lowers_[i];
    }
    LEAFPROOF_HD const std::uint64_t* words_in(const LowerNode* lower, int slot) const {
      if (lower == nullptr || !has_leaf(lower, slot)) return nullptr;
      return view_.words(member_, leaf_in(lower, slot));
    }

    const SourceView& view_;
    std::int64_t member_;
    Coord home_;
    unsigned known_ = 0;  // bit i: lowers_[i] has been looked up
    const LowerNode* lowers_[27];
  };

  /// Calls visit(leaf coordinates, mask words) for each leaf of a member in a box of leaf
  /// coordinates, until it returns false. Looks up the lower nodes of a small box; in a large one
  /// walks those that the upper nodes there have: the cost follows what exists, not the box.
  template <class Visit>
  LEAFPROOF_HD void visit_leaves(std::int64_t member, const Box& box, const Visit& visit) const {
    constexpr std::int64_t kFew = 64;
    const Box range = box >> 4;
    if (volume_up_to(range, kFew) < kFew) {
      for (std::int64_t x = range.min.x; x <= range.max.x; ++x) {
        for (std::int64_t y = range.min.y; y <= range.max.y; ++y) {
          for (std::int64_t z = range.min.z; z <= range.max.z; ++z) {
            const LowerNode* lower = find_lower(member, {x, y, z});
            if (lower != nullptr && !visit_lower(member, lower, {x, y, z}, box, visit)) return;
          }
        }
      }
      return;
    }
    const RootNode* root = members[member].root;
    const auto in_tile = [&](const UpperNode* upper, const Coord& at) {
      const Coord far{at.x * 32 + 31, at.y * 32 + 31, at.z * 32 + 31};
      const Box part = common(range, {at << 5, far});
      return part.empty() || visit_upper(member, upper, part, box, visit);
    };
    const Box tiles = range >> 5;
    const std::int64_t have = root->mTableSize;
    if (volume_up_to(tiles, have) < have) {
      for (std::int64_t x = tiles.min.x; x <= tiles.max.x; ++x) {
        for (std::int64_t y = tiles.min.y; y <= tiles.max.y; ++y) {
          for (std::int64_t z = tiles.min.z; z <= tiles.max.z; ++z) {
            const UpperNode* upper = find_upper(root, {x, y, z});
            if (upper != nullptr && !in_tile(upper, {x, y, z})) return;
          }
        }
      }
      return;
    }
    const auto* tile = reinterpret_cast<const RootNode::Tile*>(root + 1);
    for (std::int64_t i = 0; i < have; ++i) {
      if (!in_tile(upper_of(root, tile[i]), coord_of(tile[i].origin()) >> kUpperLog)) return;
    }
  }

 private:
  LEAFPROOF_HD Place place(const std::int64_t* first, std::int64_t i) const {
    const std::int64_t member = size == 1 ? 0 : segment_of(first, size, i);
    return {member, i - first[member]};
  }

  LEAFPROOF_HD static const UpperNode* upper_of(const RootNode* root, const RootNode::Tile& tile) {
    return reinterpret_cast<const UpperNode*>(reinterpret_cast<const std::byte*>(root) +
                                              tile.child);
  }

  /// The upper node of a tile, or null.
  LEAFPROOF_HD const UpperNode* find_upper(const RootNode* root, const Coord& tile) const {
    if (!tile_exists(tile)) return nullptr;
    const auto key = RootNode::CoordToKey(nanovdb::Coord(static_cast<int>(tile.x * 4096),
                                                         static_cast<int>(tile.y * 4096),
                                                         static_cast<int>(tile.z * 4096)));
    const auto* tiles = reinterpret_cast<const RootNode::Tile*>(root + 1);
    std::int64_t begin = 0, end = root->mTableSize;
    if (tiles_in_order && end > 8) {
      std::int64_t n = end;
      while (n > 0) {
        const std::int64_t half = n / 2;
        if (tile_key(0, coord_of(tiles[begin + half].origin()) >> kUpperLog) < tile_key(0, tile)) {
          begin += half + 1;
          n -= half + 1;
        } else {
          n = half;
        }
      }
      end = smaller(begin + 1, end);
    }
    for (std::int64_t i = begin; i < end; ++i) {
      if (tiles[i].key == key) return upper_of(root, tiles[i]);
    }
    return nullptr;
  }

  /// Lower nodes in a box, or `limit` where they are at least that many.
  LEAFPROOF_HD static std::int64_t volume_up_to(const Box& box, std::int64_t limit) {
    std::int64_t volume = 1;
    for (const std::int64_t extent :
         {box.max.x - box.min.x + 1, box.max.y - box.min.y + 1, box.max.z - box.min.z + 1}) {
      if (extent <= 0) return 0;
      if (extent >= limit) return limit;
      volume *= extent;
      if (volume >= limit) return limit;
    }
    return volume;
  }

  template <class Visit>
  LEAFPROOF_HD bool visit_upper(std::int64_t member, const UpperNode* upper, const Box& part,
                                const Box& box, const Visit& visit) const {
    const int first = static_cast<int>(part.min.z & 31), last = static_cast<int>(part.max.z & 31);
    for (std::int64_t x = part.min.x; x <= part.max.x; ++x) {
      for (std::int64_t y = part.min.y; y <= part.max.y; ++y) {
        const int row = upper_slot({x, y, 0});
        std::uint64_t bits = upper->mChildMask.words()[row >> 6] >> (row & 63);
        bits &= bits_below(last + 1) & ~bits_below(first);
        for (; bits != 0; bits &= bits - 1) {
          const int z = lowest_bit(bits);
          const auto* lower = reinterpret_cast<const LowerNode*>(
              reinterpret_cast<const std::byte*>(upper) + upper->mTable[row + z].child);
          const Coord at{x, y, (part.min.z & ~std::int64_t{31}) + z};
          if (!visit_lower(member, lower, at, box, visit)) return false;
        }
      }
    }
    return true;
  }

  template <class Visit>
  LEAFPROOF_HD bool visit_lower(std::int64_t member, const LowerNode* lower, const Coord& at,
                                const Box& box, const Visit& visit) const {
    const Box part = common(box, {at << 4, {at.x * 16 + 15, at.y * 16 + 15, at.z * 16 + 15}});
    if (part.empty()) return true;
    for (std::int64_t x = part.min.x; x <= part.max.x; ++x) {
      for (std::int64_t y = part.min.y; y <= part.max.y; ++y) {
        const int row = lower_slot({x, y, 0});
        const int first = static_cast<int>(part.min.z & 15),
                  last = static_cast<int>(part.max.z & 15);
        std::uint64_t bits = lower->mChildMask.words()[row >> 6] >> (row & 63);
        bits &= bits_below(last + 1) & ~bits_below(first);
        for (; bits != 0; bits &= bits - 1) {
          const int z = lowest_bit(bits);
          const LeafNode* leaf = leaf_in(lower, row + z);
          if (!visit(Coord{x, y, at.z * 16 + z}, words(member, leaf))) return false;
        }
      }
    }
    return true;
  }
};

/// The voxels of a leaf whose flags are set [T-10].
struct SelectVoxels {
  SourceView source;
  const std::uint8_t* flags;
  LeafMask* selected;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const auto place = source.leaf_place(i);
    const LeafNode& leaf = source.leaf(place);
    const std::uint8_t* flag = flags + source.members[place.member].first_row +
                               static_cast<std::int64_t>(leaf.mOffset) - 1;
    for (int x = 0; x < 8; ++x) {
      std::uint64_t kept = 0;
      for (std::uint64_t bits = leaf.mValueMask.words()[x]; bits != 0; bits &= bits - 1) {
        if (*flag++ != 0) kept |= bits & (~bits + 1);
      }
      selected[i].word[x] = kept;
    }
  }
};

}  // namespace leafproof::gpu
