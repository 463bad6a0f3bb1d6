// `leafproof vectors`: known answers in the format of [F], run on backends.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "oracle/cli/commands.h"
#include "oracle/cli/terminal.h"
#include "oracle/report.h"
#include "oracle/vectors.h"
#include "oracle/verify.h"

namespace leafproof::oracle::cli {
namespace {

struct Options {
  std::filesystem::path folder;
  std::vector<std::string> backends, skips;
  bool json = false;
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

std::vector<Skip> parse_skips(const std::vector<std::string>& texts) {
  std::vector<Skip> skips;
  for (const std::string& text : texts) {
    const auto at = text.find('@');
    const auto op = parse_op(text.substr(0, at));
    if (!op)
      throw Error(ErrorKind::InvalidArgument,
                  {.operation = "vectors",
                   .argument = "--skip",
                   .value = text,
                   .reason = fmt::format("must be one of {}", fmt::join(known_ops(), ", ")),
                   .member = {},
                   .row = {}});
    Skip skip{*op, at == text.npos ? std::string() : text.substr(at + 1)};
    if (!skip.backend.empty()) make_backend(skip.backend);  // refuses an unknown name
    skips.push_back(std::move(skip));
  }
  return skips;
}

std::string line_of(const Tally& tally) {
  return fmt::format("{} passed, {} failed, {} not implemented", tally.passed, tally.failed,
                     tally.not_implemented);
}

int run(const Options& options) {
  const auto skips = parse_skips(options.skips);
  const auto files = vector_files(options.folder);
  std::vector<std::vector<Vector>> vectors;
  for (const auto& file : files) vectors.push_back(read_vectors(file));

  nlohmann::json document = nlohmann::json::array();
  std::vector<std::string> failures;
  Counts total;
  for (const std::string& name : options.backends) {
    const auto backend = make_judged(name, std::int64_t{1} << 24);
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
      const std::string file = plain(files[i].filename().string());
      if (options.json)
        document.push_back({{"backend", name},
                            {"file", file},
                            {"passed", tally.passed},
                            {"failed", tally.failed},
                            {"not_implemented", tally.not_implemented}});
      else
        fmt::print("{:<12} {:<26} {}\n", name, file, line_of(tally));
      of_backend.tally.passed += tally.passed;
      of_backend.tally.failed += tally.failed;
      of_backend.tally.not_implemented += tally.not_implemented;
    }
    if (!options.json)
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

}  // namespace

void add_vectors(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("vectors", "run known answers on backends");
  command->description(
      "Runs every .json file of DIR (or the one file) in the format of docs/spec.md [F] and prints "
      "`N passed, M failed, K not implemented` per file and in total. Fails when one failed, or "
      "was not implemented without --skip; where brute_force says that its box does not suffice, "
      "that is counted and accepted.");
  command->add_option("DIR", options->folder, "a folder of vectors, or one file")->required();
  add_backends_option(*command, options->backends, "run", backend_names());
  command
      ->add_option("--skip", options->skips,
                   "accept \"not implemented\" of OP, or of OP@BACKEND; may be repeated")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "print counts and failures as JSON");
  command->footer(
      "\nExample:\n"
      "  leafproof vectors oracle/vectors --backend reference");
  command->callback([options, &exit_code] {
    if (options->backends.empty()) options->backends = backend_names();
    exit_code = run(*options);
  });
}

}  // namespace leafproof::oracle::cli
