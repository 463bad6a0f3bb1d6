// `leafproof apply`: run a pass on a file.
#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "oracle/cli/commands.h"
#include "oracle/cli/operation.h"
#include "oracle/cli/terminal.h"
#include "oracle/input/input.h"
#include "oracle/layout_view.h"

namespace leafproof::oracle::cli {
namespace {

struct Options {
  OperationOptions operation;
  std::vector<std::filesystem::path> inputs;
  std::filesystem::path output;
  BackendsOption backends;
  bool json = false;
};

std::string default_backend() {
  const auto names = backend_names();
  return std::find(names.begin(), names.end(), "host") == names.end() ? "reference" : "host";
}

int run(const Options& options) {
  if (options.operation.meshes != options.inputs.empty()) {
    say("name the input files, or --meshes and none (see `leafproof apply --help`)");
    return kBadInput;
  }
  check_output({"apply", options.output});
  std::vector<std::string> notes;
  const std::string& name = options.backends.names[0];
  const auto backend = options.backends.make(name);
  const Case question = make_case(options.operation, options.inputs, notes);
  for (const auto& note : notes) say(note);
  check_memory(question, name);

  const auto start = std::chrono::steady_clock::now();
  Answer answer = backend->answer(question);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (has_no_answer(name, answer)) return kDifferent;
  GridBuffer buffer;
  if (auto* layout = std::get_if<Layout>(&answer)) {
    buffer = write_layout(*layout, free_memory());
  } else if (auto* given = std::get_if<GridBuffer>(&answer)) {
    buffer = std::move(*given);
  } else {
    say(fmt::format("{} answers with voxels, not with NanoVDB grids: `check` and `verify` judge it",
                    name));
    return kDifferent;
  }
  write_nvdb(options.output, buffer);

  // Read back by the side that trusts nothing: what is printed is what the bytes say.
  const Layout written = read_layout(buffer);
  const auto voxels = written.voxel_offsets.back();
  if (options.json) {
    std::cout << nlohmann::json{{"output", plain(options.output.string())},
                                {"backend", name},
                                {"members", written.grids.size()},
                                {"voxels", voxels},
                                {"leaves", written.leaf_offsets.back()},
                                {"bytes", buffer.bytes.size()},
                                {"seconds", seconds}}
                     .dump()
              << "\n";
  } else {
    fmt::print("{}: {}, {}, {}, {} bytes, in {:.3f} s by {}\n", plain(options.output.string()),
               counted(written.grids.size(), "member"), counted(voxels, "voxel"),
               counted(written.leaf_offsets.back(), "leaf", "leaves"), buffer.bytes.size(), seconds,
               name);
  }
  return kEqual;
}

}  // namespace

void add_apply(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  options->backends.names = {default_backend()};
  CLI::App* command = app.add_subcommand("apply", "run a pass on a file, write a .nvdb");
  command->description(
      "Runs one pass on a batch read from files (meshes, point clouds, .npz voxel lists, .vdb, "
      ".nvdb; several files are one batch) and writes the result as NanoVDB ValueOnIndex grids.");
  options->operation.add_to(*command);
  command->add_option("INPUT", options->inputs, "the files of the batch");
  command->add_flag("--meshes", options->operation.meshes,
                    "instead of files: the meshes that `verify` uses");
  command->add_option("-o,--output", options->output, "the .nvdb to write")->required();
  options->backends.add_one_to(*command, "builds it");
  command->add_flag("--json", options->json, "print what was written as JSON");
  command->footer(
      "\nExamples:\n"
      "  leafproof apply from_ijk bunny.obj horse.3ds --resolution 512 -o animals.nvdb\n"
      "  leafproof apply refine animals.nvdb --factor 2,2,4 -o fine.nvdb\n"
      "  leafproof apply dilate_box animals.nvdb --lo -1 --hi 1 --view 1,1 -o horses.nvdb\n"
      "  leafproof apply from_ijk --meshes -o meshes.nvdb\n"
      "  leafproof apply conv-grid animals.nvdb -K 3 -S 2 -o coarse.nvdb\n"
      "  leafproof apply prune scan.npz --mask keep.npy -o kept.nvdb");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace leafproof::oracle::cli
