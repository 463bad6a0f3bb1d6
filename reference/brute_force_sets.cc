// The passes of brute_force that choose or join voxels [T-1], [T-6], and views [T-9].
#include <cmath>
#include <utility>

#include "reference/brute_force_parts.h"

namespace leafproof::brute_force {
namespace {

template <class T>
std::vector<T> spread(const std::string& pass, const std::string& argument,
                      const std::vector<T>& given, std::size_t members) {
  if (given.empty()) return std::vector<T>(members);
  if (given.size() == 1) return std::vector<T>(members, given[0]);
  if (given.size() != members)
    reject(ErrorKind::ShapeMismatch, pass, argument, std::to_string(given.size()),
           "0, 1 or " + std::to_string(members));
  return given;
}

Layout listed(const std::string& pass, const std::vector<std::vector<Voxel>>& lists,
              const std::vector<Map>& maps, const std::vector<std::string>& names) {
  std::vector<Grid> grids;
  for (const auto& list : lists) {
    const Bitmap s(list);
    grids.push_back(grid_where(s.region(), [&](const Cell& c) { return s.holds(c); }));
  }
  return assemble(std::move(grids), spread(pass, "maps", maps, lists.size()),
                  spread(pass, "names", names, lists.size()));
}

void require_spread(const std::string& pass, std::size_t members, const std::vector<Map>& maps,
                    const std::vector<std::string>& names) {
  const auto map_of = spread(pass, "maps", maps, members);
  const auto name_of = spread(pass, "names", names, members);
  for (std::size_t m = 0; m < members; ++m) require_map(pass, map_of[m], m);
  for (std::size_t m = 0; m < members; ++m) require_name(pass, name_of[m], m);
}

// Whole part and what follows the point are exact; the nearest integer, halves upward [T-1].
double rounded(double x) {
  double whole = 0;
  const double part = std::modf(x, &whole);
  return part >= 0.5 ? whole + 1 : part < -0.5 ? whole - 1 : whole;
}

// `wider`: the result may leave the first operand's box.
template <class Rule>
Layout combined(const std::string& pass, const Batch& a, const Batch& b, bool wider, Rule rule) {
  if (a.members.size() != b.members.size())
    reject(ErrorKind::ShapeMismatch, pass, "other", std::to_string(b.members.size()) + " members",
           std::to_string(a.members.size()) + " members");
  require_batch(pass, a);
  require_members(pass, b.members);
  std::vector<Grid> grids;
  for (std::size_t m = 0; m < a.members.size(); ++m) {
    const Bitmap in_a(a.members[m]), in_b(b.members[m]);
    const Region box = wider ? hull(in_a.region(), in_b.region()) : in_a.region();
    grids.push_back(
        grid_where(box, [&](const Cell& c) { return rule(in_a.holds(c), in_b.holds(c)); }));
  }
  return assemble(std::move(grids), a.maps, a.names);
}

}  // namespace

Layout from_ijk(const std::vector<std::vector<Voxel>>& lists, const std::vector<Map>& maps,
                const std::vector<std::string>& names) {
  require_spread("from_ijk", lists.size(), maps, names);
  return listed("from_ijk", lists, maps, names);
}

Layout from_points(const std::vector<std::vector<Point>>& points, const std::vector<Map>& maps,
                   const std::vector<std::string>& names) {
  for (std::size_t m = 0; m < points.size(); ++m)
    for (std::size_t i = 0; i < points[m].size(); ++i)
      for (const double p : points[m][i])
        if (std::isnan(p) || std::isinf(p))
          reject(ErrorKind::InvalidArgument, "from_points", "points", std::to_string(p),
                 "finite numbers", {m, i});
  require_spread("from_points", points.size(), maps, names);
  const auto map_of = spread("from_points", "maps", maps, points.size());
  std::vector<std::vector<Voxel>> lists(points.size());
  for (std::size_t m = 0; m < points.size(); ++m)
    for (std::size_t i = 0; i < points[m].size(); ++i) {
      std::array<std::int32_t, 3> v;
      for (int a = 0; a < 3; ++a) {
        const double from_origin = points[m][i][a] - map_of[m].origin[a];
        const double n = rounded(from_origin / map_of[m].voxel_size[a]);
        if (!(-2147483649.0 < n && n < 2147483648.0))
          reject(ErrorKind::OutOfRange, "from_points", "result", std::to_string(n),
                 "a coordinate of 32 bits", {m, i});
        v[a] = static_cast<std::int32_t>(n);
      }
      lists[m].push_back({v[0], v[1], v[2]});
    }
  return listed("from_points", lists, maps, names);
}

Layout prune(const Batch& source, const Masks& mask) {
  require_batch("prune", source);
  require_masks(source, mask, "prune");
  std::vector<Grid> grids;
  for (std::size_t m = 0; m < source.members.size(); ++m) {
    const Bitmap s(source.members[m]);
    std::size_t row = 0;  // cells are visited in canonical order: the next voxel is the next row
    grids.push_back(
        grid_where(s.region(), [&](const Cell& c) { return s.holds(c) && mask[m][row++] != 0; }));
  }
  return assemble(std::move(grids), source.maps, source.names);
}

Layout merge(const Batch& source, const Batch& other) {
  return combined("merge", source, other, true, [](bool a, bool b) { return a || b; });
}

Layout intersect(const Batch& source, const Batch& other) {
  return combined("intersect", source, other, false, [](bool a, bool b) { return a && b; });
}

Layout subtract(const Batch& source, const Batch& other) {
  return combined("subtract", source, other, false, [](bool a, bool b) { return a && !b; });
}

Batch view(const Batch& source, const std::vector<std::int64_t>& members) {
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!(0 <= members[i] && members[i] < static_cast<std::int64_t>(source.members.size())))
      reject(ErrorKind::InvalidArgument, "view", "view", std::to_string(members[i]),
             "below " + std::to_string(source.members.size()) + " members", {i, {}});
  require_batch("view", source);
  Batch chosen;
  for (const std::int64_t m : members) {
    chosen.members.emplace_back(source.members[m]);
    chosen.maps.emplace_back(source.maps[m]);
    chosen.names.emplace_back(source.names[m]);
  }
  return chosen;
}

}  // namespace leafproof::brute_force
