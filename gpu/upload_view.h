// How a batch becomes a source: its members and prefix sums as tables in scratch.
#pragma once

#include <vector>

#include "gpu/executor.h"
#include "gpu/grid_batch.h"
#include "gpu/source_view.h"

namespace leafproof::gpu {

/// The batch or view as the device sees it; its tables live in the executor's scratch.
template <Executor E>
SourceView upload_view(E& executor, const GridBatch& batch) {
  const auto size = static_cast<std::size_t>(batch.size());
  std::vector<SourceMember> members(size);
  std::vector<std::int64_t> first(3 * (size + 1), 0);
  std::int64_t* leaf = first.data();
  std::int64_t* lower = leaf + size + 1;
  std::int64_t* upper = lower + size + 1;
  for (std::size_t m = 0; m < size; ++m) {
    const auto i = static_cast<std::int64_t>(m);
    const MemberInfo& info = batch.member(i);
    const std::byte* grid = batch.grid(i);
    members[m] = {reinterpret_cast<const RootNode*>(grid + info.root_at),
                  reinterpret_cast<const UpperNode*>(grid + info.uppers_at),
                  reinterpret_cast<const LowerNode*>(grid + info.lowers_at),
                  reinterpret_cast<const LeafNode*>(grid + info.leaves_at),
                  batch.voxel_offsets()[m]};
    leaf[m + 1] = leaf[m] + info.leaves;
    lower[m + 1] = lower[m] + info.lowers;
    upper[m + 1] = upper[m] + info.uppers;
  }
  SourceView view;
  auto* device_members = scratch<SourceMember>(executor, batch.size());
  auto* device_first = scratch<std::int64_t>(executor, static_cast<std::int64_t>(first.size()));
  executor.upload(device_members, members.data(), members.size() * sizeof(SourceMember));
  executor.upload(device_first, first.data(), first.size() * sizeof(std::int64_t));
  view.members = device_members;
  view.first_leaf = device_first;
  view.first_lower = device_first + size + 1;
  view.first_upper = device_first + 2 * (size + 1);
  view.size = batch.size();
  view.leaves = leaf[size];
  view.lowers = lower[size];
  view.uppers = upper[size];
  view.tiles_in_order = batch.storage()->tiles_in_order;
  return view;
}

}  // namespace leafproof::gpu
