// `leafproof verify`: the main job. Every backend on every pass, generated cases and real input.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "oracle/backends/library.h"
#include "oracle/cli/commands.h"
#include "oracle/cli/operation.h"
#include "oracle/cli/terminal.h"
#include "oracle/input/atomic_file.h"
#include "oracle/input/input.h"
#include "oracle/report_parts.h"
#include "oracle/statement.h"
#include "oracle/throughput.h"
#include "oracle/verify.h"

namespace leafproof::oracle::cli {
namespace {

struct Options {
  BackendsOption backends;
  std::vector<std::string> ops, skips;
  std::filesystem::path skips_file;
  int level = 2;
  std::uint64_t seed = kLevelSeed;
  std::int64_t only_case = -1;
  std::vector<std::filesystem::path> inputs;
  InputOptions input;
  std::filesystem::path report, junit, result;
  bool json = false, throughput = false, statement = false, fail_fast = false;
  std::filesystem::path vectors;  // of the statement
  std::string shard;
  double seconds = 0;
  std::int64_t tries = 1500;
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
};

[[noreturn]] void refuse(const char* argument, std::string value, const char* reason) {
  throw Error(ErrorKind::InvalidArgument, {.operation = "verify",
                                           .argument = argument,
                                           .value = std::move(value),
                                           .reason = reason,
                                           .member = {},
                                           .row = {}});
}

/// "2/8"; the whole sweep where nothing is given.
VerifyOptions::Shard parse_shard(const std::string& text) {
  VerifyOptions::Shard shard;
  if (text.empty()) return shard;
  const char* const end = text.data() + text.size();
  auto [at, failed] = std::from_chars(text.data(), end, shard.part);
  bool good = failed == std::errc{} && at != end && *at == '/';
  if (good) {
    const auto [stop, wrong] = std::from_chars(at + 1, end, shard.parts);
    good = wrong == std::errc{} && stop == end && 1 <= shard.part && shard.part <= shard.parts;
  }
  if (!good) refuse("--shard", text, "must be i/n, a part i of n, from 1 on");
  return shard;
}

std::vector<Skip> skips_in(const std::filesystem::path& file) {
  if (file.empty()) return {};
  const FileBytes bytes = read_file({"read skips", file});
  return read_skips(as_text(bytes.bytes), file.string());
}

/// What has real input read again as it was read now.
std::string replay_of_input(const Options& options) {
  if (options.inputs.empty()) return {};
  std::vector<std::string> words;
  for (const auto& file : options.inputs) words.push_back("--input " + shell_word(file.string()));
  if (options.input.voxel_size > 0)
    words.push_back(fmt::format("--voxel-size {}", options.input.voxel_size));
  else if (options.input.resolution != InputOptions().resolution)
    words.push_back(fmt::format("--resolution {}", options.input.resolution));
  return fmt::format("{}", fmt::join(words, " "));
}

/// The batches on which every pass runs. What is absent goes to `notes`.
std::vector<Scene> scenes_of(const Options& options, std::vector<std::string>& notes) {
  Input input = options.inputs.empty() ? real_scene() : read_input(options.inputs, options.input);
  notes.insert(notes.end(), input.notes.begin(), input.notes.end());
  if (input.batch.size() == 0) {
    notes.push_back("NOT TESTED: real input; there is none (name files with --input)");
    return {};
  }
  std::uint64_t voxels = 0;
  for (const auto& member : input.batch.members) voxels += member.size();
  Scene scene;
  scene.name = options.inputs.empty() ? "meshes" : options.inputs.front().filename().string();
  if (options.inputs.size() > 1)
    scene.name += fmt::format(" and {} more", options.inputs.size() - 1);
  scene.replay = replay_of_input(options);
  Case built;  // its own size is checked here; each pass on it takes a few times that
  built.id = scene.name;
  built.source = std::move(input.batch);
  check_memory(built, "reference");
  scene.batch = std::move(built.source);
  notes.push_back(fmt::format("real input \"{}\": {}, {}", scene.name,
                              counted(scene.batch.size(), "member"), counted(voxels, "voxel")));
  Scene crop = cropped(scene, 24);
  crop.asks = [](std::string_view backend) { return backend == "brute_force"; };
  scene.asks = [](std::string_view backend) { return backend != "brute_force"; };
  notes.push_back(fmt::format(
      "\"{}\": a window of 24 voxels of each member, for brute_force; the others have them whole",
      crop.name));
  return {std::move(scene), std::move(crop)};
}

/// How fast the harness itself is; judges nothing else.
int throughput(const Options& options) {
  const auto reference = make_backend("reference");
  const double seconds = options.seconds > 0 ? options.seconds : 5;
  for (const std::string& name :
       options.backends.names.empty() ? std::vector<std::string>{"host"} : options.backends.names) {
    const auto backend = options.backends.make(name);
    std::vector<Throughput> measured;
    for (const Mix mix : {Mix::OneTile, Mix::EightTiles})
      measured.push_back(measure_throughput(mix, *reference, *backend, seconds, options.threads));
    std::cout << text_throughput(measured, name);
  }
  return kEqual;
}

/// What made this sweep another one than the level's own.
std::vector<std::string> narrowed(const Options& options) {
  std::vector<std::string> reasons;
  const auto note = [&](bool given, std::string text) {
    if (given) reasons.push_back(std::move(text));
  };
  note(options.level == 0, "--level 0");
  note(!options.ops.empty(), fmt::format("--ops {}", fmt::join(options.ops, ",")));
  note(options.seed != kLevelSeed, fmt::format("--seed {}", options.seed));
  note(options.only_case >= 0, fmt::format("--case {}", options.only_case));
  note(!options.shard.empty(), "--shard " + options.shard);
  note(options.fail_fast, "--fail-fast");
  note(options.seconds > 0, fmt::format("--time {}", options.seconds));
  return reasons;
}

/// [2026-11-30] in UTC.
std::string today() {
  const std::chrono::year_month_day day{
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

/// Options that contradict each other. A statement is about one backend.
void check_options(const Options& options) {
  if (options.statement && options.backends.names.size() != 1)
    refuse("--statement", fmt::format("{}", options.backends.names.size()),
           "is about one backend: name it with --backend");
  if (options.statement && options.json)
    refuse("--json", "true", "a statement is text: leave out one of --json and --statement");
  if (options.fail_fast && !options.result.empty())
    refuse("--fail-fast", "true", "a part that is kept is run to its end: leave out --result");
  if (!options.statement && !options.vectors.empty())
    refuse("--vectors", options.vectors.string(),
           "is for --statement; `leafproof vectors` runs them by themselves");
}

/// Prints the statement; the exit code.
int state(const Options& options, const Verification& verification, const std::string& name,
          const Backend& backend) {
  StatementScope scope{.narrowed = narrowed(options),
                       .faults = verification.faults,
                       .vectors = {},
                       .date = today(),
                       .again = fmt::format("leafproof verify --backend '{}' --level {} --seed {}",
                                            name, options.level, options.seed)};
  if (!options.ops.empty()) scope.again += fmt::format(" --ops {}", fmt::join(options.ops, ","));
  for (const std::string& skip : options.skips) scope.again += " --skip " + skip;
  if (!options.skips_file.empty())
    scope.again += fmt::format(" --skips '{}'", options.skips_file.string());
  if (!options.vectors.empty()) {
    scope.again += fmt::format(" --vectors '{}'", options.vectors.string());
    scope.vectors.emplace();
    for (const auto& file : vector_files(options.vectors)) {
      const Tally tally = run_vectors(read_vectors(file), backend);
      scope.vectors->passed += tally.passed;
      scope.vectors->failed += tally.failed;
      scope.vectors->not_implemented += tally.not_implemented;
    }
  }
  scope.again += " --statement";
  std::cout << statement(verification.report, name, scope);
  return verification.ok && (!scope.vectors || scope.vectors->failed == 0) ? kEqual : kDifferent;
}

int run(const Options& options) {
  if (options.throughput) return throughput(options);
  check_options(options);
  std::vector<std::filesystem::path> read = options.inputs;
  read.insert(read.end(), {options.skips_file, options.vectors});
  check_reports("verify", {options.result, options.report, options.junit}, std::move(read));
  VerifyOptions verify_options;
  verify_options.ops = options.ops.empty() ? generated_ops() : parse_ops(options.ops);
  verify_options.level = options.level;
  verify_options.seed = options.seed;
  if (options.only_case >= 0)
    verify_options.only_case = static_cast<std::uint64_t>(options.only_case);
  verify_options.skips = options.backends.skips(
      options.skips, [](const std::string& op) { return parse_ops({op}).front(); });
  const auto listed = skips_in(options.skips_file);
  verify_options.skips.insert(verify_options.skips.end(), listed.begin(), listed.end());
  verify_options.threads = options.threads;
  verify_options.shrink_tries = options.tries;
  verify_options.fail_fast = options.fail_fast;
  verify_options.shard = parse_shard(options.shard);
  if (options.seconds > 0) verify_options.seconds = options.seconds;

  const auto reference = make_backend("reference");
  std::vector<std::unique_ptr<Backend>> made;
  std::vector<const Backend*> backends;
  const auto names = options.backends.names.empty() ? default_backends() : options.backends.names;
  const std::int64_t cells = std::int64_t{1} << (options.level <= 1   ? 20
                                                 : options.level == 2 ? 22
                                                                      : 24);
  for (const std::string& name : names) {
    made.push_back(options.backends.make_judged(name, cells));
    backends.push_back(made.back().get());
  }

  std::vector<std::string> notes;
  for (const auto& backend : made)
    if (names_library(std::string(backend->name())))
      notes.push_back(fmt::format("{} is \"{}\"", backend->name(), backend->description()));
  if (std::find(names.begin(), names.end(), "brute_force") != names.end())
    notes.push_back(
        fmt::format("brute_force is asked where the boxes of a case have at most {} cells", cells));
  std::vector<Scene> scenes;
  if (!verify_options.only_case) scenes = scenes_of(options, notes);
  for (const Skip& skip : listed)
    notes.push_back(fmt::format("SKIPPED where not implemented: {}{}: {}", to_string(skip.op),
                                skip.backend.empty() ? "" : " on " + skip.backend, skip.reason));
  for (const std::string& skip : options.skips)
    notes.push_back("SKIPPED on request where not implemented: " + skip);

  verify_options.version = LEAFPROOF_VERSION;
  verify_options.notes = std::move(notes);
  Progress progress("verify");
  verify_options.progress = [&](std::int64_t done, std::int64_t total) {
    progress.show(done, total);
  };
  Verification verification =
      options.result.empty()
          ? verify(*reference, backends, scenes, verify_options)
          : verify_into(options.result, *reference, backends, scenes, verify_options);
  progress.clear();
  if (options.statement) {
    write_reports(verification, options.report, options.junit, options.shard);
    return state(options, verification, names.front(), *backends.front());
  }
  return publish(std::move(verification), options.report, options.junit, options.json,
                 options.shard);
}

}  // namespace

std::vector<std::string> default_backends() {
  std::vector<std::string> names = backend_names();
  std::erase(names, "reference");
  std::erase(names, "host");
  std::erase(names, "strict");
  return names;
}

void add_verify(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("verify", "judge backends against the reference, and say what was tested");
  command->description(
      "Judges every backend on every pass, over seeded cases made to meet every boundary and over "
      "real input, against the reference: builders byte for byte, brute_force by layout. Fails "
      "when anything differs, was not implemented, was not reached or was left out. One limit is "
      "counted (n/i) and does not fail: brute_force answers only where the boxes of a case are "
      "small, and of the real input sees a window of each member.");
  options->backends.add_to(*command, "judge", default_backends());
  command->add_option("--ops", options->ops, "operations, separated by commas (all of them)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option(
      "--level", options->level,
      "1: some seconds; 2: a minute or two; 3: thorough, many minutes; 0: no generated "
      "cases, real input only (2). On our builders: a slow backend takes longer, most of it for "
      "the meshes, which --input FILE replaces");
  command->add_option("--seed", options->seed, fmt::format("of the cases ({})", options->seed))
      ->check(integer<std::uint64_t>(0));
  command->add_option("--case", options->only_case, "replay: this generated case alone")
      ->check(integer<std::int64_t>(0));
  command
      ->add_option("--input", options->inputs,
                   "files to use as real input instead of the installed meshes; may be repeated, "
                   "all files are one batch")
      ->allow_extra_args(false);
  add_input_options(*command, options->input);
  command
      ->add_option("--skip", options->skips,
                   "accept \"not implemented\" of OP, or of OP@BACKEND; may be repeated")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--skips", options->skips_file,
                      "a file of such, a line each, with reasons: OP [BACKEND] REASON; one that is "
                      "not needed fails, too");
  command->add_option("--report", options->report, "write the report as one HTML page");
  command->add_option("--junit", options->junit, "write the report as JUnit's XML, for CI systems");
  command->add_flag("--json", options->json, "print the report as JSON");
  command->add_flag("--statement", options->statement,
                    "print instead what a paper or a README may state of one backend");
  command->add_option("--vectors", options->vectors,
                      "a folder of known answers, run for the statement too");
  command->add_flag(
      "--throughput", options->throughput,
      "measure instead how many cases a second are judged, over a fixed mix (of host, "
      "5 s of each mix, or --time)");
  command->add_option("--shard", options->shard,
                      "i/n: of all cases the i-th of n parts, for n machines (all of them)");
  command->add_option(
      "--result", options->result,
      "keep in this file what is found, as it goes: a run that was stopped goes on from there, one "
      "that is complete is not judged again; the parts' files are for `leafproof merge`");
  command
      ->add_option("--time", options->seconds,
                   "begin no case after so many seconds; what was left out is said")
      ->check(CLI::PositiveNumber);
  command->add_flag("--fail-fast", options->fail_fast,
                    "begin no case after the first that differs; what was left out is said");
  command
      ->add_option("--tries", options->tries,
                   "cases that may be judged to make a row's first failure small; 0: it is shown "
                   "as it is (1500)")
      ->check(integer<std::int64_t>(0));
  command
      ->add_option("--threads,-j,--jobs", options->threads,
                   "cases judged at once, at most four per processor; changes no verdict (all "
                   "processors)")
      ->check(integer<int>(1));
  command->footer(
      "\nExamples:\n"
      "  leafproof verify --report report.html\n"
      "  leafproof verify --ops refine,coarsen --backend host-sort --level 3 --seed 7\n"
      "  leafproof verify --level 0 --input scan.ply --voxel-size 0.02\n"
      "  leafproof verify --backend 'python3 mine.py' --skips mine.skips --limit 30\n"
      "  leafproof verify --level 3 --shard 2/8 --result part2.json    (then `leafproof merge`)\n"
      "  leafproof verify --backend host-mask --vectors oracle/vectors --statement\n"
      "  leafproof verify --ops refine --seed 7 --case 41 --backend host-mask     (a replay)\n"
      "Of the first failure of a row the smallest case is printed, for `leafproof replay`.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace leafproof::oracle::cli
