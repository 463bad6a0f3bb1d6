// Inside brute_force's convolution: its relation, its sums, and rows of cells.
#pragma once

#include <functional>

#include "reference/brute_force_conv.h"
#include "reference/brute_force_parts.h"

namespace leafproof::brute_force {

/// [K-7]
void require_kernel(const std::string& pass, const Kernel& kernel);

/// The largest P with 2P <= D(K-1) [K-1].
std::int64_t phase_of(std::int64_t size, std::int64_t dilation);

/// Calls visit(tap) for every tap, the last axis fastest [K-2].
void each_tap(const Kernel& kernel, const std::function<void(const Cell&)>& visit);

/// The fine cell that a tap joins to a coarse one.
Cell fine_cell(const Kernel& kernel, const Cell& coarse, const Cell& tap);

/// The terms of one element, each the product of two numbers.
using Terms = std::vector<std::array<double, 2>>;

/// [V-6] An argument's numbers in the type, and the sum of terms in its accumulator, rounded once.
std::vector<double> numbers_of(const std::string& pass, const char* argument, const Array& array,
                               NumberType type);
double sum_of(const std::string& pass, const Terms& terms, NumberType type);

/// Rows of a member's cells, counted in canonical order from `first`, and back.
class Rows {
 public:
  Rows(const std::vector<Voxel>& voxels, std::int64_t first);
  std::int64_t row_of(const Cell& c) const;  // -1 where the cell is off
  const std::vector<Cell>& cells() const { return cells_; }
  std::int64_t first() const { return first_; }

 private:
  std::size_t place(const Cell& c) const;
  Region region_;
  std::int64_t first_;
  std::vector<Cell> cells_;         // in the order of their rows
  std::vector<std::int32_t> rows_;  // of each cell of the region, z fastest; -1: off
};

}  // namespace leafproof::brute_force
