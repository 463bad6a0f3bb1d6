// See case_mend.h. Order: batches, parameters, then less of both until the work is bounded, then
// what has a row per voxel.
#include "fuzz/case_mend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "oracle/case_edit.h"
#include "reference/canonical_order.h"
#include "reference/conv_support.h"
#include "reference/error.h"
#include "reference/passes.h"

namespace leafproof::fuzz {
namespace {

using namespace oracle;
using reference::Array;
using reference::floor_div;

constexpr std::size_t kMostMembers = 8;
constexpr std::int64_t kFarthest = std::int64_t{1} << 33;  // that a dilation may shift

template <class... Ops>
bool is(const Case& c, Ops... ops) {
  return ((c.op == ops) || ...);
}
bool boxes(const Case& c) {
  return is(c, Op::DilateBox, Op::ErodeBox);
}
bool scales(const Case& c) {
  return is(c, Op::Refine, Op::Coarsen);
}
bool sums(const Case& c) {
  return is(c, Op::Convolution, Op::ConvolutionGradients);
}
bool takes_target(const Case& c) {
  return sums(c) || is(c, Op::KernelMap);
}
bool takes_other(const Case& c) {
  return is(c, Op::Merge, Op::Intersect, Op::Subtract);
}
bool from_lists(const Case& c) {
  return is(c, Op::FromIjk, Op::FromPoints);
}
bool finer(const Case& c) {
  return is(c, Op::ConvTransposeGrid) || c.direction == Direction::Transposed;
}

std::int64_t rows_of(const Batch& batch) {
  std::int64_t rows = 0;
  for (const auto& member : batch.members) rows += static_cast<std::int64_t>(member.size());
  return rows;
}

std::vector<const std::vector<Voxel>*> read_members(const Case& c) {
  std::vector<const std::vector<Voxel>*> members;
  if (!c.view) {
    for (const auto& member : c.source.members) members.push_back(&member);
    return members;
  }
  for (const std::int64_t m : *c.view)
    if (m >= 0 && m < static_cast<std::int64_t>(c.source.size()))
      members.push_back(&c.source.members[static_cast<std::size_t>(m)]);
  return members;
}

std::int64_t source_rows(const Case& c) {
  std::int64_t rows = 0;
  for (const auto* member : read_members(c)) rows += static_cast<std::int64_t>(member->size());
  return rows;
}

/// What an operation multiplies its voxels by; 1 where it is refused for its parameters [T-11]
/// [K-7].
double volume_of(const Case& c) {
  double volume = is(c, Op::Dual) ? 8 : 1;
  for (std::size_t a = 0; a < 3; ++a) {
    double width = 1, most = 1024;
    if (is(c, Op::Refine)) width = static_cast<double>(c.factor[a]);
    if (boxes(c)) width = static_cast<double>(c.hi[a]) - static_cast<double>(c.lo[a]) + 1;
    if (convolves(c.op)) {
      width = static_cast<double>(c.kernel.size[a]);
      most = 128;
      if (c.kernel.stride[a] < 1 || c.kernel.stride[a] > 64 || c.kernel.dilation[a] < 1 ||
          c.kernel.dilation[a] > 16)
        return 1;
    }
    if (width < 1 || width > most) return 1;
    volume *= width;
  }
  return convolves(c.op) && volume > 4096 ? 1 : volume;
}

/// Root tiles of the result, roughly, and of all that is read.
double tiles_of(const Case& c) {
  std::set<std::array<std::int64_t, 4>> tiles;
  std::int64_t member = 0;
  const auto add = [&](const std::vector<Voxel>& voxels, const Triple& scale) {
    for (const Voxel v : voxels)
      tiles.insert({member, floor_div(v.x * scale[0], 4096), floor_div(v.y * scale[1], 4096),
                    floor_div(v.z * scale[2], 4096)});
    ++member;
  };
  Triple scale{1, 1, 1};
  for (std::size_t a = 0; a < 3; ++a) {
    if (is(c, Op::Refine)) scale[a] = std::clamp<std::int64_t>(c.factor[a], 1, 1024);
    if (convolves(c.op) && finer(c)) scale[a] = std::clamp<std::int64_t>(c.kernel.stride[a], 1, 64);
  }
  for (const auto* voxels : read_members(c)) add(*voxels, scale);
  for (const Side side : {Side::Source, Side::Other, Side::Target})
    if (const Batch* batch = batch_on(c, side))
      for (const auto& voxels : batch->members) add(voxels, {1, 1, 1});
  std::set<std::array<double, 4>> of_points;
  for (std::size_t m = 0; m < c.points.size(); ++m) {
    const Map map = m < c.source.maps.size() ? c.source.maps[m] : Map{};
    for (const Point& p : c.points[m]) {
      std::array<double, 4> tile{static_cast<double>(m)};
      for (std::size_t a = 0; a < 3; ++a) {
        const double at = std::floor((p[a] - map.origin[a]) / map.voxel_size[a] / 4096);
        tile[a + 1] = std::isnan(at) ? 0 : at;  // refused
      }
      of_points.insert(tile);
    }
  }
  return static_cast<double>(tiles.size() + of_points.size());
}

double channels_of(const Case& c) {
  const auto& shape = c.operands.weights.shape;
  if (!sums(c) || shape.size() < 2) return 1;
  double channels = 1;
  for (std::size_t a = 0; a < 2; ++a)
    channels *= static_cast<double>(std::max<std::int64_t>(1, shape[a]));
  return channels;
}

// --- mending

void keep_what_is_taken(Case& c) {
  if (!scales(c)) c.factor = {1, 1, 1};
  if (!boxes(c)) c.lo = c.hi = {0, 0, 0};
  if (!convolves(c.op)) c.kernel = {};
  if (!takes_target(c)) c.direction = Direction::Forward, c.target.reset();
  if (!is(c, Op::KernelMap)) c.dense = false;
  if (!sums(c)) c.operands = {};
  if (!is(c, Op::Convolution)) c.operands.bias.reset();
  if (!is(c, Op::ConvolutionGradients)) c.operands.grad_output.reset();
  if (!is(c, Op::FromPoints)) c.points.clear();
  if (!takes_other(c)) c.other.reset();
  if (!is(c, Op::Prune, Op::Refine)) c.mask.reset();
  if (from_lists(c)) c.view.reset();
  c.mapped = Op::Refine;
  c.operands.target_is_source = false;  // whether it is decides the backend
}

/// Maps and names that every pass can take [G-7].
void mend_maps(Batch& batch) {
  for (Map& map : batch.maps)
    for (std::size_t a = 0; a < 3; ++a)
      if (!(map.voxel_size[a] > 1e-50 && map.voxel_size[a] < 1e50 &&
            std::fabs(map.origin[a]) < 1e50))
        map = {};
  for (std::string& name : batch.names) {
    std::erase(name, '\0');
    name.resize(std::min<std::size_t>(name.size(), 255));
  }
}

void mend_batch(Batch& batch, std::size_t members, bool canonical) {
  batch.members.resize(members);
  batch.maps.resize(members);
  batch.names.resize(members);
  mend_maps(batch);
  if (!canonical) return;
  for (auto& member : batch.members) reference::make_canonical(member);
}

void mend_batches(Case& c) {
  if (is(c, Op::FromPoints)) {
    c.points.resize(std::min(std::max(c.points.size(), c.source.size()), kMostMembers));
    c.source.members.assign(c.points.size(), {});
    for (auto& list : c.points)
      for (Point& p : list)
        for (double& x : p)
          if (!std::isfinite(x)) x = 0;
  }
  mend_batch(c.source, std::min(c.source.size(), kMostMembers), !is(c, Op::FromIjk));
  if (c.view) {
    if (c.source.size() == 0) c.view->clear();
    if (c.view->size() > kMostMembers) c.view->resize(kMostMembers);
    const auto members = static_cast<std::int64_t>(c.source.size());
    for (std::int64_t& m : *c.view) m = reference::floor_mod(m, members);
  }
  if (takes_other(c) && !c.other) c.other.emplace();
  if (c.other) mend_batch(*c.other, positions(c), true);
  if (c.target) mend_batch(*c.target, positions(c), true);
}

void mend_box(Case& c, std::size_t a) {
  if (is(c, Op::ErodeBox)) {
    c.lo[a] = std::clamp<std::int64_t>(c.lo[a], -1023, 0);
    c.hi[a] = std::clamp<std::int64_t>(c.hi[a], 0, c.lo[a] + 1023);
  } else {
    c.lo[a] = std::clamp(c.lo[a], -kFarthest, kFarthest);
    c.hi[a] = std::clamp(c.hi[a], c.lo[a], c.lo[a] + 1023);
  }
}

void mend_kernel(Case& c) {
  Kernel& k = c.kernel;
  for (std::size_t a = 0; a < 3; ++a) {
    k.size[a] = std::clamp<std::int64_t>(k.size[a], 1, 128);
    k.stride[a] = std::clamp<std::int64_t>(k.stride[a], 1, 64);
    k.dilation[a] = std::clamp<std::int64_t>(k.dilation[a], 1, 16);
    if (!is(c, Op::SubmanifoldIndexMap)) continue;
    k.size[a] -= k.size[a] % 2 == 0;
    k.stride[a] = 1;
  }
  const auto taps = [&k] { return k.size[0] * k.size[1] * k.size[2]; };
  while (taps() > 4096) {
    auto& largest = *std::max_element(k.size.begin(), k.size.end());
    largest = largest / 2 | 1;
  }
}

void mend_parameters(Case& c) {
  for (std::size_t a = 0; a < 3; ++a) {
    if (boxes(c)) mend_box(c, a);
    if (is(c, Op::Refine)) c.factor[a] = std::clamp<std::int64_t>(c.factor[a], 1, 1024);
    if (is(c, Op::Coarsen)) c.factor[a] = std::max<std::int64_t>(c.factor[a], 1);
  }
  if (convolves(c.op)) mend_kernel(c);
}

/// The widest axis gives way, if only by one.
void lessen_parameters(Case& c) {
  const auto width = [&](std::size_t a) {
    if (boxes(c)) return c.hi[a] - c.lo[a] + 1;
    return is(c, Op::Refine) ? c.factor[a] : c.kernel.size[a];
  };
  std::size_t widest = 0;
  for (std::size_t a = 1; a < 3; ++a)
    if (width(a) > width(widest)) widest = a;
  const std::int64_t half = width(widest) / 2;
  if (is(c, Op::ErodeBox)) {
    c.lo[widest] /= 2;
    c.hi[widest] /= 2;
  } else if (boxes(c)) {
    c.hi[widest] = c.lo[widest] + half - 1;
  } else if (is(c, Op::Refine)) {
    c.factor[widest] = half;
  } else {
    cut_kernel(c, widest, is(c, Op::SubmanifoldIndexMap) ? (half | 1) : half, true);
  }
}

/// Half of the voxels of the side that has the most, or of the points, go.
void lessen_voxels(Case& c) {
  if (is(c, Op::FromPoints)) return drop_points(c, points_in(c) / 2, points_in(c));
  Side most = Side::Source;
  for (const Side side : {Side::Other, Side::Target})
    if (voxels_on(c, side) > voxels_on(c, most)) most = side;
  drop_voxels(c, most, voxels_on(c, most) / 2, voxels_on(c, most));
}

void lighten(Case& c) {
  while (cost_of(c) > kBudget) volume_of(c) > 27 ? lessen_parameters(c) : lessen_voxels(c);
}

// --- what has a row per voxel

void mend_masks(Case& c) {
  if (is(c, Op::Prune) && !c.mask) c.mask.emplace();
  if (!c.mask) return;
  const auto members = read_members(c);
  c.mask->resize(members.size());
  for (std::size_t m = 0; m < members.size(); ++m) (*c.mask)[m].resize(members[m]->size(), 1);
}

/// The first numbers stay; those that are missing are small and whole.
void reshape(Array& array, std::vector<std::int64_t> shape) {
  std::int64_t size = 1;
  for (const std::int64_t n : shape) size *= n;
  const std::size_t had = array.values.size();
  array.shape = std::move(shape);
  array.values.resize(static_cast<std::size_t>(size));
  for (std::size_t i = had; i < array.values.size(); ++i)
    array.values[i] = static_cast<double>(i % 7) - 3;
}

void whole(Array& array) {
  for (double& x : array.values)
    x = std::isfinite(x) ? std::trunc(std::clamp(x, -0x1p31, 0x1p31 - 1)) + 0.0 : 0;
}

std::int64_t target_rows(const Case& c) {
  if (c.target) return rows_of(*c.target);
  try {
    const Batch source = c.view ? reference::view(c.source, *c.view) : c.source;
    return rows_of(reference::complete_target(source, c.kernel, c.direction));
  } catch (const reference::Error&) {
    return 0;  // refused for that
  }
}

void mend_operands(Case& c) {
  auto& [type, features, weights, bias, grad_output, ignored] = c.operands;
  const Triple ones{1, 1, 1};
  const Triple& k = c.kernel.size;
  std::int64_t cout = 1, cin = 1;
  if (weights.shape.size() >= 2) {
    cout = std::clamp<std::int64_t>(weights.shape[0], 0, 5);
    cin = std::clamp<std::int64_t>(weights.shape[1], 0, 5);
  }
  const bool flat =
      weights.shape.size() == 2 && k == ones && c.kernel.stride == ones && !c.target;  // [V-4]
  reshape(features, {source_rows(c), cin});
  reshape(weights, flat ? std::vector{cout, cin} : std::vector{cout, cin, k[0], k[1], k[2]});
  if (bias) reshape(*bias, {cout});
  if (is(c, Op::ConvolutionGradients)) {
    if (!grad_output) grad_output.emplace();
    reshape(*grad_output, {target_rows(c), cout});
  }
  if (type != NumberType::Int32) return;
  for (Array* array :
       {&features, &weights, bias ? &*bias : nullptr, grad_output ? &*grad_output : nullptr})
    if (array != nullptr) whole(*array);
}

}  // namespace

double cost_of(const Case& c) {
  const double volume = volume_of(c);
  double rows = static_cast<double>(source_rows(c) + static_cast<std::int64_t>(points_in(c)));
  const double others = static_cast<double>(voxels_on(c, Side::Other) + voxels_on(c, Side::Target) +
                                            voxels_on(c, Side::Source));
  if (c.target) rows = std::max(rows, static_cast<double>(rows_of(*c.target)));
  return rows * volume * channels_of(c) + others + 100 * tiles_of(c);
}

void mend(Case& c) {
  keep_what_is_taken(c);
  mend_batches(c);
  mend_parameters(c);
  if (sums(c)) {  // few channels, before they are counted
    auto& shape = c.operands.weights.shape;
    for (std::size_t a = 0; a < std::min<std::size_t>(2, shape.size()); ++a)
      shape[a] = std::clamp<std::int64_t>(shape[a], 0, 5);
  }
  lighten(c);
  mend_masks(c);
  if (sums(c)) mend_operands(c);
}

}  // namespace leafproof::fuzz
