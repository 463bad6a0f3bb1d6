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
  LEAFPROOF_HD Place leaf_place(std::int64_t i, SegmentCursor& cursor) const {
    const std::int64_t member = cursor.find(first_leaf, size, i);
    return {member, i - first_leaf[member]};
  }
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
    LEAFPROOF_HD explicit Finder(const SourceView& view, std::int64_t member = -1)
        : view_(view), member_(member) {}

    LEAFPROOF_HD std::int64_t member() const { return member_; }
    LEAFPROOF_HD void enter(std::int64_t member) {
      if (member != member_) known_ = 0;
      member_ = member;
    }

    /// The mask words of the leaf at these coordinates (voxel / 8), or null.
    LEAFPROOF_HD const std::uint64_t* words(const Coord& leaf) {
      settle(leaf >> 4);
      return words_in(lower(1, 1, 1), lower_slot(leaf));
    }

    struct Around {
      const std::uint64_t* near[3][3][3];
      LEAFPROOF_HD const std::uint64_t* operator()(int x, int y, int z) const {
        return near[x][y][z];
      }
    };
    /// The mask words of the 27 leaves around one, by x, y, z from 0 to 2; of no voxel where there
    /// is no leaf.
    LEAFPROOF_HD Around around(const Coord& leaf) {
      settle(leaf >> 4);
      Around result;
      for (int x = 0; x < 3; ++x) {
        for (int y = 0; y < 3; ++y) {
          for (int z = 0; z < 3; ++z) {
            const Coord at{leaf.x + x - 1, leaf.y + y - 1, leaf.z + z - 1};
            const Coord in = at >> 4;
            const std::uint64_t* found =
                words_in(lower(step(in.x, home_.x), step(in.y, home_.y), step(in.z, home_.z)),
                         lower_slot(at));
            result.near[x][y][z] = found == nullptr ? none_.word : found;
          }
        }
      }
      return result;
    }

   private:
    LEAFPROOF_HD static int step(std::int64_t at, std::int64_t home) {
      return static_cast<int>(at - home) + 1;
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
    LeafMask none_ = empty_mask();
    unsigned known_ = 0;  // bit i: lowers_[i] has been looked up
    const LowerNode* lowers_[27] = {};
  };

  /// A Finder for one thread that looks for many leaves, one lower node after the other. It counts
  /// the leaves before each word of a node's child mask when it meets the node, and from then on
  /// finds leaves by rank, without child tables, which are large and seldom in a cache: leaves of a
  /// lower node stand one after the other. For around() it lays out all leaves of a node and those
  /// next to it in a grid, so that 27 neighbours are 27 loads.
  class GridFinder {
   public:
    LEAFPROOF_HD explicit GridFinder(const SourceView& view) : view_(view) {}

    LEAFPROOF_HD std::int64_t member() const { return member_; }
    LEAFPROOF_HD void enter(std::int64_t member) {
      if (member == member_) return;
      member_ = member;
      known_ = 0;
      last_ = nullptr;
      laid_out_ = false;
    }

    LEAFPROOF_HD const std::uint64_t* words(const Coord& leaf) {
      const auto moved =
          (leaf.x ^ last_leaf_.x) | (leaf.y ^ last_leaf_.y) | (leaf.z ^ last_leaf_.z);
      if (last_ == nullptr || moved >> 4 != 0) last_ = &lower(leaf >> 4, true);
      last_leaf_ = leaf;
      const int slot = lower_slot(leaf);
      if (last_->mask == nullptr || (last_->mask[slot >> 6] >> (slot & 63) & 1) == 0) {
        return nullptr;
      }
      return leaf_of(*last_, slot);
    }

    struct Around {
      const std::uint64_t* const* corner;
      LEAFPROOF_HD const std::uint64_t* operator()(int x, int y, int z) const {
        return corner[(x * kAcross + y) * kAcross + z];
      }
    };
    /// Whether these are of a leaf; around() has words without a voxel for where there is none.
    LEAFPROOF_HD bool is_leaf(const std::uint64_t* words) const { return words != none_.word; }
    LEAFPROOF_HD Around around(const Coord& leaf) {
      const Coord at = leaf >> 4;
      if (!laid_out_ || !(at == home_)) lay_out(at);
      return {grid_ + cell(static_cast<int>(leaf.x & 15), static_cast<int>(leaf.y & 15),
                           static_cast<int>(leaf.z & 15))};
    }

   private:
    static constexpr int kAcross = 18;  // a lower node and one leaf on each side
    static constexpr int kCells = kAcross * kAcross * kAcross;

    struct Ranked {
      Coord at;
      const std::uint64_t* mask;  // of children; null where there is no node
      std::uintptr_t first;       // the words of its first leaf
      std::uint16_t before[kLowerWords];
    };

    LEAFPROOF_HD static int cell(int x, int y, int z) { return (x * kAcross + y) * kAcross + z; }

    LEAFPROOF_HD std::size_t stride() const {
      return view_.selected == nullptr ? sizeof(LeafNode) : sizeof(LeafMask);
    }
    LEAFPROOF_HD const std::uint64_t* leaf_of(const Ranked& node, int slot) const {
      const int rank =
          node.before[slot >> 6] + popcount(node.mask[slot >> 6] & bits_below(slot & 63));
      return reinterpret_cast<const std::uint64_t*>(node.first +
                                                    static_cast<std::size_t>(rank) * stride());
    }

    /// The node at these coordinates. Remembered by two bits of each, so any 27 neighbours at once.
    /// `ahead`: its leaves will be read.
    LEAFPROOF_HD const Ranked& lower(const Coord& at, bool ahead) {
      const auto i = static_cast<int>((at.x & 3) << 4 | (at.y & 3) << 2 | (at.z & 3));
      Ranked& node = lowers_[i];
      if ((known_ >> i & 1) == 0 || !(node.at == at)) {
        meet(at, node, ahead);
        known_ |= std::uint64_t{1} << i;
      }
      return node;
    }
    LEAFPROOF_HD void meet(const Coord& at, Ranked& node, bool ahead) const {
      const LowerNode* found = view_.find_lower(member_, at);
      node.at = at;
      node.mask = nullptr;
      if (found == nullptr) return;
      node.mask = found->mChildMask.words();
      int before = 0, begin = 0;
      while (begin < kLowerWords - 1 && node.mask[begin] == 0) ++begin;  // a node has a leaf
      const int first = begin * 64 + lowest_bit(node.mask[begin]);
      for (int w = 0; w < kLowerWords; ++w) {
        node.before[w] = static_cast<std::uint16_t>(before);
        before += popcount(node.mask[w]);
      }
      node.first = reinterpret_cast<std::uintptr_t>(view_.words(member_, leaf_in(found, first)));
      constexpr int kFew = 128;  // leaves; more would push each other out of the cache
      const auto end =
          node.first + static_cast<std::size_t>(before < kFew ? before : kFew) * stride();
      for (std::uintptr_t line = node.first; ahead && line < end; line += 64) {
        prefetch(reinterpret_cast<const void*>(line));
      }
    }

    LEAFPROOF_HD void lay_out(const Coord& home) {
      if (!cleared_) {
        for (const std::uint64_t*& at : grid_) at = none_.word;
      }
      for (int i = 0; i < written_; ++i) grid_[cells_[i]] = none_.word;
      cleared_ = laid_out_ = true;
      written_ = 0;
      home_ = home;
      for (int i = 0; i < 27; ++i) {
        const Ranked& node =
            lower({home.x + i / 9 - 1, home.y + i / 3 % 3 - 1, home.z + i % 3 - 1}, false);
        if (node.mask != nullptr) lay_out(node, i / 9, i / 3 % 3, i % 3);
      }
    }
    /// The leaves of one lower node: all, or those of a face, an edge, a corner. Per axis: 0 and 2
    /// are the nodes before and after home.
    LEAFPROOF_HD void lay_out(const Ranked& node, int nx, int ny, int nz) {
      const auto first = [](int n) { return n == 0 ? 15 : 0; };
      const auto last = [](int n) { return n == 2 ? 0 : 15; };
      const std::uint64_t columns = nz == 1 ? ~std::uint64_t{0} : 0x0001000100010001u << first(nz);
      for (int x = first(nx); x <= last(nx); ++x) {
        for (int y = first(ny) & ~3; y <= last(ny); y += 4) {
          const int w = x * 4 + (y >> 2);
          std::uint64_t bits = node.mask[w] & columns;
          if (ny != 1) bits &= std::uint64_t{0xFFFF} << (first(ny) & 3) * 16;
          for (; bits != 0; bits &= bits - 1) {
            const int bit = lowest_bit(bits);
            const int at =
                cell(x + 16 * nx - 15, y + (bit >> 4) + 16 * ny - 15, (bit & 15) + 16 * nz - 15);
            grid_[at] = leaf_of(node, w * 64 + bit);
            prefetch(grid_[at]);
            cells_[written_++] = static_cast<std::uint16_t>(at);
          }
        }
      }
    }

    const SourceView& view_;
    std::int64_t member_ = -1;
    Coord home_, last_leaf_;
    const Ranked* last_ = nullptr;  // where the last leaf was looked for
    std::uint64_t known_ = 0;       // bit i: lowers_[i] has been met
    bool laid_out_ = false, cleared_ = false;
    int written_ = 0;  // cells of the grid that are not none_
    LeafMask none_ = empty_mask();
    Ranked lowers_[64];
    const std::uint64_t* grid_[kCells];
    std::uint16_t cells_[kCells];
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
