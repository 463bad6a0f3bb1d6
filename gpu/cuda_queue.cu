#include <algorithm>
#include <cstring>
#include <string>

#include "gpu/cuda_queue.h"
#include "gpu/error.h"

namespace leafproof::gpu {
namespace {

void* allocate_block(void* context, std::size_t bytes, bool* zeroed) {
  *zeroed = false;
  return static_cast<StreamMemory*>(context)->allocate(bytes);
}
void release_block(void* context, void* memory, std::size_t bytes) {
  static_cast<StreamMemory*>(context)->release(memory, bytes);
}

int current_device() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

}  // namespace

void check_cuda(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // it is reported here: the next call shall not find it again
  if (result == cudaErrorMemoryAllocation) {
    throw Error(ErrorKind::OutOfMemory, call, "memory", "", cudaGetErrorString(result));
  }
  throw CudaFailure(std::string(call) + ": " + cudaGetErrorName(result) + " (" +
                    cudaGetErrorString(result) + ")");
}

OnDevice::OnDevice(int device) : device_(device) {
  before_ = current_device();
  if (before_ != device_) check_cuda(cudaSetDevice(device_), "cudaSetDevice");
}
OnDevice::~OnDevice() {
  if (before_ != device_) cudaSetDevice(before_);
}

void* StreamMemory::allocate(std::size_t bytes) {
  void* block = allocator.allocate(allocator.context, bytes, stream);
  if (block != nullptr) return block;
  const cudaError_t reported = cudaGetLastError();
  if (reported != cudaErrorMemoryAllocation) check_cuda(reported, "allocate");
  return nullptr;
}
void StreamMemory::release(void* memory, std::size_t bytes) noexcept {
  int before = device;
  const bool known = cudaGetDevice(&before) == cudaSuccess;
  if (before != device) cudaSetDevice(device);
  allocator.release(allocator.context, memory, bytes, stream);
  if (known && before != device) cudaSetDevice(before);
}

CudaQueue::CudaQueue(cudaStream_t stream, const StreamAllocator& allocator)
    : memory_(new StreamMemory{allocator, stream, current_device()}),
      workspace_({allocate_block, release_block, memory_.get()}) {
  check_cuda(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device()),
             "cudaDeviceGetAttribute");
  void* pinned = nullptr;
  check_cuda(cudaHostAlloc(&pinned, kSlot * kSlots, cudaHostAllocDefault), "cudaHostAlloc");
  pinned_ = static_cast<std::byte*>(pinned);
  for (cudaEvent_t& event : copied_) {
    const cudaError_t made = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (made == cudaSuccess) continue;
    for (cudaEvent_t other : copied_) {
      if (other != nullptr) cudaEventDestroy(other);
    }
    cudaFreeHost(pinned_);
    check_cuda(made, "cudaEventCreateWithFlags");
  }
}

CudaQueue::~CudaQueue() {
  cudaStreamSynchronize(stream());  // copies may still be under way
  for (cudaEvent_t event : copied_) cudaEventDestroy(event);
  cudaFreeHost(pinned_);
}

void CudaQueue::begin() {
  const OnDevice on(device());
  workspace_.reset();
  temporary_ = nullptr;
  temporary_bytes_ = 0;
}

void* CudaQueue::temporary(std::size_t bytes) {
  if (temporary_ == nullptr || bytes > temporary_bytes_) {
    temporary_ = workspace_.take(bytes);
    temporary_bytes_ = bytes;
  }
  return temporary_;
}

std::shared_ptr<std::byte> CudaQueue::result_bytes(std::size_t bytes) {
  const OnDevice on(device());
  void* block = memory_->allocate(bytes);
  if (block == nullptr) {
    throw Error(ErrorKind::OutOfMemory, "allocate", "bytes", std::to_string(bytes),
                "the allocator has no such block");
  }
  return {static_cast<std::byte*>(block),
          [memory = memory_, bytes](std::byte* last) { memory->release(last, bytes); }};
}

void CudaQueue::zero(void* to, std::size_t bytes) {
  if (bytes == 0) return;
  const OnDevice on(device());
  check_cuda(cudaMemsetAsync(to, 0, bytes, stream()), "cudaMemsetAsync");
}

void CudaQueue::next_slot() {
  check_cuda(cudaEventRecord(copied_[slot_], stream()), "cudaEventRecord");
  pending_[slot_] = true;
  slot_ = (slot_ + 1) % kSlots;
  used_ = 0;
  if (!pending_[slot_]) return;
  check_cuda(cudaEventSynchronize(copied_[slot_]), "cudaEventSynchronize");
  pending_[slot_] = false;
}

void CudaQueue::upload(void* to, const void* from, std::size_t bytes) {
  const OnDevice on(device());
  for (std::size_t done = 0; done < bytes;) {
    if (used_ >= kSlot) next_slot();
    const std::size_t part = std::min(bytes - done, kSlot - used_);
    std::byte* staged = pinned_ + slot_ * kSlot + used_;
    std::memcpy(staged, static_cast<const std::byte*>(from) + done, part);
    check_cuda(cudaMemcpyAsync(static_cast<std::byte*>(to) + done, staged, part,
                               cudaMemcpyHostToDevice, stream()),
               "cudaMemcpyAsync");
    used_ += (part + 15) / 16 * 16;
    done += part;
  }
}

void CudaQueue::read_back(void* to, const void* from, std::size_t bytes) {
  const OnDevice on(device());
  // Copies are ordered on the stream: what arrives here is written after the last upload left.
  std::size_t done = 0;
  do {
    const std::size_t part = std::min(bytes - done, kSlot * kSlots);
    if (part > 0) {
      check_cuda(cudaMemcpyAsync(pinned_, static_cast<const std::byte*>(from) + done, part,
                                 cudaMemcpyDeviceToHost, stream()),
                 "cudaMemcpyAsync");
    }
    check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    if (part > 0) std::memcpy(static_cast<std::byte*>(to) + done, pinned_, part);
    done += part;
  } while (done < bytes);
  pending_.fill(false);
  slot_ = used_ = 0;
}

void CudaQueue::launch(const void* kernel, std::int64_t items, std::int64_t items_per_block,
                       int threads, void** arguments) {
  if (items <= 0) return;
  const OnDevice on(device());
  std::int64_t& most = most_blocks_[kernel];
  if (most == 0) {
    int per_processor = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel, threads, 0),
               "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    most = std::max<std::int64_t>(1, std::int64_t{per_processor} * processors_);
  }
  const std::int64_t blocks = std::min(most, (items - 1) / items_per_block + 1);
  check_cuda(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)),
                              dim3(static_cast<unsigned>(threads)), arguments, 0, stream()),
             "cudaLaunchKernel");
}

}  // namespace leafproof::gpu
