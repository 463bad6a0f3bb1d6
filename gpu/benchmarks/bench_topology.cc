// `bench`: the passes on shells of several batch sizes, against zeroing as many bytes and against
// building each member alone, interleaved in one run.
#include <benchmark/benchmark.h>
#include <tbb/global_control.h>
#include <tbb/info.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gpu/batched_builder.h"
#include "gpu/benchmarks/bench_table.h"
#include "gpu/benchmarks/per_member.h"
#include "gpu/benchmarks/workloads.h"

namespace leafproof::gpu::benchmarks {
namespace {

const char* const kHelp =
    "leafproof bench [options]: times the batched builder\n"
    "\n"
    "Shells of 7,370 (small) and 20,406 voxels (large) a member, in one root tile or around the\n"
    "origin, as batches of 1, 16 and 48; from leaf masks to the finished NanoVDB buffer, in fresh "
    "memory.\n"
    "Beside it, in the same run: zeroing as many bytes (fresh and warm), and NanoVDB's builder "
    "for\n"
    "each member alone. Ends with one table of medians and ratios.\n"
    "\n"
    "  --json            the table as JSON on stdout, nothing else\n"
    "  --quick           one repetition of everything, and short ones\n"
    "  --help            this\n"
    "  --benchmark_...   options of Google Benchmark, e.g. --benchmark_filter='B48.*refine'\n"
    "\n"
    "Example: leafproof bench --benchmark_filter=small-tile/B48\n";

GridBatch run(BatchedBuilder& builder, const Workload& workload, const GridBatch& source,
              Pass pass) {
  switch (pass) {
    case Pass::FromIjk:
      return builder.from_ijk({workload.ijk, workload.offsets});
    case Pass::Refine2:
      return builder.refine(source, {2, 2, 2});
    case Pass::Coarsen2:
      return builder.coarsen(source, {2, 2, 2});
    case Pass::Dilate26:
      break;
  }
  return builder.dilate_box(source, {-1, -1, -1}, {1, 1, 1});
}

/// What the benchmarks of one workload share; built when the first of them runs.
struct Setting {
  explicit Setting(Workload given) : workload(std::move(given)) {}
  Workload workload;
  std::unique_ptr<GridBatch> built;

  const GridBatch& source() {
    if (!built) {
      BatchedBuilder builder;
      built = std::make_unique<GridBatch>(builder.from_ijk({workload.ijk, workload.offsets}));
    }
    return *built;
  }
  std::size_t bytes(Pass pass) {
    BatchedBuilder builder;
    return run(builder, workload, source(), pass).bytes().size();
  }
};

void bench_ours(benchmark::State& state, const std::shared_ptr<Setting>& setting, Pass pass,
                Engine engine) {
  BuilderOptions options;
  options.engine = engine;
  BatchedBuilder builder(options);
  const GridBatch& source = setting->source();
  std::size_t bytes = 0;
  for (auto _ : state) {
    const GridBatch result = run(builder, setting->workload, source, pass);
    bytes = result.bytes().size();
    benchmark::DoNotOptimize(result.bytes().data());
  }
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["syncs"] = builder.synchronisations();
  state.counters["scratch"] = static_cast<double>(builder.peak_scratch());
}

/// Zeroes as many bytes: in memory as fresh from the allocator as the builder's results are, or in
/// the same memory again. malloc would soon hand out warm memory, whatever it is asked for.
void bench_zero(benchmark::State& state, const std::shared_ptr<Setting>& setting, Pass pass,
                bool fresh) {
  const std::size_t bytes = setting->bytes(pass);
  bool zeroed = false;
  std::shared_ptr<std::byte> memory = allocate_shared(system_allocator(), bytes, &zeroed);
  std::memset(memory.get(), 1, bytes);
  for (auto _ : state) {
    if (fresh) {
      memory.reset();
      memory = allocate_shared(system_allocator(), bytes, &zeroed);
    }
    std::byte* to = memory.get();
    benchmark::DoNotOptimize(to);
    std::memset(to, 0, bytes);
    benchmark::ClobberMemory();
  }
}

void bench_per_member(benchmark::State& state, const std::shared_ptr<Setting>& setting, Pass pass) {
  for (auto _ : state) {
    auto handle = build_per_member(setting->workload, pass);
    benchmark::DoNotOptimize(handle.data());
  }
}

void register_all(bool quick) {
  const auto add = [quick](const std::string& name, auto body) {
    auto* registered = benchmark::RegisterBenchmark(name.c_str(), body);
    registered->UseRealTime()->Unit(benchmark::kMillisecond);
    if (quick) {
      registered->MinTime(0.02);
    } else {
      registered->MinTime(0.05)->Repetitions(5)->ReportAggregatesOnly();
    }
  };
  for (const double radius : {kSmallRadius, kLargeRadius}) {
    for (const bool around_origin : {false, true}) {
      for (const std::int64_t members : {1, 16, 48}) {
        const auto setting = std::make_shared<Setting>(shells(radius, members, around_origin));
        for (const Pass pass : {Pass::FromIjk, Pass::Refine2, Pass::Coarsen2, Pass::Dilate26}) {
          const std::string stem = setting->workload.name + "|" + name_of(pass) + "|";
          const auto ours = [setting, pass](Engine engine) {
            return [setting, pass, engine](benchmark::State& state) {
              bench_ours(state, setting, pass, engine);
            };
          };
          const auto zero = [setting, pass](bool fresh) {
            return [setting, pass, fresh](benchmark::State& state) {
              bench_zero(state, setting, pass, fresh);
            };
          };
          add(stem + "mask", ours(Engine::Mask));
          add(stem + "sort", ours(Engine::Sort));
          add(stem + "zero-fresh", zero(true));
          add(stem + "zero-warm", zero(false));
          add(stem + "per-member",
              [setting, pass](benchmark::State& state) { bench_per_member(state, setting, pass); });
        }
      }
    }
  }
}

int bench(int argc, char** argv) {
  bool json = false, quick = false;
  std::vector<char*> rest{argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--quick") {
      quick = true;
    } else if (argument == "--help" || argument == "-h") {
      std::fputs(kHelp, stdout);
      return 0;
    } else {
      rest.push_back(argv[i]);
    }
  }
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  if (!quick) rest.insert(rest.begin() + 1, interleave.data());
  int count = static_cast<int>(rest.size());
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) {
    std::fputs("leafproof bench: see --help\n", stderr);
    return 2;
  }
  register_all(quick);
  TableReporter reporter(json);
  if (!json) {
    std::printf("threads: %d\n", static_cast<int>(tbb::info::default_concurrency()));
  }
  if (benchmark::RunSpecifiedBenchmarks(&reporter) == 0) {
    std::fputs("leafproof bench: no benchmark of that name\n", stderr);
    return 2;
  }
  json ? reporter.print_json() : reporter.print();
  return 0;
}

}  // namespace
}  // namespace leafproof::gpu::benchmarks

int main(int argc, char** argv) {
  return leafproof::gpu::benchmarks::bench(argc, argv);
}
