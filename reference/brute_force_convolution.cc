// [V-1], [V-2], [V-6] as brute_force has them: the terms of each element are listed, those of the
// last tap first, and then summed.
#include <cmath>

#include "reference/brute_force_conv_parts.h"

namespace leafproof::brute_force {
namespace {

using Shape = std::vector<std::int64_t>;

std::string show_shape(const Shape& shape) {
  std::string text = "(";
  for (const std::int64_t n : shape) text.append(std::to_string(n)).append(",");
  return text.append(")");
}

void require_shape(const std::string& pass, const char* argument, const Array& array,
                   const Shape& shape) {
  double count = 1;  // shapes from outside may be as large as they like
  for (const std::int64_t n : shape) count *= n < 0 ? -HUGE_VAL : static_cast<double>(n);
  if (array.shape != shape || static_cast<double>(array.values.size()) != count)
    reject(ErrorKind::ShapeMismatch, pass, argument, show_shape(array.shape), show_shape(shape));
}

struct Question {
  std::size_t cin, cout, taps;
  std::vector<double> features, weights, bias, grad;
};

Question question(const std::string& pass, const KernelMap& map, const Kernel& kernel,
                  const Operands& given, bool backwards) {
  const Shape &f = given.features.shape, &w = given.weights.shape;
  const std::int64_t cin = f.size() == 2 ? f[1] : 0, cout = w.empty() ? 0 : w[0];
  require_shape(pass, "features", given.features, {map.source_rows, cin});
  const bool one = kernel.size == Triple{1, 1, 1} && kernel.stride == Triple{1, 1, 1};
  if (w.size() == 2 && one && given.target_is_source)
    require_shape(pass, "weights", given.weights, {cout, cin});
  else
    require_shape(pass, "weights", given.weights,
                  {cout, cin, kernel.size[0], kernel.size[1], kernel.size[2]});
  const bool biased = given.bias && !backwards;
  if (biased) require_shape(pass, "bias", *given.bias, {cout});
  if (backwards && !given.grad_output)
    reject(ErrorKind::InvalidArgument, pass, "grad_output", "none", "one");
  if (backwards) require_shape(pass, "grad_output", *given.grad_output, {map.target_rows, cout});
  const auto numbers = [&](const char* argument, const Array& array) {
    return numbers_of(pass, argument, array, given.type);
  };
  return {static_cast<std::size_t>(cin),
          static_cast<std::size_t>(cout),
          map.offsets.size() - 1,
          numbers("features", given.features),
          numbers("weights", given.weights),
          biased ? numbers("bias", *given.bias) : std::vector<double>{},
          backwards ? numbers("grad_output", *given.grad_output) : std::vector<double>{}};
}

template <class Visit>
void each_pair_backwards(const KernelMap& map, Visit visit) {
  for (std::size_t t = map.offsets.size() - 1; t-- > 0;)
    for (std::int64_t p = map.offsets[t + 1]; p-- > map.offsets[t];)
      visit(t, static_cast<std::size_t>(map.gather[static_cast<std::size_t>(p)]),
            static_cast<std::size_t>(map.scatter[static_cast<std::size_t>(p)]));
}

Array summed(const std::string& pass, Shape shape, const std::vector<Terms>& elements,
             NumberType type) {
  Array array{std::move(shape), {}};
  for (const Terms& terms : elements) array.values.push_back(sum_of(pass, terms, type));
  return array;
}

}  // namespace

Array convolve(const KernelMap& map, const Kernel& kernel, const Operands& given) {
  const Question q = question("convolution", map, kernel, given, false);
  std::vector<Terms> out(static_cast<std::size_t>(map.target_rows) * q.cout);
  each_pair_backwards(map, [&](std::size_t t, std::size_t i, std::size_t o) {
    for (std::size_t co = q.cout; co-- > 0;)
      for (std::size_t ci = q.cin; ci-- > 0;)
        out[o * q.cout + co].push_back(
            {q.features[i * q.cin + ci], q.weights[(co * q.cin + ci) * q.taps + t]});
  });
  for (std::size_t e = 0; e < out.size() && !q.bias.empty(); ++e)
    out[e].push_back({q.bias[e % q.cout], 1});
  return summed("convolution", {map.target_rows, static_cast<std::int64_t>(q.cout)}, out,
                given.type);
}

Gradients gradients(const KernelMap& map, const Kernel& kernel, const Operands& given) {
  const char* pass = "convolution_gradients";
  const Question q = question(pass, map, kernel, given, true);
  std::vector<Terms> features(q.features.size()), weights(q.weights.size()), bias(q.cout);
  each_pair_backwards(map, [&](std::size_t t, std::size_t i, std::size_t o) {
    for (std::size_t ci = q.cin; ci-- > 0;)
      for (std::size_t co = q.cout; co-- > 0;) {
        const std::size_t x = i * q.cin + ci, w = (co * q.cin + ci) * q.taps + t;
        const double g = q.grad[o * q.cout + co];
        features[x].push_back({g, q.weights[w]});
        weights[w].push_back({g, q.features[x]});
      }
  });
  for (std::size_t e = q.grad.size(); e-- > 0;) bias[e % q.cout].push_back({q.grad[e], 1});
  return {summed(pass, given.features.shape, features, given.type),
          summed(pass, given.weights.shape, weights, given.type),
          summed(pass, {static_cast<std::int64_t>(q.cout)}, bias, given.type)};
}

}  // namespace leafproof::brute_force
