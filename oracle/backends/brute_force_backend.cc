// Each operation is one call of reference/brute_force.h.
#include "oracle/backends/brute_force_backend.h"

#include "oracle/backends/answering.h"
#include "reference/brute_force.h"

namespace leafproof::oracle {
namespace {

Maps maps_after(const Case& c) {
  Maps answer;
  for (std::size_t m = 0; m < c.source.maps.size(); ++m)
    answer.maps.push_back(brute_force::map_after(std::string(to_string(c.mapped)), c.source.maps[m],
                                                 c.factor, static_cast<std::int64_t>(m)));
  return answer;
}

class BruteForceBackend : public Backend {
 public:
  std::string_view name() const override { return "brute_force"; }
  std::string_view description() const override {
    return "the second reference: a dense bitmap in a box of at most 2^27 cells a member";
  }

  Answer answer(const Case& c) const override {
    try {
      return answer_or_refusal(c, [&] { return answer_in_a_box(c); });
    } catch (const brute_force::BoxTooLarge& box) {
      return NotImplemented{std::string("the dense bitmap does not suffice: ") + box.what()};
    }
  }

 private:
  Answer answer_in_a_box(const Case& c) const {
    namespace bf = brute_force;
    const auto viewed = [&] { return c.view ? bf::view(c.source, *c.view) : c.source; };
    switch (c.op) {
      case Op::FromIjk:
        refuse_view_of_lists(c);
        return bf::from_ijk(c.source.members, c.source.maps, c.source.names);
      case Op::FromPoints:
        refuse_view_of_lists(c);
        return bf::from_points(c.points, c.source.maps, c.source.names);
      case Op::Refine:
        return bf::refine(viewed(), c.factor, c.mask ? &*c.mask : nullptr);
      case Op::Coarsen:
        return bf::coarsen(viewed(), c.factor);
      case Op::DilateBox:
        return bf::dilate_box(viewed(), c.lo, c.hi);
      case Op::Dual:
        return bf::dual(viewed());
      case Op::ErodeBox:
        return bf::erode_box(viewed(), c.lo, c.hi);
      case Op::Prune:
        return bf::prune(viewed(), required(c.mask, c, "mask"));
      case Op::Merge:
        return bf::merge(viewed(), required(c.other, c, "other"));
      case Op::Intersect:
        return bf::intersect(viewed(), required(c.other, c, "other"));
      case Op::Subtract:
        return bf::subtract(viewed(), required(c.other, c, "other"));
      case Op::MapAfter:
        return maps_after(c);
      default:
        return not_implemented(name(), c.op);
    }
  }
};

}  // namespace

std::unique_ptr<Backend> make_brute_force_backend() {
  return std::make_unique<BruteForceBackend>();
}

}  // namespace leafproof::oracle
