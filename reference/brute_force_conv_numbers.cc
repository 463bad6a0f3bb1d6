// Roundings and exact sums of brute_force: significant bits counted out, integers in two parts.
#include <cmath>
#include <cstdlib>
#include <utility>

#include "reference/brute_force_conv_parts.h"

namespace leafproof::brute_force {
namespace {

// To the nearest of the numbers with so many significant bits, of which the last is worth at least
// 2^least; ties to even, which is what nearbyint does.
double nearest(double x, int bits, int least, double largest) {
  if (x == 0 || std::isnan(x) || std::isinf(x)) return x;
  const int last = std::max(std::ilogb(x) - (bits - 1), least);
  const double y = std::ldexp(std::nearbyint(std::ldexp(x, -last)), last);
  return std::fabs(y) > largest ? std::copysign(HUGE_VAL, x) : y;
}

double rounded(NumberType type, double x) {
  const double single = nearest(x, 24, -149, 0x1.fffffep127);
  if (type == NumberType::Float32) return single;
  if (type == NumberType::Float16) return nearest(single, 11, -24, 65504);
  return x;
}

// An exact sum of 64-bit products, in two parts: 2^20 times the one, and the other.
struct WholeSum {
  std::int64_t coarse = 0, fine = 0;
  void operator+=(std::int64_t term) {
    coarse += div_down(term, 1 << 20);
    fine += rest(term, 1 << 20);
  }
};

template <class T>
T floating(const Terms& terms) {
  T sum = 0;
  for (const auto& [a, b] : terms) sum += static_cast<T>(a) * static_cast<T>(b);
  return sum;
}

}  // namespace

std::vector<double> numbers_of(const std::string& pass, const char* argument, const Array& array,
                               NumberType type) {
  std::vector<double> cast;
  for (const double x : array.values) {
    if (type == NumberType::Int32 && !(std::nearbyint(x) == x && std::fabs(x + 0.5) < 2147483648.))
      reject(ErrorKind::InvalidArgument, pass, argument, std::to_string(x), "an int32");
    cast.push_back(rounded(type, x));
  }
  return cast;
}

double sum_of(const std::string& pass, const Terms& terms, NumberType type) {
  if (type == NumberType::Float64) return floating<double>(terms);
  if (type != NumberType::Int32) return rounded(type, static_cast<double>(floating<float>(terms)));
  WholeSum sum;
  for (const auto& [a, b] : terms)
    sum += static_cast<std::int64_t>(a) * static_cast<std::int64_t>(b);
  const std::int64_t over = sum.coarse + div_down(sum.fine, 1 << 20);
  if (over < -2048 || over > 2047)
    reject(ErrorKind::OutOfRange, pass, "result", std::to_string(over) + " * 2^20", "an int32");
  return static_cast<double>(over * (1 << 20) + rest(sum.fine, 1 << 20));
}

}  // namespace leafproof::brute_force
