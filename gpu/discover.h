// Finding the target leaves of all members in canonical order, by either of two engines that agree
// bit for bit. Neither sorts a mask or a voxel:
//   mask   ORs what is reached into the child masks of target uppers, then of target lowers; only
//          root tiles are sorted, ranks come from popcounts, and scratch follows what is found;
//   sort   writes one key per reached leaf, radix sorts, drops repeats, reads the masks off the
//   keys.
#pragma once

#include <cstdint>

#include "gpu/engine.h"
#include "gpu/executor.h"
#include "gpu/leaf_set.h"
#include "gpu/rules.h"
#include "gpu/team.h"

namespace leafproof::gpu {

/// How much discovery may find: exact, or bounds from boxes and the rule's reach.
struct Bounds {
  std::int64_t tile_keys = 0;  // tiles listed before repeats are dropped
  std::int64_t tiles = 0, lowers = 0;
  std::int64_t leaf_keys = 0;  // engine sort: leaves listed before repeats are dropped
  bool counted = false;  // numbers found by asking each node, not bounds: then nodes are found
                         // from the level below, since a box may be far larger than what it has
};

namespace discovery {

template <class Rule>
LEAFPROOF_HD std::int64_t source_uppers(const Rule& rule) {
  return rule.source.uppers + (reads_second(rule) ? second_of(rule).uppers : 0);
}
template <class Rule>
LEAFPROOF_HD std::int64_t source_lowers(const Rule& rule) {
  return rule.source.lowers + (reads_second(rule) ? second_of(rule).lowers : 0);
}
template <class Rule>
LEAFPROOF_HD std::int64_t source_leaves(const Rule& rule) {
  return rule.source.leaves + (reads_second(rule) ? second_of(rule).leaves : 0);
}

/// Only what lies in the lattice: a result beyond it is refused as a whole, by its own flag [L-5].
LEAFPROOF_HD inline Box in_lattice_part(const Box& box) {
  return common(box,
                {{kLatticeMin, kLatticeMin, kLatticeMin}, {kLatticeMax, kLatticeMax, kLatticeMax}});
}

enum class Level { Upper, Lower, Leaf };

template <Level kLevel, class Rule>
LEAFPROOF_HD std::int64_t sources(const Rule& rule) {
  return kLevel == Level::Upper   ? source_uppers(rule)
         : kLevel == Level::Lower ? source_lowers(rule)
                                  : source_leaves(rule);
}

/// The voxels that source node i of a level can reach, by its box.
template <Level kLevel, class Rule>
LEAFPROOF_HD Reached image_of(const Rule& rule, std::int64_t i) {
  const auto nodes = [](const SourceView& view) {
    return kLevel == Level::Upper   ? view.uppers
           : kLevel == Level::Lower ? view.lowers
                                    : view.leaves;
  };
  const bool second = i >= nodes(rule.source);
  const SourceView& view = second ? second_of(rule) : rule.source;
  if (second) i -= nodes(rule.source);
  const auto place = kLevel == Level::Upper   ? view.upper_place(i)
                     : kLevel == Level::Lower ? view.lower_place(i)
                                              : view.leaf_place(i);
  const SourceMember& member = view.members[place.member];
  Box voxels;
  if constexpr (kLevel == Level::Upper) {
    voxels = voxels_of(member.uppers[place.node].mBBox);
  } else if constexpr (kLevel == Level::Lower) {
    voxels = voxels_of(member.lowers[place.node].mBBox);
  } else {
    voxels = voxels_of(member.leaves[place.node]);
    if (view.selected != nullptr) {
      voxels = voxels_of(view.mask(place), leaf_coord(view.leaf(place)));
    }
  }
  if (voxels.empty()) return {place.member, voxels};
  return {place.member, in_lattice_part(rule.image(voxels))};
}

LEAFPROOF_HD inline std::int64_t volume(const Box& box) {
  if (box.empty()) return 0;
  return (box.max.x - box.min.x + 1) * (box.max.y - box.min.y + 1) * (box.max.z - box.min.z + 1);
}

// ---- root tiles ----

/// How many nodes of 2^shift voxels the image of a source node meets.
template <Level kFrom, class Rule>
struct CountReached {
  Rule rule;
  int shift;
  LEAFPROOF_HD std::int64_t operator()(std::int64_t i) const {
    return volume(image_of<kFrom>(rule, i).voxels >> shift);
  }
};

template <Level kFrom, class Rule>
struct ListTiles {
  Rule rule;
  const std::int64_t* first;
  TileKey* keys;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const Reached reached = image_of<kFrom>(rule, i);
    const Box tiles = reached.voxels >> kUpperLog;
    TileKey* key = keys + first[i];
    for (std::int64_t x = tiles.min.x; x <= tiles.max.x; ++x) {
      for (std::int64_t y = tiles.min.y; y <= tiles.max.y; ++y) {
        for (std::int64_t z = tiles.min.z; z <= tiles.max.z; ++z) {
          *key++ = tile_key(reached.member, {x, y, z});
        }
      }
    }
  }
};

// ---- masks ----

/// Zeroes `words` words per item.
struct ZeroMasks {
  std::uint64_t* masks;
  int words;
  LEAFPROOF_HD void operator()(std::int64_t i) const { (*this)(i, Alone{}); }
  template <class Team>
  LEAFPROOF_HD void operator()(std::int64_t i, const Team& team) const {
    std::uint64_t* mask = masks + i * words;
    for (int w = team.rank(); w < words; w += team.size()) mask[w] = 0;
  }
  LEAFPROOF_HD void run(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t w = begin * words; w < end * words; ++w) masks[w] = 0;
  }
};

/// ORs the lower nodes in a box of them into the masks of their uppers.
LEAFPROOF_HD inline void mark_lowers(const LeafSet& set, std::int64_t member, const Box& lowers) {
  const Box tiles = lowers >> 5;
  for (std::int64_t tx = tiles.min.x; tx <= tiles.max.x; ++tx) {
    for (std::int64_t ty = tiles.min.y; ty <= tiles.max.y; ++ty) {
      for (std::int64_t tz = tiles.min.z; tz <= tiles.max.z; ++tz) {
        const Coord tile{tx, ty, tz};
        const Coord far{tx * 32 + 31, ty * 32 + 31, tz * 32 + 31};
        const Box part = common(lowers, {tile << 5, far});
        std::uint64_t* mask = set.upper_masks + set.find_tile(member, tile) * kUpperWords;
        const int first = static_cast<int>(part.min.z & 31),
                  last = static_cast<int>(part.max.z & 31);
        const std::uint64_t row = bits_below(last + 1) & ~bits_below(first);
        for (std::int64_t x = part.min.x; x <= part.max.x; ++x) {
          for (std::int64_t y = part.min.y; y <= part.max.y; ++y) {
            const int slot = upper_slot({x, y, 0});
            atomic_or(mask + (slot >> 6), row << (slot & 63));
          }
        }
      }
    }
  }
}

/// Those that a source lower node's voxels can reach.
template <class Rule>
struct MarkLowers {
  Rule rule;
  LeafSet set;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const Reached reached = image_of<Level::Lower>(rule, i);
    mark_lowers(set, reached.member, reached.voxels >> kLowerLog);
  }
};

/// ORs the lower nodes of what is reached into the masks of tiles: exactly, by leaves.
template <class Rule>
struct MarkLowersOfLeaves {
  Rule rule;
  LeafSet set;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    SegmentCursor cursor;
    rule.reach(cursor, i, [&](std::int64_t member, const Coord& row, unsigned) {
      const Coord lower = row >> (kLowerLog - kLeafLog);
      const int slot = upper_slot(lower);
      const std::int64_t tile = set.find_tile(member, lower >> (kUpperLog - kLowerLog));
      atomic_or(set.upper_masks + tile * kUpperWords + (slot >> 6),
                std::uint64_t{1} << (slot & 63));
    });
  }
};

/// Bits before each word of a mask, and how many it has.
template <int kWords>
struct RankMask {
  static constexpr bool kHeavyWork = true;
  const std::uint64_t* masks;
  std::uint16_t* prefix;
  std::int64_t* totals;
  LEAFPROOF_HD void operator()(std::int64_t i) const { (*this)(i, Alone{}); }
  template <class Team>  // of a size that divides kWords
  LEAFPROOF_HD void operator()(std::int64_t i, const Team& team) const {
    int total = 0;
    for (std::int64_t w = i * kWords + team.rank(); w < (i + 1) * kWords; w += team.size()) {
      int all = 0;
      const int before = team.sum_before(popcount(masks[w]), all);
      prefix[w] = static_cast<std::uint16_t>(total + before);
      total += all;
    }
    if (team.rank() == 0) totals[i] = total;
  }
};

struct ValueAt {
  const std::int64_t* values;
  LEAFPROOF_HD std::int64_t operator()(std::int64_t i) const { return values[i]; }
};

struct ListLowers {
  LeafSet set;
  LEAFPROOF_HD void operator()(std::int64_t i) const {  // i: a word of a tile's mask
    const std::int64_t tile = i / kUpperWords;
    const int word = static_cast<int>(i % kUpperWords);
    std::int64_t* place = set.lower_place + set.lower_base[tile] + set.upper_prefix[i];
    for (std::uint64_t bits = set.upper_masks[i]; bits != 0; bits &= bits - 1) {
      *place++ = tile << 15 | (word * 64 + lowest_bit(bits));
    }
  }
};

/// ORs the leaves that source leaf i reaches into the masks of their lower nodes.
template <class Rule>
struct MarkLeaves {
  static constexpr bool kHeavyWork = HeavyWork<Rule>;
  Rule rule;
  LeafSet set;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    SegmentCursor cursor;
    LastMask masks(set);
    mark(i, cursor, masks);
  }
  LEAFPROOF_HD void run(std::int64_t begin, std::int64_t end) const {
    SegmentCursor cursor;
    if constexpr (requires(unsigned(&three)[3][3]) { rule.reached(LeafMask{}, three); }) {
      NearGrid grid(set);
      for (std::int64_t i = begin; i < end; ++i) {
        const auto place = rule.source.leaf_place(i, cursor);
        unsigned three[3][3];
        rule.reached(rule.source.mask(place), three);
        grid.add(place.member, leaf_coord(rule.source.leaf(place)), three);
      }
      grid.flush();
    } else {
      NearMasks masks(set);
      for (std::int64_t i = begin; i < end; ++i) mark(i, cursor, masks);
    }
  }

 private:
  template <class Masks>
  LEAFPROOF_HD void mark(std::int64_t i, SegmentCursor& cursor, Masks& masks) const {
    rule.reach(cursor, i, [&](std::int64_t member, const Coord& row, unsigned leaves) {
      const int slot = lower_slot(row);
      atomic_or(masks.of(member, row) + (slot >> 6), static_cast<std::uint64_t>(leaves)
                                                         << (slot & 63));
    });
  }
};

struct StaysLower {
  const std::int64_t* leaf_base;
  LEAFPROOF_HD std::int64_t operator()(std::int64_t i) const {
    return leaf_base[i] != leaf_base[i + 1];
  }
};
struct StaysUpper {
  const std::int64_t *lower_base, *lower_rank;
  LEAFPROOF_HD std::int64_t operator()(std::int64_t i) const {
    return lower_rank[lower_base[i]] != lower_rank[lower_base[i + 1]];
  }
};

struct StartMembers {
  LeafSet set;
  MemberStart* starts;
  LEAFPROOF_HD void operator()(std::int64_t member) const {
    MemberStart& start = starts[member];
    start.tile = lower_bound_of(set.tile, set.tiles.get(),
                                static_cast<TileKey>(static_cast<std::uint64_t>(member)) << 60);
    start.lower_candidate = set.lower_base[start.tile];
    start.upper = set.upper_rank[start.tile];
    start.lower = set.lower_rank[start.lower_candidate];
    start.leaf = set.leaf_base[start.lower_candidate];
  }
};

// ---- keys ----

template <class Rule>
struct CountLeaves {
  Rule rule;
  std::int64_t* counts;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    std::int64_t leaves = 0;
    SegmentCursor cursor;
    rule.reach(cursor, i,
               [&](std::int64_t, const Coord&, unsigned row) { leaves += popcount(row); });
    counts[i] = leaves;
  }
};

}  // namespace discovery

/// A leaf of a member as one number that orders as [G-2]: member, tile relative to the box of all
/// target tiles, slots. 64 bits nearly always do; where not, 128 through the same template.
struct LeafCodec {
  Coord base;  // the least tile
  int y_bits = 0, z_bits = 0, tile_bits = 0, member_bits = 0;

  int bits() const { return member_bits + tile_bits + 27; }

  template <class Key>
  LEAFPROOF_HD Key encode(std::int64_t member, const Coord& leaf) const {
    const Coord tile = leaf >> (kUpperLog - kLeafLog);
    Key key = static_cast<Key>(static_cast<std::uint64_t>(member));
    key = key << (tile_bits - y_bits - z_bits) | static_cast<Key>(tile.x - base.x);
    key = key << y_bits | static_cast<Key>(tile.y - base.y);
    key = key << z_bits | static_cast<Key>(tile.z - base.z);
    key = key << 15 | static_cast<Key>(upper_slot(leaf >> (kLowerLog - kLeafLog)));
    return key << 12 | static_cast<Key>(lower_slot(leaf));
  }
  /// The tile of a key that was shifted down by 27 bits.
  template <class Key>
  LEAFPROOF_HD TileKey tile_key_of(Key key) const {
    const auto part = [&key](int bits) {
      const auto value = static_cast<std::int64_t>(
          static_cast<std::uint64_t>(key & ((static_cast<Key>(1) << bits) - 1)));
      key = key >> bits;
      return value;
    };
    const std::int64_t z = part(z_bits), y = part(y_bits), x = part(tile_bits - y_bits - z_bits);
    return tile_key(static_cast<std::int64_t>(static_cast<std::uint64_t>(key)),
                    {x + base.x, y + base.y, z + base.z});
  }
};

namespace discovery {

template <class Rule, class Key>
struct ListLeaves {
  Rule rule;
  LeafCodec codec;
  const std::int64_t* first;
  Key* keys;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    Key* key = keys + first[i];
    SegmentCursor cursor;
    rule.reach(cursor, i, [&](std::int64_t member, const Coord& row, unsigned leaves) {
      const Key base = codec.encode<Key>(member, row);
      for (unsigned bits = leaves; bits != 0; bits &= bits - 1) {
        *key++ = base + static_cast<Key>(lowest_bit(bits));
      }
    });
  }
};

/// 1 where a key begins a new group of keys that agree above `shift` bits.
template <class Key>
struct Begins {
  const Key* keys;
  int shift;
  LEAFPROOF_HD std::int64_t operator()(std::int64_t i) const {
    return i == 0 || (keys[i] >> shift) != (keys[i - 1] >> shift);
  }
};

/// Reads tiles, lower nodes and both kinds of masks off the sorted keys of leaves (`extra` = 0) or
/// voxels (`extra` = 9 bits more).
template <class Key>
struct ReadKeys {
  LeafCodec codec;
  const Key* keys;
  int extra;
  const std::int64_t *tile_index, *lower_index;  // n+1: groups begun before key i
  LeafSet set;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const Key key = keys[i] >> extra;
    const std::int64_t tile = tile_index[i + 1] - 1, lower = lower_index[i + 1] - 1;
    const int slot = static_cast<int>(static_cast<std::uint64_t>(key) & (kLowerSlots - 1));
    atomic_or(set.lower_masks + lower * kLowerWords + (slot >> 6), std::uint64_t{1} << (slot & 63));
    if (lower_index[i + 1] == lower_index[i]) return;
    const int place = static_cast<int>(static_cast<std::uint64_t>(key >> 12) & (kUpperSlots - 1));
    set.lower_place[lower] = tile << 15 | place;
    atomic_or(set.upper_masks + tile * kUpperWords + (place >> 6),
              std::uint64_t{1} << (place & 63));
    if (tile_index[i + 1] != tile_index[i]) set.tile[tile] = codec.tile_key_of<Key>(key >> 27);
  }
};

/// The last entry of a prefix sum, wherever a list ends on the device.
struct CopyLast {
  Count n;
  const std::int64_t* prefix;
  std::int64_t* total;
  LEAFPROOF_HD void operator()(std::int64_t) const { *total = prefix[n.get()]; }
};

// Grains of a launch: so many items take ten microseconds or more of a CPU, what a task of their
// own is worth. The first touch of a page is what takes longest.
inline constexpr std::int64_t kLight = 4096, kMedium = 256, kHeavy = 16, kFirstTouch = 4;

template <Executor E>
void allocate_tiles(E& executor, LeafSet& set, std::int64_t bound) {
  set.upper_masks = scratch<std::uint64_t>(executor, bound * kUpperWords);
  set.upper_prefix = scratch<std::uint16_t>(executor, bound * kUpperWords);
  set.lower_base = scratch<std::int64_t>(executor, bound + 1);
  set.upper_rank = scratch<std::int64_t>(executor, bound + 1);
}
template <Executor E>
void allocate_lowers(E& executor, LeafSet& set, std::int64_t bound) {
  set.lower_place = scratch<std::int64_t>(executor, bound);
  set.lower_masks = scratch<std::uint64_t>(executor, bound * kLowerWords);
  set.lower_prefix = scratch<std::uint16_t>(executor, bound * kLowerWords);
  set.leaf_base = scratch<std::int64_t>(executor, bound + 1);
  set.lower_rank = scratch<std::int64_t>(executor, bound + 1);
}

template <int kWords, Executor E>
void rank(E& executor, Count n, const std::uint64_t* masks, std::uint16_t* prefix,
          std::int64_t* base) {
  auto* totals = scratch<std::int64_t>(executor, n.bound);
  executor.for_each_index(n, RankMask<kWords>{masks, prefix, totals}, 8 * kLight / kWords);
  executor.exclusive_scan(n, ValueAt{totals}, base);
}

/// Ranks of leaves and of the nodes above them that are not empty.
template <Executor E>
void rank_nodes(E& executor, LeafSet& set) {
  rank<kLowerWords>(executor, set.lowers, set.lower_masks, set.lower_prefix, set.leaf_base);
  executor.exclusive_scan(set.lowers, StaysLower{set.leaf_base}, set.lower_rank);
  executor.exclusive_scan(set.tiles, StaysUpper{set.lower_base, set.lower_rank}, set.upper_rank);
}

}  // namespace discovery

namespace discovery {

/// The root tiles of all members, in order, from the boxes of the source nodes of a level.
template <Level kFrom, Executor E, class Rule>
void list_tiles(E& executor, const Rule& rule, const Bounds& bounds, LeafSet& set) {
  const Count nodes{sources<kFrom>(rule)};
  auto* first = scratch<std::int64_t>(executor, nodes.bound + 1);
  auto* found = scratch<std::int64_t>(executor, 1);
  set.tile = scratch<TileKey>(executor, bounds.tile_keys);
  executor.exclusive_scan(nodes, CountReached<kFrom, Rule>{rule, kUpperLog}, first);
  executor.for_each_index(nodes, ListTiles<kFrom, Rule>{rule, first, set.tile}, kMedium);
  executor.sort_unique(set.tile, Count{bounds.tile_keys, first + nodes.bound}, found,
                       tile_key_bits(rule.source.size));
  set.tiles = {bounds.tiles, found};
}

}  // namespace discovery

/// Engine `mask`.
template <Executor E, class Rule>
LeafSet discover_by_mask(E& executor, const Rule& rule, const Bounds& bounds) {
  using namespace discovery;
  LeafSet set;
  const Count lowers{source_lowers(rule)}, leaves{source_leaves(rule)};
  if (bounds.counted) {
    list_tiles<Level::Leaf>(executor, rule, bounds, set);
  } else {
    list_tiles<Level::Upper>(executor, rule, bounds, set);
  }
  allocate_tiles(executor, set, bounds.tiles);
  executor.for_each_index(set.tiles, ZeroMasks{set.upper_masks, kUpperWords}, kMedium);
  if (bounds.counted) {
    executor.for_each_index(leaves, MarkLowersOfLeaves<Rule>{rule, set}, kMedium);
  } else {
    executor.for_each_index(lowers, MarkLowers<Rule>{rule, set}, kMedium);
  }
  rank<kUpperWords>(executor, set.tiles, set.upper_masks, set.upper_prefix, set.lower_base);

  // The number of candidates is the last entry of lower_base, wherever the list of tiles ends.
  auto* candidates = scratch<std::int64_t>(executor, 1);
  executor.for_each_index({1}, CopyLast{set.tiles, set.lower_base, candidates}, 1);
  set.lowers = {bounds.lowers, candidates};
  allocate_lowers(executor, set, bounds.lowers);
  executor.for_each_index(set.tiles.times(kUpperWords), ListLowers{set}, 4 * kLight);
  executor.for_each_index(set.lowers, ZeroMasks{set.lower_masks, kLowerWords}, 4 * kMedium);
  executor.for_each_index(leaves, MarkLeaves<Rule>{rule, set}, kMedium);
  rank_nodes(executor, set);
  return set;
}

/// The masks of sorted keys without repeats, of leaves or (extra = 9) voxels.
template <class Key, Executor E>
LeafSet read_keys(E& executor, const LeafCodec& codec, const Key* keys, Count n, int extra,
                  const Bounds& bounds) {
  using namespace discovery;
  LeafSet set;
  auto* tile_index = scratch<std::int64_t>(executor, n.bound + 1);
  auto* lower_index = scratch<std::int64_t>(executor, n.bound + 1);
  auto* found = scratch<std::int64_t>(executor, 2);
  executor.exclusive_scan(n, Begins<Key>{keys, extra + 27}, tile_index);
  executor.exclusive_scan(n, Begins<Key>{keys, extra + 12}, lower_index);
  executor.for_each_index({1}, CopyLast{n, tile_index, found}, 1);
  executor.for_each_index({1}, CopyLast{n, lower_index, found + 1}, 1);
  set.tiles = {bounds.tiles, found};
  set.lowers = {bounds.lowers, found + 1};
  set.tile = scratch<TileKey>(executor, bounds.tiles);
  allocate_tiles(executor, set, bounds.tiles);
  allocate_lowers(executor, set, bounds.lowers);
  executor.for_each_index(set.tiles, ZeroMasks{set.upper_masks, kUpperWords}, kMedium);
  executor.for_each_index(set.lowers, ZeroMasks{set.lower_masks, kLowerWords}, 4 * kMedium);
  executor.for_each_index(n, ReadKeys<Key>{codec, keys, extra, tile_index, lower_index, set},
                          kLight);
  rank<kUpperWords>(executor, set.tiles, set.upper_masks, set.upper_prefix, set.lower_base);
  rank_nodes(executor, set);
  return set;
}

/// Engine `sort`.
template <class Key, Executor E, class Rule>
LeafSet discover_by_sort(E& executor, const Rule& rule, const Bounds& bounds,
                         const LeafCodec& codec) {
  using namespace discovery;
  const Count leaves{source_leaves(rule)};
  auto* first = scratch<std::int64_t>(executor, leaves.bound + 1);
  auto* found = scratch<std::int64_t>(executor, 1);
  auto* keys = scratch<Key>(executor, bounds.leaf_keys);
  auto* counts = scratch<std::int64_t>(executor, leaves.bound);
  executor.for_each_index(leaves, CountLeaves<Rule>{rule, counts}, kMedium);
  executor.exclusive_scan(leaves, ValueAt{counts}, first);
  executor.for_each_index(leaves, ListLeaves<Rule, Key>{rule, codec, first, keys}, kMedium);
  executor.sort_unique(keys, Count{bounds.leaf_keys, first + leaves.bound}, found, codec.bits());
  return read_keys(executor, codec, keys, Count{bounds.leaf_keys, found}, 0, bounds);
}

}  // namespace leafproof::gpu
