// The second reference: every pass of [T] over a dense bitmap in a small box, written as if by
// somebody else. Where the first reference pushes (each voxel to its results, then sort), this one
// pulls: it visits the cells of the result's box in canonical order, by nested boxes of tile, lower
// node, leaf and voxel, and asks of each cell whether the definition holds there. It shares the
// plain structs of lattice.h, layout.h and error.h with the first reference, and no function.
//
// Errors: as the first reference, in the same order (passes.h). Cost: O(cells) per member, whatever
// the factor or box; up to 5 bytes a cell while a member is read.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/error.h"
#include "reference/lattice.h"
#include "reference/layout.h"

namespace leafproof::brute_force {

using reference::Batch;
using reference::Layout;
using reference::Map;
using reference::Masks;
using reference::Point;
using reference::Triple;
using reference::Voxel;

/// The most cells that a member's box may have, of source or result.
inline constexpr std::int64_t kMaxCells = std::int64_t{1} << 27;

/// The box does not suffice: this reference has no answer (no refusal of the operation).
class BoxTooLarge : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// [T-1] Maps and names: one per member, or one for all, or none.
Layout from_ijk(const std::vector<std::vector<Voxel>>& lists, const std::vector<Map>& maps = {},
                const std::vector<std::string>& names = {});
Layout from_points(const std::vector<std::vector<Point>>& points, const std::vector<Map>& maps = {},
                   const std::vector<std::string>& names = {});

/// [T-2] ... [T-6]. `mask`: flagged voxels only, where it is given.
Layout refine(const Batch& source, const Triple& factor, const Masks* mask = nullptr);
Layout coarsen(const Batch& source, const Triple& factor);
Layout dilate_box(const Batch& source, const Triple& lo, const Triple& hi);
Layout dual(const Batch& source);
Layout erode_box(const Batch& source, const Triple& lo, const Triple& hi);
Layout prune(const Batch& source, const Masks& mask);
Layout merge(const Batch& source, const Batch& other);
Layout intersect(const Batch& source, const Batch& other);
Layout subtract(const Batch& source, const Batch& other);

/// [T-9] The batch that a pass on this view reads.
Batch view(const Batch& source, const std::vector<std::int64_t>& members);

/// [G-7] The map of a member after a pass, by the pass's name: "refine", "coarsen", "conv_grid",
/// "conv_transpose_grid" (`factor` is the factor or stride), "dual"; any other keeps the map.
Map map_after(const std::string& pass, const Map& map, const Triple& factor, std::int64_t member);

}  // namespace leafproof::brute_force
