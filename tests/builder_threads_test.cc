// Several builders on several threads, reading the same source batches at once: the same bytes as
// one builder alone, and no data race for the thread sanitizer to find. TBB is not used here, since
// it is not instrumented: builders run serially or on threads of their own.
// label: threads
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "gpu/plan.h"
#include "gpu/result_pool.h"
#include "gpu/strict_builder.h"
#include "gpu/subm_conv.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;

constexpr int kThreads = 4;

/// Runs body(t) on kThreads threads at once.
template <class Body>
void at_once(const Body& body) {
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> team;
  for (int t = 0; t < kThreads; ++t) {
    team.emplace_back([&body, &waiting, t] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      body(t);
    });
  }
  for (std::thread& thread : team) thread.join();
}

/// Every pass of one builder, one after the other.
std::vector<GridBatch> run_all(BatchedBuilder& builder, const Operands& o, int first) {
  const std::size_t n = passes().size();
  std::vector<GridBatch> results(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t p = (i + static_cast<std::size_t>(first)) % n;  // each begins elsewhere
    results[p] = passes()[p].run(builder, o);
  }
  return results;
}

// race: functors in scattered order on four threads a launch, every pass and engine.
TEST(BuilderThreads, LaunchesOnSeveralThreadsGiveTheSameBytes) {
  BuilderOptions serial;
  serial.threads = gpu::Threads::Serial;
  BatchedBuilder alone(serial);
  // Enough lower nodes and leaves that every launch is spread over the threads.
  Members source = rich_members(), other = rich_others();
  for (std::int32_t i = 0; i < 60; ++i) {
    source[1].push_back({i * 130 - 4000, (i % 7) * 140, -(i % 5) * 129});
    other[2].push_back({i * 65 - 2000, (i % 9) * 70, 5});
  }
  for (auto* members : {&source, &other}) {
    for (auto& member : *members) reference::make_canonical(member);
  }
  const Operands o = operands(alone, source, other);
  const std::vector<GridBatch> expected = run_all(alone, o, 0);
  for (const Mode& mode : modes({gpu::Threads::Own})) {
    SCOPED_TRACE(mode.name);
    BatchedBuilder builder(mode.options);
    const std::vector<GridBatch> results = run_all(builder, o, 0);
    for (std::size_t p = 0; p < results.size(); ++p) {
      EXPECT_TRUE(same_bytes(results[p], expected[p])) << passes()[p].name;
    }
  }
}

TEST(BuilderThreads, SeveralBuildersShareTheirSources) {
  BuilderOptions options;
  options.threads = gpu::Threads::Serial;
  BatchedBuilder alone(options);
  const Operands shared = operands(alone, rich_members(), rich_others());
  const std::vector<GridBatch> expected = run_all(alone, shared, 0);
  TestAllocator results(TestAllocator::kPlain);  // one for all of them
  {
    std::vector<std::vector<GridBatch>> found(kThreads);
    at_once([&](int t) {
      BuilderOptions own = options;
      own.engine = t % 2 == 0 ? gpu::Engine::Mask : gpu::Engine::Sort;
      own.scratch_budget = t / 2 == 0 ? 0 : own.scratch_budget;
      own.allocator = results.allocator();
      BatchedBuilder builder(own);
      found[static_cast<std::size_t>(t)] = run_all(builder, shared, 5 * t);
    });
    for (const auto& of_thread : found) {
      for (std::size_t p = 0; p < passes().size(); ++p) {
        EXPECT_TRUE(same_bytes(of_thread[p], expected[p])) << passes()[p].name;
      }
    }
  }
  EXPECT_EQ(results.live_blocks(), 0);
  EXPECT_EQ(results.overruns(), 0);
}

// Handles and views of one batch are copied, read and let go on every thread; the last frees it.
TEST(BuilderThreads, HandlesAreSharedAndLetGoAnywhere) {
  TestAllocator results(TestAllocator::kPlain);
  {
    BuilderOptions options;
    options.threads = gpu::Threads::Serial;
    options.allocator = results.allocator();
    BatchedBuilder builder(options);
    std::vector<GridBatch> handles(kThreads, build(builder, rich_members()));
    const auto rows = handles[0].voxel_count();
    std::atomic<std::int64_t> read{0};
    at_once([&](int t) {
      GridBatch mine = std::move(handles[static_cast<std::size_t>(t)]);
      for (int round = 0; round < 50; ++round) {
        const std::vector<std::int64_t> picks{t % mine.size(), 0};
        const GridBatch view = mine.view(picks);
        read += view.voxel_count() > 0 ? mine.voxel_count() : 0;
        mine = GridBatch(mine);
      }
    });
    EXPECT_EQ(read, kThreads * 50 * rows);
    handles.clear();
    EXPECT_EQ(results.live_blocks(), 0);
  }
}

// Refusals on one thread are of no concern to another.
TEST(BuilderThreads, RefusalsStayWhereTheyHappen) {
  BuilderOptions options;
  options.threads = gpu::Threads::Own;
  BatchedBuilder alone(options);
  const GridBatch shared = build(alone, {{{0, 0, 0}, {INT32_MAX, 0, 0}}, {{1, 2, 3}}});
  const GridBatch expected = alone.coarsen(shared, {2, 2, 2});
  std::vector<int> refused(kThreads, 0), right(kThreads, 0);
  at_once([&](int t) {
    const auto i = static_cast<std::size_t>(t);
    BatchedBuilder builder(options);
    for (int round = 0; round < 10; ++round) {
      try {
        builder.dual(shared);
      } catch (const gpu::Error& error) {
        refused[i] += error.kind() == gpu::ErrorKind::OutOfRange && error.member() == 0;
      }
      right[i] += static_cast<bool>(same_bytes(builder.coarsen(shared, {2, 2, 2}), expected));
    }
  });
  EXPECT_EQ(refused, std::vector<int>(kThreads, 10));
  EXPECT_EQ(right, std::vector<int>(kThreads, 10));
}

// A builder a stream, a stream a thread, all at once; sources and results change hands.
TEST(BuilderThreads, SeveralStreamsBuildAtOnce) {
  BuilderOptions options;
  options.threads = gpu::Threads::Serial;
  BatchedBuilder alone(options);
  const GridBatch source = build(alone, rich_members());
  const GridBatch fine = alone.refine(source, {2, 2, 2});
  const GridBatch wide = alone.dilate_box(fine, {-1, -1, -1}, {1, 1, 1});
  std::vector<GridBatch> found(kThreads);
  at_once([&](int t) {
    gpu::StrictOptions own;
    own.order = t % 2 == 0 ? gpu::LaunchOrder::Threads : gpu::LaunchOrder::Shuffled;
    own.engine = t / 2 == 0 ? gpu::Engine::Mask : gpu::Engine::Sort;
    BatchedBuilder builder = gpu::strict_builder(own);
    const GridBatch there = builder.adopt(builder.to_device(source.bytes()), source.bytes().size());
    const GridBatch refined = builder.refine(there, {2, 2, 2});
    found[static_cast<std::size_t>(t)] =
        builder.to_host(builder.dilate_box(refined, {-1, -1, -1}, {1, 1, 1}));
  });
  for (const GridBatch& each : found) EXPECT_TRUE(same_bytes(each, wide));
}

// ---- plans and numbers

std::vector<float> numbers_for(std::int64_t rows, std::int64_t channels, int first) {
  std::vector<float> numbers(static_cast<std::size_t>(rows * channels));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>((static_cast<int>(i) * 7 + first) % 23) / 3;
  }
  return numbers;
}

/// All numbers of one plan: forward, the transposed way, and the gradients.
std::vector<std::vector<float>> numbers_of(const gpu::Plan& plan, gpu::ConvolutionForm form,
                                           gpu::Threads threads) {
  gpu::ConvolutionOptions options;
  options.form = form;
  options.threads = threads;
  const auto& k = plan.geometry().kernel;
  const std::vector<float> weights = numbers_for(k[0] * k[1] * k[2], 2 * 3, 5);
  const auto input = [&](const std::vector<float>& x, std::int64_t cin, std::int64_t cout) {
    return gpu::ConvolutionInput<float>{{x, {static_cast<std::int64_t>(x.size()) / cin, cin}},
                                        {weights, {cout, cin, k[0], k[1], k[2]}},
                                        {}};
  };
  const auto x = numbers_for(plan.source().voxel_count(), 2, 1);
  const auto y = numbers_for(plan.target().voxel_count(), 3, 2);
  std::vector<std::vector<float>> all{plan.convolve(input(x, 2, 3), options),
                                      plan.transposed().convolve(input(y, 3, 2), options)};
  auto gradients = plan.gradients(input(x, 2, 3), {y, {plan.target().voxel_count(), 3}}, options);
  all.insert(all.end(), {gradients.features, gradients.weights, gradients.bias});
  return all;
}

// race: rows of one result on four threads, in both forms.
TEST(BuilderThreads, NumbersOnSeveralThreadsAreTheSameBits) {
  BuilderOptions serial;
  serial.threads = gpu::Threads::Serial;
  BatchedBuilder alone(serial);
  const GridBatch source = build(alone, rich_members());
  for (const gpu::ConvGeometry& geometry :
       {gpu::ConvGeometry{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}}, {{2, 3, 1}, {2, 2, 1}, {1, 1, 2}}}) {
    const gpu::Plan plan = gpu::Plan::build(alone, source, geometry);
    for (const auto form : {gpu::ConvolutionForm::PerTap, gpu::ConvolutionForm::Chunked}) {
      EXPECT_EQ(numbers_of(plan, form, gpu::Threads::Own),
                numbers_of(plan, form, gpu::Threads::Serial));
    }
  }
}

// One cache, builders of their own: plans that are asked for at once, let go of and built again,
// names that are checked, and numbers over what another thread built.
TEST(BuilderThreads, SeveralThreadsShareACacheOfPlans) {
  BuilderOptions options;
  options.threads = gpu::Threads::Serial;
  BatchedBuilder alone(options);
  const GridBatch source = build(alone, rich_members());
  const gpu::ConvGeometry geometries[] = {{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
                                          {{2, 2, 2}, {2, 2, 2}, {1, 1, 1}},
                                          {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}};
  const auto form = gpu::ConvolutionForm::PerTap;
  const auto serial = gpu::Threads::Serial;
  std::vector<std::vector<std::vector<float>>> expected;
  for (const auto& geometry : geometries) {
    expected.push_back(numbers_of(gpu::Plan::build(alone, source, geometry), form, serial));
  }
  gpu::PlanCache cache(2);  // one less than there are
  cache.get_named("taken", alone, source, geometries[0]);
  constexpr int kRounds = 12;
  std::vector<int> right(kThreads, 0), refused(kThreads, 0);
  at_once([&](int t) {
    const auto mine = static_cast<std::size_t>(t);
    BatchedBuilder builder(options);
    for (int round = 0; round < kRounds; ++round) {
      const auto g = static_cast<std::size_t>(round + t) % 3;
      const gpu::Plan plan = cache.get(builder, source, geometries[g]);
      right[mine] += numbers_of(plan, form, serial) == expected[g];
      cache.get_named("level " + std::to_string(g), builder, source, geometries[g]);
      try {
        cache.get_named("taken", builder, source, geometries[1]);
      } catch (const gpu::Error& error) {
        refused[mine] += error.kind() == gpu::ErrorKind::InvalidArgument;
      }
    }
  });
  EXPECT_EQ(right, std::vector<int>(kThreads, kRounds));
  EXPECT_EQ(refused, right);
  EXPECT_LE(cache.size(), 2U);
  EXPECT_GE(cache.hits() + cache.misses(), std::int64_t{kThreads} * kRounds * 2);
}

// Layers share a cache, and the map of a batch is built by whoever comes first.
TEST(BuilderThreads, LayersOnSeveralThreadsShareTheirMaps) {
  BuilderOptions options;
  options.threads = gpu::Threads::Serial;
  BatchedBuilder alone(options);
  const GridBatch grid = build(alone, rich_members());
  const auto plans = std::make_shared<gpu::PlanCache>();
  gpu::SubMConv3dOptions layer_options;
  layer_options.convolution.threads = gpu::Threads::Serial;
  const gpu::SubMConv3d<float> layer(2, 3, layer_options, plans);
  const auto x = numbers_for(grid.voxel_count(), 2, 3);
  const gpu::Tensor<float> features{x, {grid.voxel_count(), 2}};
  const auto expected = layer.forward(alone, grid, features);
  plans->clear();
  std::vector<std::vector<float>> found(kThreads);
  at_once([&](int t) {
    BatchedBuilder builder(options);
    found[static_cast<std::size_t>(t)] = layer.forward(builder, grid, features);
  });
  for (const auto& of_thread : found) EXPECT_EQ(of_thread, expected);
}

// Builders of one thread each share a pool; results are released on other threads than they were
// built on.
TEST(BuilderThreads, SharedPool) {
  gpu::ResultPool pool;
  const Members few{{{0, 0, 0}, {7, 8, 9}}, {}, {{-1, 2, 130}}};
  BuilderOptions serial;
  serial.threads = gpu::Threads::Serial;
  BatchedBuilder plain(serial);
  const GridBatch source = build(plain, few);
  const GridBatch refined = plain.refine(source, {2, 2, 2});
  const GridBatch dilated = plain.dilate_box(source, {-1, -1, -1}, {1, 1, 1});
  std::vector<GridBatch> handed_on(4);
  std::vector<std::mutex> locks(handed_on.size());
  std::atomic<std::int64_t> different{0};
  at_once([&](int t) {
    BuilderOptions options = serial;
    options.allocator = pool.allocator();
    BatchedBuilder builder(options);
    for (std::size_t round = 0; round < 40; ++round) {
      const bool fine = round % 3 != 0;
      GridBatch made = fine ? builder.refine(source, {2, 2, 2})
                            : builder.dilate_box(source, {-1, -1, -1}, {1, 1, 1});
      if (!same_bytes(made, fine ? refined : dilated)) ++different;
      const std::size_t to = (static_cast<std::size_t>(t) + round) % handed_on.size();
      const std::lock_guard lock(locks[to]);
      handed_on[to] = std::move(made);
    }
  });
  EXPECT_EQ(different, 0);
  handed_on.clear();
  EXPECT_GT(pool.kept(), 0U);
}

}  // namespace
