// See convolution.h. All three sums are one: rows are gathered, multiplied by the weights of a tap,
// and added to the rows that they are joined to.
#include "gpu/convolution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "gpu/error.h"
#include "gpu/host_executor.h"
#include "gpu/tensor_checks.h"

namespace leafproof::gpu {
namespace {

__extension__ typedef __int128 WideInteger;

// Rows of a product, always: where fewer are left, the others are zero and their results unread. So
// each row goes the same way through a product, and no row depends on what it is multiplied with.
constexpr std::int64_t kBlock = 128;

// --- types [V-6]

template <class T>
struct Types {  // double and float
  using Factor = T;
};
template <>
struct Types<Eigen::half> {
  using Factor = float;
};
template <>
struct Types<std::int32_t> {
  using Factor = std::int64_t;
};
template <class T>
using FactorOf = typename Types<T>::Factor;

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

template <class T, class Sum>
T rounded(const char* operation, const char* result, Sum sum, std::int64_t row) {
  if constexpr (std::is_same_v<T, std::int32_t>) {
    if (sum < std::numeric_limits<T>::min() || sum > std::numeric_limits<T>::max()) {
      throw Error(ErrorKind::OutOfRange, operation, result,
                  "about " + std::to_string(static_cast<double>(sum)), "must fit int32", {}, row);
    }
  }
  return static_cast<T>(sum);
}

template <class T, class Sum>
std::vector<T> all_rounded(const char* operation, const char* result, std::vector<Sum> sums,
                           std::int64_t columns) {
  if constexpr (std::is_same_v<T, Sum>) {
    return sums;
  } else {
    std::vector<T> numbers(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      numbers[i] = rounded<T>(operation, result, sums[i], static_cast<std::int64_t>(i) / columns);
    }
    return numbers;
  }
}

std::uint64_t largest(std::span<const std::int32_t> numbers) {
  std::int64_t found = 0;
  for (const std::int64_t x : numbers) found = std::max(found, std::abs(x));
  return static_cast<std::uint64_t>(found);
}

/// Calls `compute` with a zero of what is summed in: of integers 64 bits where they suffice for
/// `terms` products and a bias, else 128.
template <class T, class Compute>
auto summed(std::span<const T> a, std::span<const T> b, std::int64_t terms,
            const Compute& compute) {
  if constexpr (std::is_same_v<T, std::int32_t>) {
    const std::uint64_t product = largest(a) * largest(b);
    const std::uint64_t limit = std::uint64_t{1} << 62;
    if (product > 0 && static_cast<std::uint64_t>(terms) > limit / product) {
      return compute(WideInteger{0});
    }
    return compute(std::int64_t{0});
  } else {
    return compute(FactorOf<T>{0});
  }
}

// --- shapes [P-1]

template <class T>
void check_operands(const char* operation, const ConvolutionMap& over,
                    const ConvolutionInput<T>& input) {
  check_count(operation, "features", input.features);
  check_count(operation, "weights", input.weights);
  if (input.features.shape.size() != 2) {
    throw Error(ErrorKind::ShapeMismatch, operation, "features", text_of(input.features.shape),
                "must be [" + std::to_string(over.source_rows()) + "][Cin]");
  }
  const std::int64_t cin = input.features.shape[1];
  check_shape(operation, "features", input.features, {over.source_rows(), cin});
  const Shape& w = input.weights.shape;
  const std::int64_t cout = w.empty() ? 0 : w[0];
  const Triple k = over.kernel();
  if (over.is_identity() && w.size() == 2) {
    check_shape(operation, "weights", input.weights, {cout, cin});
  } else {
    check_shape(operation, "weights", input.weights, {cout, cin, k[0], k[1], k[2]});
  }
}

// --- sums

/// The pairs of a tap; null columns: each row joined to itself.
struct TapPairs {
  const std::int32_t *gather = nullptr, *scatter = nullptr;
  std::int64_t count = 0;
  std::int64_t source(std::int64_t i) const { return gather == nullptr ? i : gather[i]; }
  std::int64_t target(std::int64_t i) const { return scatter == nullptr ? i : scatter[i]; }
};

TapPairs pairs_of(const ConvolutionMap& over, std::int64_t tap) {
  if (over.is_identity()) return {nullptr, nullptr, over.source_rows()};
  const KernelMap& map = *over.map();
  const std::int64_t first = map.offsets()[index(tap)];
  return {map.gather() + first, map.scatter() + first, map.offsets()[index(tap) + 1] - first};
}

/// The weights of each tap as [tap][from][to]: from Cin to Cout, or back for gradients.
template <class T>
std::vector<FactorOf<T>> packed(const Tensor<T>& weights, std::int64_t cin, std::int64_t cout,
                                std::int64_t taps, bool back) {
  std::vector<FactorOf<T>> all(weights.values.size());
  std::size_t from = 0;
  for (std::int64_t co = 0; co < cout; ++co) {
    for (std::int64_t ci = 0; ci < cin; ++ci) {
      for (std::int64_t t = 0; t < taps; ++t) {
        const std::int64_t to = back ? (t * cout + co) * cin + ci : (t * cin + ci) * cout + co;
        all[index(to)] = static_cast<FactorOf<T>>(weights.values[from++]);
      }
    }
  }
  return all;
}

template <class Factor>
using ByColumns = Eigen::Map<const Eigen::Matrix<Factor, Eigen::Dynamic, Eigen::Dynamic>>;

/// result[kBlock][to] = rows[kBlock][from] * weights[from][to].
template <class Factor, class Sum>
void multiply(const Factor* rows, const Factor* weights, Sum* result, std::int64_t from,
              std::int64_t to) {
  if constexpr (std::is_floating_point_v<Sum>) {
    Eigen::Map<Eigen::Matrix<Sum, Eigen::Dynamic, Eigen::Dynamic>> product(result, to, kBlock);
    product.noalias() =
        ByColumns<Factor>(weights, to, from) * ByColumns<Factor>(rows, from, kBlock);
  } else {
    std::fill(result, result + kBlock * to, Sum{0});
    for (std::int64_t r = 0; r < kBlock; ++r) {
      for (std::int64_t f = 0; f < from; ++f) {
        const Sum x = rows[r * from + f];
        for (std::int64_t t = 0; t < to; ++t) result[r * to + t] += x * weights[f * to + t];
      }
    }
  }
}

/// One convolution: rows of `from` numbers to rows of `to`.
template <class T, class Sum>
class Convolution {
 public:
  using Factor = FactorOf<T>;

  Convolution(const char* operation, const ConvolutionMap& over, std::span<const T> features,
              std::vector<Factor> weights, std::int64_t from, std::int64_t to,
              const ConvolutionOptions& options)
      : operation_(operation),
        over_(over),
        features_(features),
        weights_(std::move(weights)),
        from_(from),
        to_(to),
        options_(options),
        executor_(options.threads, system_allocator(), system_allocator()) {}

  /// Adds to `sums` [target rows][to].
  void add_to(std::vector<Sum>& sums) {
    if (sums.empty()) return;
    if (options_.form == ConvolutionForm::Chunked && may_gather_all()) {
      const std::int64_t taps = over_.taps(), rows = over_.target_rows();
      in_blocks(blocks(rows), taps * from_, [&](std::int64_t b, Factor* x, Sum* y) {
        all_taps(b * kBlock, std::min(rows, (b + 1) * kBlock), x, y, sums);
      });
      return;
    }
    for (std::int64_t t = 0; t < over_.taps(); ++t) {
      const TapPairs pairs = pairs_of(over_, t);
      in_blocks(blocks(pairs.count), from_, [&](std::int64_t b, Factor* x, Sum* y) {
        one_tap(t, pairs, b * kBlock, std::min(pairs.count, (b + 1) * kBlock), x, y, sums);
      });
    }
  }

 private:
  static std::int64_t blocks(std::int64_t rows) { return (rows + kBlock - 1) / kBlock; }

  /// Calls work(block, gathered rows [kBlock][width], products [kBlock][to]) for each block, on as
  /// many threads as the memory suffices for [V-5].
  template <class Work>
  void in_blocks(std::int64_t n, std::int64_t width, const Work& work) {
    constexpr std::int64_t kMostWorkers = 256;
    const std::int64_t bytes =
        kBlock * (width * std::int64_t{sizeof(Factor)} + to_ * std::int64_t{sizeof(Sum)});
    const std::int64_t room = options_.working_memory / bytes;
    if (room < 1) {
      throw Error(ErrorKind::CapacityExceeded, operation_, "working_memory",
                  std::to_string(options_.working_memory),
                  "a block of rows takes " + std::to_string(bytes) + " bytes");
    }
    const std::int64_t workers = std::min({n, room, kMostWorkers});
    executor_.for_each_index(
        {workers},
        [&](std::int64_t worker) {
          std::vector<Factor> x(index(kBlock * width));
          std::vector<Sum> y(index(kBlock * to_));
          const std::int64_t end = n * (worker + 1) / workers;
          for (std::int64_t b = n * worker / workers; b < end; ++b) work(b, x.data(), y.data());
        },
        1);
  }

  void gather(std::int64_t row, Factor* to) const {
    const T* values = features_.data() + row * from_;
    for (std::int64_t c = 0; c < from_; ++c) to[c] = static_cast<Factor>(values[c]);
  }
  void scatter(const Sum* values, std::int64_t row, std::vector<Sum>& sums) const {
    Sum* to = sums.data() + row * to_;
    for (std::int64_t c = 0; c < to_; ++c) to[c] += values[c];
  }

  // Within a tap a target row occurs at most once [M-2]: blocks write to different rows.
  void one_tap(std::int64_t tap, const TapPairs& pairs, std::int64_t begin, std::int64_t end,
               Factor* x, Sum* y, std::vector<Sum>& sums) const {
    for (std::int64_t i = begin; i < end; ++i) gather(pairs.source(i), x + (i - begin) * from_);
    std::fill(x + (end - begin) * from_, x + kBlock * from_, Factor{0});
    multiply(x, weights_.data() + tap * from_ * to_, y, from_, to_);
    for (std::int64_t i = begin; i < end; ++i) {
      scatter(y + (i - begin) * to_, pairs.target(i), sums);
    }
  }

  void all_taps(std::int64_t begin, std::int64_t end, Factor* x, Sum* y,
                std::vector<Sum>& sums) const {
    const std::int64_t width = over_.taps() * from_;
    std::fill(x, x + kBlock * width, Factor{0});
    bool joined[kBlock] = {};
    for (std::int64_t t = 0; t < over_.taps(); ++t) {
      const TapPairs pairs = pairs_of(over_, t);
      std::int64_t i = begin;
      if (pairs.scatter != nullptr) {
        i = std::lower_bound(pairs.scatter, pairs.scatter + pairs.count, begin) - pairs.scatter;
      }
      for (; i < pairs.count && pairs.target(i) < end; ++i) {
        const std::int64_t row = pairs.target(i) - begin;
        gather(pairs.source(i), x + row * width + t * from_);
        joined[row] = true;
      }
    }
    multiply(x, weights_.data(), y, width, to_);
    for (std::int64_t row = begin; row < end; ++row) {
      if (joined[row - begin]) scatter(y + (row - begin) * to_, row, sums);
    }
  }

  bool may_gather_all() const {
    if constexpr (std::is_floating_point_v<Factor>) {
      if (!std::ranges::all_of(weights_, [](Factor w) { return std::isfinite(w); })) return false;
    }
    for (std::int64_t t = 0; t < over_.taps(); ++t) {
      const TapPairs pairs = pairs_of(over_, t);
      if (pairs.scatter != nullptr && !std::is_sorted(pairs.scatter, pairs.scatter + pairs.count)) {
        return false;
      }
    }
    return true;
  }

  const char* operation_;
  const ConvolutionMap& over_;
  std::span<const T> features_;
  std::vector<Factor> weights_;
  std::int64_t from_, to_;
  const ConvolutionOptions& options_;
  HostExecutor executor_;
};

/// grad_W[co][ci] of a tap, as [ci][co]: the sum of in[i][ci] * grad_out[o][co].
template <class T, class Sum>
std::vector<Sum> weight_sums(const TapPairs& pairs, std::span<const T> features,
                             std::span<const T> gradient, std::int64_t cin, std::int64_t cout) {
  using Factor = FactorOf<T>;
  std::vector<Sum> sums(index(cin * cout));
  std::vector<Factor> x(index(kBlock * cin)), g(index(kBlock * cout));
  for (std::int64_t begin = 0; begin < pairs.count; begin += kBlock) {
    const std::int64_t rows = std::min(kBlock, pairs.count - begin);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* in = features.data() + pairs.source(begin + r) * cin;
      const T* out = gradient.data() + pairs.target(begin + r) * cout;
      for (std::int64_t c = 0; c < cin; ++c) x[index(r * cin + c)] = static_cast<Factor>(in[c]);
      for (std::int64_t c = 0; c < cout; ++c) g[index(r * cout + c)] = static_cast<Factor>(out[c]);
    }
    if constexpr (std::is_floating_point_v<Sum>) {
      Eigen::Map<Eigen::Matrix<Sum, Eigen::Dynamic, Eigen::Dynamic>> all(sums.data(), cout, cin);
      all.noalias() += ByColumns<Factor>(g.data(), cout, rows) *
                       ByColumns<Factor>(x.data(), cin, rows).transpose();
    } else {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t ci = 0; ci < cin; ++ci) {
          const Sum value = x[index(r * cin + ci)];
          for (std::int64_t co = 0; co < cout; ++co) {
            sums[index(ci * cout + co)] += value * g[index(r * cout + co)];
          }
        }
      }
    }
  }
  return sums;
}

}  // namespace

ConvolutionMap ConvolutionMap::of(BatchedBuilder& builder, const KernelMap& map, Triple kernel) {
  if (map.taps() != kernel[0] * kernel[1] * kernel[2]) {
    throw Error(ErrorKind::ShapeMismatch, "convolution", "kernel",
                text_of({kernel[0], kernel[1], kernel[2]}),
                "the map has " + std::to_string(map.taps()) + " taps");
  }
  ConvolutionMap made;
  made.map_ = builder.to_host(map);
  made.kernel_ = kernel;
  return made;
}

ConvolutionMap ConvolutionMap::identity(std::int64_t rows) {
  ConvolutionMap made;
  made.rows_ = rows;
  return made;
}

ConvolutionMap ConvolutionMap::transposed() const {
  ConvolutionMap other = *this;
  if (map_) other.map_ = map_->transposed();
  return other;
}

template <class T>
void check_convolution(const ConvolutionMap& over, const ConvolutionInput<T>& input) {
  check_operands("convolution", over, input);
  if (input.bias) {
    check_count("convolution", "bias", *input.bias);
    check_shape("convolution", "bias", *input.bias, {input.weights.shape[0]});
  }
}

template <class T>
std::vector<T> convolve(const ConvolutionMap& over, const ConvolutionInput<T>& input,
                        const ConvolutionOptions& options) {
  check_convolution(over, input);
  const std::int64_t cin = input.weights.shape[1], cout = input.weights.shape[0];
  const std::span<const T> features = input.features.values;
  return summed(features, input.weights.values, over.taps() * cin, [&]<class Sum>(Sum zero) {
    std::vector<Sum> sums(index(over.target_rows() * cout), zero);
    if (input.bias) {
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] = static_cast<Sum>(static_cast<FactorOf<T>>(input.bias->values[i % index(cout)]));
      }
    }
    Convolution<T, Sum>("convolution", over, features,
                        packed(input.weights, cin, cout, over.taps(), false), cin, cout, options)
        .add_to(sums);
    return all_rounded<T>("convolution", "output", std::move(sums), cout);
  });
}

template <class T>
void check_convolution_gradients(const ConvolutionMap& over, const ConvolutionInput<T>& input,
                                 const Tensor<T>& grad_output) {
  constexpr const char* kOperation = "convolution_gradients";
  check_operands(kOperation, over, input);
  check_count(kOperation, "grad_output", grad_output);
  check_shape(kOperation, "grad_output", grad_output, {over.target_rows(), input.weights.shape[0]});
}

template <class T>
ConvolutionGradients<T> convolution_gradients(const ConvolutionMap& over,
                                              const ConvolutionInput<T>& input,
                                              const Tensor<T>& grad_output,
                                              const ConvolutionOptions& options) {
  constexpr const char* kOperation = "convolution_gradients";
  check_convolution_gradients(over, input, grad_output);
  const std::int64_t cin = input.weights.shape[1], cout = input.weights.shape[0];
  const std::int64_t taps = over.taps();
  const std::span<const T> features = input.features.values, gradient = grad_output.values;
  ConvolutionGradients<T> result;

  result.features = summed(gradient, input.weights.values, taps * cout, [&]<class Sum>(Sum zero) {
    std::vector<Sum> sums(index(over.source_rows() * cin), zero);
    const ConvolutionMap back = over.transposed();
    Convolution<T, Sum>(kOperation, back, gradient, packed(input.weights, cin, cout, taps, true),
                        cout, cin, options)
        .add_to(sums);
    return all_rounded<T>(kOperation, "grad_features", std::move(sums), cin);
  });

  result.weights = summed(features, gradient, over.target_rows(), [&]<class Sum>(Sum) {
    std::vector<Sum> sums(index(cout * cin * taps));
    HostExecutor executor(options.threads, system_allocator(), system_allocator());
    executor.for_each_index(
        {taps},
        [&](std::int64_t t) {
          const auto one = weight_sums<T, Sum>(pairs_of(over, t), features, gradient, cin, cout);
          for (std::int64_t ci = 0; ci < cin; ++ci) {
            for (std::int64_t co = 0; co < cout; ++co) {
              sums[index((co * cin + ci) * taps + t)] = one[index(ci * cout + co)];
            }
          }
        },
        1);
    return all_rounded<T>(kOperation, "grad_weights", std::move(sums), cin * taps);
  });

  const T one[] = {static_cast<T>(1)};
  result.bias =
      summed(gradient, std::span<const T>(one), over.target_rows(), [&]<class Sum>(Sum zero) {
        std::vector<Sum> sums(index(cout), zero);
        for (std::size_t i = 0; i < gradient.size(); ++i) {
          sums[i % index(cout)] += static_cast<FactorOf<T>>(gradient[i]);
        }
        return all_rounded<T>(kOperation, "grad_bias", std::move(sums), 1);
      });
  return result;
}

#define LEAFPROOF_CONVOLUTION_OF(T)                                                            \
  template void check_convolution(const ConvolutionMap&, const ConvolutionInput<T>&);          \
  template std::vector<T> convolve(const ConvolutionMap&, const ConvolutionInput<T>&,          \
                                   const ConvolutionOptions&);                                 \
  template void check_convolution_gradients(const ConvolutionMap&, const ConvolutionInput<T>&, \
                                            const Tensor<T>&);                                 \
  template ConvolutionGradients<T> convolution_gradients(                                      \
      const ConvolutionMap&, const ConvolutionInput<T>&, const Tensor<T>&,                     \
      const ConvolutionOptions&)
LEAFPROOF_CONVOLUTION_OF(double);
LEAFPROOF_CONVOLUTION_OF(float);
LEAFPROOF_CONVOLUTION_OF(Eigen::half);
LEAFPROOF_CONVOLUTION_OF(std::int32_t);
#undef LEAFPROOF_CONVOLUTION_OF

}  // namespace leafproof::gpu
