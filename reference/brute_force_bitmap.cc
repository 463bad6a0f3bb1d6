// The bitmap of brute_force and the counts of its boxes.
#include <algorithm>

#include "reference/brute_force_parts.h"

namespace leafproof::brute_force {

std::int64_t div_down(std::int64_t n, std::int64_t d) {
  return n >= 0 ? n / d : -1 - (-1 - n) / d;  // -1 - n counts down from -1, and is not negative
}

std::int64_t rest(std::int64_t n, std::int64_t d) {
  return n - d * div_down(n, d);
}

std::int64_t cells_of(const Region& region) {
  if (region.empty()) return 0;
  std::int64_t cells = 1;
  for (int a = 0; a < 3; ++a) {
    const std::int64_t n = region.hi[a] - region.lo[a] + 1;
    if (n > kMaxCells / cells)
      throw BoxTooLarge("the box " + show(region.lo) + " ... " + show(region.hi) +
                        " has more than 2^27 cells");
    cells *= n;
  }
  return cells;
}

Cell cell(const Voxel& v) {
  return {v.x, v.y, v.z};
}

Region hull(const Region& a, const Region& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  Region both;
  for (int i = 0; i < 3; ++i) {
    both.lo[i] = std::min(a.lo[i], b.lo[i]);
    both.hi[i] = std::max(a.hi[i], b.hi[i]);
  }
  return both;
}

namespace {

std::size_t place(const Region& region, const Cell& c) {
  const std::int64_t ny = region.hi[1] - region.lo[1] + 1, nz = region.hi[2] - region.lo[2] + 1;
  return static_cast<std::size_t>(((c[0] - region.lo[0]) * ny + (c[1] - region.lo[1])) * nz +
                                  (c[2] - region.lo[2]));
}

}  // namespace

Bitmap::Bitmap(const std::vector<Voxel>& voxels, const std::vector<std::uint8_t>* flags) {
  const auto chosen = [&](std::size_t i) { return flags == nullptr || (*flags)[i] != 0; };
  for (std::size_t i = 0; i < voxels.size(); ++i)
    if (chosen(i)) region_ = hull(region_, {cell(voxels[i]), cell(voxels[i])});
  bits_.resize(static_cast<std::size_t>(cells_of(region_)));
  for (std::size_t i = 0; i < voxels.size(); ++i)
    if (chosen(i)) bits_[place(region_, cell(voxels[i]))] = true;
}

bool Bitmap::holds(const Cell& c) const {
  for (int a = 0; a < 3; ++a)
    if (c[a] < region_.lo[a] || c[a] > region_.hi[a]) return false;
  return bits_[place(region_, c)];
}

CountTable::CountTable(const Bitmap& bitmap) : region_(bitmap.region()) {
  if (region_.empty()) return;
  for (int a = 0; a < 3; ++a) size_[a] = region_.hi[a] - region_.lo[a] + 1;
  counts_.resize(static_cast<std::size_t>(size_[0] * size_[1] * size_[2]));
  std::size_t i = 0;
  for (std::int64_t x = 0; x < size_[0]; ++x)
    for (std::int64_t y = 0; y < size_[1]; ++y) {
      std::uint32_t row = 0;  // on in this row of cells so far
      for (std::int64_t z = 0; z < size_[2]; ++z, ++i) {
        row += bitmap.holds({region_.lo[0] + x, region_.lo[1] + y, region_.lo[2] + z});
        counts_[i] = row + up_to(x, y - 1, z) + up_to(x - 1, y, z) - up_to(x - 1, y - 1, z);
      }
    }
}

// Unsigned sums may pass below 0 on the way; a count of at most 2^27 comes out right.
std::uint32_t CountTable::up_to(std::int64_t x, std::int64_t y, std::int64_t z) const {
  if (x < 0 || y < 0 || z < 0) return 0;
  return counts_[static_cast<std::size_t>((x * size_[1] + y) * size_[2] + z)];
}

std::int64_t CountTable::count(const Region& box) const {
  Cell from, to;  // first and last inside, counted from the region's lowest corner
  for (int a = 0; a < 3; ++a) {
    if (box.hi[a] < region_.lo[a] || box.lo[a] > region_.hi[a]) return 0;
    from[a] = std::max(box.lo[a], region_.lo[a]) - region_.lo[a];
    to[a] = std::min(box.hi[a], region_.hi[a]) - region_.lo[a];
    if (to[a] < from[a]) return 0;
  }
  const auto slab = [&](std::int64_t x) {
    return up_to(x, to[1], to[2]) - up_to(x, from[1] - 1, to[2]) - up_to(x, to[1], from[2] - 1) +
           up_to(x, from[1] - 1, from[2] - 1);
  };
  return static_cast<std::uint32_t>(slab(to[0]) - slab(from[0] - 1));
}

}  // namespace leafproof::brute_force
