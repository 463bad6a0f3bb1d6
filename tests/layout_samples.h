// Seeded batches that make every boundary of the layout common, for the tests of the oracle.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "reference/canonical_order.h"
#include "reference/layout.h"

namespace leafproof::samples {

using reference::Batch;
using reference::Voxel;
using Rng = std::mt19937_64;

constexpr std::int32_t lowest = INT32_MIN, highest = INT32_MAX;

/// A whole number in [low, high].
inline std::int64_t draw(Rng& rng, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(high - low + 1));
}

inline void add_box(std::vector<Voxel>& voxels, Voxel min, Voxel max) {
  for (std::int64_t x = min.x; x <= max.x; ++x)
    for (std::int64_t y = min.y; y <= max.y; ++y)
      for (std::int64_t z = min.z; z <= max.z; ++z)
        voxels.push_back({static_cast<std::int32_t>(x), static_cast<std::int32_t>(y),
                          static_cast<std::int32_t>(z)});
}

/// One of the places where layouts go wrong: an edge of a leaf, lower node, tile, or of the
/// lattice.
inline std::int32_t edge(Rng& rng) {
  static constexpr std::int32_t edges[] = {0,    -1,    7,    8,     -8,    -9,    127,
                                           128,  -128,  -129, 4095,  4096,  -4096, -4097,
                                           8191, -8193, 3,    -4099, 40960, -40961};
  return edges[rng() % std::size(edges)];
}

inline std::vector<Voxel> member(Rng& rng) {
  std::vector<Voxel> voxels;
  switch (rng() % 7) {
    case 0:  // empty
      break;
    case 1:  // a few voxels at edges
      for (std::int64_t n = draw(rng, 1, 12); n > 0; --n)
        voxels.push_back({edge(rng), edge(rng), edge(rng)});
      break;
    case 2: {  // a cloud around a corner
      const Voxel c{edge(rng), edge(rng), edge(rng)};
      for (std::int64_t n = draw(rng, 1, 300); n > 0; --n) {
        const auto near = [&](std::int32_t v) {
          return static_cast<std::int32_t>(v + draw(rng, -20, 20));
        };
        voxels.push_back({near(c.x), near(c.y), near(c.z)});
      }
      break;
    }
    case 3: {  // full leaves and a shell around them
      const Voxel c{edge(rng) & ~7, edge(rng) & ~7, edge(rng) & ~7};
      add_box(voxels, c, {c.x + 15, c.y + 7, c.z + 8});
      break;
    }
    case 4: {  // many tiles
      const auto far = [&] { return static_cast<std::int32_t>(draw(rng, -40000, 40000)); };
      for (std::int64_t n = draw(rng, 2, 9); n > 0; --n) voxels.push_back({far(), far(), far()});
      break;
    }
    case 5: {  // a line through a lower node's face
      const Voxel c{edge(rng), edge(rng), edge(rng)};
      add_box(voxels, {c.x - 3, c.y, c.z}, {c.x + 3, c.y, c.z + 140});
      break;
    }
    default:  // the ends of the lattice, but one (NanoVDB's world box needs max + 1)
      voxels.push_back({lowest, lowest, lowest});
      voxels.push_back({highest - 1, highest - 1, highest - 1});
      voxels.push_back({lowest, edge(rng), highest - 1});
  }
  reference::make_canonical(voxels);
  return voxels;
}

inline Batch batch(std::uint64_t seed, int max_members = 4) {
  Rng rng(seed);
  Batch batch;
  for (std::int64_t n = draw(rng, 1, max_members); n > 0; --n) {
    batch.members.push_back(member(rng));
    reference::Map map;
    static constexpr double sizes[] = {1, 0.1, 0.5, 3, 1e-3, 0.7};
    static constexpr double origins[] = {0, 1000, -0.05, 1e6, -3.3};
    if (rng() % 2 == 0)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        map.voxel_size[axis] = sizes[rng() % std::size(sizes)];
        map.origin[axis] = origins[rng() % std::size(origins)];
      }
    batch.maps.push_back(map);
    static const std::string names[] = {"", "a", "bunny at 128", std::string(255, 'n')};
    batch.names.push_back(names[rng() % std::size(names)]);
  }
  return batch;
}

/// Members without map and name.
inline Batch of(std::vector<std::vector<Voxel>> members) {
  Batch batch;
  for (auto& voxels : members) {
    reference::make_canonical(voxels);
    batch.members.push_back(std::move(voxels));
  }
  batch.maps.resize(batch.members.size());
  batch.names.resize(batch.members.size());
  return batch;
}

/// Several members that between them have more than one node at every level, full and sparse
/// leaves, negative tiles and an empty member: a good patient for corruptions.
inline Batch rich() {
  std::vector<Voxel> a, c;
  add_box(a, {-2, -2, -2}, {9, 1, 1});
  a.push_back({300, 5, 5});
  a.push_back({4200, 0, 0});
  a.push_back({-4200, 0, 9000});
  add_box(c, {0, 0, 0}, {7, 7, 15});
  Batch batch = of({a, {}, c});
  batch.names = {"first", "", "third"};
  batch.maps[0] = {{0.5, 0.25, 2}, {1, -2, 3}};
  return batch;
}

}  // namespace leafproof::samples
