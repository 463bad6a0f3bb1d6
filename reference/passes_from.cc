// [T-1] Batches from lists of voxels and of points.
#include <cmath>
#include <limits>

#include "reference/canonical_order.h"
#include "reference/checks.h"
#include "reference/map.h"
#include "reference/passes.h"

namespace leafproof::reference {
namespace {

// One per member, or one for the whole batch, or none.
template <class T>
std::vector<T> one_for_each(const char* operation, const char* argument,
                            const std::vector<T>& given, std::size_t members) {
  if (given.size() == members) return given;
  if (given.empty()) return std::vector<T>(members);
  if (given.size() == 1) return std::vector<T>(members, given.front());
  refuse(ErrorKind::ShapeMismatch, operation, argument, std::to_string(given.size()) + " entries",
         "one for each of " + std::to_string(members) + " members, or one for all, or none");
}

// The members are still to come.
Batch batch_without_voxels(const char* operation, std::size_t members, const std::vector<Map>& maps,
                           const std::vector<std::string>& names) {
  Batch batch;
  batch.members.resize(members);
  batch.maps = one_for_each(operation, "maps", maps, members);
  batch.names = one_for_each(operation, "names", names, members);
  for (std::size_t m = 0; m < members; ++m) check_map(operation, batch.maps[m], m);
  for (std::size_t m = 0; m < members; ++m) check_name(operation, batch.names[m], m);
  return batch;
}

// The integer nearest to (p - origin) / voxel_size, halves upward. The quotient is two operations;
// x - n is exact there, and n + 1 wherever x - n is not 0.
double nearest(double p, double origin, double voxel_size) {
  const double x = (p - origin) / voxel_size;
  const double n = std::floor(x);
  return x - n >= 0.5 ? n + 1 : n;
}

// NaN fails both comparisons; infinity one of them.
bool in_lattice(double n) {
  return n >= std::numeric_limits<std::int32_t>::min() &&
         n <= std::numeric_limits<std::int32_t>::max();
}

std::string point_text(const Point& p) {
  std::string text = "(";
  text += to_text(p[0]) + ", " + to_text(p[1]) + ", " + to_text(p[2]) + ")";
  return text;
}

void check_finite(const std::vector<std::vector<Point>>& points) {
  for (std::size_t m = 0; m < points.size(); ++m)
    for (std::size_t row = 0; row < points[m].size(); ++row)
      for (const double p : points[m][row])
        if (!std::isfinite(p))
          refuse(ErrorKind::InvalidArgument, "from_points", "points", point_text(points[m][row]),
                 "must be finite", m, row);
}

}  // namespace

Batch from_ijk(const std::vector<std::vector<Voxel>>& lists, const std::vector<Map>& maps,
               const std::vector<std::string>& names) {
  Batch result = batch_without_voxels("from_ijk", lists.size(), maps, names);
  for (std::size_t m = 0; m < lists.size(); ++m) {
    result.members[m] = lists[m];
    make_canonical(result.members[m]);
  }
  return result;
}

Batch from_points(const std::vector<std::vector<Point>>& points, const std::vector<Map>& maps,
                  const std::vector<std::string>& names) {
  check_finite(points);
  Batch result = batch_without_voxels("from_points", points.size(), maps, names);
  for (std::size_t m = 0; m < points.size(); ++m) {
    const Map& map = result.maps[m];
    for (std::size_t row = 0; row < points[m].size(); ++row) {
      Point n;
      for (int a = 0; a < 3; ++a)
        n[a] = nearest(points[m][row][a], map.origin[a], map.voxel_size[a]);
      if (!in_lattice(n[0]) || !in_lattice(n[1]) || !in_lattice(n[2]))
        refuse(ErrorKind::OutOfRange, "from_points", "result", point_text(n),
               "point " + point_text(points[m][row]) + " falls outside the 32-bit lattice", m, row);
      result.members[m].push_back({static_cast<std::int32_t>(n[0]), static_cast<std::int32_t>(n[1]),
                                   static_cast<std::int32_t>(n[2])});
    }
    make_canonical(result.members[m]);
  }
  return result;
}

}  // namespace leafproof::reference
