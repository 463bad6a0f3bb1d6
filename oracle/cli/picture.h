// A slice of a member drawn in text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/lattice.h"

namespace leafproof::oracle::cli {

/// The plane `axis` = `slice` (0: x, 1: y, 2: z) of the voxels, seen along the axis; without
/// `slice` the plane with the most voxels. At most `columns` wide and `lines` high: where the plane
/// is larger, a cell stands for a square of voxels and is drawn when one of them is on. With
/// `blocks` a character is two cells high, in UTF-8; otherwise `#` and `.`, a cell two characters
/// wide.
std::vector<std::string> draw_slice(const std::vector<reference::Voxel>& voxels, int axis,
                                    std::optional<std::int64_t> slice, int columns, int lines,
                                    bool blocks);

}  // namespace leafproof::oracle::cli
