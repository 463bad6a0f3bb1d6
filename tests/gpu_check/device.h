// What the checks do with a device besides building on it: streams, work that takes its time,
// memory that is watched, clocks. No CUDA header, so that the checks are plain C++.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "gpu/cuda_builder.h"

namespace leafproof::gpu_check {

using gpu::CudaStream;

struct DeviceFacts {
  std::string name, capability;
  int driver = 0, runtime = 0, processors = 0;
  std::int64_t memory_bytes = 0;
};
DeviceFacts device_facts();

/// The default memory pool keeps what is freed: the program's choice, not the builder's.
void keep_freed_memory();

/// A stream that does not wait for the default one.
std::shared_ptr<CUstream_st> new_stream();
void synchronise(CudaStream stream);
/// False while work is under way.
bool is_idle(CudaStream stream);

/// A kernel that spins on a stream of its own until it is told to stop, thirty seconds at most.
class Busy {
 public:
  Busy();
  ~Busy();
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  bool running() const;

 private:
  std::shared_ptr<CUstream_st> stream_;
  int* stop_;  // pinned
};

/// Enqueues a kernel that takes this long.
void enqueue_delay(CudaStream stream, double milliseconds);
/// Enqueues a kernel that fails: what comes after it on the device fails too.
void enqueue_fault(CudaStream stream);
void enqueue_copy(void* to, const void* from, std::size_t bytes, CudaStream stream);
void enqueue_zero(void* to, std::size_t bytes, CudaStream stream);

/// Device memory of the async allocator on a stream.
std::shared_ptr<std::byte> device_bytes(std::size_t bytes, CudaStream stream);

/// Milliseconds between two events around the work that `enqueue` puts on the stream.
double milliseconds_of(CudaStream stream, const std::function<void()>& enqueue);

/// Counts blocks and bytes, fills each block with 0xFF on the stream, and fails on demand.
class WatchedAllocator {
 public:
  gpu::StreamAllocator allocator() { return {allocate, release, this}; }
  std::int64_t fail_at = 0;  // the n-th allocation from the beginning; 0: none
  std::atomic<std::int64_t> calls{0}, live_blocks{0}, live_bytes{0}, peak_bytes{0};

 private:
  static void* allocate(void* context, std::size_t bytes, CudaStream stream);
  static void release(void* context, void* memory, std::size_t bytes, CudaStream stream);
};

}  // namespace leafproof::gpu_check
