// Files made by nobody: every format cut short, and with bytes flipped by the thousand. Whatever
// they hold, reading ends in a batch or in one Error that names the file.
// The seed of the flips is fixed; LEAFPROOF_SEED replaces it, and a failure prints what was
// flipped.
#include <cstdlib>
#include <functional>

#include "oracle/input/npy.h"
#include "oracle/input/voxel_lists.h"
#include "oracle/layout_view.h"
#include "reference/canonical_order.h"
#include "reference/layout.h"
#include "tests/input_files.h"
#include "tests/layout_samples.h"

namespace leafproof::tests {
namespace {

std::uint64_t seed() {
  const char* text = std::getenv("LEAFPROOF_SEED");
  return text == nullptr ? 20261129 : std::strtoull(text, nullptr, 0);
}

// A batch that is one, or an Error naming the file.
void expect_batch_or_error(const fs::path& file, const std::string& what) {
  const oracle::InputOptions options{.resolution = 16, .voxel_size = 0, .max_voxels = 1'000'000};
  try {
    const oracle::Input input = oracle::read_input({file}, options);
    ASSERT_EQ(input.batch.maps.size(), input.batch.size()) << what;
    ASSERT_EQ(input.batch.names.size(), input.batch.size()) << what;
    std::uint64_t voxels = 0;
    for (const auto& member : input.batch.members) {
      voxels += member.size();
      for (std::size_t i = 1; i < member.size(); ++i) {
        ASSERT_TRUE(reference::canonical_less(member[i - 1], member[i])) << what;
      }
    }
    ASSERT_LE(voxels, options.max_voxels) << what;
  } catch (const Error& error) {
    ASSERT_NE(std::string(error.what()).find(file.string()), std::string::npos) << error.what();
    ASSERT_FALSE(error.detail().reason.empty()) << what;
  } catch (const std::exception& error) {
    FAIL() << what << ": not an Error: " << error.what();
  }
}

struct Format {
  std::string name, bytes;
  std::size_t flips, cuts;  // files tried
};

void spoil(const Format& format) {
  const Folder folder;
  const std::string& whole = format.bytes;
  const auto file = folder / format.name;
  expect_batch_or_error(folder.write(format.name, whole), "whole");
  const std::size_t step = std::max<std::size_t>(1, whole.size() / format.cuts);
  for (std::size_t length = 0; length < whole.size(); length += step) {
    folder.write(format.name, whole.substr(0, length));
    expect_batch_or_error(file, "cut to " + std::to_string(length));
    if (::testing::Test::HasFatalFailure()) return;
  }
  std::mt19937_64 random(seed());
  for (std::size_t i = 0; i < format.flips; ++i) {
    std::string bytes = whole;
    std::string what = "seed " + std::to_string(seed()) + " flip " + std::to_string(i) + ":";
    // Mostly in the headers, where numbers decide what is read next; one to four bytes.
    for (std::uint64_t n = random() % 4; n < 4; ++n) {
      const std::size_t range =
          random() % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 1024);
      const std::size_t at = random() % range;
      static constexpr unsigned char favourites[] = {0x00, 0xff, 0x7f, 0x80, 0x01, 0x20};
      const auto value = static_cast<char>(random() % 2 == 0 ? random() : favourites[random() % 6]);
      what += " [" + std::to_string(at) + "]=" + std::to_string(static_cast<unsigned char>(value));
      bytes[at] = value;
    }
    folder.write(format.name, bytes);
    expect_batch_or_error(file, what);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

std::string saved(const std::string& name, const std::function<void(const fs::path&)>& save) {
  const Folder folder;
  save(folder / name);
  return bytes_of(folder / name);
}

reference::Batch small_batch() {
  return samples::of({{{0, 0, 0}, {-9, 4, 300}}, {}, {{7, 7, 7}}});
}

std::string npy_points() {
  std::string bytes = oracle::npy_header("<f8", std::vector<std::uint64_t>{4, 3});
  for (int i = 0; i < 12; ++i) put(bytes, i * 0.5);
  return bytes;
}

TEST(Hostile, Xyz) {
  spoil({"a.xyz", "# points\n0 1 2\n-3.5 1e3, 7\n\n+1 2 3 4 5\n", 1500, 40});
}
TEST(Hostile, Npy) {
  spoil({"a.npy", npy_points(), 2000, 250});
}
TEST(Hostile, PlyPoints) {
  std::string text =
      "ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty double "
      "y\n"
      "property int z\nproperty list uchar short more\nend_header\n";
  for (int i = 0; i < 3; ++i) {
    put(text, 1.5f);
    put(text, -2.5);
    put(text, i);
    text += '\2';
    put(text, 77);
  }
  spoil({"a.ply", text, 2000, 250});
}
TEST(Hostile, Npz) {
  spoil({"a.npz",
         saved("a.npz", [](const fs::path& file) { oracle::write_voxel_npz(file, small_batch()); }),
         2000, 400});
}
TEST(Hostile, Nvdb) {
  spoil({"a.nvdb",
         saved("a.nvdb",
               [](const fs::path& file) {
                 oracle::write_nvdb(file,
                                    oracle::write_layout(reference::layout_of(small_batch())));
               }),
         1500, 100});
}
TEST(Hostile, NvdbRaw) {
  const auto buffer = oracle::write_layout(reference::layout_of(small_batch()));
  spoil({"a.nvdb",
         {reinterpret_cast<const char*>(buffer.bytes.data()), buffer.bytes.size()},
         500,
         100});
}

#ifdef LEAFPROOF_HAS_ASSIMP
// Assimp runs in a child of its own: a crash there is one of the Errors.
const std::string obj =
    "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nf 1//1 2//1 3//1\nf 1 3 4 2\n";
TEST(Hostile, Obj) {
  spoil({"a.obj", obj, 300, 40});
}
TEST(Hostile, PlyMesh) {
  std::string text =
      "ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
      "property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n";
  for (const float c : {0.f, 0.f, 0.f, 1.f, 0.f, 0.f, 0.f, 1.f, 0.f}) put(text, c);
  text += '\3';
  for (int i = 0; i < 3; ++i) put(text, i);
  spoil({"a.ply", text, 300, 60});
}
TEST(Hostile, Stl) {
  std::string bytes(80, ' ');
  put(bytes, std::uint32_t{2});
  for (int i = 0; i < 24; ++i) put(bytes, static_cast<float>(i % 5));
  bytes.insert(84 + 48, 2, '\0');
  bytes.append(2, '\0');
  spoil({"a.stl", bytes, 300, 60});
}
TEST(Hostile, Gltf) {
  spoil({"a.gltf",
         R"({"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],
"nodes":[{"mesh":0,"translation":[1,2,3]}],
"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],
"buffers":[{"byteLength":36,"uri":"data:application/octet-stream;base64,)"
         R"(AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"}],
"bufferViews":[{"buffer":0,"byteOffset":0,"byteLength":36}],
"accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3",
"min":[0,0,0],"max":[1,1,0]}]})",
         300, 60});
}
TEST(Hostile, ThreeDs) {
  const char* named = "/usr/share/glmark2/models/cube.3ds";
  const std::string bytes = bytes_of(named);
  if (bytes.empty()) GTEST_SKIP() << "no " << named << " (glmark2-data)";
  spoil({"a.3ds", bytes, 300, 60});
}
#endif

}  // namespace
}  // namespace leafproof::tests
