// The commands of the program `leafproof`. Each adds itself to the command line and, when chosen,
// runs and leaves its exit code.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "oracle/backend.h"
#include "oracle/verify.h"

namespace leafproof::oracle::cli {

inline constexpr int kEqual = 0;
inline constexpr int kDifferent = 1;  // or not implemented, or left out, without being told to skip
inline constexpr int kBadInput = 2;   // usage, files
inline constexpr int kNoDevice = 3;

/// Of a level's cases: fixed, so that two people see the same run (docs/citing.md).
inline constexpr std::uint64_t kLevelSeed = 20'261'129;

/// The whole word must be an integer of the range. (The parser of options wraps and cuts.)
template <class T>
CLI::Validator integer(T low, T high = std::numeric_limits<T>::max()) {
  const auto check = [low, high](const std::string& text) {
    T value{};
    const char* const end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, value);
    if (failed == std::errc{} && stop == end && value >= low && value <= high) return std::string();
    return fmt::format("must be an integer from {} to {}, not {}", low, high, text);
  };
  return CLI::Validator(check, "", "integer");
}

/// --backend and what is said of backends that are other people's programs and libraries.
struct BackendsOption {
  std::vector<std::string> names;  // of ours, libraries, or commands
  ForeignOptions foreign;
  bool in_process = false;  // libraries are

  BackendsOption();  // answers may name files
  /// --backend of a command that asks several: which to `what` ("judge").
  void add_to(CLI::App& command, const std::string& what,
              const std::vector<std::string>& by_default);
  /// --backend of a command that asks one, by default names[0]: `what` it does ("builds it").
  void add_one_to(CLI::App& command, const std::string& what);

  std::unique_ptr<Backend> make(const std::string& name) const;
  /// As a command that judges many cases asks it: brute_force only where its boxes have at most
  /// `cells` cells together, so that the time stays bounded.
  std::unique_ptr<Backend> make_judged(const std::string& name, std::int64_t cells) const;
  /// "OP" or "OP@BACKEND" each; refuses an unknown backend, as `op_of` does an unknown operation.
  std::vector<Skip> skips(const std::vector<std::string>& texts,
                          const std::function<Op(const std::string&)>& op_of) const;

 private:
  void add_foreign_to(CLI::App& command);
};

/// True, and said on stderr, where a backend answered with nothing that can be written: it does not
/// implement this, or met a fault. What it refuses is thrown.
bool has_no_answer(const std::string& backend, const Answer& answer);

/// All but the reference, which is the other side, `host`, which is one of the engines that are
/// judged by name, and `strict`, which is the same code as these and slow on purpose.
std::vector<std::string> default_backends();

/// verify(), and keeps in a file what is found as it goes; goes on with what the file has.
Verification verify_into(const std::filesystem::path& file, const Backend& reference,
                         const std::vector<const Backend*>& backends,
                         const std::vector<Scene>& scenes, const VerifyOptions& options);

/// Names the command in the report and writes the files that are asked for (empty: not).
void write_reports(Verification& verification, const std::filesystem::path& html,
                   const std::filesystem::path& junit, const std::string& shard);

/// Does this, and prints the report. The exit code.
int publish(Verification verification, const std::filesystem::path& html,
            const std::filesystem::path& junit, bool json, const std::string& shard);

void add_merge(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);
void add_apply(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_convolution(CLI::App& app, int& exit_code);  // kernel-map, convolve
void add_replay(CLI::App& app, int& exit_code);       // replay, cases
void add_pipe(CLI::App& app, int& exit_code);         // gen, ver
void add_serve(CLI::App& app, int& exit_code);        // serve, about
void add_show(CLI::App& app, int& exit_code);
void add_vectors(CLI::App& app, int& exit_code);
void add_dialects(CLI::App& app, int& exit_code);  // explain, convert

}  // namespace leafproof::oracle::cli
