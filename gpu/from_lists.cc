// from_ijk and from_points on the host executor: checks, boxes, and the choice between a dense
// array and sorted keys. Two synchronisations: the boxes of the members, then counts.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gpu/builder_state.h"
#include "gpu/list_rules.h"
#include "gpu/map_rules.h"
#include "gpu/pass_plan.h"

namespace leafproof::gpu {
namespace {

constexpr std::int64_t kDenseBytesPerRow = 24;  // up to here a dense array is the faster way

/// B, from offsets that are what they should be.
std::int64_t check_offsets(const char* operation, std::span<const std::int64_t> offsets,
                           std::size_t numbers) {
  const auto refuse = [&](std::string value, std::string reason,
                          std::optional<std::int64_t> member = {}) {
    throw Error(ErrorKind::ShapeMismatch, operation, "offsets", std::move(value), std::move(reason),
                member);
  };
  if (numbers % 3 != 0) {
    throw Error(ErrorKind::ShapeMismatch, operation, "rows", std::to_string(numbers) + " numbers",
                "a list is [N, 3]");
  }
  const auto rows = static_cast<std::int64_t>(numbers / 3);
  if (offsets.empty()) refuse("no number", "there are B+1 offsets");
  if (offsets.front() != 0) refuse(std::to_string(offsets.front()), "offsets begin at 0", 0);
  for (std::size_t m = 1; m < offsets.size(); ++m) {
    if (offsets[m] < offsets[m - 1]) {
      refuse(std::to_string(offsets[m]), "offsets do not decrease",
             static_cast<std::int64_t>(m) - 1);
    }
  }
  if (offsets.back() != rows) {
    refuse(std::to_string(offsets.back()),
           "offsets end at the number of rows, " + std::to_string(rows));
  }
  return static_cast<std::int64_t>(offsets.size()) - 1;
}

template <class T>
std::vector<T> one_each(const char* operation, const char* argument, std::span<const T> given,
                        std::int64_t size) {
  const auto n = static_cast<std::size_t>(size);
  if (given.empty()) return std::vector<T>(n);
  if (given.size() == 1) return std::vector<T>(n, given.front());
  if (given.size() != n) {
    throw Error(ErrorKind::ShapeMismatch, operation, argument,
                std::to_string(given.size()) + " given",
                "there is none, one for all, or one for each of " + std::to_string(size));
  }
  return {given.begin(), given.end()};
}

PassPlan plan_for(const char* operation, std::int64_t size, const MapsAndNames& given) {
  PassPlan plan;
  plan.operation = operation;
  plan.maps = one_each(operation, "maps", given.maps, size);
  plan.names = one_each(operation, "names", given.names, size);
  for (std::int64_t m = 0; m < size; ++m) {
    check_map(operation, plan.maps[static_cast<std::size_t>(m)], m);
    check_name(operation, plan.names[static_cast<std::size_t>(m)], m);
  }
  return plan;
}

Count chunks_of(const Rows& rows) {
  return {(rows.rows + kChunk - 1) / kChunk};
}

/// Flags of quantising, and the corners of all members: one read-back.
struct Measured {
  std::uint64_t not_finite = kInRange, out_of_range = kInRange;
  std::int64_t runs = 0;  // no fewer than there are lower nodes
  std::vector<Box> boxes;
};

class Measurement {
 public:
  Measurement(HostExecutor& executor, std::int64_t size) : executor_(executor), size_(size) {
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
  HostExecutor& executor_;
  std::int64_t size_;
  std::uint64_t* device_;
};

constexpr auto kNoCheck = [](std::uint64_t) {};

/// Engine mask where the boxes are small for their rows: nothing is sorted but tiles, and those are
/// known from the boxes.
GridBatch build_dense(HostExecutor& executor, const Rows& rows, const PassPlan& plan,
                      const BuildSettings& settings) {
  using namespace discovery;
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
  executor.for_each_index(chunks_of(rows), FillDense{rows, device_members, masks}, 2);

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
  executor.for_each_index({rule.lines}, MarkLowersOfLeaves<DenseRule>{rule, set}, kMedium);
  rank<kUpperWords>(executor, set.tiles, set.upper_masks, set.upper_prefix, set.lower_base);
  set.lowers = {lowers, set.lower_base + set.tiles.bound};
  allocate_lowers(executor, set, lowers);
  executor.for_each_index(set.tiles.times(kUpperWords), ListLowers{set}, kLight);
  executor.for_each_index(set.lowers, ZeroMasks{set.lower_masks, kLowerWords}, kMedium);
  executor.for_each_index({rule.lines}, MarkLeaves<DenseRule>{rule, set}, kMedium);
  rank_nodes(executor, set);

  building::SummaryBlock<HostExecutor> block(executor, size);
  return build_from(executor, rule, set, plan, settings, block, true, kNoCheck);
}

/// Engine sort, and any input that is thin in its boxes.
template <class Key>
GridBatch build_sorted(HostExecutor& executor, const Rows& rows, const PassPlan& plan,
                       const BuildSettings& settings, std::int64_t runs) {
  using namespace discovery;
  auto* keys = scratch<Key>(executor, rows.rows);
  auto* found = scratch<std::int64_t>(executor, 2);
  executor.for_each_index(chunks_of(rows), ListVoxels<Key>{rows, plan.codec, keys}, 2);
  executor.sort_unique(keys, Count{rows.rows}, found);
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
  building::SummaryBlock<HostExecutor> block(executor, plan.size());
  SortedRule<Key> rule;
  rule.keys = keys;
  rule.first_key = first_key;
  return build_from(executor, rule, set, plan, settings, block, true, kNoCheck);
}

/// Boxes are measured: choose, and build.
GridBatch build_rows(HostExecutor& executor, const Rows& rows, PassPlan plan,
                     const BuildSettings& settings, Measured measured) {
  std::int64_t cell_count = 0;
  plan.images = std::move(measured.boxes);
  for (const Box& box : plan.images) {
    cell_count = saturating_add(cell_count, cells(box, kLeafLog));
  }
  const std::int64_t dense_bytes = saturating_mul(cell_count, sizeof(LeafMask));
  if (settings.engine == Engine::Mask && dense_bytes / kDenseBytesPerRow <= rows.rows) {
    return build_dense(executor, rows, plan, settings);
  }
  plan.codec = codec_for(plan.images);
  return plan.codec.bits() + 9 <= 64
             ? build_sorted<std::uint64_t>(executor, rows, plan, settings, measured.runs)
             : build_sorted<TileKey>(executor, rows, plan, settings, measured.runs);
}

std::int64_t member_of_row(std::span<const std::int64_t> offsets, std::uint64_t row) {
  return std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int64_t>(row)) -
         offsets.begin() - 1;
}

/// Throws for the first row that cannot be a voxel.
void check_rows(const PointLists& points, const Measured& measured) {
  const bool finite = measured.not_finite == kInRange;
  const std::uint64_t row = finite ? measured.out_of_range : measured.not_finite;
  if (row == kInRange) return;
  const std::int64_t member = member_of_row(points.offsets, row);
  const double* p = points.xyz.data() + 3 * row;
  throw Error(
      finite ? ErrorKind::OutOfRange : ErrorKind::InvalidArgument, "from_points", "points",
      "(" + std::to_string(p[0]) + ", " + std::to_string(p[1]) + ", " + std::to_string(p[2]) + ")",
      finite ? "its voxel is outside the 32-bit lattice" : "points must be finite", member,
      static_cast<std::int64_t>(row) - points.offsets[static_cast<std::size_t>(member)]);
}

}  // namespace

GridBatch BatchedBuilder::from_ijk(const VoxelLists& lists, const MapsAndNames& given) {
  const std::int64_t size = check_offsets("from_ijk", lists.offsets, lists.ijk.size());
  PassPlan plan = plan_for("from_ijk", size, given);
  state_->synchronisations = 0;
  if (size == 0) return GridBatch();
  state_->workspace.reset();
  HostExecutor executor(state_->workspace, state_->options.threads);
  const Rows rows{lists.ijk.data(), lists.offsets.data(), size, lists.offsets.back()};
  Measurement measurement(executor, size);
  executor.for_each_index(chunks_of(rows),
                          MeasureRows{rows, measurement.corners(), measurement.runs()}, 2);
  GridBatch result =
      build_rows(executor, rows, std::move(plan), state_->settings(), measurement.read());
  state_->synchronisations = executor.synchronisations();
  return result;
}

GridBatch BatchedBuilder::from_points(const PointLists& points, const MapsAndNames& given) {
  const std::int64_t size = check_offsets("from_points", points.offsets, points.xyz.size());
  PassPlan plan = plan_for("from_points", size, given);
  state_->synchronisations = 0;
  if (size == 0) return GridBatch();
  state_->workspace.reset();
  HostExecutor executor(state_->workspace, state_->options.threads);
  auto* ijk = scratch<std::int32_t>(executor, 3 * points.offsets.back());
  const Rows rows{ijk, points.offsets.data(), size, points.offsets.back()};
  auto* maps = scratch<double>(executor, 6 * size);
  std::vector<double> numbers;
  for (const MemberMap& map : plan.maps) {
    numbers.insert(numbers.end(), map.voxel_size.begin(), map.voxel_size.end());
  }
  for (const MemberMap& map : plan.maps) {
    numbers.insert(numbers.end(), map.origin.begin(), map.origin.end());
  }
  executor.upload(maps, numbers.data(), numbers.size() * sizeof(double));
  Measurement measurement(executor, size);
  executor.for_each_index(chunks_of(rows),
                          QuantisePoints{points.xyz.data(), rows, maps, maps + 3 * size, ijk,
                                         measurement.not_finite(), measurement.out_of_range()},
                          2);
  executor.for_each_index(chunks_of(rows),
                          MeasureRows{rows, measurement.corners(), measurement.runs()}, 2);
  Measured measured = measurement.read();
  check_rows(points, measured);
  GridBatch result =
      build_rows(executor, rows, std::move(plan), state_->settings(), std::move(measured));
  state_->synchronisations = executor.synchronisations();
  return result;
}

}  // namespace leafproof::gpu
