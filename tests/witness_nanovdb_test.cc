// NanoVDB as a witness for the batched builder: its own CPU builder makes the same bytes of the
// same voxels but for the fields listed here, its validator accepts every grid, its accessors find
// every voxel under its index.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "oracle/nanovdb_format.h"
#include "tests/builder_nanovdb.h"
#include "tests/builder_support.h"
#include "tests/layout_samples.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;
using oracle::format::Field;
using G = oracle::format::GridData;

/// The fields in which the builder's bytes are not NanoVDB's, each with its clause.
constexpr Field kNotNanovdbs[] = {
    G::checksum,    // [G-6] disabled; NanoVDB computes one
    G::index,       // [G-6] the position in the batch; NanoVDB's grid is alone
    G::count,       // [G-6] B; NanoVDB's grid is alone
    G::voxel_size,  // [G-7] s exactly; NanoVDB takes the difference of two positions
};

/// Ours and NanoVDB's bytes of the same voxels, all but the fields above.
testing::AssertionResult as_nanovdb_has_it(const GridBatch& batch, std::int64_t member) {
  const gpu::MemberInfo& info = batch.member(member);
  const auto theirs = created(voxels(batch, member), info.map, info.name);
  if (static_cast<std::int64_t>(theirs.bufferSize()) != info.bytes) {
    return testing::AssertionFailure() << info.bytes << " bytes, NanoVDB's " << theirs.bufferSize();
  }
  std::vector<std::byte> ours(batch.grid(member), batch.grid(member) + info.bytes);
  const auto* expected = static_cast<const std::byte*>(theirs.data());
  for (const Field& field : kNotNanovdbs) {
    std::memcpy(&ours[field.at], expected + field.at, field.size);
  }
  if (std::memcmp(ours.data(), expected, ours.size()) == 0) return testing::AssertionSuccess();
  const auto at = std::mismatch(ours.begin(), ours.end(), expected).first - ours.begin();
  return testing::AssertionFailure()
         << "member " << member << ", byte " << at << " of " << ours.size();
}

/// checkGrid in full mode aborts on an empty grid (an assertion of its own): those are left out.
void expect_valid(const GridBatch& batch, std::size_t& checked) {
  for (std::int64_t m = 0; m < batch.size(); ++m) {
    if (batch.member(m).voxels == 0) continue;
    char error[128];
    nanovdb::tools::checkGrid(&nano(batch, m), error, nanovdb::CheckMode::Full);
    EXPECT_STREQ(error, "") << "member " << m;
    EXPECT_TRUE(nanovdb::tools::isValid(&nano(batch, m), nanovdb::CheckMode::Full));
    ++checked;
  }
}

std::vector<gpu::MemberMap> maps_of(const reference::Batch& batch) {
  std::vector<gpu::MemberMap> maps;
  for (const auto& map : batch.maps) maps.push_back({map.voxel_size, map.origin});
  return maps;
}

TEST(WitnessNanovdb, BuildsTheSameBytesButForTheListedFields) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const reference::Batch sample = samples::batch(seed, 2);
    const auto maps = maps_of(sample);
    BuilderOptions options;
    options.engine = seed % 2 == 0 ? gpu::Engine::Mask : gpu::Engine::Sort;
    options.scratch_budget = seed % 3 == 0 ? 0 : options.scratch_budget;
    BatchedBuilder builder(options);
    const GridBatch batch = builder.from_ijk(Lists(sample.members).view(), {maps, sample.names});
    for (std::int64_t m = 0; m < batch.size(); ++m, ++compared) {
      ASSERT_TRUE(as_nanovdb_has_it(batch, m));
      // The exceptions hold what the clauses say.
      const nanovdb::GridData& grid = *nano(batch, m).data();
      EXPECT_EQ(oracle::format::load<std::uint64_t>(batch.grid(m) + G::checksum.at),
                ~std::uint64_t{0});
      EXPECT_EQ(grid.mGridIndex, static_cast<std::uint32_t>(m));
      EXPECT_EQ(grid.mGridCount, static_cast<std::uint32_t>(batch.size()));
      EXPECT_EQ(std::memcmp(batch.grid(m) + G::voxel_size.at,
                            maps[static_cast<std::size_t>(m)].voxel_size.data(), 24),
                0);
    }
  }
  EXPECT_GT(compared, 60u);
}

// Results of passes too: what a pass gathered is what NanoVDB builds of the same voxels.
TEST(WitnessNanovdb, BuildsTheSameBytesOfEveryPass) {
  in_every_mode([&](BatchedBuilder& builder) {
    const Operands o = operands(builder, rich_members(), rich_others());
    for (const Pass& pass : passes()) {
      SCOPED_TRACE(pass.name);
      const GridBatch batch = pass.run(builder, o);
      for (std::int64_t m = 0; m < batch.size(); ++m) EXPECT_TRUE(as_nanovdb_has_it(batch, m));
    }
  });
}

TEST(WitnessNanovdb, ValidatesEveryGrid) {
  std::size_t checked = 0;
  in_every_mode([&](BatchedBuilder& builder) {
    const Operands o = operands(builder, rich_members(), rich_others());
    for (const Pass& pass : passes()) {
      SCOPED_TRACE(pass.name);
      expect_valid(pass.run(builder, o), checked);
    }
  });
  EXPECT_GT(checked, 4 * passes().size());
}

// [G-4] the accessor finds every voxel under its canonical index, and 0 beside it.
TEST(WitnessNanovdb, FindsEveryVoxelUnderItsIndex) {
  in_every_mode([&](BatchedBuilder& builder) {
    const Operands o = operands(builder, rich_members(), rich_others());
    for (const Pass& pass : passes()) {
      SCOPED_TRACE(pass.name);
      const GridBatch batch = pass.run(builder, o);
      for (std::int64_t m = 0; m < batch.size(); ++m) {
        const auto accessor = nano(batch, m).getAccessor();
        const auto found = canonical(voxels(batch, m));
        std::uint64_t index = 0;
        for (const Voxel& v : found) {
          ASSERT_EQ(accessor.getValue(nanovdb::Coord(v.x, v.y, v.z)), ++index) << "member " << m;
        }
        for (std::size_t i = 0; i < found.size(); i += 97) {
          const Voxel beside{found[i].x, found[i].y + 5000, found[i].z};
          if (std::binary_search(found.begin(), found.end(), beside, reference::canonical_less)) {
            continue;
          }
          EXPECT_EQ(accessor.getValue(nanovdb::Coord(beside.x, beside.y, beside.z)), 0u);
        }
        EXPECT_EQ(nano(batch, m).activeVoxelCount(), found.size());
        EXPECT_STREQ(nano(batch, m).gridName(), batch.member(m).name.c_str());
      }
    }
  });
}

}  // namespace
