// `leafproof gen | yours | leafproof ver`, end to end: good answers pass, and lines that are lost,
// doubled, exchanged, cut short or malformed are named, with their case. The examples of backends
// in docs/example answer what they say they answer.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Result {
  int code = -1;
  std::string out;
};

class Pipe : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "leafproof-pipe-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Runs a shell line in the test's folder: $L is the program, $E the folder of examples.
  Result sh(const std::string& line) const {
    const std::string command = "cd '" + folder_.string() + "'; L='" LEAFPROOF_PROGRAM "'; E='" +
                                std::string(LEAFPROOF_SOURCE_DIR) + "/docs/example'; " + line +
                                " 2>&1";
    Result result;
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return result;
    char bytes[4096];
    for (std::size_t got; (got = std::fread(bytes, 1, sizeof bytes, pipe)) > 0;)
      result.out.append(bytes, got);
    const int status = pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
  }
  /// Six answers of the reference to six cases, as lines; changed, and judged.
  Result judged(const std::string& change) const {
    return sh("$L gen --ops dual --count 6 >cases; $L serve reference <cases >answers; " + change +
              " <answers | $L ver --ops dual --count 6");
  }

  fs::path folder_;
};

TEST_F(Pipe, GoodAnswersPass) {
  const Result all = sh("$L gen --level 1 | $L serve reference | $L ver --level 1");
  EXPECT_EQ(all.code, 0) << all.out;
  EXPECT_NE(all.out.find(" 0 failed, 0 not implemented"), all.out.npos) << all.out;
  // Cases that were echoed, and cases of a file.
  const Result echoed = judged("cat cases -");
  EXPECT_EQ(echoed.out.find("line "), echoed.out.npos) << echoed.out;
  const Result listed = sh(
      "$L gen --ops merge --count 5 --seed 3 >cases; $L serve host <cases | $L ver --cases cases");
  EXPECT_EQ(listed.code, 0) << listed.out;
  EXPECT_NE(listed.out.find("5 passed, 0 failed"), listed.out.npos) << listed.out;
}

TEST_F(Pipe, WhatIsWrongWithTheLinesIsNamed) {
  const struct {
    const char *change, *says;
  } all[] = {
      {"head -n 4", "no answer: the lines end after line 4"},
      {"sed 3d", "no answer in its place: line 3 is of case 3"},
      {"sed 3p", "line 4: case 2 again, or out of its place: it is after case 2"},
      {"sed '3{h;d};4G'", "line 4: case 2 again, or out of its place: it is after case 3"},
      {"head -c -3", "no answer: line 6, the last, is cut short"},
      {"sed '3s/voxels=/voxels=[/'", "a malformed answer"},
      {"sed '3s/^2 //'", "line 3: does not begin with the number of a case"},
      {"sed '3s/^2/77/'", "line 3: case 77 was not asked"},
      {"sed '2s/^/\\n/'", "line 2: does not begin with the number of a case"},
      {"{ cat; echo 9 more; }", "line 7: case 9 was not asked"},
      {"{ sed '4s/factor=/f=/;4s/source=/source=[1,2,3]/' cases; cat; }",
       "the case that came back is not the one that was asked"},
  };
  for (const auto& [change, says] : all) {
    const Result result = judged(change);
    EXPECT_EQ(result.code, 1) << change << "\n" << result.out;
    EXPECT_NE(result.out.find(says), result.out.npos) << change << "\n" << result.out;
  }
  EXPECT_EQ(sh("echo '0 case1 dual sauce=-' >cases; $L ver --cases cases </dev/null").code, 2);
  EXPECT_EQ(sh("echo 'nonsense' | $L serve reference").code, 2);
}

TEST_F(Pipe, CasesAndSkipsThatAreNoneAreNamedByTheirLine) {
  const auto refused = [&](const std::string& line, const std::string& says) {
    const Result result = sh(line);
    EXPECT_EQ(result.code, 2) << line << "\n" << result.out;
    EXPECT_NE(result.out.find(says), result.out.npos) << line << "\n" << result.out;
  };
  const std::string good = "0 case1 dual source=[0,0,0]\\n";
  const auto cases = [&](const std::string& text, const std::string& says) {
    refused("printf '" + text + "' >cases; $L ver --cases cases </dev/null", says);
  };
  cases("", "cases: is empty");
  cases("\\n", "cases, line 1: must be the number of a case, and a case");
  cases(good + "x case1 dual source=-\\n", "cases, line 2 = x case1 dual source=-: must be the");
  cases(good + "1 case1 melt source=-\\n", "cases, line 2 = melt: op: must be an operation");
  cases(good + "1 case1 prune source=-\\n" + good, "cases, line 3 = 0 case1 dual source=: has the");
  refused("printf '" + good +
              "' >cases; printf 'dual no\\nmelt no\\n' >skips; "
              "$L ver --cases cases --skips skips </dev/null",
          "skips, line 2 = melt: must be an operation");
  const auto served = [&](const std::string& text, const std::string& says) {
    refused("printf '" + text + "' | $L serve reference", says);
  };
  served("\\n", "a line does not begin with the number of its case: ");
  served("99999999999999999999 case1 dual source=-\\n", "the number of its case: 999999");
  served("1\\n", "version: must begin with case1");
  served("1 case1 melt source=-\\n", "op = melt: must be an operation");
  // What was asked before is answered, to whoever still listens.
  const Result first = sh("{ printf '" + good + "nonsense\\n' | $L serve reference; }");
  EXPECT_EQ(first.code, 2);
  EXPECT_NE(first.out.find("0 answer1 grid voxels=[0,0,0;0,0,1;"), first.out.npos) << first.out;
  EXPECT_EQ(sh("printf '" + good + "' | $L serve reference >/dev/full").code, 2);
  const Result none = sh("$L serve nobody --usable");
  EXPECT_EQ(none.code, 0);
  EXPECT_TRUE(none.out.starts_with("unusable=must%20be%20one%20of%20reference")) << none.out;
  const Result one = sh("$L serve reference --usable");
  EXPECT_EQ(one.code, 0);
  EXPECT_TRUE(one.out.starts_with("description=")) << one.out;
}

TEST_F(Pipe, AnotherAnswerFailsWithAWayToHaveItAgain) {
  const Result wrong = judged("sed 's/order=own//;s/voxels=\\[[^;]*;/voxels=[/'");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.out.find("a missing voxel"), wrong.out.npos) << wrong.out;
  EXPECT_NE(wrong.out.find("| YOURS | leafproof ver --ops dual --seed 20261129 --case"),
            wrong.out.npos)
      << wrong.out;
}

TEST_F(Pipe, TheExampleInPlainPythonIsRight) {
  const Result plain =
      sh("$L gen --level 1 >cases; python3 $E/pipe_plain.py <cases | $L ver --level 1 --skips "
         "$E/pipe_plain.skips");
  EXPECT_EQ(plain.code, 0) << plain.out;
  const Result without = sh("python3 $E/pipe_plain.py <cases | $L ver --level 1");
  EXPECT_NE(without.code, 0);
}

TEST_F(Pipe, TheExampleInNumPyIsRight) {
  std::string python;
  for (const char* candidate : {"python3", "/usr/bin/python3"})
    if (python.empty() && sh(std::string(candidate) + " -c 'import numpy'").code == 0)
      python = candidate;
  if (python.empty()) GTEST_SKIP() << "no python3 here has NumPy (Debian: python3-numpy)";
  const std::string ops = "--ops kernel_map,submanifold_index_map,convolution --level 1";
  const Result numpy =
      sh("mkdir arrays; $L gen " + ops + " >cases; " + python +
         " $E/pipe_numpy.py arrays <cases | $L ver " + ops + " --skips $E/pipe_numpy.skips");
  EXPECT_EQ(numpy.code, 0) << numpy.out;
  EXPECT_FALSE(fs::is_empty(folder_ / "arrays"));  // large answers went through files
}

}  // namespace
