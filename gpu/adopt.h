// What is checked of a foreign buffer before it is believed [E-2]: the headers on the host, then
// every node by launches that agree on the first thing wrong.
#pragma once

#include <cstdint>

#include "gpu/assemble.h"
#include "gpu/host_device.h"
#include "gpu/source_view.h"

namespace leafproof::gpu::adoption {

enum Fault : std::uint64_t {
  kNone = 0,
  kTileChild,   // a tile's child is not an upper node of this grid
  kTileKey,     // a tile's key is not that of its upper node
  kTileTwice,   // two tiles with one key
  kValueTile,   // an active value tile
  kChildCount,  // child masks do not add up to the nodes of the next level
  kChild,       // a child pointer that is not the next node of the next level
  kNodeBox,     // a box that is not that of the node's voxels, or not in its parent
  kEmptyNode,   // a node without a voxel
  kPrefixSum,   // mPrefixSum is not that of the mask
  kOffset,      // mOffset is not the voxels before it, plus 1
};
const char* describe(Fault fault);

/// The least node with a fault: node << 8 | fault.
LEAFPROOF_HD inline void report(std::uint64_t* first, std::int64_t node, Fault fault) {
  atomic_min(first, static_cast<std::uint64_t>(node) << 8 | static_cast<std::uint64_t>(fault));
}

/// Leaf i: a mask, its box, its prefix sum.
struct CheckLeaves {
  SourceView view;
  std::uint64_t* first;
  std::int64_t* voxels;  // per leaf
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const LeafNode& leaf = view.leaf(view.leaf_place(i));
    const LeafMask mask = mask_of(leaf);
    voxels[i] = count(mask);
    if (!any(mask)) return report(first, i, kEmptyNode);
    const Box box = box_of(mask);
    const Coord min = coord_of(leaf.mBBoxMin);
    const bool boxed = (min.x & 7) == box.min.x && (min.y & 7) == box.min.y &&
                       (min.z & 7) == box.min.z && leaf.mBBoxDif[0] == box.max.x - box.min.x &&
                       leaf.mBBoxDif[1] == box.max.y - box.min.y &&
                       leaf.mBBoxDif[2] == box.max.z - box.min.z;
    if (!boxed) return report(first, i, kNodeBox);
    if (leaf.mPrefixSum != packed_prefix_sum(mask)) report(first, i, kPrefixSum);
  }
};

struct CheckOffsets {
  SourceView view;
  const std::int64_t* voxels_before;  // leaves+1
  std::uint64_t* first;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const auto place = view.leaf_place(i);
    const std::int64_t begin = voxels_before[view.first_leaf[place.member]];
    const auto expected = static_cast<std::uint64_t>(1 + voxels_before[i] - begin);
    if (view.leaf(place).mOffset != expected) report(first, i, kOffset);
  }
};

template <class Node>
struct CountChildren {
  SourceView view;
  LEAFPROOF_HD std::int64_t operator()(std::int64_t i) const {
    std::int64_t children = 0;
    if constexpr (sizeof(Node) == sizeof(LowerNode)) {
      const auto place = view.lower_place(i);
      const LowerNode& node = view.members[place.member].lowers[place.node];
      for (int w = 0; w < kLowerWords; ++w) children += popcount(node.mChildMask.words()[w]);
    } else {
      const auto place = view.upper_place(i);
      const UpperNode& node = view.members[place.member].uppers[place.node];
      for (int w = 0; w < kUpperWords; ++w) children += popcount(node.mChildMask.words()[w]);
    }
    return children;
  }
};

LEAFPROOF_HD inline bool same_box(const Box& p, const Box& q) {
  return p.min == q.min && p.max == q.max;
}

/// Children of node i must be the nodes of the next level from `children_before` on, in the order
/// of the mask, each within its slot; the node's box is that of its children's.
struct CheckLowers {
  SourceView view;
  const std::int64_t* children_before;
  std::uint64_t* first;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const auto place = view.lower_place(i);
    const SourceMember& member = view.members[place.member];
    const LowerNode& node = member.lowers[place.node];
    const Coord origin = coord_of(node.mBBox.min()) >> kLowerLog;
    std::int64_t child = children_before[i] - children_before[view.first_lower[place.member]];
    const std::int64_t end = view.first_leaf[place.member + 1] - view.first_leaf[place.member];
    Box box = nothing();
    for (int w = 0; w < kLowerWords; ++w) {
      if (node.mValueMask.words()[w] != 0) return report(first, i, kValueTile);
      for (std::uint64_t bits = node.mChildMask.words()[w]; bits != 0; bits &= bits - 1, ++child) {
        const int slot = w * 64 + lowest_bit(bits);
        const std::byte* expected = reinterpret_cast<const std::byte*>(member.leaves + child);
        if (child >= end ||
            node.mTable[slot].child != expected - reinterpret_cast<const std::byte*>(&node)) {
          return report(first, i, kChild);
        }
        const Box voxels = voxels_of(member.leaves[child]);
        if (!((voxels.min >> kLeafLog) == leaf_at(origin, slot)) ||
            !((voxels.max >> kLeafLog) == leaf_at(origin, slot))) {
          return report(first, i, kNodeBox);
        }
        box = united(box, voxels);
      }
    }
    if (box.empty()) return report(first, i, kEmptyNode);
    if (!same_box(box, voxels_of(node.mBBox))) report(first, i, kNodeBox);
  }
};

struct CheckUppers {
  SourceView view;
  const std::int64_t* children_before;
  std::uint64_t* first;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const auto place = view.upper_place(i);
    const SourceMember& member = view.members[place.member];
    const UpperNode& node = member.uppers[place.node];
    const Coord origin = coord_of(node.mBBox.min()) >> kUpperLog;
    std::int64_t child = children_before[i] - children_before[view.first_upper[place.member]];
    const std::int64_t end = view.first_lower[place.member + 1] - view.first_lower[place.member];
    Box box = nothing();
    for (int w = 0; w < kUpperWords; ++w) {
      if (node.mValueMask.words()[w] != 0) return report(first, i, kValueTile);
      for (std::uint64_t bits = node.mChildMask.words()[w]; bits != 0; bits &= bits - 1, ++child) {
        const int slot = w * 64 + lowest_bit(bits);
        const std::byte* expected = reinterpret_cast<const std::byte*>(member.lowers + child);
        if (child >= end ||
            node.mTable[slot].child != expected - reinterpret_cast<const std::byte*>(&node)) {
          return report(first, i, kChild);
        }
        const Box voxels = voxels_of(member.lowers[child].mBBox);
        if (!((voxels.min >> kLowerLog) == lower_at(origin, slot)) ||
            !((voxels.max >> kLowerLog) == lower_at(origin, slot))) {
          return report(first, i, kNodeBox);
        }
        box = united(box, voxels);
      }
    }
    if (box.empty()) return report(first, i, kEmptyNode);
    if (!same_box(box, voxels_of(node.mBBox))) report(first, i, kNodeBox);
  }
};

/// Tile t of a member points to its upper node t, and stands before the next tile. `disordered` is
/// lowered to 0 where tiles are not in canonical order: not a fault, but to be mended.
struct CheckTiles {
  SourceView view;
  std::uint64_t* first;
  std::uint64_t* disordered;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const auto place = view.upper_place(i);
    const SourceMember& member = view.members[place.member];
    const auto* tiles = reinterpret_cast<const RootNode::Tile*>(member.root + 1);
    const RootNode::Tile& tile = tiles[place.node];
    const UpperNode* upper = member.uppers + place.node;
    if (tile.child == 0) return report(first, i, kValueTile);
    if (tile.child != reinterpret_cast<const std::byte*>(upper) -
                          reinterpret_cast<const std::byte*>(member.root)) {
      return report(first, i, kTileChild);
    }
    const Coord at = coord_of(upper->mBBox.min()) >> kUpperLog;
    const Coord corner = at << kUpperLog;
    if (tile.key != RootNode::CoordToKey(assembly::to_nano(corner))) {
      return report(first, i, kTileKey);
    }
    for (std::int64_t other = 0; other < place.node; ++other) {
      if (tiles[other].key == tile.key) return report(first, i, kTileTwice);
    }
    if (place.node > 0) {
      const Coord before = coord_of(member.uppers[place.node - 1].mBBox.min()) >> kUpperLog;
      if (!(tile_key(0, before) < tile_key(0, at))) atomic_min(disordered, 0);
    }
  }
};

/// Prefix sums where members begin, and the totals: voxels, leaves, lower nodes.
struct CopyEnds {
  SourceView view;
  const std::int64_t *voxels_before, *leaves_before, *lowers_before;
  std::int64_t* ends;  // (B+1) x 3
  LEAFPROOF_HD void operator()(std::int64_t m) const {
    ends[3 * m] = voxels_before[view.first_leaf[m]];
    ends[3 * m + 1] = leaves_before[view.first_lower[m]];
    ends[3 * m + 2] = lowers_before[view.first_upper[m]];
  }
};

}  // namespace leafproof::gpu::adoption
