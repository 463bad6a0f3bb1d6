// [V-1], [V-2]: three sums over the pairs of a map. Each is written once, for every way of summing.
#include "reference/convolution.h"

#include <limits>

#include "reference/checks.h"
#include "reference/conv_relation.h"
#include "reference/convolution_checks.h"
#include "reference/convolution_sums.h"
#include "reference/numbers.h"

namespace leafproof::reference {
namespace {

using Index = std::size_t;

/// Calls visit(tap, source row, target row) for every pair, taps ascending.
template <class Visit>
void each_pair(const KernelMap& map, Visit visit) {
  for (Index t = 0; t + 1 < map.offsets.size(); ++t)
    for (std::int64_t p = map.offsets[t]; p < map.offsets[t + 1]; ++p)
      visit(t, static_cast<Index>(map.gather[static_cast<Index>(p)]),
            static_cast<Index>(map.scatter[static_cast<Index>(p)]));
}

/// out[o][co] = bias[co] + sum of W[co][ci][t] * in[i][ci]
template <class Sum>
std::vector<Sum> output_sums(const KernelMap& map, const Fitted& f) {
  std::vector<Sum> out(static_cast<Index>(map.target_rows) * f.cout);
  if (f.given.bias)
    for (Index i = 0; i < out.size(); ++i) out[i].add(f.given.bias->values[i % f.cout]);
  each_pair(map, [&](Index t, Index i, Index o) {
    for (Index co = 0; co < f.cout; ++co)
      for (Index ci = 0; ci < f.cin; ++ci)
        out[o * f.cout + co].add(f.weight(co, ci, t), f.given.features.values[i * f.cin + ci]);
  });
  return out;
}

/// grad_in[i][ci] = sum of W[co][ci][t] * grad_out[o][co]
template <class Sum>
std::vector<Sum> feature_sums(const KernelMap& map, const Fitted& f) {
  std::vector<Sum> in(static_cast<Index>(map.source_rows) * f.cin);
  each_pair(map, [&](Index t, Index i, Index o) {
    for (Index ci = 0; ci < f.cin; ++ci)
      for (Index co = 0; co < f.cout; ++co)
        in[i * f.cin + ci].add(f.weight(co, ci, t), f.given.grad_output->values[o * f.cout + co]);
  });
  return in;
}

/// grad_W[co][ci][t] = sum of in[i][ci] * grad_out[o][co]
template <class Sum>
std::vector<Sum> weight_sums(const KernelMap& map, const Fitted& f) {
  std::vector<Sum> weights(f.cout * f.cin * f.taps);
  each_pair(map, [&](Index t, Index i, Index o) {
    for (Index co = 0; co < f.cout; ++co)
      for (Index ci = 0; ci < f.cin; ++ci)
        weights[(co * f.cin + ci) * f.taps + t].add(f.given.features.values[i * f.cin + ci],
                                                    f.given.grad_output->values[o * f.cout + co]);
  });
  return weights;
}

/// grad_bias[co] = sum of grad_out[o][co]
template <class Sum>
std::vector<Sum> bias_sums(const Fitted& f) {
  std::vector<Sum> bias(f.cout);
  const std::vector<double>& values = f.given.grad_output->values;
  for (Index i = 0; i < values.size(); ++i) bias[i % f.cout].add(values[i]);
  return bias;
}

// [V-6] Rounded once to the type.
template <class T>
double finished(const Fitted& f, const char*, const FloatSum<T>& sum, Index) {
  return rounded(f.given.type, static_cast<double>(sum.sum));
}

double finished(const Fitted& f, const char* result, const IntegerSum& sum, Index row) {
  if (sum.sum < std::numeric_limits<std::int32_t>::min() ||
      sum.sum > std::numeric_limits<std::int32_t>::max())
    refuse(ErrorKind::OutOfRange, f.operation, result,
           "about " + to_text(static_cast<double>(sum.sum)), "must fit int32", {},
           static_cast<std::int64_t>(row));
  return static_cast<double>(sum.sum);
}

template <class Sum>
Array array_of(const Fitted& f, const char* result, std::vector<std::int64_t> shape,
               const std::vector<Sum>& sums) {
  Array array{std::move(shape), {}};
  const Index in_a_row = sums.empty() ? 1 : sums.size() / static_cast<Index>(array.shape[0]);
  for (Index i = 0; i < sums.size(); ++i)
    array.values.push_back(finished(f, result, sums[i], i / in_a_row));
  return array;
}

std::vector<Exact> exacts_of(const std::vector<ExactSum>& sums) {
  std::vector<Exact> exact;
  for (const ExactSum& sum : sums) exact.push_back(sum.result());
  return exact;
}

// [V-6] The accumulator of each type.
template <class Make>
auto accumulated(NumberType type, Make make) {
  if (type == NumberType::Float64) return make(FloatSum<double>{});
  if (type == NumberType::Int32) return make(IntegerSum{});
  return make(FloatSum<float>{});
}

}  // namespace

Array convolve(const KernelMap& map, const Kernel& kernel, const Operands& given) {
  const Fitted f = fitted("convolution", map, kernel, given, /*gradients=*/false);
  return accumulated(given.type, [&]<class Sum>(Sum) {
    return array_of(f, "output", {map.target_rows, static_cast<std::int64_t>(f.cout)},
                    output_sums<Sum>(map, f));
  });
}

Gradients gradients(const KernelMap& map, const Kernel& kernel, const Operands& given) {
  const Fitted f = fitted("convolution_gradients", map, kernel, given, /*gradients=*/true);
  return accumulated(given.type, [&]<class Sum>(Sum) {
    return Gradients{
        array_of(f, "grad_features", f.given.features.shape, feature_sums<Sum>(map, f)),
        array_of(f, "grad_weights", f.given.weights.shape, weight_sums<Sum>(map, f)),
        array_of(f, "grad_bias", {static_cast<std::int64_t>(f.cout)}, bias_sums<Sum>(f))};
  });
}

std::vector<Exact> convolve_exactly(const KernelMap& map, const Kernel& kernel,
                                    const Operands& given) {
  return exacts_of(output_sums<ExactSum>(map, fitted("convolution", map, kernel, given, false)));
}

ExactGradients gradients_exactly(const KernelMap& map, const Kernel& kernel,
                                 const Operands& given) {
  const Fitted f = fitted("convolution_gradients", map, kernel, given, true);
  return {exacts_of(feature_sums<ExactSum>(map, f)), exacts_of(weight_sums<ExactSum>(map, f)),
          exacts_of(bias_sums<ExactSum>(f))};
}

}  // namespace leafproof::reference
