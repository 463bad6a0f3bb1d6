// Voxels, floor division, maps and batches: the nouns of the specification [L], [G-7].
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace leafproof::reference {

/// A point of the lattice; the whole 32-bit range is legal on every axis [L-1].
struct Voxel {
  std::int32_t x = 0, y = 0, z = 0;
  friend bool operator==(const Voxel&, const Voxel&) = default;
};

/// Three 64-bit numbers (x, y, z): factors, box corners, and exact intermediate coordinates [L-5].
using Triple = std::array<std::int64_t, 3>;

/// Quotient rounded down, remainder in [0, d), for every sign [L-4]. d > 0.
std::int64_t floor_div(std::int64_t n, std::int64_t d);
std::int64_t floor_mod(std::int64_t n, std::int64_t d);

/// Index to world: world = index * voxel_size + origin, per axis; the origin is the world position
/// of the centre of voxel (0,0,0) [G-7].
struct Map {
  std::array<double, 3> voxel_size{1, 1, 1};
  std::array<double, 3> origin{0, 0, 0};
  friend bool operator==(const Map&, const Map&) = default;
};

/// An ordered list of B >= 0 members, each a list of voxels in canonical order without repeats
/// [L-2], [G-2]; `maps` and `names` have B entries.
struct Batch {
  std::vector<std::vector<Voxel>> members;
  std::vector<Map> maps;
  std::vector<std::string> names;
  std::size_t size() const { return members.size(); }
  friend bool operator==(const Batch&, const Batch&) = default;
};

/// One flag (0 or 1) per voxel of each member, in canonical order [T-10].
using Masks = std::vector<std::vector<std::uint8_t>>;

using Point = std::array<double, 3>;

}  // namespace leafproof::reference
