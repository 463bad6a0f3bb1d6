// The names of operations, as the vectors spell them [F].
#include "oracle/case.h"

#include <algorithm>
#include <array>
#include <utility>

namespace leafproof::oracle {
namespace {

constexpr std::array<std::pair<Op, std::string_view>, 18> kNames{{
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
    {Op::KernelMap, "kernel_map"},
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

const std::vector<Op>& convolution_ops() {
  static const std::vector<Op> ops{Op::ConvGrid,    Op::ConvTransposeGrid,
                                   Op::KernelMap,   Op::SubmanifoldIndexMap,
                                   Op::Convolution, Op::ConvolutionGradients};
  return ops;
}

const std::vector<Op>& generated_ops() {
  static const std::vector<Op> ops = [] {
    std::vector<Op> all = topology_ops();
    all.insert(all.end(), convolution_ops().begin(), convolution_ops().end());
    return all;
  }();
  return ops;
}

bool convolves(Op op) {
  const auto& ops = convolution_ops();
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

}  // namespace leafproof::oracle
