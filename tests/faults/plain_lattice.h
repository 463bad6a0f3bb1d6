// The second implementation: integers, order and the relation of convolution, as a textbook has
// them, each with the faults that bend it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "oracle/case.h"
#include "tests/faults/fault.h"

namespace leafproof::faults {

using oracle::Batch;
using oracle::Direction;
using oracle::Kernel;
using oracle::Triple;
using oracle::Voxel;

// ---- integers [L-4]

inline std::int64_t divided(Fault fault, std::int64_t n, std::int64_t d) {
  const std::int64_t toward_zero = n / d;
  if (fault == Fault::FloorAsTrunc) return toward_zero;
  return toward_zero - (n % d < 0 ? 1 : 0);
}

inline std::int64_t remainder(Fault fault, std::int64_t n, std::int64_t d) {
  const std::int64_t of_n_sign = n % d;
  if (fault == Fault::ModSigned) return of_n_sign;
  return of_n_sign < 0 ? of_n_sign + d : of_n_sign;
}

/// The factor as it is understood.
inline Triple factor_as_read(Fault fault, const Triple& f) {
  if (fault == Fault::FactorFirstOnly) return {f[0], f[0], f[0]};
  return f;
}

inline std::int64_t coarser(Fault fault, std::int64_t n, std::int64_t f) {
  if (fault == Fault::FactorPow2) return n >> (std::bit_width(static_cast<std::uint64_t>(f)) - 1);
  return divided(fault, n, f);
}
inline std::int64_t finer(Fault fault, std::int64_t n, std::int64_t f) {
  if (fault == Fault::FactorPow2)
    return n * (std::int64_t{1} << (std::bit_width(static_cast<std::uint64_t>(f)) - 1));
  return n * f;
}

// ---- order [G-2]

inline Triple coordinates(const Voxel& v) {
  return {v.x, v.y, v.z};
}
inline Voxel voxel_at(const Triple& c) {  // wraps, where nobody checked
  return {static_cast<std::int32_t>(c[0]), static_cast<std::int32_t>(c[1]),
          static_cast<std::int32_t>(c[2])};
}
inline bool fits(const Triple& c) {
  return coordinates(voxel_at(c)) == c;
}

inline Voxel tile_of(const Voxel& v) {
  return {v.x >> 12, v.y >> 12, v.z >> 12};
}
/// The lowest corner of the node of `size` (a power of two) that holds v.
inline Voxel corner(const Voxel& v, std::int32_t size) {
  return {v.x & -size, v.y & -size, v.z & -size};
}
/// The number of the child of 2^below voxels that holds v, in a node of 2^log2 children an axis.
inline std::uint32_t slot(const Voxel& v, int log2, int below) {
  const auto part = [&](std::int32_t x) {
    return static_cast<std::uint32_t>(x >> below) & ((1u << log2) - 1);
  };
  return part(v.x) << (2 * log2) | part(v.y) << log2 | part(v.z);
}

inline bool before(Fault fault, const Voxel& a, const Voxel& b) {
  const auto key = [fault](const Voxel& v) {
    const Voxel t = tile_of(v);
    const auto axis = [fault](std::int32_t x) -> std::int64_t {
      return fault == Fault::TilesUnsigned ? static_cast<std::uint32_t>(x) : std::int64_t{x};
    };
    return std::tuple(axis(t.x), axis(t.y), axis(t.z), slot(v, 5, 7), slot(v, 4, 3), slot(v, 3, 0));
  };
  return key(a) < key(b);
}

inline void sort_unique(Fault fault, std::vector<Voxel>& voxels) {
  std::sort(voxels.begin(), voxels.end(),
            [fault](const Voxel& a, const Voxel& b) { return before(fault, a, b); });
  voxels.erase(std::unique(voxels.begin(), voxels.end()), voxels.end());
}

// ---- the relation [K]

struct Tap {
  std::int64_t number;
  Triple at;
};

/// The kernel as it is understood.
inline Kernel as_read(Fault fault, Kernel k) {
  if (fault == Fault::StrideFirstOnly) k.stride = {k.stride[0], k.stride[0], k.stride[0]};
  if (fault == Fault::StridePermuted) k.stride = {k.stride[2], k.stride[1], k.stride[0]};
  if (fault == Fault::DilationDropped) k.dilation = {1, 1, 1};
  return k;
}

inline std::int64_t phase(Fault fault, const Kernel& k, std::size_t a, Direction direction) {
  const std::int64_t size = k.size[a], d = k.dilation[a];
  const std::int64_t right = d * (size - 1) / 2;
  if (fault == Fault::EvenPhaseUp && size % 2 == 0) return d * size / 2;
  if (fault == Fault::EvenPhaseZero && size % 2 == 0) return 0;
  if (fault == Fault::DilationPhase) return d * ((size - 1) / 2);
  if (fault == Fault::TransposeRederived && direction == Direction::Transposed)
    return d * (size - 1) - right;
  return right;
}

/// The taps that are visited, with the numbers that they get [K-2].
inline std::vector<Tap> taps_of(Fault fault, const Kernel& k) {
  std::vector<Tap> taps;
  const Triple& n = k.size;
  const std::int64_t all = n[0] * n[1] * n[2];
  for (std::int64_t x = 0; x < n[0]; ++x)
    for (std::int64_t y = 0; y < n[1]; ++y)
      for (std::int64_t z = 0; z < n[2]; ++z) {
        const int off = (x != (n[0] - 1) / 2) + (y != (n[1] - 1) / 2) + (z != (n[2] - 1) / 2);
        if (fault == Fault::RegionKind && off > 1) continue;  // a cross
        if (fault == Fault::TapCentreDropped && off == 0) continue;
        std::int64_t number = (x * n[1] + y) * n[2] + z;
        if (fault == Fault::TapLastDropped && number == all - 1) continue;
        if (fault == Fault::TapsAxesSwapped) number = (z * n[1] + y) * n[0] + x;
        if (fault == Fault::TapsMirrored) number = all - 1 - number;
        taps.push_back({number, {x, y, z}});
      }
  return taps;
}

/// fine = S * coarse + D * t - P
inline Triple fine_of(Fault fault, const Kernel& k, const Triple& coarse, const Triple& tap,
                      Direction direction) {
  Triple fine{};
  for (std::size_t a = 0; a < 3; ++a)
    fine[a] = k.stride[a] * coarse[a] + k.dilation[a] * tap[a] - phase(fault, k, a, direction);
  return fine;
}

/// Its solution for the coarse voxel, where there is one.
inline std::optional<Triple> coarse_of(Fault fault, const Kernel& k, const Triple& fine,
                                       const Triple& tap, Direction direction) {
  Triple coarse{};
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t s = k.stride[a], p = phase(fault, k, a, direction);
    const std::int64_t shifted = fine[a] + p, reach = k.dilation[a] * tap[a];
    if (remainder(fault, shifted, s) != remainder(fault, reach, s)) return std::nullopt;
    coarse[a] = divided(fault, shifted - reach, s);
  }
  return coarse;
}

}  // namespace leafproof::faults
