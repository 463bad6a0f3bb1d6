#include <memory>
#include <string>

#include "gpu/cuda_builder.h"
#include "gpu/cuda_executor.cuh"
#include "gpu/passes_on.h"

namespace leafproof::gpu {
namespace {

__global__ void probe() {}

std::string in_words(cudaError_t result) {
  cudaGetLastError();
  return std::string(cudaGetErrorName(result)) + " (" + cudaGetErrorString(result) + ")";
}

void* allocate_async(void*, std::size_t bytes, CudaStream stream) {
  void* memory = nullptr;
  return cudaMallocAsync(&memory, bytes, stream) == cudaSuccess ? memory : nullptr;
}
void free_async(void*, void* memory, std::size_t, CudaStream stream) {
  cudaFreeAsync(memory, stream);  // the last owner has nobody to report to
}

}  // namespace

StreamAllocator async_allocator() {
  return {allocate_async, free_async, nullptr};
}

std::string why_no_cuda() {
  int devices = 0;
  const cudaError_t counted = cudaGetDeviceCount(&devices);
  if (counted != cudaSuccess) return in_words(counted);
  if (devices == 0) return "no device";
  cudaFuncAttributes attributes{};
  const cudaError_t runs = cudaFuncGetAttributes(&attributes, reinterpret_cast<void*>(&probe));
  if (runs != cudaSuccess)
    return "the current device runs no code of this build: " + in_words(runs);
  return "";
}

void check_options(const char* operation, const CudaOptions& options) {
  if (options.stream == nullptr || options.stream == cudaStreamLegacy ||
      options.stream == cudaStreamPerThread) {
    throw Error(ErrorKind::InvalidArgument, operation, "stream", "a default stream",
                "must be a stream of the caller's own");
  }
  if (options.allocator.allocate == nullptr || options.allocator.release == nullptr) {
    throw Error(ErrorKind::InvalidArgument, operation, "allocator", "null",
                "must have both functions");
  }
  const std::string why = why_no_cuda();
  if (!why.empty()) {
    throw Error(ErrorKind::Unsupported, operation, "device", "none", why);
  }
}

BatchedBuilder cuda_builder(const CudaOptions& options) {
  check_options("cuda_builder", options);
  return BatchedBuilder(std::make_unique<PassesOn<CudaExecutor>>(
      CudaExecutor(std::make_unique<CudaQueue>(options.stream, options.allocator)), options));
}

}  // namespace leafproof::gpu
