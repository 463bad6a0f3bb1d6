// Each operation is one call of reference/passes.h and its layout, of reference/map.h, or of the
// reference's convolution.
#include "oracle/backends/reference_backend.h"

#include "oracle/backends/answering.h"
#include "oracle/conv_answers.h"
#include "reference/conv_support.h"
#include "reference/convolution.h"
#include "reference/kernel_map.h"
#include "reference/map.h"
#include "reference/passes.h"

namespace leafproof::oracle {
namespace {

// The operation on a batch: the case's source, or the view of it [T-9].
Batch result_of(const Case& c, const Batch& source) {
  switch (c.op) {
    case Op::Refine:
      return c.mask ? refine(source, c.factor, *c.mask) : refine(source, c.factor);
    case Op::Coarsen:
      return coarsen(source, c.factor);
    case Op::DilateBox:
      return dilate_box(source, c.lo, c.hi);
    case Op::Dual:
      return dual(source);
    case Op::ErodeBox:
      return erode_box(source, c.lo, c.hi);
    case Op::Prune:
      return prune(source, required(c.mask, c, "mask"));
    case Op::Merge:
      return merge(source, required(c.other, c, "other"));
    case Op::Intersect:
      return intersect(source, required(c.other, c, "other"));
    default:
      return subtract(source, required(c.other, c, "other"));
  }
}

// [G-7] The map after the operation named; the passes that are not listed keep it.
Map map_after(const Case& c, const Map& map, std::int64_t member) {
  switch (c.mapped) {
    case Op::Refine:
      return reference::map_after_refine(map, c.factor, member);
    case Op::Coarsen:
      return reference::map_after_coarsen(map, c.factor, member);
    case Op::ConvGrid:
      return reference::map_after_conv_grid(map, c.factor, member);
    case Op::ConvTransposeGrid:
      return reference::map_after_conv_transpose_grid(map, c.factor, member);
    case Op::Dual:
      return reference::map_after_dual(map, member);
    default:
      reference::check_map("map_after", map, member);
      return map;
  }
}

Maps maps_after(const Case& c) {
  Maps answer;
  for (std::size_t m = 0; m < c.source.maps.size(); ++m)
    answer.maps.push_back(map_after(c, c.source.maps[m], static_cast<std::int64_t>(m)));
  return answer;
}

// --- convolution

// The batches on both sides of a map: views are read as their own batches [T-9].
struct Sides {
  Batch source, target;
  bool complete;
};

Sides sides_of(const Case& c) {
  Batch source = c.view ? view(c.source, *c.view) : c.source;
  if (c.target) return {std::move(source), *c.target, false};
  Batch target = complete_target(source, c.kernel, c.direction);
  return {std::move(source), std::move(target), true};
}

Answer kernel_map(const Case& c) {
  const Sides sides = sides_of(c);
  const auto map = kernel_map(sides.source, sides.target, c.kernel, c.direction);
  const auto target = sides.complete ? as_target(layout_of(sides.target)) : nullptr;
  if (c.dense)
    return DenseMapAnswer{dense(map), rows_of(sides.source), rows_of(sides.target), target,
                          c.kernel.size};
  return KernelMapAnswer{map,    rows_of(sides.source), rows_of(sides.target),
                         target, c.kernel.size,         c.direction};
}

Answer submanifold(const Case& c) {
  const Batch source = c.view ? view(c.source, *c.view) : c.source;
  const auto map = submanifold_map(source, c.kernel);
  return DenseMapAnswer{dense(map), rows_of(source), rows_of(source), nullptr, c.kernel.size};
}

Answer convolution(const Case& c) {
  const Sides sides = sides_of(c);
  Operands operands = c.operands;
  operands.target_is_source = sides.complete;  // at K=S=1, where alone it is read [V-4]
  const auto map = kernel_map(sides.source, sides.target, c.kernel, c.direction);
  if (c.op == Op::Convolution)
    return exact_numbers(convolve(map, c.kernel, operands), operands.type,
                         convolve_exactly(map, c.kernel, operands), largest_whole(operands, false),
                         rows_of(sides.target));
  auto numbers = gradients(map, c.kernel, operands);
  auto exact = gradients_exactly(map, c.kernel, operands);
  const double whole = largest_whole(operands, true);
  return GradientsAnswer{
      exact_numbers(std::move(numbers.features), operands.type, std::move(exact.features), whole,
                    rows_of(sides.source)),
      exact_numbers(std::move(numbers.weights), operands.type, std::move(exact.weights), whole),
      exact_numbers(std::move(numbers.bias), operands.type, std::move(exact.bias), whole)};
}

class ReferenceBackend : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::string_view description() const override {
    return "the plain reference: lists of voxels, sorted";
  }

  Answer answer(const Case& c) const override {
    return answer_or_refusal(c, [&]() -> Answer {
      switch (c.op) {
        case Op::FromIjk:
          refuse_view_of_lists(c);
          return layout_of(reference::from_ijk(c.source.members, c.source.maps, c.source.names));
        case Op::FromPoints:
          refuse_view_of_lists(c);
          return layout_of(reference::from_points(c.points, c.source.maps, c.source.names));
        case Op::Refine:
        case Op::Coarsen:
        case Op::DilateBox:
        case Op::Dual:
        case Op::ErodeBox:
        case Op::Prune:
        case Op::Merge:
        case Op::Intersect:
        case Op::Subtract:
          return layout_of(result_of(c, c.view ? view(c.source, *c.view) : c.source));
        case Op::MapAfter:
          return maps_after(c);
        case Op::ConvGrid:
        case Op::ConvTransposeGrid:
          return layout_of(
              complete_target(c.view ? view(c.source, *c.view) : c.source, c.kernel,
                              c.op == Op::ConvGrid ? Direction::Forward : Direction::Transposed));
        case Op::KernelMap:
          return kernel_map(c);
        case Op::SubmanifoldIndexMap:
          return submanifold(c);
        case Op::Convolution:
        case Op::ConvolutionGradients:
          return convolution(c);
      }
      return not_implemented(name(), c.op);
    });
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() {
  return std::make_unique<ReferenceBackend>();
}

}  // namespace leafproof::oracle
