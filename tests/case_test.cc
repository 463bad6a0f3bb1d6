// The names of operations are those of the vectors, and reports go through all passes of [T].
#include "oracle/case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace leafproof::oracle {
namespace {

TEST(Case, EveryOperationHasItsOwnNameAndIsFoundByIt) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Op::KernelMap); ++i) {
    const Op op = static_cast<Op>(i);
    EXPECT_TRUE(names.insert(to_string(op)).second) << to_string(op);
    EXPECT_EQ(parse_op(to_string(op)), op);
  }
  EXPECT_EQ(to_string(Op::DilateBox), "dilate_box");
  EXPECT_EQ(to_string(Op::SubmanifoldIndexMap), "submanifold_index_map");
}

TEST(Case, UnknownNamesAreNotFound) {
  EXPECT_EQ(parse_op(""), std::nullopt);
  EXPECT_EQ(parse_op("Refine"), std::nullopt);
  EXPECT_EQ(parse_op("refine "), std::nullopt);
}

TEST(Case, TopologyPassesAreTheElevenOfTheSpecification) {
  const std::vector<Op> expected{Op::FromIjk,   Op::FromPoints, Op::Refine,   Op::Coarsen,
                                 Op::DilateBox, Op::Dual,       Op::ErodeBox, Op::Prune,
                                 Op::Merge,     Op::Intersect,  Op::Subtract};
  EXPECT_EQ(topology_ops(), expected);
}

TEST(Case, EveryOtherOperationButMapsAloneIsOneOfConvolution) {
  EXPECT_EQ(generated_ops().size(), topology_ops().size() + convolution_ops().size());
  for (int i = 0; i <= static_cast<int>(Op::KernelMap); ++i) {
    const Op op = static_cast<Op>(i);
    const bool topology =
        std::find(topology_ops().begin(), topology_ops().end(), op) != topology_ops().end();
    EXPECT_EQ(convolves(op), !topology && op != Op::MapAfter) << to_string(op);
  }
}

}  // namespace
}  // namespace leafproof::oracle
