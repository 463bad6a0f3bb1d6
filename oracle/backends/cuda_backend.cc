#include "oracle/backends/cuda_backend.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#ifdef LEAFPROOF_HAS_CUDA
#include <cuda_runtime_api.h>

#include "gpu/cuda_builder.h"
#include "gpu/cuda_convolution.h"
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

/// Numbers by cuBLAS, on the builder's stream.
class CudaConvolver : public Convolver {
 public:
  explicit CudaConvolver(const gpu::CudaOptions& options) : convolution_(options) {}

  gpu::ConvolutionMap over(gpu::BatchedBuilder& builder, const gpu::KernelMap& map,
                           gpu::Triple kernel) override {
    return gpu::ConvolutionMap::in_place(builder, map, kernel);
  }

#define LEAFPROOF_NUMBERS_OF(T)                                                            \
  std::vector<T> convolve(gpu::BatchedBuilder& builder, const gpu::ConvolutionMap& over,   \
                          const gpu::ConvolutionInput<T>& input) override {                \
    return forward(builder, over, input);                                                  \
  }                                                                                        \
  gpu::ConvolutionGradients<T> gradients(                                                  \
      gpu::BatchedBuilder& builder, const gpu::ConvolutionMap& over,                       \
      const gpu::ConvolutionInput<T>& input, const gpu::Tensor<T>& grad_output) override { \
    return backward(builder, over, input, grad_output);                                    \
  }
  LEAFPROOF_NUMBERS_OF(double)
  LEAFPROOF_NUMBERS_OF(float)
  LEAFPROOF_NUMBERS_OF(Eigen::half)
  LEAFPROOF_NUMBERS_OF(std::int32_t)
#undef LEAFPROOF_NUMBERS_OF

 private:
  /// A tensor copied to the device.
  template <class T>
  struct There {
    std::shared_ptr<std::byte> memory;
    gpu::Tensor<T> tensor;
    There(gpu::BatchedBuilder& builder, const gpu::Tensor<T>& here)
        : memory(builder.to_device(std::as_bytes(here.values))),
          tensor{{reinterpret_cast<const T*>(memory.get()), here.values.size()}, here.shape} {}
  };
  template <class T>
  static std::vector<T> here(gpu::BatchedBuilder& builder, const gpu::DeviceNumbers<T>& there) {
    std::size_t count = 1;
    for (const std::int64_t n : there.shape) count *= static_cast<std::size_t>(n);
    std::vector<T> numbers(count);
    builder.read(std::as_writable_bytes(std::span(numbers)), there.values());
    return numbers;
  }

  template <class T>
  std::vector<T> forward(gpu::BatchedBuilder& builder, const gpu::ConvolutionMap& over,
                         const gpu::ConvolutionInput<T>& input) {
    const There<T> features(builder, input.features), weights(builder, input.weights);
    gpu::ConvolutionInput<T> given{features.tensor, weights.tensor, {}};
    std::optional<There<T>> bias;
    if (input.bias) given.bias = bias.emplace(builder, *input.bias).tensor;
    return here(builder, convolution_.convolve<T>(over, given));
  }
  template <class T>
  gpu::ConvolutionGradients<T> backward(gpu::BatchedBuilder& builder,
                                        const gpu::ConvolutionMap& over,
                                        const gpu::ConvolutionInput<T>& input,
                                        const gpu::Tensor<T>& grad_output) {
    const There<T> features(builder, input.features), weights(builder, input.weights),
        gradient(builder, grad_output);
    const auto found =
        convolution_.gradients<T>(over, {features.tensor, weights.tensor, {}}, gradient.tensor);
    return {here(builder, found.features), here(builder, found.weights), here(builder, found.bias)};
  }

  gpu::CudaConvolution convolution_;
};

/// By a builder's copies to and fro.
class CudaMemory : public DeviceMemory {
 public:
  CudaMemory() : stream_(new_stream("device memory")), builder_(gpu::cuda_builder(options())) {
    const cudaError_t found = cudaGetDevice(&device_);
    if (found != cudaSuccess) refuse("device memory", cudaGetErrorString(found));
  }
  std::int32_t device() const override { return device_; }
  void* stream() const override { return stream_.get(); }
  std::shared_ptr<std::byte> copy_of(std::span<const std::byte> bytes) override {
    return builder_.to_device(bytes);
  }
  void read(std::span<std::byte> to, const std::byte* from) override { builder_.read(to, from); }

 private:
  gpu::CudaOptions options() const {
    gpu::CudaOptions all;
    all.stream = stream_.get();
    return all;
  }

  std::shared_ptr<CUstream_st> stream_;
  gpu::BatchedBuilder builder_;
  int device_ = 0;
};
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
  const auto options = [stream, engine] {
    gpu::CudaOptions all;
    all.stream = stream.get();
    all.engine = engine;
    return all;
  };
  MakeConvolver convolver;
  const std::string why_not = gpu::why_no_cuda_convolution();
  if (why_not.empty()) {
    convolver = [options] { return std::make_unique<CudaConvolver>(options()); };
  } else {
    description += "; numbers on the host, for lack of cuBLAS (" + why_not + ")";
  }
  return make_builder_backend(
      std::move(name), std::move(description), [options] { return gpu::cuda_builder(options()); },
      convolver);
}

std::unique_ptr<DeviceMemory> make_cuda_memory() {
  if (const std::string why = why_no_cuda_backend(); !why.empty()) refuse("device memory", why);
  return std::make_unique<CudaMemory>();
}

#else

std::string why_no_cuda_backend() {
  return "this program was built without CUDA";
}

std::unique_ptr<Backend> make_cuda_backend(std::string name, gpu::Engine) {
  refuse(name, why_no_cuda_backend());
}

std::unique_ptr<DeviceMemory> make_cuda_memory() {
  refuse("device memory", why_no_cuda_backend());
}

#endif

}  // namespace leafproof::oracle
