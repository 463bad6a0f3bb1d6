// The reader of NanoVDB buffers: checks, then follows.
#include "oracle/layout_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>

#include "oracle/nanovdb_format.h"
#include "oracle/out_of_memory.h"

namespace leafproof::oracle {
namespace {

using format::load;
using reference::Box;
using reference::Grid;
using reference::Leaf;
using reference::Node;
using reference::RootTile;

constexpr std::uint64_t smallest_grid =
    format::GridData::size + format::TreeData::size + format::RootData::size;
constexpr std::size_t findings_kept = 4;  // of a member and concern

[[noreturn]] void refuse(ErrorKind kind, std::int64_t member, std::string argument,
                         std::string value, std::string reason) {
  ErrorDetail detail{.operation = "read NanoVDB grids",
                     .argument = std::move(argument),
                     .value = std::move(value),
                     .reason = std::move(reason),
                     .member = {},
                     .row = {}};
  if (member >= 0) detail.member = member;
  throw Error(kind, std::move(detail));
}

[[noreturn]] void corrupt(std::int64_t member, std::string argument, std::string value,
                          std::string reason) {
  refuse(ErrorKind::Corrupt, member, std::move(argument), std::move(value), std::move(reason));
}

/// The checks that come before any other; returns mGridSize, which lies within `slice`.
std::uint64_t check_header(std::span<const std::byte> slice, std::int64_t member) {
  using G = format::GridData;
  if (slice.size() < smallest_grid)
    corrupt(member, "size of the grid", fmt::format("{} bytes", slice.size()),
            fmt::format("at least {} bytes, for header, tree and root", smallest_grid));
  const auto magic = load<std::uint64_t>(&slice[G::magic.at]);
  if (magic != format::magic_grid && magic != format::magic_of_old)
    corrupt(member, "mMagic", fmt::format("0x{:016x}", magic),
            fmt::format("0x{:016x} or 0x{:016x}, of a NanoVDB grid", format::magic_grid,
                        format::magic_of_old));
  const auto version = load<std::uint32_t>(&slice[G::version.at]);
  if (format::major_of(version) != format::major_version)
    corrupt(member, "mVersion", fmt::format("major {}", format::major_of(version)),
            fmt::format("major {}", format::major_version));
  const auto type = load<std::uint32_t>(&slice[G::grid_type.at]);
  if (type != format::type_on_index)
    corrupt(member, "mGridType", fmt::format("{}", type),
            fmt::format("{} (ValueOnIndex)", format::type_on_index));
  const auto size = load<std::uint64_t>(&slice[G::byte_size.at]);
  if (size < smallest_grid || size > slice.size() || size % format::alignment != 0)
    corrupt(member, "mGridSize", fmt::format("{}", size),
            fmt::format("a multiple of 32 between {} and the {} bytes there are", smallest_grid,
                        slice.size()));
  return size;
}

std::string text_of(const std::array<double, 3>& v) {
  return fmt::format("({:.17g},{:.17g},{:.17g})", v[0], v[1], v[2]);
}

template <class T, std::size_t N>
std::array<T, N> load_array(const std::byte* at) {
  std::array<T, N> values;
  std::memcpy(values.data(), at, sizeof(values));
  return values;
}

Voxel load_voxel(const std::byte* at) {
  const auto v = load_array<std::int32_t, 3>(at);
  return {v[0], v[1], v[2]};
}

Box load_box(const std::byte* at) {
  return {load_voxel(at), load_voxel(at + 12)};
}

Voxel snapped(Voxel v, int log2) {
  const std::int32_t keep = -(std::int32_t{1} << log2);
  return {v.x & keep, v.y & keep, v.z & keep};
}

/// Slot n of a node with (2^log2)^3 slots, each 2^child_log2 voxels wide, seen from its origin.
Voxel place_of_slot(Voxel origin, std::uint32_t n, int log2, int child_log2) {
  const std::uint32_t mask = (1u << log2) - 1;
  // Origins come from the tile, so that the sum stays inside the tile; unsigned for certainty.
  const auto add = [&](std::int32_t o, std::uint32_t s) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(o) + (s << child_log2));
  };
  return {add(origin.x, n >> (2 * log2) & mask), add(origin.y, n >> log2 & mask),
          add(origin.z, n & mask)};
}

/// The tile that a stored key names: three fields of 21 bits, of which 20 are a signed coordinate.
Voxel tile_of_key(std::uint64_t key) {
  const auto axis = [&](int shift) {
    const auto bits = static_cast<std::uint32_t>(key >> shift) & 0xfffffu;
    return static_cast<std::int32_t>(bits << 12) >> 12;
  };
  return {axis(42), axis(21), axis(0)};
}

Voxel tile_of_voxel(Voxel v) {
  return {v.x >> 12, v.y >> 12, v.z >> 12};
}
Voxel origin_of_tile(Voxel t) {
  return {t.x * 4096, t.y * 4096, t.z * 4096};
}

/// Calls visit(slot, k) for the k-th on bit of a mask, in ascending order.
template <class Visit>
void for_each_on(const std::vector<std::uint64_t>& mask, Visit visit) {
  std::uint64_t k = 0;
  for (std::size_t w = 0; w < mask.size(); ++w)
    for (std::uint64_t bits = mask[w]; bits != 0; bits &= bits - 1)
      visit(static_cast<std::uint32_t>(64 * w + static_cast<unsigned>(std::countr_zero(bits))),
            k++);
}

/// An array of nodes in a grid.
struct Section {
  const char* name;
  std::uint64_t at, count, size;  // bytes from the grid's start; nodes; bytes of a node
  std::uint64_t end() const { return at + count * size; }
};

/// Reads one grid.
class GridReader {
 public:
  GridReader(std::span<const std::byte> slice, std::int64_t member, Examination& out)
      : bytes_(slice.first(check_header(slice, member))),
        beyond_(slice.size() - bytes_.size()),
        member_(member),
        out_(out) {}

  Grid read() {
    read_header();
    read_map();
    find_sections();
    read_root();
    read_nodes<format::UpperData>(uppers_, lowers_, grid_.uppers, "upper");
    read_nodes<format::LowerData>(lowers_, leaves_, grid_.lowers, "lower");
    read_leaves();
    place();
    check_counts();
    return std::move(grid_);
  }

 private:
  template <class T>
  T at(std::uint64_t structure, const format::Field& field) const {
    return load<T>(&bytes_[structure + field.at]);
  }

  void find(Concern concern, const char* clause, std::string what, std::string expected,
            std::string actual, std::string path = {}, std::optional<Voxel> coordinate = {},
            std::optional<ErrorKind> refusal = {}) {
    const auto c = static_cast<std::size_t>(concern);
    ++out_.counts[c];
    if (kept_[c]++ < findings_kept)
      out_.findings.push_back({concern, clause, std::move(what), std::move(expected),
                               std::move(actual), member_, std::move(path), coordinate, refusal});
  }
  /// Whether another finding of this concern would be kept; texts are made only then.
  bool keeps(Concern concern) {
    if (kept_[static_cast<std::size_t>(concern)] < findings_kept) return true;
    ++out_.counts[static_cast<std::size_t>(concern)];
    return false;
  }

  void read_header() {
    using G = format::GridData;
    grid_.flags = at<std::uint32_t>(0, G::flags);
    grid_.index = at<std::uint32_t>(0, G::index);
    grid_.count = at<std::uint32_t>(0, G::count);
    grid_.byte_size = bytes_.size();
    grid_.world_box = load_array<double, 6>(&bytes_[G::world_box.at]);
    const char* name = reinterpret_cast<const char*>(&bytes_[G::name.at]);
    grid_.name.assign(name, std::find(name, name + G::name.size, '\0'));

    const auto count = at<std::uint32_t>(0, G::blind_count);
    const auto offset = at<std::uint64_t>(0, G::blind_offset);
    if (count != 0) {
      if (offset == bytes_.size())  // where a grid without blind data has it [G-6]
        corrupt(member_, "mBlindMetadataCount", fmt::format("{}", count),
                "0, since the grid ends where they would begin");
      if (offset > bytes_.size() || count > (bytes_.size() - offset) / format::BlindData::size)
        corrupt(
            member_, "mBlindMetadataOffset", fmt::format("{}", offset),
            fmt::format("room for {} blind data headers of {} bytes before the grid's end at {}",
                        count, format::BlindData::size, bytes_.size()));
      find(Concern::Layout, "G-6", "mBlindMetadataCount", "0", fmt::format("{}", count));
      if ((grid_.flags & format::has_long_name) != 0) read_long_name(offset, count);
    } else if (offset != bytes_.size()) {
      find(Concern::Layout, "G-6", "mBlindMetadataOffset", fmt::format("{}", bytes_.size()),
           fmt::format("{}", offset));
    }
  }

  void read_long_name(std::uint64_t offset, std::uint32_t count) {
    using B = format::BlindData;
    for (std::uint32_t i = 0; i < count; ++i, offset += B::size) {
      if (at<std::uint32_t>(offset, B::data_class) != B::class_grid_name) continue;
      const std::uint64_t start = offset + at<std::uint64_t>(offset, B::data_offset);
      const auto length = at<std::uint64_t>(offset, B::value_count);
      const auto size = at<std::uint32_t>(offset, B::value_size);
      if (start > bytes_.size() || length > bytes_.size() - start || size != 1)
        corrupt(member_, "blind data of the grid's name",
                fmt::format("{} values of size {} at {}", length, size, start),
                fmt::format("values of size 1 that end within the grid's {} bytes", bytes_.size()));
      const char* name = reinterpret_cast<const char*>(bytes_.data() + start);
      grid_.name.assign(name, std::find(name, name + length, '\0'));
      return;
    }
  }

  // [G-7]: the map is mMatD and mVecD; everything else about it follows.
  void read_map() {
    using G = format::GridData;
    const auto mat = load_array<double, 9>(&bytes_[G::mat_d.at]);
    const auto vec = load_array<double, 3>(&bytes_[G::vec_d.at]);
    const auto taper = at<double>(0, G::taper_d);
    const auto taper_f = at<float>(0, G::taper_f);
    grid_.map = {{mat[0], mat[4], mat[8]}, vec};

    const auto finite = [](double v) { return std::isfinite(v); };
    const auto& s = grid_.map.voxel_size;
    const bool sound = std::all_of(mat.begin(), mat.end(), finite) &&
                       std::all_of(vec.begin(), vec.end(), finite) && s[0] > 0 && s[1] > 0 &&
                       s[2] > 0;
    if (!sound)
      find(Concern::Map, "G-7", "map", "finite, with positive voxel sizes",
           fmt::format("voxel size {}, origin {}", text_of(s), text_of(vec)), {}, {},
           ErrorKind::InvalidArgument);
    else if (mat[1] != 0 || mat[2] != 0 || mat[3] != 0 || mat[5] != 0 || mat[6] != 0 || mat[7] != 0)
      find(Concern::Map, "G-7", "mMap.mMatD", "no rotation and no shear",
           fmt::format("{:.17g}", fmt::join(mat, " ")), {}, {}, ErrorKind::Unsupported);
    else if (!(taper == 1.0 && taper_f == 1.0f))
      find(Concern::Map, "G-7", "taper of the map", "1 in double, 1 in float",
           fmt::format("{:.17g} in double, {:.9g} in float", taper, taper_f), {}, {},
           ErrorKind::Unsupported);
    else
      check_derived_map();
  }

  void check_derived_map() {
    using G = format::GridData;
    const MapBytes expected = map_bytes(grid_.map);
    const auto check = [&](const format::Field& field, const std::byte* bytes) {
      if (std::memcmp(bytes, &bytes_[field.at], field.size) == 0) return;
      const std::uint64_t size = field.size % 8 == 0 ? 8 : 4;
      std::uint64_t row = 0;  // of a matrix, the first that differs
      while (std::memcmp(bytes + row, &bytes_[field.at + row], 3 * size) == 0) row += 3 * size;
      const auto text = [&](const std::byte* p) {
        const std::string of =
            field.size > 3 * size ? fmt::format("row {}: ", row / (3 * size)) : std::string();
        if (size == 8) return of + text_of(load_array<double, 3>(p + row));
        const auto v = load_array<float, 3>(p + row);
        return of + fmt::format("({:.9g},{:.9g},{:.9g})", v[0], v[1], v[2]);
      };
      find(Concern::Map, "G-7", field.name, text(bytes), text(&bytes_[field.at]));
    };
    for (const auto& field : {G::mat_f, G::inv_mat_f, G::vec_f, G::mat_d, G::inv_mat_d, G::vec_d})
      check(field, &expected.map[field.at - G::mat_f.at]);
    check(G::voxel_size, expected.voxel_size.data());
  }

  // Where the arrays are: inside the grid, aligned, one beside the other.
  void find_sections() {
    using T = format::TreeData;
    const std::uint64_t tree = format::GridData::size;
    const auto section = [&](const char* name, const format::Field& offset_field,
                             const char* count_field, std::uint64_t count,
                             std::uint64_t size) -> Section {
      const auto offset = at<std::uint64_t>(tree, offset_field);
      if (count == 0) {
        if (offset != 0)
          find(Concern::Layout, "G-6", offset_field.name, "0", fmt::format("{}", offset));
        return {name, 0, 0, size};
      }
      const auto holds = [&](std::uint64_t nodes, std::uint64_t end) {
        return offset >= T::size && offset % format::alignment == 0 && offset <= end - tree &&
               nodes <= (end - tree - offset) / size;
      };
      if (!holds(count, bytes_.size()) && holds(count, bytes_.size() + beyond_))
        corrupt(member_, "mGridSize", fmt::format("{}", bytes_.size()),
                fmt::format("more: the {} end beyond it", name));
      if (!holds(count, bytes_.size()) && holds(1, bytes_.size()))
        corrupt(member_, fmt::format("{} or {}", count_field, offset_field.name),
                fmt::format("{}", count),
                fmt::format("at most the {} {} of {} bytes that fit between {} and the grid's end",
                            (bytes_.size() - tree - offset) / size, name, size, offset));
      if (!holds(count, bytes_.size()))
        corrupt(member_, offset_field.name, fmt::format("{}", static_cast<std::int64_t>(offset)),
                fmt::format("a multiple of 32, at least {}, with room for {} {} of {} bytes before "
                            "the grid's end at {}",
                            T::size, count, name, size, bytes_.size() - tree));
      return {name, tree + offset, count, size};
    };
    root_ = section("root", T::root_offset, T::root_offset.name, 1, format::RootData::size).at;
    const auto tiles = at<std::uint32_t>(root_, format::RootData::tile_count);
    const std::uint64_t room =
        (bytes_.size() - root_ - format::RootData::size) / format::Tile::size;
    if (tiles > room)
      corrupt(member_, "mTableSize", fmt::format("{}", tiles),
              fmt::format("at most the {} root tiles that fit in the grid's {} bytes", room,
                          bytes_.size()));
    tiles_ = {"root tiles", root_ + format::RootData::size, tiles, format::Tile::size};
    uppers_ = section("upper nodes", T::upper_offset, T::upper_count.name,
                      at<std::uint32_t>(tree, T::upper_count), format::UpperData::size);
    lowers_ = section("lower nodes", T::lower_offset, T::lower_count.name,
                      at<std::uint32_t>(tree, T::lower_count), format::LowerData::size);
    leaves_ = section("leaves", T::leaf_offset, T::leaf_count.name,
                      at<std::uint32_t>(tree, T::leaf_count), format::LeafData::size);

    std::array arrays{Section{"root", root_, 1, format::RootData::size}, tiles_, uppers_, lowers_,
                      leaves_};
    std::sort(arrays.begin(), arrays.end(),
              [](const Section& a, const Section& b) { return a.at < b.at; });
    const Section* before = nullptr;
    for (const Section& array : arrays) {
      if (array.count == 0) continue;
      // As many root tiles as upper nodes, or their number is what is wrong.
      const bool tiles_wrong =
          before != nullptr && before->at == tiles_.at && tiles != uppers_.count;
      if (before != nullptr && before->end() > array.at)
        corrupt(member_, tiles_wrong ? "mTableSize" : "mNodeOffset",
                fmt::format("{} at {}", array.name, array.at),
                fmt::format("at {} or after, behind the {}", before->end(), before->name));
      before = &array;
    }

    // [G-6] memory order: root, tiles, upper, lower, leaf, nothing between and nothing after.
    std::uint64_t here = tree + T::size;
    const auto in_order = [&](const Section& array, const char* field) {
      if (array.count == 0) return;
      if (array.at != here)
        find(Concern::Layout, "G-6", field, fmt::format("{}", here - tree),
             fmt::format("{}", array.at - tree));
      here = array.end();
    };
    in_order({"root", root_, 1, format::RootData::size}, T::root_offset.name);
    here += tiles * format::Tile::size;
    in_order(uppers_, T::upper_offset.name);
    in_order(lowers_, T::lower_offset.name);
    in_order(leaves_, T::leaf_offset.name);
  }

  void read_root() {
    using R = format::RootData;
    using T = format::Tile;
    const Box box = load_box(&bytes_[root_ + R::box.at]);
    constexpr auto lowest = std::numeric_limits<std::int32_t>::min();
    constexpr auto highest = std::numeric_limits<std::int32_t>::max();
    if (box != Box{{highest, highest, highest}, {lowest, lowest, lowest}}) grid_.box = box;
    if (const auto background = at<std::uint64_t>(root_, R::background); background != 0)
      find(Concern::Layout, "G-4", "mBackground", "0", fmt::format("{}", background), "root");

    grid_.tiles.reserve(tiles_.count);
    for (std::uint64_t i = 0; i < tiles_.count; ++i) {
      const std::uint64_t tile = tiles_.at + i * T::size;
      const auto offset = at<std::uint64_t>(tile, T::child);
      const auto key = at<std::uint64_t>(tile, T::key);
      if (offset == 0)
        refuse(ErrorKind::Unsupported, member_, fmt::format("root tile {}", i), "a value tile",
               "an upper node: a grid of voxels has no value tiles [G-4]");
      grid_.tiles.push_back({{}, key, child(uppers_, root_, offset, "root tile", i)});
      const auto state = at<std::uint32_t>(tile, T::state);
      const auto value = at<std::uint64_t>(tile, T::value);
      if (state != 0 || value != 0)
        find(Concern::Layout, "G-4", fmt::format("state and value of root tile {}", i), "0 and 0",
             fmt::format("{} and {}", state, value), "root");
    }
  }

  /// The index of the node that lies `offset` bytes (signed, as stored) after `parent`. Modulo 2^64
  /// a sum that left the grid cannot come back into it.
  std::uint64_t child(const Section& level, std::uint64_t parent, std::uint64_t offset,
                      const char* what, std::uint64_t i, std::int64_t slot = -1) {
    const std::uint64_t from_first = parent + offset - level.at;
    const std::uint64_t index = from_first / level.size;
    if (from_first % level.size != 0 || index >= level.count)
      corrupt(member_,
              slot < 0 ? fmt::format("child of {} {}", what, i)
                       : fmt::format("child of {} {} in slot {}", what, i, slot),
              fmt::format("offset {}", static_cast<std::int64_t>(offset)),
              level.count == 0
                  ? fmt::format("no child: the grid has no {}", level.name)
                  : fmt::format("an offset to one of the {} {}", level.count, level.name));
    return index;
  }

  template <class Data>
  void read_nodes(const Section& here, const Section& below, std::vector<Node>& nodes,
                  const char* name) {
    nodes.reserve(here.count);
    for (std::uint64_t i = 0; i < here.count; ++i) {
      const std::uint64_t start = here.at + i * Data::size;
      Node node;
      node.box = load_box(&bytes_[start + Data::box.at]);
      node.flags = at<std::uint64_t>(start, Data::flags);
      node.child_mask.resize(Data::slots / 64);
      std::memcpy(node.child_mask.data(), &bytes_[start + Data::child_mask.at], Data::mask_bytes);
      std::uint64_t count = 0;
      for (const std::uint64_t word : node.child_mask)
        count += static_cast<std::uint64_t>(std::popcount(word));
      node.children.reserve(count);
      for (std::uint64_t w = 0; w < Data::slots / 64; ++w) {
        if (load<std::uint64_t>(&bytes_[start + Data::value_mask.at + 8 * w]) != 0)
          refuse(ErrorKind::Unsupported, member_, fmt::format("mValueMask of {} {}", name, i),
                 "a value tile", "all slots off: a grid of voxels has no value tiles [G-4]");
        const std::byte* table = &bytes_[start + Data::table.at + 512 * w];
        const std::uint64_t word = node.child_mask[w];
        std::uint64_t values = 0;  // whether any slot without a child holds a value
        for (int n = 0; n < 64; ++n)
          values |= (word >> n & 1) != 0 ? 0 : load<std::uint64_t>(table + 8 * n);
        for (std::uint64_t bits = word; bits != 0; bits &= bits - 1) {
          const int n = std::countr_zero(bits);
          node.children.push_back(child(below, start, load<std::uint64_t>(table + 8 * n), name, i,
                                        static_cast<std::int64_t>(64 * w) + n));
        }
        if (values == 0) continue;
        for (int n = 0; n < 64; ++n) {
          const auto value = load<std::uint64_t>(table + 8 * n);
          if ((word >> n & 1) == 0 && value != 0 && keeps(Concern::Layout))
            find(Concern::Layout, "G-4",
                 fmt::format("value in slot {} of {} {}, which has no child", 64 * w + n, name, i),
                 "0", fmt::format("{}", value), fmt::format("{} {}", name, i));
        }
      }
      nodes.push_back(std::move(node));
    }
  }

  void read_leaves() {
    using L = format::LeafData;
    grid_.leaves.resize(leaves_.count);
    for (std::uint64_t i = 0; i < leaves_.count; ++i) {
      const std::byte* start = &bytes_[leaves_.at + i * L::size];
      Leaf& leaf = grid_.leaves[i];
      leaf.box.min = load_voxel(start + L::box_min.at);
      const auto dif = load_array<std::uint8_t, 3>(start + L::box_dif.at);
      const auto add = [](std::int32_t a, std::uint8_t d) {  // wraps; then no box of voxels
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + d);
      };
      const Voxel min = leaf.box.min;
      leaf.box.max = {add(min.x, dif[0]), add(min.y, dif[1]), add(min.z, dif[2])};
      leaf.flags = load<std::uint8_t>(start + L::flags.at);
      leaf.mask = load_array<std::uint64_t, 8>(start + L::mask.at);
      leaf.offset = load<std::uint64_t>(start + L::offset.at);
      leaf.prefix_sum = load<std::uint64_t>(start + L::prefix_sum.at);
    }
  }

  /// Where each node is: from the tiles down. A leaf whose own box says otherwise, a node that is
  /// reached twice or never: findings about the tree.
  void place() {
    std::vector<bool> upper_seen(uppers_.count), lower_seen(lowers_.count),
        leaf_seen(leaves_.count);
    const auto reach = [&](std::vector<bool>& seen, const char* name, std::uint64_t i) {
      if (!seen[i]) {
        seen[i] = true;
        return true;
      }
      if (keeps(Concern::Tree))
        find(Concern::Tree, "E-2", fmt::format("{} {}", name, i), "reached once",
             "reached from a second parent", fmt::format("{} {}", name, i));
      return false;
    };
    for (std::uint64_t t = 0; t < tiles_.count; ++t) {
      RootTile& tile = grid_.tiles[t];
      tile.tile = vote(tile);
      if (!reach(upper_seen, "upper", tile.child)) continue;
      Node& upper = grid_.uppers[tile.child];
      upper.origin = origin_of_tile(tile.tile);
      for_each_on(upper.child_mask, [&](std::uint32_t slot, std::uint64_t k) {
        const std::uint64_t l = upper.children[k];
        if (!reach(lower_seen, "lower", l)) return;
        Node& lower = grid_.lowers[l];
        lower.origin = place_of_slot(upper.origin, slot, 5, 7);
        for_each_on(lower.child_mask, [&](std::uint32_t leaf_slot, std::uint64_t j) {
          const std::uint64_t f = lower.children[j];
          if (!reach(leaf_seen, "leaf", f)) return;
          Leaf& leaf = grid_.leaves[f];
          leaf.origin = place_of_slot(lower.origin, leaf_slot, 4, 3);
          if (snapped(leaf.box.min, 3) != leaf.origin && keeps(Concern::Tree))
            find(Concern::Tree, "G-5", "mBBoxMin of a leaf",
                 "inside the leaf at " + to_text(leaf.origin), to_text(leaf.box.min),
                 fmt::format("tile {} > upper {} > lower {} > leaf {}", to_text(tile.tile),
                             tile.child, l, f),
                 leaf.origin);
        });
      });
    }
    const auto unreached = [&](const std::vector<bool>& seen, const char* name, auto& nodes,
                               int log2) {
      for (std::size_t i = 0; i < seen.size(); ++i) {
        if (seen[i]) continue;
        nodes[i].origin = snapped(nodes[i].box.min, log2);
        if (keeps(Concern::Tree))
          find(Concern::Tree, "E-2", fmt::format("{} {} of {}", name, i, seen.size()),
               "reached from the root", "reached from no parent", fmt::format("{} {}", name, i),
               nodes[i].origin);
      }
    };
    unreached(upper_seen, "upper", grid_.uppers, 12);
    unreached(lower_seen, "lower", grid_.lowers, 7);
    unreached(leaf_seen, "leaf", grid_.leaves, 3);
  }

  /// The tile that two of three witnesses name; the key where all differ.
  Voxel vote(const RootTile& tile) const {
    const Node& upper = grid_.uppers[tile.child];
    const Voxel by_key = tile_of_key(tile.key), by_box = tile_of_voxel(upper.box.min);
    if (by_key == by_box || upper.children.empty()) return by_key;
    const Node& lower = grid_.lowers[upper.children.front()];
    if (lower.children.empty()) return by_key;
    const Voxel by_leaf = tile_of_voxel(grid_.leaves[lower.children.front()].box.min);
    return by_leaf == by_box ? by_box : by_key;
  }

  // Counts that a Layout does not hold, against the masks.
  void check_counts() {
    using T = format::TreeData;
    const std::uint64_t tree = format::GridData::size;
    std::uint64_t voxels = 0;
    for (const Leaf& leaf : grid_.leaves)
      for (const std::uint64_t word : leaf.mask)
        voxels += static_cast<std::uint64_t>(std::popcount(word));
    voxels_ = voxels;
    grid_.voxel_count = at<std::uint64_t>(tree, T::voxel_count);
    if (const auto data1 = at<std::uint64_t>(0, format::GridData::data1); data1 != voxels + 1)
      find(Concern::Layout, "G-6", "mData1", fmt::format("{}", voxels + 1),
           fmt::format("{}", data1));
    const auto counts = load_array<std::uint32_t, 3>(&bytes_[tree + T::tile_counts.at]);
    if (counts != std::array<std::uint32_t, 3>{})
      find(Concern::Layout, "G-4", "mTileCount", "0 0 0",
           fmt::format("{}", fmt::join(counts, " ")));
  }

 public:
  std::uint64_t voxels() const { return voxels_; }  // on bits, after read()

 private:
  std::span<const std::byte> bytes_;  // exactly the grid
  std::uint64_t beyond_;              // bytes of the slice that mGridSize leaves out
  std::int64_t member_;
  Examination& out_;
  std::array<std::size_t, 3> kept_{};
  Grid grid_;
  std::uint64_t voxels_ = 0, root_ = 0;
  Section tiles_{}, uppers_{}, lowers_{}, leaves_{};
};

void check_offsets(const GridBuffer& buffer) {
  const auto& offsets = buffer.offsets;
  if (offsets.empty() || offsets.front() != 0)
    corrupt(-1, "offsets", offsets.empty() ? "none" : fmt::format("{}", offsets.front()),
            "0, where the first grid begins");
  for (std::size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] < offsets[i - 1] || offsets[i] % format::alignment != 0)
      corrupt(static_cast<std::int64_t>(i) - 1, "offsets",
              fmt::format("{} after {}", offsets[i], offsets[i - 1]), "ascending multiples of 32");
  if (offsets.back() != buffer.bytes.size())
    corrupt(-1, "offsets", fmt::format("{}", offsets.back()),
            fmt::format("{} at last, the end of the buffer", buffer.bytes.size()));
}

/// Reads members into `out` up to the first that cannot be followed; of that one nothing is kept.
void read_members(const GridBuffer& buffer, Examination& out) try {
  check_offsets(buffer);
  Layout& layout = out.layout;
  layout.byte_offsets = buffer.offsets;
  const std::size_t members = buffer.offsets.size() - 1;
  layout.grids.reserve(members);
  layout.voxel_offsets.reserve(members + 1);
  layout.leaf_offsets.reserve(members + 1);
  for (std::size_t i = 0; i < members; ++i) {
    const std::uint64_t begin = buffer.offsets[i], end = buffer.offsets[i + 1];
    const auto findings = static_cast<std::ptrdiff_t>(out.findings.size());
    const auto counts = out.counts;
    try {
      GridReader reader(buffer.bytes.subspan(begin, end - begin), static_cast<std::int64_t>(i),
                        out);
      layout.grids.push_back(reader.read());
      layout.voxel_offsets.push_back(layout.voxel_offsets.back() + reader.voxels());
      layout.leaf_offsets.push_back(layout.leaf_offsets.back() + layout.grids.back().leaves.size());
    } catch (...) {
      out.findings.erase(out.findings.begin() + findings, out.findings.end());
      out.counts = counts;
      throw;
    }
  }
} catch (const std::bad_alloc&) {
  refuse(ErrorKind::OutOfMemory, -1, "buffer", fmt::format("{} bytes", buffer.bytes.size()),
         "memory enough to read it");
}

}  // namespace

Examination examine(const GridBuffer& buffer) {
  return or_out_of_memory("read layout", "buffer", [&]() -> Examination {
    Examination out;
    read_members(buffer, out);
    return out;
  });
}

Examination examine_while_sound(const GridBuffer& buffer) {
  return or_out_of_memory("read layout", "buffer", [&]() -> Examination {
    Examination out;
    try {
      read_members(buffer, out);
    } catch (const Error& e) {
      out.stopped = e;
    }
    return out;
  });
}

Layout read_layout(const GridBuffer& buffer) {
  return or_out_of_memory("read layout", "buffer", [&]() -> Layout {
    Examination out = examine(buffer);
    for (const Finding& finding : out.findings) {
      const bool tree = finding.concern == Concern::Tree;
      if (!tree && !finding.refusal) continue;
      refuse(tree ? ErrorKind::Corrupt : *finding.refusal, finding.member,
             finding.path.empty() ? finding.what : finding.what + " (" + finding.path + ")",
             finding.actual, "it must be " + finding.expected);
    }
    return std::move(out.layout);
  });
}

GridBuffer grids_in(std::shared_ptr<const void> owner, std::span<const std::byte> bytes) {
  return or_out_of_memory("read layout", "buffer", [&]() -> GridBuffer {
    GridBuffer buffer{std::move(owner), bytes, {0}};
    while (buffer.offsets.back() < bytes.size()) {
      const std::uint64_t here = buffer.offsets.back();
      const auto member = static_cast<std::int64_t>(buffer.offsets.size()) - 1;
      buffer.offsets.push_back(here + check_header(bytes.subspan(here), member));
    }
    return buffer;
  });
}

Batch batch_of(const Layout& layout) {
  Batch batch;
  batch.members.reserve(layout.grids.size());
  for (const Grid& grid : layout.grids) {
    std::size_t count = 0;
    for (const Leaf& leaf : grid.leaves)
      for (const std::uint64_t word : leaf.mask)
        count += static_cast<unsigned>(std::popcount(word));
    std::vector<Voxel> voxels;
    voxels.reserve(count);
    for (const Leaf& leaf : grid.leaves)
      for (std::uint32_t w = 0; w < 8; ++w)
        for (std::uint64_t bits = leaf.mask[w]; bits != 0; bits &= bits - 1) {
          const std::uint32_t n = 64 * w + static_cast<std::uint32_t>(std::countr_zero(bits));
          voxels.push_back(voxel_of(leaf, n));
        }
    batch.members.push_back(std::move(voxels));
    batch.maps.push_back(grid.map);
    batch.names.push_back(grid.name);
  }
  return batch;
}

Voxel voxel_of(const Leaf& leaf, std::uint32_t n) {
  return place_of_slot(leaf.origin, n, 3, 0);
}

std::string to_text(const Voxel& voxel) {
  return fmt::format("({},{},{})", voxel.x, voxel.y, voxel.z);
}

std::string node_path(const Grid& grid, int level, std::uint64_t index) {
  std::string path;
  const auto above = [&](const std::vector<Node>& nodes, const char* name) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (std::find(nodes[i].children.begin(), nodes[i].children.end(), index) !=
          nodes[i].children.end()) {
        path = fmt::format("{} {} > ", name, i) + path;
        index = i;
        return true;
      }
    return false;
  };
  path = fmt::format("{} {}", level == 0 ? "leaf" : level == 1 ? "lower" : "upper", index);
  if (level == 0 && !above(grid.lowers, "lower")) return path;
  if (level <= 1 && !above(grid.uppers, "upper")) return path;
  for (const RootTile& tile : grid.tiles)
    if (tile.child == index) return "tile " + to_text(tile.tile) + " > " + path;
  return path;
}

}  // namespace leafproof::oracle
