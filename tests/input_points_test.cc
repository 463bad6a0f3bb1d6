// Point clouds and single arrays: .xyz, .npy, .ply without faces.
#include <cmath>

#include "oracle/input/npy.h"
#include "oracle/input/points.h"
#include "oracle/input/voxel_lists.h"
#include "reference/canonical_order.h"
#include "reference/passes.h"
#include "tests/input_files.h"

namespace leafproof::tests {
namespace {

using oracle::Input;
using oracle::Point;
using oracle::Voxel;
using Voxels = std::vector<Voxel>;

Input at_voxel_size(const fs::path& file, double size) {
  return oracle::read_input({file}, {.voxel_size = size});
}

// The answer that [T-1] gives, through nothing of this room.
Voxels expected_voxels(const std::vector<Point>& points, double size) {
  return reference::from_points({points}, {{{size, size, size}, {0, 0, 0}}}).members[0];
}

TEST(Xyz, ReadsTextWithCommentsAndFurtherColumns) {
  const Folder folder;
  const auto file = folder.write("cloud.xyz",
                                 "# a scan\n"
                                 "0.4 0.5 -0.5\r\n"
                                 "\n"
                                 "1e1,\t+2.5 , -3 255 0 7 # red\n"
                                 "   -0.6 -.5 1.4999999999999998");  // no end of line
  const std::vector<Point> points{
      {0.4, 0.5, -0.5}, {10, 2.5, -3}, {-0.6, -0.5, 1.4999999999999998}};
  EXPECT_EQ(oracle::read_xyz({"read .xyz", file}), points);
  const Input input = at_voxel_size(file, 1);
  ASSERT_EQ(input.batch.size(), 1u);
  EXPECT_EQ(input.batch.members[0], expected_voxels(points, 1));
  EXPECT_EQ(input.batch.members[0].size(), 3u);  // (0,1,0) (10,3,-3) (-1,0,1)
  EXPECT_EQ(input.batch.names[0], "cloud");
  EXPECT_NE(input.provenance[0].find("3 points"), std::string::npos);
}

TEST(Xyz, NamesTheLineOrTheRow) {
  const Folder folder;
  expect_refused(folder.write("a.xyz", "0 0 0\n1 2\n"), ErrorKind::Corrupt, {"line 2", "1 2"});
  expect_refused(folder.write("b.xyz", "3\nC 0 0 0\n"), ErrorKind::Corrupt, {"line 1"});
  expect_refused(folder.write("c.xyz", "0 0 0x\n"), ErrorKind::Corrupt, {"line 1"});
  expect_refused(folder.write("d.xyz", "0 0 0\n0 nan 0\n"), ErrorKind::InvalidArgument,
                 {"row 1", "nan"});
  expect_refused(folder.write("e.xyz", "0 0 0\n0 0 0\n-inf 0 0\n"), ErrorKind::InvalidArgument,
                 {"row 2", "inf"});
  expect_refused(folder.write("f.xyz", "0 0 0\n0 3e9 0\n"), ErrorKind::OutOfRange, {"row 1"},
                 {.voxel_size = 1});
  expect_refused(folder.write("g.xyz", "0 0 0\n1 1 1\n"), ErrorKind::CapacityExceeded,
                 {"2 voxels", "limit of 1"}, {.max_voxels = 1});
}

TEST(Xyz, ACommentAloneIsAnEmptyMember) {
  const Folder folder;
  const Input input = oracle::read_input({folder.write("none.xyz", "# nothing\n")}, {});
  EXPECT_EQ(input.batch.members, std::vector<Voxels>{Voxels{}});
}

TEST(Points, FitTheResolution) {
  const Folder folder;
  const auto file = folder.write("line.xyz", "10 5 5\n30 5 5\n20 7 5\n");
  const Input input = oracle::read_input({file}, {.resolution = 11});
  // 20 along x in 11 voxels whose centres are 2 apart, the first at the lowest point.
  EXPECT_EQ(input.batch.maps[0], (oracle::Map{{2, 2, 2}, {10, 5, 5}}));
  EXPECT_EQ(input.batch.members[0], (Voxels{{0, 0, 0}, {5, 1, 0}, {10, 0, 0}}));
}

TEST(Points, ASinglePointHasAVoxel) {
  const Folder folder;
  const Input input = oracle::read_input({folder.write("one.xyz", "1 2 3\n")}, {.resolution = 64});
  EXPECT_EQ(input.batch.members[0], (Voxels{{0, 0, 0}}));
  EXPECT_EQ(input.batch.maps[0], (oracle::Map{{1, 1, 1}, {1, 2, 3}}));
}

TEST(Points, OptionsAreChecked) {
  const Folder folder;
  const auto file = folder.write("one.xyz", "1 2 3\n");
  expect_refused(file, ErrorKind::InvalidArgument, {"resolution 1"}, {.resolution = 1});
  expect_refused(file, ErrorKind::InvalidArgument, {"resolution -5"}, {.resolution = -5});
  for (const double size : {-1.0, std::nan(""), HUGE_VAL}) {
    expect_refusal(ErrorKind::InvalidArgument, {"voxel_size"}, [&] { at_voxel_size(file, size); });
  }
}

std::string npy(std::string header, const std::string& data, int major = 1) {
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  if (major == 1) {
    put(bytes, static_cast<std::uint16_t>(header.size()));
  } else {
    put(bytes, static_cast<std::uint32_t>(header.size()));
  }
  return bytes + header + data;
}

template <class T>
std::string raw(std::initializer_list<T> values, bool swapped = false) {
  std::string bytes;
  for (const T value : values) {
    std::string one;
    put(one, value);
    bytes += swapped ? std::string(one.rbegin(), one.rend()) : one;
  }
  return bytes;
}

TEST(Npy, PointsOfBothPrecisionsOrdersAndLayouts) {
  const Folder folder;
  const std::vector<Point> points{{1, 2, 3}, {-4, 5.5, 6}};
  const auto voxels = expected_voxels(points, 1);
  const auto c = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
  const auto f = "{'shape': (2,3), 'fortran_order': True, 'descr': \"<f4\"}";
  const auto big = "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3)}";
  int i = 0;
  for (const std::string& bytes :
       {npy(c, raw<double>({1, 2, 3, -4, 5.5, 6})), npy(c, raw<double>({1, 2, 3, -4, 5.5, 6}), 2),
        npy(f, raw<float>({1, -4, 2, 5.5, 3, 6})),
        npy(big, raw<double>({1, -4, 2, 5.5, 3, 6}, true), 3)}) {
    const auto file = folder.write(std::to_string(i++) + ".npy", bytes);
    EXPECT_EQ(at_voxel_size(file, 1).batch.members[0], voxels) << file;
  }
}

TEST(Npy, IntegersAreVoxels) {
  const Folder folder;
  const auto i4 = "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 3), }";
  const auto file =
      folder.write("v.npy", npy(i4, raw<std::int32_t>({5, 5, 5, -1, -2, -3, 5, 5, 5})));
  const Input input = oracle::read_input({file}, {.voxel_size = 9});
  EXPECT_EQ(input.batch.members[0], (Voxels{{-1, -2, -3}, {5, 5, 5}}));
  EXPECT_EQ(input.batch.maps[0], oracle::Map{});
  ASSERT_EQ(input.notes.size(), 1u);
  EXPECT_NE(input.notes[0].find("lists 1 voxel more than once"), std::string::npos);

  const auto i8 = "{'descr': '>i8', 'fortran_order': False, 'shape': (2, 3), }";
  const auto wide = folder.write(
      "w.npy", npy(i8, raw<std::int64_t>({2147483647, -2147483648, 0, 0, 0, 2147483648}, true)));
  expect_refused(wide, ErrorKind::OutOfRange, {"z = 2147483648", "member 0", "row 1"});
}

TEST(Npy, MalformedHeaders) {
  const Folder folder;
  const std::string data = raw<double>({1, 2, 3});
  int i = 0;
  const auto refused = [&](const std::string& bytes, ErrorKind kind, const std::string& part) {
    expect_refused(folder.write(std::to_string(i++) + ".npy", bytes), kind, {part});
  };
  const std::string good = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3), }";
  refused(npy(good, data + "x"), ErrorKind::Corrupt, "takes 24 bytes, and 25");
  refused(npy(good, data.substr(1)), ErrorKind::Corrupt, "takes 24 bytes, and 23");
  refused(npy(good, data, 4), ErrorKind::Unsupported, "version 4");
  refused("not an array", ErrorKind::Corrupt, "does not begin");
  refused("\x93NUMPY", ErrorKind::Corrupt, "ends early");
  refused(npy(good, data).substr(0, 40), ErrorKind::Corrupt, "ends early");
  for (const char* header :
       {"", "{", "{}", "[]", "{'descr': '<f8'}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, -3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3), 'more': 1}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1, 3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3), } + __import__('os')",
        "{'descr: '<f8', 'fortran_order': False, 'shape': (1, 3), }"}) {
    refused(npy(header, data), ErrorKind::Corrupt, "malformed NumPy header");
  }
  refused(
      npy("{'descr': '<f8', 'fortran_order': False, 'shape': (6148914691236517206, 3), }", data),
      ErrorKind::Corrupt, "does not fit 64 bits");
  refused(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", data),
          ErrorKind::Corrupt, "(3,); points have [N,3]");
  refused(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", data.substr(0, 8)),
          ErrorKind::Corrupt, "()");
  refused(npy("{'descr': '<i2', 'fortran_order': False, 'shape': (1, 3), }", data.substr(0, 6)),
          ErrorKind::Unsupported, "int16");
  // Sizes that no integers of NumPy have.
  for (const std::string type : {"<i3", "<u6", "<i16", "|b4", "<u32"}) {
    const auto size = static_cast<std::size_t>(std::stoi(type.substr(2)));
    refused(npy("{'descr': '" + type + "', 'fortran_order': False, 'shape': (1, 3), }",
                std::string(3 * size, '\0')),
            ErrorKind::Unsupported, "has the type \"" + type + "\", which NumPy has not");
  }
  refused(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1, 3), }", data),
          ErrorKind::Unsupported, "type");
  refused(npy("{'descr': '|O8', 'fortran_order': False, 'shape': (1, 3), }", data),
          ErrorKind::Unsupported, "objects");
  refused(npy("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (3,), }", data),
          ErrorKind::Unsupported, "structured");
}

TEST(Ply, PointsInEveryEncodingStayDoubles) {
  const Folder folder;
  // 2^24 + 1 has no float: a reader through floats would move the point.
  const std::string text =
      "ply\nformat ascii 1.0\ncomment made by hand\nelement camera 1\nproperty float f\n"
      "property list uchar int ids\nelement vertex 2\nproperty uchar red\nproperty double x\n"
      "property double y\nproperty double z\nelement face 0\nproperty list uchar int "
      "vertex_indices\n"
      "end_header\n";
  const auto ascii = folder.write("ascii.ply", text + "1.5 2 7 8\n255 16777217 -2 3.25\n0 0 0 0\n");
  const Voxels expected{{0, 0, 0}, {16777217, -2, 3}};
  EXPECT_EQ(at_voxel_size(ascii, 1).batch.members[0], expected);
  for (const bool big : {false, true}) {
    std::string header = text;
    header.replace(header.find("ascii"), 5, big ? "binary_big_endian" : "binary_little_endian");
    const std::string body = raw<float>({1.5}, big) + "\2" + raw<std::int32_t>({7, 8}, big) +
                             "\xff" + raw<double>({16777217, -2, 3.25}, big) +
                             std::string(1, '\0') + raw<double>({0, 0, 0}, big);
    const auto file = folder.write(big ? "big.ply" : "little.ply", header + body);
    EXPECT_EQ(at_voxel_size(file, 1).batch.members[0], expected) << file;
    expect_refused(folder.write("short.ply", header + body.substr(0, body.size() - 1)),
                   ErrorKind::Corrupt, {"ends early"});
  }
}

TEST(Ply, Refusals) {
  const Folder folder;
  const std::string vertex = "property float x\nproperty float y\nproperty float z\nend_header\n";
  int i = 0;
  const auto refused = [&](const std::string& bytes, ErrorKind kind, const std::string& part) {
    expect_refused(folder.write(std::to_string(i++) + ".ply", bytes), kind, {part});
  };
  const std::string begin = "ply\nformat ascii 1.0\n";
  refused("plx\n", ErrorKind::Corrupt, "does not begin");
  refused("ply", ErrorKind::Corrupt, "does not begin");
  refused(begin, ErrorKind::Corrupt, "no end_header");
  refused("ply\nelement vertex 1\n" + vertex, ErrorKind::Corrupt, "no format");
  refused("ply\nformat morse 1.0\n", ErrorKind::Unsupported, "morse");
  refused(begin + "end_header\n", ErrorKind::Corrupt, "no vertices");
  refused(begin + "element vertex -1\n" + vertex, ErrorKind::Corrupt, "line 3");
  refused(begin + "element vertex 2\n" + vertex + "0 0 0\n0 0\n", ErrorKind::Corrupt,
          "ends before");
  refused(begin + "element vertex 1\n" + vertex + "0 zero 0\n", ErrorKind::Corrupt, "zero");
  refused(begin + "element vertex 1\n" + vertex + "0 nan 0\n", ErrorKind::InvalidArgument, "row 0");
  refused(begin + "element vertex 1\nproperty float x\n" + vertex + "0 0 0 0\n", ErrorKind::Corrupt,
          "one each");
  refused(begin + "element vertex 18446744073709551615\n" + vertex + "0 0 0\n", ErrorKind::Corrupt,
          "ends before");
  refused(begin + "element vertex 18446744073709551615\nend_header\n", ErrorKind::Corrupt,
          "one each");
  refused(begin + "property float x\n", ErrorKind::Corrupt, "line 3");
}

TEST(Input, FilesThatAreNone) {
  const Folder folder;
  for (const char* extension :
       {"obj", "ply", "stl", "gltf", "glb", "3ds", "xyz", "npy", "npz", "vdb", "nvdb", "what"}) {
    const std::string name = std::string("a.") + extension;
    expect_refused(folder / name, ErrorKind::InvalidArgument, {"cannot be opened: No such file"});
    fs::create_directory(folder / name);
    expect_refused(folder / name, ErrorKind::InvalidArgument, {"is a directory"});
    expect_refused(folder.write(std::string("e.") + extension, ""), ErrorKind::InvalidArgument,
                   {"is empty"});
  }
  expect_refused(folder.write("cloud.las", "LASF"), ErrorKind::Unsupported, {".las", ".xyz"});
  expect_refused(folder.write("cloud", "0 0 0"), ErrorKind::Unsupported, {"no extension"});
  if (::geteuid() != 0) {
    const auto closed = folder.write("closed.xyz", "0 0 0");
    fs::permissions(closed, fs::perms::none);
    expect_refused(closed, ErrorKind::InvalidArgument, {"Permission denied"});
  }
}

TEST(Input, FilesKeepTheirOrderAndNamesFit) {
  const Folder folder;
  const std::string longest(251, 'n');  // and ".xyz": the longest name that a file has
  const auto a = folder.write(longest + ".xyz", "0 0 0\n");
  const auto b = folder.write("B.XYZ", "1 1 1\n2 2 2\n");
  const Input input = oracle::read_input({b, a, b}, {.voxel_size = 1});
  EXPECT_EQ(input.batch.names, (std::vector<std::string>{"B", longest, "B"}));
  EXPECT_EQ(input.batch.members,
            (std::vector<Voxels>{{{1, 1, 1}, {2, 2, 2}}, {{0, 0, 0}}, {{1, 1, 1}, {2, 2, 2}}}));
  EXPECT_EQ(input.provenance.size(), 3u);
  // The limit is of all files together.
  expect_refusal(ErrorKind::CapacityExceeded, {"B.XYZ", "limit of 1"},
                 [&] { oracle::read_input({b, a, b}, {.voxel_size = 1, .max_voxels = 4}); });
}

// [G-7] A name with its number still fits 255 bytes, and holds whole characters.
TEST(Input, NamesWithNumbersAreCutToFit) {
  const Folder folder;
  oracle::Batch batch;
  batch.members.resize(101);
  batch.maps.resize(101);
  const std::string stem = std::string(248, 'n') + "\xc3\xa9";  // 250 bytes
  oracle::write_voxel_npz(folder / (stem + "x.npz"), batch);
  const Input input = oracle::read_input({folder / (stem + "x.npz")}, {});
  EXPECT_EQ(input.batch.names.at(99), stem + "x[99]");  // 255
  EXPECT_EQ(input.batch.names.at(100), stem + "[100]");
  const std::string odd = std::string(249, 'n') + "\xc3\xa9";  // the cut would be within the last
  oracle::write_voxel_npz(folder / (odd + ".npz"), batch);
  const Input other = oracle::read_input({folder / (odd + ".npz")}, {});
  EXPECT_EQ(other.batch.names.at(99), odd + "[99]");
  EXPECT_EQ(other.batch.names.at(100), std::string(249, 'n') + "[100]");
  EXPECT_TRUE(other.notes.empty());
}

}  // namespace
}  // namespace leafproof::tests
