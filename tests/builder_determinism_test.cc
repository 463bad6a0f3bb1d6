// The batched builder gives the same bytes whatever was in its memory before, whatever it built
// before, and whoever stands beside a member; and its costs that can be counted: synchronisations
// and allocations, the same for every B. The metadata of the same build [G-8].
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;

/// A batch of B members of few voxels, mixed with empty ones and one that spans tiles.
Members small_members(std::int64_t size) {
  Members all;
  for (std::int64_t m = 0; m < size; ++m) {
    all.emplace_back();
    if (m % 5 == 3) continue;
    const auto at = static_cast<std::int32_t>(m % 7) * 9 - 30;
    for (std::int32_t i = 0; i <= m % 3; ++i) all.back().push_back({at + i, at - i, at});
    if (m == 2) all.back().push_back({4096, 4095, -1});
    all.back() = canonical(all.back());
  }
  return all;
}

/// The device's own copies of the metadata, as numbers.
std::vector<std::byte> metadata_bytes(const GridBatch& batch) {
  const auto& at = batch.storage()->metadata;
  std::vector<std::byte> all;
  const auto add = [&all](const auto* from, std::int64_t n) {
    const auto* bytes = reinterpret_cast<const std::byte*>(from);
    if (n > 0) all.insert(all.end(), bytes, bytes + n * static_cast<std::int64_t>(sizeof *from));
  };
  const std::int64_t b = batch.size();
  if (b == 0) return all;
  add(at.voxel_offsets, b + 1);
  add(at.leaf_offsets, b + 1);
  add(at.leaf_member, batch.leaf_count());
  add(at.voxel_counts, b);
  add(at.boxes, 6 * b);
  add(at.voxel_sizes, 3 * b);
  add(at.origins, 3 * b);
  return all;
}

// stale-bytes: results and scratch full of 0x00, 0xFF or noise, never said to be zero.
TEST(BuilderDeterminism, BytesDoNotDependOnWhatMemoryHeld) {
  BatchedBuilder plain;
  const Operands o = operands(plain, rich_members(), rich_others());
  std::vector<std::unique_ptr<TestAllocator>> allocators;  // they outlive what they gave
  std::vector<GridBatch> of_first_mode;
  for (const Mode& mode : modes()) {
    SCOPED_TRACE(mode.name);
    std::vector<GridBatch> first;
    std::vector<std::vector<std::byte>> first_metadata;
    for (const int fill : {0x00, 0xFF, TestAllocator::kNoise}) {
      allocators.push_back(std::make_unique<TestAllocator>(fill));
      TestAllocator& results = *allocators.back();
      TestAllocator scratch(fill);
      {
        BuilderOptions options = mode.options;
        options.allocator = results.allocator();
        options.scratch = scratch.allocator();
        BatchedBuilder builder(options);
        for (std::size_t p = 0; p < passes().size(); ++p) {
          SCOPED_TRACE(passes()[p].name);
          const GridBatch result = passes()[p].run(builder, o);
          if (fill == 0x00) {
            first.push_back(result);
            first_metadata.push_back(metadata_bytes(result));
          } else {
            EXPECT_TRUE(same_bytes(result, first[p])) << "fill " << fill;
            EXPECT_EQ(metadata_bytes(result), first_metadata[p]) << "fill " << fill;
          }
        }
      }
      EXPECT_EQ(scratch.overruns(), 0);
      EXPECT_EQ(scratch.live_blocks(), 0);
      EXPECT_EQ(results.overruns(), 0);
    }
    // And not on the mode.
    if (of_first_mode.empty()) of_first_mode = first;
    for (std::size_t p = 0; p < first.size(); ++p) {
      EXPECT_TRUE(same_bytes(first[p], of_first_mode[p])) << passes()[p].name;
    }
  }
}

// capacity-minus-one: batches whose counts are powers of two, with guard bytes behind each block.
TEST(BuilderDeterminism, NothingIsWrittenBehindABlock) {
  for (const Mode& mode : modes({gpu::Threads::Serial})) {
    SCOPED_TRACE(mode.name);
    for (const std::int32_t n : {1, 2, 16, 64}) {
      TestAllocator results, scratch;
      {
        BuilderOptions options = mode.options;
        options.allocator = results.allocator();
        options.scratch = scratch.allocator();
        BatchedBuilder builder(options);
        Members source(static_cast<std::size_t>(n));
        for (std::int32_t m = 0; m < n; ++m) {
          for (std::int32_t i = 0; i < 512 / n; ++i) {
            source[static_cast<std::size_t>(m)].push_back({i * 8, m, 0});
          }
        }
        const Operands o = operands(builder, source, source);
        for (const Pass& pass : passes()) pass.run(builder, o);
      }
      EXPECT_EQ(results.overruns() + scratch.overruns(), 0) << n;
      EXPECT_EQ(results.live_blocks() + scratch.live_blocks(), 0);
    }
  }
}

// scratch-reused: a large build, then a small one, then the same again, with one builder.
TEST(BuilderDeterminism, AReusedWorkspaceLeavesNoTrace) {
  std::vector<Voxel> cube;
  add_box(cube, {-20, -20, -20}, {20, 20, 20});
  const Members large_members{cube, {}, cube, rich_members()[0]};
  for (const Mode& mode : modes({gpu::Threads::Serial, gpu::Threads::Tbb})) {
    SCOPED_TRACE(mode.name);
    BatchedBuilder fresh(mode.options), reused(mode.options);
    const Operands large = operands(fresh, large_members, large_members);
    const Operands small = operands(fresh, small_members(6), small_members(6));
    for (const Pass& pass : passes()) {
      SCOPED_TRACE(pass.name);
      BatchedBuilder alone(mode.options);
      const GridBatch expected = pass.run(alone, small);
      pass.run(reused, large);
      const GridBatch second = pass.run(reused, small);
      const GridBatch third = pass.run(reused, small);
      EXPECT_TRUE(same_bytes(second, expected));
      EXPECT_TRUE(same_bytes(third, expected));
      EXPECT_EQ(metadata_bytes(third), metadata_bytes(expected));
    }
  }
}

// A second build of the same size allocates no scratch.
TEST(BuilderDeterminism, AWarmWorkspaceAllocatesNothing) {
  BatchedBuilder plain;
  const Operands o = operands(plain, rich_members(), rich_others());
  for (const Mode& mode : modes({gpu::Threads::Serial})) {
    SCOPED_TRACE(mode.name);
    for (const Pass& pass : passes()) {
      TestAllocator scratch;
      BuilderOptions options = mode.options;
      options.scratch = scratch.allocator();
      BatchedBuilder builder(options);
      pass.run(builder, o);
      pass.run(builder, o);  // may gather its blocks into one
      const std::int64_t calls = scratch.calls();
      pass.run(builder, o);
      EXPECT_EQ(scratch.calls(), calls) << pass.name;
    }
  }
}

// hidden-sync, one allocation: at most two, and the same number whatever B is.
TEST(BuilderDeterminism, CostsDoNotGrowWithTheBatch) {
  BatchedBuilder plain;
  for (const Mode& mode : modes({gpu::Threads::Serial})) {
    SCOPED_TRACE(mode.name);
    std::vector<int> synchronisations;
    for (const std::int64_t size : {1, 16, 48, 1000}) {
      const Operands o = operands(plain, small_members(size), small_members(size));
      TestAllocator results(TestAllocator::kPlain);
      {
        BuilderOptions options = mode.options;
        options.allocator = results.allocator();
        BatchedBuilder builder(options);
        for (std::size_t p = 0; p < passes().size(); ++p) {
          const std::int64_t before = results.calls();
          const GridBatch result = passes()[p].run(builder, o);
          EXPECT_EQ(results.calls() - before, 1) << passes()[p].name << ", B = " << size;
          EXPECT_LE(builder.synchronisations(), 2) << passes()[p].name << ", B = " << size;
          if (size == 1) {
            synchronisations.push_back(builder.synchronisations());
          } else {
            EXPECT_EQ(builder.synchronisations(), synchronisations[p])
                << passes()[p].name << ", B = " << size;
          }
        }
      }
      EXPECT_EQ(results.live_blocks(), 0);
    }
  }
}

// [L-3] a member built in a batch equals the same member built alone but for index and count, in
// every pass. (Points and masks: tests/builder_passes_test.cc.)
TEST(BuilderDeterminism, AMemberIsWhatItIsAlone) {
  const auto one = [](const Members& all, std::size_t m) { return Members{all[m]}; };
  in_every_mode([&](BatchedBuilder& builder) {
    const Members source = rich_members(), other = rich_others();
    const GridBatch batch = build(builder, source), second = build(builder, other);
    using Run = std::function<GridBatch(const GridBatch&, const GridBatch&)>;
    const Run runs[] = {
        [&](auto& a, auto&) { return builder.refine(a, {2, 3, 1}); },
        [&](auto& a, auto&) { return builder.coarsen(a, {3, 2, 7}); },
        [&](auto& a, auto&) { return builder.dilate_box(a, {-1, -2, 0}, {3, 0, 1}); },
        [&](auto& a, auto&) { return builder.dilate_box(a, {-12, 0, 0}, {0, 0, 9}); },
        [&](auto& a, auto&) { return builder.dual(a); },
        [&](auto& a, auto&) { return builder.erode_box(a, {0, -1, 0}, {1, 0, 0}); },
        [&](auto& a, auto& b) { return builder.merge(a, b); },
        [&](auto& a, auto& b) { return builder.intersect(a, b); },
        [&](auto& a, auto& b) { return builder.subtract(a, b); },
    };
    for (std::size_t m = 0; m < source.size(); ++m) {
      const GridBatch alone = build(builder, one(source, m)), with = build(builder, one(other, m));
      EXPECT_TRUE(same_member(batch, static_cast<std::int64_t>(m), alone, 0)) << m;
      for (const Run& run : runs) {
        EXPECT_TRUE(
            same_member(run(batch, second), static_cast<std::int64_t>(m), run(alone, with), 0))
            << "member " << m << ", run " << &run - runs;
      }
    }
  });
}

// [G-8] the metadata of the build agree with the grids, and the device's copies with the host's.
TEST(BuilderMetadata, AgreesWithTheGrids) {
  BatchedBuilder plain;
  const Operands o = operands(plain, rich_members(), rich_others());
  in_every_mode([&](BatchedBuilder& builder) {
    for (const Pass& pass : passes()) {
      SCOPED_TRACE(pass.name);
      const GridBatch batch = pass.run(builder, o);
      const auto& device = batch.storage()->metadata;
      std::int64_t rows = 0, leaves = 0;
      std::vector<std::int32_t> leaf_members;
      for (std::int64_t m = 0; m < batch.size(); ++m) {
        const auto& tree = nano(batch, m).tree();
        const gpu::MemberInfo& info = batch.member(m);
        const auto a = static_cast<std::size_t>(m);
        EXPECT_EQ(device.voxel_offsets[m], rows);
        EXPECT_EQ(device.leaf_offsets[m], leaves);
        EXPECT_EQ(batch.voxel_offsets()[a], rows);
        EXPECT_EQ(batch.leaf_offsets()[a], leaves);
        const auto voxels_here = static_cast<std::int64_t>(voxels(batch, m).size());
        EXPECT_EQ(device.voxel_counts[m], voxels_here);
        EXPECT_EQ(info.voxels, voxels_here);
        EXPECT_EQ(static_cast<std::int64_t>(tree.activeVoxelCount()), voxels_here);
        const nanovdb::CoordBBox box = nano(batch, m).indexBBox();
        for (int i = 0; i < 3; ++i) {
          const auto axis = static_cast<std::size_t>(i);
          EXPECT_EQ(device.boxes[6 * m + i], box.min()[i]);
          EXPECT_EQ(device.boxes[6 * m + 3 + i], box.max()[i]);
          if (info.box) {
            EXPECT_EQ(info.box->min[axis], box.min()[i]);
            EXPECT_EQ(info.box->max[axis], box.max()[i]);
          }
          EXPECT_EQ(device.voxel_sizes[3 * m + i], nano(batch, m).data()->mVoxelSize[i]);
          EXPECT_EQ(device.voxel_sizes[3 * m + i], info.map.voxel_size[axis]);
          EXPECT_EQ(device.origins[3 * m + i], nano(batch, m).data()->mMap.mVecD[i]);
          EXPECT_EQ(device.origins[3 * m + i], info.map.origin[axis]);
        }
        EXPECT_EQ(info.box.has_value(), voxels_here > 0);
        rows += voxels_here;
        leaves += tree.nodeCount(0);
        leaf_members.insert(leaf_members.end(), tree.nodeCount(0), static_cast<std::int32_t>(m));
      }
      EXPECT_EQ(device.voxel_offsets[batch.size()], rows);
      EXPECT_EQ(device.leaf_offsets[batch.size()], leaves);
      EXPECT_EQ(batch.voxel_count(), rows);
      EXPECT_EQ(batch.leaf_count(), leaves);
      EXPECT_EQ(batch.leaf_members(), leaf_members);
      EXPECT_TRUE(std::equal(leaf_members.begin(), leaf_members.end(), device.leaf_member));
    }
  });
}

// offset-search, view-physical: rows of a view are its own, a repeated member's rows repeated
// [T-9].
TEST(BuilderMetadata, AViewHasItsOwnRows) {
  BatchedBuilder builder;
  const GridBatch batch = build(builder, rich_members());
  for (const std::vector<std::int64_t>& picks :
       {std::vector<std::int64_t>{1, 1, 0, 4, 0}, {4, 3, 2, 1, 0}, {1}, {2}, {}}) {
    SCOPED_TRACE(testing::PrintToString(picks));
    const GridBatch view = batch.view(picks);
    ASSERT_EQ(view.size(), static_cast<std::int64_t>(picks.size()));
    std::int64_t rows = 0;
    std::vector<std::int32_t> leaf_members;
    for (std::int64_t i = 0; i < view.size(); ++i) {
      const std::int64_t m = picks[static_cast<std::size_t>(i)];
      EXPECT_EQ(view.voxel_offsets()[static_cast<std::size_t>(i)], rows);
      EXPECT_EQ(view.grid(i), batch.grid(m));
      EXPECT_EQ(&view.member(i), &batch.member(m));
      rows += batch.member(m).voxels;
      leaf_members.insert(leaf_members.end(), static_cast<std::size_t>(batch.member(m).leaves),
                          static_cast<std::int32_t>(i));
    }
    EXPECT_EQ(view.voxel_count(), rows);
    EXPECT_EQ(view.leaf_members(), leaf_members);
    // Rebuilt, the device's metadata are the view's.
    const GridBatch own = builder.rebuild(view);
    if (own.size() == 0) continue;
    const auto& device = own.storage()->metadata;
    EXPECT_TRUE(std::equal(leaf_members.begin(), leaf_members.end(), device.leaf_member));
    EXPECT_TRUE(
        std::equal(view.voxel_offsets().begin(), view.voxel_offsets().end(), device.voxel_offsets));
  }
}

}  // namespace
