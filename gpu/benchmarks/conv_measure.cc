#include "gpu/benchmarks/conv_measure.h"

#include <fmt/format.h>
#include <malloc.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "gpu/benchmarks/conv_rivals.h"
#include "gpu/benchmarks/runner.h"
#include "gpu/products.h"
#include "gpu/result_pool.h"
#include "gpu/subm_conv.h"

namespace leafproof::gpu::benchmarks {
namespace {

using benchmark::State;

constexpr std::int64_t kManyKeys = 50'000'000;  // from here on the per-voxel way runs once

/// Runs `work` until the clock says enough; its result is let go within the time.
template <class Work>
std::function<void(State&)> timed(Work work) {
  return [work](State& state) {
    for (auto _ : state) {
      auto result = work();
      benchmark::DoNotOptimize(&result);
    }
  };
}

void add_zeros(Runner& runner, int repetitions, std::size_t bytes) {
  runner.add(conv_who::kZeroFresh, repetitions,
             [bytes](State& state) { bench_zero(state, bytes, plain_pages(), true); });
  runner.add(conv_who::kZeroOwn, repetitions,
             [bytes](State& state) { bench_zero(state, bytes, system_allocator(), true); });
}

GridBatch grid_of(BatchedBuilder& builder, const GridBatch& source, const ConvPass& pass) {
  return pass.direction == Direction::Forward ? builder.conv_grid(source, pass.geometry)
                                              : builder.conv_transpose_grid(source, pass.geometry);
}

void check_same(bool same, const char* who) {
  if (!same) {
    throw std::runtime_error(std::string(who) + " finds something else: nothing to compare with");
  }
}

void add_up(Spent& all, const BatchedBuilder& builder) {
  all.scratch = std::max(all.scratch, builder.costs().scratch_bytes);
  all.launches += builder.costs().launches;
  all.synchronisations += builder.costs().synchronisations;
}

}  // namespace

ConvPass cubic_pass(std::int64_t kernel, std::int64_t stride, Direction direction) {
  return {fmt::format("K{} S{}{}", kernel, stride,
                      direction == Direction::Transposed ? " transposed" : ""),
          {{kernel, kernel, kernel}, {stride, stride, stride}, {1, 1, 1}},
          direction};
}

// --- grids

GridRow measure_grid(const GridBatch& source, const std::string& family, const ConvPass& pass,
                     const Effort& effort) {
  BatchedBuilder builder, by_keys;
  ResultPool pool;
  BuilderOptions from_pool;
  from_pool.allocator = pool.allocator();
  BatchedBuilder pooled(from_pool);
  const GridBatch expected = grid_of(builder, source, pass);
  grid_of(pooled, source, pass);
  GridRow row;
  row.family = family;
  row.pass = pass.name;
  row.members = source.size();
  row.voxels = source.voxel_count();
  row.voxels_out = expected.voxel_count();
  row.bytes = expected.bytes().size();
  add_up(row.spent, builder);

  Runner runner(effort.seconds);
  runner.add(conv_who::kOurs, effort.repetitions,
             timed([&] { return grid_of(builder, source, pass); }));
  runner.add(conv_who::kPooled, effort.repetitions,
             timed([&] { return grid_of(pooled, source, pass); }));
  add_zeros(runner, effort.repetitions, row.bytes);
  const VoxelRows voxels(source);
  const std::pair<const char*, KeySort> ways[] = {{conv_who::kBatch, KeySort::Batch},
                                                  {conv_who::kMembers, KeySort::Members},
                                                  {conv_who::kVector, KeySort::Vector}};
  GridByKeys keys(voxels, pass.geometry, pass.direction);
  for (const auto& [name, sort] : ways) {
    const GridBatch theirs = keys.build(by_keys, expected, sort);
    check_same(std::ranges::equal(theirs.bytes(), expected.bytes()), name);
    row.keys = keys.keys();
    const int repetitions = row.keys < kManyKeys ? effort.per_member : 1;
    runner.add(name, repetitions, timed([&keys, &by_keys, &expected, way = sort] {
                 return keys.build(by_keys, expected, way);
               }));
  }
  row.ms = runner.run();
  return row;
}

// --- maps

MapRow measure_map(const GridBatch& source, const ConvPass& pass, const Effort& effort) {
  BatchedBuilder builder;
  const GridBatch coarse =
      pass.geometry.stride == Triple{1, 1, 1} ? source : builder.conv_grid(source, pass.geometry);
  const auto ours = [&] { return builder.kernel_map(source, coarse, pass.geometry); };
  MapRow row;
  row.pass = pass.name;
  const VoxelRows fine_rows(source), coarse_rows(coarse);
  Runner runner(effort.seconds);
  std::optional<MapByKeys> sorted, hashed;
  {
    const KernelMap expected = ours();
    row.voxels = source.voxel_count();
    row.coarse = coarse.voxel_count();
    row.pairs = expected.pairs();
    row.bytes = expected.bytes();
    add_up(row.spent, builder);
    const auto add = [&](std::optional<MapByKeys>& way, MapByKeys::How how, const char* name) {
      if (!MapByKeys::has(how)) return;
      way.emplace(fine_rows, coarse_rows, pass.geometry, how);
      check_same(same_map(way->build(), expected), name);
      const bool many = row.coarse * expected.taps() > kManyKeys;
      runner.add(name, many ? 1 : effort.per_member, timed([&way] { return way->build(); }));
    };
    add(sorted, MapByKeys::How::SortedKeys, conv_who::kSorted);
    add(hashed, MapByKeys::How::FlatHashMap, conv_who::kHash);
  }
  runner.add(conv_who::kOurs, effort.repetitions, timed(ours));
  add_zeros(runner, effort.repetitions, row.bytes);
  row.ms = runner.run();
  return row;
}

// --- plans

namespace {

/// A network of four levels: the plans that it is made of. Levels are joined by K2 S2 down, and the
/// same plans transposed up; each level has submanifold K3; the end is K1.
class Network {
 public:
  static constexpr int kLevels = 4;
  explicit Network(const GridBatch& input) : grids_{input} {}

  void build_grids(BatchedBuilder& builder) {
    grids_.resize(1);
    while (grids_.size() < kLevels) grids_.push_back(builder.conv_grid(grids_.back(), down_));
  }
  Plan submanifold(BatchedBuilder& builder, int level) const {
    const GridBatch& grid = grids_[static_cast<std::size_t>(level)];
    return Plan::build(builder, grid, around_, Direction::Forward, grid);
  }
  Plan between(BatchedBuilder& builder, int level) const {
    const auto l = static_cast<std::size_t>(level);
    return Plan::build(builder, grids_[l], down_, Direction::Forward, grids_[l + 1]);
  }
  Plan head(BatchedBuilder& builder) const {
    return Plan::build(builder, grids_[0], {}, Direction::Forward, grids_[0]);
  }

  /// What one iteration asks for, layer by layer: two submanifold convolutions a level on the way
  /// down, two on the way up, three steps down and up, and the head: 8 + 3 + 3 + 6 + 1.
  int iterate(BatchedBuilder& builder, PlanCache& cache) const {
    int plans = 0;
    const auto subm = [&](std::size_t l) {
      for (int i = 0; i < 2; ++i, ++plans) {
        cache.get(builder, grids_[l], around_, Direction::Forward, grids_[l]);
      }
    };
    const auto step = [&](std::size_t l) {
      ++plans;
      return cache.get(builder, grids_[l], down_, Direction::Forward, grids_[l + 1]);
    };
    for (std::size_t l = 0; l < kLevels; ++l) {
      subm(l);
      if (l + 1 < kLevels) step(l);
    }
    for (std::size_t l = kLevels - 1; l-- > 0;) {
      benchmark::DoNotOptimize(step(l).transposed().map().taps());
      subm(l);
    }
    cache.get(builder, grids_[0], {}, Direction::Forward, grids_[0]);
    return plans + 1;
  }

 private:
  const ConvGeometry around_{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
      down_{{2, 2, 2}, {2, 2, 2}, {1, 1, 1}};
  std::vector<GridBatch> grids_;
};

/// Times all parts and the whole.
PlanRow timed_row(PlanRow row, const Effort& effort, const std::function<void()>& whole,
                  const std::vector<std::pair<std::string, std::function<void()>>>& parts) {
  Runner runner(effort.seconds);
  const auto add = [&](const std::string& name, const std::function<void()>& work) {
    runner.add(name, effort.repetitions, [&work](State& state) {
      for (auto _ : state) work();
    });
  };
  add("total", whole);
  for (const auto& [name, work] : parts) add(name, work);
  const auto ms = runner.run();
  row.total = ms.at("total");
  for (const auto& part : parts) row.shares.emplace_back(part.first, ms.at(part.first));
  return row;
}

PlanRow row_of(const GridBatch& source, const std::string& family, std::string what) {
  PlanRow row;
  row.family = family;
  row.what = std::move(what);
  row.members = source.size();
  row.voxels = source.voxel_count();
  return row;
}

}  // namespace

std::vector<PlanRow> measure_plans(const GridBatch& source, const std::string& family,
                                   const Effort& effort) {
  BatchedBuilder builder;
  std::vector<PlanRow> rows;
  for (const Direction direction : {Direction::Forward, Direction::Transposed}) {
    const ConvPass pass = cubic_pass(2, 2, direction);
    PlanRow row = row_of(source, family, pass.name);
    const GridBatch target = grid_of(builder, source, pass);
    add_up(row.spent, builder);
    builder.kernel_map(source, target, pass.geometry, direction);
    add_up(row.spent, builder);
    rows.push_back(timed_row(
        row, effort, [&] { Plan::build(builder, source, pass.geometry, direction); },
        {{"grid", [&] { grid_of(builder, source, pass); }},
         {"map", [&] { builder.kernel_map(source, target, pass.geometry, direction); }}}));
  }

  Network network(source);
  const auto maps = [&](BatchedBuilder& by, const std::function<void()>& after) {
    for (int l = 0; l < Network::kLevels; ++l) network.submanifold(by, l), after();
    for (int l = 0; l + 1 < Network::kLevels; ++l) network.between(by, l), after();
  };
  PlanRow pyramid = row_of(source, family, "3 grids, 8 plans");
  {  // one grid at a time, since costs are those of the last build
    GridBatch grid = source;
    for (int l = 0; l + 1 < Network::kLevels; ++l) {
      grid = builder.conv_grid(grid, cubic_pass(2, 2).geometry);
      add_up(pyramid.spent, builder);
    }
    network.build_grids(builder);
    maps(builder, [&] { add_up(pyramid.spent, builder); });
  }
  const auto all_of = [&](int from, int levels, bool between) {
    for (int l = from; l < levels; ++l) {
      between ? network.between(builder, l) : network.submanifold(builder, l);
    }
  };
  rows.push_back(timed_row(pyramid, effort,
                           [&] {
                             network.build_grids(builder);
                             maps(builder, [] {});
                             network.head(builder);
                           },
                           {{"grids", [&] { network.build_grids(builder); }},
                            {"K3", [&] { all_of(0, Network::kLevels, false); }},
                            {"K2", [&] { all_of(0, Network::kLevels - 1, true); }}}));
  PlanRow iteration = row_of(source, family, "21 plans, 8 new");
  iteration.spent = pyramid.spent;
  iteration.spent.launches = iteration.spent.synchronisations = 0;
  maps(builder, [&] { add_up(iteration.spent, builder); });
  PlanCache warm;
  network.iterate(builder, warm);
  rows.push_back(timed_row(iteration, effort,
                           [&] {
                             PlanCache cache;
                             network.iterate(builder, cache);
                           },
                           {{"21 known", [&] { network.iterate(builder, warm); }}}));
  return rows;
}

PlanRow measure_identity(const GridBatch& source, const std::string& family, const Effort& effort) {
  BatchedBuilder builder;
  return timed_row(row_of(source, family, "K1 S1"), effort,
                   [&] { Plan::build(builder, source, {}, Direction::Forward, source); }, {});
}

// --- a layer

namespace {

constexpr std::int64_t kDenseSide = 1024;

/// Bytes of a line of /proc/self/status, "VmRSS:" or "VmHWM:"; < 0: unknown.
double from_status(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    double kilobytes = 0;
    if (word == name && file >> kilobytes) return kilobytes * 1024;
  }
  return -1;
}

/// The most memory that `work` had at one time, beyond what there was before.
template <class Work>
double peak_of(const Work& work) {
  malloc_trim(0);  // what was let go before must not be what this one grows into
  std::ofstream reset("/proc/self/clear_refs");
  reset << "5" << std::flush;
  if (!reset) return -1;
  const double before = from_status("VmRSS:");
  work();
  return from_status("VmHWM:") - before;
}

/// Products of square matrices, one for each thread.
struct Dense {
  explicit Dense(int threads) : a(kSize, 0.5F), b(kSize, 0.25F) {
    results.resize(static_cast<std::size_t>(threads), std::vector<float>(kSize));
  }
  static constexpr std::size_t kSize = std::size_t{kDenseSide} * kDenseSide;
  double operations() const {
    return 2.0 * kDenseSide * kDenseSide * kDenseSide * static_cast<double>(results.size());
  }
  void multiply() {
    tbb::parallel_for(
        std::size_t{0}, results.size(),
        [this](std::size_t i) {
          products().of_float.multiply(a.data(), b.data(), results[i].data(), kDenseSide,
                                       kDenseSide, kDenseSide);
        },
        tbb::simple_partitioner());
  }
  std::vector<float> a, b;
  std::vector<std::vector<float>> results;
};

}  // namespace

LayerRow measure_layer(const GridBatch& source, const std::string& family, std::int64_t channels_in,
                       std::int64_t channels_out, int threads, const Effort& effort) {
  BatchedBuilder builder;
  LayerRow row;
  row.family = family;
  row.channels_in = channels_in;
  row.channels_out = channels_out;
  row.voxels = source.voxel_count();
  std::vector<float> features(static_cast<std::size_t>(row.voxels * channels_in));
  for (std::size_t i = 0; i < features.size(); ++i) {
    features[i] = static_cast<float>(i % 251) / 251.0F;
  }
  const Tensor<float> input{features, {row.voxels, channels_in}};
  const auto plans = std::make_shared<PlanCache>();
  const auto layer = [&](ConvolutionForm form) {
    SubMConv3dOptions options;
    options.convolution.form = form;
    return SubMConv3d<float>(channels_in, channels_out, options, plans);
  };
  const SubMConv3d<float> per_tap = layer(ConvolutionForm::PerTap);
  const SubMConv3d<float> chunked = layer(ConvolutionForm::Chunked);
  const ConvGeometry around{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}};
  row.pairs = plans->get(builder, source, around, Direction::Forward, source).map().map()->pairs();
  row.operations = 2.0 * static_cast<double>(row.pairs * channels_in * channels_out);

  Dense dense(threads);
  Runner runner(effort.seconds);
  const std::pair<const char*, const SubMConv3d<float>*> forms[] = {{conv_who::kPerTap, &per_tap},
                                                                    {conv_who::kChunked, &chunked}};
  for (const auto& form : forms) {
    const auto forward = [&, which = form.second] {
      return which->forward(builder, source, input);
    };
    const double peak = peak_of(forward);
    const auto result = static_cast<double>(row.voxels * channels_out) * sizeof(float);
    row.extra[form.first] = peak < 0 ? peak : std::max(0.0, peak - result);
    runner.add(form.first, effort.per_member, timed(forward));
  }
  runner.add(conv_who::kDense, effort.repetitions, [&dense](State& state) {
    for (auto _ : state) dense.multiply();
  });
  row.ms = runner.run();
  row.dense_rate = dense.operations() / row.ms.at(conv_who::kDense);
  return row;
}

}  // namespace leafproof::gpu::benchmarks
