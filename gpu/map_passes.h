// Kernel maps on any executor: count, scan, one read-back, write.
#pragma once

#include <utility>
#include <vector>

#include "gpu/build.h"
#include "gpu/conv_relation.h"
#include "gpu/map_pairs.h"
#include "gpu/passes_on.h"
#include "gpu/upload_view.h"

namespace leafproof::gpu {
namespace maps {

inline void check_pair(const char* operation, const GridBatch& source, const GridBatch& target) {
  if (source.size() != target.size()) {
    throw Error(ErrorKind::ShapeMismatch, operation, "target",
                std::to_string(target.size()) + " members",
                "the source has " + std::to_string(source.size()));
  }
  for (const GridBatch* batch : {&source, &target}) {
    if (batch->voxel_count() > INT32_MAX) {
      throw Error(ErrorKind::CapacityExceeded, operation, "rows",
                  std::to_string(batch->voxel_count()), "rows of a map are 32-bit numbers");
    }
  }
}

/// Leaves a chunk: one where there are threads enough, more where the counts would be many.
inline std::int64_t chunk_leaves(std::int64_t taps, std::int64_t leaves, std::int64_t least) {
  constexpr std::int64_t kMostCounts = std::int64_t{4} << 20;
  return std::max(least, (saturating_mul(taps, leaves) + kMostCounts - 1) / kMostCounts);
}

}  // namespace maps

template <Executor Inner>
KernelMap PassesOn<Inner>::kernel_map(const GridBatch& source, const GridBatch& target,
                                      const ConvGeometry& geometry, Direction direction) {
  E& executor = begin("kernel_map");
  check_geometry("kernel_map", geometry);
  maps::check_pair("kernel_map", source, target);
  const bool forward = direction == Direction::Forward;
  const GridBatch &fine = forward ? source : target, &coarse = forward ? target : source;
  const TapGeometry taps = tap_geometry(geometry);

  constexpr std::int64_t kLeavesOfCpu = 32;
  PairLists lists{};
  lists.chunk_leaves =
      maps::chunk_leaves(taps.taps(), coarse.leaf_count(), many_threads<E>() ? 1 : kLeavesOfCpu);
  lists.chunks = (coarse.leaf_count() + lists.chunk_leaves - 1) / lists.chunk_leaves;
  const Count items{taps.taps() * lists.chunks};
  lists.counts = scratch<std::int64_t>(executor, items.bound);
  auto* before = scratch<std::int64_t>(executor, items.bound + 1);
  auto* device_offsets = scratch<std::int64_t>(executor, taps.taps() + 1);
  const SourceView fine_view = upload_view(executor, fine);
  const SourceView coarse_view = upload_view(executor, coarse);
  const auto run = [&] {
    if constexpr (!many_threads<E>()) {
      if (PairsByLeaf::fits(taps)) {
        executor.for_each_index(
            {lists.chunks}, PairsByLeaf{fine_view, coarse_view, taps, lists, instruction_set()}, 1);
        return;
      }
    }
    executor.for_each_index(items, PairsByTap{fine_view, coarse_view, taps, lists},
                            discovery::kHeavy);
  };
  run();
  executor.exclusive_scan(items, discovery::ValueAt{lists.counts}, before);
  executor.for_each_index({taps.taps() + 1}, PickOffsets{before, lists.chunks, device_offsets},
                          discovery::kLight);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(taps.taps()) + 1);
  const std::size_t offset_bytes = offsets.size() * sizeof(std::int64_t);
  executor.read_back(offsets.data(), device_offsets, offset_bytes);

  bool zeroed = false;
  const auto pairs = static_cast<std::size_t>(offsets.back());
  auto memory = executor.result_bytes(offset_bytes + 2 * pairs * sizeof(std::int32_t), &zeroed);
  executor.upload(memory.get(), offsets.data(), offset_bytes);
  lists.fine_rows = reinterpret_cast<std::int32_t*>(memory.get() + offset_bytes);
  lists.coarse_rows = lists.fine_rows + pairs;
  lists.counts = before;
  if (pairs > 0) run();
  const KernelMap map(std::make_shared<const std::vector<std::int64_t>>(std::move(offsets)),
                      fine.voxel_count(), coarse.voxel_count(), std::move(memory));
  return forward ? map : map.transposed();
}

template <Executor Inner>
DenseMap PassesOn<Inner>::dense_map(const KernelMap& map) {
  E& executor = begin("dense_map");
  DenseMap dense{map.taps(), map.target_rows(), nullptr};
  bool zeroed = false;
  const std::int64_t entries = saturating_mul(dense.taps, dense.rows);
  dense.memory = executor.result_bytes(
      static_cast<std::size_t>(saturating_mul(std::max<std::int64_t>(entries, 1), 4)), &zeroed);
  auto* index = reinterpret_cast<std::int32_t*>(dense.memory.get());
  executor.for_each_index({entries}, FillRows{index, -1}, discovery::kLight);
  executor.for_each_index({map.pairs()},
                          ScatterPairs{map.device_offsets(), map.taps(), map.target_rows(),
                                       map.gather(), map.scatter(), index},
                          discovery::kLight);
  return dense;
}

}  // namespace leafproof::gpu

/// Compiles what this file has for an executor.
#define LEAFPROOF_MAP_PASSES_ON(Inner)                                               \
  template KernelMap PassesOn<Inner>::kernel_map(const GridBatch&, const GridBatch&, \
                                                 const ConvGeometry&, Direction);    \
  template DenseMap PassesOn<Inner>::dense_map(const KernelMap&)
