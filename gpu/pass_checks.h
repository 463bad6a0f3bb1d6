// What every pass checks of its arguments before anything runs [T-11] [T-10] [T-1], and the plan
// that it starts from. All on the host.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gpu/batched_builder.h"
#include "gpu/pass_plan.h"

namespace leafproof::gpu {

inline constexpr std::int64_t kWidest = 1024;  // of a box or a refining factor [T-11]

/// "(x, y, z)", as refusals name it.
std::string text_of(const Triple& t);

/// InvalidArgument below 1, Unsupported above `greatest`.
void check_factor(const char* operation, const Triple& factor, std::int64_t greatest = INT64_MAX);
/// InvalidArgument where lo > hi, or where 0 must be in the box and is not; Unsupported if too
/// wide.
void check_box(const char* operation, const Triple& lo, const Triple& hi, bool holds_zero);
/// ShapeMismatch unless there is one flag for each voxel of the source.
void check_flags(const char* operation, const GridBatch& source, const VoxelFlags& mask);
/// B, from offsets into `numbers` / 3 rows that are what they should be; else ShapeMismatch.
std::int64_t check_offsets(const char* operation, std::span<const std::int64_t> offsets,
                           std::size_t numbers);

/// Names and maps of the result: those of the source, or those given for each of `size` members.
PassPlan plan_like(const char* operation, const GridBatch& source);
PassPlan plan_for(const char* operation, std::int64_t size, const MapsAndNames& given);

}  // namespace leafproof::gpu
