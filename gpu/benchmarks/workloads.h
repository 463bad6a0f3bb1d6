// The batches that are measured: hollow spheres, as surfaces look when they are voxels, random
// voxels, and any batch of grids.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/grid_batch.h"

namespace leafproof::gpu::benchmarks {

using Voxel = std::array<std::int32_t, 3>;

struct Workload {
  std::string family;  // "small-tile"; families differ in more than the number of members
  std::string what;    // one phrase for people
  std::vector<std::int32_t> ijk;  // [N, 3]
  std::vector<std::int64_t> offsets{0};

  std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t voxels() const { return offsets.back(); }
  std::string name() const { return family + "/B" + std::to_string(size()); }
  void append(const std::vector<Voxel>& member);
};

/// Voxels whose centre is within half a voxel of a sphere of this radius, moved by `shift`.
std::vector<Voxel> shell(double radius, Voxel shift);

inline constexpr double kSmallRadius = 24.2;   // 7,370 voxels
inline constexpr double kLargeRadius = 40.45;  // 20,406 voxels

/// `members` shells of slightly different centres: all in one tile, or around the origin, where
/// each straddles eight.
Workload shells(double radius, std::int64_t members, bool around_origin);

/// `members` times `voxels` different voxels, drawn from a cube of this side with its lowest corner
/// at `corner`, in the order in which they were drawn. The same ones in every run.
Workload random_voxels(std::string family, std::string what, std::int64_t members,
                       std::int64_t voxels, std::int32_t side, std::int32_t corner);

/// The voxels of a batch, in canonical order.
Workload voxels_of(const GridBatch& batch, std::string family, std::string what);

}  // namespace leafproof::gpu::benchmarks
