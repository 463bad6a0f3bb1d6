// Point clouds: .xyz text, .npy arrays, .ply files without faces. Voxelised as [T-1] says.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "oracle/input/members.h"

namespace leafproof::oracle {

/// Text, one point a line: x y z, separated by spaces, tabs or commas; further columns are ignored,
/// '#' begins a comment, blank lines are skipped. Error(Corrupt) names the line.
std::vector<Point> read_xyz(const FileTask& task);

/// What the header of a .ply says, enough to know which reader it is for.
struct PlyHeader {
  bool has_faces = false;  // or triangle strips: a mesh
  std::uint64_t vertices = 0;
};
PlyHeader read_ply_header(const FileTask& task, std::span<const std::byte> bytes);

/// The vertices of a .ply without faces: ASCII or binary of either byte order, any property types,
/// further properties and elements ignored. Errors: Corrupt for a malformed header or a file too
/// short for what it says; Unsupported for unknown formats.
std::vector<Point> read_ply_points(const FileTask& task, std::span<const std::byte> bytes);

/// The voxels of `points` [T-1] as one member. Errors name the file and the row: InvalidArgument
/// for NaN and infinity, OutOfRange, CapacityExceeded for more points than `options.max_voxels`.
void append_points(const FileTask& task, const std::vector<Point>& points,
                   const InputOptions& options, Input& input);

/// The map of a mesh or a point cloud without one of its own: the given voxel size with the origin
/// (0,0,0); else cubes such that the longest side of the box lo ... hi is `resolution` voxels, its
/// lowest and highest points being voxel centres. `lo` and `hi` are finite.
Map fitted_map(const FileTask& task, const Point& lo, const Point& hi, const InputOptions& options);

/// How a member was made, for provenance: "at 128" or "at voxel size 0.1".
std::string scale_text(const InputOptions& options);

}  // namespace leafproof::oracle
