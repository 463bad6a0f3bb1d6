// Drawings of differences in text.
#include "oracle/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "oracle/layout_view.h"
#include "reference/canonical_order.h"

namespace leafproof::oracle {
namespace {

using reference::canonical_less;
using reference::Grid;
using reference::Voxel;

constexpr std::size_t rows_each_way = 4;

/// The voxels of a leaf in order.
std::vector<Voxel> voxels_of(const reference::Leaf& leaf) {
  std::vector<Voxel> voxels;
  for (std::uint32_t n = 0; n < 512; ++n)
    if ((leaf.mask[n / 64] >> (n % 64) & 1) != 0) voxels.push_back(voxel_of(leaf, n));
  return voxels;
}

/// The voxels nearest to `centre` in canonical order: `rows_each_way` before it, then from it on.
std::vector<Voxel> near(const Grid& grid, std::span<const std::uint64_t> order, Voxel centre) {
  const Voxel place{centre.x & ~7, centre.y & ~7, centre.z & ~7};
  const auto here = std::lower_bound(
      order.begin(), order.end(), place,
      [&](std::uint64_t i, const Voxel& v) { return canonical_less(grid.leaves[i].origin, v); });
  std::vector<Voxel> before, from;
  for (auto it = here; it != order.end() && from.size() <= rows_each_way; ++it)
    for (const Voxel& v : voxels_of(grid.leaves[*it]))
      if (canonical_less(v, centre))
        before.push_back(v);
      else
        from.push_back(v);
  for (auto it = here; it != order.begin() && before.size() < rows_each_way;) {
    const std::vector<Voxel> voxels = voxels_of(grid.leaves[*--it]);
    before.insert(before.begin(), voxels.begin(), voxels.end());
  }
  if (before.size() > rows_each_way)
    before.erase(before.begin(), before.end() - static_cast<std::ptrdiff_t>(rows_each_way));
  from.resize(std::min(from.size(), rows_each_way + 1));
  before.insert(before.end(), from.begin(), from.end());
  std::sort(before.begin(), before.end(), canonical_less);
  return before;
}

}  // namespace

Window side_by_side(const std::vector<WindowRow>& rows) {
  std::size_t label = 0, expected = 8, actual = 6;
  for (const WindowRow& row : rows) {
    label = std::max(label, row.label.size());
    expected = std::max(expected, row.expected.size());
    actual = std::max(actual, row.actual.size());
  }
  const auto line = [&](char mark, const WindowRow& row) {
    std::string text =
        fmt::format("{} {:<{}}{}{:<{}}  {:<{}}  {}", mark, row.label, label, label == 0 ? "" : "  ",
                    row.expected, expected, row.actual, actual, row.note);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  Window window{line(' ', {"", "expected", "actual", ""})};
  for (const WindowRow& row : rows) window.push_back(line(row.marked ? '>' : ' ', row));
  return window;
}

Window voxel_window(const Grid& expected, std::span<const std::uint64_t> expected_order,
                    const Grid& actual, std::span<const std::uint64_t> actual_order, Voxel centre) {
  const std::vector<Voxel> left = near(expected, expected_order, centre);
  const std::vector<Voxel> right = near(actual, actual_order, centre);
  std::vector<WindowRow> rows;
  std::size_t before = 0;  // rows before the centre
  for (std::size_t i = 0, j = 0; i < left.size() || j < right.size();) {
    const bool take_left =
        i < left.size() && (j == right.size() || !canonical_less(right[j], left[i]));
    const bool take_right =
        j < right.size() && (i == left.size() || !canonical_less(left[i], right[j]));
    const Voxel v = take_left ? left[i] : right[j];
    WindowRow row;
    row.marked = v == centre;
    if (take_left) row.expected = to_text(left[i++]);
    if (take_right) row.actual = to_text(right[j++]);
    row.note = !take_right ? "missing" : !take_left ? "extra" : "";
    if (take_right && j < right.size() && right[j] == v) row.note = "repeated";
    while (j < right.size() && right[j] == v) ++j;
    if (canonical_less(v, centre)) ++before;
    rows.push_back(std::move(row));
  }
  if (before > rows_each_way) {
    const auto drop = static_cast<std::ptrdiff_t>(before - rows_each_way);
    rows.erase(rows.begin(), rows.begin() + drop);
  }
  rows.resize(std::min(rows.size(), 2 * rows_each_way + 1));
  return side_by_side(rows);
}

Window mask_window(std::span<const std::uint64_t> expected, std::span<const std::uint64_t> actual,
                   int log2, std::uint32_t slot) {
  const std::uint32_t dim = 1u << log2, last = dim - 1;
  const std::uint32_t x = slot >> (2 * log2), y = slot >> log2 & last, z = slot & last;
  const auto start = [&](std::uint32_t c) { return std::min(c < 4 ? 0 : c - 4, dim - 8); };
  const std::uint32_t y0 = dim == 8 ? 0 : start(y), z0 = dim == 8 ? 0 : start(z);
  const auto on = [](std::span<const std::uint64_t> mask, std::uint32_t n) {
    return n / 64 < mask.size() && (mask[n / 64] >> (n % 64) & 1) != 0;
  };
  Window window{
      fmt::format("slots x={}, y={}..{} down, z={}..{} right:  . off  # on  + extra  "
                  "- missing",
                  x, y0, y0 + 7, z0, z0 + 7)};
  for (std::uint32_t r = y0; r < y0 + 8; ++r) {
    std::string line = r == y ? "> " : "  ";
    for (std::uint32_t c = z0; c < z0 + 8; ++c) {
      const std::uint32_t n = x << (2 * log2) | r << log2 | c;
      const bool e = on(expected, n), a = on(actual, n);
      line += e && a ? '#' : e ? '-' : a ? '+' : '.';
      line += ' ';
    }
    line.pop_back();
    window.push_back(std::move(line));
  }
  window.push_back(std::string(2 + 2 * (z - z0), ' ') + "^");
  return window;
}

Window byte_window(std::span<const std::byte> expected, std::span<const std::byte> actual,
                   std::uint64_t at) {
  const auto line = [&](const char* side, std::span<const std::byte> bytes, std::uint64_t start) {
    std::string text = fmt::format("  {:>12}  {:<8}", start, side);
    for (std::uint64_t i = start; i < start + 16 && i < bytes.size(); ++i)
      text += fmt::format(" {:02x}", std::to_integer<unsigned>(bytes[i]));
    return text;
  };
  Window window{"        offset  side      16 bytes each"};
  const std::uint64_t row = at / 16 * 16;
  for (std::uint64_t start = row < 16 ? 0 : row - 16; start <= row + 16; start += 16) {
    if (start >= std::max(expected.size(), actual.size())) break;
    window.push_back(line("expected", expected, start));
    window.push_back(line("actual", actual, start));
    if (start == row) {
      std::string marks(24, ' ');
      for (std::uint64_t i = start; i < start + 16; ++i) {
        const bool e = i < expected.size(), a = i < actual.size();
        if (!e && !a) break;
        marks += e && a && expected[i] == actual[i] ? "   " : " ^^";
      }
      marks.erase(marks.find_last_not_of(' ') + 1);
      window.push_back(std::move(marks));
    }
  }
  return window;
}

}  // namespace leafproof::oracle
