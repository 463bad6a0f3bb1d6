// OpenVDB files: topology of every kind of grid, tiles, maps, and refusals.
#include "tests/input_files.h"

#ifndef LEAFPROOF_HAS_OPENVDB

namespace leafproof::tests {
TEST(Vdb, IsRefusedWithoutOpenVDB) {
  const Folder folder;
  expect_refused(folder.write("a.vdb", " BDV"), ErrorKind::Unsupported, {"no OpenVDB"});
}
}  // namespace leafproof::tests

#else

#include <fmt/format.h>
// TBB's tables hold marks in place of pointers, which UBSan takes for misaligned objects.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((no_sanitize("undefined"))), apply_to = function)
#endif
#include <openvdb/openvdb.h>
#if defined(__clang__)
#pragma clang attribute pop
#endif

#include <cmath>
#include <random>

#include "reference/canonical_order.h"

namespace leafproof::tests {
namespace {

using oracle::Input;
using oracle::Map;
using oracle::Voxel;
using Voxels = std::vector<Voxel>;

[[maybe_unused]] const auto initialised = [] {
  openvdb::initialize();
  return 0;
}();

fs::path save(const Folder& folder, const std::string& name, const openvdb::GridPtrVec& grids) {
  openvdb::io::File((folder / name).string()).write(grids);
  return folder / name;
}

Voxels some_voxels(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int32_t> coordinate(-300, 300);
  Voxels voxels{{0, 0, 0}, {-1, -1, -1}, {-4097, 4096, -4096}, {2147483647, -2147483648, 0}};
  for (int i = 0; i < 2000; ++i) {
    voxels.push_back({coordinate(random), coordinate(random), coordinate(random)});
  }
  reference::make_canonical(voxels);
  return voxels;
}

template <class Grid>
typename Grid::Ptr grid_of(const Voxels& voxels, const std::string& name) {
  auto grid = Grid::create();
  grid->setName(name);
  for (const Voxel& v : voxels) {
    grid->tree().setActiveState(openvdb::Coord(v.x, v.y, v.z), true);  // whatever its value
  }
  // An inactive value is no voxel.
  if constexpr (!std::is_same_v<Grid, openvdb::MaskGrid>) {
    grid->tree().setValueOff(openvdb::Coord(5000, 5000, 5000), typename Grid::ValueType(1));
  }
  return grid;
}

TEST(Vdb, EveryTypeOfGridByItsActiveVoxels) {
  const Folder folder;
  const Voxels a = some_voxels(1), b = some_voxels(2);
  const auto file =
      save(folder, "types.vdb",
           {grid_of<openvdb::FloatGrid>(a, "density"), grid_of<openvdb::MaskGrid>(b, "mask"),
            grid_of<openvdb::BoolGrid>(a, ""), grid_of<openvdb::Vec3SGrid>(b, "v"),
            grid_of<openvdb::FloatGrid>({}, "empty"),
            grid_of<openvdb::Int32Grid>(a, "density")});  // a name twice
  const Input input = oracle::read_input({file}, {});
  const std::vector<Voxels> expected{a, b, a, b, {}, a};
  ASSERT_EQ(input.batch.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(input.batch.members[i], expected[i]) << "member " << i;
  }
  EXPECT_EQ(input.batch.names,
            (std::vector<std::string>{"density", "mask", "", "v", "empty", "density"}));
  EXPECT_EQ(input.batch.maps, std::vector<Map>(6));
  EXPECT_EQ(input.provenance.size(), 6u);
}

TEST(Vdb, NamesEndAtAZeroAndFit) {
  const Folder folder;
  const Voxels one{{1, 2, 3}};
  const std::string most(254, 'n'), zero("a\0b", 3);
  const auto file = save(
      folder, "names.vdb",
      {grid_of<openvdb::MaskGrid>(one, zero), grid_of<openvdb::MaskGrid>(one, most + "\xc3\xa9")});
  const Input input = oracle::read_input({file}, {});
  EXPECT_EQ(input.batch.members, (std::vector<Voxels>{one, one}));
  EXPECT_EQ(input.batch.names, (std::vector<std::string>{"a", most}));
  EXPECT_EQ(input.notes, (std::vector<std::string>{
                             file.string() + ": the name of member 0 was cut to 1 bytes",
                             file.string() + ": the name of member 1 was cut to 254 bytes"}));
}

TEST(Vdb, ALevelSetIsItsNarrowBand) {
  const Folder folder;
  const auto sphere = openvdb::FloatGrid::create(3);
  sphere->setTransform(openvdb::math::Transform::createLinearTransform(0.5));
  for (int x = -25; x <= 25; ++x) {
    for (int y = -25; y <= 25; ++y) {
      for (int z = -25; z <= 25; ++z) {
        const float distance = std::sqrt(static_cast<float>(x * x + y * y + z * z)) - 20;
        if (std::abs(distance) < 3) sphere->tree().setValue(openvdb::Coord(x, y, z), distance);
      }
    }
  }
  const auto file = save(folder, "sphere.vdb", {sphere});
  const Input input = oracle::read_input({file}, {});
  Voxels expected;
  for (auto value = sphere->cbeginValueOn(); value; ++value) {
    const openvdb::Coord c = value.getCoord();
    expected.push_back({c.x(), c.y(), c.z()});
  }
  reference::make_canonical(expected);
  EXPECT_EQ(input.batch.members.at(0), expected);
  EXPECT_EQ(input.batch.maps[0], (Map{{0.5, 0.5, 0.5}, {0, 0, 0}}));
}

TEST(Vdb, MapsAreKept) {
  const Folder folder;
  const auto with = [](const openvdb::math::MapBase::Ptr& map) {
    auto grid = grid_of<openvdb::FloatGrid>({{1, 2, 3}}, "g");
    grid->setTransform(openvdb::math::Transform::Ptr(new openvdb::math::Transform(map)));
    return grid;
  };
  using openvdb::Vec3d;
  namespace math = openvdb::math;
  const auto file = save(
      folder, "maps.vdb",
      {with(math::MapBase::Ptr(new math::UniformScaleMap(0.1))),
       with(math::MapBase::Ptr(new math::ScaleMap(Vec3d(1, 2, 3)))),
       with(math::MapBase::Ptr(new math::TranslationMap(Vec3d(-1, 0, 5)))),
       with(math::MapBase::Ptr(new math::ScaleTranslateMap(Vec3d(1, 2, .5), Vec3d(1e6, -7, 3)))),
       with(math::MapBase::Ptr(
           new math::AffineMap(openvdb::Mat4d(2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0, 7, 8, 9, 1))))});
  EXPECT_EQ(oracle::read_input({file}, {}).batch.maps, (std::vector<Map>{{{.1, .1, .1}, {0, 0, 0}},
                                                                         {{1, 2, 3}, {0, 0, 0}},
                                                                         {{1, 1, 1}, {-1, 0, 5}},
                                                                         {{1, 2, .5}, {1e6, -7, 3}},
                                                                         {{2, 3, 4}, {7, 8, 9}}}));
  const auto refused = [&](const math::MapBase::Ptr& map, ErrorKind kind, const char* part) {
    auto grid = with(map);
    grid->setName("bad");
    expect_refused(save(folder, "bad.vdb", {grid}), kind, {part});
  };
  auto turned = math::AffineMap::Ptr(new math::AffineMap);
  turned->accumPreRotation(math::X_AXIS, 0.1);
  refused(turned, ErrorKind::Unsupported, "rotation or shear");
  auto sheared = math::AffineMap::Ptr(new math::AffineMap);
  sheared->accumPreShear(math::X_AXIS, math::Y_AXIS, 0.5);
  refused(sheared, ErrorKind::Unsupported, "grid \"bad\" has rotation or shear");
  refused(math::MapBase::Ptr(
              new math::NonlinearFrustumMap(openvdb::BBoxd(Vec3d(0), Vec3d(100)), 0.5, 10)),
          ErrorKind::Unsupported, "not linear");
  refused(math::MapBase::Ptr(new math::ScaleMap(Vec3d(1, -2, 3))), ErrorKind::InvalidArgument,
          "voxel size -2");
}

TEST(Vdb, TilesAreExpandedWithinTheLimitOnly) {
  const Folder folder;
  auto grid = grid_of<openvdb::FloatGrid>({{0, 0, 0}, {1000, 0, 0}}, "tiles");
  grid->tree().addTile(1, openvdb::Coord(-8, -8, -8), 1, true);
  grid->tree().addTile(2, openvdb::Coord(256, 0, 0), 1, true);
  grid->tree().addTile(1, openvdb::Coord(512, 0, 0), 1, false);
  grid->tree().touchLeaf(openvdb::Coord(700, 0, 0));  // a leaf with nothing on
  const auto file = save(folder, "tiles.vdb", {grid});
  const std::uint64_t expected = 2 + 512 + 128 * 128 * 128;
  const Input input = oracle::read_input({file}, {.max_voxels = expected});
  ASSERT_EQ(input.batch.members.at(0).size(), expected);
  EXPECT_EQ(input.batch.members[0].front(), (Voxel{-8, -8, -8}));
  expect_refused(file, ErrorKind::CapacityExceeded, {"\"tiles\"", "1 more active voxels"},
                 {.max_voxels = expected - 1});
  grid->tree().addTile(3, openvdb::Coord(8192, 0, 0), 1, true);
  expect_refused(save(folder, "huge.vdb", {grid}), ErrorKind::CapacityExceeded, {"huge.vdb"});
  // The limit is of all grids together.
  const auto two = save(folder, "two.vdb",
                        {grid_of<openvdb::FloatGrid>(some_voxels(1), "a"),
                         grid_of<openvdb::FloatGrid>(some_voxels(2), "b")});
  expect_refused(two, ErrorKind::CapacityExceeded, {"\"b\""}, {.max_voxels = 3000});
}

TEST(Vdb, FilesThatAreNone) {
  const Folder folder;
  expect_refused(folder.write("text.vdb", "this is no OpenVDB file at all, however long"),
                 ErrorKind::Corrupt, {});
  const std::string whole =
      bytes_of(save(folder, "whole.vdb", {grid_of<openvdb::FloatGrid>(some_voxels(1), "a")}));
  for (std::size_t length = 1; length < whole.size(); length += whole.size() / 23) {
    expect_refused(folder.write("cut.vdb", whole.substr(0, length)), ErrorKind::Corrupt, {});
  }
}

// Bytes flipped by a fixed seed: a batch or an Error, whatever becomes of the child.
TEST(Vdb, HostileBytesEndInABatchOrAnError) {
  const Folder folder;
  const std::string whole = bytes_of(
      save(folder, "whole.vdb", {grid_of<openvdb::FloatGrid>({{0, 0, 0}, {9, -9, 300}}, "a")}));
  std::mt19937_64 random(20261129);
  int refused = 0;
  for (int i = 0; i < 120; ++i) {
    std::string bytes = whole, what = "flip " + std::to_string(i) + ":";
    for (std::uint64_t n = random() % 3; n < 3; ++n) {
      const std::size_t at = random() % (random() % 2 == 0 ? bytes.size() : 600);
      bytes[at] = static_cast<char>(random());
      what.append(" ").append(std::to_string(at));
    }
    const auto file = folder.write("flipped.vdb", bytes);
    try {
      EXPECT_EQ(oracle::read_input({file}, {.max_voxels = 100'000}).batch.size(), 1u) << what;
    } catch (const Error& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find(file.string()), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace leafproof::tests

#endif
