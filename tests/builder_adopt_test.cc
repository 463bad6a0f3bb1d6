// Foreign buffers taken over by the batched builder: NanoVDB's own grids, root tiles in the order
// of their stored keys, and hostile buffers of every kind [E-2]. What is accepted is what the
// oracle's reader, which shares nothing with the builder, finds in the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "oracle/layout_view.h"
#include "oracle/nanovdb_format.h"
#include "tests/builder_nanovdb.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;
using gpu::ErrorKind;
namespace format = oracle::format;
using format::Field;

/// Bytes on the heap, 32-byte aligned and exactly as long as they are: what is read behind their
/// end is seen by the address sanitizer.
struct HeapBytes {
  explicit HeapBytes(std::span<const std::byte> from) : size(from.size()) {
    void* block = nullptr;
    if (posix_memalign(&block, 32, std::max<std::size_t>(size, 1)) != 0) throw std::bad_alloc();
    memory = {static_cast<std::byte*>(block), [](std::byte* p) { std::free(p); }};
    if (size > 0) std::memcpy(block, from.data(), size);
  }
  std::span<std::byte> span() const { return {memory.get(), size}; }
  std::shared_ptr<std::byte> memory;
  std::size_t size;
};

std::vector<gpu::MemberMap> some_maps(std::size_t n) {
  std::vector<gpu::MemberMap> maps(n);
  for (std::size_t m = 0; m < n; ++m) {
    const auto k = static_cast<double>(m);
    maps[m] = {{0.1 + k, 0.5, 3.0}, {k, -2.25, 1000.0}};
  }
  return maps;
}

std::vector<std::string> some_names(std::size_t n) {
  std::vector<std::string> names(n);
  for (std::size_t m = 1; m < n; ++m) names[m] = "foreign " + std::to_string(m);
  return names;
}

std::vector<std::byte> nanovdb_batch(const Members& members) {
  std::vector<std::byte> bytes;
  const auto maps = some_maps(members.size());
  const auto names = some_names(members.size());
  for (std::size_t m = 0; m < members.size(); ++m) {
    const auto handle = created(members[m], maps[m], names[m]);
    const auto* from = static_cast<const std::byte*>(handle.data());
    bytes.insert(bytes.end(), from, from + handle.bufferSize());
  }
  return bytes;
}

TEST(BuilderAdopts, WhatNanovdbBuilt) {
  const Members all = rich_members();
  const HeapBytes foreign{nanovdb_batch(all)};
  const std::vector<std::byte> before(foreign.span().begin(), foreign.span().end());
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch batch = builder.adopt(foreign.memory, foreign.size);
    EXPECT_EQ(batch.grid(0), foreign.memory.get()) << "copied";
    EXPECT_EQ(members(batch), all);
    const auto maps = some_maps(all.size());
    const auto names = some_names(all.size());
    const GridBatch own = builder.from_ijk(Lists(all).view(), {maps, names});
    for (std::int64_t m = 0; m < batch.size(); ++m) {
      EXPECT_EQ(batch.member(m).map, own.member(m).map);
      EXPECT_EQ(batch.member(m).name, own.member(m).name);
      EXPECT_EQ(batch.member(m).box, own.member(m).box);
      EXPECT_EQ(batch.member(m).voxels, own.member(m).voxels);
    }
    // Every pass reads it as its own batch; what only copies gives canonical bytes all the same.
    EXPECT_TRUE(same_bytes(builder.rebuild(batch), own));
    EXPECT_TRUE(same_bytes(builder.refine(batch, {1, 1, 1}), own));
    const std::vector<std::int64_t> picks{4, 0, 0};
    EXPECT_TRUE(same_bytes(builder.rebuild(batch.view(picks)), builder.rebuild(own.view(picks))));
    EXPECT_TRUE(same_bytes(builder.dilate_box(batch, {-1, -1, -1}, {1, 1, 1}),
                           builder.dilate_box(own, {-1, -1, -1}, {1, 1, 1})));
    EXPECT_TRUE(
        same_bytes(builder.subtract(own, batch.view(std::vector<std::int64_t>{0, 0, 2, 3, 1})),
                   builder.subtract(own, own.view(std::vector<std::int64_t>{0, 0, 2, 3, 1}))));
  });
  EXPECT_TRUE(std::equal(before.begin(), before.end(), foreign.span().begin()));
}

TEST(BuilderAdopts, WhatItBuiltItself) {
  BatchedBuilder builder;
  const Operands o = operands(builder, rich_members(), rich_others());
  for (const Pass& pass : passes()) {
    SCOPED_TRACE(pass.name);
    const GridBatch built = pass.run(builder, o);
    const HeapBytes bytes{built.bytes()};
    const GridBatch again = builder.adopt(bytes.memory, bytes.size);
    ASSERT_EQ(again.size(), built.size());
    EXPECT_TRUE(same_bytes(again, built));
    EXPECT_TRUE(same_bytes(builder.rebuild(again), built));
  }
  EXPECT_EQ(builder.adopt(nullptr, 0).size(), 0);
}

// ---- root tiles in another order

/// One grid with its root tiles, and all nodes below them, in another order: tile `order[i]` of the
/// canonical grid comes i-th.
std::vector<std::byte> with_tiles_in(const GridBatch& batch, std::int64_t member,
                                     const std::vector<std::uint32_t>& order) {
  using Root = nanovdb::NanoRoot<nanovdb::ValueOnIndex>::DataType;
  using Upper = nanovdb::NanoUpper<nanovdb::ValueOnIndex>::DataType;
  using Lower = nanovdb::NanoLower<nanovdb::ValueOnIndex>::DataType;
  using Leaf = nanovdb::NanoLeaf<nanovdb::ValueOnIndex>::DataType;
  const gpu::MemberInfo& info = batch.member(member);
  std::vector<std::byte> bytes(batch.grid(member), batch.grid(member) + info.bytes);
  const std::byte* from = batch.grid(member);
  const auto* tiles = reinterpret_cast<const Root::Tile*>(from + info.root_at + sizeof(Root));
  const auto* uppers = reinterpret_cast<const Upper*>(from + info.uppers_at);
  auto* new_tiles = reinterpret_cast<Root::Tile*>(bytes.data() + info.root_at + sizeof(Root));
  auto* new_uppers = reinterpret_cast<Upper*>(bytes.data() + info.uppers_at);
  auto* new_lowers = reinterpret_cast<Lower*>(bytes.data() + info.lowers_at);
  auto* new_leaves = reinterpret_cast<Leaf*>(bytes.data() + info.leaves_at);
  const auto distance = [](const void* to, const void* base) {
    return static_cast<const std::byte*>(to) - static_cast<const std::byte*>(base);
  };
  std::int64_t lower = 0, leaf = 0;
  std::uint64_t offset = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Upper& upper = uppers[order[i]];
    new_tiles[i].key = tiles[order[i]].key;  // each child is the i-th upper node, as before
    std::memcpy(static_cast<void*>(&new_uppers[i]), &upper, sizeof(Upper));
    for (std::uint32_t u = 0; u < 32768; ++u) {
      if (!upper.mChildMask.isOn(u)) continue;
      const auto& old_lower = *reinterpret_cast<const Lower*>(
          reinterpret_cast<const std::byte*>(&upper) + upper.mTable[u].child);
      new_uppers[i].mTable[u].child = distance(&new_lowers[lower], &new_uppers[i]);
      std::memcpy(static_cast<void*>(&new_lowers[lower]), &old_lower, sizeof(Lower));
      for (std::uint32_t l = 0; l < 4096; ++l) {
        if (!old_lower.mChildMask.isOn(l)) continue;
        const auto& old_leaf = *reinterpret_cast<const Leaf*>(
            reinterpret_cast<const std::byte*>(&old_lower) + old_lower.mTable[l].child);
        new_lowers[lower].mTable[l].child = distance(&new_leaves[leaf], &new_lowers[lower]);
        std::memcpy(static_cast<void*>(&new_leaves[leaf]), &old_leaf, sizeof(Leaf));
        new_leaves[leaf].mOffset = offset;
        offset += old_leaf.mValueMask.countOn();
        ++leaf;
      }
      ++lower;
    }
  }
  return bytes;
}

// [G-3] the stored key orders negative tiles last; such grids exist, and are brought into order.
TEST(BuilderAdopts, TilesInTheOrderOfTheirStoredKeys) {
  std::vector<Voxel> octants;
  for (int i = 0; i < 8; ++i) {
    const auto at = [i](int axis) { return (i >> axis) & 1 ? -1 - i : i; };
    for (int n = 0; n <= i; ++n) octants.push_back({at(0), at(1) + (i & 2 ? -n : n), at(2)});
  }
  octants.push_back({-9000, 5, 5});
  octants.push_back({-130, -700, 12000});
  octants = canonical(octants);
  in_every_mode([&](BatchedBuilder& builder) {
    const GridBatch canonical_batch = build(builder, {octants, {}, {{-1, 0, 0}, {0, 0, 0}}});
    const auto& root = nano(canonical_batch, 0).tree().root();
    std::vector<std::uint32_t> order(root.tileCount());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t p, std::uint32_t q) {
      return root.data()->tile(p)->key < root.data()->tile(q)->key;
    });
    ASSERT_FALSE(std::is_sorted(order.begin(), order.end()));
    for (int round = 0; round < 4; ++round) {
      std::vector<std::byte> bytes = with_tiles_in(canonical_batch, 0, order);
      const std::vector<std::byte> last = with_tiles_in(canonical_batch, 2, {1, 0});
      bytes.insert(bytes.end(), canonical_batch.grid(1),
                   canonical_batch.grid(1) + canonical_batch.member(1).bytes);
      bytes.insert(bytes.end(), last.begin(), last.end());
      const HeapBytes foreign{bytes};
      const GridBatch batch = builder.adopt(foreign.memory, foreign.size);
      EXPECT_TRUE(same_bytes(batch, canonical_batch));
      EXPECT_EQ(batch.voxel_count(), canonical_batch.voxel_count());
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), foreign.span().begin())) << "written to";
      std::mt19937 rng(static_cast<unsigned>(round));
      std::shuffle(order.begin(), order.end(), rng);
    }
  });
}

// ---- hostile buffers

enum class Ending { Accepted, Refused };

/// Adopts; what is accepted must be what the oracle reads, and rebuild to the canonical bytes of
/// it.
Ending judged(BatchedBuilder& builder, const std::shared_ptr<std::byte>& memory, std::size_t size,
              const std::string& what) {
  GridBatch batch;
  try {
    batch = builder.adopt(memory, size);
  } catch (const gpu::Error& error) {
    const bool fits = error.kind() == ErrorKind::Corrupt ||
                      error.kind() == ErrorKind::Unsupported ||
                      error.kind() == ErrorKind::InvalidArgument;
    EXPECT_TRUE(fits) << what << ": " << error.what();
    EXPECT_TRUE(error.operation() == "adopt" && !error.argument().empty()) << error.what();
    EXPECT_TRUE(error.member().has_value()) << error.what();
    return Ending::Refused;
  }
  try {
    const auto buffer = oracle::grids_in(memory, {memory.get(), size});
    const reference::Batch read = oracle::batch_of(oracle::read_layout(buffer));
    EXPECT_EQ(batch.size(), static_cast<std::int64_t>(read.size())) << what;
    Lists lists(read.members);
    std::vector<gpu::MemberMap> maps;
    for (const auto& map : read.maps) maps.push_back({map.voxel_size, map.origin});
    const GridBatch expected = builder.from_ijk(lists.view(), {maps, read.names});
    EXPECT_EQ(batch.voxel_count(), static_cast<std::int64_t>(lists.ijk.size() / 3)) << what;
    EXPECT_TRUE(same_bytes(builder.rebuild(batch), expected)) << what;
  } catch (const oracle::Error& error) {
    ADD_FAILURE() << what << ": accepted, but the oracle says: " << error.what();
  }
  return Ending::Accepted;
}

/// The patient: two tiles, an empty member, a member with two lower nodes and three leaves.
class HostileBuffers : public testing::Test {
 protected:
  HostileBuffers() {
    BuilderOptions options;
    options.threads = gpu::Threads::Serial;
    builder_ = BatchedBuilder(options);
    const std::vector<gpu::MemberMap> maps = some_maps(3);
    const std::vector<std::string> names = some_names(3);
    const GridBatch batch =
        builder_.from_ijk(Lists({canonical({{-1, 3, 5}, {-2, 3, 5}, {0, 0, 0}, {9, 9, 9}}),
                                 {},
                                 canonical({{7, 0, 0}, {8, 1, 0}, {130, 5, 6}, {131, 5, 6}})})
                              .view(),
                          {maps, names});
    patient_.emplace(batch.bytes());
    offsets_ = batch.byte_offsets();
    find_parts(batch);
  }

  /// A structure in the buffer whose words are worth corrupting.
  struct Part {
    std::string name;
    std::uint64_t at, size;
  };

  void find_parts(const GridBatch& batch) {
    for (std::int64_t m = 0; m < batch.size(); ++m) {
      const gpu::MemberInfo& info = batch.member(m);
      const auto start = static_cast<std::uint64_t>(info.offset);
      const auto add = [&](std::string name, std::int64_t at, std::uint64_t size) {
        parts_.push_back({std::move(name) + " of member " + std::to_string(m),
                          start + static_cast<std::uint64_t>(at), size});
      };
      add("header", 0, format::GridData::size);
      add("tree", 672, format::TreeData::size);
      add("root", info.root_at, format::RootData::size);
      for (std::int64_t t = 0; t < info.uppers; ++t) {
        add("tile", info.root_at + 96 + 32 * t, format::Tile::size);
      }
      const auto nodes = [&]<class Data>(Data, const char* name, std::int64_t at, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
          const std::int64_t node = at + i * static_cast<std::int64_t>(Data::size);
          const std::byte* child_mask = batch.grid(m) + node + Data::child_mask.at;
          add(name, node, Data::value_mask.at);  // box and flags
          add(std::string("value mask of ") + name, node + Data::value_mask.at, 8);
          add(std::string("statistics of ") + name, node + Data::minimum.at, 32);
          for (std::uint64_t w = 0; w < Data::mask_bytes / 8; ++w) {
            auto word = format::load<std::uint64_t>(child_mask + 8 * w);
            if (word == 0 && w > 2) continue;
            add(std::string("child mask of ") + name,
                node + static_cast<std::int64_t>(Data::child_mask.at + 8 * w), 8);
            for (; word != 0; word &= word - 1) {
              const auto slot = 64 * w + static_cast<unsigned>(std::countr_zero(word));
              add(std::string("child of ") + name,
                  node + static_cast<std::int64_t>(Data::table.at + 8 * slot), 8);
            }
          }
        }
      };
      nodes(format::UpperData{}, "upper", info.uppers_at, info.uppers);
      nodes(format::LowerData{}, "lower", info.lowers_at, info.lowers);
      for (std::int64_t i = 0; i < info.leaves; ++i) add("leaf", info.leaves_at + 96 * i, 96);
    }
  }

  std::byte* at(std::uint64_t position) { return patient_->memory.get() + position; }

  Ending judge(const std::string& what) {
    return judged(builder_, patient_->memory, patient_->size, what);
  }

  /// Judges the patient with `size` bytes at `position` overwritten, then heals it.
  Ending judge_with(std::uint64_t position, const void* bytes, std::size_t size,
                    const std::string& what) {
    std::vector<std::byte> healthy(at(position), at(position) + size);
    std::memcpy(at(position), bytes, size);
    const Ending ending = judge(what);
    std::memcpy(at(position), healthy.data(), size);
    return ending;
  }

  BatchedBuilder builder_;
  std::optional<HeapBytes> patient_;
  std::vector<std::uint64_t> offsets_;
  std::vector<Part> parts_;
};

TEST_F(HostileBuffers, AHealthyOneIsAccepted) {
  EXPECT_EQ(judge("healthy"), Ending::Accepted);
  EXPECT_GT(parts_.size(), 40u);
}

// Every word of every structure, as 64 and as 32 bits, with the numbers that break arithmetic.
TEST_F(HostileBuffers, EveryFieldWithHostileValues) {
  std::map<Ending, int> endings;
  for (const Part& part : parts_) {
    for (std::uint64_t word = 0; word < part.size; word += 8) {
      // Of long fields (the name, matrices) a few words tell all.
      if (part.name.starts_with("header") && word > 64 && word < 290) continue;
      const auto good = format::load<std::uint64_t>(at(part.at + word));
      const std::string what = part.name + ", byte " + std::to_string(word);
      for (const std::uint64_t value :
           {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63,
            (std::uint64_t{1} << 63) - 1, std::uint64_t{0x7FF0000000000000}, good + 1, good - 1,
            good + 32, good - 32, good + 96, good * 2, ~good + 1, good ^ (std::uint64_t{1} << 32),
            static_cast<std::uint64_t>(patient_->size)}) {
        if (value == good) continue;
        ++endings[judge_with(part.at + word, &value, 8, what + " = " + std::to_string(value))];
      }
      for (const std::uint64_t half : {0u, 4u}) {
        const std::uint32_t value = 0x80000000u;
        ++endings[judge_with(part.at + word + half, &value, 4, what + ", half")];
      }
    }
  }
  EXPECT_GT(endings[Ending::Refused], 3000);
  EXPECT_GT(endings[Ending::Accepted], 50) << "fields that nothing depends on";
  EXPECT_EQ(judge("healed"), Ending::Accepted);
}

// What must be refused, by name.
TEST_F(HostileBuffers, WhatIsRefusedAndHow) {
  using G = format::GridData;
  using T = format::TreeData;
  const auto expect = [&](ErrorKind kind, const char* argument, std::int64_t member,
                          std::uint64_t position, auto value) {
    const auto good = format::load<decltype(value)>(at(position));
    format::store(at(position), value);
    const auto error = refusal(kind, [&] { builder_.adopt(patient_->memory, patient_->size); });
    format::store(at(position), good);
    ASSERT_TRUE(error) << argument;
    EXPECT_EQ(error->argument(), argument) << error->what();
    EXPECT_EQ(error->member(), member) << error->what();
  };
  const std::uint64_t second = offsets_[2], tree = second + G::size, root = tree + T::size;
  const std::uint64_t upper = root + 96 + 32, lower = upper + format::UpperData::size,
                      leaf = lower + 2 * format::LowerData::size;
  using U = format::UpperData;
  using L = format::LowerData;
  expect(ErrorKind::Corrupt, "mMagic", 2, second + G::magic.at, std::uint64_t{7});
  expect(ErrorKind::Unsupported, "mVersion", 2, second + G::version.at, format::version(33, 0, 0));
  expect(ErrorKind::Unsupported, "mGridType", 2, second + G::grid_type.at, std::uint32_t{1});
  expect(ErrorKind::Corrupt, "mGridSize", 2, second + G::byte_size.at, std::uint64_t{1} << 63);
  expect(ErrorKind::Corrupt, "mNodeOffset", 2, tree + T::leaf_offset.at, std::uint64_t{1} << 62);
  expect(ErrorKind::Corrupt, "mNodeOffset", 2, tree + T::upper_offset.at, std::uint64_t{0});
  expect(ErrorKind::Corrupt, "mNodeCount", 2, tree + T::leaf_count.at, std::uint32_t{0});
  expect(ErrorKind::Corrupt, "mNodeOffset", 2, tree + T::leaf_count.at, ~std::uint32_t{0});
  expect(ErrorKind::Unsupported, "mTileCount", 2, tree + T::tile_counts.at, std::uint32_t{1});
  expect(ErrorKind::Corrupt, "mTableSize", 2, root + 24, std::uint32_t{2});
  expect(ErrorKind::Unsupported, "mMatD", 2, second + G::mat_d.at + 8, 0.5);  // shear
  expect(ErrorKind::Unsupported, "mTaperD", 2, second + G::taper_d.at, 0.5);  // taper
  expect(ErrorKind::InvalidArgument, "voxel_size", 2, second + G::mat_d.at, -1.0);
  expect(ErrorKind::InvalidArgument, "origin", 2, second + G::vec_d.at, -HUGE_VAL);
  expect(ErrorKind::Unsupported, "tile", 2, root + 96 + format::Tile::child.at, std::uint64_t{0});
  expect(ErrorKind::Corrupt, "tile", 2, root + 96 + format::Tile::key.at, std::uint64_t{5});
  expect(ErrorKind::Unsupported, "upper", 2, upper + U::value_mask.at, std::uint64_t{1});
  expect(ErrorKind::Unsupported, "lower", 2, lower + L::value_mask.at + 8, std::uint64_t{1});
  expect(ErrorKind::Corrupt, "upper", 2, upper + U::table.at, std::uint64_t{8});
  expect(ErrorKind::Corrupt, "lower", 2, lower + L::child_mask.at + 8, std::uint64_t{1});
  expect(ErrorKind::Corrupt, "leaf", 2, leaf + format::LeafData::prefix_sum.at, std::uint64_t{9});
  expect(ErrorKind::Corrupt, "leaf", 2, leaf + format::LeafData::offset.at, std::uint64_t{0});
  expect(ErrorKind::Corrupt, "leaf", 2, leaf + 96 + format::LeafData::offset.at, std::uint64_t{1});
  expect(ErrorKind::Corrupt, "lower", 2, leaf + format::LeafData::box_dif.at, std::uint8_t{3});
  expect(ErrorKind::Unsupported, "mTaperD", 2, second + G::taper_f.at, 0.5f);
  expect(ErrorKind::Corrupt, "mBlindMetadataOffset", 2, second + G::blind_count.at,
         std::uint32_t{1});
  {  // One header of blind data fits before the end of the grid, a second does not.
    const std::uint64_t bytes = offsets_[3] - second, header = 288;
    format::store(at(second + G::blind_offset.at), bytes - header);
    format::store(at(second + G::blind_count.at), std::uint32_t{1});
    EXPECT_EQ(judge("blind data that fit"), Ending::Accepted);
    format::store(at(second + G::blind_offset.at), bytes - header - 32);
    format::store(at(second + G::blind_count.at), std::uint32_t{0});
    expect(ErrorKind::Corrupt, "mBlindMetadataOffset", 2, second + G::blind_count.at,
           std::uint32_t{2});
    format::store(at(second + G::blind_offset.at), bytes);
  }
  const std::vector<char> name(256, 'n');  // without an end
  EXPECT_EQ(judge_with(G::name.at, name.data(), 256, "name"), Ending::Refused);
  {  // A name in blind data is longer than 255 bytes [G-7].
    format::store(at(second + G::blind_count.at), std::uint32_t{1});
    format::store(at(second + G::blind_offset.at), std::uint64_t{672});
    expect(ErrorKind::InvalidArgument, "name", 2, second + G::flags.at, std::uint32_t{0x23});
    format::store(at(second + G::blind_count.at), std::uint32_t{0});
    format::store(at(second + G::blind_offset.at), offsets_[3] - second);
  }
  // Levels that lie in each other.
  expect(ErrorKind::Corrupt, "mNodeOffset", 2, tree + T::lower_offset.at,
         format::load<std::uint64_t>(at(tree + T::upper_offset.at)));
  const auto odd = refusal(ErrorKind::InvalidArgument, [&] {
    builder_.adopt({patient_->memory, patient_->memory.get() + 8}, patient_->size - 32);
  });
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->argument(), "memory");
}

// Truncated anywhere, on a heap block of exactly that size; and with bytes too many.
TEST_F(HostileBuffers, Truncated) {
  std::vector<std::size_t> sizes;
  for (std::size_t n = 1; n < 900; n += 31) sizes.push_back(n);
  for (const Part& part : parts_) sizes.insert(sizes.end(), {part.at, part.at + 8});
  for (const std::size_t n : sizes) {
    if (n == 0) continue;
    const HeapBytes shorter{patient_->span().first(n)};
    const bool whole = std::find(offsets_.begin(), offsets_.end(), n) != offsets_.end();
    EXPECT_EQ(judged(builder_, shorter.memory, n, "first " + std::to_string(n)),
              whole ? Ending::Accepted : Ending::Refused);
  }
  std::vector<std::byte> longer(patient_->span().begin(), patient_->span().end());
  longer.resize(longer.size() + 32);
  const HeapBytes tail{longer};
  EXPECT_EQ(judged(builder_, tail.memory, tail.size, "32 bytes more"), Ending::Refused);
}

// One to three words at once, by chance: numbers of the buffer itself are the likeliest to deceive.
TEST_F(HostileBuffers, RandomPatches) {
  constexpr std::uint64_t kSeed = 20260401, kPatches = 6000;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 rng(kSeed);
  int accepted = 0;
  for (std::uint64_t n = 0; n < kPatches; ++n) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> healthy;
    std::string what = "seed " + std::to_string(kSeed) + ", patch " + std::to_string(n) + ":";
    for (std::uint64_t words = 1 + rng() % 3; words > 0; --words) {
      const Part& part = parts_[rng() % parts_.size()];
      const std::uint64_t position = part.at + 8 * (rng() % (part.size / 8));
      const auto good = format::load<std::uint64_t>(at(position));
      healthy.emplace_back(position, good);
      const Part& other = parts_[rng() % parts_.size()];
      const std::uint64_t values[] = {
          good ^ (std::uint64_t{1} << (rng() % 64)), good + 8 * (rng() % 64) - 256, rng(),
          rng() % 4096, format::load<std::uint64_t>(at(other.at + 8 * (rng() % (other.size / 8))))};
      format::store(at(position), values[rng() % std::size(values)]);
      what += " " + part.name + " at " + std::to_string(position - part.at);
    }
    accepted += judge(what) == Ending::Accepted;
    for (auto it = healthy.rbegin(); it != healthy.rend(); ++it) {
      format::store(at(it->first), it->second);
    }
  }
  EXPECT_EQ(judge("healed"), Ending::Accepted);
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, static_cast<int>(kPatches) - 3000);
}

}  // namespace
