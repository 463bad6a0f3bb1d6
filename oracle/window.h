// The few lines of text around a first difference: voxel lists side by side, slices of masks, rows
// of a table, bytes. Expected left or above, actual right or below; the differing row is marked
// `>`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/layout.h"

namespace leafproof::oracle {

using Window = std::vector<std::string>;

/// One row of a side-by-side table; an empty text is an absence.
struct WindowRow {
  std::string label, expected, actual, note;
  bool marked = false;
};
Window side_by_side(const std::vector<WindowRow>& rows);

/// Voxels of both sides in canonical order, a few before and after `centre`. `expected` and
/// `actual` index the leaves of each grid in canonical order of their places.
Window voxel_window(const reference::Grid& expected, std::span<const std::uint64_t> expected_order,
                    const reference::Grid& actual, std::span<const std::uint64_t> actual_order,
                    reference::Voxel centre);

/// An 8x8 part, around `slot`, of the slice of a mask of (2^log2)^3 slots that holds it: rows are
/// the second axis, columns the third. `.` off on both sides, `#` on on both, `+` extra, `-`
/// missing.
Window mask_window(std::span<const std::uint64_t> expected, std::span<const std::uint64_t> actual,
                   int log2, std::uint32_t slot);

/// Rows of 16 bytes around position `at` of both sides.
Window byte_window(std::span<const std::byte> expected, std::span<const std::byte> actual,
                   std::uint64_t at);

}  // namespace leafproof::oracle
