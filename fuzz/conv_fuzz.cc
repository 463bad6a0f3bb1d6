// Every operation of convolution on every backend against the reference: grids, kernel maps in both
// forms, numbers and gradients of every type, of batches and views, onto complete and restricted
// targets. The input is a question, decoded so that any bytes are one; a difference is a finding.
// The strict device is asked one question of four.
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "fuzz/batches.h"
#include "fuzz/verdict.h"
#include "oracle/boxed_backend.h"
#include "reference/passes.h"

namespace leafproof::fuzz {
namespace {

using namespace oracle;
using reference::Array;

/// What is wrong with a question, one thing at a time: several may be refused in any order.
enum class Defect { None, Geometry, Members, View, Shape };

Defect defect_from(Bytes& input) {
  const std::size_t n = input.choice(16);
  return n < 5 ? static_cast<Defect>(n) : Defect::None;
}

Kernel kernel_from(Bytes& input) {
  Kernel kernel;
  for (std::size_t a = 0; a < 3; ++a) {
    kernel.size[a] = 1 + static_cast<std::int64_t>(input.choice(5));
    kernel.stride[a] = 1 + static_cast<std::int64_t>(input.choice(5));
    kernel.dilation[a] = 1 + static_cast<std::int64_t>(input.choice(3));
  }
  switch (input.choice(6)) {
    case 0:  // what submanifold maps ask, and often enough what K-5 names
      for (auto& k : kernel.size) k |= 1;
      kernel.stride = {1, 1, 1};
      break;
    case 1: {  // the same on every axis
      const std::size_t a = input.choice(3);
      kernel.size.fill(kernel.size[a]);
      kernel.stride.fill(kernel.stride[a]);
      kernel.dilation.fill(kernel.dilation[a]);
      break;
    }
    case 2:  // long on one axis, up to the limits [K-7]
      kernel.size = {1, 1, 1};
      kernel.size[input.choice(3)] = 1 + static_cast<std::int64_t>(input.choice(128));
      kernel.stride[input.choice(3)] = 1 + static_cast<std::int64_t>(input.choice(64));
      kernel.dilation[input.choice(3)] = 1 + static_cast<std::int64_t>(input.choice(16));
      break;
    default:
      break;
  }
  return kernel;
}

void spoil(Bytes& input, Kernel& kernel) {
  static constexpr std::array<std::int64_t, 8> bad{0, -1, 129, 65, 17, INT64_MAX, INT64_MIN, 4097};
  Triple* const triples[] = {&kernel.size, &kernel.stride, &kernel.dilation};
  (*triples[input.choice(3)])[input.choice(3)] = bad[input.choice(bad.size())];
}

/// Numbers from a seed, so that an input stays short; then a few from the input itself.
class Numbers {
 public:
  Numbers(Bytes& input, NumberType type)
      : input_(input), state_(input.next<std::uint32_t>()), type_(type) {
    style_ = input.choice(4);
  }

  Array array(std::vector<std::int64_t> shape) {
    std::size_t count = 1;
    for (const std::int64_t n : shape) count *= static_cast<std::size_t>(n);
    Array made{std::move(shape), std::vector<double>(count)};
    for (double& x : made.values) x = next();
    for (std::size_t special = input_.choice(4); special > 0 && count > 0; --special) {
      made.values[input_.next<std::uint16_t>() % count] = unusual();
    }
    return made;
  }

 private:
  double next() {
    state_ = state_ * 1664525 + 1013904223;
    const auto n = static_cast<std::int32_t>(state_ >> 8) % 8;
    if (style_ == 1 && type_ != NumberType::Int32) return n / 7.0;  // rounds at every step
    return n;
  }
  double unusual() {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr std::array<double, 12> of_floats{
        infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
        -0.0,     1e-310,    0x1p-149,
        0x1p-24,  65504,     1e38,
        1e308,    2049,      -0.1};
    static constexpr std::array<double, 4> of_int32{2147483647, -2147483648.0, 65536, -46341};
    const auto any = of_floats[input_.choice(of_floats.size())];
    if (type_ == NumberType::Int32 && style_ < 3) return of_int32[input_.choice(of_int32.size())];
    return any;
  }

  Bytes& input_;
  std::uint32_t state_;
  NumberType type_;
  std::size_t style_ = 0;
};

std::int64_t rows_of(const Batch& batch) {
  std::int64_t rows = 0;
  for (const auto& member : batch.members) rows += static_cast<std::int64_t>(member.size());
  return rows;
}

/// How many rows the target has; none where the question is refused anyway.
std::int64_t target_rows(const Case& question, const Backend& reference) {
  if (question.target) return rows_of(*question.target);
  Case grid = question;
  grid.op = question.direction == Direction::Forward ? Op::ConvGrid : Op::ConvTransposeGrid;
  const Answer answer = reference.answer(grid);
  const auto* layout = std::get_if<Layout>(&answer);
  return layout == nullptr ? 0 : static_cast<std::int64_t>(layout->voxel_offsets.back());
}

void add_operands(Bytes& input, Case& question, std::int64_t source_rows, bool spoiled,
                  const Backend& reference) {
  Operands& operands = question.operands;
  operands.type = static_cast<NumberType>(input.choice(4));
  Numbers numbers(input, operands.type);
  const auto cin = static_cast<std::int64_t>(input.choice(5)),
             cout = static_cast<std::int64_t>(input.choice(5));
  const Triple& k = question.kernel.size;
  operands.features = numbers.array({source_rows, cin});
  operands.weights = numbers.array({cout, cin, k[0], k[1], k[2]});
  if (k == Triple{1, 1, 1} && input.choice(2) == 1) operands.weights.shape = {cout, cin};
  if (input.choice(2) == 1) operands.bias = numbers.array({cout});
  if (question.op == Op::ConvolutionGradients) {
    operands.grad_output = numbers.array({target_rows(question, reference), cout});
  }
  if (!spoiled) return;
  Array* const arrays[] = {&operands.features, &operands.weights,
                           operands.bias ? &*operands.bias : &operands.weights,
                           operands.grad_output ? &*operands.grad_output : &operands.features};
  Array& array = *arrays[input.choice(4)];
  switch (input.choice(4)) {
    case 0:
      array.shape.push_back(1);
      break;
    case 1:
      array.shape[input.choice(array.shape.size())] += 1;
      break;
    case 2:
      array.shape[input.choice(array.shape.size())] = input.next<std::int64_t>();
      break;
    default:
      array.values.push_back(1);
      break;
  }
}

Case question_from(Bytes& input, const Backend& reference) {
  Case question;
  question.op = convolution_ops()[input.choice(convolution_ops().size())];
  question.id = "fuzz";
  const Defect defect = defect_from(input);
  question.kernel = kernel_from(input);
  if (defect == Defect::Geometry) spoil(input, question.kernel);
  question.direction = static_cast<Direction>(input.choice(2));
  question.dense = question.op == Op::KernelMap && input.choice(2) == 1;
  std::size_t members = input.choice(4);
  question.source = reference::from_ijk(lists(input, members));
  Batch seen = question.source;
  if (input.choice(4) == 0 && members > 0) {
    auto& view = question.view.emplace();
    for (std::size_t n = input.choice(5); n > 0; --n) {
      view.push_back(static_cast<std::int64_t>(input.choice(members)));
    }
    seen = reference::view(question.source, view);
    members = view.size();
  }
  if (defect == Defect::View) {
    static constexpr std::array<std::int64_t, 4> bad{-1, 4, INT64_MAX, INT64_MIN};
    question.view.emplace().push_back(bad[input.choice(bad.size())]);
  }
  const bool onto = question.op == Op::KernelMap || question.op == Op::Convolution ||
                    question.op == Op::ConvolutionGradients;
  if (onto && input.choice(2) == 1) {
    const bool itself = input.choice(3) == 0;
    const std::size_t others = defect == Defect::Members ? members + 1 : members;
    question.target =
        itself && others == members ? seen : reference::from_ijk(lists(input, others));
  }
  if (question.op == Op::Convolution || question.op == Op::ConvolutionGradients) {
    const bool refused = defect == Defect::Geometry;  // the weights of which would be too many
    if (refused)
      question.op = Op::KernelMap;
    else
      add_operands(input, question, rows_of(seen), defect == Defect::Shape, reference);
  }
  return question;
}

/// Beyond this the references take too long for a fuzzer: results and maps of this many elements.
bool is_small(const Case& question) {
  const Triple& k = question.kernel.size;
  if (*std::min_element(k.begin(), k.end()) < 1 || *std::max_element(k.begin(), k.end()) > 128) {
    return true;  // refused
  }
  std::int64_t rows = rows_of(question.source) * (question.view ? 4 : 1);
  if (question.target) rows = std::max(rows, rows_of(*question.target));
  return rows * k[0] * k[1] * k[2] < 6000;
}

void run(Bytes input) {
  static const auto reference = make_backend("reference");
  static const std::vector<std::unique_ptr<Backend>> backends = [] {
    std::vector<std::unique_ptr<Backend>> made;
    for (const std::string& name : backend_names()) {
      if (name == "reference" || name == "host") continue;  // host is host-mask by another name
      made.push_back(make_backend(name));
      if (name == "brute_force") made.back() = make_boxed(std::move(made.back()), 1 << 18);
    }
    return made;
  }();
  const bool asks_strict = input.choice(4) == 0;  // which takes longer than the others together
  const Case question = question_from(input, *reference);
  if (!is_small(question)) return;
  const Answer expected = reference->answer(question);
  for (const auto& backend : backends) {
    if (backend->name() == "strict" && !asks_strict) continue;
    const Answer actual = backend->answer(question);
    const bool builder = backend->name() != "brute_force";
    demand_equal(question, *backend, expected, actual, builder ? Profile::Bytes : Profile::Layout);
  }
}

}  // namespace
}  // namespace leafproof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  leafproof::fuzz::run(leafproof::fuzz::Bytes({data, size}));
  return 0;
}
