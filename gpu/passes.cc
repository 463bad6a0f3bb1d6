// The passes of [T] on the host executor: checks [T-11], plans, rules.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/builder_state.h"
#include "gpu/copy_members.h"
#include "gpu/map_rules.h"
#include "gpu/pass_plan.h"
#include "gpu/range_error.h"
#include "gpu/rules.h"

namespace leafproof::gpu {
namespace {

constexpr std::int64_t kWidest = 1024;  // [T-11]

std::string text(const Triple& t) {
  return "(" + std::to_string(t[0]) + ", " + std::to_string(t[1]) + ", " + std::to_string(t[2]) +
         ")";
}

void check_factor(const char* operation, const Triple& factor) {
  for (const std::int64_t f : factor) {
    if (f < 1) {
      throw Error(ErrorKind::InvalidArgument, operation, "factor", text(factor),
                  "every factor must be at least 1");
    }
  }
}

void check_box(const char* operation, const Triple& lo, const Triple& hi, bool holds_zero) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (lo[axis] > hi[axis]) {
      throw Error(ErrorKind::InvalidArgument, operation, "lo", text(lo) + ", hi = " + text(hi),
                  "lo must not be above hi on any axis");
    }
    if (holds_zero && (lo[axis] > 0 || hi[axis] < 0)) {
      throw Error(ErrorKind::InvalidArgument, operation, "lo", text(lo) + ", hi = " + text(hi),
                  "the box of an erosion must hold 0 on every axis");
    }
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    // lo <= hi, so the unsigned difference is the true one.
    const std::uint64_t width =
        static_cast<std::uint64_t>(hi[axis]) - static_cast<std::uint64_t>(lo[axis]);
    if (width >= static_cast<std::uint64_t>(kWidest)) {
      throw Error(ErrorKind::Unsupported, operation, "lo", text(lo) + ", hi = " + text(hi),
                  "a box is at most 1024 wide on an axis");
    }
  }
}

void check_flags(const char* operation, const GridBatch& source, const VoxelFlags& mask) {
  const auto rows = source.voxel_offsets();
  const auto refuse = [&](std::string value, std::string reason,
                          std::optional<std::int64_t> member = {}) {
    throw Error(ErrorKind::ShapeMismatch, operation, "mask", std::move(value), std::move(reason),
                member);
  };
  if (mask.offsets.size() != rows.size()) {
    refuse(std::to_string(mask.offsets.size()) + " offsets",
           "the batch has " + std::to_string(source.size()) + " members");
  }
  if (mask.offsets[0] != 0) {
    refuse("offsets from " + std::to_string(mask.offsets[0]), "offsets begin at 0");
  }
  for (std::size_t m = 1; m < rows.size(); ++m) {
    if (mask.offsets[m] == rows[m]) continue;
    refuse("a list that ends at " + std::to_string(mask.offsets[m]),
           "the member's voxels end at row " + std::to_string(rows[m]),
           static_cast<std::int64_t>(m) - 1);
  }
  if (static_cast<std::int64_t>(mask.flags.size()) != rows.back()) {
    refuse(std::to_string(mask.flags.size()) + " flags",
           "the batch has " + std::to_string(rows.back()) + " voxels");
  }
}

void select(HostExecutor& executor, SourceView& view, const VoxelFlags& mask) {
  auto* flags = scratch<std::uint8_t>(executor, static_cast<std::int64_t>(mask.flags.size()));
  auto* selected = scratch<LeafMask>(executor, view.leaves);
  executor.upload(flags, mask.flags.data(), mask.flags.size());
  executor.for_each_index({view.leaves}, SelectVoxels{view, flags, selected}, discovery::kMedium);
  view.selected = selected;
}

/// Tables of a relation, uploaded.
Relation upload_relation(HostExecutor& executor, const AxisRelation (&axes)[3]) {
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
std::int64_t axis_reach(const Axis& axis, int shift) {
  const std::int64_t width = std::int64_t{1} << shift;
  if (axis.stride == 1) {  // the image begins at a multiple of width, plus least
    return ((axis.factor * (width - 1) + axis.greatest) >> shift) - (axis.least >> shift) + 1;
  }
  return ((axis.factor * (width - 1) + axis.greatest - axis.least) / axis.stride >> shift) + 2;
}

NodeReach reach_of(const Relation& relation) {
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

constexpr auto kNoBind = [](auto&, std::uint64_t*) {};
constexpr auto kNoCheck = [](std::uint64_t) {};
constexpr auto kSameBox = [](const Box& box) { return box; };

bool within(const Triple& corner, std::int64_t least, std::int64_t greatest) {
  return std::all_of(corner.begin(), corner.end(),
                     [&](std::int64_t v) { return v >= least && v <= greatest; });
}
bool is_near(const Triple& lo, const Triple& hi) {
  return within(lo, -8, 8) && within(hi, -8, 8);
}
/// A box in [-1, 1]^3 that holds 0.
bool is_unit(const Triple& lo, const Triple& hi) {
  return within(lo, -1, 0) && within(hi, 0, 1);
}

/// The result for a batch of no members: nothing is built.
GridBatch no_members(auto& state) {
  state.synchronisations = 0;
  return GridBatch();
}

/// One build on the state's workspace: resets it before and counts synchronisations.
template <class Body>
GridBatch on_host(auto& state, const Body& body) {
  state.synchronisations = 0;
  state.workspace.reset();
  HostExecutor executor(state.workspace, state.options.threads);
  GridBatch result = body(executor);
  state.synchronisations = executor.synchronisations();
  return result;
}

/// A pass by a relation: refine and dilations, masked or not.
template <class Rule, class State>
GridBatch by_relation(State& state, const GridBatch& source, PassPlan plan,
                      const AxisRelation (&axes)[3], const VoxelFlags* mask, const NearBox& near) {
  return on_host(state, [&](HostExecutor& executor) {
    Rule rule;
    rule.source = upload_view(executor, source);
    rule.relation = upload_relation(executor, axes);
    if constexpr (requires { rule.box; }) rule.box = near;
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
    // Unmasked, the box of a member is attained: the refusal is certain, and found at once.
    if (may_leave && mask == nullptr) {
      auto* flag = scratch<std::uint64_t>(executor, 1);
      executor.upload(flag, &kInRange, sizeof kInRange);
      rule.first_out_of_range = flag;
      executor.for_each_index({rule.source.leaves}, FindOutOfRange{rule}, discovery::kMedium);
      std::uint64_t leaf = kInRange;
      executor.read_back(&leaf, flag, sizeof leaf);
      throw_out_of_range(executor, plan, rule, leaf);
    }
    const auto bind = [may_leave](Rule& bound_rule, std::uint64_t* flag) {
      if (may_leave) bound_rule.first_out_of_range = flag;
    };
    const auto check = [&](std::uint64_t leaf) {
      if (leaf != kInRange) throw_out_of_range(executor, plan, rule, leaf);
    };
    return build(executor, rule, plan, state.settings(), bind, check);
  });
}

template <class Map>
void remap(PassPlan& plan, const Map& map) {
  for (std::size_t m = 0; m < plan.maps.size(); ++m) {
    plan.maps[m] = map(plan.maps[m]);
    check_map(plan.operation, plan.maps[m], static_cast<std::int64_t>(m));
  }
}

bool all_are(const Triple& t, std::int64_t value) {
  return t[0] == value && t[1] == value && t[2] == value;
}

/// The source itself, as a new batch: copied where its bytes are canonical, else rebuilt.
template <class State>
GridBatch copied(State& state, const GridBatch& source, PassPlan plan) {
  if (source.size() == 0) return no_members(state);
  return on_host(state, [&](HostExecutor& executor) {
    const SourceView view = upload_view(executor, source);
    if (source.storage()->canonical) {
      return copy_members(executor, source, view, plan, state.settings());
    }
    bound(plan, source, NodeReach{}, kSameBox);
    return build(executor, KeepRule{view}, plan, state.settings(), kNoBind, kNoCheck);
  });
}

template <class State>
GridBatch refined_batch(State& state, const GridBatch& source, Triple factor,
                        const VoxelFlags* mask) {
  check_factor("refine", factor);
  for (const std::int64_t f : factor) {
    if (f > kWidest) {
      throw Error(ErrorKind::Unsupported, "refine", "factor", text(factor),
                  "a factor is at most 1024");
    }
  }
  if (mask != nullptr) check_flags("refine", source, *mask);
  PassPlan plan = plan_like("refine", source);
  remap(plan, [&](const MemberMap& map) { return refined(map, factor); });
  if (source.size() == 0) return no_members(state);
  if (mask == nullptr && all_are(factor, 1)) return copied(state, source, std::move(plan));
  AxisRelation axes[3];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    axes[axis].factor = factor[axis];
    axes[axis].count = factor[axis];
  }
  return by_relation<RefineRule>(state, source, std::move(plan), axes, mask, {});
}

template <class State>
GridBatch dilated(State& state, const char* operation, const GridBatch& source, Triple lo,
                  Triple hi, PassPlan plan) {
  check_box(operation, lo, hi, false);
  if (source.size() == 0) return no_members(state);
  if (all_are(lo, 0) && all_are(hi, 0)) return copied(state, source, std::move(plan));
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
    return unit ? by_relation<DilateUnitRule>(state, source, std::move(plan), axes, nullptr, box)
                : by_relation<DilateNearRule>(state, source, std::move(plan), axes, nullptr, box);
  }
  return by_relation<RelationRule>(state, source, std::move(plan), axes, nullptr, {});
}

template <class State>
GridBatch set_operation(State& state, const char* operation, SetOperation which,
                        const GridBatch& source, const GridBatch& other) {
  if (source.size() != other.size()) {
    throw Error(ErrorKind::ShapeMismatch, operation, "other",
                std::to_string(other.size()) + " members",
                "the first batch has " + std::to_string(source.size()));
  }
  PassPlan plan = plan_like(operation, source);
  if (source.size() == 0) return no_members(state);
  return on_host(state, [&](HostExecutor& executor) {
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
    return build(executor, rule, plan, state.settings(), kNoBind, kNoCheck);
  });
}

}  // namespace

GridBatch BatchedBuilder::refine(const GridBatch& source, Triple factor) {
  return refined_batch(*state_, source, factor, nullptr);
}

GridBatch BatchedBuilder::refine(const GridBatch& source, Triple factor, const VoxelFlags& mask) {
  return refined_batch(*state_, source, factor, &mask);
}

GridBatch BatchedBuilder::coarsen(const GridBatch& source, Triple factor) {
  check_factor("coarsen", factor);
  PassPlan plan = plan_like("coarsen", source);
  remap(plan, [&](const MemberMap& map) { return coarsened(map, factor); });
  if (source.size() == 0) return no_members(*state_);
  if (all_are(factor, 1)) return copied(*state_, source, std::move(plan));
  return on_host(*state_, [&](HostExecutor& executor) {
    CoarsenRule rule;
    rule.source = upload_view(executor, source);
    // From 2^31 on, floor(c / f) is -1 or 0 whatever f is.
    const auto f = [&factor](std::size_t axis) {
      return std::min(factor[axis], std::int64_t{1} << 31);
    };
    rule.factor = {f(0), f(1), f(2)};
    bound(plan, source, NodeReach{}, [&rule](const Box& box) { return rule.image(box); });
    return build(executor, rule, plan, state_->settings(), kNoBind, kNoCheck);
  });
}

GridBatch BatchedBuilder::dilate_box(const GridBatch& source, Triple lo, Triple hi) {
  return dilated(*state_, "dilate_box", source, lo, hi, plan_like("dilate_box", source));
}

GridBatch BatchedBuilder::dual(const GridBatch& source) {
  PassPlan plan = plan_like("dual", source);
  remap(plan, dual_map);
  return dilated(*state_, "dual", source, {0, 0, 0}, {1, 1, 1}, std::move(plan));
}

GridBatch BatchedBuilder::erode_box(const GridBatch& source, Triple lo, Triple hi) {
  check_box("erode_box", lo, hi, true);
  PassPlan plan = plan_like("erode_box", source);
  if (source.size() == 0) return no_members(*state_);
  if (all_are(lo, 0) && all_are(hi, 0)) return copied(*state_, source, std::move(plan));
  return on_host(*state_, [&](HostExecutor& executor) {
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
    return build(executor, rule, plan, state_->settings(), kNoBind, kNoCheck);
  });
}

GridBatch BatchedBuilder::prune(const GridBatch& source, const VoxelFlags& mask) {
  check_flags("prune", source, mask);
  PassPlan plan = plan_like("prune", source);
  if (source.size() == 0) return no_members(*state_);
  return on_host(*state_, [&](HostExecutor& executor) {
    KeepRule rule{upload_view(executor, source)};
    select(executor, rule.source, mask);
    bound(plan, source, NodeReach{}, kSameBox);
    return build(executor, rule, plan, state_->settings(), kNoBind, kNoCheck);
  });
}

GridBatch BatchedBuilder::merge(const GridBatch& source, const GridBatch& other) {
  return set_operation(*state_, "merge", SetOperation::Merge, source, other);
}
GridBatch BatchedBuilder::intersect(const GridBatch& source, const GridBatch& other) {
  return set_operation(*state_, "intersect", SetOperation::Intersect, source, other);
}
GridBatch BatchedBuilder::subtract(const GridBatch& source, const GridBatch& other) {
  return set_operation(*state_, "subtract", SetOperation::Subtract, source, other);
}

GridBatch BatchedBuilder::rebuild(const GridBatch& view) {
  if (!view.is_view() && view.storage()->canonical) return view;
  return copied(*state_, view, plan_like("rebuild", view));
}

}  // namespace leafproof::gpu
