// The batches that are measured: hollow spheres, as surfaces look when they are voxels.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace leafproof::gpu::benchmarks {

using Voxel = std::array<std::int32_t, 3>;

struct Workload {
  std::string name;
  std::vector<std::int32_t> ijk;  // [N, 3]
  std::vector<std::int64_t> offsets{0};
  std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
};

/// Voxels whose centre is within half a voxel of a sphere of this radius, moved by `shift`.
std::vector<Voxel> shell(double radius, Voxel shift);

inline constexpr double kSmallRadius = 24.2;   // 7,370 voxels
inline constexpr double kLargeRadius = 40.45;  // 20,406 voxels

/// `members` shells of slightly different centres: all in one tile, or around the origin, where
/// each straddles eight.
Workload shells(double radius, std::int64_t members, bool around_origin);

}  // namespace leafproof::gpu::benchmarks
