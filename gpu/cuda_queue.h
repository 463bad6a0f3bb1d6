// What of the CUDA executor is no kernel: a stream of the caller, memory from the caller's
// stream-ordered allocator, copies through pinned memory, and every call checked. Nothing here
// touches the default stream; only read_back() waits, and upload() where more than the ring holds
// was uploaded since the last wait.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "gpu/cuda_builder.h"
#include "gpu/memory.h"

namespace leafproof::gpu {

/// Throws what a call of CUDA reported: Error(OutOfMemory) where memory ran out, else CudaFailure.
void check_cuda(cudaError_t result, const char* call);

/// InvalidArgument for a default stream and a missing function, Unsupported where no device runs
/// this build.
void check_options(const char* operation, const CudaOptions& options);

/// Makes a device the thread's current one, and the one before again.
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0, device_;
};

/// The caller's allocator on the caller's stream. Blocks keep it alive.
struct StreamMemory {
  StreamAllocator allocator;
  cudaStream_t stream;
  int device;

  /// Null when there is no such block; throws CudaFailure where CUDA reports something else.
  void* allocate(std::size_t bytes);
  void release(void* memory, std::size_t bytes) noexcept;
};

class CudaQueue {
 public:
  /// On the current device. Allocates 2 MiB of pinned memory, which may wait for the device.
  CudaQueue(cudaStream_t stream, const StreamAllocator& allocator);
  ~CudaQueue();  // waits for the stream
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  cudaStream_t stream() const { return memory_->stream; }
  int device() const { return memory_->device; }

  void begin();
  void* scratch_bytes(std::size_t bytes) { return workspace_.take(bytes); }
  /// Scratch of one algorithm at a time: the same block again where it is large enough.
  void* temporary(std::size_t bytes);
  std::shared_ptr<std::byte> result_bytes(std::size_t bytes);

  void zero(void* to, std::size_t bytes);
  void upload(void* to, const void* from, std::size_t bytes);
  void read_back(void* to, const void* from, std::size_t bytes);

  /// Enqueues a kernel; `items` are what its grid covers at `items_per_block` a block, in strides
  /// where that would be more blocks than the device holds at once.
  void launch(const void* kernel, std::int64_t items, std::int64_t items_per_block, int threads,
              void** arguments);

 private:
  static constexpr std::size_t kSlot = std::size_t{1} << 19, kSlots = 4;

  void next_slot();

  std::shared_ptr<StreamMemory> memory_;
  Workspace workspace_;  // before memory_ goes
  int processors_ = 1;
  std::unordered_map<const void*, std::int64_t> most_blocks_;  // of a kernel, at once

  std::byte* pinned_ = nullptr;  // a ring of slots for uploads; as a whole, where reads arrive
  std::array<cudaEvent_t, kSlots> copied_{};  // the last copy out of a slot
  std::array<bool, kSlots> pending_{};
  std::size_t slot_ = 0, used_ = 0;

  void* temporary_ = nullptr;
  std::size_t temporary_bytes_ = 0;
};

}  // namespace leafproof::gpu
