// [T-4] dilate_box and dual, [T-5] erode_box. A box is a product of three intervals, so the sum
// with it, and likewise the erosion by it, is taken along one axis after the other ("boxes
// compose"): there each line of voxels becomes a union of intervals.
#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "reference/canonical_order.h"
#include "reference/checks.h"
#include "reference/map.h"
#include "reference/passes.h"

namespace leafproof::reference {
namespace {

using Axis = std::int32_t Voxel::*;
constexpr Axis kAxes[3] = {&Voxel::x, &Voxel::y, &Voxel::z};

// c + d, or the nearest number that 64 bits hold: far outside the lattice either way.
std::int64_t sum(std::int64_t c, std::int64_t d) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  if (c < 0 && d < lowest - c) return lowest;
  if (c > 0 && d > highest - c) return highest;
  return c + d;
}

// Voxels that differ along axis a only are a line; each line ascending, one line after the other.
void sort_into_lines(std::vector<Voxel>& voxels, int a) {
  const Axis line_1 = kAxes[(a + 1) % 3], line_2 = kAxes[(a + 2) % 3], along = kAxes[a];
  std::sort(voxels.begin(), voxels.end(), [=](const Voxel& l, const Voxel& r) {
    return std::tuple(l.*line_1, l.*line_2, l.*along) < std::tuple(r.*line_1, r.*line_2, r.*along);
  });
}

bool on_one_line(Voxel u, const Voxel& v, int a) {
  u.*kAxes[a] = v.*kAxes[a];
  return u == v;
}

// { c + d : c in S, lo <= d <= hi } along axis a, each voxel once; all are known to be in the
// lattice. `already`: voxels of other members, for the budget.
std::vector<Voxel> dilate_lines(const char* operation, std::vector<Voxel> s, int a, std::int64_t lo,
                                std::int64_t hi, std::uint64_t already) {
  sort_into_lines(s, a);
  std::vector<Voxel> result;
  for (Voxel c : s) {
    std::int64_t first = c.*kAxes[a] + lo;
    const std::int64_t last = c.*kAxes[a] + hi;
    if (!result.empty() && on_one_line(result.back(), c, a))  // what c's predecessor has reached
      first = std::max(first, std::int64_t{result.back().*kAxes[a]} + 1);
    for (std::int64_t i = first; i <= last; ++i) {
      c.*kAxes[a] = static_cast<std::int32_t>(i);
      result.push_back(c);
    }
    check_budget(operation, already + result.size(), /*exact=*/false);
  }
  return result;
}

// { c in S : c + d in S for all lo <= d <= hi } along axis a: of a run of neighbours first ... last
// on a line, those for which c + lo and c + hi are in the run. lo <= 0 <= hi.
std::vector<Voxel> erode_lines(std::vector<Voxel> s, int a, std::int64_t lo, std::int64_t hi) {
  sort_into_lines(s, a);
  std::vector<Voxel> result;
  for (std::size_t begin = 0, end = 0; begin < s.size(); begin = end) {
    const std::int64_t first = s[begin].*kAxes[a];
    std::int64_t last = first - 1;
    for (; end < s.size() && on_one_line(s[end], s[begin], a) && s[end].*kAxes[a] == last + 1;
         ++end)
      ++last;
    for (std::size_t i = begin; i < end; ++i)
      if (s[i].*kAxes[a] + lo >= first && s[i].*kAxes[a] + hi <= last) result.push_back(s[i]);
  }
  return result;
}

Batch dilate(const char* operation, const Batch& source, const Triple& lo, const Triple& hi) {
  check_range(operation, source, nullptr, [&](const Voxel& c) {
    return std::pair(Triple{sum(c.x, lo[0]), sum(c.y, lo[1]), sum(c.z, lo[2])},
                     Triple{sum(c.x, hi[0]), sum(c.y, hi[1]), sum(c.z, hi[2])});
  });

  // The sum of two finite sets of the lattice has at least |S| + |box| - 1 voxels.
  std::uint64_t box = 1, at_least = 0;
  for (int a = 0; a < 3; ++a) box *= static_cast<std::uint64_t>(hi[a] - lo[a] + 1);
  for (const std::vector<Voxel>& member : source.members)
    if (!member.empty()) at_least += member.size() + box - 1;
  check_budget(operation, at_least, /*exact=*/false);

  Batch result = source;
  std::uint64_t done = 0;
  for (std::vector<Voxel>& member : result.members) {
    for (int a = 0; a < 3; ++a)
      member = dilate_lines(operation, std::move(member), a, lo[a], hi[a], done);
    make_canonical(member);
    done += member.size();
  }
  return result;
}

}  // namespace

Batch dilate_box(const Batch& source, Triple lo, Triple hi) {
  check_box("dilate_box", lo, hi, /*needs_zero=*/false);
  check_batch("dilate_box", source);
  return dilate("dilate_box", source, lo, hi);
}

Batch dual(const Batch& source) {
  check_batch("dual", source);
  std::vector<Map> maps;
  for (std::size_t m = 0; m < source.size(); ++m) maps.push_back(map_after_dual(source.maps[m], m));
  Batch result = dilate("dual", source, {0, 0, 0}, {1, 1, 1});
  result.maps = std::move(maps);
  return result;
}

Batch erode_box(const Batch& source, Triple lo, Triple hi) {
  check_box("erode_box", lo, hi, /*needs_zero=*/true);
  check_batch("erode_box", source);
  Batch result = source;
  for (std::vector<Voxel>& member : result.members) {
    for (int a = 0; a < 3; ++a) member = erode_lines(std::move(member), a, lo[a], hi[a]);
    make_canonical(member);
  }
  return result;
}

}  // namespace leafproof::reference
