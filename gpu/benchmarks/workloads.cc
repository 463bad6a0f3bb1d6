#include "gpu/benchmarks/workloads.h"

#include <nanovdb/NanoVDB.h>

#include <cmath>
#include <random>
#include <utility>

namespace leafproof::gpu::benchmarks {

void Workload::append(const std::vector<Voxel>& member) {
  for (const Voxel& v : member) ijk.insert(ijk.end(), v.begin(), v.end());
  offsets.push_back(static_cast<std::int64_t>(ijk.size() / 3));
}

std::vector<Voxel> shell(double radius, Voxel shift) {
  std::vector<Voxel> voxels;
  const int half = static_cast<int>(radius) + 2;
  for (int x = -half; x <= half; ++x) {
    for (int y = -half; y <= half; ++y) {
      for (int z = -half; z <= half; ++z) {
        const double distance = std::sqrt(static_cast<double>(x * x + y * y + z * z));
        if (std::abs(distance - radius) <= 0.5) {
          voxels.push_back({x + shift[0], y + shift[1], z + shift[2]});
        }
      }
    }
  }
  return voxels;
}

Workload shells(double radius, std::int64_t members, bool around_origin) {
  Workload workload;
  const bool small = radius == kSmallRadius;
  workload.family = std::string(small ? "small" : "large") + (around_origin ? "-origin" : "-tile");
  workload.what = std::string("Shells of ") + (small ? "7,370" : "20,406") + " voxels, " +
                  (around_origin ? "around the origin (8 root tiles each)" : "in one root tile");
  // In a tile as a voxelised object lies, with its least coordinates about 0.
  const int base = around_origin ? 0 : static_cast<int>(radius) + 1;
  for (std::int64_t m = 0; m < members; ++m) {
    const auto i = static_cast<int>(m);
    workload.append(shell(radius, {base + i % 7, base + i % 5, base + i % 3}));
  }
  return workload;
}

Workload random_voxels(std::string family, std::string what, std::int64_t members,
                       std::int64_t voxels, std::int32_t side, std::int32_t corner) {
  Workload workload;
  workload.family = std::move(family);
  workload.what = std::move(what);
  std::mt19937_64 random(
      20'261'129);  // its numbers, unlike a distribution's, are the same anywhere
  const auto length = static_cast<std::size_t>(side);
  for (std::int64_t m = 0; m < members; ++m) {
    std::vector<bool> drawn(length * length * length);
    std::vector<Voxel> member;
    while (static_cast<std::int64_t>(member.size()) < voxels) {
      const std::size_t cell = random() % drawn.size();
      if (drawn[cell]) continue;
      drawn[cell] = true;
      const auto at = [corner](std::size_t i) { return corner + static_cast<std::int32_t>(i); };
      member.push_back(
          {at(cell / (length * length)), at(cell / length % length), at(cell % length)});
    }
    workload.append(member);
  }
  return workload;
}

Workload voxels_of(const GridBatch& batch, std::string family, std::string what) {
  Workload workload;
  workload.family = std::move(family);
  workload.what = std::move(what);
  for (std::int64_t m = 0; m < batch.size(); ++m) {
    using Leaf = nanovdb::NanoLeaf<nanovdb::ValueOnIndex>;
    const MemberInfo& member = batch.member(m);
    const auto* leaves = reinterpret_cast<const Leaf*>(batch.grid(m) + member.leaves_at);
    for (std::int64_t i = 0; i < member.leaves; ++i) {
      for (auto on = leaves[i].beginValueOn(); on; ++on) {
        const nanovdb::Coord at = on.getCoord();
        workload.ijk.insert(workload.ijk.end(), {at[0], at[1], at[2]});
      }
    }
    workload.offsets.push_back(static_cast<std::int64_t>(workload.ijk.size() / 3));
  }
  return workload;
}

}  // namespace leafproof::gpu::benchmarks
