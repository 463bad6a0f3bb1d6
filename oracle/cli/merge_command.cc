// `leafproof merge`: the results of the parts of a sweep (`verify --shard i/n --result FILE`) as
// the report of the whole. And how `verify` keeps such a result, and goes on with one.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "oracle/cli/commands.h"
#include "oracle/cli/operation.h"
#include "oracle/cli/terminal.h"
#include "oracle/input/atomic_file.h"
#include "oracle/report.h"
#include "oracle/tally.h"

namespace leafproof::oracle::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> files;
  std::filesystem::path report, junit;
  bool json = false;
};

Tally tally_in(const char* operation, const std::filesystem::path& file) {
  const FileBytes content = read_file({operation, file});
  return read_tally(as_text(content.bytes), plain(file.string()));
}

int merge(const Options& options) {
  check_reports("merge", {options.report, options.junit}, options.files);
  std::vector<Tally> parts;
  for (const auto& file : options.files) parts.push_back(tally_in("merge", file));
  return publish(conclude(merged(std::move(parts))), options.report, options.junit, options.json,
                 "");
}

}  // namespace

Verification verify_into(const std::filesystem::path& file, const Backend& reference,
                         const std::vector<const Backend*>& backends,
                         const std::vector<Scene>& scenes, const VerifyOptions& options) {
  std::optional<Tally> before;
  if (std::filesystem::exists(file)) before = tally_in("verify", file);
  if (before && before->complete())
    say(fmt::format("{} is complete: nothing is judged again", plain(file.string())));
  else if (before)
    say(fmt::format("{}: {} of {} cases are done, going on", plain(file.string()), before->done,
                    before->items));
  return conclude(judge_part(
      reference, backends, scenes, options, std::move(before),
      [&](const Tally& tally) { write_file({"write result", file}, write_tally(tally)); }));
}

void write_reports(Verification& verification, const std::filesystem::path& html,
                   const std::filesystem::path& junit, const std::string& shard) {
  Report& report = verification.report;
  report.command = fmt::format("leafproof verify --seed {} --level {}", report.seed, report.level);
  if (!shard.empty()) report.command += " --shard " + shard;
  if (!html.empty()) {
    report.html_path = html.string();
    write_file({"write report", html}, html_report(report));
  }
  if (!junit.empty())
    write_file({"write report", junit}, junit_report(report, verification.faults));
}

int publish(Verification verification, const std::filesystem::path& html,
            const std::filesystem::path& junit, bool json, const std::string& shard) {
  write_reports(verification, html, junit, shard);
  const Report& report = verification.report;
  std::cout << (json ? json_report(report) : text_report(report, terminal_width()));
  return verification.ok ? kEqual : kDifferent;
}

void add_merge(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("merge", "one report from the results of all parts of a sweep");
  command->description(
      "Reads the results that `verify --shard i/n --result FILE` wrote, one of each part of one "
      "sweep in any order, and prints the report that one process would have printed, with its "
      "exit code. Refused: a part that is missing or given twice, parts of different sweeps.");
  command->add_option("FILES", options->files, "the results of all parts")->required();
  command->add_option("--report", options->report, "write the report as one HTML page");
  command->add_option("--junit", options->junit, "write the report as JUnit's XML, for CI systems");
  command->add_flag("--json", options->json, "print the report as JSON");
  command->footer(
      "\nExample, of three machines:\n"
      "  leafproof verify --level 3 --shard 1/3 --result part1.json     (and 2/3, 3/3)\n"
      "  leafproof merge part1.json part2.json part3.json --report report.html");
  command->callback([options, &exit_code] { exit_code = merge(*options); });
}

}  // namespace leafproof::oracle::cli
