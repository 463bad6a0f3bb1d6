// The reference's order and passes on small cases drawn by hand: each clause of [T], and the faults
// that it is known to expose.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "reference/canonical_order.h"
#include "reference/passes.h"
#include "tests/layouts.h"

namespace leafproof::tests {
namespace {

using namespace reference;
using Voxels = std::vector<Voxel>;

constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

Voxels sorted(Voxels voxels) {
  make_canonical(voxels);
  return voxels;
}

// All voxels of an inclusive box.
Voxels solid(Voxel lo, Voxel hi) {
  Voxels voxels;
  for (std::int64_t x = lo.x; x <= hi.x; ++x)
    for (std::int64_t y = lo.y; y <= hi.y; ++y)
      for (std::int64_t z = lo.z; z <= hi.z; ++z)
        voxels.push_back({static_cast<std::int32_t>(x), static_cast<std::int32_t>(y),
                          static_cast<std::int32_t>(z)});
  return sorted(voxels);
}

Batch one(Voxels voxels) {
  return batch({sorted(std::move(voxels))});
}

TEST(FloorDivision, RoundsDownForEverySign) {  // [L-4], floor-as-trunc, mod-signed
  const std::int64_t expected[][4] = {{7, 2, 3, 1},   {-1, 2, -1, 1}, {-3, 2, -2, 1},
                                      {-5, 3, -2, 1}, {-6, 3, -2, 0}, {0, 5, 0, 0},
                                      {-1, 1, -1, 0}};
  for (const auto& [n, d, quotient, remainder] : expected) {
    EXPECT_EQ(floor_div(n, d), quotient) << n << " / " << d;
    EXPECT_EQ(floor_mod(n, d), remainder) << n << " mod " << d;
  }
  EXPECT_EQ(floor_div(kMin64, kMax64), -2);
  EXPECT_EQ(floor_mod(kMin64, kMax64), kMax64 - 1);
}

// [G-2] to the letter: tile x, y, z, then the three offsets.
std::array<std::int64_t, 6> literal_key(Voxel v) {
  return {v.x >> 12,
          v.y >> 12,
          v.z >> 12,
          ((v.x >> 7) & 31) << 10 | ((v.y >> 7) & 31) << 5 | ((v.z >> 7) & 31),
          ((v.x >> 3) & 15) << 8 | ((v.y >> 3) & 15) << 4 | ((v.z >> 3) & 15),
          (v.x & 7) << 6 | (v.y & 7) << 3 | (v.z & 7)};
}

TEST(CanonicalOrder, IsTheLiteralKeysOrder) {
  const std::uint32_t seed = 1;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 200'000; ++i) {
    Voxel v, w;
    for (auto axis : {&Voxel::x, &Voxel::y, &Voxel::z}) {
      v.*axis = static_cast<std::int32_t>(random());
      w.*axis = static_cast<std::int32_t>(v.*axis ^ (random() >> (random() % 32)));  // near and far
    }
    ASSERT_EQ(canonical_less(v, w), literal_key(v) < literal_key(w))
        << testing::PrintToString(v) << testing::PrintToString(w);
    ASSERT_FALSE(canonical_less(v, v));
  }
}

TEST(CanonicalOrder, NegativeTilesComeFirst) {  // tiles-unsigned
  EXPECT_EQ(sorted({{0, 0, 0}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}, {kMin, 0, 0}, {kMax, 0, 0}}),
            (Voxels{{kMin, 0, 0}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}, {0, 0, 0}, {kMax, 0, 0}}));
}

TEST(CanonicalOrder, LeafBeforeNeighbourWhateverTheAxis) {
  EXPECT_EQ(sorted({{0, 0, 8}, {7, 7, 7}, {0, 8, 0}, {8, 0, 0}, {0, 0, 128}, {127, 0, 0}}),
            (Voxels{{7, 7, 7}, {0, 0, 8}, {0, 8, 0}, {8, 0, 0}, {127, 0, 0}, {0, 0, 128}}));
}

TEST(FromIjk, OrderAndRepeatsDoNotMatter) {  // [T-1], duplicates-kept, input-assumed-sorted
  const Voxels list{{5, 5, 5}, {-1, 2, 3}, {-1, 2, 3}, {9, 0, 0}, {0, 0, 0}, {5, 5, 5}};
  const Voxels expected{{-1, 2, 3}, {0, 0, 0}, {5, 5, 5}, {9, 0, 0}};
  EXPECT_EQ(from_ijk({list}).members[0], expected);
  Voxels reversed(list.rbegin(), list.rend());
  EXPECT_EQ(from_ijk({reversed}).members[0], expected);
}

TEST(FromIjk, EmptyMembersInEveryPosition) {  // [L-2], empty-shifts, last-empty-lost
  for (int pattern = 0; pattern < 8; ++pattern) {
    std::vector<Voxels> lists(3);
    for (int m = 0; m < 3; ++m)
      if (pattern >> m & 1) lists[m] = {{m, 0, 0}};
    EXPECT_EQ(from_ijk(lists).members, lists);
  }
  EXPECT_EQ(from_ijk({}).size(), 0u);
}

TEST(FromIjk, MapsAndNamesOneEachOneForAllOrNone) {
  const Map a{{1, 2, 3}, {4, 5, 6}}, b{{0.5, 0.5, 0.5}, {-1, -1, -1}};
  const std::vector<Voxels> two(2);
  EXPECT_EQ(from_ijk(two, {a, b}, {"a", "b"}).maps, (std::vector<Map>{a, b}));
  EXPECT_EQ(from_ijk(two, {a}, {"all"}).maps, (std::vector<Map>{a, a}));
  EXPECT_EQ(from_ijk(two, {a}, {"all"}).names, (std::vector<std::string>{"all", "all"}));
  EXPECT_EQ(from_ijk(two).maps, (std::vector<Map>{{}, {}}));
  const std::vector<Voxels> three(3);
  EXPECT_EQ(refusal(ErrorKind::ShapeMismatch, [&] { from_ijk(three, {a, b}); }).argument, "maps");
  EXPECT_EQ(refusal(ErrorKind::ShapeMismatch, [&] { from_ijk(three, {}, {"a", "b"}); }).argument,
            "names");
}

TEST(FromIjk, NamesThatTheFormatCannotHold) {  // [G-7]
  const std::vector<Voxels> two(2);
  const std::string longest(255, 'n');
  EXPECT_EQ(from_ijk(two, {}, {"", longest}).names[1], longest);
  const auto too_long =
      refusal(ErrorKind::InvalidArgument, [&] { from_ijk(two, {}, {"", longest + "n"}); });
  EXPECT_EQ(too_long.member, 1);
  EXPECT_EQ(too_long.value, "256 bytes");
  EXPECT_EQ(
      refusal(ErrorKind::InvalidArgument, [&] { from_ijk(two, {}, {std::string("a\0b", 3), ""}); })
          .member,
      0);
}

Voxels rounded(std::vector<Point> points, Map map = {}) {
  return from_points({std::move(points)}, {map}).members[0];
}

TEST(FromPoints, HalvesUpwardDecidedExactly) {  // [T-1]
  EXPECT_EQ(rounded({{-1.5, -0.5, 0.5}}), (Voxels{{-1, 0, 1}}));
  EXPECT_EQ(rounded({{1.5, 2.5, -2.5}}), (Voxels{{2, 3, -2}}));
  // floor(x + 0.5) would make 1 of the first, and std::round -1 of the second's neighbour.
  EXPECT_EQ(rounded({{0.49999999999999994, -0.49999999999999994, -0.5000000000000001}}),
            (Voxels{{0, 0, -1}}));
  EXPECT_EQ(rounded({{-1e-300, 1e-300, -0.0}}), (Voxels{{0, 0, 0}}));
  EXPECT_EQ(rounded({{16777217.0, -16777217.0, 33554433.0}}),  // what floats cannot hold
            (Voxels{{16777217, -16777217, 33554433}}));
}

TEST(FromPoints, TheMapIsApplied) {
  EXPECT_EQ(rounded({{1, 2, 3}}, {{0.25, 0.5, 2}, {-1, 0.125, 7}}), (Voxels{{8, 4, -2}}));
}

TEST(FromPoints, EndsOfTheRange) {
  EXPECT_EQ(rounded({{2147483647.4999998, -2147483648.5, 0}}), (Voxels{{kMax, kMin, 0}}));
  for (const Point p : {Point{2147483647.5, 0, 0}, Point{0, -2147483648.5000005, 0},
                        Point{0, 0, 1e300}, Point{0, -1e308, 0}, Point{9.3e18, 0, 0}}) {
    const auto detail =
        refusal(ErrorKind::OutOfRange, [&] { from_points({{}, {{0, 0, 0}, p, {1e99, 0, 0}}}); });
    EXPECT_EQ(detail.member, 1);
    EXPECT_EQ(detail.row, 1);
  }
  // The two operations may overflow; that is outside too.
  refusal(ErrorKind::OutOfRange, [&] { rounded({{1e308, 0, 0}}, {{1e-300, 1, 1}, {0, 0, 0}}); });
  refusal(ErrorKind::OutOfRange, [&] { rounded({{1e308, 0, 0}}, {{1, 1, 1}, {-1e308, 0, 0}}); });
}

TEST(FromPoints, NanAndInfinityNameMemberAndRow) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const double bad : {inf, -inf, nan}) {
    // The argument comes before the range: row 0 is outside the lattice.
    const auto detail = refusal(ErrorKind::InvalidArgument, [&] {
      from_points({{{1e99, 0, 0}}, {{0, 0, 0}, {0, 0, 0}, {0, bad, 0}}});
    });
    EXPECT_EQ(detail.argument, "points");
    EXPECT_EQ(detail.member, 1);
    EXPECT_EQ(detail.row, 2);
  }
}

TEST(Refine, FillsTheBlock) {  // [T-2], range of negatives, factor-pow2
  EXPECT_EQ(refine(one({{-1, 2, 0}}), {2, 1, 3}).members[0], solid({-2, 2, 0}, {-1, 2, 2}));
  EXPECT_EQ(refine(one({{-3, -1, 1}}), {5, 3, 6}).members[0], solid({-15, -3, 6}, {-11, -1, 11}));
  EXPECT_EQ(refine(one({{1, 2, 3}}), {1, 1, 1}).members[0], (Voxels{{1, 2, 3}}));
  EXPECT_EQ(refine(batch({{}}), {1024, 1024, 1024}).members[0], Voxels{});  // [T-7]
}

TEST(Refine, FlaggedVoxelsInCanonicalOrder) {                    // mask-of-wrong-row
  const Batch source = one({{9, 0, 0}, {-1, 0, 0}, {0, 0, 0}});  // canonical: -1, 0, 9
  EXPECT_EQ(refine(source, {2, 1, 1}, {{1, 0, 1}}).members[0],
            (Voxels{{-2, 0, 0}, {-1, 0, 0}, {18, 0, 0}, {19, 0, 0}}));
  EXPECT_EQ(refine(source, {2, 1, 1}, {{0, 0, 0}}).members[0], Voxels{});
}

TEST(Coarsen, RoundsDown) {  // [T-3], floor-as-trunc, last-writer-wins
  EXPECT_EQ(coarsen(one({{-1, -3, -5}}), {2, 2, 2}).members[0], (Voxels{{-1, -2, -3}}));
  EXPECT_EQ(coarsen(one({{7, 0, 0}, {8, 0, 0}}), {2, 1, 1}).members[0],
            (Voxels{{3, 0, 0}, {4, 0, 0}}));
  EXPECT_EQ(coarsen(one({{-1, 0, 5}, {0, 1, 6}, {2, 3, 8}}), {3, 5, 6}).members[0],
            (Voxels{{-1, 0, 0}, {0, 0, 1}}));
  EXPECT_EQ(coarsen(one({{kMin, -1, kMax}}), {kMax64, std::int64_t{1} << 33, 1}).members[0],
            (Voxels{{-1, -1, kMax}}));
}

TEST(RefineAndCoarsen, Laws) {  // [T-8]
  const Batch source = one({{-5, 3, 7}, {-4, 3, 7}, {8, -129, 4095}, {4096, 0, -1}});
  EXPECT_EQ(coarsen(refine(source, {2, 3, 5}), {2, 3, 5}), source);
  EXPECT_EQ(coarsen(coarsen(source, {2, 3, 1}), {3, 1, 4}).members,
            coarsen(source, {6, 3, 4}).members);
}

// [T-4] to the letter.
Voxels literal_dilation(const Voxels& s, Triple lo, Triple hi) {
  Voxels result;
  for (const Voxel& c : s)
    for (std::int64_t dx = lo[0]; dx <= hi[0]; ++dx)
      for (std::int64_t dy = lo[1]; dy <= hi[1]; ++dy)
        for (std::int64_t dz = lo[2]; dz <= hi[2]; ++dz)
          result.push_back({static_cast<std::int32_t>(c.x + dx),
                            static_cast<std::int32_t>(c.y + dy),
                            static_cast<std::int32_t>(c.z + dz)});
  return sorted(result);
}

TEST(Dilate, IsTheSumWithTheBox) {
  EXPECT_EQ(dilate_box(one({{0, 0, 0}}), {-1, -1, -1}, {1, 1, 1}).members[0],  // region-kind
            solid({-1, -1, -1}, {1, 1, 1}));
  EXPECT_EQ(dilate_box(one({{7, 0, 0}, {8, 0, 0}}), {-1, 0, 0}, {1, 0, 0}).members[0],
            solid({6, 0, 0}, {9, 0, 0}));
  const Voxels scattered =
      sorted({{0, 0, 0}, {2, 0, 0}, {2, 3, 1}, {-9, -8, -7}, {7, 7, 7}, {9, 7, 7}});
  const std::pair<Triple, Triple> boxes[] = {{{-1, -1, -1}, {0, 0, 0}},
                                             {{2, 3, -5}, {4, 3, -5}},
                                             {{-3, 0, 1}, {-1, 0, 2}},
                                             {{-2, -3, -1}, {5, 1, 4}},
                                             {{0, 0, 0}, {0, 0, 0}}};
  for (const auto& [lo, hi] : boxes)
    EXPECT_EQ(dilate_box(one(scattered), lo, hi).members[0], literal_dilation(scattered, lo, hi));
}

TEST(Dilate, OnePassIsManyUnitPasses) {
  const Batch source = one({{-1, 127, 4095}, {3, -129, 0}, {4, -129, 1}});
  Batch steps = source;
  for (int i = 0; i < 4; ++i) steps = dilate_box(steps, {-1, -1, -1}, {1, 1, 1});
  EXPECT_EQ(dilate_box(source, {-4, -4, -4}, {4, 4, 4}), steps);
}

TEST(Dilate, AcrossEveryCornerOfEveryNode) {  // neighbour-missing
  for (const std::int32_t size : {8, 128, 4096})
    for (int corner = 0; corner < 8; ++corner)
      for (const std::int32_t base : {0, -size}) {
        const auto at = [&](int bit) { return base + (corner >> bit & 1 ? size - 1 : 0); };
        const Voxel v{at(2), at(1), at(0)};
        EXPECT_EQ(dilate_box(one({v}), {-1, -1, -1}, {1, 1, 1}).members[0],
                  solid({v.x - 1, v.y - 1, v.z - 1}, {v.x + 1, v.y + 1, v.z + 1}));
      }
}

TEST(Dual, IsTheCornersAndItsMapMovesHalfAVoxel) {  // [T-4], [G-7]
  Batch source = one({{-1, 7, 4095}});
  source.maps[0] = {{2, 4, 8}, {0, 1, 2}};
  const Batch result = dual(source);
  EXPECT_EQ(result.members[0], solid({-1, 7, 4095}, {0, 8, 4096}));
  EXPECT_EQ(result.maps[0], (Map{{2, 4, 8}, {-1, -1, -2}}));
  EXPECT_EQ(dual(dual(source)).members[0], solid({-1, 7, 4095}, {1, 9, 4097}));
}

TEST(Erode, KeepsWhatTheBoxFitsAround) {  // [T-5], [T-7]
  EXPECT_EQ(erode_box(one(solid({-3, -3, -3}, {3, 3, 3})), {-1, -1, -1}, {1, 1, 1}).members[0],
            solid({-2, -2, -2}, {2, 2, 2}));
  EXPECT_EQ(erode_box(one(solid({0, 0, 0}, {4, 4, 4})), {-2, 0, 0}, {1, 0, 3}).members[0],
            solid({2, 0, 0}, {3, 4, 1}));
  EXPECT_EQ(erode_box(one({{0, 0, 0}}), {0, 0, 0}, {0, 0, 1}).members[0], Voxels{});
  EXPECT_EQ(erode_box(one({{5, 5, 5}}), {0, 0, 0}, {0, 0, 0}).members[0], (Voxels{{5, 5, 5}}));
  // A hole in the middle: on its three axes, and on the diagonals too.
  Voxels holed = solid({0, 0, 0}, {4, 4, 4});
  std::erase(holed, Voxel{2, 2, 2});
  EXPECT_EQ(erode_box(one(holed), {-1, -1, -1}, {1, 1, 1}).members[0], Voxels{});
  EXPECT_EQ(erode_box(one(holed), {0, 0, 0}, {1, 1, 1}).members[0].size(), 64u - 8u);
  // Outside the lattice there are no voxels: nothing is refused, nothing wraps.
  EXPECT_EQ(erode_box(one({{kMax, 0, 0}, {kMin, 0, 0}}), {0, 0, 0}, {1, 0, 0}).members[0],
            Voxels{});
}

TEST(Prune, ByCanonicalRow) {  // [T-6], mask-of-wrong-row
  const Batch source = batch({sorted({{9, 0, 0}, {-1, 0, 0}, {0, 0, 0}}), {}, {{1, 1, 1}}});
  const Batch result = prune(source, {{0, 1, 1}, {}, {0}});
  EXPECT_EQ(result.members, (std::vector<Voxels>{{{0, 0, 0}, {9, 0, 0}}, {}, {}}));
}

TEST(SetOperations, MemberByMember) {  // member-not-in-key, [T-10]
  Batch a = batch({{{0, 0, 0}, {1, 0, 0}}, {}, {{5, 5, 5}}});
  Batch b = batch({{{1, 0, 0}, {2, 0, 0}}, {{0, 0, 0}}, {{-5, 5, 5}}});
  a.maps = {{{1, 1, 1}, {0, 0, 0}}, {{2, 2, 2}, {0, 0, 0}}, {{3, 3, 3}, {0, 0, 0}}};
  a.names = {"one", "two", "three"};
  b.maps.clear();  // not read
  b.names = {std::string(300, 'x')};
  const std::vector<Voxels> both{
      {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}, {{0, 0, 0}}, {{-5, 5, 5}, {5, 5, 5}}};
  EXPECT_EQ(merge(a, b).members, both);
  EXPECT_EQ(intersect(a, b).members, (std::vector<Voxels>{{{1, 0, 0}}, {}, {}}));
  EXPECT_EQ(subtract(a, b).members, (std::vector<Voxels>{{{0, 0, 0}}, {}, {{5, 5, 5}}}));
  EXPECT_EQ(merge(a, b).maps, a.maps);
  EXPECT_EQ(subtract(a, b).names, a.names);
}

TEST(View, PermutedRepeatedAndPartial) {  // [T-9], view-physical
  Batch source = batch({{{0, 0, 0}}, {{1, 0, 0}}, {}, {{3, 0, 0}}});
  source.names = {"0", "1", "2", "3"};
  for (int m = 0; m < 4; ++m) source.maps[m].origin[0] = m;
  for (const std::vector<std::int64_t>& chosen : std::vector<std::vector<std::int64_t>>{
           {1, 2, 3}, {0, 2}, {3, 1}, {2}, {3, 2, 1, 0}, {0, 0}, {}}) {
    const Batch v = view(source, chosen);
    ASSERT_EQ(v.size(), chosen.size());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      EXPECT_EQ(v.members[i], source.members[chosen[i]]);
      EXPECT_EQ(v.maps[i], source.maps[chosen[i]]);
      EXPECT_EQ(v.names[i], source.names[chosen[i]]);
    }
  }
  for (const std::int64_t bad : {std::int64_t{4}, std::int64_t{-1}, kMin64, kMax64}) {
    const auto detail = refusal(ErrorKind::InvalidArgument, [&] { view(source, {0, bad}); });
    EXPECT_EQ(detail.member, 1);
    EXPECT_EQ(detail.value, std::to_string(bad));
  }
}

TEST(Passes, KeepNamesAndNothingCrossesMembers) {  // [L-3], [G-7], header-of-first
  Batch source = batch({{{0, 0, 0}}, {}, {{0, 0, 0}, {9, 9, 9}}});
  source.names = {"a", "", "c"};
  source.maps = {{{1, 1, 1}, {0, 0, 0}}, {{2, 2, 2}, {1, 1, 1}}, {{4, 4, 4}, {2, 2, 2}}};
  const auto passes = std::vector<std::function<Batch(const Batch&)>>{
      [](const Batch& s) { return refine(s, {2, 3, 4}); },
      [](const Batch& s) { return coarsen(s, {2, 3, 4}); },
      [](const Batch& s) { return dilate_box(s, {-1, 0, 0}, {1, 2, 0}); },
      [](const Batch& s) { return dual(s); },
      [](const Batch& s) { return erode_box(s, {0, 0, 0}, {0, 0, 0}); }};
  for (const auto& pass : passes) {
    const Batch together = pass(source);
    EXPECT_EQ(together.names, source.names);
    for (std::int64_t m = 0; m < 3; ++m) EXPECT_EQ(pass(view(source, {m})), view(together, {m}));
    EXPECT_EQ(pass(Batch{}), Batch{});
  }
}

TEST(Range, FirstOffendingVoxelInCanonicalOrder) {  // [L-5], range-wraps
  Batch source = batch({{{0, 0, 0}}, sorted({{kMax, 0, 0}, {0, 0, kMax}, {0, 0, 5}})});
  auto detail = refusal(ErrorKind::OutOfRange, [&] { dual(source); });
  EXPECT_EQ(detail.operation, "dual");
  EXPECT_EQ(detail.member, 1);
  EXPECT_EQ(detail.row, 2);  // of the batch: (0,0,0), (0,0,5), then (0,0,kMax)
  EXPECT_EQ(detail.value, "(0, 0, 2147483648)");
  EXPECT_NE(detail.reason.find("(0, 0, 2147483647)"), std::string::npos);

  detail = refusal(ErrorKind::OutOfRange, [&] { refine(one({{-1500000000, 1, 2}}), {2, 2, 2}); });
  EXPECT_EQ(detail.value, "(-3000000000, 2, 4)");
  // The block of the last voxel that fits, and of the next.
  EXPECT_EQ(refine(one({{kMax / 2, 0, 0}}), {2, 1, 1}).members[0].back(), (Voxel{kMax, 0, 0}));
  refusal(ErrorKind::OutOfRange, [&] { refine(one({{kMax / 2 + 1, 0, 0}}), {2, 1, 1}); });
  EXPECT_EQ(refine(one({{kMin / 2, 0, 0}}), {2, 1, 1}).members[0].front(), (Voxel{kMin, 0, 0}));
  // The lowest corner fits, the highest does not.
  detail = refusal(ErrorKind::OutOfRange, [&] { refine(one({{kMax / 3, 0, 0}}), {3, 1, 1}); });
  EXPECT_EQ(detail.value, "(2147483648, 0, 0)");
}

TEST(Range, OfFlaggedVoxelsOnly) {
  const Batch source = one({{0, 0, 0}, {kMax, 0, 0}});
  EXPECT_EQ(refine(source, {2, 1, 1}, {{1, 0}}).members[0], (Voxels{{0, 0, 0}, {1, 0, 0}}));
  EXPECT_EQ(refusal(ErrorKind::OutOfRange, [&] { refine(source, {2, 1, 1}, {{1, 1}}); }).row, 1);
}

TEST(Range, HostileParametersDoNotOverflow) {
  const Batch source = one({{-5, 0, 0}});
  for (const std::int64_t far : {kMin64, kMax64, kMin64 + 1, std::int64_t{1} << 40}) {
    refusal(ErrorKind::OutOfRange, [&] { dilate_box(source, {far, 0, 0}, {far, 0, 0}); });
    EXPECT_EQ(dilate_box(batch({{}, {}}), {far, 0, 0}, {far, 0, 0}), batch({{}, {}}));
  }
  refusal(ErrorKind::Unsupported, [&] { dilate_box(source, {kMin64, 0, 0}, {kMax64, 0, 0}); });
  refusal(ErrorKind::Unsupported, [&] { erode_box(source, {kMin64, 0, 0}, {kMax64, 0, 0}); });
  refusal(ErrorKind::InvalidArgument, [&] { dilate_box(source, {kMax64, 0, 0}, {kMin64, 0, 0}); });
  refusal(ErrorKind::InvalidArgument, [&] { coarsen(source, {kMin64, 1, 1}); });
  refusal(ErrorKind::Unsupported, [&] { refine(source, {kMax64, 1, 1}); });
  // Lo and hi on both sides of what 32 bits hold; the box itself is small.
  EXPECT_EQ(dilate_box(one({{kMin, 0, 0}}), {4294967295, 0, 0}, {4294967295, 0, 0}).members[0],
            (Voxels{{kMax, 0, 0}}));
}

TEST(Limits, AreThoseOfTheClause) {  // [T-11]
  const Batch source = one({{0, 0, 0}});
  EXPECT_EQ(refine(source, {1, 1024, 1}).members[0].size(), 1024u);
  refusal(ErrorKind::Unsupported, [&] { refine(source, {1, 1025, 1}); });
  EXPECT_EQ(dilate_box(source, {0, 0, -1000}, {0, 0, 23}).members[0].size(), 1024u);
  refusal(ErrorKind::Unsupported, [&] { dilate_box(source, {0, 0, -1000}, {0, 0, 24}); });
  EXPECT_EQ(erode_box(source, {-1023, 0, 0}, {0, 0, 0}).members[0].size(), 0u);
  refusal(ErrorKind::Unsupported, [&] { erode_box(source, {-1023, 0, 0}, {1, 0, 0}); });
  refusal(ErrorKind::InvalidArgument, [&] { erode_box(source, {0, 1, 0}, {0, 2, 0}); });
  refusal(ErrorKind::InvalidArgument, [&] { erode_box(source, {0, -2, 0}, {0, -1, 0}); });
  refusal(ErrorKind::InvalidArgument, [&] { refine(source, {1, 1, 0}); });
  EXPECT_EQ(refusal(ErrorKind::InvalidArgument, [&] { coarsen(source, {1, -1, 1}); }).value,
            "(1, -1, 1)");
}

TEST(Limits, WhichRefusalComesFirst) {  // passes.h
  Batch source = batch({sorted({{kMax, 0, 0}, {0, 0, 0}})});
  const Masks short_mask{{1}};
  refusal(ErrorKind::InvalidArgument, [&] { refine(source, {2000, 0, 1}, short_mask); });
  refusal(ErrorKind::Unsupported, [&] { refine(source, {2000, 1, 1}, short_mask); });
  refusal(ErrorKind::ShapeMismatch, [&] { refine(source, {2, 1, 1}, short_mask); });
  refusal(ErrorKind::OutOfRange, [&] { refine(source, {1024, 1024, 1024}, {{0, 1}}); });
  source.maps[0].voxel_size[0] = std::numeric_limits<double>::denorm_min();
  refusal(ErrorKind::InvalidArgument, [&] { refine(source, {2, 1, 1}); });  // before the range
}

TEST(Shapes, MasksAndSecondOperands) {  // lengths-total-only
  const Batch source = batch({{{0, 0, 0}}, {{1, 0, 0}, {2, 0, 0}}});
  for (const Masks& bad : {Masks{{1, 0}, {1}}, Masks{{1}}, Masks{{1}, {1, 0}, {}}, Masks{}}) {
    EXPECT_EQ(refusal(ErrorKind::ShapeMismatch, [&] { prune(source, bad); }).argument, "mask");
    refusal(ErrorKind::ShapeMismatch, [&] { refine(source, {2, 2, 2}, bad); });
  }
  EXPECT_EQ(refusal(ErrorKind::ShapeMismatch, [&] { prune(source, {{1}, {1}}); }).member, 1);
  for (const auto pass : {merge, intersect, subtract})
    EXPECT_EQ(refusal(ErrorKind::ShapeMismatch, [&] { pass(source, batch({{}})); }).argument,
              "other");
}

TEST(Shapes, ABatchThatIsNone) {
  Batch unsorted = batch({{{0, 0, 0}}, {{2, 0, 0}, {1, 0, 0}}});
  const auto detail = refusal(ErrorKind::InvalidArgument, [&] { dual(unsorted); });
  EXPECT_EQ(detail.member, 1);
  EXPECT_EQ(detail.row, 2);
  refusal(ErrorKind::InvalidArgument, [&] { dual(batch({{{1, 0, 0}, {1, 0, 0}}})); });
  refusal(ErrorKind::InvalidArgument, [&] { merge(batch({{}, {}}), unsorted); });
  Batch no_maps = batch({{{0, 0, 0}}});
  no_maps.maps.clear();
  EXPECT_EQ(refusal(ErrorKind::ShapeMismatch, [&] { coarsen(no_maps, {2, 2, 2}); }).argument,
            "maps");
}

TEST(Capacity, IsRefusedBeforeItIsAllocated) {  // [L-6]
  Voxels line;
  for (std::int32_t z = 0; z < 1000; ++z) line.push_back({0, 0, z});
  auto detail = refusal(ErrorKind::CapacityExceeded,
                        [&] { refine(batch({line, {}, line}), {1024, 1024, 1024}); });
  EXPECT_EQ(detail.value, "2147483648000 voxels");
  detail = refusal(ErrorKind::CapacityExceeded, [&] {
    dilate_box(batch({{{0, 0, 0}}, {{5, 5, 5}}}), {0, 0, 0}, {1023, 1023, 1023});
  });
  EXPECT_EQ(detail.value, "at least 2147483648 voxels");
}

TEST(ErrorText, NamesEverything) {  // [E-1]
  try {
    prune(batch({{{0, 0, 0}}}), {{1, 1}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "prune: ShapeMismatch: mask = 2 flags: one flag for each of 1 voxels (member 0)");
  }
}

}  // namespace
}  // namespace leafproof::tests
