#include "gpu/cuda_convolution.h"

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "gpu/cuda_blas.h"
#include "gpu/cuda_numbers.h"
#include "gpu/error.h"
#include "gpu/executor.h"

namespace leafproof::gpu {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};

/// A type as kernels know it.
template <class T>
struct DeviceType {
  using Type = T;
};
template <>
struct DeviceType<Eigen::half> {
  using Type = __half;
};
template <class T>
using Device = typename DeviceType<T>::Type;
static_assert(sizeof(Eigen::half) == sizeof(__half));

template <class T>
const Device<T>* device(const Tensor<T>& tensor) {
  return reinterpret_cast<const Device<T>*>(tensor.values.data());
}

void check_map(const char* operation, const ConvolutionMap& over) {
  if (over.is_identity() || !over.in_host_memory()) return;
  throw Error(ErrorKind::Unsupported, operation, "map", "lies in plain memory",
              "must be one of a cuda_builder");
}

}  // namespace

/// The queue, cuBLAS, and every sum in pieces that fit into the working memory.
class CudaConvolution::Work {
 public:
  explicit Work(const CudaOptions& options)
      : queue_(options.stream, options.allocator), blas_(queue_) {}

  /// Begins an operation: what the last one had as scratch is used again.
  void begin(const char* operation, std::int64_t working_memory) {
    operation_ = operation;
    working_memory_ = working_memory;
    queue_.begin();
  }

  /// A result: bias (or zero) plus, for each pair, the row of `features` [..][from] times the
  /// weights of its tap, [from][to] or with `back` transposed.
  template <class T>
  DeviceNumbers<T> rows(const char* result, const ConvolutionMap& over, const Device<T>* features,
                        const Device<T>* weights, const Device<T>* bias, std::int64_t from,
                        std::int64_t to, bool back) {
    using N = Device<T>;
    using S = cuda::Sum<N>;
    const std::int64_t rows = over.target_rows(), taps = over.taps();
    DeviceNumbers<T> numbers = make<T>({rows, to});
    S* sums = sums_of(numbers);
    cuda::fill_with_bias(queue_, bias, sums, rows, to);
    if (from > 0 && to > 0) {
      N* packed = scratch<N>(taps * from * to);
      cuda::pack_weights(queue_, weights, packed, back ? to : from, back ? from : to, taps, back);
      Room<N, S> room = make_room<N, S>(over, from, to, true);
      for (std::int64_t t = 0; t < taps; ++t) {
        add_tap(over, t, features, packed + t * from * to, sums, from, to, room);
      }
    }
    finish(result, numbers, sums, to);
    return numbers;
  }

  /// grad_W [Cout][Cin][taps].
  template <class T>
  DeviceNumbers<T> weights(const ConvolutionMap& over, const Device<T>* features,
                           const Device<T>* gradient, std::vector<std::int64_t> shape,
                           std::int64_t cin, std::int64_t cout) {
    using N = Device<T>;
    using S = cuda::Sum<N>;
    const std::int64_t taps = over.taps(), one = cin * cout;
    DeviceNumbers<T> numbers = make<T>(std::move(shape));
    if (one == 0) return numbers;
    S* by_tap = scratch<S>(taps * one);
    queue_.zero(by_tap, static_cast<std::size_t>(taps * one) * sizeof(S));
    if constexpr (std::is_same_v<T, std::int32_t>) {
      for (std::int64_t t = 0; t < taps; ++t) {
        cuda::sum_integer_products(queue_, over.pairs_of(t), features, gradient, by_tap + t * one,
                                   cin, cout);
      }
    } else {
      Room<N, N> room = make_room<N, N>(over, cin, cout, false);
      for (std::int64_t t = 0; t < taps; ++t) {
        in_pieces(over.pairs_of(t), room.rows, [&](const TapPairs& piece) {
          const N* x = gathered(features, piece, piece.gather, room.x, cin);
          const N* g = gathered(gradient, piece, piece.scatter, room.y, cout);
          blas_.add_columns_times(x, g, by_tap + t * one, piece.count, cin, cout);
        });
      }
    }
    S* sums = sums_of(numbers);
    cuda::unpack_sums(queue_, by_tap, sums, cin, cout, taps);
    finish("grad_weights", numbers, sums, taps * cin);
    return numbers;
  }

  /// grad_bias [Cout].
  template <class T>
  DeviceNumbers<T> columns(const Device<T>* gradient, std::int64_t rows, std::int64_t cout) {
    using S = cuda::Sum<Device<T>>;
    DeviceNumbers<T> numbers = make<T>({cout});
    S* sums = sums_of(numbers);
    cuda::sum_columns(queue_, gradient, rows, cout, scratch<S>(cuda::kStripes * cout), sums);
    finish("grad_bias", numbers, sums, 1);
    return numbers;
  }

 private:
  /// For gathered rows of one side, and products or gathered rows of the other; at the identity
  /// rows stay where they are.
  template <class X, class Y>
  struct Room {
    X* x = nullptr;
    Y* y = nullptr;
    std::int64_t rows = 0;
  };

  template <class N>
  N* scratch(std::int64_t n) {
    const OnDevice on(queue_.device());
    return static_cast<N*>(queue_.scratch_bytes(static_cast<std::size_t>(n) * sizeof(N)));
  }

  template <class T>
  DeviceNumbers<T> make(std::vector<std::int64_t> shape) {
    std::size_t bytes = sizeof(T);
    for (const std::int64_t n : shape) bytes *= static_cast<std::size_t>(n);
    return {queue_.result_bytes(std::max<std::size_t>(bytes, 1)), std::move(shape)};
  }
  template <class T>
  static std::int64_t count(const DeviceNumbers<T>& numbers) {
    std::int64_t all = 1;
    for (const std::int64_t n : numbers.shape) all *= n;
    return all;
  }
  /// Where a result is summed: in place where it is of the same type.
  template <class T>
  cuda::Sum<Device<T>>* sums_of(const DeviceNumbers<T>& numbers) {
    using S = cuda::Sum<Device<T>>;
    if constexpr (std::is_same_v<S, T>) return reinterpret_cast<S*>(numbers.memory.get());
    return scratch<S>(count(numbers));
  }

  /// As many rows as the working memory has room for, and no more than a tap has pairs.
  template <class X, class Y>
  Room<X, Y> make_room(const ConvolutionMap& over, std::int64_t x_width, std::int64_t y_width,
                       bool of_products) {
    if (std::is_same_v<X, std::int32_t>) return {};  // integers are multiplied where they lie
    constexpr std::int64_t kMostRows = std::int64_t{1} << 22;
    const auto bytes = static_cast<std::int64_t>(static_cast<std::size_t>(x_width) * sizeof(X) +
                                                 static_cast<std::size_t>(y_width) * sizeof(Y));
    std::int64_t longest = 0;
    for (std::int64_t t = 0; t < over.taps(); ++t) {
      longest = std::max(longest, over.pairs_of(t).count);
    }
    Room<X, Y> room;
    room.rows = std::min({working_memory_ / bytes, longest, kMostRows});
    if (longest > 0 && room.rows < 1) {
      throw Error(ErrorKind::CapacityExceeded, operation_, "working_memory",
                  std::to_string(working_memory_),
                  "a row takes " + std::to_string(bytes) + " bytes");
    }
    if (!over.is_identity()) room.x = scratch<X>(room.rows * x_width);
    if (!over.is_identity() || of_products) room.y = scratch<Y>(room.rows * y_width);
    return room;
  }

  /// Calls work(piece) for the pairs of a tap.
  template <class Piece>
  static void in_pieces(const TapPairs& pairs, std::int64_t rows, const Piece& work) {
    for (std::int64_t at = 0; at < pairs.count; at += rows) {
      work(pairs.part(at, std::min(at + rows, pairs.count)));
    }
  }

  /// The rows of a piece, gathered into `room`; where there is no column, where they lie.
  template <class N>
  const N* gathered(const N* from, const TapPairs& piece, const std::int32_t* column, N* room,
                    std::int64_t width) {
    if (column == nullptr) return from + piece.first * width;
    cuda::gather_rows(queue_, from, column, room, piece.count, width);
    return room;
  }

  template <class N, class S>
  void add_tap(const ConvolutionMap& over, std::int64_t tap, const N* features, const N* weights,
               S* sums, std::int64_t from, std::int64_t to, const Room<N, S>& room) {
    const TapPairs pairs = over.pairs_of(tap);
    if constexpr (std::is_same_v<N, std::int32_t>) {
      cuda::multiply_integers(queue_, pairs, features, weights, sums, from, to);
    } else {
      in_pieces(pairs, room.rows, [&](const TapPairs& piece) {
        const N* x = gathered(features, piece, piece.gather, room.x, from);
        blas_.rows_times(x, weights, room.y, piece.count, from, to);
        S* to_rows = sums + piece.first * to;
        cuda::scatter_rows(queue_, room.y, piece.scatter, to_rows, piece.count, to);
      });
    }
  }

  template <class T>
  void finish(const char* result, const DeviceNumbers<T>& numbers, const cuda::Sum<Device<T>>* sums,
              std::int64_t columns) {
    using N = Device<T>;
    if constexpr (!std::is_same_v<cuda::Sum<N>, T>) {
      auto* to = reinterpret_cast<N*>(numbers.memory.get());
      if constexpr (!std::is_same_v<T, std::int32_t>) {
        cuda::round_sums(queue_, sums, to, count(numbers), nullptr);
      } else {
        auto* first = scratch<std::uint64_t>(1);
        queue_.upload(first, &kNone, sizeof kNone);
        cuda::round_sums(queue_, sums, to, count(numbers), first);
        std::uint64_t found = kNone;
        queue_.read_back(&found, first, sizeof found);
        if (found == kNone) return;
        cuda::WideInteger sum = 0;
        queue_.read_back(&sum, sums + found, sizeof sum);
        throw Error(ErrorKind::OutOfRange, operation_, result,
                    "about " + std::to_string(static_cast<double>(sum)), "must fit int32", {},
                    static_cast<std::int64_t>(found) / columns);
      }
    }
  }

  CudaQueue queue_;
  CudaBlas blas_;
  const char* operation_ = "";
  std::int64_t working_memory_ = 0;
};

CudaConvolution::CudaConvolution(const CudaOptions& options) {
  check_options("cuda_convolution", options);
  work_ = std::make_unique<Work>(options);
}
CudaConvolution::~CudaConvolution() = default;
CudaConvolution::CudaConvolution(CudaConvolution&&) noexcept = default;
CudaConvolution& CudaConvolution::operator=(CudaConvolution&&) noexcept = default;

template <class T>
DeviceNumbers<T> CudaConvolution::convolve(const ConvolutionMap& over,
                                           const ConvolutionInput<T>& input,
                                           std::int64_t working_memory) {
  check_map("convolution", over);
  check_convolution(over, input);
  work_->begin("convolution", working_memory);
  const std::int64_t cin = input.weights.shape[1], cout = input.weights.shape[0];
  return work_->rows<T>("output", over, device(input.features), device(input.weights),
                        input.bias ? device(*input.bias) : nullptr, cin, cout, false);
}

template <class T>
DeviceGradients<T> CudaConvolution::gradients(const ConvolutionMap& over,
                                              const ConvolutionInput<T>& input,
                                              const Tensor<T>& grad_output,
                                              std::int64_t working_memory) {
  constexpr const char* kOperation = "convolution_gradients";
  check_map(kOperation, over);
  check_convolution_gradients(over, input, grad_output);
  const std::int64_t cin = input.weights.shape[1], cout = input.weights.shape[0];
  const auto *features = device(input.features), *gradient = device(grad_output);
  DeviceGradients<T> result;
  work_->begin(kOperation, working_memory);
  result.features = work_->rows<T>("grad_features", over.transposed(), gradient,
                                   device(input.weights), nullptr, cout, cin, true);
  work_->begin(kOperation, working_memory);
  result.weights = work_->weights<T>(over, features, gradient, input.weights.shape, cin, cout);
  result.bias = work_->columns<T>(gradient, over.target_rows(), cout);
  return result;
}

std::string why_no_cuda_convolution() {
  const std::string why = why_no_cuda();
  return why.empty() ? why_no_blas() : why;
}

#define LEAFPROOF_CUDA_CONVOLUTION_OF(T)                                                         \
  template DeviceNumbers<T> CudaConvolution::convolve(const ConvolutionMap&,                     \
                                                      const ConvolutionInput<T>&, std::int64_t); \
  template DeviceGradients<T> CudaConvolution::gradients(                                        \
      const ConvolutionMap&, const ConvolutionInput<T>&, const Tensor<T>&, std::int64_t)
LEAFPROOF_CUDA_CONVOLUTION_OF(double);
LEAFPROOF_CUDA_CONVOLUTION_OF(float);
LEAFPROOF_CUDA_CONVOLUTION_OF(Eigen::half);
LEAFPROOF_CUDA_CONVOLUTION_OF(std::int32_t);
#undef LEAFPROOF_CUDA_CONVOLUTION_OF

}  // namespace leafproof::gpu
