// The layout [G] by walking nested boxes: tiles, lower nodes in a tile, leaves in a lower node,
// voxels in a leaf, each level x first and z fastest [G-2].
#include <algorithm>

#include "reference/brute_force_parts.h"

namespace leafproof::brute_force {
namespace {

using reference::Box;
using reference::Leaf;
using reference::Node;

// Blocks of size^3 cells that meet the region, by block coordinates, z fastest.
template <class Visit>
void each_block(const Region& region, std::int64_t size, Visit visit) {
  const auto first = [&](int a) { return div_down(region.lo[a], size); };
  const auto last = [&](int a) { return div_down(region.hi[a], size); };
  for (std::int64_t x = first(0); x <= last(0); ++x)
    for (std::int64_t y = first(1); y <= last(1); ++y)
      for (std::int64_t z = first(2); z <= last(2); ++z) visit(Cell{x, y, z});
}

Region clip(const Region& region, const Cell& block, std::int64_t size) {
  Region part;
  for (int a = 0; a < 3; ++a) {
    part.lo[a] = std::max(region.lo[a], block[a] * size);
    part.hi[a] = std::min(region.hi[a], block[a] * size + size - 1);
  }
  return part;
}

Voxel voxel(const Cell& c) {
  return {static_cast<std::int32_t>(c[0]), static_cast<std::int32_t>(c[1]),
          static_cast<std::int32_t>(c[2])};
}

Voxel origin(const Cell& block, std::int64_t size) {
  return voxel({block[0] * size, block[1] * size, block[2] * size});
}

// A child's place among `width`^3 of its parent, z fastest.
std::size_t offset_in_parent(const Cell& block, std::int64_t width) {
  return static_cast<std::size_t>((rest(block[0], width) * width + rest(block[1], width)) * width +
                                  rest(block[2], width));
}

Box box_of(const std::vector<Cell>& cells) {
  Region r;
  for (const Cell& c : cells) r = hull(r, {c, c});
  return {voxel(r.lo), voxel(r.hi)};
}

void widen(Box& box, const Box& more) {
  const Region r = hull({cell(box.min), cell(box.max)}, {cell(more.min), cell(more.max)});
  box = {voxel(r.lo), voxel(r.hi)};
}

Node node(const Cell& block, std::int64_t size, std::size_t words, const Box& box) {
  Node n;
  n.origin = origin(block, size);
  n.child_mask.assign(words, 0);
  n.box = box;
  return n;
}

void adopt(Node& parent, std::size_t offset, std::size_t child) {
  parent.child_mask[offset / 64] += std::uint64_t{1} << (offset % 64);
  parent.children.push_back(child);
}

Leaf leaf(const Cell& block, const std::vector<Cell>& on, const Box& box, std::uint64_t before) {
  Leaf l;
  l.origin = origin(block, 8);
  l.box = box;
  l.offset = 1 + before;
  std::array<std::uint64_t, 8> in_word{};
  for (const Cell& c : on) {
    const std::size_t n = offset_in_parent(c, 8);
    l.mask[n / 64] += std::uint64_t{1} << (n % 64);
    ++in_word[n / 64];
  }
  for (int w = 0; w < 7; ++w)  // a word counts for itself and for every later one [G-4]
    for (int later = w; later < 7; ++later) l.prefix_sum += in_word[w] << (9 * later);
  return l;
}

// The tile's 20 bits an axis as a number without sign, in fields of 21 bits [G-3].
std::uint64_t key(const Cell& tile) {
  std::uint64_t k = 0;
  for (const std::int64_t t : tile)
    k = k * (1 << 21) + static_cast<std::uint64_t>(rest(t, 1 << 20));
  return k;
}

}  // namespace

Grid grid_where(const Region& region, const std::function<bool(const Cell&)>& holds) {
  Grid g;
  if (cells_of(region) == 0) return g;
  each_block(region, 4096, [&](const Cell& tile) {
    bool tile_is_there = false;
    const Region in_tile = clip(region, tile, 4096);
    each_block(in_tile, 128, [&](const Cell& lower) {
      bool lower_is_there = false;
      const Region in_lower = clip(in_tile, lower, 128);
      each_block(in_lower, 8, [&](const Cell& leaf_block) {
        std::vector<Cell> on;
        each_block(clip(in_lower, leaf_block, 8), 1, [&](const Cell& c) {
          if (holds(c)) on.push_back(c);
        });
        if (on.empty()) return;
        const Box box = box_of(on);
        if (!tile_is_there) {
          g.tiles.push_back({voxel(tile), key(tile), g.uppers.size()});
          g.uppers.push_back(node(tile, 4096, 512, box));
        }
        if (!lower_is_there) {
          adopt(g.uppers.back(), offset_in_parent(lower, 32), g.lowers.size());
          g.lowers.push_back(node(lower, 128, 64, box));
        }
        tile_is_there = lower_is_there = true;
        adopt(g.lowers.back(), offset_in_parent(leaf_block, 16), g.leaves.size());
        g.leaves.push_back(leaf(leaf_block, on, box, g.voxel_count));
        g.voxel_count += on.size();
        widen(g.uppers.back().box, box);
        widen(g.lowers.back().box, box);
        if (!g.box) g.box = box;
        widen(*g.box, box);
      });
    });
  });
  return g;
}

}  // namespace leafproof::brute_force
