// The builder's convolution grids against loops over voxels and taps, for kernels, strides and
// dilations mixed per axis; the fixtures that the specification names; and the refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "gpu/strict_builder.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;
using gpu::ConvGeometry;
using gpu::Triple;

std::int64_t phase(const ConvGeometry& g, std::size_t axis) {  // [K-1]
  return (g.dilation[axis] * (g.kernel[axis] - 1)) / 2;
}

/// Per axis, the coordinates joined to `at`.
std::vector<std::int64_t> joined(const ConvGeometry& g, std::size_t axis, std::int64_t at,
                                 bool transposed) {
  std::set<std::int64_t> found;
  for (std::int64_t t = 0; t < g.kernel[axis]; ++t) {
    const std::int64_t d = g.dilation[axis] * t - phase(g, axis);
    if (transposed) {
      found.insert(g.stride[axis] * at + d);
    } else if ((at - d) % g.stride[axis] == 0) {
      found.insert((at - d) / g.stride[axis]);
    }
  }
  return {found.begin(), found.end()};
}

std::vector<Voxel> support(const std::vector<Voxel>& voxels, const ConvGeometry& g,
                           bool transposed) {
  std::vector<Voxel> all;
  for (const Voxel& v : voxels) {
    for (const auto x : joined(g, 0, v.x, transposed)) {
      for (const auto y : joined(g, 1, v.y, transposed)) {
        for (const auto z : joined(g, 2, v.z, transposed)) {
          all.push_back({static_cast<std::int32_t>(x), static_cast<std::int32_t>(y),
                         static_cast<std::int32_t>(z)});
        }
      }
    }
  }
  return canonical(std::move(all));
}

Members supports(const Members& members, const ConvGeometry& g, bool transposed) {
  Members all;
  for (const auto& member : members) all.push_back(support(member, g, transposed));
  return all;
}

std::string text(const ConvGeometry& g) {
  const auto of = [](const Triple& t) {
    return "(" + std::to_string(t[0]) + "," + std::to_string(t[1]) + "," + std::to_string(t[2]) +
           ")";
  };
  return "K " + of(g.kernel) + " S " + of(g.stride) + " D " + of(g.dilation);
}

/// Few voxels, at the borders of leaves, lower nodes and tiles, on both sides of zero.
Members scattered(std::mt19937& random) {
  const std::int32_t places[] = {-4097, -4096, -129, -128, -9,  -8,   -1,  0,
                                 1,     7,     8,    127,  128, 4095, 4096};
  Members all(3);
  for (std::size_t m = 0; m < all.size(); m += 2) {
    for (int i = 0; i < 12; ++i) {
      const auto pick = [&] {
        return places[random() % std::size(places)] + int(random() % 3) - 1;
      };
      all[m].push_back({pick(), pick(), pick()});
    }
    all[m] = canonical(all[m]);
  }
  return all;
}

TEST(BuilderConv, EqualsLoopsOverTaps) {
  std::mt19937 random(7);
  const auto triple = [&](std::int64_t most) { return random_triple(random, most); };
  for (int round = 0; round < 150; ++round) {
    const ConvGeometry g{triple(6), triple(5), triple(3)};
    SCOPED_TRACE(text(g));
    const Members source = scattered(random);
    const Members coarse = supports(source, g, false), fine = supports(source, g, true);
    BuilderOptions options;
    options.threads = gpu::Threads::Serial;
    options.engine = round % 2 == 0 ? gpu::Engine::Mask : gpu::Engine::Sort;
    if (round % 3 == 0) options.scratch_budget = 0;
    BatchedBuilder builder(options);
    const GridBatch batch = build(builder, source);
    ASSERT_EQ(members(builder.conv_grid(batch, g)), coarse);
    EXPECT_LE(builder.synchronisations(), 2);
    ASSERT_EQ(members(builder.conv_transpose_grid(batch, g)), fine);
    EXPECT_LE(builder.synchronisations(), 2);
  }
}

// [K-5] the cheaper rules, where they hold, and the same geometries where they do not (D = 2).
TEST(BuilderConv, SpecialCasesEqualTheGeneralOne) {
  std::mt19937 random(11);
  for (const std::int64_t k : {1, 2, 3, 4, 5, 9, 15}) {
    for (const std::int64_t s : {1, 2}) {
      for (const std::int64_t d : {1, 2}) {
        const ConvGeometry g{{k, k, k}, {s, s, s}, {d, d, d}};
        if (k > 5 && d > 1) continue;
        SCOPED_TRACE(text(g));
        const Members source = scattered(random);
        in_every_mode([&](BatchedBuilder& builder) {
          const GridBatch batch = build(builder, source);
          EXPECT_EQ(members(builder.conv_grid(batch, g)), supports(source, g, false));
          EXPECT_EQ(members(builder.conv_transpose_grid(batch, g)), supports(source, g, true));
        });
      }
    }
  }
}

// Strides and factors of at most 2 and kernels that fit have a rule of their own on a CPU.
TEST(BuilderConv, WindowsEqualLoopsOverTaps) {
  std::mt19937 random(13);
  const auto triple = [&](std::int64_t most) { return random_triple(random, most); };
  for (int round = 0; round < 60; ++round) {
    const ConvGeometry g{triple(9), triple(2), triple(3)};
    SCOPED_TRACE(text(g));
    const Members source = round % 2 == 0 ? scattered(random) : cloud(random, 14, 400);
    BuilderOptions options;
    options.threads = gpu::Threads::Own;
    BatchedBuilder builder(options);
    const GridBatch batch = build(builder, source);
    ASSERT_EQ(members(builder.conv_grid(batch, g)), supports(source, g, false));
    ASSERT_EQ(members(builder.conv_transpose_grid(batch, g)), supports(source, g, true));
  }
}

TEST(BuilderConv, Fixtures) {
  BatchedBuilder builder;
  const auto cube = [&](std::int32_t n) {
    std::vector<Voxel> voxels;
    add_box(voxels, {0, 0, 0}, {n - 1, n - 1, n - 1});
    return build(builder, {voxels});
  };
  const auto cubic = [](std::int64_t k, std::int64_t s, std::int64_t d = 1) {
    return ConvGeometry{{k, k, k}, {s, s, s}, {d, d, d}};
  };
  EXPECT_EQ(builder.conv_grid(cube(16), cubic(4, 4)).voxel_count(), 125);
  const struct {
    std::int64_t k, s, of_8, of_16;
  } counted[] = {{3, 1, 1000, 5832}, {2, 2, 64, 512}, {3, 2, 125, 729}, {4, 2, 216, 1000}};
  for (const auto& c : counted) {
    EXPECT_EQ(builder.conv_grid(cube(8), cubic(c.k, c.s)).voxel_count(), c.of_8) << c.k << c.s;
    EXPECT_EQ(builder.conv_grid(cube(16), cubic(c.k, c.s)).voxel_count(), c.of_16) << c.k << c.s;
  }
  const GridBatch one = build(builder, {{{1, 1, 1}}});
  EXPECT_EQ(builder.conv_grid(one, cubic(1, 2)).voxel_count(), 0);
  const GridBatch origin = build(builder, {{{0, 0, 0}}});
  EXPECT_EQ(builder.conv_grid(origin, cubic(2, 2, 2)).voxel_count(), 0);
  const auto corners = [](std::int32_t low, std::int32_t high) {
    std::vector<Voxel> all;
    for (const auto x : {low, high}) {
      for (const auto y : {low, high}) {
        for (const auto z : {low, high}) all.push_back({x, y, z});
      }
    }
    return Members{canonical(all)};
  };
  EXPECT_EQ(members(builder.conv_grid(origin, cubic(2, 1, 3))), corners(-2, 1));
  EXPECT_EQ(members(builder.conv_transpose_grid(origin, cubic(2, 1, 3))), corners(-1, 2));
}

// [L-5] a stride on one axis takes the voxel away, so what another axis would do is not refused.
TEST(BuilderConv, RefusesOnlyWhatHasAResultOutside) {
  constexpr std::int32_t kMax = INT32_MAX;
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch batch = build(builder, {{{0, 0, 0}}, {{0, 3, 5}, {kMax, 1, 0}}});
    const ConvGeometry forward{{3, 1, 1}, {1, 2, 1}, {1, 1, 1}};
    EXPECT_EQ(builder.conv_grid(batch, forward).voxel_count(), 3) << "(max, 1, 0) has no result";
    const GridBatch even = build(builder, {{{0, 0, 0}}, {{0, 3, 5}, {kMax, 2, 0}}});
    auto error = refusal(gpu::ErrorKind::OutOfRange, [&] { builder.conv_grid(even, forward); });
    EXPECT_EQ(error->member(), 1);
    EXPECT_EQ(error->row(), 2);  // of the batch [T-10]
    EXPECT_EQ(error->operation(), "conv_grid");
    const ConvGeometry transposed{{1, 1, 1}, {2, 1, 1}, {1, 1, 1}};
    error = refusal(gpu::ErrorKind::OutOfRange,
                    [&] { builder.conv_transpose_grid(batch, transposed); });
    EXPECT_EQ(error->member(), 1);
  });
}

// device-dereference: which voxel it is, is found where the relation's tables are: with a stride
// the host cannot tell without them.
TEST(BuilderConv, RefusesOnADeviceToo) {
  const Members source{{{0, 0, 0}}, {{4, 4, 4}, {INT32_MAX, 2, 0}}};
  const ConvGeometry g{{2, 3, 1}, {1, 2, 1}, {3, 1, 1}};
  const auto refused = [&](BatchedBuilder builder) {
    const GridBatch batch = build(builder, source);
    return refusal(gpu::ErrorKind::OutOfRange, [&] { builder.conv_grid(batch, g); });
  };
  const auto host = refused(BatchedBuilder()), strict = refused(gpu::strict_builder());
  ASSERT_TRUE(host && strict);
  EXPECT_EQ(host->member(), 1);
  EXPECT_EQ(host->row(), 2);
  EXPECT_EQ(std::string(strict->what()), host->what());
}

// [L-5] The result that is named is one that the voxel has: with S = 2 and D = 3 not every number
// between two results is one. Of y = 3 they are (7 - 3t) / 2 where that is whole: 2 and -1.
TEST(BuilderConv, NamesAResultThatTheVoxelHas) {
  BatchedBuilder builder;
  const GridBatch batch = build(builder, {{{INT32_MAX, 3, 0}}});
  const ConvGeometry g{{3, 4, 1}, {1, 2, 1}, {1, 3, 1}};
  const auto error = refusal(gpu::ErrorKind::OutOfRange, [&] { builder.conv_grid(batch, g); });
  EXPECT_EQ(error->reason(), "its result (2147483648, 2, 0) is outside the 32-bit lattice");
}

TEST(BuilderConv, RefusesGeometriesBeyondTheLimits) {
  BatchedBuilder builder;
  const GridBatch batch = build(builder, {{{0, 0, 0}}});
  using gpu::ErrorKind;
  const struct {
    ConvGeometry g;
    ErrorKind kind;
    const char* argument;
  } refused[] = {
      {{{0, 1, 1}, {1, 1, 1}, {1, 1, 1}}, ErrorKind::InvalidArgument, "kernel"},
      {{{1, 1, 1}, {1, -1, 1}, {1, 1, 1}}, ErrorKind::InvalidArgument, "stride"},
      {{{1, 1, 1}, {1, 1, 1}, {1, 1, INT64_MIN}}, ErrorKind::InvalidArgument, "dilation"},
      {{{129, 1, 1}, {1, 1, 1}, {1, 1, 1}}, ErrorKind::Unsupported, "kernel"},
      {{{1, 1, 1}, {1, 1, 65}, {1, 1, 1}}, ErrorKind::Unsupported, "stride"},
      {{{1, 1, 1}, {1, 1, 1}, {17, 1, 1}}, ErrorKind::Unsupported, "dilation"},
      {{{17, 16, 16}, {1, 1, 1}, {1, 1, 1}}, ErrorKind::Unsupported, "kernel"},
  };
  for (const auto& r : refused) {
    for (const bool transposed : {false, true}) {
      const auto error = refusal(r.kind, [&] {
        transposed ? builder.conv_transpose_grid(batch, r.g) : builder.conv_grid(batch, r.g);
      });
      EXPECT_EQ(error->argument(), r.argument);
    }
  }
  EXPECT_NO_THROW(builder.conv_grid(batch, {{16, 16, 16}, {64, 64, 64}, {16, 16, 16}}));
  EXPECT_NO_THROW(builder.conv_transpose_grid(batch, {{128, 1, 1}, {64, 1, 1}, {16, 1, 1}}));
}

}  // namespace
