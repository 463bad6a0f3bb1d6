// Grids made into a batch: headers [G-6], world boxes [G-5] and metadata [G-8].
#include <cmath>
#include <limits>
#include <utility>

#include "reference/brute_force_parts.h"

namespace leafproof::brute_force {

Layout assemble(std::vector<Grid> grids, const std::vector<Map>& maps,
                const std::vector<std::string>& names) {
  Layout layout;
  for (std::size_t m = 0; m < grids.size(); ++m) {
    Grid& g = grids[m];
    g.name = names[m];
    g.map = maps[m];
    g.index = static_cast<std::uint32_t>(m);
    g.count = static_cast<std::uint32_t>(grids.size());
    g.flags = g.leaves.empty() ? 32 : 32 + 2;
    // grid, tree, root; then a tile and an upper node for each tile, lower nodes, leaves [G-6]
    g.byte_size = (672 + 64 + 96) + (32 + 270400) * g.tiles.size() + 33856 * g.lowers.size() +
                  96 * g.leaves.size();
    for (int a = 0; a < 3; ++a) {
      const double s = g.map.voxel_size[a], o = g.map.origin[a];
      g.world_box[a] = g.box ? std::fma(static_cast<double>(cell(g.box->min)[a]), s, o)
                             : std::numeric_limits<double>::max();
      g.world_box[3 + a] = g.box ? std::fma(static_cast<double>(cell(g.box->max)[a]) + 1.0, s, o)
                                 : std::numeric_limits<double>::lowest();
    }
    layout.byte_offsets.push_back(layout.byte_offsets[m] + g.byte_size);
    layout.voxel_offsets.push_back(layout.voxel_offsets[m] + g.voxel_count);
    layout.leaf_offsets.push_back(layout.leaf_offsets[m] + g.leaves.size());
  }
  layout.grids = std::move(grids);
  return layout;
}

}  // namespace leafproof::brute_force
