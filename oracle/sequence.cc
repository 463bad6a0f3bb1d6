// See sequence.h.
#include "oracle/sequence.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "reference/canonical_order.h"

namespace leafproof::oracle {
namespace {

constexpr std::pair<Change, std::string_view> kNames[] = {
    {Change::FactorX, "factor_x"},
    {Change::FactorY, "factor_y"},
    {Change::FactorZ, "factor_z"},
    {Change::FactorOrder, "factor_order"},
    {Change::BoxX, "box_x"},
    {Change::BoxY, "box_y"},
    {Change::BoxZ, "box_z"},
    {Change::BoxPlace, "box_place"},
    {Change::KernelSizeX, "kernel_size_x"},
    {Change::KernelSizeY, "kernel_size_y"},
    {Change::KernelSizeZ, "kernel_size_z"},
    {Change::KernelSizeOrder, "kernel_size_order"},
    {Change::StrideX, "stride_x"},
    {Change::StrideY, "stride_y"},
    {Change::StrideZ, "stride_z"},
    {Change::StrideOrder, "stride_order"},
    {Change::DilationX, "dilation_x"},
    {Change::DilationY, "dilation_y"},
    {Change::DilationZ, "dilation_z"},
    {Change::Direction, "direction"},
    {Change::Form, "form"},
    {Change::VoxelsX, "voxels_x"},
    {Change::VoxelsY, "voxels_y"},
    {Change::VoxelsZ, "voxels_z"},
    {Change::Middle, "middle"},
    {Change::Members, "members"},
    {Change::More, "more"},
    {Change::Partner, "partner"},
    {Change::Mask, "mask"},
    {Change::MaskOrder, "mask_order"},
    {Change::View, "view"},
    {Change::Maps, "maps"},
    {Change::Origin, "origin"},
    {Change::Features, "features"},
    {Change::Weights, "weights"},
    {Change::Bias, "bias"},
    {Change::GradOutput, "grad_output"},
    {Change::Type, "type"}};

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

/// X, Y or Z of three changes that follow each other.
std::size_t axis_of(Change change, Change x) {
  return static_cast<std::size_t>(change) - static_cast<std::size_t>(x);
}

/// Its axes turned on by one, which is another triple unless all are equal.
Triple turned(const Triple& t) {
  return {t[1], t[2], t[0]};
}
bool is_one_value(const Triple& t) {
  return t == turned(t);
}

bool any_voxel(const Batch& batch) {
  return std::any_of(batch.members.begin(), batch.members.end(),
                     [](const auto& member) { return !member.empty(); });
}

std::int32_t& at(Voxel& v, std::size_t axis) {
  return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/// Every member moved by one along an axis, away from the end of the lattice.
void move(Batch& batch, std::size_t axis, bool lists) {
  for (auto& member : batch.members) {
    const bool room = std::all_of(member.begin(), member.end(), [axis](Voxel v) {
      return at(v, axis) < std::numeric_limits<std::int32_t>::max();
    });
    if (!room) continue;
    for (Voxel& v : member) ++at(v, axis);
    if (!lists) reference::make_canonical(member);
  }
}

/// A member with a voxel between the first and the last, in whose place another may stand.
struct Gap {
  std::size_t member;
  std::vector<Voxel> voxels;
};
std::optional<Gap> gap(const Batch& batch) {
  for (std::size_t m = 0; m < batch.size(); ++m) {
    const auto& voxels = batch.members[m];
    for (std::size_t i = 1; i + 1 < voxels.size(); ++i) {
      Voxel beside = voxels[i];
      if (beside.z == std::numeric_limits<std::int32_t>::max()) continue;
      ++beside.z;
      if (std::find(voxels.begin(), voxels.end(), beside) != voxels.end()) continue;
      // Neither the first nor the last in canonical order either, which a list need not be in.
      if (reference::canonical_less(voxels.back(), beside)) continue;
      Gap found{m, voxels};
      found.voxels[i] = beside;
      return found;
    }
  }
  return {};
}

/// Members next to each other, of which the first has a voxel that the second has not.
std::optional<std::size_t> giver(const Batch& batch) {
  for (std::size_t m = 0; m + 1 < batch.size(); ++m) {
    const auto& next = batch.members[m + 1];
    const auto& own = batch.members[m];
    if (!own.empty() && std::find(next.begin(), next.end(), own.back()) == next.end()) return m;
  }
  return {};
}

/// Where two flags of a member differ that follow each other.
struct Edge {
  std::size_t member, flag;
};
std::optional<Edge> edge(const Case& c) {
  for (std::size_t m = 0; c.mask && m < c.mask->size(); ++m) {
    const auto& flags = (*c.mask)[m];
    const auto at = std::adjacent_find(flags.begin(), flags.end(), std::not_equal_to<>());
    if (at != flags.end()) return Edge{m, static_cast<std::size_t>(at - flags.begin())};
  }
  return {};
}

/// To the next narrower type, but for the narrowest; the same numbers, which are rounded to it.
void change_type(reference::Operands& o) {
  using reference::NumberType;
  o.type = o.type == NumberType::Int32     ? NumberType::Float64
           : o.type == NumberType::Float32 ? NumberType::Float16
                                           : NumberType::Float32;
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
  const bool sized = convolves(c.op) && !is_numeric(c.op);  // whose weights have its shape
  const bool scaled = is_any(c.op, {Op::Refine, Op::Coarsen, Op::MapAfter});
  const bool listed = !is_any(c.op, {Op::FromPoints, Op::MapAfter});
  switch (change) {
    case Change::FactorX:
    case Change::FactorY:
    case Change::FactorZ:
      return scaled;
    case Change::FactorOrder:
      return scaled && !is_one_value(c.factor);
    case Change::BoxX:
    case Change::BoxY:
    case Change::BoxZ:
      return is_any(c.op, {Op::DilateBox, Op::ErodeBox});
    case Change::BoxPlace:  // where there is room below
      return is_any(c.op, {Op::DilateBox, Op::ErodeBox}) &&
             c.lo[2] > std::numeric_limits<std::int64_t>::min();
    case Change::KernelSizeX:
    case Change::KernelSizeY:
    case Change::KernelSizeZ:
      return sized;
    case Change::KernelSizeOrder:
      return sized && !is_one_value(c.kernel.size);
    case Change::StrideX:
    case Change::StrideY:
    case Change::StrideZ:
      return strided;
    case Change::StrideOrder:
      return strided && !is_one_value(c.kernel.stride);
    case Change::DilationX:
    case Change::DilationY:
    case Change::DilationZ:  // where it matters
      return convolves(c.op) && c.kernel.size[axis_of(change, Change::DilationX)] > 1;
    case Change::Direction:
      return c.op == Op::KernelMap || is_numeric(c.op);
    case Change::Form:
      return c.op == Op::KernelMap;
    case Change::VoxelsX:
    case Change::VoxelsY:
    case Change::VoxelsZ:
      return c.op == Op::FromPoints ? !c.points.empty() && !c.points.front().empty()
                                    : any_voxel(c.source);
    case Change::Middle:
      return listed && gap(c.source);
    case Change::Members:  // flags are as many as the voxels
      return listed && !c.mask && giver(c.source);
    case Change::More:  // flags and features are as many as the voxels
      return listed && !c.mask && !is_numeric(c.op) && any_voxel(c.source);
    case Change::Partner: {
      const auto& partner = c.*partner_of(c);
      return partner && any_voxel(*partner);
    }
    case Change::Mask:
      return c.mask && !c.mask->empty() && !c.mask->front().empty();
    case Change::MaskOrder:
      return edge(c).has_value();
    case Change::View:
      return c.view && c.view->size() > 1 && c.view->front() != c.view->back();
    case Change::Maps:
    case Change::Origin:  // where the answer has them
      return (!convolves(c.op) || is_any(c.op, {Op::ConvGrid, Op::ConvTransposeGrid})) &&
             !c.source.maps.empty() && !c.source.names.empty();
    case Change::Features:
      return is_numeric(c.op) && !c.operands.features.values.empty();
    case Change::Weights:
      return is_numeric(c.op) && !c.operands.weights.values.empty();
    case Change::Bias:
      return c.op == Op::Convolution && c.operands.bias && !c.operands.bias->values.empty();
    case Change::GradOutput:
      return c.op == Op::ConvolutionGradients && c.operands.grad_output &&
             !c.operands.grad_output->values.empty();
    case Change::Type:
      return is_numeric(c.op);
  }
  return false;
}

Case changed(const Case& question, Change change) {
  Case c = question;
  const auto others = [](reference::Array& array) {  // of every type of numbers
    for (double& x : array.values) x = x == 1 ? 2 : 1;
  };
  switch (change) {
    case Change::FactorX:
    case Change::FactorY:
    case Change::FactorZ:
      step(c.factor[axis_of(change, Change::FactorX)]);
      break;
    case Change::FactorOrder:
      c.factor = turned(c.factor);
      break;
    case Change::BoxX:
    case Change::BoxY:
    case Change::BoxZ: {
      const std::size_t axis = axis_of(change, Change::BoxX);
      if (c.hi[axis] > c.lo[axis])
        --c.hi[axis];
      else if (c.lo[axis] > std::numeric_limits<std::int64_t>::min())
        --c.lo[axis];
      break;
    }
    case Change::BoxPlace:
      --c.lo[2];
      --c.hi[2];
      break;
    case Change::KernelSizeX:
    case Change::KernelSizeY:
    case Change::KernelSizeZ: {
      std::int64_t& size = c.kernel.size[axis_of(change, Change::KernelSizeX)];
      if (c.op == Op::SubmanifoldIndexMap)
        size += size > 2 ? -2 : 2;  // odd as it was
      else
        step(size);
      break;
    }
    case Change::KernelSizeOrder:
      c.kernel.size = turned(c.kernel.size);
      break;
    case Change::StrideX:
    case Change::StrideY:
    case Change::StrideZ:
      step(c.kernel.stride[axis_of(change, Change::StrideX)]);
      break;
    case Change::StrideOrder:
      c.kernel.stride = turned(c.kernel.stride);
      break;
    case Change::DilationX:
    case Change::DilationY:
    case Change::DilationZ:
      step(c.kernel.dilation[axis_of(change, Change::DilationX)]);
      break;
    case Change::Direction:
      c.direction = c.direction == Direction::Forward ? Direction::Transposed : Direction::Forward;
      break;
    case Change::Form:
      c.dense = !c.dense;
      break;
    case Change::VoxelsX:
    case Change::VoxelsY:
    case Change::VoxelsZ: {
      const std::size_t axis = axis_of(change, Change::VoxelsX);
      if (c.op == Op::FromPoints)
        c.points.front().front()[axis] +=
            c.source.maps.empty() ? 1 : c.source.maps[0].voxel_size[axis];
      else
        move(c.source, axis, c.op == Op::FromIjk);
      break;
    }
    case Change::Middle: {
      auto other = gap(c.source);
      if (c.op != Op::FromIjk) reference::make_canonical(other->voxels);
      c.source.members[other->member] = std::move(other->voxels);
      break;
    }
    case Change::Members: {
      const std::size_t from = *giver(c.source);
      auto& next = c.source.members[from + 1];
      next.insert(next.begin(), c.source.members[from].back());
      c.source.members[from].pop_back();
      if (c.op != Op::FromIjk) reference::make_canonical(next);
      break;
    }
    case Change::More:
      for (auto& member : c.source.members) {
        const std::vector<Voxel> voxels = member;
        for (const Voxel& v : voxels)
          if (v.x < std::numeric_limits<std::int32_t>::max()) member.push_back({v.x + 1, v.y, v.z});
        if (c.op != Op::FromIjk) reference::make_canonical(member);
      }
      break;
    case Change::Partner:
      move(*(c.*partner_of(c)), 0, false);
      break;
    case Change::Mask:
      c.mask->front().front() ^= 1;
      break;
    case Change::MaskOrder: {
      const Edge at = *edge(c);
      auto& flags = (*c.mask)[at.member];
      std::swap(flags[at.flag], flags[at.flag + 1]);
      break;
    }
    case Change::View:
      std::reverse(c.view->begin(), c.view->end());
      break;
    case Change::Maps:
      c.source.maps[0].voxel_size[0] *= 2;
      c.source.names[0] = c.source.names[0] == "another" ? "" : "another";
      break;
    case Change::Origin:
      c.source.maps[0].origin[1] = c.source.maps[0].origin[1] == 1 ? -1 : 1;
      break;
    case Change::Features:
      others(c.operands.features);
      break;
    case Change::Weights:
      others(c.operands.weights);
      break;
    case Change::Bias:
      others(*c.operands.bias);
      break;
    case Change::GradOutput:
      others(*c.operands.grad_output);
      break;
    case Change::Type:
      change_type(c.operands);
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
