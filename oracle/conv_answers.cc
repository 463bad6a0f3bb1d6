// See conv_answers.h.
#include "oracle/conv_answers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/numbers.h"

namespace leafproof::oracle {

RowVoxels rows_of(const Batch& batch) {
  RowVoxels rows;
  for (std::size_t m = 0; m < batch.size(); ++m)
    for (const Voxel& v : batch.members[m]) rows.push_back({static_cast<std::int64_t>(m), v});
  return rows;
}

std::shared_ptr<const std::variant<Layout, GridBuffer>> as_target(Layout layout) {
  return std::make_shared<const std::variant<Layout, GridBuffer>>(std::move(layout));
}

Arithmetic arithmetic_of(NumberType type) {
  return type == NumberType::Float32 || type == NumberType::Float16 ? Arithmetic::Fp32
                                                                    : Arithmetic::Fp64;
}

NumbersAnswer numbers_of(reference::Array array, NumberType type, std::optional<RowVoxels> rows) {
  NumbersAnswer numbers;
  numbers.array = std::move(array);
  numbers.type = type;
  numbers.multiplier = numbers.accumulator = arithmetic_of(type);
  numbers.rows = std::move(rows);
  return numbers;
}

NumbersAnswer exact_numbers(reference::Array array, NumberType type,
                            std::vector<reference::Exact> exact, double largest_whole,
                            std::optional<RowVoxels> rows) {
  NumbersAnswer numbers = numbers_of(std::move(array), type, std::move(rows));
  numbers.exact = std::make_shared<const std::vector<reference::Exact>>(std::move(exact));
  numbers.largest_whole = largest_whole;
  return numbers;
}

double largest_whole(const Operands& operands, bool gradients) {
  double largest = 1;
  bool whole = true;
  const auto read = [&](const reference::Array& array) {
    for (const double given : array.values) {
      const double x = reference::rounded(operands.type, given);
      whole = whole && std::isfinite(x) && x == std::trunc(x);
      largest = std::max(largest, std::fabs(x));
    }
  };
  read(operands.features);
  read(operands.weights);
  if (!gradients && operands.bias) read(*operands.bias);
  if (gradients && operands.grad_output) read(*operands.grad_output);
  return whole ? largest : 0;
}

}  // namespace leafproof::oracle
