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

/// Where a member begins in the lists (candidates) and among the nodes that stay; B+1 of them.
struct MemberStart {
  std::int64_t tile, lower_candidate;
  std::int64_t upper, lower, leaf;
};

}  // namespace leafproof::gpu
