// See nvdb_topology.h.
#include "oracle/input/nvdb_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "oracle/input/nvdb_format.h"

namespace leafproof::oracle {
namespace {

using format::GridData;
using format::load;
using format::LowerData;
using format::RootData;
using format::Tile;
using format::TreeData;
using format::UpperData;
using FieldsOfLeaf = format::LeafData;

constexpr std::uint64_t tile_mask =
    (std::uint64_t{1} << 20) - 1;  // a root coordinate: 32 - 12 bits

struct Node {
  std::uint64_t begin, end;  // bytes of the grid
  const char* what;
};

struct Cube {
  Voxel origin;
  std::int64_t side;
};

class TopologyReader {
 public:
  TopologyReader(const FileTask& task, std::int64_t member, std::span<const std::byte> grid,
                 TreeSizes sizes, VoxelSet& voxels)
      : task_(task), member_(member), grid_(grid), sizes_(sizes), voxels_(voxels) {}

  void read(std::uint64_t max_voxels) {
    const std::uint64_t tree = GridData::size;
    const std::uint64_t root = follow(tree, load<std::int64_t>(at(tree) + TreeData::root_offset.at),
                                      sizes_.root, "the root");
    const auto count = load<std::uint32_t>(at(root) + RootData::tile_count.at);
    if (count > (grid_.size() - root - sizes_.root) / Tile::size) {
      corrupt(fmt::format("{} root tiles do not fit into the grid", count));
    }
    nodes_.back().end += count * Tile::size;  // the root's tiles follow it
    std::unordered_set<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::byte* tile = at(root + sizes_.root + i * Tile::size);
      const auto key = load<std::uint64_t>(tile + Tile::key.at);
      if (!keys.insert(key).second) corrupt(fmt::format("root tile {} is there twice", i));
      const Voxel origin = tile_origin(key, i);
      const auto child = load<std::int64_t>(tile + Tile::child.at);
      if (child != 0) {
        read_upper(follow(root, child, UpperData::size, "an upper node"), origin);
      } else if (load<std::uint32_t>(tile + Tile::state.at) != 0) {
        add_cube({origin, 4096});
      }
    }
    check_disjoint();
    if (total_ > max_voxels) {
      task_.refuse(ErrorKind::CapacityExceeded,
                   fmt::format("the grid has {} active voxels, its {} active tiles expanded; the "
                               "limit leaves {}",
                               total_, cubes_.size(), max_voxels),
                   member_);
    }
    for (const Cube& cube : cubes_) voxels_.insert_cube(cube.origin, cube.side);
  }

 private:
  [[noreturn]] void corrupt(std::string reason) const {
    task_.refuse(ErrorKind::Corrupt, std::move(reason), member_);
  }

  const std::byte* at(std::uint64_t offset) const { return grid_.data() + offset; }

  // The place `offset` away from `from`, if `size` bytes of the grid lie there.
  std::uint64_t follow(std::uint64_t from, std::int64_t offset, std::uint64_t size,
                       const char* what) {
    // Two's complement addition does not overflow: a result beyond the grid is refused.
    const std::uint64_t to = from + static_cast<std::uint64_t>(offset);
    if (to % format::alignment != 0 || to < GridData::size + TreeData::size || to > grid_.size() ||
        size > grid_.size() - to) {
      corrupt(fmt::format("{} lies outside the grid: offset {} from byte {} of {}", what, offset,
                          from, grid_.size()));
    }
    claimed_ += size;  // bounds the work; which nodes overlap is found at the end
    if (claimed_ > grid_.size()) corrupt("its nodes overlap: together they exceed the grid");
    nodes_.push_back({to, to + size, what});
    return to;
  }

  // No byte belongs to two nodes: no node has two parents, and none lies in another.
  void check_disjoint() {
    std::ranges::sort(nodes_, {}, &Node::begin);
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      if (nodes_[i].begin < nodes_[i - 1].end) {
        corrupt(fmt::format("{} and {} overlap at byte {} of the grid", nodes_[i - 1].what,
                            nodes_[i].what, nodes_[i].begin));
      }
    }
  }

  Voxel tile_origin(std::uint64_t key, std::uint64_t tile) const {
    const auto coordinate = [&](int shift, std::uint64_t bits) {
      const std::uint64_t c = key >> shift & bits;
      if (c > tile_mask) corrupt(fmt::format("root tile {} has the key {:#x}", tile, key));
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(c << 12));
    };
    return {coordinate(42, (1u << 22) - 1), coordinate(21, (1u << 21) - 1),
            coordinate(0, (1u << 21) - 1)};
  }

  void add_cube(Cube cube) {
    const auto side = static_cast<std::uint64_t>(cube.side);
    total_ = std::min(total_ + side * side * side, std::uint64_t{1} << 62);
    cubes_.push_back(cube);
  }

  static bool bit(const std::byte* words, std::uint64_t n) {
    return (load<std::uint64_t>(words + n / 64 * 8) >> (n % 64) & 1) != 0;
  }

  // Children and active tiles of an internal node; `Data` says where they lie, `side` is a child's.
  template <class Data, class Visit>
  void each_slot(std::uint64_t node, Voxel origin, int log2, std::int32_t side, Visit visit) {
    const std::byte* children = at(node + Data::child_mask.at);
    const std::byte* values = at(node + Data::value_mask.at);
    const std::uint64_t low = (std::uint64_t{1} << log2) - 1;
    for (std::uint64_t n = 0; n < Data::slots; ++n) {
      const bool child = bit(children, n);
      if (!child && !bit(values, n)) continue;
      const auto part = [&](int shift) {
        return static_cast<std::int32_t>(n >> shift & low) * side;
      };
      const Voxel corner{origin.x + part(2 * log2), origin.y + part(log2), origin.z + part(0)};
      if (child) {
        visit(load<std::int64_t>(at(node + Data::table.at + 8 * n)), corner);
      } else {
        add_cube({corner, side});
      }
    }
  }

  void read_upper(std::uint64_t node, Voxel origin) {
    each_slot<UpperData>(node, origin, 5, 128, [&](std::int64_t child, Voxel corner) {
      read_lower(follow(node, child, LowerData::size, "a lower node"), corner);
    });
  }

  void read_lower(std::uint64_t node, Voxel origin) {
    each_slot<LowerData>(node, origin, 4, 8, [&](std::int64_t child, Voxel corner) {
      read_leaf(follow(node, child, sizes_.leaf, "a leaf"), corner);
    });
  }

  void read_leaf(std::uint64_t leaf, Voxel origin) {
    const std::byte* box = at(leaf + FieldsOfLeaf::box_min.at);
    const Voxel own{load<std::int32_t>(box) & ~7, load<std::int32_t>(box + 4) & ~7,
                    load<std::int32_t>(box + 8) & ~7};
    if (!(own == origin)) {
      corrupt(fmt::format("the leaf at ({}, {}, {}) says that it is at ({}, {}, {})", origin.x,
                          origin.y, origin.z, own.x, own.y, own.z));
    }
    VoxelSet::Mask mask;
    for (std::size_t word = 0; word < mask.size(); ++word) {
      mask[word] = load<std::uint64_t>(at(leaf + FieldsOfLeaf::mask.at + 8 * word));
      total_ += static_cast<std::uint64_t>(std::popcount(mask[word]));
    }
    voxels_.insert_block(origin, mask);
  }

  const FileTask& task_;
  std::int64_t member_;
  std::span<const std::byte> grid_;
  TreeSizes sizes_;
  VoxelSet& voxels_;
  std::vector<Node> nodes_;    // all that were followed
  std::uint64_t claimed_ = 0;  // bytes of all nodes so far
  std::vector<Cube> cubes_;    // active tiles
  std::uint64_t total_ = 0;    // active voxels, tiles expanded
};

/// A name of more than 255 bytes lies among the grid's blind data; the grid itself has its begin.
std::span<const std::byte> name_bytes(std::span<const std::byte> grid) {
  using B = format::BlindData;
  const auto cut = grid.subspan(GridData::name.at, GridData::name.size);
  if ((load<std::uint32_t>(grid.data() + GridData::flags.at) & format::has_long_name) == 0)
    return cut;
  auto at = load<std::uint64_t>(grid.data() + GridData::blind_offset.at);
  const auto count = load<std::uint32_t>(grid.data() + GridData::blind_count.at);
  for (std::uint32_t i = 0; i < count; ++i, at += B::size) {
    if (at > grid.size() || grid.size() - at < B::size) return cut;
    const std::byte* const data = grid.data() + at;
    if (load<std::uint32_t>(data + B::data_class.at) != B::class_grid_name) continue;
    const std::uint64_t start = at + load<std::uint64_t>(data + B::data_offset.at);
    const auto length = load<std::uint64_t>(data + B::value_count.at);
    if (start > grid.size() || length > grid.size() - start) return cut;
    return grid.subspan(start, length);
  }
  return cut;
}

}  // namespace

GridHead read_head(const FileTask& task, std::int64_t member, std::span<const std::byte> grid) {
  GridHead head;
  const std::string_view name = as_text(name_bytes(grid));
  head.name = name.substr(0, name.find('\0'));
  const auto number = [&](const Field& field, std::size_t i) {
    return load<double>(grid.data() + field.at + 8 * i);
  };
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 3; ++column) {
      if (row != column && number(GridData::mat_d, 3 * row + column) != 0) {
        task.refuse(ErrorKind::Unsupported,
                    "the grid has a map with rotation or shear; a scale and a translation are read",
                    member);
      }
    }
    head.map.voxel_size[row] = number(GridData::mat_d, 4 * row);
    head.map.origin[row] = number(GridData::vec_d, row);
  }
  if (number(GridData::taper_d, 0) != 1) {
    task.refuse(ErrorKind::Unsupported, "the grid has a map with a taper", member);
  }
  return head;
}

void read_topology(const FileTask& task, std::int64_t member, std::span<const std::byte> grid,
                   std::uint32_t type, std::uint64_t max_voxels, VoxelSet& voxels) {
  const TreeSizes sizes = type == type_float ? sizes_float : sizes_mask;
  TopologyReader(task, member, grid, sizes, voxels).read(max_voxels);
}

}  // namespace leafproof::oracle
