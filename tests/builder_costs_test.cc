// What a build costs, as the counting executor tells it: launches, allocations, synchronisations
// and scratch do not depend on the number of members but as they must; scratch follows leaves,
// never voxels; and a build that would take more memory than it may is refused before it takes it.
#include <gtest/gtest.h>

#include <array>
#include <tuple>

#include "gpu/strict_builder.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;
using gpu::Costs;

/// Members that have the same boxes, each a few leaves in one root tile.
Members alike(std::int64_t size) {
  Members all(static_cast<std::size_t>(size));
  for (std::size_t m = 0; m < all.size(); ++m) {
    add_box(all[m], {100, 102, 100}, {109, 107, 119});
  }
  return all;
}

using Counts = std::array<std::int64_t, 4>;
Counts counts(const Costs& costs) {
  return {costs.launches, costs.synchronisations, costs.results, costs.scratch_requests};
}

// hidden-sync: the same for 1, 16, 48 and 1000 members, at most two synchronisations.
TEST(BuilderCosts, DoNotGrowWithTheBatch) {
  for (const Mode& mode : modes({gpu::Threads::Serial})) {
    SCOPED_TRACE(mode.name);
    std::vector<Counts> of_one;
    for (const std::int64_t size : {1, 16, 48, 1000}) {
      BatchedBuilder builder(mode.options);
      const Operands o = operands(builder, alike(size), alike(size));
      for (std::size_t p = 0; p < passes().size(); ++p) {
        passes()[p].run(builder, o);
        const Counts found = counts(builder.costs());
        EXPECT_LE(found[1], 2) << passes()[p].name;
        EXPECT_EQ(found[2], 1) << passes()[p].name;
        if (size == 1) of_one.push_back(found);
        EXPECT_EQ(found, of_one[p]) << passes()[p].name << ", B = " << size;
      }
    }
  }
}

// hidden-sync: so of kernel maps, which synchronise once: complete, restricted, in both directions.
TEST(BuilderCosts, OfMapsDoNotGrowWithTheBatch) {
  const gpu::ConvGeometry geometries[] = {{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
                                          {{2, 2, 2}, {2, 2, 2}, {1, 1, 1}},
                                          {{18, 2, 1}, {3, 1, 1}, {2, 1, 1}}};
  for (const auto executor : {0, 1}) {
    for (const gpu::ConvGeometry& g : geometries) {
      std::vector<Counts> of_one;
      for (const std::int64_t size : {1, 16, 48, 1000}) {
        BatchedBuilder builder = executor == 0 ? BatchedBuilder() : gpu::strict_builder();
        const GridBatch source = build(builder, alike(size));
        const GridBatch complete = builder.conv_grid(source, g);
        std::vector<Counts> found;
        const auto count = [&] { found.push_back(counts(builder.costs())); };
        builder.kernel_map(source, complete, g);
        count();
        builder.kernel_map(source, source, g);
        count();
        const auto map = builder.kernel_map(complete, source, g, gpu::Direction::Transposed);
        count();
        for (const Counts& of_map : found) EXPECT_EQ(of_map[1], 1);
        builder.dense_map(map);
        count();
        EXPECT_EQ(found.back()[1], 0);
        if (size == 1) of_one = found;
        EXPECT_EQ(found, of_one) << "B = " << size;
      }
    }
  }
}

// The strict executor is asked for the same as the host's; scratch differs a little, since work is
// dealt out in other pieces.
TEST(BuilderCosts, AreThoseOfTheAlgorithmNotOfTheExecutor) {
  for (const auto engine : {gpu::Engine::Mask, gpu::Engine::Sort}) {
    BuilderOptions options;
    options.engine = engine;
    gpu::StrictOptions strict_options;
    strict_options.engine = engine;
    BatchedBuilder host(options), strict = gpu::strict_builder(strict_options);
    const Operands on_host = operands(host, rich_members(), rich_others());
    const Operands on_device = operands(strict, rich_members(), rich_others());
    for (const Pass& pass : passes()) {
      pass.run(host, on_host);
      pass.run(strict, on_device);
      EXPECT_EQ(counts(host.costs()), counts(strict.costs())) << pass.name;
    }
  }
}

/// Leaves of a block, either full or with two opposite corners alone: the same boxes.
std::vector<Voxel> block(std::int32_t leaves, bool full) {
  std::vector<Voxel> voxels;
  if (full) {
    add_box(voxels, {0, 0, 0}, {8 * leaves - 1, 8 * leaves - 1, 8 * leaves - 1});
    return voxels;
  }
  for (std::int32_t x = 0; x < 8 * leaves; x += 8) {
    for (std::int32_t y = 0; y < 8 * leaves; y += 8) {
      for (std::int32_t z = 0; z < 8 * leaves; z += 8) {
        voxels.push_back({x, y, z});
        voxels.push_back({x + 7, y + 7, z + 7});
      }
    }
  }
  return voxels;
}

// 256 times as many voxels in as many leaves: the same scratch, but where voxels are listed, and
// for an erosion and a kernel with gaps, which have other leaves.
TEST(BuilderCosts, ScratchFollowsLeavesNotVoxels) {
  for (const auto engine : {gpu::Engine::Mask, gpu::Engine::Sort}) {
    BuilderOptions options;
    options.engine = engine;
    BatchedBuilder builder(options);
    const auto scratch_of = [&](bool full) {
      const Operands o = operands(builder, {block(6, full)}, {block(5, full)});
      std::vector<std::size_t> bytes;
      for (const Pass& pass : passes()) {
        const std::string_view name = pass.name;
        if (name.starts_with("from_") || name.starts_with("erode") || name.ends_with("mixed")) {
          continue;
        }
        pass.run(builder, o);
        bytes.push_back(builder.costs().scratch_bytes);
      }
      return bytes;
    };
    EXPECT_EQ(scratch_of(false), scratch_of(true));
  }
}

// At most 128 bytes of scratch for each leaf that may be found, and a constant (of tiles and lower
// nodes, of which a dense block has few).
TEST(BuilderCosts, ScratchPerCandidateLeaf) {
  constexpr std::int64_t kConstant = 256 << 10;
  const struct {
    const char* name;
    std::int64_t most;  // leaves that one source leaf may reach
    GridBatch (*run)(BatchedBuilder&, const GridBatch&);
  } measured[] = {
      {"refine 2", 8, [](auto& b, const auto& s) { return b.refine(s, {2, 2, 2}); }},
      {"coarsen 2", 1, [](auto& b, const auto& s) { return b.coarsen(s, {2, 2, 2}); }},
      {"dilate 26", 27,
       [](auto& b, const auto& s) { return b.dilate_box(s, {-1, -1, -1}, {1, 1, 1}); }},
      {"erode 26", 1,
       [](auto& b, const auto& s) { return b.erode_box(s, {-1, -1, -1}, {1, 1, 1}); }},
      {"rebuild", 1,
       [](auto& b, const auto& s) { return b.rebuild(s.view(std::vector<std::int64_t>{0, 0})); }},
  };
  for (const auto engine : {gpu::Engine::Mask, gpu::Engine::Sort}) {
    BuilderOptions options;
    options.engine = engine;
    BatchedBuilder builder(options);
    const GridBatch source = build(builder, {block(24, true)});
    for (const auto& pass : measured) {
      pass.run(builder, source);
      const std::int64_t candidates = source.leaf_count() * pass.most;
      EXPECT_LE(static_cast<std::int64_t>(builder.costs().scratch_bytes),
                128 * candidates + kConstant)
          << pass.name << (engine == gpu::Engine::Mask ? ", mask" : ", sort");
    }
  }
}

// Scratch and result of large batches, by the default engine, against the result alone.
TEST(BuilderCosts, LargeBatchesTakeLessThanTwoAndAHalfTimesTheirResult) {
  std::mt19937 random(1);
  std::vector<std::int32_t> ijk;
  for (int i = 0; i < 3 * 2'000'000; ++i) ijk.push_back(static_cast<std::int32_t>(random() % 512));
  const std::vector<std::int64_t> offsets{0, 2'000'000};
  BatchedBuilder builder;
  const auto judge = [&](const char* what) {
    const Costs& costs = builder.costs();
    EXPECT_LE(2 * (costs.scratch_bytes + costs.result_bytes), 5 * costs.result_bytes) << what;
  };
  const GridBatch scattered = builder.from_ijk({ijk, offsets});
  judge("from_ijk of 2 million random voxels in a box of 512^3");
  builder.dilate_box(scattered, {-1, -1, -1}, {1, 1, 1});
  judge("their dilation");
  std::vector<Voxel> cube;
  add_box(cube, {-29, -29, -29}, {28, 28, 28});
  const GridBatch dense = builder.refine(build(builder, {cube}), {8, 8, 8});
  EXPECT_EQ(dense.voxel_count(), 464LL * 464 * 464);
  judge("464^3 by refine 8");
  builder.dilate_box(dense, {-1, -1, -1}, {1, 1, 1});
  judge("its dilation");
  builder.coarsen(dense, {2, 2, 2});
  judge("its coarsening");
}

// [L-6] scratch and result together.
TEST(BuilderCosts, MemoryBeyondTheBudgetIsRefusedBeforeItIsTaken) {
  BatchedBuilder plain;
  const Operands o = operands(plain, rich_members(), rich_others());
  for (const Pass& pass : passes()) {
    SCOPED_TRACE(pass.name);
    pass.run(plain, o);
    const Costs costs = plain.costs();
    const auto needed = static_cast<std::int64_t>(costs.scratch_bytes + costs.result_bytes);
    TestAllocator results(TestAllocator::kPlain);
    BuilderOptions options;
    options.allocator = results.allocator();
    options.max_memory = needed;
    BatchedBuilder enough(options);
    EXPECT_NO_THROW(pass.run(enough, o));
    options.max_memory = needed - 1;
    BatchedBuilder less(options);
    const std::int64_t before = results.calls();
    const auto error = refusal(gpu::ErrorKind::CapacityExceeded, [&] { pass.run(less, o); });
    EXPECT_EQ(error->argument(), "memory");
    EXPECT_GE(std::stoll(error->value()), needed);
    EXPECT_EQ(results.calls(), before);
  }
}

// Bytes that cross are counted on their way: what was asked for, each time anew.
TEST(BuilderCosts, BytesBothWays) {
  BatchedBuilder builder;
  const GridBatch source = build(builder, rich_members());
  EXPECT_GT(builder.costs().read_back, 0);
  EXPECT_GT(builder.costs().uploaded, 0);
  std::vector<std::byte> there(1000);
  builder.read(there, source.bytes().data());
  EXPECT_EQ(builder.costs().read_back, 1000);
  EXPECT_EQ(builder.costs().synchronisations, 1);
  EXPECT_EQ(builder.costs().uploaded, 0);
  builder.to_device(there);
  EXPECT_EQ(builder.costs().uploaded, 1000);
  EXPECT_EQ(builder.costs().read_back, 0);
}

// The trace names each launch.
TEST(BuilderCosts, TheTraceListsEveryLaunch) {
  BuilderOptions options;
  options.trace = true;
  BatchedBuilder builder(options);
  const GridBatch source = build(builder, rich_members());
  builder.coarsen(source, {2, 2, 2});
  const Costs& costs = builder.costs();
  EXPECT_EQ(static_cast<std::int64_t>(costs.trace.size()), costs.launches);
  std::int64_t gathers = 0;
  for (const gpu::LaunchRecord& launch : costs.trace) {
    gathers += launch.functor.starts_with("assembly::WriteLeaves<CoarsenRule");
  }
  EXPECT_EQ(gathers, 1);
}

}  // namespace
