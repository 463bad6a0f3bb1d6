// Any batched builder as a backend, whatever executor it runs on: inputs go to the memory that it
// works in, answers come back from there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/batched_builder.h"
#include "gpu/convolution.h"
#include "oracle/backend.h"

namespace leafproof::oracle {

/// A new builder: each answer is given by its own, so answers may be asked from several threads.
using MakeBuilder = std::function<gpu::BatchedBuilder()>;

/// Who computes numbers of one type over a builder's map; tensors come and go in plain memory.
template <class T>
class NumbersOf {
 public:
  virtual std::vector<T> convolve(gpu::BatchedBuilder& builder, const gpu::ConvolutionMap& over,
                                  const gpu::ConvolutionInput<T>& input) = 0;
  virtual gpu::ConvolutionGradients<T> gradients(gpu::BatchedBuilder& builder,
                                                 const gpu::ConvolutionMap& over,
                                                 const gpu::ConvolutionInput<T>& input,
                                                 const gpu::Tensor<T>& grad_output) = 0;

 protected:
  ~NumbersOf() = default;
};

/// Of all types [V-6].
class Convolver : public NumbersOf<double>,
                  public NumbersOf<float>,
                  public NumbersOf<Eigen::half>,
                  public NumbersOf<std::int32_t> {
 public:
  virtual ~Convolver() = default;
  /// The map where it is read.
  virtual gpu::ConvolutionMap over(gpu::BatchedBuilder& builder, const gpu::KernelMap& map,
                                   gpu::Triple kernel) = 0;
};
using MakeConvolver = std::function<std::unique_ptr<Convolver>()>;

/// Without a convolver numbers are computed on the host, over a copy of the map.
std::unique_ptr<Backend> make_builder_backend(std::string name, std::string description,
                                              MakeBuilder make, MakeConvolver convolver = {});

/// The builder's error in the oracle's words.
Error translated(const gpu::Error& error);

}  // namespace leafproof::oracle
