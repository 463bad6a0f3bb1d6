// Backends that keep something from call to call and forget one thing in the key of it: each
// answers any single question rightly, and a sweep must find it all the same, say after what, and
// show it again.
#include "oracle/sequence.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "oracle/case_text.h"
#include "oracle/generate.h"
#include "oracle/judge.h"
#include "oracle/smallest.h"
#include "oracle/verify.h"

namespace leafproof::oracle {
namespace {

void forget(Batch& batch, std::size_t axis) {
  for (auto& member : batch.members)
    for (Voxel& v : member) (axis == 0 ? v.x : axis == 1 ? v.y : v.z) = 0;
}

/// What is left of a question for a key that lacks the thing.
Case without(Case c, std::optional<Change> thing) {
  if (!thing) return c;
  const auto axis = [&](Change x) {
    return static_cast<std::size_t>(*thing) - static_cast<std::size_t>(x);
  };
  const auto sort = [](Triple& t) { std::sort(t.begin(), t.end()); };
  switch (*thing) {
    case Change::FactorX:
    case Change::FactorY:
    case Change::FactorZ:
      c.factor[axis(Change::FactorX)] = 1;
      break;
    case Change::FactorOrder:
      sort(c.factor);
      break;
    case Change::BoxX:
    case Change::BoxY:
    case Change::BoxZ:
      c.hi[axis(Change::BoxX)] = 0;
      break;
    case Change::BoxPlace:
      c.hi[2] -= c.lo[2];
      c.lo[2] = 0;
      break;
    case Change::KernelSizeX:
    case Change::KernelSizeY:
    case Change::KernelSizeZ:
      c.kernel.size[axis(Change::KernelSizeX)] = 1;
      break;
    case Change::KernelSizeOrder:
      sort(c.kernel.size);
      break;
    case Change::StrideX:
    case Change::StrideY:
    case Change::StrideZ:
      c.kernel.stride[axis(Change::StrideX)] = 1;
      break;
    case Change::StrideOrder:
      sort(c.kernel.stride);
      break;
    case Change::DilationX:
    case Change::DilationY:
    case Change::DilationZ:
      c.kernel.dilation[axis(Change::DilationX)] = 1;
      break;
    case Change::Direction:
      c.direction = Direction::Forward;
      break;
    case Change::Form:
      c.dense = false;
      break;
    case Change::VoxelsX:
    case Change::VoxelsY:
    case Change::VoxelsZ:
      forget(c.source, axis(Change::VoxelsX));
      for (auto& points : c.points)
        for (auto& point : points) point[axis(Change::VoxelsX)] = 0;
      break;
    case Change::Middle:
      for (auto& member : c.source.members)
        for (std::size_t i = 1; i + 1 < member.size(); ++i) member[i] = {};
      break;
    case Change::Members:
      for (auto& member : c.source.members) {
        auto& first = c.source.members.front();
        if (&member == &first) continue;
        first.insert(first.end(), member.begin(), member.end());
        member.clear();
      }
      if (!c.source.members.empty())
        std::sort(c.source.members.front().begin(), c.source.members.front().end(),
                  [](const Voxel& v, const Voxel& w) {
                    return std::tie(v.x, v.y, v.z) < std::tie(w.x, w.y, w.z);
                  });
      break;
    case Change::More:
      for (auto& member : c.source.members) {  // of each row along x where it begins alone
        const std::vector<Voxel> all = member;
        std::erase_if(member, [&](const Voxel& v) {
          return std::find(all.begin(), all.end(), Voxel{v.x - 1, v.y, v.z}) != all.end();
        });
      }
      break;
    case Change::Partner:
      if (c.other) forget(*c.other, 0);
      if (c.target) forget(*c.target, 0);
      break;
    case Change::Mask:
      if (c.mask)
        for (auto& flags : *c.mask) flags.assign(flags.size(), 0);
      break;
    case Change::MaskOrder:
      if (c.mask)
        for (auto& flags : *c.mask) std::sort(flags.begin(), flags.end());
      break;
    case Change::View:
      if (c.view) std::sort(c.view->begin(), c.view->end());  // which members, but not their order
      break;
    case Change::Maps:
      for (auto& map : c.source.maps) map.voxel_size = {1, 1, 1};
      c.source.names.assign(c.source.names.size(), "");
      break;
    case Change::Origin:
      for (auto& map : c.source.maps) map.origin = {0, 0, 0};
      break;
    case Change::Features:
      c.operands.features.values.assign(c.operands.features.values.size(), 0);
      break;
    case Change::Weights:
      c.operands.weights.values.assign(c.operands.weights.values.size(), 0);
      break;
    case Change::Bias:
      if (c.operands.bias) c.operands.bias->values.assign(c.operands.bias->values.size(), 0);
      break;
    case Change::GradOutput:
      if (c.operands.grad_output)
        c.operands.grad_output->values.assign(c.operands.grad_output->values.size(), 0);
      break;
    case Change::Type:
      c.operands.type = reference::NumberType::Float64;
      break;
  }
  return c;
}

/// Every question its own, whatever its voxels: they need not be such as a text may hold.
std::string key_of(Case c) {
  std::string key;
  for (Batch* batch : {&c.source, c.other ? &*c.other : nullptr, c.target ? &*c.target : nullptr}) {
    if (batch == nullptr) continue;
    for (auto& member : batch->members) {
      for (const Voxel& v : member) key += fmt::format("{},{},{};", v.x, v.y, v.z);
      key += "|";
      member.clear();
    }
  }
  return key + write_case_text(c);
}

/// The reference, which remembers its last answer under a key that lacks one thing, or nothing.
class Remembering : public Backend {
 public:
  explicit Remembering(std::optional<Change> lacks)
      : lacks_(lacks), inner_(make_backend("reference")) {}
  std::string_view name() const override { return "remembering"; }
  std::string_view description() const override { return "a cache with a bad key"; }
  Answer answer(const Case& c) const override {
    const std::string key = key_of(without(c, lacks_));
    const std::lock_guard lock(mutex_);
    if (key != key_) {
      answer_ = inner_->answer(c);
      key_ = key;
    }
    return answer_;
  }

 private:
  std::optional<Change> lacks_;
  std::unique_ptr<Backend> inner_;
  mutable std::mutex mutex_;
  mutable std::string key_;
  mutable Answer answer_;
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
  options.threads = 1;  // its questions follow each other
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
        Lacking{Change::FactorX, Op::Refine}, Lacking{Change::FactorY, Op::Coarsen},
        Lacking{Change::FactorOrder, Op::Coarsen}, Lacking{Change::BoxX, Op::ErodeBox},
        Lacking{Change::BoxZ, Op::ErodeBox}, Lacking{Change::BoxPlace, Op::DilateBox},
        Lacking{Change::KernelSizeX, Op::KernelMap, 128},
        Lacking{Change::KernelSizeZ, Op::ConvGrid}, Lacking{Change::KernelSizeOrder, Op::ConvGrid},
        Lacking{Change::StrideX, Op::ConvGrid}, Lacking{Change::StrideOrder, Op::ConvGrid},
        Lacking{Change::DilationY, Op::SubmanifoldIndexMap},
        Lacking{Change::Direction, Op::KernelMap, 128}, Lacking{Change::VoxelsY, Op::Dual},
        Lacking{Change::Middle, Op::Dual}, Lacking{Change::Members, Op::Coarsen},
        Lacking{Change::More, Op::ErodeBox}, Lacking{Change::VoxelsX, Op::FromPoints},
        Lacking{Change::VoxelsZ, Op::FromIjk}, Lacking{Change::Partner, Op::Merge},
        Lacking{Change::Partner, Op::KernelMap, 128}, Lacking{Change::Mask, Op::Prune},
        Lacking{Change::MaskOrder, Op::Prune}, Lacking{Change::View, Op::Coarsen},
        Lacking{Change::Maps, Op::Refine}, Lacking{Change::Origin, Op::FromPoints},
        Lacking{Change::Features, Op::Convolution, 256},
        Lacking{Change::Bias, Op::Convolution, 1024}, Lacking{Change::Type, Op::Convolution, 256},
        Lacking{Change::Weights, Op::ConvolutionGradients, 256},
        Lacking{Change::GradOutput, Op::ConvolutionGradients, 256}),
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
    return inner_->answer(++calls_ == 9 ? changed(c, Change::FactorX) : c);
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
  const auto smallest = smallest_of(start, reference_backend(), Prunes(), 1000);
  ASSERT_TRUE(smallest);
  EXPECT_EQ(smallest->verdict.outcome, Outcome::Different);
  EXPECT_TRUE(read_case_text(smallest->text).mask) << smallest->text;
}

TEST(Sequences, WhatDoesNotDifferAgainHasNoSmallest) {
  const Case start = read_case_text("case1 refine factor=2 source=[0,0,0]");
  EXPECT_FALSE(smallest_of(start, reference_backend(), *make_backend("host"), 1000));
}

TEST(Sequences, AWholeKeyPassesEveryOperation) {
  for (const Op op : generated_ops()) {
    const Verification v = swept({}, op, 64);
    EXPECT_TRUE(v.ok) << to_string(op);
  }
}

TEST(Sequences, AChangeChangesTheQuestion) {
  std::map<Change, int> met;
  const auto is_move = [](Change change) {
    return change == Change::VoxelsX || change == Change::VoxelsY || change == Change::VoxelsZ;
  };
  for (const Op op : generated_ops())
    for (std::uint64_t number = 0; number < 128; ++number) {
      const Case question = generate(op, 1, number);
      const std::string text = write_case_text(question);
      for (const Change change : changes()) {
        if (!has(question, change)) continue;
        ++met[change];
        if (is_move(change) || change == Change::More || change == Change::Partner)
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
  EXPECT_EQ(replay_line(question, "host", Change::FactorX),
            "leafproof replay --backend host --after factor_x 'case1 coarsen factor=2 "
            "source=[-1,0,0]'");
  EXPECT_NE(google_test(question, "host", Change::FactorX)
                .find("judge(question, *reference, AfterAnother(*candidate, "
                      "*parse_change(\"factor_x\")))"),
            std::string::npos);
}

}  // namespace
}  // namespace leafproof::oracle
