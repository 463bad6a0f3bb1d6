#include "gpu/benchmarks/measure.h"

#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "gpu/result_pool.h"

namespace leafproof::gpu::benchmarks {
namespace {

using benchmark::State;

/// Google Benchmark's results in milliseconds, by name, and nothing on the terminal.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Iteration) {
        times_[run.run_name.function_name].push_back(run.GetAdjustedRealTime());
      }
    }
  }
  std::map<std::string, double> medians() {
    std::map<std::string, double> medians;
    for (auto& [name, times] : times_) {
      std::sort(times.begin(), times.end());
      const std::size_t n = times.size();
      medians[name] = (times[(n - 1) / 2] + times[n / 2]) / 2;
    }
    return medians;
  }

 private:
  std::map<std::string, std::vector<double>> times_;
};

/// Hands out one block of dirty memory again and again, for one result at a time.
struct KeptBlock {
  std::shared_ptr<std::byte> memory;
  std::size_t size = 0;

  static void* allocate(void* context, std::size_t bytes, bool* zeroed) {
    auto& kept = *static_cast<KeptBlock*>(context);
    if (kept.size < bytes) {
      kept.memory = allocate_shared(system_allocator(), bytes, zeroed);
      kept.size = bytes;
    }
    *zeroed = false;
    return kept.memory.get();
  }
  Allocator allocator() {
    return {allocate, [](void*, void*, std::size_t) {}, this};
  }
};

GridBatch run(BatchedBuilder& builder, const Setting& setting, Pass pass) {
  switch (pass) {
    case Pass::FromIjk:
      return builder.from_ijk({setting.workload.ijk, setting.workload.offsets});
    case Pass::Refine2:
      return builder.refine(setting.source, {2, 2, 2});
    case Pass::Coarsen2:
      return builder.coarsen(setting.source, {2, 2, 2});
    case Pass::Dilate26:
      break;
  }
  return builder.dilate_box(setting.source, {-1, -1, -1}, {1, 1, 1});
}

/// The builder's own workspace is warm: one build before the clock runs.
void bench_builder(State& state, const Setting& setting, Pass pass, const BuilderOptions& options) {
  BatchedBuilder builder(options);
  run(builder, setting, pass);
  for (auto _ : state) {
    const GridBatch result = run(builder, setting, pass);
    benchmark::DoNotOptimize(result.bytes().data());
  }
}

/// Memory that the system has just mapped, as a large malloc gives it.
Allocator plain_pages() {
  return {[](void*, std::size_t bytes, bool*) -> void* {
            void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            return memory == MAP_FAILED ? nullptr : memory;
          },
          [](void*, void* memory, std::size_t bytes) { munmap(memory, bytes); }};
}

/// By all threads.
void zero(std::byte* memory, std::size_t bytes) {
  constexpr std::size_t kPart = std::size_t{1} << 21;  // no huge page is touched by two threads
  tbb::parallel_for(std::size_t{0}, (bytes + kPart - 1) / kPart, [=](std::size_t part) {
    std::memset(memory + part * kPart, 0, std::min(kPart, bytes - part * kPart));
  });
}

/// Zeroes as many bytes, in memory anew from an allocator each time or in the same memory again.
/// Not by malloc, which would soon hand out warm memory, whatever it is asked for.
void bench_zero(State& state, std::size_t bytes, const Allocator& allocator, bool fresh) {
  bool zeroed = false;
  std::shared_ptr<std::byte> memory = allocate_shared(allocator, bytes, &zeroed);
  std::memset(memory.get(), 1, bytes);
  for (auto _ : state) {
    if (fresh) {
      memory.reset();
      memory = allocate_shared(allocator, bytes, &zeroed);
    }
    std::byte* to = memory.get();
    benchmark::DoNotOptimize(to);
    zero(to, bytes);
    benchmark::ClobberMemory();
  }
}

void check(const nanovdb::GridHandle<>& theirs, const GridBatch& ours, const char* whose) {
  if (!same_leaves(theirs, ours)) {
    throw std::runtime_error(std::string(whose) + " builds other voxels: nothing to compare with");
  }
}

void bench_nanovdb(State& state, const Setting& setting, Pass pass, const GridBatch& expected) {
  nanovdb::GridHandle<> handle;
  for (auto _ : state) handle = build_by_nanovdb(setting.workload, pass);
  check(handle, expected, "NanoVDB's builder");
}

void bench_openvdb(State& state, OpenvdbMembers& members, const GridBatch& expected) {
  nanovdb::GridHandle<> handle;
  for (auto _ : state) {
    state.PauseTiming();
    members.prepare();
    state.ResumeTiming();
    handle = members.build();
  }
  check(handle, expected, "OpenVDB");
}

/// Google Benchmark takes its settings as command-line options alone.
void interleave() {
  static const bool done = [] {
    char program[] = "bench", option[] = "--benchmark_enable_random_interleaving=true";
    char* arguments[] = {program, option, nullptr};
    int count = 2;
    benchmark::Initialize(&count, arguments);
    return true;
  }();
  (void)done;
}

Spent spent(const BatchedBuilder& builder) {
  return {builder.costs().scratch_bytes, builder.costs().launches,
          builder.costs().synchronisations};
}

}  // namespace

Setting::Setting(Workload given) : workload(std::move(given)) {
  source = BatchedBuilder().from_ijk({workload.ijk, workload.offsets});
}

Row measure(const Setting& setting, Pass pass, const Effort& effort, bool serial) {
  const Workload& workload = setting.workload;
  BuilderOptions by_mask, by_sort, one_thread, reused, pooled;
  by_sort.engine = Engine::Sort;
  one_thread.threads = Threads::Serial;
  KeptBlock kept;
  reused.allocator = kept.allocator();
  ResultPool pool;
  pooled.allocator = pool.allocator();

  BatchedBuilder mask(by_mask), sort(by_sort);
  run(sort, setting, pass);
  const GridBatch expected = run(mask, setting, pass);
  Row row;
  row.family = workload.family;
  row.what = workload.what;
  row.pass = name_of(pass);
  row.members = workload.size();
  row.voxels = workload.voxels();
  row.leaves = expected.leaf_count();
  row.bytes = expected.bytes().size();
  row.mask = spent(mask);
  row.sort = spent(sort);

  const auto add = [&effort](const char* name, int repetitions, std::function<void(State&)> body) {
    benchmark::RegisterBenchmark(name, std::move(body))
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond)
        ->MinTime(effort.seconds)
        ->Repetitions(repetitions);
  };
  const auto add_builder = [&](const char* name, const BuilderOptions& options) {
    add(name, effort.repetitions,
        [&setting, &options, pass](State& s) { bench_builder(s, setting, pass, options); });
  };
  const auto add_zero = [&](const char* name, const Allocator& allocator, bool fresh) {
    add(name, effort.repetitions,
        [&row, allocator, fresh](State& s) { bench_zero(s, row.bytes, allocator, fresh); });
  };
  add_builder(who::kMask, by_mask);
  add_builder(who::kSort, by_sort);
  add_builder(who::kReused, reused);
  add_builder(who::kPooled, pooled);
  if (serial) add_builder(who::kSerial, one_thread);
  add_zero(who::kZeroFresh, plain_pages(), true);
  add_zero(who::kZeroOwn, system_allocator(), true);
  add_zero(who::kZeroWarm, system_allocator(), false);
  const int per_member = row.voxels < effort.big ? effort.per_member : 1;
  add(who::kNanovdb, per_member, [&](State& s) { bench_nanovdb(s, setting, pass, expected); });
  std::unique_ptr<OpenvdbMembers> openvdb;
  if (OpenvdbMembers::has(pass)) {
    openvdb = std::make_unique<OpenvdbMembers>(workload, pass);
    add(who::kOpenvdb, per_member, [&](State& s) { bench_openvdb(s, *openvdb, expected); });
  }
  interleave();
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();
  row.ms = collector.medians();
  return row;
}

}  // namespace leafproof::gpu::benchmarks
