// from_ijk and from_points [T-1] on any executor: checks, boxes, and the choice between a dense
// array and sorted keys. Two synchronisations: the boxes of the members, then counts.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gpu/build.h"
#include "gpu/list_rules.h"
#include "gpu/pass_checks.h"
#include "gpu/pass_plan.h"
#include "gpu/passes_on.h"

namespace leafproof::gpu {

/// What one read-back tells of rows: the first that cannot be voxels, and the members' boxes.
struct Measured {
  std::uint64_t not_finite = kInRange, out_of_range = kInRange;
  std::int64_t runs = 0;  // no fewer than there are lower nodes
  std::vector<Box> boxes;
};

namespace lists {

inline constexpr std::int64_t kDenseBytesPerRow = 24;  // up to here a dense array is the faster way
inline constexpr auto kNoCheck = [](std::uint64_t) {};

/// Rows in device memory, with their offsets brought there.
template <Executor E>
Rows upload_rows(E& executor, const std::int32_t* ijk, std::span<const std::int64_t> offsets) {
  auto* device = scratch<std::int64_t>(executor, static_cast<std::int64_t>(offsets.size()));
  executor.upload(device, offsets.data(), offsets.size_bytes());
  Rows rows{ijk, device, static_cast<std::int64_t>(offsets.size()) - 1, offsets.back()};
  if constexpr (many_threads<E>()) rows.chunk = 256;
  return rows;
}

/// Where launches leave what is Measured.
template <Executor E>
class Measurement {
 public:
  Measurement(E& executor, std::int64_t size) : executor_(executor), size_(size) {
    std::vector<std::uint64_t> ones(numbers(), kInRange);
    ones[2] = 0;
    device_ = scratch<std::uint64_t>(executor, static_cast<std::int64_t>(numbers()));
    executor.upload(device_, ones.data(), ones.size() * sizeof(std::uint64_t));
  }
  std::uint64_t* not_finite() const { return device_; }
  std::uint64_t* out_of_range() const { return device_ + 1; }
  std::uint64_t* runs() const { return device_ + 2; }
  std::uint64_t* corners() const { return device_ + 3; }

  Measured read() {
    std::vector<std::uint64_t> host(numbers());
    executor_.read_back(host.data(), device_, host.size() * sizeof(std::uint64_t));
    Measured result{host[0], host[1], static_cast<std::int64_t>(host[2]), {}};
    for (std::size_t at = 3; at < host.size(); at += 6) {
      const auto least = [&](std::size_t i) {
        return static_cast<std::int64_t>(host[at + i]) - MeasureRows::kBias;
      };
      result.boxes.push_back(host[at] == kInRange ? nothing()
                                                  : Box{{least(0), least(1), least(2)},
                                                        {-least(3), -least(4), -least(5)}});
    }
    return result;
  }

 private:
  std::size_t numbers() const { return 3 + 6 * static_cast<std::size_t>(size_); }
  E& executor_;
  std::int64_t size_;
  std::uint64_t* device_;
};

inline std::int64_t member_of_row(std::span<const std::int64_t> offsets, std::uint64_t row) {
  return std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int64_t>(row)) -
         offsets.begin() - 1;
}

/// Throws for the first row that cannot be a voxel.
template <Executor E>
void check_rows(E& executor, const PointLists& points, const Measured& measured) {
  const bool finite = measured.not_finite == kInRange;
  const std::uint64_t row = finite ? measured.out_of_range : measured.not_finite;
  if (row == kInRange) return;
  const std::int64_t member = member_of_row(points.offsets, row);
  double p[3] = {};
  executor.read_back(p, points.xyz.data() + 3 * row, sizeof p);
  throw Error(
      finite ? ErrorKind::OutOfRange : ErrorKind::InvalidArgument, "from_points", "points",
      "(" + std::to_string(p[0]) + ", " + std::to_string(p[1]) + ", " + std::to_string(p[2]) + ")",
      finite ? "its voxel is outside the 32-bit lattice" : "points must be finite", member,
      static_cast<std::int64_t>(row) - points.offsets[static_cast<std::size_t>(member)]);
}

}  // namespace lists

/// Engine mask where the boxes are small for their rows: nothing is sorted but tiles, and those are
/// known from the boxes.
template <Executor Inner>
GridBatch PassesOn<Inner>::build_dense(const Rows& rows, const PassPlan& plan) {
  using namespace discovery;
  using namespace lists;
  E& executor = executor_;
  const std::int64_t size = plan.size();
  std::vector<DenseMember> members;
  std::vector<std::int64_t> first_line{0};
  std::vector<TileKey> tiles;
  std::int64_t cell_count = 0, lowers = 0;
  for (std::int64_t m = 0; m < size; ++m) {
    const Box& box = plan.images[static_cast<std::size_t>(m)];
    members.push_back({box.empty() ? box : box >> kLeafLog, cell_count});
    const Box& leaves = members.back().leaves;
    const std::int64_t lines =
        box.empty() ? 0 : (leaves.max.x - leaves.min.x + 1) * (leaves.max.y - leaves.min.y + 1);
    first_line.push_back(first_line.back() + lines);
    cell_count += cells(box, kLeafLog);
    lowers += cells(box, kLowerLog);
    if (box.empty()) continue;
    const Box range = box >> kUpperLog;
    for (std::int64_t x = range.min.x; x <= range.max.x; ++x) {
      for (std::int64_t y = range.min.y; y <= range.max.y; ++y) {
        for (std::int64_t z = range.min.z; z <= range.max.z; ++z) {
          tiles.push_back(tile_key(m, {x, y, z}));
        }
      }
    }
  }
  auto* masks = scratch<LeafMask>(executor, cell_count);
  auto* device_members = scratch<DenseMember>(executor, size);
  auto* device_lines = scratch<std::int64_t>(executor, size + 1);
  executor.zero(masks, static_cast<std::size_t>(cell_count) * sizeof(LeafMask));
  executor.upload(device_members, members.data(), members.size() * sizeof(DenseMember));
  executor.upload(device_lines, first_line.data(), first_line.size() * sizeof(std::int64_t));
  // Boxes are known; voxels are counted as they are set.
  building::SummaryBlock<E> block(executor, size);
  std::vector<Extent> extents;
  for (const Box& box : plan.images) extents.push_back({box, 0});
  executor.upload(block.device().extents, extents.data(), extents.size() * sizeof(Extent));
  executor.for_each_index({rows.chunks()},
                          FillDense{rows, device_members, masks, block.device().extents}, 2);

  DenseRule rule;
  rule.members = device_members;
  rule.first_line = device_lines;
  rule.size = size;
  rule.lines = first_line.back();
  rule.masks = masks;

  LeafSet set;
  set.tiles = {static_cast<std::int64_t>(tiles.size())};
  set.tile = scratch<TileKey>(executor, set.tiles.bound);
  executor.upload(set.tile, tiles.data(), tiles.size() * sizeof(TileKey));
  allocate_tiles(executor, set, set.tiles.bound);
  executor.for_each_index(set.tiles, ZeroMasks{set.upper_masks, kUpperWords}, kMedium);
  executor.for_each_index({size}, MarkLowersOfBoxes{device_members, set}, kMedium);
  rank<kUpperWords>(executor, set.tiles, set.upper_masks, set.upper_prefix, set.lower_base);
  set.lowers = {lowers, set.lower_base + set.tiles.bound};
  allocate_lowers(executor, set, lowers);
  executor.for_each_index(set.tiles.times(kUpperWords), ListLowers{set}, 4 * kLight);
  executor.for_each_index(set.lowers, ZeroMasks{set.lower_masks, kLowerWords}, 4 * kMedium);
  executor.for_each_index({rule.lines}, MarkLeaves<DenseRule>{rule, set}, kMedium);
  rank_nodes(executor, set);

  return build_from(executor, rule, set, plan, settings_, block, Extents::Given, kNoCheck);
}

/// Engine sort, and any input that is thin in its boxes.
template <Executor Inner>
template <class Key>
GridBatch PassesOn<Inner>::build_sorted(const Rows& rows, const PassPlan& plan, std::int64_t runs) {
  using namespace discovery;
  using namespace lists;
  E& executor = executor_;
  auto* keys = scratch<Key>(executor, rows.rows);
  auto* found = scratch<std::int64_t>(executor, 2);
  executor.for_each_index({rows.chunks()}, ListVoxels<Key>{rows, plan.codec, keys}, 2);
  executor.sort_unique(keys, Count{rows.rows}, found, plan.codec.bits() + 9);
  const Count n{rows.rows, found};

  Bounds bounds{0, 0, 0, 0};
  for (const Box& box : plan.images) {
    bounds.tiles = saturating_add(bounds.tiles, cells(box, kUpperLog));
    bounds.lowers = saturating_add(bounds.lowers, cells(box, kLowerLog));
  }
  bounds.tiles = std::min(bounds.tiles, runs);
  bounds.lowers = std::min(bounds.lowers, runs);

  auto* leaf_index = scratch<std::int64_t>(executor, rows.rows + 1);
  auto* first_key = scratch<std::int64_t>(executor, rows.rows + 1);
  executor.exclusive_scan(n, Begins<Key>{keys, 9}, leaf_index);
  executor.for_each_index(n, StartLeaves<Key>{leaf_index, first_key, n}, kLight);
  const LeafSet set = read_keys(executor, plan.codec, keys, n, 9, bounds);
  building::SummaryBlock<E> block(executor, plan.size());
  SortedRule<Key> rule;
  rule.keys = keys;
  rule.first_key = first_key;
  return build_from(executor, rule, set, plan, settings_, block, Extents::Measured, kNoCheck);
}

/// Boxes are measured: choose, and build.
template <Executor Inner>
GridBatch PassesOn<Inner>::build_rows(const Rows& rows, PassPlan plan, Measured measured) {
  using namespace lists;
  std::int64_t cell_count = 0;
  plan.images = std::move(measured.boxes);
  for (const Box& box : plan.images) {
    cell_count = saturating_add(cell_count, cells(box, kLeafLog));
  }
  const std::int64_t dense_bytes = saturating_mul(cell_count, sizeof(LeafMask));
  if (settings_.engine == Engine::Mask && dense_bytes / kDenseBytesPerRow <= rows.rows) {
    return build_dense(rows, plan);
  }
  plan.codec = codec_for(plan.images);
  return plan.codec.bits() + 9 <= 64 ? build_sorted<std::uint64_t>(rows, plan, measured.runs)
                                     : build_sorted<TileKey>(rows, plan, measured.runs);
}

template <Executor Inner>
GridBatch PassesOn<Inner>::from_ijk(const VoxelLists& given_rows, const MapsAndNames& given) {
  using namespace lists;
  E& executor = begin("from_ijk");
  const std::int64_t size = check_offsets("from_ijk", given_rows.offsets, given_rows.ijk.size());
  PassPlan plan = plan_for("from_ijk", size, given);
  if (size == 0) return GridBatch();
  const Rows rows = upload_rows(executor, given_rows.ijk.data(), given_rows.offsets);
  Measurement<E> measurement(executor, size);
  executor.for_each_index({rows.chunks()},
                          MeasureRows{rows, measurement.corners(), measurement.runs()}, 2);
  return build_rows(rows, std::move(plan), measurement.read());
}

template <Executor Inner>
GridBatch PassesOn<Inner>::from_points(const PointLists& points, const MapsAndNames& given) {
  using namespace lists;
  E& executor = begin("from_points");
  const std::int64_t size = check_offsets("from_points", points.offsets, points.xyz.size());
  PassPlan plan = plan_for("from_points", size, given);
  if (size == 0) return GridBatch();
  auto* ijk = scratch<std::int32_t>(executor, 3 * points.offsets.back());
  const Rows rows = upload_rows(executor, ijk, points.offsets);
  auto* maps = scratch<double>(executor, 6 * size);
  std::vector<double> numbers;
  for (const MemberMap& map : plan.maps) {
    numbers.insert(numbers.end(), map.voxel_size.begin(), map.voxel_size.end());
  }
  for (const MemberMap& map : plan.maps) {
    numbers.insert(numbers.end(), map.origin.begin(), map.origin.end());
  }
  executor.upload(maps, numbers.data(), numbers.size() * sizeof(double));
  Measurement<E> measurement(executor, size);
  executor.for_each_index({rows.chunks()},
                          QuantisePoints{points.xyz.data(), rows, maps, maps + 3 * size, ijk,
                                         measurement.not_finite(), measurement.out_of_range()},
                          2);
  executor.for_each_index({rows.chunks()},
                          MeasureRows{rows, measurement.corners(), measurement.runs()}, 2);
  Measured measured = measurement.read();
  check_rows(executor, points, measured);
  return build_rows(rows, std::move(plan), std::move(measured));
}

}  // namespace leafproof::gpu

/// Compiles the passes of this file for an executor.
#define LEAFPROOF_LIST_PASSES_ON(Inner)                                                 \
  template GridBatch PassesOn<Inner>::from_ijk(const VoxelLists&, const MapsAndNames&); \
  template GridBatch PassesOn<Inner>::from_points(const PointLists&, const MapsAndNames&)
