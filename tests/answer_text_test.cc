// Answers as lines: all that the reference answers comes back and is judged equal, own orders are
// put in order, and what is no answer is refused by name. And what such answers are judged by.
#include "oracle/answer_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "oracle/case_text.h"
#include "oracle/generate.h"
#include "oracle/judge.h"
#include "oracle/report.h"

namespace leafproof::oracle {
namespace {

const Backend& reference_backend() {
  static const auto backend = make_backend("reference");
  return *backend;
}

Verdict judged(const std::string& question, const std::string& answer) {
  const Case c = read_case_text(question);
  return Standard(c, reference_backend()).judge(read_answer_text(answer, c));
}

/// The first difference, as "clause what".
std::string first_of(const std::string& question, const std::string& answer) {
  const Verdict verdict = judged(question, answer);
  return verdict.first ? verdict.first->clause + " " + verdict.first->what : "equal";
}

TEST(AnswerText, WhatTheReferenceAnswersComesBackEqual) {
  std::size_t kinds[20] = {};
  for (const Op op : generated_ops())
    for (std::uint64_t number = 0; number < 40; ++number) {
      const Case c = generate(op, 5, number);
      const Standard standard(c, reference_backend());
      const std::string text = write_answer_text(standard.answer());
      ASSERT_EQ(text.find_first_of("\n\t"), text.npos);
      const Answer back = read_answer_text(text, c);
      const Verdict verdict = standard.judge(back);
      ASSERT_TRUE(verdict.ok()) << c.id << "\n" << text_verdict(verdict);
      ASSERT_EQ(write_answer_text(back), text) << c.id;
      ++kinds[back.index()];
    }
  const auto met = std::count_if(std::begin(kinds), std::end(kinds), [](auto n) { return n > 0; });
  EXPECT_EQ(met, 6);  // voxels, a map, an index, numbers, gradients, refusals
}

TEST(AnswerText, MapsAndFaultsComeBack) {
  const Case c = read_case_text("case1 map_after factor=2 source=[] source_maps=1,2,3@4,5,6");
  for (const std::string text :
       {"answer1 maps maps=0.5,1,1.5@3.75,4.5,5.25", "answer1 maps maps=-",
        "answer1 not_implemented reason=no%20maps", "answer1 failed reason=a%0Afault",
        "answer1 refused kind=OutOfRange reason="})
    EXPECT_EQ(write_answer_text(read_answer_text(text, c)), text);
  EXPECT_EQ(first_of(write_case_text(c), "answer1 maps maps=0.5,1,1.5@3.75,4.5,5.25"), "equal");
  EXPECT_EQ(first_of(write_case_text(c), "answer1 maps maps=0.5,1,1.5@3.75,4.5,5.5"),
            "G-7 origin along z");
  EXPECT_EQ(first_of(write_case_text(c), "answer1 grid voxels=[]"), "G-7 the kind of an answer");
}

TEST(AnswerText, VoxelsAreJudgedInOrderUnlessTheyHaveTheirOwn) {
  const std::string refine = "case1 refine factor=2,1,1 source=[0,0,0;3,0,0][]";
  EXPECT_EQ(first_of(refine, "answer1 grid voxels=[0,0,0;1,0,0;6,0,0;7,0,0][]"), "equal");
  EXPECT_EQ(first_of(refine, "answer1 grid order=own voxels=[7,0,0;1,0,0;6,0,0;0,0,0][]"), "equal");
  EXPECT_EQ(first_of(refine, "answer1 grid voxels=[7,0,0;1,0,0;6,0,0;0,0,0][]"),
            "G-2 the order of voxels");
  EXPECT_EQ(first_of(refine, "answer1 grid order=own voxels=[7,0,0;1,0,0;6,0,0][]"),
            "T-2 a missing voxel");
  EXPECT_EQ(first_of(refine, "answer1 grid order=own voxels=[7,0,0;1,0,0;6,0,0;0,0,0;2,0,0][]"),
            "T-2 an extra voxel");
  EXPECT_EQ(first_of(refine, "answer1 grid voxels=[0,0,0;1,0,0;6,0,0;7,0,0][] order=canonical"),
            "equal");
  const Verdict twice =
      judged(refine, "answer1 grid order=own voxels=[7,0,0;7,0,0;7,0,0;1,0,0;6,0,0;0,0,0][]");
  ASSERT_TRUE(twice.first);
  EXPECT_EQ(twice.first->what, "a repeated voxel");
  EXPECT_EQ(twice.repeated, 2);
  EXPECT_EQ(twice.differences, 2);
  EXPECT_EQ(first_of(refine, "answer1 grid voxels=[0,0,0;1,0,0;6,0,0;7,0,0]"),
            "L-2 number of members");
  EXPECT_EQ(first_of(refine, "answer1 grid voxels=[][0,0,0;1,0,0;6,0,0;7,0,0]"),
            "T-2 a missing voxel");
  // Maps of a pass are not judged [G-9], those of from_points are; and maps alone are no grid.
  EXPECT_EQ(
      first_of(refine,
               "answer1 grid voxels=[0,0,0;1,0,0;6,0,0;7,0,0][] maps=9,9,9@0,0,0;1,1,1@0,0,0"),
      "equal");
  EXPECT_EQ(first_of(refine, "answer1 maps maps=0.5,1,1@-0.25,0,0;0.5,1,1@-0.25,0,0"),
            "G-9 the kind of an answer");
  const std::string points = "case1 from_points source=[] source_maps=2,2,2@0,0,0 points=[2,0,0]";
  EXPECT_EQ(first_of(points, "answer1 grid voxels=[1,0,0]"), "equal");
  EXPECT_EQ(first_of(points, "answer1 grid voxels=[1,0,0] maps=2,2,2@0,0,0"), "equal");
  EXPECT_EQ(first_of(points, "answer1 grid voxels=[1,0,0] maps=2,2,1@0,0,0"),
            "G-7 voxel size along z");
}

TEST(AnswerText, MapsOfConvolutionMayHaveRowsAndOrdersOfTheirOwn) {
  const std::string map =
      "case1 kernel_map kernel_size=3,1,1 source=[0,0,0;1,0,0] target=[0,0,0;1,0,0]";
  EXPECT_EQ(first_of(map, "answer1 map pairs=[0,1][0,0;1,1][1,0]"), "equal");
  EXPECT_EQ(first_of(map, "answer1 map pairs=[0,1][1,1;0,0][1,0]"), "equal");  // [M-3]
  EXPECT_EQ(first_of(map, "answer1 map pairs=[0,1][0,1;1,0][1,0] target_rows=[1,0,0;0,0,0]"),
            "M-3 an extra pair");
  EXPECT_EQ(first_of(map, "answer1 map pairs=[0,0][0,1;1,0][1,1] target_rows=[1,0,0;0,0,0]"),
            "equal");
  EXPECT_EQ(first_of(map, "answer1 map pairs=[0,1][0,0;1,1][1,0] source_rows=[0,0,0;0,0,0]"),
            "M-7 a repeated source row");
  EXPECT_EQ(first_of(map, "answer1 map pairs=[0,1][0,0;1,1][1,0][]"), "M-2 the number of offsets");
  EXPECT_EQ(first_of(map, "answer1 map pairs=[0,1][0,0;1,2][1,0]"),
            "E-2 a target row out of range");
  EXPECT_EQ(first_of(map, "answer1 dense index=[-1,0][0,1][1,-1]"), "M-1 the kind of an answer");
  const std::string dense =
      "case1 kernel_map dense=true kernel_size=3,1,1 source=[0,0,0;1,0,0] target=[0,0,0;1,0,0]";
  EXPECT_EQ(first_of(dense, "answer1 dense index=[-1,0][0,1][1,-1]"), "equal");
  EXPECT_EQ(first_of(dense, "answer1 dense index=[-1,0][0,1][-1,1]"), "M-3 a missing pair");
  EXPECT_EQ(first_of(dense, "answer1 dense index=-"), "M-4 the shape of the map");
  // A complete target is shown by its pairs; or it has rows, and any order.
  const std::string complete = "case1 kernel_map kernel_size=3,1,1 source=[0,0,0]";
  EXPECT_EQ(first_of(complete, "answer1 map pairs=[0,1][0,2][0,0]"), "M-3 an extra pair");
  EXPECT_EQ(first_of(complete,
                     "answer1 map pairs=[0,0][0,1][0,2]"
                     " target_rows=[1,0,0;0,0,0;-1,0,0]"),
            "equal");
}

TEST(AnswerText, NumbersAreOfTheirType) {
  const std::string c =
      "case1 convolution type=float32 source=[0,0,0;1,0,0] target=[0,0,0;1,0,0] features=2x1:0.1,1 "
      "weights=1x1x1x1x1:1";
  EXPECT_EQ(first_of(c, "answer1 numbers output=2x1:0.1,1"), "equal");  // 0.1 as float32
  EXPECT_EQ(first_of(c, "answer1 numbers output=2x1:1,0.1 target_rows=[1,0,0;0,0,0]"), "equal");
  EXPECT_EQ(first_of(c, "answer1 numbers output=2x1:0.101,1"), "V-3 element 0 of output");
  EXPECT_EQ(first_of(c, "answer1 numbers output=2x1:0.101,1 multiplier=fp16"),
            "V-3 element 0 of output");
  EXPECT_EQ(first_of(c, "answer1 numbers output=2x1:0.10001,1 multiplier=fp16 accumulator=fp16"),
            "equal");
  EXPECT_EQ(first_of(c, "answer1 numbers output=2x1:0.1,1 type=float64"), "V-1 the type of output");
  EXPECT_EQ(first_of(c, "answer1 numbers output=1x2:0.1,1"), "V-1 the shape of output");
  EXPECT_EQ(first_of(c, "answer1 numbers output=2x1:0.1"), "V-1 the count of numbers of output");
}

TEST(AnswerText, WhatIsNoneOfTheseIsDifferent) {
  const std::string dual = "case1 dual source=[0,0,0]", zero = "case1 coarsen factor=0 source=[]";
  EXPECT_EQ(first_of(dual, "answer1 failed reason=a%20guard%20was%20overwritten"),
            "E-2 a fault instead of an answer");
  EXPECT_EQ(judged(dual, "answer1 failed reason=x%20y").first->actual, "x y");
  EXPECT_EQ(first_of(zero, "answer1 failed reason=x"), "E-2 a fault instead of an answer");
  EXPECT_EQ(first_of(zero, "answer1 refused kind=InvalidArgument"), "equal");
  EXPECT_EQ(first_of(zero, "answer1 refused kind=Unsupported"), "E-3 the kind of a refusal");
  EXPECT_EQ(first_of(zero, "answer1 grid voxels=[]"), "E-3 an answer to what must be refused");
  EXPECT_EQ(first_of(dual, "answer1 refused kind=Unsupported"), "E-3 a refusal of what is legal");
  EXPECT_EQ(judged(dual, "answer1 not_implemented reason=later").outcome, Outcome::NotImplemented);
  EXPECT_EQ(first_of(dual, "answer1 numbers output=1:1"), "M-1 the kind of an answer");
}

TEST(AnswerText, WhatIsNoAnswerIsRefusedByName) {
  struct Bad {
    const char *text, *field, *value;
  };
  const Case c = read_case_text("case1 convolution source=[0,0,0] features=1x1:1 weights=1:1");
  for (const auto& [text, field, value] : {
           Bad{"", "version", ""},
           {"answer2 grid voxels=-", "version", "answer2"},
           {"answer1", "kind", ""},
           {"answer1 gird voxels=-", "kind", "gird"},
           {"answer1 grid", "voxels", ""},
           {"answer1 grid voxels=", "voxels", ""},
           {"answer1 grid voxels=[0,0,0", "voxels", "[0,0,0"},
           {"answer1 grid voxels=[0,0]", "voxels", "0,0"},
           {"answer1 grid voxels=[0,0,0.5]", "voxels", "0.5"},
           {"answer1 grid voxels=[0,0,2147483648]", "voxels", "2147483648"},
           {"answer1 grid voxels=[0,0,0;]", "voxels", ""},
           {"answer1 grid voxels=- voxels=-", "voxels", "-"},
           {"answer1 grid voxels=- order=mine", "order", "mine"},
           {"answer1 grid voxels=- pairs=-", "pairs", "-"},
           {"answer1 grid voxels=- junk", "field", "junk"},
           {"answer1 grid voxels=- maps=1,1@0,0,0", "maps", "1,1"},
           {"answer1 map pairs=[0,1", "pairs", "[0,1"},
           {"answer1 map pairs=[0]", "pairs", "0"},
           {"answer1 map pairs=[0,1,2]", "pairs", "0,1,2"},
           {"answer1 map pairs=[0,9223372036854775808]", "pairs", "9223372036854775808"},
           {"answer1 dense index=[0,1][0]", "index", "1"},
           {"answer1 dense index=[x]", "index", "x"},
           {"answer1 numbers output=2:1,", "output", ""},
           {"answer1 numbers output=1,2", "output", "1,2"},
           {"answer1 numbers output=1:1 type=float", "type", "float"},
           {"answer1 numbers output=1:1.5 type=int32", "output", "1.5"},
           {"answer1 numbers output=1:nan type=int32", "output", "nan"},
           {"answer1 numbers output=1:2147483648 type=int32", "output", "2147483648"},
           {"answer1 numbers output=1:1 accumulator=fp8", "accumulator", "fp8"},
           {"answer1 gradients features=1:1 weights=1:1", "bias", ""},
           {"answer1 refused kind=NoIdea", "kind", "NoIdea"},
           {"answer1 refused", "kind", ""},
           {"answer1 not_implemented reason=%4", "reason", "%4"},
           {"answer1 nanovdb file=", "file", ""},
           {"answer1 nanovdb file=a%00b", "file", "a%00b"},
           {"answer1 nanovdb file=a.nvdb", "file", "a.nvdb"},  // none is read here
           {"answer1 npz file=a.npz kind=cloud", "kind", "cloud"},
           {"answer1 npz file=a.npz", "kind", ""},
       }) {
    try {
      read_answer_text(text, c);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Corrupt) << text;
      EXPECT_EQ(error.detail().operation, "answer");
      EXPECT_EQ(error.detail().argument, field) << text;
      EXPECT_EQ(error.detail().value, value) << text;
    }
  }
}

TEST(AnswerText, AnswersWithoutATextAreRefused) {
  KernelMapAnswer map;
  map.map.offsets = {0, 2, 1};
  map.map.gather = map.map.scatter = {0};
  EXPECT_THROW(write_answer_text(map), Error);
  map.map.offsets = {};
  EXPECT_THROW(write_answer_text(map), Error);
  map.map = {};
  map.source_rows = RowVoxels{{1, {}}, {0, {}}};
  EXPECT_THROW(write_answer_text(map), Error);
  map.source_rows = RowVoxels{{-1, {}}};
  EXPECT_THROW(write_answer_text(map), Error);
  map.source_rows = RowVoxels{{2, {0, 0, 1}}};
  EXPECT_EQ(write_answer_text(map), "answer1 map pairs=- source_rows=[][][0,0,1]");
  DenseMapAnswer dense;
  dense.map = {2, 2, {0, 1, 2}};
  EXPECT_THROW(write_answer_text(dense), Error);
}

// A wrong byte anywhere: an Error or another answer, and a verdict of it; never anything else.
TEST(AnswerText, DamagedLinesAreRefusedOrJudged) {
  std::mt19937 random(7);
  const std::string bytes = "[];,:=-.0129 xeinfa%\xff\n";
  std::size_t refused = 0, read = 0;
  for (const Op op : generated_ops())
    for (std::uint64_t number = 0; number < 6; ++number) {
      const Case c = generate(op, 9, number);
      const Standard standard(c, reference_backend());
      const std::string text = write_answer_text(standard.answer());
      if (text.size() > 20'000) continue;
      for (int i = 0; i < 60; ++i) {
        std::string damaged = text;
        const std::size_t at = random() % damaged.size();
        const char other = bytes[random() % bytes.size()];
        if (i % 3 == 0) damaged.erase(at, 1 + random() % 8);
        if (i % 3 == 1) damaged[at] = other;
        if (i % 3 == 2) damaged.insert(at, 1, other);
        try {
          const Verdict verdict = standard.judge(read_answer_text(damaged, c));
          EXPECT_EQ(verdict.ok(), !verdict.first && verdict.outcome == Outcome::Equal);
          ++read;
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::Corrupt) << damaged;
          ++refused;
        }
      }
    }
  EXPECT_GT(refused, 500u);
  EXPECT_GT(read, 500u);
}

}  // namespace
}  // namespace leafproof::oracle
