// See subm_conv.h.
#include "gpu/subm_conv.h"

#include <cmath>
#include <random>
#include <utility>

#include "gpu/conv_relation.h"
#include "gpu/error.h"
#include "gpu/tensor_checks.h"

namespace leafproof::gpu {
namespace {

constexpr const char* kOperation = "subm_conv3d";

ConvGeometry geometry_of(const SubMConv3dOptions& options) {
  return {options.kernel, {1, 1, 1}, options.dilation};
}

void check_channels(const char* argument, std::int64_t channels) {
  if (channels < 1) {
    throw Error(ErrorKind::InvalidArgument, kOperation, argument, std::to_string(channels),
                "must be at least 1");
  }
}

template <class T>
void check_tensor(const char* argument, const Tensor<T>& tensor, const Shape& shape) {
  check_shape(kOperation, argument, tensor, shape);
  check_count(kOperation, argument, tensor);
}

/// Where number i of [K^3][Cin][Cout] stands in [Cout][Cin][Kx][Ky][Kz].
std::size_t in_out_in_xyz(std::size_t i, std::size_t numbers, std::size_t cin, std::size_t cout) {
  const std::size_t taps = numbers / (cin * cout);
  return (i % cout * cin + i / cout % cin) * taps + i / (cin * cout);
}

}  // namespace

template <class T>
SubMConv3d<T>::SubMConv3d(std::int64_t cin, std::int64_t cout, const SubMConv3dOptions& options,
                          std::shared_ptr<PlanCache> plans)
    : cin_(cin), cout_(cout), options_(options), plans_(std::move(plans)) {
  or_out_of_memory(kOperation, [&] {
    check_channels("cin", cin);
    check_channels("cout", cout);
    check_submanifold(kOperation, geometry_of(options));
    if (plans_ == nullptr) plans_ = std::make_shared<PlanCache>();
    const std::int64_t taps = taps_of(geometry_of(options));
    const double bound = 1 / std::sqrt(static_cast<double>(cin * taps));
    std::mt19937_64 random(options.seed);
    weights_.resize(static_cast<std::size_t>(cout * cin * taps));
    for (T& weight : weights_) {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-53;  // in [0, 1)
      weight = static_cast<T>((2 * unit - 1) * bound);
    }
    if (options.bias) bias_.resize(static_cast<std::size_t>(cout), static_cast<T>(0));
  });
}

template <class T>
std::vector<std::int64_t> SubMConv3d<T>::weights_shape(WeightLayout layout) const {
  const Triple& k = options_.kernel;
  if (layout == WeightLayout::TapInOut) return {k[0] * k[1] * k[2], cin_, cout_};
  return {cout_, cin_, k[0], k[1], k[2]};
}

template <class T>
void SubMConv3d<T>::set_weights(const Tensor<T>& weights, WeightLayout layout) {
  or_out_of_memory(kOperation, [&] {
    check_tensor("weights", weights, weights_shape(layout));
    if (layout == WeightLayout::OutInXyz) {
      weights_.assign(weights.values.begin(), weights.values.end());
      return;
    }
    const auto cin = static_cast<std::size_t>(cin_), cout = static_cast<std::size_t>(cout_);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      weights_[in_out_in_xyz(i, weights_.size(), cin, cout)] = weights.values[i];
    }
  });
}

template <class T>
std::vector<T> SubMConv3d<T>::weights(WeightLayout layout) const {
  return or_out_of_memory(kOperation, [&]() -> std::vector<T> {
    if (layout == WeightLayout::OutInXyz) return weights_;
    const auto cin = static_cast<std::size_t>(cin_), cout = static_cast<std::size_t>(cout_);
    std::vector<T> all(weights_.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = weights_[in_out_in_xyz(i, weights_.size(), cin, cout)];
    }
    return all;
  });
}

template <class T>
void SubMConv3d<T>::set_bias(const Tensor<T>& bias) {
  or_out_of_memory(kOperation, [&] {
    if (!options_.bias) {
      throw Error(ErrorKind::InvalidArgument, kOperation, "bias", text_of(bias.shape),
                  "the layer has no bias");
    }
    check_tensor("bias", bias, {cout_});
    bias_.assign(bias.values.begin(), bias.values.end());
  });
}

template <class T>
Plan SubMConv3d<T>::plan(BatchedBuilder& builder, const GridBatch& grid) const {
  return plans_->get(builder, grid, geometry_of(options_), Direction::Forward, grid);
}

template <class T>
ConvolutionInput<T> SubMConv3d<T>::input(const Tensor<T>& features) const {
  ConvolutionInput<T> all{features, {weights_, weights_shape(WeightLayout::OutInXyz)}, {}};
  if (options_.bias) all.bias = Tensor<T>{bias_, {cout_}};
  return all;
}

template <class T>
std::vector<T> SubMConv3d<T>::forward(BatchedBuilder& builder, const GridBatch& grid,
                                      const Tensor<T>& features) const {
  return or_out_of_memory(kOperation, [&]() -> std::vector<T> {
    return plan(builder, grid).convolve(input(features), options_.convolution);
  });
}

template <class T>
ConvolutionGradients<T> SubMConv3d<T>::backward(BatchedBuilder& builder, const GridBatch& grid,
                                                const Tensor<T>& features,
                                                const Tensor<T>& grad_output) const {
  return or_out_of_memory(kOperation, [&]() -> ConvolutionGradients<T> {
    return plan(builder, grid).gradients(input(features), grad_output, options_.convolution);
  });
}

template class SubMConv3d<double>;
template class SubMConv3d<float>;
template class SubMConv3d<Eigen::half>;

}  // namespace leafproof::gpu
