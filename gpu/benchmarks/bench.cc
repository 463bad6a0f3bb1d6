// The program behind `./leafproof bench`: options, workloads, and what is printed.
#include <tbb/global_control.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/benchmarks/command.h"
#include "gpu/benchmarks/conv_bench.h"
#include "gpu/benchmarks/measure.h"
#include "gpu/benchmarks/read_grids.h"
#include "gpu/benchmarks/table.h"
#include "gpu/benchmarks/workloads.h"

namespace leafproof::gpu::benchmarks {
namespace {

struct Options : CommonOptions {
  std::string resolution, voxel_size;
  std::vector<std::string> inputs;
};

/// A batch that is made when its turn comes, under the name by which --filter knows it.
struct Planned {
  std::string name;
  bool serial;  // is measured on one thread too
  std::function<Workload()> make;
};

Workload by_leafproof(const std::vector<std::string>& arguments, std::string family,
                      std::string what) {
  BatchedBuilder builder;
  return voxels_of(read_by_leafproof(builder, arguments), std::move(family), std::move(what));
}

Workload from_inputs(const Options& options) {
  std::vector<std::string> arguments;
  if (!options.resolution.empty()) arguments.push_back("--resolution=" + options.resolution);
  if (!options.voxel_size.empty()) arguments.push_back("--voxel-size=" + options.voxel_size);
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), options.inputs.begin(), options.inputs.end());
  std::string what = options.inputs.front();
  if (options.inputs.size() > 1) {
    what += " and " + std::to_string(options.inputs.size() - 1) + " more";
  }
  return by_leafproof(arguments, "input", what);
}

std::vector<Planned> plan(const Options& options) {
  if (!options.inputs.empty()) {
    return {{"input", true, [&options] { return from_inputs(options); }}};
  }
  std::vector<Planned> all;
  for (const double radius : {kSmallRadius, kLargeRadius}) {
    for (const bool around_origin : {false, true}) {
      for (const std::int64_t members : {1, 16, 48}) {
        if (options.quick && (radius == kLargeRadius || members == 16)) continue;
        const std::string name = shells(radius, 0, around_origin).family;
        all.push_back({name + "/B" + std::to_string(members), false,
                       [=] { return shells(radius, members, around_origin); }});
      }
    }
  }
  all.push_back({"random-100k/B16", false, [] {
                   return random_voxels("random-100k",
                                        "100,000 random voxels of a cube of 188 in each member", 16,
                                        100'000, 188, -94);
                 }});
  if (!options.quick) {
    all.push_back({"random-2M/B1", true, [] {
                     return random_voxels("random-2M", "2,000,000 random voxels of a cube of 512",
                                          1, 2'000'000, 512, 0);
                   }});
    all.push_back({"meshes", true,
                   [] { return by_leafproof({"--meshes"}, "meshes", "The meshes of `verify`"); }});
  }
  return all;
}

/// Rows, and to `left_out` which workloads are missing for lack of their files.
std::vector<Row> measure_all(const Options& options, std::vector<std::string>& left_out) {
  Effort effort;
  if (options.quick) effort = {.seconds = 0.003, .repetitions = 3, .per_member = 1, .big = 0};
  const std::regex filter(options.filter);
  const std::vector<Planned> batches = plan(options);
  const bool talk = isatty(STDERR_FILENO) == 1;
  std::vector<Row> rows;
  std::size_t done = 0;
  for (const Planned& batch : batches) {
    std::optional<Setting> setting;
    for (const Pass pass : kPasses) {
      const std::string name = batch.name + "/" + name_of(pass);
      ++done;
      if (!std::regex_search(name, filter)) continue;
      if (talk) {
        std::fprintf(stderr, "\r\033[Kbench: %s (%zu of %zu)", name.c_str(), done,
                     batches.size() * std::size(kPasses));
      }
      try {
        if (!setting) setting.emplace(batch.make());
      } catch (const std::runtime_error&) {
        if (!options.inputs.empty()) throw;
        left_out.push_back(batch.name);
        break;
      }
      rows.push_back(measure(*setting, pass, effort, batch.serial));
    }
  }
  if (talk) std::fputs("\r\033[K", stderr);
  return rows;
}

int bench(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Times the batched builder, from leaf masks to the finished NanoVDB buffer: by either "
      "engine, into fresh memory and reused, beside zeroing as many bytes and beside the tools of "
      "NanoVDB and OpenVDB on each member alone. On shells of 7,370 (small) and 20,406 voxels "
      "(large), in one root tile or around the origin, in batches of 1, 16 and 48; on random "
      "voxels; on the meshes of `verify`. Prints medians and ratios, in some minutes. Convolution "
      "has a bench of its own: leafproof bench conv --help."};
  app.name("leafproof bench");
  const std::string command = command_line("./leafproof bench", argc, argv);
  add_run_options(app, options, "few workloads, few repetitions: well under a minute",
                  "a regular expression: only what it finds in WORKLOAD/PASS, e.g. "
                  "'small-tile/B48/refine'");
  app.add_option("--input", options.inputs,
                 "files of any kind that `leafproof apply` reads, as one batch, instead of all "
                 "workloads; may be repeated");
  app.add_option("--resolution", options.resolution, "of meshes and points, as of `apply`");
  app.add_option("--voxel-size", options.voxel_size, "of meshes and points, as of `apply`");
  add_output_options(app, options, "docs/performance.md");
  app.footer(
      "\nExamples:\n"
      "  leafproof bench --quick\n"
      "  leafproof bench --filter 'B48/(refine|coarsen)' --threads 1\n"
      "  leafproof bench --input scan.ply --voxel-size 0.02 --json\n"
      "  leafproof bench --update docs/performance.md");
  if (const auto code = parse(app, argc, argv)) return *code;

  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(options.threads));
  if (!options.update.empty()) check_document(options.update);  // before the minutes that it takes
  Circumstances now = circumstances(command, options.threads);
  const std::vector<Row> rows = measure_all(options, now.left_out);
  if (rows.empty() && now.left_out.empty()) {
    std::fputs("leafproof bench: --filter finds no workload and pass\n", stderr);
    return 2;
  }
  publish(options, now, rows);
  return 0;
}

}  // namespace
}  // namespace leafproof::gpu::benchmarks

int main(int argc, char** argv) {
  using namespace leafproof::gpu::benchmarks;
  try {
    const bool conv = argc > 1 && std::string_view(argv[1]) == "conv";
    return conv ? bench_conv(argc - 1, argv + 1) : bench(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "leafproof bench: %s\n", error.what());
    return 2;
  }
}
