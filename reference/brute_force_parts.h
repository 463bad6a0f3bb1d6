// Inside brute_force: regions of cells, the bitmap, counts of boxes, layouts by walking, refusals.
#pragma once

#include <functional>
#include <optional>

#include "reference/brute_force.h"

namespace leafproof::brute_force {

using reference::ErrorKind;
using reference::Grid;

/// A cell by its 64-bit coordinates, and a box of cells, inclusive; empty where hi < lo.
using Cell = std::array<std::int64_t, 3>;
struct Region {
  Cell lo{0, 0, 0}, hi{-1, -1, -1};
  bool empty() const { return hi[0] < lo[0] || hi[1] < lo[1] || hi[2] < lo[2]; }
};

/// Down to the next lower integer, and what is left over [L-4].
std::int64_t div_down(std::int64_t n, std::int64_t d);
std::int64_t rest(std::int64_t n, std::int64_t d);

/// The number of cells; BoxTooLarge above kMaxCells.
std::int64_t cells_of(const Region& region);

Cell cell(const Voxel& v);

/// The smallest region that holds both.
Region hull(const Region& a, const Region& b);

/// One bit for each cell of the box of some voxels.
class Bitmap {
 public:
  /// Those with a flag other than 0, where there are flags (one each).
  explicit Bitmap(const std::vector<Voxel>& voxels,
                  const std::vector<std::uint8_t>* flags = nullptr);
  const Region& region() const { return region_; }
  bool holds(const Cell& c) const;  // false outside the region

 private:
  Region region_;
  std::vector<bool> bits_;  // z fastest
};

/// How many cells of a bitmap are on in any box: at each cell the count from the region's lowest
/// corner up to it, so that a box is eight look-ups.
class CountTable {
 public:
  explicit CountTable(const Bitmap& bitmap);
  std::int64_t count(const Region& box) const;

 private:
  std::uint32_t up_to(std::int64_t x, std::int64_t y, std::int64_t z) const;
  Region region_;
  Cell size_{0, 0, 0};
  std::vector<std::uint32_t> counts_;
};

/// A member's grid (all but name, map, index, count, world box) of the cells in `region` for which
/// `holds`: asked once for each cell, in canonical order [G-2].
Grid grid_where(const Region& region, const std::function<bool(const Cell&)>& holds);

/// The batch of these grids [G-6], [G-8].
Layout assemble(std::vector<Grid> grids, const std::vector<Map>& maps,
                const std::vector<std::string>& names);

/// Refusals [E-1]; `where` names member and row.
struct Where {
  std::optional<std::int64_t> member, row;
};
[[noreturn]] void reject(ErrorKind kind, const std::string& pass, const std::string& argument,
                         const std::string& value, const std::string& reason, Where where = {});
std::string show(const Cell& c);
void require_factor(const std::string& pass, const Triple& factor, std::int64_t most);
void require_box(const std::string& pass, const Triple& lo, const Triple& hi, bool with_zero);
void require_members(const std::string& pass, const std::vector<std::vector<Voxel>>& members);
void require_batch(const std::string& pass, const Batch& batch);
void require_masks(const Batch& batch, const Masks& masks, const std::string& pass);
void require_map(const std::string& pass, const Map& map, std::int64_t member);
void require_name(const std::string& pass, const std::string& name, std::int64_t member);

/// [L-5] for c -> scale * c + (first ... last) per axis, of the flagged voxels where there are
/// flags.
void require_range(const std::string& pass, const Batch& batch, const Masks* masks,
                   const Triple& scale, const Triple& first, const Triple& last);

}  // namespace leafproof::brute_force
