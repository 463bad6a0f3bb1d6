#include "gpu/benchmarks/workloads.h"

#include <cmath>

namespace leafproof::gpu::benchmarks {

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
  workload.name = std::string(radius == kSmallRadius ? "small" : "large") +
                  (around_origin ? "-origin" : "-tile") + "/B" + std::to_string(members);
  const int base = around_origin ? 0 : 1024;
  for (std::int64_t m = 0; m < members; ++m) {
    const auto i = static_cast<int>(m);
    for (const Voxel& v : shell(radius, {base + i % 7, base + i % 5, base + i % 3})) {
      workload.ijk.insert(workload.ijk.end(), v.begin(), v.end());
    }
    workload.offsets.push_back(static_cast<std::int64_t>(workload.ijk.size() / 3));
  }
  return workload;
}

}  // namespace leafproof::gpu::benchmarks
