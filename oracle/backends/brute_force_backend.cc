// Each operation is one call of reference/brute_force.h, or of its convolution.
#include "oracle/backends/brute_force_backend.h"

#include "oracle/backends/answering.h"
#include "oracle/conv_answers.h"
#include "reference/brute_force.h"
#include "reference/brute_force_conv.h"

namespace leafproof::oracle {
namespace {

Maps maps_after(const Case& c) {
  Maps answer;
  for (std::size_t m = 0; m < c.source.maps.size(); ++m)
    answer.maps.push_back(brute_force::map_after(std::string(to_string(c.mapped)), c.source.maps[m],
                                                 c.factor, static_cast<std::int64_t>(m)));
  return answer;
}

// --- convolution

namespace bf = brute_force;

Batch viewed(const Case& c) {
  return c.view ? bf::view(c.source, *c.view) : c.source;
}

Layout grid(const Batch& source, const Kernel& kernel, Direction direction) {
  return direction == Direction::Forward ? bf::conv_grid(source, kernel)
                                         : bf::conv_transpose_grid(source, kernel);
}

Answer kernel_map(const Case& c) {
  const Batch source = viewed(c);
  Batch target;
  std::shared_ptr<const std::variant<Layout, GridBuffer>> complete;
  if (c.target) {
    target = *c.target;
  } else {
    Layout layout = grid(source, c.kernel, c.direction);
    target = bf::voxels_of(layout);
    complete = as_target(std::move(layout));
  }
  if (c.dense)
    return DenseMapAnswer{
        bf::dense_map(source, target, c.kernel, c.direction), {}, {}, complete, c.kernel.size};
  return KernelMapAnswer{bf::kernel_map(source, target, c.kernel, c.direction),
                         {},
                         {},
                         complete,
                         c.kernel.size,
                         c.direction};
}

Answer convolution(const Case& c) {
  const Batch source = viewed(c);
  const Batch target = c.target ? *c.target : bf::voxels_of(grid(source, c.kernel, c.direction));
  Operands operands = c.operands;
  operands.target_is_source = !c.target;
  const auto map = bf::kernel_map(source, target, c.kernel, c.direction);
  if (c.op == Op::Convolution)
    return numbers_of(bf::convolve(map, c.kernel, operands), operands.type);
  auto gradients = bf::gradients(map, c.kernel, operands);
  return GradientsAnswer{numbers_of(std::move(gradients.features), operands.type),
                         numbers_of(std::move(gradients.weights), operands.type),
                         numbers_of(std::move(gradients.bias), operands.type)};
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
    switch (c.op) {
      case Op::FromIjk:
        refuse_view_of_lists(c);
        return bf::from_ijk(c.source.members, c.source.maps, c.source.names);
      case Op::FromPoints:
        refuse_view_of_lists(c);
        return bf::from_points(c.points, c.source.maps, c.source.names);
      case Op::Refine:
        return bf::refine(viewed(c), c.factor, c.mask ? &*c.mask : nullptr);
      case Op::Coarsen:
        return bf::coarsen(viewed(c), c.factor);
      case Op::DilateBox:
        return bf::dilate_box(viewed(c), c.lo, c.hi);
      case Op::Dual:
        return bf::dual(viewed(c));
      case Op::ErodeBox:
        return bf::erode_box(viewed(c), c.lo, c.hi);
      case Op::Prune:
        return bf::prune(viewed(c), required(c.mask, c, "mask"));
      case Op::Merge:
        return bf::merge(viewed(c), required(c.other, c, "other"));
      case Op::Intersect:
        return bf::intersect(viewed(c), required(c.other, c, "other"));
      case Op::Subtract:
        return bf::subtract(viewed(c), required(c.other, c, "other"));
      case Op::MapAfter:
        return maps_after(c);
      case Op::ConvGrid:
        return bf::conv_grid(viewed(c), c.kernel);
      case Op::ConvTransposeGrid:
        return bf::conv_transpose_grid(viewed(c), c.kernel);
      case Op::KernelMap:
        return kernel_map(c);
      case Op::SubmanifoldIndexMap:
        return DenseMapAnswer{
            bf::submanifold_map(viewed(c), c.kernel), {}, {}, nullptr, c.kernel.size};
      case Op::Convolution:
      case Op::ConvolutionGradients:
        return convolution(c);
    }
    return not_implemented(name(), c.op);
  }
};

}  // namespace

std::unique_ptr<Backend> make_brute_force_backend() {
  return std::make_unique<BruteForceBackend>();
}

}  // namespace leafproof::oracle
