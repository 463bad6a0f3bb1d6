// The types of [V-6]; float16 is Eigen's.
#include "reference/numbers.h"

#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "reference/checks.h"

namespace leafproof::reference {
namespace {

template <class T>
Precision precision() {
  using Limits = std::numeric_limits<T>;
  return {std::ldexp(1.0, -Limits::digits), static_cast<double>((Limits::min)()),
          static_cast<double>((Limits::max)())};
}

bool is_int32(double number) {
  return number >= std::numeric_limits<std::int32_t>::min() &&
         number <= std::numeric_limits<std::int32_t>::max() && number == std::trunc(number);
}

}  // namespace

std::string_view to_string(NumberType type) {
  switch (type) {
    case NumberType::Float64:
      return "float64";
    case NumberType::Float32:
      return "float32";
    case NumberType::Float16:
      return "float16";
    case NumberType::Int32:
      return "int32";
  }
  return "unknown type";
}

double rounded(NumberType type, double number) {
  switch (type) {
    case NumberType::Float32:
      return static_cast<double>(static_cast<float>(number));
    case NumberType::Float16:
      return static_cast<double>(static_cast<float>(Eigen::half(static_cast<float>(number))));
    default:
      return number;
  }
}

Precision precision_of(NumberType type) {
  if (type == NumberType::Float16) return precision<Eigen::half>();
  if (type == NumberType::Float32) return precision<float>();
  return precision<double>();
}

Array cast(const char* operation, const char* argument, const Array& given, NumberType type) {
  Array result = given;
  for (std::size_t i = 0; i < given.values.size(); ++i) {
    if (type == NumberType::Int32 && !is_int32(given.values[i])) {
      const std::int64_t rows = given.shape.empty() ? 1 : given.shape[0];
      const std::int64_t in_a_row = static_cast<std::int64_t>(given.values.size()) / rows;
      refuse(ErrorKind::InvalidArgument, operation, argument, to_text(given.values[i]),
             "int32 must hold it exactly", {}, static_cast<std::int64_t>(i) / in_a_row);
    }
    result.values[i] = rounded(type, given.values[i]);
  }
  return result;
}

std::int64_t size_of(const std::vector<std::int64_t>& shape) {
  std::int64_t size = 1;
  for (const std::int64_t n : shape)
    if (n < 0 || __builtin_mul_overflow(size, n, &size)) return -1;
  return size;
}

std::string to_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t n : shape) {
    text += '[';
    text += std::to_string(n);
    text += ']';
  }
  return text.empty() ? "[]" : text;
}

}  // namespace leafproof::reference
