// Maps after a pass [G-7]: each step one double operation, nothing contracted; f is rounded to
// double (exact up to 2^53) before the first. Passes that are not here keep the map as it is.
//
// Refusals, in this order: the factor or stride as for its pass ([T-11], [K-7]); the given map; the
// resulting map. A map is s and o, as the clause has it: s = 1e-310 is legal although the derived
// field 1/s is infinite, and so is a map whose world box overflows; only s and o are judged.
#pragma once

#include "reference/lattice.h"

namespace leafproof::reference {

/// Refuses (InvalidArgument) a map whose numbers are not finite or whose voxel size is not
/// positive, and a name over 255 bytes or with an inner NUL.
void check_map(const char* operation, const Map& map, std::int64_t member);
void check_name(const char* operation, const std::string& name, std::int64_t member);

/// The map of the result of each pass; InvalidArgument when it is not finite and positive.
Map map_after_refine(const Map& map, Triple factor, std::int64_t member);
Map map_after_coarsen(const Map& map, Triple factor, std::int64_t member);
Map map_after_conv_grid(const Map& map, Triple stride, std::int64_t member);
Map map_after_conv_transpose_grid(const Map& map, Triple stride, std::int64_t member);
Map map_after_dual(const Map& map, std::int64_t member);

}  // namespace leafproof::reference
