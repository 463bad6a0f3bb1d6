#include <cuda_runtime.h>

#include "gpu/cuda_queue.h"
#include "tests/gpu_check/device.h"

namespace leafproof::gpu_check {
namespace {

using gpu::check_cuda;

__device__ std::int64_t nanoseconds() {
  std::int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin(const volatile int* stop, std::int64_t limit) {
  const std::int64_t begin = nanoseconds();
  while ((stop == nullptr || *stop == 0) && nanoseconds() - begin < limit) {
  }
}

__global__ void fault() {
  asm volatile("trap;");
}

void check_launch() {
  check_cuda(cudaGetLastError(), "a kernel of the checks");
}

}  // namespace

DeviceFacts device_facts() {
  DeviceFacts facts;
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  facts.name = properties.name;
  facts.capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
  facts.processors = properties.multiProcessorCount;
  facts.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  check_cuda(cudaDriverGetVersion(&facts.driver), "cudaDriverGetVersion");
  check_cuda(cudaRuntimeGetVersion(&facts.runtime), "cudaRuntimeGetVersion");
  return facts;
}

void keep_freed_memory() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  cudaMemPool_t pool = nullptr;
  check_cuda(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
  std::uint64_t all = UINT64_MAX;
  check_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
             "cudaMemPoolSetAttribute");
}

std::shared_ptr<CUstream_st> new_stream() {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
             "cudaStreamCreateWithFlags");
  return {stream, [](cudaStream_t last) { cudaStreamDestroy(last); }};
}

void synchronise(CudaStream stream) {
  check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

bool is_idle(CudaStream stream) {
  const cudaError_t state = cudaStreamQuery(stream);
  if (state == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check_cuda(state, "cudaStreamQuery");
  return true;
}

Busy::Busy() : stream_(new_stream()) {
  void* pinned = nullptr;
  check_cuda(cudaHostAlloc(&pinned, sizeof(int), cudaHostAllocMapped), "cudaHostAlloc");
  stop_ = static_cast<int*>(pinned);
  *stop_ = 0;
  spin<<<1, 1, 0, stream_.get()>>>(stop_, std::int64_t{30'000'000'000});
  check_launch();
}
Busy::~Busy() {
  *static_cast<volatile int*>(stop_) = 1;
  cudaStreamSynchronize(stream_.get());
  cudaFreeHost(stop_);
}
bool Busy::running() const {
  return !is_idle(stream_.get());
}

void enqueue_delay(CudaStream stream, double milliseconds) {
  spin<<<1, 1, 0, stream>>>(nullptr, static_cast<std::int64_t>(milliseconds * 1e6));
  check_launch();
}
void enqueue_fault(CudaStream stream) {
  fault<<<1, 1, 0, stream>>>();
  check_launch();
}
void enqueue_copy(void* to, const void* from, std::size_t bytes, CudaStream stream) {
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
}
void enqueue_zero(void* to, std::size_t bytes, CudaStream stream) {
  check_cuda(cudaMemsetAsync(to, 0, bytes, stream), "cudaMemsetAsync");
}

std::shared_ptr<std::byte> device_bytes(std::size_t bytes, CudaStream stream) {
  void* memory = nullptr;
  check_cuda(cudaMallocAsync(&memory, bytes, stream), "cudaMallocAsync");
  return {static_cast<std::byte*>(memory),
          [stream](std::byte* last) { cudaFreeAsync(last, stream); }};
}

double milliseconds_of(CudaStream stream, const std::function<void()>& enqueue) {
  cudaEvent_t begin = nullptr, end = nullptr;
  check_cuda(cudaEventCreate(&begin), "cudaEventCreate");
  check_cuda(cudaEventCreate(&end), "cudaEventCreate");
  check_cuda(cudaEventRecord(begin, stream), "cudaEventRecord");
  enqueue();
  check_cuda(cudaEventRecord(end, stream), "cudaEventRecord");
  check_cuda(cudaEventSynchronize(end), "cudaEventSynchronize");
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds;
}

void* WatchedAllocator::allocate(void* context, std::size_t bytes, CudaStream stream) {
  auto& self = *static_cast<WatchedAllocator*>(context);
  if (++self.calls == self.fail_at) return nullptr;
  void* memory = nullptr;
  if (cudaMallocAsync(&memory, bytes, stream) != cudaSuccess) return nullptr;
  check_cuda(cudaMemsetAsync(memory, 0xFF, bytes, stream), "cudaMemsetAsync");
  ++self.live_blocks;
  const std::int64_t live = self.live_bytes += static_cast<std::int64_t>(bytes);
  std::int64_t peak = self.peak_bytes;
  while (live > peak && !self.peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return memory;
}

void WatchedAllocator::release(void* context, void* memory, std::size_t bytes, CudaStream stream) {
  auto& self = *static_cast<WatchedAllocator*>(context);
  --self.live_blocks;
  self.live_bytes -= static_cast<std::int64_t>(bytes);
  cudaFreeAsync(memory, stream);
}

}  // namespace leafproof::gpu_check
