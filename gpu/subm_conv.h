// Submanifold convolution as a layer [M-5]: the rows that come in are the rows that go out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/plan.h"

namespace leafproof::gpu {

/// The order of weights; last axis fastest, taps as [K-2].
enum class WeightLayout {
  TapInOut,  // [Kx * Ky * Kz][Cin][Cout]
  OutInXyz,  // [Cout][Cin][Kx][Ky][Kz], that of [V-1]
};

struct SubMConv3dOptions {
  Triple kernel{3, 3, 3}, dilation{1, 1, 1};
  bool bias = true;
  std::uint64_t seed = 0;
  ConvolutionOptions convolution;
};

/// Of double, float or Eigen::half.
template <class T>
class SubMConv3d {
 public:
  /// Weights are uniform in +-(Cin * Kx * Ky * Kz)^(-1/2), the same for the same seed everywhere,
  /// drawn in the order of OutInXyz; the bias is zero. Plans are kept in `plans`, which layers may
  /// share; with none, in a cache of the layer's own. InvalidArgument for channels below 1 and for
  /// an even kernel; Unsupported beyond [K-7].
  SubMConv3d(std::int64_t cin, std::int64_t cout, const SubMConv3dOptions& options = {},
             std::shared_ptr<PlanCache> plans = {});

  /// ShapeMismatch, with both shapes, where they do not fit.
  void set_weights(const Tensor<T>& weights, WeightLayout layout);
  void set_bias(const Tensor<T>& bias);
  std::vector<T> weights(WeightLayout layout) const;
  std::vector<std::int64_t> weights_shape(WeightLayout layout) const;
  std::span<const T> bias() const { return bias_; }  // empty: a layer without

  /// [rows][Cin] to [rows][Cout], rows of `grid`. The map of a batch that was seen before is taken
  /// from the cache; K=1 needs none [V-4]. Errors: as Plan::build and convolve().
  std::vector<T> forward(BatchedBuilder& builder, const GridBatch& grid,
                         const Tensor<T>& features) const;
  /// [V-2] Those of the weights are in OutInXyz.
  ConvolutionGradients<T> backward(BatchedBuilder& builder, const GridBatch& grid,
                                   const Tensor<T>& features, const Tensor<T>& grad_output) const;

  const PlanCache& plans() const { return *plans_; }

 private:
  Plan plan(BatchedBuilder& builder, const GridBatch& grid) const;
  ConvolutionInput<T> input(const Tensor<T>& features) const;

  std::int64_t cin_, cout_;
  SubMConv3dOptions options_;
  std::shared_ptr<PlanCache> plans_;
  std::vector<T> weights_;  // OutInXyz
  std::vector<T> bias_;
};

}  // namespace leafproof::gpu
