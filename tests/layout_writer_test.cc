// The canonical bytes: against NanoVDB's own builder, byte for byte but where [G-6] [G-7] say
// otherwise, against NanoVDB's validator, and read back.
// At -O3 g++ 12 sees an empty array of threads in NanoVDB's forEach, which is never entered.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Warray-bounds"
#endif

#include <gtest/gtest.h>
#include <nanovdb/NanoVDB.h>
#include <nanovdb/tools/CreateNanoGrid.h>
#include <nanovdb/tools/GridBuilder.h>
#include <nanovdb/tools/GridValidator.h>

#include <cstring>

#include "oracle/layout_view.h"
#include "oracle/nanovdb_format.h"
#include "tests/layout_samples.h"

namespace {

using namespace leafproof;
using G = oracle::format::GridData;
using oracle::format::Field;
using reference::Batch;
using reference::Layout;

/// What NanoVDB makes of one member. The pass through build::Grid knows no map per axis: its matrix
/// is set as a whole.
nanovdb::GridHandle<> nanovdb_grid(const std::vector<reference::Voxel>& voxels,
                                   const reference::Map& map, const std::string& name) {
  nanovdb::tools::build::Grid<nanovdb::ValueMask> grid(false, name);
  double mat[3][3]{}, inverse[3][3]{};
  for (int axis = 0; axis < 3; ++axis) {
    mat[axis][axis] = map.voxel_size[axis];
    inverse[axis][axis] = 1 / map.voxel_size[axis];
  }
  grid.mMap.set(mat, inverse, map.origin);
  {
    auto accessor = grid.getAccessor();
    for (const auto& v : voxels) accessor.setValueOn({v.x, v.y, v.z});
  }
  return nanovdb::tools::createNanoGrid<decltype(grid), nanovdb::ValueOnIndex>(grid, 0u, false,
                                                                               false);
}

/// The fields in which our bytes are not NanoVDB's, each with its clause.
constexpr Field not_nanovdbs[] = {
    G::checksum,    // [G-6] disabled; NanoVDB computes one
    G::index,       // [G-6] the position in the batch; NanoVDB's grid is alone
    G::count,       // [G-6] B; NanoVDB's grid is alone
    G::voxel_size,  // [G-7] s exactly; NanoVDB takes the difference of two positions
};

bool excepted(std::uint64_t at) {
  return std::any_of(std::begin(not_nanovdbs), std::end(not_nanovdbs),
                     [&](const Field& f) { return at >= f.at && at < f.at + f.size; });
}

TEST(LayoutWriter, EqualsNanovdbByteForByteButForTheListedFields) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Batch batch = samples::batch(seed, 2);
    const Layout layout = reference::layout_of(batch);
    const oracle::GridBuffer ours = oracle::write_layout(layout);
    for (std::size_t m = 0; m < batch.size(); ++m) {
      const auto theirs = nanovdb_grid(batch.members[m], batch.maps[m], batch.names[m]);
      const std::uint64_t begin = ours.offsets[m], size = ours.offsets[m + 1] - begin;
      ASSERT_EQ(size, theirs.bufferSize());
      const auto* expected = static_cast<const std::byte*>(theirs.data());
      for (std::uint64_t at = 0; at < size; ++at) {
        if (excepted(at) || ours.bytes[begin + at] == expected[at]) continue;
        const oracle::ByteOwner owner = oracle::owner_of_byte(layout, begin + at);
        FAIL() << "member " << m << ", byte " << at << ": " << owner.field << " of " << owner.path;
      }
      // The exceptions hold what the clauses say.
      const auto number = [&]<class T>(const Field& field, T) {
        return oracle::format::load<T>(&ours.bytes[begin + field.at]);
      };
      EXPECT_EQ(number(G::checksum, std::uint64_t{}), ~std::uint64_t{0});
      EXPECT_EQ(number(G::index, std::uint32_t{}), m);
      EXPECT_EQ(number(G::count, std::uint32_t{}), batch.size());
      EXPECT_EQ(
          std::memcmp(&ours.bytes[begin + G::voxel_size.at], batch.maps[m].voxel_size.data(), 24),
          0);
    }
  }
}

// checkGrid in full mode aborts on an empty grid (an assertion of its own), so those are left out.
TEST(LayoutWriter, NanovdbsValidatorAcceptsEveryNonEmptyGrid) {
  std::size_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Layout layout = reference::layout_of(samples::batch(seed));
    const oracle::GridBuffer buffer = oracle::write_layout(layout);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(buffer.bytes.data()) % 32, 0u);
    for (std::size_t m = 0; m < layout.grids.size(); ++m) {
      if (layout.grids[m].voxel_count == 0) continue;
      const auto* grid = reinterpret_cast<const nanovdb::NanoGrid<nanovdb::ValueOnIndex>*>(
          &buffer.bytes[buffer.offsets[m]]);
      char error[128];
      nanovdb::tools::checkGrid(grid, error, nanovdb::CheckMode::Full);
      EXPECT_STREQ(error, "") << "seed " << seed << " member " << m;
      EXPECT_TRUE(nanovdb::tools::isValid(grid, nanovdb::CheckMode::Full));
      ++checked;
    }
  }
  EXPECT_GT(checked, 60u);
}

// NanoVDB's accessor finds every voxel under its canonical index, and nothing beside it [G-4].
TEST(LayoutWriter, NanovdbReadsTheIndices) {
  const Batch batch = samples::rich();
  const oracle::GridBuffer buffer = oracle::write_layout(reference::layout_of(batch));
  for (std::size_t m = 0; m < batch.size(); ++m) {
    const auto* grid = reinterpret_cast<const nanovdb::NanoGrid<nanovdb::ValueOnIndex>*>(
        &buffer.bytes[buffer.offsets[m]]);
    const auto accessor = grid->getAccessor();
    std::uint64_t index = 0;
    for (const auto& v : batch.members[m]) EXPECT_EQ(accessor.getValue({v.x, v.y, v.z}), ++index);
    EXPECT_EQ(accessor.getValue({77, 77, 77}), 0u);
    EXPECT_STREQ(grid->gridName(), batch.names[m].c_str());
  }
}

TEST(LayoutWriter, ReadsBackAsItWas) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Batch batch = samples::batch(seed);
    EXPECT_EQ(
        oracle::batch_of(oracle::read_layout(oracle::write_layout(reference::layout_of(batch)))),
        batch)
        << "seed " << seed;
  }
}

TEST(LayoutWriter, AnEmptyBatchIsNoBytes) {
  const oracle::GridBuffer buffer = oracle::write_layout(reference::layout_of({}));
  EXPECT_EQ(buffer.bytes.size(), 0u);
  EXPECT_EQ(buffer.offsets, std::vector<std::uint64_t>{0});
}

TEST(LayoutWriter, AnEmptyMemberIsAnEmptyGrid) {
  const oracle::GridBuffer buffer = oracle::write_layout(reference::layout_of(samples::of({{}})));
  ASSERT_EQ(buffer.bytes.size(), 672u + 64 + 96);
  const auto* grid =
      reinterpret_cast<const nanovdb::NanoGrid<nanovdb::ValueOnIndex>*>(buffer.bytes.data());
  EXPECT_TRUE(grid->isEmpty());
  EXPECT_FALSE(grid->hasBBox());
  EXPECT_TRUE(grid->worldBBox() == nanovdb::Vec3dBBox());
  EXPECT_TRUE(grid->indexBBox() == nanovdb::CoordBBox());
  EXPECT_EQ(grid->tree().getFirstLeaf(), nullptr);
}

oracle::ErrorKind refusal(const Layout& layout, std::uint64_t budget, std::string& argument) {
  try {
    oracle::write_layout(layout, budget);
  } catch (const reference::Error& e) {
    argument = e.detail().argument;
    return e.kind();
  }
  ADD_FAILURE() << "not refused";
  return oracle::ErrorKind::OutOfMemory;
}

TEST(LayoutWriter, Refuses) {
  const Layout good = reference::layout_of(samples::rich());
  const std::uint64_t size = oracle::write_layout(good).bytes.size();
  EXPECT_EQ(oracle::write_layout(good, size).bytes.size(), size);
  std::string argument;
  EXPECT_EQ(refusal(good, size - 1, argument), oracle::ErrorKind::CapacityExceeded);
  EXPECT_EQ(argument, "size");

  Layout bad = good;
  bad.grids[0].name = std::string(256, 'n');
  EXPECT_EQ(refusal(bad, size, argument), oracle::ErrorKind::InvalidArgument);
  EXPECT_EQ(argument, "name");
  bad.grids[0].name = std::string("a\0b", 3);
  EXPECT_EQ(refusal(bad, size, argument), oracle::ErrorKind::InvalidArgument);

  bad = good;
  bad.grids[0].tiles[0].child = bad.grids[0].uppers.size();
  EXPECT_EQ(refusal(bad, size, argument), oracle::ErrorKind::InvalidArgument);
  EXPECT_EQ(argument, "child of root tile 0");
  bad = good;
  bad.grids[2].lowers[0].children[0] = 99;
  EXPECT_EQ(refusal(bad, size, argument), oracle::ErrorKind::InvalidArgument);
  EXPECT_EQ(argument, "child of lower 0");
  bad = good;
  bad.grids[2].lowers[0].children.pop_back();
  EXPECT_EQ(refusal(bad, size, argument), oracle::ErrorKind::InvalidArgument);
  EXPECT_EQ(argument, "child mask of lower 0");
}

// Every byte has an owner, and the owner's field holds that byte.
TEST(LayoutWriter, EveryByteHasAnOwner) {
  const Layout layout = reference::layout_of(samples::rich());
  const oracle::GridBuffer buffer = oracle::write_layout(layout);
  samples::Rng rng(7);
  for (std::uint64_t n = 0; n < 4000; ++n) {
    // The first and last grids' heads and tails densely, the rest by chance.
    const std::uint64_t at = n < 900    ? n
                             : n < 1800 ? buffer.bytes.size() - 1 - (n - 900)
                                        : rng() % buffer.bytes.size();
    const oracle::ByteOwner owner = oracle::owner_of_byte(layout, at);
    EXPECT_GE(owner.member, 0) << at;
    EXPECT_LE(owner.field_at, at) << owner.field;
    EXPECT_LT(at, owner.field_at + owner.field_size) << owner.field;
  }
  const auto field_at = [&](std::uint64_t at) { return oracle::owner_of_byte(layout, at).field; };
  EXPECT_EQ(field_at(0), "mMagic");
  EXPECT_EQ(field_at(299), "mMap.mMatF");
  EXPECT_EQ(field_at(672 + 33), "mNodeCount[0]");
  EXPECT_EQ(field_at(672 + 64 + 29), "padding of RootData");
  EXPECT_EQ(field_at(672 + 64 + 96 + 21), "padding of Tile");
  EXPECT_EQ(field_at(buffer.bytes.size() - 1), "mPrefixSum");
  EXPECT_EQ(oracle::owner_of_byte(layout, buffer.bytes.size() - 1).path,
            "tile (0,0,0) > upper 0 > lower 0 > leaf 1");
}

// What `verify` asks of every buffer: each byte counts, and nothing but the bytes.
TEST(LayoutWriter, HasBytesOfSeesEveryByte) {
  for (const Batch& batch : {samples::rich(), Batch{}}) {
    const Layout layout = reference::layout_of(batch);
    const oracle::GridBuffer good = oracle::write_layout(layout);
    EXPECT_TRUE(oracle::has_bytes_of(good, layout));
    std::vector<std::byte> bytes(good.bytes.begin(), good.bytes.end());
    oracle::GridBuffer bad{nullptr, bytes, good.offsets};
    EXPECT_TRUE(oracle::has_bytes_of(bad, layout)) << "it is not which buffer, but what is in it";
    samples::Rng rng(11);
    for (std::uint64_t n = 0; !bytes.empty() && n < 3000; ++n) {
      const std::uint64_t at = n < 900    ? n
                               : n < 1800 ? bytes.size() - 1 - (n - 900)
                                          : rng() % bytes.size();
      bytes[at] ^= std::byte{0x10};
      EXPECT_FALSE(oracle::has_bytes_of(bad, layout)) << at;
      bytes[at] ^= std::byte{0x10};
    }
    bad.offsets.push_back(bytes.size());
    EXPECT_FALSE(oracle::has_bytes_of(bad, layout));
    bad.offsets = good.offsets;
    if (!bytes.empty()) bad.bytes = bad.bytes.first(bytes.size() - 1);
    EXPECT_EQ(oracle::has_bytes_of(bad, layout), bytes.empty()) << "a byte too few";
  }
}

}  // namespace
