// Taking over a foreign buffer, and moving batches between the host and where the builder works, on
// any executor. adopt() synchronises three times, whatever the number of grids: how many there are,
// their headers, and what is wrong with their nodes.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "gpu/adopt.h"
#include "gpu/build.h"
#include "gpu/passes_on.h"
#include "gpu/upload_view.h"

namespace leafproof::gpu {
namespace adoption {

/// All nodes of all members; sets voxel counts and boxes. True where tiles are in canonical order.
template <Executor E>
bool check_nodes(E& executor, GridStorage& storage, const std::vector<std::byte>& heads) {
  using namespace discovery;
  const GridBatch batch(std::make_shared<const GridStorage>(storage));
  const SourceView view = upload_view(executor, batch);
  auto* voxels = scratch<std::int64_t>(executor, view.leaves);
  auto* voxels_before = scratch<std::int64_t>(executor, view.leaves + 1);
  auto* leaves_before = scratch<std::int64_t>(executor, view.lowers + 1);
  auto* lowers_before = scratch<std::int64_t>(executor, view.uppers + 1);

  // One block, read back at once: faults, prefix sums at the members' ends, boxes.
  const auto size = static_cast<std::size_t>(batch.size());
  const std::size_t ends_at = sizeof(NodesOnHost);
  const std::size_t boxes_at = ends_at + 3 * (size + 1) * sizeof(std::int64_t);
  std::vector<std::byte> block(boxes_at + size * sizeof(Extent));
  auto* device = static_cast<std::byte*>(executor.scratch_bytes(block.size()));
  auto* found = reinterpret_cast<NodesOnHost*>(device);
  auto* ends = reinterpret_cast<std::int64_t*>(device + ends_at);
  auto* boxes = reinterpret_cast<Extent*>(device + boxes_at);
  const NodesOnHost nothing_wrong{kInRange, kInRange, kInRange, kInRange, kInRange};
  executor.upload(found, &nothing_wrong, sizeof nothing_wrong);

  executor.for_each_index({view.leaves}, CheckLeaves{view, &found->leaf, voxels}, kMedium);
  executor.exclusive_scan({view.leaves}, ValueAt{voxels}, voxels_before);
  executor.for_each_index({view.leaves}, CheckOffsets{view, voxels_before, &found->leaf}, kMedium);
  executor.exclusive_scan({view.lowers}, CountChildren<LowerNode>{view}, leaves_before);
  executor.exclusive_scan({view.uppers}, CountChildren<UpperNode>{view}, lowers_before);
  executor.for_each_index({view.lowers}, CheckNodes<LowerNode>{view, leaves_before, &found->lower},
                          kHeavy);
  executor.for_each_index({view.uppers}, CheckNodes<UpperNode>{view, lowers_before, &found->upper},
                          1);
  executor.for_each_index({view.uppers}, CheckTiles{view, &found->tile, &found->disordered},
                          kHeavy);
  executor.for_each_index({batch.size() + 1},
                          CopyEnds{view, voxels_before, leaves_before, lowers_before, ends},
                          kMedium);
  executor.reduce_segments({batch.size()}, BoxMembers{view, boxes});
  executor.read_back(block.data(), device, block.size());

  NodesOnHost on_host{};
  std::memcpy(&on_host, block.data(), sizeof on_host);
  check_found(on_host, heads, reinterpret_cast<const std::int64_t*>(block.data() + ends_at),
              reinterpret_cast<const Extent*>(block.data() + boxes_at), storage.members);
  return on_host.disordered == kInRange;
}

}  // namespace adoption

template <Executor Inner>
GridBatch PassesOn<Inner>::adopt(std::shared_ptr<std::byte> memory, std::size_t bytes) {
  using namespace adoption;
  E& executor = begin("adopt");
  if (reinterpret_cast<std::uintptr_t>(memory.get()) % 32 != 0) {
    throw Error(ErrorKind::InvalidArgument, "adopt", "memory", "an odd address",
                "grids are aligned to 32 bytes");
  }
  if (bytes == 0) return GridBatch();
  const auto total = static_cast<std::int64_t>(bytes);
  auto* count = scratch<std::int64_t>(executor, 1);
  auto* offsets = scratch<std::int64_t>(executor, total / kHeadBytes + 1);
  executor.for_each_index({1}, WalkGrids{memory.get(), total, count, offsets}, 1);
  std::int64_t grids = 0;
  executor.read_back(&grids, count, sizeof grids);

  // Headers, and behind them where they stand.
  const auto heads_bytes = static_cast<std::size_t>(grids * kHeadBytes);
  std::vector<std::byte> heads(heads_bytes + static_cast<std::size_t>(grids) * 8);
  auto* device = static_cast<std::byte*>(executor.scratch_bytes(heads.size()));
  auto* copied_offsets = reinterpret_cast<std::int64_t*>(device + heads_bytes);
  executor.for_each_index({grids}, CopyHeads{memory.get(), total, offsets, device},
                          discovery::kHeavy);
  executor.for_each_index({grids}, CopyNumbers{offsets, copied_offsets}, discovery::kLight);
  executor.read_back(heads.data(), device, heads.size());

  auto storage = std::make_shared<GridStorage>();
  storage->canonical = false;
  storage->bytes = storage->total_bytes = total;
  storage->memory = std::move(memory);
  for (std::int64_t m = 0; m < grids; ++m) {
    std::int64_t offset = 0;
    std::memcpy(&offset, heads.data() + heads_bytes + 8 * static_cast<std::size_t>(m), 8);
    storage->members.push_back(
        read_header(heads.data() + m * kHeadBytes, total - offset, offset, m));
  }
  storage->tiles_in_order = check_nodes(executor, *storage, heads);
  const GridBatch batch(storage);
  // Rows must number voxels in canonical order [G-2]: where tiles are not, the batch is rebuilt.
  return storage->tiles_in_order ? batch : rebuild(batch);
}

template <Executor Inner>
std::shared_ptr<std::byte> PassesOn<Inner>::to_device(std::span<const std::byte> bytes) {
  E& executor = begin("to_device");
  bool zeroed = false;
  auto memory = executor.result_bytes(std::max<std::size_t>(bytes.size(), 1), &zeroed);
  executor.upload(memory.get(), bytes.data(), bytes.size());
  return memory;
}

template <Executor Inner>
GridBatch PassesOn<Inner>::to_host(const GridBatch& batch) {
  const GridStorage& from = *batch.storage();
  if (from.members.empty() || Inner::kHostMemory) return batch;
  E& executor = begin("to_host");
  bool zeroed = false;
  const auto bytes = static_cast<std::size_t>(from.total_bytes);
  auto memory = allocate_shared(system_allocator(), bytes, &zeroed);
  executor.read_back(memory.get(), from.memory.get(), bytes);
  return batch.moved_to(std::move(memory));
}

template <Executor Inner>
void PassesOn<Inner>::read(std::span<std::byte> to, const void* from) {
  begin("read").read_back(to.data(), from, to.size());
}

}  // namespace leafproof::gpu

/// Compiles what this file has for an executor.
#define LEAFPROOF_ADOPT_PASSES_ON(Inner)                                                      \
  template GridBatch PassesOn<Inner>::adopt(std::shared_ptr<std::byte>, std::size_t);         \
  template std::shared_ptr<std::byte> PassesOn<Inner>::to_device(std::span<const std::byte>); \
  template GridBatch PassesOn<Inner>::to_host(const GridBatch&);                              \
  template void PassesOn<Inner>::read(std::span<std::byte>, const void*)
