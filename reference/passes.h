// Every topology pass of [T], as sets of voxels: nothing here is meant to be fast. Each takes its
// source by value of meaning (members in canonical order), returns a new batch in canonical order,
// and refuses as [E-1] and [T-11] say.
#pragma once

#include <vector>

#include "reference/lattice.h"

namespace leafproof::reference {

/// [T-1] The set of the listed voxels, any order, repeats allowed. `maps` and `names`: one per
/// member, or one for the whole batch, or none (unit map, empty name).
Batch from_ijk(const std::vector<std::vector<Voxel>>& lists, const std::vector<Map>& maps = {},
               const std::vector<std::string>& names = {});

/// [T-1] The voxel nearest to (p - origin) / voxel_size, halves upward, decided exactly.
/// Errors: NaN or infinity InvalidArgument; outside the lattice OutOfRange; both name the row.
Batch from_points(const std::vector<std::vector<Point>>& points, const std::vector<Map>& maps = {},
                  const std::vector<std::string>& names = {});

Batch refine(const Batch& source, Triple factor);                     // [T-2]
Batch refine(const Batch& source, Triple factor, const Masks& mask);  // [T-2], flagged voxels only
Batch coarsen(const Batch& source, Triple factor);                    // [T-3]
Batch dilate_box(const Batch& source, Triple lo, Triple hi);          // [T-4]
Batch dual(const Batch& source);                                      // [T-4], box [0,1]^3
Batch erode_box(const Batch& source, Triple lo, Triple hi);           // [T-5]
Batch prune(const Batch& source, const Masks& mask);                  // [T-6]
Batch merge(const Batch& source, const Batch& other);                 // [T-6], [T-10]
Batch intersect(const Batch& source, const Batch& other);
Batch subtract(const Batch& source, const Batch& other);

/// [T-9] The listed members, in that order, repeats included.
Batch view(const Batch& source, const std::vector<std::int64_t>& members);

}  // namespace leafproof::reference
