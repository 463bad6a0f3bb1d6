// Shared libraries as backends: good ones are judged like ours, and whatever else a library does,
// wherever it writes, is a verdict with the case; one that cannot be used is one Error that names
// it. Nothing that it prints or breaks gets into the answers.
#include "oracle/backends/library_backend.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cfenv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gpu/thread_sanitizer.h"
#include "oracle/abi/leafproof_backend.h"
#include "oracle/backends/cuda_backend.h"
#include "oracle/case_text.h"
#include "oracle/generate.h"
#include "oracle/input/answer_files.h"
#include "oracle/judge.h"
#include "oracle/layout_view.h"
#include "oracle/report.h"
#include "oracle/verify.h"
#include "tests/program.h"

namespace leafproof::oracle {
namespace {

const Backend& reference_backend() {
  static const auto backend = make_backend("reference");
  return *backend;
}

/// In a process of its own, of our program.
ForeignOptions elsewhere(double limit = 10) {
  return {.limit = limit, .start = 20, .files = answer_files(), .loader = LEAFPROOF_PROGRAM};
}
ForeignOptions here() {
  return {.files = answer_files()};
}

Case small_case() {
  return read_case_text("case1 from_ijk source=[7,0,0;0,0,0][]");
}

std::string fault_of(const Verdict& verdict) {
  if (verdict.outcome == Outcome::NotImplemented) return "not implemented: " + verdict.reason;
  if (!verdict.first) return "equal";
  std::string text = verdict.first->what + "|" + verdict.first->actual;
  for (const std::string& line : verdict.first->window) text += "|" + line;
  return text;
}

class Rogue : public testing::Test {
 protected:
  void SetUp() override {  // under a sanitizer, too, a crash is to be seen as one
    for (const char* const name : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
      const char* const given = std::getenv(name);
      const std::string options = std::string(given != nullptr ? given : "") + ":handle_segv=0";
      ::setenv(name, options.c_str(), 1);
    }
  }
  void behave(const std::string& how, int when = 1) {
    ::setenv("ROGUE", how.c_str(), 1);
    ::setenv("ROGUE_WHEN", std::to_string(when).c_str(), 1);
  }
  void TearDown() override { behave(""); }
};

/// Each way fails its case and no other.
TEST_F(Rogue, WhatALibraryDoesInsteadOfAnsweringIsNamed) {
  struct Way {
    const char* how;
    std::vector<std::string> says;
  };
  const std::vector<Way> ways{
      {"crash", {"a crash: signal 11 (Segmentation fault)"}},
      {"abort", {"a crash: signal 6 (Aborted)"}},
      {"exit", {"an end instead of an answer: exit code 0"}},
      {"hang", {"no answer within 2 s"}},
      {"why_not_crash", {"a crash: signal 11"}},
      {"why_not_write",
       {"a write into question->parameters, which is only to be read: at its byte 4, of "}},
      {"throw", {"run() threw an exception: thrown in C"}},
      {"throw_int", {"run() threw an exception: something that is no std::exception"}},
      {"write_input",
       {"a write into question->source->voxels, which is only to be read: at its byte 4, of 24"}},
      {"write_input_beyond",
       {"a write beyond the end of question->source->voxels: at its byte 24, of 24"}},
      {"write_offsets", {"a write into question->source->offsets", "byte 0, of 24"}},
      {"write_question", {"a write into question, which is only to be read: at its byte 32"}},
      {"write_in_thread", {"a write into question->source->voxels", "byte 0, of 24"}},
      {"read_beyond", {"a read beyond the end of question->source->voxels: at its byte 24, of 24"}},
      {"read_names", {"a read beyond the end of question->source->names: at its byte 0, of 0"}},
      {"write_before", {"a write before the start of LEAFPROOF_VOXELS: at its byte -1, of 24"}},
      {"write_far_before",
       {"a write before the start of LEAFPROOF_VOXELS: at its byte -5000, of 24"}},
      {"write_beyond", {"a write beyond the end of LEAFPROOF_VOXELS: at its byte 24, of 24"}},
      {"grids_beyond", {"a write beyond the end of LEAFPROOF_GRIDS: at its byte 33, of 33"}},
      {"write_beyond_answer",
       {"a write beyond the end of the leafproof_answer: at its byte 48, of 48"}},
      {"write_before_answer", {"before the start of the leafproof_answer: at its byte -2, of 48"}},
      {"write_answer", {"no reason given"}},
      {"status", {"it returned 77, which is no status"}},
      {"failed", {"a fault of mine"}},
      {"nothing", {"it returned LEAFPROOF_OK and allocated no array"}},
      {"negative", {"allocate: LEAFPROOF_VOXELS of the shape [-1][3]: a length is negative"}},
      {"negative_used", {"a crash: signal 11", "stderr: leafproof: allocate: LEAFPROOF_VOXELS"}},
      {"huge", {"LEAFPROOF_VOXELS of the shape [4611686018427387903][3]: an answer has at most"}},
      {"large", {"LEAFPROOF_VOXELS of the shape [268435456][3]: an answer has at most 1073741824"}},
      {"two_columns", {"LEAFPROOF_VOXELS of the shape [2][2]: the last length must be 3"}},
      {"rank", {"LEAFPROOF_VOXELS cannot have 1 axes"}},
      {"no_array", {"there is no array 17"}},
      {"no_type", {"LEAFPROOF_GATHER of type 6, which there is not"}},
      {"float_voxels", {"LEAFPROOF_VOXELS cannot be of LEAFPROOF_FLOAT32"}},
      {"no_shape", {"LEAFPROOF_VOXELS has no shape"}},
      {"twice", {"LEAFPROOF_VOXELS was allocated before"}},
      {"half", {"the arrays LEAFPROOF_VOXELS together are no answer"}},
      {"maps", {"maps"}},
      {"grids", {"alformed"}},
      {"unwritten", {"voxel"}},
      {"order", {"answer->order is 2, which is none of its values"}},
      {"offsets_start", {"LEAFPROOF_OFFSETS[0] is -1; it must be 0"}},
      {"offsets_fall", {"LEAFPROOF_OFFSETS[2] is 2, less than the one before it, 5"}},
      {"offsets_end", {"LEAFPROOF_OFFSETS[2], the last, is 1000000; there are 2"}},
      {"refused", {"ShapeMismatch"}},
      {"not_implemented", {"not implemented: too many"}},
      // Harmless: what it prints and reads is not ours.
      {"print", {"equal"}},
      {"read_stdin", {"equal"}},
      {"close", {"equal"}},
      {"rounding", {"equal"}},
      {"leave_thread", {"equal"}},
  };
  for (const auto& [how, says] : ways) {
    behave(how, 2);
    const auto backend = make_backend(LEAFPROOF_ROGUE, elsewhere(2));
    EXPECT_TRUE(judge(small_case(), reference_backend(), *backend).ok()) << how;
    const Verdict verdict = judge(small_case(), reference_backend(), *backend);
    const std::string said = fault_of(verdict);
    for (const std::string& words : says)
      EXPECT_NE(said.find(words), said.npos) << how << ": " << said;
    EXPECT_EQ(verdict.hung, said.find("no answer within") != said.npos) << how;
    if (said != "equal") {
      EXPECT_TRUE(judge(small_case(), reference_backend(), *backend).ok()) << how;
    }
  }
}

// What kills nobody says the same in this process.
TEST_F(Rogue, ASurvivedFaultIsTheSameInThisProcess) {
  for (const char* how :
       {"throw",           "throw_int",     "write_before", "grids_beyond", "write_before_answer",
        "status",          "failed",        "nothing",      "negative",     "huge",
        "large",           "two_columns",   "rank",         "no_array",     "no_type",
        "float_voxels",    "no_shape",      "twice",        "half",         "maps",
        "order",           "offsets_start", "offsets_fall", "offsets_end",  "refused",
        "not_implemented", "unwritten",     "print",        "rounding"}) {
    // The library stays loaded and counts its questions on: a fresh one is a fresh file.
    const auto copy = std::filesystem::temp_directory_path() /
                      ("leafproof-" + std::to_string(::getpid()) + "-" + how + ".so");
    std::filesystem::copy_file(LEAFPROOF_ROGUE, copy);
    behave(how, 1);
    const auto same = make_backend(copy.string(), here());
    const std::string said = fault_of(judge(small_case(), reference_backend(), *same));
    const auto other = make_backend(copy.string(), elsewhere());
    const std::string there = fault_of(judge(small_case(), reference_backend(), *other));
    EXPECT_EQ(said.substr(0, said.find("|stderr")), there.substr(0, there.find("|stderr"))) << how;
    std::filesystem::remove(copy);
  }
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST_F(Rogue, SettingUpAndTearingDownAreJudgedWithACase) {
  const struct {
    const char *how, *says;
  } ways[] = {{"set_up_crash", "a crash: signal 11"},
              {"set_up_fails", "no licence"},
              {"set_up_not", "not implemented: no such card"},
              {"set_up_status", "it returned 3, which is no status"},
              {"tear_down_crash", "a crash: signal 11"}};
  for (const auto& [how, says] : ways) {
    behave(how);
    const auto backend = make_backend(LEAFPROOF_ROGUE, elsewhere());
    const std::string said = fault_of(judge(small_case(), reference_backend(), *backend));
    EXPECT_NE(said.find(says), said.npos) << how << ": " << said;
  }
}

/// The reason for which a library cannot be used; empty: it can.
std::string unusable(const std::string& path, const ForeignOptions& options) {
  try {
    const auto backend = make_backend(path, options);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::InvalidArgument);
    EXPECT_EQ(error.detail().argument, "backend");
    EXPECT_EQ(error.detail().value, path);
    return error.detail().reason;
  }
}

TEST_F(Rogue, ALibraryThatCannotBeUsedIsRefusedByName) {
  const struct {
    const char *how, *says;
  } ways[] = {{"entry_null", "its leafproof_backend_v1() returns null"},
              {"entry_version", "its ABI version is 7; this program has 1"},
              {"entry_short", "its leafproof_backend has 8 bytes"},
              {"entry_name", "the member `name` of its backend is null"},
              {"entry_description", "the member `description` of its backend is null"},
              {"entry_why_not", "the member `why_not` of its backend is null"},
              {"entry_set_up", "the member `set_up` of its backend is null"},
              {"entry_run", "the member `run` of its backend is null"},
              {"entry_tear_down", "the member `tear_down` of its backend is null"},
              {"entry_memory", "the member `memory` of its backend is 2"}};
  for (const auto& [how, says] : ways) {
    behave(how);
    for (const auto& options : {elsewhere(), here()}) {
      const std::string why = unusable(LEAFPROOF_ROGUE, options);
      EXPECT_NE(why.find(says), why.npos) << how << ": " << why;
    }
  }
  const struct {
    const char *how, *says;
  } ends[] = {{"entry_crash", "while it was loaded: a crash: signal 11"},
              {"load_crash", "while it was loaded: a crash: signal 11"},
              // 0; the thread sanitizer, which is within dlopen then, makes it 66
              {"load_exit", "while it was loaded: an end: exit code "},
              {"load_hang", "it was not loaded within 1 s"}};
  for (const auto& [how, says] : ends) {
    behave(how);
    ForeignOptions options = elsewhere();
    if (std::string_view(how) == "load_hang") options.start = 1;
    const std::string why = unusable(LEAFPROOF_ROGUE, options);
    EXPECT_NE(why.find(says), why.npos) << how << ": " << why;
  }
  behave("load_print");
  EXPECT_EQ(unusable(LEAFPROOF_ROGUE, elsewhere()), "");
}

TEST_F(Rogue, AFileThatIsNoLibraryIsRefusedByName) {
  const std::string text = (std::filesystem::temp_directory_path() /
                            ("leafproof no library " + std::to_string(::getpid()) + ".so"))
                               .string();
  std::ofstream(text) << "not an ELF file\n";
  for (const auto& options : {elsewhere(), here()}) {
    EXPECT_EQ(unusable("./no_such.so", options), "there is no such file");
    EXPECT_EQ(unusable("libmine.so.1.2", options), "there is no such file");
    EXPECT_NE(unusable(text, options).find("it cannot be loaded: "), std::string::npos);
    EXPECT_EQ(unusable(LEAFPROOF_ROGUE_NOTHING, options),
              "it does not export leafproof_backend_v1, the function of ABI version 1");
  }
  std::filesystem::remove(text);
}

TEST_F(Rogue, TheProgramSaysItInASentence) {
  using tests::run;
  behave("entry_version");
  for (const tests::Strings& more : {tests::Strings{}, tests::Strings{"--in-process"}}) {
    tests::Strings words{"verify", "--backend", LEAFPROOF_ROGUE, "--level", "1"};
    words.insert(words.end(), more.begin(), more.end());
    const tests::Result result = run(words);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find("librogue.so"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("its ABI version is 7"), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  const tests::Result none = run({"verify", "--backend", "host", "--in-process", "--level", "1"});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("--in-process"), std::string::npos) << none.err;
  // A crash while it is in this process: the program says what was touched, and dies of it.
  behave("write_input");
  const tests::Strings replay{"replay", "--backend", LEAFPROOF_ROGUE,
                              "case1 from_ijk source=[7,0,0;0,0,0][]"};
  tests::Strings words = replay;
  words.push_back("--in-process");
  const tests::Result here = run(words);
  EXPECT_EQ(here.code, 128 + 11);
  EXPECT_NE(here.err.find("a write into question->source->voxels"), std::string::npos) << here.err;
  for (const std::string how : {"exit", "load_exit"}) {  // never a success
    // The thread sanitizer takes an exit() within dlopen() for a fault, and ends with its own code.
    if (gpu::kThreadSanitizer && how == "load_exit") continue;
    behave(how);
    const tests::Result ended = run(words);
    EXPECT_EQ(ended.code, 2) << how;
    EXPECT_EQ(ended.err, "leafproof: the library has ended this program by exit()\n") << how;
  }
  behave("write_input");
  const tests::Result there = run(replay);
  EXPECT_EQ(there.code, 1);
  EXPECT_NE(there.out.find("a write into question->source->voxels"), std::string::npos)
      << there.out;
}

TEST_F(Rogue, ASweepNamesTheCaseAndHowToJudgeItAgain) {
  behave("write_beyond", 5);
  const auto backend = make_backend(LEAFPROOF_ROGUE, elsewhere());
  VerifyOptions options;
  options.ops = {Op::FromIjk};
  options.cases = 12;
  options.threads = 1;
  options.shrink_tries = 0;
  const Verification verification = verify(reference_backend(), {backend.get()}, {}, options);
  EXPECT_FALSE(verification.ok);
  const std::string text = text_report(verification.report);
  EXPECT_NE(text.find("librogue.so"), text.npos);
  EXPECT_NE(text.find("a write beyond the end of LEAFPROOF_VOXELS"), text.npos) << text;
  ASSERT_FALSE(verification.report.failures.empty());
  EXPECT_NE(verification.report.failures.back().replay.find("librogue.so"), std::string::npos);
}

// NanoVDB grids come through as they are: what is right by the last byte, and one bit that is not.
TEST_F(Rogue, GridsAreJudgedByTheirBytes) {
  const Case c = small_case();
  const GridBuffer buffer = write_layout(std::get<Layout>(reference_backend().answer(c)));
  std::string bytes(reinterpret_cast<const char*>(buffer.bytes.data()), buffer.bytes.size());
  const std::string file =
      (std::filesystem::temp_directory_path() / ("leafproof-grids-" + std::to_string(::getpid())))
          .string();
  ::setenv("ROGUE_FILE", file.c_str(), 1);
  behave("grids_of_file");
  const auto said = [&](const ForeignOptions& options) {
    const auto backend = make_backend(LEAFPROOF_ROGUE, options);
    const Verdict verdict = judge(c, reference_backend(), *backend);
    return (verdict.profile == Profile::Bytes ? "bytes: " : "") + fault_of(verdict);
  };
  for (const auto& options : {elsewhere(), here()}) {
    std::ofstream(file, std::ios::binary) << bytes;
    EXPECT_EQ(said(options), "bytes: equal");
    std::string wrong = bytes;
    wrong[wrong.size() - 1] ^= 1;  // of the last leaf's prefix sums or masks
    std::ofstream(file, std::ios::binary) << wrong;
    const std::string other = said(options);
    EXPECT_TRUE(other.starts_with("bytes: ") && other != "bytes: equal") << other;
    std::ofstream(file, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
    EXPECT_NE(said(options).find("alformed"), std::string::npos) << said(options);
  }
  std::filesystem::remove(file);
}

// A library for the memory of a device, which here is memory of the host: what is given, what is
// taken, and the zones around both.
class PretendedDevice : public DeviceMemory {
 public:
  std::int32_t device() const override { return 0; }
  void* stream() const override { return nullptr; }
  std::shared_ptr<std::byte> copy_of(std::span<const std::byte> bytes) override {
    auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    return {copy, copy->data()};
  }
  void read(std::span<std::byte> to, const std::byte* from) override {
    std::memcpy(to.data(), from, to.size());
  }
};

TEST_F(Rogue, OnADeviceWritesOutsideAreFoundAsWell) {
  const struct {
    const char *how, *says;
  } ways[] = {
      {"", "equal"},
      {"write_input", "a write into question->source->voxels, which is only to be read: at its"},
      {"write_input_beyond", "a write beyond the end of question->source->voxels: at its byte 24"},
      {"write_before", "a write before the start of LEAFPROOF_VOXELS: at its byte -1, of 24"},
      {"write_beyond", "a write beyond the end of LEAFPROOF_VOXELS: at its byte 24, of 24"},
      {"unwritten", "voxel"}};
  for (const auto& [how, says] : ways) {
    const auto copy = std::filesystem::temp_directory_path() /
                      ("leafproof-device-" + std::to_string(::getpid()) + how + ".so");
    std::filesystem::copy_file(LEAFPROOF_ROGUE_DEVICE, copy);
    behave(how);
    const auto backend = load_library_backend(
        copy.string(), {}, [] { return std::make_unique<PretendedDevice>(); }, "");
    const std::string said = fault_of(judge(small_case(), reference_backend(), *backend));
    EXPECT_NE(said.find(says), said.npos) << how << ": " << said;
    std::filesystem::remove(copy);
  }
}

TEST_F(Rogue, WithoutADeviceItIsNotImplemented) {
  const auto backend = load_library_backend(LEAFPROOF_ROGUE_DEVICE, {}, {}, "none was found");
  EXPECT_EQ(fault_of(judge(small_case(), reference_backend(), *backend)),
            "not implemented: it works in the memory of a device: none was found");
}

// Libraries are compiled against these; within a version they grow at their ends only.
TEST(LibraryBackend, TheStructsOfAVersionStay) {
  EXPECT_EQ(LEAFPROOF_ABI_VERSION, 1);
  EXPECT_EQ(sizeof(leafproof_parameters), 176u);
  EXPECT_EQ(sizeof(leafproof_batch), 56u);
  EXPECT_EQ(sizeof(leafproof_points), 24u);
  EXPECT_EQ(sizeof(leafproof_mask), 24u);
  EXPECT_EQ(sizeof(leafproof_view), 16u);
  EXPECT_EQ(sizeof(leafproof_array), 32u);
  EXPECT_EQ(sizeof(leafproof_question), 96u);
  EXPECT_EQ(sizeof(leafproof_answer), 48u);
  EXPECT_EQ(sizeof(leafproof_environment), 24u);
  EXPECT_EQ(sizeof(leafproof_backend), 64u);
  EXPECT_EQ(offsetof(leafproof_parameters, mapped), 152u);
  EXPECT_EQ(offsetof(leafproof_question, grad_output), 88u);
  EXPECT_EQ(offsetof(leafproof_answer, allocate), 40u);
  EXPECT_EQ(offsetof(leafproof_backend, why_not), 32u);
  EXPECT_EQ(offsetof(leafproof_backend, tear_down), 56u);
}

// Every operation, form, type and refusal goes in and comes out as it is.
TEST(LibraryBackend, TheReferenceThroughTheInterfaceIsTheReference) {
  for (const auto& options : {elsewhere(30), here()}) {
    const auto backend = make_backend(LEAFPROOF_MIRROR, options);
    EXPECT_EQ(backend->description(), "mirror: the reference, seen through the C interface");
    for (const Op op : generated_ops())
      for (std::uint64_t number = 0; number < 40; ++number) {
        const Case c = generate(op, 3, number);
        const Verdict verdict = judge(c, reference_backend(), *backend);
        ASSERT_TRUE(verdict.ok()) << c.id << "\n" << text_verdict(verdict) << fault_of(verdict);
      }
  }
}

// The examples answer what they say they answer, in a process of their own and in ours.
TEST(LibraryExamples, AreRight) {
  const std::string folder = LEAFPROOF_SOURCE_DIR "/docs/example/";
  const struct {
    const char* library;
    std::string skips;
  } all[] = {
      {LEAFPROOF_SORTED_LISTS, folder + "abi_c/sorted_lists.skips"},
#ifdef LEAFPROOF_COARSEN_ON_CPU
      {LEAFPROOF_COARSEN_ON_CPU, folder + "abi_cuda/coarsen_device.skips"},
#endif
  };
  const std::string scan = (std::filesystem::temp_directory_path() /
                            ("leafproof-scan-" + std::to_string(::getpid()) + ".ply"))
                               .string();
  std::ofstream points(scan);
  points << "ply\nformat ascii 1.0\nelement vertex 300\nproperty float x\nproperty float y\n"
            "property float z\nend_header\n";
  for (int i = 0; i < 300; ++i)
    points << 0.01 * (i % 20) - 0.1 << " " << 0.013 * (i / 20) - 0.1 << " " << 0.001 * (i % 7)
           << "\n";
  points.close();
  for (const auto& [library, skips] : all)
    for (const tests::Strings& more : {tests::Strings{}, tests::Strings{"--in-process"}}) {
      tests::Strings words{"verify", "--backend", library, "--level",      "1",   "--skips",
                           skips,    "--input",   scan,    "--voxel-size", "0.02"};
      words.insert(words.end(), more.begin(), more.end());
      const tests::Result result = tests::run(words);
      EXPECT_EQ(result.code, 0) << result.out << result.err;
    }
  std::filesystem::remove(scan);
}

#ifdef LEAFPROOF_COARSEN_DEVICE
// Compiled by nvcc and linked. Where there is a device its answer is judged; where there is none,
// it has none.
TEST(LibraryExamples, TheOneForADeviceAnswersThere) {
  const tests::Result result = tests::run({"replay", "--backend", LEAFPROOF_COARSEN_DEVICE,
                                           "case1 coarsen factor=2 source=[-1,0,0;5,0,0][]"});
  if (why_no_cuda_backend().empty()) {
    EXPECT_EQ(result.code, 0) << result.out << result.err;
  } else {
    EXPECT_EQ(result.code, 1);
    EXPECT_NE(result.out.find("it works in the memory of a device: "), std::string::npos)
        << result.out << result.err;
  }
}
#endif

}  // namespace
}  // namespace leafproof::oracle
