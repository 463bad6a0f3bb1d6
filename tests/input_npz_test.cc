// Voxel lists in .npz: what NumPy writes is read, what is written NumPy reads, and nothing else.
#include <zip.h>

#include <cstdlib>

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

}  // namespace
}  // namespace leafproof::tests
