// The shape of the house: which room may include and link which, what may lie at the top level, how
// long a reference file may be, that each folder says what it holds, and how text is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

const std::set<std::string> rooms{"reference", "gpu",   "oracle", "properties",
                                  "fuzz",      "tests", "docs",   "cmake"};

/// Whose headers a file may include, from its place. Independence is the point: what two sides
/// share they cannot check in each other.
std::set<std::string> may_include(const std::string& path) {
  const fs::path place(path);
  const std::string room = place.begin()->string();
  if (room == "reference" || room == "gpu") return {room};
  if (room == "oracle") {
    const std::string inner = std::next(place.begin())->string();
    if (inner == "backends" || inner == "python") return {"oracle", "reference", "gpu"};
    return {"oracle", "reference"};
  }
  if (room == "properties") return {"properties", "oracle", "reference"};
  if (room == "tests") return {"tests", "properties", "fuzz", "oracle", "reference", "gpu"};
  return {"fuzz", "tests", "oracle", "reference", "gpu"};
}

Strings lines_of(const std::string& text) {
  Strings lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A header of the standard library has neither a dot nor a slash in its name.
bool is_standard(const std::string& header) {
  return header.find_first_of("./") == header.npos;
}

/// What a source file includes that it may not.
Strings include_faults(const std::string& path, const std::string& text) {
  static const std::regex include(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  static const std::set<std::string> threads{
      "atomic", "barrier", "condition_variable", "execution",  "future",
      "latch",  "mutex",   "semaphore",          "stop_token", "thread"};
  const std::set<std::string> allowed = may_include(path);
  Strings faults;
  for (const std::string& line : lines_of(text)) {
    std::smatch match;
    if (!std::regex_search(line, match, include)) continue;
    const std::string header = match[2];
    const std::string room = fs::path(header).begin()->string();
    if (match[1] == "\"" && !rooms.contains(room)) {
      faults.push_back(path + ": \"" + header + "\" is not named from the root of the repository");
    } else if (rooms.contains(room) && header.find('/') != header.npos && !allowed.contains(room)) {
      faults.push_back(path + " may not include " + header);
    } else if (path.starts_with("reference/") && match[1] == "<") {
      // The types of convolution: float16 is Eigen's.
      const bool eigen = header == "Eigen/Core" && path == "reference/numbers.cc";
      if (!is_standard(header) && !eigen)
        faults.push_back(path + ": " + header + " is not standard");
      if (threads.contains(header)) faults.push_back(path + ": " + header + " is about threads");
    }
  }
  return faults;
}

/// What a CMakeLists.txt names as a target that its room may not link.
Strings link_faults(const std::string& path, const std::string& text) {
  const std::set<std::string> allowed = may_include(path);
  Strings faults;
  for (const std::string room : {"reference", "gpu", "oracle"}) {
    if (!allowed.contains(room) && text.find("leafproof_" + room) != text.npos) {
      faults.push_back(path + " may not name leafproof_" + room);
    }
  }
  return faults;
}

bool is_source(const std::string& path) {
  static const std::set<std::string> endings{".h", ".cc", ".cu", ".cuh"};
  return endings.contains(fs::path(path).extension().string());
}

/// Columns of a line: bytes that are not UTF-8 continuations.
std::ptrdiff_t columns(const std::string& line) {
  return std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

/// Long lines, and mentions of places outside the repository.
Strings text_faults(const std::string& path, const std::string& text) {
  static const std::regex outside(R"((^|[^\w.])/work\b|(^|[^\w])shared/(?!vectors))");
  static const std::regex beside(R"(\.\./shared/(vectors|toolchain/libnanovdb-dev\.deb))");
  const bool prose = path.ends_with(".md");
  Strings faults;
  std::size_t number = 0;
  bool fenced = false;
  for (const std::string& line : lines_of(text)) {
    const std::string at = path + ":" + std::to_string(++number);
    // clang-format wraps sources; a row of a Markdown table, what a program printed and a lone link
    // cannot be wrapped.
    if (line.starts_with("```")) fenced = !fenced;
    const bool wraps = !is_source(path) &&
                       !(prose && (fenced || line.starts_with("|") || line.find(' ') == line.npos));
    if (wraps && columns(line) > 100) faults.push_back(at + " is longer than 100 columns");
    if (std::regex_search(std::regex_replace(line, beside, ""), outside)) {
      faults.push_back(at + " names a place outside the repository");
    }
  }
  return faults;
}

bool is_text(const std::string& path) {
  static const std::set<std::string> endings{".md", ".txt", ".cmake", ".sh", ".py", ".yml", ".cff"};
  return is_source(path) || endings.contains(fs::path(path).extension().string());
}

/// Everything in the checkout but build folders, caches and other dot-folders: path -> content.
const std::map<std::string, std::string>& files() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> found;
    const fs::path root = LEAFPROOF_SOURCE_DIR;
    for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator();
         ++it) {
      const std::string path = it->path().lexically_relative(root).generic_string();
      const std::string name = it->path().filename().string();
      if (it->is_directory() && (name.starts_with(".") || path.starts_with("build"))) {
        it.disable_recursion_pending();
      } else if (it->is_regular_file()) {
        std::ifstream stream(it->path(), std::ios::binary);
        found[path] = {std::istreambuf_iterator<char>(stream), {}};
      }
    }
    return found;
  }();
  return all;
}

void report(const Strings& faults) {
  for (const std::string& fault : faults) ADD_FAILURE() << fault;
}

TEST(IncludeGraph, EveryRoomIncludesOnlyWhatItMay) {
  std::size_t seen = 0;
  for (const auto& [path, text] : files()) {
    if (!is_source(path)) continue;
    ++seen;
    report(include_faults(path, text));
  }
  EXPECT_GT(seen, 10U) << "no sources found under " << LEAFPROOF_SOURCE_DIR;
}

TEST(IncludeGraph, EveryIncludedFileOfOursExists) {
  static const std::regex include(R"re(^\s*#\s*include\s*"([^"]+)")re");
  for (const auto& [path, text] : files()) {
    if (!is_source(path)) continue;
    for (const std::string& line : lines_of(text)) {
      std::smatch match;
      if (std::regex_search(line, match, include)) {
        EXPECT_TRUE(files().contains(match[1])) << path << " includes " << match[1];
      }
    }
  }
}

TEST(IncludeGraph, EveryRoomLinksOnlyWhatItMay) {
  for (const auto& [path, text] : files()) {
    if (!path.ends_with("/CMakeLists.txt")) continue;
    report(link_faults(path, text));
  }
}

// The second reference shares no code with the first: nouns and errors, nothing that computes.
TEST(IncludeGraph, BruteForceSharesOnlyNouns) {
  const std::set<std::string> nouns{"reference/brute_force.h", "reference/error.h",
                                    "reference/lattice.h", "reference/layout.h",
                                    "reference/conv_structs.h"};
  static const std::regex include(R"re(^\s*#\s*include\s*"([^"]+)")re");
  for (const auto& [path, text] : files()) {
    if (!path.starts_with("reference/brute_force")) continue;
    for (const std::string& line : lines_of(text)) {
      std::smatch match;
      if (std::regex_search(line, match, include)) {
        EXPECT_TRUE(nouns.contains(match[1]) || match[1].str().starts_with("reference/brute_force"))
            << path << " includes " << match[1];
      }
    }
  }
}

TEST(House, TopLevelHoldsKnownRoomsOnly) {
  for (const auto& entry : fs::directory_iterator(LEAFPROOF_SOURCE_DIR)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with(".") || name.starts_with("build")) continue;
    EXPECT_TRUE(rooms.contains(name)) << name << " is not a room";
  }
}

TEST(House, ReferenceFilesAreShort) {
  for (const auto& [path, text] : files()) {
    if (path.starts_with("reference/") && is_source(path)) {
      EXPECT_LE(lines_of(text).size(), 150U) << path;
    }
  }
}

TEST(House, EveryFolderHasAReadmeOfAScreen) {
  std::set<std::string> folders(rooms.begin(), rooms.end());
  for (const auto& [path, text] : files()) {
    if (is_source(path)) folders.insert(fs::path(path).parent_path().generic_string());
  }
  for (const std::string& folder : folders) {
    const auto readme = files().find(folder + "/README.md");
    EXPECT_TRUE(readme != files().end()) << folder << " has no README.md";
    if (readme == files().end()) continue;
    EXPECT_LE(lines_of(readme->second).size(), 60U) << folder;
  }
}

TEST(House, TextWrapsAndNamesNoOtherPlace) {
  for (const auto& [path, text] : files()) {
    if (!is_text(path) || path == "tests/include_graph_test.cc") continue;  // it has the patterns
    report(text_faults(path, text));
  }
}

// The rules above catch what they are for.
TEST(Rules, CatchPlantedFaults) {
  EXPECT_EQ(
      include_faults("reference/a.cc", "#include <vector>\n#include \"reference/b.h\"\n").size(),
      0U);
  EXPECT_EQ(include_faults("reference/a.cc", "#include \"oracle/case.h\"").size(), 1U);
  EXPECT_EQ(include_faults("reference/a.cc", "#include <nanovdb/NanoVDB.h>").size(), 1U);
  EXPECT_EQ(include_faults("reference/a.cc", "#include <Eigen/Core>").size(), 1U);
  EXPECT_EQ(include_faults("reference/a.cc", "#include <thread>").size(), 1U);
  EXPECT_EQ(include_faults("gpu/a.cu", "  # include <reference/lattice.h>").size(), 1U);
  EXPECT_EQ(include_faults("oracle/compare.cc", "#include \"gpu/grid_batch.h\"").size(), 1U);
  EXPECT_EQ(include_faults("oracle/backends/host.cc", "#include \"gpu/grid_batch.h\"").size(), 0U);
  EXPECT_EQ(include_faults("oracle/a.cc", "#include \"case.h\"").size(), 1U);
  EXPECT_EQ(
      link_faults("gpu/CMakeLists.txt", "target_link_libraries(x leafproof_reference)").size(), 1U);
  EXPECT_EQ(link_faults("oracle/CMakeLists.txt", "leafproof_reference").size(), 0U);
  EXPECT_EQ(text_faults("docs/a.md", std::string(101, 'a') + " b").size(), 1U);
  EXPECT_EQ(text_faults("docs/a.md", "reads ../shared/vectors when there").size(), 0U);
  const std::string elsewhere = "see shar" + std::string("ed/spec.md");
  EXPECT_EQ(text_faults("docs/a.md", elsewhere).size(), 1U);
  EXPECT_EQ(text_faults("docs/a.md", "in /wor" + std::string("k/main")).size(), 1U);
}

}  // namespace
