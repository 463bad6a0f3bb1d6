#include <cstdint>

#include "gpu/cuda_numbers.h"

namespace leafproof::gpu::cuda {
namespace {

constexpr int kThreads = 256;

/// A thread an item, in strides.
template <class F>
__global__ void __launch_bounds__(kThreads, 1)
    each(const __grid_constant__ F functor, const std::int64_t n) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    functor(i);
  }
}

template <class F>
void launch(CudaQueue& queue, std::int64_t n, const F& functor) {
  void* arguments[] = {const_cast<F*>(&functor), &n};
  queue.launch(reinterpret_cast<const void*>(&each<F>), n, kThreads, kThreads, arguments);
}

template <class T>
__device__ Sum<T> widened(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(value);
  } else {
    return static_cast<Sum<T>>(value);
  }
}

/// Where entry i of [Cout][Cin][taps] stands in [tap][Cin][Cout], or with `back` [tap][Cout][Cin].
struct ByTap {
  std::int64_t cin, cout, taps;
  bool back = false;
  __device__ std::int64_t of(std::int64_t i) const {
    const std::int64_t t = i % taps, ci = i / taps % cin, co = i / taps / cin;
    return back ? (t * cout + co) * cin + ci : (t * cin + ci) * cout + co;
  }
};

template <class T>
struct PackWeights {
  const T* from;
  T* to;
  ByTap by_tap;
  __device__ void operator()(std::int64_t i) const { to[by_tap.of(i)] = from[i]; }
};

template <class S>
struct UnpackSums {
  const S* from;
  S* to;
  ByTap by_tap;
  __device__ void operator()(std::int64_t i) const { to[i] = from[by_tap.of(i)]; }
};

template <class T>
struct FillWithBias {
  const T* bias;
  Sum<T>* sums;
  std::int64_t width;
  __device__ void operator()(std::int64_t i) const {
    sums[i] = bias == nullptr ? Sum<T>{0} : widened(bias[i % width]);
  }
};

template <class T>
struct GatherRows {
  const T* from;
  const std::int32_t* rows;
  T* to;
  std::int64_t width;
  __device__ void operator()(std::int64_t i) const {
    to[i] = from[std::int64_t{rows[i / width]} * width + i % width];
  }
};

template <class S>
struct ScatterRows {
  const S* from;
  const std::int32_t* rows;
  S* sums;
  std::int64_t width;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t row = rows == nullptr ? i / width : rows[i / width];
    sums[row * width + i % width] += from[i];
  }
};

struct MultiplyIntegers {
  TapPairs pairs;
  const std::int32_t *features, *weights;
  WideInteger* sums;
  std::int64_t from, to;
  __device__ void operator()(std::int64_t item) const {
    const std::int64_t i = item / to, t = item % to;
    const std::int64_t source = pairs.source(i), target = pairs.target(i);
    WideInteger sum = 0;
    for (std::int64_t f = 0; f < from; ++f) {
      sum += std::int64_t{features[source * from + f]} * weights[f * to + t];
    }
    sums[target * to + t] += sum;
  }
};

struct SumIntegerProducts {
  TapPairs pairs;
  const std::int32_t *features, *gradient;
  WideInteger* sums;
  std::int64_t cin, cout;
  __device__ void operator()(std::int64_t item) const {
    const std::int64_t ci = item / cout, co = item % cout;
    WideInteger sum = 0;
    for (std::int64_t i = 0; i < pairs.count; ++i) {
      const std::int64_t source = pairs.source(i), target = pairs.target(i);
      sum += std::int64_t{features[source * cin + ci]} * gradient[target * cout + co];
    }
    sums[item] = sum;
  }
};

template <class T>
struct SumStripes {
  const T* numbers;
  std::int64_t rows, width;
  Sum<T>* parts;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t c = i % width;
    Sum<T> sum{0};
    for (std::int64_t row = i / width; row < rows; row += kStripes) {
      sum += widened(numbers[row * width + c]);
    }
    parts[i] = sum;
  }
};

template <class S>
struct SumParts {
  const S* parts;
  std::int64_t width;
  S* sums;
  __device__ void operator()(std::int64_t c) const {
    S sum{0};
    for (std::int64_t p = 0; p < kStripes; ++p) sum += parts[p * width + c];
    sums[c] = sum;
  }
};

template <class T>
struct RoundSums {
  const Sum<T>* sums;
  T* numbers;
  std::uint64_t* first_out_of_range;
  __device__ void operator()(std::int64_t i) const {
    if constexpr (std::is_same_v<T, __half>) {
      numbers[i] = __float2half_rn(sums[i]);
    } else {
      numbers[i] = static_cast<T>(sums[i]);
      if constexpr (std::is_same_v<T, std::int32_t>) {
        if (static_cast<WideInteger>(numbers[i]) != sums[i]) {
          atomicMin(reinterpret_cast<unsigned long long*>(first_out_of_range),
                    static_cast<unsigned long long>(i));
        }
      }
    }
  }
};

}  // namespace

template <class T>
void pack_weights(CudaQueue& queue, const T* weights, T* packed, std::int64_t cin,
                  std::int64_t cout, std::int64_t taps, bool back) {
  launch(queue, cin * cout * taps, PackWeights<T>{weights, packed, {cin, cout, taps, back}});
}
template <class S>
void unpack_sums(CudaQueue& queue, const S* sums, S* unpacked, std::int64_t cin, std::int64_t cout,
                 std::int64_t taps) {
  launch(queue, cin * cout * taps, UnpackSums<S>{sums, unpacked, {cin, cout, taps}});
}
template <class T>
void fill_with_bias(CudaQueue& queue, const T* bias, Sum<T>* sums, std::int64_t rows,
                    std::int64_t width) {
  launch(queue, rows * width, FillWithBias<T>{bias, sums, width});
}
template <class T>
void gather_rows(CudaQueue& queue, const T* from, const std::int32_t* rows, T* to, std::int64_t n,
                 std::int64_t width) {
  launch(queue, n * width, GatherRows<T>{from, rows, to, width});
}
template <class S>
void scatter_rows(CudaQueue& queue, const S* from, const std::int32_t* rows, S* sums,
                  std::int64_t n, std::int64_t width) {
  launch(queue, n * width, ScatterRows<S>{from, rows, sums, width});
}
void multiply_integers(CudaQueue& queue, const TapPairs& pairs, const std::int32_t* features,
                       const std::int32_t* weights, WideInteger* sums, std::int64_t from,
                       std::int64_t to) {
  launch(queue, pairs.count * to, MultiplyIntegers{pairs, features, weights, sums, from, to});
}
void sum_integer_products(CudaQueue& queue, const TapPairs& pairs, const std::int32_t* features,
                          const std::int32_t* gradient, WideInteger* sums, std::int64_t cin,
                          std::int64_t cout) {
  launch(queue, cin * cout, SumIntegerProducts{pairs, features, gradient, sums, cin, cout});
}
template <class T>
void sum_columns(CudaQueue& queue, const T* numbers, std::int64_t rows, std::int64_t width,
                 Sum<T>* parts, Sum<T>* sums) {
  launch(queue, kStripes * width, SumStripes<T>{numbers, rows, width, parts});
  launch(queue, width, SumParts<Sum<T>>{parts, width, sums});
}
template <class T>
void round_sums(CudaQueue& queue, const Sum<T>* sums, T* numbers, std::int64_t n,
                std::uint64_t* first_out_of_range) {
  launch(queue, n, RoundSums<T>{sums, numbers, first_out_of_range});
}

#define LEAFPROOF_CUDA_NUMBERS_OF(T)                                                             \
  template void pack_weights(CudaQueue&, const T*, T*, std::int64_t, std::int64_t, std::int64_t, \
                             bool);                                                              \
  template void fill_with_bias(CudaQueue&, const T*, Sum<T>*, std::int64_t, std::int64_t);       \
  template void gather_rows(CudaQueue&, const T*, const std::int32_t*, T*, std::int64_t,         \
                            std::int64_t);                                                       \
  template void sum_columns(CudaQueue&, const T*, std::int64_t, std::int64_t, Sum<T>*, Sum<T>*); \
  template void round_sums(CudaQueue&, const Sum<T>*, T*, std::int64_t, std::uint64_t*)
LEAFPROOF_CUDA_NUMBERS_OF(double);
LEAFPROOF_CUDA_NUMBERS_OF(float);
LEAFPROOF_CUDA_NUMBERS_OF(__half);
LEAFPROOF_CUDA_NUMBERS_OF(std::int32_t);
#undef LEAFPROOF_CUDA_NUMBERS_OF

#define LEAFPROOF_CUDA_SUMS_OF(S)                                                                \
  template void unpack_sums(CudaQueue&, const S*, S*, std::int64_t, std::int64_t, std::int64_t); \
  template void scatter_rows(CudaQueue&, const S*, const std::int32_t*, S*, std::int64_t,        \
                             std::int64_t)
LEAFPROOF_CUDA_SUMS_OF(double);
LEAFPROOF_CUDA_SUMS_OF(float);
LEAFPROOF_CUDA_SUMS_OF(WideInteger);
#undef LEAFPROOF_CUDA_SUMS_OF

}  // namespace leafproof::gpu::cuda
