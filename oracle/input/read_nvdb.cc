// Grids of a .nvdb file as they are (read_nvdb), and as members of a batch.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "oracle/input/nvdb_file.h"
#include "oracle/input/nvdb_format.h"
#include "oracle/input/nvdb_topology.h"
#include "oracle/layout_view.h"
#include "reference/canonical_order.h"

namespace leafproof::oracle {
namespace {

constexpr const char* operation = "read .nvdb";

// One grid as a buffer of its own.
GridBuffer alone(const GridBuffer& buffer, std::size_t grid) {
  const std::uint64_t begin = buffer.offsets[grid], end = buffer.offsets[grid + 1];
  return {buffer.owner, buffer.bytes.subspan(begin, end - begin), {0, end - begin}};
}

Layout layout_of_grid(const FileTask& task, std::int64_t member, const GridBuffer& grid) {
  try {
    return read_layout(grid);
  } catch (const Error& error) {  // said of the file, and of the right member of it
    const auto& detail = error.detail();
    task.refuse(error.kind(),
                fmt::format("{} {}: {}", detail.argument, detail.value, detail.reason), member);
  }
}

// Foreign files may hold their nodes in any order, but a voxel once.
std::vector<Voxel> in_order(const FileTask& task, std::int64_t member, std::vector<Voxel> stored) {
  const auto not_before = [](const Voxel& left, const Voxel& right) {
    return !reference::canonical_less(left, right);
  };
  if (std::ranges::adjacent_find(stored, not_before) == stored.end()) return stored;
  std::ranges::sort(stored, reference::canonical_less);
  const auto twice = std::ranges::adjacent_find(stored);
  if (twice != stored.end()) {
    task.refuse(ErrorKind::Corrupt, "the grid holds the voxel " + to_text(*twice) + " twice",
                member);
  }
  return stored;
}

// A key that names another tile than its nodes: readers by coordinate and readers by node would see
// different voxels [G-3].
void check_keys(const FileTask& task, std::int64_t member, const reference::Grid& grid) {
  for (std::size_t i = 0; i < grid.tiles.size(); ++i) {
    const Voxel tile = grid.tiles[i].tile;
    const std::uint64_t key = reference::tile_key({tile.x * 4096, tile.y * 4096, tile.z * 4096});
    if (grid.tiles[i].key != key) {
      task.refuse(ErrorKind::Corrupt,
                  fmt::format("root tile {} has the key {:#x}, and its nodes lie in tile {}", i,
                              grid.tiles[i].key, to_text(tile)),
                  member);
    }
  }
}

std::uint64_t voxels_of(const reference::Grid& grid) {
  std::uint64_t count = 0;
  for (const reference::Leaf& leaf : grid.leaves) {
    for (const std::uint64_t word : leaf.mask)
      count += static_cast<std::uint64_t>(std::popcount(word));
  }
  return count;
}

}  // namespace

GridBuffer read_nvdb(const std::filesystem::path& file) {
  return for_file(operation, file, [&](const FileTask& task) -> GridBuffer {
    GridBuffer buffer = load_nvdb(task);
    for (std::size_t i = 0; i + 1 < buffer.offsets.size(); ++i) {
      if (const std::uint32_t type = grid_type(buffer, i); type != format::type_on_index) {
        task.refuse(
            ErrorKind::Unsupported,
            fmt::format("the grid has NanoVDB's type {}; a ValueOnIndex grid ({}) is asked for",
                        type, format::type_on_index),
            static_cast<std::int64_t>(i));
      }
    }
    return buffer;
  });
}

void read_nvdb_members(const FileTask& task, std::uint64_t max_voxels, Input& input) {
  const GridBuffer buffer = load_nvdb(task);
  std::uint64_t budget = max_voxels;
  for (std::size_t i = 0; i + 1 < buffer.offsets.size(); ++i) {
    const GridBuffer grid = alone(buffer, i);
    const auto member = static_cast<std::int64_t>(i);
    const std::uint32_t type = grid_type(buffer, i);
    std::vector<Voxel> voxels;
    GridHead head;
    if (type == format::type_on_index) {
      const Layout layout = layout_of_grid(task, member, grid);
      check_keys(task, member, layout.grids.at(0));
      const std::uint64_t count = voxels_of(layout.grids.at(0));
      if (count > budget) check_budget(task, max_voxels - budget + count, max_voxels);
      Batch batch = batch_of(layout);
      head = {batch.names.at(0), batch.maps.at(0)};
      voxels = in_order(task, member, std::move(batch.members.at(0)));
    } else if (type == type_mask || type == type_float) {
      head = read_head(task, member, grid.bytes);
      VoxelSet set;
      read_topology(task, member, grid.bytes, type, budget, set);
      voxels = set.canonical();
    } else {
      task.refuse(
          ErrorKind::Unsupported,
          fmt::format("the grid has NanoVDB's type {}; ValueOnIndex (20), ValueMask (8) and "
                      "float (1) are read",
                      type),
          member);
    }
    budget -= voxels.size();
    append_member(task, input, std::move(voxels), head.map, std::move(head.name),
                  fmt::format("{} grid {}", task.file.filename().string(), i));
  }
}

}  // namespace leafproof::oracle
