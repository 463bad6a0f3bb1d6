// Every pass on the strict device, which punishes what a GPU would: the same bytes in every mode,
// no leak, no write beyond an end, typed errors when memory runs out, and work that is ordered by
// the stream alone. And that the device does punish: each of its traps is sprung once.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "gpu/strict_builder.h"
#include "gpu/strict_executor.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;
using gpu::LaunchOrder;
using gpu::Poison;
using gpu::StrictDevice;

std::vector<GridBatch> right_answers() {
  BatchedBuilder builder;
  const Operands o = operands(builder, rich_members(), rich_others());
  std::vector<GridBatch> answers;
  for (const Pass& pass : passes()) answers.push_back(pass.run(builder, o));
  return answers;
}

struct StrictMode {
  std::string name;
  gpu::StrictOptions options;
};

/// Poisons x orders; engines and budgets in turn, so that each meets each poison and each order.
std::vector<StrictMode> strict_modes() {
  std::vector<StrictMode> all;
  const char* const poisons[] = {"zeros", "ones", "random"};
  const char* const orders[] = {"forwards", "backwards", "shuffled", "threads"};
  for (int poison = 0; poison < 3; ++poison) {
    for (int order = 0; order < 4; ++order) {
      for (int turn = 0; turn < 2; ++turn) {
        const bool sorted = (poison + order + turn) % 2 == 1, counted = (order + turn) % 4 < 2;
        StrictMode mode;
        mode.name = std::string(poisons[poison]) + ", " + orders[order] +
                    (sorted ? ", sort" : ", mask") + (counted ? ", counted" : "");
        mode.options.poison = static_cast<Poison>(poison);
        mode.options.order = static_cast<LaunchOrder>(order);
        mode.options.engine = sorted ? gpu::Engine::Sort : gpu::Engine::Mask;
        if (counted) mode.options.scratch_budget = 0;
        all.push_back(std::move(mode));
      }
    }
  }
  return all;
}

TEST(BuilderStrict, EveryPassGivesTheSameBytesInEveryMode) {
  const std::vector<GridBatch> right = right_answers();
  for (const StrictMode& mode : strict_modes()) {
    SCOPED_TRACE(mode.name);
    const auto device = std::make_shared<StrictDevice>(mode.options);
    {
      BatchedBuilder builder = strict_builder(device, mode.options);
      const Operands o = operands(builder, rich_members(), rich_others());
      for (std::size_t p = 0; p < passes().size(); ++p) {
        const GridBatch result = passes()[p].run(builder, o);
        EXPECT_LE(builder.costs().synchronisations, 2) << passes()[p].name;
        EXPECT_TRUE(same_bytes(builder.to_host(result), right[p])) << passes()[p].name;
      }
    }
    device->synchronise();
    EXPECT_EQ(device->live_blocks(), 0);
    EXPECT_EQ(device->overruns(), 0);
  }
}

// alloc-fails: scratch and results alike.
TEST(BuilderStrict, EveryAllocationMayFail) {
  std::int64_t failures = 0;
  for (const auto engine : {gpu::Engine::Mask, gpu::Engine::Sort}) {
    gpu::StrictOptions options;
    options.engine = engine;
    std::int64_t before = 0;  // allocations that the operands take
    {
      const auto device = std::make_shared<StrictDevice>(options);
      BatchedBuilder builder = strict_builder(device, options);
      operands(builder, rich_members(), rich_others());
      before = device->allocations();
    }
    for (const Pass& pass : passes()) {
      SCOPED_TRACE(pass.name);
      bool failed = true;
      for (std::int64_t n = 1; failed; ++n) {
        ASSERT_LT(n, 200) << "never succeeds";
        options.failing_allocation = before + n;
        const auto device = std::make_shared<StrictDevice>(options);
        {
          BatchedBuilder builder = strict_builder(device, options);
          const Operands o = operands(builder, rich_members(), rich_others());
          try {
            pass.run(builder, o);
            failed = false;
          } catch (const gpu::Error& error) {
            EXPECT_EQ(error.kind(), gpu::ErrorKind::OutOfMemory) << error.what();
            ++failures;
          }
        }
        device->synchronise();
        EXPECT_EQ(device->live_blocks(), 0) << "allocation " << n;
        EXPECT_EQ(device->overruns(), 0) << "allocation " << n;
      }
    }
  }
  EXPECT_GT(failures, 500);  // that the loop above met allocations at all
}

// A foreign buffer in device memory is adopted there.
TEST(BuilderStrict, AdoptsWhereTheBufferIs) {
  BatchedBuilder host;
  const GridBatch made = build(host, rich_members());
  BatchedBuilder strict = gpu::strict_builder();
  const GridBatch adopted = strict.adopt(strict.to_device(made.bytes()), made.bytes().size());
  EXPECT_EQ(strict.costs().synchronisations, 3);
  EXPECT_EQ(members(strict.to_host(adopted)), rich_members());
  const GridBatch dual = strict.dual(adopted);
  EXPECT_TRUE(same_bytes(strict.to_host(dual), host.dual(made)));

  std::vector<std::byte> broken(made.bytes().begin(), made.bytes().end());
  broken[static_cast<std::size_t>(made.member(3).offset + made.member(3).leaves_at) + 16] ^=
      std::byte{4};  // a bit of the first leaf of member 3
  const auto error = refusal(gpu::ErrorKind::Corrupt,
                             [&] { strict.adopt(strict.to_device(broken), broken.size()); });
  EXPECT_EQ(error->member(), 3);
}

// A copy on the host is a batch of its own: what its tables point to lies in the copy.
TEST(BuilderStrict, CopiesToTheHostWhole) {
  BatchedBuilder host;
  const GridBatch made = build(host, rich_members());
  BatchedBuilder strict = gpu::strict_builder();
  const GridBatch copy = strict.to_host(build(strict, rich_members()));
  EXPECT_TRUE(same_bytes(copy, made));
  const auto& tables = copy.storage()->metadata;
  const auto& expected = made.storage()->metadata;
  for (std::size_t m = 0; m <= rich_members().size(); ++m) {
    EXPECT_EQ(tables.voxel_offsets[m], expected.voxel_offsets[m]) << m;
    EXPECT_EQ(tables.leaf_offsets[m], expected.leaf_offsets[m]) << m;
  }
  EXPECT_TRUE(same_bytes(host.dual(copy), host.dual(made)));
  EXPECT_TRUE(host.to_host(made).is(made));  // it is there already
  strict.to_host(build(strict, {}));
  EXPECT_EQ(strict.to_host(GridBatch()).size(), 0);
}

// What a caller enqueued before a build is seen by it, though it has not run yet.
TEST(BuilderStrict, FollowsTheWorkOnItsStream) {
  gpu::StrictOptions options;
  const auto device = std::make_shared<StrictDevice>(options);
  BatchedBuilder builder = strict_builder(device, options);
  const Members wanted{{{1, 2, 3}, {-4, 5, 6}}, {}, {{7, 8, 9}}};
  const Lists lists(wanted);
  const auto ijk = device->allocate(lists.ijk.size() * sizeof(std::int32_t));
  device->enqueue([&lists, to = ijk.get()] {
    std::memcpy(to, lists.ijk.data(), lists.ijk.size() * sizeof(std::int32_t));
  });
  const std::span<const std::int32_t> there{reinterpret_cast<const std::int32_t*>(ijk.get()),
                                            lists.ijk.size()};
  const GridBatch made = builder.from_ijk({there, lists.offsets});
  const GridBatch twice = builder.coarsen(builder.refine(made, {3, 3, 3}), {3, 3, 3});
  BatchedBuilder host;
  EXPECT_TRUE(same_bytes(builder.to_host(twice), build(host, wanted)));
}

// Dropped while work on it waits: freed after that work, not before.
TEST(BuilderStrict, FreesInTheOrderOfTheStream) {
  const auto device = std::make_shared<StrictDevice>(gpu::StrictBehaviour{});
  int seen = 0;
  {
    const auto block = device->allocate(4);
    device->enqueue([p = block.get()] { *p = std::byte{7}; });
    device->enqueue([p = block.get(), &seen] { seen = static_cast<int>(*p); });
  }
  EXPECT_EQ(device->live_blocks(), 1);
  device->synchronise();
  EXPECT_EQ(seen, 7);
  EXPECT_EQ(device->live_blocks(), 0);
}

// ---- the traps

TEST(StrictDeviceDeathTest, AHostDereferenceDies) {
  const auto device = std::make_shared<StrictDevice>(gpu::StrictBehaviour{});
  const auto block = device->allocate(100);
  const volatile std::byte* p = block.get();
  EXPECT_DEATH(static_cast<void>(*p), "");
  BatchedBuilder builder = strict_builder(device, {});
  const GridBatch made = build(builder, rich_members());
  EXPECT_DEATH(static_cast<void>(voxels(made, 0)), "");
}

TEST(StrictDeviceDeathTest, AWriteBeyondTheGuardDies) {
  const auto device = std::make_shared<StrictDevice>(gpu::StrictBehaviour{});
  const auto block = device->allocate(256);
  EXPECT_DEATH(device->elsewhere([p = block.get()] { p[256] = std::byte{1}; }), "");
}

TEST(StrictDevice, AWriteIntoTheMarginIsCounted) {
  const auto device = std::make_shared<StrictDevice>(gpu::StrictBehaviour{});
  for (const std::ptrdiff_t at : {100, -1}) {
    const std::int64_t before = device->overruns();
    const auto block = device->allocate(100);
    device->elsewhere([p = block.get(), at] { p[at] = std::byte{1}; });
    device->enqueue([] {});
    const_cast<std::shared_ptr<std::byte>&>(block).reset();
    device->synchronise();
    EXPECT_EQ(device->overruns(), before + 1) << "byte " << at;
  }
}

TEST(StrictDevice, WorkOnAnotherStreamFindsPoison) {
  for (const auto poison : {Poison::Zeros, Poison::Ones}) {
    gpu::StrictBehaviour behaviour;
    behaviour.poison = poison;
    const auto device = std::make_shared<StrictDevice>(behaviour);
    const auto block = device->allocate(1);
    int elsewhere = -1, after = -1;
    device->enqueue([p = block.get()] { *p = std::byte{42}; });
    device->elsewhere([p = block.get(), &elsewhere] { elsewhere = static_cast<int>(*p); });
    device->enqueue([p = block.get(), &after] { after = static_cast<int>(*p); });
    device->synchronise();
    EXPECT_EQ(elsewhere, poison == Poison::Zeros ? 0 : 0xFF);
    EXPECT_EQ(after, 42);
  }
}

TEST(StrictDevice, EveryOrderVisitsEachIndexOnce) {
  for (const auto order : {LaunchOrder::Forwards, LaunchOrder::Backwards, LaunchOrder::Shuffled,
                           LaunchOrder::Threads}) {
    for (const std::int64_t n : {0, 1, 2, 3, 7, 64, 1000, 4096}) {
      gpu::StrictBehaviour behaviour;
      behaviour.order = order;
      const auto device = std::make_shared<StrictDevice>(behaviour);
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
      device->run(n, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
      for (const auto& v : visits) ASSERT_EQ(v, 1) << n;
    }
  }
}

// A bound that does not hold would be a launch, or an allocation, that is too small.
TEST(StrictDevice, ACountBeyondItsBoundIsAFault) {
  const auto device = std::make_shared<StrictDevice>(gpu::StrictBehaviour{});
  gpu::StrictExecutor executor(device);
  auto* count = static_cast<std::int64_t*>(executor.scratch_bytes(8));
  const std::int64_t two = 2;
  executor.upload(count, &two, sizeof two);
  executor.for_each_index({1, count}, gpu::concept_check::IndexFunctor{}, 1);
  EXPECT_THROW(device->synchronise(), std::logic_error);
}

}  // namespace
