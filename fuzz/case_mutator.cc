// See case_mutator.h. Draws are made one per statement or in braces, never twice in one argument
// list: their order must not depend on the compiler.
#include "fuzz/case_mutator.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "fuzz/case_mend.h"
#include "oracle/case_edit.h"
#include "oracle/choice_source.h"
#include "oracle/generate.h"
#include "oracle/generate_conv.h"

namespace leafproof::fuzz {
namespace {

using namespace oracle;
using reference::Array;
using Draw = ChoiceSource;

/// False where there is nothing to change.
struct Edit {
  std::string_view name;
  bool (*apply)(Case& c, Draw& r, const std::vector<Op>& ops);
};

constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t axis(Draw& r) {
  return static_cast<std::size_t>(r.between(0, 2));
}
std::size_t below(Draw& r, std::size_t count) {
  return static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(count) - 1));
}

/// Steps across the boundaries of leaf, lower node and root tile, and one off.
std::int64_t step(Draw& r) {
  const std::int64_t size = r.pick<std::int64_t>(
      {1, 1, 2, 7, 8, 9, 64, 127, 128, 129, 4095, 4096, 4097, 1 << 17, 1 << 20, 1 << 30});
  return r.one_in(2) ? -size : size;
}
/// Where trees go wrong.
std::int32_t place(Draw& r) {
  const std::int64_t at = r.pick<std::int64_t>(
      {0, 8, -8, 128, -128, 4096, -4096, 1 << 17, -(1 << 17), 1 << 24, -(1 << 24),
       std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()});
  const std::int64_t off = r.between(-1, 1);
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(at + off, std::numeric_limits<std::int32_t>::min(),
                               std::numeric_limits<std::int32_t>::max()));
}
std::int32_t moved(std::int32_t x, std::int64_t by) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(
      x + by, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}
Voxel moved(const Voxel& v, const Triple& by) {
  return {moved(v.x, by[0]), moved(v.y, by[1]), moved(v.z, by[2])};
}
Triple along_an_axis(Draw& r) {
  Triple by{0, 0, 0};
  const std::size_t a = axis(r);
  by[a] = step(r);
  return by;
}

Batch* batch_of(Case& c, Side side) {
  return const_cast<Batch*>(batch_on(c, side));
}
/// A side with members, or nullptr.
Batch* any_batch(Case& c, Draw& r, Side* which = nullptr) {
  const Side side = r.pick({Side::Source, Side::Other, Side::Target, Side::Source});
  Batch* batch = batch_of(c, side);
  if (which != nullptr) *which = side;
  return batch == nullptr || batch->members.empty() ? nullptr : batch;
}

// --- voxels

bool add_voxels(Case& c, Draw& r, const std::vector<Op>&) {
  Batch* batch = any_batch(c, r);
  if (batch == nullptr || c.op == Op::FromPoints) return false;
  auto& member = batch->members[below(r, batch->size())];
  Voxel from{place(r), place(r), place(r)};
  if (!member.empty() && !r.one_in(4)) {
    from = member[below(r, member.size())];
    from = moved(from, along_an_axis(r));
  }
  const Triple by = along_an_axis(r);
  for (std::int64_t more = r.pick<std::int64_t>({1, 1, 1, 2, 9}); more > 0; --more) {
    member.push_back(from);
    from = moved(from, by);
  }
  return true;
}

bool fill_block(Case& c, Draw& r, const std::vector<Op>&) {
  Batch* batch = any_batch(c, r);
  if (batch == nullptr || c.op == Op::FromPoints) return false;
  auto& member = batch->members[below(r, batch->size())];
  Voxel corner{place(r), place(r), place(r)};
  if (!member.empty() && !r.one_in(4)) corner = member[below(r, member.size())];
  const std::array<std::int64_t, 3> sides{r.between(1, 4), r.between(1, 4), r.between(1, 9)};
  const std::int64_t every = r.pick<std::int64_t>({1, 1, 2, 3});  // a parity of it
  for (std::int64_t x = 0; x < sides[0]; ++x)
    for (std::int64_t y = 0; y < sides[1]; ++y)
      for (std::int64_t z = 0; z < sides[2]; ++z)
        if ((x + y + z) % every == 0) member.push_back(moved(corner, {x, y, z}));
  return true;
}

bool drop_some_voxels(Case& c, Draw& r, const std::vector<Op>&) {
  Side side{};
  const Batch* batch = any_batch(c, r, &side);
  const std::size_t voxels = batch == nullptr ? 0 : voxels_on(c, side);
  if (voxels == 0) return false;
  const std::size_t begin = below(r, voxels);
  const std::size_t count = r.one_in(4) ? voxels / 2 : 1;
  drop_voxels(c, side, begin, count);
  return true;
}

bool move_voxel(Case& c, Draw& r, const std::vector<Op>&) {
  Side side{};
  Batch* batch = any_batch(c, r, &side);
  const std::size_t voxels = batch == nullptr ? 0 : voxels_on(c, side);
  if (voxels == 0) return false;
  std::size_t left = below(r, voxels);
  const Triple by = along_an_axis(r);
  map_voxels(c, side, [&](const Voxel& v) { return left-- == 0 ? moved(v, by) : v; });
  return true;
}

bool move_batch(Case& c, Draw& r, const std::vector<Op>&) {
  Side side{};
  const Batch* batch = any_batch(c, r, &side);
  if (batch == nullptr || voxels_on(c, side) == 0) return false;
  const Triple by = along_an_axis(r);
  map_voxels(c, side, [&](const Voxel& v) { return moved(v, by); });
  return true;
}

/// Every voxel v becomes -1 - v on an axis: leaves stay leaves.
bool mirror(Case& c, Draw& r, const std::vector<Op>&) {
  Side side{};
  const Batch* batch = any_batch(c, r, &side);
  if (batch == nullptr || voxels_on(c, side) == 0) return false;
  const std::size_t a = axis(r);
  map_voxels(c, side, [a](const Voxel& v) {
    return Voxel{a == 0 ? ~v.x : v.x, a == 1 ? ~v.y : v.y, a == 2 ? ~v.z : v.z};
  });
  return true;
}

bool shuffle_list(Case& c, Draw& r, const std::vector<Op>&) {
  if (c.op != Op::FromIjk || c.source.members.empty()) return false;
  auto& list = c.source.members[below(r, c.source.size())];
  if (list.empty()) return false;
  if (r.one_in(2)) list.push_back(list[below(r, list.size())]);
  r.shuffle(list);
  return true;
}

bool edit_points(Case& c, Draw& r, const std::vector<Op>&) {
  if (c.op != Op::FromPoints) return false;
  if (c.points.empty()) c.points.emplace_back();
  const std::size_t m = below(r, c.points.size());
  auto& points = c.points[m];
  const Map map = m < c.source.maps.size() ? c.source.maps[m] : Map{};
  Point p{};
  for (std::size_t a = 0; a < 3; ++a) {  // at a centre, a boundary of cells, and beside them
    const double at = place(r);
    const double off = r.pick<double>({0, 0.5, -0.5, 0.25, 0x1p-20, -0x1p-30, 1.0 / 3});
    p[a] = (at + off) * map.voxel_size[a] + map.origin[a];
  }
  if (!points.empty() && r.one_in(2)) {
    const std::size_t a = axis(r);
    points[below(r, points.size())][a] = p[a];
  } else {
    points.push_back(p);
  }
  return true;
}

bool drop_some_points(Case& c, Draw& r, const std::vector<Op>&) {
  const std::size_t points = points_in(c);
  if (points == 0) return false;
  const std::size_t begin = below(r, points);
  drop_points(c, begin, r.one_in(4) ? points : 1);
  return true;
}

// --- members and views

bool add_member(Case& c, Draw& r, const std::vector<Op>&) {
  Batch& batch = c.source;
  const std::size_t at = below(r, batch.size() + 1);
  std::vector<Voxel> voxels;
  if (batch.size() > 0 && !r.one_in(3)) voxels = batch.members[below(r, batch.size())];
  const auto place_of = static_cast<std::ptrdiff_t>(at);
  batch.members.insert(batch.members.begin() + place_of, voxels);
  batch.maps.insert(batch.maps.begin() + place_of, Map{});
  batch.names.insert(batch.names.begin() + place_of, "");
  if (c.op == Op::FromPoints)
    c.points.insert(c.points.begin() + static_cast<std::ptrdiff_t>(std::min(at, c.points.size())),
                    std::vector<Point>{});
  if (c.view) c.view->push_back(static_cast<std::int64_t>(at));
  return true;
}

bool drop_member(Case& c, Draw& r, const std::vector<Op>&) {
  if (positions(c) == 0) return false;
  drop_positions(c, below(r, positions(c)), 1);
  return true;
}

bool empty_member(Case& c, Draw& r, const std::vector<Op>&) {
  Batch* batch = any_batch(c, r);
  if (batch == nullptr) return false;
  batch->members[below(r, batch->size())].clear();
  return true;
}

bool exchange_members(Case& c, Draw& r, const std::vector<Op>&) {
  Batch* batch = any_batch(c, r);
  if (batch == nullptr || batch->size() < 2) return false;
  const std::size_t a = below(r, batch->size());
  const std::size_t b = below(r, batch->size());
  std::swap(batch->members[a], batch->members[b]);
  return a != b;
}

bool make_view(Case& c, Draw& r, const std::vector<Op>&) {
  if (c.op == Op::FromIjk || c.op == Op::FromPoints) return false;
  if (!c.view) {
    c.view.emplace();
    for (std::size_t m = 0; m < c.source.size(); ++m)
      c.view->push_back(static_cast<std::int64_t>(m));
  }
  switch (r.between(0, 3)) {
    case 0:
      r.shuffle(*c.view);
      break;
    case 1:
      if (!c.view->empty()) c.view->erase(c.view->begin());
      break;
    default:
      if (c.source.size() > 0)
        c.view->push_back(static_cast<std::int64_t>(below(r, c.source.size())));
  }
  return true;
}

bool end_view(Case& c, Draw& r, const std::vector<Op>&) {
  if (!c.view) return false;
  if (r.one_in(2)) {
    c.view.reset();
  } else {
    resolve_view(c);
  }
  return true;
}

// --- parameters

bool edit_factor(Case& c, Draw& r, const std::vector<Op>&) {
  if (c.op != Op::Refine && c.op != Op::Coarsen) return false;
  const std::size_t a = axis(r);
  c.factor[a] = r.pick<std::int64_t>({1, 2, 3, 4, 5, 7, 8, 9, 16, 127, 128, 129, 1023, 1024});
  if (c.op == Op::Coarsen && r.one_in(6))
    c.factor[a] =
        r.pick<std::int64_t>({4096, std::int64_t{1} << 31, std::int64_t{1} << 40, kMax64});
  if (r.one_in(4)) c.factor = {c.factor[a], c.factor[a], c.factor[a]};
  return true;
}

bool edit_box(Case& c, Draw& r, const std::vector<Op>&) {
  if (c.op != Op::DilateBox && c.op != Op::ErodeBox) return false;
  const std::size_t a = axis(r);
  if (r.one_in(3)) {  // a shift
    const std::int64_t by =
        r.one_in(6) ? r.pick<std::int64_t>({std::int64_t{1} << 31, -(std::int64_t{1} << 31)})
                    : step(r);
    c.lo[a] += by;
    c.hi[a] += by;
  } else if (r.one_in(2)) {
    c.lo[a] -= r.pick<std::int64_t>({1, -1, 2, 7, 8, 100, 1000});
  } else {
    c.hi[a] += r.pick<std::int64_t>({1, -1, 2, 7, 8, 100, 1000});
  }
  return true;
}

bool edit_kernel(Case& c, Draw& r, const std::vector<Op>&) {
  if (!convolves(c.op)) return false;
  const std::size_t a = axis(r);
  Kernel& k = c.kernel;
  switch (r.between(0, 3)) {
    case 0:
      k.size[a] = r.pick<std::int64_t>({1, 2, 3, 3, 4, 5, 6, 7, 31, 64, 128});
      break;
    case 1:
      k.stride[a] = r.pick<std::int64_t>({1, 2, 2, 3, 4, 5, 8, 63, 64});
      break;
    case 2:
      k.dilation[a] = r.pick<std::int64_t>({1, 1, 2, 3, 4, 15, 16});
      break;
    default:
      k.size.fill(k.size[a]);
      k.stride.fill(k.stride[a]);
      k.dilation.fill(k.dilation[a]);
  }
  return true;
}

bool cut_taps(Case& c, Draw& r, const std::vector<Op>&) {
  const std::size_t a = axis(r);
  if (!convolves(c.op) || c.kernel.size[a] < 2 || c.kernel.size[a] > 128) return false;
  const std::int64_t size = r.between(1, c.kernel.size[a] - 1);
  cut_kernel(c, a, size, r.one_in(2));
  return true;
}

bool turn(Case& c, Draw& r, const std::vector<Op>&) {
  if (!convolves(c.op)) return false;
  if (c.op == Op::KernelMap && r.one_in(2)) {
    c.dense = !c.dense;
  } else {
    c.direction = c.direction == Direction::Forward ? Direction::Transposed : Direction::Forward;
  }
  return true;
}

bool exchange_two_axes(Case& c, Draw& r, const std::vector<Op>&) {
  const std::size_t a = axis(r);
  exchange_axes(c, a, (a + 1) % 3);
  return true;
}

bool change_operation(Case& c, Draw& r, const std::vector<Op>& ops) {
  c.op = r.pick(ops);
  return true;
}

// --- what comes with voxels and members

bool flip_flags(Case& c, Draw& r, const std::vector<Op>&) {
  if (c.op != Op::Prune && c.op != Op::Refine) return false;
  if (!c.mask || c.mask->empty()) {
    c.mask.emplace(positions(c));  // all on, when mended
    return true;
  }
  if (c.op == Op::Refine && r.one_in(6)) {
    c.mask.reset();
    return true;
  }
  auto& flags = (*c.mask)[below(r, c.mask->size())];
  if (flags.empty()) return false;
  const std::size_t begin = below(r, flags.size());
  const std::size_t end = r.one_in(3) ? flags.size() : begin + 1;
  for (std::size_t i = begin; i < end; ++i) flags[i] ^= 1;
  return true;
}

bool edit_other(Case& c, Draw& r, const std::vector<Op>&) {
  if (!c.other) return false;
  Case seen = c;
  resolve_view(seen);
  switch (r.between(0, 2)) {
    case 0:
      *c.other = seen.source;
      break;
    case 1:
      std::swap(c.source, *c.other);
      c.view.reset();
      break;
    default:
      for (auto& member : c.other->members)
        if (r.one_in(2)) member.clear();
  }
  return true;
}

bool edit_target(Case& c, Draw& r, const std::vector<Op>&) {
  if (c.op != Op::KernelMap && c.op != Op::Convolution && c.op != Op::ConvolutionGradients)
    return false;
  Case seen = c;
  resolve_view(seen);
  if (c.target && r.one_in(3)) {
    c.target.reset();
    return true;
  }
  c.target = seen.source;
  const bool finer = c.direction == Direction::Transposed;
  if (r.one_in(3)) return true;  // the source itself
  const Triple by = along_an_axis(r);
  const bool shifts = r.one_in(3);
  map_voxels(c, Side::Target, [&](const Voxel& v) {
    if (shifts) return moved(v, by);
    std::array<std::int64_t, 3> at{v.x, v.y, v.z};
    for (std::size_t a = 0; a < 3; ++a) {
      const std::int64_t s = std::clamp<std::int64_t>(c.kernel.stride[a], 1, 64);
      at[a] = finer ? at[a] * s : reference::floor_div(at[a], s);
    }
    return Voxel{moved(0, at[0]), moved(0, at[1]), moved(0, at[2])};
  });
  return true;
}

bool edit_type(Case& c, Draw& r, const std::vector<Op>&) {
  if (c.op != Op::Convolution && c.op != Op::ConvolutionGradients) return false;
  c.operands.type =
      r.pick({NumberType::Float64, NumberType::Float32, NumberType::Float16, NumberType::Int32});
  return true;
}

Array* any_array(Case& c, Draw& r) {
  Operands& o = c.operands;
  const std::array<Array*, 4> arrays{&o.features, &o.weights, o.bias ? &*o.bias : nullptr,
                                     o.grad_output ? &*o.grad_output : nullptr};
  Array* array = arrays[below(r, arrays.size())];
  return array == nullptr || array->values.empty() ? nullptr : array;
}

bool edit_numbers(Case& c, Draw& r, const std::vector<Op>&) {
  Array* array = any_array(c, r);
  if (array == nullptr) return false;
  const double unusual[] = {
      0.0,     1.0,          -1.0,       7.0,
      -0.0,    1.0 / 3,      1e-310,     0x1p-149,
      0x1p-24, 2049,         65504.0,    1e38,
      1e308,   kInfinity,    -kInfinity, std::numeric_limits<double>::quiet_NaN(),
      46341,   -2147483648.0};
  const double x = unusual[below(r, std::size(unusual))];
  if (r.one_in(4)) {
    std::fill(array->values.begin(), array->values.end(), x);
  } else {
    array->values[below(r, array->values.size())] = x;
  }
  return true;
}

bool scale_numbers(Case& c, Draw& r, const std::vector<Op>&) {
  Array* array = any_array(c, r);
  if (array == nullptr) return false;
  const double by = r.pick<double>({-1, 2, 0.5, 1.0 / 7, 1024, 0x1p-20});
  for (double& x : array->values) x *= by;
  return true;
}

bool edit_channels(Case& c, Draw& r, const std::vector<Op>&) {
  auto& shape = c.operands.weights.shape;
  if (shape.size() < 2) return false;
  const bool in = r.one_in(2);
  const std::size_t a = in ? 1 : 0;
  if (r.one_in(2) && shape[a] > 1) {
    drop_channel(c, in, r.between(0, shape[a] - 1));
  } else {
    shape[a] = r.between(0, 5);
  }
  return true;
}

bool edit_shape(Case& c, Draw& r, const std::vector<Op>&) {
  if (c.op != Op::Convolution && c.op != Op::ConvolutionGradients) return false;
  auto& shape = c.operands.weights.shape;
  if (r.one_in(2) && c.op == Op::Convolution) {
    if (c.operands.bias)
      c.operands.bias.reset();
    else
      c.operands.bias.emplace();
  } else if (shape.size() >= 2) {  // a matrix [V-4]
    c.kernel.size = c.kernel.stride = {1, 1, 1};
    c.target.reset();
    shape.resize(2);
  }
  return true;
}

bool edit_map(Case& c, Draw& r, const std::vector<Op>&) {
  Batch* batch = any_batch(c, r);
  if (batch == nullptr || batch->maps.empty()) return false;
  Map& map = batch->maps[below(r, batch->maps.size())];
  const std::size_t a = axis(r);
  map.voxel_size[a] = r.pick<double>({1, 0.5, 0.1, 1.0 / 3, 3, 1e-3, 1024});
  map.origin[a] = r.pick<double>({0, 0.5, -0.5, 0.1, 1000, -1e6, 1.0 / 3});
  return true;
}

bool edit_name(Case& c, Draw& r, const std::vector<Op>&) {
  Batch* batch = any_batch(c, r);
  if (batch == nullptr || batch->names.empty()) return false;
  const std::string names[] = {"", "a", "one two", "\xCE\xBB", std::string(255, 'n')};
  batch->names[below(r, batch->names.size())] = names[below(r, std::size(names))];
  return true;
}

constexpr std::array<Edit, 32> kEdits{{
    {"add voxels", add_voxels},
    {"fill a block", fill_block},
    {"drop voxels", drop_some_voxels},
    {"move a voxel", move_voxel},
    {"move a batch", move_batch},
    {"mirror a batch", mirror},
    {"shuffle a list", shuffle_list},
    {"edit points", edit_points},
    {"drop points", drop_some_points},
    {"add a member", add_member},
    {"drop a member", drop_member},
    {"empty a member", empty_member},
    {"exchange members", exchange_members},
    {"make a view", make_view},
    {"end a view", end_view},
    {"edit a factor", edit_factor},
    {"edit a box", edit_box},
    {"edit a kernel", edit_kernel},
    {"cut taps", cut_taps},
    {"turn the direction or form", turn},
    {"exchange axes", exchange_two_axes},
    {"change the operation", change_operation},
    {"flip flags", flip_flags},
    {"edit the other operand", edit_other},
    {"edit the target", edit_target},
    {"edit the type", edit_type},
    {"edit numbers", edit_numbers},
    {"scale numbers", scale_numbers},
    {"edit channels", edit_channels},
    {"edit bias or matrix", edit_shape},
    {"edit a map", edit_map},
    {"edit a name", edit_name},
}};

// --- crossover: `from` gives, `c` takes

struct Cross {
  std::string_view name;
  bool (*apply)(Case& c, const Case& from, Draw& r);
};

void append(Batch& batch, const Batch& more) {
  batch.members.insert(batch.members.end(), more.members.begin(), more.members.end());
  batch.maps.insert(batch.maps.end(), more.maps.begin(), more.maps.end());
  batch.names.insert(batch.names.end(), more.names.begin(), more.names.end());
}

bool take_source(Case& c, const Case& from, Draw&) {
  c.source = from.source;
  c.points = from.points;
  return true;
}

bool append_members(Case& c, const Case& from, Draw&) {
  append(c.source, from.source);
  c.points.insert(c.points.end(), from.points.begin(), from.points.end());
  return from.source.size() > 0;
}

/// The first voxels of one member, the last of another.
bool splice_voxels(Case& c, const Case& from, Draw& r) {
  if (c.source.members.empty() || from.source.members.empty()) return false;
  auto& voxels = c.source.members[below(r, c.source.size())];
  const auto& others = from.source.members[below(r, from.source.size())];
  voxels.resize(below(r, voxels.size() + 1));
  const std::size_t begin = below(r, others.size() + 1);
  voxels.insert(voxels.end(), others.begin() + static_cast<std::ptrdiff_t>(begin), others.end());
  return true;
}

bool take_parameters(Case& c, const Case& from, Draw&) {
  c.factor = from.factor;
  c.lo = from.lo;
  c.hi = from.hi;
  c.kernel = from.kernel;
  c.direction = from.direction;
  return true;
}

bool take_second_batch(Case& c, const Case& from, Draw&) {
  const Batch& batch = from.other ? *from.other : from.target ? *from.target : from.source;
  if (c.other) {
    c.other = batch;
  } else if (c.op == Op::KernelMap || c.op == Op::Convolution || c.op == Op::ConvolutionGradients) {
    c.target = batch;
  } else {
    append(c.source, batch);
  }
  return true;
}

bool take_view_and_mask(Case& c, const Case& from, Draw&) {
  if (!from.view && !from.mask) return false;
  c.view = from.view;
  if (from.mask) c.mask = from.mask;
  return true;
}

bool take_numbers(Case& c, const Case& from, Draw&) {
  if (from.operands.features.values.empty()) return false;
  c.operands = from.operands;
  return true;
}

bool take_operation(Case& c, const Case& from, Draw& r) {
  c.op = from.op;
  return take_parameters(c, from, r);
}

constexpr std::array<Cross, 8> kCrosses{{
    {"take the source", take_source},
    {"append members", append_members},
    {"splice voxels", splice_voxels},
    {"take parameters", take_parameters},
    {"take the second batch", take_second_batch},
    {"take view and mask", take_view_and_mask},
    {"take numbers", take_numbers},
    {"take the operation", take_operation},
}};

// --- one thing wrong

bool is_pass(const Case& c) {
  return !convolves(c.op);
}

bool spoil_parameters(Case& c, Draw& r, const std::vector<Op>&) {
  const std::size_t a = axis(r);
  if (c.op == Op::Refine || c.op == Op::Coarsen) {
    c.factor[a] = r.pick<std::int64_t>({0, -1, kMin64});
    if (c.op == Op::Refine && r.one_in(2))
      c.factor[a] = r.pick<std::int64_t>({1025, std::int64_t{1} << 32, kMax64});
    return true;
  }
  if (c.op != Op::DilateBox && c.op != Op::ErodeBox) return false;
  switch (r.between(0, 2)) {
    case 0:
      c.hi[a] = c.lo[a] - 1;
      break;
    case 1:
      c.hi[a] = c.lo[a] + 1024;
      break;
    default:
      c.lo[a] = kMin64;
      c.hi[a] = kMax64;
  }
  return true;
}

bool spoil_mask(Case& c, Draw& r, const std::vector<Op>&) {
  if (!c.mask) return false;
  if (c.mask->empty() || r.one_in(3)) {
    c.mask->emplace_back();
    return true;
  }
  auto& flags = (*c.mask)[below(r, c.mask->size())];
  if (flags.empty() || r.one_in(2))
    flags.push_back(1);
  else
    flags.pop_back();
  return true;
}

bool spoil_other(Case& c, Draw&, const std::vector<Op>&) {
  if (!c.other) return false;
  append(*c.other, {{{}}, {Map{}}, {""}});
  return true;
}

bool spoil_view(Case& c, Draw& r, const std::vector<Op>&) {
  if (!is_pass(c) || c.mask || c.other || c.op == Op::FromIjk || c.op == Op::FromPoints)
    return false;
  if (!c.view) c.view.emplace();
  const auto members = static_cast<std::int64_t>(c.source.size());
  c.view->push_back(r.pick<std::int64_t>({members, -1, kMax64, kMin64}));
  return true;
}

bool spoil_point(Case& c, Draw& r, const std::vector<Op>&) {
  if (c.points.empty()) return false;
  Point p{0, 0, 0};
  p[axis(r)] = r.pick<double>({kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()});
  c.points[below(r, c.points.size())].push_back(p);
  return true;
}

bool spoil_map(Case& c, Draw& r, const std::vector<Op>&) {
  if (c.source.maps.empty() || c.view) return false;
  Map& map = c.source.maps[below(r, c.source.size())];
  const double bad = r.pick<double>({kInfinity, std::numeric_limits<double>::quiet_NaN()});
  if (r.one_in(2))
    map.origin[axis(r)] = bad;
  else
    map.voxel_size[axis(r)] = r.pick<double>({bad, 0, -1});
  return true;
}

bool spoil_name(Case& c, Draw& r, const std::vector<Op>&) {
  if (c.source.names.empty() || c.view) return false;
  std::string& name = c.source.names[below(r, c.source.size())];
  name = r.one_in(2) ? std::string(256, 'n') : std::string("a\0b", 3);
  return true;
}

/// As the generator spoils a convolution.
bool spoil_convolution(Case& c, Draw& r, const std::vector<Op>&) {
  if (!convolves(c.op)) return false;
  const auto& ways = convolution_refusals();
  return ways[below(r, ways.size())].apply(c, r);
}

constexpr std::array<Edit, 8> kSpoils{{
    {"spoil parameters", spoil_parameters},
    {"spoil a mask", spoil_mask},
    {"spoil the other operand", spoil_other},
    {"spoil a view", spoil_view},
    {"spoil a point", spoil_point},
    {"spoil a map", spoil_map},
    {"spoil a name", spoil_name},
    {"spoil a convolution", spoil_convolution},
}};

/// Mended, and now and then spoiled again.
void finish(Mutant& mutant, Draw& r) {
  Case& c = mutant.question;
  mend(c);
  if (!r.one_in(16)) return;
  for (int tries = 0; tries < 4 && !mutant.spoiled; ++tries) {
    const Edit& spoil = kSpoils[below(r, kSpoils.size())];
    Case spoiled = c;
    if (!spoil.apply(spoiled, r, {}) || cost_of(spoiled) > kBudget) continue;
    c = std::move(spoiled);
    mutant.edits.push_back(spoil.name);
    mutant.spoiled = true;
  }
}

void keep_operation(Case& c, const std::vector<Op>& ops, Draw& r) {
  if (std::find(ops.begin(), ops.end(), c.op) == ops.end()) c.op = r.pick(ops);
}

template <class Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& entry : table) names.push_back(entry.name);
  return names;
}

}  // namespace

Mutant mutate(const Case& start, const std::vector<Op>& ops, std::uint64_t seed) {
  Draw r{seed};
  Mutant mutant{start, {}, false};
  Case& c = mutant.question;
  c.id.clear();
  c.comment.clear();
  keep_operation(c, ops, r);
  mend(c);  // hostile numbers must not reach the arithmetic of an edit
  std::int64_t edits = r.pick<std::int64_t>({1, 1, 2, 4});
  for (int tries = 0; edits > 0 && tries < 40; ++tries) {
    const Edit& edit = kEdits[below(r, kEdits.size())];
    if (!edit.apply(c, r, ops)) continue;
    mutant.edits.push_back(edit.name);
    mend(c);
    --edits;
  }
  finish(mutant, r);
  return mutant;
}

Mutant cross(const Case& a, const Case& b, const std::vector<Op>& ops, std::uint64_t seed) {
  Draw r{seed};
  Mutant mutant{a, {}, false};
  Case& c = mutant.question;
  c.id.clear();
  c.comment.clear();
  keep_operation(c, ops, r);
  mend(c);
  Case from = b;
  keep_operation(from, ops, r);
  mend(from);
  for (std::int64_t parts = r.between(1, 2), tries = 0; parts > 0 && tries < 20; ++tries) {
    const Cross& part = kCrosses[below(r, kCrosses.size())];
    if (!part.apply(c, from, r)) continue;
    mutant.edits.push_back(part.name);
    mend(c);
    --parts;
  }
  finish(mutant, r);
  return mutant;
}

Case first_case(const std::vector<Op>& ops, std::uint64_t seed) {
  Draw r{seed};
  std::array<std::uint8_t, 24> choices{};
  for (auto& choice : choices) choice = static_cast<std::uint8_t>(r.between(0, 255));
  Case c = generate(r.pick(ops), choices);
  c.id.clear();
  c.comment.clear();
  mend(c);
  return c;
}

std::vector<std::string_view> edit_names() {
  return names_of(kEdits);
}
std::vector<std::string_view> cross_names() {
  return names_of(kCrosses);
}
std::vector<std::string_view> spoil_names() {
  return names_of(kSpoils);
}

}  // namespace leafproof::fuzz
