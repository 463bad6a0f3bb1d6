// The inner loops of a convolution: gathering rows, products of matrices (Eigen's), adding rows to
// rows. Compiled once for each instruction set of a CPU, in files of their own, since Eigen decides
// by the compiler's flags: products_avx2.cc and products_avx512.cc are compiled with these, and in
// them Eigen's namespace has another name, so that no code of theirs is ever shared with a file
// that has to run on any CPU. A test looks at their symbols.
#pragma once

#include <cstdint>

#include "gpu/instruction_set.h"

namespace leafproof::gpu {

/// Of float or double: what is multiplied and summed in. Matrices are row-major, without gaps
/// unless a pitch is given.
template <class Number>
struct ProductsOf {
  /// result[n][to] = rows[n][from] * weights[from][to]. Each row of the result is the same bits
  /// whatever the other rows are, and wherever it stands, for the same n.
  void (*multiply)(const Number* rows, const Number* weights, Number* result, std::int64_t n,
                   std::int64_t from, std::int64_t to);
  /// sums[from][to] += x[n][from] transposed * g[n][to].
  void (*add_outer)(const Number* x, const Number* g, Number* sums, std::int64_t n,
                    std::int64_t from, std::int64_t to);
  /// to[i * pitch ...] = row rows[i] of `values`, zeros where that is negative; or row first + i
  /// where `rows` is null.
  void (*gather)(const Number* values, const std::int32_t* rows, std::int64_t first,
                 std::int64_t count, std::int64_t width, Number* to, std::int64_t pitch);
  /// Row rows[i], or first + i, of `sums` += row i of `values`.
  void (*scatter)(const Number* values, const std::int32_t* rows, std::int64_t first,
                  std::int64_t count, std::int64_t width, Number* sums);
};

struct Products {
  ProductsOf<float> of_float;
  ProductsOf<double> of_double;
  /// As ProductsOf<float>::gather, from the bits of IEEE halves.
  void (*gather_half)(const std::uint16_t* values, const std::int32_t* rows, std::int64_t first,
                      std::int64_t count, std::int64_t width, float* to, std::int64_t pitch);
};

const Products& products_baseline();
#if defined(LEAFPROOF_INSTRUCTION_SETS)
const Products& products_avx2();
const Products& products_avx512();
#endif

/// Those of instruction_set().
const Products& products();

}  // namespace leafproof::gpu
