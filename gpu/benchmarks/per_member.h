// What a user of NanoVDB's CPU tools does today: each member alone, voxel by voxel into a mutable
// grid, then converted, then all merged into one buffer. The yardstick of the benchmarks.
#pragma once

#include <nanovdb/GridHandle.h>

#include <cstdint>

#include "gpu/benchmarks/workloads.h"

namespace leafproof::gpu::benchmarks {

enum class Pass { FromIjk, Refine2, Coarsen2, Dilate26 };
const char* name_of(Pass pass);

/// The merged batch, members on `threads` threads of TBB's arena.
nanovdb::GridHandle<> build_per_member(const Workload& workload, Pass pass);

}  // namespace leafproof::gpu::benchmarks
