// Convolution over a kernel map [V] on a CUDA device: rows gathered, products by cuBLAS, sums added
// where they belong, a tap after the other on the caller's stream. This header needs no CUDA
// header; link Leafproof::cuda. cuBLAS is opened when a CudaConvolution is made.
//
//     BatchedBuilder builder = cuda_builder(options);
//     Plan plan = Plan::build(builder, source, geometry, Direction::Forward, {}, Plan::kDevice);
//     CudaConvolution convolution(options);
//     DeviceNumbers<float> out = convolution.convolve<float>(plan.map(), {features, weights,
//     bias});
//
// Tensors that are given, maps and results lie in device memory of the stream's device; shapes are
// on the host. Nothing waits for the stream but results of int32, whose range has to be known.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/convolution.h"
#include "gpu/cuda_builder.h"

namespace leafproof::gpu {

/// Numbers in device memory, last axis fastest; memory of the caller's allocator, shared.
template <class T>
struct DeviceNumbers {
  std::shared_ptr<std::byte> memory;
  std::vector<std::int64_t> shape;
  const T* values() const { return reinterpret_cast<const T*>(memory.get()); }
};

template <class T>
struct DeviceGradients {
  DeviceNumbers<T> features, weights, bias;
};

class CudaConvolution {
 public:
  /// On the stream and with the allocator of a cuda_builder; takes 32 MiB of it. Errors as
  /// cuda_builder, and Unsupported where there is no cuBLAS.
  explicit CudaConvolution(const CudaOptions& options);
  ~CudaConvolution();
  CudaConvolution(CudaConvolution&&) noexcept;
  CudaConvolution& operator=(CudaConvolution&&) noexcept;

  /// As convolve() of convolution.h, for double, float, Eigen::half and int32, of which the last is
  /// exact. Of floats a row may differ in its last bits with what stands beside it, within [V-3].
  /// `working_memory`: bytes of gathered rows and products at one time [V-5]; besides, the packed
  /// weights and, of half and int32, a copy of the result in what it is summed in. Errors as
  /// convolve(); Unsupported for a map in plain memory.
  template <class T>
  DeviceNumbers<T> convolve(const ConvolutionMap& over, const ConvolutionInput<T>& input,
                            std::int64_t working_memory = std::int64_t{256} << 20);

  /// As convolution_gradients(). Gradients of int32 weights are summed by one thread a number.
  template <class T>
  DeviceGradients<T> gradients(const ConvolutionMap& over, const ConvolutionInput<T>& input,
                               const Tensor<T>& grad_output,
                               std::int64_t working_memory = std::int64_t{256} << 20);

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

/// Why this machine cannot run a CudaConvolution, in one phrase; empty if it can.
std::string why_no_cuda_convolution();

}  // namespace leafproof::gpu
