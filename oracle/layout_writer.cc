// The canonical bytes of a layout [G-6] [G-7], and who owns each of them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "oracle/layout_view.h"
#include "oracle/nanovdb_format.h"
#include "oracle/out_of_memory.h"

namespace leafproof::oracle {
namespace {

using format::store;
using reference::Box;
using reference::Grid;
using reference::Leaf;
using reference::Node;

// mVersion is that of the header built with [G-6]; the build passes its numbers.
#ifndef LEAFPROOF_NANOVDB_MINOR
#define LEAFPROOF_NANOVDB_MINOR 9
#define LEAFPROOF_NANOVDB_PATCH 0
#endif
constexpr std::uint32_t version =
    format::version(format::major_version, LEAFPROOF_NANOVDB_MINOR, LEAFPROOF_NANOVDB_PATCH);

[[noreturn]] void refuse(ErrorKind kind, std::int64_t member, std::string argument,
                         std::string value, std::string reason) {
  ErrorDetail detail{.operation = "write NanoVDB grids",
                     .argument = std::move(argument),
                     .value = std::move(value),
                     .reason = std::move(reason),
                     .member = {},
                     .row = {}};
  if (member >= 0) detail.member = member;
  throw Error(kind, std::move(detail));
}

/// Where the parts of a grid lie, in bytes from its start [G-6]: in memory order, nothing between.
struct Places {
  static constexpr std::uint64_t tree = format::GridData::size;
  static constexpr std::uint64_t root = tree + format::TreeData::size;
  static constexpr std::uint64_t tiles = root + format::RootData::size;
  std::uint64_t uppers, lowers, leaves, end;

  explicit Places(const Grid& grid)
      : uppers(tiles + grid.tiles.size() * format::Tile::size),
        lowers(uppers + grid.uppers.size() * format::UpperData::size),
        leaves(lowers + grid.lowers.size() * format::LowerData::size),
        end(leaves + grid.leaves.size() * format::LeafData::size) {}
  std::uint64_t upper(std::uint64_t i) const { return uppers + i * format::UpperData::size; }
  std::uint64_t lower(std::uint64_t i) const { return lowers + i * format::LowerData::size; }
  std::uint64_t leaf(std::uint64_t i) const { return leaves + i * format::LeafData::size; }
};

/// Writes one grid part by part, each into zeroed bytes.
class GridWriter {
 public:
  GridWriter(const Grid& grid, std::int64_t member) : grid_(grid), member_(member), places_(grid) {}

  /// All of it, into `places_.end` zeroed bytes.
  void write(std::byte* bytes) {
    each_part([&](std::uint64_t from, std::uint64_t, auto write_part) {
      bytes_ = bytes + from;
      from_ = from;
      write_part();
      return true;
    });
  }

  /// Whether `actual`, as many bytes as the grid has, are its bytes. The scratch, which is as large
  /// as the largest part, stays in the processor's cache.
  bool equals(const std::byte* actual, std::vector<std::byte>& scratch) {
    return each_part([&](std::uint64_t from, std::uint64_t size, auto write_part) {
      scratch.resize(std::max<std::size_t>(scratch.size(), size));
      std::memset(scratch.data(), 0, size);
      bytes_ = scratch.data();
      from_ = from;
      write_part();
      return std::memcmp(scratch.data(), actual + from, size) == 0;
    });
  }

 private:
  /// Calls `part(from, size, write)` for header and tables, every upper and lower node and every
  /// thousand leaves, as long as it says true.
  template <class Part>
  bool each_part(Part part) {
    constexpr std::size_t together = 1000;
    bool go_on = part(0, places_.uppers, [&] {
      write_header();
      write_tree();
    });
    for (std::size_t i = 0; go_on && i < grid_.uppers.size(); ++i)
      go_on = part(places_.upper(i), format::UpperData::size, [&] {
        write_node<format::UpperData>(grid_.uppers[i], "upper", i, places_.upper(i), places_.lowers,
                                      format::LowerData::size, grid_.lowers.size());
      });
    for (std::size_t i = 0; go_on && i < grid_.lowers.size(); ++i)
      go_on = part(places_.lower(i), format::LowerData::size, [&] {
        write_node<format::LowerData>(grid_.lowers[i], "lower", i, places_.lower(i), places_.leaves,
                                      format::LeafData::size, grid_.leaves.size());
      });
    for (std::size_t i = 0; go_on && i < grid_.leaves.size(); i += together) {
      const std::size_t end = std::min(i + together, grid_.leaves.size());
      go_on = part(places_.leaf(i), (end - i) * format::LeafData::size, [&] {
        for (std::size_t k = i; k < end; ++k) write_leaf(grid_.leaves[k], places_.leaf(k));
      });
    }
    return go_on;
  }

  std::byte* place(std::uint64_t at) const { return bytes_ + (at - from_); }
  template <class T>
  void put(std::uint64_t structure, const format::Field& field, T value, std::uint64_t n = 0) {
    store(place(structure + field.at + n * sizeof(T)), value);
  }
  void put_voxel(std::uint64_t at, const Voxel& v) {
    store(place(at), std::array<std::int32_t, 3>{v.x, v.y, v.z});
  }
  void put_box(std::uint64_t structure, const format::Field& field, const Box& box) {
    put_voxel(structure + field.at, box.min);
    put_voxel(structure + field.at + 12, box.max);
  }
  std::uint32_t count_of(std::size_t count, const char* field) const {
    if (count > std::numeric_limits<std::uint32_t>::max())
      refuse(ErrorKind::CapacityExceeded, member_, field, fmt::format("{}", count),
             "the field has 32 bits [L-6]");
    return static_cast<std::uint32_t>(count);
  }

  void write_header() {
    using G = format::GridData;
    put(0, G::magic, format::magic_grid);
    put(0, G::checksum, format::no_checksum);
    put(0, G::version, version);
    put(0, G::flags, grid_.flags);
    put(0, G::index, grid_.index);
    put(0, G::count, grid_.count);
    put(0, G::byte_size, places_.end);
    if (grid_.name.size() >= G::name.size || grid_.name.find('\0') != std::string::npos)
      refuse(ErrorKind::InvalidArgument, member_, "name",
             fmt::format("{} bytes", grid_.name.size()),
             "at most 255 bytes and no NUL inside [G-7]");
    std::copy(grid_.name.begin(), grid_.name.end(), reinterpret_cast<char*>(place(G::name.at)));
    const MapBytes map = map_bytes(grid_.map);
    std::copy(map.map.begin(), map.map.end(), place(G::mat_f.at));
    std::copy(map.voxel_size.begin(), map.voxel_size.end(), place(G::voxel_size.at));
    put(0, G::world_box, grid_.world_box);
    put(0, G::grid_class, format::class_index);
    put(0, G::grid_type, format::type_on_index);
    put(0, G::blind_offset, places_.end);
    put(0, G::data1, grid_.voxel_count + 1);
  }

  void write_tree() {
    using T = format::TreeData;
    using R = format::RootData;
    const auto offset = [&](std::size_t count, std::uint64_t at) {
      return count == 0 ? 0 : at - Places::tree;
    };
    put(Places::tree, T::leaf_offset, offset(grid_.leaves.size(), places_.leaves));
    put(Places::tree, T::lower_offset, offset(grid_.lowers.size(), places_.lowers));
    put(Places::tree, T::upper_offset, offset(grid_.uppers.size(), places_.uppers));
    put(Places::tree, T::root_offset, Places::root - Places::tree);
    put(Places::tree, T::leaf_count, count_of(grid_.leaves.size(), "mNodeCount[0]"));
    put(Places::tree, T::lower_count, count_of(grid_.lowers.size(), "mNodeCount[1]"));
    put(Places::tree, T::upper_count, count_of(grid_.uppers.size(), "mNodeCount[2]"));
    put(Places::tree, T::voxel_count, grid_.voxel_count);

    constexpr auto lowest = std::numeric_limits<std::int32_t>::min();
    constexpr auto highest = std::numeric_limits<std::int32_t>::max();
    put_box(Places::root, R::box,
            grid_.box.value_or(Box{{highest, highest, highest}, {lowest, lowest, lowest}}));
    put(Places::root, R::tile_count, count_of(grid_.tiles.size(), "mTableSize"));
    for (std::size_t i = 0; i < grid_.tiles.size(); ++i) {
      const std::uint64_t at = Places::tiles + i * format::Tile::size;
      const std::uint64_t child = grid_.tiles[i].child;
      check_child(child, grid_.uppers.size(), "root tile", i);
      put(at, format::Tile::key, grid_.tiles[i].key);
      put(at, format::Tile::child, places_.upper(child) - Places::root);
    }
  }

  void check_child(std::uint64_t child, std::size_t count, const char* what, std::size_t i) const {
    if (child >= count)
      refuse(ErrorKind::InvalidArgument, member_, fmt::format("child of {} {}", what, i),
             fmt::format("{}", child), fmt::format("the level below has {} nodes", count));
  }

  template <class Data>
  void write_node(const Node& node, const char* name, std::size_t i, std::uint64_t at,
                  std::uint64_t below, std::uint64_t below_size, std::size_t below_count) {
    put_box(at, Data::box, node.box);
    put(at, Data::flags, node.flags);
    std::uint64_t on = 0;
    for (const std::uint64_t word : node.child_mask)
      on += static_cast<std::uint64_t>(std::popcount(word));
    if (node.child_mask.size() != Data::slots / 64 || on != node.children.size())
      refuse(ErrorKind::InvalidArgument, member_, fmt::format("child mask of {} {}", name, i),
             fmt::format("{} words, {} bits on", node.child_mask.size(), on),
             fmt::format("{} words, and as many bits as its {} children", Data::slots / 64,
                         node.children.size()));
    std::size_t child = 0;
    for (std::uint64_t w = 0; w < node.child_mask.size(); ++w) {
      put(at, Data::child_mask, node.child_mask[w], w);
      for (std::uint64_t bits = node.child_mask[w]; bits != 0; bits &= bits - 1, ++child) {
        check_child(node.children[child], below_count, name, i);
        const std::uint64_t slot = 64 * w + static_cast<std::uint64_t>(std::countr_zero(bits));
        put(at, Data::table, below + node.children[child] * below_size - at, slot);
      }
    }
  }

  void write_leaf(const Leaf& leaf, std::uint64_t at) {
    using L = format::LeafData;
    put_voxel(at + L::box_min.at, leaf.box.min);
    // Differences of a box within the leaf; unsigned, so that no box whatever overflows.
    const auto dif = [](std::int32_t max, std::int32_t min) {
      return static_cast<std::uint8_t>(static_cast<std::uint32_t>(max) -
                                       static_cast<std::uint32_t>(min));
    };
    put(at, L::box_dif,
        std::array<std::uint8_t, 3>{dif(leaf.box.max.x, leaf.box.min.x),
                                    dif(leaf.box.max.y, leaf.box.min.y),
                                    dif(leaf.box.max.z, leaf.box.min.z)});
    put(at, L::flags, static_cast<std::uint8_t>(leaf.flags));
    put(at, L::mask, leaf.mask);
    put(at, L::offset, leaf.offset);
    put(at, L::prefix_sum, leaf.prefix_sum);
  }

  const Grid& grid_;
  std::int64_t member_;
  Places places_;
  std::byte* bytes_ = nullptr;  // of the part that is being written,
  std::uint64_t from_ = 0;      // which begins there in the grid
};

/// Rounded to float; beyond its range that is infinity, which the language leaves open.
float to_float(double v) {
  if (std::abs(v) >= 0x1p128)
    return static_cast<float>(std::copysign(std::numeric_limits<float>::infinity(), v));
  return static_cast<float>(v);
}

std::string clause_of(std::string_view structure, std::string_view field) {
  using std::string_view;
  for (string_view map : {"mMap", "mVoxelSize", "mGridName"})
    if (field.starts_with(map)) return "G-7";
  for (string_view box : {"mBBox", "mWorldBBox"})
    if (field.starts_with(box)) return "G-5";
  if (structure == "LeafData" && field == "mFlags") return "G-5";
  if (field == "key") return "G-3";
  if (field == "mTable") return "G-2";
  for (string_view leaf : {"mValueMask", "mOffset", "mPrefixSum", "mChildMask"})
    if (field == leaf) return "G-4";
  return "G-6";
}

/// The field of `Data` that owns byte `at` of a structure that begins at `start` of the buffer.
template <class Data>
ByteOwner owner_in(const char* structure, std::uint64_t start, std::uint64_t at) {
  std::uint64_t end = 0;
  for (const format::Field& field : Data::fields) {
    if (at >= field.at && at < field.at + field.size)
      return {field.name, clause_of(structure, field.name), "", -1, start + field.at, field.size};
    if (at < field.at)
      return {fmt::format("padding of {}", structure), "G-6", "", -1, start + end, field.at - end};
    end = field.at + field.size;
  }
  return {fmt::format("padding of {}", structure), "G-6", "", -1, start + end, Data::size - end};
}

}  // namespace

MapBytes map_bytes(const Map& map) {
  using G = format::GridData;
  MapBytes bytes;
  const auto put = [&](const format::Field& field, std::size_t n, auto value) {
    store(&bytes.map[field.at - G::mat_f.at + n * sizeof(value)], value);
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double s = map.voxel_size[axis], o = map.origin[axis];
    put(G::mat_d, 4 * axis, s);
    put(G::inv_mat_d, 4 * axis, 1 / s);
    put(G::vec_d, axis, o);
    put(G::mat_f, 4 * axis, to_float(s));
    put(G::inv_mat_f, 4 * axis, to_float(1 / s));
    put(G::vec_f, axis, to_float(o));
  }
  put(G::taper_f, 0, 1.0f);
  put(G::taper_d, 0, 1.0);
  std::memcpy(bytes.voxel_size.data(), map.voxel_size.data(), bytes.voxel_size.size());
  return bytes;
}

GridBuffer write_layout(const Layout& layout, std::uint64_t budget_bytes) {
  return or_out_of_memory("write layout", "layout", [&]() -> GridBuffer {
    GridBuffer buffer;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < layout.grids.size(); ++i) {
      total += Places(layout.grids[i]).end;  // node counts are in memory: no sum can wrap
      buffer.offsets.push_back(total);
    }
    if (total > budget_bytes)
      refuse(ErrorKind::CapacityExceeded, -1, "size", fmt::format("{} bytes", total),
             fmt::format("the budget is {}", budget_bytes));
    if (total == 0) return buffer;  // [G-6] B = 0

    auto* bytes = static_cast<std::byte*>(
        ::operator new(total, std::align_val_t{format::alignment}, std::nothrow));
    if (bytes == nullptr)
      refuse(ErrorKind::OutOfMemory, -1, "size", fmt::format("{} bytes", total),
             "they could not be allocated");
    buffer.owner = std::shared_ptr<const void>(bytes, [](const void* p) {
      ::operator delete(const_cast<void*>(p), std::align_val_t{format::alignment});
    });
    std::memset(bytes, 0, total);  // every byte that no field owns is zero
    for (std::size_t i = 0; i < layout.grids.size(); ++i)
      GridWriter(layout.grids[i], static_cast<std::int64_t>(i)).write(bytes + buffer.offsets[i]);
    buffer.bytes = {bytes, total};
    return buffer;
  });
}

bool has_bytes_of(const GridBuffer& buffer, const Layout& layout) {
  std::vector<std::uint64_t> offsets{0};
  for (const Grid& grid : layout.grids) offsets.push_back(offsets.back() + Places(grid).end);
  if (buffer.offsets != offsets || buffer.bytes.size() != offsets.back()) return false;
  std::vector<std::byte> scratch;
  for (std::size_t i = 0; i < layout.grids.size(); ++i)
    if (!GridWriter(layout.grids[i], static_cast<std::int64_t>(i))
             .equals(buffer.bytes.data() + offsets[i], scratch))
      return false;
  return true;
}

ByteOwner owner_of_byte(const Layout& layout, std::uint64_t at) {
  std::uint64_t begin = 0;
  for (std::size_t m = 0; m < layout.grids.size(); ++m) {
    const Grid& grid = layout.grids[m];
    const Places places(grid);
    if (at - begin >= places.end) {
      begin += places.end;
      continue;
    }
    const std::uint64_t here = at - begin;
    const auto node = [&]<class Data>(Data, const char* name, std::uint64_t first, int level) {
      const std::uint64_t i = (here - first) / Data::size, start = first + i * Data::size;
      ByteOwner owner = owner_in<Data>(name, begin + start, here - start);
      owner.path = level < 0 ? fmt::format("root tile {}", i) : node_path(grid, level, i);
      if (owner.field == "mTable")
        owner.field = fmt::format("mTable[{}]", (at - owner.field_at) / 8);
      return owner;
    };
    ByteOwner owner;
    if (here < Places::tree)
      owner = owner_in<format::GridData>("GridData", begin, here);
    else if (here < Places::root)
      owner = owner_in<format::TreeData>("TreeData", begin + Places::tree, here - Places::tree);
    else if (here < Places::tiles)
      owner = owner_in<format::RootData>("RootData", begin + Places::root, here - Places::root);
    else if (here < places.uppers)
      owner = node(format::Tile{}, "Tile", Places::tiles, -1);
    else if (here < places.lowers)
      owner = node(format::UpperData{}, "InternalData", places.uppers, 2);
    else if (here < places.leaves)
      owner = node(format::LowerData{}, "InternalData", places.lowers, 1);
    else
      owner = node(format::LeafData{}, "LeafData", places.leaves, 0);
    owner.member = static_cast<std::int64_t>(m);
    return owner;
  }
  return {"a byte after the last grid", "G-6", "", -1, at, 1};
}

}  // namespace leafproof::oracle
