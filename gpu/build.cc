#include "gpu/build.h"

namespace leafproof::gpu::building {
namespace {

constexpr std::int64_t kAlign = 32;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

[[noreturn]] void too_large(const PassPlan& plan, const char* argument, std::int64_t value,
                            const std::string& reason, std::optional<std::int64_t> member = {}) {
  throw Error(ErrorKind::CapacityExceeded, plan.operation, argument, std::to_string(value), reason,
              member);
}

}  // namespace

Placement place(const PassPlan& plan, const std::vector<MemberStart>& starts,
                std::int64_t max_bytes) {
  constexpr std::int64_t k32 = UINT32_MAX;
  Placement placement;
  if (plan.size() > k32) too_large(plan, "members", plan.size(), "a grid counts them in 32 bits");
  placement.targets.resize(static_cast<std::size_t>(plan.size()));
  for (std::int64_t m = 0; m < plan.size(); ++m) {
    const auto i = static_cast<std::size_t>(m);
    const MemberStart &start = starts[i], &next = starts[i + 1];
    MemberTarget& target = placement.targets[i];
    target.first_upper = start.upper;
    target.first_lower = start.lower;
    target.first_leaf = start.leaf;
    target.uppers = next.upper - start.upper;
    target.lowers = next.lower - start.lower;
    target.leaves = next.leaf - start.leaf;
    if (target.leaves > k32) {
      too_large(plan, "leaves", target.leaves, "a grid counts its nodes in 32 bits", m);
    }
    std::copy(plan.maps[i].voxel_size.begin(), plan.maps[i].voxel_size.end(), target.voxel_size);
    std::copy(plan.maps[i].origin.begin(), plan.maps[i].origin.end(), target.origin);
    target.name_length = static_cast<std::int64_t>(plan.names[i].size());
    // Until the buffer exists, the position in it stands for the address.
    target.grid = reinterpret_cast<std::byte*>(static_cast<std::intptr_t>(placement.grid_bytes));
    placement.grid_bytes = saturating_add(placement.grid_bytes, aligned(target.bytes()));
  }
  if (plan.size() > 0) {
    const std::int64_t b = plan.size();
    const std::int64_t sizes[7] = {8 * (b + 1), 8 * (b + 1),           8 * b, 24 * b, 24 * b,
                                   24 * b,      4 * starts.back().leaf};
    std::int64_t at = placement.grid_bytes;
    for (int i = 0; i < 7; ++i) {
      placement.metadata_at[i] = at;
      at = saturating_add(at, aligned(sizes[i]));
    }
    placement.total_bytes = at;
  }
  if (placement.total_bytes > max_bytes) {
    too_large(plan, "bytes", placement.total_bytes,
              "the result would be larger than the limit of " + std::to_string(max_bytes));
  }
  return placement;
}

DeviceMetadata metadata_at(const Placement& placement, std::byte* memory) {
  const auto at = [&](int i) { return memory + placement.metadata_at[i]; };
  DeviceMetadata metadata;
  if (memory == nullptr) return metadata;
  metadata.voxel_offsets = reinterpret_cast<std::int64_t*>(at(0));
  metadata.leaf_offsets = reinterpret_cast<std::int64_t*>(at(1));
  metadata.voxel_counts = reinterpret_cast<std::int64_t*>(at(2));
  metadata.voxel_sizes = reinterpret_cast<double*>(at(3));
  metadata.origins = reinterpret_cast<double*>(at(4));
  metadata.boxes = reinterpret_cast<std::int32_t*>(at(5));
  metadata.leaf_member = reinterpret_cast<std::int32_t*>(at(6));
  return metadata;
}

GridBatch finish(const PassPlan& plan, const Placement& placement,
                 std::shared_ptr<std::byte> memory, const std::vector<Extent>& extents) {
  auto storage = std::make_shared<GridStorage>();
  storage->bytes = placement.grid_bytes;
  storage->total_bytes = placement.total_bytes;
  const DeviceMetadata device = metadata_at(placement, memory.get());
  storage->metadata = {device.voxel_offsets, device.leaf_offsets, device.leaf_member,
                       device.voxel_counts,  device.boxes,        device.voxel_sizes,
                       device.origins};
  storage->members.resize(placement.targets.size());
  for (std::size_t m = 0; m < placement.targets.size(); ++m) {
    const MemberTarget& target = placement.targets[m];
    MemberInfo& info = storage->members[m];
    info.offset = target.grid - memory.get();
    info.bytes = target.bytes();
    info.uppers = target.uppers;
    info.lowers = target.lowers;
    info.leaves = target.leaves;
    info.voxels = extents[m].voxels;
    info.root_at = kRootAt;
    info.uppers_at = target.uppers_at();
    info.lowers_at = target.lowers_at();
    info.leaves_at = target.leaves_at();
    if (info.voxels > 0) {
      const Box& box = extents[m].box;
      const auto narrow = [](const Coord& c) {
        return std::array<std::int32_t, 3>{static_cast<std::int32_t>(c.x),
                                           static_cast<std::int32_t>(c.y),
                                           static_cast<std::int32_t>(c.z)};
      };
      info.box = VoxelBox{narrow(box.min), narrow(box.max)};
    }
    info.map = plan.maps[m];
    info.name = plan.names[m];
  }
  holds_batch(memory);
  storage->memory = std::move(memory);
  return GridBatch(std::move(storage));
}

}  // namespace leafproof::gpu::building
