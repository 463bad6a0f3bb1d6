// Maps and numbers judged: every kind of wrong map is named, pairs may stand in any order but once,
// numbers may err by the bound of [V-3] and by no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/compare_conv.h"
#include "oracle/conv_answers.h"
#include "oracle/report.h"
#include "reference/conv_support.h"
#include "reference/kernel_map.h"
#include "reference/passes.h"

namespace leafproof::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Maps3 : public testing::Test {
 protected:
  Maps3() {
    question_.op = Op::KernelMap;
    question_.kernel.size = {3, 3, 3};
    question_.source = reference::from_ijk(
        {{{0, 0, 0}, {0, 0, 1}, {0, 1, 1}}, {}, {{-1, 8, 8}, {0, 8, 8}, {5, 5, 5}}});
    question_.target = question_.source;
    expected_ = std::get<KernelMapAnswer>(make_backend("reference")->answer(question_));
    actual_ = expected_;
    actual_.source_rows.reset();
    actual_.target_rows.reset();
  }

  Verdict judged(Profile profile = Profile::Layout) const {
    return compare(expected_, actual_, profile);
  }
  /// The verdict names this first.
  Verdict differs(const std::string& clause, const std::string& what) const {
    const Verdict verdict = judged();
    EXPECT_EQ(verdict.outcome, Outcome::Different) << what;
    if (verdict.first) {
      EXPECT_EQ(verdict.first->clause, clause) << verdict.first->what;
      EXPECT_NE(verdict.first->what.find(what), std::string::npos) << verdict.first->what;
    }
    EXPECT_FALSE(text_verdict(verdict).empty());
    EXPECT_FALSE(json_verdict(verdict).empty());
    return verdict;
  }
  reference::KernelMap& map() { return actual_.map; }
  std::size_t middle() const { return static_cast<std::size_t>(expected_.map.offsets[13]); }

  Case question_;
  KernelMapAnswer expected_, actual_;
};

TEST_F(Maps3, EqualMapsAreEqual) {
  const Verdict verdict = judged(Profile::Bytes);
  EXPECT_TRUE(verdict.ok()) << text_verdict(verdict);
  EXPECT_EQ(verdict.counted, Counted::Pairs);
  EXPECT_EQ(verdict.voxels, static_cast<std::int64_t>(map().gather.size()));
  EXPECT_EQ(verdict.members, 3);
}

TEST_F(Maps3, PairsOfATapMayStandInAnyOrderButForBytes) {
  std::reverse(map().gather.begin() + static_cast<std::ptrdiff_t>(middle()),
               map().gather.begin() + map().offsets[14]);
  std::reverse(map().scatter.begin() + static_cast<std::ptrdiff_t>(middle()),
               map().scatter.begin() + map().offsets[14]);
  EXPECT_TRUE(judged().ok());
  const Verdict bytes = judged(Profile::Bytes);
  ASSERT_EQ(bytes.outcome, Outcome::Different);
  EXPECT_NE(bytes.first->what.find("order"), std::string::npos);
}

// [M-1] A transposed map is the forward one with its columns swapped: in its order, too.
TEST_F(Maps3, ATransposedMapMayKeepTheOrderOfTheForwardOne) {
  question_.kernel.stride = {2, 2, 2};
  question_.source = reference::from_ijk({{{-1, 0, 0}, {0, 0, 0}, {3, 3, 3}, {4, 4, 4}}});
  question_.target = reference::conv_transpose_grid(question_.source, question_.kernel);
  const auto backend = make_backend("reference");
  question_.direction = Direction::Transposed;
  expected_ = std::get<KernelMapAnswer>(backend->answer(question_));
  Case forward = question_;
  forward.direction = Direction::Forward;
  std::swap(forward.source, *forward.target);
  actual_.map = reference::swapped(std::get<KernelMapAnswer>(backend->answer(forward)).map);
  EXPECT_TRUE(judged(Profile::Bytes).ok()) << text_verdict(judged(Profile::Bytes));
  std::reverse(map().gather.begin(), map().gather.begin() + map().offsets[1]);
  std::reverse(map().scatter.begin(), map().scatter.begin() + map().offsets[1]);
  EXPECT_FALSE(judged(Profile::Bytes).ok());
  EXPECT_TRUE(judged().ok());
}

TEST_F(Maps3, MissingExtraAndRepeatedPairsAreCountedByTap) {
  // The middle tap joins each row to itself: row 1 is lost, row 0 stands twice.
  map().gather[middle() + 1] = map().gather[middle()];
  map().scatter[middle() + 1] = map().scatter[middle()];
  const Verdict verdict = differs("M-3", "a repeated pair");
  EXPECT_EQ(verdict.missing, 1);
  EXPECT_EQ(verdict.repeated, 1);
  EXPECT_EQ(verdict.extra, 0);
  ASSERT_EQ(verdict.taps.size(), 1U);
  EXPECT_EQ(verdict.taps[0].tap, 13);
  EXPECT_EQ(verdict.taps[0].at, (Triple{1, 1, 1}));
  EXPECT_EQ(verdict.taps[0].expected, 6);
  EXPECT_EQ(verdict.taps[0].actual, 6);
  EXPECT_EQ(verdict.taps[0].first,
            "a repeated pair: source row 0, (0,0,0) -> target row 0, (0,0,0)");
  // [M-6] Every row is joined to itself and two to each other: (0,0,0)-(0,0,1)-(0,1,1) all meet.
  ASSERT_EQ(verdict.coverage.size(), 2U);
  EXPECT_EQ(verdict.coverage[0].side, "source");
  EXPECT_EQ(verdict.coverage[0].expected, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(verdict.coverage[0].actual, (std::vector<std::int64_t>{0, 1, 3, 1, 1}));
  EXPECT_EQ(verdict.coverage[1].side, "target");
  const std::string text = text_verdict(verdict);
  EXPECT_NE(text.find("source rows: 6, of which 0 in no pair, all in 1 ... 3"), std::string::npos)
      << text;
  EXPECT_NE(text.find("3 rows in 2 pairs, 2 expected; 1 row in 3 pairs, 3 expected; "
                      "1 row in 4 pairs, 0 expected"),
            std::string::npos)
      << text;
  EXPECT_NE(json_verdict(verdict).find("\"coverage\""), std::string::npos);
}

TEST_F(Maps3, AWrongPartnerIsShownWithBothCoordinates) {
  map().gather[middle() + 5] = 3;  // (0,8,8) takes from (-1,8,8)
  const Verdict verdict = differs("M-3", "an extra pair");
  EXPECT_EQ(verdict.missing, 1);
  EXPECT_EQ(verdict.extra, 1);
  EXPECT_EQ(verdict.first->member, 2);
  EXPECT_EQ(verdict.first->coordinate, (Voxel{0, 8, 8}));
  EXPECT_NE(verdict.first->actual.find("(-1,8,8)"), std::string::npos) << verdict.first->actual;
  EXPECT_NE(verdict.first->actual.find("(0,8,8)"), std::string::npos);
  EXPECT_NE(verdict.first->path.find("tap 13 (1,1,1)"), std::string::npos);
  EXPECT_EQ(verdict.taps[0].first,
            "an extra pair: source row 3, (-1,8,8) -> target row 5, (0,8,8)");
}

TEST_F(Maps3, APairUnderAnotherTapIsMissingThereAndExtraHere) {
  --map().offsets[14];  // the last pair of tap 13 goes to tap 14
  const Verdict verdict = differs("M-3", "a missing pair");
  EXPECT_GE(verdict.taps.size(), 2U);
  EXPECT_EQ(verdict.missing, verdict.extra);
}

TEST_F(Maps3, HostileOffsetsAreNamed) {
  const auto good = map();
  map().offsets.pop_back();
  EXPECT_FALSE(differs("M-2", "number of offsets").compared);
  map() = good;
  map().offsets.clear();
  differs("M-2", "number of offsets");
  map() = good;
  map().offsets[0] = 1;
  differs("M-2", "first offset");
  map() = good;
  std::swap(map().offsets[13], map().offsets[14]);
  differs("M-2", "decreasing offsets of tap 13");
  map() = good;
  map().offsets.back() += 1;
  differs("M-2", "last offset");
  map() = good;
  map().offsets[5] = -1;
  differs("M-2", "decreasing");
  map() = good;
  map().offsets.back() = std::numeric_limits<std::int64_t>::max();
  differs("M-2", "last offset");
  map() = good;
  map().gather.push_back(0);
  differs("M-2", "lengths");
}

TEST_F(Maps3, RowsOutOfRangeAreNamed) {
  for (const std::int64_t bad :
       {std::int64_t{-1}, std::int64_t{6}, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    actual_ = expected_;
    map().gather[middle()] = bad;
    Verdict verdict = differs("E-2", "a source row out of range");
    EXPECT_EQ(verdict.missing, 1);
    EXPECT_EQ(verdict.extra, 1);
    actual_ = expected_;
    map().scatter[middle()] = bad;
    verdict = differs("E-2", "a target row out of range");
    EXPECT_NE(verdict.first->actual.find(std::to_string(bad)), std::string::npos);
  }
}

TEST_F(Maps3, WhereThereAreNoRowsNoneIsExpected) {
  question_.source = reference::from_ijk({{}, {}, {}});
  expected_ = std::get<KernelMapAnswer>(make_backend("reference")->answer(question_));
  actual_ = expected_;
  actual_.source_rows.reset();
  actual_.target_rows.reset();
  map().gather = map().scatter = {0};
  for (std::size_t i = 1; i < map().offsets.size(); ++i) map().offsets[i] = 1;
  const Verdict verdict = differs("E-2", "a source row out of range");
  EXPECT_EQ(verdict.first->expected, "no row of it: it has none");
}

// [M-7]
TEST_F(Maps3, RowsOfItsOwnAreRenumbered) {
  RowVoxels rows = *expected_.source_rows;
  std::reverse(rows.begin(), rows.end());
  actual_.source_rows = rows;
  actual_.target_rows = rows;
  for (auto* column : {&map().gather, &map().scatter})
    for (auto& row : *column) row = 5 - row;
  EXPECT_TRUE(judged().ok()) << text_verdict(judged());
  actual_.target_rows->back().voxel.x = 77;
  differs("M-7", "an extra target row");
  actual_.target_rows->back() = actual_.target_rows->front();
  differs("M-7", "a repeated target row");
  actual_.target_rows->pop_back();
  differs("M-7", "a missing target row");
}

TEST_F(Maps3, DenseMapsAreJudgedByTheirPairs) {
  question_.dense = true;
  const auto backend = make_backend("reference");
  const auto expected = std::get<DenseMapAnswer>(backend->answer(question_));
  DenseMapAnswer actual = expected;
  EXPECT_TRUE(compare(expected, actual, Profile::Bytes).ok());
  actual.map.index[13 * 6 + 2] = -1;
  Verdict verdict = compare(expected, actual, Profile::Layout);
  EXPECT_EQ(verdict.missing, 1);
  EXPECT_EQ(verdict.first->what, "a missing pair");
  for (const std::int64_t bad : {-2, 6}) {
    actual.map.index[13 * 6 + 2] = bad;
    EXPECT_EQ(compare(expected, actual, Profile::Layout).first->clause, "E-2");
  }
  actual = expected;
  actual.map.index.pop_back();
  verdict = compare(expected, actual, Profile::Layout);
  EXPECT_EQ(verdict.first->clause, "M-4");
  EXPECT_FALSE(verdict.compared);
  actual = expected;
  std::swap(actual.map.taps, actual.map.rows);
  EXPECT_EQ(compare(expected, actual, Profile::Layout).first->clause, "M-4");
  EXPECT_EQ(compare(expected, actual_, Profile::Layout).first->what, "the kind of an answer");
}

TEST_F(Maps3, ACompleteTargetIsJudgedToo) {
  question_.target.reset();
  expected_ = std::get<KernelMapAnswer>(make_backend("reference")->answer(question_));
  actual_ = std::get<KernelMapAnswer>(make_backend("brute_force")->answer(question_));
  EXPECT_TRUE(judged().ok()) << text_verdict(judged());
  Layout other = std::get<Layout>(*actual_.target);
  other.grids[0].leaves[0].mask[0] ^= 1;
  actual_.target = as_target(other);
  EXPECT_NE(judged().first->what.find("of the target"), std::string::npos);
  actual_.target = nullptr;
  differs("K-6", "the complete target");
}

// --- numbers

reference::Exact exact(double value, double magnitude, std::int64_t terms, double rest = 0) {
  return {value, rest, magnitude, terms};
}
bool right(const reference::Exact& e, double actual, NumberType type,
           Arithmetic sums = Arithmetic::Fp32, Arithmetic factors = Arithmetic::Fp32,
           double whole = 0) {
  return judge_number(e, actual, type, factors, sums, whole).right;
}

TEST(NumbersJudged, TheBoundIsThatOfV3) {
  // n = 100 terms of magnitude 1 in float: gamma*A + u*(|y| + gamma*A) + n*eta.
  const double u = 0x1p-24, gamma = 100 * u / (1 - 100 * u);
  const double bound = gamma * 100 + u * (50 + gamma * 100) + 100 * 0x1p-126;
  const auto e = exact(50, 100, 100);
  const Judgement j =
      judge_number(e, 50, NumberType::Float32, Arithmetic::Fp32, Arithmetic::Fp32, 0);
  EXPECT_DOUBLE_EQ(j.bound, bound);
  EXPECT_TRUE(right(e, 50 + bound * 0.999, NumberType::Float32));
  EXPECT_FALSE(right(e, 50 + bound * 1.001, NumberType::Float32));
  EXPECT_FALSE(right(e, 50 - bound * 1.001, NumberType::Float32));
  // Cancellation: a small sum of large terms may err by what the terms are.
  EXPECT_TRUE(right(exact(1e-6, 1000, 10), 1e-6 + 9 * u * 1000, NumberType::Float32));
  EXPECT_FALSE(right(exact(1e-6, 1, 10), 1e-6 + 9 * u * 1000, NumberType::Float32));
}

TEST(NumbersJudged, WhoDeclaresLessIsAllowedMore) {
  const auto e = exact(50, 100, 100);
  const double error = 100 * 0x1p-11;  // half of what two factors in tf32 may cost
  EXPECT_FALSE(right(e, 50 + error, NumberType::Float32));
  EXPECT_TRUE(right(e, 50 + error, NumberType::Float32, Arithmetic::Fp32, Arithmetic::Tf32));
  // Half holds what tf32 does: nothing is lost before the sum.
  EXPECT_FALSE(
      right(exact(2048, 2048, 1), 2056, NumberType::Float16, Arithmetic::Fp32, Arithmetic::Tf32));
  EXPECT_FALSE(right(e, 50 + 1e-9, NumberType::Float64, Arithmetic::Fp64, Arithmetic::Fp64));
  EXPECT_TRUE(right(e, 50 + 1e-6, NumberType::Float64, Arithmetic::Fp32, Arithmetic::Fp64));
}

TEST(NumbersJudged, WholeNumbersAreExact) {
  const auto e = exact(4097, 8191, 30);
  EXPECT_TRUE(right(e, 4097, NumberType::Float32, Arithmetic::Fp32, Arithmetic::Fp32, 9));
  EXPECT_FALSE(right(e, std::nextafterf(4097, 5000), NumberType::Float32, Arithmetic::Fp32,
                     Arithmetic::Fp32, 9));
  // Half rounds once, to even: 4096 or 4100.
  EXPECT_TRUE(right(e, 4096, NumberType::Float16, Arithmetic::Fp32, Arithmetic::Fp32, 9));
  EXPECT_FALSE(right(e, 4100, NumberType::Float16, Arithmetic::Fp32, Arithmetic::Fp32, 9));
  // Beyond what the accumulator holds the bound takes over.
  EXPECT_TRUE(right(exact(0x1p25 + 1, 0x1p25 + 1, 2), 0x1p25, NumberType::Float32, Arithmetic::Fp32,
                    Arithmetic::Fp32, 9));
  EXPECT_FALSE(right(exact(7, 9, 2), 8, NumberType::Int32, Arithmetic::Fp64, Arithmetic::Fp64, 9));
  EXPECT_TRUE(
      right(exact(-0.0, 2, 2), 0, NumberType::Float32, Arithmetic::Fp32, Arithmetic::Fp32, 1));
}

TEST(NumbersJudged, WhatIsNotFiniteMustBeSoOnBothSides) {
  const double nan = std::nan("");
  for (const NumberType type : {NumberType::Float64, NumberType::Float32, NumberType::Float16}) {
    EXPECT_TRUE(right(exact(nan, 5, 3), nan, type));
    EXPECT_FALSE(right(exact(nan, 5, 3), 0, type));
    EXPECT_FALSE(right(exact(5, 5, 3), nan, type));
    EXPECT_TRUE(right(exact(kInfinity, 5, 3), kInfinity, type));
    EXPECT_FALSE(right(exact(kInfinity, 5, 3), -kInfinity, type));
    EXPECT_FALSE(right(exact(kInfinity, 5, 3), nan, type));
    EXPECT_FALSE(right(exact(5, 5, 3), kInfinity, type));
  }
  // Beyond half's largest number only infinity of that sign, or its largest, is near.
  EXPECT_TRUE(right(exact(70000, 70000, 1), kInfinity, NumberType::Float16));
  EXPECT_FALSE(right(exact(70000, 70000, 1), -kInfinity, NumberType::Float16));
  EXPECT_FALSE(right(exact(60000, 60000, 1), kInfinity, NumberType::Float16));
  // What passes the accumulator's largest number on the way may be anything.
  EXPECT_TRUE(right(exact(1, 1e39, 3), nan, NumberType::Float32));
  EXPECT_FALSE(right(exact(1, 1e38, 3), nan, NumberType::Float32));
}

TEST(NumbersJudged, ShapesTypesAndElementsAreNamed) {
  Case c;
  c.op = Op::Convolution;
  c.source = reference::from_ijk({{{0, 0, 0}, {0, 0, 1}}, {{4, 4, 4}}});
  c.target = c.source;
  c.operands.features = {{3, 1}, {1, 2, 3}};
  c.operands.weights = {{2, 1, 1, 1, 1}, {10, 100}};
  const Answer expected = make_backend("reference")->answer(c);
  const NumbersAnswer good = std::get<NumbersAnswer>(expected);
  EXPECT_TRUE(compare(expected, good, Profile::Layout).ok());
  NumbersAnswer bad = good;
  bad.array.values[5] = 301;
  Verdict verdict = compare(expected, bad, Profile::Layout);
  ASSERT_TRUE(verdict.first);
  EXPECT_EQ(verdict.first->what, "element 1 of output");
  EXPECT_EQ(verdict.first->member, 1);
  EXPECT_EQ(verdict.first->coordinate, (Voxel{4, 4, 4}));
  EXPECT_EQ(verdict.first->expected, "300");
  EXPECT_EQ(verdict.differences, 1);
  EXPECT_NE(text_verdict(verdict).find("numbers: 1 differ"), std::string::npos);
  bad = good;
  bad.array.shape = {2, 3};
  EXPECT_EQ(compare(expected, bad, Profile::Layout).first->what, "the shape of output");
  bad = good;
  bad.array.values.pop_back();
  EXPECT_EQ(compare(expected, bad, Profile::Layout).first->what, "the count of numbers of output");
  bad = good;
  bad.type = NumberType::Float32;
  EXPECT_EQ(compare(expected, bad, Profile::Layout).first->what, "the type of output");
  // [M-7] Its own rows.
  bad = good;
  bad.rows = RowVoxels{(*good.rows)[2], (*good.rows)[0], (*good.rows)[1]};
  bad.array.values = {30, 300, 10, 100, 20, 200};
  EXPECT_TRUE(compare(expected, bad, Profile::Layout).ok());
  bad.array.values[0] = 31;
  EXPECT_EQ(compare(expected, bad, Profile::Layout).first->member, 1);
}

TEST(NumbersJudged, GradientsAreNamedOneByOne) {
  Case c;
  c.op = Op::ConvolutionGradients;
  c.source = reference::from_ijk({{{0, 0, 0}, {0, 0, 1}}});
  c.target = c.source;
  c.operands.features = {{2, 1}, {1, 2}};
  c.operands.weights = {{1, 1, 1, 1, 1}, {10}};
  c.operands.grad_output = reference::Array{{2, 1}, {3, 4}};
  const Answer expected = make_backend("reference")->answer(c);
  const auto good = std::get<GradientsAnswer>(expected);
  EXPECT_EQ(good.features.array.values, (std::vector<double>{30, 40}));
  EXPECT_EQ(good.weights.array.values, (std::vector<double>{11}));
  EXPECT_EQ(good.bias.array.values, (std::vector<double>{7}));
  const auto what = [&](auto change) {
    auto bad = good;
    change(bad);
    const Verdict verdict = compare(expected, bad, Profile::Layout);
    return verdict.first ? verdict.first->clause + " " + verdict.first->what : "equal";
  };
  EXPECT_EQ(what([](auto&) {}), "equal");
  EXPECT_EQ(what([](auto& g) { g.features.array.values[1] = 0; }),
            "V-2 element 0 of grad_features");
  EXPECT_EQ(what([](auto& g) { g.weights.array.values[0] = 0; }), "V-2 element 0 of grad_weights");
  EXPECT_EQ(what([](auto& g) { g.bias.array.values[0] = 0; }), "V-2 element 0 of grad_bias");
}

}  // namespace
}  // namespace leafproof::oracle
