// Members copied node by node into a new batch, with another grid index and count: the fast path of
// passes that change nothing, and how a view becomes a batch of its own. Only what is not zero is
// read and written, so the empty parts of child tables cost nothing.
#pragma once

#include "gpu/assemble.h"
#include "gpu/build.h"
#include "gpu/node_levels.h"

namespace leafproof::gpu::copying {

template <class Team>
LEAFPROOF_HD void copy_words(void* to, const void* from, std::int64_t bytes, const Team& team) {
  auto* out = static_cast<std::uint64_t*>(to);
  const auto* in = static_cast<const std::uint64_t*>(from);
  for (std::int64_t i = team.rank(); i < bytes / 8; i += team.size()) out[i] = in[i];
}

/// A node's head and masks, then the table entries of the children it has. Child offsets are
/// relative and a member keeps its shape, so they stay as they are.
template <class Node, class Team>
LEAFPROOF_HD void copy_node(Node* to, const Node* from, int words, const Team& team) {
  const std::int64_t head =
      reinterpret_cast<const std::byte*>(from->mTable) - reinterpret_cast<const std::byte*>(from);
  copy_words(to, from, head, team);
  for (int w = team.rank(); w < words; w += team.size()) {
    for (std::uint64_t bits = from->mChildMask.words()[w]; bits != 0; bits &= bits - 1) {
      const int slot = w * 64 + lowest_bit(bits);
      to->mTable[slot].child = from->mTable[slot].child;
    }
  }
}

template <class Node>
struct CopyNodes {
  SourceView source;
  const MemberTarget* targets;
  LEAFPROOF_HD void operator()(std::int64_t i) const { (*this)(i, Alone{}); }
  template <class Team>
  LEAFPROOF_HD void operator()(std::int64_t i, const Team& team) const {
    using Level = LevelOf<Node>;
    const auto place = Level::place(source, i);
    const MemberTarget& target = targets[place.member];
    const Node* from = &node_of<Node>(source, place);
    if constexpr (Level::kLog == kUpperLog) {
      copy_node(target.upper(place.node), from, Level::kWords, team);
    } else {
      copy_node(target.lower(place.node), from, Level::kWords, team);
    }
  }
};
struct CopyLeaves {
  SourceView source;
  const MemberTarget* targets;
  std::int32_t* leaf_member;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    const auto place = source.leaf_place(i);
    copy_words(targets[place.member].leaf(place.node),
               source.members[place.member].leaves + place.node, kLeafBytes, Alone{});
    leaf_member[i] = static_cast<std::int32_t>(place.member);
  }
};
struct CopyTiles {  // with the root before them
  SourceView source;
  const MemberTarget* targets;
  LEAFPROOF_HD void operator()(std::int64_t m) const { (*this)(m, Alone{}); }
  template <class Team>
  LEAFPROOF_HD void operator()(std::int64_t m, const Team& team) const {
    copy_words(targets[m].root(), source.members[m].root,
               kRootBytes + targets[m].uppers * kTileBytes, team);
  }
};

}  // namespace leafproof::gpu::copying

namespace leafproof::gpu {

/// The members of a canonical batch or view, as a batch of its own [T-9]. No synchronisation.
template <Executor E>
GridBatch copy_members(E& executor, const GridBatch& source, const SourceView& view,
                       const PassPlan& plan, const BuildSettings& settings) {
  using namespace building;
  std::vector<MemberStart> starts(static_cast<std::size_t>(source.size()) + 1, MemberStart{});
  std::vector<Extent> extents;
  for (std::int64_t m = 0; m < source.size(); ++m) {
    const MemberInfo& info = source.member(m);
    MemberStart next = starts[static_cast<std::size_t>(m)];
    next.upper += info.uppers;
    next.lower += info.lowers;
    next.leaf += info.leaves;
    starts[static_cast<std::size_t>(m) + 1] = next;
    extents.push_back({box_of(info), info.voxels});
  }
  Placement placement = place(plan, starts, settings.max_bytes);
  auto* members = scratch<Extent>(executor, source.size());
  const TargetSpace target_space(executor, plan);
  bool zeroed = false;
  auto memory = executor.result_bytes(static_cast<std::size_t>(placement.total_bytes), &zeroed);
  if (!zeroed) executor.zero(memory.get(), static_cast<std::size_t>(placement.total_bytes));
  const MemberTarget* targets = target_space.upload(executor, placement, memory.get());
  const DeviceMetadata metadata = metadata_at(placement, memory.get());
  executor.upload(members, extents.data(), extents.size() * sizeof(Extent));

  const Count size{source.size()};
  using namespace discovery;
  executor.for_each_index(size, copying::CopyTiles{view, targets}, kHeavy);
  executor.for_each_index({view.uppers}, copying::CopyNodes<UpperNode>{view, targets}, kHeavy);
  executor.for_each_index({view.lowers}, copying::CopyNodes<LowerNode>{view, targets}, kHeavy);
  executor.for_each_index({view.leaves}, copying::CopyLeaves{view, targets, metadata.leaf_member},
                          kLight);
  executor.for_each_index(size, assembly::WriteHeaders{targets, source.size()}, kHeavy);
  executor.for_each_index(size, assembly::WriteExtents{targets, members}, kHeavy);
  executor.exclusive_scan(size, assembly::VoxelsOf{members}, metadata.voxel_offsets);
  executor.for_each_index(size, assembly::WriteMetadata{targets, members, source.size(), metadata},
                          kHeavy);
  return finish(plan, placement, std::move(memory), extents);
}

}  // namespace leafproof::gpu
