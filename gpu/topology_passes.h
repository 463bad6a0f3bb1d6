// The passes of [T] over batches, on any executor: plans, rules, and the build of build.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "gpu/build.h"
#include "gpu/conv_relation.h"
#include "gpu/copy_members.h"
#include "gpu/map_rules.h"
#include "gpu/pass_checks.h"
#include "gpu/pass_plan.h"
#include "gpu/passes_on.h"
#include "gpu/range_error.h"
#include "gpu/rules.h"
#include "gpu/upload_view.h"
#include "gpu/window_rule.h"

namespace leafproof::gpu {
namespace topology {

/// Only the voxels whose flag is set count from now on.
template <Executor E>
void select(E& executor, SourceView& view, const VoxelFlags& mask) {
  auto* selected = scratch<LeafMask>(executor, view.leaves);
  executor.for_each_index({view.leaves}, SelectVoxels{view, mask.flags.data(), selected},
                          discovery::kMedium);
  view.selected = selected;
}

/// Tables of a relation, uploaded.
template <Executor E>
Relation upload_relation(E& executor, const AxisRelation (&axes)[3]) {
  Relation relation;
  Axis* const to[3] = {&relation.x, &relation.y, &relation.z};
  for (int axis = 0; axis < 3; ++axis) {
    const std::vector<AxisEntry> table = tabulate(axes[axis], *to[axis]);
    auto* device = scratch<AxisEntry>(executor, static_cast<std::int64_t>(table.size()));
    executor.upload(device, table.data(), table.size() * sizeof(AxisEntry));
    to[axis]->entries = device;
  }
  return relation;
}

/// Target nodes of 2^shift voxels that an interval of as many source voxels reaches on an axis.
inline std::int64_t axis_reach(const Axis& axis, int shift) {
  const std::int64_t width = std::int64_t{1} << shift;
  if (axis.stride == 1) {  // the image begins at a multiple of width, plus least
    return ((axis.factor * (width - 1) + axis.greatest) >> shift) - (axis.least >> shift) + 1;
  }
  return ((axis.factor * (width - 1) + axis.greatest - axis.least) / axis.stride >> shift) + 2;
}

inline NodeReach reach_of(const Relation& relation) {
  const auto product = [&relation](int shift) {
    return saturating_mul(
        saturating_mul(axis_reach(relation.x, shift), axis_reach(relation.y, shift)),
        axis_reach(relation.z, shift));
  };
  return {product(kUpperLog), product(kLowerLog), product(kLeafLog)};
}

template <class Image>
void bound(PassPlan& plan, const GridBatch& source, const NodeReach& reach, const Image& image) {
  for (std::int64_t m = 0; m < source.size(); ++m) {
    const Box voxels = box_of(source.member(m));
    plan.images.push_back(voxels.empty() ? voxels : image(voxels));
    add_bounds(plan.bounds, source.member(m), reach, plan.images.back());
  }
  plan.codec = codec_for(plan.images);
}

inline constexpr auto kNoBind = [](auto&, std::uint64_t*) {};
inline constexpr auto kNoCheck = [](std::uint64_t) {};
inline constexpr auto kSameBox = [](const Box& box) { return box; };

inline bool within(const Triple& corner, std::int64_t least, std::int64_t greatest) {
  return std::all_of(corner.begin(), corner.end(),
                     [&](std::int64_t v) { return v >= least && v <= greatest; });
}
inline bool is_near(const Triple& lo, const Triple& hi) {
  return within(lo, -8, 8) && within(hi, -8, 8);
}
/// A box in [-1, 1]^3 that holds 0.
inline bool is_unit(const Triple& lo, const Triple& hi) {
  return within(lo, -1, 0) && within(hi, 0, 1);
}

template <class Map>
void remap(PassPlan& plan, const Map& map) {
  for (std::size_t m = 0; m < plan.maps.size(); ++m) {
    plan.maps[m] = map(plan.maps[m]);
    check_map(plan.operation, plan.maps[m], static_cast<std::int64_t>(m));
  }
}

inline bool all_are(const Triple& t, std::int64_t value) {
  return t[0] == value && t[1] == value && t[2] == value;
}

}  // namespace topology

/// A pass by a relation: refine and dilations, masked or not.
template <Executor Inner>
template <class Rule>
GridBatch PassesOn<Inner>::by_relation(const GridBatch& source, PassPlan plan,
                                       const AxisRelation (&axes)[3], const VoxelFlags* mask,
                                       const NearBox& near) {
  using namespace topology;
  E& executor = begin(plan.operation.c_str());
  Rule rule;
  rule.source = upload_view(executor, source);
  rule.relation = upload_relation(executor, axes);
  if constexpr (requires { rule.box; }) rule.box = near;
  if constexpr (requires { rule.set_windows(axes); }) rule.set_windows(axes);
  if constexpr (requires { rule.down; }) {
    for (int axis = 0; axis < 3; ++axis) {
      rule.down[axis] = near.lo[axis] < 0;
      rule.up[axis] = near.hi[axis] > 0;
    }
  }
  if (mask != nullptr) select(executor, rule.source, *mask);
  bound(plan, source, reach_of(rule.relation),
        [&rule](const Box& voxels) { return rule.relation.image(voxels); });

  bool may_leave = false;
  for (Box& image : plan.images) {
    if (image.empty() || in_lattice(image)) continue;
    may_leave = true;
    image = discovery::in_lattice_part(image);
  }
  if (may_leave) plan.codec = codec_for(plan.images);
  // Unmasked and without a stride, the box of a member is attained: the refusal is certain, and
  // found at once.
  const bool strided = axes[0].stride > 1 || axes[1].stride > 1 || axes[2].stride > 1;
  if (may_leave && mask == nullptr && !strided) {
    auto* flag = scratch<std::uint64_t>(executor, 1);
    executor.upload(flag, &kInRange, sizeof kInRange);
    rule.first_out_of_range = flag;
    executor.for_each_index({rule.source.leaves}, FindOutOfRange{rule}, discovery::kMedium);
    std::uint64_t leaf = kInRange;
    executor.read_back(&leaf, flag, sizeof leaf);
    throw_out_of_range(executor, plan, rule, axes, leaf);
  }
  const auto bind = [may_leave](Rule& bound_rule, std::uint64_t* flag) {
    if (may_leave) bound_rule.first_out_of_range = flag;
  };
  const auto check = [&](std::uint64_t leaf) {
    if (leaf != kInRange) throw_out_of_range(executor, plan, rule, axes, leaf);
  };
  return build(executor, rule, plan, settings_, bind, check);
}

/// The source itself, as a new batch: copied where its bytes are canonical, else rebuilt.
template <Executor Inner>
GridBatch PassesOn<Inner>::copied(const GridBatch& source, PassPlan plan) {
  using namespace topology;
  E& executor = begin(plan.operation.c_str());
  if (source.size() == 0) return GridBatch();
  const SourceView view = upload_view(executor, source);
  if (source.storage()->canonical) return copy_members(executor, source, view, plan, settings_);
  bound(plan, source, NodeReach{}, kSameBox);
  return build(executor, KeepRule{view}, plan, settings_, kNoBind, kNoCheck);
}

template <Executor Inner>
GridBatch PassesOn<Inner>::refine(const GridBatch& source, Triple factor, const VoxelFlags* mask) {
  using namespace topology;
  begin("refine");
  check_factor("refine", factor, kWidest);
  if (mask != nullptr) check_flags("refine", source, *mask);
  PassPlan plan = plan_like("refine", source);
  remap(plan, [&](const MemberMap& map) { return refined(map, factor); });
  if (source.size() == 0) return GridBatch();
  if (mask == nullptr && all_are(factor, 1)) return copied(source, std::move(plan));
  AxisRelation axes[3];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    axes[axis].factor = factor[axis];
    axes[axis].count = factor[axis];
  }
  return by_relation<RefineRule>(source, std::move(plan), axes, mask, {});
}

template <Executor Inner>
GridBatch PassesOn<Inner>::dilated(const char* operation, const GridBatch& source, Triple lo,
                                   Triple hi, PassPlan plan) {
  using namespace topology;
  begin(operation);
  check_box(operation, lo, hi, false);
  if (source.size() == 0) return GridBatch();
  if (all_are(lo, 0) && all_are(hi, 0)) return copied(source, std::move(plan));
  // A box this far away takes any voxel out of the lattice; nearer ones cannot overflow 64 bits.
  constexpr std::int64_t kFar = std::int64_t{1} << 33;
  AxisRelation axes[3];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    axes[axis].first = std::clamp(lo[axis], -kFar, kFar);
    axes[axis].count = hi[axis] - lo[axis] + 1;
  }
  plan.cut = {lo[0] - axes[0].first, lo[1] - axes[1].first, lo[2] - axes[2].first};
  if (is_near(lo, hi)) {
    NearBox box;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      box.lo[axis] = static_cast<int>(lo[axis]);
      box.hi[axis] = static_cast<int>(hi[axis]);
    }
    const bool unit = is_unit(lo, hi);
    return unit ? by_relation<DilateUnitRule>(source, std::move(plan), axes, nullptr, box)
                : by_relation<DilateNearRule>(source, std::move(plan), axes, nullptr, box);
  }
  return by_relation<RelationRule>(source, std::move(plan), axes, nullptr, {});
}

template <Executor Inner>
GridBatch PassesOn<Inner>::combine(SetOperation which, const GridBatch& source,
                                   const GridBatch& other) {
  using namespace topology;
  const char* operation = which == SetOperation::Merge       ? "merge"
                          : which == SetOperation::Intersect ? "intersect"
                                                             : "subtract";
  E& executor = begin(operation);
  if (source.size() != other.size()) {
    throw Error(ErrorKind::ShapeMismatch, operation, "other",
                std::to_string(other.size()) + " members",
                "the first batch has " + std::to_string(source.size()));
  }
  PassPlan plan = plan_like(operation, source);
  if (source.size() == 0) return GridBatch();
  const SetRule rule{upload_view(executor, source), upload_view(executor, other), which};
  for (std::int64_t m = 0; m < source.size(); ++m) {
    const Box first = box_of(source.member(m)), second = box_of(other.member(m));
    const bool merges = which == SetOperation::Merge;
    plan.images.push_back(!merges          ? first
                          : first.empty()  ? second
                          : second.empty() ? first
                                           : united(first, second));
    add_bounds(plan.bounds, source.member(m), {}, plan.images.back());
    if (merges) add_bounds(plan.bounds, other.member(m), {}, plan.images.back());
  }
  plan.codec = codec_for(plan.images);
  return build(executor, rule, plan, settings_, kNoBind, kNoCheck);
}

/// [K-3] [K-4]: another relation; where a cheaper rule gives the same, by that one [K-5].
template <Executor Inner>
GridBatch PassesOn<Inner>::conv_support(const char* operation, const GridBatch& source,
                                        const ConvGeometry& geometry, bool transposed) {
  using namespace topology;
  begin(operation);
  check_geometry(operation, geometry);
  PassPlan plan = plan_like(operation, source);
  remap(plan, [&](const MemberMap& map) {
    return transposed ? unstrided(map, geometry.stride) : strided(map, geometry.stride);
  });
  if (source.size() == 0) return GridBatch();
  const Triple &kernel = geometry.kernel, &stride = geometry.stride;
  const bool undilated = all_are(geometry.dilation, 1);
  if (all_are(kernel, 1) && all_are(stride, 1)) return copied(source, std::move(plan));
  AxisRelation axes[3];
  transposed ? transposed_axes(geometry, axes) : forward_axes(geometry, axes);
  if (undilated && all_are(stride, 1)) {
    const Triple lo{axes[0].least(), axes[1].least(), axes[2].least()};
    const Triple hi{axes[0].greatest(), axes[1].greatest(), axes[2].greatest()};
    if (is_unit(lo, hi)) return dilated(operation, source, lo, hi, std::move(plan));
  }
  if (undilated && all_are(kernel, 2) && all_are(stride, 2)) {
    return transposed ? by_relation<RefineRule>(source, std::move(plan), axes, nullptr, {})
                      : coarse(source, stride, std::move(plan));
  }
  if constexpr (!many_threads<E>()) {
    if (WindowRule().set_windows(axes)) {
      return by_relation<WindowRule>(source, std::move(plan), axes, nullptr, {});
    }
  }
  return by_relation<RelationRule>(source, std::move(plan), axes, nullptr, {});
}

template <Executor Inner>
GridBatch PassesOn<Inner>::conv_grid(const GridBatch& source, const ConvGeometry& geometry) {
  return conv_support("conv_grid", source, geometry, false);
}

template <Executor Inner>
GridBatch PassesOn<Inner>::conv_transpose_grid(const GridBatch& source,
                                               const ConvGeometry& geometry) {
  return conv_support("conv_transpose_grid", source, geometry, true);
}

template <Executor Inner>
GridBatch PassesOn<Inner>::coarsen(const GridBatch& source, Triple factor) {
  using namespace topology;
  begin("coarsen");
  check_factor("coarsen", factor);
  PassPlan plan = plan_like("coarsen", source);
  remap(plan, [&](const MemberMap& map) { return coarsened(map, factor); });
  if (source.size() == 0) return GridBatch();
  if (all_are(factor, 1)) return copied(source, std::move(plan));
  return coarse(source, factor, std::move(plan));
}

/// floor(c / factor) of every voxel, with the maps of the plan.
template <Executor Inner>
GridBatch PassesOn<Inner>::coarse(const GridBatch& source, Triple factor, PassPlan plan) {
  using namespace topology;
  E& executor = begin(plan.operation.c_str());
  CoarsenRule rule;
  rule.source = upload_view(executor, source);
  // From 2^31 on, floor(c / f) is -1 or 0 whatever f is.
  const auto f = [&factor](std::size_t axis) {
    return std::min(factor[axis], std::int64_t{1} << 31);
  };
  rule.factor = {f(0), f(1), f(2)};
  bound(plan, source, NodeReach{}, [&rule](const Box& box) { return rule.image(box); });
  return build(executor, rule, plan, settings_, kNoBind, kNoCheck);
}

template <Executor Inner>
GridBatch PassesOn<Inner>::dilate_box(const GridBatch& source, Triple lo, Triple hi) {
  return dilated("dilate_box", source, lo, hi, plan_like("dilate_box", source));
}

template <Executor Inner>
GridBatch PassesOn<Inner>::dual(const GridBatch& source) {
  begin("dual");
  PassPlan plan = plan_like("dual", source);
  topology::remap(plan, dual_map);
  return dilated("dual", source, {0, 0, 0}, {1, 1, 1}, std::move(plan));
}

template <Executor Inner>
GridBatch PassesOn<Inner>::erode_box(const GridBatch& source, Triple lo, Triple hi) {
  using namespace topology;
  E& executor = begin("erode_box");
  check_box("erode_box", lo, hi, true);
  PassPlan plan = plan_like("erode_box", source);
  if (source.size() == 0) return GridBatch();
  if (all_are(lo, 0) && all_are(hi, 0)) return copied(source, std::move(plan));
  AxisRelation axes[3];  // what is missing at c + d takes c away: a dilation by [-hi, -lo]
  ErodeRule rule;
  rule.near = is_near(lo, hi);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    axes[axis].first = -hi[axis];
    axes[axis].count = hi[axis] - lo[axis] + 1;
    rule.box.lo[axis] = rule.near ? static_cast<int>(-hi[axis]) : 0;
    rule.box.hi[axis] = rule.near ? static_cast<int>(-lo[axis]) : 0;
  }
  rule.source = upload_view(executor, source);
  rule.relation = upload_relation(executor, axes);
  bound(plan, source, NodeReach{}, kSameBox);
  return build(executor, rule, plan, settings_, kNoBind, kNoCheck);
}

template <Executor Inner>
GridBatch PassesOn<Inner>::prune(const GridBatch& source, const VoxelFlags& mask) {
  using namespace topology;
  E& executor = begin("prune");
  check_flags("prune", source, mask);
  PassPlan plan = plan_like("prune", source);
  if (source.size() == 0) return GridBatch();
  KeepRule rule{upload_view(executor, source)};
  select(executor, rule.source, mask);
  bound(plan, source, NodeReach{}, kSameBox);
  return build(executor, rule, plan, settings_, kNoBind, kNoCheck);
}

template <Executor Inner>
GridBatch PassesOn<Inner>::rebuild(const GridBatch& view) {
  begin("rebuild");
  if (!view.is_view() && view.storage()->canonical) return view;
  return copied(view, plan_like("rebuild", view));
}

}  // namespace leafproof::gpu

/// Compiles the passes of this file for an executor.
#define LEAFPROOF_TOPOLOGY_PASSES_ON(Inner)                                                       \
  template GridBatch PassesOn<Inner>::refine(const GridBatch&, Triple, const VoxelFlags*);        \
  template GridBatch PassesOn<Inner>::coarsen(const GridBatch&, Triple);                          \
  template GridBatch PassesOn<Inner>::conv_grid(const GridBatch&, const ConvGeometry&);           \
  template GridBatch PassesOn<Inner>::conv_transpose_grid(const GridBatch&, const ConvGeometry&); \
  template GridBatch PassesOn<Inner>::dilate_box(const GridBatch&, Triple, Triple);               \
  template GridBatch PassesOn<Inner>::dual(const GridBatch&);                                     \
  template GridBatch PassesOn<Inner>::erode_box(const GridBatch&, Triple, Triple);                \
  template GridBatch PassesOn<Inner>::prune(const GridBatch&, const VoxelFlags&);                 \
  template GridBatch PassesOn<Inner>::combine(SetOperation, const GridBatch&, const GridBatch&);  \
  template GridBatch PassesOn<Inner>::rebuild(const GridBatch&)
