// Generated cases of convolution: the two references agree on them, they reach what they are made
// for, and a backend with any usual fault is found out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "oracle/boxed_backend.h"
#include "oracle/generate.h"
#include "oracle/report.h"
#include "oracle/verify.h"

namespace leafproof::oracle {
namespace {

VerifyOptions options(std::int64_t cases) {
  VerifyOptions o;
  o.ops = convolution_ops();
  o.seed = 91;
  o.cases = cases;
  return o;
}

TEST(ConvGenerated, TheReferencesAgree) {
  const auto reference = make_backend("reference");
  const auto brute = make_boxed(make_backend("brute_force"), std::int64_t{1} << 20);
  const Verification v = verify(*reference, {brute.get()}, {}, options(192));
  EXPECT_TRUE(v.ok) << text_report(v.report);
  for (const Row& row : v.report.rows) {
    EXPECT_GT(row.equal, row.cases / 2) << row.operation;
    EXPECT_GT(row.refused, 0) << row.operation;
    EXPECT_EQ(row.touched.size(), 6U) << row.operation;
  }
}

TEST(ConvGenerated, CasesReachWhatTheyAreFor) {
  std::map<std::string, int> seen;
  for (const Op op : {Op::KernelMap, Op::Convolution, Op::ConvolutionGradients})
    for (std::uint64_t number = 0; number < 400; ++number) {
      const Case c = generate(op, 7, number);
      const Kernel& k = c.kernel;
      seen[c.target ? "restricted" : "complete"]++;
      seen[c.direction == Direction::Forward ? "forward" : "transposed"]++;
      seen["K < S"] += k.size[0] < k.stride[0];
      seen["even K"] += k.size[1] % 2 == 0;
      seen["D > 1"] += k.dilation[2] > 1;
      seen["mixed"] += k.size[0] != k.size[1] || k.stride[1] != k.stride[2];
      seen["over 64 taps"] += static_cast<double>(k.size[0]) * static_cast<double>(k.size[1]) *
                                  static_cast<double>(k.size[2]) >
                              64;
      seen["a view"] += c.view.has_value();
      seen["target is source"] += c.target && !c.view && c.target->members == c.source.members;
      seen["dense"] += c.dense;
      const auto& x = c.operands.features.values;
      seen["not finite"] +=
          std::any_of(x.begin(), x.end(), [](double f) { return !std::isfinite(f); });
      if (op != Op::KernelMap) seen["type " + std::to_string(static_cast<int>(c.operands.type))]++;
      EXPECT_EQ(generate(op, 7, number).comment, c.comment);
    }
  EXPECT_EQ(seen.size(), 13U + 4U);
  for (const auto& [what, count] : seen) EXPECT_GT(count, 20) << what;
}

/// The reference with a fault, which is told by what must be seen of it.
class Wrong : public Backend {
 public:
  using Fault = std::function<Answer(const Case&, const Backend&)>;
  explicit Wrong(Fault fault) : reference_(make_backend("reference")), fault_(std::move(fault)) {}
  std::string_view name() const override { return "wrong"; }
  std::string_view description() const override { return "the reference with a fault"; }
  Answer answer(const Case& question) const override { return fault_(question, *reference_); }

 private:
  std::unique_ptr<Backend> reference_;
  Fault fault_;
};

struct Planted {
  const char* name;
  std::vector<Op> ops;  // in all of these it must be seen
  Wrong::Fault fault;
};

const std::vector<Planted>& faults() {
  static const std::vector<Planted> all{
      {"K=S is taken for coarsening",
       {Op::ConvGrid},
       [](const Case& c, const Backend& right) {
         Case other = c;
         if (c.kernel.size == c.kernel.stride) other.op = Op::Coarsen, other.factor = c.kernel.size;
         return right.answer(other);
       }},
      {"the dilation is ignored",
       {Op::ConvGrid, Op::ConvTransposeGrid, Op::KernelMap, Op::SubmanifoldIndexMap,
        Op::Convolution, Op::ConvolutionGradients},
       [](const Case& c, const Backend& right) {
         Case other = c;
         other.kernel.dilation = {1, 1, 1};
         return right.answer(other);
       }},
      {"axes x and z are exchanged",
       {Op::ConvGrid, Op::ConvTransposeGrid, Op::KernelMap},
       [](const Case& c, const Backend& right) {
         Case other = c;
         std::swap(other.kernel.stride[0], other.kernel.stride[2]);
         return right.answer(other);
       }},
      {"the direction is turned around",
       {Op::KernelMap, Op::Convolution, Op::ConvolutionGradients},
       [](const Case& c, const Backend& right) {
         Case other = c;
         other.direction =
             c.direction == Direction::Forward ? Direction::Transposed : Direction::Forward;
         return right.answer(other);
       }},
      {"a target of the source's size is taken for the source",
       {Op::KernelMap, Op::Convolution},
       [](const Case& c, const Backend& right) {
         Case other = c;
         const auto same_size = [&](std::size_t m) {
           return c.target->members[m].size() == c.source.members[m].size();
         };
         if (c.target && !c.view && c.target->size() == c.source.size()) {
           bool equal = true;
           for (std::size_t m = 0; m < c.source.size(); ++m) equal = equal && same_size(m);
           if (equal) other.target = c.source;
         }
         return right.answer(other);
       }},
      {"the last pair is lost",
       {Op::KernelMap},
       [](const Case& c, const Backend& right) {
         Answer answer = right.answer(c);
         if (auto* map = std::get_if<KernelMapAnswer>(&answer); map && !map->map.gather.empty()) {
           map->map.gather.pop_back();
           map->map.scatter.pop_back();
           for (auto& offset : map->map.offsets)
             offset = std::min(offset, static_cast<std::int64_t>(map->map.gather.size()));
         }
         return answer;
       }},
      {"gather and scatter are exchanged",
       {Op::KernelMap},
       [](const Case& c, const Backend& right) {
         Answer answer = right.answer(c);
         if (auto* map = std::get_if<KernelMapAnswer>(&answer))
           std::swap(map->map.gather, map->map.scatter);
         return answer;
       }},
      {"the bias is forgotten",
       {Op::Convolution},
       [](const Case& c, const Backend& right) {
         Case other = c;
         other.operands.bias.reset();
         return right.answer(other);
       }},
      {"taps are numbered backwards",
       {Op::Convolution, Op::ConvolutionGradients},
       [](const Case& c, const Backend& right) {
         Case other = c;
         auto& w = other.operands.weights;
         if (w.shape.size() == 5) {
           const auto taps = static_cast<std::ptrdiff_t>(w.shape[2] * w.shape[3] * w.shape[4]);
           for (auto at = w.values.begin(); w.values.end() - at >= taps; at += taps)
             std::reverse(at, at + taps);
         }
         return right.answer(other);
       }},
      {"a channel in is left out",
       {Op::Convolution, Op::ConvolutionGradients},
       [](const Case& c, const Backend& right) {
         Case other = c;
         auto& f = other.operands.features;
         if (f.shape.size() == 2 && f.shape[1] > 0)
           for (std::size_t i = 0; i < f.values.size(); i += static_cast<std::size_t>(f.shape[1]))
             if (std::isfinite(f.values[i])) f.values[i] = 0;
         return right.answer(other);
       }},
      {"what is not finite becomes zero",
       {Op::Convolution},
       [](const Case& c, const Backend& right) {
         Case other = c;
         for (double& x : other.operands.features.values)
           if (!std::isfinite(x)) x = 0;
         return right.answer(other);
       }},
      {"an element is off by two units in the last place of float",
       {Op::Convolution},
       [](const Case& c, const Backend& right) {
         Answer answer = right.answer(c);
         if (auto* numbers = std::get_if<NumbersAnswer>(&answer))
           for (double& x : numbers->array.values) x *= 1 + 0x1p-22;
         return answer;
       }},
  };
  return all;
}

TEST(ConvGenerated, PlantedFaultsAreFound) {
  const auto reference = make_backend("reference");
  for (const Planted& planted : faults()) {
    const Wrong wrong(planted.fault);
    VerifyOptions o = options(96);
    o.ops = planted.ops;
    const Verification v = verify(*reference, {&wrong}, {}, o);
    for (const Row& row : v.report.rows)
      EXPECT_GT(row.different, 0) << planted.name << " in " << row.operation;
    for (const Failure& failure : v.report.failures) {
      ASSERT_TRUE(failure.verdict.first) << planted.name;
      EXPECT_FALSE(failure.verdict.first->what.empty());
    }
    EXPECT_FALSE(html_report(v.report).empty());
  }
}

}  // namespace
}  // namespace leafproof::oracle
