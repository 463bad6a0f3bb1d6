// Every topology pass of [T], as sets of voxels. Each reads its source (members in canonical
// order), returns a new batch in canonical order, and refuses as [E-1] and [T-11] say, having built
// nothing. Cost: O(n log n) in the voxels read and made; memory about twice the result's.
//
// Where several refusals apply, the first of these is given:
//   1. the arguments alone: InvalidArgument on any axis, then Unsupported on any axis (NaN in
//   points
//      is an argument);
//   2. shapes: maps, names, masks, second operand: ShapeMismatch; then the operands themselves,
//   that
//      must be in canonical order with legal maps and names: InvalidArgument;
//   3. the maps of the result [G-7]: InvalidArgument;
//   4. the range [L-5]: OutOfRange, at the first offending voxel in canonical order. Results are
//      named in 64 bits; a sum that 64 bits cannot hold is named as the nearest number that they
//      can;
//   5. the size: CapacityExceeded beyond 10^9 voxels in all members together [L-6]. Refine knows
//   its
//      size before it allocates; a dilation knows a lower bound, and then watches what it makes.
#pragma once

#include <vector>

#include "reference/lattice.h"

namespace leafproof::reference {

/// [T-1] The set of the listed voxels, any order, repeats allowed. `maps` and `names`: one per
/// member, or one for the whole batch, or none (unit map, empty name); else ShapeMismatch.
Batch from_ijk(const std::vector<std::vector<Voxel>>& lists, const std::vector<Map>& maps = {},
               const std::vector<std::string>& names = {});

/// [T-1] The voxel nearest to (p - origin) / voxel_size, halves upward, decided exactly.
/// Errors: NaN or infinity InvalidArgument; outside the lattice OutOfRange; both name the row.
Batch from_points(const std::vector<std::vector<Point>>& points, const std::vector<Map>& maps = {},
                  const std::vector<std::string>& names = {});

// In a mask, 0 is off and every other value on. The result keeps the first operand's names;
// `other`'s maps and names are not read [T-10].
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

/// [T-9] The listed members, in that order, repeats included. InvalidArgument: an index outside
/// 0 ... B-1; the error's member is the position in the view.
Batch view(const Batch& source, const std::vector<std::int64_t>& members);

}  // namespace leafproof::reference
