// Maps after a pass [G-7]: each step one double operation, nothing contracted.
#pragma once

#include "reference/lattice.h"

namespace leafproof::reference {

/// Refuses (InvalidArgument) a map whose numbers are not finite or whose voxel size is not positive,
/// and a name over 255 bytes or with an inner NUL.
void check_map(const char* operation, const Map& map, std::int64_t member);
void check_name(const char* operation, const std::string& name, std::int64_t member);

/// The map of the result of each pass; InvalidArgument when it is not finite and positive.
Map map_after_refine(const Map& map, Triple factor, std::int64_t member);
Map map_after_coarsen(const Map& map, Triple factor, std::int64_t member);
Map map_after_conv_grid(const Map& map, Triple stride, std::int64_t member);
Map map_after_conv_transpose_grid(const Map& map, Triple stride, std::int64_t member);
Map map_after_dual(const Map& map, std::int64_t member);

}  // namespace leafproof::reference
