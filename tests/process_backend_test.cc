// Programs as backends: good ones are judged like ours, and whatever else a program does is a
// verdict with the case, after which the next case is answered. Nothing is left behind.
// label: threads
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "oracle/case_text.h"
#include "oracle/generate.h"
#include "oracle/judge.h"
#include "oracle/report.h"
#include "oracle/vectors.h"
#include "oracle/verify.h"

namespace leafproof::oracle {
namespace {

const Backend& reference_backend() {
  static const auto backend = make_backend("reference");
  return *backend;
}

std::string rogue(const std::string& how, int when, const std::string& more = {}) {
  return "python3 '" LEAFPROOF_SOURCE_DIR "/tests/rogue_backend.py' " + how + " " +
         std::to_string(when) + " " + more;
}

Case small_case() {
  return read_case_text("case1 from_ijk source=[7,0,0;0,0,0][]");
}

/// What a verdict says of a fault, with its lines.
std::string fault_of(const Verdict& verdict) {
  if (!verdict.first) return "equal";
  std::string text = verdict.first->actual;
  for (const std::string& line : verdict.first->window) text += "|" + line;
  return text;
}

std::size_t open_files() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    count += !entry.path().empty();
  return count;
}

/// Has this process any child, dead or alive?
bool has_children() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Each mode fails its case and no other, and leaves nothing.
TEST(ProcessBackend, WhatAProgramDoesInsteadOfAnsweringIsNamed) {
  struct Mode {
    const char* how;
    std::vector<std::string> says;
  };
  const std::vector<Mode> modes{
      {"crash", {"a crash: signal 11 (Segmentation fault)", "stderr: about to|stderr: crash"}},
      {"exit", {"an end instead of an answer: exit code 3"}},
      {"hang", {"no answer within 1 s"}},
      {"hang_with_a_child", {"no answer within 1 s"}},
      {"cut", {"exit code 0; ", " bytes of a reply without an end of line", "|reply: 2 answer1"}},
      {"half_then_hang", {"no answer within 1 s; 9 bytes of a reply"}},
      {"number", {"the reply to case 3 where 2 was asked"}},
      {"no_number", {"a reply that does not begin with the number of its case", "answer1 grid"}},
      {"malformed", {"a malformed reply: ", "voxels", "1,2"}},
      {"twice", {"more than one line in reply to one case"}},
      {"close", {"its stdout closed, but it did not end"}},
      {"silent", {"no answer within 1 s"}},
      {"failed", {"a fault of mine|stderr: my own words"}},
      {"loud", {"a crash: signal 6 (Aborted)", "|stderr: the last line"}},
      {"crash_after", {"equal"}},
  };
  const std::size_t before = open_files();
  for (const auto& [how, says] : modes) {
    const auto backend = make_backend(rogue(how, 2), {.limit = 1, .start = 30, .files = {}});
    EXPECT_TRUE(judge(small_case(), reference_backend(), *backend).ok()) << how;
    const auto begin = std::chrono::steady_clock::now();
    const Verdict verdict = judge(small_case(), reference_backend(), *backend);
    const std::string said = fault_of(verdict);
    for (const std::string& words : says)
      EXPECT_NE(said.find(words), said.npos) << how << ": " << said;
    EXPECT_EQ(verdict.hung, said.find("no answer within") != said.npos) << how;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60)) << how;
    if (said != "equal") {  // a fresh process
      EXPECT_TRUE(judge(small_case(), reference_backend(), *backend).ok()) << how;
    }
  }
  EXPECT_EQ(open_files(), before);
  EXPECT_FALSE(has_children());
}

TEST(ProcessBackend, ACrashBetweenTwoCasesIsNotLost) {
  const auto backend =
      make_backend(rogue("crash_after", 1), {.limit = 5, .start = 30, .files = {}});
  EXPECT_TRUE(judge(small_case(), reference_backend(), *backend).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::string said = fault_of(judge(small_case(), reference_backend(), *backend));
  EXPECT_NE(said.find("a crash: signal 7"), said.npos) << said;
}

TEST(ProcessBackend, AProgramThatDoesNotReadIsStoppedInTime) {
  Case c = small_case();  // more than a pipe holds
  for (int i = 0; i < 40'000; ++i) c.source.members[0].push_back({i, -i, 7});
  const auto backend = make_backend(rogue("deaf", 1), {.limit = 1, .start = 1, .files = {}});
  EXPECT_NE(fault_of(judge(small_case(), reference_backend(), *backend)).find("no answer"),
            std::string::npos);
  const auto good = make_backend(rogue("none", 1), {.limit = 20, .start = 30, .files = {}});
  EXPECT_EQ(fault_of(judge(c, reference_backend(), *good)), "equal");
}

TEST(ProcessBackend, OneProcessForEachThreadAndEachCaseItsOwnAnswer) {
  {
    const auto backend = make_backend(rogue("crash", 40), {.limit = 20, .start = 60, .files = {}});
    std::atomic<int> equal{0}, crashed{0};
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
          for (int i = 0; i < 50; ++i) {
            Case c = small_case();
            c.source.members[0].push_back({t, i, 1});
            const Verdict verdict = judge(c, reference_backend(), *backend);
            ++(verdict.ok() ? equal : crashed);
            if (!verdict.ok()) {
              EXPECT_NE(fault_of(verdict).find("signal 11"), std::string::npos);
            }
          }
        });
    }
    EXPECT_EQ(equal + crashed, 200);
    EXPECT_GE(crashed, 1);  // 200 cases are more than 39 for each of four
    EXPECT_LE(crashed, 5);
    // The threads that asked are gone; those who answer are still there.
    EXPECT_TRUE(judge(small_case(), reference_backend(), *backend).ok());
  }
  EXPECT_FALSE(has_children());
}

TEST(ProcessBackend, ACommandIsWordsAndNamesAProgram) {
  for (const char* none : {"", " ", "no_such_program_of_ours", "./no_such.sh", "hostt",
                           "python3 'unclosed", "a | b", "$(ls)", LEAFPROOF_SOURCE_DIR})
    EXPECT_THROW(make_backend(none), Error) << none;
  const auto quoted = make_backend("/bin/sh -c \"read line; exit 9\"");
  EXPECT_NE(fault_of(judge(small_case(), reference_backend(), *quoted)).find("exit code 9"),
            std::string::npos);
  try {
    make_backend("hostt");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("host-mask"), std::string::npos) << error.what();
  }
}

// Our own program answers through the pipe as it answers here.
TEST(ProcessBackend, TheReferenceThroughThePipeIsTheReference) {
  const auto backend = make_backend("'" LEAFPROOF_PROGRAM "' serve reference");
  for (const Op op : generated_ops())
    for (std::uint64_t number = 0; number < 12; ++number) {
      const Case c = generate(op, 3, number);
      const Verdict verdict = judge(c, reference_backend(), *backend);
      ASSERT_TRUE(verdict.ok()) << c.id << "\n" << text_verdict(verdict);
    }
}

// Known answers too: those of a convolution ask for its map by itself as well.
TEST(ProcessBackend, VectorsGoThroughThePipe) {
  const auto backend = make_backend("'" LEAFPROOF_PROGRAM "' serve reference");
  const Tally tally =
      run_vectors(read_vectors(LEAFPROOF_SOURCE_DIR "/oracle/vectors/convolution.json"), *backend);
  EXPECT_GT(tally.passed, 200);
  EXPECT_EQ(tally.failed + tally.not_implemented, 0);
}

TEST(ProcessBackend, ASweepNamesTheCaseAndHowToJudgeItAgain) {
  const std::string command = rogue("malformed", 5);
  const auto backend = make_backend(command);
  VerifyOptions options;
  options.ops = {Op::FromIjk};
  options.cases = 12;
  options.threads = 1;
  options.shrink_tries = 0;
  const Verification verification = verify(reference_backend(), {backend.get()}, {}, options);
  EXPECT_FALSE(verification.ok);
  ASSERT_FALSE(verification.report.failures.empty());
  const std::string text = text_report(verification.report);
  EXPECT_NE(text.find("rogue_backend.py"), text.npos);
  EXPECT_NE(text.find("a malformed reply"), text.npos) << text;
  const std::string& replay = verification.report.failures.back().replay;
  EXPECT_NE(replay.find("--backend 'python3 '\\''"), replay.npos) << replay;
}

TEST(Skips, AreReadLineByLine) {
  const auto skips = read_skips(
      "# why\n\nrefine  has no masks # so far\r\n"
      "kernel_map [python3 my.py] no maps\n",
      "file");
  ASSERT_EQ(skips.size(), 2u);
  EXPECT_EQ(skips[0].op, Op::Refine);
  EXPECT_EQ(skips[0].backend, "");
  EXPECT_EQ(skips[0].reason, "has no masks");
  EXPECT_EQ(skips[1].backend, "python3 my.py");
  EXPECT_EQ(skips[1].reason, "no maps");
  for (const char* bad :
       {"refine", "refine [host]", "refine [host", "refine [] why", "refin why", "refine # why"}) {
    try {
      read_skips(std::string("dual why\n") + bad, "mine.skips");
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Corrupt);
      EXPECT_EQ(error.detail().argument, "mine.skips, line 2") << bad;
    }
  }
}

TEST(Skips, OneThatIsNotNeededFails) {
  const std::string command = rogue("none", 0);
  const auto backend = make_backend(command);
  VerifyOptions options;
  options.ops = {Op::FromIjk};
  options.cases = 3;
  options.skips = {{Op::FromIjk, "rogue_backend.py", "has none"}};
  const auto run = [&] { return verify(reference_backend(), {backend.get()}, {}, options); };
  const Verification unused = run();
  const auto needless = [](const Verification& v) {
    return std::any_of(v.faults.begin(), v.faults.end(), [](const std::string& fault) {
      return fault.find("is not needed") != fault.npos;
    });
  };
  EXPECT_TRUE(needless(unused));
  options.skips = {{Op::FromIjk, "another", "has none"}};
  EXPECT_FALSE(needless(run()));
  options.skips = {{Op::FromIjk, "", ""}};  // --skip asks for none
  EXPECT_FALSE(needless(run()));
}

}  // namespace
}  // namespace leafproof::oracle
