// The writer of .nvdb files: one segment, uncompressed.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "oracle/input/atomic_file.h"
#include "oracle/input/input.h"
#include "oracle/input/nvdb_format.h"

namespace leafproof::oracle {
namespace {

using format::GridData;
using format::load;
using format::RootData;
using format::store;
using format::TreeData;

constexpr std::uint64_t max_grids = 65535;  // the header counts in 16 bits [G-6]

template <std::size_t Size>
using Bytes = std::array<std::byte, Size>;

// Copies a field of a grid into a field of its record; they have the same size.
void copy_field(std::byte* record, const Field& to, const std::byte* from, const Field& field) {
  std::copy_n(from + field.at, field.size, record + to.at);
}

std::string_view name_of(std::span<const std::byte> grid) {
  const std::string_view field = as_text(grid.subspan(GridData::name.at, GridData::name.size));
  return field.substr(0, field.find('\0'));
}

// The key by which NanoVDB's readers look a name up: its bytes as a number to the base 67, what
// overflows 56 bits added back to the next.
std::uint64_t name_key(std::string_view name) {
  std::uint64_t key = 0;
  for (const char c : name) key = key * 67 + (key >> 56) + static_cast<unsigned char>(c);
  return key;
}

// What is read of a grid for its record lies in it.
void check(const FileTask& task, std::span<const std::byte> grid, std::size_t index) {
  const auto corrupt = [&](std::string reason) {
    task.refuse(ErrorKind::Corrupt, std::move(reason), static_cast<std::int64_t>(index));
  };
  if (grid.size() < GridData::size + TreeData::size) {
    corrupt(fmt::format("a grid of {} bytes has no headers", grid.size()));
  }
  if (load<std::uint64_t>(grid.data() + GridData::magic.at) != format::magic_grid) {
    corrupt("the grid does not begin like a NanoVDB grid");
  }
  const auto size = load<std::uint64_t>(grid.data() + GridData::byte_size.at);
  if (size != grid.size()) {
    corrupt(fmt::format("the grid says that it has {} bytes, and has {}", size, grid.size()));
  }
  const auto root = load<std::uint64_t>(grid.data() + GridData::size + TreeData::root_offset.at);
  if (root > grid.size() - GridData::size || RootData::size > grid.size() - GridData::size - root) {
    corrupt("the root lies outside the grid");
  }
  if (name_of(grid).size() == GridData::name.size) corrupt("the name of the grid has no end");
}

Bytes<FileRecord::size> record_of(std::span<const std::byte> grid) {
  Bytes<FileRecord::size> record{};
  const std::byte* header = grid.data();
  const std::byte* tree = header + GridData::size;
  const std::byte* root = tree + load<std::uint64_t>(tree + TreeData::root_offset.at);
  copy_field(record.data(), FileRecord::grid_size, header, GridData::byte_size);
  copy_field(record.data(), FileRecord::file_size, header, GridData::byte_size);
  store(record.data() + FileRecord::name_key.at, name_key(name_of(grid)));
  copy_field(record.data(), FileRecord::voxel_count, tree, TreeData::voxel_count);
  copy_field(record.data(), FileRecord::grid_type, header, GridData::grid_type);
  copy_field(record.data(), FileRecord::grid_class, header, GridData::grid_class);
  copy_field(record.data(), FileRecord::world_box, header, GridData::world_box);
  copy_field(record.data(), FileRecord::index_box, root, RootData::box);
  copy_field(record.data(), FileRecord::voxel_size, header, GridData::voxel_size);
  store(record.data() + FileRecord::name_size.at,
        static_cast<std::uint32_t>(name_of(grid).size() + 1));
  std::copy_n(tree + TreeData::leaf_count.at, 12, record.data() + FileRecord::node_count.at);
  store(record.data() + FileRecord::node_count.at + 12, std::uint32_t{1});  // the root
  copy_field(record.data(), FileRecord::tile_count, tree, TreeData::tile_counts);
  const auto blind = load<std::uint32_t>(header + GridData::blind_count.at);
  store(record.data() + FileRecord::blind_count.at, static_cast<std::uint16_t>(blind));
  copy_field(record.data(), FileRecord::version, header, GridData::version);
  return record;
}

}  // namespace

void write_nvdb(const std::filesystem::path& file, const GridBuffer& buffer) {
  for_file("write .nvdb", file, [&](const FileTask& task) {
    const std::size_t count = buffer.offsets.empty() ? 0 : buffer.offsets.size() - 1;
    if (count < 1 || count > max_grids) {
      task.refuse(ErrorKind::CapacityExceeded,
                  fmt::format("a .nvdb file holds 1 to {} grids, not {}", max_grids, count));
    }
    std::vector<std::span<const std::byte>> grids;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t begin = buffer.offsets[i], end = buffer.offsets[i + 1];
      if (begin > end || end > buffer.bytes.size()) {
        task.refuse(ErrorKind::Corrupt,
                    fmt::format("bytes {} to {} are no grid of a buffer of {} bytes", begin, end,
                                buffer.bytes.size()),
                    static_cast<std::int64_t>(i));
      }
      grids.push_back(buffer.bytes.subspan(begin, end - begin));
      check(task, grids.back(), i);
    }
    Bytes<FileHeader::size> header{};
    store(header.data() + FileHeader::magic.at, magic_file);
    copy_field(header.data(), FileHeader::version, grids[0].data(), GridData::version);
    store(header.data() + FileHeader::grid_count.at, static_cast<std::uint16_t>(count));
    store(header.data() + FileHeader::codec.at, codec_none);

    AtomicFile out(task);
    out.write(header);
    for (const auto& grid : grids) {
      out.write(record_of(grid));
      out.write(std::string(name_of(grid)) + '\0');
    }
    for (const auto& grid : grids) out.write(grid);
    out.commit();
  });
}

}  // namespace leafproof::oracle
