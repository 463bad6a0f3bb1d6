// The convolution of a vectors file [F]: targets, operands, maps and numbers, all of them whole.
#include <algorithm>

#include "oracle/conv_answers.h"
#include "oracle/vectors_node.h"

namespace leafproof::oracle::vectors {
namespace {

using reference::Array;
using Shape = std::vector<std::int64_t>;

std::int64_t count(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

/// Numbers nested as deep as `shape` is long; -1 in it takes what the first list has.
void read_nested(const Node& node, std::size_t axis, Array& array) {
  if (axis == array.shape.size()) {
    array.values.push_back(node.number());
    return;
  }
  const auto items =
      node.items(array.shape[axis] < 0 ? std::optional<std::size_t>{}
                                       : static_cast<std::size_t>(array.shape[axis]));
  array.shape[axis] = count(items.size());
  for (const Node& item : items) read_nested(item, axis + 1, array);
}

Array read_array(const Node& node, Shape shape) {
  Array array{std::move(shape), {}};
  read_nested(node, 0, array);
  for (auto& n : array.shape) n = std::max<std::int64_t>(n, 0);  // below an empty list
  return array;
}

/// [tap][Cin][Cout] of a file as [Cout][Cin][Kx][Ky][Kz] [V-1]. Another number of taps than the
/// kernel has is kept as it is, to be refused by those who are asked.
Array weights_of(const Array& read, const Triple& kernel) {
  const std::int64_t taps = read.shape[0], cin = read.shape[1], cout = read.shape[2];
  const double volume = static_cast<double>(kernel[0]) * static_cast<double>(kernel[1]) *
                        static_cast<double>(kernel[2]);
  Array weights{{cout, cin, taps, 1, 1}, {}};
  if (volume == static_cast<double>(taps))
    weights.shape = {cout, cin, kernel[0], kernel[1], kernel[2]};
  for (std::int64_t co = 0; co < cout; ++co)
    for (std::int64_t ci = 0; ci < cin; ++ci)
      for (std::int64_t t = 0; t < taps; ++t)
        weights.values.push_back(read.values[static_cast<std::size_t>((t * cin + ci) * cout + co)]);
  return weights;
}

Batch source_of(const Case& question) {
  if (!question.view) return question.source;
  Batch batch;
  for (const auto m : *question.view)
    if (m >= 0 && m < count(question.source.size()))  // else refused
      batch.members.push_back(question.source.members[static_cast<std::size_t>(m)]);
  return batch;
}

/// What a file says is exact: whole numbers.
NumbersAnswer whole_numbers(const Node& node, Array array, std::optional<RowVoxels> rows = {}) {
  std::vector<reference::Exact> exact;
  for (const double x : array.values) {
    if (x != std::trunc(x)) node.fail("must hold whole numbers");
    exact.push_back({x, 0, std::fabs(x), 1});
  }
  return exact_numbers(std::move(array), NumberType::Float64, std::move(exact), 1, std::move(rows));
}

KernelMapAnswer read_pairs(const Node& node, const Case& question) {
  const Batch source = source_of(question);
  KernelMapAnswer answer;
  answer.source_rows = rows_of(source);
  answer.target_rows = rows_of(*question.target);
  answer.kernel_size = question.kernel.size;
  auto& map = answer.map;
  map.source_rows = count(answer.source_rows->size());
  map.target_rows = count(answer.target_rows->size());
  for (const Node& tap : node.items()) {
    std::int64_t after = 0;  // target rows ascend, each at most once [M-2]
    for (const Node& pair : tap.items()) {
      const auto rows = pair.items(2);
      map.gather.push_back(rows[0].integer(0, map.source_rows - 1));
      map.scatter.push_back(rows[1].integer(after, map.target_rows - 1));
      after = map.scatter.back() + 1;
    }
    map.offsets.push_back(count(map.gather.size()));
  }
  return answer;
}

DenseMapAnswer read_indices(const Node& node, const Case& question) {
  DenseMapAnswer answer;
  answer.source_rows = answer.target_rows = rows_of(source_of(question));
  answer.kernel_size = question.kernel.size;
  answer.map.rows = count(answer.target_rows->size());
  for (const Node& tap : node.items()) {
    ++answer.map.taps;
    for (const Node& row : tap.items(answer.target_rows->size()))
      answer.map.index.push_back(row.integer(-1, answer.map.rows - 1));
  }
  return answer;
}

}  // namespace

void read_convolution(const Node& at, Case& question) {
  if (at.has("target")) question.target = batch_of_lists(read_lists(at["target"], true));
  Operands& operands = question.operands;
  if (!at.has("weights")) return;
  const Array weights = read_array(at["weights"], {-1, -1, -1});
  operands.weights = weights_of(weights, question.kernel.size);
  operands.features = read_array(at["features"], {-1, -1});
  // A list of no rows does not say how long they would be.
  if (operands.features.shape[0] == 0) operands.features.shape[1] = weights.shape[1];
  if (at.has("bias") && !at["bias"].raw().is_null()) operands.bias = read_array(at["bias"], {-1});
  if (at.has("grad_output")) {
    operands.grad_output = read_array(at["grad_output"], {-1, -1});
    if (operands.grad_output->shape[0] == 0) operands.grad_output->shape[1] = weights.shape[2];
  }
}

void read_expected_convolution(const Node& expected, Vector& vector) {
  const Case& question = vector.question;
  if (question.op == Op::SubmanifoldIndexMap) {
    expected.keys({"indices"});
    vector.expected = read_indices(expected["indices"], question);
    return;
  }
  const auto sources = count(rows_of(source_of(question)).size());
  const RowVoxels targets = rows_of(*question.target);
  const Shape& weights = question.operands.weights.shape;
  const std::int64_t cout = weights[0], cin = weights[1];
  if (question.op == Op::Convolution) {
    expected.keys({"pairs", "output"});
    vector.pairs = read_pairs(expected["pairs"], question);
    const Node output = expected["output"];
    vector.expected =
        whole_numbers(output, read_array(output, {count(targets.size()), cout}), targets);
    return;
  }
  expected.keys({"grad_features", "grad_weights", "grad_bias"});
  const Node features = expected["grad_features"], grad = expected["grad_weights"],
             bias = expected["grad_bias"];
  vector.expected = GradientsAnswer{
      whole_numbers(features, read_array(features, {sources, cin}), rows_of(source_of(question))),
      whole_numbers(grad, weights_of(read_array(grad, {-1, cin, cout}), question.kernel.size)),
      whole_numbers(bias, read_array(bias, {cout}))};
}

}  // namespace leafproof::oracle::vectors
