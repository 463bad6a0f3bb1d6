// Laws of the numbers of a convolution: what [V] demands of them, whatever they are.
#include <cmath>
#include <limits>

#include "properties/arbitrary.h"
#include "properties/questions.h"
#include "properties/subject.h"
#include "reference/kernel_map.h"

namespace leafproof::properties {
namespace {

class Numbers : public Law {};

using List = std::vector<double>;
constexpr NumberType kTypes[] = {NumberType::Float64, NumberType::Float32, NumberType::Float16,
                                 NumberType::Int32};

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

double dot(const List& a, const List& b) {
  RC_ASSERT(a.size() == b.size());
  double sum = 0;  // of whole numbers far below 2^53
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

List plus(const List& a, double factor, const List& b) {
  List sums = a;
  for (std::size_t i = 0; i < a.size(); ++i) sums[i] += factor * b.at(i);
  return sums;
}

std::int64_t taps_of(const Kernel& kernel) {
  return kernel.size[0] * kernel.size[1] * kernel.size[2];
}

/// A convolution of whole numbers over a map of either policy.
struct Setting {
  Batch source, target;
  Kernel kernel;
  Direction direction = Direction::Forward;
  bool complete = true;
  std::int64_t cin = 1, cout = 1;

  std::size_t inputs() const { return at(rows_of(source) * cin); }
  std::size_t outputs() const { return at(rows_of(target) * cout); }
  std::size_t weights() const { return at(cout * cin * taps_of(kernel)); }

  Case ask(Op op, NumberType type, const List& x, const List& w) const {
    Case question = ask_conv(op, source, kernel, direction);
    if (!complete) question.target = target;
    question.operands.type = type;
    question.operands.features = {{rows_of(source), cin}, x};
    question.operands.weights = {{cout, cin, kernel.size[0], kernel.size[1], kernel.size[2]}, w};
    return question;
  }
  Case ask_gradients(NumberType type, const List& x, const List& w, const List& g) const {
    Case question = ask(Op::ConvolutionGradients, type, x, w);
    question.operands.grad_output = reference::Array{{rows_of(target), cout}, g};
    return question;
  }
  Case ask_map() const {
    Case question = ask_conv(Op::KernelMap, source, kernel, direction);
    if (!complete) question.target = target;
    return question;
  }
};

Setting any_setting(const Subject& run) {
  Setting s;
  s.source = *dense_batches();
  s.kernel = *kernels();
  s.direction = *directions();
  s.complete = *rc::gen::arbitrary<bool>();
  s.target = s.complete ? run(ask_grid(s.source, s.kernel, s.direction))
                        : *targets_near(s.source, s.kernel, s.direction);
  s.cin = *rc::gen::inRange(1, 5);
  s.cout = *rc::gen::inRange(1, 5);
  return s;
}

/// W with its channel axes exchanged.
List exchanged(const Setting& s, const List& w) {
  const std::int64_t taps = taps_of(s.kernel);
  List turned(w.size());
  for (std::int64_t co = 0; co < s.cout; ++co) {
    for (std::int64_t ci = 0; ci < s.cin; ++ci) {
      for (std::int64_t t = 0; t < taps; ++t) {
        turned[at((ci * s.cout + co) * taps + t)] = w[at((co * s.cin + ci) * taps + t)];
      }
    }
  }
  return turned;
}

TEST_P(Numbers, TheTransposedIsTheAdjoint) {
  const Subject run = subject();
  holds("<conv(x), y> = <x, conv_transpose(y)>, exactly [V-2]", [&] {
    const Setting s = any_setting(run);
    const List x = *small_numbers(s.inputs()), y = *small_numbers(s.outputs()),
               w = *small_numbers(s.weights());
    Setting back = s;
    std::swap(back.source, back.target);
    std::swap(back.cin, back.cout);
    back.complete = false;
    back.direction = s.direction == Direction::Forward ? Direction::Transposed : Direction::Forward;
    const NumberType type = *rc::gen::element(NumberType::Float64, NumberType::Int32);
    const List there = run.numbers(s.ask(Op::Convolution, type, x, w));
    const List returned = run.numbers(back.ask(Op::Convolution, type, y, exchanged(s, w)));
    RC_ASSERT(dot(there, y) == dot(x, returned));
    // The gradients are of the form that they are the gradients of.
    const auto gradients = run.gradients(s.ask_gradients(type, x, w, y));
    RC_ASSERT(gradients.features == returned);
    RC_ASSERT(dot(gradients.weights, w) == dot(there, y));
    for (std::int64_t co = 0; co < s.cout; ++co) {
      double sum = 0;
      for (std::size_t i = at(co); i < y.size(); i += at(s.cout)) sum += y[i];
      RC_ASSERT(gradients.bias.at(at(co)) == sum);
    }
  });
}

TEST_P(Numbers, AreLinear) {
  const Subject run = subject();
  holds("conv(x + 3 y) = conv(x) + 3 conv(y); so of weights [V-1]", [&] {
    const Setting s = any_setting(run);
    const List x = *small_numbers(s.inputs()), y = *small_numbers(s.inputs()),
               v = *small_numbers(s.weights()), w = *small_numbers(s.weights());
    const auto conv = [&](const List& features, const List& weights) {
      return run.numbers(s.ask(Op::Convolution, NumberType::Int32, features, weights));
    };
    const List of_x = conv(x, w);
    RC_ASSERT(conv(plus(x, 3, y), w) == plus(of_x, 3, conv(y, w)));
    RC_ASSERT(conv(x, plus(w, 3, v)) == plus(of_x, 3, conv(x, v)));
  });
}

TEST_P(Numbers, OnesCountThePairs) {
  const Subject run = subject();
  holds(
      "of ones with weights of ones each row is its degree; of one tap what it gathers [M-6] [V-1]",
      [&] {
        Setting s = any_setting(run);
        s.cin = s.cout = 1;
        const NumberType type = *rc::gen::elementOf(std::vector(kTypes, kTypes + 4));
        const KernelMap map = run.map(s.ask_map());
        const auto degrees = reference::target_coverage(map).degrees;
        RC_ASSERT(run.numbers(s.ask(Op::Convolution, type, List(s.inputs(), 1),
                                    List(s.weights(), 1))) == List(degrees.begin(), degrees.end()));
        const List x = *small_numbers(s.inputs());
        const auto tap = *rc::gen::inRange<std::size_t>(0, s.weights());
        List only(s.weights(), 0), gathered(s.outputs(), 0);
        only[tap] = 1;
        for (auto i = map.offsets.at(tap); i < map.offsets.at(tap + 1); ++i) {
          gathered.at(at(map.scatter[at(i)])) = x.at(at(map.gather[at(i)]));
        }
        RC_ASSERT(run.numbers(s.ask(Op::Convolution, type, x, only)) == gathered);
      });
}

TEST_P(Numbers, WhatIsNotFiniteReachesTheRowsJoinedToIt) {
  const Subject run = subject();
  holds("NaN and infinity reach exactly the rows joined to theirs, by a weight of 0 too [V-1]",
        [&] {
          const Setting s = any_setting(run);
          RC_PRE(s.inputs() > 0U);
          const NumberType type = *rc::gen::elementOf(std::vector(kTypes, kTypes + 3));
          List x = *small_numbers(s.inputs());
          const List w = *small_numbers(s.weights());
          const auto conv = [&] { return run.numbers(s.ask(Op::Convolution, type, x, w)); };
          const List clean = conv();
          const auto row = *rc::gen::inRange<std::int64_t>(0, rows_of(s.source));
          const auto channel = *rc::gen::inRange<std::int64_t>(0, s.cin);
          x[at(row * s.cin + channel)] = *rc::gen::element(std::numeric_limits<double>::quiet_NaN(),
                                                           std::numeric_limits<double>::infinity());
          const List out = conv();
          std::vector<bool> joined(at(rows_of(s.target)));
          const KernelMap map = run.map(s.ask_map());
          for (std::size_t i = 0; i < map.gather.size(); ++i) {
            if (map.gather[i] == row) joined.at(at(map.scatter[i])) = true;
          }
          for (std::size_t i = 0; i < out.size(); ++i) {
            if (joined.at(i / at(s.cout))) {
              RC_ASSERT(!std::isfinite(out[i]));
            } else {
              RC_ASSERT(out[i] == clean.at(i));
            }
          }
        });
}

TEST_P(Numbers, ABiasIsAddedToEveryRow) {
  const Subject run = subject();
  holds("conv(x) + bias; a row of degree 0 is the bias [V-1]", [&] {
    const Setting s = any_setting(run);
    const NumberType type = *rc::gen::elementOf(std::vector(kTypes, kTypes + 4));
    const List x = *small_numbers(s.inputs()), bias = *small_numbers(at(s.cout));
    const List w = *small_numbers(s.weights());
    // float16 holds whole numbers up to 2048: with larger ones the rounding would show.
    const List small(s.weights(), 0);
    Case question = s.ask(Op::Convolution, type, x, type == NumberType::Float16 ? small : w);
    const List without = run.numbers(question);
    question.operands.bias = reference::Array{{s.cout}, bias};
    const List with = run.numbers(question);
    for (std::size_t i = 0; i < with.size(); ++i) {
      RC_ASSERT(with[i] == without.at(i) + bias[i % at(s.cout)]);
    }
    const auto degrees = reference::target_coverage(run.map(s.ask_map())).degrees;
    for (std::size_t i = 0; i < with.size(); ++i) {
      if (degrees.at(i / at(s.cout)) == 0) RC_ASSERT(with[i] == bias[i % at(s.cout)]);
    }
  });
}

TEST_P(Numbers, AMemberAloneIsTheMemberInItsBatch) {
  const Subject run = subject();
  holds("rows of a view are the members' rows, bit for bit in float too [L-3] [T-9]", [&] {
    const Setting s = any_setting(run);
    List x = *small_numbers(s.inputs()), w = *small_numbers(s.weights());
    for (double& number : x) number /= 3;  // rounds at every step
    for (double& number : w) number /= 7;
    const auto members = *selections(s.source.size());
    const auto rows = [&](const Batch& batch, const List& all, std::int64_t width) {
      RC_ASSERT(all.size() == at(rows_of(batch) * width));
      std::vector<List> of_member;
      auto begin = all.begin();
      for (const auto& member : batch.members) {
        const auto end = begin + static_cast<std::int64_t>(member.size()) * width;
        of_member.emplace_back(begin, end);
        begin = end;
      }
      List picked;
      for (const auto m : members) {
        picked.insert(picked.end(), of_member[at(m)].begin(), of_member[at(m)].end());
      }
      return picked;
    };
    const NumberType type = NumberType::Float32;
    const List together = run.numbers(s.ask(Op::Convolution, type, x, w));
    Setting own = s;
    own.source = selected(s.source, members);
    own.target = selected(s.target, members);
    const List expected = rows(s.target, together, s.cout), own_x = rows(s.source, x, s.cin);
    RC_ASSERT(run.numbers(own.ask(Op::Convolution, type, own_x, w)) == expected);
    Case viewed = s.ask(Op::Convolution, type, own_x, w);
    viewed.view = members;
    viewed.operands.features.shape[0] = rows_of(own.source);
    if (!s.complete) viewed.target = own.target;
    RC_ASSERT(run.numbers(viewed) == expected);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Numbers, testing::ValuesIn(subjects()), name_of);

}  // namespace
}  // namespace leafproof::properties
