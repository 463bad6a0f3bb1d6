// The layout of a batch [G] as plain structs, derived from nothing but the voxel lists: root tiles,
// upper, lower and leaf nodes, offsets, prefix sums, boxes, flags, sizes. Also the form into which
// the oracle reads any NanoVDB buffer, so that two layouts are compared element by element.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/lattice.h"

namespace leafproof::reference {

/// Bytes of each part of a stored ValueOnIndex grid, all multiples of 32 [G-6]. A part's number in
/// the format, not a sizeof here; a test holds them against NanoVDB's own.
inline constexpr std::uint64_t kGridBytes = 672, kTreeBytes = 64, kRootBytes = 96, kTileBytes = 32,
                               kUpperBytes = 270400, kLowerBytes = 33856, kLeafBytes = 96;

/// Inclusive box of voxels [G-5].
struct Box {
  Voxel min, max;
  friend bool operator==(const Box&, const Box&) = default;
};

struct Leaf {
  Voxel origin;                         // its lowest corner, a multiple of 8
  std::array<std::uint64_t, 8> mask{};  // bit n of 512: leaf offset n is on [G-4]
  std::uint64_t offset = 0;             // mOffset: index of its first voxel, 1 for the first leaf
  std::uint64_t prefix_sum = 0;         // mPrefixSum: seven 9-bit inclusive counts
  Box box;                              // of voxels
  std::uint64_t flags = 2;              // HasBBox
};

/// Lower (16^3 leaves) or upper (32^3 lower nodes) node; children are stored in ascending offset.
struct Node {
  Voxel origin;                           // a multiple of 128 or 4096
  std::vector<std::uint64_t> child_mask;  // 64 words (lower) or 512 (upper)
  std::vector<std::uint64_t> children;  // per on-bit: index in the grid's array of the level below
  Box box;                              // of voxels, not of nodes
  std::uint64_t flags = 2;
};

struct RootTile {
  Voxel tile;               // root_tile() of its voxels
  std::uint64_t key = 0;    // as stored: NanoVDB's RootData::CoordToKey, no bias [G-3]
  std::uint64_t child = 0;  // index of its upper node
};

/// One member. Every vector is in stored order, which is the canonical order [G-2].
struct Grid {
  std::string name;
  Map map;
  std::uint32_t index = 0, count = 0;  // mGridIndex, mGridCount
  std::uint32_t flags = 0x20;          // 0x22 with a box, 0x20 when empty [G-6]
  std::uint64_t byte_size = 0;         // mGridSize
  std::uint64_t voxel_count = 0;
  std::optional<Box> box;             // none when empty
  std::array<double, 6> world_box{};  // min xyz, max xyz; +max, -max of double when empty [G-5]
  std::vector<RootTile> tiles;
  std::vector<Node> uppers, lowers;
  std::vector<Leaf> leaves;
};

/// A batch and its metadata [G-8].
struct Layout {
  std::vector<Grid> grids;
  std::vector<std::uint64_t> byte_offsets{0};   // B+1: where each grid begins in the buffer
  std::vector<std::uint64_t> voxel_offsets{0};  // B+1, in rows
  std::vector<std::uint64_t> leaf_offsets{0};   // B+1
};

/// The layout of a batch. O(voxels). Errors: ShapeMismatch unless there are B maps and B names;
/// InvalidArgument for a member out of canonical order, an illegal map or name; CapacityExceeded
/// where the format's 32-bit counts cannot hold a count [L-6].
Layout layout_of(const Batch& batch);

/// The stored key of a root tile, from the coordinates of a voxel in it [G-3].
std::uint64_t tile_key(Voxel v);

/// The 9-bit packed inclusive counts of words 0 ... 6 [G-4].
std::uint64_t packed_prefix_sum(const std::array<std::uint64_t, 8>& mask);

/// fma(x, s, o) of the index box with max + 1, added in double [G-5], [G-7].
std::array<double, 6> world_box(const std::optional<Box>& box, const Map& map);

}  // namespace leafproof::reference
