// Maps after a pass [G-7], on numbers whose roundings show which operations were made.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "reference/brute_force.h"
#include "reference/map.h"
#include "tests/layouts.h"

namespace leafproof::tests {
namespace {

using namespace reference;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kTiny = std::numeric_limits<double>::denorm_min();
constexpr double kMost = std::numeric_limits<double>::max();

// The same map on the reference and on brute_force, which computes its own.
void expect_map(const std::string& pass, const Map& map, Triple factor, const Map& expected) {
  Map result;
  if (pass == "refine") result = map_after_refine(map, factor, 0);
  if (pass == "coarsen") result = map_after_coarsen(map, factor, 0);
  if (pass == "conv_grid") result = map_after_conv_grid(map, factor, 0);
  if (pass == "conv_transpose_grid") result = map_after_conv_transpose_grid(map, factor, 0);
  if (pass == "dual") result = map_after_dual(map, 0);
  const Map second = brute_force::map_after(pass, map, factor, 0);
  for (int a = 0; a < 3; ++a) {
    EXPECT_EQ(result.voxel_size[a], expected.voxel_size[a]) << pass << " size, axis " << a;
    EXPECT_EQ(result.origin[a], expected.origin[a]) << pass << " origin, axis " << a;
    EXPECT_EQ(std::signbit(result.origin[a]), std::signbit(expected.origin[a])) << pass << a;
    EXPECT_EQ(second.voxel_size[a], expected.voxel_size[a]) << pass << " size, axis " << a;
    EXPECT_EQ(second.origin[a], expected.origin[a]) << pass << " origin, axis " << a;
    EXPECT_EQ(std::signbit(second.origin[a]), std::signbit(expected.origin[a])) << pass << a;
  }
}

TEST(MapAfter, DyadicNumbersByHand) {
  const Map map{{4, 12, 1.5}, {-0.5, -3.1875, 1.6875}};
  expect_map("refine", map, {2, 2, 2}, {{2, 6, 0.75}, {-1.5, -6.1875, 1.3125}});
  expect_map("refine", map, {1, 4, 3}, {{4, 3, 0.5}, {-0.5, -7.6875, 1.1875}});
  expect_map("coarsen", map, {2, 3, 1}, {{8, 36, 1.5}, {1.5, 8.8125, 1.6875}});
  expect_map("conv_grid", map, {2, 3, 1}, {{8, 36, 1.5}, map.origin});
  expect_map("conv_transpose_grid", map, {2, 3, 1}, {{2, 4, 1.5}, map.origin});
  expect_map("dual", map, {1, 1, 1}, {{4, 12, 1.5}, {-2.5, -9.1875, 0.9375}});
}

TEST(MapAfter, EachStepIsRoundedOnce) {
  // o - ((f-1)*n)/2, step by step; volatile stands against any contraction or reordering.
  const std::array<double, 3> s{0.1, 0.013, 0.05}, o{1000.1, 0.37, -1.25};
  const Triple f{3, 5, 7};
  Map refined, coarsened;
  for (int a = 0; a < 3; ++a) {
    const double factor = static_cast<double>(f[a]), less = factor - 1;
    volatile double n = s[a] / factor;
    volatile double fine_steps = less * n;
    volatile double fine_half = fine_steps / 2;
    refined.voxel_size[a] = n;
    refined.origin[a] = o[a] - fine_half;
    volatile double steps = less * s[a];
    volatile double half = steps / 2;
    coarsened.voxel_size[a] = s[a] * factor;
    coarsened.origin[a] = o[a] + half;
  }
  expect_map("refine", {s, o}, f, refined);
  expect_map("coarsen", {s, o}, f, coarsened);
}

TEST(MapAfter, KnownAnswersOfDecimalNumbers) {
  expect_map("refine", {{0.05, 0.013, 0.013}, {0, -1.25, 1000.1}}, {2, 2, 2},
             {{0.025, 0.0065, 0.0065}, {-0.0125, -1.25325, 1000.09675}});
}

TEST(MapAfter, FactorOneFollowsTheFormula) {
  const Map map{{0.1, 0.2, 0.3}, {0.4, -0.0, 0.0}};
  expect_map("refine", map, {1, 1, 1}, map);
  // o + 0 turns -0 into +0: the clause's own operations, for a factor of 1 too.
  expect_map("coarsen", map, {1, 1, 1}, {map.voxel_size, {0.4, 0.0, 0.0}});
}

TEST(MapAfter, HugeFactorsAreRoundedOnce) {
  const std::int64_t f = (std::int64_t{1} << 53) + 1;  // as a double 2^53, from which 1 is taken
  expect_map("coarsen", {{1, 1, 1}, {0, 0, 0}}, {f, 1, 1},
             {{9007199254740992.0, 1, 1}, {4503599627370495.5, 0, 0}});
}

TEST(MapAfter, ResultsThatAreNoMap) {  // "a result that is not finite and positive is refused"
  using Pass = std::function<Map(const Map&)>;
  const auto refused = [](const Pass& pass, const Map& map, const std::string& argument) {
    const auto detail = refusal(ErrorKind::InvalidArgument, [&] { pass(map); });
    EXPECT_EQ(detail.argument, argument);
    EXPECT_EQ(detail.member, 7);
  };
  const Pass refine_2 = [](const Map& m) { return map_after_refine(m, {1, 2, 1}, 7); };
  const Pass coarsen_2 = [](const Map& m) { return map_after_coarsen(m, {1, 2, 1}, 7); };
  const Pass coarsen_5 = [](const Map& m) { return map_after_coarsen(m, {1, 5, 1}, 7); };
  const Pass conv_2 = [](const Map& m) { return map_after_conv_grid(m, {1, 2, 1}, 7); };
  const Pass transpose_2 = [](const Map& m) {
    return map_after_conv_transpose_grid(m, {1, 2, 1}, 7);
  };
  const Pass dual_7 = [](const Map& m) { return map_after_dual(m, 7); };
  refused(refine_2, {{1, kTiny, 1}, {0, 0, 0}}, "voxel_size");  // half of it is 0
  refused(transpose_2, {{1, kTiny, 1}, {0, 0, 0}}, "voxel_size");
  refused(coarsen_2, {{1, kMost, 1}, {0, 0, 0}}, "voxel_size");
  refused(conv_2, {{1, kMost, 1}, {0, 0, 0}}, "voxel_size");
  refused(coarsen_5, {{1, kMost / 5, 1}, {0, kMost, 0}}, "origin");
  refused(dual_7, {{1, kMost, 1}, {0, -kMost, 0}}, "origin");
  // What is given must be a map already.
  refused(dual_7, {{1, 0, 1}, {0, 0, 0}}, "voxel_size");
  refused(dual_7, {{1, -1, 1}, {0, 0, 0}}, "voxel_size");
  refused(dual_7, {{1, kInf, 1}, {0, 0, 0}}, "voxel_size");
  refused(dual_7, {{1, std::nan(""), 1}, {0, 0, 0}}, "voxel_size");
  refused(dual_7, {{1, 1, 1}, {0, kInf, 0}}, "origin");
  refused(dual_7, {{1, 1, 1}, {0, std::nan(""), 0}}, "origin");
  // A map is s and o: an infinite 1/s does not refuse it.
  EXPECT_EQ(map_after_refine({{1, kTiny * 2, 1}, {0, 0, 0}}, {1, 2, 1}, 0).voxel_size[1], kTiny);
}

TEST(MapAfter, FactorsAndStridesAreThoseOfTheirPass) {  // [T-11], [K-7]
  const Map map;
  refusal(ErrorKind::InvalidArgument, [&] { map_after_refine(map, {0, 2000, 1}, 0); });
  refusal(ErrorKind::Unsupported, [&] { map_after_refine(map, {1, 1025, 1}, 0); });
  refusal(ErrorKind::InvalidArgument, [&] { map_after_coarsen(map, {1, 1, -1}, 0); });
  refusal(ErrorKind::Unsupported, [&] { map_after_conv_grid(map, {1, 65, 1}, 0); });
  refusal(ErrorKind::Unsupported, [&] { map_after_conv_transpose_grid(map, {1, 65, 1}, 0); });
  EXPECT_EQ(map_after_conv_grid(map, {64, 1, 1}, 0).voxel_size[0], 64);
  refusal(ErrorKind::InvalidArgument,
          [&] { brute_force::map_after("refine", map, {0, 2000, 1}, 0); });
  refusal(ErrorKind::Unsupported, [&] { brute_force::map_after("conv_grid", map, {1, 65, 1}, 0); });
}

TEST(MapAfter, OtherPassesKeepTheMap) {
  const Map map{{0.1, 0.2, 0.3}, {-0.0, 5, 6}};
  for (const char* pass : {"dilate_box", "erode_box", "prune", "merge", "from_ijk"})
    EXPECT_EQ(brute_force::map_after(pass, map, {0, -5, 7}, 0), map);  // no factor is read
}

}  // namespace
}  // namespace leafproof::tests
