// .nvdb files: NanoVDB reads what is written here, what NanoVDB writes is read here (every codec
// and type), and nothing that only looks like it.
#include <fmt/format.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Warray-bounds"  // GCC 12 on NanoVDB's vector of threads
#endif
#if __has_include(<zlib.h>)
#define NANOVDB_USE_ZIP
#endif
#if __has_include(<blosc.h>)
#define NANOVDB_USE_BLOSC
#endif
#include <nanovdb/io/IO.h>
#include <nanovdb/tools/CreateNanoGrid.h>
#include <nanovdb/tools/GridBuilder.h>

#include <random>

#include "oracle/input/nvdb_format.h"
#include "oracle/layout_view.h"
#include "reference/canonical_order.h"
#include "tests/input_files.h"
#include "tests/layout_samples.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#endif

namespace leafproof::tests {
namespace {

namespace format = oracle::format;
using oracle::FileHeader;
using oracle::FileRecord;
using oracle::GridBuffer;
using oracle::Input;
using oracle::Map;
using oracle::Voxel;
using reference::Batch;
using Voxels = std::vector<Voxel>;

GridBuffer buffer_of(const Batch& batch) {
  return oracle::write_layout(reference::layout_of(batch));
}

nanovdb::Coord coord(const Voxel& v) {
  return {v.x, v.y, v.z};
}

template <class Build>
using BuildGrid = nanovdb::tools::build::Grid<Build>;

// NanoVDB's builder, filled; with the map that `map_of_built` is.
template <class Build>
void fill(BuildGrid<Build>& grid, const Voxels& voxels) {
  auto accessor = grid.getAccessor();
  for (const Voxel& v : voxels)
    accessor.setValue(coord(v), typename BuildGrid<Build>::ValueType(1));
  grid.setTransform(0.25, nanovdb::Vec3d(1, -2, 1000));
}
const Map map_of_built{{0.25, 0.25, 0.25}, {1, -2, 1000}};

using Handle = nanovdb::GridHandle<nanovdb::HostBuffer>;

Handle on_index(const Voxels& voxels, const std::string& name) {
  BuildGrid<nanovdb::ValueMask> grid(false, name);
  fill(grid, voxels);
  return nanovdb::tools::createNanoGrid<decltype(grid), nanovdb::ValueOnIndex>(grid, 0u, false,
                                                                               false);
}
template <class Build>
Handle plain(const Voxels& voxels, const std::string& name) {
  BuildGrid<Build> grid(0, name);
  fill(grid, voxels);
  return nanovdb::tools::createNanoGrid(grid);
}

Voxels some_voxels(std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int32_t> near(-140, 140), far(-9000, 9000);
  Voxels voxels{{0, 0, 0}, {-1, -1, -1}, {-4097, 4096, -4096}};
  for (int i = 0; i < count; ++i) {
    const bool wide = i % 50 == 0;
    auto c = [&] { return wide ? far(random) : near(random); };
    voxels.push_back({c(), c(), c()});
  }
  reference::make_canonical(voxels);
  return voxels;
}

TEST(NvdbFormat, IsNanoVDBs) {
  using Header = nanovdb::io::FileHeader;
  using Record = nanovdb::io::FileMetaData;
  EXPECT_EQ(FileHeader::size, sizeof(Header));
  EXPECT_EQ(FileRecord::size, sizeof(Record));
#define SAME(Ours, ours, Theirs, theirs)               \
  EXPECT_EQ(Ours::ours.at, offsetof(Theirs, theirs));  \
  EXPECT_EQ(Ours::ours.size, sizeof(Theirs{}.theirs)); \
  EXPECT_STREQ(Ours::ours.name, #theirs)
  SAME(FileHeader, magic, Header, magic);
  SAME(FileHeader, version, Header, version);
  SAME(FileHeader, grid_count, Header, gridCount);
  SAME(FileHeader, codec, Header, codec);
  SAME(FileRecord, grid_size, Record, gridSize);
  SAME(FileRecord, file_size, Record, fileSize);
  SAME(FileRecord, name_key, Record, nameKey);
  SAME(FileRecord, voxel_count, Record, voxelCount);
  SAME(FileRecord, grid_type, Record, gridType);
  SAME(FileRecord, grid_class, Record, gridClass);
  SAME(FileRecord, world_box, Record, worldBBox);
  SAME(FileRecord, index_box, Record, indexBBox);
  SAME(FileRecord, voxel_size, Record, voxelSize);
  SAME(FileRecord, name_size, Record, nameSize);
  SAME(FileRecord, node_count, Record, nodeCount);
  SAME(FileRecord, tile_count, Record, tileCount);
  SAME(FileRecord, codec, Record, codec);
  SAME(FileRecord, blind_count, Record, blindDataCount);
  SAME(FileRecord, version, Record, version);
#undef SAME
  EXPECT_EQ(oracle::magic_file, NANOVDB_MAGIC_FILE);
  EXPECT_EQ(oracle::type_float, static_cast<std::uint32_t>(nanovdb::GridType::Float));
  EXPECT_EQ(oracle::type_mask, static_cast<std::uint32_t>(nanovdb::GridType::Mask));
  const auto same_tree = []<class Build>(Build, oracle::TreeSizes sizes) {
    using Root = typename nanovdb::NanoRoot<Build>::DataType;
    using Upper = typename nanovdb::NanoUpper<Build>::DataType;
    using Lower = typename nanovdb::NanoLower<Build>::DataType;
    using Leaf = typename nanovdb::NanoLeaf<Build>::DataType;
    EXPECT_EQ(sizes.root, sizeof(Root));
    EXPECT_EQ(sizes.leaf, sizeof(Leaf));
    EXPECT_EQ(format::Tile::size, sizeof(typename Root::Tile));
    EXPECT_EQ(format::RootData::tile_count.at, offsetof(Root, mTableSize));
    EXPECT_EQ(format::Tile::state.at, offsetof(typename Root::Tile, state));
    EXPECT_EQ(format::UpperData::size, sizeof(Upper));
    EXPECT_EQ(format::UpperData::table.at, offsetof(Upper, mTable));
    EXPECT_EQ(format::LowerData::size, sizeof(Lower));
    EXPECT_EQ(format::LowerData::table.at, offsetof(Lower, mTable));
    EXPECT_EQ(format::LowerData::child_mask.at, offsetof(Lower, mChildMask));
    EXPECT_EQ(format::LeafData::mask.at, offsetof(Leaf, mValueMask));
  };
  same_tree(float{}, oracle::sizes_float);
  same_tree(nanovdb::ValueMask{}, oracle::sizes_mask);
}

TEST(Nvdb, NanoVDBReadsWhatIsWritten) {
  const Folder folder;
  const auto file = (folder / "out.nvdb");
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Batch batch = seed == 0 ? samples::rich() : samples::batch(seed);
    const GridBuffer buffer = buffer_of(batch);
    oracle::write_nvdb(file, buffer);
    const auto handles = nanovdb::io::readGrids(file.string());
    ASSERT_EQ(handles.size(), 1u) << "one segment";
    const Handle& handle = handles[0];
    ASSERT_EQ(handle.gridCount(), batch.size());
    ASSERT_EQ(handle.bufferSize(), buffer.bytes.size());
    EXPECT_EQ(std::memcmp(handle.data(), buffer.bytes.data(), buffer.bytes.size()), 0);
    const auto records = nanovdb::io::readGridMetaData(file.string());
    ASSERT_EQ(records.size(), batch.size());
    for (std::uint32_t i = 0; i < batch.size(); ++i) {
      const auto* grid = handle.grid<nanovdb::ValueOnIndex>(i);
      ASSERT_NE(grid, nullptr);
      EXPECT_EQ(grid->activeVoxelCount(), batch.members[i].size());
      const auto& record = records[i];
      EXPECT_EQ(record.gridName, batch.names[i]);
      EXPECT_EQ(record.voxelCount, batch.members[i].size());
      EXPECT_EQ(record.gridSize, handle.gridSize(i));
      EXPECT_EQ(record.gridType, nanovdb::GridType::OnIndex);
      EXPECT_EQ(record.gridClass, nanovdb::GridClass::IndexGrid);
      EXPECT_EQ(record.indexBBox, grid->indexBBox());
      EXPECT_EQ(record.nodeCount[0], grid->tree().nodeCount(0));
      EXPECT_EQ(record.nodeCount[2], grid->tree().nodeCount(2));
      EXPECT_EQ(record.nodeCount[3], 1u);
      EXPECT_EQ(record.voxelSize[0], batch.maps[i].voxel_size[0]);
    }
    // By name, one grid at a time.
    for (const std::string& name : batch.names) {
      EXPECT_TRUE(nanovdb::io::hasGrid(file.string(), name));
      EXPECT_EQ(nanovdb::io::readGrid(file.string(), name).gridData()->mGridName, name);
    }
    EXPECT_EQ(folder.names(), std::vector<std::string>{"out.nvdb"});
  }
}

TEST(Nvdb, RoundTripsAsStored) {
  const Folder folder;
  const Batch batch = samples::rich();
  const GridBuffer buffer = buffer_of(batch);
  oracle::write_nvdb(folder / "out.nvdb", buffer);
  const GridBuffer read = oracle::read_nvdb(folder / "out.nvdb");
  EXPECT_EQ(read.offsets, buffer.offsets);
  ASSERT_EQ(read.bytes.size(), buffer.bytes.size());
  EXPECT_EQ(std::memcmp(read.bytes.data(), buffer.bytes.data(), read.bytes.size()), 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read.bytes.data()) % 32, 0u);
  EXPECT_EQ(oracle::read_input({folder / "out.nvdb"}, {}).batch, batch);
  // A raw buffer, as NanoVDB's GridHandle::write leaves it.
  const auto raw = folder.write(
      "raw.nvdb", {reinterpret_cast<const char*>(buffer.bytes.data()), buffer.bytes.size()});
  EXPECT_EQ(oracle::read_input({raw}, {}).batch, batch);
  EXPECT_EQ(oracle::read_nvdb(raw).offsets, buffer.offsets);
  // NanoVDB reads a raw buffer of one grid; of several it finds the end wrongly (13.0).
  const GridBuffer one = buffer_of(samples::of({batch.members[0]}));
  folder.write("raw.nvdb", {reinterpret_cast<const char*>(one.bytes.data()), one.bytes.size()});
  EXPECT_EQ(nanovdb::io::readGrids(raw.string())[0].bufferSize(), one.bytes.size());
}

TEST(Nvdb, ReadsWhatNanoVDBWrites) {
  const Folder folder;
  const Voxels a = some_voxels(1, 4000), b = some_voxels(2, 9), none;
  std::vector<nanovdb::io::Codec> codecs{nanovdb::io::Codec::NONE};
#ifdef NANOVDB_USE_ZIP
  codecs.push_back(nanovdb::io::Codec::ZIP);
#endif
#ifdef NANOVDB_USE_BLOSC
  codecs.push_back(nanovdb::io::Codec::BLOSC);
#endif
  for (const auto codec : codecs) {
    SCOPED_TRACE(static_cast<int>(codec));
    // Three segments; the second holds two grids of other types.
    std::vector<Handle> parts;
    parts.push_back(plain<float>(a, "float a"));
    parts.push_back(plain<nanovdb::ValueMask>(b, "mask b"));
    std::vector<Handle> handles;
    handles.push_back(on_index(a, "index a"));
    handles.push_back(nanovdb::mergeGrids<nanovdb::HostBuffer>(parts));
    handles.push_back(on_index(b, ""));
    const auto file = (folder / "theirs.nvdb");
    nanovdb::io::writeGrids(file.string(), handles, codec);
    const Input input = oracle::read_input({file}, {});
    ASSERT_EQ(input.batch.size(), 4u);
    EXPECT_EQ(input.batch.members, (std::vector<Voxels>{a, a, b, b}));
    EXPECT_EQ(input.batch.names, (std::vector<std::string>{"index a", "float a", "mask b", ""}));
    for (const Map& map : input.batch.maps) {
      EXPECT_EQ(map, map_of_built);
    }
    expect_refusal(ErrorKind::Unsupported, {"theirs.nvdb", "type 1", "member 1"},
                   [&] { oracle::read_nvdb(file); });
    expect_refused(file, ErrorKind::CapacityExceeded, {}, {.max_voxels = 2 * a.size()});
    // The bytes of a grid come back as they were written.
    nanovdb::io::writeGrid(file.string(), handles[0], codec);
    const GridBuffer read = oracle::read_nvdb(file);
    ASSERT_EQ(read.bytes.size(), handles[0].bufferSize());
    EXPECT_EQ(std::memcmp(read.bytes.data(), handles[0].data(), read.bytes.size()), 0);
  }
}

template <class Build>
void expands_tiles() {
  const Folder folder;
  BuildGrid<Build> grid(0, "tiles");
  fill(grid, {{0, 0, 0}, {1000, 0, 0}, {-100, -100, -100}, {600, 0, 0}});
  auto& root = grid.root();
  root.template addTile<1>(nanovdb::Coord(-8, -8, -8), 1, true);
  root.template addTile<2>(nanovdb::Coord(256, 0, 0), 1, true);
  root.template addTile<1>(nanovdb::Coord(512, 0, 0), 1, false);
  const auto file = folder / "tiles.nvdb";
  nanovdb::io::writeGrid(file.string(), nanovdb::tools::createNanoGrid(grid));
  const std::uint64_t expected = 4 + 512 + 128 * 128 * 128;
  const Input input = oracle::read_input({file}, {});
  ASSERT_EQ(input.batch.members.at(0).size(), expected);
  EXPECT_EQ(input.batch.members[0].front(), (Voxel{-100, -100, -100}));
  EXPECT_EQ(input.batch.members[0][1], (Voxel{-8, -8, -8}));
  EXPECT_EQ(oracle::read_input({file}, {.max_voxels = expected}).batch, input.batch);
  expect_refused(file, ErrorKind::CapacityExceeded,
                 {fmt::format("{} active voxels", expected), "2 active tiles", "tiles.nvdb"},
                 {.max_voxels = expected - 1});
  // A root tile is 4096^3 voxels: refused, and not tried.
  root.template addTile<3>(nanovdb::Coord(8192, 0, 0), 1, true);
  nanovdb::io::writeGrid(file.string(), nanovdb::tools::createNanoGrid(grid));
  expect_refused(file, ErrorKind::CapacityExceeded,
                 {fmt::format("{} active", expected + (1ull << 36))});
}

TEST(Nvdb, ExpandsActiveTilesOfFloatGrids) {
  expands_tiles<float>();
}
TEST(Nvdb, ExpandsActiveTilesOfMaskGrids) {
  expands_tiles<nanovdb::ValueMask>();
}

TEST(Nvdb, WritesOnlyWhatAFileCanHold) {
  const Folder folder;
  expect_refusal(ErrorKind::CapacityExceeded, {"out.nvdb", "1 to 65535 grids, not 0"},
                 [&] { oracle::write_nvdb(folder / "out.nvdb", buffer_of({})); });
  // Many views of one empty grid are as good as many grids.
  const GridBuffer one = buffer_of(samples::of({{}}));
  std::vector<std::byte> bytes;
  GridBuffer many;
  for (int i = 0; i < 65536; ++i) {
    bytes.insert(bytes.end(), one.bytes.begin(), one.bytes.end());
    many.offsets.push_back(bytes.size());
  }
  many.bytes = bytes;
  expect_refusal(ErrorKind::CapacityExceeded, {"not 65536"},
                 [&] { oracle::write_nvdb(folder / "out.nvdb", many); });
  EXPECT_TRUE(folder.names().empty());
  many.offsets.pop_back();
  oracle::write_nvdb(folder / "out.nvdb", many);
  EXPECT_EQ(oracle::read_input({folder / "out.nvdb"}, {}).batch.size(), 65535u);
}

TEST(Nvdb, WritesNoDamagedGrid) {
  const Folder folder;
  const GridBuffer good = buffer_of(samples::rich());
  const auto refused = [&](const char* part, auto damage) {
    std::vector<std::byte> bytes(good.bytes.begin(), good.bytes.end());
    GridBuffer bad{nullptr, bytes, good.offsets};
    damage(bytes, bad);
    bad.bytes = bytes;
    expect_refusal(ErrorKind::Corrupt, {"out.nvdb", part},
                   [&] { oracle::write_nvdb(folder / "out.nvdb", bad); });
    EXPECT_TRUE(folder.names().empty());
  };
  using Bytes = std::vector<std::byte>;
  refused("no grid of a buffer", [](Bytes& bytes, GridBuffer&) { bytes.pop_back(); });
  refused("says that it has", [](Bytes&, GridBuffer& b) { std::swap(b.offsets[1], b.offsets[2]); });
  refused("no grid of a buffer", [](Bytes&, GridBuffer& b) { b.offsets[0] = b.offsets[1] + 1; });
  refused("no grid of a buffer", [](Bytes&, GridBuffer& b) { b.offsets[3] = ~std::uint64_t{0}; });
  refused("has no headers", [](Bytes&, GridBuffer& b) { b.offsets[1] = 700; });
  refused("says that it has", [](Bytes&, GridBuffer& b) { b.offsets[1] += 32; });
  refused("begin like", [](Bytes& b, GridBuffer&) { b[0] ^= std::byte{1}; });
  refused("name", [](Bytes& b, GridBuffer&) { std::fill_n(b.begin() + 40, 256, std::byte{'n'}); });
  for (const std::uint64_t root : {~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    refused("root", [root](Bytes& b, GridBuffer&) { format::store(&b[672 + 24], root); });
  }
}

// A good file and the means to spoil it.
struct Patient {
  Folder folder;
  std::string bytes;
  explicit Patient(const Batch& batch = samples::rich()) {
    oracle::write_nvdb(folder / "good.nvdb", buffer_of(batch));
    bytes = bytes_of(folder / "good.nvdb");
  }
  template <class T>
  Patient& set(std::uint64_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof(T));
    return *this;
  }
  void refused(ErrorKind kind, const std::vector<std::string>& parts) {
    expect_refused(folder.write("bad.nvdb", bytes), kind, parts);
  }
};

TEST(Nvdb, ContainersThatContradictThemselves) {
  const std::uint64_t record = FileHeader::size;  // of the first grid
  Patient().set(0, std::uint64_t{0x21444c524f57}).refused(ErrorKind::Corrupt, {"no NanoVDB file"});
  Patient()
      .set(0, __builtin_bswap64(oracle::magic_file))
      .refused(ErrorKind::Unsupported, {"big-endian"});
  Patient().set(8, format::version(33, 0, 0)).refused(ErrorKind::Unsupported, {"format 33"});
  Patient().set(12, std::uint16_t{0}).refused(ErrorKind::Corrupt, {"without grids"});
  Patient().set(12, std::uint16_t{4}).refused(ErrorKind::Corrupt, {});
  Patient().set(12, std::uint16_t{2}).refused(ErrorKind::Corrupt, {});
  Patient().set(14, std::uint16_t{7}).refused(ErrorKind::Unsupported, {"codec 7"});
  Patient().set(14, std::uint16_t{1}).refused(ErrorKind::Corrupt, {"different codecs", "member 0"});
  for (const std::uint64_t absurd :
       {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    Patient().set(record, absurd).refused(ErrorKind::Corrupt, {"member 0"});
    Patient().set(record + 8, absurd).refused(ErrorKind::Corrupt, {});
  }
  Patient()
      .set(record + 136, std::uint32_t{0xffffffff})
      .refused(ErrorKind::Corrupt, {"ends early: the name"});
  Patient().set(record + 136, std::uint32_t{0}).refused(ErrorKind::Corrupt, {"no end"});
  Patient trailing;
  trailing.bytes += "tail";
  trailing.refused(ErrorKind::Corrupt, {"the header of a segment"});
  Patient twice;
  twice.bytes += twice.bytes;  // two segments
  const Input input = oracle::read_input({twice.folder.write("twice.nvdb", twice.bytes)}, {});
  EXPECT_EQ(input.batch.size(), 2 * samples::rich().size());
}

TEST(Nvdb, CodecsThatPromiseTooMuch) {
  for (const std::uint16_t codec : {oracle::codec_zip, oracle::codec_blosc}) {
    const std::uint64_t record = FileHeader::size;
    Patient patient(samples::of({{{1, 2, 3}}}));
    const std::uint64_t stored = patient.bytes.size() - FileHeader::size - FileRecord::size - 1;
    patient.set(14, codec).set(record + 168, codec);
    patient.set(record, std::uint64_t{1} << 50).refused(ErrorKind::Corrupt, {"cannot hold"});
    // The stream's own length beyond the file; then no stream at all.
    patient.set(record, stored).refused(ErrorKind::Corrupt, {});
    patient.set(FileHeader::size + FileRecord::size + 1, ~std::uint64_t{0})
        .refused(ErrorKind::Corrupt, {"ends early"});
    patient.set(FileHeader::size + FileRecord::size + 1, stored - 8)
        .refused(ErrorKind::Corrupt, {"damaged", "member 0"});
  }
}

TEST(Nvdb, RawBuffersThatLie) {
  const GridBuffer good = buffer_of(samples::rich());
  Patient patient;
  patient.bytes.assign(reinterpret_cast<const char*>(good.bytes.data()), good.bytes.size());
  const std::string whole = patient.bytes;
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{100}, ~std::uint64_t{0},
                                   std::uint64_t{1} << 63, good.offsets[1] - 32}) {
    patient.bytes = whole;
    patient.set(32, size).refused(ErrorKind::Corrupt, {});
  }
  patient.bytes = whole.substr(0, whole.size() - 1);
  patient.refused(ErrorKind::Corrupt, {"ends early: grid 2"});
  patient.bytes = whole.substr(0, 700);
  patient.refused(ErrorKind::Corrupt, {"ends early: grid 0"});
}

TEST(Nvdb, RepeatedVoxelsAreNamed) {
  // Two root tiles of one member; the second is given the key of the first: a contradiction with
  // its nodes. Then the boxes of its nodes too: two leaves of one place.
  Patient patient(samples::of({{{0, 0, 0}, {4096, 0, 0}}}));
  const std::uint64_t tiles = FileHeader::size + FileRecord::size + 1 + 672 + 64 + 96;
  patient.set(tiles + 32, std::uint64_t{0}).refused(ErrorKind::Corrupt, {"key 0x0", "member 0"});
  const std::uint64_t uppers = tiles + 64, lowers = uppers + 2 * format::UpperData::size,
                      leaves = lowers + 2 * format::LowerData::size;
  for (const std::uint64_t node :
       {uppers + format::UpperData::size, lowers + format::LowerData::size}) {
    patient.set(node, std::int32_t{0}).set(node + 12, std::int32_t{0});
  }
  patient.set(leaves + format::LeafData::size, std::int32_t{0});
  patient.refused(ErrorKind::Corrupt, {"the voxel (0,0,0) twice", "member 0"});
}

// [G-7] NanoVDB keeps a long name beside its grid; ours has 255 bytes and whole characters.
TEST(Nvdb, LongNamesAreCut) {
  const Folder folder;
  const auto read = [&](const std::string& name, bool index) {
    const auto file = folder / "named.nvdb";
    const Voxels voxels{{1, 2, 3}};
    nanovdb::io::writeGrid(file.string(),
                           index ? on_index(voxels, name) : plain<float>(voxels, name));
    return oracle::read_input({file}, {});
  };
  const std::string most(254, 'n'), two = "\xc3\xa9";  // a character of two bytes
  for (const bool index : {true, false}) {
    EXPECT_EQ(read(most + "n", index).batch.names[0], most + "n");
    EXPECT_TRUE(read(most + "n", index).notes.empty());
    for (const auto& [name, kept] :
         std::vector<std::pair<std::string, std::string>>{{most + two + "tail", most},
                                                          {most + "n" + two, most + "n"},
                                                          {most + "nn", most + "n"}}) {
      const Input input = read(name, index);
      EXPECT_EQ(input.batch.members, (std::vector<Voxels>{{{1, 2, 3}}}));
      EXPECT_EQ(input.batch.names[0], kept) << index;
      ASSERT_EQ(input.notes.size(), 1u) << index;
      EXPECT_TRUE(input.notes[0].ends_with(
          fmt::format("named.nvdb: the name of member 0 was cut to {} bytes", kept.size())))
          << input.notes[0];
    }
  }
}

// Blind data that cannot be followed leave the 255 bytes that the grid itself has.
TEST(Nvdb, LongNamesThatLieStayShort) {
  using G = format::GridData;
  using B = format::BlindData;
  const Folder folder;
  const Handle handle = plain<float>({{1, 2, 3}}, std::string(300, 'n'));
  nanovdb::io::writeGrid((folder / "good.nvdb").string(), handle);
  const std::string good = bytes_of(folder / "good.nvdb");
  const std::size_t grid = good.size() - handle.bufferSize();
  const auto blind = format::load<std::uint64_t>(
      reinterpret_cast<const std::byte*>(good.data() + grid + G::blind_offset.at));
  const auto named = [&]<class T>(std::uint64_t at, T value) {
    std::string bytes = good, raw;
    put(raw, value);
    bytes.replace(grid + at, raw.size(), raw);
    const Input input = oracle::read_input({folder.write("bad.nvdb", bytes)}, {});
    EXPECT_EQ(input.batch.members, (std::vector<Voxels>{{{1, 2, 3}}}));
    EXPECT_TRUE(input.notes.empty()) << "that a long name was cut";
    return input.batch.names[0];
  };
  const std::string most(255, 'n');
  for (const std::uint64_t far : {std::uint64_t{1} << 63, ~std::uint64_t{0},
                                  std::uint64_t{handle.bufferSize()}, handle.bufferSize() - 1}) {
    EXPECT_EQ(named(G::blind_offset.at, far), most) << far;
    if (~far != 0) {  // -1 is a place of the grid
      EXPECT_EQ(named(blind + B::data_offset.at, far), most) << far;
    }
    EXPECT_EQ(named(blind + B::value_count.at, far), most) << far;
  }
  EXPECT_EQ(named(G::blind_count.at, std::uint32_t{0}), most);
  EXPECT_EQ(named(blind + B::data_class.at, std::uint32_t{0}), most);
  EXPECT_EQ(named(blind + B::value_count.at, std::uint64_t{3}), "nnn");
}

TEST(Nvdb, ForeignOrderIsMadeCanonical) {
  // The same member with its root tiles swapped, as NanoVDB's own order of keys would have negative
  // ones; [G-2] puts (-1,0,0) first.
  const Batch batch = samples::of({{{-1, 0, 0}, {4096, 7, 0}}});
  Patient patient(batch);
  const std::uint64_t tiles = FileHeader::size + FileRecord::size + 1 + 672 + 64 + 96;
  std::swap_ranges(patient.bytes.begin() + static_cast<std::ptrdiff_t>(tiles),
                   patient.bytes.begin() + static_cast<std::ptrdiff_t>(tiles + 32),
                   patient.bytes.begin() + static_cast<std::ptrdiff_t>(tiles + 32));
  const auto file = patient.folder.write("swapped.nvdb", patient.bytes);
  EXPECT_EQ(oracle::read_input({file}, {}).batch, batch);
}

// A float or mask grid in a file of its own, spoiled in its tree.
struct TreePatient : Patient {
  static constexpr std::uint64_t grid = FileHeader::size + FileRecord::size + 2;  // the name is "t"
  static constexpr std::uint64_t tree = grid + 672, root = tree + 64, tile = root + 64;
  explicit TreePatient(bool mask) {
    const Voxels voxels{{0, 0, 0}, {8, 0, 0}, {128, 0, 0}, {4096, 0, 0}};
    const Handle handle = mask ? plain<nanovdb::ValueMask>(voxels, "t") : plain<float>(voxels, "t");
    nanovdb::io::writeGrid((folder / "good.nvdb").string(), handle);
    bytes = bytes_of(folder / "good.nvdb");
    EXPECT_EQ(oracle::read_input({folder / "good.nvdb"}, {}).batch.members[0].size(), 4u);
  }
  template <class T>
  T get(std::uint64_t at) const {
    return format::load<T>(reinterpret_cast<const std::byte*>(bytes.data()) + at);
  }
};

TEST(Nvdb, TreesThatLie) {
  for (const bool mask : {false, true}) {
    SCOPED_TRACE(mask ? "mask" : "float");
    const auto upper = [](const TreePatient& p) {
      return p.root + static_cast<std::uint64_t>(p.get<std::int64_t>(p.tile + 8));
    };
    constexpr std::uint64_t upper_table = format::UpperData::table.at;
    constexpr std::uint64_t lower_table = format::LowerData::table.at;
    for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{-64}, std::int64_t{1},
                                      std::int64_t{1} << 40, INT64_MIN, INT64_MAX}) {
      TreePatient(mask)
          .set(TreePatient::tree + 24, offset)
          .refused(ErrorKind::Corrupt, {"the root"});
      if (offset != 0) {
        TreePatient(mask)
            .set(TreePatient::tile + 8, offset)
            .refused(ErrorKind::Corrupt, {"an upper node", "outside"});
      }
      TreePatient p(mask);
      p.set(upper(p) + upper_table, offset).refused(ErrorKind::Corrupt, {"a lower node"});
      TreePatient q(mask);
      const auto lower = upper(q) + q.get<std::uint64_t>(upper(q) + upper_table);
      q.set(lower + lower_table, offset).refused(ErrorKind::Corrupt, {"a leaf"});
      // Bytes of the node above, where everything is 0, are no node either.
      if (offset == -64) q.refused(ErrorKind::Corrupt, {"overlap"});
    }
    TreePatient(mask)
        .set(TreePatient::root + 24, std::uint32_t{0xffffffff})
        .refused(ErrorKind::Corrupt, {"4294967295 root tiles"});
    TreePatient shared(mask);  // both slots of the lower node lead to one leaf
    const auto lower = upper(shared) + shared.get<std::uint64_t>(upper(shared) + upper_table);
    const auto leaf = shared.get<std::int64_t>(lower + lower_table);
    shared.set(lower + lower_table + 8 * 256, leaf);
    shared.refused(ErrorKind::Corrupt, {"the leaf at (8, 0, 0) says that it is at (0, 0, 0)"});
    TreePatient key(mask);
    key.set(TreePatient::tile, std::uint64_t{1} << 63).refused(ErrorKind::Corrupt, {"the key"});
    TreePatient repeated(mask);
    repeated.set(TreePatient::tile + 32, repeated.get<std::uint64_t>(TreePatient::tile));
    repeated.refused(ErrorKind::Corrupt, {"twice"});
    TreePatient moved(mask);
    const auto first = lower + static_cast<std::uint64_t>(leaf);
    moved.set(first, std::int32_t{64})
        .refused(ErrorKind::Corrupt, {"says that it is at (64, 0, 0)"});
    TreePatient turned(mask);
    turned.set(TreePatient::grid + 384 + 8, 0.5).refused(ErrorKind::Unsupported, {"rotation"});
    TreePatient(mask)
        .set(TreePatient::grid + 552, 0.5)
        .refused(ErrorKind::Unsupported, {"taper", "member 0"});
    TreePatient(mask)
        .set(TreePatient::grid + 384, -1.0)
        .refused(ErrorKind::InvalidArgument, {"voxel size -1"});
  }
}

}  // namespace
}  // namespace leafproof::tests
