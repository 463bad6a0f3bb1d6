// OpenVDB as a witness for the batched builder: its topology operations agree where they mean the
// same thing: 26-neighbour dilation, erosion, union, intersection, difference. On seeded shells
// around negative octants and node borders, and on real meshes.
#include <gtest/gtest.h>

#ifdef LEAFPROOF_HAS_OPENVDB
#include <openvdb/openvdb.h>
#include <openvdb/tools/Morphology.h>

#include <cmath>

#include "oracle/input/input.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;
using openvdb::MaskGrid;
namespace morphology = openvdb::tools;

MaskGrid::Ptr mask_of(const std::vector<Voxel>& voxels) {
  const auto grid = MaskGrid::create();
  auto accessor = grid->getAccessor();
  for (const Voxel& v : voxels) accessor.setValueOn(openvdb::Coord(v.x, v.y, v.z));
  return grid;
}

/// Active voxels in canonical order, tiles expanded.
std::vector<Voxel> voxels_of(MaskGrid& grid) {
  grid.tree().voxelizeActiveTiles();
  std::vector<Voxel> voxels;
  voxels.reserve(grid.activeVoxelCount());
  for (auto it = grid.cbeginValueOn(); it; ++it) {
    const openvdb::Coord at = it.getCoord();
    voxels.push_back({at[0], at[1], at[2]});
  }
  return canonical(std::move(voxels));
}

std::vector<Voxel> dilated(const std::vector<Voxel>& voxels, int iterations) {
  const auto grid = mask_of(voxels);
  morphology::dilateActiveValues(grid->tree(), iterations, morphology::NN_FACE_EDGE_VERTEX,
                                 morphology::EXPAND_TILES);
  return voxels_of(*grid);
}

std::vector<Voxel> eroded(const std::vector<Voxel>& voxels, int iterations) {
  const auto grid = mask_of(voxels);
  morphology::erodeActiveValues(grid->tree(), iterations, morphology::NN_FACE_EDGE_VERTEX,
                                morphology::EXPAND_TILES);
  return voxels_of(*grid);
}

enum class Set { Union, Intersection, Difference };
std::vector<Voxel> combined(Set set, const std::vector<Voxel>& p, const std::vector<Voxel>& q) {
  const auto grid = mask_of(p), other = mask_of(q);
  if (set == Set::Union) grid->topologyUnion(*other);
  if (set == Set::Intersection) grid->topologyIntersection(*other);
  if (set == Set::Difference) grid->topologyDifference(*other);
  return voxels_of(*grid);
}

/// A sphere's shell of some thickness.
std::vector<Voxel> shell(Voxel centre, double radius, double thickness) {
  std::vector<Voxel> voxels;
  const auto r = static_cast<std::int32_t>(radius + thickness) + 1;
  for (std::int32_t x = -r; x <= r; ++x) {
    for (std::int32_t y = -r; y <= r; ++y) {
      for (std::int32_t z = -r; z <= r; ++z) {
        const double distance = std::sqrt(static_cast<double>(x * x + y * y + z * z));
        if (std::abs(distance - radius) <= thickness) {
          voxels.push_back({centre.x + x, centre.y + y, centre.z + z});
        }
      }
    }
  }
  return canonical(voxels);
}

/// Shells whose centres lie at borders of leaf, lower and upper nodes, some in negative octants.
Members seeded_shells(std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  static constexpr std::int32_t borders[] = {0,    -1,   8,    -8,    127,  128,
                                             -128, 4095, 4096, -4096, -4097};
  Members all;
  for (int m = 0; m < 6; ++m) {
    const auto at = [&] { return borders[rng() % std::size(borders)]; };
    const Voxel centre{at(), at(), at()};
    const auto radius = static_cast<double>(rng() % 18) + 2;
    const auto thickness = static_cast<double>(rng() % 4) / 2 + 0.5;
    all.push_back(m == 3 ? std::vector<Voxel>{} : shell(centre, radius, thickness));
  }
  all.push_back(shell({0, 0, 0}, 0, 11));  // a solid ball: full leaves
  return all;
}

class WitnessOpenvdb : public testing::Test {
 protected:
  static void SetUpTestSuite() { openvdb::initialize(); }

  static void expect_same(const GridBatch& batch, std::int64_t m, const std::vector<Voxel>& theirs,
                          const char* what) {
    // Not the lists themselves in the message: they are long.
    const std::vector<Voxel> ours = voxels(batch, m);
    const auto [a, b] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
    EXPECT_TRUE(a == ours.end() && b == theirs.end())
        << what << ", member " << m << ": " << ours.size() << " voxels, OpenVDB's " << theirs.size()
        << "; the first difference is ours "
        << (a == ours.end() ? "(none)" : testing::PrintToString(*a)) << ", theirs "
        << (b == theirs.end() ? "(none)" : testing::PrintToString(*b));
  }
};

TEST_F(WitnessOpenvdb, DilatesAndErodesShellsAlike) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Members source = seeded_shells(seed);
    for (const gpu::Engine engine : {gpu::Engine::Mask, gpu::Engine::Sort}) {
      BuilderOptions options;
      options.engine = engine;
      BatchedBuilder builder(options);
      const GridBatch batch = build(builder, source);
      for (const int r : {1, 3}) {
        const GridBatch wider = builder.dilate_box(batch, {-r, -r, -r}, {r, r, r});
        const GridBatch narrower = builder.erode_box(batch, {-r, -r, -r}, {r, r, r});
        for (std::size_t m = 0; m < source.size(); ++m) {
          const auto i = static_cast<std::int64_t>(m);
          expect_same(wider, i, dilated(source[m], r), "dilation");
          expect_same(narrower, i, eroded(source[m], r), "erosion");
        }
      }
    }
  }
}

TEST_F(WitnessOpenvdb, CombinesShellsAlike) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Members source = seeded_shells(seed);
    Members other = source;
    for (std::size_t m = 0; m < other.size(); ++m) {
      for (Voxel& v : other[m]) v.x += static_cast<std::int32_t>(m % 4) * 3, v.z -= 1;
      other[m] = canonical(other[m]);
    }
    std::swap(other[2], other[3]);  // an empty operand on either side
    BatchedBuilder builder;
    const GridBatch p = build(builder, source), q = build(builder, other);
    const GridBatch merged = builder.merge(p, q), common = builder.intersect(p, q),
                    rest = builder.subtract(p, q);
    for (std::size_t m = 0; m < source.size(); ++m) {
      const auto i = static_cast<std::int64_t>(m);
      expect_same(merged, i, combined(Set::Union, source[m], other[m]), "union");
      expect_same(common, i, combined(Set::Intersection, source[m], other[m]), "intersection");
      expect_same(rest, i, combined(Set::Difference, source[m], other[m]), "difference");
    }
  }
}

TEST_F(WitnessOpenvdb, AgreesOnRealMeshes) {
  oracle::Input scene = oracle::real_scene();
  if (scene.batch.members.empty()) {
    GTEST_SKIP() << "no meshes: "
                 << (scene.notes.empty() ? "glmark2-data is not installed" : scene.notes.front());
  }
  Members source;
  for (auto& member : scene.batch.members) {  // the large ones would take OpenVDB too long
    if (member.size() <= 150'000) source.push_back(std::move(member));
  }
  ASSERT_GE(source.size(), 8u);
  Members turned = source;
  std::rotate(turned.begin(), turned.begin() + 1, turned.end());
  BatchedBuilder builder;
  const GridBatch batch = build(builder, source), other = build(builder, turned);
  const GridBatch wider = builder.dilate_box(batch, {-1, -1, -1}, {1, 1, 1});
  const GridBatch back = builder.erode_box(wider, {-1, -1, -1}, {1, 1, 1});
  const GridBatch merged = builder.merge(batch, other), common = builder.intersect(batch, other),
                  rest = builder.subtract(batch, other);
  for (std::size_t m = 0; m < source.size(); ++m) {
    const auto i = static_cast<std::int64_t>(m);
    const std::vector<Voxel> wide = dilated(source[m], 1);
    expect_same(wider, i, wide, "dilation");
    expect_same(back, i, eroded(wide, 1), "erosion");
    expect_same(merged, i, combined(Set::Union, source[m], turned[m]), "union");
    expect_same(common, i, combined(Set::Intersection, source[m], turned[m]), "intersection");
    expect_same(rest, i, combined(Set::Difference, source[m], turned[m]), "difference");
  }
}

}  // namespace

#else

TEST(WitnessOpenvdb, IsThere) {
  GTEST_SKIP() << "built without OpenVDB (Debian: libopenvdb-dev libboost-dev): the third witness "
                  "was not heard";
}

#endif
