// See picture.h.
#include "oracle/cli/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace leafproof::oracle::cli {
namespace {

using reference::Voxel;

std::int64_t along(const Voxel& v, int axis) {
  return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

std::int64_t fullest_plane(const std::vector<Voxel>& voxels, int axis) {
  std::map<std::int64_t, std::int64_t> count;
  for (const Voxel& v : voxels) ++count[along(v, axis)];
  return std::max_element(count.begin(), count.end(),
                          [](const auto& l, const auto& r) { return l.second < r.second; })
      ->first;
}

}  // namespace

std::vector<std::string> draw_slice(const std::vector<Voxel>& voxels, int axis,
                                    std::optional<std::int64_t> slice, int columns, int lines,
                                    bool blocks) {
  constexpr std::array kNames{'x', 'y', 'z'};
  if (voxels.empty()) return {"no voxel"};
  const std::int64_t plane = slice ? *slice : fullest_plane(voxels, axis);
  // To the right and upward: the two other axes, so that x or y is horizontal where it can be.
  const int right = axis == 0 ? 1 : 0, up = axis == 2 ? 1 : 2;
  std::vector<std::array<std::int64_t, 2>> on;
  for (const Voxel& v : voxels)
    if (along(v, axis) == plane) on.push_back({along(v, right), along(v, up)});
  const auto name = [&](int a) { return kNames[static_cast<std::size_t>(a)]; };
  const std::string title = fmt::format("{} = {}: {} voxels", name(axis), plane, on.size());
  if (on.empty()) return {title};

  std::array<std::int64_t, 2> low = on.front(), high = on.front();
  for (const auto& c : on)
    for (std::size_t a = 0; a < 2; ++a) {
      low[a] = std::min(low[a], c[a]);
      high[a] = std::max(high[a], c[a]);
    }
  const std::int64_t wide = blocks ? columns : columns / 2, tall = blocks ? lines * 2 : lines;
  std::int64_t step = 1;
  while ((high[0] - low[0]) / step + 1 > wide || (high[1] - low[1]) / step + 1 > tall) ++step;
  const auto width = static_cast<std::size_t>((high[0] - low[0]) / step + 1);
  const auto height = static_cast<std::size_t>((high[1] - low[1]) / step + 1);
  std::vector<std::vector<bool>> cells(height + height % 2, std::vector<bool>(width));
  for (const auto& c : on)
    cells[static_cast<std::size_t>((high[1] - c[1]) / step)]
         [static_cast<std::size_t>((c[0] - low[0]) / step)] = true;

  std::vector<std::string> picture{
      fmt::format("{}; {} {} to {} rightward, {} {} to {} upward{}", title, name(right), low[0],
                  high[0], name(up), low[1], high[1],
                  step > 1 ? fmt::format("; a cell is {} x {} voxels", step, step) : "")};
  for (std::size_t row = 0; row < height; row += blocks ? 2 : 1) {
    std::string line;
    for (std::size_t column = 0; column < width; ++column) {
      const bool top = cells[row][column];
      if (!blocks) {
        line += top ? "# " : ". ";
        continue;
      }
      const bool bottom = cells[row + 1][column];
      line += top ? (bottom ? "\u2588" : "\u2580") : (bottom ? "\u2584" : " ");
    }
    picture.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return picture;
}

}  // namespace leafproof::oracle::cli
