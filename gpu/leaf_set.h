// What discovery finds: the target leaves of all members in canonical order, as child masks. Root
// tiles are listed in order; the lower nodes of a tile are the bits of its mask, the leaves of a
// lower node the bits of its own; ranks (popcount prefixes) turn a bit into an index. Nodes found
// by their boxes alone may prove empty: they keep their place in these lists and get no rank.
#pragma once

#include <cstdint>

#include "gpu/executor.h"
#include "gpu/node_key.h"

namespace leafproof::gpu {

struct LeafSet {
  Count tiles;                            // candidates, all members
  TileKey* tile = nullptr;                // ascending
  std::uint64_t* upper_masks = nullptr;   // 512 words a tile: its candidate lower nodes
  std::uint16_t* upper_prefix = nullptr;  // bits before each word
  std::int64_t* lower_base = nullptr;     // tiles+1: candidates before a tile
  Count lowers;                           // candidates
  std::int64_t* lower_place = nullptr;    // tile << 15 | slot
  std::uint64_t* lower_masks = nullptr;   // 64 words: the leaves, exactly
  std::uint16_t* lower_prefix = nullptr;
  std::int64_t* leaf_base = nullptr;   // lowers+1: leaves before a lower node
  std::int64_t* lower_rank = nullptr;  // lowers+1: nodes that are not empty before it
  std::int64_t* upper_rank = nullptr;  // tiles+1

  LEAFPROOF_HD std::int64_t tile_of_lower(std::int64_t lower) const {
    return lower_place[lower] >> 15;
  }
  LEAFPROOF_HD int slot_of_lower(std::int64_t lower) const {
    return static_cast<int>(lower_place[lower] & (kUpperSlots - 1));
  }
  LEAFPROOF_HD Coord lower_coord(std::int64_t lower) const {
    return lower_at(tile_of(tile[tile_of_lower(lower)]), slot_of_lower(lower));
  }
  LEAFPROOF_HD bool is_empty_lower(std::int64_t lower) const {
    return leaf_base[lower] == leaf_base[lower + 1];
  }
  LEAFPROOF_HD bool is_empty_tile(std::int64_t t) const {
    return upper_rank[t] == upper_rank[t + 1];
  }

  /// Index of a tile that is in the list.
  LEAFPROOF_HD std::int64_t find_tile(std::int64_t member, const Coord& at) const {
    return lower_bound_of(tile, tiles.get(), tile_key(member, at));
  }
  /// Candidate index of a lower node that is in the masks.
  LEAFPROOF_HD std::int64_t find_lower(std::int64_t member, const Coord& lower) const {
    const std::int64_t t = find_tile(member, lower >> (kUpperLog - kLowerLog));
    const int slot = upper_slot(lower);
    const std::int64_t word = t * kUpperWords + (slot >> 6);
    return lower_base[t] + upper_prefix[word] + popcount(upper_masks[word] & bits_below(slot & 63));
  }
};

/// The child masks of lower nodes, by rows of leaves; remembers the last.
class LastMask {
 public:
  LEAFPROOF_HD explicit LastMask(const LeafSet& set) : set_(set) {}

  /// The mask of the lower node that has this leaf.
  LEAFPROOF_HD std::uint64_t* of(std::int64_t member, const Coord& leaf) {
    if (!is_last(member, leaf)) mask_ = find(member, leaf >> (kLowerLog - kLeafLog));
    return mask_;
  }

 protected:
  LEAFPROOF_HD bool is_last(std::int64_t member, const Coord& leaf) {
    const auto moved = (leaf.x ^ last_.x) | (leaf.y ^ last_.y) | (leaf.z ^ last_.z);
    const bool same = moved >> (kLowerLog - kLeafLog) == 0 && member == member_;
    last_ = leaf;
    member_ = member;
    return same;
  }
  LEAFPROOF_HD std::uint64_t* find(std::int64_t member, const Coord& lower) const {
    return set_.lower_masks + set_.find_lower(member, lower) * kLowerWords;
  }
  std::uint64_t* mask_ = nullptr;

 private:
  const LeafSet& set_;
  Coord last_;
  std::int64_t member_ = -1;
};

/// The same for one thread that asks for many: remembers eight more, one a parity of coordinates.
class NearMasks : public LastMask {
 public:
  using LastMask::LastMask;

  LEAFPROOF_HD std::uint64_t* of(std::int64_t member, const Coord& leaf) {
    if (is_last(member, leaf)) return mask_;
    const Coord lower = leaf >> (kLowerLog - kLeafLog);
    // A lower node's coordinates have 25 bits, so two numbers tell all of them and the member.
    const auto low = [](std::int64_t v) { return static_cast<std::uint64_t>(v) & 0xFFFFFFFF; };
    const std::uint64_t xy = low(lower.x) << 32 | low(lower.y);
    const std::uint64_t zm = low(lower.z) << 32 | low(member);
    const auto i = (lower.x & 1) << 2 | (lower.y & 1) << 1 | (lower.z & 1);
    if ((known_ >> i & 1) == 0 || xy_[i] != xy || zm_[i] != zm) {
      known_ |= 1u << i;
      xy_[i] = xy;
      zm_[i] = zm;
      masks_[i] = find(member, lower);
    }
    return mask_ = masks_[i];
  }

 private:
  unsigned known_ = 0;
  std::uint64_t xy_[8], zm_[8];
  std::uint64_t* masks_[8];
};

/// ORs what the leaves of one lower node after the other reach around them: gathered in a grid of
/// 18^3 bits, and from there into the masks of up to 27 lower nodes, word by word.
class NearGrid {
 public:
  LEAFPROOF_HD explicit NearGrid(const LeafSet& set) : set_(set) { clear(); }

  /// `three`: bits z = 0, 1, 2 of the leaves around one, by x and y from 0.
  LEAFPROOF_HD void add(std::int64_t member, const Coord& leaf, const unsigned (&three)[3][3]) {
    const Coord home = leaf >> (kLowerLog - kLeafLog);
    if (!(home == home_) || member != member_) {
      flush();
      home_ = home;
      member_ = member;
    }
    const auto x = leaf.x & 15, y = leaf.y & 15, z = leaf.z & 15;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) rows_[x + i][y + j] |= three[i][j] << z;
    }
  }

  LEAFPROOF_HD void flush() {
    if (member_ < 0) return;
    for (int x = 0; x < kAcross; ++x) {
      const int nx = x == 0 ? 0 : x == kAcross - 1 ? 2 : 1;
      const int word = ((x - 1) & 15) * 4;
      mark(nx, 0, word + 3, &rows_[x][0], 1, 48);
      for (int y = 0; y < 16; y += 4) mark(nx, 1, word + y / 4, &rows_[x][1 + y], 4, 0);
      mark(nx, 2, word, &rows_[x][kAcross - 1], 1, 0);
    }
    clear();
  }

 private:
  static constexpr int kAcross = 18;  // a lower node and one leaf on each side

  LEAFPROOF_HD void clear() {
    known_ = 0;
    for (auto& plane : rows_) {
      for (std::uint32_t& row : plane) row = 0;
    }
  }
  /// Up to four rows of z, as parts of one word of a node and of the nodes before and after along
  /// z.
  LEAFPROOF_HD void mark(int nx, int ny, int word, const std::uint32_t* row, int rows, int shift) {
    std::uint64_t before = 0, here = 0, after = 0;
    for (int k = 0; k < rows; ++k, shift += 16) {
      const std::uint64_t bits = row[k];
      before |= (bits & 1) << (shift + 15);
      here |= (bits >> 1 & 0xFFFF) << shift;
      after |= bits >> 17 << shift;
    }
    if (here != 0) atomic_or(mask(nx, ny, 1) + word, here);
    if (before != 0) atomic_or(mask(nx, ny, 0) + word, before);
    if (after != 0) atomic_or(mask(nx, ny, 2) + word, after);
  }
  LEAFPROOF_HD std::uint64_t* mask(int nx, int ny, int nz) {
    const int i = nx * 9 + ny * 3 + nz;
    if ((known_ >> i & 1) == 0) {
      known_ |= 1u << i;
      const Coord lower{home_.x + nx - 1, home_.y + ny - 1, home_.z + nz - 1};
      masks_[i] = set_.lower_masks + set_.find_lower(member_, lower) * kLowerWords;
    }
    return masks_[i];
  }

  const LeafSet& set_;
  Coord home_;
  std::int64_t member_ = -1;
  unsigned known_ = 0;
  std::uint64_t* masks_[27];
  std::uint32_t rows_[kAcross][kAcross];  // bit 0: the leaf before, 17: the leaf after
};

/// Where a member begins in the lists (candidates) and among the nodes that stay; B+1 of them.
struct MemberStart {
  std::int64_t tile, lower_candidate;
  std::int64_t upper, lower, leaf;
};

}  // namespace leafproof::gpu
