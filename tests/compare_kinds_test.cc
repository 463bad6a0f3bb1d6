// Answers of different kinds: no comparison, and a sentence for each side; the clause by which an
// operation is judged.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "oracle/compare.h"
#include "oracle/layout_view.h"
#include "tests/layout_samples.h"

namespace {

using namespace leafproof;
using oracle::Answer;
using oracle::compare;
using oracle::GridBuffer;
using oracle::Profile;
using oracle::Verdict;
using reference::Batch;

// What cannot be compared is described, from either side.
TEST(CompareKinds, AnswersOfOtherKindsAreDescribed) {
  const Batch batch = samples::rich();
  const GridBuffer buffer = oracle::write_layout(reference::layout_of(batch));
  const std::string grids =
      fmt::format("a buffer of {} grids, {} bytes", batch.members.size(), buffer.bytes.size());
  oracle::VoxelsAnswer voxels;
  voxels.members.resize(2);
  oracle::KernelMapAnswer map;
  map.map.gather = map.map.scatter = {1, 2, 3};
  oracle::DenseMapAnswer dense;
  dense.map.taps = 27;
  dense.map.rows = 5;
  oracle::NumbersAnswer numbers;
  numbers.array.values = {1, 2};
  const struct {
    Answer answer;
    std::string text;
  } others[] = {{map, "a kernel map of 3 pairs"},
                {dense, "a dense map of 27 taps, 5 rows"},
                {numbers, "2 numbers"},
                {oracle::GradientsAnswer{}, "gradients"}};
  const auto expect = [](const Answer& reference, const Answer& candidate, const char* clause,
                         const std::string& expected, const std::string& actual) {
    const Verdict v = compare(reference, candidate, Profile::Sets);
    ASSERT_FALSE(v.ok());
    EXPECT_EQ(v.first->clause, clause);
    EXPECT_EQ(v.first->what, "the kind of an answer");
    EXPECT_EQ(v.first->expected, expected);
    EXPECT_EQ(v.first->actual, actual);
    EXPECT_FALSE(v.compared);
  };
  for (const auto& [answer, text] : others) {
    expect(answer, buffer, "M-1", text, grids);
    expect(buffer, answer, "M-1", grids, text);
    expect(voxels, answer, "M-1", "the voxels of 2 members", text);
  }
  expect(map, GridBuffer{}, "M-1", "a kernel map of 3 pairs", "a buffer of 0 grids, 0 bytes");
  expect(voxels, buffer, "G-9", "the voxels of 2 members", grids);
  expect(buffer, oracle::Maps{batch.maps}, "G-9", grids, fmt::format("{} maps", batch.maps.size()));
  expect(oracle::Maps{batch.maps}, voxels, "G-7", fmt::format("{} maps", batch.maps.size()),
         "the voxels of 2 members");
  const Verdict failed =
      compare(buffer, oracle::Failed{"a crash", {"its last words"}, true}, Profile::Sets);
  EXPECT_EQ(failed.first->expected, grids);
  EXPECT_EQ(failed.first->actual, "a crash");
  EXPECT_TRUE(failed.hung);
  EXPECT_EQ(failed.first->window, std::vector<std::string>{"its last words"});
}

TEST(CompareKinds, EveryOperationIsJudgedByAClauseOfTheSpecification) {
  std::ifstream stream(LEAFPROOF_SOURCE_DIR "/docs/spec.md");
  const std::string spec{std::istreambuf_iterator<char>(stream), {}};
  ASSERT_NE(spec.find("\n- [G-1] "), std::string::npos);
  int ops = 0;
  for (auto op = oracle::Op{}; oracle::parse_op(to_string(op)) == op;
       op = static_cast<oracle::Op>(++ops)) {
    const std::string name(to_string(op)), clause(oracle::clause_of(op));
    const std::size_t at = spec.find("\n- [" + clause + "] ");
    ASSERT_NE(at, std::string::npos) << name << " by " << clause;
    // The clause speaks of it, or of what it is part of.
    const std::string text = spec.substr(at, spec.find("\n- [", at + 1) - at);
    const std::map<std::string, std::string> other{{"from_ijk", "from_ijk"},
                                                   {"map_after", "refine"},
                                                   {"submanifold_index_map", "submanifold"},
                                                   {"convolution", "bias"},
                                                   {"convolution_gradients", "Gradients"},
                                                   {"kernel_map", "gather"}};
    const auto word = other.find(name);
    EXPECT_NE(text.find(word == other.end() ? name : word->second), std::string::npos)
        << name << " in " << text;
  }
  EXPECT_EQ(ops, 18);
}

}  // namespace
