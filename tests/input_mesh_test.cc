// Meshes: the sampling of surfaces, the formats, and the built-in scene.
#include <cmath>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include "oracle/input/mesh.h"
#include "oracle/input/surface.h"
#include "reference/canonical_order.h"
#include "tests/input_files.h"

namespace leafproof::tests {
namespace {

using oracle::Input;
using oracle::InputOptions;
using oracle::Map;
using oracle::Point;
using oracle::Triangle;
using oracle::Voxel;
using oracle::VoxelSet;
using Voxels = std::vector<Voxel>;

Point operator-(const Point& a, const Point& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double dot(const Point& a, const Point& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Do a triangle and a closed cube of side 2r around c meet? By separating axes: the cube's normals,
// the triangle's, and the cross products of their edges.
bool meets(const Triangle& t, const Voxel& c, double r) {
  const Point centre{static_cast<double>(c.x), static_cast<double>(c.y), static_cast<double>(c.z)};
  std::vector<Point> axes{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, cross(t[1] - t[0], t[2] - t[0])};
  for (int edge = 0; edge < 3; ++edge) {
    const Point e = t[static_cast<std::size_t>(edge + 1) % 3] - t[static_cast<std::size_t>(edge)];
    for (int a = 0; a < 3; ++a) axes.push_back(cross(axes[static_cast<std::size_t>(a)], e));
  }
  for (const Point& axis : axes) {
    const double reach = r * (std::abs(axis[0]) + std::abs(axis[1]) + std::abs(axis[2]));
    const double p[3] = {dot(axis, t[0] - centre), dot(axis, t[1] - centre),
                         dot(axis, t[2] - centre)};
    if (std::min({p[0], p[1], p[2]}) > reach || std::max({p[0], p[1], p[2]}) < -reach) return false;
  }
  return true;
}

Voxels sampled(const std::vector<Triangle>& triangles) {
  VoxelSet voxels;
  oracle::sample_surface({"sample", "test"}, triangles, Map{}, 1'000'000, voxels);
  return voxels.canonical();
}

TEST(VoxelSet, IsTheCanonicalSetOfWhatWasInserted) {
  std::mt19937_64 random(20261129);
  for (int spread : {3, 20, 5000, 2'000'000'000}) {
    std::uniform_int_distribution<std::int32_t> coordinate(-spread, spread);
    Voxels list;
    VoxelSet set;
    for (int i = 0; i < 3000; ++i) {
      const Voxel v{coordinate(random), coordinate(random), coordinate(random)};
      list.push_back(v);
      set.insert(v);
    }
    Voxels expected = list;
    reference::make_canonical(expected);
    EXPECT_EQ(set.canonical(), expected) << spread;
    EXPECT_EQ(set.count(), expected.size());
    const std::uint64_t repeats = list.size() - expected.size();
    EXPECT_EQ(oracle::canonicalise(list), repeats);
    EXPECT_EQ(list, expected);
    EXPECT_EQ(oracle::canonicalise(list), 0u);
    EXPECT_EQ(list, expected);
  }
  VoxelSet cubes;
  cubes.insert_cube({-2147483648, 0, 2147483640}, 8);
  VoxelSet::Mask mask{};
  mask[0] = 1;
  mask[7] = std::uint64_t{1} << 63;
  cubes.insert_block({-2147483648, 0, 2147483640}, mask);  // in the cube already
  cubes.insert_block({8, 8, 8}, mask);
  EXPECT_EQ(cubes.count(), 514u);
  EXPECT_EQ(cubes.canonical().back(), (Voxel{15, 15, 15}));
}

// What surface.h promises: no voxel that the triangle does not meet, and none missing of which the
// triangle holds more than a corner.
TEST(Surface, SeededTriangles) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 400; ++round) {
    const double size = std::exp(unit(random) * 4 - 1);  // from a third of a voxel to twenty
    const double flat = round % 4 == 0 ? 1e-3 : 1;       // slivers too
    Triangle t;
    for (Point& corner : t) {
      corner = {(unit(random) - 0.5) * size, (unit(random) - 0.5) * size * flat,
                (unit(random) - 0.5) * size};
    }
    const Voxels voxels = sampled({t});
    for (const Voxel& v : voxels) {
      ASSERT_TRUE(meets(t, v, 0.5 + 1e-9)) << round << ": " << v.x << " " << v.y << " " << v.z;
    }
    std::set<std::array<std::int32_t, 3>> found;
    for (const Voxel& v : voxels) found.insert({v.x, v.y, v.z});
    // Near every point of the triangle lies a voxel that was found: within the 0.18 of surface.h.
    for (int i = 0; i < 300; ++i) {
      double a = unit(random), b = unit(random);
      if (a + b > 1) a = 1 - a, b = 1 - b;
      Point p;
      for (std::size_t k = 0; k < 3; ++k) {
        p[k] = t[0][k] + a * (t[1][k] - t[0][k]) + b * (t[2][k] - t[0][k]);
      }
      bool near = false;
      for (int corner = 0; corner < 27 && !near; ++corner) {
        const std::array<int, 3> d{corner % 3 - 1, corner / 3 % 3 - 1, corner / 9 - 1};
        double distance = 0;
        std::array<std::int32_t, 3> v;
        for (std::size_t k = 0; k < 3; ++k) {
          v[k] = static_cast<std::int32_t>(std::floor(p[k] + 0.5)) + d[k];
          const double outside = std::max(0.0, std::abs(p[k] - v[k]) - 0.5);
          distance += outside * outside;
        }
        near = distance <= 0.18 * 0.18 && found.contains(v);
      }
      ASSERT_TRUE(near) << round << ": nothing near " << p[0] << " " << p[1] << " " << p[2];
    }
  }
}

TEST(Surface, DegenerateTrianglesCount) {
  EXPECT_EQ(sampled({{{{2, -3, 4}, {2, -3, 4}, {2, -3, 4}}}}), (Voxels{{2, -3, 4}}));
  const Voxels rod = sampled({{{{0, 0, 0}, {0, 0, 9}, {0, 0, 4}}}});
  ASSERT_EQ(rod.size(), 10u);
  EXPECT_EQ(rod.back(), (Voxel{0, 0, 9}));
  EXPECT_TRUE(sampled({}).empty());
  // A plane on the boundary between voxels belongs to the upper one, as a point does [T-1].
  EXPECT_EQ(sampled({{{{0, 0, 0.5}, {1, 0, 0.5}, {0, 1, 0.5}}}}).front().z, 1);
  EXPECT_EQ(sampled({{{{0, 0, -0.5}, {1, 0, -0.5}, {0, 1, -0.5}}}}).front().z, 0);
}

TEST(Surface, RefusesWhatDoesNotFit) {
  const auto sample = [](const Triangle& t, std::uint64_t limit) {
    VoxelSet voxels;
    oracle::sample_surface({"sample", "huge.obj"}, std::vector{t}, Map{}, limit, voxels);
  };
  expect_refusal(ErrorKind::OutOfRange, {"huge.obj", "triangle 0", "outside 32 bits"},
                 [&] { sample({{{0, 0, 0}, {3e9, 0, 0}, {0, 1, 0}}}, 1000); });
  expect_refusal(ErrorKind::OutOfRange, {"nan"},
                 [&] { sample({{{0, 0, 0}, {std::nan(""), 0, 0}, {0, 1, 0}}}, 1000); });
  // A million by a million voxels: refused before the first is sampled.
  expect_refusal(ErrorKind::CapacityExceeded, {"huge.obj", "samples", "limit of 1000"},
                 [&] { sample({{{0, 0, 0}, {1e6, 0, 0}, {0, 1e6, 0}}}, 1000); });
  expect_refusal(ErrorKind::CapacityExceeded, {"limit of 5"},
                 [&] { sample({{{0, 0, 0}, {9, 0, 0}, {0, 9, 0}}}, 5); });
}

#ifndef LEAFPROOF_HAS_ASSIMP

TEST(Mesh, IsRefusedWithoutAssimp) {
  const Folder folder;
  expect_refused(folder.write("a.obj", "v 0 0 0\n"), ErrorKind::Unsupported, {"no Assimp"});
}

#else

// One tetrahedron in every format; its corners are exact in floats.
const std::vector<Point> corners{{0, 0, 0}, {8, 0, 0}, {0, 6, 0}, {0, 0, 4}};
const std::vector<std::array<std::size_t, 3>> faces{{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};

std::string text_of(const Point& p) {
  return std::to_string(p[0]) + " " + std::to_string(p[1]) + " " + std::to_string(p[2]) + "\n";
}

std::string obj() {
  std::string text = "# a tetrahedron\n";
  for (const Point& p : corners) text += "v " + text_of(p);
  for (const auto& f : faces) {
    text += "f " + std::to_string(f[0] + 1) + " " + std::to_string(f[1] + 1) + " " +
            std::to_string(f[2] + 1) + "\n";
  }
  return text;
}

std::string ply(bool binary) {
  std::string text = std::string("ply\nformat ") + (binary ? "binary_little_endian" : "ascii") +
                     " 1.0\nelement vertex 4\nproperty float x\nproperty float y\n"
                     "property float z\nelement face 4\n"
                     "property list uchar int vertex_indices\nend_header\n";
  for (const Point& p : corners) {
    if (!binary) text += text_of(p);
    for (const double c : p) {
      if (binary) put(text, static_cast<float>(c));
    }
  }
  for (const auto& f : faces) {
    text += binary ? '\3' : '3';
    for (const std::size_t i : f) {
      if (binary) put(text, static_cast<std::int32_t>(i));
      if (!binary) text.append(" ").append(std::to_string(i));
    }
    if (!binary) text += "\n";
  }
  return text;
}

std::string stl(bool binary) {
  std::string text = binary ? std::string(80, ' ') : "solid t\n";
  if (binary) put(text, static_cast<std::uint32_t>(faces.size()));
  for (const auto& f : faces) {
    if (!binary) text += "facet normal 0 0 1\nouter loop\n";
    if (binary) text += std::string(12, '\0');
    for (const std::size_t i : f) {
      if (!binary) text += "vertex " + text_of(corners[i]);
      for (const double c : corners[i]) {
        if (binary) put(text, static_cast<float>(c));
      }
    }
    text += binary ? std::string(2, '\0') : "endloop\nendfacet\n";
  }
  return binary ? text : text + "endsolid t\n";
}

// glTF with `nodes` as given; binary is GLB, else the buffer is a file beside it.
std::string gltf(const std::string& nodes, const std::string& uri) {
  return R"({"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":)" + nodes +
         R"(,"meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":1}]}],
"buffers":[{"byteLength":72)" +
         uri + R"(}],
"bufferViews":[{"buffer":0,"byteOffset":0,"byteLength":48},
{"buffer":0,"byteOffset":48,"byteLength":24}],
"accessors":[{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3",
"min":[0,0,0],"max":[8,6,4]},
{"bufferView":1,"componentType":5123,"count":12,"type":"SCALAR"}]})";
}

std::string gltf_buffer() {
  std::string bytes;
  for (const Point& p : corners) {
    for (const double c : p) put(bytes, static_cast<float>(c));
  }
  for (const auto& f : faces) {
    for (const std::size_t i : f) put(bytes, static_cast<std::uint16_t>(i));
  }
  return bytes;
}

std::string glb() {
  std::string json = gltf(R"([{"mesh":0}])", ""), buffer = gltf_buffer();
  json.resize((json.size() + 3) / 4 * 4, ' ');
  std::string bytes = "glTF";
  put(bytes, std::uint32_t{2});
  put(bytes, static_cast<std::uint32_t>(12 + 8 + json.size() + 8 + buffer.size()));
  put(bytes, static_cast<std::uint32_t>(json.size()));
  bytes += "JSON" + json;
  put(bytes, static_cast<std::uint32_t>(buffer.size()));
  return bytes + "BIN" + '\0' + buffer;
}

void chunk(std::string& bytes, std::uint16_t id, const std::string& body) {
  put(bytes, id);
  put(bytes, static_cast<std::uint32_t>(body.size() + 6));
  bytes += body;
}

std::string three_ds() {
  std::string points, triangles, mesh, object, editor, file;
  put(points, static_cast<std::uint16_t>(corners.size()));
  for (const Point& p : corners) {
    for (const double c : p) put(points, static_cast<float>(c));
  }
  put(triangles, static_cast<std::uint16_t>(faces.size()));
  for (const auto& f : faces) {
    for (const std::size_t i : f) put(triangles, static_cast<std::uint16_t>(i));
    put(triangles, std::uint16_t{0});
  }
  chunk(mesh, 0x4110, points);
  chunk(mesh, 0x4120, triangles);
  object = std::string("tetra") + '\0';
  chunk(object, 0x4100, mesh);
  chunk(editor, 0x4000, object);
  std::string main;
  chunk(main, 0x3d3d, editor);
  chunk(file, 0x4d4d, main);
  return file;
}

TEST(Mesh, EveryFormatGivesTheSameVoxels) {
  const Folder folder;
  folder.write("t.bin", gltf_buffer());
  std::vector<Triangle> triangles;
  for (const auto& f : faces) triangles.push_back({corners[f[0]], corners[f[1]], corners[f[2]]});
  const Voxels expected = sampled(triangles);
  ASSERT_GT(expected.size(), 50u);
  const std::vector<fs::path> files{
      folder.write("t.obj", obj()),
      folder.write("ascii.ply", ply(false)),
      folder.write("binary.ply", ply(true)),
      folder.write("ascii.stl", stl(false)),
      folder.write("binary.stl", stl(true)),
      folder.write("t.glb", glb()),
      folder.write("t.gltf", gltf(R"([{"mesh":0}])", R"(,"uri":"t.bin")")),
      folder.write("t.3ds", three_ds()),
      folder.write("LOUD.OBJ", obj())};
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    const Input input = oracle::read_input({file}, {.voxel_size = 1});
    ASSERT_EQ(input.batch.size(), 1u);
    EXPECT_EQ(input.batch.members[0], expected);
    EXPECT_EQ(input.batch.maps[0], Map{});
    EXPECT_EQ(input.batch.names[0], file.stem().string());
    EXPECT_NE(input.provenance[0].find("surface samples <= 1/4 voxel"), std::string::npos);
    ASSERT_EQ(input.notes.size(), 1u);
    EXPECT_NE(input.notes[0].find("only clips"), std::string::npos);
  }
  // All at once, in order.
  EXPECT_EQ(oracle::read_input(files, {.voxel_size = 1}).batch.size(), files.size());
}

TEST(Mesh, FitsTheResolutionWithItsMap) {
  const Folder folder;
  const auto file = folder.write("t.obj", "v 10 20 -5\nv 14 20 -5\nv 10 22 -5\nf 1 2 3\n");
  const Input input = oracle::read_input({file}, {.resolution = 65});
  const Map& map = input.batch.maps[0];
  EXPECT_EQ(map, (Map{{1. / 16, 1. / 16, 1. / 16}, {10, 20, -5}}));
  Voxel highest{};
  for (const Voxel& v : input.batch.members[0]) {
    EXPECT_TRUE(v.x >= 0 && v.y >= 0 && v.z == 0);
    // World coordinates lie on the triangle, half a voxel more or less [G-7].
    const double x = v.x * map.voxel_size[0] + map.origin[0] - 10;
    const double y = v.y * map.voxel_size[1] + map.origin[1] - 20;
    EXPECT_LE(x / 4 + y / 2, 1 + 1. / 16);
    highest = {std::max(highest.x, v.x), std::max(highest.y, v.y), 0};
  }
  EXPECT_EQ(highest, (Voxel{64, 32, 0}));
}

TEST(Mesh, NodeTransformsAreApplied) {
  const Folder folder;
  folder.write("t.bin", gltf_buffer());
  // Two instances: one below a scale and a translation, one turned by 90 degrees about z.
  const auto file = folder.write("t.gltf", gltf(R"([{"children":[1,2]},
{"scale":[2,2,2],"translation":[100,0,0],"children":[3]},
{"mesh":0,"rotation":[0,0,0.7071067811865476,0.7071067811865476]},
{"mesh":0,"translation":[0,0,-5]}])",
                                                R"(,"uri":"t.bin")"));
  std::vector<Triangle> triangles;
  for (const auto& f : faces) {
    Triangle scaled, turned;
    for (std::size_t i = 0; i < 3; ++i) {
      const Point& p = corners[f[i]];
      scaled[i] = {100 + 2 * p[0], 2 * p[1], 2 * (p[2] - 5)};
      turned[i] = {-p[1], p[0], p[2]};
    }
    triangles.push_back(scaled);
    triangles.push_back(turned);
  }
  const Voxels expected = sampled(triangles);
  const Voxels actual = oracle::read_input({file}, {.voxel_size = 1}).batch.members[0];
  // The quarter turn is inexact in floats: there a sample on a boundary may fall to the other side.
  const auto scaled_part = [](Voxels voxels) {
    std::erase_if(voxels, [](const Voxel& v) { return v.x < 50; });
    return voxels;
  };
  EXPECT_EQ(scaled_part(actual), scaled_part(expected));
  const auto [low, high] = std::minmax_element(
      actual.begin(), actual.end(), [](const Voxel& a, const Voxel& b) { return a.x < b.x; });
  EXPECT_EQ(low->x, -6);
  EXPECT_EQ(high->x, 116);
}

TEST(Mesh, DegenerateFacesAndLooseElementsCount) {
  const Folder folder;
  const auto file = folder.write("t.obj",
                                 "v 0 0 0\nv 5 0 0\nv 9 9 9\nv 20 0 0\nv 24 0 0\nv 22 0 0\n"
                                 "f 3 3 3\nf 4 5 6\n");
  const Voxels voxels = oracle::read_input({file}, {.voxel_size = 1}).batch.members[0];
  EXPECT_EQ(voxels,
            (Voxels{{9, 9, 9}, {20, 0, 0}, {21, 0, 0}, {22, 0, 0}, {23, 0, 0}, {24, 0, 0}}));
}

TEST(Mesh, PolygonsAreFilled) {
  const Folder folder;
  const auto file = folder.write("t.obj", "v 0 0 0\nv 4 0 0\nv 4 4 0\nv 0 4 0\nf 1 2 3 4\n");
  EXPECT_EQ(oracle::read_input({file}, {.voxel_size = 1}).batch.members[0].size(), 25u);
}

TEST(Mesh, Refusals) {
  const Folder folder;
  std::string nan_stl = stl(true);
  const float nan = std::nanf("");
  std::memcpy(nan_stl.data() + 84 + 12 + 12 + 4, &nan, 4);  // triangle 0, vertex 1, y
  expect_refused(folder.write("nan.stl", nan_stl), ErrorKind::InvalidArgument,
                 {"vertex", "mesh 0", "nan"});
  expect_refused(folder.write("inf.obj", "v 0 0 0\nv 1e39 0 0\nv 0 1 0\nf 1 2 3\n"),
                 ErrorKind::InvalidArgument, {"vertex 1", "mesh 0", "inf"});
  expect_refused(folder.write("index.obj", "v 0 0 0\nf 1 2 3\n"), ErrorKind::Corrupt, {});
  expect_refused(folder.write("text.glb", "this is no mesh at all"), ErrorKind::Corrupt, {});
  expect_refused(folder.write("text.3ds", "this is no mesh at all"), ErrorKind::Corrupt, {});
  expect_refused(folder.write("text.stl", "this is no mesh at all"), ErrorKind::Corrupt, {});
  expect_refused(folder.write("missing.gltf", gltf(R"([{"mesh":0}])", R"(,"uri":"none.bin")")),
                 ErrorKind::Corrupt, {});
  expect_refused(folder.write("t.obj", obj()), ErrorKind::CapacityExceeded, {"limit of 2000"},
                 {.voxel_size = 1e-4, .max_voxels = 2000});
  expect_refused(folder.write("u.obj", obj()), ErrorKind::OutOfRange, {"outside 32 bits"},
                 {.voxel_size = 1e-10});
}

TEST(Mesh, SeveralThreadsAtOnce) {
  const Folder folder;
  const auto file = folder.write("t.obj", obj());
  const Input alone = oracle::read_input({file}, {.resolution = 100});
  std::vector<Input> inputs(6);
  std::vector<std::thread> threads;
  for (Input& input : inputs) {
    threads.emplace_back([&] { input = oracle::read_input({file}, {.resolution = 100}); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Input& input : inputs) EXPECT_EQ(input.batch, alone.batch);
}

TEST(Scene, IsWhatItSays) {
  const Input scene = oracle::real_scene();
  if (scene.batch.size() == 0) {
    ASSERT_EQ(scene.notes.size(), 1u);
    GTEST_SKIP() << scene.notes[0];
  }
  for (const std::string& note : scene.notes) {
    if (note.find("left out") != std::string::npos) GTEST_SKIP() << note;
  }
  const auto& members = scene.batch.members;
  ASSERT_GE(members.size(), 16u);
  EXPECT_EQ(scene.provenance.size(), members.size());
  EXPECT_TRUE(members.front().empty());
  EXPECT_TRUE(members.back().empty());
  std::size_t voxels = 0, empty = 0, tiles = 0, negative = 0, largest = 0, smallest = 1u << 30;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Voxels& member = members[i];
    voxels += member.size();
    empty += member.empty();
    if (member.empty()) continue;
    largest = std::max(largest, member.size());
    smallest = std::min(smallest, member.size());
    for (std::size_t k = 1; k < member.size(); ++k) {
      ASSERT_TRUE(reference::canonical_less(member[k - 1], member[k])) << i;
    }
    std::set<std::array<int, 3>> roots;
    bool below = false;
    for (const Voxel& v : member) {
      const Voxel tile = reference::root_tile(v);
      roots.insert({tile.x, tile.y, tile.z});
      below |= v.x < 0 && v.y < 0 && v.z < 0;
      ASSERT_LT(std::max({std::abs(v.x), std::abs(v.y), std::abs(v.z)}), 1 << 20)
          << "room for every pass [L-5]";
    }
    tiles += roots.size() > 1;
    negative += below;
  }
  EXPECT_GE(empty, 3u);
  EXPECT_GE(tiles, 6u);
  EXPECT_GE(negative, 4u);
  EXPECT_GT(largest, 30 * smallest);
  EXPECT_GT(voxels, 1'500'000u);
  EXPECT_LT(voxels, 2'500'000u);
  EXPECT_EQ(oracle::real_scene().batch, scene.batch) << "not the same twice";
}

TEST(Scene, SaysWhatIsAbsent) {
  const Folder folder;
  ASSERT_EQ(::setenv("LEAFPROOF_MODELS", folder.path().c_str(), 1), 0);
  const Input none = oracle::real_scene();
  EXPECT_EQ(none.batch, oracle::Batch{});
  ASSERT_EQ(none.notes.size(), 1u);
  EXPECT_NE(none.notes[0].find("glmark2-data"), std::string::npos);
  folder.write("cube.3ds", three_ds());
  const Input some = oracle::real_scene();
  EXPECT_GT(some.batch.size(), 1u);
  std::size_t left_out = 0;
  for (const std::string& note : some.notes) left_out += note.find("left out") != std::string::npos;
  EXPECT_EQ(left_out, 5u);
  ::unsetenv("LEAFPROOF_MODELS");
}

#endif

}  // namespace
}  // namespace leafproof::tests
