// The program behind `./leafproof bench`: that it runs, measures what it is asked for and rewrites
// a document between its marker lines alone. What the times are is nobody's business here.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;

class Bench : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(program)) GTEST_SKIP() << "no leafproof_bench in this build";
    folder = fs::temp_directory_path() / ("leafproof-bench-test-" + std::to_string(getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  /// Exit code; what is printed on stdout is left in `out`.
  int run(const std::string& arguments, const char* which = "") {
    const std::string command =
        fmt::format("'{}' {} --quick {} > '{}' 2> /dev/null", program.string(), which, arguments,
                    (folder / "out").string());
    const int status = std::system(command.c_str());
    out = text(folder / "out");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static std::string text(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::string file(const char* name, const std::string& content) const {
    std::ofstream(folder / name) << content;
    return (folder / name).string();
  }

  const fs::path program = fs::path(LEAFPROOF_PROGRAM).parent_path() / "leafproof_bench";
  fs::path folder;
  std::string out;
};

TEST_F(Bench, MeasuresEveryContestantOfAPass) {
  ASSERT_EQ(run("--json --filter small-tile/B1/from"), 0);
  const auto rows = nlohmann::json::parse(out).at("rows");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("workload"), "small-tile");
  EXPECT_EQ(rows[0].at("pass"), "from_ijk");
  EXPECT_EQ(rows[0].at("voxels_in"), 7370);
  for (const char* who :
       {"mask", "sort", "mask-reused", "zero-fresh", "zero-own", "zero-warm", "nanovdb"}) {
    EXPECT_GT(rows[0].at("ms").value(who, 0.0), 0) << who;
  }
#ifdef LEAFPROOF_HAS_OPENVDB
  EXPECT_GT(rows[0].at("ms").value("openvdb", 0.0), 0);
#endif
}

TEST_F(Bench, MeasuresAnyInput) {
  const std::string points = file("points.xyz", "0 0 0\n1 0 0\n-5 7 9\n");
  ASSERT_EQ(run("--json --filter coarsen --voxel-size 1 --input '" + points + "'"), 0);
  const auto rows = nlohmann::json::parse(out).at("rows");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("voxels_in"), 3);
  EXPECT_EQ(rows[0].at("leaves_out"), 2);
}

TEST_F(Bench, RewritesADocumentBetweenItsMarkersAlone) {
  const std::string begin = "<!-- bench: begin -->\n", end = "<!-- bench: end -->\n";
  const std::string document = file("a.md", "before\n" + begin + "old\n" + end + "after\n");
  ASSERT_EQ(run("--filter small-tile/B1/coarsen --update '" + document + "'"), 0);
  EXPECT_EQ(out, "");
  const std::string now = text(document);
  EXPECT_TRUE(now.starts_with("before\n" + begin)) << now;
  EXPECT_TRUE(now.ends_with(end + "after\n")) << now;
  EXPECT_EQ(now.find("old"), now.npos);
  EXPECT_NE(now.find("| 1   | coarsen 2 |"), now.npos) << now;

  const std::string unmarked = file("b.md", "no markers\n");
  EXPECT_EQ(run("--filter small-tile/B1/coarsen --update '" + unmarked + "'"), 2);
  EXPECT_EQ(text(unmarked), "no markers\n");
}

TEST_F(Bench, MeasuresConvolution) {
  ASSERT_EQ(run("--json --filter '(grid.*K4|map.*K2|plan|layer/solid)'", "conv"), 0);
  const auto all = nlohmann::json::parse(out);
  ASSERT_EQ(all.at("grids").size(), 1U);
  const auto& grid = all.at("grids")[0];
  EXPECT_EQ(grid.at("pass"), "K4 S2");
  EXPECT_EQ(grid.at("synchronisations"), 2);
  EXPECT_EQ(grid.at("keys"), 16 * 7370 * 8);
  for (const char* who :
       {"ours", "pooled", "keys-batch", "keys-members", "keys-vector", "zero-fresh", "zero-own"}) {
    EXPECT_GT(grid.at("ms").value(who, 0.0), 0) << who;
  }
  ASSERT_EQ(all.at("maps").size(), 1U);
  EXPECT_EQ(all.at("maps")[0].at("synchronisations"), 1);
  EXPECT_GT(all.at("maps")[0].at("ms").value("sorted-keys", 0.0), 0);
  // Two plans, the pyramid and an iteration; the identity.
  ASSERT_EQ(all.at("plans").size(), 5U);
  EXPECT_EQ(all.at("plans")[2].at("what"), "3 grids, 8 plans");
  EXPECT_EQ(all.at("plans")[2].at("synchronisations"), 3 * 2 + 7);
  EXPECT_EQ(all.at("plans")[4].at("launches"), 0);
  ASSERT_EQ(all.at("layers").size(), 1U);
  EXPECT_EQ(all.at("layers")[0].at("channels_out"), 32);
  for (const char* who : {"per-tap", "chunked", "dense"}) {
    EXPECT_GT(all.at("layers")[0].at("ms").value(who, 0.0), 0) << who;
  }
  // The same as a document, whose lines are of at most 100 columns.
  ASSERT_EQ(run("--filter '(grid.*K4|map.*K2|plan|layer/solid)'", "conv"), 0);
  for (const char* heading : {"### Conv grids\n", "### Conv grids beside zeros\n",
                              "### Kernel maps\n", "### Plans\n", "### SubMConv3d"}) {
    EXPECT_NE(out.find(heading), out.npos) << heading;
  }
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_EQ(run("--filter nothing-of-this-name", "conv"), 2);
  EXPECT_EQ(run("--threads 0", "conv"), 2);
}

TEST_F(Bench, RefusesWhatItCannotDo) {
  EXPECT_EQ(run("--filter nothing-of-this-name"), 2);
  EXPECT_EQ(run("--input /no/such/file.obj"), 2);
  EXPECT_EQ(run("--threads 0"), 2);
  EXPECT_EQ(run("--no-such-option"), 2);
}

}  // namespace
