// `leafproof check`: judge an answer that somebody else's program wrote.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <memory>

#include "oracle/cli/commands.h"
#include "oracle/cli/conv_files.h"
#include "oracle/cli/operation.h"
#include "oracle/cli/terminal.h"
#include "oracle/input/atomic_file.h"
#include "oracle/input/input.h"
#include "oracle/judge.h"
#include "oracle/layout_view.h"
#include "oracle/report.h"

namespace leafproof::oracle::cli {
namespace {

struct Options {
  OperationOptions operation;
  std::vector<std::filesystem::path> files;  // the inputs, then the answer unless `backend` is set
  BackendsOption backends;                   // whose answer is judged instead of a file's
  const std::string& backend() const { return backends.names[0]; }
  std::string profile = "topology";
  std::filesystem::path report;
  bool json = false;
};

/// The voxels of a member on one side, for the picture; none where it cannot be read.
std::vector<Voxel> voxels_of(const Layout& layout, std::int64_t member) {
  const auto index = static_cast<std::size_t>(std::max<std::int64_t>(0, member));
  if (index >= layout.grids.size()) return {};
  return batch_of(layout).members[index];
}

Report report_of(const Options& options, const Case& question, const Answer& expected,
                 const Answer& actual, const Verdict& verdict,
                 const std::vector<std::string>& notes) {
  Report report;
  report.command = "leafproof check";
  report.version = LEAFPROOF_VERSION;
  report.notes = notes;
  report.html_path = options.report.string();
  Row row;
  row.operation = options.operation.op;
  row.backend =
      options.backend().empty() ? options.files.back().filename().string() : options.backend();
  row.input = options.files.front().filename().string();
  row.cases = 1;
  row.members = verdict.members;
  row.voxels = verdict.voxels;
  (verdict.ok() ? row.equal : row.different) = 1;
  report.rows.push_back(row);
  if (verdict.ok()) return report;
  Failure failure;
  failure.operation = row.operation;
  failure.backend = row.backend;
  failure.case_id = question.id;
  failure.verdict = verdict;
  const std::int64_t member = verdict.first ? verdict.first->member : -1;
  if (const auto* layout = std::get_if<Layout>(&expected))
    failure.expected_voxels = voxels_of(*layout, member);
  try {
    if (const auto* buffer = std::get_if<GridBuffer>(&actual))
      failure.actual_voxels = voxels_of(read_layout(*buffer), member);
    else if (const auto* layout = std::get_if<Layout>(&actual))
      failure.actual_voxels = voxels_of(*layout, member);
  } catch (const Error&) {
    // Cannot be read: the verdict says why, and the picture shows the expected side alone.
  }
  report.failures.push_back(std::move(failure));
  return report;
}

/// What the author says that an answer was computed in [V-3].
void declare_arithmetic(const OperationOptions& options, Answer& actual) {
  const auto declare = [&](const char* option, const std::string& name, Arithmetic& arithmetic) {
    if (name.empty()) return;
    const auto parsed = parse_arithmetic(name);
    if (!parsed)
      throw Error(ErrorKind::InvalidArgument, {.operation = "check",
                                               .argument = option,
                                               .value = name,
                                               .reason = "must be fp64, fp32, tf32 or fp16",
                                               .member = {},
                                               .row = {}});
    arithmetic = *parsed;
  };
  auto* numbers = std::get_if<NumbersAnswer>(&actual);
  if (numbers == nullptr) return;
  declare("--accumulator", options.accumulator, numbers->accumulator);
  declare("--multiplier", options.multiplier, numbers->multiplier);
}

int run(const Options& options) {
  const auto profile = parse_profile(options.profile);
  if (!profile)
    throw Error(ErrorKind::InvalidArgument,
                {.operation = "check",
                 .argument = "--profile",
                 .value = options.profile,
                 .reason = "must be sets, topology, layout or bytes [G-9]",
                 .member = {},
                 .row = {}});
  if (options.backend().empty() && options.files.size() < 2)
    throw Error(ErrorKind::InvalidArgument,
                {.operation = "check",
                 .argument = "ACTUAL.nvdb",
                 .value = {},
                 .reason = "is missing: an input and the answer to judge are needed, or --backend",
                 .member = {},
                 .row = {}});
  auto read = options.files;
  read.insert(read.end(), options.operation.other.begin(), options.operation.other.end());
  read.insert(read.end(), {options.operation.mask, options.operation.features,
                           options.operation.weights, options.operation.bias});
  check_reports("check", {options.report}, read);
  std::vector<std::string> notes;
  std::vector<std::filesystem::path> inputs = options.files;
  if (options.backend().empty()) inputs.pop_back();
  const auto candidate =
      options.backend().empty() ? nullptr : options.backends.make(options.backend());
  Answer actual;
  const bool of_rows = options.operation.is_of_rows();
  if (!candidate && !of_rows) actual = read_nvdb(options.files.back());
  const Case question = make_case(options.operation, inputs, notes);
  check_memory(question, "reference");
  if (candidate) actual = candidate->answer(question);
  const Answer expected = make_backend("reference")->answer(question);
  // The input itself cannot be answered: there is nothing to judge by.
  if (const auto* error = std::get_if<Error>(&expected)) throw *error;
  if (!candidate && of_rows) actual = read_answer(options.files.back(), expected);
  declare_arithmetic(options.operation, actual);
  const Verdict verdict = of_operation(question.op, compare(expected, actual, *profile));

  if (!options.report.empty())
    write_file({"write report", options.report},
               html_report(report_of(options, question, expected, actual, verdict, notes)));
  if (options.json) {
    std::cout << json_verdict(verdict) << "\n";
  } else {
    for (const auto& note : notes) say(note);
    std::cout << text_verdict(verdict);
  }
  return verdict.ok() ? kEqual : kDifferent;
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  options->backends.names = {""};
  CLI::App* command =
      app.add_subcommand("check", "judge a .nvdb that somebody else's program wrote, or a backend");
  command->description(
      "Computes the right answer of a pass with the reference and judges ACTUAL.nvdb by it, "
      "element "
      "by element: the first difference is shown in its context, then all are counted.");
  options->operation.add_to(*command);
  options->operation.add_judged_to(*command);
  command
      ->add_option("FILES", options->files,
                   "INPUT... ACTUAL.nvdb: the files of the batch, and last the answer to judge")
      ->required();
  options->backends.add_one_to(*command, "is judged, FILES being all inputs then");
  command->add_option(
      "--profile", options->profile,
      "sets (voxels only), topology (also order, nodes, masks, mOffset, mPrefixSum, "
      "tile keys), layout (also boxes, flags, tables, counts), bytes (topology)");
  command->add_flag("--json", options->json, "print the verdict as JSON");
  command->add_option("--report", options->report, "write the verdict as one HTML page");
  command->footer(
      "\nExamples:\n"
      "  leafproof check refine coarse.nvdb theirs.nvdb --factor 2\n"
      "  leafproof check merge a.nvdb theirs.nvdb --other b.nvdb --profile layout\n"
      "  leafproof check from_ijk voxels.npz theirs.nvdb --json\n"
      "  leafproof check dual animals.nvdb --backend strict\n"
      "  leafproof check kernel-map fine.nvdb coarse.nvdb theirs.npz -K 3 -S 2\n"
      "  leafproof check convolve fine.nvdb theirs.npz -K 3 -S 2 --features x.npy --weights w.npy");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace leafproof::oracle::cli
