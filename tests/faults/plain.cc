#include "tests/faults/plain.h"

#include "oracle/backends/answering.h"
#include "oracle/conv_answers.h"
#include "reference/checks.h"
#include "reference/conv_relation.h"
#include "tests/faults/plain_layout.h"
#include "tests/faults/plain_maps.h"
#include "tests/faults/plain_numbers.h"
#include "tests/faults/plain_sets.h"

namespace leafproof::faults {
namespace {

using namespace oracle;

bool is_pass(Op op) {
  return !convolves(op) || op == Op::ConvGrid || op == Op::ConvTransposeGrid;
}

/// Source and target of a map [K-6].
struct Sides {
  Batch source, target;
  bool complete;
};

Sides sides_of(Fault fault, const Case& c) {
  Sides sides{members_read(fault, c), {}, !c.target || fault == Fault::TargetIgnored};
  reference::check_kernel("kernel_map", c.kernel);
  if (c.target && c.target->size() != sides.source.size())
    reference::refuse(ErrorKind::ShapeMismatch, "kernel_map", "target",
                      std::to_string(c.target->size()), "as many members as the source");
  if (sides.complete) {
    sides.target = support(fault, c.kernel, c.direction, sides.source);
    return sides;
  }
  reference::check_batch("kernel_map", sides.source);
  reference::check_members("kernel_map", "target", c.target->members);
  sides.target = *c.target;
  return sides;
}

Answer map_answer(Fault fault, const Case& c) {
  const Sides sides = sides_of(fault, c);
  const auto map = map_of(fault, sides.source, sides.target, c.kernel, c.direction, false);
  const auto target = c.target ? nullptr : as_target(laid_out(fault, sides.target));
  if (c.dense) return DenseMapAnswer{dense_of(map), {}, {}, target, c.kernel.size};
  return KernelMapAnswer{map, {}, {}, target, c.kernel.size, c.direction};
}

Answer submanifold(Fault fault, const Case& c) {
  for (std::size_t a = 0; a < 3; ++a)
    if (c.kernel.size[a] % 2 == 0 || c.kernel.stride[a] != 1)
      reference::refuse(ErrorKind::InvalidArgument, "submanifold_index_map", "kernel_size",
                        reference::to_text(c.kernel.size), "must be odd, and the stride 1");
  reference::check_kernel("submanifold_index_map", c.kernel);
  const Batch source = members_read(fault, c);
  reference::check_batch("submanifold_index_map", source);
  const auto map = map_of(fault, source, source, c.kernel, Direction::Forward, true);
  return DenseMapAnswer{dense_of(map), {}, {}, nullptr, c.kernel.size};
}

Answer numbers(Fault fault, Case& c) {
  const Sides sides = sides_of(fault, c);
  c.operands.target_is_source = sides.complete;  // [V-4]
  const auto map = map_of(fault, sides.source, sides.target, c.kernel, c.direction, false);
  if (c.op == Op::Convolution) return convolved(fault, map, c.kernel, c.operands);
  return gradients_of(fault, map, c.kernel, c.operands);
}

}  // namespace

Answer plain_answer(Fault fault, Case& c) {
  return answer_or_refusal(c, [&]() -> Answer {
    if (is_pass(c.op)) return laid_out(fault, passed(fault, c, members_read(fault, c)));
    if (c.op == Op::KernelMap) return map_answer(fault, c);
    if (c.op == Op::SubmanifoldIndexMap) return submanifold(fault, c);
    return numbers(fault, c);
  });
}

}  // namespace leafproof::faults
