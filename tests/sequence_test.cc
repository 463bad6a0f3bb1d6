// Backends that keep something from call to call and forget one thing in the key of it: each
// answers any single question rightly, and a sweep must find it all the same, say after what, and
// show it again.
#include "oracle/sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "oracle/case_text.h"
#include "oracle/generate.h"
#include "oracle/judge.h"
#include "oracle/smallest.h"
#include "oracle/verify.h"

namespace leafproof::oracle {
namespace {

void forget_voxels(Batch& batch) {
  for (auto& member : batch.members)
    for (std::size_t i = 0; i < member.size(); ++i)
      member[i] = {0, 0, static_cast<std::int32_t>(i)};  // but not how many
}

/// What is left of a question for a key that lacks the thing.
Case without(Case c, std::optional<Change> thing) {
  if (!thing) return c;
  switch (*thing) {
    case Change::Factor:
      c.factor = {1, 1, 1};
      break;
    case Change::Box:
      c.lo = c.hi = {0, 0, 0};
      break;
    case Change::KernelSize:
      c.kernel.size = {1, 1, 1};
      break;
    case Change::Stride:
      c.kernel.stride = {1, 1, 1};
      break;
    case Change::Dilation:
      c.kernel.dilation = {1, 1, 1};
      break;
    case Change::Direction:
      c.direction = Direction::Forward;
      break;
    case Change::Form:
      c.dense = false;
      break;
    case Change::Voxels:
      forget_voxels(c.source);
      for (auto& points : c.points) points.assign(points.size(), {});
      break;
    case Change::More:
      for (auto& member : c.source.members)
        member.resize(std::min<std::size_t>(member.size(), 1));  // where it begins, not how far
      break;
    case Change::Partner:
      if (c.other) forget_voxels(*c.other);
      if (c.target) forget_voxels(*c.target);
      break;
    case Change::Mask:
      if (c.mask)
        for (auto& flags : *c.mask) flags.assign(flags.size(), 0);
      break;
    case Change::View:
      if (c.view) std::sort(c.view->begin(), c.view->end());  // which members, but not their order
      break;
    case Change::Maps:
      c.source.maps.assign(c.source.maps.size(), {});
      c.source.names.assign(c.source.names.size(), "");
      break;
    case Change::Features:
      c.operands.features.values.assign(c.operands.features.values.size(), 0);
      break;
    case Change::Weights:
      c.operands.weights.values.assign(c.operands.weights.values.size(), 0);
      break;
  }
  return c;
}

/// The reference, which remembers every answer under a key that lacks one thing, or nothing.
class Remembering : public Backend {
 public:
  explicit Remembering(std::optional<Change> lacks)
      : lacks_(lacks), inner_(make_backend("reference")) {}
  std::string_view name() const override { return "remembering"; }
  std::string_view description() const override { return "a cache with a bad key"; }
  Answer answer(const Case& c) const override {
    const std::string key = write_case_text(without(c, lacks_));
    const std::lock_guard lock(mutex_);
    const auto found = answers_.find(key);
    if (found != answers_.end()) return found->second;
    return answers_.emplace(key, inner_->answer(c)).first->second;
  }

 private:
  std::optional<Change> lacks_;
  std::unique_ptr<Backend> inner_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Answer> answers_;
};

const Backend& reference_backend() {
  static const auto backend = make_backend("reference");
  return *backend;
}

Verification swept(std::optional<Change> lacks, Op op, std::int64_t cases) {
  VerifyOptions options;
  options.ops = {op};
  options.cases = cases;
  options.shrink_tries = 60;
  options.kept_failures = 1;
  const Remembering candidate(lacks);
  return verify(reference_backend(), {&candidate}, {}, options);
}

struct Lacking {
  Change thing;
  Op op;
  std::int64_t cases = 512;
};

class Sequence : public testing::TestWithParam<Lacking> {};

TEST_P(Sequence, AKeyThatLacksAThingIsFound) {
  const auto [thing, op, cases] = GetParam();
  const Verification v = swept(thing, op, cases);
  EXPECT_FALSE(v.ok);
  ASSERT_FALSE(v.report.failures.empty());
  const std::string name(to_string(thing));
  const Failure& failure = v.report.failures.front();
  EXPECT_NE(failure.case_id.find("asked after the same with another " + name), std::string::npos)
      << failure.case_id;
  // What is printed shows it again, of a backend that has not been asked anything before.
  ASSERT_TRUE(failure.smallest);
  EXPECT_NE(failure.smallest->replay.find("--after " + name), std::string::npos);
  const Case smallest = read_case_text(failure.smallest->text);
  const Remembering alone(thing), after(thing);
  EXPECT_TRUE(judge(smallest, reference_backend(), alone).ok());
  EXPECT_EQ(judge(smallest, reference_backend(), AfterAnother(after, thing)).outcome,
            Outcome::Different);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, Sequence,
    testing::Values(
        Lacking{Change::Factor, Op::Refine}, Lacking{Change::Factor, Op::Coarsen},
        Lacking{Change::Box, Op::ErodeBox}, Lacking{Change::KernelSize, Op::KernelMap, 128},
        Lacking{Change::KernelSize, Op::ConvGrid}, Lacking{Change::Stride, Op::ConvGrid},
        Lacking{Change::Dilation, Op::SubmanifoldIndexMap},
        Lacking{Change::Direction, Op::KernelMap, 128}, Lacking{Change::Voxels, Op::Dual},
        Lacking{Change::More, Op::ErodeBox}, Lacking{Change::Voxels, Op::FromPoints},
        Lacking{Change::Voxels, Op::FromIjk}, Lacking{Change::Partner, Op::Merge},
        Lacking{Change::Partner, Op::KernelMap, 128}, Lacking{Change::Mask, Op::Prune},
        Lacking{Change::View, Op::Coarsen}, Lacking{Change::Maps, Op::Refine},
        Lacking{Change::Features, Op::Convolution, 128},
        Lacking{Change::Weights, Op::ConvolutionGradients, 128}),
    [](const auto& each) {
      return std::string(to_string(each.param.thing)) + "_of_" +
             std::string(to_string(each.param.op));
    });

/// Wrong at its ninth call alone.
class Ninth : public Backend {
 public:
  std::string_view name() const override { return "ninth"; }
  std::string_view description() const override { return "a fault that does not come back"; }
  Answer answer(const Case& c) const override {
    return inner_->answer(++calls_ == 9 ? changed(c, Change::Factor) : c);
  }

 private:
  std::unique_ptr<Backend> inner_ = make_backend("reference");
  mutable std::atomic<int> calls_ = 0;
};

TEST(Sequences, WhatDoesNotDifferAgainIsNotShownAsAnExample) {
  VerifyOptions options;
  options.ops = {Op::Refine};
  options.cases = 64;
  options.threads = 1;
  const Ninth candidate;
  const Verification v = verify(reference_backend(), {&candidate}, {}, options);
  EXPECT_FALSE(v.ok);
  ASSERT_EQ(v.report.failures.size(), 1u);
  EXPECT_FALSE(v.report.failures[0].smallest);
  EXPECT_NE(v.report.failures[0].case_id.find("did not differ when it was asked again"),
            std::string::npos);
}

TEST(Sequences, ARefusalIsNotTheExampleOfAWrongResult) {
  /// Loses a voxel of pruned batches, and takes a prune without a mask for another refusal.
  class Prunes : public Backend {
   public:
    std::string_view name() const override { return "prunes"; }
    std::string_view description() const override { return "two faults"; }
    Answer answer(const Case& c) const override {
      if (!c.mask)
        return Error(ErrorKind::ShapeMismatch, {"prune", "mask", "", "must be given", {}, {}});
      Case other = c;
      for (auto& flags : *other.mask)
        if (!flags.empty()) flags.back() = 0;
      return inner_->answer(other);
    }

   private:
    std::unique_ptr<Backend> inner_ = make_backend("reference");
  };
  const Case start = read_case_text("case1 prune source=[0,0,0;1,0,0][2,0,0;3,0,0] mask=[01][11]");
  const Smallest smallest = smallest_of(start, reference_backend(), Prunes(), 1000);
  EXPECT_EQ(smallest.verdict.outcome, Outcome::Different);
  EXPECT_TRUE(read_case_text(smallest.text).mask) << smallest.text;
}

TEST(Sequences, AWholeKeyPassesEveryOperation) {
  for (const Op op : generated_ops()) {
    const Verification v = swept({}, op, 64);
    EXPECT_TRUE(v.ok) << to_string(op);
  }
}

TEST(Sequences, AChangeChangesTheQuestion) {
  std::map<Change, int> met;
  for (const Op op : generated_ops())
    for (std::uint64_t number = 0; number < 128; ++number) {
      const Case question = generate(op, 1, number);
      const std::string text = write_case_text(question);
      for (const Change change : changes()) {
        if (!has(question, change)) continue;
        ++met[change];
        if (change == Change::Voxels || change == Change::More || change == Change::Partner)
          continue;  // at the end of the lattice there is no room
        EXPECT_NE(write_case_text(changed(question, change)), text)
            << to_string(change) << ": " << text;
      }
    }
  for (const Change change : changes()) {
    EXPECT_GT(met[change], 20) << to_string(change);
    EXPECT_EQ(parse_change(to_string(change)), change);
  }
  EXPECT_FALSE(parse_change("nothing"));
}

TEST(Sequences, WhatIsPrintedAsksAgainInTheSameWay) {
  const Case question = read_case_text("case1 coarsen factor=2 source=[-1,0,0]");
  EXPECT_EQ(replay_line(question, "host", Change::Factor),
            "leafproof replay --backend host --after factor 'case1 coarsen factor=2 "
            "source=[-1,0,0]'");
  EXPECT_NE(google_test(question, "host", Change::Factor)
                .find("judge(question, *reference, AfterAnother(*candidate, "
                      "*parse_change(\"factor\")))"),
            std::string::npos);
}

}  // namespace
}  // namespace leafproof::oracle
