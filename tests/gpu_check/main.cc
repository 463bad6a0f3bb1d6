// leafproof_gpu_check: what cannot be checked without a GPU, checked on one, in one program that
// needs nothing but a driver. Without a device it says why and exits 3.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gpu/cuda_builder.h"
#include "tests/gpu_check/checks.h"
#include "tests/gpu_check/cost_sheet.h"
#include "tests/gpu_check/device.h"

namespace {

using namespace leafproof;
using namespace leafproof::gpu_check;

constexpr int kPassed = 0, kDifferent = 1, kBadInput = 2, kNoDevice = 3;

/// The last line that a command printed; its exit code in `code`.
std::string run(const std::string& command, int& code) {
  std::string last, line;
  std::array<char, 512> buffer{};
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "cannot be run";
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr) {
    line = buffer.data();
    if (line.size() > 1) last = line.substr(0, line.size() - 1);
  }
  code = pclose(pipe);
  return last;
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  std::filesystem::path vectors = program.parent_path() / "vectors";
  std::string json_file;
  std::uint64_t seed = 1;
  std::int64_t cases = 60;
  bool quick = false, sanitizer = false, provoke = false, cost_sheet = false;

  CLI::App app{
      "Checks the batched builder on a CUDA device: known answers, generated cases, the "
      "host's bytes, streams, threads, failing memory; and how long passes take."};
  app.name("leafproof_gpu_check");
  app.add_option("--vectors", vectors, "folder of the known answers")->capture_default_str();
  app.add_option("--json", json_file, "write what was found to this file as well");
  app.add_option("--seed", seed, "of the generated cases")->capture_default_str();
  app.add_option("--cases", cases, "generated cases of each pass")->capture_default_str();
  app.add_flag("--quick", quick, "few generated cases, few repetitions");
  app.add_flag("--sanitizer", sanitizer, "once more, quickly, under compute-sanitizer");
  app.add_flag("--cost-sheet", cost_sheet, "no device: print what a build costs, as Markdown");
  app.add_flag("--provoke-failure", provoke, "let work fail on the device, in this process")
      ->group("");
  CLI11_PARSE(app, argc, argv);
  if (cost_sheet) {
    print_cost_sheet();
    return kPassed;
  }

  const std::string why = gpu::why_no_cuda();
  if (!why.empty()) {
    fmt::print(stderr, "gpu-check: no CUDA device can be used: {}\n", why);
    return kNoDevice;
  }
  if (provoke) return provoke_failure();
  if (!std::filesystem::is_directory(vectors)) {
    fmt::print(stderr, "gpu-check: {} is no folder of known answers (see --vectors)\n",
               vectors.string());
    return kBadInput;
  }
  std::ofstream json;
  if (!json_file.empty()) {
    json.open(json_file);
    if (!json) {
      fmt::print(stderr, "gpu-check: {} cannot be written\n", json_file);
      return kBadInput;
    }
  }
  if (quick) cases = std::min<std::int64_t>(cases, 10);

  Findings findings;
  int code = kDifferent;
  try {
    const DeviceFacts facts = device_facts();
    keep_freed_memory();
    fmt::print(
        "{}, compute capability {}, {} processors, {:.1f} GiB; driver {}, runtime {}; seed "
        "{}\n",
        facts.name, facts.capability, facts.processors,
        static_cast<double>(facts.memory_bytes) / (1 << 30), facts.driver, facts.runtime, seed);
    findings.json["device"] = {{"name", facts.name},
                               {"capability", facts.capability},
                               {"processors", facts.processors},
                               {"memory_bytes", facts.memory_bytes},
                               {"driver", facts.driver},
                               {"runtime", facts.runtime}};
    findings.json["seed"] = seed;
    findings.section("default streams are refused", [&] { check_refusals(findings); });
    findings.section("every pass, the host's bytes", [&] { check_passes(findings); });
    findings.section("buffers taken over", [&] { check_adopt(findings); });
    findings.section("known answers", [&] { check_vectors(findings, vectors); });
    findings.section("generated cases", [&] { check_sweep(findings, seed, cases); });
    findings.section("beside a busy stream", [&] { check_busy(findings); });
    findings.section("order of the stream", [&] { check_stream_order(findings); });
    findings.section("threads with streams of their own", [&] { check_threads(findings); });
    findings.section("a caller's allocator, failing", [&] { check_allocator(findings); });
    findings.section("failing work is reported", [&] {
      int status = 1;
      const std::string said = run("'" + program.string() + "' --provoke-failure", status);
      findings.check(status == 0, said);
      findings.note(said);
    });
    if (sanitizer) {
      findings.section("under compute-sanitizer", [&] {
        int status = 1;
        const std::string said = run("compute-sanitizer --error-exitcode 1 '" + program.string() +
                                         "' --quick --vectors '" + vectors.string() + "' 2>&1",
                                     status);
        findings.check(status == 0, said);
        findings.note(said);
      });
    }
    findings.section("timings", [&] { measure(findings, quick); });
    code = findings.ok() ? kPassed : kDifferent;
  } catch (const std::exception& error) {
    fmt::print("FAIL  {}\n", error.what());
  }
  findings.json["ok"] = code == kPassed;
  if (json.is_open()) json << findings.json.dump(2) << '\n';
  fmt::print("{}\n", code == kPassed ? "passed" : "FAILED");
  return code;
}
