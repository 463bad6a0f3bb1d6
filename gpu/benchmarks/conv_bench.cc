#include "gpu/benchmarks/conv_bench.h"

#include <tbb/global_control.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/benchmarks/command.h"
#include "gpu/benchmarks/conv_rivals.h"
#include "gpu/benchmarks/conv_table.h"
#include "gpu/benchmarks/read_grids.h"
#include "gpu/benchmarks/table.h"
#include "gpu/benchmarks/workloads.h"

namespace leafproof::gpu::benchmarks {
namespace {

/// Batches are made when they are first needed, and let go when another kind is.
class Sources {
 public:
  const GridBatch& get(const std::string& name, const std::function<GridBatch()>& make) {
    if (name != name_) {
      batch_.reset();
      batch_ = make();
      name_ = name;
    }
    return *batch_;
  }

 private:
  std::string name_;
  std::optional<GridBatch> batch_;
};

GridBatch built(const Workload& workload) {
  return BatchedBuilder().from_ijk({workload.ijk, workload.offsets});
}

/// One row, under the name by which --filter knows it.
struct Item {
  std::string name;
  std::function<void(ConvRows&)> measure;
};

/// The 16 meshes of `verify` with most voxels, coarsened until they are about 100,000.
GridBatch meshes() {
  BatchedBuilder builder;
  const GridBatch all = read_by_leafproof(builder, {"--meshes"});
  std::vector<std::int64_t> order(static_cast<std::size_t>(all.size()));
  for (std::size_t m = 0; m < order.size(); ++m) order[m] = static_cast<std::int64_t>(m);
  const auto rank = [&all](std::int64_t m) { return std::pair{-all.member(m).voxels, m}; };
  std::sort(order.begin(), order.end(),
            [&rank](std::int64_t a, std::int64_t b) { return rank(a) < rank(b); });
  order.resize(std::min<std::size_t>(order.size(), 16));
  return builder.coarsen(all.view(order), {5, 5, 5});
}

std::vector<Item> items(const CommonOptions& options, const Effort& effort, Sources& sources) {
  std::vector<Item> all;
  const double radius = options.quick ? kSmallRadius : kLargeRadius;
  const std::string family = shells(radius, 0, false).family;
  const auto shell_batch = [&sources, radius](std::int64_t members) -> const GridBatch& {
    return sources.get("shells/" + std::to_string(members),
                       [=] { return built(shells(radius, members, false)); });
  };
  const ConvPass grid_passes[] = {cubic_pass(2, 2), cubic_pass(3, 1),
                                  cubic_pass(3, 2, Direction::Transposed), cubic_pass(4, 2),
                                  cubic_pass(5, 1)};
  for (const std::int64_t members : {1, 16, 48}) {
    if (options.quick && members != 16) continue;
    for (const ConvPass& pass : grid_passes) {
      all.push_back({"grid/" + family + "/B" + std::to_string(members) + "/" + pass.name,
                     [=](ConvRows& rows) {
                       rows.grids.push_back(
                           measure_grid(shell_batch(members), family, pass, effort));
                     }});
    }
  }
  const ConvPass map_passes[] = {cubic_pass(3, 1), cubic_pass(2, 2), cubic_pass(3, 2),
                                 cubic_pass(5, 1)};
  for (const auto& [size, members] : {std::pair{"100k", 5}, {"1M", 49}, {"2M", 98}}) {
    if (options.quick && members > 5) continue;
    for (const ConvPass& pass : map_passes) {
      all.push_back({std::string("map/").append(size) + "/" + pass.name,
                     [=, count = members](ConvRows& rows) {
                       rows.maps.push_back(measure_map(shell_batch(count), pass, effort));
                     }});
    }
  }
  for (const std::int64_t members : {16, 48}) {
    if (options.quick && members != 16) continue;
    all.push_back({"plan/" + family + "/B" + std::to_string(members), [=](ConvRows& rows) {
                     for (PlanRow& row : measure_plans(shell_batch(members), family, effort)) {
                       rows.plans.push_back(std::move(row));
                     }
                   }});
    all.push_back(
        {"plan/" + family + "/B" + std::to_string(members) + "/K1 S1", [=](ConvRows& rows) {
           rows.plans.push_back(measure_identity(shell_batch(members), family, effort));
         }});
  }
  if (!options.quick) {
    all.push_back({"plan/meshes/B16", [&sources, effort](ConvRows& rows) {
                     const GridBatch& batch = sources.get("meshes", meshes);
                     for (PlanRow& row : measure_plans(batch, "meshes", effort)) {
                       rows.plans.push_back(std::move(row));
                     }
                   }});
  }
  const auto layer = [&](const std::string& source, std::int64_t in, std::int64_t out,
                         const std::function<GridBatch()>& make) {
    all.push_back({"layer/" + source + "/" + std::to_string(in) + "-" + std::to_string(out),
                   [=, &sources, threads = options.threads](ConvRows& rows) {
                     rows.layers.push_back(measure_layer(sources.get("layer/" + source, make),
                                                         source, in, out, threads, effort));
                   }});
  };
  const auto four_shells = [quick = options.quick] {  // 29,042 voxels each: of resolution 128
    Workload workload;
    for (int m = 0; m < (quick ? 1 : 4); ++m) workload.append(shell(48.4, {50 + m, 50, 50}));
    return built(workload);
  };
  const auto solid = [quick = options.quick] {
    const int side = quick ? 16 : 40;
    Workload workload;
    std::vector<Voxel> voxels;
    for (int i = 0; i < side * side * side; ++i) {
      voxels.push_back({i / (side * side), i / side % side, i % side});
    }
    workload.append(voxels);
    return built(workload);
  };
  for (const std::int64_t channels : {32, 64, 128}) {
    if (options.quick && channels > 32) continue;
    layer("shells", channels, channels, four_shells);
  }
  if (!options.quick) {
    layer("shells", 4, 32, four_shells);
    for (const std::int64_t channels : {32, 64}) layer("solid", channels, channels, solid);
  }
  layer("solid", 4, 32, solid);
  return all;
}

}  // namespace

int bench_conv(int argc, char** argv) {
  CommonOptions options;
  CLI::App app{
      "Times what a sparse convolution needs: conv grids beside sorting the keys of all voxels "
      "that are reached, kernel maps beside sorted keys and a hash table, both beside zeroing as "
      "many "
      "bytes; plans, and all plans of a network; and submanifold convolution beside Eigen's dense "
      "product of as many operations. Prints medians and ratios, in less than four minutes."};
  app.name("leafproof bench conv");
  const std::string command = command_line("./leafproof bench conv", argc, argv);
  add_run_options(app, options, "few workloads, few repetitions: some seconds",
                  "a regular expression: only rows whose name it finds, e.g. 'map/1M', "
                  "'grid/.*/B48/K2', 'plan/meshes', 'layer/shells/64-64'");
  add_output_options(app, options, "docs/performance-conv.md");
  app.footer(
      "\nExamples:\n"
      "  leafproof bench conv --quick\n"
      "  leafproof bench conv --filter 'map/100k' --threads 1\n"
      "  leafproof bench conv --update docs/performance-conv.md");
  if (const auto code = parse(app, argc, argv)) return *code;

  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(options.threads));
  if (!options.update.empty()) check_document(options.update);
  Circumstances now = circumstances(command, options.threads);
  Effort effort{.seconds = 0.01, .repetitions = 5};
  if (options.quick) effort = {.seconds = 0.003, .repetitions = 3, .per_member = 1};
  const std::regex filter(options.filter);
  const bool talk = isatty(STDERR_FILENO) == 1;
  Sources sources;
  ConvRows rows;
  const std::vector<Item> all = items(options, effort, sources);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!std::regex_search(all[i].name, filter)) continue;
    if (talk) {
      std::fprintf(stderr, "\r\033[Kbench: %s (%zu of %zu)", all[i].name.c_str(), i + 1,
                   all.size());
    }
    if (all[i].name.starts_with("plan/meshes")) {
      try {
        all[i].measure(rows);
      } catch (const std::runtime_error&) {  // no files; it has said so
        now.left_out.push_back(all[i].name);
      }
    } else {
      all[i].measure(rows);
    }
  }
  if (talk) std::fputs("\r\033[K", stderr);
  if (!MapByKeys::has(MapByKeys::How::FlatHashMap)) now.left_out.emplace_back("the hash table");
  if (rows.empty() && now.left_out.empty()) {
    std::fputs("leafproof bench conv: --filter finds nothing\n", stderr);
    return 2;
  }
  publish(options, now, rows);
  return 0;
}

}  // namespace leafproof::gpu::benchmarks
