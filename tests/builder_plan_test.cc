// Plans: what they are made of, what they are kept under, what they refuse; and the submanifold
// layer on top of them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "gpu/plan.h"
#include "gpu/strict_builder.h"
#include "gpu/subm_conv.h"
#include "reference/brute_force_conv.h"
#include "reference/passes.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;
using gpu::ConvGeometry;
using gpu::Direction;
using gpu::ErrorKind;
using gpu::Plan;
using gpu::PlanCache;
using gpu::SubMConv3d;
using gpu::SubMConv3dOptions;
using gpu::TargetPolicy;
using gpu::Tensor;
using gpu::WeightLayout;

const ConvGeometry kDown{{2, 2, 2}, {2, 2, 2}, {1, 1, 1}};
const ConvGeometry kSame{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}};

std::vector<std::int32_t> column(const std::int32_t* rows, std::int64_t n) {
  return {rows, rows + n};
}

TEST(BuilderPlan, HoldsTheMapOfItsBatches) {
  BatchedBuilder builder;
  const GridBatch source = build(builder, rich_members());
  const GridBatch other = build(builder, rich_others());
  for (const Direction direction : {Direction::Forward, Direction::Transposed}) {
    for (const bool complete : {true, false}) {
      const Plan plan = complete ? Plan::build(builder, source, kDown, direction)
                                 : Plan::build(builder, source, kDown, direction, other);
      EXPECT_TRUE(plan.source().is(source));
      EXPECT_EQ(plan.policy(), complete ? TargetPolicy::Complete : TargetPolicy::Restricted);
      if (complete) {
        EXPECT_TRUE(same_bytes(plan.target(), direction == Direction::Forward
                                                  ? builder.conv_grid(source, kDown)
                                                  : builder.conv_transpose_grid(source, kDown)));
      } else {
        EXPECT_TRUE(plan.target().is(other));
      }
      const gpu::KernelMap expected = builder.kernel_map(source, plan.target(), kDown, direction);
      const gpu::KernelMap& map = *plan.map().map();
      EXPECT_EQ(map.offsets(), expected.offsets());
      EXPECT_EQ(column(map.gather(), map.pairs()), column(expected.gather(), expected.pairs()));
      EXPECT_EQ(column(map.scatter(), map.pairs()), column(expected.scatter(), expected.pairs()));

      // [P-2] The columns swapped, of the same memory.
      const Plan back = plan.transposed();
      EXPECT_TRUE(back.source().is(plan.target()) && back.target().is(source));
      EXPECT_NE(back.direction(), direction);
      EXPECT_EQ(back.policy(), TargetPolicy::Restricted);
      EXPECT_EQ(back.map().map()->gather(), map.scatter());
      EXPECT_EQ(back.map().map()->scatter(), map.gather());
      EXPECT_EQ(back.transposed().policy(), plan.policy());
      EXPECT_EQ(back.transposed().map().map()->gather(), map.gather());
    }
  }
}

TEST(BuilderPlan, OwnsWhatItNeeds) {
  std::optional<Plan> plan;
  {
    BatchedBuilder builder;
    plan = Plan::build(builder, build(builder, {{{0, 0, 0}, {1, 0, 0}}}), kDown);
  }
  const std::vector<double> two{1, 2};
  std::vector<double> weights(8, 0.0);
  weights[0] = 10, weights[4] = 100;  // taps (0,0,0) and (1,0,0)
  EXPECT_EQ(plan->convolve<double>({{two, {2, 1}}, {weights, {1, 1, 2, 2, 2}}, {}}),
            (std::vector<double>{210}));
  refusal(ErrorKind::ShapeMismatch,
          [&] { plan->convolve<double>({{two, {2, 1}}, {weights, {1, 1, 8, 1, 1}}, {}}); });
}

// [V-4] The target is the source: no map. One that looks the same is another.
TEST(BuilderPlan, TheIdentityIsTheSourceItself) {
  BatchedBuilder builder;
  const GridBatch source = build(builder, rich_members());
  const GridBatch twin = build(builder, rich_members());
  const std::int64_t all[] = {0, 1, 2, 3, 4}, turned[] = {1, 0, 2, 3, 4};
  const ConvGeometry one{};
  EXPECT_TRUE(Plan::build(builder, source, one).map().is_identity());
  EXPECT_TRUE(Plan::build(builder, source, one, Direction::Transposed).map().is_identity());
  EXPECT_TRUE(Plan::build(builder, source, one, Direction::Forward, source).map().is_identity());
  EXPECT_TRUE(
      Plan::build(builder, source, one, Direction::Forward, source.view(all)).map().is_identity());
  EXPECT_TRUE(Plan::build(builder, source, one).transposed().map().is_identity());
  const Plan general = Plan::build(builder, source, one, Direction::Forward, twin);
  EXPECT_FALSE(general.map().is_identity());
  EXPECT_EQ(general.map().map()->pairs(), source.voxel_count());
  EXPECT_FALSE(Plan::build(builder, source, one, Direction::Forward, source.view(turned))
                   .map()
                   .is_identity());
  EXPECT_FALSE(Plan::build(builder, source, kSame, Direction::Forward, source).map().is_identity());
  EXPECT_FALSE(Plan::build(builder, source, {{1, 1, 1}, {2, 1, 1}, {1, 1, 1}}).map().is_identity());
}

TEST(BuilderPlan, RefusesAtTheIdentityToo) {
  BatchedBuilder builder;
  const GridBatch source = build(builder, {{{0, 0, 0}}});
  auto error = refusal(ErrorKind::Unsupported,
                       [&] { Plan::build(builder, source, {}, Direction::Forward, {}, "warp"); });
  EXPECT_EQ(error->argument(), "backend");
  EXPECT_EQ(error->value(), "warp");
  const ConvGeometry nothing{{0, 1, 1}, {1, 1, 1}, {1, 1, 1}};
  refusal(ErrorKind::InvalidArgument, [&] { Plan::build(builder, source, nothing); });
  const ConvGeometry wide{{1, 1, 1}, {1, 1, 1}, {17, 1, 1}};
  refusal(ErrorKind::Unsupported, [&] { Plan::build(builder, source, wide); });
  const GridBatch two = build(builder, {{}, {}});
  refusal(ErrorKind::ShapeMismatch,
          [&] { Plan::build(builder, source, kDown, Direction::Forward, two); });
  gpu::StrictOptions options;
  const auto device = std::make_shared<gpu::StrictDevice>(options);
  BatchedBuilder strict = strict_builder(device, options);
  error = refusal(ErrorKind::Unsupported,
                  [&] { Plan::build(strict, build(strict, {{{0, 0, 0}}}), {}); });
  EXPECT_EQ(error->argument(), "backend");
  error = refusal(ErrorKind::Unsupported,
                  [&] { Plan::build(builder, source, {}, Direction::Forward, {}, Plan::kDevice); });
  EXPECT_EQ(error->argument(), "backend");
}

// Plans for device memory: all that the host knows of them is the same; numbers are not its own.
TEST(BuilderPlan, StaysWhereTheBuilderWorks) {
  gpu::StrictOptions options;
  const auto device = std::make_shared<gpu::StrictDevice>(options);
  BatchedBuilder strict = strict_builder(device, options);
  const GridBatch source = build(strict, {{{0, 0, 0}, {1, 2, 3}}, {{-5, 0, 9}}});
  const Plan plan = Plan::build(strict, source, kDown, Direction::Forward, {}, Plan::kDevice);
  EXPECT_EQ(plan.backend(), Plan::kDevice);
  EXPECT_FALSE(plan.map().in_host_memory());
  EXPECT_FALSE(plan.transposed().map().in_host_memory());
  EXPECT_EQ(refusal(ErrorKind::Unsupported, [&] { plan.coverage(); })->argument(), "map");

  BatchedBuilder builder;
  const GridBatch here = build(builder, {{{0, 0, 0}, {1, 2, 3}}, {{-5, 0, 9}}});
  const Plan host = Plan::build(builder, here, kDown);
  EXPECT_EQ(plan.map().map()->offsets(), host.map().map()->offsets());
  EXPECT_EQ(plan.map().target_rows(), host.map().target_rows());
}

// [P-3] By the definition, and in the report.
TEST(BuilderPlan, SaysWhichResiduesNoTapReaches) {
  BatchedBuilder builder;
  const GridBatch source = build(builder, {{{0, 0, 0}}});
  for (std::int64_t k = 1; k <= 6; ++k) {
    for (std::int64_t s = 1; s <= 6; ++s) {
      for (std::int64_t d = 1; d <= 4; ++d) {
        const ConvGeometry g{{1, k, 1}, {1, s, 2}, {1, d, 1}};
        std::set<std::int64_t> reached;
        for (std::int64_t t = 0; t < k; ++t) {
          reached.insert(((d * t - d * (k - 1) / 2) % s + s) % s);
        }
        const Plan plan = Plan::build(builder, source, g);
        for (std::int64_t r = 0; r < s; ++r) {
          EXPECT_EQ(plan.missed_residues()[1] >> r & 1, reached.contains(r) ? 0U : 1U);
        }
        EXPECT_EQ(plan.missed_residues()[1] >> s, 0U);
        EXPECT_EQ(plan.missed_residues()[0], 0U);
        EXPECT_EQ(plan.missed_residues()[2], 2U);  // K = 1, S = 2
        EXPECT_FALSE(plan.reaches_every_residue());
      }
    }
  }
  EXPECT_TRUE(Plan::build(builder, source, kDown).reaches_every_residue());
  EXPECT_EQ(Plan::build(builder, source, {{1, 1, 1}, {64, 1, 1}, {1, 1, 1}}).missed_residues()[0],
            ~std::uint64_t{1});
  EXPECT_EQ(Plan::build(builder, source, {{2, 2, 1}, {4, 2, 1}, {1, 1, 1}}).report(),
            "forward, complete target, backend host\n"
            "kernel 2, 2, 1; stride 4, 2, 1; dilation 1, 1, 1\n"
            "1 members, 1 source rows, 1 target rows, 1 pairs of 4 taps\n"
            "no tap reaches the fine voxels whose x is 2, 3 modulo 4 [P-3]\n");
}

// [M-6]
TEST(BuilderPlan, CountsWhatEachRowIsJoinedTo) {
  BatchedBuilder builder;
  const GridBatch source = build(builder, {{{0, 0, 0}, {1, 0, 0}, {9, 9, 9}}, {{0, 0, 1}}});
  const GridBatch target = build(builder, {{{0, 0, 0}}, {{0, 0, 0}, {5, 5, 5}}});
  const auto coverage = Plan::build(builder, source, kDown, Direction::Forward, target).coverage();
  EXPECT_EQ(coverage.source.of_row, (std::vector<std::int64_t>{1, 1, 0, 1}));
  EXPECT_EQ(coverage.source.histogram, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(coverage.source.unjoined, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(coverage.target.of_row, (std::vector<std::int64_t>{2, 1, 0}));
  EXPECT_EQ(coverage.target.histogram, (std::vector<std::int64_t>{1, 1, 1}));
  EXPECT_EQ(coverage.target.unjoined, (std::vector<std::int64_t>{2}));
  const GridBatch rich = build(builder, rich_members());
  EXPECT_TRUE(Plan::build(builder, rich, kDown).coverage().target.unjoined.empty());
  const auto ones = Plan::build(builder, rich, {}).coverage().source;
  EXPECT_EQ(ones.histogram, (std::vector<std::int64_t>{0, rich.voxel_count()}));
  // Of no rows there is no degree, whether by the identity or by a map.
  const GridBatch none = build(builder, {{}, {}});
  EXPECT_TRUE(Plan::build(builder, none, {}).coverage().source.histogram.empty());
  EXPECT_TRUE(Plan::build(builder, none, kDown).coverage().source.histogram.empty());
}

// [M-6] The same degrees as the second reference counts in its boxes, of both sides.
TEST(BuilderPlan, CoverageIsThatOfTheReference) {
  std::mt19937 random(29);
  BatchedBuilder builder;
  for (int round = 0; round < 24; ++round) {
    const ConvGeometry g{random_triple(random, 5), random_triple(random, 4),
                         random_triple(random, 3)};
    const Direction direction = round % 2 == 0 ? Direction::Forward : Direction::Transposed;
    const Members source = cloud(random, 7, 90);
    const GridBatch from = build(builder, source);
    std::optional<GridBatch> given;
    if (round % 3 != 0) given = build(builder, cloud(random, 6, 90));
    const Plan plan = Plan::build(builder, from, g, direction, given);
    const auto expected = brute_force::coverage(
        reference::from_ijk(source), reference::from_ijk(members(plan.target())),
        {g.kernel, g.stride, g.dilation},
        round % 2 == 0 ? reference::Direction::Forward : reference::Direction::Transposed);
    const auto found = plan.coverage(), back = plan.transposed().coverage();
    EXPECT_EQ(found.source.of_row, expected.source.degrees);
    EXPECT_EQ(found.source.histogram, expected.source.histogram);
    EXPECT_EQ(found.target.of_row, expected.target.degrees);
    EXPECT_EQ(found.target.unjoined, expected.target.uncovered);
    EXPECT_EQ(back.source.of_row, expected.target.degrees);
    EXPECT_EQ(back.target.unjoined, expected.source.uncovered);
  }
}

// [P-2] Identities are of storages, not of what is in them, and of selections.
TEST(BuilderPlan, BatchesAreToldApart) {
  BatchedBuilder builder;
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 100; ++i) {  // memory is reused here, numbers are not
    const GridBatch batch = build(builder, {{{0, 0, 0}}});
    EXPECT_TRUE(numbers.insert(batch.identity().storage).second);
    const GridBatch copy = batch;
    EXPECT_EQ(copy.identity(), batch.identity());
    const GridBatch moved = batch.moved_to(batch.storage()->memory);
    EXPECT_TRUE(numbers.insert(moved.identity().storage).second);
  }
  const GridBatch batch = build(builder, {{{0, 0, 0}}, {{1, 0, 0}}});
  const std::int64_t turned[] = {1, 0}, first[] = {1};
  const GridBatch view = batch.view(turned);
  EXPECT_NE(view.identity(), batch.identity());
  EXPECT_EQ(view.view(turned).identity(), batch.identity());
  EXPECT_EQ(view.view(first).identity().selection, (std::vector<std::int64_t>{0}));
  EXPECT_FALSE(view.is(batch));
  EXPECT_TRUE(view.view(turned).is(batch));
  const GridBatch twin = build(builder, {{{0, 0, 0}}, {{1, 0, 0}}});
  EXPECT_FALSE(twin.is(batch));  // the same selection of another storage
}

TEST(BuilderPlanCache, KeepsPlansUnderAllThatDecidesThem) {
  BatchedBuilder builder;
  PlanCache cache;
  const GridBatch source = build(builder, rich_members());
  const GridBatch twin = build(builder, rich_members());
  const GridBatch target = build(builder, rich_others());
  const std::int64_t turned[] = {4, 3, 2, 1, 0};
  const auto map_at = [](const Plan& plan) { return plan.map().map()->gather(); };
  const Plan first = cache.get(builder, source, kSame);
  EXPECT_EQ(map_at(cache.get(builder, source, kSame)), map_at(first));
  EXPECT_TRUE(cache.get(builder, source, kSame).target().is(first.target()));
  EXPECT_EQ(cache.hits(), 2);
  EXPECT_EQ(cache.misses(), 1);

  std::int64_t misses = 1;
  const auto other = [&](const GridBatch& from, const ConvGeometry& geometry,
                         Direction direction = Direction::Forward,
                         const std::optional<GridBatch>& to = {}) {
    EXPECT_NE(map_at(cache.get(builder, from, geometry, direction, to)), map_at(first));
    EXPECT_EQ(cache.misses(), ++misses);
  };
  other(twin, kSame);
  other(source.view(turned), kSame);
  other(source, {{3, 3, 1}, {1, 1, 1}, {1, 1, 1}});
  other(source, {{3, 3, 3}, {1, 1, 2}, {1, 1, 1}});
  other(source, {{3, 3, 3}, {1, 1, 1}, {1, 2, 1}});
  other(source, kSame, Direction::Transposed);
  other(source, kSame, Direction::Forward, target);
  other(source, kSame, Direction::Forward, source);
  other(source, kSame, Direction::Forward, twin);
  EXPECT_EQ(cache.hits(), 2);
  EXPECT_EQ(cache.size(), 10U);
  refusal(ErrorKind::Unsupported,
          [&] { cache.get(builder, source, kSame, Direction::Forward, {}, "warp"); });
  EXPECT_EQ(cache.size(), 10U);
  cache.clear();
  EXPECT_EQ(cache.size(), 0U);
}

TEST(BuilderPlanCache, LetsGoOfTheLeastRecentlyUsed) {
  BatchedBuilder builder;
  PlanCache cache(2);
  const GridBatch source = build(builder, {{{0, 0, 0}}});
  const auto get = [&](std::int64_t k) {
    const std::int64_t before = cache.hits();
    cache.get(builder, source, {{k, 1, 1}, {1, 1, 1}, {1, 1, 1}});
    EXPECT_LE(cache.size(), 2U);
    return cache.hits() > before;
  };
  EXPECT_FALSE(get(2));
  EXPECT_FALSE(get(3));
  EXPECT_TRUE(get(2));
  EXPECT_FALSE(get(4));  // 3 goes
  EXPECT_TRUE(get(2));
  EXPECT_FALSE(get(3));
  EXPECT_FALSE(get(4));
  EXPECT_EQ(refusal(ErrorKind::InvalidArgument, [] { PlanCache none(0); })->argument(), "capacity");
}

TEST(BuilderPlanCache, ANameStandsForOnePlan) {
  BatchedBuilder builder;
  PlanCache cache(1);
  const GridBatch source = build(builder, rich_members());
  const GridBatch twin = build(builder, rich_members());
  const Direction forward = Direction::Forward;
  cache.get_named("down", builder, source, kDown);
  cache.get_named("down", builder, source, kDown);
  EXPECT_EQ(cache.hits(), 1);
  const auto refused = [&](const char* what, const auto& call) {
    const auto error = refusal(ErrorKind::InvalidArgument, call);
    EXPECT_EQ(error->argument(), "name");
    EXPECT_EQ(error->value(), "down");
    EXPECT_EQ(error->reason(), std::string("stands for a plan with another ") + what);
  };
  refused("kernel", [&] { cache.get_named("down", builder, source, kSame); });
  refused("source", [&] { cache.get_named("down", builder, twin, kDown); });
  refused("target", [&] { cache.get_named("down", builder, source, kDown, forward, twin); });
  refused("direction",
          [&] { cache.get_named("down", builder, source, kDown, Direction::Transposed); });
  cache.get_named("up", builder, source, kSame);  // "down" is let go, its name is not
  refused("source", [&] { cache.get_named("down", builder, twin, kDown); });
  cache.get_named("down", builder, source, kDown);
  cache.forget_names();
  EXPECT_TRUE(cache.get_named("down", builder, twin, kDown).source().is(twin));
}

TEST(BuilderPlanCache, IsSafeFromSeveralThreads) {
  BatchedBuilder builder;
  PlanCache cache(3);
  const GridBatch source = build(builder, rich_members());
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t) {
    team.emplace_back([&, t] {
      BuilderOptions options;
      options.threads = gpu::Threads::Serial;
      BatchedBuilder mine(options);
      for (int i = 0; i < 40; ++i) {
        const std::int64_t k = (i * (t + 1)) % 4 + 1;
        const Plan plan =
            cache.get_named(std::to_string(k), mine, source, {{k, 2, 1}, {2, 1, 1}, {1, 1, 1}});
        EXPECT_EQ(plan.geometry().kernel[0], k);
        EXPECT_EQ(plan.map().source_rows(), source.voxel_count());
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  EXPECT_EQ(cache.hits() + cache.misses(), 160);
  EXPECT_LE(cache.size(), 3U);
}

// ---- the layer

TEST(SubMConv, EqualsLoopsOverNeighbours) {
  BatchedBuilder builder;
  const Members members = rich_members();
  const GridBatch grid = build(builder, members);
  SubMConv3dOptions options;
  options.kernel = {3, 1, 3};
  SubMConv3d<double> layer(2, 3, options);
  std::mt19937 random(21);
  const auto whole = [&](std::int64_t n) {
    std::vector<double> numbers(static_cast<std::size_t>(n));
    for (double& x : numbers) x = static_cast<double>(random() % 19) - 9;
    return numbers;
  };
  const auto weights = whole(9 * 2 * 3), bias = whole(3), features = whole(grid.voxel_count() * 2);
  layer.set_weights({weights, {9, 2, 3}}, WeightLayout::TapInOut);
  layer.set_bias({bias, {3}});
  EXPECT_EQ(layer.weights(WeightLayout::TapInOut), weights);

  std::vector<double> expected;
  std::size_t first = 0;
  for (const auto& member : members) {
    std::map<std::array<std::int64_t, 3>, std::size_t> rows;
    for (const Voxel& v : member) rows.emplace(std::array<std::int64_t, 3>{v.x, v.y, v.z}, first++);
    for (const Voxel& v : member) {
      for (std::size_t co = 0; co < 3; ++co) {
        double sum = bias[co];
        for (std::int64_t x = -1; x <= 1; ++x) {
          for (std::int64_t z = -1; z <= 1; ++z) {
            const auto found = rows.find({v.x + x, v.y, v.z + z});
            if (found == rows.end()) continue;
            const auto tap = static_cast<std::size_t>((x + 1) * 3 + z + 1);
            for (std::size_t ci = 0; ci < 2; ++ci) {
              sum += features[found->second * 2 + ci] * weights[(tap * 2 + ci) * 3 + co];
            }
          }
        }
        expected.push_back(sum);
      }
    }
  }
  const Tensor<double> input{features, {grid.voxel_count(), 2}};
  EXPECT_EQ(layer.forward(builder, grid, input), expected);
  // Other features, the same map; the other layout, the same weights.
  EXPECT_EQ(layer.forward(builder, grid, input), expected);
  EXPECT_EQ(layer.plans().misses(), 1);
  EXPECT_EQ(layer.plans().hits(), 1);
  const auto turned = layer.weights(WeightLayout::OutInXyz);
  layer.set_weights({turned, {3, 2, 3, 1, 3}}, WeightLayout::OutInXyz);
  EXPECT_EQ(layer.forward(builder, grid, input), expected);
  EXPECT_EQ(layer.weights(WeightLayout::TapInOut), weights);
  const auto gradients = layer.backward(builder, grid, input, {expected, {grid.voxel_count(), 3}});
  EXPECT_EQ(gradients.weights.size(), weights.size());
  EXPECT_EQ(gradients.features.size(), features.size());
}

TEST(SubMConv, LayersMayShareTheirMaps) {
  BatchedBuilder builder;
  const GridBatch grid = build(builder, {{{0, 0, 0}, {0, 0, 1}}});
  const auto plans = std::make_shared<PlanCache>();
  const SubMConv3d<float> a(1, 2, {}, plans), b(2, 1, {}, plans);
  const std::vector<float> ones(2, 1.0F);
  const auto middle = a.forward(builder, grid, {ones, {2, 1}});
  EXPECT_EQ(b.forward(builder, grid, {middle, {2, 2}}).size(), 2U);
  EXPECT_EQ(plans->misses(), 1);
  EXPECT_EQ(plans->hits(), 1);
}

TEST(SubMConv, OneTapAndNoRows) {
  BatchedBuilder builder;
  SubMConv3dOptions options;
  options.kernel = {1, 1, 1};
  options.bias = false;
  SubMConv3d<float> layer(2, 1, options);
  EXPECT_TRUE(layer.bias().empty());
  const std::vector<float> weights{10, 1}, features{1, 2, 3, 4};
  layer.set_weights({weights, {1, 2, 1}}, WeightLayout::TapInOut);
  const GridBatch grid = build(builder, {{{5, 5, 5}}, {}, {{5, 5, 5}}});
  EXPECT_EQ(layer.forward(builder, grid, {features, {2, 2}}), (std::vector<float>{12, 34}));
  for (const GridBatch& empty : {build(builder, {{}, {}}), GridBatch()}) {
    EXPECT_TRUE(layer.forward(builder, empty, {{}, {0, 2}}).empty());
    EXPECT_TRUE(SubMConv3d<float>(2, 3).forward(builder, empty, {{}, {0, 2}}).empty());
  }
}

TEST(SubMConv, IsInitialisedUniformly) {
  SubMConv3dOptions options;
  options.seed = 7;
  const SubMConv3d<double> layer(4, 16, options), same(4, 16, options);
  const double bound = 1 / std::sqrt(4.0 * 27);
  const auto weights = layer.weights(WeightLayout::OutInXyz);
  EXPECT_EQ(weights, same.weights(WeightLayout::OutInXyz));
  std::array<int, 4> quarters{};
  for (const double w : weights) {
    ASSERT_TRUE(w >= -bound && w < bound) << w;
    ++quarters[static_cast<std::size_t>((w + bound) / bound * 2)];
  }
  for (const int n : quarters) EXPECT_NEAR(n, 432, 90);  // 5 deviations of 18
  EXPECT_EQ(std::vector<double>(layer.bias().begin(), layer.bias().end()),
            std::vector<double>(16, 0.0));
  options.seed = 8;
  EXPECT_NE(weights, SubMConv3d<double>(4, 16, options).weights(WeightLayout::OutInXyz));
}

TEST(SubMConv, RefusesWhatDoesNotFit) {
  const auto made = [](ErrorKind kind, std::int64_t cin, std::int64_t cout,
                       const SubMConv3dOptions& options, const char* argument) {
    EXPECT_EQ(refusal(kind, [&] { SubMConv3d<float>(cin, cout, options); })->argument(), argument);
  };
  SubMConv3dOptions options;
  made(ErrorKind::InvalidArgument, 0, 1, options, "cin");
  made(ErrorKind::InvalidArgument, 1, -1, options, "cout");
  options.kernel = {3, 2, 3};
  made(ErrorKind::InvalidArgument, 1, 1, options, "kernel");
  options.kernel = {129, 1, 1};
  made(ErrorKind::Unsupported, 1, 1, options, "kernel");
  options.kernel = {3, 3, 3};
  options.bias = false;
  SubMConv3d<float> layer(2, 3, options);
  const std::vector<float> numbers(162);
  const auto refused = [&](ErrorKind kind, const char* reason, const auto& call) {
    EXPECT_EQ(refusal(kind, call)->reason(), reason);
  };
  refused(ErrorKind::ShapeMismatch, "must be [27][2][3]",
          [&] { layer.set_weights({numbers, {27, 3, 2}}, WeightLayout::TapInOut); });
  refused(ErrorKind::ShapeMismatch, "must be [3][2][3][3][3]",
          [&] { layer.set_weights({numbers, {27, 2, 3}}, WeightLayout::OutInXyz); });
  refused(ErrorKind::ShapeMismatch, "has 161 numbers", [&] {
    layer.set_weights({std::span(numbers).first(161), {27, 2, 3}}, WeightLayout::TapInOut);
  });
  refused(ErrorKind::InvalidArgument, "the layer has no bias",
          [&] { layer.set_bias({std::span(numbers).first(3), {3}}); });
  BatchedBuilder builder;
  const GridBatch grid = build(builder, {{{0, 0, 0}}});
  refused(ErrorKind::ShapeMismatch, "must be [1][2]",
          [&] { layer.forward(builder, grid, {std::span(numbers).first(4), {2, 2}}); });
}

}  // namespace
