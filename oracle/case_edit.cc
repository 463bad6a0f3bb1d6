// Rows are counted as the operation reads them: all members in view order, a repeated one's twice.
#include "oracle/case_edit.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "reference/canonical_order.h"
#include "reference/conv_support.h"
#include "reference/error.h"

namespace leafproof::oracle {
namespace {

using reference::Array;
using Rows = std::vector<std::size_t>;

/// Of a case that may be edited, or one that may not.
template <class Any>
auto batch_of_side(Any& c, Side side) -> decltype(&c.source) {
  if (side == Side::Source) return &c.source;
  auto& batch = side == Side::Other ? c.other : c.target;
  return batch ? &*batch : nullptr;
}
Batch* batch_on(Case& c, Side side) {
  return batch_of_side(c, side);
}

/// The member of the source that a position reads, or none.
std::optional<std::size_t> member_at(const Case& c, std::size_t position) {
  if (!c.view) return position;
  const std::int64_t m = (*c.view)[position];
  if (m < 0 || m >= static_cast<std::int64_t>(c.source.size())) return std::nullopt;
  return static_cast<std::size_t>(m);
}

std::size_t size_at(const Case& c, std::size_t position) {
  const auto m = member_at(c, position);
  return m ? c.source.members[*m].size() : 0;
}

/// The slices of an array along one axis that are listed stay.
void keep_slices(Array& array, std::size_t axis, const Rows& kept) {
  std::size_t inner = 1, outer = 1;
  for (std::size_t a = 0; a < array.shape.size(); ++a)
    (a < axis ? outer : inner) *= a == axis ? 1 : static_cast<std::size_t>(array.shape[a]);
  const auto size = static_cast<std::size_t>(array.shape[axis]);
  std::vector<double> values;
  values.reserve(outer * kept.size() * inner);
  for (std::size_t o = 0; o < outer; ++o)
    for (const std::size_t k : kept) {
      const auto from = array.values.begin() + static_cast<std::ptrdiff_t>((o * size + k) * inner);
      values.insert(values.end(), from, from + static_cast<std::ptrdiff_t>(inner));
    }
  array.values = std::move(values);
  array.shape[axis] = static_cast<std::int64_t>(kept.size());
}

/// The shape has these sizes (-1: any), and the numbers are as many.
bool fits(const Array& array, const std::vector<std::int64_t>& shape) {
  if (array.shape.size() != shape.size()) return false;
  std::int64_t size = 1;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (array.shape[a] < 0 || (shape[a] >= 0 && array.shape[a] != shape[a])) return false;
    if (__builtin_mul_overflow(size, array.shape[a], &size)) return false;
  }
  return size == static_cast<std::int64_t>(array.values.size());
}

void keep_rows(Array& array, std::size_t rows, const Rows& kept) {
  if (fits(array, {static_cast<std::int64_t>(rows), -1})) keep_slices(array, 0, kept);
}
void keep_rows(std::optional<Array>& array, std::size_t rows, const Rows& kept) {
  if (array) keep_rows(*array, rows, kept);
}

template <class T>
void erase(std::vector<T>& items, std::size_t begin, std::size_t count) {
  begin = std::min(begin, items.size());
  count = std::min(count, items.size() - begin);
  const auto first = items.begin() + static_cast<std::ptrdiff_t>(begin);
  items.erase(first, first + static_cast<std::ptrdiff_t>(count));
}
void erase(Batch& batch, std::size_t begin, std::size_t count) {
  erase(batch.members, begin, count);
  erase(batch.maps, begin, count);
  erase(batch.names, begin, count);
}

template <class T>
std::vector<T> picked(const std::vector<T>& items, const Rows& kept) {
  std::vector<T> result;
  for (const std::size_t i : kept) result.push_back(items[i]);
  return result;
}

/// Of every member of a side the listed voxels stay, in that order.
void select(Case& c, Side side, const std::vector<Rows>& kept) {
  Batch& batch = *batch_on(c, side);
  std::size_t rows = 0;
  Rows kept_rows;
  const auto take_rows = [&](std::size_t size, const Rows& of_member) {
    for (const std::size_t i : of_member) kept_rows.push_back(rows + i);
    rows += size;
  };
  if (side == Side::Source) {
    for (std::size_t p = 0; p < positions(c); ++p) {
      const auto m = member_at(c, p);
      if (!m) continue;
      if (c.mask && p < c.mask->size() && (*c.mask)[p].size() == batch.members[*m].size())
        (*c.mask)[p] = picked((*c.mask)[p], kept[*m]);
      take_rows(batch.members[*m].size(), kept[*m]);
    }
    keep_rows(c.operands.features, rows, kept_rows);
  } else if (side == Side::Target) {
    for (std::size_t m = 0; m < batch.size(); ++m) take_rows(batch.members[m].size(), kept[m]);
    keep_rows(c.operands.grad_output, rows, kept_rows);
  }
  for (std::size_t m = 0; m < batch.size(); ++m)
    batch.members[m] = picked(batch.members[m], kept[m]);
}

}  // namespace

const Batch* batch_on(const Case& c, Side side) {
  return batch_of_side(c, side);
}

std::size_t voxels_on(const Case& c, Side side) {
  std::size_t voxels = 0;
  if (const Batch* batch = batch_on(c, side))
    for (const auto& member : batch->members) voxels += member.size();
  return voxels;
}

void drop_voxels(Case& c, Side side, std::size_t begin, std::size_t count) {
  std::vector<Rows> kept;
  std::size_t at = 0;
  for (const auto& member : batch_on(c, side)->members) {
    Rows& rows = kept.emplace_back();
    for (std::size_t i = 0; i < member.size(); ++i, ++at)
      if (at < begin || at >= begin + count) rows.push_back(i);
  }
  select(c, side, kept);
}

void drop_voxels_and_flags(Case& c, std::size_t member, std::size_t mask, std::size_t count) {
  auto& voxels = c.source.members[member];
  auto& flags = (*c.mask)[mask];
  count = std::min({count, voxels.size(), flags.size()});
  voxels.resize(voxels.size() - count);
  flags.resize(flags.size() - count);
}

void map_voxels(Case& c, Side side, const std::function<Voxel(const Voxel&)>& map) {
  Batch& batch = *batch_on(c, side);
  std::vector<Rows> kept;
  for (auto& member : batch.members) {
    for (Voxel& v : member) v = map(v);
    Rows& rows = kept.emplace_back(member.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    if (c.op == Op::FromIjk) continue;
    std::sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
      return member[a] == member[b] ? a < b : reference::canonical_less(member[a], member[b]);
    });
    const auto equal = [&](std::size_t a, std::size_t b) { return member[a] == member[b]; };
    rows.erase(std::unique(rows.begin(), rows.end(), equal), rows.end());
  }
  select(c, side, kept);
}

std::size_t positions(const Case& c) {
  return c.view ? c.view->size() : c.source.size();
}

void drop_positions(Case& c, std::size_t begin, std::size_t count) {
  std::size_t rows = 0;
  Rows kept;
  for (std::size_t p = 0; p < positions(c); ++p)
    for (std::size_t i = 0; i < size_at(c, p); ++i, ++rows)
      if (p < begin || p >= begin + count) kept.push_back(rows);
  keep_rows(c.operands.features, rows, kept);
  if (c.target) {
    rows = 0;
    kept.clear();
    for (std::size_t m = 0; m < c.target->size(); ++m)
      for (std::size_t i = 0; i < c.target->members[m].size(); ++i, ++rows)
        if (m < begin || m >= begin + count) kept.push_back(rows);
    keep_rows(c.operands.grad_output, rows, kept);
    erase(*c.target, begin, count);
  }
  if (c.mask) erase(*c.mask, begin, count);
  if (c.other) erase(*c.other, begin, count);
  if (c.view) {
    erase(*c.view, begin, count);
  } else {
    erase(c.source, begin, count);
    erase(c.points, begin, count);
  }
}

void drop_unread_member(Case& c, std::size_t member) {
  if (!c.view || member >= c.source.size()) return;
  const auto index = static_cast<std::int64_t>(member);
  if (std::find(c.view->begin(), c.view->end(), index) != c.view->end()) return;
  erase(c.source, member, 1);
  for (std::int64_t& i : *c.view) i -= i > index ? 1 : 0;
}

void resolve_view(Case& c) {
  if (!c.view) return;
  Batch read;
  for (std::size_t p = 0; p < c.view->size(); ++p) {
    const auto m = member_at(c, p);
    if (!m) return;
    read.members.push_back(c.source.members[*m]);
    read.maps.push_back(c.source.maps[*m]);
    read.names.push_back(c.source.names[*m]);
  }
  c.source = std::move(read);
  c.view.reset();
}

std::size_t points_in(const Case& c) {
  std::size_t points = 0;
  for (const auto& list : c.points) points += list.size();
  return points;
}

void drop_points(Case& c, std::size_t begin, std::size_t count) {
  for (auto& list : c.points) {
    const std::size_t size = list.size();
    const std::size_t here = std::min(begin, size), less = std::min(count, size - here);
    erase(list, here, less);
    begin -= here;
    count -= less;
  }
}

void cut_kernel(Case& c, std::size_t axis, std::int64_t size, bool keep_first) {
  const std::int64_t old = c.kernel.size[axis];
  const auto& k = c.kernel.size;
  if (fits(c.operands.weights, {-1, -1, k[0], k[1], k[2]})) {
    Rows kept(static_cast<std::size_t>(size));
    std::iota(kept.begin(), kept.end(), static_cast<std::size_t>(keep_first ? 0 : old - size));
    keep_slices(c.operands.weights, 2 + axis, kept);
  }
  c.kernel.size[axis] = size;
}

void exchange_axes(Case& c, std::size_t a, std::size_t b) {
  for (const Side side : {Side::Source, Side::Other, Side::Target}) {
    Batch* batch = batch_on(c, side);
    if (batch == nullptr) continue;
    map_voxels(c, side, [a, b](const Voxel& v) {
      std::array<std::int32_t, 3> x{v.x, v.y, v.z};
      std::swap(x[a], x[b]);
      return Voxel{x[0], x[1], x[2]};
    });
    for (Map& map : batch->maps) {
      std::swap(map.voxel_size[a], map.voxel_size[b]);
      std::swap(map.origin[a], map.origin[b]);
    }
  }
  for (auto& list : c.points)
    for (Point& p : list) std::swap(p[a], p[b]);
  Kernel& k = c.kernel;
  Array& weights = c.operands.weights;
  if (fits(weights, {-1, -1, k.size[0], k.size[1], k.size[2]})) {
    std::vector<double> exchanged(weights.values.size());
    const Triple old = k.size;
    Triple size = old;
    std::swap(size[a], size[b]);
    const auto taps = static_cast<std::size_t>(old[0] * old[1] * old[2]);
    for (std::size_t i = 0; i < exchanged.size(); ++i) {
      const auto tap = static_cast<std::int64_t>(i % taps);
      Triple t{tap / (size[1] * size[2]), tap / size[2] % size[1], tap % size[2]};
      std::swap(t[a], t[b]);
      const std::int64_t from = (t[0] * old[1] + t[1]) * old[2] + t[2];
      exchanged[i] = weights.values[i - i % taps + static_cast<std::size_t>(from)];
    }
    weights.values = std::move(exchanged);
    std::swap(weights.shape[2 + a], weights.shape[2 + b]);
  }
  for (Triple* t : {&c.factor, &c.lo, &c.hi, &k.size, &k.stride, &k.dilation})
    std::swap((*t)[a], (*t)[b]);
}

std::optional<std::int64_t> complete_rows(const Case& c) {
  Case read;  // what a target is made of, without all else
  read.source = c.source;
  read.view = c.view;
  resolve_view(read);
  if (read.view) return {};
  try {
    std::int64_t rows = 0;
    for (const auto& member :
         reference::complete_target(read.source, c.kernel, c.direction).members)
      rows += static_cast<std::int64_t>(member.size());
    return rows;
  } catch (const reference::Error&) {
    return {};
  }
}

bool has_fitting_gradient(const Case& c) {
  if (c.op != Op::ConvolutionGradients || c.target || !c.operands.grad_output) return false;
  const auto rows = complete_rows(c);
  return rows && fits(*c.operands.grad_output, {*rows, -1});
}

void fit_gradient(Case& c) {
  const auto rows = complete_rows(c);
  if (!rows) return;
  Array& gradient = *c.operands.grad_output;
  gradient.shape[0] = *rows;
  gradient.values.resize(static_cast<std::size_t>(*rows * gradient.shape[1]), 1.);
}

void drop_channel(Case& c, bool in, std::int64_t channel) {
  auto& [type, features, weights, bias, grad_output, target_is_source] = c.operands;
  const std::size_t axis = in ? 1 : 0;  // of the weights
  if (weights.shape.size() < 2) return;
  const std::int64_t size = weights.shape[axis];
  const auto as_many = [](const Array& a) {
    return fits(a, std::vector<std::int64_t>(a.shape.size(), -1));
  };
  if (size < 2 || channel >= size || !as_many(weights)) return;
  Rows kept;
  for (std::int64_t i = 0; i < size; ++i)
    if (i != channel) kept.push_back(static_cast<std::size_t>(i));
  keep_slices(weights, axis, kept);
  if (in && fits(features, {-1, size})) keep_slices(features, 1, kept);
  if (!in && bias && fits(*bias, {size})) keep_slices(*bias, 0, kept);
  if (!in && grad_output && fits(*grad_output, {-1, size})) keep_slices(*grad_output, 1, kept);
}

}  // namespace leafproof::oracle
