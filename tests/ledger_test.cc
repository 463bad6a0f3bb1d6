// The ledger keeps its promises, is what docs/families.md says, and its odds are the generator's.
#include "oracle/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "oracle/generate.h"
#include "oracle/shapes.h"
#include "oracle/throughput.h"
#include "reference/canonical_order.h"

namespace leafproof::oracle {
namespace {

TEST(Ledger, LevelTwoReachesAllThatItPromises) {
  for (const Op op : generated_ops()) {
    const std::int64_t cases = cases_of_level(op, 2);
    Classes reached;
    for (std::int64_t i = 0; i < cases; ++i)
      reached |= classes_of(generate(op, 424242, static_cast<std::uint64_t>(i)));
    const Classes missing = promised(op, cases) & ~reached;
    for (std::size_t i = 0; i < case_classes().size(); ++i)
      EXPECT_FALSE(missing[i]) << to_string(op) << ": " << case_classes()[i].name;
    EXPECT_GT(promised(op, cases).count(), 20u) << to_string(op);
  }
}

TEST(Ledger, TheOddsAreTheGenerators) {
  constexpr std::int64_t kCases = 2976;  // whole rounds of refusals, patterns and some of families
  for (const Op op : generated_ops()) {
    std::vector<std::int64_t> met(case_classes().size());
    for (std::int64_t n = 0; n < kCases; ++n) {
      const Classes classes = classes_of(generate(op, 99, static_cast<std::uint64_t>(n)));
      for (std::size_t i = 0; i < met.size(); ++i) met[i] += classes[i];
    }
    for (std::size_t i = 0; i < met.size(); ++i) {
      const std::int64_t one_in = case_classes()[i].one_in(op);
      // A third less is what chance may do to the rarest.
      if (one_in > 0)
        EXPECT_GE(met[i] * one_in * 3, kCases * 2)
            << to_string(op) << ": " << case_classes()[i].name;
      else
        EXPECT_EQ(met[i], 0) << to_string(op) << ": " << case_classes()[i].name;
    }
  }
}

bool counted(std::string_view name, const Case& c) {
  const auto found = std::find_if(case_classes().begin(), case_classes().end(),
                                  [&](const CaseClass& one) { return one.name == name; });
  return classes_of(c)[static_cast<std::size_t>(found - case_classes().begin())];
}

TEST(Ledger, NeighboursAcrossTheEndsAreThoseOfSumsIn32Bits) {
  Case c;
  c.op = Op::ErodeBox;
  const auto holds = [&](const Voxel& u, const Voxel& v) {
    c.source = {{{u, v}}, {{}}, {""}};
    return counted("neighbours across 2^31", c);
  };
  EXPECT_TRUE(holds({INT32_MIN, 0, 0}, {INT32_MAX, 0, 0}));
  EXPECT_TRUE(holds({5, INT32_MAX, 0}, {5, INT32_MIN + 3, 4}));
  EXPECT_FALSE(holds({5, INT32_MAX, 0}, {5, INT32_MIN + 3, 5}));
  EXPECT_FALSE(holds({INT32_MIN, 0, 0}, {INT32_MIN + 1, 0, 0}));
  EXPECT_FALSE(holds({INT32_MIN, 0, 0}, {0, INT32_MIN, 0}));  // 2^31 apart, which has no abs
}

TEST(Ledger, AnyKernelCanBeAskedFor) {
  Case c;
  c.op = Op::ConvGrid;
  c.source = {{{{0, 0, 0}}}, {{}}, {""}};
  for (const std::int64_t size : {INT64_MIN, std::int64_t{-1}, std::int64_t{4}, INT64_MAX}) {
    c.kernel.size = {size, 3, 3};
    EXPECT_EQ(counted("more than 64 taps", c), size == INT64_MAX) << size;
    c.kernel.size = {size, size, size};
    EXPECT_EQ(counted("more than 64 taps", c), size == INT64_MAX) << size;
  }
}

TEST(Ledger, EveryClassHasANameAReasonAndAnOperation) {
  std::set<std::string_view> names;
  ASSERT_LE(case_classes().size(), Classes().size());
  for (const CaseClass& c : case_classes()) {
    EXPECT_TRUE(std::any_of(generated_ops().begin(), generated_ops().end(), [&](Op op) {
      return c.one_in(op) > 0;
    })) << c.name;
    EXPECT_FALSE(c.reason.empty()) << c.name;
    EXPECT_TRUE(names.insert(c.name).second) << c.name << " twice";
  }
  for (const Shape& shape : shapes())
    EXPECT_TRUE(names.contains("family " + std::string(shape.name))) << shape.name;
}

// The tables of the document are the tables of the code, row by row.
TEST(Ledger, FamiliesAndClassesAreThoseOfTheDocument) {
  std::ifstream file(LEAFPROOF_SOURCE_DIR "/docs/families.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::string families = "|---|---|\n", classes = families;
  for (const Shape& shape : shapes())
    families += "| `" + std::string(shape.name) + "` | " + std::string(shape.reason) + " |\n";
  for (const CaseClass& c : case_classes())
    if (!c.name.starts_with("family "))
      classes += "| " + std::string(c.name) + " | " + std::string(c.reason) + " |\n";
  EXPECT_NE(text.find(families + "\n"), std::string::npos) << families;
  EXPECT_NE(text.find(classes + "\n"), std::string::npos) << classes;
}

// --- what the throughput is measured on
// -----------------------------------------------------------

TEST(Throughput, TheMixesAreWhatTheySay) {
  const auto reference = make_backend("reference");
  for (std::uint64_t number = 0; number < 2 * 11 * 8; ++number) {
    const Case one = mix_case(Mix::OneTile, number), eight = mix_case(Mix::EightTiles, number);
    const Answer small = reference->answer(one), large = reference->answer(eight);
    ASSERT_TRUE(std::holds_alternative<Layout>(small)) << one.id;
    ASSERT_TRUE(std::holds_alternative<Layout>(large)) << eight.id;
    EXPECT_EQ(one.source.size(), 1u);
    EXPECT_LE(std::get<Layout>(small).grids[0].tiles.size(), 1u) << one.id;
    ASSERT_EQ(eight.source.size(), 3u);
    if (eight.op != Op::FromPoints) {
      for (auto member : eight.source.members) {
        std::set<std::array<std::int32_t, 3>> tiles;
        for (const Voxel& v : member) {
          const Voxel t = reference::root_tile(v);
          tiles.insert({t.x, t.y, t.z});
        }
        EXPECT_EQ(tiles.size(), 8u) << eight.id;
      }
    }
    EXPECT_EQ(mix_case(Mix::OneTile, number).source.members, one.source.members);
  }
}

TEST(Throughput, CountsWhatItJudgesAndRefusesWhatDiffers) {
  const auto reference = make_backend("reference");
  const Throughput t = measure_throughput(Mix::OneTile, *reference, *reference, 0.05, 2);
  EXPECT_GT(t.cases, 0);
  EXPECT_GT(t.judged, 0);
  EXPECT_NE(text_throughput({t}, "reference").find("one tile, one member"), std::string::npos);
  class Wrong : public Backend {
   public:
    std::string_view name() const override { return "wrong"; }
    std::string_view description() const override { return "answers nothing"; }
    Answer answer(const Case&) const override { return Layout{}; }
  };
  EXPECT_THROW(measure_throughput(Mix::OneTile, *reference, Wrong{}, 0.05, 1), Error);
}

}  // namespace
}  // namespace leafproof::oracle
