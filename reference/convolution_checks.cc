// Shapes first, then numbers: what fits is cast [V-6], what does not is named with both shapes.
#include "reference/convolution_checks.h"

#include "reference/checks.h"
#include "reference/conv_relation.h"
#include "reference/numbers.h"

namespace leafproof::reference {
namespace {

using Shape = std::vector<std::int64_t>;

void check_shape(const char* operation, const char* argument, const Array& array,
                 const Shape& shape) {
  if (array.shape != shape)
    refuse(ErrorKind::ShapeMismatch, operation, argument, to_text(array.shape),
           "must be " + to_text(shape));
}

void check_count(const char* operation, const char* argument, const Array& array) {
  if (size_of(array.shape) != static_cast<std::int64_t>(array.values.size()))
    refuse(ErrorKind::ShapeMismatch, operation, argument, to_text(array.shape),
           "has " + std::to_string(array.values.size()) + " numbers");
}

bool all_ones(const Triple& t) {
  return t == Triple{1, 1, 1};
}

}  // namespace

Fitted fitted(const char* operation, const KernelMap& map, const Kernel& kernel,
              const Operands& given, bool gradients) {
  const Triple& k = kernel.size;
  check_count(operation, "features", given.features);
  check_count(operation, "weights", given.weights);
  if (given.features.shape.size() != 2)
    refuse(ErrorKind::ShapeMismatch, operation, "features", to_text(given.features.shape),
           "must be [source rows][Cin]");
  const std::int64_t cin = given.features.shape[1];
  check_shape(operation, "features", given.features, {map.source_rows, cin});

  const Shape& w = given.weights.shape;
  const std::int64_t cout = w.empty() ? 0 : w[0];
  const bool matrix = given.target_is_source && all_ones(k) && all_ones(kernel.stride);  // [V-4]
  if (!matrix || w.size() != 2)
    check_shape(operation, "weights", given.weights, {cout, cin, k[0], k[1], k[2]});
  else
    check_shape(operation, "weights", given.weights, {cout, cin});
  if (!gradients && given.bias) {
    check_count(operation, "bias", *given.bias);
    check_shape(operation, "bias", *given.bias, {cout});
  }
  if (gradients) {
    if (!given.grad_output)
      refuse(ErrorKind::InvalidArgument, operation, "grad_output", "absent", "must be given");
    check_count(operation, "grad_output", *given.grad_output);
    check_shape(operation, "grad_output", *given.grad_output, {map.target_rows, cout});
  }

  Fitted f{operation, given, static_cast<std::size_t>(cin), static_cast<std::size_t>(cout),
           static_cast<std::size_t>(tap_count(kernel))};
  f.given.features = cast(operation, "features", given.features, given.type);
  f.given.weights = cast(operation, "weights", given.weights, given.type);
  if (!gradients && given.bias) f.given.bias = cast(operation, "bias", *given.bias, given.type);
  if (gradients)
    f.given.grad_output = cast(operation, "grad_output", *given.grad_output, given.type);
  return f;
}

}  // namespace leafproof::reference
