// `explain`, `convert`, and the vectors of the dialects, end to end.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "oracle/dialects/dialect.h"
#include "oracle/input/npy.h"
#include "oracle/input/npz.h"
#include "tests/program.h"

namespace leafproof::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class CliDialects : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("leafproof_cli_dialects_" + std::to_string(getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string read(const std::string& name) const {
    std::ifstream stream(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  template <class T>
  std::string array(const std::string& name, std::string_view type,
                    const std::vector<std::uint64_t>& shape, const std::vector<T>& values) const {
    write(name, oracle::npy_bytes(type, shape, values));
    return at(name);
  }
  /// What an array of a .npy holds behind its header.
  template <class T>
  std::vector<T> values(const std::string& name) const {
    const std::string bytes = read(name);
    const std::size_t begin = bytes.find('\n') + 1;
    std::vector<T> read_values((bytes.size() - begin) / sizeof(T));
    std::memcpy(read_values.data(), bytes.data() + begin, read_values.size() * sizeof(T));
    return read_values;
  }
  static void fine(const Strings& words) {
    const Result r = run(words);
    EXPECT_EQ(r.code, 0) << r.out << r.err;
  }
  static void refused(const Strings& words, const std::string& what) {
    const Result r = run(words);
    EXPECT_EQ(r.code, 2) << r.out << r.err;
    EXPECT_NE(r.err.find(what), std::string::npos) << "says \"" << what << "\": " << r.err;
  }
  fs::path folder_;
};

using Int32s = std::vector<std::int32_t>;

TEST_F(CliDialects, ExplainSaysWhereTapsLook) {
  const Result spconv = run({"explain", "spconv", "-K", "3", "-S", "2"});
  ASSERT_EQ(spconv.code, 0) << spconv.err;
  const auto says = [](const Result& r, const std::string& text) {
    EXPECT_NE(r.out.find(text), std::string::npos) << text << "\nis not in\n" << r.out;
  };
  says(spconv, "[batch, z, y, x]");
  says(spconv, "is the row [1, 3, 2, 1]");
  says(spconv, "[Cout, 3, 3, 3, Cin]; ours are [Cout, Cin, 3, 3, 3]");
  says(spconv, "padding = (1,1,1)");
  says(spconv, "       1  (1,0,0)     (0,-1,-1)        9  (1,0,0)     (0,-1,-1)\n");
  says(spconv, "looks where ours looks [K-1]: yes. They are numbered as ours [K-2]: no.");
  says(spconv, "theirs  0 1 2\n  ours    0 1 2 3\n");  // the crop

  const Result minkowski = run({"explain", "minkowski", "-K", "4,1,1", "--tensor-stride", "2"});
  ASSERT_EQ(minkowski.code, 0) << minkowski.err;
  says(minkowski, "row [1, 2, 4, 6]");
  says(minkowski, "       0  (0,0,0)     (0,0,0)          0  (0,0,0)     (-1,0,0)  elsewhere\n");
  says(minkowski, "[K-1]: no");
  says(minkowski, "[  0]   1    2    3");
  const Result fvdb = run({"explain", "fvdb", "-K", "2", "-S", "2", "--transposed"});
  says(fvdb, "[K-1]: yes. They are numbered as ours [K-2]: yes.");
  says(fvdb, "theirs  0 1 2 3\n  ours    0 1 2 3\n");
}

TEST_F(CliDialects, ExplainEveryDialectAndKind) {
  for (const auto& name : oracle::dialects::dialect_names())
    for (const auto kind : oracle::dialects::dialect(name).kinds()) {
      const std::string word(oracle::dialects::to_string(kind));
      Strings words{"explain", name, "-K", "3"};
      if (word != "forward") words.push_back("--" + word);
      const Result r = run(words);
      EXPECT_EQ(r.code, 0) << name << " " << word << r.err;
      EXPECT_EQ(r.err, "");
      std::istringstream lines(r.out);
      for (std::string text; std::getline(lines, text);) EXPECT_LE(text.size(), 120u) << text;
    }
  const Result wide = run({"explain", "dense", "-K", "16"});
  EXPECT_NE(wide.out.find("and 4032 more (--all)"), std::string::npos) << wide.out;
  EXPECT_NE(wide.out.find("too wide"), std::string::npos);
  const Result none = run({"explain", "dense", "-K", "16", "--padding", "0"});
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_NE(none.out.find("box would be empty"), std::string::npos) << none.out;
}

TEST_F(CliDialects, MistakesAreOneSentence) {
  refused({"explain", "caffe"}, "mlx-lattice");
  refused({"explain", "fvdb", "-K", "0"}, "kernel_size");
  refused({"explain", "fvdb", "-K", "3x"}, "3x");
  refused({"explain", "fvdb", "-D", "2"}, "dilation");
  refused({"explain", "lato", "-K", "2"}, "odd");
  refused({"explain", "torchsparse", "--transposed"}, "forward, inverse, submanifold");
  refused({"explain", "spconv", "--transposed", "--inverse"}, "excludes");
  refused({"convert", "spconv", at("none.npy"), "-o", at("x.npy")}, "none.npy");
  const std::string rows = array<std::int32_t>("rows.npy", "<i4", {1, 4}, {0, 0, 0, 0});
  refused({"convert", "spconv", rows, "-o", at("x.npy"), "--order", at("o.npy")}, "--order");
  refused({"convert", "spconv", rows, "--to-ours", "-o", at("no/x.npz")}, "no/x.npz");
  refused({"convert", "spconv", rows, "--weights", "--shift", "1", "-o", at("x.npy")}, "--shift");
  refused({"convert", "minkowski", rows, "--weights", "--form", "1", "-o", at("x.npy")}, "form");
  refused({"convert", "lato", rows, "--to-ours", "--shift", "99999999999,0,0", "-o", at("x.npz")},
          "--shift");
  EXPECT_FALSE(fs::exists(at("x.npy")));
}

TEST_F(CliDialects, VoxelsGoThereAndComeBack) {
  const std::string ours =
      array<std::int32_t>("ours.npy", "<i4", {3, 3}, {1, 2, 3, -1, 0, 0, 1, 0, 0});
  // Canonical order: (-1,0,0), (1,0,0), (1,2,3).
  fine({"convert", "lato", ours, "-o", at("lato.npy")});
  EXPECT_EQ(values<std::int32_t>("lato.npy"), (Int32s{0, 0, 0, -1, 0, 0, 0, 1, 0, 3, 2, 1}));
  fine({"convert", "minkowski", ours, "--tensor-stride", "4", "-o", at("minkowski.npy")});
  EXPECT_EQ(values<std::int32_t>("minkowski.npy"), (Int32s{0, -4, 0, 0, 0, 4, 0, 0, 0, 4, 8, 12}));
  fine({"convert", "minkowski", ours, "--tensor-stride", "4", "-S", "2", "--coarse", "-o",
        at("coarse.npy")});
  EXPECT_EQ(values<std::int32_t>("coarse.npy")[1], -8);
  refused({"convert", "spconv", ours, "-o", at("x.npy")}, "lowest are (-1,0,0)");
  fine({"convert", "spconv", ours, "--shift", "8,8,8", "-o", at("spconv.npy")});
  EXPECT_EQ(values<std::int32_t>("spconv.npy"), (Int32s{0, 8, 8, 7, 0, 8, 8, 9, 0, 11, 10, 9}));

  // Back, from rows in another order.
  const std::string theirs =
      array<std::int64_t>("theirs.npy", "<i8", {3, 4}, {1, 11, 10, 9, 0, 8, 8, 9, 0, 8, 8, 7});
  fine({"convert", "spconv", theirs, "--to-ours", "--shift", "8,8,8", "--order", at("order.npy"),
        "-o", at("back.npz"), "--members", "4"});
  EXPECT_EQ(values<std::int64_t>("order.npy"), (std::vector<std::int64_t>{2, 1, 0}));
  const Result shown = run({"show", at("back.npz"), "--json"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  const json members = json::parse(shown.out)["members"];
  ASSERT_EQ(members.size(), 4u);
  EXPECT_EQ(members[0]["voxels"], 2);
  EXPECT_EQ(members[0]["box"], json::parse("[[-1,0,0],[1,0,0]]"));
  EXPECT_EQ(members[1]["box"], json::parse("[[1,2,3],[1,2,3]]"));
  EXPECT_EQ(members[3]["voxels"], 0);
}

TEST_F(CliDialects, RowsFromOutsideAreNotTrusted) {
  const auto to_ours = [&](const std::string& file, const std::string& says) {
    refused({"convert", "minkowski", file, "--to-ours", "--tensor-stride", "2", "-o", at("x.npz")},
            says);
  };
  to_ours(array<std::int32_t>("a.npy", "<i4", {2, 3}, {0, 0, 0, 0, 0, 0}), "(N, 4)");
  to_ours(array<float>("b.npy", "<f4", {1, 4}, {0, 0, 0, 0}), "float32");
  to_ours(array<std::int32_t>("c.npy", "<i4", {1, 4}, {0, 1, 0, 0}), "multiples");
  to_ours(array<std::int32_t>("d.npy", "<i4", {2, 4}, {0, 2, 0, 0, 0, 2, 0, 0}), "row 0 already");
  to_ours(array<std::int32_t>("e.npy", "<i4", {1, 4}, {-1, 0, 0, 0}), "batch");
  to_ours(array<std::int32_t>("f.npy", "<i4", {1, 4}, {2147483647, 0, 0, 0}), "members");
  to_ours(array<std::int64_t>("g.npy", "<i8", {1, 4}, {INT64_MAX, 0, 0, 0}), "batch");
  to_ours(array<std::int64_t>("h.npy", "<i8", {1, 4}, {0, INT64_MIN, 0, 0}), "32 bits");
  EXPECT_FALSE(fs::exists(at("x.npz")));
}

TEST_F(CliDialects, WeightsGoThereAndComeBack) {
  // [Cout=2][Cin=1][Kx=1][Ky=1][Kz=3]
  const std::string ours = array<float>("w.npy", "<f4", {2, 1, 1, 1, 3}, {1, 2, 3, 4, 5, 6});
  const Strings layer{"--weights", "-K", "1,1,3", "-S", "2"};
  const auto convert = [&](const std::string& dialect, const std::string& from,
                           const std::string& to, Strings more = {}) {
    Strings words{"convert", dialect, from, "-o", at(to)};
    words.insert(words.end(), layer.begin(), layer.end());
    words.insert(words.end(), more.begin(), more.end());
    fine(words);
  };
  convert("minkowski", ours, "minkowski.npy");
  EXPECT_EQ(values<float>("minkowski.npy"), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  convert("spconv", ours, "spconv.npy");
  EXPECT_EQ(values<float>("spconv.npy"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  convert("minkowski", at("minkowski.npy"), "back.npy", {"--to-ours"});
  EXPECT_EQ(read("back.npy"), read("w.npy"));  // float32 again
  convert("mlx-lattice", ours, "flat.npy", {"--form", "1"});
  EXPECT_EQ(values<float>("flat.npy"), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  convert("mlx-lattice", at("flat.npy"), "back.npy", {"--to-ours"});
  EXPECT_EQ(read("back.npy"), read("w.npy"));
  refused({"convert", "minkowski", ours, "-o", at("x.npy"), "--weights", "-K", "3"}, "Cout");
}

TEST_F(CliDialects, GeneratedVectorsAreTheCommittedOnes) {
  fine({"vectors", "generate", at("made")});
  const fs::path vectors = fs::path(LEAFPROOF_SOURCE_DIR) / "oracle/vectors";
  std::size_t files = 0;
  for (const std::string room : {"dialects", "named"})
    for (const fs::path& root : {vectors, fs::path(at("made"))})
      for (const auto& entry : fs::directory_iterator(root / room)) {
        if (entry.path().extension() != ".json") continue;
        const std::string name = room + "/" + entry.path().filename().string();
        ASSERT_TRUE(fs::exists(at("made/" + name))) << name << " is not generated";
        std::ifstream committed(vectors / name, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(committed), {}};
        EXPECT_TRUE(read("made/" + name) == text)
            << name << " differs: leafproof vectors generate oracle/vectors";
        ++files;
      }
  EXPECT_GT(files, 60u);
}

TEST_F(CliDialects, VectorsAreRunByTheirDialects) {
  const std::string vectors = std::string(LEAFPROOF_SOURCE_DIR) + "/oracle/vectors";
  const Result all = run({"vectors", vectors + "/dialects", "--json"});
  ASSERT_EQ(all.code, 0) << all.out << all.err;
  const json results = json::parse(all.out)["results"];
  EXPECT_EQ(results.size(), oracle::dialects::dialect_names().size());
  for (const json& file : results) EXPECT_GT(file["passed"], 10) << file;
  const Result named = run({"vectors", vectors + "/named", "--backend", "reference"});
  EXPECT_EQ(named.code, 0) << named.out << named.err;

  std::ifstream stream(vectors + "/dialects/lato.json");
  json document = json::parse(stream);
  document["groups"][0]["cases"][1]["expected"]["pairs"][13].erase(0);
  write("wrong.json", document.dump());
  const Result failed = run({"vectors", at("wrong.json")});
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.out.find("1 failed"), std::string::npos) << failed.out;
  EXPECT_NE(failed.out.find("tap 13, pair 0"), std::string::npos) << failed.out;
}

TEST_F(CliDialects, LintFindsWhatIsPlanted) {
  const fs::path vectors = fs::path(LEAFPROOF_SOURCE_DIR) / "oracle/vectors";
  const Result clean = run({"vectors", vectors.string(), "--lint", "--since", vectors.string()});
  EXPECT_EQ(clean.code, 0) << clean.out << clean.err;
  EXPECT_NE(clean.out.find("0 findings"), std::string::npos) << clean.out;

  std::ifstream stream(vectors / "dialects/lato.json");
  const json good = json::parse(stream);
  write("before/dialects/lato.json", good.dump());
  const auto finds = [&](const json& bad, const std::string& says) {
    write("after/dialects/lato.json", bad.dump());
    const Result r = run({"vectors", at("after"), "--lint", "--since", at("before")});
    EXPECT_EQ(r.code, 1) << says << r.out;
    EXPECT_NE(r.out.find("dialects/lato.json: "), std::string::npos) << r.out;
    EXPECT_NE(r.out.find(says), std::string::npos) << says << "\nis not in " << r.out;
  };
  const auto changed = [&](const std::string& pointer, const json& value) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    return bad;
  };
  const std::string one = "/groups/0/cases/1";
  finds(changed("/extra", 1), "unknown key 'extra'");
  finds(changed(one + "/extra", 1), "unknown key 'extra'");
  finds(changed(one + "/comment", ""), "comment");
  finds(changed(one + "/comment", " "), "says nothing");
  finds(changed(one + "/id", 0), "used twice");
  finds(changed("/groups/0/cases/0/id", 7), "more than the id before");
  finds(changed("/columns/1", "x"), "must be 'z'");
  finds(changed("/dialect", "caffe"), "mlx-lattice");
  finds(changed("/groups/0/params/kind", "sideways"), "submanifold");
  finds(changed("/groups/0/params/colour", 1), "colour");
  finds(changed(one + "/source/0", {0, 0, 0}), "4 elements");
  finds(changed(one + "/source/0/0", 1), "integer in 0 ... 0");
  finds(changed(one + "/expected/pairs/0", {{0, 9}}), "pairs");
  finds(changed(one + "/result", "maybe"), "valid");
  json gone = good;
  gone["groups"][0]["cases"].erase(1);
  finds(gone, "is gone");
  finds(changed(one + "/comment", "another"), "is not what it was");
  json twice = good;
  twice["groups"].push_back(good["groups"][0]);
  finds(twice, "used twice");
  write("named/after/named/ts-1.json", changed("/report", "ts#2").dump());
  const Result named = run({"vectors", at("named/after"), "--lint"});
  EXPECT_NE(named.out.find("otherwise than its report"), std::string::npos) << named.out;
  refused({"vectors", at("nothing"), "--lint"}, "nothing");
  refused({"vectors"}, "DIR");
  refused({"vectors", vectors.string(), "--since", at("before")}, "--lint");
}

TEST_F(CliDialects, ExportWritesAReleaseThatLints) {
  const std::string vectors = std::string(LEAFPROOF_SOURCE_DIR) + "/oracle/vectors";
  fine({"vectors", "export", at("release"), "--from", vectors});
  const json manifest = json::parse(read("release/manifest.json"));
  EXPECT_EQ(manifest["format"], "leafproof-vectors-release");
  EXPECT_EQ(manifest["semantics_version"], 1);
  std::size_t cases = 0;
  for (const json& file : manifest["files"]) {
    const std::string name = file["file"];
    EXPECT_EQ(read("release/" + name).size(), file["bytes"]) << name;
    cases += file["cases"].get<std::size_t>();
  }
  EXPECT_EQ(manifest["cases"], cases);
  EXPECT_GT(cases, 2500u);
  EXPECT_TRUE(fs::exists(at("release/schemas/leafproof-vectors.schema.json")));
  fine({"vectors", at("release"), "--lint", "--since", vectors});
  refused({"vectors", "export", at("release"), "--from", vectors}, "empty");
}

TEST_F(CliDialects, ExportAndGenerateWriteOnlyToFolders) {
  const std::string vectors = std::string(LEAFPROOF_SOURCE_DIR) + "/oracle/vectors";
  write("broken/named/maps.json", "{");
  const Result lint = run({"vectors", at("broken"), "--lint"});
  EXPECT_EQ(lint.code, 1);
  EXPECT_NE(lint.out.find("named/maps.json: "), std::string::npos) << lint.out;
  EXPECT_NE(lint.out.find("must be JSON; byte 2 is not"), std::string::npos) << lint.out;
  EXPECT_NE(lint.out.find("1 file, 0 cases, 1 finding\n"), std::string::npos) << lint.out;
  // What does not lint is not released.
  const Result release = run({"vectors", "export", at("release"), "--from", at("broken")});
  EXPECT_EQ(release.code, 1);
  EXPECT_EQ(release.out, "");
  EXPECT_NE(release.err.find("must be JSON; byte 2 is not"), std::string::npos) << release.err;
  EXPECT_FALSE(fs::exists(at("release")));
  refused({"vectors", at("broken/named/maps.json"), "--lint"}, "must be a folder");
  refused({"vectors", "export", at("release"), "--from", at("nothing")}, "must be a folder");

  write("file", "kept");
  for (const char* target : {"file", "file/below"}) {
    refused({"vectors", "generate", at(target)}, "is no folder to write to");
    refused({"vectors", "export", at(target), "--from", vectors}, "is no folder to write to");
  }
  EXPECT_EQ(read("file"), "kept");
  refused({"vectors", "generate"}, "DIR");
  refused({"vectors", "export", "--from", vectors}, "DIR");
}

}  // namespace
}  // namespace leafproof::tests
