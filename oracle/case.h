// One question to a backend: an operation, its parameters, and everything that it takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/conv_structs.h"
#include "reference/lattice.h"

namespace leafproof::oracle {

using reference::Batch;
using reference::Direction;
using reference::Kernel;
using reference::Map;
using reference::Masks;
using reference::NumberType;
using reference::Operands;
using reference::Point;
using reference::Triple;
using reference::Voxel;

/// What answers mean, and what a level's cases are; raised when an answer changes (docs/errata.md).
inline constexpr std::int64_t kSemanticsVersion = 1;

enum class Op {
  FromIjk,
  FromPoints,
  Refine,
  Coarsen,
  DilateBox,
  Dual,
  ErodeBox,
  Prune,
  Merge,
  Intersect,
  Subtract,
  MapAfter,  // only the maps of the operation named in `mapped` [G-7]
  // The convolution of [K] [M] [V].
  ConvGrid,
  ConvTransposeGrid,
  SubmanifoldIndexMap,
  Convolution,
  ConvolutionGradients,
  KernelMap,  // on its own, in either form; the vectors have it within their convolutions
};

/// "refine", "dilate_box", ... as in the vectors [F]; and back (nullopt when unknown).
std::string_view to_string(Op op);
std::optional<Op> parse_op(std::string_view name);

/// The passes of [T], in the order of reports.
const std::vector<Op>& topology_ops();

/// Those of [K], [M], [V], and all that cases are generated for: first these, then those.
const std::vector<Op>& convolution_ops();
const std::vector<Op>& generated_ops();
bool convolves(Op op);

struct Case {
  Op op = Op::FromIjk;
  std::string id;       // where it comes from, for reports: "refine.json factor=[2,2,2] #3"
  std::string comment;  // which fault it would show

  Triple factor{1, 1, 1};           // refine, coarsen, map_after (factor or stride)
  Triple lo{0, 0, 0}, hi{0, 0, 0};  // dilate_box, erode_box
  Op mapped = Op::Refine;           // map_after: the operation whose map is asked for

  /// The operand(s). For from_ijk `source.members` are the raw lists (any order, repeats); for
  /// every other operation they are in canonical order.
  Batch source;
  std::vector<std::vector<Point>> points;         // from_points
  std::optional<Batch> other;                     // merge, intersect, subtract
  std::optional<Masks> mask;                      // prune; refine when masked
  std::optional<std::vector<std::int64_t>> view;  // the operation reads this view of `source`
                                                  // [T-9]; `other` and `mask` are in view order

  // Of convolution: `target` and all operands are in view order too.
  Kernel kernel;
  Direction direction = Direction::Forward;
  std::optional<Batch> target;  // restricted; none: the complete one [K-6]
  bool dense = false;           // kernel_map in the form of [M-4]
  Operands operands;            // convolution, convolution_gradients
};

}  // namespace leafproof::oracle
