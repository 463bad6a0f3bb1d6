// One pass on one batch: the builder, zeroing as many bytes, and the tools of others, run by Google
// Benchmark in random order within a second or a few of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "gpu/batched_builder.h"
#include "gpu/benchmarks/per_member.h"
#include "gpu/benchmarks/workloads.h"

namespace leafproof::gpu::benchmarks {

/// How long to measure.
struct Effort {
  double seconds = 0.01;         // at least, of each repetition
  int repetitions = 7;           // of the builder and of zeroing
  int per_member = 3;            // of others' tools, where a batch is of ordinary size
  std::int64_t big = 1'500'000;  // from so many voxels on, others' tools run once
};

/// The contestants, by these names in Row::ms and in JSON.
namespace who {
inline constexpr const char* kMask = "mask";           // the builder, default engine
inline constexpr const char* kSort = "sort";           // the builder, the other engine
inline constexpr const char* kReused = "mask-reused";  // result into the last one's dirty memory
inline constexpr const char* kPooled = "mask-pooled";  // result from a ResultPool, and back into it
inline constexpr const char* kSerial = "mask-1-thread";
inline constexpr const char* kZeroFresh = "zero-fresh";  // memory just mapped, in small pages
inline constexpr const char* kZeroOwn = "zero-own";      // just allocated as the builder's results
inline constexpr const char* kZeroWarm = "zero-warm";    // the same memory again and again
inline constexpr const char* kNanovdb = "nanovdb";
inline constexpr const char* kOpenvdb = "openvdb";
}  // namespace who

/// What one build costs besides time.
struct Spent {
  std::size_t scratch = 0;  // bytes, at most at one time
  std::int64_t launches = 0, synchronisations = 0;
};

struct Row {
  std::string family, what, pass;
  std::int64_t members = 0, voxels = 0;  // of the source
  std::int64_t leaves = 0;               // of the result
  std::size_t bytes = 0;                 // of the result
  Spent mask, sort;
  std::map<std::string, double> ms;  // medians
};

/// A workload with what its measurements share.
struct Setting {
  explicit Setting(Workload given);
  Workload workload;
  GridBatch source;  // built, views or lists no longer matter
};

/// Measures `pass` on `setting` by every contestant. `serial`: the builder on one thread too.
/// std::runtime_error where a tool of others builds other voxels than the builder.
Row measure(const Setting& setting, Pass pass, const Effort& effort, bool serial);

}  // namespace leafproof::gpu::benchmarks
