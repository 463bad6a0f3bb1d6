// The relation of convolution and what follows from it, in the first reference: by hand where a
// hand can do it, by loops of its own where not.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "reference/brute_force_conv.h"
#include "reference/canonical_order.h"
#include "reference/conv_relation.h"
#include "reference/conv_support.h"
#include "reference/error.h"
#include "reference/kernel_map.h"
#include "reference/passes.h"

namespace leafproof::reference {
namespace {

Batch batch_of(std::vector<std::vector<Voxel>> members) {
  return from_ijk(members);
}

std::vector<Voxel> box(Voxel lo, Voxel hi) {
  std::vector<Voxel> voxels;
  for (int x = lo.x; x <= hi.x; ++x)
    for (int y = lo.y; y <= hi.y; ++y)
      for (int z = lo.z; z <= hi.z; ++z) voxels.push_back({x, y, z});
  make_canonical(voxels);
  return voxels;
}

Kernel cubic(std::int64_t k, std::int64_t s, std::int64_t d = 1) {
  return {{k, k, k}, {s, s, s}, {d, d, d}};
}

ErrorKind kind_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was refused";
  return ErrorKind::Corrupt;
}

TEST(ConvRelation, SolidCubesHaveTheKnownCounts) {
  struct Known {
    int side;
    std::int64_t k, s;
    std::size_t coarse, pairs;
  };
  for (const Known& known :
       {Known{8, 3, 1, 1000, 13824}, Known{8, 2, 2, 64, 512}, Known{8, 3, 2, 125, 1728},
        Known{8, 4, 2, 216, 4096}, Known{16, 3, 1, 5832, 110592}, Known{16, 2, 2, 512, 4096},
        Known{16, 3, 2, 729, 13824}, Known{16, 4, 2, 1000, 32768}, Known{16, 4, 4, 125, 4096}}) {
    const Batch source =
        batch_of({box({0, 0, 0}, {known.side - 1, known.side - 1, known.side - 1})});
    const Kernel kernel = cubic(known.k, known.s);
    const Batch coarse = conv_grid(source, kernel);
    EXPECT_EQ(coarse.members[0].size(), known.coarse) << known.side << known.k << known.s;
    EXPECT_EQ(kernel_map(source, coarse, kernel, Direction::Forward).gather.size(), known.pairs)
        << known.side << known.k << known.s;
  }
}

TEST(ConvRelation, OddVoxelsHaveNoCoarseOnesAtStrideTwo) {
  const Batch source = batch_of({{{1, 1, 1}}});
  const Batch coarse = conv_grid(source, cubic(1, 2));
  EXPECT_TRUE(coarse.members[0].empty());
  EXPECT_TRUE(kernel_map(source, coarse, cubic(1, 2), Direction::Forward).gather.empty());
  // [K-5] K=S=2 with D=2: the phase is 1, all taps are odd.
  EXPECT_TRUE(conv_grid(batch_of({{{0, 0, 0}}}), cubic(2, 2, 2)).members[0].empty());
}

TEST(ConvRelation, AnEvenDilatedKernelIsNotSymmetric) {
  std::vector<Voxel> forward, transposed;
  for (int x = 0; x < 2; ++x)
    for (int y = 0; y < 2; ++y)
      for (int z = 0; z < 2; ++z) {
        forward.push_back({-2 + 3 * x, -2 + 3 * y, -2 + 3 * z});
        transposed.push_back({-1 + 3 * x, -1 + 3 * y, -1 + 3 * z});
      }
  make_canonical(forward);
  make_canonical(transposed);
  const Batch source = batch_of({{{0, 0, 0}}});
  EXPECT_EQ(conv_grid(source, cubic(2, 1, 3)).members[0], forward);
  EXPECT_EQ(conv_transpose_grid(source, cubic(2, 1, 3)).members[0], transposed);
}

// [K-5], all of it at D = 1.
TEST(ConvRelation, SpecialCasesFollow) {
  const Batch source = batch_of({box({-3, 0, 5}, {1, 2, 9}), {}, {{-4096, 8, -1}, {7, 7, 7}}});
  const auto voxels = [](const Batch& batch) { return batch.members; };
  EXPECT_EQ(voxels(conv_grid(source, cubic(2, 2))), voxels(coarsen(source, {2, 2, 2})));
  EXPECT_EQ(voxels(conv_transpose_grid(source, cubic(2, 2))), voxels(refine(source, {2, 2, 2})));
  for (std::int64_t k = 1; k <= 6; ++k) {
    const std::int64_t p = (k - 1) / 2, q = k - 1 - p;
    EXPECT_EQ(voxels(conv_grid(source, cubic(k, 1))),
              voxels(dilate_box(source, {-q, -q, -q}, {p, p, p})));
    EXPECT_EQ(voxels(conv_transpose_grid(source, cubic(k, 1))),
              voxels(dilate_box(source, {-p, -p, -p}, {q, q, q})));
  }
  EXPECT_EQ(voxels(conv_transpose_grid(source, cubic(3, 2))),
            voxels(dilate_box(refine(source, {2, 2, 2}), {-1, -1, -1}, {0, 0, 0})));
}

TEST(ConvRelation, TapsCountInCOrder) {
  const Kernel kernel{{1, 2, 3}, {1, 1, 1}, {1, 1, 1}};
  std::int64_t number = 0;
  for (std::int64_t y = 0; y < 2; ++y)
    for (std::int64_t z = 0; z < 3; ++z) EXPECT_EQ(tap_of(kernel, number++), (Triple{0, y, z}));
  EXPECT_EQ(tap_count(kernel), number);
}

TEST(ConvRelation, BothDirectionsAreOneRelation) {
  for (std::int64_t k = 1; k <= 4; ++k)
    for (std::int64_t s = 1; s <= 4; ++s)
      for (std::int64_t d = 1; d <= 3; ++d) {
        const Kernel kernel{{k, 1, 2}, {s, 1, 3}, {d, 1, 2}};
        for (std::int64_t x = -9; x <= 9; ++x)
          for (std::int64_t t = 0; t < tap_count(kernel); ++t) {
            const Triple tap = tap_of(kernel, t), coarse{x, -x, 2 * x};
            EXPECT_EQ(coarse_of(kernel, fine_of(kernel, coarse, tap), tap), coarse);
            if (const auto c = coarse_of(kernel, coarse, tap)) {
              EXPECT_EQ(fine_of(kernel, *c, tap), coarse);
            }
          }
      }
}

TEST(ConvRelation, MissedResidues) {
  using Lists = std::array<std::vector<std::int64_t>, 3>;
  EXPECT_EQ(missed_residues(cubic(3, 2)), Lists{});
  EXPECT_EQ(missed_residues(cubic(1, 2)), (Lists{{{1}, {1}, {1}}}));
  // D = 1: some are missed iff K < S.
  for (std::int64_t k = 1; k <= 6; ++k)
    for (std::int64_t s = 1; s <= 6; ++s)
      EXPECT_EQ(missed_residues(cubic(k, s))[0].empty(), k >= s) << k << s;
  // K=S=2, D=2: -1 and 1 are both odd. A larger kernel does not help there.
  EXPECT_EQ(missed_residues(cubic(2, 2, 2))[1], (std::vector<std::int64_t>{0}));
  EXPECT_EQ(missed_residues(cubic(7, 2, 2))[2].size(), 1U);
}

TEST(ConvRelation, LimitsAreRefusedByKindInOrder) {
  const Batch source = batch_of({{{0, 0, 0}}});
  const auto refused = [&](const Kernel& kernel) {
    const ErrorKind kind = kind_of([&] { conv_grid(source, kernel); });
    EXPECT_EQ(kind, kind_of([&] { conv_transpose_grid(source, kernel); }));
    EXPECT_EQ(kind, kind_of([&] { kernel_map(source, source, kernel, Direction::Forward); }));
    return kind;
  };
  const std::int64_t far = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, -far - 1}) {
    EXPECT_EQ(refused({{1, bad, 1}, {1, 1, 1}, {1, 1, 1}}), ErrorKind::InvalidArgument);
    EXPECT_EQ(refused({{1, 1, 1}, {1, 1, bad}, {1, 1, 1}}), ErrorKind::InvalidArgument);
    EXPECT_EQ(refused({{far, 1, 1}, {1, 1, 1}, {bad, 1, 1}}), ErrorKind::InvalidArgument);
  }
  for (const std::int64_t over : {std::int64_t{129}, far}) {
    EXPECT_EQ(refused({{1, 1, over}, {1, 1, 1}, {1, 1, 1}}), ErrorKind::Unsupported);
    EXPECT_EQ(refused({{1, 1, 1}, {over, 1, 1}, {1, 1, 1}}), ErrorKind::Unsupported);
    EXPECT_EQ(refused({{1, 1, 1}, {1, 1, 1}, {1, over, 1}}), ErrorKind::Unsupported);
  }
  EXPECT_EQ(refused(cubic(17, 1)), ErrorKind::Unsupported);
  EXPECT_EQ(conv_grid(source, {{128, 32, 1}, {64, 64, 64}, {16, 16, 16}}).size(), 1U);
}

// [L-5]: the first voxel in canonical order, with its row, and the exact result.
TEST(ConvRelation, CompleteTargetsOutsideTheLatticeAreRefused) {
  const std::int32_t end = std::numeric_limits<std::int32_t>::max();
  const Batch source = batch_of({{{5, 5, 5}}, {{0, 0, 0}, {end, 0, 0}}});
  try {
    conv_transpose_grid(source, cubic(2, 2));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::OutOfRange);
    EXPECT_EQ(error.detail().member, 1);
    EXPECT_EQ(error.detail().row, 2);
    EXPECT_EQ(error.detail().value, "(4294967294, 0, 0)");
  }
  EXPECT_EQ(kind_of([&] { conv_grid(source, cubic(3, 1)); }), ErrorKind::OutOfRange);
  // At stride 2 the voxel outside is joined by no tap.
  EXPECT_EQ(conv_grid(source, cubic(2, 2)).members[1].size(), 2U);
  // [K-6] Restricted, it is simply not there.
  EXPECT_EQ(kernel_map(source, source, cubic(3, 1), Direction::Forward).gather.size(), 3U);
  EXPECT_EQ(kernel_map(source, source, cubic(3, 2), Direction::Transposed).gather.size(), 1U);
}

TEST(KernelMaps, TransposedIsTheForwardMapSwapped) {
  const Batch fine = batch_of({box({-4, -2, 0}, {3, 2, 5}), {}, {{9, 9, 9}}});
  for (const Kernel& kernel :
       {Kernel{{2, 3, 4}, {2, 1, 3}, {1, 2, 1}}, cubic(3, 2), cubic(4, 2, 3)}) {
    const Batch coarse = conv_grid(fine, kernel);
    const KernelMap forward = kernel_map(fine, coarse, kernel, Direction::Forward);
    const KernelMap back = kernel_map(coarse, fine, kernel, Direction::Transposed);
    const KernelMap turned = swapped(forward);
    ASSERT_EQ(back.offsets, turned.offsets);
    EXPECT_EQ(back.source_rows, turned.source_rows);
    for (std::size_t t = 0; t + 1 < back.offsets.size(); ++t) {
      std::set<std::pair<std::int64_t, std::int64_t>> one, two;
      for (auto i = back.offsets[t]; i < back.offsets[t + 1]; ++i) {
        const auto at = static_cast<std::size_t>(i);
        one.emplace(back.gather[at], back.scatter[at]);
        two.emplace(turned.gather[at], turned.scatter[at]);
        if (i > back.offsets[t]) {
          EXPECT_LT(back.scatter[at - 1], back.scatter[at]) << "[M-2] ascending, each once";
        }
      }
      EXPECT_EQ(one, two);
      EXPECT_EQ(static_cast<std::int64_t>(one.size()), back.offsets[t + 1] - back.offsets[t]);
    }
  }
}

TEST(KernelMaps, SubmanifoldMapsAreSymmetric) {
  const Batch source = batch_of({box({-2, -2, -2}, {2, 0, 1}), {{7, 8, 7}, {8, 8, 8}}});
  const Kernel kernel{{3, 5, 1}, {1, 1, 1}, {1, 1, 1}};
  const DenseMap map = dense(submanifold_map(source, kernel));
  ASSERT_EQ(map.taps, 15);
  for (std::int64_t t = 0; t < map.taps; ++t)
    for (std::int64_t b = 0; b < map.rows; ++b) {
      const std::int64_t a = map.index[static_cast<std::size_t>(t * map.rows + b)];
      if (a < 0) continue;
      EXPECT_EQ(map.index[static_cast<std::size_t>((map.taps - 1 - t) * map.rows + a)], b);
    }
  EXPECT_EQ(kind_of([&] { submanifold_map(source, cubic(2, 1)); }), ErrorKind::InvalidArgument);
  EXPECT_EQ(kind_of([&] { submanifold_map(source, cubic(3, 2)); }), ErrorKind::InvalidArgument);
}

TEST(KernelMaps, EqualSizesAreNotEqualTargets) {
  const Batch source = batch_of({box({0, 0, 0}, {3, 3, 3})});
  const Batch moved = batch_of({box({1, 0, 0}, {4, 3, 3})});
  const KernelMap onto_itself = kernel_map(source, source, cubic(3, 1), Direction::Forward);
  const KernelMap onto_other = kernel_map(source, moved, cubic(3, 1), Direction::Forward);
  EXPECT_EQ(onto_itself.target_rows, onto_other.target_rows);
  EXPECT_NE(onto_itself, onto_other);
  // K=1: the other has only the overlap.
  EXPECT_EQ(kernel_map(source, moved, cubic(1, 1), Direction::Forward).gather.size(), 48U);
}

TEST(KernelMaps, MembersAndViewsKeepTheirRows) {
  const Batch source = batch_of({{{0, 0, 0}}, {}, {{0, 0, 0}, {0, 0, 1}}});
  const Batch seen = view(source, {2, 2, 1, 0});
  const KernelMap map = kernel_map(seen, seen, cubic(1, 1), Direction::Forward);
  EXPECT_EQ(map.gather, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(map.gather, map.scatter);
  EXPECT_EQ(kind_of([&] { kernel_map(source, seen, cubic(1, 1), Direction::Forward); }),
            ErrorKind::ShapeMismatch);
}

TEST(KernelMaps, ManyTapsAndRowsAtWordBoundaries) {
  for (const std::int64_t taps : {31, 32, 33, 63, 64, 65, 127, 128})
    for (const int rows : {1, 31, 32, 33, 63, 64, 65, 127, 128, 129}) {
      const Batch line = batch_of({box({0, 0, 0}, {0, 0, rows - 1})});
      const Kernel kernel{{1, 1, taps}, {1, 1, 1}, {1, 1, 1}};
      const KernelMap map = kernel_map(line, line, kernel, Direction::Forward);
      ASSERT_EQ(map.offsets.size(), static_cast<std::size_t>(taps) + 1);
      std::int64_t wanted = 0;
      for (std::int64_t t = 0; t < taps; ++t)
        wanted += std::max<std::int64_t>(0, rows - std::abs(t - (taps - 1) / 2));
      EXPECT_EQ(map.offsets.back(), wanted) << taps << " taps, " << rows << " rows";
    }
  const Batch cube = batch_of({box({-5, -5, -5}, {5, 5, 5})});
  const KernelMap map = kernel_map(cube, cube, cubic(7, 1), Direction::Forward);  // 343 taps
  EXPECT_EQ(map.offsets.back(), 65 * 65 * 65);  // per axis 11 + 2 * (10 + 9 + 8)
}

TEST(KernelMaps, Coverage) {
  const Batch source = batch_of({{{0, 0, 0}, {0, 0, 1}, {5, 5, 5}}});
  const Batch target = batch_of({{{0, 0, 0}, {9, 9, 9}}});
  const KernelMap map = kernel_map(source, target, cubic(3, 1), Direction::Forward);
  const Coverage of_source = source_coverage(map), of_target = target_coverage(map);
  EXPECT_EQ(of_source.degrees, (std::vector<std::int64_t>{1, 1, 0}));
  EXPECT_EQ(of_source.uncovered, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(of_target.degrees, (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(of_target.histogram, (std::vector<std::int64_t>{1, 0, 1}));
  for (const Kernel& kernel : {cubic(3, 2), cubic(4, 3, 2), cubic(1, 1)}) {
    const Batch complete = conv_grid(source, kernel);
    EXPECT_TRUE(target_coverage(kernel_map(source, complete, kernel, Direction::Forward))
                    .uncovered.empty());
  }
}

// [M-6] The second reference counts in the boxes, without a map.
TEST(KernelMaps, BothReferencesCountTheSamePairs) {
  std::mt19937 random(23);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const auto cloud = [&](int n) {
    std::vector<Voxel> voxels;
    const auto at = [&] { return static_cast<std::int32_t>(draw(-9, 9)); };
    for (int i = 0; i < n; ++i) voxels.push_back({at(), at(), at()});
    return voxels;
  };
  for (int round = 0; round < 60; ++round) {
    Kernel kernel;
    for (std::size_t a = 0; a < 3; ++a) {
      kernel.size[a] = draw(1, 6);
      kernel.stride[a] = draw(1, 5);
      kernel.dilation[a] = draw(1, 3);
    }
    const Batch source = batch_of({cloud(80), {}, cloud(20)});
    for (const Direction direction : {Direction::Forward, Direction::Transposed}) {
      for (const Batch& target : {complete_target(source, kernel, direction),
                                  batch_of({cloud(50), cloud(5), cloud(60)}), source}) {
        const KernelMap map = kernel_map(source, target, kernel, direction);
        const auto counted = brute_force::coverage(source, target, kernel, direction);
        ASSERT_EQ(source_coverage(map), counted.source);
        ASSERT_EQ(target_coverage(map), counted.target);
      }
    }
  }
}

}  // namespace
}  // namespace leafproof::reference
