// Convolution in whole numbers is exact [V-3], so every type must give the same numbers, and the
// laws that tie results to gradients hold without rounding [V-2]: <conv(x), g> = <x, grad_x> =
// <W, grad_W>, and grad_x is the transposed convolution of g, element by element. Asked of each
// builder about itself.
#include <algorithm>

#include "fuzz/case_target.h"
#include "fuzz/sides.h"
#include "oracle/layout_view.h"
#include "reference/numbers.h"
#include "reference/passes.h"

namespace leafproof::fuzz {
namespace {

using namespace oracle;
using reference::Array;

/// Small whole numbers in the place of others: products and sums stay exact in float32, and in
/// float16 up to 2048.
void make_whole(Array& array) {
  for (double& x : array.values) {
    const double whole = std::isfinite(x) ? std::fmod(std::trunc(x), 5) : 3;
    x = whole + 0.0;  // no -0
  }
}

/// Numbers of no symmetry where a case has none.
Array counted(std::vector<std::int64_t> shape) {
  Array array{std::move(shape), {}};
  std::int64_t size = 1;
  for (const std::int64_t n : array.shape) size *= n;
  for (std::int64_t i = 0; i < size; ++i)
    array.values.push_back(static_cast<double>(i * i % 11 - 5));
  return array;
}

double largest(const Array& array) {
  double most = 0;
  for (const double x : array.values) most = std::max(most, std::fabs(x));
  return most;
}

/// Exact: each product and the sum are far below 2^53.
double inner(const Array& a, const Array& b) {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.values.size(), b.values.size()); ++i)
    sum += a.values[i] * b.values[i];
  return sum;
}

/// The weights of the same pairs seen from the other side: the two channel axes exchanged.
Array exchanged(const Array& w) {
  Array other = w;
  std::swap(other.shape[0], other.shape[1]);
  const auto cout = static_cast<std::size_t>(w.shape[0]),
             cin = static_cast<std::size_t>(w.shape[1]);
  const std::size_t taps = cout * cin == 0 ? 0 : w.values.size() / (cout * cin);
  for (std::size_t o = 0; o < cout; ++o)
    for (std::size_t i = 0; i < cin; ++i)
      for (std::size_t t = 0; t < taps; ++t)
        other.values[(i * cout + o) * taps + t] = w.values[(o * cin + i) * taps + t];
  return other;
}

class Laws {
 public:
  Laws(const Case& question, const Backend& side) : question_(question), side_(side) {}

  void hold() {
    const auto y = numbers(question_);
    if (!y) return;  // refused, as topology and shapes decide
    every_type(*y);
    Case gradients = question_;
    gradients.op = Op::ConvolutionGradients;
    const Array g = counted(y->shape);
    gradients.operands.grad_output = g;
    const Answer answer = side_.answer(gradients);
    const auto* found = std::get_if<GradientsAnswer>(&answer);
    if (found == nullptr) fails("gradients are refused where the convolution is not");
    const Operands& given = question_.operands;
    equal("<conv(x), g> = <x, grad_x>", inner(*y, g), inner(given.features, found->features.array));
    equal("<conv(x), g> = <W, grad_W>", inner(*y, g), inner(given.weights, found->weights.array));
    transposed(g, found->features.array);
  }

 private:
  [[noreturn]] void fails(const std::string& what) const { finding_in(question_, side_, what); }

  void equal(const char* law, double a, double b) const {
    if (a != b) fails(std::string(law) + ": " + std::to_string(a) + " and " + std::to_string(b));
  }

  void equal(const std::string& law, const Array& a, const Array& b) const {
    if (a.shape != b.shape) fails(law + ": other shapes");
    for (std::size_t i = 0; i < a.values.size(); ++i)
      if (a.values[i] != b.values[i])
        fails(law + ": number " + std::to_string(i) + " is " + std::to_string(a.values[i]) +
              " and " + std::to_string(b.values[i]));
  }

  std::optional<Array> numbers(const Case& question) const {
    const Answer answer = side_.answer(question);
    const auto* found = std::get_if<NumbersAnswer>(&answer);
    if (found == nullptr) return std::nullopt;
    return found->array;
  }

  void every_type(const Array& y) const {
    for (const NumberType type : {NumberType::Float32, NumberType::Int32, NumberType::Float16}) {
      if (type == NumberType::Float16 && largest(y) > 2048) continue;  // it rounds
      Case other = question_;
      other.operands.type = type;
      const auto found = numbers(other);
      if (!found) fails("refused in another type, though whole and small");
      equal("in every type, " + std::string(reference::to_string(type)), y, *found);
    }
  }

  /// [M-1] [V-2]
  void transposed(const Array& g, const Array& grad_features) const {
    Case back = question_;
    const Batch source =
        question_.view ? reference::view(question_.source, *question_.view) : question_.source;
    if (question_.target) {
      back.source = *question_.target;
    } else {
      Case grid = question_;
      grid.op = question_.direction == Direction::Forward ? Op::ConvGrid : Op::ConvTransposeGrid;
      grid.operands = {};
      grid.direction = Direction::Forward;
      const Answer answer = side_.answer(grid);
      const auto* buffer = std::get_if<GridBuffer>(&answer);
      if (buffer == nullptr) fails("the complete target is refused where its convolution is not");
      back.source = batch_of(read_layout(*buffer));
    }
    back.target = source;
    back.view.reset();
    back.direction =
        question_.direction == Direction::Forward ? Direction::Transposed : Direction::Forward;
    back.operands.features = g;
    back.operands.weights = exchanged(question_.operands.weights);
    const auto found = numbers(back);
    if (!found) fails("the transposed convolution is refused");
    equal("grad_x is the transposed convolution of g", grad_features, *found);
  }

  const Case& question_;
  const Backend& side_;
};

}  // namespace

const std::vector<Op>& target_ops() {
  static const std::vector<Op> ops{Op::Convolution};
  return ops;
}

void try_case(const Case& question, bool rarely) {
  Case whole = question;
  Operands& operands = whole.operands;
  if (operands.weights.shape.size() != 5) return;  // [V-4] has no map to be transposed
  operands.type = NumberType::Float64;
  operands.bias.reset();  // the laws have none
  make_whole(operands.features);
  make_whole(operands.weights);
  for (const Backend* side : builders(rarely)) Laws(whole, *side).hold();
}

}  // namespace leafproof::fuzz
