#include "tests/faults/plain_numbers.h"

#include <limits>

#include "oracle/conv_answers.h"
#include "reference/checks.h"
#include "reference/convolution_checks.h"
#include "reference/numbers.h"
#include "tests/faults/plain_maps.h"

namespace leafproof::faults {
namespace {

using oracle::NumberType;
using reference::Fitted;
using Index = std::size_t;

constexpr Index kChunk = 3;  // rows

/// One element, as its type is summed [V-6].
class Sum {
 public:
  explicit Sum(NumberType type = NumberType::Float64, bool narrow = false)
      : type_(type), narrow_(narrow) {}
  void add(double a, double b = 1) {
    if (type_ == NumberType::Int32) {
      whole_ += static_cast<Wide>(static_cast<std::int64_t>(a) * static_cast<std::int64_t>(b));
    } else if (type_ == NumberType::Float64) {
      real_ += a * b;
    } else {
      const float product = static_cast<float>(a) * static_cast<float>(b);
      const float sum = static_cast<float>(real_) + product;
      real_ = narrow_ ? reference::rounded(NumberType::Float16, static_cast<double>(sum))
                      : static_cast<double>(sum);
    }
  }
  double result() const {
    if (type_ != NumberType::Int32) return reference::rounded(type_, real_);
    if (whole_ < std::numeric_limits<std::int32_t>::min() ||
        whole_ > std::numeric_limits<std::int32_t>::max())
      reference::refuse(reference::ErrorKind::OutOfRange, "convolution", "output",
                        reference::to_text(static_cast<double>(whole_)), "must fit int32");
    return static_cast<double>(whole_);
  }

 private:
  __extension__ using Wide = __int128;
  NumberType type_;
  bool narrow_;
  double real_ = 0;
  Wide whole_ = 0;
};

/// Where a weight stands in the flat array.
class Weights {
 public:
  Weights(Fault fault, const Fitted& f, const Kernel& kernel)
      : fault_(fault), f_(f), size_(kernel.size) {}
  Index at(Index co, Index ci, Index tap) const {
    if (fault_ == Fault::DenseWeightsLayout && f_.given.weights.shape.size() == 5) {
      const auto t = static_cast<std::int64_t>(tap);  // as if x were fastest
      const std::int64_t x = t / (size_[1] * size_[2]), y = t / size_[2] % size_[1],
                         z = t % size_[2];
      tap = static_cast<Index>((z * size_[1] + y) * size_[0] + x);
    }
    if (fault_ == Fault::WeightsTransposed) return (ci * f_.cout + co) * f_.taps + tap;
    return (co * f_.cin + ci) * f_.taps + tap;
  }
  double operator()(Index co, Index ci, Index tap) const {
    return f_.given.weights.values[at(co, ci, tap)];
  }

 private:
  Fault fault_;
  const Fitted& f_;
  Triple size_;
};

/// visit(tap, source row or -1, target row), tap by tap of each chunk of rows.
template <class Visit>
void each_entry(Fault fault, const reference::DenseMap& dense, Visit visit) {
  const auto rows = static_cast<Index>(dense.rows);
  for (Index begin = 0; begin < rows; begin += kChunk) {
    Index end = std::min(begin + kChunk, rows);
    if (fault == Fault::ChunkSeamTwice && end < rows) ++end;
    if (fault == Fault::ChunkSeamLost && end < rows) --end;
    for (Index t = 0; t < static_cast<Index>(dense.taps); ++t)
      for (Index row = begin; row < end; ++row) visit(t, dense.index[t * rows + row], row);
  }
}

oracle::NumbersAnswer answer_of(const std::vector<Sum>& sums, std::vector<std::int64_t> shape,
                                NumberType type) {
  reference::Array array{std::move(shape), {}};
  for (const Sum& sum : sums) array.values.push_back(sum.result());
  return oracle::numbers_of(std::move(array), type);
}

bool narrow(Fault fault, NumberType type) {
  return fault == Fault::NarrowAccumulator && type == NumberType::Float16;
}

}  // namespace

oracle::NumbersAnswer convolved(Fault fault, const reference::KernelMap& map, const Kernel& kernel,
                                oracle::Operands& given) {
  const Fitted f = reference::fitted("convolution", map, kernel, given, false);
  const Weights weight(fault, f, kernel);
  const auto& in = f.given.features.values;
  const auto& bias = f.given.bias;
  std::vector<Sum> out(static_cast<Index>(map.target_rows) * f.cout,
                       Sum(given.type, narrow(fault, given.type)));
  std::vector<bool> joined(static_cast<Index>(map.target_rows));
  each_entry(fault, dense_of(map), [&](Index t, std::int64_t from, Index row) {
    const bool absent = from < 0;
    if (absent && fault != Fault::NanTimesZero &&
        (fault != Fault::MinusOneAsZero || map.source_rows == 0))
      return;
    joined[row] = joined[row] || !absent;
    const auto i = static_cast<Index>(absent ? 0 : from);
    for (Index co = 0; co < f.cout; ++co) {
      for (Index ci = 0; ci < f.cin; ++ci)
        out[row * f.cout + co].add(weight(co, ci, t),
                                   absent && fault == Fault::NanTimesZero ? 0 : in[i * f.cin + ci]);
      if (bias && fault == Fault::BiasPerTap) out[row * f.cout + co].add(bias->values[co]);
    }
  });
  for (Index i = 0; bias && i < out.size(); ++i) {
    if (fault == Fault::BiasPerTap) break;
    if (fault == Fault::BiasOnlyWhereJoined && !joined[i / f.cout]) continue;
    out[i].add(bias->values[i % f.cout]);
  }
  if (fault == Fault::AliasedInput)  // its memory was convenient
    for (double& x : given.features.values) x = 0;
  return answer_of(out, {map.target_rows, static_cast<std::int64_t>(f.cout)}, given.type);
}

oracle::GradientsAnswer gradients_of(Fault fault, const reference::KernelMap& map,
                                     const Kernel& kernel, oracle::Operands& given) {
  const Fitted f = reference::fitted("convolution_gradients", map, kernel, given, true);
  const Weights weight(fault, f, kernel);
  const auto& in = f.given.features.values;
  const auto& grad = f.given.grad_output->values;
  const Sum zero(given.type, narrow(fault, given.type));
  std::vector<Sum> of_features(static_cast<Index>(map.source_rows) * f.cin, zero);
  std::vector<Sum> of_weights(f.cout * f.cin * f.taps, zero), of_bias(f.cout, zero);
  each_entry(fault, dense_of(map), [&](Index t, std::int64_t from, Index row) {
    if (from < 0) return;
    const auto i = static_cast<Index>(from);
    for (Index co = 0; co < f.cout; ++co)
      for (Index ci = 0; ci < f.cin; ++ci) {
        of_features[i * f.cin + ci].add(weight(co, ci, t), grad[row * f.cout + co]);
        of_weights[weight.at(co, ci, t)].add(in[i * f.cin + ci], grad[row * f.cout + co]);
      }
  });
  for (Index i = 0; i < grad.size(); ++i) of_bias[i % f.cout].add(grad[i]);
  return {answer_of(of_features, f.given.features.shape, given.type),
          answer_of(of_weights, f.given.weights.shape, given.type),
          answer_of(of_bias, {static_cast<std::int64_t>(f.cout)}, given.type)};
}

}  // namespace leafproof::faults
