#include "gpu/benchmarks/runner.h"

#include <sys/mman.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace leafproof::gpu::benchmarks {
namespace {

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

/// By all threads.
void zero(std::byte* memory, std::size_t bytes) {
  constexpr std::size_t kPart = std::size_t{1} << 21;  // no huge page is touched by two threads
  tbb::parallel_for(std::size_t{0}, (bytes + kPart - 1) / kPart, [=](std::size_t part) {
    std::memset(memory + part * kPart, 0, std::min(kPart, bytes - part * kPart));
  });
}

}  // namespace

void Runner::add(const std::string& name, int repetitions,
                 std::function<void(benchmark::State&)> body) {
  benchmark::RegisterBenchmark(name.c_str(), std::move(body))
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond)
      ->MinTime(seconds_)
      ->Repetitions(repetitions);
}

std::map<std::string, double> Runner::run() {
  interleave();
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();
  return collector.medians();
}

Allocator plain_pages() {
  return {[](void*, std::size_t bytes, bool*) -> void* {
            void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            return memory == MAP_FAILED ? nullptr : memory;
          },
          [](void*, void* memory, std::size_t bytes) { munmap(memory, bytes); }};
}

void bench_zero(benchmark::State& state, std::size_t bytes, const Allocator& allocator,
                bool fresh) {
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

}  // namespace leafproof::gpu::benchmarks
