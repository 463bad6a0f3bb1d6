// The layout of the reference, said independently of NanoVDB on small cases drawn by hand, and its
// few numbers of the format held against NanoVDB's own.
#include <gtest/gtest.h>
#include <nanovdb/NanoVDB.h>

#include <cmath>
#include <limits>
#include <random>

#include "reference/canonical_order.h"
#include "reference/layout.h"
#include "tests/layouts.h"

namespace leafproof::tests {
namespace {

using namespace reference;
using Voxels = std::vector<Voxel>;

constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();

Grid grid(Voxels voxels, Map map = {}) {
  make_canonical(voxels);
  Batch b = batch({voxels});
  b.maps[0] = map;
  return layout_of(b).grids[0];
}

// A full leaf whose lowest corner is `at`.
Voxels leaf_at(Voxel at) {
  Voxels voxels;
  for (int x = 0; x < 8; ++x)
    for (int y = 0; y < 8; ++y)
      for (int z = 0; z < 8; ++z) voxels.push_back({at.x + x, at.y + y, at.z + z});
  return voxels;
}

TEST(Format, SizesAreNanovdbs) {  // [G-6]
  using T = nanovdb::ValueOnIndex;
  EXPECT_EQ(kGridBytes, sizeof(nanovdb::NanoGrid<T>));
  EXPECT_EQ(kGridBytes, sizeof(nanovdb::GridData));
  EXPECT_EQ(kTreeBytes, sizeof(nanovdb::TreeData));
  EXPECT_EQ(kRootBytes, sizeof(nanovdb::NanoRoot<T>));
  EXPECT_EQ(kTileBytes, sizeof(nanovdb::NanoRoot<T>::DataType::Tile));
  EXPECT_EQ(kUpperBytes, sizeof(nanovdb::NanoUpper<T>));
  EXPECT_EQ(kLowerBytes, sizeof(nanovdb::NanoLower<T>));
  EXPECT_EQ(kLeafBytes, sizeof(nanovdb::NanoLeaf<T>));
  for (const std::uint64_t bytes :
       {kGridBytes, kTreeBytes, kRootBytes, kTileBytes, kUpperBytes, kLowerBytes, kLeafBytes})
    EXPECT_EQ(bytes % NANOVDB_DATA_ALIGNMENT, 0u);
}

TEST(Format, TileKeysAreNanovdbs) {  // [G-3], tile-key-biased
  const std::uint32_t seed = 2;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<std::int32_t> numbers{0, 1, 4095, 4096, -1, -4096, -4097, kMin, kMax};
  for (int i = 0; i < 8; ++i) numbers.push_back(static_cast<std::int32_t>(random()));
  for (const auto x : numbers)
    for (const auto y : numbers)
      for (const auto z : numbers)
        ASSERT_EQ(tile_key({x, y, z}),
                  nanovdb::NanoRoot<nanovdb::ValueOnIndex>::DataType::CoordToKey(
                      nanovdb::Coord(x, y, z)));
  EXPECT_EQ(tile_key({-1, 4096, -4097}), 0x3ffffc00002ffffeu);
}

TEST(Layout, OneVoxel) {  // mask-bit-order, bbox-of-nodes
  const Grid g = grid({{1, 2, 3}}, {{0.5, 1, 2}, {10, 20, 30}});
  ASSERT_EQ(g.tiles.size(), 1u);
  ASSERT_EQ(g.uppers.size(), 1u);
  ASSERT_EQ(g.lowers.size(), 1u);
  ASSERT_EQ(g.leaves.size(), 1u);
  const Leaf& leaf = g.leaves[0];
  EXPECT_EQ(leaf.origin, (Voxel{0, 0, 0}));
  // Leaf offset 1*64 + 2*8 + 3 = 83: bit 19 of word 1.
  EXPECT_EQ(leaf.mask, (std::array<std::uint64_t, 8>{0, 1u << 19, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(leaf.offset, 1u);
  // Words 1 to 6 count one: bits 9, 18, ... 54.
  EXPECT_EQ(leaf.prefix_sum, 0x40201008040200u);
  for (const Box& box : {leaf.box, g.lowers[0].box, g.uppers[0].box, *g.box})
    EXPECT_EQ(box, (Box{{1, 2, 3}, {1, 2, 3}}));
  for (const std::uint64_t flags : {leaf.flags, g.lowers[0].flags, g.uppers[0].flags})
    EXPECT_EQ(flags, 2u);
  EXPECT_EQ(g.flags, 0x22u);
  EXPECT_EQ(g.voxel_count, 1u);
  EXPECT_EQ(g.byte_size, 672u + 64 + 96 + 32 + 270400 + 33856 + 96);
  EXPECT_EQ(g.world_box, (std::array<double, 6>{10.5, 22, 36, 11, 23, 38}));
}

TEST(Layout, EmptyMember) {  // [G-5], [G-6], bbox-of-empty
  const Grid g = grid({});
  const double most = std::numeric_limits<double>::max();
  EXPECT_FALSE(g.box);
  EXPECT_EQ(g.flags, 0x20u);
  EXPECT_EQ(g.world_box, (std::array<double, 6>{most, most, most, -most, -most, -most}));
  EXPECT_EQ(g.byte_size, 832u);
  EXPECT_EQ(g.voxel_count, 0u);
  EXPECT_TRUE(g.tiles.empty() && g.uppers.empty() && g.lowers.empty() && g.leaves.empty());
}

TEST(Layout, NoMembers) {
  const Layout layout = layout_of({});
  EXPECT_TRUE(layout.grids.empty());
  EXPECT_EQ(layout.byte_offsets, (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(layout.voxel_offsets, (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(layout.leaf_offsets, (std::vector<std::uint64_t>{0}));
}

TEST(Layout, PrefixSums) {  // [G-4], prefix-sum
  const Grid full = grid(leaf_at({0, 0, 0}));
  std::uint64_t expected = 0;
  for (std::uint64_t word = 0; word < 7; ++word) expected |= (64 * (word + 1)) << (9 * word);
  EXPECT_EQ(full.leaves[0].prefix_sum, expected);
  EXPECT_EQ(full.leaves[0].prefix_sum >> 54, 448u);
  for (const std::uint64_t word : full.leaves[0].mask) EXPECT_EQ(word, ~std::uint64_t{0});

  EXPECT_EQ(grid({{7, 0, 0}, {7, 7, 7}}).leaves[0].prefix_sum, 0u);  // word 7 only
  EXPECT_EQ(grid({{0, 0, 0}, {0, 7, 7}}).leaves[0].prefix_sum,       // word 0 only: 2 in each field
            0x80402010080402u);
}

TEST(Layout, OffsetsRunThroughAMemberAndStartAgain) {  // offset-base, node-base, base-of-neighbour
  Voxels two_leaves = leaf_at({0, 0, 0});
  two_leaves.push_back({0, 0, 8});
  two_leaves.push_back({0, 0, 9});
  two_leaves.push_back({0, 0, 16});
  const Layout layout =
      layout_of(batch({{{5, 5, 5}}, {}, two_leaves, {{-1, -1, -1}, {0, 0, 0}}, {}}));
  const auto& leaves = layout.grids[2].leaves;
  ASSERT_EQ(leaves.size(), 3u);
  EXPECT_EQ(leaves[0].offset, 1u);
  EXPECT_EQ(leaves[1].offset, 513u);
  EXPECT_EQ(leaves[2].offset, 515u);
  EXPECT_EQ(layout.grids[0].leaves[0].offset, 1u);
  EXPECT_EQ(layout.grids[3].leaves[0].offset, 1u);
  EXPECT_EQ(layout.grids[3].leaves[1].offset, 2u);
  EXPECT_EQ(layout.voxel_offsets, (std::vector<std::uint64_t>{0, 1, 1, 516, 518, 518}));
  EXPECT_EQ(layout.leaf_offsets, (std::vector<std::uint64_t>{0, 1, 1, 4, 6, 6}));
  const std::uint64_t one = 305216, three = one + 2 * 96, two_tiles = 2 * one - 832;
  EXPECT_EQ(layout.grids[0].byte_size, one + 0u);
  EXPECT_EQ(layout.byte_offsets, (std::vector<std::uint64_t>{0, one, one + 832, one + 832 + three,
                                                             one + 832 + three + two_tiles,
                                                             one + 832 + three + two_tiles + 832}));
  for (const std::uint64_t offset : layout.byte_offsets) EXPECT_EQ(offset % 32, 0u);
}

TEST(Layout, TilesInSignedOrderWithTheirChildren) {  // [G-2], tiles-unsigned
  for (auto axis : {&Voxel::x, &Voxel::y, &Voxel::z}) {
    Voxel below{0, 0, 0}, above{0, 0, 0};
    below.*axis = -1;
    const Grid g = grid({above, below});
    ASSERT_EQ(g.tiles.size(), 2u);
    EXPECT_EQ(g.tiles[0].tile, below);  // -1 / 4096 is tile -1
    EXPECT_EQ(g.tiles[1].tile, above);
    EXPECT_GT(g.tiles[0].key, g.tiles[1].key);  // stored without bias [G-3]
    EXPECT_EQ(g.tiles[0].child, 0u);
    EXPECT_EQ(g.tiles[1].child, 1u);
    Voxel origin{0, 0, 0};
    origin.*axis = -4096;
    EXPECT_EQ(g.uppers[0].origin, origin);
    origin.*axis = -128;
    EXPECT_EQ(g.lowers[0].origin, origin);
    origin.*axis = -8;
    EXPECT_EQ(g.leaves[0].origin, origin);
  }
}

// The offsets of a node's children, from its mask.
std::vector<int> on_bits(const std::vector<std::uint64_t>& mask) {
  std::vector<int> bits;
  for (std::size_t n = 0; n < mask.size() * 64; ++n)
    if (mask[n / 64] >> (n % 64) & 1) bits.push_back(static_cast<int>(n));
  return bits;
}

TEST(Layout, ChildMasksAndChildren) {  // [G-1], node-base
  // One tile: lower nodes 0 and (1,2,3); in the second, leaves (0,0,0) and (15,0,1).
  const Grid g = grid({{0, 0, 0},
                       {128, 256, 384},
                       {128 + 120, 256, 384 + 8},
                       {-1, -1, -1}});  // a tile before: bases shift by one
  ASSERT_EQ(g.uppers.size(), 2u);
  EXPECT_EQ(g.uppers[1].child_mask.size(), 512u);
  EXPECT_EQ(g.lowers[0].child_mask.size(), 64u);
  EXPECT_EQ(on_bits(g.uppers[0].child_mask), (std::vector<int>{32767}));
  EXPECT_EQ(on_bits(g.uppers[1].child_mask), (std::vector<int>{0, 1 << 10 | 2 << 5 | 3}));
  EXPECT_EQ(g.uppers[1].children, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(on_bits(g.lowers[0].child_mask), (std::vector<int>{4095}));
  EXPECT_EQ(on_bits(g.lowers[2].child_mask), (std::vector<int>{0, 15 << 8 | 1}));
  EXPECT_EQ(g.lowers[0].children, (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(g.lowers[1].children, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(g.lowers[2].children, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(g.lowers[2].origin, (Voxel{128, 256, 384}));
  EXPECT_EQ(g.leaves[3].origin, (Voxel{248, 256, 392}));
}

TEST(Layout, InteriorCubeHasOneNodeALevel) {  // phantom-node
  Voxels cube;
  for (int i = 0; i < 27; ++i) cube.push_back({67 + i / 9, 67 + i / 3 % 3, 67 + i % 3});
  const Grid g = grid(cube);
  EXPECT_EQ(g.leaves.size(), 1u);
  EXPECT_EQ(g.lowers.size(), 1u);
  EXPECT_EQ(g.uppers.size(), 1u);
}

TEST(Layout, BoxesAreOfVoxels) {  // [G-5], bbox-of-nodes
  const Grid g = grid({{-5, -6, -7}, {-3, -9, -7}, {-200, -6, -2}});
  EXPECT_EQ(*g.box, (Box{{-200, -9, -7}, {-3, -6, -2}}));
  EXPECT_EQ(g.uppers[0].box, *g.box);
  ASSERT_EQ(g.lowers.size(), 2u);
  EXPECT_EQ(g.lowers[0].box, (Box{{-200, -6, -2}, {-200, -6, -2}}));
  EXPECT_EQ(g.lowers[1].box, (Box{{-5, -9, -7}, {-3, -6, -7}}));
}

TEST(Layout, EndsOfTheRange) {  // [L-1]
  const Grid g = grid({{kMin, kMin, kMin}, {kMax, kMax, kMax}});
  EXPECT_EQ(g.tiles[0].tile, (Voxel{-524288, -524288, -524288}));
  EXPECT_EQ(g.tiles[1].tile, (Voxel{524287, 524287, 524287}));
  EXPECT_EQ(g.leaves[0].origin, (Voxel{kMin, kMin, kMin}));
  EXPECT_EQ(g.leaves[1].origin, (Voxel{kMax - 7, kMax - 7, kMax - 7}));
  EXPECT_EQ(g.leaves[1].mask[7], std::uint64_t{1} << 63);
  // max + 1 is taken in double: no overflow.
  EXPECT_EQ(g.world_box, (std::array<double, 6>{-2147483648.0, -2147483648.0, -2147483648.0,
                                                2147483648.0, 2147483648.0, 2147483648.0}));
}

TEST(Layout, WorldBoxIsOneFusedOperation) {  // [G-7]
  const Map map{{0.1, 0.1, 0.1}, {-0.3, 1000.1, 0}};
  const Grid g = grid({{3, 3, 3}}, map);
  EXPECT_EQ(g.world_box[0], std::fma(3.0, 0.1, -0.3));
  EXPECT_NE(g.world_box[0], 3 * 0.1 - 0.3);  // two roundings differ here
  EXPECT_EQ(g.world_box[4], std::fma(4.0, 0.1, 1000.1));
}

TEST(Layout, HeadersOfEachMember) {  // header-of-first
  Batch b = batch({{{0, 0, 0}}, {}, {{1, 1, 1}, {2, 2, 2}}});
  b.names = {"first", "", "third"};
  b.maps = {{{1, 2, 3}, {0, 0, 0}}, {{4, 5, 6}, {1, 1, 1}}, {{7, 8, 9}, {2, 2, 2}}};
  const Layout layout = layout_of(b);
  for (std::uint32_t m = 0; m < 3; ++m) {
    EXPECT_EQ(layout.grids[m].name, b.names[m]);
    EXPECT_EQ(layout.grids[m].map, b.maps[m]);
    EXPECT_EQ(layout.grids[m].index, m);
    EXPECT_EQ(layout.grids[m].count, 3u);
    // [L-3]: alone, all is the same but index and count.
    Batch alone;
    alone.members = {b.members[m]};
    alone.maps = {b.maps[m]};
    alone.names = {b.names[m]};
    Layout same;
    same.grids = {layout_of(alone).grids[0]};
    Layout here;
    here.grids = {layout.grids[m]};
    here.grids[0].index = 0;
    here.grids[0].count = 1;
    EXPECT_TRUE(LayoutComparison::equal(here, same));
  }
}

TEST(Layout, RefusesWhatIsNoBatch) {
  EXPECT_EQ(
      refusal(ErrorKind::InvalidArgument, [] { layout_of(batch({{{1, 0, 0}, {0, 0, 0}}})); }).row,
      1);
  Batch b = batch({{{0, 0, 0}}});
  b.names.clear();
  refusal(ErrorKind::ShapeMismatch, [&] { layout_of(b); });
}

}  // namespace
}  // namespace leafproof::tests
