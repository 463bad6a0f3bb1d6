// `./leafproof selftest`: plants every fault, and says what killed it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "oracle/case_text.h"
#include "oracle/cli/commands.h"
#include "oracle/cli/terminal.h"
#include "oracle/report.h"
#include "tests/faults/selftest.h"

namespace {

using namespace leafproof;
using namespace leafproof::faults;
using nlohmann::ordered_json;
namespace cli = oracle::cli;

constexpr int kKilled = 0, kSurvived = 1, kBadInput = 2;

constexpr const char* kFooter = R"(
Examples:
  leafproof selftest                       every fault; 1 when one survives
  leafproof selftest --fault half-map      one: its verdict, its smallest case, how to replay it
  leafproof selftest --fault cache-key     all of its variants
  leafproof selftest --healthy 100000      nothing is planted, and nothing may be reported

Exit codes: 0 all killed, or nothing reported; 1 one survived, or a false alarm; 2 usage.)";

struct Options : SelftestOptions {
  std::string fault, written;
  std::int64_t healthy = 0;
  bool json = false, list = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string clause_and(const Kill& kill) {
  return fmt::format("[{}] {}", kill.clause, kill.by);
}

std::string replay_of(const Outcome& outcome) {
  return fmt::format("leafproof selftest --fault {} --case '{}'", outcome.planted->name(),
                     outcome.text);
}

ordered_json json_of(const Outcome& o) {
  ordered_json j{{"id", o.planted->id},           {"variant", o.planted->variant},
                 {"broken", o.planted->broken},   {"mechanism", o.planted->mechanism},
                 {"killed", o.kill.has_value()},  {"cases", o.cases},
                 {"milliseconds", o.milliseconds}};
  if (!o.kill) return j;
  j["operation"] = to_string(o.question.op);
  j["clause"] = o.kill->clause;
  j["by"] = o.kill->by;
  j["generated"] = o.generated;
  j["voxels"] = voxels_in(o.question);
  j["shrunk"] = {
      {"voxels", voxels_in(*o.shrunk)}, {"case", o.text}, {"killed", o.of_shrunk.has_value()}};
  return j;
}

void print_table(const std::vector<Outcome>& outcomes) {
  fmt::print("{:<28} {:<18} {:<38} {:>6} {:>8} {:>15}\n", "fault", "operation", "killed by",
             "cases", "ms", "voxels shrunk");
  for (const Outcome& o : outcomes) {
    if (!o.kill) {
      fmt::print("{:<28} {:<18} {:<38} {:>6} {:>8.0f}\n", o.planted->name(), "-", "SURVIVED",
                 o.cases, o.milliseconds);
      continue;
    }
    std::string by = o.planted->mechanism == "answers"
                         ? clause_and(*o.kill)
                         : fmt::format("{}: {}", o.planted->mechanism, clause_and(*o.kill));
    if (by.size() > 38) by = by.substr(0, 35) + "...";
    fmt::print("{:<28} {:<18} {:<38} {:>6} {:>8.0f} {:>8} -> {:>3}{}\n", o.planted->name(),
               to_string(o.question.op).substr(0, 18), by, o.cases, o.milliseconds,
               voxels_in(o.question), voxels_in(*o.shrunk),
               o.of_shrunk ? "" : "  THE REPLAY PASSES");
  }
}

/// One fault in full.
void print_one(const Outcome& o) {
  fmt::print("{}: {}\n", o.planted->name(), o.planted->broken);
  if (!o.kill) return fmt::print("  survived {} cases\n\n", o.cases);
  fmt::print("  killed by {} ({}) in case {}, {}\n", clause_and(*o.kill), o.planted->mechanism,
             o.cases, o.generated);
  if (!o.of_shrunk) return fmt::print("  but its smallest case passes when it is read again\n\n");
  fmt::print("  smallest case: {}\n\n", clause_and(*o.of_shrunk));
  if (o.of_shrunk->verdict) fmt::print("{}\n", oracle::text_verdict(*o.of_shrunk->verdict));
  fmt::print("  replay: {}\n\n", replay_of(o));
}

std::vector<const Planted*> chosen(const Options& options) {
  std::vector<const Planted*> all;
  for (const Planted& each : planted())
    if (options.fault.empty() || options.fault == each.id || options.fault == each.name())
      all.push_back(&each);
  return all;
}

int run_written(const Options& options, const std::vector<const Planted*>& faults) {
  const oracle::Case question = oracle::read_case_text(options.written);
  bool killed = true;
  for (const Planted* each : faults) {
    const auto kill = each->ask(question, each->fault);
    killed = killed && kill;
    fmt::print("{}: {}\n", each->name(), kill ? "killed by " + clause_and(*kill) : "it passes");
    if (kill && kill->verdict) fmt::print("{}\n", oracle::text_verdict(*kill->verdict));
  }
  return killed ? kKilled : kSurvived;
}

int run_all(const Options& options, const std::vector<const Planted*>& faults) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Outcome> outcomes = run_faults(faults, options);
  const double seconds = seconds_since(start);
  std::vector<std::string> survivors;
  for (const Outcome& o : outcomes)
    if (!o.ok()) survivors.push_back(o.planted->name());
  if (options.json) {
    ordered_json j{
        {"format", "leafproof-selftest"}, {"version", 1},       {"seed", options.seed},
        {"cases", options.cases},         {"seconds", seconds}, {"survivors", survivors}};
    for (const Outcome& o : outcomes) j["faults"].push_back(json_of(o));
    fmt::print("{}\n", j.dump(2));
    return survivors.empty() ? kKilled : kSurvived;
  }
  if (options.fault.empty())
    print_table(outcomes);
  else
    for (const Outcome& o : outcomes) print_one(o);
  fmt::print("{} of {} faults killed, and again by their smallest cases; seed {}; {:.1f} s\n",
             outcomes.size() - survivors.size(), outcomes.size(), options.seed, seconds);
  for (const std::string& name : survivors) fmt::print("SURVIVED: {}\n", name);
  return survivors.empty() ? kKilled : kSurvived;
}

int run_quiet(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<FalseAlarm> alarms = run_healthy(options.healthy, options);
  const double seconds = seconds_since(start);
  if (options.json) {
    ordered_json j{{"format", "leafproof-selftest-healthy"},
                   {"version", 1},
                   {"seed", options.seed},
                   {"cases", options.healthy},
                   {"seconds", seconds},
                   {"alarms", ordered_json::array()}};
    for (const FalseAlarm& a : alarms)
      j["alarms"].push_back({{"who", a.who},
                             {"generated", a.generated},
                             {"clause", a.kill.clause},
                             {"by", a.kill.by}});
    fmt::print("{}\n", j.dump(2));
  } else {
    for (const FalseAlarm& a : alarms)
      fmt::print("FALSE ALARM: {} on {}: {}\n", a.who, a.generated, clause_and(a.kill));
    fmt::print("{} healthy cases: {}; seed {}; {:.1f} s\n", options.healthy,
               alarms.empty() ? "nothing reported" : fmt::format("{} reported", alarms.size()),
               options.seed, seconds);
  }
  return alarms.empty() ? kKilled : kSurvived;
}

int run(Options options) {
  cli::Progress progress("selftest");
  options.progress = [&](std::int64_t done, std::int64_t total) { progress.show(done, total); };
  if (options.healthy > 0) return run_quiet(options);
  const auto faults = chosen(options);
  if (faults.empty()) {
    cli::say(
        fmt::format("there is no fault '{}' (see `leafproof selftest --list`)", options.fault));
    return kBadInput;
  }
  if (options.list) {
    for (const Planted* each : faults)
      fmt::print("{:<28} {} ({})\n", each->name(), each->broken, each->mechanism);
    return kKilled;
  }
  if (!options.written.empty()) return run_written(options, faults);
  return run_all(options, faults);
}

}  // namespace

int main(int argc, char** argv) {
  cli::guard_standard_files();
  Options options;
  CLI::App app{
      "Tests the harness itself: plants faults that really happened, one at a time, into a second "
      "implementation or into small passes on the executors, and demands that generated cases "
      "kill each, that its case shrinks, and that the smallest case kills it again."};
  app.name("leafproof selftest");
  app.footer(kFooter);
  const int processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.jobs = std::min(processors, 64);
  app.add_option("--fault", options.fault, "one fault alone, in full: its id, or id/variant");
  app.add_option("--case", options.written, "judge this written case on --fault")->needs("--fault");
  app.add_flag("--list", options.list, "what is planted, and what kills it");
  app.add_option("--healthy", options.healthy,
                 "plant nothing, and ask this many generated cases of everything that is healthy")
      ->check(cli::integer<std::int64_t>(1))
      ->excludes("--fault");
  app.add_option("--seed", options.seed, "of the generated cases")->capture_default_str();
  app.add_option("--cases", options.cases, "generated cases before a fault has survived")
      ->check(cli::integer<std::int64_t>(1))
      ->capture_default_str();
  app.add_option("--tries", options.tries, "cases that the shrinker may ask")
      ->check(cli::integer<std::int64_t>(0))
      ->capture_default_str();
  app.add_option("--jobs", options.jobs, "threads")
      ->check(cli::integer(1, 256))
      ->capture_default_str();
  app.add_flag("--json", options.json, "for machines; the keys are in tests/faults/README.md");
  try {
    app.parse(argc, argv);
    const int code = run(options);
    return std::fflush(stdout) == 0 ? code : kBadInput;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kKilled : kBadInput;
  } catch (const oracle::Error& error) {
    cli::say(error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    cli::say(fmt::format("this is a fault of leafproof itself: {}", error.what()));
    return kBadInput;
  }
}
