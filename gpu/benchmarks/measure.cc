#include "gpu/benchmarks/measure.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "gpu/benchmarks/runner.h"
#include "gpu/result_pool.h"

namespace leafproof::gpu::benchmarks {
namespace {

using benchmark::State;

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

  Runner runner(effort.seconds);
  const auto add = [&runner](const char* name, int repetitions, std::function<void(State&)> body) {
    runner.add(name, repetitions, std::move(body));
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
  row.ms = runner.run();
  return row;
}

}  // namespace leafproof::gpu::benchmarks
