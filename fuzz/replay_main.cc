// A plain main for a fuzz target, for any compiler: it runs the target on every file named, and on
// every file in folders named; or on random inputs, each drawn from a seed and its number.
// Exit code 2 where nothing was run, or a file is no input of the target (any more).
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/target.h"
#include "oracle/choice_source.h"

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed)
    __attribute__((weak));

namespace {

namespace fs = std::filesystem;

constexpr const char* kHelp =
    R"(usage: TARGET FILE|FOLDER...
       TARGET --random N [--seed S] [--first K] [--length L]

Runs a fuzz target without a fuzzer. The first form replays files (a corpus, a finding). The second
runs inputs K ... K+N-1 of seed S and says, where one of them ends the process, which it was. Each
is of at most L random bytes (default 64), or, of a target that takes cases, the last of up to
twelve mutants in a row, of at most 4096 bytes. The default seed is 20261130.
)";

struct Random {
  std::uint64_t runs = 0, seed = 20'261'130, first = 0, length = 64;
  std::uint64_t number = 0;  // of the input that runs
} random_run;

void say_which() {
  std::fprintf(stderr,
               "input %llu of seed %llu: --random 1 --seed %llu --first %llu --length %llu\n",
               static_cast<unsigned long long>(random_run.number),
               static_cast<unsigned long long>(random_run.seed),
               static_cast<unsigned long long>(random_run.seed),
               static_cast<unsigned long long>(random_run.number),
               static_cast<unsigned long long>(random_run.length));
}
extern "C" void on_signal(int signal) {
  say_which();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void input_of(std::uint64_t number, std::vector<std::uint8_t>& bytes) {
  leafproof::oracle::ChoiceSource draw{random_run.seed, number};
  if (LLVMFuzzerCustomMutator == nullptr) {
    bytes.resize(
        static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(random_run.length))));
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(draw.between(0, 255));
    return;
  }
  std::size_t size = 0;
  bytes.resize(4096);
  for (std::int64_t mutants = draw.between(1, 12); mutants > 0; --mutants) {
    const auto seed = static_cast<unsigned>(draw.between(0, UINT32_MAX));
    size = LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(), seed);
  }
  bytes.resize(size);
}

int run_random() {
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(say_which);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    if (signal == SIGABRT || __sanitizer_set_death_callback == nullptr)
      std::signal(signal, on_signal);
  std::uint64_t taken = 0;
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t i = 0; i < random_run.runs; ++i) {
    random_run.number = random_run.first + i;
    input_of(random_run.number, bytes);
    taken += LLVMFuzzerTestOneInput(bytes.data(), bytes.size()) == 0;
    if (::isatty(2) != 0 && i % 1024 == 0)
      std::fprintf(stderr, "\r%llu", static_cast<unsigned long long>(i));
  }
  if (::isatty(2) != 0) std::fprintf(stderr, "\r");
  std::cout << random_run.runs << " random inputs of seed " << random_run.seed << ", " << taken
            << " taken\n";
  return taken > 0 ? 0 : 2;
}

int replay(std::vector<fs::path> files) {
  std::ranges::sort(files);
  std::size_t strangers = 0;
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
      std::cerr << "cannot read " << file << '\n';
      return 2;
    }
    std::cerr << file << '\n';  // the last one named is the one that ended the process
    const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
    const int said =
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (said == 0) continue;
    std::cerr << "  is no input of this target\n";
    ++strangers;
  }
  std::cout << files.size() << " inputs";
  if (strangers > 0) std::cout << ", " << strangers << " of them none of this target";
  std::cout << '\n';
  return files.empty() || strangers > 0 ? 2 : 0;  // a run of nothing proves nothing
}

bool number(std::string_view text, std::uint64_t& n) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  return failed == std::errc{} && end == text.data() + text.size();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    std::uint64_t* const wanted = argument == "--random"   ? &random_run.runs
                                  : argument == "--seed"   ? &random_run.seed
                                  : argument == "--first"  ? &random_run.first
                                  : argument == "--length" ? &random_run.length
                                                           : nullptr;
    if (wanted != nullptr) {
      if (++i < argc && number(argv[i], *wanted) && random_run.length < (1 << 20)) continue;
      std::cerr << argument << " takes a number\n" << kHelp;
      return 2;
    }
    if (argument.starts_with("-")) {
      (argument == "--help" ? std::cout : std::cerr) << kHelp;
      return argument == "--help" ? 0 : 2;
    }
    if (!fs::is_directory(argv[i]))
      files.emplace_back(argv[i]);
    else
      for (const auto& entry : fs::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  return random_run.runs > 0 ? run_random() : replay(std::move(files));
}
