// nanovdb::GridHandle in and out of a GridBatch without copying: the same addresses, shared
// ownership, and the same checks as for any foreign buffer.
#include <gtest/gtest.h>

#include "gpu/nanovdb_handle.h"
#include "tests/builder_nanovdb.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;
using gpu::ErrorKind;
using nanovdb::ValueOnIndex;

TEST(BuilderHandle, GoesOutWithoutACopy) {
  TestAllocator results(TestAllocator::kPlain);
  {
    gpu::GridHandle handle;
    {
      BuilderOptions options;
      options.allocator = results.allocator();
      BatchedBuilder builder(options);
      const GridBatch batch = build(builder, rich_members());
      handle = gpu::to_handle(batch);
      EXPECT_EQ(handle.data(), static_cast<const void*>(batch.bytes().data()));
      ASSERT_EQ(handle.gridCount(), static_cast<std::uint32_t>(batch.size()));
      for (std::uint32_t m = 0; m < handle.gridCount(); ++m) {
        EXPECT_EQ(handle.grid<ValueOnIndex>(m), &nano(batch, m)) << "member " << m;
      }
    }
    // The batch is gone, its memory is not.
    EXPECT_EQ(results.live_blocks(), 1);
    EXPECT_EQ(handle.grid<ValueOnIndex>(0)->activeVoxelCount(), rich_members()[0].size());
  }
  EXPECT_EQ(results.live_blocks(), 0);
  EXPECT_EQ(results.overruns(), 0);
}

TEST(BuilderHandle, ComesInWithoutACopy) {
  BatchedBuilder builder;
  const Members all = rich_members();
  for (const std::size_t m : {0u, 1u, 3u, 4u}) {  // 1: an empty grid
    const gpu::MemberMap map{{0.5, 2.0, 0.1}, {1.0, -3.0, 100.0}};
    auto handle = created(all[m], map, "foreign");
    const void* memory = handle.data();
    const GridBatch batch = gpu::from_handle(builder, std::move(handle));
    ASSERT_EQ(batch.size(), 1);
    EXPECT_EQ(static_cast<const void*>(batch.grid(0)), memory);
    EXPECT_EQ(voxels(batch, 0), all[m]);
    EXPECT_EQ(batch.member(0).map, map);
    EXPECT_EQ(batch.member(0).name, "foreign");
    EXPECT_TRUE(
        same_bytes(builder.rebuild(batch),
                   builder.from_ijk(Lists({all[m]}).view(),
                                    {std::span(&map, 1), std::span(&batch.member(0).name, 1)})));
  }
}

TEST(BuilderHandle, ThereAndBack) {
  BatchedBuilder builder;
  const GridBatch batch = build(builder, rich_members());
  const GridBatch back = gpu::from_handle(builder, gpu::to_handle(batch));
  EXPECT_EQ(back.bytes().data(), batch.bytes().data());
  EXPECT_EQ(members(back), rich_members());
  // A copy of a handle is NanoVDB's own, with memory of its own.
  const auto copy = gpu::to_handle(batch).copy<nanovdb::HostBuffer>();
  EXPECT_NE(copy.data(), static_cast<const void*>(batch.bytes().data()));
  EXPECT_EQ(std::memcmp(copy.data(), batch.bytes().data(), batch.bytes().size()), 0);
}

TEST(BuilderHandle, Refusals) {
  BatchedBuilder builder;
  const GridBatch batch = build(builder, rich_members());
  refusal(ErrorKind::InvalidArgument,
          [&] { gpu::to_handle(batch.view(std::vector<std::int64_t>{0})); });
  EXPECT_TRUE(gpu::to_handle(GridBatch()).isEmpty());
  EXPECT_EQ(gpu::from_handle(builder, nanovdb::GridHandle<>()).size(), 0);
  auto handle = created(rich_members()[0], {}, "");
  static_cast<nanovdb::TreeData*>(
      static_cast<void*>(static_cast<std::byte*>(handle.data()) + sizeof(nanovdb::GridData)))
      ->mNodeOffset[0] = -32;
  const auto error =
      refusal(ErrorKind::Corrupt, [&] { gpu::from_handle(builder, std::move(handle)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->argument(), "mNodeOffset");
}

}  // namespace
