// Two cases compared field by field and bit by bit, by nothing that writes or reads cases.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "oracle/case.h"

namespace leafproof::tests {

class SameCase {
 public:
  static bool same(const oracle::Case& a, const oracle::Case& b) {
    return a.op == b.op && a.factor == b.factor && a.lo == b.lo && a.hi == b.hi &&
           a.mapped == b.mapped && eq(a.source, b.source) && eq(a.points, b.points) &&
           eq(a.other, b.other) && a.mask == b.mask && a.view == b.view && a.kernel == b.kernel &&
           a.direction == b.direction && eq(a.target, b.target) && a.dense == b.dense &&
           eq(a.operands, b.operands);
  }

 private:
  static bool eq(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
  template <class T, std::size_t N>
  static bool eq(const std::array<T, N>& a, const std::array<T, N>& b) {
    for (std::size_t i = 0; i < N; ++i)
      if (!eq(a[i], b[i])) return false;
    return true;
  }
  template <class T>
  static bool eq(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!eq(a[i], b[i])) return false;
    return true;
  }
  template <class T>
  static bool eq(const std::optional<T>& a, const std::optional<T>& b) {
    return a.has_value() == b.has_value() && (!a || eq(*a, *b));
  }
  static bool eq(const oracle::Map& a, const oracle::Map& b) {
    return eq(a.voxel_size, b.voxel_size) && eq(a.origin, b.origin);
  }
  static bool eq(const oracle::Batch& a, const oracle::Batch& b) {
    return a.members == b.members && eq(a.maps, b.maps) && a.names == b.names;
  }
  static bool eq(const reference::Array& a, const reference::Array& b) {
    return a.shape == b.shape && eq(a.values, b.values);
  }
  static bool eq(const oracle::Operands& a, const oracle::Operands& b) {
    return a.type == b.type && a.target_is_source == b.target_is_source &&
           eq(a.features, b.features) && eq(a.weights, b.weights) && eq(a.bias, b.bias) &&
           eq(a.grad_output, b.grad_output);
  }
};

}  // namespace leafproof::tests
