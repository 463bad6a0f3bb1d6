// See sequence.h.
#include "oracle/sequence.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "reference/canonical_order.h"

namespace leafproof::oracle {
namespace {

constexpr std::pair<Change, std::string_view> kNames[] = {{Change::Factor, "factor"},
                                                          {Change::Box, "box"},
                                                          {Change::KernelSize, "kernel_size"},
                                                          {Change::Stride, "stride"},
                                                          {Change::Dilation, "dilation"},
                                                          {Change::Direction, "direction"},
                                                          {Change::Form, "form"},
                                                          {Change::Voxels, "voxels"},
                                                          {Change::More, "more"},
                                                          {Change::Partner, "partner"},
                                                          {Change::Mask, "mask"},
                                                          {Change::View, "view"},
                                                          {Change::Maps, "maps"},
                                                          {Change::Features, "features"},
                                                          {Change::Weights, "weights"}};

bool is_any(Op op, std::initializer_list<Op> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}
bool is_numeric(Op op) {
  return is_any(op, {Op::Convolution, Op::ConvolutionGradients});
}

/// One less, so that it is no more work, where that is a parameter at all.
void step(std::int64_t& parameter) {
  parameter += parameter > 1 ? -1 : 1;
}

/// One on which the dilation matters.
std::size_t wide_axis(const Kernel& kernel) {
  const auto wide = std::find_if(kernel.size.begin(), kernel.size.end(),
                                 [](std::int64_t size) { return size > 1; });
  return wide == kernel.size.end() ? 0 : static_cast<std::size_t>(wide - kernel.size.begin());
}

bool any_voxel(const Batch& batch) {
  return std::any_of(batch.members.begin(), batch.members.end(),
                     [](const auto& member) { return !member.empty(); });
}

/// Every member moved by one along x, away from the end of the lattice.
void move(Batch& batch, bool lists) {
  for (auto& member : batch.members) {
    const bool room = std::all_of(member.begin(), member.end(), [](const Voxel& v) {
      return v.x < std::numeric_limits<std::int32_t>::max();
    });
    if (!room) continue;
    for (Voxel& v : member) ++v.x;
    if (!lists) reference::make_canonical(member);
  }
}

/// The first batch that an operation has besides its source.
std::optional<Batch> Case::* partner_of(const Case& c) {
  return c.other ? &Case::other : &Case::target;
}

}  // namespace

std::string_view to_string(Change change) {
  for (const auto& [of, name] : kNames)
    if (of == change) return name;
  return "";
}

std::optional<Change> parse_change(std::string_view name) {
  for (const auto& [change, of] : kNames)
    if (of == name) return change;
  return {};
}

std::span<const Change> changes() {
  static const auto all = [] {
    std::array<Change, std::size(kNames)> list{};
    std::transform(std::begin(kNames), std::end(kNames), list.begin(),
                   [](const auto& pair) { return pair.first; });
    return list;
  }();
  return all;
}

bool has(const Case& c, Change change) {
  const bool strided = convolves(c.op) && c.op != Op::SubmanifoldIndexMap;
  switch (change) {
    case Change::Factor:
      return is_any(c.op, {Op::Refine, Op::Coarsen, Op::MapAfter});
    case Change::Box:
      return is_any(c.op, {Op::DilateBox, Op::ErodeBox});
    case Change::KernelSize:
      return convolves(c.op) && !is_numeric(c.op);  // whose weights have its shape
    case Change::Stride:
      return strided;
    case Change::Dilation:
      return convolves(c.op);
    case Change::Direction:
      return c.op == Op::KernelMap || is_numeric(c.op);
    case Change::Form:
      return c.op == Op::KernelMap;
    case Change::Voxels:
      return c.op == Op::FromPoints ? !c.points.empty() && !c.points.front().empty()
                                    : any_voxel(c.source);
    case Change::More:  // flags and features are as many as the voxels
      return !c.mask && !is_numeric(c.op) && c.op != Op::FromPoints && any_voxel(c.source);
    case Change::Partner: {
      const auto& partner = c.*partner_of(c);
      return partner && any_voxel(*partner);
    }
    case Change::Mask:
      return c.mask && !c.mask->empty() && !c.mask->front().empty();
    case Change::View:
      return c.view && c.view->size() > 1 && c.view->front() != c.view->back();
    case Change::Maps:
      return !c.source.maps.empty() && !c.source.names.empty();
    case Change::Features:
      return is_numeric(c.op) && !c.operands.features.values.empty();
    case Change::Weights:
      return is_numeric(c.op) && !c.operands.weights.values.empty();
  }
  return false;
}

Case changed(const Case& question, Change change) {
  Case c = question;
  const auto other_than = [](double& x) { x = x == 1 ? 2 : 1; };  // of every type of numbers
  switch (change) {
    case Change::Factor:
      step(c.factor[0]);
      break;
    case Change::Box:
      if (c.hi[0] > c.lo[0])
        --c.hi[0];
      else if (c.lo[0] > std::numeric_limits<std::int64_t>::min())
        --c.lo[0];
      break;
    case Change::KernelSize:
      step(c.kernel.size[0]);
      break;
    case Change::Stride:
      step(c.kernel.stride[1]);
      break;
    case Change::Dilation:
      step(c.kernel.dilation[wide_axis(c.kernel)]);
      break;
    case Change::Direction:
      c.direction = c.direction == Direction::Forward ? Direction::Transposed : Direction::Forward;
      break;
    case Change::Form:
      c.dense = !c.dense;
      break;
    case Change::Voxels:
      if (c.op == Op::FromPoints)
        c.points.front().front()[0] += c.source.maps.empty() ? 1 : c.source.maps[0].voxel_size[0];
      else
        move(c.source, c.op == Op::FromIjk);
      break;
    case Change::More:
      for (auto& member : c.source.members) {
        const std::vector<Voxel> voxels = member;
        for (const Voxel& v : voxels)
          if (v.x < std::numeric_limits<std::int32_t>::max()) member.push_back({v.x + 1, v.y, v.z});
        if (c.op != Op::FromIjk) reference::make_canonical(member);
      }
      break;
    case Change::Partner:
      move(*(c.*partner_of(c)), false);
      break;
    case Change::Mask:
      c.mask->front().front() ^= 1;
      break;
    case Change::View:
      std::reverse(c.view->begin(), c.view->end());
      break;
    case Change::Maps:
      c.source.maps[0].voxel_size[0] *= 2;
      c.source.names[0] = c.source.names[0] == "another" ? "" : "another";
      break;
    case Change::Features:
      for (double& x : c.operands.features.values) other_than(x);
      break;
    case Change::Weights:
      for (double& x : c.operands.weights.values) other_than(x);
      break;
  }
  return c;
}

Answer AfterAnother::answer(const Case& question) const {
  if (change_ && has(question, *change_))
    static_cast<void>(backend_.answer(changed(question, *change_)));
  return backend_.answer(question);
}

}  // namespace leafproof::oracle
