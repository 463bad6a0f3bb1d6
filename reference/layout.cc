// The layout of a batch [G], written down node by node while reading its voxels in canonical order.
#include "reference/layout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/canonical_order.h"
#include "reference/checks.h"

namespace leafproof::reference {
namespace {

// The lowest corner of the node of `size` (a power of two) that holds v.
Voxel corner(const Voxel& v, std::int32_t size) {
  return {v.x & -size, v.y & -size, v.z & -size};
}

void extend(Box& box, const Voxel& v) {
  box.min = {std::min(box.min.x, v.x), std::min(box.min.y, v.y), std::min(box.min.z, v.z)};
  box.max = {std::max(box.max.x, v.x), std::max(box.max.y, v.y), std::max(box.max.z, v.z)};
}

// Each new child of a node is the last of its level so far: breadth first [G-2].
void add_child(Node& parent, int offset, std::size_t level_size) {
  parent.child_mask[offset / 64] |= std::uint64_t{1} << (offset % 64);
  parent.children.push_back(level_size - 1);
}

// Starts the nodes that v needs and that are not there yet. In canonical order a node's voxels are
// consecutive, so a node that is not the last of its level will never be needed again.
void start_nodes(Grid& grid, const Voxel& v) {
  if (grid.uppers.empty() || grid.uppers.back().origin != corner(v, 4096)) {
    grid.uppers.push_back({corner(v, 4096), std::vector<std::uint64_t>(512), {}, {v, v}});
    grid.tiles.push_back({root_tile(v), tile_key(v), grid.uppers.size() - 1});
  }
  if (grid.lowers.empty() || grid.lowers.back().origin != corner(v, 128)) {
    grid.lowers.push_back({corner(v, 128), std::vector<std::uint64_t>(64), {}, {v, v}});
    add_child(grid.uppers.back(), upper_offset(v), grid.lowers.size());
  }
  if (grid.leaves.empty() || grid.leaves.back().origin != corner(v, 8)) {
    Leaf& leaf = grid.leaves.emplace_back();
    leaf.origin = corner(v, 8);
    leaf.offset = grid.voxel_count + 1;  // an index of 0 means off [G-4]
    leaf.box = {v, v};
    add_child(grid.lowers.back(), lower_offset(v), grid.leaves.size());
  }
}

Grid grid_of(const std::vector<Voxel>& voxels) {
  Grid grid;
  for (const Voxel& v : voxels) {
    start_nodes(grid, v);
    Leaf& leaf = grid.leaves.back();
    leaf.mask[leaf_offset(v) / 64] |= std::uint64_t{1} << (leaf_offset(v) % 64);
    if (!grid.box) grid.box = Box{v, v};
    for (Box* box : {&leaf.box, &grid.lowers.back().box, &grid.uppers.back().box, &*grid.box})
      extend(*box, v);
    ++grid.voxel_count;
  }
  for (Leaf& leaf : grid.leaves) leaf.prefix_sum = packed_prefix_sum(leaf.mask);
  grid.flags = grid.box ? 0x22 : 0x20;
  grid.byte_size = kGridBytes + kTreeBytes + kRootBytes + kTileBytes * grid.tiles.size() +
                   kUpperBytes * grid.uppers.size() + kLowerBytes * grid.lowers.size() +
                   kLeafBytes * grid.leaves.size();
  return grid;
}

// Grids of a batch and nodes of a level are counted in 32 bits by the format [L-6].
void check_count(const char* argument, std::size_t count) {
  if (count > std::numeric_limits<std::uint32_t>::max())
    refuse(ErrorKind::CapacityExceeded, "layout", argument, std::to_string(count),
           "the format counts them in 32 bits");
}

}  // namespace

Layout layout_of(const Batch& batch) {
  check_batch("layout", batch);
  check_count("members", batch.size());
  Layout layout;
  for (std::size_t m = 0; m < batch.size(); ++m) {
    Grid& grid = layout.grids.emplace_back(grid_of(batch.members[m]));
    check_count("leaves", grid.leaves.size());  // no other level has more
    grid.name = batch.names[m];
    grid.map = batch.maps[m];
    grid.index = static_cast<std::uint32_t>(m);
    grid.count = static_cast<std::uint32_t>(batch.size());
    grid.world_box = world_box(grid.box, grid.map);
    layout.byte_offsets.push_back(layout.byte_offsets.back() + grid.byte_size);
    layout.voxel_offsets.push_back(layout.voxel_offsets.back() + grid.voxel_count);
    layout.leaf_offsets.push_back(layout.leaf_offsets.back() + grid.leaves.size());
  }
  return layout;
}

// 21 bits an axis, z lowest; of the coordinate as it stands in memory, so no bias [G-3].
std::uint64_t tile_key(Voxel v) {
  const auto bits = [](std::int32_t c) {
    return std::uint64_t{static_cast<std::uint32_t>(c) >> 12};
  };
  return bits(v.x) << 42 | bits(v.y) << 21 | bits(v.z);
}

std::uint64_t packed_prefix_sum(const std::array<std::uint64_t, 8>& mask) {
  std::uint64_t packed = 0, count = 0;
  for (int word = 0; word < 7; ++word) {
    count += static_cast<std::uint64_t>(std::popcount(mask[word]));
    packed |= count << (9 * word);
  }
  return packed;
}

std::array<double, 6> world_box(const std::optional<Box>& box, const Map& map) {
  constexpr double most = std::numeric_limits<double>::max();
  if (!box) return {most, most, most, -most, -most, -most};
  const Voxel &lo = box->min, &hi = box->max;
  const std::array<double, 6> index{double(lo.x),     double(lo.y),     double(lo.z),
                                    double(hi.x) + 1, double(hi.y) + 1, double(hi.z) + 1};
  std::array<double, 6> world;
  for (int i = 0; i < 6; ++i)
    world[i] = std::fma(index[i], map.voxel_size[i % 3], map.origin[i % 3]);
  return world;
}

}  // namespace leafproof::reference
