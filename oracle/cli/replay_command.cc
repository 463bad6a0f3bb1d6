// `leafproof replay`: one written case, judged on any backend, made smaller, or written in another
// form. `leafproof cases`: generated cases as text or JSON, for other programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "oracle/case_bytes.h"
#include "oracle/case_json.h"
#include "oracle/case_text.h"
#include "oracle/cli/commands.h"
#include "oracle/cli/operation.h"
#include "oracle/cli/terminal.h"
#include "oracle/generate.h"
#include "oracle/judge.h"
#include "oracle/report.h"
#include "oracle/sequence.h"
#include "oracle/smallest.h"
#include "oracle/vector_writer.h"
#include "oracle/verify.h"

namespace leafproof::oracle::cli {
namespace {

constexpr std::uintmax_t kLargestFile = std::uintmax_t{64} << 20;
constexpr std::int64_t kCells = std::int64_t{1} << 24;  // of brute_force

struct ReplayOptions {
  std::string what, as, after;
  BackendsOption backends;
  bool shrink = false, json = false;
  std::int64_t tries = 4000;
};

struct CasesOptions {
  std::vector<std::string> ops;
  std::uint64_t seed = kLevelSeed, first = 0, count = 1;
  std::string bytes, as = "text";
};

[[noreturn]] void refuse(const char* operation, const char* argument, const std::string& value,
                         const char* reason) {
  throw Error(ErrorKind::InvalidArgument, {.operation = operation,
                                           .argument = argument,
                                           .value = value,
                                           .reason = reason,
                                           .member = {},
                                           .row = {}});
}

std::string content_of(const char* operation, const char* argument, const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed) || failed)
    refuse(operation, argument, path, "no such file");
  if (std::filesystem::file_size(path, failed) > kLargestFile || failed)
    refuse(operation, argument, path, "larger than 64 MiB");
  std::ifstream stream(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) refuse(operation, argument, path, "cannot be read");
  return content;
}

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// A case in any form.
Case read_case(const std::string& text) {
  if (text.starts_with("LPC")) return read_case_bytes(bytes_of(text));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{' ? read_case_json(text) : read_case_text(text);
}

/// The words of a case of any version (which of them are known is for the reader to say), or JSON.
bool is_written(std::string_view what) {
  const std::size_t end = what.find_first_not_of("0123456789", 4);
  return what.starts_with('{') || (what.starts_with("case") && end != what.npos && end > 4 &&
                                   std::isspace(static_cast<unsigned char>(what[end])) != 0);
}

/// A written case, or a file that holds one.
Case case_of(const std::string& what) {
  if (is_written(what)) return read_case(what);
  return read_case(content_of("replay", "CASE", what));
}

std::string in_form(const Case& question, const std::string& as, const Backend& reference,
                    const std::string& backend, std::optional<Change> after) {
  if (as == "text") return write_case_text(question) + "\n";
  if (as == "json") return write_case_json(question) + "\n";
  if (as == "test") return google_test(question, backend, after);
  if (as == "vector") return write_vector(question, reference) + "\n";
  const auto bytes = write_case_bytes(question);
  return {bytes.begin(), bytes.end()};
}

/// What came of one backend, and whether it passes.
struct Result {
  std::string backend;
  Verdict verdict;
  std::optional<Smallest> smallest;
  bool passes = false;
};

Result replayed(const Case& question, const Backend& reference, const Backend& backend,
                const ReplayOptions& options) {
  const std::optional<Change> after = parse_change(options.after);
  Result result{std::string(backend.name()),
                judge(question, reference, AfterAnother(backend, after)),
                {},
                false};
  const Verdict& verdict = result.verdict;
  result.passes = verdict.ok() || (verdict.outcome == Outcome::NotImplemented &&
                                   is_stated_limit(backend.name(), {verdict.reason}));
  if (options.shrink && verdict.outcome == Outcome::Different)
    result.smallest = smallest_of(question, reference, backend, options.tries, after);
  return result;
}

void print(const Result& result, bool shrinks) {
  fmt::print("{}: {}", result.backend, text_verdict(result.verdict));
  if (shrinks && !result.smallest && result.verdict.outcome == Outcome::Different)
    fmt::print("\nno smaller one was sought: {}\n", kDidNotComeAgain);
  if (!result.smallest) return;
  const Smallest& s = *result.smallest;
  fmt::print("\nsmallest ({} tries{}):\n{}\n{}: {}\nreplay: {}\n\n{}\n{}\n", s.tries,
             s.finished ? "" : ", and there may be a smaller one", s.text, result.backend,
             text_verdict(s.verdict), s.replay, s.test, s.vector);
}

nlohmann::ordered_json json_of(const Result& result) {
  nlohmann::ordered_json json{{"backend", result.backend},
                              {"verdict", nlohmann::json::parse(json_verdict(result.verdict))},
                              {"smallest", nullptr}};
  if (const auto& s = result.smallest)
    json["smallest"] = {{"case", s->text},
                        {"replay", s->replay},
                        {"test", s->test},
                        {"vector", s->vector},
                        {"verdict", nlohmann::json::parse(json_verdict(s->verdict))},
                        {"tries", s->tries},
                        {"finished", s->finished}};
  return json;
}

int replay(const ReplayOptions& options) {
  const Case question = case_of(options.what);
  const std::optional<Change> after = parse_change(options.after);
  if (after && !has(question, *after))
    refuse("replay", "--after", options.after, "the case has none of it that could be changed");
  const auto reference = make_backend("reference");
  const auto names = options.backends.names.empty() ? default_backends() : options.backends.names;
  if (!options.as.empty()) {
    std::cout << in_form(question, options.as, *reference, names.front(), after);
    return kEqual;
  }
  check_memory(question, "reference");
  bool passes = true;
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const std::string& name : names) {
    const Result result =
        replayed(question, *reference, *options.backends.make_judged(name, kCells), options);
    passes = passes && result.passes;
    if (options.json)
      results.push_back(json_of(result));
    else
      print(result, options.shrink);
  }
  if (options.json) std::cout << results.dump(2) << "\n";
  return passes ? kEqual : kDifferent;
}

int cases(const CasesOptions& options) {
  const auto ops = options.ops.empty() ? generated_ops() : parse_ops(options.ops);
  const auto write = [&](const Case& c) {
    std::cout << (options.as == "json" ? write_case_json(c) : write_case_text(c)) << "\n";
  };
  for (const Op op : ops) {
    if (!options.bytes.empty()) {
      const std::string content = content_of("cases", "--bytes", options.bytes);
      write(generate(op, bytes_of(content)));
      continue;
    }
    for (std::uint64_t i = 0; i < options.count && std::cout; ++i)
      write(generate(op, options.seed, options.first + i));
  }
  return kEqual;
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand("replay", "judge one written case on any backend");
  command->description(
      "Judges one case (docs/case-format.md) against the reference, as `verify` would. Fails when "
      "an answer differs or is not implemented (a box that is too large for brute_force is its "
      "stated limit).");
  command
      ->add_option("CASE", options->what,
                   "the case as text (\"case1 ...\") or JSON, or a file that holds it as text, "
                   "JSON or bytes")
      ->required();
  options->backends.add_to(*command, "judge", default_backends());
  command->add_flag("--shrink", options->shrink,
                    "make what differs as small as it goes, and print it as a case, a replay, a "
                    "GoogleTest and a vector");
  command->add_option("--tries", options->tries, "cases that --shrink may judge (4000)")
      ->check(integer<std::int64_t>(1));
  command
      ->add_option("--as", options->as,
                   "judge nothing; write the case as text, json, bytes, a GoogleTest (test) or a "
                   "vector with the reference's answer (vector)")
      ->check(CLI::IsMember({"text", "json", "bytes", "test", "vector"}));
  std::vector<std::string> things;
  for (const Change change : changes()) things.emplace_back(to_string(change));
  command
      ->add_option("--after", options->after,
                   fmt::format("ask the same case with another such thing right before, for a "
                               "backend that keeps plans or buffers: {}",
                               fmt::join(things, ", ")))
      ->check(CLI::IsMember(things));
  command->add_flag("--json", options->json, "print verdicts as JSON");
  command->footer(
      "\nExamples:\n"
      "  leafproof replay 'case1 coarsen factor=2 source=[-1,0,0]' --backend host-mask\n"
      "  leafproof replay failing.json --backend host --shrink\n"
      "  leafproof replay failing.case --as json");
  command->callback([options, &exit_code] { exit_code = replay(*options); });

  auto made = std::make_shared<CasesOptions>();
  CLI::App* list = app.add_subcommand("cases", "print generated cases, one a line");
  list->description(
      "Prints the cases that `verify` judges under a seed, or the one that the bytes of a file "
      "choose, as text or as JSON (docs/case-format.md): for programs in other languages.");
  list->add_option("--ops", made->ops, "operations, separated by commas (all of them)")
      ->delimiter(',')
      ->allow_extra_args(false);
  list->add_option("--seed", made->seed, fmt::format("of the cases ({})", made->seed))
      ->check(integer<std::uint64_t>(0));
  list->add_option("--first", made->first, "number of the first case (0)")
      ->check(integer<std::uint64_t>(0));
  list->add_option("--count", made->count, "cases of each operation (1)")
      ->check(integer<std::uint64_t>(1));
  list->add_option("--bytes", made->bytes, "a file whose bytes are the choices, instead of a seed");
  list->add_option("--as", made->as, "text or json (text)")->check(CLI::IsMember({"text", "json"}));
  list->footer(
      "\nExample:\n"
      "  leafproof cases --ops refine --seed 7 --count 100 --as json | python3 my_check.py");
  list->callback([made, &exit_code] { exit_code = cases(*made); });
}

}  // namespace leafproof::oracle::cli
