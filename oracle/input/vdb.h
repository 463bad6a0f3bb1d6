// OpenVDB files: the active voxels of every grid. OpenVDB runs isolated.
#pragma once

#include "oracle/input/members.h"

namespace leafproof::oracle {

/// Appends every grid of the file, with its name, in stored order: the active voxels of any of
/// OpenVDB's own grid types (float, mask, bool, vector, points, ...), active tiles expanded.
/// Errors name the file and the grid: Corrupt for what OpenVDB cannot read or crashes on;
/// Unsupported for another grid type, a map that is no scale and translation, and in a build
/// without OpenVDB; CapacityExceeded for more than `max_voxels` active voxels, before expanding.
void read_vdb(const FileTask& task, std::uint64_t max_voxels, Input& input);

}  // namespace leafproof::oracle
