// `leafproof kernel-map` and `leafproof convolve`: what a convolution needs of topology, and its
// numbers, computed by a backend and written as .npz.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "oracle/cli/commands.h"
#include "oracle/cli/conv_files.h"
#include "oracle/cli/operation.h"
#include "oracle/cli/terminal.h"
#include "oracle/compare_conv.h"
#include "oracle/judge.h"
#include "oracle/report.h"
#include "reference/conv_relation.h"

namespace leafproof::oracle::cli {
namespace {

struct Options {
  OperationOptions operation;
  std::vector<std::filesystem::path> files;
  std::filesystem::path output;
  BackendsOption backends;
};

/// [P-3] A geometry that steps over fine voxels is legal, and seldom meant.
void say_what_is_missed(const Kernel& kernel) {
  const auto missed = reference::missed_residues(kernel);
  for (std::size_t a = 0; a < 3; ++a)
    if (!missed[a].empty())
      say(fmt::format("no tap reaches the fine voxels whose {} is {} modulo {} [P-3]", "xyz"[a],
                      fmt::join(missed[a], ", "), kernel.stride[a]));
}

int run(const Options& options) {
  check_output({options.operation.op, options.output});
  std::vector<std::string> notes;
  const std::string& name = options.backends.names[0];
  const auto backend = options.backends.make(name);
  const Case question = make_case(options.operation, options.files, notes);
  for (const auto& note : notes) say(note);
  check_memory(question, name);
  const Answer answer = backend->answer(question);
  if (has_no_answer(name, answer)) return kDifferent;
  if (profile_asked(answer)) {
    say(
        fmt::format("{} is another's program: `check` and `verify` judge its maps, and none is "
                    "written",
                    name));
    return kDifferent;
  }
  // Whose rows are written: the canonical ones, which the reference knows.
  const Answer rows = name == "reference" ? answer : make_backend("reference")->answer(question);
  if (const auto* error = std::get_if<Error>(&rows)) throw *error;
  write_answer(options.output, question, answer, rows);
  say_what_is_missed(question.kernel);
  const std::string file = plain(options.output.string());
  if (const auto* map = std::get_if<KernelMapAnswer>(&answer)) {
    fmt::print("{}: {}, {}, by {}\n", file, counted(map->map.offsets.size() - 1, "tap"),
               counted(map->map.gather.size(), "pair"), name);
    // [M-6]
    const auto cover = [](const char* side, const auto& column, std::int64_t side_rows) {
      fmt::print("  {}\n", text_coverage(side, degree_histogram(column, side_rows)));
    };
    cover("source", map->map.gather, map->map.source_rows);
    cover("target", map->map.scatter, map->map.target_rows);
  } else if (const auto* dense = std::get_if<DenseMapAnswer>(&answer))
    fmt::print("{}: {}, {}, by {}\n", file,
               counted(static_cast<std::uint64_t>(dense->map.taps), "tap"),
               counted(static_cast<std::uint64_t>(dense->map.rows), "row"), name);
  else
    fmt::print("{}: {}, by {}\n", file,
               counted(std::get<NumbersAnswer>(answer).array.values.size(), "number"), name);
  return kEqual;
}

void add(CLI::App& app, int& exit_code, const char* op, const char* what, const char* description,
         const char* examples, bool numbers) {
  auto options = std::make_shared<Options>();
  options->operation.op = op;
  CLI::App* command = app.add_subcommand(op, what);
  command->description(description);
  command->add_option("FILES", options->files, "SOURCE [TARGET]: without TARGET the complete one")
      ->required()
      ->expected(1, 2);
  options->operation.add_kernel_to(*command);
  options->operation.add_map_to(*command, numbers);
  command->add_option("--view", options->operation.view,
                      "read these members of the source, in this order, repeats allowed: 0,2,2");
  add_input_options(*command, options->operation.input);
  options->backends.names = {"reference"};
  options->backends.add_one_to(*command, "computes it");
  command->add_option("-o,--output", options->output, "the .npz to write")->required();
  command->footer(examples);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace

void add_convolution(CLI::App& app, int& exit_code) {
  add(app, exit_code, "kernel-map", "which source row meets which target row at which tap",
      "Writes the kernel map [M] of a source batch onto the complete target or onto TARGET: "
      "offsets, gather, scatter, or --dense index (docs/npz-format.md).",
      "\nExamples:\n"
      "  leafproof kernel-map fine.nvdb -K 3 -S 2 -o down.npz\n"
      "  leafproof kernel-map fine.nvdb fine.nvdb -K 3 --dense -o submanifold.npz\n"
      "  leafproof kernel-map coarse.nvdb fine.nvdb -K 3 -S 2 --transposed -o up.npz",
      /*numbers=*/false);
  add(app, exit_code, "convolve", "the numbers of a convolution",
      "Convolves features over the kernel map of a source batch [V] and writes the output "
      "(docs/npz-format.md). The type is that of the features.",
      "\nExample:\n"
      "  leafproof convolve fine.nvdb -K 3 -S 2 --features x.npy --weights w.npy -o out.npz",
      /*numbers=*/true);
}

}  // namespace leafproof::oracle::cli
