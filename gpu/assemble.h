// Writing all members of a batch into one buffer, byte for byte as [G-6] says: headers, root tiles,
// nodes, child tables, masks, offsets, prefix sums, boxes, in launches whose number does not depend
// on the batch. The buffer is zero before: what is not written here is padding or an empty slot.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "gpu/discover.h"
#include "gpu/executor.h"
#include "gpu/leaf_set.h"
#include "gpu/rules.h"
#include "gpu/source_view.h"

namespace leafproof::gpu {

inline constexpr std::int64_t kGridBytes = sizeof(nanovdb::GridData);
inline constexpr std::int64_t kTreeBytes = sizeof(nanovdb::TreeData);
inline constexpr std::int64_t kRootBytes = sizeof(RootNode);
inline constexpr std::int64_t kTileBytes = sizeof(RootNode::Tile);
inline constexpr std::int64_t kRootAt = kGridBytes + kTreeBytes;  // in a grid
inline constexpr std::int64_t kUpperBytes = sizeof(UpperNode);
inline constexpr std::int64_t kLowerBytes = sizeof(LowerNode);
inline constexpr std::int64_t kLeafBytes = sizeof(LeafNode);

/// Where one member of the result is written, and what its header says. Lives in device memory.
struct MemberTarget {
  std::byte* grid;
  std::int64_t first_upper, first_lower, first_leaf;  // in the batch
  std::int64_t uppers, lowers, leaves;
  double voxel_size[3], origin[3];  // [G-7]
  const char* name;
  std::int64_t name_length;

  LEAFPROOF_HD std::int64_t uppers_at() const { return kRootAt + kRootBytes + uppers * kTileBytes; }
  LEAFPROOF_HD std::int64_t lowers_at() const { return uppers_at() + uppers * kUpperBytes; }
  LEAFPROOF_HD std::int64_t leaves_at() const { return lowers_at() + lowers * kLowerBytes; }
  LEAFPROOF_HD std::int64_t bytes() const { return leaves_at() + leaves * kLeafBytes; }

  LEAFPROOF_HD RootNode* root() const { return reinterpret_cast<RootNode*>(grid + kRootAt); }
  LEAFPROOF_HD RootNode::Tile* tile(std::int64_t i) const {
    return reinterpret_cast<RootNode::Tile*>(root() + 1) + i;
  }
  LEAFPROOF_HD UpperNode* upper(std::int64_t i) const {
    return reinterpret_cast<UpperNode*>(grid + uppers_at()) + i;
  }
  LEAFPROOF_HD LowerNode* lower(std::int64_t i) const {
    return reinterpret_cast<LowerNode*>(grid + lowers_at()) + i;
  }
  LEAFPROOF_HD LeafNode* leaf(std::int64_t i) const {
    return reinterpret_cast<LeafNode*>(grid + leaves_at()) + i;
  }
};

/// Batch metadata in the same allocation as the grids [G-8]; all of B members, and per leaf.
struct DeviceMetadata {
  std::int64_t* voxel_offsets = nullptr;  // B+1
  std::int64_t* leaf_offsets = nullptr;   // B+1
  std::int64_t* voxel_counts = nullptr;
  double* voxel_sizes = nullptr;        // B x 3
  double* origins = nullptr;            // B x 3
  std::int32_t* boxes = nullptr;        // B x 6: min, max; max < min when empty
  std::int32_t* leaf_member = nullptr;  // per leaf of the batch
};

namespace assembly {

inline constexpr std::uint64_t kHasBox = 2, kBreadthFirst = 0x20;  // mFlags [G-5] [G-6]

LEAFPROOF_HD inline nanovdb::Coord to_nano(const Coord& c) {
  return nanovdb::Coord(static_cast<int>(c.x), static_cast<int>(c.y), static_cast<int>(c.z));
}

/// One grid header [G-6] [G-7]; boxes and counts of voxels come last, when they are known.
struct WriteHeaders {
  const MemberTarget* targets;
  std::int64_t size;
  LEAFPROOF_HD void operator()(std::int64_t m) const {
    const MemberTarget& target = targets[m];
    auto& grid = *reinterpret_cast<nanovdb::GridData*>(target.grid);
    grid.mMagic = NANOVDB_MAGIC_GRID;
    grid.mChecksum.disable();
    grid.mVersion = nanovdb::Version();
    grid.mGridIndex = static_cast<std::uint32_t>(m);
    grid.mGridCount = static_cast<std::uint32_t>(size);
    grid.mGridSize = static_cast<std::uint64_t>(target.bytes());
    for (std::int64_t i = 0; i < target.name_length; ++i) grid.mGridName[i] = target.name[i];
    write_map(target, grid);
    grid.mGridClass = nanovdb::GridClass::IndexGrid;
    grid.mGridType = nanovdb::GridType::OnIndex;
    grid.mBlindMetadataOffset = target.bytes();

    auto& tree = *reinterpret_cast<nanovdb::TreeData*>(target.grid + kGridBytes);
    tree.mNodeOffset[0] = target.leaves > 0 ? target.leaves_at() - kGridBytes : 0;
    tree.mNodeOffset[1] = target.lowers > 0 ? target.lowers_at() - kGridBytes : 0;
    tree.mNodeOffset[2] = target.uppers > 0 ? target.uppers_at() - kGridBytes : 0;
    tree.mNodeOffset[3] = kTreeBytes;
    tree.mNodeCount[0] = static_cast<std::uint32_t>(target.leaves);
    tree.mNodeCount[1] = static_cast<std::uint32_t>(target.lowers);
    tree.mNodeCount[2] = static_cast<std::uint32_t>(target.uppers);
    target.root()->mTableSize = static_cast<std::uint32_t>(target.uppers);
  }

 private:
  LEAFPROOF_HD static void write_map(const MemberTarget& target, nanovdb::GridData& grid) {
    nanovdb::Map& map = grid.mMap;
    for (int axis = 0; axis < 3; ++axis) {
      const double size = target.voxel_size[axis], inverse = 1.0 / size;
      map.mMatF[4 * axis] = static_cast<float>(size);
      map.mInvMatF[4 * axis] = static_cast<float>(inverse);
      map.mVecF[axis] = static_cast<float>(target.origin[axis]);
      map.mMatD[4 * axis] = size;
      map.mInvMatD[4 * axis] = inverse;
      map.mVecD[axis] = target.origin[axis];
      grid.mVoxelSize[axis] = size;
    }
    map.mTaperF = 1.0f;
    map.mTaperD = 1.0;
  }
};

/// Root tile, upper node head, child mask and table, by words of the masks of tiles.
struct WriteUppers {
  LeafSet set;
  const MemberTarget* targets;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const std::int64_t tile = i / kUpperWords;
    if (set.is_empty_tile(tile)) return;
    const int word = static_cast<int>(i % kUpperWords);
    if (word != 0 && set.upper_masks[i] == 0) return;
    const MemberTarget& target = targets[member_of(set.tile[tile])];
    const std::int64_t upper_index = set.upper_rank[tile] - target.first_upper;
    UpperNode* upper = target.upper(upper_index);
    if (word == 0) write_tile(target, upper_index, tile_of(set.tile[tile]) << kUpperLog);
    std::uint64_t children = 0;
    std::int64_t lower = set.lower_base[tile] + set.upper_prefix[i];
    for (std::uint64_t bits = set.upper_masks[i]; bits != 0; bits &= bits - 1, ++lower) {
      if (set.is_empty_lower(lower)) continue;
      const int bit = lowest_bit(bits);
      children |= std::uint64_t{1} << bit;
      const LowerNode* child = target.lower(set.lower_rank[lower] - target.first_lower);
      upper->mTable[word * 64 + bit].child =
          reinterpret_cast<const std::byte*>(child) - reinterpret_cast<const std::byte*>(upper);
    }
    if (children != 0) upper->mChildMask.words()[word] = children;
  }

 private:
  LEAFPROOF_HD static void write_tile(const MemberTarget& target, std::int64_t i,
                                      const Coord& origin) {
    RootNode::Tile* tile = target.tile(i);
    tile->key = RootNode::CoordToKey(to_nano(origin));  // stored without a bias [G-3]
    tile->child = reinterpret_cast<const std::byte*>(target.upper(i)) -
                  reinterpret_cast<const std::byte*>(target.root());
  }
};

/// Child masks and tables of lower nodes, by words.
struct WriteLowers {
  LeafSet set;
  const MemberTarget* targets;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    std::uint64_t bits = set.lower_masks[i];
    if (bits == 0) return;
    const std::int64_t candidate = i / kLowerWords;
    const int word = static_cast<int>(i % kLowerWords);
    const MemberTarget& target = targets[member_of(set.tile[set.tile_of_lower(candidate)])];
    LowerNode* lower = target.lower(set.lower_rank[candidate] - target.first_lower);
    lower->mChildMask.words()[word] = bits;
    const LeafNode* leaf =
        target.leaf(set.leaf_base[candidate] + set.lower_prefix[i] - target.first_leaf);
    std::int64_t child =
        reinterpret_cast<const std::byte*>(leaf) - reinterpret_cast<const std::byte*>(lower);
    for (; bits != 0; bits &= bits - 1, child += kLeafBytes) {
      lower->mTable[word * 64 + lowest_bit(bits)].child = child;
    }
  }
};

/// The slot of leaf i of the batch in the lower node that has it: in the last word that begins at
/// or before it, so many set bits on.
LEAFPROOF_HD inline int slot_of_leaf(const LeafSet& set, std::int64_t lower, std::int64_t i) {
  const auto in_lower = static_cast<int>(i - set.leaf_base[lower]);
  const std::uint16_t* prefix = set.lower_prefix + lower * kLowerWords;
  int word = 0;
  for (int step = kLowerWords / 2; step > 0; step /= 2) {
    if (prefix[word + step] <= in_lower) word += step;
  }
  const std::uint64_t bits = set.lower_masks[lower * kLowerWords + word];
  int left = in_lower - prefix[word], bit = 0;
  for (int width = 32; width > 0; width /= 2) {
    const int here = popcount(bits >> bit & bits_below(width));
    if (left < here) continue;
    left -= here;
    bit += width;
  }
  return word * 64 + bit;
}

/// How leaves are dealt out to those who write them. On a CPU, by slabs of a lower node: 256 leaf
/// slots, four words.
struct BySlab {
  static constexpr std::int64_t kSlabs = 16, kWords = kLowerWords / kSlabs;
  static Count items(const LeafSet& set, std::int64_t) { return set.lowers.times(kSlabs); }
  LEAFPROOF_HD static std::int64_t first_of(const MemberStart& start) {
    return start.lower_candidate * kSlabs;
  }
  LEAFPROOF_HD static bool empty(const LeafSet& set, std::int64_t slab) {
    std::uint64_t all = 0;
    for (int w = 0; w < kWords; ++w) all |= set.lower_masks[slab * kWords + w];
    return all == 0;
  }
  LEAFPROOF_HD static std::int64_t lower_of(const LeafSet&, std::int64_t slab) {
    return slab / kSlabs;
  }
  /// Calls visit(leaf index in the batch, leaf coordinates) for the leaves of one slab.
  template <class Visit>
  LEAFPROOF_HD static void visit(const LeafSet& set, std::int64_t lower, std::int64_t slab,
                                 const Visit& visit) {
    const std::int64_t begin = slab * kWords;
    std::int64_t leaf = set.leaf_base[lower] + set.lower_prefix[begin];
    Coord at;
    bool located = false;
    for (std::int64_t w = begin; w < begin + kWords; ++w) {
      for (std::uint64_t bits = set.lower_masks[w]; bits != 0; bits &= bits - 1, ++leaf) {
        if (!located) at = set.lower_coord(lower);
        located = true;
        visit(leaf, leaf_at(at, static_cast<int>(w % kLowerWords) * 64 + lowest_bit(bits)));
      }
    }
  }
};

/// Where there are threads enough, a leaf each.
struct ByLeaf {
  static Count items(const LeafSet&, std::int64_t leaves) { return {leaves}; }
  LEAFPROOF_HD static std::int64_t first_of(const MemberStart& start) { return start.leaf; }
  LEAFPROOF_HD static bool empty(const LeafSet&, std::int64_t) { return false; }
  LEAFPROOF_HD static std::int64_t lower_of(const LeafSet& set, std::int64_t i) {
    return segment_of(set.leaf_base, set.lowers.bound, i);
  }
  template <class Visit>
  LEAFPROOF_HD static void visit(const LeafSet& set, std::int64_t lower, std::int64_t i,
                                 const Visit& visit) {
    visit(i, leaf_at(set.lower_coord(lower), slot_of_leaf(set, lower, i)));
  }
};

/// Gathers the leaves of an item straight into the buffer; all but mOffset, which needs the counts
/// of the items before.
template <class Rule, class Share>
struct WriteLeaves {
  static constexpr bool kHeavyWork = HeavyWork<Rule>;
  LeafSet set;
  Rule rule;
  const MemberTarget* targets;
  std::int64_t* item_voxels;
  std::int32_t* leaf_member;  // [G-8]
  LEAFPROOF_HD void operator()(std::int64_t item) const {
    SourceView::Finder finder(rule.source);
    item_voxels[item] = Share::empty(set, item) ? 0 : write(item, finder);
  }
  LEAFPROOF_HD void run(std::int64_t begin, std::int64_t end) const {
    SourceView::GridFinder finder(rule.source);
    for (std::int64_t item = begin; item < end; ++item) {
      item_voxels[item] = Share::empty(set, item) ? 0 : write(item, finder);
    }
  }

 private:
  template <class Finder>
  LEAFPROOF_HD std::int64_t write(std::int64_t item, Finder& finder) const {
    const std::int64_t lower = Share::lower_of(set, item);
    const std::int64_t member = member_of(set.tile[set.tile_of_lower(lower)]);
    const MemberTarget& target = targets[member];
    LeafNode* const leaves = target.leaf(0) - target.first_leaf;
    finder.enter(member);
    std::int64_t voxels = 0;
    Share::visit(set, lower, item, [&](std::int64_t i, const Coord& at) {
      const LeafMask mask = rule.gather(finder, at, i);
      LeafNode* leaf = leaves + i;
      const Box box = box_of(mask);
      const Coord origin = at << kLeafLog;
      leaf->mBBoxMin = to_nano({origin.x + box.min.x, origin.y + box.min.y, origin.z + box.min.z});
      leaf->mBBoxDif[0] = static_cast<std::uint8_t>(box.max.x - box.min.x);
      leaf->mBBoxDif[1] = static_cast<std::uint8_t>(box.max.y - box.min.y);
      leaf->mBBoxDif[2] = static_cast<std::uint8_t>(box.max.z - box.min.z);
      leaf->mFlags = static_cast<std::uint8_t>(kHasBox);
      for (int x = 0; x < 8; ++x) leaf->mValueMask.words()[x] = mask.word[x];
      leaf->mPrefixSum = packed_prefix_sum(mask);
      leaf_member[i] = static_cast<std::int32_t>(member);
      voxels += count(mask);
    });
    return voxels;
  }
};

LEAFPROOF_HD inline std::int64_t voxels_in(const LeafNode& leaf) {
  return static_cast<std::int64_t>(leaf.mPrefixSum >> 54 & 511) +
         popcount(leaf.mValueMask.words()[7]);
}

/// mOffset: 1 for a member's first leaf, and on from there [G-4].
template <class Share>
struct WriteOffsets {
  static constexpr bool kHeavyWork = true;
  LeafSet set;
  const MemberTarget* targets;
  const MemberStart* starts;
  const std::int64_t* voxels_before;  // per item
  LEAFPROOF_HD void operator()(std::int64_t item) const {
    if (Share::empty(set, item)) return;
    const std::int64_t lower = Share::lower_of(set, item);
    const std::int64_t member = member_of(set.tile[set.tile_of_lower(lower)]);
    const MemberTarget& target = targets[member];
    std::int64_t offset = 1 + voxels_before[item] - voxels_before[Share::first_of(starts[member])];
    Share::visit(set, lower, item, [&](std::int64_t i, const Coord&) {
      LeafNode* leaf = target.leaf(i - target.first_leaf);
      leaf->mOffset = static_cast<std::uint64_t>(offset);
      offset += voxels_in(*leaf);
    });
  }
};

LEAFPROOF_HD inline void write_box(nanovdb::CoordBBox& to, const Box& box) {
  to = nanovdb::CoordBBox(to_nano(box.min), to_nano(box.max));
}

/// Boxes of lower nodes, from those of their leaves.
struct ReduceLeaves {
  LeafSet set;
  const MemberTarget* targets;
  Extent* extents;  // per candidate
  LEAFPROOF_HD void range(std::int64_t s, std::int64_t& begin, std::int64_t& end) const {
    begin = set.leaf_base[s];
    end = set.leaf_base[s + 1];
  }
  LEAFPROOF_HD Extent value(std::int64_t s, std::int64_t i) const {
    const MemberTarget& target = targets[member_of(set.tile[set.tile_of_lower(s)])];
    const LeafNode& leaf = *target.leaf(i - target.first_leaf);
    return {voxels_of(leaf), voxels_in(leaf)};
  }
  LEAFPROOF_HD void store(std::int64_t s, const Extent& extent) const { extents[s] = extent; }
};

LEAFPROOF_HD inline Extent extent_of(const LeafMask& mask, const Coord& leaf) {
  return {voxels_of(mask, leaf), count(mask)};
}

/// The same without a buffer: gathers each leaf for its box and count alone.
template <class Rule>
struct MeasureLeaves {
  LeafSet set;
  Rule rule;
  Extent* extents;
  LEAFPROOF_HD void operator()(std::int64_t lower) const { run(lower, lower + 1); }
  LEAFPROOF_HD void run(std::int64_t begin, std::int64_t end) const {
    SourceView::GridFinder finder(rule.source);
    for (std::int64_t lower = begin; lower < end; ++lower) {
      Extent extent;
      if (!set.is_empty_lower(lower)) {
        finder.enter(member_of(set.tile[set.tile_of_lower(lower)]));
        constexpr std::int64_t kSlabs = BySlab::kSlabs;
        for (std::int64_t slab = lower * kSlabs; slab < (lower + 1) * kSlabs; ++slab) {
          BySlab::visit(set, lower, slab, [&](std::int64_t i, const Coord& at) {
            extent.add(extent_of(rule.gather(finder, at, i), at));
          });
        }
      }
      extents[lower] = extent;
    }
  }
};

/// The same as a reduction over leaves, for those who have threads enough.
template <class Rule>
struct MeasureEachLeaf {
  LeafSet set;
  Rule rule;
  Extent* extents;
  LEAFPROOF_HD void range(std::int64_t s, std::int64_t& begin, std::int64_t& end) const {
    begin = set.leaf_base[s];
    end = set.leaf_base[s + 1];
  }
  LEAFPROOF_HD Extent value(std::int64_t s, std::int64_t i) const {
    SourceView::Finder finder(rule.source, member_of(set.tile[set.tile_of_lower(s)]));
    const Coord at = leaf_at(set.lower_coord(s), slot_of_leaf(set, s, i));
    return extent_of(rule.gather(finder, at, i), at);
  }
  LEAFPROOF_HD void store(std::int64_t s, const Extent& extent) const { extents[s] = extent; }
};

/// Boxes of upper nodes and of members from those below.
struct ReduceLowers {
  LeafSet set;
  const Extent* lowers;
  Extent* uppers;
  LEAFPROOF_HD void range(std::int64_t s, std::int64_t& begin, std::int64_t& end) const {
    begin = set.lower_base[s];
    end = set.lower_base[s + 1];
  }
  LEAFPROOF_HD Extent value(std::int64_t, std::int64_t i) const { return lowers[i]; }
  LEAFPROOF_HD void store(std::int64_t s, const Extent& extent) const { uppers[s] = extent; }
};
struct ReduceUppers {
  const MemberStart* starts;
  const Extent* uppers;
  Extent* members;
  LEAFPROOF_HD void range(std::int64_t s, std::int64_t& begin, std::int64_t& end) const {
    begin = starts[s].tile;
    end = starts[s + 1].tile;
  }
  LEAFPROOF_HD Extent value(std::int64_t, std::int64_t i) const { return uppers[i]; }
  LEAFPROOF_HD void store(std::int64_t s, const Extent& extent) const { members[s] = extent; }
};

struct WriteLowerBoxes {
  LeafSet set;
  const MemberTarget* targets;
  const Extent* extents;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    if (set.is_empty_lower(i)) return;
    const MemberTarget& target = targets[member_of(set.tile[set.tile_of_lower(i)])];
    LowerNode* lower = target.lower(set.lower_rank[i] - target.first_lower);
    write_box(lower->mBBox, extents[i].box);
    lower->mFlags = kHasBox;
  }
};
struct WriteUpperBoxes {
  LeafSet set;
  const MemberTarget* targets;
  const Extent* extents;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    if (set.is_empty_tile(i)) return;
    const MemberTarget& target = targets[member_of(set.tile[i])];
    UpperNode* upper = target.upper(set.upper_rank[i] - target.first_upper);
    write_box(upper->mBBox, extents[i].box);
    upper->mFlags = kHasBox;
  }
};

/// What is known last: boxes of root and grid, flags, voxel count [G-5] [G-6].
struct WriteExtents {
  const MemberTarget* targets;
  const Extent* members;
  LEAFPROOF_HD void operator()(std::int64_t m) const {
    const MemberTarget& target = targets[m];
    const Extent& extent = members[m];
    auto& grid = *reinterpret_cast<nanovdb::GridData*>(target.grid);
    auto& tree = *reinterpret_cast<nanovdb::TreeData*>(target.grid + kGridBytes);
    tree.mVoxelCount = static_cast<std::uint64_t>(extent.voxels);
    grid.mData1 = static_cast<std::uint64_t>(extent.voxels) + 1;
    const bool empty = extent.voxels == 0;
    std::uint32_t flags = kBreadthFirst;
    if (!empty) flags |= static_cast<std::uint32_t>(kHasBox);
    grid.mFlags.data() = flags;
    nanovdb::CoordBBox& root = target.root()->mBBox;
    if (empty) {
      root = nanovdb::CoordBBox(nanovdb::Coord(INT32_MAX), nanovdb::Coord(INT32_MIN));
      for (int axis = 0; axis < 3; ++axis) {
        grid.mWorldBBox.min()[axis] = DBL_MAX;
        grid.mWorldBBox.max()[axis] = -DBL_MAX;
      }
      return;
    }
    write_box(root, extent.box);
    const std::int64_t min[3] = {extent.box.min.x, extent.box.min.y, extent.box.min.z};
    const std::int64_t max[3] = {extent.box.max.x, extent.box.max.y, extent.box.max.z};
    for (int axis = 0; axis < 3; ++axis) {
      const double size = target.voxel_size[axis], origin = target.origin[axis];
      grid.mWorldBBox.min()[axis] = world(static_cast<double>(min[axis]), size, origin);
      grid.mWorldBBox.max()[axis] = world(static_cast<double>(max[axis]) + 1.0, size, origin);
    }
  }

 private:
  LEAFPROOF_HD static double world(double index, double size, double origin) {
    return fma(index, size, origin);
  }
};

struct VoxelsOf {
  const Extent* members;
  LEAFPROOF_HD std::int64_t operator()(std::int64_t m) const { return members[m].voxels; }
};

struct WriteMetadata {
  const MemberTarget* targets;
  const Extent* members;
  std::int64_t size;
  DeviceMetadata to;
  LEAFPROOF_HD void operator()(std::int64_t m) const {
    const MemberTarget& target = targets[m];
    const Extent& extent = members[m];
    to.leaf_offsets[m] = target.first_leaf;
    if (m == size - 1) to.leaf_offsets[size] = target.first_leaf + target.leaves;
    to.voxel_counts[m] = extent.voxels;
    for (int axis = 0; axis < 3; ++axis) {
      to.voxel_sizes[3 * m + axis] = target.voxel_size[axis];
      to.origins[3 * m + axis] = target.origin[axis];
    }
    const bool empty = extent.voxels == 0;
    const Box box = empty
                        ? Box{{INT32_MAX, INT32_MAX, INT32_MAX}, {INT32_MIN, INT32_MIN, INT32_MIN}}
                        : extent.box;
    const std::int64_t corners[6] = {box.min.x, box.min.y, box.min.z,
                                     box.max.x, box.max.y, box.max.z};
    for (int i = 0; i < 6; ++i) to.boxes[6 * m + i] = static_cast<std::int32_t>(corners[i]);
  }
};

}  // namespace assembly
}  // namespace leafproof::gpu
