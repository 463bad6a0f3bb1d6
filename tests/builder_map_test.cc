// The builder's kernel maps against loops over taps and voxels: every pair once, in order [M-2], in
// both directions, for complete, restricted and submanifold targets, views, and kernels of any
// size.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "gpu/strict_builder.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;
using gpu::ConvGeometry;
using gpu::Direction;
using gpu::KernelMap;
using gpu::Triple;

struct Pair {
  std::int64_t tap, gather, scatter;
  friend bool operator==(const Pair&, const Pair&) = default;
};
void PrintTo(const Pair& p, std::ostream* out) {
  *out << "tap " << p.tap << ": " << p.gather << " -> " << p.scatter;
}

/// Rows of a member's voxels in the batch, canonical order; `first` moves on.
std::map<std::array<std::int64_t, 3>, std::int64_t> rows_of(const std::vector<Voxel>& voxels,
                                                            std::int64_t& first) {
  std::map<std::array<std::int64_t, 3>, std::int64_t> rows;
  for (const Voxel& v : voxels) rows[{v.x, v.y, v.z}] = first++;
  return rows;
}

/// The forward map of [M-2] by its definition [K-1].
std::vector<Pair> expected_pairs(const Members& fine, const Members& coarse,
                                 const ConvGeometry& g) {
  std::vector<Pair> pairs;
  const auto phase = [&](std::size_t a) { return g.dilation[a] * (g.kernel[a] - 1) / 2; };
  std::int64_t fine_rows = 0;
  std::vector<std::map<std::array<std::int64_t, 3>, std::int64_t>> rows;
  for (const auto& member : fine) rows.push_back(rows_of(member, fine_rows));
  std::int64_t tap = 0;
  for (std::int64_t x = 0; x < g.kernel[0]; ++x) {
    for (std::int64_t y = 0; y < g.kernel[1]; ++y) {
      for (std::int64_t z = 0; z < g.kernel[2]; ++z, ++tap) {
        std::int64_t row = 0;
        for (std::size_t m = 0; m < coarse.size(); ++m) {
          for (const Voxel& c : coarse[m]) {
            const auto found = rows[m].find({g.stride[0] * c.x + g.dilation[0] * x - phase(0),
                                             g.stride[1] * c.y + g.dilation[1] * y - phase(1),
                                             g.stride[2] * c.z + g.dilation[2] * z - phase(2)});
            if (found != rows[m].end()) pairs.push_back({tap, found->second, row});
            ++row;
          }
        }
      }
    }
  }
  return pairs;
}

/// A map in plain memory.
std::vector<Pair> pairs_of(const KernelMap& map) {
  std::vector<Pair> pairs;
  for (std::int64_t tap = 0; tap < map.taps(); ++tap) {
    const auto t = static_cast<std::size_t>(tap);
    for (std::int64_t i = map.offsets()[t]; i < map.offsets()[t + 1]; ++i) {
      pairs.push_back({tap, map.gather()[i], map.scatter()[i]});
    }
  }
  return pairs;
}

/// A cloud, and in each member a voxel far from it, in another lower node and tile.
Members far_cloud(std::mt19937& random, std::int32_t reach, int voxels) {
  Members all = cloud(random, reach, voxels);
  for (std::size_t m = 0; m < all.size(); ++m) {
    if (m == 1) continue;
    all[m].push_back({4095 + static_cast<std::int32_t>(m), -129, 7});
    all[m] = canonical(all[m]);
  }
  return all;
}
TEST(BuilderMap, EqualsLoopsOverTapsAndVoxels) {
  std::mt19937 random(3);
  const auto triple = [&](std::int64_t most) { return random_triple(random, most); };
  for (int round = 0; round < 60; ++round) {
    const ConvGeometry g{triple(5), triple(4), triple(3)};
    BuilderOptions options;
    options.threads = round % 2 == 0 ? gpu::Threads::Serial : gpu::Threads::Own;
    BatchedBuilder builder(options);
    const GridBatch source = build(builder, far_cloud(random, 12, 150));
    const GridBatch complete = builder.conv_grid(source, g);
    const GridBatch restricted = build(builder, far_cloud(random, 9, 150));
    for (const GridBatch* target : {&complete, &restricted, &source}) {
      const KernelMap map = builder.kernel_map(source, *target, g);
      EXPECT_EQ(builder.synchronisations(), 1);
      EXPECT_EQ(map.taps(), g.kernel[0] * g.kernel[1] * g.kernel[2]);
      EXPECT_EQ(map.source_rows(), source.voxel_count());
      EXPECT_EQ(map.target_rows(), target->voxel_count());
      ASSERT_EQ(pairs_of(map), expected_pairs(members(source), members(*target), g)) << round;
      // [M-1] the same pair of batches the other way round is the same map, columns swapped.
      const KernelMap back = builder.kernel_map(*target, source, g, Direction::Transposed);
      ASSERT_EQ(pairs_of(back.transposed()), pairs_of(map)) << round;
      EXPECT_EQ(back.source_rows(), target->voxel_count());
    }
  }
}

TEST(BuilderMap, KernelsOfAnySize) {
  std::mt19937 random(5);
  const ConvGeometry many[] = {
      {{17, 1, 1}, {1, 1, 1}, {1, 1, 1}},  // the last one that a block holds
      {{18, 1, 1}, {1, 1, 1}, {1, 1, 1}},  // and the first that it does not
      {{7, 7, 6}, {2, 2, 2}, {1, 1, 1}},   {{2, 2, 2}, {64, 3, 1}, {16, 5, 1}},
      {{128, 1, 2}, {1, 1, 1}, {1, 1, 1}}, {{3, 3, 3}, {3, 3, 3}, {2, 1, 3}},
  };
  for (const ConvGeometry& g : many) {
    BatchedBuilder builder;
    const Members source = far_cloud(random, 20, 300), target = far_cloud(random, 15, 200);
    const GridBatch from = build(builder, source), to = build(builder, target);
    ASSERT_EQ(pairs_of(builder.kernel_map(from, to, g)), expected_pairs(source, target, g));
  }
}

// The way of a GPU, on the strict device: the same numbers.
TEST(BuilderMap, OnTheStrictDevice) {
  std::mt19937 random(9);
  const ConvGeometry g{{3, 2, 4}, {1, 2, 1}, {1, 1, 2}};
  const Members source = far_cloud(random, 12, 150), target = far_cloud(random, 10, 100);
  for (const auto order : {gpu::LaunchOrder::Shuffled, gpu::LaunchOrder::Threads}) {
    gpu::StrictOptions options;
    options.order = order;
    const auto device = std::make_shared<gpu::StrictDevice>(options);
    BatchedBuilder builder = strict_builder(device, options);
    const KernelMap map = builder.kernel_map(build(builder, source), build(builder, target), g);
    const gpu::DenseMap dense = builder.dense_map(map);
    std::vector<std::byte> copy(map.bytes());
    std::vector<std::int32_t> index(static_cast<std::size_t>(dense.taps * dense.rows));
    device->enqueue([&] {
      std::memcpy(copy.data(), map.memory().get(), copy.size());
      std::memcpy(index.data(), dense.index(), index.size() * 4);
    });
    device->synchronise();
    const auto expected = expected_pairs(source, target, g);
    const auto* rows = reinterpret_cast<const std::int32_t*>(
        copy.data() + map.offsets().size() * sizeof(std::int64_t));
    ASSERT_EQ(map.pairs(), static_cast<std::int64_t>(expected.size()));
    std::vector<std::int32_t> wanted(index.size(), -1);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(rows[i], expected[i].gather);
      EXPECT_EQ(rows[expected.size() + i], expected[i].scatter);
      wanted[static_cast<std::size_t>(expected[i].tap * dense.rows + expected[i].scatter)] =
          static_cast<std::int32_t>(expected[i].gather);
    }
    EXPECT_EQ(index, wanted);
  }
}

// [M-5] symmetric: tap t from a to b if and only if tap K-1-t from b to a. [M-4] dense.
TEST(BuilderMap, SubmanifoldIsSymmetric) {
  std::mt19937 random(6);
  BatchedBuilder builder;
  const GridBatch source = build(builder, far_cloud(random, 6, 400));
  const ConvGeometry g{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}};
  const gpu::DenseMap dense = builder.dense_map(builder.kernel_map(source, source, g));
  ASSERT_EQ(dense.taps, 27);
  ASSERT_EQ(dense.rows, source.voxel_count());
  for (std::int64_t tap = 0; tap < 27; ++tap) {
    for (std::int64_t row = 0; row < dense.rows; ++row) {
      const std::int32_t other = dense.index()[tap * dense.rows + row];
      if (tap == 13) {
        EXPECT_EQ(other, row);
      }
      if (other >= 0) {
        ASSERT_EQ(dense.index()[(26 - tap) * dense.rows + other], row);
      }
    }
  }
}

TEST(BuilderMap, ViewsNumberTheirOwnRows) {
  std::mt19937 random(8);
  const Members source = far_cloud(random, 10, 100), target = far_cloud(random, 10, 100);
  BatchedBuilder builder;
  const std::vector<std::int64_t> from{2, 0, 2, 1}, to{0, 3, 2, 2};
  const auto picked = [](const Members& all, const std::vector<std::int64_t>& picks) {
    Members some;
    for (const auto m : picks) some.push_back(all[static_cast<std::size_t>(m)]);
    return some;
  };
  const ConvGeometry g{{3, 3, 3}, {2, 1, 1}, {1, 1, 1}};
  const KernelMap map =
      builder.kernel_map(build(builder, source).view(from), build(builder, target).view(to), g);
  EXPECT_EQ(pairs_of(map), expected_pairs(picked(source, from), picked(target, to), g));
}

// Rows and taps around the sizes of words, warps and blocks: a line of voxels in each direction,
// whose pairs a closed form knows, and in each tap the rows that a line has.
TEST(BuilderMap, RowsAndTapsAtTheBordersOfWords) {
  BatchedBuilder builder;
  for (const std::int32_t rows : {1, 31, 32, 33, 63, 64, 65, 127, 128, 129}) {
    for (const std::int64_t taps : {1, 17, 31, 32, 33, 64, 65, 127, 128}) {
      for (const std::size_t axis : {0, 1, 2}) {
        std::vector<Voxel> line;
        Voxel end{-3, -3, -3};
        (axis == 0 ? end.x : axis == 1 ? end.y : end.z) += rows - 1;
        add_box(line, {-3, -3, -3}, end);
        const GridBatch source = build(builder, {{}, line, {}});
        ConvGeometry g;
        g.kernel[axis] = taps;
        const KernelMap map = builder.kernel_map(source, source, g);
        ASSERT_EQ(map.taps(), taps);
        for (std::int64_t t = 0; t < taps; ++t) {
          const std::int64_t by = t - (taps - 1) / 2;
          const std::int64_t from = map.offsets()[static_cast<std::size_t>(t)];
          const std::int64_t to = map.offsets()[static_cast<std::size_t>(t + 1)];
          ASSERT_EQ(to - from, std::max<std::int64_t>(0, rows - std::abs(by)));
          for (std::int64_t i = from; i < to; ++i) {
            const std::int64_t row = map.scatter()[i] + by;
            if (from < i) {
              ASSERT_LT(map.scatter()[i - 1], map.scatter()[i]);
            }
            ASSERT_EQ(map.gather()[i], row) << rows << " rows, tap " << t << " of " << taps;
          }
        }
      }
    }
  }
}

// A target of as many rows, and of as many in each member, is another target.
TEST(BuilderMap, EqualSizesAreNotEqualTargets) {
  BatchedBuilder builder;
  const ConvGeometry g{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}};
  const Members source{{{0, 0, 0}, {0, 0, 1}}, {{5, 5, 5}}};
  const Members target{{{0, 0, 1}, {0, 0, 2}}, {{9, 9, 9}}};
  const GridBatch from = build(builder, source);
  EXPECT_EQ(pairs_of(builder.kernel_map(from, from, g)), expected_pairs(source, source, g));
  const auto onto = pairs_of(builder.kernel_map(from, build(builder, target), g));
  EXPECT_EQ(onto, expected_pairs(source, target, g));
  EXPECT_EQ(onto, (std::vector<Pair>{{12, 0, 0}, {12, 1, 1}, {13, 1, 0}}));
}

TEST(BuilderMap, FixturesAndEdges) {
  BatchedBuilder builder;
  std::vector<Voxel> small, large;
  add_box(small, {0, 0, 0}, {7, 7, 7});
  add_box(large, {0, 0, 0}, {15, 15, 15});
  const GridBatch solid8 = build(builder, {small}), solid = build(builder, {large});
  const struct {
    std::int64_t k, s, of_8, of_16;
  } counted[] = {{4, 4, 512, 4096},
                 {3, 1, 13824, 110592},
                 {2, 2, 512, 4096},
                 {3, 2, 1728, 13824},
                 {4, 2, 4096, 32768}};
  for (const auto& c : counted) {
    const ConvGeometry g{{c.k, c.k, c.k}, {c.s, c.s, c.s}, {1, 1, 1}};
    const auto pairs = [&](const GridBatch& cube) {
      return builder.kernel_map(cube, builder.conv_grid(cube, g), g).pairs();
    };
    EXPECT_EQ(pairs(solid8), c.of_8) << "K " << c.k << ", S " << c.s;
    EXPECT_EQ(pairs(solid), c.of_16) << "K " << c.k << ", S " << c.s;
  }
  const ConvGeometry g{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}};
  const KernelMap none = builder.kernel_map(GridBatch(), GridBatch(), g);
  EXPECT_EQ(none.taps(), 27);
  EXPECT_EQ(none.pairs(), 0);
  // The ends of the lattice: a partner outside is simply not there [K-6].
  const GridBatch ends =
      build(builder, {{{INT32_MAX, INT32_MAX, INT32_MAX}, {INT32_MIN, INT32_MIN, INT32_MIN}}});
  EXPECT_EQ(builder.kernel_map(ends, ends, g).pairs(), 2);
  const auto error =
      refusal(gpu::ErrorKind::ShapeMismatch, [&] { builder.kernel_map(solid, GridBatch(), g); });
  EXPECT_EQ(error->argument(), "target");
}

}  // namespace
