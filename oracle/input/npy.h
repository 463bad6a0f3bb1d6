// One array in NumPy's .npy format: header and numbers, checked against each other. Versions 1 to
// 3, both byte orders, C and Fortran order.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/input/file_bytes.h"

namespace leafproof::oracle {

class NpyArray {
 public:
  /// Errors, naming the file and `name` (the array's, for people): Corrupt when the header is not
  /// what NumPy writes, or the data's size is not what the shape says; Unsupported for structured
  /// and object types. `bytes` must outlive the array.
  NpyArray(const FileTask& task, std::string name, std::span<const std::byte> bytes);

  const std::string& name() const { return name_; }
  const std::vector<std::uint64_t>& shape() const { return shape_; }
  bool is(char kind, int size) const { return kind_ == kind && size_ == size; }  // ('i', 4): int32
  std::string type() const;                                                      // "int32"
  std::string shape_text() const;                                                // "(5, 3)"

  /// Element (row, column) of an array of one or two axes, in range. `integer`: of a bool or
  /// integer array (uint64 by its bits); `real`: of float32 or float64. Another type is a
  /// logic_error.
  std::int64_t integer(std::uint64_t row, std::uint64_t column = 0) const;
  double real(std::uint64_t row, std::uint64_t column = 0) const;

  /// All elements in C order, for any number of axes. `integers`: of bool or integers; `reals`: of
  /// float16, float32, float64 or int32. Another type is a logic_error.
  std::vector<std::int64_t> integers() const;
  std::vector<double> reals() const;
  bool holds_integers() const { return kind_ == 'i' || kind_ == 'u' || kind_ == 'b'; }

 private:
  std::vector<std::uint64_t> c_order() const;  // where each element of C order lies

  template <class T>
  T element(std::uint64_t row, std::uint64_t column) const;

  std::string name_;
  char kind_ = 0;  // NumPy's: i, u, f, b, c, ...
  int size_ = 0;   // bytes per element
  bool swapped_ = false, fortran_ = false;
  std::vector<std::uint64_t> shape_;
  std::span<const std::byte> data_;
};

/// The header of an array of `shape` in C order on this machine; `type`: "<i4", "<i8", "<f8".
std::string npy_header(std::string_view type, std::span<const std::uint64_t> shape);

}  // namespace leafproof::oracle
