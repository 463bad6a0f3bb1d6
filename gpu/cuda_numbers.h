// What a convolution on a CUDA device does besides products of matrices: rows gathered and added
// where they belong, weights by taps, bias, sums of columns, rounding. Kernels on a queue's stream;
// all memory is device memory, and nothing waits.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "gpu/cuda_queue.h"
#include "gpu/kernel_map.h"

namespace leafproof::gpu::cuda {

__extension__ typedef __int128 WideInteger;

/// What numbers of a type are summed in [V-6]; integers wide enough for any sum.
template <class T>
struct SumOf {
  using Type = T;  // double, float
};
template <>
struct SumOf<__half> {
  using Type = float;
};
template <>
struct SumOf<std::int32_t> {
  using Type = WideInteger;
};
template <class T>
using Sum = typename SumOf<T>::Type;

/// Weights [Cout][Cin][taps] as [tap][Cin][Cout], or with `back` as [tap][Cout][Cin].
template <class T>
void pack_weights(CudaQueue& queue, const T* weights, T* packed, std::int64_t cin,
                  std::int64_t cout, std::int64_t taps, bool back);

/// Sums [tap][Cin][Cout] as [Cout][Cin][taps].
template <class S>
void unpack_sums(CudaQueue& queue, const S* sums, S* unpacked, std::int64_t cin, std::int64_t cout,
                 std::int64_t taps);

/// sums[row][c] = bias[c], or 0 where it is null.
template <class T>
void fill_with_bias(CudaQueue& queue, const T* bias, Sum<T>* sums, std::int64_t rows,
                    std::int64_t width);

/// to[i] = from[rows[i]], rows of `width` numbers.
template <class T>
void gather_rows(CudaQueue& queue, const T* from, const std::int32_t* rows, T* to, std::int64_t n,
                 std::int64_t width);

/// sums[rows[i]] += from[i]; no row twice. Null rows: sums[i].
template <class S>
void scatter_rows(CudaQueue& queue, const S* from, const std::int32_t* rows, S* sums,
                  std::int64_t n, std::int64_t width);

/// Integers have no product in cuBLAS that cannot overflow: sums[target][to] += the row of the
/// source times weights [from][to].
void multiply_integers(CudaQueue& queue, const TapPairs& pairs, const std::int32_t* features,
                       const std::int32_t* weights, WideInteger* sums, std::int64_t from,
                       std::int64_t to);
/// sums[Cin][Cout] of a tap: over its pairs, features of the source times gradients of the target.
void sum_integer_products(CudaQueue& queue, const TapPairs& pairs, const std::int32_t* features,
                          const std::int32_t* gradient, WideInteger* sums, std::int64_t cin,
                          std::int64_t cout);

/// sums[c]: over rows, through `parts` sums of stripes of rows [kStripes][width].
inline constexpr std::int64_t kStripes = 512;
template <class T>
void sum_columns(CudaQueue& queue, const T* numbers, std::int64_t rows, std::int64_t width,
                 Sum<T>* parts, Sum<T>* sums);

/// numbers[i] = sums[i], rounded once. Of integers out of range the least i goes to
/// *first_out_of_range, which the caller has set to all ones.
template <class T>
void round_sums(CudaQueue& queue, const Sum<T>* sums, T* numbers, std::int64_t n,
                std::uint64_t* first_out_of_range);

}  // namespace leafproof::gpu::cuda
