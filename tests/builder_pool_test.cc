// The pool of results: what it hands out as zeros is zero, whatever was built in it before; results
// in it have the bytes that they have anywhere; it keeps no more than it may, and ends when its
// last result does.
// label: threads
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "gpu/result_pool.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;

/// Stands between a builder and a pool: counts bytes that are handed out as zeros and are not.
struct Watch {
  gpu::Allocator pool;
  std::int64_t blocks = 0, claimed = 0, stale = 0;

  gpu::Allocator allocator() {
    gpu::Allocator watching;
    watching.context = this;
    watching.allocate = [](void* context, std::size_t bytes, bool* zeroed) {
      auto& self = *static_cast<Watch*>(context);
      void* memory = self.pool.allocate(self.pool.context, bytes, zeroed);
      ++self.blocks;
      if (!*zeroed) return memory;
      ++self.claimed;
      const auto* begin = static_cast<const std::byte*>(memory);
      self.stale +=
          std::count_if(begin, begin + bytes, [](std::byte b) { return b != std::byte{}; });
      return memory;
    };
    watching.release = [](void* context, void* memory, std::size_t bytes) {
      auto& self = *static_cast<Watch*>(context);
      self.pool.release(self.pool.context, memory, bytes);
    };
    watching.release_batch = [](void* context, void* memory, std::size_t bytes) {
      auto& self = *static_cast<Watch*>(context);
      self.pool.release_batch(self.pool.context, memory, bytes);
    };
    return watching;
  }
};

TEST(ResultPool, EveryPassLeavesZerosBehindAndHasItsOwnBytes) {
  BatchedBuilder plain;
  const Operands o = operands(plain, rich_members(), rich_others());
  std::vector<GridBatch> expected;
  for (const Pass& pass : passes()) expected.push_back(pass.run(plain, o));
  for (const Mode& mode : modes({gpu::Threads::Tbb})) {
    SCOPED_TRACE(mode.name);
    gpu::ResultPool pool;
    Watch watch{pool.allocator()};
    BuilderOptions options = mode.options;
    options.allocator = watch.allocator();
    BatchedBuilder builder(options);
    std::mt19937_64 random(20'261'130);
    std::vector<GridBatch> held(4);  // results that stay for a while, in the way of the next
    for (int round = 0; round < 150; ++round) {
      const std::size_t p = random() % passes().size();
      GridBatch& place = held[random() % held.size()];
      place = passes()[p].run(builder, o);
      EXPECT_TRUE(same_bytes(place, expected[p])) << passes()[p].name << ", round " << round;
    }
    EXPECT_EQ(watch.stale, 0);
    EXPECT_EQ(watch.claimed, watch.blocks);  // batches alone: always zeros
    EXPECT_GT(watch.blocks, 100);
    held.clear();
    EXPECT_GT(pool.kept(), 0u);
    pool.clear();
    EXPECT_EQ(pool.kept(), 0u);
  }
}

// An allocator that says nothing about its blocks has not said that they are zero.
TEST(Allocators, ThatSayNothingGiveNoZeros) {
  gpu::Allocator silent;
  silent.allocate = [](void*, std::size_t bytes, bool*) {
    void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (memory != nullptr) std::memset(memory, 0xEE, bytes);
    return memory;
  };
  silent.release = [](void*, void* memory, std::size_t) { std::free(memory); };
  BuilderOptions options;
  options.allocator = options.scratch = silent;
  BatchedBuilder plain, builder(options);
  const Operands expected = operands(plain, rich_members(), rich_others());
  const Operands o = operands(builder, rich_members(), rich_others());
  for (const Pass& pass : passes()) {
    EXPECT_TRUE(same_bytes(pass.run(builder, o), pass.run(plain, expected))) << pass.name;
  }
}

// Maps and copies share the pool, are no batches whatever their bytes say, and are never said to be
// zero when they come back.
TEST(ResultPool, OtherMemoryIsKeptAsItIs) {
  gpu::ResultPool pool;
  Watch watch{pool.allocator()};
  BuilderOptions options;
  options.allocator = watch.allocator();
  BatchedBuilder builder(options);
  const Members members = rich_members();
  const GridBatch source = build(builder, members);
  const GridBatch expected = build(*std::make_unique<BatchedBuilder>(), members);
  for (int round = 0; round < 50; ++round) {
    {
      // The bytes of a batch, with noise where none is: an impostor.
      auto copy = builder.to_device(source.bytes());
      std::memset(copy.get() + 1024, 0xEE,
                  std::min<std::size_t>(4096, source.bytes().size() - 1024));
      const auto map = builder.submanifold_map(source, {{3, 3, 3}, {1, 1, 1}, {1, 1, 1}});
    }
    const GridBatch again = build(builder, members);
    EXPECT_TRUE(same_bytes(again, expected)) << "round " << round;
  }
  EXPECT_EQ(watch.stale, 0);
  EXPECT_LT(watch.claimed, watch.blocks);
}

TEST(ResultPool, KeepsNoMoreThanItMay) {
  TestAllocator below;
  {
    gpu::ResultPool pool(1 << 20, below.allocator());
    gpu::Allocator allocator = pool.allocator();
    std::vector<std::pair<void*, std::size_t>> blocks;
    bool zeroed = false;
    for (std::size_t i = 1; i <= 40; ++i) {
      const std::size_t bytes = i * 10'000;
      void* memory = allocator.allocate(allocator.context, bytes, &zeroed);
      ASSERT_NE(memory, nullptr);
      EXPECT_TRUE(zeroed);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 32, 0u);
      std::memset(memory, 0xFF, bytes);
      blocks.emplace_back(memory, bytes);
    }
    for (const auto& [memory, bytes] : blocks) {
      allocator.release(allocator.context, memory, bytes);
      EXPECT_LE(pool.kept(), std::size_t{1} << 20);
    }
    EXPECT_GT(pool.kept(), 0u);
    // Half of a block is not wasted on a small one.
    void* small = allocator.allocate(allocator.context, 100, &zeroed);
    EXPECT_TRUE(zeroed);
    allocator.release(allocator.context, small, 100);
  }
  EXPECT_EQ(below.live_blocks(), 0);
  EXPECT_EQ(below.overruns(), 0);
}

TEST(ResultPool, RefusesWhatItCannotGive) {
  TestAllocator below;
  gpu::ResultPool pool(1 << 20, below.allocator());
  BuilderOptions options;
  options.allocator = pool.allocator();
  BatchedBuilder builder(options);
  below.fail_at(1);
  refusal(gpu::ErrorKind::OutOfMemory, [&] { build(builder, {{{1, 2, 3}}}); });
  EXPECT_EQ(build(builder, {{{1, 2, 3}}}).voxel_count(), 1);
}

TEST(ResultPool, EndsWithItsLastResult) {
  TestAllocator below;
  {
    std::vector<GridBatch> kept;
    {
      gpu::ResultPool pool(1 << 20, below.allocator());
      BuilderOptions options;
      options.allocator = pool.allocator();
      BatchedBuilder builder(options);
      for (int i = 0; i < 3; ++i) kept.push_back(build(builder, {{{i, 2, 3}}, {}}));
    }
    EXPECT_EQ(below.live_blocks(), 3);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(members(kept[static_cast<std::size_t>(i)]), (Members{{{i, 2, 3}}, {}}));
    }
  }
  EXPECT_EQ(below.live_blocks(), 0);
  EXPECT_EQ(below.overruns(), 0);
}

// Builders on several threads, results released on others.
TEST(ResultPool, ServesThreadsAtOnce) {
  gpu::ResultPool pool;
  BatchedBuilder plain;
  const Operands o = operands(plain, rich_members(), rich_others());
  std::vector<GridBatch> expected;
  for (const Pass& pass : passes()) expected.push_back(pass.run(plain, o));
  std::vector<std::int64_t> different(4);
  std::vector<GridBatch> last(4);
  {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < different.size(); ++t) {
      threads.emplace_back([&, t] {
        BuilderOptions options;
        options.allocator = pool.allocator();
        BatchedBuilder builder(options);
        std::mt19937_64 random(t);
        for (int round = 0; round < 60; ++round) {
          const std::size_t p = random() % passes().size();
          last[t] = passes()[p].run(builder, o);
          if (!same_bytes(last[t], expected[p])) ++different[t];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(different, std::vector<std::int64_t>(4));
  last.clear();
  EXPECT_GT(pool.kept(), 0u);
}

}  // namespace
