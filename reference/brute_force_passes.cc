// The passes of brute_force that move voxels: of each cell of the result's box, does the definition
// hold? [T-2] ... [T-5]
#include <limits>

#include "reference/brute_force_parts.h"

namespace leafproof::brute_force {
namespace {

std::vector<Map> maps_after(const std::string& pass, const Batch& source, const Triple& factor) {
  std::vector<Map> maps;
  for (std::size_t m = 0; m < source.members.size(); ++m)
    maps.push_back(map_after(pass, source.maps[m], factor, m));
  return maps;
}

// The box between two corners, each made from the source's and the parameters, axis by axis.
template <class Lowest, class Highest>
Region region(const Region& source, Lowest lowest, Highest highest) {
  if (source.empty()) return source;
  Region r;
  for (int a = 0; a < 3; ++a) {
    r.lo[a] = lowest(source.lo[a], a);
    r.hi[a] = highest(source.hi[a], a);
  }
  return r;
}

// c is in the result iff S has a voxel c - d, lo <= d <= hi.
Layout dilated(const std::string& pass, const Batch& source, const Triple& lo, const Triple& hi) {
  const std::vector<Map> maps = maps_after(pass, source, {1, 1, 1});
  require_range(pass, source, nullptr, {1, 1, 1}, lo, hi);
  std::vector<Grid> grids;
  for (const auto& member : source.members) {
    const Bitmap s(member);
    const CountTable table(s);
    const Region r = region(
        s.region(), [&](auto c, int a) { return c + lo[a]; },
        [&](auto c, int a) { return c + hi[a]; });
    grids.push_back(grid_where(r, [&](const Cell& c) {
      return table.count({{c[0] - hi[0], c[1] - hi[1], c[2] - hi[2]},
                          {c[0] - lo[0], c[1] - lo[1], c[2] - lo[2]}}) > 0;
    }));
  }
  return assemble(std::move(grids), maps, source.names);
}

}  // namespace

// c is in the result iff floor(c / f) is a (flagged) voxel of S.
Layout refine(const Batch& source, const Triple& f, const Masks* mask) {
  require_factor("refine", f, 1024);
  require_batch("refine", source);
  if (mask != nullptr) require_masks(source, *mask, "refine");
  const std::vector<Map> maps = maps_after("refine", source, f);
  require_range("refine", source, mask, f, {0, 0, 0}, {f[0] - 1, f[1] - 1, f[2] - 1});
  std::vector<Grid> grids;
  for (std::size_t m = 0; m < source.members.size(); ++m) {
    const Bitmap s(source.members[m], mask == nullptr ? nullptr : &(*mask)[m]);
    const Region r = region(
        s.region(), [&](auto c, int a) { return c * f[a]; },
        [&](auto c, int a) { return c * f[a] + f[a] - 1; });
    grids.push_back(grid_where(r, [&](const Cell& c) {
      return s.holds({div_down(c[0], f[0]), div_down(c[1], f[1]), div_down(c[2], f[2])});
    }));
  }
  return assemble(std::move(grids), maps, source.names);
}

// c is in the result iff S has a voxel among f*c ... f*c + f-1.
Layout coarsen(const Batch& source, const Triple& f) {
  require_factor("coarsen", f, std::numeric_limits<std::int64_t>::max());
  require_batch("coarsen", source);
  const std::vector<Map> maps = maps_after("coarsen", source, f);
  std::vector<Grid> grids;
  for (const auto& member : source.members) {
    const Bitmap s(member);
    const CountTable table(s);
    const auto down = [&](auto c, int a) { return div_down(c, f[a]); };
    grids.push_back(grid_where(region(s.region(), down, down), [&](const Cell& c) {
      const Cell first{c[0] * f[0], c[1] * f[1], c[2] * f[2]};
      return table.count(
                 {first, {first[0] + (f[0] - 1), first[1] + (f[1] - 1), first[2] + (f[2] - 1)}}) >
             0;
    }));
  }
  return assemble(std::move(grids), maps, source.names);
}

Layout dilate_box(const Batch& source, const Triple& lo, const Triple& hi) {
  require_box("dilate_box", lo, hi, false);
  require_batch("dilate_box", source);
  return dilated("dilate_box", source, lo, hi);
}

Layout dual(const Batch& source) {
  require_batch("dual", source);
  return dilated("dual", source, {0, 0, 0}, {1, 1, 1});
}

// c is in the result iff S has all voxels c + d, lo <= d <= hi. One of them is c itself.
Layout erode_box(const Batch& source, const Triple& lo, const Triple& hi) {
  require_box("erode_box", lo, hi, true);
  require_batch("erode_box", source);
  std::int64_t all = 1;
  for (int a = 0; a < 3; ++a) all *= hi[a] - lo[a] + 1;
  std::vector<Grid> grids;
  for (const auto& member : source.members) {
    const Bitmap s(member);
    const CountTable table(s);
    grids.push_back(grid_where(s.region(), [&](const Cell& c) {
      return table.count({{c[0] + lo[0], c[1] + lo[1], c[2] + lo[2]},
                          {c[0] + hi[0], c[1] + hi[1], c[2] + hi[2]}}) == all;
    }));
  }
  return assemble(std::move(grids), source.maps, source.names);
}

}  // namespace leafproof::brute_force
