// Every pass of the batched builder on small cases drawn by hand, read from the buffer through
// NanoVDB's own structures: lattice, keys, tree and batches, one test per kind of fault.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;
using gpu::ErrorKind;
using gpu::Triple;

constexpr std::int32_t kLeast = INT32_MIN, kMost = INT32_MAX;

/// The voxels c + d, lo <= d <= hi, as [T-4] has it.
std::vector<Voxel> dilated(const std::vector<Voxel>& source, Triple lo, Triple hi) {
  std::vector<Voxel> result;
  for (const Voxel& v : source) {
    for (std::int64_t x = lo[0]; x <= hi[0]; ++x) {
      for (std::int64_t y = lo[1]; y <= hi[1]; ++y) {
        for (std::int64_t z = lo[2]; z <= hi[2]; ++z) {
          result.push_back({static_cast<std::int32_t>(v.x + x), static_cast<std::int32_t>(v.y + y),
                            static_cast<std::int32_t>(v.z + z)});
        }
      }
    }
  }
  return canonical(result);
}

/// How many nodes of 2^log voxels across these voxels lie in.
std::int64_t nodes_of(const std::vector<Voxel>& voxels, int log) {
  std::set<std::tuple<int, int, int>> nodes;
  for (const Voxel& v : voxels) nodes.insert({v.x >> log, v.y >> log, v.z >> log});
  return static_cast<std::int64_t>(nodes.size());
}

/// Member i holds exactly these voxels, in canonical order, in exactly the nodes that they need,
/// with a right index for each voxel [G-4].
void expect_member(const GridBatch& batch, std::int64_t i, std::vector<Voxel> expected) {
  expected = canonical(std::move(expected));
  ASSERT_EQ(voxels(batch, i), expected) << "member " << i;
  const NodeCounts nodes{nodes_of(expected, 3), nodes_of(expected, 7), nodes_of(expected, 12)};
  EXPECT_EQ(node_counts(batch, i), nodes) << "member " << i;
  const gpu::MemberInfo& info = batch.member(i);
  EXPECT_EQ((NodeCounts{info.leaves, info.lowers, info.uppers}), nodes) << "member " << i;
  EXPECT_EQ(info.voxels, static_cast<std::int64_t>(expected.size()));
  const auto accessor = nano(batch, i).getAccessor();
  std::uint64_t index = 0;
  for (const Voxel& v : expected) {
    ASSERT_EQ(accessor.getValue(nanovdb::Coord(v.x, v.y, v.z)), ++index) << "member " << i;
  }
}

void expect_members(const GridBatch& batch, const Members& expected) {
  ASSERT_EQ(batch.size(), static_cast<std::int64_t>(expected.size()));
  for (std::int64_t m = 0; m < batch.size(); ++m) {
    expect_member(batch, m, expected[static_cast<std::size_t>(m)]);
  }
}

// ---- lattice and tree

// neighbour-missing: one voxel at each corner of a leaf, a lower node, an upper node, on both sides
// of the origin; its dilation reaches across face, edge and corner.
TEST(BuilderPasses, DilationReachesAcrossEveryFaceEdgeAndCorner) {
  Members source;
  for (const std::int32_t size : {8, 128, 4096}) {
    for (const std::int32_t base : {0, -size, size, -2 * size}) {
      for (int corner = 0; corner < 8; ++corner) {
        const auto at = [&](int axis) { return base + ((corner >> axis) & 1 ? size - 1 : 0); };
        source.push_back({{at(0), at(1), at(2)}});
      }
    }
  }
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch made = build(builder, source);
    struct {
      Triple lo, hi;
    } const boxes[] = {
        {{-1, -1, -1}, {1, 1, 1}}, {{-1, -1, -1}, {0, 0, 0}}, {{0, 0, 0}, {1, 1, 1}}};
    for (const auto& [lo, hi] : boxes) {
      Members expected;
      for (const auto& member : source) expected.push_back(dilated(member, lo, hi));
      expect_members(builder.dilate_box(made, lo, hi), expected);
    }
  });
}

// last-writer-wins: two source leaves feed one target leaf.
TEST(BuilderPasses, ContributionsOfTwoLeavesAreUnited) {
  // A pair along each axis and across a corner, so that they meet in one word, row and byte.
  const Members source{{{7, 0, 0}, {8, 0, 0}},
                       {{0, 7, 0}, {0, 8, 0}},
                       {{0, 0, 7}, {0, 0, 8}},
                       {{7, 7, 7}, {8, 8, 8}},
                       {{0, 7, 8}, {1, 8, 7}}};
  const Members halved{{{3, 0, 0}, {4, 0, 0}},
                       {{0, 3, 0}, {0, 4, 0}},
                       {{0, 0, 3}, {0, 0, 4}},
                       {{3, 3, 3}, {4, 4, 4}},
                       {{0, 3, 4}, {0, 4, 3}}};
  Members wider;
  for (const auto& pair : source) wider.push_back(dilated(pair, {-1, -1, -1}, {1, 1, 1}));
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch made = build(builder, source);
    expect_members(builder.coarsen(made, {2, 2, 2}), halved);
    expect_members(builder.dilate_box(made, {-1, -1, -1}, {1, 1, 1}), wider);
    // All four quarters of a word at once, by a factor that is not 2 as well.
    std::vector<Voxel> cube, small;
    add_box(cube, {4, 4, 4}, {11, 11, 11});
    add_box(small, {2, 2, 2}, {5, 5, 5});
    expect_members(builder.coarsen(build(builder, {cube}), {2, 2, 2}), {small});
    small.clear();
    add_box(small, {1, 1, 1}, {3, 3, 3});
    expect_members(builder.coarsen(build(builder, {cube}), {3, 3, 3}), {small});
  });
}

// phantom-node: candidates found by boxes alone leave nothing behind.
TEST(BuilderPasses, NoNodeWithoutAVoxel) {
  in_every_mode([&](BatchedBuilder& builder) {
    const std::vector<Voxel> inner{{2100, 2100, 2100}};
    const GridBatch one = builder.dilate_box(build(builder, {inner}), {-1, -1, -1}, {1, 1, 1});
    EXPECT_EQ(node_counts(one, 0), (NodeCounts{1, 1, 1}));

    // Opposite corners of a lower and of an upper node: everything between them is a candidate.
    const Members far{{{1, 1, 1}, {126, 126, 126}}, {{1, 1, 1}, {4094, 4094, 4094}}};
    const GridBatch source = build(builder, far);
    Members fine;
    for (const auto& member : far) {
      fine.emplace_back();
      for (const Voxel& v : member) {
        add_box(fine.back(), {2 * v.x, 2 * v.y, 2 * v.z}, {2 * v.x + 1, 2 * v.y + 1, 2 * v.z + 1});
      }
    }
    const GridBatch refined = builder.refine(source, {2, 2, 2});
    expect_members(refined, fine);
    EXPECT_EQ(node_counts(refined, 0), (NodeCounts{2, 2, 1}));
    EXPECT_EQ(node_counts(refined, 1), (NodeCounts{2, 2, 2}));
    expect_members(builder.coarsen(source, {3, 3, 3}),
                   {{{0, 0, 0}, {42, 42, 42}}, {{0, 0, 0}, {1364, 1364, 1364}}});
    // Masked: the voxel that is dropped takes leaf, lower and upper node with it.
    const std::vector<std::uint8_t> second{0, 1, 0, 1};
    expect_members(builder.refine(source, {2, 2, 2}, {second, source.voxel_offsets()}),
                   {{fine[0].begin() + 8, fine[0].end()}, {fine[1].begin() + 8, fine[1].end()}});
    expect_members(builder.prune(source, {second, source.voxel_offsets()}),
                   {{far[0][1]}, {far[1][1]}});
    expect_members(builder.subtract(source, build(builder, {{far[0][0]}, {far[1][0]}})),
                   {{far[0][1]}, {far[1][1]}});
    expect_members(builder.intersect(source, build(builder, {{far[0][0]}, {far[1][1]}})),
                   {{far[0][0]}, {far[1][1]}});
  });
}

// [T-7] a pass may empty a member: the valid empty grid, whatever stands beside it.
TEST(BuilderPasses, AMemberMayBecomeEmpty) {
  in_every_mode([&](BatchedBuilder& builder) {
    std::vector<Voxel> cube;
    add_box(cube, {6, 6, 6}, {9, 9, 9});
    const GridBatch source = build(builder, {{{5, 5, 5}}, cube, {{4096, 0, 0}, {4097, 0, 0}}});
    std::vector<Voxel> core;
    add_box(core, {7, 7, 7}, {8, 8, 8});
    const GridBatch eroded = builder.erode_box(source, {-1, -1, -1}, {1, 1, 1});
    expect_members(eroded, {{}, core, {}});
    const GridBatch none = builder.subtract(source, source);
    expect_members(none, {{}, {}, {}});
    for (const GridBatch& batch : {eroded, none}) {
      EXPECT_TRUE(nano(batch, 0).isEmpty());
      EXPECT_FALSE(nano(batch, 0).hasBBox());  // [G-5]
      EXPECT_TRUE(nano(batch, 0).indexBBox() == nanovdb::CoordBBox());
      EXPECT_TRUE(nano(batch, 0).worldBBox() == nanovdb::Vec3dBBox());
      EXPECT_FALSE(batch.member(0).box);
    }
    expect_members(builder.dilate_box(none, {-1, -1, -1}, {1, 1, 1}), {{}, {}, {}});
    expect_members(builder.merge(none, source), members(source));
  });
}

// tiles-unsigned, tile-key-biased: tiles -1 and 0 on each axis, in signed order, x first; the
// stored key is NanoVDB's own [G-3].
TEST(BuilderPasses, TilesStandInSignedOrderUnderNanovdbsKeys) {
  std::vector<Voxel> around;
  for (const std::int32_t x : {0, -1}) {
    for (const std::int32_t y : {0, -1}) {
      for (const std::int32_t z : {0, -1}) around.push_back({x, y, z});
    }
  }
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch source =
        build(builder,
              {{{0, 0, 0}, {-1, 0, 0}}, {{0, 0, 0}, {0, -1, 0}}, {{0, 0, 0}, {0, 0, -1}}, around});
    std::vector<GridBatch> batches{source,
                                   builder.rebuild(source.view(std::vector<std::int64_t>{3}))};
    batches.push_back(builder.dilate_box(source, {-1, -1, -1}, {0, 0, 0}));
    batches.push_back(builder.merge(source, source));
    for (const GridBatch& batch : batches) {
      for (std::int64_t m = 0; m < batch.size(); ++m) {
        const auto& root = nano(batch, m).tree().root();
        std::array<std::int64_t, 3> last{INT64_MIN, 0, 0};
        const auto* upper = nano(batch, m).tree().getFirstUpper();
        for (std::uint32_t t = 0; t < root.tileCount(); ++t) {
          const auto& tile = root.data()->tile(t)[0];
          const nanovdb::Coord origin = upper[t].origin();
          EXPECT_EQ(tile.key, nanovdb::NanoRoot<nanovdb::ValueOnIndex>::CoordToKey(origin));
          EXPECT_EQ(root.data()->getChild(&tile), upper + t);
          const std::array<std::int64_t, 3> at{origin[0], origin[1], origin[2]};
          EXPECT_LT(last, at) << "member " << m << " tile " << t;
          last = at;
        }
      }
    }
    EXPECT_EQ(voxels(source, 0), (std::vector<Voxel>{{-1, 0, 0}, {0, 0, 0}}));
    EXPECT_EQ(voxels(source, 1), (std::vector<Voxel>{{0, -1, 0}, {0, 0, 0}}));
    EXPECT_EQ(voxels(source, 2), (std::vector<Voxel>{{0, 0, -1}, {0, 0, 0}}));
    EXPECT_EQ(node_counts(source, 3)[2], 8);
  });
}

/// n voxels in as many tiles, far apart in both directions of every axis.
std::vector<Voxel> far_tiles(int n) {
  std::vector<Voxel> voxels;
  for (int i = 0; i < n; ++i) {
    const auto spread = [i](int step) {
      return static_cast<std::int32_t>((static_cast<std::int64_t>(i) * step % 401 - 200) * 4096 *
                                       3);
    };
    voxels.push_back({spread(1) + i % 2, spread(57) - 1, spread(133) + 4095});
  }
  return canonical(voxels);
}

TEST(BuilderPasses, ManyFarTiles) {
  // Two members, so that equal tiles of two members meet in the keys.
  const Members source{far_tiles(33), far_tiles(32)};
  ASSERT_EQ(nodes_of(source[0], 12), 33);
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch made = build(builder, source);
    expect_members(made, source);
    Members expected;
    for (const auto& member : source) expected.push_back(dilated(member, {-1, 0, 0}, {0, 1, 1}));
    expect_members(builder.dilate_box(made, {-1, 0, 0}, {0, 1, 1}), expected);
    Members coarse;
    for (const auto& member : source) {
      coarse.emplace_back();
      for (const Voxel& v : member) coarse.back().push_back({v.x >> 1, v.y >> 2, v.z >> 3});
    }
    expect_members(builder.coarsen(made, {2, 4, 8}), coarse);
    expect_members(builder.intersect(made, build(builder, {source[1], source[0]})),
                   {source[1], source[1]});
  });
}

TEST(BuilderPasses, AThousandTiles) {
  std::vector<Voxel> grid;
  for (int x = -5; x < 5; ++x) {
    for (int y = -5; y < 5; ++y) {
      for (int z = -5; z < 5; ++z) grid.push_back({x * 4096 + 4095, y * 4096 + 2000, z * 4096});
    }
  }
  grid = canonical(grid);
  for (const Mode& mode : modes({gpu::Threads::Serial})) {
    SCOPED_TRACE(mode.name);
    BatchedBuilder builder(mode.options);
    const GridBatch made = build(builder, {grid});
    expect_members(made, {grid});
    EXPECT_EQ(node_counts(made, 0)[2], 1000);
    expect_members(builder.erode_box(made, {0, 0, 0}, {0, 0, 0}), {grid});
    expect_members(builder.subtract(made, build(builder, {{grid[7], grid[999]}})), {[&] {
                     std::vector<Voxel> left = grid;
                     left.erase(left.begin() + 999);
                     left.erase(left.begin() + 7);
                     return left;
                   }()});
  }
}

// range-wraps [L-5]: the ends of the lattice are legal, one further is refused, and the refusal
// names member, voxel and result.
TEST(BuilderPasses, TheEndsOfTheLattice) {
  const Members ends{{{0, 0, 0}},
                     {{kLeast, kLeast, kLeast}, {kMost, kMost, kMost}, {kLeast, 0, kMost}}};
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch source = build(builder, ends);
    expect_members(source, {ends[0], canonical(ends[1])});
    // Shifts that the voxels survive.
    expect_member(
        builder.dilate_box(build(builder, {{{kLeast, 5, kMost}}}), {1, 0, -2}, {1, 0, -1}), 0,
        {{kLeast + 1, 5, kMost - 2}, {kLeast + 1, 5, kMost - 1}});
    expect_member(builder.dilate_box(build(builder, {{{kLeast, kLeast, kLeast}}}),
                                     {kMost, kMost, kMost}, {kMost, kMost, kMost}),
                  0, {{-1, -1, -1}});
    expect_members(builder.erode_box(source, {0, 0, 0}, {0, 0, 1}), {{}, {}});
    expect_members(builder.coarsen(source, {2, 2, 2}), {ends[0],
                                                        {{kLeast / 2, kLeast / 2, kLeast / 2},
                                                         {kMost / 2, kMost / 2, kMost / 2},
                                                         {kLeast / 2, 0, kMost / 2}}});
    const std::vector<Voxel> signs{{-1, -1, -1}, {0, 0, 0}, {-1, 0, 0}};
    for (const std::int64_t f : {std::int64_t{1} << 31, std::int64_t{1} << 32, INT64_MAX}) {
      expect_members(builder.coarsen(source, {f, f, f}), {ends[0], signs});
    }

    const auto refused = [&](const char* operation, const std::string& voxel,
                             const std::string& result, const auto& call) {
      const auto error = refusal(ErrorKind::OutOfRange, call);
      ASSERT_TRUE(error);
      EXPECT_EQ(error->operation(), operation);
      EXPECT_EQ(error->member(), 1);
      EXPECT_EQ(error->value(), voxel);
      EXPECT_NE(error->reason().find(result), std::string::npos) << error->what();
    };
    // Canonical order: the tile of the least x first, then z before nothing: (least, least, least).
    refused("dual", "(-2147483648, 0, 2147483647)", "2147483648", [&] { builder.dual(source); });
    refused("dilate_box", "(-2147483648, -2147483648, -2147483648)", "-2147483649",
            [&] { builder.dilate_box(source, {0, 0, -1}, {0, 0, 0}); });
    refused("refine", "(-2147483648, -2147483648, -2147483648)", "-4294967296",
            [&] { builder.refine(source, {2, 1, 1}); });
    // A mask that leaves the offenders out makes it legal again.
    const std::vector<std::uint8_t> none{1, 0, 0, 0};
    expect_members(builder.refine(source, {1, 1, 2}, {none, source.voxel_offsets()}),
                   {{{0, 0, 0}, {0, 0, 1}}, {}});
    const std::vector<std::uint8_t> last{1, 0, 0, 1};
    refused("refine", "(2147483647, 2147483647, 2147483647)", "4294967294",
            [&] { builder.refine(source, {1, 1, 2}, {last, source.voxel_offsets()}); });
    // Empty members are never out of range.
    expect_members(
        builder.dilate_box(build(builder, {{}, {}}), {INT64_MAX, 0, 0}, {INT64_MAX, 0, 0}),
        {{}, {}});
  });
}

// floor-as-trunc, factor-pow2 [L-4].
TEST(BuilderPasses, DivisionIsFloorDivision) {
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch source =
        build(builder, {{{-1, -3, -5}, {1, 3, 5}}, {{7, 8, -8}, {4095, 4096, -4096}, {-9, -1, 0}}});
    expect_members(builder.coarsen(source, {2, 2, 2}),
                   {{{-1, -2, -3}, {0, 1, 2}}, {{3, 4, -4}, {2047, 2048, -2048}, {-5, -1, 0}}});
    expect_members(builder.coarsen(source, {3, 5, 6}),
                   {{{-1, -1, -1}, {0, 0, 0}}, {{2, 1, -2}, {1365, 819, -683}, {-3, -1, 0}}});
    expect_members(builder.refine(source, {1, 1, 2}),
                   {{{-1, -3, -10}, {-1, -3, -9}, {1, 3, 10}, {1, 3, 11}},
                    {{7, 8, -16},
                     {7, 8, -15},
                     {4095, 4096, -8192},
                     {4095, 4096, -8191},
                     {-9, -1, 0},
                     {-9, -1, 1}}});
    // stride-one-axis: each axis has its own factor.
    expect_member(builder.refine(build(builder, {{{-1, 2, 3}}}), {3, 1, 1}), 0,
                  {{-3, 2, 3}, {-2, 2, 3}, {-1, 2, 3}});
    expect_member(builder.refine(build(builder, {{{-1, 2, 3}}}), {1, 3, 1}), 0,
                  {{-1, 6, 3}, {-1, 7, 3}, {-1, 8, 3}});
  });
}

// mask-bit-order, prefix-sum [G-4].
TEST(BuilderPasses, MasksOffsetsAndPrefixSums) {
  std::vector<Voxel> full, word7, word0;
  add_box(full, {0, 0, 0}, {7, 7, 7});
  add_box(word7, {7, 0, 0}, {7, 7, 7});
  add_box(word0, {0, 0, 0}, {0, 7, 7});
  std::vector<Voxel> two = full;
  two.push_back({8, 0, 0});
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch batch = build(builder, {{{1, 2, 3}}, full, word7, word0, two});
    const auto leaf = [&](std::int64_t m) { return nano(batch, m).tree().getFirstLeaf(); };
    EXPECT_TRUE(leaf(0)->valueMask().isOn(1 << 6 | 2 << 3 | 3));
    EXPECT_EQ(leaf(0)->data()->mPrefixSum >> 9 & 511, 1u);
    std::uint64_t counts = 0;
    for (std::uint64_t x = 0; x < 7; ++x) counts |= 64 * (x + 1) << (9 * x);
    EXPECT_EQ(leaf(1)->data()->mPrefixSum, counts);
    EXPECT_EQ(leaf(2)->data()->mPrefixSum, 0u);
    counts = 0;
    for (std::uint64_t x = 0; x < 7; ++x) counts |= std::uint64_t{64} << (9 * x);
    EXPECT_EQ(leaf(3)->data()->mPrefixSum, counts);
    // offset-base: 1 for the first leaf of every member, then on from there.
    for (std::int64_t m = 0; m < batch.size(); ++m) EXPECT_EQ(leaf(m)->data()->mOffset, 1u);
    EXPECT_EQ(leaf(4)[1].data()->mOffset, 513u);
  });
}

// bbox-of-nodes [G-5]: boxes of voxels at every level, minima that are not 0.
TEST(BuilderPasses, BoxesAreOfVoxels) {
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch batch = build(builder, {{{-5, -6, -7}},
                                            {{-130, -140, -150}, {-129, -4000, -1}},
                                            {{3, 4, 5}, {6, 4, 2}, {3, 7, 5}}});
    const auto box = [&](std::int64_t m) { return nano(batch, m).indexBBox(); };
    EXPECT_EQ(box(0), nanovdb::CoordBBox({-5, -6, -7}, {-5, -6, -7}));
    EXPECT_EQ(box(1), nanovdb::CoordBBox({-130, -4000, -150}, {-129, -140, -1}));
    EXPECT_EQ(box(2), nanovdb::CoordBBox({3, 4, 2}, {6, 7, 5}));
    const auto& tree = nano(batch, 2).tree();
    EXPECT_EQ(tree.getFirstLeaf()->bbox(), box(2));
    EXPECT_EQ(tree.getFirstLower()->bbox(), box(2));
    EXPECT_EQ(tree.getFirstUpper()->bbox(), box(2));
    EXPECT_EQ(tree.root().bbox(), box(2));
    EXPECT_EQ(*batch.member(2).box, (gpu::VoxelBox{{3, 4, 2}, {6, 7, 5}}));
    const nanovdb::Vec3dBBox world(nanovdb::Vec3d(3, 4, 2), nanovdb::Vec3d(7, 8, 6));
    EXPECT_EQ(nano(batch, 2).worldBBox(), world);
  });
}

// [T-4] boxes compose, [T-4] any signs: a box that does not hold 0, one wider than a leaf, one as
// wide as a lower node.
TEST(BuilderPasses, BoxesOfAnyShape) {
  const std::vector<Voxel> source{{0, 0, 0}, {7, 7, 7}, {127, -1, 4095}, {-4096, -128, -9}};
  struct {
    Triple lo, hi;
  } const boxes[] = {{{5, -9, 2}, {5, -8, 3}},   {{-8, -8, -8}, {-7, -8, -8}},
                     {{8, 8, 8}, {8, 8, 8}},     {{0, -9, 0}, {0, 9, 0}},
                     {{-17, 0, 0}, {17, 0, 1}},  {{0, 0, -130}, {0, 1, 130}},
                     {{-1023, 0, 0}, {0, 0, 0}}, {{4096, -4096, 128}, {4097, -4096, 129}},
                     {{-3, -3, -3}, {3, 3, 3}},  {{1, 1, 1}, {8, 8, 8}}};
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch made = build(builder, {source});
    for (const auto& [lo, hi] : boxes) {
      SCOPED_TRACE(std::to_string(lo[0]) + " " + std::to_string(lo[1]) + " " +
                   std::to_string(lo[2]));
      const auto expected = dilated(source, lo, hi);
      const GridBatch result = builder.dilate_box(made, lo, hi);
      expect_member(result, 0, expected);
      // What was added is what an erosion by the same box takes away from around it, where 0 is in.
      if (lo[0] <= 0 && lo[1] <= 0 && lo[2] <= 0 && hi[0] >= 0 && hi[1] >= 0 && hi[2] >= 0) {
        const auto eroded = voxels(builder.erode_box(result, lo, hi), 0);
        std::vector<Voxel> kept;
        for (const Voxel& v : expected) {
          const auto needs = dilated({v}, lo, hi);
          const auto is_there = [&](const Voxel& n) {
            return std::binary_search(expected.begin(), expected.end(), n,
                                      reference::canonical_less);
          };
          if (std::all_of(needs.begin(), needs.end(), is_there)) kept.push_back(v);
        }
        EXPECT_EQ(eroded, kept);
      }
    }
  });
}

// ---- lists and masks

// duplicates-kept, input-assumed-sorted [T-1].
TEST(BuilderPasses, OrderAndRepeatsOfAListDoNotMatter) {
  Members raw = rich_members();
  std::mt19937_64 rng(5);
  for (auto& list : raw) {
    const std::size_t n = list.size();
    for (std::size_t i = 0; i < n; ++i) list.insert(list.end(), i % 4, list[i]);
    std::shuffle(list.begin(), list.end(), rng);
    if (!list.empty()) list.push_back(list.front()), list.push_back(list.back());
  }
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch sorted = build(builder, rich_members());
    expect_members(sorted, rich_members());
    EXPECT_TRUE(same_bytes(build(builder, raw), sorted));
  });
}

// Thin lists (keys) and dense ones (an array over the box) side by side, and chunk seams: the first
// and last row of a chunk of rows in another member.
TEST(BuilderPasses, ListsOfEverySize) {
  for (const std::size_t n : {1u, 2u, 2047u, 2048u, 2049u, 4096u, 6000u}) {
    Members source(3);
    for (std::size_t i = 0; i < n; ++i) {
      source[0].push_back({static_cast<std::int32_t>(i / 64) - 20,
                           static_cast<std::int32_t>(i % 64), -static_cast<std::int32_t>(i % 3)});
      source[2].push_back(
          {static_cast<std::int32_t>(i) * 131, -static_cast<std::int32_t>(i % 5), 9});
    }
    for (auto& member : source) member = canonical(member);
    in_every_mode([&](BatchedBuilder& builder) {
      const GridBatch made = build(builder, source);
      ASSERT_EQ(members(made), source) << n;
    });
  }
}

// [T-1] halves upward, decided exactly.
TEST(BuilderPasses, PointsGoToTheNearestVoxelHalvesUpward) {
  const double below = std::nextafter(0.5, 0.0);
  const std::vector<double> xyz{
      0.5,           -0.5,         below, -below, 1.5, -1.5, 4503599627370496.5 / 4503599627370496,
      2147483647.25, -2147483648.5};
  const std::vector<std::int64_t> offsets{0, 3};
  const gpu::MemberMap shifted{{0.1, 2.0, 0.5}, {10.0, -3.0, 1.0}};
  in_every_mode([&](BatchedBuilder& builder) {
    expect_member(builder.from_points({xyz, offsets}), 0,
                  {{1, 0, 0}, {0, 2, -1}, {1, kMost, kLeast}});
    const std::vector<double> world{10.05, -2.0, 1.25, 9.95, -4.0, 0.75};
    const std::vector<std::int64_t> two{0, 1, 2};
    const GridBatch made = builder.from_points({world, two}, {std::span(&shifted, 1), {}});
    // (10.05 - 10) / 0.1 is just above a half in double, (9.95 - 10) / 0.1 just below minus a half.
    EXPECT_EQ(voxels(made, 0), (std::vector<Voxel>{{(10.05 - 10.0) / 0.1 >= 0.5 ? 1 : 0, 1, 1}}));
    EXPECT_EQ(voxels(made, 1), (std::vector<Voxel>{{(9.95 - 10.0) / 0.1 >= -0.5 ? 0 : -1, 0, 0}}));
    EXPECT_EQ(made.member(1).map, shifted);
  });
}

// mask-of-wrong-row [T-10]: flags are by canonical row, not by input row.
TEST(BuilderPasses, AMaskIsReadInCanonicalRows) {
  // As listed: last in canonical order first.
  const Members raw{{{9, 0, 0}, {0, 0, 9}, {0, 0, 1}, {-1, 5, 5}}, {}, {{4096, 1, 1}, {1, 1, 1}}};
  const std::vector<std::uint8_t> flags{1, 0, 0, 1, 0, 255};
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch source = build(builder, raw);
    ASSERT_EQ(
        members(source),
        (Members{{{-1, 5, 5}, {0, 0, 1}, {0, 0, 9}, {9, 0, 0}}, {}, {{1, 1, 1}, {4096, 1, 1}}}));
    const gpu::VoxelFlags mask{flags, source.voxel_offsets()};
    expect_members(builder.prune(source, mask), {{{-1, 5, 5}, {9, 0, 0}}, {}, {{4096, 1, 1}}});
    expect_members(
        builder.refine(source, {1, 2, 1}, mask),
        {{{-1, 10, 5}, {-1, 11, 5}, {9, 0, 0}, {9, 1, 0}}, {}, {{4096, 2, 1}, {4096, 3, 1}}});
    // A view has rows of its own [T-9]: member 2 first, then 0, then 0 again with other flags.
    const GridBatch view = source.view(std::vector<std::int64_t>{2, 0, 0});
    const std::vector<std::uint8_t> own{1, 0, 0, 1, 0, 0, 0, 0, 1, 1};
    expect_members(builder.prune(view, {own, view.voxel_offsets()}),
                   {{{1, 1, 1}}, {{0, 0, 1}}, {{0, 0, 9}, {9, 0, 0}}});
  });
}

// ---- batches

// empty-shifts, bbox-of-empty, offset-search, last-empty-lost: every pattern of emptiness, every
// pass; each member is what it is alone [L-3].
TEST(BuilderBatches, EveryPatternOfEmptiness) {
  const Members full = rich_members();
  for (unsigned pattern = 0; pattern < 8; ++pattern) {
    SCOPED_TRACE("pattern " + std::to_string(pattern));
    Members source(3), other(3);
    for (std::size_t m = 0; m < 3; ++m) {
      if ((pattern >> m & 1) == 0) continue;
      source[m] = full[m == 1 ? 3 : m];
      other[m] = rich_others()[m == 1 ? 3 : m];
    }
    in_every_mode([&](BatchedBuilder& builder) {
      const Operands together = operands(builder, source, other);
      std::vector<Operands> alone;
      for (std::size_t m = 0; m < 3; ++m) {
        alone.push_back(operands(builder, {source[m]}, {other[m]}));
        // The same map, name and flags as in the batch.
        alone[m].maps = {together.maps[m]};
        alone[m].names = {together.names[m]};
        alone[m].source = builder.from_ijk(Lists({source[m]}).view(), alone[m].given());
        alone[m].points.assign(together.points.begin() + 3 * together.lists.offsets[m],
                               together.points.begin() + 3 * together.lists.offsets[m + 1]);
        alone[m].lists.offsets = {0, together.lists.offsets[m + 1] - together.lists.offsets[m]};
        alone[m].lists.ijk.assign(together.lists.ijk.begin() + 3 * together.lists.offsets[m],
                                  together.lists.ijk.begin() + 3 * together.lists.offsets[m + 1]);
        const auto rows = together.source.voxel_offsets();
        alone[m].flags.assign(together.flags.begin() + rows[m],
                              together.flags.begin() + rows[m + 1]);
      }
      for (const Pass& pass : passes()) {
        SCOPED_TRACE(pass.name);
        const GridBatch batch = pass.run(builder, together);
        if (batch.size() != 3) continue;  // a view: below
        for (std::int64_t m = 0; m < 3; ++m) {
          const GridBatch one = pass.run(builder, alone[static_cast<std::size_t>(m)]);
          EXPECT_TRUE(same_member(batch, m, one, 0)) << "member " << m;
        }
      }
    });
  }
}

TEST(BuilderBatches, NothingToDo) {
  in_every_mode([&](BatchedBuilder& builder) {
    const Operands none = operands(builder, {}, {});
    const Operands empty = operands(builder, {{}, {}}, {{}, {}});
    for (const Pass& pass : passes()) {
      SCOPED_TRACE(pass.name);
      const GridBatch nothing = pass.run(builder, none);
      EXPECT_EQ(nothing.size(), 0);
      EXPECT_EQ(nothing.bytes().size(), 0u);
      EXPECT_EQ(nothing.byte_offsets(), std::vector<std::uint64_t>{0});
      const GridBatch batch = pass.run(builder, empty);
      ASSERT_GE(batch.size(), 2);
      EXPECT_EQ(batch.voxel_count(), 0);
      for (std::int64_t m = 0; m < batch.size(); ++m) {
        EXPECT_EQ(batch.member(m).bytes, 672 + 64 + 96);
        EXPECT_TRUE(nano(batch, m).isEmpty());
        EXPECT_EQ(nano(batch, m).data()->mGridIndex, static_cast<std::uint32_t>(m));
        EXPECT_EQ(nano(batch, m).data()->mGridCount, static_cast<std::uint32_t>(batch.size()));
      }
    }
  });
}

// header-of-first: index, count, size, map and name are each member's own, after every pass.
TEST(BuilderBatches, HeadersAreEachMembersOwn) {
  in_every_mode([&](BatchedBuilder& builder) {
    const Operands o = operands(builder, rich_members(), rich_others());
    for (const Pass& pass : passes()) {
      SCOPED_TRACE(pass.name);
      const GridBatch batch = pass.run(builder, o);
      const bool view = batch.size() != o.source.size();
      std::int64_t at = 0;
      for (std::int64_t m = 0; m < batch.size(); ++m) {
        const nanovdb::GridData& grid = *nano(batch, m).data();
        const auto from = static_cast<std::size_t>(view ? o.picks[static_cast<std::size_t>(m)] : m);
        EXPECT_EQ(grid.mGridIndex, static_cast<std::uint32_t>(m));
        EXPECT_EQ(grid.mGridCount, static_cast<std::uint32_t>(batch.size()));
        EXPECT_EQ(grid.mGridName, "member " + std::to_string(from));
        EXPECT_EQ(batch.member(m).name, grid.mGridName);
        EXPECT_EQ(batch.member(m).offset, at);
        EXPECT_EQ(static_cast<std::int64_t>(grid.mGridSize), batch.member(m).bytes);
        for (int axis = 0; axis < 3; ++axis) {
          const auto a = static_cast<std::size_t>(axis);
          EXPECT_EQ(grid.mVoxelSize[axis], batch.member(m).map.voxel_size[a]);
          EXPECT_EQ(grid.mMap.mMatD[4 * axis], batch.member(m).map.voxel_size[a]);
          EXPECT_EQ(grid.mMap.mVecD[axis], batch.member(m).map.origin[a]);
        }
        at += batch.member(m).bytes;
      }
      EXPECT_EQ(static_cast<std::int64_t>(batch.bytes().size()), at);
    }
    // [G-7], by hand: refine and coarsen by 2, dual.
    const gpu::MemberMap map = o.maps[1];
    const auto fine = builder.refine(o.source, {2, 2, 2}).member(1).map;
    const auto coarse = builder.coarsen(o.source, {2, 2, 2}).member(1).map;
    const auto dual = builder.dual(o.source).member(1).map;
    for (std::size_t a = 0; a < 3; ++a) {
      const double s = map.voxel_size[a], origin = map.origin[a];
      EXPECT_EQ(fine.voxel_size[a], s / 2);
      EXPECT_EQ(fine.origin[a], origin - s / 2 / 2);
      EXPECT_EQ(coarse.voxel_size[a], s * 2);
      EXPECT_EQ(coarse.origin[a], origin + s / 2);
      EXPECT_EQ(dual.voxel_size[a], s);
      EXPECT_EQ(dual.origin[a], origin - s / 2);
    }
  });
}

// view-physical [T-9]: a pass reads a view as if it had been rebuilt as its own batch.
TEST(BuilderBatches, AViewIsReadAsABatchOfItsOwn) {
  const std::vector<std::vector<std::int64_t>> views{{1, 2, 3},       {0, 2}, {3, 1}, {2},
                                                     {4, 3, 2, 1, 0}, {0, 0}, {},     {1, 1, 4, 1}};
  in_every_mode([&](BatchedBuilder& builder) {
    const Operands o = operands(builder, rich_members(), rich_others());
    for (const auto& picks : views) {
      SCOPED_TRACE(testing::PrintToString(picks));
      const GridBatch view = o.source.view(picks);
      ASSERT_TRUE(view.is_view());
      Members source, other;
      Operands own = o, rebuilt = o;
      own.maps.clear(), own.names.clear(), own.flags.clear();
      for (const std::int64_t m : picks) {
        const auto i = static_cast<std::size_t>(m);
        source.push_back(rich_members()[i]);
        other.push_back(rich_others()[i]);
        own.maps.push_back(o.maps[i]);
        own.names.push_back(o.names[i]);
      }
      own.picks.clear();
      for (std::int64_t m = view.size(); m > 0; --m) own.picks.push_back(m - 1);
      own.source = view;
      own.other = o.other.view(picks);
      own.flags.resize(static_cast<std::size_t>(view.voxel_count()));
      for (std::size_t i = 0; i < own.flags.size(); ++i) own.flags[i] = i % 5 < 2;
      rebuilt = own;
      rebuilt.source = builder.from_ijk(Lists(source).view(), own.given());
      rebuilt.other = build(builder, other);
      ASSERT_EQ(std::vector(view.voxel_offsets().begin(), view.voxel_offsets().end()),
                std::vector(rebuilt.source.voxel_offsets().begin(),
                            rebuilt.source.voxel_offsets().end()));
      EXPECT_TRUE(same_bytes(builder.rebuild(view), rebuilt.source));
      for (const Pass& pass : passes()) {
        if (std::string(pass.name).starts_with("from_")) continue;  // reads lists
        SCOPED_TRACE(pass.name);
        EXPECT_TRUE(same_bytes(pass.run(builder, own), pass.run(builder, rebuilt)));
      }
    }
    // A view of a view counts its own members.
    const GridBatch second =
        o.source.view(std::vector<std::int64_t>{4, 3, 2}).view(std::vector<std::int64_t>{2, 0});
    EXPECT_EQ(second.member(0).name, "member 2");
    EXPECT_EQ(second.member(1).name, "member 4");
    EXPECT_EQ(second.leaf_members().size(), static_cast<std::size_t>(second.leaf_count()));
  });
}

// member-not-in-key: equal coordinates in two members have different neighbours.
TEST(BuilderBatches, MembersDoNotMeet) {
  std::vector<Voxel> cube;
  add_box(cube, {-1, -1, -1}, {1, 1, 1});
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch source = build(builder, {{{0, 0, 0}}, cube, {{0, 0, 0}, {1, 0, 0}}});
    expect_members(builder.erode_box(source, {-1, -1, -1}, {1, 1, 1}), {{}, {{0, 0, 0}}, {}});
    expect_members(builder.erode_box(source, {0, 0, 0}, {1, 0, 0}), {{},
                                                                     [&] {
                                                                       std::vector<Voxel> left;
                                                                       add_box(left, {-1, -1, -1},
                                                                               {0, 1, 1});
                                                                       return left;
                                                                     }(),
                                                                     {{0, 0, 0}}});
    const GridBatch other = build(builder, {cube, {}, {{1, 0, 0}}});
    expect_members(builder.intersect(source, other), {{{0, 0, 0}}, {}, {{1, 0, 0}}});
    expect_members(builder.subtract(source, other), {{}, cube, {{0, 0, 0}}});
    expect_members(builder.merge(source, other), {cube, cube, {{0, 0, 0}, {1, 0, 0}}});
  });
}

// Many members, each of one voxel, in every order of tiles: offsets and ranks per member.
TEST(BuilderBatches, AThousandMembers) {
  Members source;
  for (std::int32_t m = 0; m < 1000; ++m) {
    source.emplace_back();
    if (m % 3 == 1) continue;
    for (std::int32_t i = 0; i <= m % 4; ++i) source.back().push_back({(m - 500) * 9, i * 2, -m});
    source.back() = canonical(source.back());
  }
  Members coarse;
  for (const auto& member : source) {
    coarse.emplace_back();
    for (const Voxel& v : member) coarse.back().push_back({v.x >> 1, v.y >> 1, v.z >> 1});
  }
  for (const Mode& mode : modes({gpu::Threads::Tbb})) {
    SCOPED_TRACE(mode.name);
    BatchedBuilder builder(mode.options);
    const GridBatch made = build(builder, source);
    expect_members(made, source);
    expect_members(builder.coarsen(made, {2, 2, 2}), coarse);
  }
}

}  // namespace
