// The verdict: equal answers pass every profile; the smallest wrong thing in any field is named, by
// its clause, at its place, from the profile on that judges it [G-9], and not before.
#include "oracle/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "oracle/layout_view.h"
#include "oracle/nanovdb_format.h"
#include "tests/layout_samples.h"

namespace {

using namespace leafproof;
namespace format = oracle::format;
using oracle::Answer;
using oracle::compare;
using oracle::Difference;
using oracle::GridBuffer;
using oracle::Outcome;
using oracle::Profile;
using oracle::Verdict;
using reference::Batch;
using reference::Error;
using reference::ErrorKind;
using reference::Grid;
using reference::Layout;
using reference::Voxel;

constexpr Profile profiles[] = {Profile::Sets, Profile::Topology, Profile::Layout, Profile::Bytes};

GridBuffer copy_of(const GridBuffer& buffer) {
  auto bytes = std::make_shared<std::vector<std::byte>>(buffer.bytes.begin(), buffer.bytes.end());
  return {bytes, *bytes, buffer.offsets};
}
/// Changes bytes of a copy.
GridBuffer patched(const Layout& layout, const std::function<void(std::byte*)>& patch) {
  GridBuffer buffer = copy_of(oracle::write_layout(layout));
  patch(const_cast<std::byte*>(buffer.bytes.data()));
  return buffer;
}

std::string first_line(const Verdict& v) {
  return v.first ? "[" + v.first->clause + "] " + v.first->what + " expected " + v.first->expected +
                       " actual " + v.first->actual
                 : "equal";
}

bool shows(const Difference& d, const std::string& text) {
  return std::any_of(d.window.begin(), d.window.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

TEST(Compare, EqualAnswersPassEveryProfile) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Layout layout = reference::layout_of(samples::batch(seed));
    const GridBuffer buffer = oracle::write_layout(layout);
    const Answer as_layout = layout, as_buffer = buffer, as_copy = copy_of(buffer);
    for (const Profile profile : profiles)
      for (const Answer* expected : {&as_layout, &as_buffer})
        for (const Answer* actual : {&as_layout, &as_copy}) {
          const Verdict v = compare(*expected, *actual, profile, true);
          EXPECT_EQ(v.outcome, Outcome::Equal) << "seed " << seed << " " << first_line(v);
          EXPECT_EQ(v.differences, 0);
          EXPECT_EQ(v.members, static_cast<std::int64_t>(layout.grids.size()));
          EXPECT_EQ(v.voxels, static_cast<std::int64_t>(layout.voxel_offsets.back()));
          EXPECT_EQ(v.profile, profile);
        }
  }
}

TEST(Compare, EmptyBatches) {
  for (const Profile profile : profiles) {
    EXPECT_TRUE(compare(Layout{}, Layout{}, profile).ok());
    EXPECT_TRUE(compare(Layout{}, GridBuffer{}, profile).ok());
    const Verdict v = compare(Layout{}, reference::layout_of(samples::of({{}})), profile);
    EXPECT_FALSE(v.ok());
    EXPECT_EQ(v.first->what, "number of members");
  }
}

struct Fault {
  const char* why;
  std::function<void(Layout&)> make;
  Profile lowest;      // the first profile that must see it
  const char* clause;  // and what it says then
  const char* what;
  std::int64_t member;
  bool in_a_buffer = true;  // whether a buffer can hold it as well
};

std::vector<Fault> faults() {
  const auto swap_tiles = [](Layout& l, std::size_t i, std::size_t j) {
    std::swap(l.grids[0].tiles[i], l.grids[0].tiles[j]);
  };
  return {
      // Voxels.
      {"a voxel lost", [](Layout& l) { l.grids[2].leaves[1].mask[3] &= ~(std::uint64_t{1} << 5); },
       Profile::Sets, "T", "a missing voxel", 2},
      {"a voxel too many",
       [](Layout& l) { l.grids[0].leaves[0].mask[7] |= std::uint64_t{1} << 63; }, Profile::Sets,
       "T", "an extra voxel", 0},
      {"a member empty that is not", [](Layout& l) { l.grids[2] = l.grids[1]; }, Profile::Sets, "T",
       "a missing voxel", 2, false},
      {"a leaf twice", [](Layout& l) { l.grids[2].leaves.push_back(l.grids[2].leaves.back()); },
       Profile::Sets, "L-2", "a repeated voxel", 2, false},
      {"a leaf elsewhere", [](Layout& l) { l.grids[2].leaves[1].origin.x += 8; }, Profile::Sets,
       "T", "a missing voxel", 2, false},
      // The tree.
      {"tiles in the order of their keys", [&](Layout& l) { swap_tiles(l, 0, 4); },
       Profile::Topology, "G-3", "order of root tiles, first at position 0", 0},
      {"a tile's key with a bias",
       [](Layout& l) { l.grids[2].tiles[0].key ^= std::uint64_t{1} << 62; }, Profile::Topology,
       "G-3", "key of a root tile", 2},
      {"a tile lost", [](Layout& l) { l.grids[0].tiles.pop_back(); }, Profile::Topology, "G-2",
       "a missing root tile", 0, false},
      {"a tile twice", [](Layout& l) { l.grids[2].tiles.push_back(l.grids[2].tiles[0]); },
       Profile::Topology, "G-2", "a root tile that occurs twice", 2, false},
      {"a phantom upper node",
       [](Layout& l) {
         Grid& g = l.grids[2];
         g.uppers.push_back(
             {{4096, 0, 0}, std::vector<std::uint64_t>(512), {}, {{4096, 0, 0}, {4096, 0, 0}}});
         g.tiles.push_back({{1, 0, 0}, reference::tile_key({4096, 0, 0}), 1});
       },
       Profile::Topology, "G-4", "a root tile without an active voxel", 2},
      {"a phantom lower node",
       [](Layout& l) {
         Grid& g = l.grids[2];
         g.lowers.push_back(
             {{0, 0, 128}, std::vector<std::uint64_t>(64), {}, {{0, 0, 128}, {0, 0, 128}}});
         g.uppers[0].child_mask[0] |= 2;
         g.uppers[0].children.push_back(1);
       },
       Profile::Topology, "G-4", "a lower node without an active voxel", 2},
      {"a phantom leaf",
       [](Layout& l) {
         Grid& g = l.grids[2];
         reference::Leaf leaf;
         leaf.origin = {0, 0, 16};
         leaf.offset = 1025;
         leaf.box = {{0, 0, 16}, {0, 0, 16}};
         g.leaves.push_back(leaf);
         g.lowers[0].child_mask[0] |= 4;
         g.lowers[0].children.push_back(2);
       },
       Profile::Topology, "G-4", "a leaf without an active voxel", 2},
      {"leaves in another order",
       [](Layout& l) {
         Grid& g = l.grids[2];
         std::swap(g.leaves[0], g.leaves[1]);
         std::swap(g.lowers[0].children[0], g.lowers[0].children[1]);
       },
       Profile::Topology, "G-2", "order of leaves, first at position 0", 2},
      {"uppers in another order",
       [](Layout& l) {
         Grid& g = l.grids[0];
         std::swap(g.uppers[1], g.uppers[2]);
         std::swap(g.tiles[1].child, g.tiles[2].child);
       },
       Profile::Topology, "G-2", "order of upper nodes, first at position 1", 0},
      {"a bit of a child mask", [](Layout& l) { l.grids[2].lowers[0].child_mask[0] ^= 0b110; },
       Profile::Topology, "G-4", "child mask of a lower node", 2, false},
      {"a bit of an upper child mask", [](Layout& l) { l.grids[2].uppers[0].child_mask[9] = 1; },
       Profile::Topology, "G-4", "child mask of an upper node", 2, false},
      {"mOffset from 0",
       [](Layout& l) {
         for (auto& leaf : l.grids[2].leaves) --leaf.offset;
       },
       Profile::Topology, "G-4", "mOffset of a leaf", 2},
      {"mOffset of the last leaf", [](Layout& l) { ++l.grids[2].leaves[1].offset; },
       Profile::Topology, "G-4", "mOffset of a leaf", 2},
      {"mPrefixSum a word late", [](Layout& l) { l.grids[2].leaves[0].prefix_sum <<= 9; },
       Profile::Topology, "G-4", "mPrefixSum of a leaf", 2},
      {"the top bit of mPrefixSum",
       [](Layout& l) { l.grids[0].leaves[0].prefix_sum ^= std::uint64_t{1} << 63; },
       Profile::Topology, "G-4", "mPrefixSum of a leaf", 0},
      // The rest of the layout.
      {"index of the first member", [](Layout& l) { l.grids[1].index = 0; }, Profile::Layout, "G-6",
       "mGridIndex", 1},
      {"count of a member alone", [](Layout& l) { l.grids[2].count = 1; }, Profile::Layout, "G-6",
       "mGridCount", 2},
      {"no bbox flag", [](Layout& l) { l.grids[0].flags = 0x20; }, Profile::Layout, "G-6",
       "mFlags of the grid", 0},
      {"a bbox flag on an empty member", [](Layout& l) { l.grids[1].flags = 0x22; },
       Profile::Layout, "G-6", "mFlags of the grid", 1},
      {"a wrong size", [](Layout& l) { l.grids[1].byte_size -= 32; }, Profile::Layout, "G-6",
       "mGridSize", 1, false},
      {"a wrong voxel count", [](Layout& l) { ++l.grids[2].voxel_count; }, Profile::Layout, "G-6",
       "mVoxelCount", 2},
      {"a box of nodes", [](Layout& l) { l.grids[2].box->max = {7, 7, 127}; }, Profile::Layout,
       "G-5", "box of the grid", 2},
      {"a box of an empty member",
       [](Layout& l) { l.grids[1].box = reference::Box{{0, 0, 0}, {0, 0, 0}}; }, Profile::Layout,
       "G-5", "box of the grid", 1},
      {"a world box that is off by one", [](Layout& l) { l.grids[2].world_box[5] -= 1; },
       Profile::Layout, "G-5", "mWorldBBox", 2},
      {"a world box by ulp",
       [](Layout& l) { l.grids[0].world_box[0] = std::nextafter(l.grids[0].world_box[0], 9); },
       Profile::Layout, "G-5", "mWorldBBox", 0},
      {"a world box of zeros on an empty member", [](Layout& l) { l.grids[1].world_box = {}; },
       Profile::Layout, "G-5", "mWorldBBox", 1},
      {"two children exchanged in a tile table",
       [](Layout& l) { std::swap(l.grids[0].tiles[0].child, l.grids[0].tiles[1].child); },
       Profile::Layout, "G-2", "child of a root tile", 0, false},
      {"two children exchanged in a lower node",
       [](Layout& l) {
         std::swap(l.grids[2].lowers[0].children[0], l.grids[2].lowers[0].children[1]);
       },
       Profile::Layout, "G-2", "child 0 of a lower node", 2, false},
      {"a child of an upper node", [](Layout& l) { l.grids[2].uppers[0].children[0] = 7; },
       Profile::Layout, "G-2", "child 0 of an upper node", 2, false},
      {"box of an upper node", [](Layout& l) { l.grids[2].uppers[0].box.max.z = 16; },
       Profile::Layout, "G-5", "box of an upper node", 2},
      {"box of a lower node, its minimum assumed 0",
       [](Layout& l) { l.grids[0].lowers[0].box.min = {0, 0, 0}; }, Profile::Layout, "G-5",
       "box of a lower node", 0},
      {"box of a leaf of nodes",
       [](Layout& l) {
         auto& leaf = l.grids[0].leaves[0];
         const Voxel o = leaf.origin;
         leaf.box = {o, {o.x + 7, o.y + 7, o.z + 7}};
       },
       Profile::Layout, "G-5", "box of a leaf", 0},
      {"flags of an upper node", [](Layout& l) { l.grids[2].uppers[0].flags = 0; }, Profile::Layout,
       "G-5", "mFlags of an upper node", 2},
      {"flags of a lower node", [](Layout& l) { l.grids[2].lowers[0].flags = 3; }, Profile::Layout,
       "G-5", "mFlags of a lower node", 2},
      {"flags of a leaf", [](Layout& l) { l.grids[2].leaves[1].flags = 18; }, Profile::Layout,
       "G-5", "mFlags of a leaf", 2},
      {"byte offsets", [](Layout& l) { l.byte_offsets[2] += 32; }, Profile::Layout, "G-6",
       "byte offset 2", 2, false},
      {"voxel offsets", [](Layout& l) { --l.voxel_offsets[1]; }, Profile::Layout, "G-8",
       "voxel offset 1", 1, false},
      {"leaf offsets, the last of which lacks", [](Layout& l) { l.leaf_offsets.pop_back(); },
       Profile::Layout, "G-8", "leaf offset 3", -1, false},
      // Only bytes.
      {"voxel size of the first member",
       [](Layout& l) {
         l.grids[2].map.voxel_size[1] = 0.25;
         l.grids[2].world_box = reference::world_box(l.grids[2].box, l.grids[2].map);
       },
       Profile::Bytes, "G-7", "voxel size along y", 2},
      {"an origin",
       [](Layout& l) {
         l.grids[0].map.origin[2] = std::nextafter(3, 4);
         l.grids[0].world_box = reference::world_box(l.grids[0].box, l.grids[0].map);
       },
       Profile::Bytes, "G-7", "origin along z", 0},
      {"a map beside the right world box", [](Layout& l) { l.grids[2].map.voxel_size = {2, 2, 2}; },
       Profile::Bytes, "G-7", "voxel size along x", 2},
      {"a name", [](Layout& l) { l.grids[2].name = "first"; }, Profile::Bytes, "G-7", "name", 2},
  };
}

TEST(Compare, NamesEveryFault) {
  const Layout layout = reference::layout_of(samples::rich());
  for (const Fault& fault : faults()) {
    SCOPED_TRACE(fault.why);
    Layout wrong = layout;
    fault.make(wrong);
    std::vector<std::pair<const char*, Answer>> candidates{{"layout", wrong}};
    if (fault.in_a_buffer) candidates.emplace_back("buffer", oracle::write_layout(wrong));
    for (const auto& [kind, candidate] : candidates) {
      SCOPED_TRACE(kind);
      for (const Profile profile : profiles) {
        SCOPED_TRACE(to_string(profile));
        const Verdict v = compare(layout, candidate, profile);
        ASSERT_EQ(v.ok(), profile < fault.lowest) << first_line(v);
        if (v.ok()) continue;
        EXPECT_GT(v.differences, 0);
        EXPECT_EQ(v.outcome, Outcome::Different);
        EXPECT_EQ(v.first->clause, fault.clause);
        EXPECT_EQ(v.first->what, fault.what);
        EXPECT_EQ(v.first->member, fault.member);
        EXPECT_NE(v.first->expected, v.first->actual);
        EXPECT_FALSE(v.first->expected.empty());
      }
    }
  }
}

// Two sides exchanged: what was missing is extra.
TEST(Compare, CountsMissingExtraRepeated) {
  const Batch batch = samples::rich();
  Batch other = batch;
  other.members[0].erase(other.members[0].begin() + 3, other.members[0].begin() + 10);
  other.members[2].push_back({100, 100, 100});
  reference::make_canonical(other.members[2]);
  const Layout left = reference::layout_of(batch), right = reference::layout_of(other);
  const Verdict v = compare(left, oracle::write_layout(right), Profile::Sets);
  EXPECT_EQ(v.missing, 7);
  EXPECT_EQ(v.extra, 1);
  EXPECT_EQ(v.repeated, 0);
  EXPECT_EQ(v.differences, 8);
  EXPECT_EQ(v.first->what, "a missing voxel");
  EXPECT_EQ(*v.first->coordinate, batch.members[0][3]);
  const Verdict w = compare(right, oracle::write_layout(left), Profile::Sets);
  EXPECT_EQ(w.missing, 1);
  EXPECT_EQ(w.extra, 7);
  EXPECT_EQ(w.first->what, "an extra voxel");

  Layout twice = left;
  twice.grids[2].leaves.insert(twice.grids[2].leaves.begin(), twice.grids[2].leaves[0]);
  const Verdict t = compare(left, twice, Profile::Sets);
  EXPECT_EQ(t.repeated, 512);
  EXPECT_EQ(t.missing + t.extra, 0);
  EXPECT_EQ(*t.first->coordinate, (Voxel{0, 0, 0}));

  // Members that one side lacks count with all their voxels.
  Layout fewer = left;
  fewer.grids.pop_back();
  const Verdict f = compare(left, fewer, Profile::Sets);
  EXPECT_EQ(f.first->what, "number of members");
  EXPECT_EQ(f.missing, 1024);
}

// Against a count by brute force over the voxel lists.
TEST(Compare, CountsAgreeWithListsOfVoxels) {
  constexpr std::uint64_t seed = 5;
  samples::Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    Batch left = samples::batch(rng(), 3), right = left;
    for (auto& voxels : right.members) {
      std::erase_if(voxels, [&](const Voxel&) { return rng() % 7 == 0; });
      if (rng() % 2 == 0) voxels.push_back({samples::edge(rng), samples::edge(rng), 2});
      if (rng() % 5 == 0) voxels.clear();
      reference::make_canonical(voxels);
    }
    std::int64_t missing = 0, extra = 0;
    std::optional<Voxel> first;
    std::int64_t member = -1;
    for (std::size_t m = 0; m < left.size(); ++m) {
      std::vector<Voxel> gone, more;
      std::set_difference(left.members[m].begin(), left.members[m].end(), right.members[m].begin(),
                          right.members[m].end(), std::back_inserter(gone),
                          reference::canonical_less);
      std::set_difference(right.members[m].begin(), right.members[m].end(), left.members[m].begin(),
                          left.members[m].end(), std::back_inserter(more),
                          reference::canonical_less);
      missing += static_cast<std::int64_t>(gone.size());
      extra += static_cast<std::int64_t>(more.size());
      if (!first && !(gone.empty() && more.empty())) {
        member = static_cast<std::int64_t>(m);
        first = more.empty() || (!gone.empty() && reference::canonical_less(gone[0], more[0]))
                    ? gone[0]
                    : more[0];
      }
    }
    const Verdict v = compare(reference::layout_of(left),
                              oracle::write_layout(reference::layout_of(right)), Profile::Topology);
    EXPECT_EQ(v.missing, missing) << "seed " << seed << " round " << round;
    EXPECT_EQ(v.extra, extra);
    EXPECT_EQ(v.ok(), !first.has_value());
    if (first) {
      EXPECT_EQ(v.first->coordinate, first);
      EXPECT_EQ(v.first->member, member);
    }
  }
}

TEST(Compare, SetsComeBeforeWhatFollowsFromThem) {
  // An extra voxel in a tile of its own: a tile, an upper, a lower and a leaf too many as well.
  Batch other = samples::rich();
  other.members[2].push_back({-5000, 1, 1});
  reference::make_canonical(other.members[2]);
  const Verdict v = compare(reference::layout_of(samples::rich()),
                            oracle::write_layout(reference::layout_of(other)), Profile::Bytes);
  EXPECT_EQ(v.first->what, "an extra voxel");
  EXPECT_EQ(v.first->path, "tile (-2,0,0) > upper 0 > lower 0 > leaf 0");
  EXPECT_EQ(*v.first->coordinate, (Voxel{-5000, 1, 1}));
  EXPECT_GT(v.differences, 5);
}

TEST(Compare, TheWindowShowsBothSides) {
  std::vector<Voxel> row, without;
  samples::add_box(row, {0, 3, 0}, {0, 3, 7});
  for (const Voxel& v : row)
    if (v.z != 4) without.push_back(v);
  without.push_back({0, 5, 6});
  const Verdict v = compare(reference::layout_of(samples::of({row})),
                            reference::layout_of(samples::of({without})), Profile::Sets);
  const std::vector<std::string> expected{
      "  expected  actual",
      "  (0,3,0)   (0,3,0)",
      "  (0,3,1)   (0,3,1)",
      "  (0,3,2)   (0,3,2)",
      "  (0,3,3)   (0,3,3)",
      "> (0,3,4)            missing",
      "  (0,3,5)   (0,3,5)",
      "  (0,3,6)   (0,3,6)",
      "  (0,3,7)   (0,3,7)",
      "            (0,5,6)  extra",
      "leaf at (0,0,0)",
      "slots x=0, y=0..7 down, z=0..7 right:  . off  # on  + extra  - missing",
      "  . . . . . . . .",
      "  . . . . . . . .",
      "  . . . . . . . .",
      "> # # # # - # # #",
      "  . . . . . . . .",
      "  . . . . . . + .",
      "  . . . . . . . .",
      "  . . . . . . . .",
      "          ^",
  };
  EXPECT_EQ(v.first->window, expected);
}

// What a Layout does not hold, in bytes: patches of single fields of the third member.
TEST(Compare, FieldsOfABufferThatALayoutDoesNotHold) {
  using G = format::GridData;
  using T = format::TreeData;
  using R = format::RootData;
  const Layout layout = reference::layout_of(samples::rich());
  const std::uint64_t grid = layout.byte_offsets[2], tree = grid + 672, root = tree + 64,
                      tile = root + 96, upper = tile + 32, lower = upper + 270400;
  struct Patch {
    const char* what;
    std::uint64_t at;
    Profile lowest;
    const char* clause;
    std::string path;
  };
  const Patch patches[] = {
      {"mData1", grid + G::data1.at, Profile::Layout, "G-6", ""},
      {"mBlindMetadataOffset", grid + G::blind_offset.at, Profile::Layout, "G-6", ""},
      {"mTileCount", tree + T::tile_counts.at + 4, Profile::Layout, "G-4", ""},
      {"mBackground", root + R::background.at, Profile::Layout, "G-4", "root"},
      {"state and value of root tile 0", tile + 16, Profile::Layout, "G-4", "root"},
      {"value in slot 9 of upper 0, which has no child", upper + format::UpperData::table.at + 72,
       Profile::Layout, "G-4", "upper 0"},
      {"value in slot 4095 of lower 0, which has no child",
       lower + format::LowerData::table.at + 8 * 4095, Profile::Layout, "G-4", "lower 0"},
      {"mChecksum", grid + G::checksum.at, Profile::Bytes, "G-6", ""},
      {"mVersion", grid + G::version.at, Profile::Bytes, "G-6", ""},
      {"mGridName", grid + G::name.at + 77, Profile::Bytes, "G-7", ""},
      {"mMap.mMatF", grid + G::mat_f.at, Profile::Bytes, "G-7", ""},
      {"mMap.mInvMatF", grid + G::inv_mat_f.at, Profile::Bytes, "G-7", ""},
      {"mMap.mVecF", grid + G::vec_f.at, Profile::Bytes, "G-7", ""},
      {"mMap.mInvMatD", grid + G::inv_mat_d.at, Profile::Bytes, "G-7", ""},
      {"mVoxelSize", grid + G::voxel_size.at, Profile::Bytes, "G-7", ""},
      {"mGridClass", grid + G::grid_class.at, Profile::Bytes, "G-6", ""},
      {"mData0", grid + G::data0.at, Profile::Bytes, "G-6", ""},
      {"mData2", grid + G::data2.at, Profile::Bytes, "G-6", ""},
      {"padding of RootData", root + 28, Profile::Bytes, "G-6", ""},
      {"mStdDevi", root + R::deviation.at, Profile::Bytes, "G-6", ""},
      {"padding of RootData", root + 95, Profile::Bytes, "G-6", ""},
      {"padding of Tile", tile + 20, Profile::Bytes, "G-6", "root tile 0"},
      {"mMinimum", upper + format::UpperData::minimum.at, Profile::Bytes, "G-6",
       "tile (0,0,0) > upper 0"},
      {"mAverage", lower + format::LowerData::average.at + 7, Profile::Bytes, "G-6",
       "tile (0,0,0) > upper 0 > lower 0"},
  };
  for (const Patch& patch : patches) {
    SCOPED_TRACE(patch.what);
    const GridBuffer wrong =
        patched(layout, [&](std::byte* bytes) { bytes[patch.at] ^= std::byte{0x01}; });
    for (const Profile profile : profiles) {
      const Verdict v = compare(layout, wrong, profile);
      ASSERT_EQ(v.ok(), profile < patch.lowest) << to_string(profile) << first_line(v);
      if (v.ok()) continue;
      EXPECT_EQ(v.differences, 1);
      EXPECT_EQ(v.first->clause, patch.clause);
      EXPECT_EQ(v.first->member, 2);
      EXPECT_EQ(v.first->path, patch.path);
      const std::string what = v.first->what;
      EXPECT_TRUE(what == patch.what || what.ends_with(std::string(", ") + patch.what)) << what;
    }
  }
}

TEST(Compare, MemoryOrder) {
  // The leaves before the lower nodes: a legal buffer, but not the canonical one.
  const Layout layout = reference::layout_of(samples::of({{{1, 2, 3}, {9, 2, 3}}}));
  GridBuffer buffer = oracle::write_layout(layout);
  std::vector<std::byte> bytes(buffer.bytes.begin(), buffer.bytes.end());
  const std::uint64_t tree = 672, root = tree + 64, upper = root + 96 + 32, lower = upper + 270400,
                      leaf = lower + 33856, leaves = 2 * 96;
  std::rotate(bytes.begin() + static_cast<std::ptrdiff_t>(lower),
              bytes.begin() + static_cast<std::ptrdiff_t>(leaf), bytes.end());
  const std::uint64_t new_leaf = lower, new_lower = lower + leaves;
  format::store(&bytes[tree], new_leaf - tree);
  format::store(&bytes[tree + 8], new_lower - tree);
  format::store(&bytes[upper + format::UpperData::table.at], new_lower - upper);
  format::store(&bytes[new_lower + format::LowerData::table.at], new_leaf - new_lower);
  format::store(&bytes[new_lower + format::LowerData::table.at + 8 * 256],
                new_leaf + 96 - new_lower);
  buffer.bytes = bytes;
  EXPECT_TRUE(compare(layout, buffer, Profile::Topology).ok());
  const Verdict v = compare(layout, buffer, Profile::Layout);
  EXPECT_EQ(v.differences, 2);
  EXPECT_EQ(v.first->clause, "G-6");
  EXPECT_EQ(v.first->what, "mNodeOffset[1]");
}

TEST(Compare, ABufferSaysByItselfWhereItsTreeContradictsItself) {
  const Layout layout = reference::layout_of(samples::rich());
  const std::uint64_t leaves = layout.byte_offsets[3] - 2 * 96;
  const GridBuffer wrong =
      patched(layout, [&](std::byte* bytes) { format::store(bytes + leaves, std::int32_t{512}); });
  for (const Profile profile : profiles) {
    const Verdict v = compare(layout, wrong, profile);
    ASSERT_FALSE(v.ok());
    EXPECT_EQ(v.first->what, "mBBoxMin of a leaf");
    EXPECT_EQ(v.first->path, "tile (0,0,0) > upper 0 > lower 0 > leaf 0");
    EXPECT_EQ(v.first->actual, "(512,0,0)");
  }
}

TEST(Compare, HostileBuffersAreDifferences) {
  const Layout layout = reference::layout_of(samples::rich());
  GridBuffer buffer = oracle::write_layout(layout);
  buffer.bytes = buffer.bytes.first(buffer.bytes.size() - 1);
  const Verdict v = compare(layout, buffer, Profile::Sets);
  ASSERT_FALSE(v.ok());
  EXPECT_EQ(v.first->clause, "E-2");
  EXPECT_TRUE(shows(*v.first, "Corrupt")) << v.first->window[0];
  const Verdict r = compare(buffer, layout, Profile::Sets);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.first->what.substr(0, 20), "the reference's own ");
}

// A member that cannot be followed hides neither a fault of those before it nor what was compared.
TEST(Compare, TheEarliestFaultComesFirst) {
  const Layout layout = reference::layout_of(samples::rich());
  ASSERT_GE(layout.grids.size(), 2u);
  const auto cut = [&](std::size_t member, std::byte* bytes) {  // its root lies outside
    format::store(bytes + layout.byte_offsets[member] + format::GridData::size +
                      format::TreeData::root_offset.at,
                  std::uint64_t{1} << 40);
  };
  const std::int64_t of_first = static_cast<std::int64_t>(layout.voxel_offsets[1]);
  for (const bool fault : {false, true}) {
    const GridBuffer wrong = patched(layout, [&](std::byte* bytes) {
      cut(1, bytes);
      if (fault)
        format::store(
            bytes + layout.byte_offsets[1] - format::LeafData::size + format::LeafData::offset.at,
            std::uint64_t{12345});
    });
    const Verdict v = compare(layout, wrong, Profile::Topology);
    ASSERT_FALSE(v.ok());
    EXPECT_EQ(v.first->member, fault ? 0 : 1);
    EXPECT_EQ(v.first->what, fault ? "mOffset of a leaf" : "mNodeOffset[3]");
    EXPECT_EQ(v.differences, fault ? 2 : 1);
    EXPECT_TRUE(v.compared);
    EXPECT_EQ(v.members, 1);
    EXPECT_EQ(v.voxels, of_first);
    EXPECT_EQ(v.not_compared, static_cast<std::int64_t>(layout.grids.size()) - 1);
    EXPECT_EQ(v.missing, 0);
  }
  const Verdict none =
      compare(layout, patched(layout, [&](std::byte* b) { cut(0, b); }), Profile::Sets);
  EXPECT_FALSE(none.compared);
  EXPECT_EQ(none.members, 0);
  EXPECT_EQ(none.not_compared, static_cast<std::int64_t>(layout.grids.size()));
}

TEST(Compare, MapsBeforeAMemberThatCannotBeFollowedAreJudged) {
  const Layout layout = reference::layout_of(samples::rich());
  oracle::Maps maps;
  for (const Grid& grid : layout.grids) maps.maps.push_back(grid.map);
  maps.maps[0].origin[1] += 1;
  const GridBuffer wrong = patched(layout, [&](std::byte* bytes) {
    format::store(bytes + layout.byte_offsets[1], std::uint64_t{0});  // no magic
  });
  const Verdict v = compare(maps, wrong, Profile::Topology);
  EXPECT_EQ(v.first->what, "origin along y");
  EXPECT_EQ(v.differences, 2);
  EXPECT_EQ(v.members, 1);
  EXPECT_TRUE(v.compared);
}

Error refusal(ErrorKind kind) {
  return Error(kind, {"refine", "factor", "0", "at least 1", {}, {}});
}

TEST(Compare, Refusals) {
  const Layout layout = reference::layout_of(samples::rich());
  const Answer range = refusal(ErrorKind::OutOfRange);
  EXPECT_TRUE(compare(range, refusal(ErrorKind::OutOfRange), Profile::Bytes).ok());
  const Verdict kinds = compare(range, refusal(ErrorKind::InvalidArgument), Profile::Sets);
  EXPECT_EQ(kinds.first->clause, "E-3");
  EXPECT_EQ(kinds.first->what, "the kind of a refusal");
  EXPECT_EQ(kinds.first->expected, "OutOfRange");
  EXPECT_EQ(kinds.first->actual, "InvalidArgument");
  const Verdict answered = compare(range, layout, Profile::Sets);
  EXPECT_EQ(answered.first->what, "an answer to what must be refused");
  const Verdict refused = compare(layout, range, Profile::Sets);
  EXPECT_EQ(refused.first->what, "a refusal of what is legal");
  EXPECT_EQ(refused.first->actual, "OutOfRange");
  for (const Verdict& v : {kinds, answered, refused}) EXPECT_FALSE(v.compared);
  // A machine short of memory refuses nothing that is legal; it still fails.
  const Answer exhausted = refusal(ErrorKind::OutOfMemory);
  for (const Answer* expected : {&range, static_cast<const Answer*>(nullptr)}) {
    const Verdict v = compare(expected ? *expected : Answer(layout), exhausted, Profile::Sets);
    EXPECT_FALSE(v.ok());
    EXPECT_FALSE(v.compared);
    EXPECT_EQ(v.first->clause, "E-3");
    EXPECT_EQ(v.first->what, "the backend ran out of memory: not judged");
    EXPECT_EQ(v.first->actual, "OutOfMemory");
  }
  const Verdict ours = compare(exhausted, layout, Profile::Sets);
  EXPECT_FALSE(ours.ok());
  EXPECT_EQ(ours.first->what, "the reference ran out of memory: not judged");
  EXPECT_FALSE(compare(range, oracle::Maps{}, Profile::Sets).ok());
}

TEST(Compare, NotImplementedIsAVerdictOfItsOwn) {
  const Layout layout = reference::layout_of(samples::rich());
  const Verdict v = compare(layout, oracle::NotImplemented{"too large"}, Profile::Sets);
  EXPECT_EQ(v.outcome, Outcome::NotImplemented);
  EXPECT_EQ(v.reason, "too large");
  EXPECT_FALSE(v.ok());
  EXPECT_FALSE(v.first);
  EXPECT_EQ(compare(oracle::NotImplemented{"no"}, layout, Profile::Sets).outcome,
            Outcome::NotImplemented);
}

TEST(Compare, Maps) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto maps = [](double s, double o) {
    return oracle::Maps{{reference::Map{}, {{1, s, 1}, {0, 0, o}}}};
  };
  EXPECT_TRUE(compare(maps(0.1, -3), maps(0.1, -3), Profile::Sets).ok());
  const Verdict v = compare(maps(0.1, -3), maps(std::nextafter(0.1, 1), -3), Profile::Sets);
  EXPECT_EQ(v.first->clause, "G-7");
  EXPECT_EQ(v.first->what, "voxel size along y");
  EXPECT_EQ(v.first->member, 1);
  EXPECT_EQ(v.differences, 1);
  EXPECT_FALSE(compare(maps(1, nan), maps(1, nan), Profile::Sets).ok());
  const Verdict fewer = compare(maps(1, 2), oracle::Maps{{reference::Map{}}}, Profile::Sets);
  EXPECT_EQ(fewer.first->what, "number of maps");

  // A batch answers a question about maps by its maps.
  Batch batch = samples::rich();
  const Answer answer = oracle::write_layout(reference::layout_of(batch));
  EXPECT_TRUE(compare(oracle::Maps{batch.maps}, answer, Profile::Topology).ok());
  batch.maps[2].origin[0] = 1e-300;
  EXPECT_FALSE(compare(oracle::Maps{batch.maps}, answer, Profile::Topology).ok());
}

// A foreign map, a rotation even, fails nothing below `bytes`, unless maps are judged [G-9].
TEST(Compare, ForeignMapsNamesChecksumsAndVersions) {
  using G = format::GridData;
  const Layout layout = reference::layout_of(samples::rich());
  const GridBuffer foreign = patched(layout, [&](std::byte* bytes) {
    std::byte* grid = bytes + layout.byte_offsets[2];
    format::store(grid + G::mat_d.at + 8, 0.25);
    format::store(grid + G::checksum.at, std::uint64_t{0x1234});
    format::store(grid + G::version.at, format::version(32, 4, 1));
    std::memset(grid + G::name.at, 'x', 256);
  });
  for (const Profile profile : {Profile::Sets, Profile::Topology, Profile::Layout}) {
    EXPECT_TRUE(compare(layout, foreign, profile).ok());
    const Verdict v = compare(layout, foreign, profile, true);
    ASSERT_FALSE(v.ok());
    EXPECT_EQ(v.first->clause, "G-7");
    EXPECT_EQ(v.first->what, "mMap.mMatD");
  }
  EXPECT_FALSE(compare(layout, foreign, Profile::Bytes).ok());
}

// Bytes of two buffers are compared as they are: both may carry another version than ours.
TEST(Compare, TwoBuffersByTheirBytes) {
  const Layout layout = reference::layout_of(samples::rich());
  const auto versioned = [&](std::uint32_t minor) {
    return patched(layout, [&](std::byte* bytes) {
      for (std::size_t m = 0; m < 3; ++m)
        format::store(bytes + layout.byte_offsets[m] + 16, format::version(32, minor, 0));
    });
  };
  EXPECT_TRUE(compare(versioned(4), versioned(4), Profile::Bytes).ok());
  const Verdict v = compare(versioned(4), versioned(5), Profile::Bytes);
  EXPECT_EQ(v.differences, 3);
  EXPECT_EQ(v.first->what, "byte 17 of the buffer, mVersion");
  EXPECT_TRUE(shows(*v.first, "^^"));
}

TEST(Compare, ProfilesByName) {
  for (const Profile profile : profiles)
    EXPECT_EQ(oracle::parse_profile(to_string(profile)), profile);
  EXPECT_FALSE(oracle::parse_profile("byte"));
}

}  // namespace
