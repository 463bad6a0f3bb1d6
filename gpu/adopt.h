// What is checked of a foreign buffer before it is believed [E-2]: where its grids are, their
// headers (on the host), then every node by launches that agree on the first thing wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/assemble.h"
#include "gpu/grid_batch.h"
#include "gpu/host_device.h"
#include "gpu/node_levels.h"
#include "gpu/source_view.h"
#include "gpu/team.h"

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

inline constexpr std::int64_t kHeadBytes = kRootAt + kRootBytes;  // grid, tree, root: all headers

/// Where the grids of a buffer begin, as far as their sizes can be believed: the last one listed
/// may be broken. `offsets` has room for one entry for each kHeadBytes, and one more.
struct WalkGrids {
  const std::byte* memory;
  std::int64_t bytes;
  std::int64_t *count, *offsets;
  LEAFPROOF_HD void operator()(std::int64_t) const {
    std::int64_t grids = 0;
    for (std::int64_t at = 0; at < bytes;) {
      offsets[grids++] = at;
      const std::int64_t left = bytes - at;
      if (left < kHeadBytes) break;
      const auto& grid = *reinterpret_cast<const nanovdb::GridData*>(memory + at);
      const std::uint64_t size = grid.mGridSize;
      if (size > static_cast<std::uint64_t>(left) || size % 32 != 0 ||
          size < static_cast<std::uint64_t>(kHeadBytes)) {
        break;
      }
      at += static_cast<std::int64_t>(size);
    }
    *count = grids;
  }
};

/// The headers of each grid, with zeros where the buffer ends.
struct CopyHeads {
  const std::byte* memory;
  std::int64_t bytes;
  const std::int64_t* offsets;
  std::byte* heads;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const std::int64_t there = smaller(kHeadBytes, bytes - offsets[i]);
    std::byte* to = heads + i * kHeadBytes;
    for (std::int64_t b = 0; b < kHeadBytes; ++b) {
      to[b] = b < there ? memory[offsets[i] + b] : std::byte{0};
    }
  }
};

struct CopyNumbers {
  const std::int64_t* from;
  std::int64_t* to;
  LEAFPROOF_HD void operator()(std::int64_t i) const { to[i] = from[i]; }
};

/// The member whose headers are these bytes of the grid at `offset`, with `left` bytes to the end
/// of the buffer; everything that later reads rely on is checked.
MemberInfo read_header(const std::byte* head, std::int64_t left, std::int64_t offset,
                       std::int64_t member);

/// What the launches below found, as it is read back.
struct NodesOnHost {
  std::uint64_t leaf, lower, upper, tile;  // node << 8 | fault, or all ones
  std::uint64_t disordered;                // 0 where tiles are not in canonical order
};

/// Refuses what was found, and completes the members' voxels and boxes. `heads`: all headers;
/// `ends` and `boxes` as CopyEnds and BoxMembers wrote them.
void check_found(const NodesOnHost& found, const std::vector<std::byte>& heads,
                 const std::int64_t* ends, const Extent* boxes, std::vector<MemberInfo>& members);

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
    using Level = LevelOf<Node>;
    const Node& node = node_of<Node>(view, Level::place(view, i));
    std::int64_t children = 0;
    for (int w = 0; w < Level::kWords; ++w) children += popcount(node.mChildMask.words()[w]);
    return children;
  }
};

LEAFPROOF_HD inline bool same_box(const Box& p, const Box& q) {
  return p.min == q.min && p.max == q.max;
}

/// Children of node i must be the nodes of the next level from `children_before` on, in the order
/// of the mask, each within its slot; the node's box is that of its children's. A team takes a word
/// of the mask each; of several faults the least counts, whoever finds it.
template <class Node>
struct CheckNodes {
  SourceView view;
  const std::int64_t* children_before;
  std::uint64_t* first;
  LEAFPROOF_HD void operator()(std::int64_t i) const { (*this)(i, Alone{}); }
  template <class Team>  // of a size that divides the words of a mask
  LEAFPROOF_HD void operator()(std::int64_t i, const Team& team) const {
    using Level = LevelOf<Node>;
    const auto place = Level::place(view, i);
    const auto* children = Level::children(view.members[place.member]);
    const Node& node = node_of<Node>(view, place);
    const Coord origin = coord_of(node.mBBox.min()) >> Level::kLog;
    const std::int64_t* first_child = Level::first_child(view);
    std::int64_t word_child =
        children_before[i] - children_before[Level::first(view)[place.member]];
    const std::int64_t end = first_child[place.member + 1] - first_child[place.member];
    Box box = nothing();
    for (int w = team.rank(); w < Level::kWords; w += team.size()) {
      if (node.mValueMask.words()[w] != 0) report(first, i, kValueTile);
      std::uint64_t bits = node.mChildMask.words()[w];
      int all = 0;
      std::int64_t child = word_child + team.sum_before(popcount(bits), all);
      word_child += all;
      for (; bits != 0; bits &= bits - 1, ++child) {
        const int slot = w * 64 + lowest_bit(bits);
        const std::byte* expected = reinterpret_cast<const std::byte*>(children + child);
        if (child >= end ||
            node.mTable[slot].child != expected - reinterpret_cast<const std::byte*>(&node)) {
          report(first, i, kChild);
          break;  // those behind it are not where they are looked for
        }
        const Box voxels = Level::voxels_of_child(children[child]);
        const Coord at = Level::child_at(origin, slot);
        if (!((voxels.min >> Level::kChildLog) == at) ||
            !((voxels.max >> Level::kChildLog) == at)) {
          report(first, i, kNodeBox);
        }
        box = united(box, voxels);
      }
    }
    box = over(team, box);
    if (team.rank() != 0) return;
    if (box.empty()) return report(first, i, kEmptyNode);
    if (!same_box(box, voxels_of(node.mBBox))) report(first, i, kNodeBox);
  }

 private:
  /// The box of a team's boxes; coordinates are those of a grid, 32 bits each.
  template <class Team>
  LEAFPROOF_HD static Box over(const Team& team, const Box& box) {
    const auto narrow = [](std::int64_t v) {  // what is beyond has been reported
      return static_cast<std::int32_t>(smaller(larger(v, kLatticeMin), kLatticeMax));
    };
    const auto low = [&](std::int64_t v) { return team.least(narrow(v)); };
    const auto high = [&](std::int64_t v) { return team.greatest(narrow(v)); };
    return {{low(box.min.x), low(box.min.y), low(box.min.z)},
            {high(box.max.x), high(box.max.y), high(box.max.z)}};
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

/// Boxes of members from those of their upper nodes.
struct BoxMembers {
  SourceView view;
  Extent* boxes;
  LEAFPROOF_HD void range(std::int64_t m, std::int64_t& begin, std::int64_t& end) const {
    begin = view.first_upper[m];
    end = view.first_upper[m + 1];
  }
  LEAFPROOF_HD Extent value(std::int64_t m, std::int64_t i) const {
    return {voxels_of(view.members[m].uppers[i - view.first_upper[m]].mBBox), 0};
  }
  LEAFPROOF_HD void store(std::int64_t m, const Extent& extent) const { boxes[m] = extent; }
};

}  // namespace leafproof::gpu::adoption
