// How contestants are timed: by Google Benchmark, in random order within a second or a few of each
// other. And zeroing memory, which all are compared with.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "gpu/memory.h"

namespace leafproof::gpu::benchmarks {

/// The contestants of one comparison, all run by run(). One Runner at a time.
class Runner {
 public:
  /// Each repetition takes at least so long.
  explicit Runner(double seconds) : seconds_(seconds) {}
  void add(const std::string& name, int repetitions, std::function<void(benchmark::State&)> body);
  /// Medians in milliseconds, by name.
  std::map<std::string, double> run();

 private:
  double seconds_;
};

/// Memory that the system has just mapped, as a large malloc gives it.
Allocator plain_pages();

/// Zeroes as many bytes, by all threads, in memory anew from an allocator each time or in the same
/// memory again. Not by malloc, which would soon hand out warm memory, whatever it is asked for.
void bench_zero(benchmark::State& state, std::size_t bytes, const Allocator& allocator, bool fresh);

}  // namespace leafproof::gpu::benchmarks
