// [K-3], [K-4]: of each cell of the result's box, is it joined to a voxel of the source?
#include <algorithm>
#include <tuple>
#include <utility>

#include "reference/brute_force_conv_parts.h"

namespace leafproof::brute_force {
namespace {

constexpr std::int64_t kFirst = -(std::int64_t{1} << 31), kLast = (std::int64_t{1} << 31) - 1;

bool outside(const Cell& c) {
  return *std::min_element(c.begin(), c.end()) < kFirst ||
         *std::max_element(c.begin(), c.end()) > kLast;
}

// The coarse cells that a fine one may be joined to, on one axis; generous by a cell.
std::pair<std::int64_t, std::int64_t> coarse_span(const Kernel& k, int a, std::int64_t lo,
                                                  std::int64_t hi) {
  const std::int64_t p = phase_of(k.size[a], k.dilation[a]);
  const std::int64_t reach = k.dilation[a] * (k.size[a] - 1);
  return {div_down(lo + p - reach, k.stride[a]) - 1, div_down(hi + p, k.stride[a]) + 1};
}

// Is the coarse cell joined to a fine one of the source?
bool joined(const Kernel& k, const Cell& coarse, const Bitmap& fine) {
  for (std::int64_t x = 0; x < k.size[0]; ++x)
    for (std::int64_t y = 0; y < k.size[1]; ++y)
      for (std::int64_t z = 0; z < k.size[2]; ++z)
        if (fine.holds(fine_cell(k, coarse, {x, y, z}))) return true;
  return false;
}

[[noreturn]] void out_of_range(const char* pass, const Cell& source, const Cell& result,
                               std::size_t member, std::int64_t row) {
  reject(ErrorKind::OutOfRange, pass, "result", show(result),
         "results of voxel " + show(source) + " leave the range of 32 bits", {member, row});
}

std::vector<Map> maps_after(const char* pass, const Batch& source, const Triple& stride) {
  std::vector<Map> maps;
  for (std::size_t m = 0; m < source.members.size(); ++m)
    maps.push_back(map_after(pass, source.maps[m], stride, m));
  return maps;
}

// [L-5] Near the ends of the lattice alone: which coarse cells around a voxel are joined to it?
void require_coarse_in_range(const Batch& source, const Kernel& k) {
  std::int64_t row = 0;
  for (std::size_t m = 0; m < source.members.size(); ++m)
    for (const Voxel& v : source.members[m]) {
      const Bitmap alone(std::vector<Voxel>{v});
      Region near;
      for (int a = 0; a < 3; ++a)
        std::tie(near.lo[a], near.hi[a]) = coarse_span(k, a, cell(v)[a], cell(v)[a]);
      if (outside(near.lo) || outside(near.hi))
        for (std::int64_t x = near.lo[0]; x <= near.hi[0]; ++x)
          for (std::int64_t y = near.lo[1]; y <= near.hi[1]; ++y)
            for (std::int64_t z = near.lo[2]; z <= near.hi[2]; ++z)
              if (outside({x, y, z}) && joined(k, {x, y, z}, alone))
                out_of_range("conv_grid", cell(v), {x, y, z}, m, row);
      ++row;
    }
}

void require_fine_in_range(const Batch& source, const Kernel& k) {
  std::int64_t row = 0;
  const Cell last{k.size[0] - 1, k.size[1] - 1, k.size[2] - 1};
  for (std::size_t m = 0; m < source.members.size(); ++m)
    for (const Voxel& v : source.members[m]) {
      const Cell low = fine_cell(k, cell(v), {0, 0, 0}), high = fine_cell(k, cell(v), last);
      if (outside(low)) out_of_range("conv_transpose_grid", cell(v), low, m, row);
      if (outside(high)) out_of_range("conv_transpose_grid", cell(v), high, m, row);
      ++row;
    }
}

}  // namespace

Layout conv_grid(const Batch& source, const Kernel& k) {
  require_kernel("conv_grid", k);
  require_batch("conv_grid", source);
  const std::vector<Map> maps = maps_after("conv_grid", source, k.stride);
  require_coarse_in_range(source, k);
  std::vector<Grid> grids;
  for (const auto& member : source.members) {
    const Bitmap fine(member);
    Region r = fine.region();
    for (int a = 0; a < 3 && !r.empty(); ++a) {
      const auto [lo, hi] = coarse_span(k, a, r.lo[a], r.hi[a]);
      r.lo[a] = std::max(lo, kFirst);
      r.hi[a] = std::min(hi, kLast);
    }
    grids.push_back(grid_where(r, [&](const Cell& c) { return joined(k, c, fine); }));
  }
  return assemble(std::move(grids), maps, source.names);
}

Layout conv_transpose_grid(const Batch& source, const Kernel& k) {
  require_kernel("conv_transpose_grid", k);
  require_batch("conv_transpose_grid", source);
  const std::vector<Map> maps = maps_after("conv_transpose_grid", source, k.stride);
  require_fine_in_range(source, k);
  std::vector<Grid> grids;
  for (const auto& member : source.members) {
    std::vector<Voxel> fine;  // what each voxel is joined to, repeats and all, in no order
    for (const Voxel& v : member)
      each_tap(k, [&](const Cell& tap) {
        const Cell f = fine_cell(k, cell(v), tap);
        fine.push_back({static_cast<std::int32_t>(f[0]), static_cast<std::int32_t>(f[1]),
                        static_cast<std::int32_t>(f[2])});
      });
    const Bitmap s(fine);
    grids.push_back(grid_where(s.region(), [&](const Cell& c) { return s.holds(c); }));
  }
  return assemble(std::move(grids), maps, source.names);
}

}  // namespace leafproof::brute_force
