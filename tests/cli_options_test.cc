// Options of the operations of the program: in every form that is taken, and beyond their limits,
// where the operation itself refuses and nothing is written.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "oracle/input/npz.h"
#include "tests/program.h"

namespace leafproof::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class CliOptions : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("leafproof_cli_options_" + std::to_string(getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    write("points.xyz", "0 0 0\n-1 -1 -1\n1 0 0\n5000 0 0\n");
    const Result r =
        run({"apply", "from_ijk", at("points.xyz"), "--voxel-size", "1", "-o", grid()});
    ASSERT_EQ(r.code, 0) << r.err;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string grid() const { return at("points.nvdb"); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  std::string read(const std::string& name) const {
    std::ifstream stream(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  /// Exit code 2, one line on stderr that says `what`, and no file.
  void refused(Strings arguments, const std::string& what) const {
    arguments.insert(arguments.end(), {"-o", at("none")});
    const Result r = run(arguments);
    EXPECT_EQ(r.code, 2) << r.out << r.err;
    EXPECT_EQ(r.out, "");
    EXPECT_NE(r.err.find(what), std::string::npos) << "says \"" << what << "\": " << r.err;
    EXPECT_FALSE(fs::exists(folder_ / "none"));
  }
  /// The box of what a mask keeps of the four voxels.
  template <class T>
  json kept(std::string_view type, const std::vector<T>& flags) const {
    write("mask.npy", oracle::npy_bytes(type, {flags.size()}, flags));
    const Result r =
        run({"apply", "prune", grid(), "--mask", at("mask.npy"), "-o", at("kept.nvdb")});
    EXPECT_EQ(r.code, 0) << r.err;
    return json::parse(run({"show", at("kept.nvdb"), "--json"}).out)["members"][0]["box"];
  }
  fs::path folder_;
};

TEST_F(CliOptions, AMaskIsOfAnyOfItsTypesAndOfOneAxis) {
  // Canonical order: (-1,-1,-1), (0,0,0), (1,0,0), (5000,0,0).
  const json middle = json::parse("[[0,0,0],[1,0,0]]");
  EXPECT_EQ(kept<std::uint8_t>("|b1", {0, 1, 1, 0}), middle);
  EXPECT_EQ(kept<std::uint8_t>("|u1", {0, 1, 1, 0}), middle);
  EXPECT_EQ(kept<std::int32_t>("<i4", {0, 1, 1, 0}), middle);
  EXPECT_EQ(kept<std::int64_t>("<i8", {0, 1, 1, 0}), middle);
  const Strings prune{"apply", "prune", grid(), "--mask", at("mask.npy")};
  write("mask.npy", oracle::npy_bytes("<f4", {4}, std::vector<float>{0, 1, 1, 0}));
  refused(prune, "a mask is a bool or integer array of one axis, this is float32 of shape (4");
  write("mask.npy", oracle::npy_bytes("|u1", {2, 2}, std::vector<std::uint8_t>{0, 1, 1, 0}));
  refused(prune, "this is uint8 of shape (2, 2)");
}

TEST_F(CliOptions, AMaskOfAViewHasAFlagForEachOfItsRows) {
  const std::vector<std::uint8_t> twice{1, 0, 0, 0, 0, 0, 0, 1};
  write("mask.npy", oracle::npy_bytes("|b1", {8}, twice));
  const Result r = run(
      {"apply", "prune", grid(), "--view", "0,0", "--mask", at("mask.npy"), "-o", at("kept.nvdb")});
  ASSERT_EQ(r.code, 0) << r.err;
  const json members = json::parse(run({"show", at("kept.nvdb"), "--json"}).out)["members"];
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0]["box"], json::parse("[[-1,-1,-1],[-1,-1,-1]]"));
  EXPECT_EQ(members[1]["box"], json::parse("[[5000,0,0],[5000,0,0]]"));
}

TEST_F(CliOptions, BeyondItsLimitsAnOperationRefuses) {
  const std::vector<std::pair<Strings, std::string>> all{
      {{"conv-grid", "-K", "129"}, "Unsupported: kernel = (129, 129, 129)"},
      {{"conv-grid", "-K", "3,3,0"}, "InvalidArgument: kernel = (3, 3, 0)"},
      {{"conv-grid", "-K", "3", "-D", "17"}, "Unsupported: dilation = (17, 17, 17)"},
      {{"conv-grid", "-K", "3", "-D", "0"}, "InvalidArgument: dilation = (0, 0, 0)"},
      {{"conv-grid", "-K", "3", "-S", "0"}, "InvalidArgument: stride = (0, 0, 0)"},
      {{"refine", "--factor", "2000"}, "Unsupported: factor = (2000, 2000, 2000)"},
      {{"refine", "--factor", "0"}, "InvalidArgument: factor"},
      {{"refine", "--factor", "2,"}, "--factor = 2,: must be 64-bit integers"},
      {{"refine", "--factor", "2,2x,2"}, "--factor = 2,2x,2: must be 64-bit integers"},
      {{"dilate-box", "--lo=-9999999999", "--hi=0"}, "Unsupported: lo = (-9999999999, "},
      {{"dilate-box", "--lo=0", "--hi=9999999999"}, "at most 1024 wide"},
      {{"dilate-box", "--lo=0", "--hi=1024"}, "at most 1024 wide"},
      {{"dilate-box", "--lo=1", "--hi=0"}, "lo must not be above hi"},
      {{"submanifold_index_map"}, "maps and numbers are those of `kernel-map` and `convolve`"},
  };
  for (const auto& [options, what] : all) {
    Strings words{"apply", options[0], grid()};
    words.insert(words.end(), options.begin() + 1, options.end());
    refused(words, what);
  }
}

TEST_F(CliOptions, PointsAreBuiltAsVoxelsAre) {
  const Result r =
      run({"apply", "from-points", at("points.xyz"), "--voxel-size", "1", "-o", at("again.nvdb")});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(read("again.nvdb") == read("points.nvdb"));
}

TEST_F(CliOptions, ATransposedMapGoesTheOtherWay) {
  const Strings map{"kernel-map", grid(), "-K", "2", "-S", "2", "-o", at("map.npz")};
  Strings transposed = map;
  transposed.emplace_back("--transposed");
  const Result finer = run(transposed), coarser = run(map);
  ASSERT_EQ(finer.code, 0) << finer.err;
  ASSERT_EQ(coarser.code, 0) << coarser.err;
  EXPECT_NE(finer.out.find("8 taps, 32 pairs"), std::string::npos) << finer.out;
  EXPECT_NE(finer.out.find("target rows: 32"), std::string::npos) << finer.out;
  EXPECT_NE(coarser.out.find("8 taps, 4 pairs"), std::string::npos) << coarser.out;
}

TEST_F(CliOptions, APictureIsAcrossTheAxisAsked) {
  const auto shown = [&](const std::string& axis) {
    return run({"show", grid(), "--axis", axis, "--ascii"}).out;
  };
  EXPECT_NE(shown("x").find("x = -1: 1 voxels; y -1 to -1 rightward, z -1"), std::string::npos)
      << shown("x");
  EXPECT_NE(shown("y").find("y = 0: 3 voxels; x 0 to 5000 rightward, z 0"), std::string::npos)
      << shown("y");
  EXPECT_NE(shown("z").find("z = 0: 3 voxels; x 0 to 5000 rightward, y 0"), std::string::npos)
      << shown("z");
}

TEST_F(CliOptions, AFileWithoutVoxelsHasNoPicture) {
  write("none.npy", oracle::npy_bytes("|b1", {4}, std::vector<std::uint8_t>(4)));
  const Result pruned =
      run({"apply", "prune", grid(), "--mask", at("none.npy"), "-o", at("empty.nvdb")});
  ASSERT_EQ(pruned.code, 0) << pruned.err;
  const Result r = run({"show", at("empty.nvdb"), "--ascii"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out.find("rightward"), std::string::npos) << r.out;
  EXPECT_EQ(r.out.find('#'), std::string::npos) << r.out;
}

}  // namespace
}  // namespace leafproof::tests
