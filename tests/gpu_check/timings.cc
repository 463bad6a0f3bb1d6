// How long passes take on this device, beside what no build can be faster than: zeroing and copying
// as many bytes as the result has.
#include <algorithm>
#include <array>
#include <vector>

#include "gpu/benchmarks/workloads.h"
#include "gpu/cuda_builder.h"
#include "tests/gpu_check/checks.h"
#include "tests/gpu_check/device.h"

namespace leafproof::gpu_check {
namespace {

using gpu::BatchedBuilder;
using gpu::GridBatch;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct TimedPass {
  const char* name;
  GridBatch (*run)(BatchedBuilder&, const gpu::VoxelLists&, const GridBatch&);
};
constexpr std::array kPasses{
    TimedPass{"refine 2", [](BatchedBuilder& b, const gpu::VoxelLists&,
                             const GridBatch& s) { return b.refine(s, {2, 2, 2}); }},
    TimedPass{"coarsen 2", [](BatchedBuilder& b, const gpu::VoxelLists&,
                              const GridBatch& s) { return b.coarsen(s, {2, 2, 2}); }},
    TimedPass{"dilate 26",
              [](BatchedBuilder& b, const gpu::VoxelLists&, const GridBatch& s) {
                return b.dilate_box(s, {-1, -1, -1}, {1, 1, 1});
              }},
    TimedPass{"from_ijk", [](BatchedBuilder& b, const gpu::VoxelLists& lists, const GridBatch&) {
                return b.from_ijk(lists);
              }}};

}  // namespace

void measure(Findings& findings, bool short_run) {
  const int rounds = short_run ? 3 : 31;
  const auto stream = new_stream();
  fmt::print("\n{:<20} {:<10} {:<5} {:>10} {:>10} {:>10} {:>8} {:>8}\n", "input", "pass", "engine",
             "ms", "MB", "ms zeroed", "x zeroed", "x copied");
  for (const bool around_origin : {false, true}) {
    for (const double radius : {gpu::benchmarks::kSmallRadius, gpu::benchmarks::kLargeRadius}) {
      for (const std::int64_t members : {1, 16, 48}) {
        const auto work = gpu::benchmarks::shells(radius, members, around_origin);
        for (const auto engine : {gpu::Engine::Mask, gpu::Engine::Sort}) {
          findings.progress(work.name());
          gpu::CudaOptions options;
          options.stream = stream.get();
          options.engine = engine;
          BatchedBuilder builder = gpu::cuda_builder(options);
          const auto rows = builder.to_device(std::as_bytes(std::span(work.ijk)));
          const gpu::VoxelLists lists{
              {reinterpret_cast<const std::int32_t*>(rows.get()), work.ijk.size()}, work.offsets};
          const GridBatch source = builder.from_ijk(lists);
          for (const TimedPass& pass : kPasses) {
            GridBatch made = pass.run(builder, lists, source);  // kernels are loaded, memory is had
            const auto bytes = static_cast<std::size_t>(made.storage()->total_bytes);
            const auto other = device_bytes(bytes, stream.get());
            std::vector<double> built, zeroed, copied;
            for (int round = 0; round < rounds; ++round) {
              made = GridBatch();
              built.push_back(
                  milliseconds_of(stream.get(), [&] { made = pass.run(builder, lists, source); }));
              zeroed.push_back(milliseconds_of(
                  stream.get(), [&] { enqueue_zero(other.get(), bytes, stream.get()); }));
              copied.push_back(milliseconds_of(stream.get(), [&] {
                enqueue_copy(other.get(), made.storage()->memory.get(), bytes, stream.get());
              }));
            }
            const double ms = median(built), zero = median(zeroed), copy = median(copied);
            const char* engine_name = engine == gpu::Engine::Mask ? "mask" : "sort";
            fmt::print("{:<20} {:<10} {:<5} {:>10.3f} {:>10.2f} {:>10.3f} {:>8.2f} {:>8.2f}\n",
                       work.name(), pass.name, engine_name, ms, static_cast<double>(bytes) / 1e6,
                       zero, ms / zero, ms / copy);
            findings.json["timings"].push_back({{"input", work.name()},
                                                {"pass", pass.name},
                                                {"engine", engine_name},
                                                {"members", members},
                                                {"voxels", work.voxels()},
                                                {"bytes", bytes},
                                                {"milliseconds", ms},
                                                {"zero_milliseconds", zero},
                                                {"copy_milliseconds", copy},
                                                {"rounds", rounds}});
            findings.check(ms > 0, "no time passed");
          }
        }
      }
    }
  }
  findings.note(fmt::format("medians of {} between two events on the builder's stream", rounds));
}

}  // namespace leafproof::gpu_check
