// Triangles to voxels: the surface is sampled at points at most a quarter voxel apart, and the
// voxels nearest to them are taken.
//
// A sample lies within 0.18 voxel (a quarter of the diagonal of the sampling square) of every point
// of the surface. So what this can miss is a voxel that the surface only clips: one whose cube
// holds no disc of that radius of it, at a corner or an edge. It never adds a voxel that the
// surface does not meet, up to the rounding of doubles.
#pragma once

#include <span>
#include <vector>

#include "oracle/input/points.h"
#include "oracle/input/voxel_set.h"

namespace leafproof::oracle {

/// Any three points: a segment or a point where they are not in general position.
using Triangle = std::array<Point, 3>;

/// Inserts the voxels that the triangles meet into `voxels`. Errors name the file: OutOfRange for a
/// triangle outside the lattice; CapacityExceeded when there are more voxels than `max_voxels`, or
/// so many samples that there must be (before sampling).
void sample_surface(const FileTask& task, std::span<const Triangle> triangles, const Map& map,
                    std::uint64_t max_voxels, VoxelSet& voxels);

/// For provenance, and for what it cannot promise.
constexpr std::string_view sampling_text = "surface samples <= 1/4 voxel";
constexpr std::string_view sampling_note =
    "sampled at most 1/4 voxel apart; a voxel that the surface only clips can be missing";

/// The map of a mesh at the scale of the options; see fitted_map.
Map surface_map(const FileTask& task, std::span<const Triangle> triangles,
                const InputOptions& options);

/// Appends the triangles of a whole file as one member, with a note on what may be missed.
void append_surface(const FileTask& task, std::span<const Triangle> triangles,
                    const InputOptions& options, Input& input);

}  // namespace leafproof::oracle
