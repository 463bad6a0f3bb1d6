// `leafproof gen | yours | leafproof ver`: cases as lines, answers as lines
// (docs/answer-format.md).
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <thread>

#include "oracle/answer_stream.h"
#include "oracle/answer_text.h"
#include "oracle/case_text.h"
#include "oracle/cli/commands.h"
#include "oracle/cli/operation.h"
#include "oracle/cli/terminal.h"
#include "oracle/generate.h"
#include "oracle/input/answer_files.h"
#include "oracle/input/atomic_file.h"
#include "oracle/smallest.h"
#include "oracle/verify.h"

namespace leafproof::oracle::cli {
namespace {

/// Which cases: the same words at both ends of the pipe, and for `verify`.
struct Choice {
  std::vector<std::string> ops;
  int level = 2;
  std::uint64_t seed = kLevelSeed;
  std::int64_t only_case = -1, count = -1;

  void add_to(CLI::App& command) {
    command.add_option("--ops", ops, "operations, separated by commas (all of them)")
        ->delimiter(',')
        ->allow_extra_args(false);
    command.add_option("--level", level, "1, 2 or 3: how many cases, as of `verify` (2)")
        ->check(integer<int>(1, 3));
    command.add_option("--seed", seed, fmt::format("of the cases ({})", seed))
        ->check(integer<std::uint64_t>(0));
    command.add_option("--case", only_case, "this generated case alone, of each operation")
        ->check(integer<std::int64_t>(0));
    command
        .add_option("--count", count, "so many of each operation, instead of the level's number")
        ->check(integer<std::int64_t>(1));
  }
  VerifyOptions options() const {
    VerifyOptions chosen;
    chosen.ops = ops.empty() ? generated_ops() : parse_ops(ops);
    chosen.level = level;
    chosen.seed = seed;
    if (only_case >= 0) chosen.only_case = static_cast<std::uint64_t>(only_case);
    if (count > 0) chosen.cases = count;
    return chosen;
  }
  std::string words(Op op, std::uint64_t number) const {
    return fmt::format("--ops {} --seed {} --case {}", to_string(op), seed, number);
  }
};

int gen(const Choice& choice) {
  const VerifyOptions options = choice.options();
  for (const SweepCase& c : cases_of_sweep(options)) {
    if (!std::cout) break;
    std::cout << c.place << ' ' << write_case_text(generate(c.op, options.seed, c.number)) << '\n';
  }
  return kEqual;
}

struct VerOptions {
  Choice choice;
  std::filesystem::path cases, skips, report;
  bool json = false;
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
};

[[noreturn]] void refuse_line(const std::filesystem::path& file, std::size_t line,
                              std::string_view value, std::string reason) {
  throw Error(ErrorKind::Corrupt, {.operation = "read cases",
                                   .argument = fmt::format("{}, line {}", file.string(), line),
                                   .value = std::string(value.substr(0, 60)),
                                   .reason = std::move(reason),
                                   .member = {},
                                   .row = {}});
}

/// The cases of a file of lines, with ids made of their numbers; and the numbers.
std::vector<Case> read_cases(const std::filesystem::path& file, std::vector<Awaited>& awaited) {
  const FileBytes bytes = read_file({"read cases", file});
  std::vector<Case> cases;
  std::set<std::uint64_t> numbers;
  std::string_view rest = as_text(bytes.bytes);
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    Awaited one;
    const auto [stop, wrong] = std::from_chars(line.data(), line.data() + line.size(), one.number);
    if (wrong != std::errc{})
      refuse_line(file, number, line, "must be the number of a case, and a case");
    one.id = fmt::format("case {} of {}", one.number, file.filename().string());
    try {
      cases.push_back(read_case_text(line.substr(static_cast<std::size_t>(stop - line.data()))));
    } catch (const Error& error) {
      refuse_line(file, number, error.detail().value,
                  fmt::format("{}: {}", error.detail().argument, error.detail().reason));
    }
    if (!numbers.insert(one.number).second)
      refuse_line(file, number, line.substr(0, 20), "has the number of another case");
    cases.back().id = one.id;
    awaited.push_back(std::move(one));
  }
  return cases;
}

int ver(const VerOptions& options) {
  check_reports("ver", {options.report}, {options.cases, options.skips});
  VerifyOptions verify_options = options.choice.options();
  verify_options.threads = options.threads;
  verify_options.shrink_tries = 0;  // who answers is not asked again
  if (!options.skips.empty()) {
    const FileBytes bytes = read_file({"read skips", options.skips});
    verify_options.skips = read_skips(as_text(bytes.bytes), options.skips.string());
  }
  verify_options.sequences = false;  // the answers were given before
  std::vector<Awaited> awaited;
  if (!options.cases.empty()) {
    verify_options.listed = read_cases(options.cases, awaited);
    verify_options.listed_name = options.cases.filename().string();
    verify_options.ops.clear();
    for (const Case& c : verify_options.listed)
      if (std::find(verify_options.ops.begin(), verify_options.ops.end(), c.op) ==
          verify_options.ops.end())
        verify_options.ops.push_back(c.op);
    verify_options.only_case = {};
    verify_options.replay = [](const Case& c, std::uint64_t) { return replay_line(c, "YOURS"); };
  } else {
    for (const SweepCase& c : cases_of_sweep(verify_options))
      awaited.push_back({c.place, case_id(c.op, verify_options.seed, c.number)});
    verify_options.replay = [&](const Case& c, std::uint64_t number) {
      const std::string words = options.choice.words(c.op, number);
      return fmt::format("leafproof gen {} | YOURS | leafproof ver {}", words, words);
    };
  }
  const auto reference = make_backend("reference");
  AnswerStream answers(std::cin, awaited, answer_files());
  Progress progress("ver");
  verify_options.progress = [&](std::int64_t done, std::int64_t total) {
    progress.show(done, total);
  };
  Verification verification = verify(*reference, {&answers}, {}, verify_options);
  progress.clear();
  Report& report = verification.report;
  report.command = options.cases.empty() ? fmt::format("leafproof ver --seed {} --level {}",
                                                       options.choice.seed, options.choice.level)
                                         : "leafproof ver --cases " + options.cases.string();
  report.version = LEAFPROOF_VERSION;
  for (const std::string& fault : answers.rest()) {
    report.notes.push_back("FAILED: the answers, " + fault);
    verification.ok = false;
  }
  if (!options.report.empty()) {
    report.html_path = options.report.string();
    write_file({"write report", options.report}, html_report(report));
  }
  std::cout << (options.json ? json_report(report) : text_report(report, terminal_width()));
  return verification.ok ? kEqual : kDifferent;
}

}  // namespace

void add_pipe(CLI::App& app, int& exit_code) {
  auto choice = std::make_shared<Choice>();
  CLI::App* command = app.add_subcommand("gen", "print the cases of a sweep, one a line");
  command->description(
      "Prints the cases that `verify` judges, each with its number, for a program that answers "
      "them (docs/answer-format.md); `ver` with the same options judges the answers.");
  choice->add_to(*command);
  command->footer(
      "\nExample:\n"
      "  leafproof gen --level 1 | python3 mine.py | leafproof ver --level 1");
  command->callback([choice, &exit_code] { exit_code = gen(*choice); });

  auto options = std::make_shared<VerOptions>();
  command = app.add_subcommand("ver", "judge answers that come as lines on stdin");
  command->description(
      "Reads answers from stdin, a line for each case of `gen` with the same options, in order, "
      "and "
      "judges them against the reference as `verify` does. Fails for every answer that is cut "
      "short, malformed, out of its place or not there. Case lines that are echoed are checked.");
  options->choice.add_to(*command);
  command->add_option("--cases", options->cases,
                      "a file of case lines to judge by, instead of generated ones");
  command->add_option("--skips", options->skips,
                      "a file of what may be not implemented: OP REASON on each line");
  command->add_option("--report", options->report, "write the report as one HTML page");
  command->add_flag("--json", options->json, "print the report as JSON");
  command->add_option("--threads,-j,--jobs", options->threads, "answers judged at once")
      ->check(integer<int>(1));
  command->footer(
      "\nExamples:\n"
      "  leafproof gen --ops refine --seed 7 | ./mine | leafproof ver --ops refine --seed 7\n"
      "  leafproof gen >cases.txt; ./mine <cases.txt | leafproof ver --cases cases.txt");
  command->callback([options, &exit_code] { exit_code = ver(*options); });
}

}  // namespace leafproof::oracle::cli
