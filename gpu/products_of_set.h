// What products_*.cc compile, each for its instruction set, into namespace LEAFPROOF_SET, with
// Eigen's namespace under the name LEAFPROOF_SET_EIGEN. Nothing here may call a template or an
// inline function of another namespace that a compiler may leave as a function of its own: it would
// be shared, and run on CPUs that it was not compiled for.
#if !defined(LEAFPROOF_SET) || !defined(LEAFPROOF_SET_EIGEN)
#error "compiled by products_*.cc alone"
#endif
#define Eigen LEAFPROOF_SET_EIGEN
#define EIGEN_DONT_PARALLELIZE  // threads are the caller's
#include <Eigen/Core>

#include "gpu/products.h"

namespace leafproof::gpu {
namespace LEAFPROOF_SET {
namespace {

template <class Number>
using Matrix = Eigen::Matrix<Number, Eigen::Dynamic, Eigen::Dynamic>;  // columns here, rows outside

template <class Number>
void multiply(const Number* rows, const Number* weights, Number* result, std::int64_t n,
              std::int64_t from, std::int64_t to) {
  Eigen::Map<Matrix<Number>> product(result, to, n);
  product.noalias() = Eigen::Map<const Matrix<Number>>(weights, to, from) *
                      Eigen::Map<const Matrix<Number>>(rows, from, n);
}

template <class Number>
void add_outer(const Number* x, const Number* g, Number* sums, std::int64_t n, std::int64_t from,
               std::int64_t to) {
  Eigen::Map<Matrix<Number>> all(sums, to, from);
  all.noalias() += Eigen::Map<const Matrix<Number>>(g, to, n) *
                   Eigen::Map<const Matrix<Number>>(x, from, n).transpose();
}

inline std::int64_t row_of(const std::int32_t* rows, std::int64_t first, std::int64_t i) {
  return rows == nullptr ? first + i : rows[i];
}

template <class Number>
void gather(const Number* values, const std::int32_t* rows, std::int64_t first, std::int64_t count,
            std::int64_t width, Number* to, std::int64_t pitch) {
  for (std::int64_t i = 0; i < count; ++i, to += pitch) {
    const std::int64_t row = row_of(rows, first, i);
    if (row < 0) {
      for (std::int64_t c = 0; c < width; ++c) to[c] = 0;
    } else {
      for (std::int64_t c = 0; c < width; ++c) to[c] = values[row * width + c];
    }
  }
}

void gather_half(const std::uint16_t* values, const std::int32_t* rows, std::int64_t first,
                 std::int64_t count, std::int64_t width, float* to, std::int64_t pitch) {
  for (std::int64_t i = 0; i < count; ++i, to += pitch) {
    const std::int64_t row = row_of(rows, first, i);
    for (std::int64_t c = 0; c < width; ++c) {
      to[c] = row < 0 ? 0
                      : static_cast<float>(Eigen::half(
                            Eigen::half_impl::raw_uint16_to_half(values[row * width + c])));
    }
  }
}

template <class Number>
void scatter(const Number* values, const std::int32_t* rows, std::int64_t first, std::int64_t count,
             std::int64_t width, Number* sums) {
  for (std::int64_t i = 0; i < count; ++i, values += width) {
    Number* row = sums + row_of(rows, first, i) * width;
    for (std::int64_t c = 0; c < width; ++c) row[c] += values[c];
  }
}

constexpr Products kProducts{{multiply<float>, add_outer<float>, gather<float>, scatter<float>},
                             {multiply<double>, add_outer<double>, gather<double>, scatter<double>},
                             gather_half};

}  // namespace
}  // namespace LEAFPROOF_SET
}  // namespace leafproof::gpu
