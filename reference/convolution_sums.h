// How products are summed: in the accumulators of [V-6], or without error [V-3]. Each has
// add(product of two), add(one), and holds one element.
#pragma once

#include <cmath>

#include "reference/conv_structs.h"

namespace leafproof::reference {

/// In one floating-point type: each product and each sum rounded.
template <class T>
struct FloatSum {
  T sum = 0;
  void add(double a, double b) { sum += static_cast<T>(a) * static_cast<T>(b); }
  void add(double a) { sum += static_cast<T>(a); }
};

/// [V-6] int64, with room for sums that pass out of it and come back.
struct IntegerSum {
  __extension__ using Wide = __int128;
  Wide sum = 0;
  void add(double a, double b) {
    sum += static_cast<Wide>(static_cast<std::int64_t>(a) * static_cast<std::int64_t>(b));
  }
  void add(double a) { sum += static_cast<std::int64_t>(a); }
};

/// Two doubles that together are the sum to about 100 bits (Knuth's sum of two, the fused
/// multiply-add for what a product rounds off). What is not finite is summed apart.
struct ExactSum {
  double high = 0, low = 0, magnitude = 0, special = 0;
  std::int64_t terms = 0;

  void add(double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) return add_special(a * b);
    const double product = a * b;
    add_finite(product, std::isfinite(product) ? std::fma(a, b, -product) : 0);
  }
  void add(double a) { return std::isfinite(a) ? add_finite(a, 0) : add_special(a); }

  Exact result() const {
    if (special != 0) return {special, 0, magnitude, terms};  // NaN, too
    return {high, low, magnitude, terms};
  }

 private:
  void add_special(double term) {
    special += term;
    ++terms;
  }
  void add_finite(double term, double error) {
    ++terms;
    magnitude += std::fabs(term);
    const double sum = high + term;
    const double part = sum - high;
    low += (high - (sum - part)) + (term - part) + error;
    high = sum + low;
    low -= high - sum;
  }
};

}  // namespace leafproof::reference
