// nanovdb::GridHandle in and out without copying: a buffer type that owns a batch's memory, and the
// way from any handle to a checked batch.
#pragma once

#include <nanovdb/GridHandle.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "gpu/batched_builder.h"
#include "gpu/error.h"
#include "gpu/grid_batch.h"

namespace leafproof::gpu {

/// A buffer in NanoVDB's sense that shares the memory of a GridBatch. Move only, as NanoVDB asks.
class GridMemory {
 public:
  GridMemory() = default;
  GridMemory(std::shared_ptr<std::byte> memory, std::uint64_t bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}
  GridMemory(GridMemory&& other) noexcept
      : memory_(std::move(other.memory_)), bytes_(std::exchange(other.bytes_, 0)) {}
  GridMemory& operator=(GridMemory&& other) noexcept {
    memory_ = std::move(other.memory_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  GridMemory(const GridMemory&) = delete;
  GridMemory& operator=(const GridMemory&) = delete;
  ~GridMemory() = default;

  /// New memory of this size, as NanoVDB's own copies need; throws Error(OutOfMemory).
  static GridMemory create(std::uint64_t bytes, const GridMemory* = nullptr) {
    bool zeroed = false;
    return {allocate_shared(system_allocator(), bytes, &zeroed), bytes};
  }

  void* data() { return memory_.get(); }
  const void* data() const { return memory_.get(); }
  template <class T>
  T* data(std::ptrdiff_t count) {
    return reinterpret_cast<T*>(memory_.get()) + count;
  }
  template <class T>
  const T* data(std::ptrdiff_t count) const {
    return reinterpret_cast<const T*>(memory_.get()) + count;
  }
  std::uint64_t size() const { return bytes_; }
  std::uint64_t bufferSize() const { return bytes_; }
  bool empty() const { return bytes_ == 0; }
  bool isEmpty() const { return empty(); }
  void clear() { *this = GridMemory(); }

 private:
  std::shared_ptr<std::byte> memory_;
  std::uint64_t bytes_ = 0;
};

using GridHandle = nanovdb::GridHandle<GridMemory>;

/// The batch as a NanoVDB handle over the same memory, which both keep alive. The handle can write
/// to it; do so only once the batch is gone. Error(InvalidArgument) for a view: rebuild it first.
inline GridHandle to_handle(const GridBatch& batch) {
  if (batch.bytes().empty()) return GridHandle();
  return GridHandle(GridMemory(batch.storage()->memory, batch.bytes().size()));
}

/// The grids of any handle in host memory, checked [E-2] and taken over without copying; the handle
/// lives as long as the batch does. Errors as BatchedBuilder::adopt.
template <class Buffer>
GridBatch from_handle(BatchedBuilder& builder, nanovdb::GridHandle<Buffer>&& handle) {
  auto owner = std::make_shared<nanovdb::GridHandle<Buffer>>(std::move(handle));
  auto* memory = static_cast<std::byte*>(owner->data());
  const std::size_t bytes = owner->buffer().size();
  return builder.adopt(std::shared_ptr<std::byte>(std::move(owner), memory), bytes);
}

}  // namespace leafproof::gpu
