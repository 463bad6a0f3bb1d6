// Shapes and counts of what a convolution is given, checked before anything is computed [P-1]: all
// are ShapeMismatch, and name what was given and what must be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/convolution.h"
#include "gpu/error.h"

namespace leafproof::gpu {

using Shape = std::vector<std::int64_t>;

/// "[2][3]".
inline std::string text_of(const Shape& shape) {
  std::string all;
  for (const std::int64_t n : shape) all.append("[").append(std::to_string(n)).append("]");
  return all.empty() ? "[]" : all;
}

/// As many numbers as the shape has room for.
template <class T>
void check_count(const char* operation, const char* argument, const Tensor<T>& tensor) {
  std::int64_t left = static_cast<std::int64_t>(tensor.values.size());
  const bool none = std::ranges::find(tensor.shape, 0) != tensor.shape.end();
  bool fits = std::ranges::all_of(tensor.shape, [](std::int64_t n) { return n >= 0; });
  if (none) {
    fits = fits && left == 0;
  } else {
    for (const std::int64_t n : tensor.shape) {
      fits = fits && left % n == 0;
      if (fits) left /= n;
    }
    fits = fits && left == 1;
  }
  if (!fits) {
    throw Error(ErrorKind::ShapeMismatch, operation, argument, text_of(tensor.shape),
                "has " + std::to_string(tensor.values.size()) + " numbers");
  }
}

/// This very shape.
template <class T>
void check_shape(const char* operation, const char* argument, const Tensor<T>& tensor,
                 const Shape& shape) {
  if (tensor.shape != shape) {
    throw Error(ErrorKind::ShapeMismatch, operation, argument, text_of(tensor.shape),
                "must be " + text_of(shape));
  }
}

}  // namespace leafproof::gpu
