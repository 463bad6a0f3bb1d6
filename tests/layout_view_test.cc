// The reader on buffers that mean well and on buffers that do not: whatever the bytes, it ends in a
// Layout or an Error, and reads nothing outside them. Buffers live in allocations of their exact
// size, so that AddressSanitizer sees the first byte too many.
#include "oracle/layout_view.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "oracle/compare.h"
#include "oracle/nanovdb_format.h"
#include "tests/layout_samples.h"

namespace {

using namespace leafproof;
namespace format = oracle::format;
using oracle::ErrorKind;
using oracle::GridBuffer;
using reference::Batch;
using reference::Layout;

/// A copy in an allocation of exactly its size; `shift` bytes off alignment.
class Patient {
 public:
  explicit Patient(const GridBuffer& whole, std::uint64_t shift = 0)
      : Patient(whole.bytes, whole.offsets, shift) {}
  Patient(std::span<const std::byte> bytes, std::vector<std::uint64_t> offsets,
          std::uint64_t shift = 0)
      : memory_(new std::byte[bytes.size() + shift]), bytes_(memory_.get() + shift, bytes.size()) {
    if (!bytes.empty()) std::memcpy(bytes_.data(), bytes.data(), bytes.size());
    buffer.bytes = bytes_;
    buffer.offsets = std::move(offsets);
  }

  template <class T>
  void set(std::uint64_t at, T value) {
    format::store(&bytes_[at], value);
  }
  template <class T>
  T get(std::uint64_t at) const {
    return format::load<T>(&bytes_[at]);
  }
  std::span<std::byte> bytes() { return bytes_; }

  GridBuffer buffer;

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::span<std::byte> bytes_;
};

/// Where things are in a canonical grid that begins at `grid`.
struct Map {
  std::uint64_t grid, tree, root, tiles, uppers, lowers, leaves, end;
  Map(const Layout& layout, std::size_t m)
      : grid(layout.byte_offsets[m]),
        tree(grid + 672),
        root(tree + 64),
        tiles(root + 96),
        uppers(tiles + 32 * layout.grids[m].tiles.size()),
        lowers(uppers + 270400 * layout.grids[m].uppers.size()),
        leaves(lowers + 33856 * layout.grids[m].lowers.size()),
        end(leaves + 96 * layout.grids[m].leaves.size()) {}
};

/// Two members with one upper node each and an empty one between: small enough to be read often.
Batch small() {
  std::vector<reference::Voxel> a{{0, 0, 0}, {1, 2, 3}, {8, 0, 0}, {200, 0, 7}}, b;
  samples::add_box(b, {-8, -8, -8}, {-1, -1, -3});
  Batch batch = samples::of({a, {}, b});
  batch.names = {"first", "", "third"};
  return batch;
}

struct Refusal {
  ErrorKind kind;
  std::string argument;
  std::optional<std::int64_t> member;
};

std::optional<Refusal> refusal(const GridBuffer& buffer) {
  try {
    oracle::read_layout(buffer);
    return {};
  } catch (const reference::Error& e) {
    return Refusal{e.kind(), e.detail().argument, e.detail().member};
  }
}

TEST(LayoutView, ReadsWhatTheLayoutSays) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Layout layout = reference::layout_of(samples::batch(seed));
    const oracle::Examination seen = oracle::examine(oracle::write_layout(layout));
    EXPECT_TRUE(seen.findings.empty()) << "seed " << seed << ": " << seen.findings[0].what;
    ASSERT_EQ(seen.layout.grids.size(), layout.grids.size());
    EXPECT_EQ(seen.layout.byte_offsets, layout.byte_offsets);
    EXPECT_EQ(seen.layout.voxel_offsets, layout.voxel_offsets);
    EXPECT_EQ(seen.layout.leaf_offsets, layout.leaf_offsets);
    for (std::size_t m = 0; m < layout.grids.size(); ++m) {
      const reference::Grid &e = layout.grids[m], &a = seen.layout.grids[m];
      EXPECT_EQ(a.name, e.name);
      EXPECT_EQ(a.map, e.map);
      EXPECT_EQ(a.index, e.index);
      EXPECT_EQ(a.count, e.count);
      EXPECT_EQ(a.flags, e.flags);
      EXPECT_EQ(a.byte_size, e.byte_size);
      EXPECT_EQ(a.voxel_count, e.voxel_count);
      EXPECT_EQ(a.box, e.box);
      EXPECT_EQ(a.world_box, e.world_box);
      ASSERT_EQ(a.tiles.size(), e.tiles.size());
      for (std::size_t i = 0; i < e.tiles.size(); ++i) {
        EXPECT_EQ(a.tiles[i].tile, e.tiles[i].tile);
        EXPECT_EQ(a.tiles[i].key, e.tiles[i].key);
        EXPECT_EQ(a.tiles[i].child, e.tiles[i].child);
      }
      const auto same_nodes = [](const auto& left, const auto& right) {
        ASSERT_EQ(left.size(), right.size());
        for (std::size_t i = 0; i < left.size(); ++i) {
          EXPECT_EQ(left[i].origin, right[i].origin);
          EXPECT_EQ(left[i].child_mask, right[i].child_mask);
          EXPECT_EQ(left[i].children, right[i].children);
          EXPECT_EQ(left[i].box, right[i].box);
          EXPECT_EQ(left[i].flags, right[i].flags);
        }
      };
      same_nodes(a.uppers, e.uppers);
      same_nodes(a.lowers, e.lowers);
      ASSERT_EQ(a.leaves.size(), e.leaves.size());
      for (std::size_t i = 0; i < e.leaves.size(); ++i) {
        EXPECT_EQ(a.leaves[i].origin, e.leaves[i].origin);
        EXPECT_EQ(a.leaves[i].mask, e.leaves[i].mask);
        EXPECT_EQ(a.leaves[i].offset, e.leaves[i].offset);
        EXPECT_EQ(a.leaves[i].prefix_sum, e.leaves[i].prefix_sum);
        EXPECT_EQ(a.leaves[i].box, e.leaves[i].box);
        EXPECT_EQ(a.leaves[i].flags, e.leaves[i].flags);
      }
    }
  }
}

TEST(LayoutView, AnyAlignmentOfTheBufferItself) {
  const Batch batch = small();
  for (std::uint64_t shift : {1, 3, 8, 17}) {
    const Patient patient(oracle::write_layout(reference::layout_of(batch)), shift);
    EXPECT_EQ(oracle::batch_of(oracle::read_layout(patient.buffer)), batch);
  }
}

TEST(LayoutView, FindsTheGridsOfARawBuffer) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const GridBuffer whole = oracle::write_layout(reference::layout_of(samples::batch(seed)));
    const GridBuffer found = oracle::grids_in(whole.owner, whole.bytes);
    EXPECT_EQ(found.offsets, whole.offsets);
  }
  EXPECT_EQ(oracle::grids_in(nullptr, {}).offsets, std::vector<std::uint64_t>{0});
  Patient patient(oracle::write_layout(reference::layout_of(small())));
  EXPECT_THROW(oracle::grids_in(nullptr, patient.bytes().first(patient.bytes().size() - 32)),
               reference::Error);
  EXPECT_THROW(oracle::grids_in(nullptr, patient.bytes().first(31)), reference::Error);
  // A size of 0 must not turn the walk into an endless one.
  patient.set(format::GridData::byte_size.at, std::uint64_t{0});
  EXPECT_THROW(oracle::grids_in(nullptr, patient.bytes()), reference::Error);
}

TEST(LayoutView, EmptyBatchesAndMembers) {
  EXPECT_TRUE(oracle::read_layout({}).grids.empty());
  for (const std::vector<std::size_t>& sizes : std::vector<std::vector<std::size_t>>{
           {0}, {0, 0}, {0, 3}, {3, 0}, {0, 3, 0}, {3, 0, 0, 3}}) {
    std::vector<std::vector<reference::Voxel>> members;
    for (std::size_t n : sizes) {
      members.emplace_back();
      for (std::size_t i = 0; i < n; ++i)
        members.back().push_back({static_cast<std::int32_t>(i) * 9 - 9, 0, 0});
    }
    const Batch batch = samples::of(members);
    const Layout read = oracle::read_layout(oracle::write_layout(reference::layout_of(batch)));
    EXPECT_EQ(oracle::batch_of(read), batch);
    for (std::size_t m = 0; m < sizes.size(); ++m)
      EXPECT_EQ(read.grids[m].box.has_value(), sizes[m] != 0);
  }
}

TEST(LayoutView, OlderMagicAndMinorVersions) {
  Patient patient(oracle::write_layout(reference::layout_of(small())));
  patient.set(format::GridData::magic.at, format::magic_of_old);
  patient.set(format::GridData::version.at, format::version(32, 3, 3));
  EXPECT_FALSE(refusal(patient.buffer));
  patient.set(format::GridData::version.at, format::version(33, 0, 0));
  ASSERT_TRUE(refusal(patient.buffer));
  EXPECT_EQ(refusal(patient.buffer)->argument, "mVersion");
}

TEST(LayoutView, Names) {
  Patient patient(oracle::write_layout(reference::layout_of(small())));
  const auto name = [&] { return oracle::read_layout(patient.buffer).grids[0].name; };
  std::memset(&patient.bytes()[format::GridData::name.at], 'x', 256);  // no terminator
  EXPECT_EQ(name(), std::string(256, 'x'));
  patient.set(format::GridData::name.at + 3, '\0');  // and old letters behind it
  EXPECT_EQ(name(), "xxx");
}

// A long name lies in blind data behind the leaves, as NanoVDB writes it.
TEST(LayoutView, LongNames) {
  const Layout layout = reference::layout_of(samples::of({{{1, 2, 3}}}));
  const GridBuffer plain = oracle::write_layout(layout);
  const std::string name = std::string(300, 'L') + "end";
  std::vector<std::byte> bytes(plain.bytes.begin(), plain.bytes.end());
  const std::uint64_t meta = bytes.size(), data = meta + format::BlindData::size;
  bytes.resize(data + 320);
  Patient patient(bytes, {0, bytes.size()});
  using G = format::GridData;
  using B = format::BlindData;
  patient.set(G::byte_size.at, std::uint64_t{bytes.size()});
  patient.set(G::flags.at, std::uint32_t{0x23});
  patient.set(G::blind_offset.at, meta);
  patient.set(G::blind_count.at, std::uint32_t{1});
  patient.set(meta + B::data_offset.at, B::size);
  patient.set(meta + B::value_count.at, std::uint64_t{name.size() + 1});
  patient.set(meta + B::value_size.at, std::uint32_t{1});
  patient.set(meta + B::data_class.at, B::class_grid_name);
  std::memcpy(&patient.bytes()[data], name.c_str(), name.size() + 1);
  EXPECT_EQ(oracle::read_layout(patient.buffer).grids[0].name, name);

  const auto corrupt = [&](std::uint64_t at, auto value) {
    const auto before = patient.get<decltype(value)>(at);
    patient.set(at, value);
    const auto refused = refusal(patient.buffer);
    EXPECT_TRUE(refused && refused->kind == ErrorKind::Corrupt) << at << " " << value;
    patient.set(at, before);
  };
  for (std::uint64_t hostile : {std::uint64_t{1} << 63, ~std::uint64_t{0}, bytes.size() + 0ul})
    corrupt(meta + B::value_count.at, hostile);
  corrupt(meta + B::data_offset.at, std::uint64_t{1} << 40);
  corrupt(meta + B::data_offset.at, ~std::uint64_t{0} << 33);
  corrupt(meta + B::value_size.at, std::uint32_t{8});
  corrupt(G::blind_count.at, std::uint32_t{0xffffffff});
  corrupt(G::blind_offset.at, ~std::uint64_t{0} - 31);
}

struct Wound {
  const char* why;
  std::function<void(Patient&, const Map&)> make;
  ErrorKind kind;
  const char* argument;  // how it begins
};

// What cannot be followed is named for what it is. The third member is the one that is wounded.
TEST(LayoutView, NamesWhatCannotBeFollowed) {
  using G = format::GridData;
  using T = format::TreeData;
  using R = format::RootData;
  using U = format::UpperData;
  using L = format::LowerData;
  const Layout layout = reference::layout_of(small());
  const auto slot = [](const reference::Node& node) {  // of the first child
    for (std::uint64_t w = 0;; ++w)
      if (node.child_mask[w] != 0)
        return 64 * w + static_cast<std::uint64_t>(std::countr_zero(node.child_mask[w]));
  };
  const std::uint64_t upper_slot = U::table.at + 8 * slot(layout.grids[2].uppers[0]);
  const std::uint64_t lower_slot = L::table.at + 8 * slot(layout.grids[2].lowers[0]);
  const auto u64 = [](auto v) { return static_cast<std::uint64_t>(v); };
  const auto u32 = [](auto v) { return static_cast<std::uint32_t>(v); };
  const std::vector<Wound> wounds{
      {"magic", [&](Patient& p, const Map& m) { p.set(m.grid, u64(7)); }, ErrorKind::Corrupt,
       "mMagic"},
      {"file magic", [&](Patient& p, const Map& m) { p.set(m.grid, u64(0x324244566f6e614e)); },
       ErrorKind::Corrupt, "mMagic"},
      {"type", [&](Patient& p, const Map& m) { p.set(m.grid + G::grid_type.at, u32(1)); },
       ErrorKind::Corrupt, "mGridType"},
      {"size 0", [&](Patient& p, const Map& m) { p.set(m.grid + G::byte_size.at, u64(0)); },
       ErrorKind::Corrupt, "mGridSize"},
      {"size beyond the buffer",
       [&](Patient& p, const Map& m) { p.set(m.grid + G::byte_size.at, u64(m.end - m.grid + 32)); },
       ErrorKind::Corrupt, "mGridSize"},
      {"size cuts the leaves",
       [&](Patient& p, const Map& m) { p.set(m.grid + G::byte_size.at, u64(m.end - m.grid - 96)); },
       ErrorKind::Corrupt, "mGridSize"},
      {"root before the tree's end",
       [&](Patient& p, const Map& m) { p.set(m.tree + T::root_offset.at, u64(32)); },
       ErrorKind::Corrupt, "mNodeOffset[3]"},
      {"root at a negative offset",
       [&](Patient& p, const Map& m) { p.set(m.tree + T::root_offset.at, u64(-64)); },
       ErrorKind::Corrupt, "mNodeOffset[3]"},
      {"no root", [&](Patient& p, const Map& m) { p.set(m.tree + T::root_offset.at, u64(0)); },
       ErrorKind::Corrupt, "mNodeOffset[3]"},
      {"more leaves than bytes",
       [&](Patient& p, const Map& m) { p.set(m.tree + T::leaf_count.at, u32(0xffffffff)); },
       ErrorKind::Corrupt, "mNodeCount[0] or mNodeOffset[0]"},
      {"one leaf too many",
       [&](Patient& p, const Map& m) { p.set(m.tree + T::leaf_count.at, u32(2)); },
       ErrorKind::Corrupt, "mNodeCount[0] or mNodeOffset[0]"},
      {"no leaves", [&](Patient& p, const Map& m) { p.set(m.tree + T::leaf_count.at, u32(0)); },
       ErrorKind::Corrupt, "child of lower 0"},
      {"leaves between two slots of 32",
       [&](Patient& p, const Map& m) {
         p.set(m.tree + T::leaf_offset.at, u64(m.leaves - m.tree - 8));
       },
       ErrorKind::Corrupt, "mNodeOffset[0]"},
      {"leaves inside the lower nodes",
       [&](Patient& p, const Map& m) {
         p.set(m.tree + T::leaf_offset.at, u64(m.leaves - m.tree - 96));
       },
       ErrorKind::Corrupt, "mNodeOffset"},
      {"a cycle: the uppers are the lowers",
       [&](Patient& p, const Map& m) {
         p.set(m.tree + T::lower_offset.at, u64(m.uppers - m.tree));
       },
       ErrorKind::Corrupt, "mNodeOffset"},
      {"more tiles than bytes",
       [&](Patient& p, const Map& m) { p.set(m.root + R::tile_count.at, u32(0xffffffff)); },
       ErrorKind::Corrupt, "mTableSize"},
      {"tiles run into the upper node",
       [&](Patient& p, const Map& m) { p.set(m.root + R::tile_count.at, u32(2)); },
       ErrorKind::Corrupt, "mTableSize"},
      {"a tile's child between nodes",
       [&](Patient& p, const Map& m) { p.set(m.tiles + 8, u64(m.uppers - m.root + 32)); },
       ErrorKind::Corrupt, "child of root tile 0"},
      {"a tile's child before the buffer",
       [&](Patient& p, const Map& m) { p.set(m.tiles + 8, u64(-(1ll << 62))); }, ErrorKind::Corrupt,
       "child of root tile 0"},
      {"a tile of value", [&](Patient& p, const Map& m) { p.set(m.tiles + 8, u64(0)); },
       ErrorKind::Unsupported, "root tile 0"},
      {"an upper node that is its own child: a cycle",
       [&](Patient& p, const Map& m) { p.set(m.uppers + upper_slot, u64(0)); }, ErrorKind::Corrupt,
       "child of upper 0"},
      {"a lower node whose child is above it",
       [&](Patient& p, const Map& m) { p.set(m.lowers + lower_slot, u64(m.uppers - m.lowers)); },
       ErrorKind::Corrupt, "child of lower 0"},
      {"a lower node's child in the middle of a leaf",
       [&](Patient& p, const Map& m) {
         p.set(m.lowers + lower_slot, u64(m.leaves - m.lowers + 32));
       },
       ErrorKind::Corrupt, "child of lower 0"},
      {"a child just behind the last leaf",
       [&](Patient& p, const Map& m) { p.set(m.lowers + lower_slot, u64(m.end - m.lowers)); },
       ErrorKind::Corrupt, "child of lower 0"},
      {"a child that nothing was stored for",
       [&](Patient& p, const Map& m) { p.set(m.lowers + L::child_mask.at, ~u64(0)); },
       ErrorKind::Corrupt, "child of lower 0"},
      {"a value tile in an upper node",
       [&](Patient& p, const Map& m) { p.set(m.uppers + U::value_mask.at + 4088, u64(1)); },
       ErrorKind::Unsupported, "mValueMask of upper 0"},
      {"a value tile in a lower node",
       [&](Patient& p, const Map& m) { p.set(m.lowers + L::value_mask.at, u64(1) << 63); },
       ErrorKind::Unsupported, "mValueMask of lower 0"},
      {"rotation", [&](Patient& p, const Map& m) { p.set(m.grid + G::mat_d.at + 8, 0.5); },
       ErrorKind::Unsupported, "mMap.mMatD"},
      {"taper", [&](Patient& p, const Map& m) { p.set(m.grid + G::taper_d.at, 0.5); },
       ErrorKind::Unsupported, "taper of the map"},
      {"NaN in the map",
       [&](Patient& p, const Map& m) {
         p.set(m.grid + G::mat_d.at, std::numeric_limits<double>::quiet_NaN());
       },
       ErrorKind::InvalidArgument, "map"},
      {"NaN off the diagonal",
       [&](Patient& p, const Map& m) {
         p.set(m.grid + G::mat_d.at + 8, std::numeric_limits<double>::quiet_NaN());
       },
       ErrorKind::InvalidArgument, "map"},
      {"an infinite origin",
       [&](Patient& p, const Map& m) {
         p.set(m.grid + G::vec_d.at, std::numeric_limits<double>::infinity());
       },
       ErrorKind::InvalidArgument, "map"},
      {"a mirror", [&](Patient& p, const Map& m) { p.set(m.grid + G::mat_d.at, -1.0); },
       ErrorKind::InvalidArgument, "map"},
      {"a leaf that is elsewhere by its own word",
       [&](Patient& p, const Map& m) { p.set(m.leaves, std::int32_t{64}); }, ErrorKind::Corrupt,
       "mBBoxMin of a leaf"},
  };
  const Map third(layout, 2);
  for (const Wound& wound : wounds) {
    SCOPED_TRACE(wound.why);
    Patient patient(oracle::write_layout(layout));
    wound.make(patient, third);
    const auto refused = refusal(patient.buffer);
    ASSERT_TRUE(refused);
    EXPECT_EQ(to_string(refused->kind), to_string(wound.kind));
    EXPECT_EQ(refused->argument.substr(0, std::strlen(wound.argument)), wound.argument);
    EXPECT_EQ(refused->member, 2);
    // And to `compare` it is a difference, not an exception; a map alone fails only `bytes`.
    const oracle::Answer expected = layout, actual = patient.buffer;
    EXPECT_FALSE(oracle::compare(expected, actual, oracle::Profile::Bytes).ok());
    const bool map = wound.argument == std::string("map") || wound.why == std::string("rotation") ||
                     wound.why == std::string("taper");
    EXPECT_EQ(oracle::compare(expected, actual, oracle::Profile::Layout).ok(), map);
    EXPECT_EQ(oracle::compare(expected, actual, oracle::Profile::Sets).ok(), map);
    EXPECT_FALSE(oracle::compare(expected, actual, oracle::Profile::Sets, true).ok());
  }
}

// The first member has three leaves in two lower nodes.
// The reason of a refusal is what would have been right, its value what stands there: a verdict
// shows them as `expected` and `actual`.
TEST(LayoutView, ReasonsSayWhatWouldHaveBeenRight) {
  using G = format::GridData;
  struct Case {
    std::function<void(Patient&, const Map&)> make;
    const char *argument, *value, *reason;
  };
  const auto u32 = [](auto v) { return static_cast<std::uint32_t>(v); };
  const auto u64 = [](auto v) { return static_cast<std::uint64_t>(v); };
  const std::vector<Case> cases{
      {[&](Patient& p, const Map& m) { p.set(m.grid, u64(7)); }, "mMagic", "0x0000000000000007",
       "0x314244566f6e614e or 0x304244566f6e614e, of a NanoVDB grid"},
      {[&](Patient& p, const Map& m) { p.set(m.grid + G::version.at, u32(31) << 21); }, "mVersion",
       "major 31", "major 32"},
      {[&](Patient& p, const Map& m) { p.set(m.grid + G::grid_type.at, u32(1)); }, "mGridType", "1",
       "20 (ValueOnIndex)"},
      {[&](Patient& p, const Map& m) {
         p.set(m.grid + G::blind_count.at, u32(5));
         p.set(m.grid + G::blind_offset.at, u64(m.end - m.grid));
       },
       "mBlindMetadataCount", "5", "0, since the grid ends where they would begin"},
      {[&](Patient& p, const Map& m) {
         p.set(m.grid + G::blind_count.at, u32(5));
         p.set(m.grid + G::blind_offset.at, u64(m.end - m.grid - 32));
       },
       "mBlindMetadataOffset", "305184",
       "room for 5 blind data headers of 288 bytes before the grid's end at 305216"},
      {[&](Patient& p, const Map& m) {
         p.set(m.root + format::RootData::tile_count.at, u32(1000000));
       },
       "mTableSize", "1000000", "at most the 9512 root tiles that fit in the grid's 305216 bytes"},
      {[&](Patient& p, const Map& m) { p.set(m.tiles + 8, u64(0)); }, "root tile 0", "a value tile",
       "an upper node: a grid of voxels has no value tiles [G-4]"},
      {[&](Patient& p, const Map& m) { p.set(m.tiles + 8, u64(4096)); }, "child of root tile 0",
       "offset 4096", "an offset to one of the 1 upper nodes"},
      {[&](Patient& p, const Map& m) {
         p.set(m.tree + format::TreeData::leaf_offset.at, u64(m.leaves - m.tree - 96));
       },
       "mNodeOffset", "leaves at 305024", "at 305120 or after, behind the lower nodes"},
      {[](Patient& p, const Map&) { p.buffer.offsets.back() -= 32; }, "offsets", "645280",
       "645312 at last, the end of the buffer"},
  };
  const Layout layout = reference::layout_of(small());
  const oracle::GridBuffer whole = oracle::write_layout(layout);
  for (const Case& c : cases) {
    Patient patient(whole);
    c.make(patient, Map(layout, 2));
    try {
      oracle::read_layout(patient.buffer);
      ADD_FAILURE() << c.argument << " was read";
    } catch (const reference::Error& e) {
      EXPECT_EQ(e.detail().argument, c.argument);
      EXPECT_EQ(e.detail().value, c.value);
      EXPECT_EQ(e.detail().reason, c.reason);
      const auto seen = oracle::examine_while_sound(patient.buffer);
      ASSERT_TRUE(seen.stopped);
      EXPECT_STREQ(seen.stopped->what(), e.what());
      EXPECT_EQ(seen.layout.grids.size(), c.argument == std::string("offsets") ? 0u : 2u);
      EXPECT_TRUE(seen.findings.empty());
    }
  }
}

TEST(LayoutView, NamesNodesReachedTwiceOrNever) {
  const Layout layout = reference::layout_of(small());
  ASSERT_EQ(layout.grids[0].lowers.size(), 2u);
  ASSERT_EQ(layout.grids[0].leaves.size(), 3u);
  const Map first(layout, 0);
  const auto table = first.lowers + format::LowerData::table.at;
  Patient patient(oracle::write_layout(layout));
  // Leaves 0 and 1 are in slots 0 and 256 of lower 0.
  ASSERT_EQ(patient.get<std::uint64_t>(table), first.leaves - first.lowers);
  ASSERT_EQ(patient.get<std::uint64_t>(table + 8 * 256), first.leaves - first.lowers + 96);
  patient.set(table + 8 * 256, first.leaves - first.lowers);  // leaf 0 twice, leaf 1 never
  const oracle::Examination seen = oracle::examine(patient.buffer);
  ASSERT_EQ(seen.counts[0], 2);
  EXPECT_EQ(seen.findings[0].what, "leaf 0");
  EXPECT_EQ(seen.findings[0].actual, "reached from a second parent");
  EXPECT_EQ(seen.findings[1].what, "leaf 1 of 3");
  EXPECT_EQ(seen.findings[1].actual, "reached from no parent");
  EXPECT_EQ(refusal(patient.buffer)->kind, ErrorKind::Corrupt);
}

TEST(LayoutView, Offsets) {
  const GridBuffer good = oracle::write_layout(reference::layout_of(small()));
  const auto refused = [&](std::vector<std::uint64_t> offsets) {
    Patient patient(good.bytes, std::move(offsets));
    const auto r = refusal(patient.buffer);
    return r && r->kind == ErrorKind::Corrupt;
  };
  const auto& o = good.offsets;
  EXPECT_FALSE(refused(o));
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({0}));
  EXPECT_TRUE(refused({32, o[1], o[2], o[3]}));
  EXPECT_TRUE(refused({0, o[2], o[1], o[3]}));
  EXPECT_TRUE(refused({0, o[1] + 8, o[2], o[3]}));
  EXPECT_TRUE(refused({0, o[1], o[2]}));
  EXPECT_TRUE(refused({0, o[1], o[2], o[3] + 32}));
  EXPECT_TRUE(refused({0, o[1], o[2], ~std::uint64_t{0} - 31}));
  EXPECT_TRUE(refused({0, o[1], o[1], o[2], o[3]}));  // a grid of no bytes
}

/// Reads, judges by every profile: nothing but Error may come of it, and `bytes` sees any change.
void survive(const Patient& patient, const oracle::Answer& expected, bool changed,
             const std::string& what) {
  try {
    const Batch batch = oracle::batch_of(oracle::read_layout(patient.buffer));
    EXPECT_LT(batch.size(), 1000u);
  } catch (const reference::Error& e) {
    EXPECT_NE(std::string(e.what()), "");
  }
  for (const auto profile : {oracle::Profile::Sets, oracle::Profile::Layout})
    oracle::compare(expected, patient.buffer, profile, true);
  const oracle::Verdict verdict = oracle::compare(expected, patient.buffer, oracle::Profile::Bytes);
  ASSERT_EQ(verdict.ok(), !changed) << what;
  if (changed) {
    ASSERT_NE(verdict.first->clause, "") << what;
    ASSERT_GT(verdict.differences, 0) << what;
  }
}

TEST(LayoutView, EveryFieldWithHostileValues) {
  const Layout layout = reference::layout_of(small());
  const oracle::Answer expected = layout;
  const GridBuffer good = oracle::write_layout(layout);
  Patient patient(good);
  std::uint64_t patches = 0;
  const auto attack = [&](std::uint64_t at, std::uint64_t size, const std::string& what) {
    const std::uint64_t end = good.bytes.size();
    const std::uint64_t here = size == 8   ? patient.get<std::uint64_t>(at)
                               : size == 4 ? patient.get<std::uint32_t>(at)
                                           : std::to_integer<std::uint64_t>(good.bytes[at]);
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63,
          std::uint64_t{1} << 31, std::uint64_t{0x7fffffff}, (std::uint64_t{1} << 63) - 1, here + 1,
          here - 1, here + 32, here - 32, 2 * here, here ^ (std::uint64_t{1} << 32), end, end - at,
          std::uint64_t{0x7ff8000000000000}, std::uint64_t{0xfff0000000000000}}) {
      std::memcpy(&patient.bytes()[at], &value, size);
      const bool changed = std::memcmp(&good.bytes[at], &patient.bytes()[at], size) != 0;
      survive(patient, expected, changed, what);
      ++patches;
      if (::testing::Test::HasFatalFailure()) return;
    }
    std::memcpy(&patient.bytes()[at], &good.bytes[at], size);
  };
  const auto structure = [&]<class Data>(Data, std::uint64_t start) {
    for (const format::Field& field : Data::fields) {
      // Long fields (names, masks, tables) by their first and last element.
      const std::uint64_t size = field.size % 8 == 0 && field.size >= 8   ? 8
                                 : field.size % 4 == 0 && field.size >= 4 ? 4
                                                                          : 1;
      attack(start + field.at, size, field.name);
      if (field.size > size) attack(start + field.at + field.size - size, size, field.name);
    }
  };
  for (std::size_t m = 0; m < 3; ++m) {
    const Map map(layout, m);
    structure(format::GridData{}, map.grid);
    structure(format::TreeData{}, map.tree);
    structure(format::RootData{}, map.root);
    if (layout.grids[m].tiles.empty()) continue;
    structure(format::Tile{}, map.tiles);
    structure(format::UpperData{}, map.uppers);
    structure(format::LowerData{}, map.lowers);
    structure(format::LeafData{}, map.leaves);
    structure(format::LeafData{}, map.end - 96);
  }
  EXPECT_GT(patches, 2000u);
}

TEST(LayoutView, RandomPatchesAndTruncations) {
  constexpr std::uint64_t seed = 20261129, rounds = 20000;
  RecordProperty("seed", std::to_string(seed));
  samples::Rng rng(seed);
  const Layout layout = reference::layout_of(small());
  const oracle::Answer expected = layout;
  const GridBuffer good = oracle::write_layout(layout);
  Patient patient(good);
  // Where a patch does harm: everything but the wide tables, and the slots in use.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> tender;
  for (std::size_t m = 0; m < 3; ++m) {
    const Map map(layout, m);
    tender.emplace_back(map.grid, map.uppers);
    if (map.uppers == map.lowers) continue;
    tender.emplace_back(map.uppers, map.uppers + 32);
    tender.emplace_back(map.lowers, map.lowers + 32 + 512 + 64);
    tender.emplace_back(map.leaves, map.end);
    for (std::uint64_t at = map.uppers; at < map.leaves; at += 8)
      if (patient.get<std::uint64_t>(at) != 0) tender.emplace_back(at, at + 8);
  }
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (rng() % 100 == 0) {  // cut, at any byte; the offsets cut with it, or not
      const std::uint64_t size = rng() % good.bytes.size();
      std::vector<std::uint64_t> offsets = good.offsets;
      if (rng() % 2 == 0)
        for (std::uint64_t& o : offsets) o = std::min(o, size);
      survive(Patient(good.bytes.first(size), offsets), expected, true, "cut");
      try {
        oracle::grids_in(nullptr, Patient(good.bytes.first(size), {}).bytes());
      } catch (const reference::Error&) {
      }
      continue;
    }
    std::vector<std::pair<std::uint64_t, std::byte>> undo;
    for (std::uint64_t n = 1 + rng() % 3; n > 0; --n) {
      const auto& [begin, end] = tender[rng() % tender.size()];
      const std::uint64_t at =
          rng() % 8 == 0 ? rng() % good.bytes.size() : begin + rng() % (end - begin);
      const std::uint64_t size = std::min(std::uint64_t{1} << rng() % 4, good.bytes.size() - at);
      // A random number, a small one, or what is stored somewhere else.
      std::uint64_t value = rng();
      if (rng() % 3 == 0) value = rng() % 512 - 256;
      if (rng() % 3 == 0)
        value = patient.get<std::uint64_t>(rng() % (good.bytes.size() - 8) / 8 * 8);
      for (std::uint64_t i = 0; i < size; ++i) undo.emplace_back(at + i, patient.bytes()[at + i]);
      std::memcpy(&patient.bytes()[at], &value, size);
    }
    bool changed = false;
    for (const auto& [at, old] : undo) changed |= patient.bytes()[at] != good.bytes[at];
    survive(patient, expected, changed,
            "seed " + std::to_string(seed) + " round " + std::to_string(round));
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
    for (auto it = undo.rbegin(); it != undo.rend(); ++it) patient.bytes()[it->first] = it->second;
  }
}

}  // namespace
