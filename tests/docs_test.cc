// Every command that the documentation shows is run, page by page, in a folder that looks like a
// checkout: a ```sh block is a script whose last line must succeed, or end with the code that its
// line names (`# exit 1`). Commands stand in such blocks only; what is not run is listed here with
// the reason, and a reason without a command is a failure too.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

const fs::path kRoot = LEAFPROOF_SOURCE_DIR;

/// Commands by how they begin, and why they are not run here.
const std::map<std::string, std::string> kNotRun{
    {"./leafproof test", "this test is a part of it"},
    {"./leafproof lint", "takes longer than all tests"},
    {"./leafproof build", "builds; the gate does"},
    {"./leafproof gpu-check", "packs for another machine; tests/gpu_check tests its parts"},
    {"./leafproof bench", "measures for minutes; bench_test runs its parts"},
    {"./leafproof selftest", "faults_test runs it"},
    {"cmake --install build", "install_consumer.sh does all of this with a consumer"},
    {"cmake -S docs/example", "install_consumer.sh does"},
    {"cmake --build /tmp/example", "install_consumer.sh does"},
    {"cmake --build /tmp/abi_c", "install_abi.sh does"},
    {"/tmp/example/", "install_consumer.sh does"},
    {"./leafproof mutants", "builds the builder changed, and judges for hours"},
    {"pip install .", "oracle/python/tests/run.sh does, as python_wheel in ctest"},
    {"./leafproof fuzz", "builds with sanitizers, and fuzzes for minutes"},
    {"build-fuzz/bin/", "a program of ./leafproof fuzz"},
    {"fuzz/scripts/minimise.sh", "needs a finding"},
    {"fuzz/scripts/coverage.sh", "builds for half an hour"},
    {"fuzz/oss-fuzz/check.sh", "builds for half an hour"},
    {"./leafproof convert minkowski w.npy", "takes weights of the reader's own; cli_dialects_test"},
    {"./leafproof convert minkowski theirs.npy", "takes what the line above it made"},
    {"ctest --test-dir build-", "runs all tests, under sanitizers"},
    {"LEAFPROOF_PRESET=", "builds with another compiler or its sanitizers; the gate does"},
};
/// A command by itself, whole: the gate runs it.
const std::map<std::string, std::string> kNotRunWhole{
    {"./leafproof verify", "the gate runs the whole of it, for minutes"},
    {"RC_PARAMS='seed=7' build/bin/laws", "all laws; ctest runs them, and CI with a fresh seed"},
};

bool starts_command(const std::string& line) {
  static const std::regex command(
      R"(^\s*(\./)?leafproof( |$))"
      R"(|^\s*(build/bin/|LEAFPROOF_|RC_PARAMS|cmake |ctest |python3 |pip ).*)");
  return std::regex_search(line, command);
}

std::string trimmed(std::string line) {
  line.erase(0, line.find_first_not_of(' '));
  const auto comment = line.find("  #");
  if (comment != line.npos) line.erase(comment);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

struct Page {
  std::string path;  // from the root
  Strings scripts;   // its ```sh blocks
  Strings stray;     // commands outside of them
  bool operator<(const Page& other) const { return path < other.path; }
};

Page read_page(const fs::path& file) {
  Page page{.path = fs::relative(file, kRoot).string(), .scripts = {}, .stray = {}};
  std::ifstream in(file);
  std::string line, fence, script;
  while (std::getline(in, line)) {
    if (line.starts_with("```")) {
      if (fence == "```sh") page.scripts.push_back(std::exchange(script, {}));
      fence = fence.empty() ? line : std::string();
    } else if (fence == "```sh") {
      script += line + "\n";
    } else if ((!fence.empty() || line.starts_with("    ")) && starts_command(line)) {
      page.stray.push_back(line);
    }
  }
  return page;
}

std::vector<Page> pages() {
  std::vector<Page> found;
  const auto add = [&](const fs::path& file) {
    if (file.extension() == ".md") found.push_back(read_page(file));
  };
  for (const auto& entry : fs::directory_iterator(kRoot)) add(entry.path());
  for (const char* room :
       {"reference", "gpu", "oracle", "properties", "fuzz", "tests", "docs", "cmake"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / room)) add(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// The reason for which a line is not run; empty: it is.
std::string why_not(const std::string& line) {
  const std::string command = trimmed(line);
  if (const auto whole = kNotRunWhole.find(command); whole != kNotRunWhole.end())
    return whole->second;
  for (const auto& [begin, reason] : kNotRun)
    if (command.starts_with(begin)) return reason;
  return {};
}

/// A folder that looks like a checkout with its build, and has some files of the reader's own.
class Checkout {
 public:
  Checkout() {
    std::string pattern = (fs::temp_directory_path() / "leafproof-docs-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    for (const auto& entry : fs::directory_iterator(kRoot)) {
      const std::string name = entry.path().filename().string();
      if (name != "leafproof" && !name.starts_with("build") && name != ".git")
        fs::create_symlink(entry.path(), folder_ / name);
    }
    const fs::path bin = fs::path(LEAFPROOF_PROGRAM).parent_path();
    fs::create_symlink(bin.parent_path(), folder_ / "build");
    fs::create_symlink(LEAFPROOF_PROGRAM, folder_ / "leafproof");
    std::ofstream scan(folder_ / "scan.ply");
    scan << "ply\nformat ascii 1.0\nelement vertex 300\nproperty float x\nproperty float y\n"
            "property float z\nend_header\n";
    for (int i = 0; i < 300; ++i)
      scan << 0.01 * (i % 20) - 0.1 << " " << 0.013 * (i / 20) - 0.1 << " " << 0.001 * (i % 7)
           << "\n";
    scan.close();
    // What stands for a reader's own program refines by 2.
    std::ofstream theirs(folder_ / "your-program");
    theirs << "#!/bin/sh\nexec ./leafproof apply refine \"$1\" --factor 2 -o \"$2\"\n";
    theirs.close();
    fs::permissions(folder_ / "your-program", fs::perms::owner_all);
  }
  ~Checkout() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Checkout(const Checkout&) = delete;
  Checkout& operator=(const Checkout&) = delete;

  /// The exit code; what it printed goes to `output`.
  int run(const std::string& script, std::string& output) const {
    std::ofstream(folder_ / "script.sh") << script;
    const std::string command = "cd '" + folder_.string() + "' && PATH=\"$PWD:$PATH\" bash -eu " +
                                "-o pipefail script.sh >output.txt 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    std::ifstream in(folder_ / "output.txt");
    std::ostringstream text;
    text << in.rdbuf();
    output = text.str();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }

 private:
  fs::path folder_;
};

TEST(Docs, EveryCommandOfAPageRuns) {
  static const std::regex exit_code(R"(#.*\bexit (\d+)\b)");
  int ran = 0;
  for (const Page& page : pages()) {
    if (page.scripts.empty()) continue;
    const Checkout checkout;
    for (const std::string& script : page.scripts) {
      std::istringstream lines(script);
      std::string line, kept;
      int expected = 0;
      while (std::getline(lines, line)) {
        if (!why_not(line).empty()) continue;
        kept += line + "\n";
        std::smatch code;
        if (std::regex_search(line, code, exit_code)) expected = std::stoi(code[1]);
      }
      if (kept.find_first_not_of(" \n") == kept.npos) continue;
      std::string output;
      EXPECT_EQ(checkout.run(kept, output), expected) << page.path << " says\n"
                                                      << kept << "which prints\n"
                                                      << output;
      ++ran;
    }
  }
  EXPECT_GT(ran, 5) << "the pages were not found";
}

TEST(Docs, CommandsStandInBlocksThatAreRun) {
  for (const Page& page : pages())
    for (const std::string& line : page.stray)
      ADD_FAILURE() << page.path
                    << ": a command that nobody runs (put it into a ```sh block): " << line;
}

TEST(Docs, EveryReasonForNotRunningHasItsCommand) {
  std::string all;
  for (const Page& page : pages())
    for (const std::string& script : page.scripts) {
      std::istringstream lines(script);
      for (std::string line; std::getline(lines, line);) all += trimmed(line) + "\n";
    }
  for (const auto& reasons : {kNotRun, kNotRunWhole})
    for (const auto& [command, reason] : reasons)
      EXPECT_TRUE(all.starts_with(command) || all.find("\n" + command) != all.npos)
          << "no page shows \"" << command << "\" (" << reason << ")";
}

}  // namespace
