// Convolution over a kernel map [V], in plain memory: forward and transposed alike (the map decides
// [M-1]), and its gradients [V-2]. Products of matrices are Eigen's.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gpu/batched_builder.h"

namespace leafproof::gpu {

/// What a convolution runs over: a kernel map, or each row joined to itself by one tap [V-4].
class ConvolutionMap {
 public:
  /// `map` is one of `builder` for a kernel of that size; ShapeMismatch where it has another number
  /// of taps. Constant time; where the builder does not work in plain memory, a copy of the map.
  static ConvolutionMap of(BatchedBuilder& builder, const KernelMap& map, Triple kernel);
  /// The same where the map lies, for a CudaConvolution. Constant time.
  static ConvolutionMap in_place(const BatchedBuilder& builder, KernelMap map, Triple kernel);
  static ConvolutionMap identity(std::int64_t rows);

  /// Columns swapped [M-1]; constant time.
  ConvolutionMap transposed() const;

  bool is_identity() const { return !map_; }
  /// Where convolve() can read it; else a CudaConvolution can (cuda_convolution.h).
  bool in_host_memory() const { return in_host_memory_; }
  const std::optional<KernelMap>& map() const { return map_; }
  Triple kernel() const { return kernel_; }
  std::int64_t taps() const { return map_ ? map_->taps() : 1; }
  /// Where the map lies.
  TapPairs pairs_of(std::int64_t tap) const {
    return map_ ? map_->pairs_of(tap) : TapPairs{nullptr, nullptr, 0, rows_};
  }
  std::int64_t source_rows() const { return map_ ? map_->source_rows() : rows_; }
  std::int64_t target_rows() const { return map_ ? map_->target_rows() : rows_; }

 private:
  std::optional<KernelMap> map_;
  Triple kernel_{1, 1, 1};
  std::int64_t rows_ = 0;
  bool in_host_memory_ = true;
};

/// Numbers of double, float, Eigen::half or int32 [V-6]; last axis fastest.
template <class T>
struct Tensor {
  std::span<const T> values;
  std::vector<std::int64_t> shape;
};

template <class T>
struct ConvolutionInput {
  Tensor<T> features;             // [source rows][Cin]
  Tensor<T> weights;              // [Cout][Cin][Kx][Ky][Kz]; at the identity [Cout][Cin] as well
  std::optional<Tensor<T>> bias;  // [Cout]
};

/// How sums are made. The numbers of integers are the same; those of floats are within [V-3].
enum class ConvolutionForm {
  PerTap,  // of each tap: gather rows, multiply, add to the target rows
  // Gather the rows of all taps, zeros where there is none, one product [V-5]. As PerTap where a
  // weight is not finite, which an absent row would be multiplied with.
  Chunked,
};

struct ConvolutionOptions {
  // On surfaces, where a row has 10 of 27 partners, PerTap is twice as fast for any number of
  // channels; in solids Chunked is faster, by 10 percent, or 60 with few channels
  // (docs/performance-conv.md). Not chosen by how full a batch is: a row's bits do not depend on
  // its batch mates [L-3].
  ConvolutionForm form = ConvolutionForm::PerTap;
  Threads threads = Threads::Tbb;
  /// Of gathered rows, products and the pairs of transposed maps, all threads together [V-5]; fewer
  /// threads work where it does not suffice, and CapacityExceeded where it does not for one.
  std::int64_t working_memory = std::int64_t{256} << 20;
};

/// ShapeMismatch for what does not fit, naming both shapes [P-1]. Looks at no number.
template <class T>
void check_convolution(const ConvolutionMap& over, const ConvolutionInput<T>& input);

/// [V-1] Bias plus the sum over taps, as [target rows][Cout]; a row without pairs is the bias.
/// Summed in double, float, float and (without overflow) integers, then rounded once [V-6]. Of one
/// form, every row is the same bits whatever the threads, the memory and the other rows are: taps
/// ascend, and rows are multiplied in blocks of a fixed size. Errors: as check_convolution; then
/// Unsupported for a map that is not in plain memory, OutOfRange for a result that int32 does not
/// hold, with its row.
/// O(pairs * Cin * Cout), Chunked O(rows * taps * Cin * Cout); of half and int32 a copy of the
/// result in what it is summed in.
template <class T>
std::vector<T> convolve(const ConvolutionMap& over, const ConvolutionInput<T>& input,
                        const ConvolutionOptions& options = {});

/// [V-2] Each in the shape of what it is the gradient of.
template <class T>
struct ConvolutionGradients {
  std::vector<T> features, weights, bias;
};

/// The bias of `input` is not read; `grad_output` is [target rows][Cout]. Errors as convolve.
/// Gradients of weights use a thread per tap and, like those of the bias, are summed over all rows
/// of the batch, in the order of the map.
template <class T>
void check_convolution_gradients(const ConvolutionMap& over, const ConvolutionInput<T>& input,
                                 const Tensor<T>& grad_output);
template <class T>
ConvolutionGradients<T> convolution_gradients(const ConvolutionMap& over,
                                              const ConvolutionInput<T>& input,
                                              const Tensor<T>& grad_output,
                                              const ConvolutionOptions& options = {});

}  // namespace leafproof::gpu
