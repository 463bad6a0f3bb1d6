// Voxel lists in .npz: what NumPy writes is read, what is written NumPy reads, and nothing else.
#include <zip.h>

#include <cstdlib>

#include "oracle/input/answer_files.h"
#include "oracle/input/npy.h"
#include "oracle/input/voxel_lists.h"
#include "reference/canonical_order.h"
#include "tests/input_files.h"

namespace leafproof::tests {
namespace {

using oracle::Batch;
using oracle::Input;
using oracle::Map;
using oracle::Voxel;
using Voxels = std::vector<Voxel>;

// A Python that has NumPy; none is a loud skip.
std::string python() {
  for (const std::string program : {"/usr/bin/python3", "python3"}) {
    if (std::system((program + " -c 'import numpy' >/dev/null 2>&1").c_str()) == 0) return program;
  }
  return "";
}
#define NEED_NUMPY(program) \
  if (program.empty()) GTEST_SKIP() << "no Python with NumPy on this machine (python3-numpy)"

void run_python(const std::string& program, const Folder& folder, const std::string& script) {
  const auto file = folder.write("script.py", "import numpy as np, os, sys\n" + script);
  const std::string command =
      "cd '" + folder.path().string() + "' && " + program + " '" + file.string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0) << script;
}

template <class T>
std::string array(const std::string& type, const std::vector<std::uint64_t>& shape,
                  const std::vector<T>& values) {
  std::string bytes = oracle::npy_header(type, shape);
  for (const T value : values) put(bytes, value);
  return bytes;
}
std::string ijk(const std::vector<std::int32_t>& values) {
  return array<std::int32_t>("<i4", {values.size() / 3, 3}, values);
}
std::string offsets(const std::vector<std::int64_t>& values) {
  return array<std::int64_t>("<i8", {values.size()}, values);
}

using Entries = std::vector<std::pair<std::string, std::string>>;

fs::path write_zip(const Folder& folder, const std::string& name, const Entries& entries,
                   zip_int32_t method = ZIP_CM_STORE) {
  const fs::path file = folder / name;
  zip_t* archive = zip_open(file.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  EXPECT_NE(archive, nullptr);
  for (const auto& [entry, bytes] : entries) {
    zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const zip_int64_t index = zip_file_add(archive, entry.c_str(), source, 0);
    EXPECT_GE(index, 0) << zip_strerror(archive);
    EXPECT_EQ(zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), method, 0), 0);
  }
  EXPECT_EQ(zip_close(archive), 0);
  return file;
}

TEST(Npz, ReadsWhatNumPyWrites) {
  const std::string program = python();
  NEED_NUMPY(program);
  const Folder folder;
  run_python(program, folder, R"(
ijk = np.array([[5,5,5],[-1,-2,-3],[5,5,5],[2147483647,-2147483648,0]], dtype=np.int64)
off = np.array([0,0,3,4,4], dtype=np.int64)
vs = np.array([[1,2,3],[.1,.2,.3],[1,1,1],[2,2,2]], dtype=np.float64)
og = np.array([[0,0,0],[-1,1e9,.5],[0,0,0],[7,8,9]], dtype=np.float64)
maps = dict(voxel_sizes=vs, origins=og)
np.savez('plain.npz', ijk=ijk, offsets=off, **maps)
np.savez_compressed('deflated.npz', ijk=ijk.astype(np.int32), offsets=off, **maps)
np.savez('fortran.npz', ijk=np.asfortranarray(ijk), offsets=off,
         voxel_sizes=np.asfortranarray(vs), origins=og)
np.savez('swapped.npz', ijk=ijk.astype('>i4'), offsets=off.astype('>i8'),
         voxel_sizes=vs.astype('>f8'), origins=og)
np.savez('short.npz', ijk=ijk, offsets=off, features=np.zeros((4,16)))
np.savez('empty.npz', ijk=np.zeros((0,3), np.int32), offsets=np.zeros(1, np.int64))
)");
  const std::vector<Voxels> members{
      {}, {{-1, -2, -3}, {5, 5, 5}}, {{2147483647, -2147483648, 0}}, {}};
  const std::vector<Map> maps{{{1, 2, 3}, {0, 0, 0}},
                              {{.1, .2, .3}, {-1, 1e9, .5}},
                              {{1, 1, 1}, {0, 0, 0}},
                              {{2, 2, 2}, {7, 8, 9}}};
  for (const char* name : {"plain.npz", "deflated.npz", "fortran.npz", "swapped.npz"}) {
    const Input input = oracle::read_input({folder / name}, {});
    EXPECT_EQ(input.batch.members, members) << name;
    EXPECT_EQ(input.batch.maps, maps) << name;
    ASSERT_EQ(input.notes.size(), 1u) << name;
    EXPECT_NE(input.notes[0].find("member 1 lists 1 voxel more than once"), std::string::npos);
  }
  const Input plain = oracle::read_input({folder / "short.npz"}, {});
  EXPECT_EQ(plain.batch.members, members);
  EXPECT_EQ(plain.batch.maps, std::vector<Map>(4));
  EXPECT_EQ(plain.batch.names,
            (std::vector<std::string>{"short[0]", "short[1]", "short[2]", "short[3]"}));
  EXPECT_NE(plain.notes.back().find("not read: \"features\""), std::string::npos);
  EXPECT_EQ(oracle::read_input({folder / "empty.npz"}, {}).batch, Batch{});
}

TEST(Npz, ReadsZip64) {
  const std::string program = python();
  NEED_NUMPY(program);
  const Folder folder;
  run_python(program, folder, R"(
import zipfile, io
def npy(a):
    f = io.BytesIO(); np.lib.format.write_array(f, a); return f.getvalue()
with zipfile.ZipFile('big.npz', 'w') as z:
    for name, a in (('ijk', np.array([[1,2,3]], np.int32)), ('offsets', np.array([0,1]))):
        with z.open(name + '.npy', 'w', force_zip64=True) as f: f.write(npy(a))
)");
  EXPECT_EQ(oracle::read_input({folder / "big.npz"}, {}).batch.members,
            (std::vector<Voxels>{{{1, 2, 3}}}));
}

Batch sample_batch() {
  Batch batch;
  batch.members = {{}, {{-1, -2, -3}, {5, 5, 5}}, {{-2147483648, 0, 2147483647}}, {}};
  for (Voxels& member : batch.members) reference::make_canonical(member);
  batch.maps = {{}, {{.1, .2, .3}, {-1, 1e9, .5}}, {{2, 2, 2}, {0, 0, 0}}, {}};
  batch.names = {"rt[0]", "rt[1]", "rt[2]", "rt[3]"};
  return batch;
}

TEST(Npz, NumPyReadsWhatIsWritten) {
  const std::string program = python();
  NEED_NUMPY(program);
  const Folder folder;
  oracle::write_voxel_npz(folder / "rt.npz", sample_batch());
  run_python(program, folder, R"(
z = np.load('rt.npz', allow_pickle=False)
assert sorted(z.files) == ['ijk', 'offsets', 'origins', 'voxel_sizes'], z.files
assert z['ijk'].dtype == np.int32 and z['offsets'].dtype == np.int64
assert z['ijk'].tolist() == [[-1,-2,-3],[5,5,5],[-2**31,0,2**31-1]], z['ijk']
assert z['offsets'].tolist() == [0,0,2,3,3]
assert z['voxel_sizes'].tolist() == [[1,1,1],[.1,.2,.3],[2,2,2],[1,1,1]]
assert z['origins'].tolist() == [[0,0,0],[-1,1e9,.5],[0,0,0],[0,0,0]]
)");
}

TEST(Npz, RoundTripAndSameBytes) {
  const Folder folder;
  const Batch batch = sample_batch();
  oracle::write_voxel_npz(folder / "rt.npz", batch);
  EXPECT_EQ(oracle::read_input({folder / "rt.npz"}, {}).batch, batch);
  const std::string first = bytes_of(folder / "rt.npz");
  oracle::write_voxel_npz(folder / "rt.npz", batch);
  EXPECT_EQ(bytes_of(folder / "rt.npz"), first);
  oracle::write_voxel_npz(folder / "none.npz", {});
  EXPECT_EQ(oracle::read_input({folder / "none.npz"}, {}).batch, Batch{});
  EXPECT_EQ(folder.names().size(), 2u);  // and no temporary file
}

TEST(Npz, ArraysThatDoNotFitTogether) {
  const Folder folder;
  int i = 0;
  const auto refused = [&](const Entries& entries, ErrorKind kind, std::vector<std::string> parts) {
    expect_refused(write_zip(folder, std::to_string(i++) + ".npz", entries), kind, parts);
  };
  const std::string two = ijk({1, 2, 3, 4, 5, 6});
  const auto with = [&](const std::string& name, const std::string& bytes) {
    return Entries{{"ijk.npy", two}, {"offsets.npy", offsets({0, 1, 2})}, {name, bytes}};
  };
  refused({{"ijk.npy", two}}, ErrorKind::Corrupt, {"no array offsets.npy"});
  refused({{"offsets.npy", offsets({0})}}, ErrorKind::Corrupt, {"no array ijk.npy"});
  const auto ends = [&](const std::vector<std::int64_t>& values) {
    return Entries{{"ijk.npy", two}, {"offsets.npy", offsets(values)}};
  };
  refused(ends({1, 2}), ErrorKind::Corrupt, {"start at 1"});
  refused(ends({0, 2, 1, 2}), ErrorKind::Corrupt, {"offsets[2] = 1 after 2", "member 1"});
  refused(ends({0, -1, 2}), ErrorKind::Corrupt, {"offsets[1] = -1"});
  refused(ends({0, 1}), ErrorKind::Corrupt, {"end at 1", "2 rows"});
  refused(ends({0, 9223372036854775807}), ErrorKind::Corrupt, {"end at 9223372036854775807"});
  refused(ends({}), ErrorKind::Corrupt, {"offsets has the shape (0,)"});
  refused({{"ijk.npy", two}, {"offsets.npy", array<std::int32_t>("<i4", {2}, {0, 2})}},
          ErrorKind::Unsupported, {"offsets is int32"});
  refused({{"ijk.npy", array<double>("<f8", {1, 3}, {1, 2, 3})}, {"offsets.npy", offsets({0, 1})}},
          ErrorKind::Unsupported, {"ijk is float64"});
  refused({{"ijk.npy", array<std::int32_t>("<i4", {6}, {1, 2, 3, 4, 5, 6})},
           {"offsets.npy", offsets({0, 2})}},
          ErrorKind::Corrupt, {"(6,)", "[N,3]"});
  refused({{"ijk.npy", array<std::int32_t>("<i4", {3, 2}, {1, 2, 3, 4, 5, 6})},
           {"offsets.npy", offsets({0, 3})}},
          ErrorKind::Corrupt, {"(3, 2)", "[N,3]"});
  refused({{"ijk.npy", array<std::int64_t>("<i8", {3, 3}, {0, 0, 0, 1, 1, 1, 0, -2147483649, 0})},
           {"offsets.npy", offsets({0, 1, 3})}},
          ErrorKind::OutOfRange, {"y = -2147483649", "member 1", "row 1"});
  refused(with("voxel_sizes.npy", array<double>("<f8", {1, 3}, {1, 1, 1})), ErrorKind::Corrupt,
          {"voxel_sizes has the shape (1, 3)", "(2, 3)"});
  refused(with("voxel_sizes.npy", array<float>("<f4", {2, 3}, {1, 1, 1, 1, 1, 1})),
          ErrorKind::Unsupported, {"voxel_sizes is float32"});
  refused(with("voxel_sizes.npy", array<double>("<f8", {2, 3}, {1, 1, 1, 1, 0, 1})),
          ErrorKind::InvalidArgument, {"voxel size 0", "axis y", "member 1"});
  refused(with("origins.npy", array<double>("<f8", {2, 3}, {1, 1, std::nan(""), 1, 0, 1})),
          ErrorKind::InvalidArgument, {"origin nan", "axis z", "member 0"});
  refused(with("ijk", two), ErrorKind::Corrupt, {"ijk is there twice"});
  expect_refused(write_zip(folder, "many.npz", ends({0, 1, 2})), ErrorKind::CapacityExceeded,
                 {"2 voxels", "limit of 1"}, {.max_voxels = 1});
}

TEST(Npz, DamagedArchives) {
  const Folder folder;
  const Entries entries{{"ijk.npy", ijk({1, 2, 3})}, {"offsets.npy", offsets({0, 1})}};
  const std::string whole = bytes_of(write_zip(folder, "whole.npz", entries));
  EXPECT_EQ(oracle::read_input({folder / "whole.npz"}, {}).batch.size(), 1u);
  expect_refused(folder.write("text.npz", "not an archive"), ErrorKind::Corrupt, {"zip"});
  std::string damaged = whole;
  damaged[whole.find("\x93NUMPY") + 130] ^= 1;  // in the numbers: only the CRC can tell
  expect_refused(folder.write("crc.npz", damaged), ErrorKind::Corrupt, {"ijk.npy"});
  expect_refused(write_zip(folder, "bz.npz", entries, ZIP_CM_BZIP2), ErrorKind::Unsupported,
                 {"method 12"});
  // 64 MiB of zeros in 64 kB: refused by its header's size, not unpacked.
  const std::string zeros(std::size_t{64} << 20, '\0');
  expect_refused(write_zip(folder, "bomb.npz", {{"ijk.npy", zeros}}, ZIP_CM_DEFLATE),
                 ErrorKind::CapacityExceeded, {"67108864 bytes"}, {.max_voxels = 1000});
}

// Sizes that are written twice in an archive, at the entry and at the end, and lie in both.
TEST(Npz, EntriesThatLieAboutTheirSize) {
  const Folder folder;
  const std::string bytes = ijk(std::vector<std::int32_t>(3000, 7));
  const Entries entries{{"ijk.npy", bytes}, {"offsets.npy", offsets({0, 1000})}};
  const std::string whole = bytes_of(write_zip(folder, "whole.npz", entries, ZIP_CM_DEFLATE));
  EXPECT_EQ(oracle::read_input({folder / "whole.npz"}, {}).batch.size(), 1u);
  const auto claims = [&](std::uint32_t size, const std::string& says) {
    std::string lying = whole, right, wrong;
    put(right, static_cast<std::uint32_t>(bytes.size()));
    put(wrong, size);
    int changed = 0;
    for (std::size_t at = 0; (at = lying.find(right, at)) != lying.npos; ++changed)
      lying.replace(at, 4, wrong);
    EXPECT_EQ(changed, 2);
    expect_refused(folder.write("lying.npz", lying), ErrorKind::Corrupt, {"ijk.npy", says});
  };
  const auto size = static_cast<std::uint32_t>(bytes.size());
  claims(size + 1, "ijk.npy");
  claims(size - 1, "is longer than its size, or its checksum is wrong");
  claims(1u << 30, "bytes to 1073741824");
}

TEST(Npz, AnEncryptedEntryIsNamed) {
  const Folder folder;
  const fs::path file = write_zip(folder, "secret.npz",
                                  {{"ijk.npy", ijk({1, 2, 3})}, {"offsets.npy", offsets({0, 1})}});
  zip_t* archive = zip_open(file.c_str(), 0, nullptr);
  ASSERT_NE(archive, nullptr);
  if (zip_file_set_encryption(archive, 0, ZIP_EM_AES_256, "secret") != 0 ||
      zip_close(archive) != 0) {
    zip_discard(archive);
    GTEST_SKIP() << "this libzip does not encrypt";
  }
  expect_refused(file, ErrorKind::Unsupported, {"ijk.npy", "is encrypted"});
}

// Answers of other programs [M] [V]: docs/npz-format.md.
TEST(NpzAnswers, GridsAreListsOfVoxels) {
  const Folder folder;
  int i = 0;
  const auto written = [&](const Entries& entries) {
    return write_zip(folder, std::to_string(i++) + ".npz", entries);
  };
  const auto grid = [&](const std::vector<std::int64_t>& ends, const std::string& voxels) {
    return written({{"voxels.npy", voxels}, {"offsets.npy", offsets(ends)}});
  };
  const std::string three = ijk({7, 7, 7, -1, -2, -3, 2147483647, -2147483648, 0});
  const oracle::Answer answer = oracle::read_npz_answer(grid({0, 2, 2, 3}, three), "grid");
  const auto& read = std::get<oracle::VoxelsAnswer>(answer);
  EXPECT_EQ(read.members,  // as they are listed
            (std::vector<Voxels>{{{7, 7, 7}, {-1, -2, -3}}, {}, {{2147483647, -2147483648, 0}}}));
  EXPECT_FALSE(read.maps);
  const auto none =
      oracle::read_npz_answer(grid({0}, array<std::int16_t>("<i2", {0, 3}, {})), "grid");
  EXPECT_TRUE(std::get<oracle::VoxelsAnswer>(none).members.empty());

  const auto refused = [&](const fs::path& file, ErrorKind kind, std::vector<std::string> says,
                           std::string_view as = "grid") {
    SCOPED_TRACE(says.back());
    says.push_back(file.string());
    expect_refusal(kind, says, [&] { oracle::read_npz_answer(file, as); });
  };
  const auto corrupt = ErrorKind::Corrupt;
  for (const std::vector<std::int64_t>& ends :
       {std::vector<std::int64_t>{}, {1, 3}, {-1, 3}, {0, 2}, {0, 4}, {0, -3}, {3}})
    refused(grid(ends, three), corrupt, {"offsets must begin with 0 and end with the 3 voxels"});
  refused(grid({0, 2, 1, 3}, three), corrupt, {"member 1", "offsets must not decrease"});
  refused(grid({0, 9, 3}, three), corrupt, {"member 1", "offsets must not decrease"});
  refused(grid({0, INT64_MIN, 3}, three), corrupt, {"member 0", "offsets must not decrease"});
  refused(grid({0, 2}, array<std::int32_t>("<i4", {2, 4}, {0, 0, 0, 0, 0, 0, 0, 0})), corrupt,
          {"voxels has the shape (2, 4); [N,3] is meant"});
  refused(grid({0, 1}, array<std::int32_t>("<i4", {3}, {0, 0, 0})), corrupt,
          {"voxels is int32 of shape (3,); integers of 2 axes are meant"});
  refused(grid({0, 1}, array<float>("<f4", {1, 3}, {0, 0, 0})), corrupt, {"voxels is float32"});
  refused(grid({0, 1}, array<char>("|b1", {1, 3}, {0, 0, 0})), corrupt, {"voxels is bool"});
  refused(grid({0, 2}, array<std::int64_t>("<i8", {2, 3}, {0, 0, 0, 0, 0, 2147483648})),
          ErrorKind::OutOfRange, {"row 1", "2147483648 of voxels is outside 32 bits"});
  refused(grid({0, 1}, array<std::uint64_t>("<u8", {1, 3}, {0, 18446744073709551615u, 0})),
          ErrorKind::OutOfRange, {"row 1", "18446744073709551615 of voxels is no int64"});
  refused(written({{"voxels.npy", three}}), corrupt, {"has no array offsets.npy"});
  refused(written({{"offsets.npy", offsets({0})}}), corrupt, {"has no array voxels.npy"});
  refused(written({{"output.npy", array<std::int64_t>("<i8", {1, 1}, {1})}}),
          ErrorKind::Unsupported, {"output is int64; float64, float32, float16 and int32 are read"},
          "numbers");
  refused(written({{"output.npy", array<std::uint64_t>("<c8", {1}, {1})}}), ErrorKind::Unsupported,
          {"output is c8;"}, "numbers");
  refused(
      written({{"output.npy", array<float>("<f4", {1}, {1})},
               {"target_rows.npy", array<std::int64_t>("<i8", {1, 4}, {0, 0, -2147483649, 0})}}),
      ErrorKind::OutOfRange, {"row 0", "-2147483649 of target_rows is outside 32 bits"}, "numbers");
  refused(written({{"features.npy", array<float>("<f4", {1, 1}, {1})},
                   {"weights.npy", array<float>("<f4", {1, 1}, {1})}}),
          corrupt, {"has no array bias.npy"}, "gradients");
}

TEST(NpzAnswers, IntegersOfEveryTypeInBothOrders) {
  const Folder folder;
  const auto column = [&]<class T>(const std::string& type, const std::vector<T>& values) {
    const auto file = write_zip(folder, "map.npz",
                                {{"offsets.npy", offsets({0, 3})},
                                 {"gather.npy", array<T>(type, {values.size()}, values)},
                                 {"scatter.npy", offsets({0, 1, 2})}});
    return std::get<oracle::KernelMapAnswer>(oracle::read_npz_answer(file, "map")).map.gather;
  };
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(column("|i1", std::vector<std::int8_t>{1, -128, 127}), (Integers{1, -128, 127}));
  EXPECT_EQ(column("|u1", std::vector<std::uint8_t>{1, 128, 255}), (Integers{1, 128, 255}));
  EXPECT_EQ(column("<i2", std::vector<std::int16_t>{1, -32768, 258}), (Integers{1, -32768, 258}));
  EXPECT_EQ(column(">i2", std::vector<std::int16_t>{1, -32768, 258}), (Integers{256, 128, 513}));
  EXPECT_EQ(column("<u2", std::vector<std::uint16_t>{1, 32768, 65535}),
            (Integers{1, 32768, 65535}));
  EXPECT_EQ(column("<i4", std::vector<std::int32_t>{1, INT32_MIN, 7}), (Integers{1, INT32_MIN, 7}));
  EXPECT_EQ(column("<u4", std::vector<std::uint32_t>{1, 1u << 31, UINT32_MAX}),
            (Integers{1, 2147483648, 4294967295}));
  EXPECT_EQ(column("<i8", Integers{1, INT64_MIN, INT64_MAX}), (Integers{1, INT64_MIN, INT64_MAX}));
  EXPECT_EQ(column("<u8", std::vector<std::uint64_t>{1, 0, 1ull << 62}),
            (Integers{1, 0, 1ll << 62}));

  // Fortran order: the first axis changes first.
  const auto fortran = [](std::string bytes) {
    return bytes.replace(bytes.find("False, 'shape"), 6, "True ,");
  };
  const auto dense = [&](const std::string& index) {
    const auto file = write_zip(folder, "dense.npz", {{"index.npy", index}});
    return std::get<oracle::DenseMapAnswer>(oracle::read_npz_answer(file, "dense")).map;
  };
  const std::string index = array<std::uint16_t>("<u2", {2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(dense(index).taps, 2);
  EXPECT_EQ(dense(index).rows, 3);
  EXPECT_EQ(dense(index).index, (Integers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(dense(fortran(index)).taps, 2);
  EXPECT_EQ(dense(fortran(index)).index, (Integers{0, 2, 4, 1, 3, 5}));
  const auto numbers = [&](const std::string& output) {
    const auto file = write_zip(folder, "numbers.npz", {{"output.npy", output}});
    return std::get<oracle::NumbersAnswer>(oracle::read_npz_answer(file, "numbers")).array;
  };
  const std::string cube = array<float>("<f4", {2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_EQ(numbers(cube).values, (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(numbers(fortran(cube)).shape, (Integers{2, 2, 3}));
  EXPECT_EQ(numbers(fortran(cube)).values,
            (std::vector<double>{0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11}));
  EXPECT_TRUE(numbers(fortran(array<double>("<f8", {3, 0}, {}))).values.empty());
  EXPECT_EQ(numbers(array<double>("<f8", {}, {0.5})).values, std::vector<double>{0.5});
}

}  // namespace
}  // namespace leafproof::tests
