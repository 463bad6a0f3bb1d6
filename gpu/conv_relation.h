// The convolution relation [K], this side's one place for it: a tap t joins a fine and a coarse
// voxel iff, on every axis, fine = S * coarse + D * t - P with P = floor(D (K - 1) / 2) [K-1].
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/axis_relation.h"
#include "gpu/batched_builder.h"
#include "gpu/map_pairs.h"

namespace leafproof::gpu {

inline std::int64_t taps_of(const ConvGeometry& geometry) {
  return geometry.kernel[0] * geometry.kernel[1] * geometry.kernel[2];
}

/// [K-7] InvalidArgument below 1, Unsupported beyond the limits.
void check_geometry(const char* operation, const ConvGeometry& geometry);

/// [M-5] as check_geometry, then InvalidArgument for an even kernel or a stride.
void check_submanifold(const char* operation, const ConvGeometry& geometry);

/// fine -> coarse, as stride * t = s + d with d = P - D * t.
void forward_axes(const ConvGeometry& geometry, AxisRelation (&axes)[3]);
/// coarse -> fine, as t = S * s + d with d = D * t - P.
void transposed_axes(const ConvGeometry& geometry, AxisRelation (&axes)[3]);

/// [P-3] The stride residues of an axis that no tap reaches, as bits: those of 0 ... S-1 that are
/// not (D * t - P) mod S for any t.
std::uint64_t missed_residues(const ConvGeometry& geometry, std::size_t axis);

/// The same numbers for launches.
TapGeometry tap_geometry(const ConvGeometry& geometry);

}  // namespace leafproof::gpu
