// Exact integer arithmetic of this side [L-4] [L-5]: floor division and 64-bit boxes.
#pragma once

#include <cstdint>

#include "gpu/host_device.h"

namespace leafproof::gpu {

/// Quotient rounded down; d > 0 [L-4].
LEAFPROOF_HD constexpr std::int64_t floor_div(std::int64_t n, std::int64_t d) {
  return n / d - (n % d < 0 ? 1 : 0);
}

/// Quotient rounded up; d > 0.
LEAFPROOF_HD constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t d) {
  return n / d + (n % d > 0 ? 1 : 0);
}

/// Three coordinates: of voxels, leaves (voxel / 8), lower nodes (/ 128) or tiles (/ 4096), wide
/// enough for any result before it is known to be in range [L-5].
struct Coord {
  std::int64_t x = 0, y = 0, z = 0;
  LEAFPROOF_HD friend bool operator==(const Coord& left, const Coord& right) {
    return left.x == right.x && left.y == right.y && left.z == right.z;
  }
};

LEAFPROOF_HD constexpr Coord operator>>(const Coord& c, int shift) {
  return {c.x >> shift, c.y >> shift, c.z >> shift};
}
LEAFPROOF_HD constexpr Coord operator<<(const Coord& c, int shift) {
  const std::int64_t scale = std::int64_t{1} << shift;
  return {c.x * scale, c.y * scale, c.z * scale};
}

/// Inclusive box; empty when max < min on some axis.
struct Box {
  Coord min, max;
  LEAFPROOF_HD bool empty() const { return max.x < min.x || max.y < min.y || max.z < min.z; }
};

LEAFPROOF_HD constexpr Box operator>>(const Box& box, int shift) {
  return {box.min >> shift, box.max >> shift};
}

inline constexpr std::int64_t kLatticeMin = INT32_MIN, kLatticeMax = INT32_MAX;  // [L-1]

LEAFPROOF_HD constexpr bool in_lattice(std::int64_t v) {
  return v >= kLatticeMin && v <= kLatticeMax;
}
LEAFPROOF_HD constexpr bool in_lattice(const Coord& c) {
  return in_lattice(c.x) && in_lattice(c.y) && in_lattice(c.z);
}
LEAFPROOF_HD constexpr bool in_lattice(const Box& box) {
  return in_lattice(box.min) && in_lattice(box.max);
}

LEAFPROOF_HD constexpr std::int64_t smaller(std::int64_t p, std::int64_t q) {
  return p < q ? p : q;
}
LEAFPROOF_HD constexpr std::int64_t larger(std::int64_t p, std::int64_t q) {
  return p < q ? q : p;
}

LEAFPROOF_HD constexpr Box united(const Box& p, const Box& q) {
  return {{smaller(p.min.x, q.min.x), smaller(p.min.y, q.min.y), smaller(p.min.z, q.min.z)},
          {larger(p.max.x, q.max.x), larger(p.max.y, q.max.y), larger(p.max.z, q.max.z)}};
}
LEAFPROOF_HD constexpr Box common(const Box& p, const Box& q) {
  return {{larger(p.min.x, q.min.x), larger(p.min.y, q.min.y), larger(p.min.z, q.min.z)},
          {smaller(p.max.x, q.max.x), smaller(p.max.y, q.max.y), smaller(p.max.z, q.max.z)}};
}

/// The box that united() leaves unchanged.
LEAFPROOF_HD constexpr Box nothing() {
  return {{INT64_MAX, INT64_MAX, INT64_MAX}, {INT64_MIN, INT64_MIN, INT64_MIN}};
}

}  // namespace leafproof::gpu
