// `leafproof vectors`: known answers, run on backends where they are in the format of [F], and by
// the dialect's own code where they are another library's; linted, generated, exported.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "oracle/cli/commands.h"
#include "oracle/cli/operation.h"
#include "oracle/cli/terminal.h"
#include "oracle/dialects/lint.h"
#include "oracle/dialects/vectors.h"
#include "oracle/input/atomic_file.h"
#include "oracle/report.h"
#include "oracle/vectors.h"
#include "oracle/verify.h"

namespace leafproof::oracle::cli {
namespace {

struct Options {
  std::filesystem::path folder;
  BackendsOption backends;
  std::vector<std::string> skips;
  std::optional<std::filesystem::path> since;
  bool json = false, lint = false;
};

struct Counts {
  Tally tally;
  std::int64_t unexcused = 0;  // not implemented, without leave
};

std::vector<std::string> known_ops() {
  std::vector<std::string> names;
  for (int op = 0; op <= static_cast<int>(Op::ConvolutionGradients); ++op)
    names.emplace_back(to_string(static_cast<Op>(op)));
  return names;
}

Op known_op(const std::string& name) {
  if (const auto op = parse_op(name)) return *op;
  throw Error(ErrorKind::InvalidArgument,
              {.operation = "vectors",
               .argument = "--skip",
               .value = name,
               .reason = fmt::format("must be one of {}", fmt::join(known_ops(), ", ")),
               .member = {},
               .row = {}});
}

std::string line_of(const Tally& tally) {
  return fmt::format("{} passed, {} failed, {} not implemented", tally.passed, tally.failed,
                     tally.not_implemented);
}

/// A file in the terms of another library, judged by that dialect's own code.
Tally run_dialect(const std::filesystem::path& file, std::string& name,
                  std::vector<std::string>& failures) {
  Tally tally;
  for (const auto& vector : dialects::read_dialect_vectors(file)) {
    name = vector.dialect;
    const std::string difference = dialects::difference(vector);
    ++(difference.empty() ? tally.passed : tally.failed);
    if (!difference.empty())
      failures.push_back(fmt::format("{} by the dialect\n  {}\n  {}", plain(vector.identity),
                                     plain(vector.comment), difference));
  }
  return tally;
}

int run(const Options& options) {
  const auto skips = options.backends.skips(options.skips, known_op);
  const auto all = vector_files(options.folder);
  std::vector<std::filesystem::path> files;  // those that backends are asked
  nlohmann::json document = nlohmann::json::array();
  std::vector<std::string> failures;
  Counts total;
  const auto count = [&](const std::string& name, const std::string& file, const Tally& tally) {
    if (options.json)
      document.push_back({{"backend", name},
                          {"file", file},
                          {"passed", tally.passed},
                          {"failed", tally.failed},
                          {"not_implemented", tally.not_implemented}});
    else
      fmt::print("{:<12} {:<26} {}\n", name, file, line_of(tally));
  };
  for (const auto& file : all) {
    if (!dialects::holds_dialect_vectors(file)) {
      files.push_back(file);
      continue;
    }
    std::string name = "dialect";
    const Tally tally = run_dialect(file, name, failures);
    count(name, plain(file.filename().string()), tally);
    total.tally.failed += tally.failed;
  }
  std::vector<std::vector<Vector>> vectors;
  for (const auto& file : files) vectors.push_back(read_vectors(file));
  for (const std::string& name : options.backends.names) {
    const auto backend = options.backends.make_judged(name, std::int64_t{1} << 24);
    Counts of_backend;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto excused = [&](const Vector& vector, const Verdict& verdict) {
        return is_stated_limit(name, NotImplemented{verdict.reason}) ||
               std::any_of(skips.begin(), skips.end(), [&](const Skip& skip) {
                 return skip.op == vector.question.op &&
                        (skip.backend.empty() || skip.backend == name);
               });
      };
      const Tally tally =
          run_vectors(vectors[i], *backend, [&](const Vector& vector, const Verdict& verdict) {
            if (verdict.outcome == Outcome::NotImplemented && !excused(vector, verdict))
              ++of_backend.unexcused;
            if (verdict.outcome == Outcome::Different)
              failures.push_back(fmt::format("{} on {}\n  {}\n{}", plain(vector.question.id), name,
                                             plain(vector.question.comment),
                                             text_verdict(verdict)));
          });
      count(name, plain(files[i].filename().string()), tally);
      of_backend.tally.passed += tally.passed;
      of_backend.tally.failed += tally.failed;
      of_backend.tally.not_implemented += tally.not_implemented;
    }
    if (!options.json && !files.empty())
      fmt::print("{:<12} {:<26} {}\n", name, "in total", line_of(of_backend.tally));
    total.tally.failed += of_backend.tally.failed;
    total.unexcused += of_backend.unexcused;
  }
  if (options.json)
    std::cout << nlohmann::json{{"results", document}, {"failures", failures}}.dump(2) << "\n";
  else
    for (std::size_t i = 0; i < std::min<std::size_t>(5, failures.size()); ++i)
      fmt::print("\n{}\n", failures[i]);
  if (total.unexcused > 0)
    say(fmt::format("{} not implemented without being told to skip them (--skip OP)",
                    total.unexcused));
  return total.tally.failed > 0 || total.unexcused > 0 ? kDifferent : kEqual;
}

int run_lint(const Options& options) {
  const dialects::LintReport report = dialects::lint(options.folder, options.since);
  std::size_t cases = 0;
  for (const auto& file : report.files) cases += file.cases;
  for (const auto& finding : report.findings) fmt::print("{}\n", plain(finding));
  fmt::print("{}, {}, {}\n", counted(report.files.size(), "file"), counted(cases, "case"),
             counted(report.findings.size(), "finding"));
  return report.findings.empty() ? kEqual : kDifferent;
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed || !std::filesystem::is_directory(folder))
    FileTask{"write vectors", folder}.refuse(ErrorKind::InvalidArgument,
                                             "is no folder to write to");
}

/// The generated files, as they stand in oracle/vectors.
int run_generate(const std::filesystem::path& folder) {
  auto files = dialects::generate_dialect_vectors();
  for (auto& file : dialects::generate_named_vectors(*make_backend("reference")))
    files.push_back(std::move(file));
  for (const auto& file : files) {
    const auto target = folder / file.name;
    make_folder(target.parent_path());
    write_file({"write vectors", target}, file.text);
  }
  fmt::print("{}: {}\n", plain(folder.string()), counted(files.size(), "file"));
  return kEqual;
}

/// A release: the files, their schemas and a manifest, in a folder of their own.
int run_export(const std::filesystem::path& from, const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  const dialects::LintReport report = dialects::lint(from);
  if (!report.findings.empty()) {
    for (const auto& finding : report.findings) say(finding);
    return kDifferent;
  }
  make_folder(folder);
  if (!fs::is_empty(folder))
    FileTask{"export vectors", folder}.refuse(ErrorKind::InvalidArgument,
                                              "must be an empty folder, or none");
  std::vector<std::string> names;
  for (const auto& file : report.files) names.push_back(file.name);
  std::error_code failed;
  for (fs::directory_iterator it(from / "schemas", failed), end; !failed && it != end;
       it.increment(failed))
    if (it->path().extension() == ".json")
      names.push_back("schemas/" + it->path().filename().string());
  for (const auto& name : names) {
    make_folder((folder / name).parent_path());
    const FileBytes bytes = read_file({"export vectors", from / name});
    write_file({"export vectors", folder / name}, as_text(bytes.bytes));
  }
  write_file({"export vectors", folder / "manifest.json"},
             dialects::manifest_text(report, LEAFPROOF_VERSION));
  fmt::print("{}: {} and a manifest\n", plain(folder.string()), counted(names.size(), "file"));
  return kEqual;
}

/// `vectors generate` and `vectors export`.
void add_writers(CLI::App& command, int& exit_code) {
  auto folder = std::make_shared<std::filesystem::path>();
  CLI::App* generate = command.add_subcommand("generate", "write the vectors that are generated");
  generate->description(
      "Writes the vectors that this program makes itself, dialects/*.json and named/*.json, into "
      "DIR: the same bytes as in oracle/vectors of the source tree.");
  generate->add_option("DIR", *folder, "the folder, made where it is not there")->required();
  generate->footer("\nExample:\n  leafproof vectors generate /tmp/vectors");
  generate->callback([folder, &exit_code] { exit_code = run_generate(*folder); });

  auto from = std::make_shared<std::filesystem::path>("oracle/vectors");
  CLI::App* release = command.add_subcommand("export", "write a release of the vectors");
  release->description(
      "Lints the vectors of --from and writes them, their schemas and a manifest (format, "
      "semantics_version, the size and the counts of every file) into DIR, which must be empty.");
  release->add_option("DIR", *folder, "the folder, made where it is not there")->required();
  release->add_option("--from", *from, "the folder of vectors (oracle/vectors)");
  release->footer("\nExample:\n  leafproof vectors export leafproof-vectors-1");
  release->callback([from, folder, &exit_code] { exit_code = run_export(*from, *folder); });
}

}  // namespace

void add_vectors(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("vectors", "run known answers on backends");
  command->description(
      "Runs every .json file of DIR (or the one file) in the format of docs/spec.md [F] and prints "
      "`N passed, M failed, K not implemented` per file and in total. Fails when one failed, or "
      "was not implemented without --skip; where brute_force says that its box does not suffice, "
      "that is counted and accepted. A file in the terms of another library (dialects/, named/) is "
      "judged by that dialect's own code instead. --lint reads every file below DIR and says what "
      "is wrong with it.");
  command->add_option("DIR", options->folder, "a folder of vectors, or one file");
  options->backends.add_to(*command, "run", backend_names());
  command
      ->add_option("--skip", options->skips,
                   "accept \"not implemented\" of OP, or of OP@BACKEND; may be repeated")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "print counts and failures as JSON");
  auto* lint = command->add_flag("--lint", options->lint,
                                 "check the files below DIR themselves, and run nothing");
  command->add_option("--since", options->since, "--lint: an earlier folder, whose cases must stay")
      ->needs(lint);
  add_writers(*command, exit_code);
  command->footer(
      "\nExamples:\n"
      "  leafproof vectors oracle/vectors --backend reference\n"
      "  leafproof vectors oracle/vectors/dialects\n"
      "  leafproof vectors oracle/vectors --lint");
  command->callback([command, options, &exit_code] {
    if (!command->get_subcommands().empty()) return;
    if (options->folder.empty()) throw CLI::RequiredError("DIR");
    if (options->lint) {
      exit_code = run_lint(*options);
      return;
    }
    if (options->backends.names.empty()) options->backends.names = backend_names();
    exit_code = run(*options);
  });
}

}  // namespace leafproof::oracle::cli
