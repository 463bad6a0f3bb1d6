// Each operation is one call of reference/passes.h and its layout, or of reference/map.h.
#include "oracle/backends/reference_backend.h"

#include "oracle/backends/answering.h"
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
        default:
          return not_implemented(name(), c.op);
      }
    });
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() {
  return std::make_unique<ReferenceBackend>();
}

}  // namespace leafproof::oracle
