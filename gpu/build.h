// One pass over one batch, from source to finished buffer, on any executor:
//
//     discover -> [sync: counts] -> allocate -> write nodes and gather leaves -> [sync: boxes]
//
// Where scratch cannot be bounded within its budget, what discovery can find is counted first, and
// the leaves are measured before the buffer exists; the order is then
//
//     count -> [sync] -> discover, measure -> [sync: counts, boxes] -> allocate -> write
//
// Two synchronisations at most, whatever the number of members, and one allocation.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "gpu/assemble.h"
#include "gpu/batched_builder.h"
#include "gpu/discover.h"
#include "gpu/error.h"
#include "gpu/executor.h"
#include "gpu/grid_batch.h"
#include "gpu/pass_plan.h"

namespace leafproof::gpu {

inline constexpr std::uint64_t kInRange = ~std::uint64_t{0};

/// The parts of a build that end up in one read-back, contiguous in scratch.
struct Summary {
  std::uint64_t* first_out_of_range = nullptr;  // a source leaf, or kInRange
  MemberStart* starts = nullptr;                // B+1
  Extent* extents = nullptr;                    // B
};

struct SummaryOnHost {
  std::uint64_t first_out_of_range = kInRange;
  std::vector<MemberStart> starts;
  std::vector<Extent> extents;
};

namespace building {

template <Executor E>
class SummaryBlock {
 public:
  SummaryBlock(E& executor, std::int64_t size) : executor_(executor), size_(size) {
    block_ = static_cast<std::byte*>(executor.scratch_bytes(bytes(true)));
    device_.first_out_of_range = reinterpret_cast<std::uint64_t*>(block_);
    device_.starts = reinterpret_cast<MemberStart*>(block_ + 8);
    device_.extents = reinterpret_cast<Extent*>(block_ + bytes(false));
    executor.upload(block_, &kInRange, sizeof kInRange);
  }
  const Summary& device() const { return device_; }

  /// One read-back, with the extents or without.
  SummaryOnHost read(bool with_extents) {
    std::vector<std::byte> copy(bytes(with_extents));
    executor_.read_back(copy.data(), block_, copy.size());
    SummaryOnHost host;
    host.starts.resize(static_cast<std::size_t>(size_) + 1);
    host.extents.resize(with_extents ? static_cast<std::size_t>(size_) : 0);
    std::memcpy(&host.first_out_of_range, copy.data(), 8);
    std::memcpy(host.starts.data(), copy.data() + 8, host.starts.size() * sizeof(MemberStart));
    if (with_extents && size_ > 0) {
      std::memcpy(host.extents.data(), copy.data() + bytes(false),
                  host.extents.size() * sizeof(Extent));
    }
    return host;
  }

 private:
  std::size_t bytes(bool with_extents) const {
    const auto n = static_cast<std::size_t>(size_);
    return 8 + (n + 1) * sizeof(MemberStart) + (with_extents ? n * sizeof(Extent) : 0);
  }
  E& executor_;
  std::int64_t size_;
  std::byte* block_;
  Summary device_;
};

/// Where everything stands in the one allocation.
struct Placement {
  std::vector<MemberTarget> targets;  // `grid` is still an offset
  std::int64_t grid_bytes = 0, total_bytes = 0;
  std::int64_t metadata_at[7] = {};
};

/// Sizes of all grids from the counts of their nodes; refuses what no grid can hold [L-6].
Placement place(const PassPlan& plan, const std::vector<MemberStart>& starts,
                std::int64_t max_bytes);

/// The finished handle.
GridBatch finish(const PassPlan& plan, const Placement& placement,
                 std::shared_ptr<std::byte> memory, const std::vector<Extent>& extents);

DeviceMetadata metadata_at(const Placement& placement, std::byte* memory);

/// Room for the targets and their names. Like all scratch that follows, taken before the buffer is
/// allocated: a build that would pass its limit is refused before it has a result.
struct TargetSpace {
  std::string names;  // one after the other
  char* device_names = nullptr;
  MemberTarget* targets = nullptr;

  template <Executor E>
  TargetSpace(E& executor, const PassPlan& plan) {
    for (const std::string& name : plan.names) names += name;
    device_names = scratch<char>(executor, static_cast<std::int64_t>(names.size()));
    targets = scratch<MemberTarget>(executor, plan.size());
  }

  /// The targets, pointing into their names and into the buffer.
  template <Executor E>
  const MemberTarget* upload(E& executor, Placement& placement, std::byte* memory) const {
    executor.upload(device_names, names.data(), names.size());
    const char* name = device_names;
    for (MemberTarget& target : placement.targets) {
      target.grid = memory + reinterpret_cast<std::intptr_t>(target.grid);
      target.name = name;
      name += target.name_length;
    }
    executor.upload(targets, placement.targets.data(),
                    placement.targets.size() * sizeof(MemberTarget));
    return targets;
  }
};

/// What write() notes on its way.
template <Executor E>
struct WriteSpace {
  using Share = std::conditional_t<many_threads<E>(), assembly::ByLeaf, assembly::BySlab>;
  Count items;
  std::int64_t *item_voxels, *voxels_before;
  Extent *lowers, *uppers;

  WriteSpace(E& executor, const LeafSet& set, std::int64_t leaves)
      : items(Share::items(set, leaves)),
        item_voxels(scratch<std::int64_t>(executor, items.bound)),
        voxels_before(scratch<std::int64_t>(executor, items.bound + 1)),
        lowers(scratch<Extent>(executor, set.lowers.bound)),
        uppers(scratch<Extent>(executor, set.tiles.bound)) {}
};

/// How many nodes are listed before repeats are dropped, by asking every source node: the first of
/// two synchronisations. From two levels each, since nodes full of leaves have the fewest listed by
/// their own boxes, and nodes that are almost empty by what they hold.
template <Executor E, class Rule>
Bounds count_candidates(E& executor, const Rule& rule, Engine engine, Bounds bounds) {
  using namespace discovery;
  enum { kTiles, kTileKeys, kLowersByBox, kLowersByLeaf, kLeafKeys, kTotals };
  auto* totals = scratch<std::int64_t>(executor, kTotals);
  const std::int64_t zeros[kTotals] = {};
  executor.upload(totals, zeros, sizeof zeros);
  const Count uppers{source_uppers(rule)}, lowers{source_lowers(rule)}, leaves{source_leaves(rule)};
  auto* sums =
      scratch<std::int64_t>(executor, std::max({uppers.bound, lowers.bound, leaves.bound}) + 1);
  const auto total = [&](Count n, const auto& value, int which) {
    executor.exclusive_scan(n, value, sums);
    executor.for_each_index({1}, CopyLast{n, sums, totals + which}, 1);
  };
  total(uppers, CountReached<Level::Upper, Rule>{rule, kUpperLog}, kTiles);
  total(leaves, CountReached<Level::Leaf, Rule>{rule, kUpperLog}, kTileKeys);
  total(lowers, CountReached<Level::Lower, Rule>{rule, kLowerLog}, kLowersByBox);
  total(leaves, CountReached<Level::Leaf, Rule>{rule, kLowerLog}, kLowersByLeaf);
  if (engine == Engine::Sort) {
    auto* counts = scratch<std::int64_t>(executor, leaves.bound);
    executor.for_each_index(leaves, CountLeaves<Rule>{rule, counts}, kMedium);
    total(leaves, ValueAt{counts}, kLeafKeys);
  }
  std::int64_t host[kTotals] = {};
  executor.read_back(host, totals, sizeof host);
  bounds.tile_keys = host[kTileKeys];
  bounds.tiles = std::min({bounds.tiles, host[kTiles], host[kTileKeys]});
  bounds.lowers = std::min({bounds.lowers, host[kLowersByBox], host[kLowersByLeaf]});
  bounds.leaf_keys = host[kLeafKeys];
  bounds.counted = true;
  return bounds;
}

template <Executor E, class Rule>
LeafSet discover(E& executor, const Rule& rule, Engine engine, const PassPlan& plan,
                 const Bounds& bounds) {
  if (engine == Engine::Mask) return discover_by_mask(executor, rule, bounds);
  return plan.codec.bits() <= 64
             ? discover_by_sort<std::uint64_t>(executor, rule, bounds, plan.codec)
             : discover_by_sort<TileKey>(executor, rule, bounds, plan.codec);
}

/// Extents of members from those of lower nodes.
template <Executor E>
void reduce_up(E& executor, const LeafSet& set, const Extent* lowers, Extent* uppers,
               const Summary& summary, std::int64_t size) {
  using namespace assembly;
  executor.reduce_segments(set.tiles, ReduceLowers{set, lowers, uppers});
  executor.reduce_segments({size}, ReduceUppers{summary.starts, uppers, summary.extents});
}

/// Writes the whole buffer.
template <Executor E, class Rule>
void write(E& executor, const Rule& rule, const LeafSet& set, const Summary& summary,
           const MemberTarget* targets, const DeviceMetadata& metadata, const WriteSpace<E>& space,
           std::int64_t size) {
  using namespace assembly;
  using namespace discovery;
  using Share = typename WriteSpace<E>::Share;
  const Count items = space.items;
  executor.for_each_index({size}, WriteHeaders{targets, size}, kFirstTouch);
  executor.for_each_index(set.tiles.times(kUpperWords), WriteUppers{set, targets}, kLight);
  executor.for_each_index(set.lowers.times(kLowerWords), WriteLowers{set, targets}, kLight / 4);
  executor.for_each_index(
      items, WriteLeaves<Rule, Share>{set, rule, targets, space.item_voxels, metadata.leaf_member},
      kHeavy);
  executor.exclusive_scan(items, ValueAt{space.item_voxels}, space.voxels_before);
  executor.for_each_index(
      items, WriteOffsets<Share>{set, targets, summary.starts, space.voxels_before}, kMedium);
  executor.reduce_segments(set.lowers, ReduceLeaves{set, targets, space.lowers});
  reduce_up(executor, set, space.lowers, space.uppers, summary, size);
  executor.for_each_index(set.lowers, WriteLowerBoxes{set, targets, space.lowers}, 4 * kMedium);
  executor.for_each_index(set.tiles, WriteUpperBoxes{set, targets, space.uppers}, kMedium);
  executor.for_each_index({size}, WriteExtents{targets, summary.extents}, kMedium);
  executor.exclusive_scan({size}, VoxelsOf{summary.extents}, metadata.voxel_offsets);
  executor.for_each_index({size}, WriteMetadata{targets, summary.extents, size, metadata}, kMedium);
}

}  // namespace building

/// When the extents of members are known: after the buffer is written, or, where a synchronisation
/// has been spent already, before it is allocated, from a look at each leaf or from the caller.
enum class Extents { Written, Measured, Given };

/// From a discovered LeafSet on. `check` is called with the flag of [L-5] before anything is
/// allocated.
template <Executor E, class Rule, class Check>
GridBatch build_from(E& executor, const Rule& rule, LeafSet set, const PassPlan& plan,
                     const BuildSettings& settings, building::SummaryBlock<E>& block,
                     Extents extents, const Check& check) {
  using namespace building;
  const std::int64_t size = plan.size();
  const Summary& summary = block.device();
  executor.for_each_index({size + 1}, discovery::StartMembers{set, summary.starts},
                          discovery::kMedium);
  if (extents == Extents::Measured) {
    auto* lowers = scratch<Extent>(executor, set.lowers.bound);
    auto* uppers = scratch<Extent>(executor, set.tiles.bound);
    if constexpr (many_threads<E>()) {
      executor.reduce_segments(set.lowers, assembly::MeasureEachLeaf<Rule>{set, rule, lowers});
    } else {
      executor.for_each_index(set.lowers, assembly::MeasureLeaves<Rule>{set, rule, lowers}, 1);
    }
    reduce_up(executor, set, lowers, uppers, summary, size);
  }
  SummaryOnHost host = block.read(extents != Extents::Written);
  check(host.first_out_of_range);
  set.tiles = {host.starts.back().tile};
  set.lowers = {host.starts.back().lower_candidate};

  Placement placement = place(plan, host.starts, settings.max_bytes);
  const WriteSpace<E> space(executor, set, host.starts.back().leaf);
  const TargetSpace target_space(executor, plan);
  bool zeroed = false;
  std::shared_ptr<std::byte> memory;
  if (placement.total_bytes > 0) {
    memory = executor.result_bytes(static_cast<std::size_t>(placement.total_bytes), &zeroed);
    if (!zeroed) executor.zero(memory.get(), static_cast<std::size_t>(placement.total_bytes));
  }
  const MemberTarget* targets = target_space.upload(executor, placement, memory.get());
  write(executor, rule, set, summary, targets, metadata_at(placement, memory.get()), space, size);
  if (extents == Extents::Written) host.extents = block.read(true).extents;
  return finish(plan, placement, std::move(memory), host.extents);
}

/// A whole pass. `rule.first_out_of_range`, where the rule has one, must be set by `bind`.
template <Executor E, class Rule, class Bind, class Check>
GridBatch build(E& executor, Rule rule, const PassPlan& plan, const BuildSettings& settings,
                const Bind& bind, const Check& check) {
  building::SummaryBlock<E> block(executor, plan.size());
  bind(rule, block.device().first_out_of_range);
  Bounds bounds = plan.bounds;
  const bool bounded = scratch_of(bounds, settings.engine) <= settings.scratch_budget;
  if (!bounded) bounds = building::count_candidates(executor, rule, settings.engine, bounds);
  LeafSet set = building::discover(executor, rule, settings.engine, plan, bounds);
  return build_from(executor, rule, set, plan, settings, block,
                    bounded ? Extents::Written : Extents::Measured, check);
}

}  // namespace leafproof::gpu
