#include "oracle/backends/cuda_backend.h"

#include <utility>

#ifdef LEAFPROOF_HAS_CUDA
#include <cuda_runtime_api.h>

#include "gpu/cuda_builder.h"
#include "oracle/backends/builder_backend.h"
#endif

namespace leafproof::oracle {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(ErrorKind::Unsupported, {.operation = "make a backend",
                                       .argument = "backend",
                                       .value = name,
                                       .reason = "no CUDA device can be used: " + why,
                                       .member = {},
                                       .row = {}});
}

#ifdef LEAFPROOF_HAS_CUDA
/// A stream that lives as long as a builder may use it.
std::shared_ptr<CUstream_st> new_stream(const std::string& name) {
  cudaStream_t stream = nullptr;
  const cudaError_t made = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (made != cudaSuccess) refuse(name, cudaGetErrorString(made));
  return {stream, [](cudaStream_t last) { cudaStreamDestroy(last); }};
}
#endif

}  // namespace

#ifdef LEAFPROOF_HAS_CUDA

std::string why_no_cuda_backend() {
  return gpu::why_no_cuda();
}

std::unique_ptr<Backend> make_cuda_backend(std::string name, gpu::Engine engine) {
  const std::string why = why_no_cuda_backend();
  if (!why.empty()) refuse(name, why);
  const auto stream = new_stream(name);
  std::string description = "the batched builder on a CUDA device; leaves found by ";
  description += engine == gpu::Engine::Sort ? "sorted keys" : "child masks";
  return make_builder_backend(std::move(name), std::move(description), [stream, engine] {
    gpu::CudaOptions options;
    options.stream = stream.get();
    options.engine = engine;
    return gpu::cuda_builder(options);
  });
}

#else

std::string why_no_cuda_backend() {
  return "this program was built without CUDA";
}

std::unique_ptr<Backend> make_cuda_backend(std::string name, gpu::Engine) {
  refuse(name, why_no_cuda_backend());
}

#endif

}  // namespace leafproof::oracle
