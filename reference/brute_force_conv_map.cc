// [M]: of every coarse cell and every tap, is the fine cell on? Then in the order of [M-2].
#include <algorithm>
#include <utility>

#include "reference/brute_force_conv_parts.h"

namespace leafproof::brute_force {

std::size_t Rows::place(const Cell& c) const {
  const std::int64_t ny = region_.hi[1] - region_.lo[1] + 1, nz = region_.hi[2] - region_.lo[2] + 1;
  return static_cast<std::size_t>(((c[0] - region_.lo[0]) * ny + c[1] - region_.lo[1]) * nz + c[2] -
                                  region_.lo[2]);
}

// The walk that builds grids visits cells in canonical order.
Rows::Rows(const std::vector<Voxel>& voxels, std::int64_t first) : first_(first) {
  const Bitmap on(voxels);
  region_ = on.region();
  rows_.assign(static_cast<std::size_t>(cells_of(region_)), -1);
  grid_where(region_, [&](const Cell& c) {
    if (!on.holds(c)) return false;
    rows_[place(c)] = static_cast<std::int32_t>(cells_.size());
    cells_.push_back(c);
    return true;
  });
}

std::int64_t Rows::row_of(const Cell& c) const {
  for (int a = 0; a < 3; ++a)
    if (c[a] < region_.lo[a] || c[a] > region_.hi[a]) return -1;
  const std::int32_t row = rows_[place(c)];
  return row < 0 ? -1 : first_ + row;
}

namespace {

KernelMap map_of(const Batch& source, const Batch& target, const Kernel& k, Direction direction) {
  using Pair = std::pair<std::int64_t, std::int64_t>;  // target row, source row
  std::vector<std::vector<Pair>> taps(static_cast<std::size_t>(k.size[0] * k.size[1] * k.size[2]));
  KernelMap map;
  for (std::size_t m = 0; m < source.members.size(); ++m) {
    const Rows in(source.members[m], map.source_rows), out(target.members[m], map.target_rows);
    const bool forward = direction == Direction::Forward;
    const Rows &coarse = forward ? out : in, &fine = forward ? in : out;
    for (std::size_t c = 0; c < coarse.cells().size(); ++c) {
      const std::int64_t coarse_row = coarse.first() + static_cast<std::int64_t>(c);
      std::size_t number = 0;
      each_tap(k, [&](const Cell& tap) {
        const std::int64_t fine_row = fine.row_of(fine_cell(k, coarse.cells()[c], tap));
        if (fine_row >= 0)
          taps[number].push_back(forward ? Pair{coarse_row, fine_row} : Pair{fine_row, coarse_row});
        ++number;
      });
    }
    map.source_rows += static_cast<std::int64_t>(source.members[m].size());
    map.target_rows += static_cast<std::int64_t>(target.members[m].size());
  }
  for (auto& tap : taps) {
    std::sort(tap.begin(), tap.end());
    for (const auto& [target_row, source_row] : tap) {
      map.gather.push_back(source_row);
      map.scatter.push_back(target_row);
    }
    map.offsets.push_back(static_cast<std::int64_t>(map.gather.size()));
  }
  return map;
}

DenseMap spread(const KernelMap& map) {
  DenseMap d;
  d.taps = static_cast<std::int64_t>(map.offsets.size()) - 1;
  d.rows = map.target_rows;
  for (std::size_t t = 0; t + 1 < map.offsets.size(); ++t) {
    std::int64_t at = map.offsets[t];
    for (std::int64_t row = 0; row < d.rows; ++row) {
      const auto i = static_cast<std::size_t>(at);
      const bool met = at < map.offsets[t + 1] && map.scatter[i] == row;
      d.index.push_back(met ? map.gather[i] : -1);
      at += met;
    }
  }
  return d;
}

}  // namespace

KernelMap kernel_map(const Batch& source, const Batch& target, const Kernel& kernel,
                     Direction direction) {
  require_kernel("kernel_map", kernel);
  if (source.members.size() != target.members.size())
    reject(ErrorKind::ShapeMismatch, "kernel_map", "target",
           std::to_string(target.members.size()) + " members",
           std::to_string(source.members.size()) + " members");
  require_batch("kernel_map", source);
  require_members("kernel_map", target.members);
  return map_of(source, target, kernel, direction);
}

DenseMap dense_map(const Batch& source, const Batch& target, const Kernel& kernel,
                   Direction direction) {
  return spread(kernel_map(source, target, kernel, direction));
}

DenseMap submanifold_map(const Batch& source, const Kernel& kernel) {
  for (int a = 0; a < 3; ++a)
    if (rest(kernel.size[a], 2) == 0 || kernel.stride[a] != 1)
      reject(ErrorKind::InvalidArgument, "submanifold_index_map",
             kernel.stride[a] != 1 ? "stride" : "kernel_size",
             show(kernel.stride[a] != 1 ? kernel.stride : kernel.size),
             "an odd kernel and stride 1 on every axis");
  require_kernel("submanifold_index_map", kernel);
  require_batch("submanifold_index_map", source);
  return spread(map_of(source, source, kernel, Direction::Forward));
}

Batch voxels_of(const Layout& layout) {
  Batch batch;
  for (const Grid& g : layout.grids) {
    batch.maps.push_back(g.map);
    batch.names.push_back(g.name);
    auto& member = batch.members.emplace_back();
    for (const reference::Leaf& leaf : g.leaves)
      for (std::int32_t n = 0; n < 512; ++n)
        if (leaf.mask[static_cast<std::size_t>(n / 64)] >> (n % 64) & 1)
          member.push_back(
              {leaf.origin.x + n / 64, leaf.origin.y + n / 8 % 8, leaf.origin.z + n % 8});
  }
  return batch;
}

}  // namespace leafproof::brute_force
