// The names of operations, as the vectors spell them [F].
#include "oracle/case.h"

#include <array>
#include <utility>

namespace leafproof::oracle {
namespace {

constexpr std::array<std::pair<Op, std::string_view>, 17> kNames{{
    {Op::FromIjk, "from_ijk"},
    {Op::FromPoints, "from_points"},
    {Op::Refine, "refine"},
    {Op::Coarsen, "coarsen"},
    {Op::DilateBox, "dilate_box"},
    {Op::Dual, "dual"},
    {Op::ErodeBox, "erode_box"},
    {Op::Prune, "prune"},
    {Op::Merge, "merge"},
    {Op::Intersect, "intersect"},
    {Op::Subtract, "subtract"},
    {Op::MapAfter, "map_after"},
    {Op::ConvGrid, "conv_grid"},
    {Op::ConvTransposeGrid, "conv_transpose_grid"},
    {Op::SubmanifoldIndexMap, "submanifold_index_map"},
    {Op::Convolution, "convolution"},
    {Op::ConvolutionGradients, "convolution_gradients"},
}};

}  // namespace

std::string_view to_string(Op op) {
  for (const auto& [value, name] : kNames)
    if (value == op) return name;
  return "unknown operation";
}

std::optional<Op> parse_op(std::string_view name) {
  for (const auto& [value, known] : kNames)
    if (known == name) return value;
  return std::nullopt;
}

const std::vector<Op>& topology_ops() {
  static const std::vector<Op> ops{Op::FromIjk,   Op::FromPoints, Op::Refine,   Op::Coarsen,
                                   Op::DilateBox, Op::Dual,       Op::ErodeBox, Op::Prune,
                                   Op::Merge,     Op::Intersect,  Op::Subtract};
  return ops;
}

}  // namespace leafproof::oracle
