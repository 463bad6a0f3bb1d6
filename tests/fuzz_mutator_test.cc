// The mutator of cases makes cases: each of 10,000 mutants can be written, comes back, is answered,
// and is refused only where it was spoiled or leaves the lattice; every edit and operation is
// reached.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "fuzz/case_mend.h"
#include "fuzz/case_mutator.h"
#include "oracle/backend.h"
#include "oracle/case_bytes.h"
#include "oracle/case_text.h"
#include "oracle/generate.h"
#include "tests/case_support.h"

namespace leafproof::fuzz {
namespace {

using namespace oracle;
using tests::SameCase;
using Names = std::set<std::string_view>;

constexpr std::int64_t kMutants = 10'000;

class Seen {
 public:
  /// A mutant that holds what case_mutator.h promises.
  void take(const Mutant& mutant) {
    const Case& c = mutant.question;
    const std::string text = write_case_text(c);  // throws where it is none
    ASSERT_TRUE(SameCase::same(c, read_case_bytes(write_case_bytes(c)))) << text;
    ASSERT_LE(cost_of(c), kBudget) << text;
    names_.insert(mutant.edits.begin(), mutant.edits.end());
    ops_.insert(to_string(c.op));
    spoiled_ += mutant.spoiled ? 1 : 0;
    const Answer answer = reference_->answer(c);
    const auto* error = std::get_if<Error>(&answer);
    ASSERT_FALSE(std::holds_alternative<NotImplemented>(answer)) << text;
    if (error == nullptr) {
      answered_[std::string(to_string(c.op))] += 1;
      spoiled_answered_ += mutant.spoiled ? 1 : 0;
    } else if (!mutant.spoiled) {
      ASSERT_EQ(error->kind(), ErrorKind::OutOfRange) << error->what() << '\n' << text;
      out_of_range_ += 1;
    }
  }

  void expect_reached(const std::vector<std::string_view>& names) const {
    for (const auto name : names) EXPECT_TRUE(names_.contains(name)) << "never: " << name;
    for (const Op op : generated_ops()) {
      EXPECT_TRUE(ops_.contains(to_string(op))) << "never: " << to_string(op);
      EXPECT_GT(answered_.at(std::string(to_string(op))), kMutants / 500) << to_string(op);
    }
    EXPECT_GT(spoiled_, kMutants / 100);
    EXPECT_LT(spoiled_answered_, spoiled_ / 10) << "what is spoiled should be refused";
    EXPECT_GT(out_of_range_, 0);
    EXPECT_LT(out_of_range_, kMutants / 4) << "too few are answered";
  }

 private:
  std::unique_ptr<Backend> reference_ = make_backend("reference");
  Names names_, ops_;
  std::map<std::string, std::int64_t> answered_;
  std::int64_t spoiled_ = 0, spoiled_answered_ = 0, out_of_range_ = 0;
};

/// Walks of mutations, as a corpus grows, from a first case each.
TEST(FuzzMutator, TenThousandMutantsAreCasesAndReachEveryEdit) {
  Seen seen;
  Case c = first_case(generated_ops(), 0);
  for (std::int64_t i = 0; i < kMutants; ++i) {
    if (i % 50 == 0) c = first_case(generated_ops(), static_cast<std::uint64_t>(i));
    const Mutant mutant = mutate(c, generated_ops(), static_cast<std::uint64_t>(i));
    ASSERT_NO_FATAL_FAILURE(seen.take(mutant)) << "seed " << i << " of " << write_case_text(c);
    c = mutant.question;
  }
  seen.expect_reached(edit_names());
  seen.expect_reached(spoil_names());
}

TEST(FuzzMutator, CrossedCasesAreCasesAndReachEveryPart) {
  Seen seen;
  for (std::uint64_t i = 0; i < kMutants; ++i) {
    const auto& ops = generated_ops();
    const Case a = generate(ops[i % ops.size()], 7, i);
    const Case b = first_case(ops, i);
    const Mutant mutant = i % 2 == 0 ? cross(a, b, ops, i) : cross(b, a, ops, i);
    ASSERT_NO_FATAL_FAILURE(seen.take(mutant))
        << "seed " << i << " of " << write_case_text(a) << "\nand " << write_case_text(b);
  }
  seen.expect_reached(cross_names());
}

TEST(FuzzMutator, AMutantIsTheSameEveryTimeAndSeldomItsStart) {
  std::int64_t same = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Case c = first_case(topology_ops(), i);
    const Case once = mutate(c, topology_ops(), i).question;
    EXPECT_TRUE(SameCase::same(once, mutate(c, topology_ops(), i).question)) << i;
    same += SameCase::same(once, c) ? 1 : 0;
  }
  EXPECT_LT(same, 100);
}

TEST(FuzzMutator, KeepsToItsOperations) {
  const std::vector<Op> ops{Op::Prune, Op::KernelMap};
  Names seen;
  for (std::uint64_t i = 0; i < 300; ++i)
    seen.insert(to_string(mutate(generate(Op::Dual, 1, i), ops, i).question.op));
  EXPECT_EQ(seen, (Names{"prune", "kernel_map"}));
}

// Numbers from outside, at which arithmetic overflows, reach no edit.
TEST(FuzzMutator, MendsTheWorst) {
  const std::int64_t low = INT64_MIN, high = INT64_MAX;
  for (const Op op : generated_ops()) {
    Case c;
    c.op = op;
    c.factor = {low, high, 0};
    c.lo = {high, low, 0};
    c.hi = {low, high, high};
    c.kernel = {{low, high, 129}, {0, high, low}, {high, -1, 17}};
    c.source = {{{{INT32_MAX, INT32_MIN, 0}, {INT32_MIN, 0, 0}}, {}}, {}, {}};
    c.view = {low, 1, high};
    c.points = {{{1e308, -1e308, 0}}};
    c.operands.weights.shape = {high, low, high};
    c.operands.features.shape = {high, high};
    (void)cost_of(c);
    mend(c);
    EXPECT_NO_THROW(write_case_bytes(c)) << to_string(op);
    EXPECT_LE(cost_of(c), kBudget) << to_string(op);
  }
}

}  // namespace
}  // namespace leafproof::fuzz
