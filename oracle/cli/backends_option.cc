// Which backends a command asks: ours by name, other people's by a command line or a library.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "oracle/backends/guarded_memory.h"
#include "oracle/backends/library.h"
#include "oracle/boxed_backend.h"
#include "oracle/cli/commands.h"
#include "oracle/cli/terminal.h"
#include "oracle/input/answer_files.h"

namespace leafproof::oracle::cli {
namespace {

/// A command stays whole; else commas separate names.
std::vector<std::string> split(const std::vector<std::string>& given) {
  std::vector<std::string> names;
  for (std::string_view text : given) {
    const bool command = text.find_first_of(" /") != text.npos;
    while (!command && text.find(',') != text.npos) {
      names.emplace_back(text.substr(0, text.find(',')));
      text.remove_prefix(text.find(',') + 1);
    }
    names.emplace_back(text);
  }
  return names;
}

}  // namespace

BackendsOption::BackendsOption() {
  foreign.files = answer_files();
}

void BackendsOption::add_to(CLI::App& command, const std::string& what,
                            const std::vector<std::string>& by_default) {
  command
      .add_option_function<std::vector<std::string>>(
          "--backend", [this](const std::vector<std::string>& given) { names = split(given); },
          fmt::format(
              "which to {}, may be repeated; a name, a shared library (./libmine.so), or a command "
              "that answers line by line (docs/porting.md); all by default: {}",
              what, fmt::join(by_default, ", ")))
      ->allow_extra_args(false);
  add_foreign_to(command);
}

void BackendsOption::add_one_to(CLI::App& command, const std::string& what) {
  command.add_option("--backend", names[0],
                     fmt::format("who {}: a name, a shared library, or a command that answers line "
                                 "by line ({})",
                                 what, names[0].empty() ? "none" : names[0]));
  add_foreign_to(command);
}

void BackendsOption::add_foreign_to(CLI::App& command) {
  command
      .add_option("--limit", foreign.limit,
                  "seconds that a command or library has for a case; a minute more for its first "
                  "(10)")
      ->check(CLI::PositiveNumber);
  command.add_flag("--in-process", in_process,
                   "load libraries into this process: faster, but a crash of theirs ends it, and "
                   "--limit does not hold");
}

std::unique_ptr<Backend> BackendsOption::make(const std::string& name) const {
  ForeignOptions options = foreign;
  if (in_process) {
    if (!names_library(name) && std::none_of(names.begin(), names.end(), names_library))
      throw Error(ErrorKind::InvalidArgument, {.operation = "make a backend",
                                               .argument = "--in-process",
                                               .value = name,
                                               .reason = "is for shared libraries, and no backend "
                                                         "is one",
                                               .member = {},
                                               .row = {}});
    hear_of_exits();
    hear_of_walls([](const char* sentence) { std::fprintf(stderr, "leafproof: %s\n", sentence); });
  } else {
    options.loader = "/proc/self/exe";
  }
  return make_backend(name, options);
}

std::unique_ptr<Backend> BackendsOption::make_judged(const std::string& name,
                                                     std::int64_t cells) const {
  auto backend = make(name);
  return name == "brute_force" ? make_boxed(std::move(backend), cells) : std::move(backend);
}

bool has_no_answer(const std::string& backend, const Answer& answer) {
  if (const auto* error = std::get_if<Error>(&answer)) throw *error;
  if (const auto* missing = std::get_if<NotImplemented>(&answer)) {
    say(fmt::format("{} does not implement this: {}", backend, missing->reason));
    return true;
  }
  const auto* failed = std::get_if<Failed>(&answer);
  if (failed == nullptr) return false;
  say(fmt::format("{} gave no answer: {}", backend, failed->fault));
  for (const std::string& line : failed->lines) say(line);
  return true;
}

std::vector<Skip> BackendsOption::skips(const std::vector<std::string>& texts,
                                        const std::function<Op(const std::string&)>& op_of) const {
  std::vector<Skip> skips;
  for (const std::string& text : texts) {
    const auto at = text.find('@');
    Skip skip{op_of(text.substr(0, at)), at == text.npos ? std::string() : text.substr(at + 1)};
    if (!skip.backend.empty()) make(skip.backend);  // refuses an unknown name
    skips.push_back(std::move(skip));
  }
  return skips;
}

}  // namespace leafproof::oracle::cli
