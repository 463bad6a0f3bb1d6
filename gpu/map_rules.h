// Maps after a pass [G-7] and what a map and a name must be; this side's own arithmetic, one double
// operation a step.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/batched_builder.h"

namespace leafproof::gpu {

/// Error(InvalidArgument) unless all numbers are finite, the size positive and its inverse finite.
void check_map(const std::string& operation, const MemberMap& map, std::int64_t member);
/// Error(InvalidArgument) over 255 bytes or with an inner NUL.
void check_name(const std::string& operation, const std::string& name, std::int64_t member);

MemberMap refined(const MemberMap& map, Triple factor);    // n = s/f, o - ((f-1) n)/2
MemberMap coarsened(const MemberMap& map, Triple factor);  // s f, o + ((f-1) s)/2
MemberMap dual_map(const MemberMap& map);                  // s, o - s/2
MemberMap strided(const MemberMap& map, Triple stride);    // conv_grid: s S, o
MemberMap unstrided(const MemberMap& map, Triple stride);  // conv_transpose_grid: s/S, o

}  // namespace leafproof::gpu
