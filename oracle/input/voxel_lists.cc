// See voxel_lists.h.
#include "oracle/input/voxel_lists.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "oracle/input/npz.h"
#include "oracle/input/voxel_set.h"

namespace leafproof::oracle {
namespace {

NpzArchive read_members(const FileTask& task, std::uint64_t max_voxels) {
  // Before the array's own header is known: at most this many bytes of voxels, and of others.
  const std::uint64_t ijk_bytes = 24 * std::min(max_voxels, std::uint64_t{1} << 40) + (1 << 16);
  constexpr std::uint64_t other_bytes = std::uint64_t{1} << 28;
  return read_archive(task, [&](const std::string& name) {
    if (name == "ijk") return ijk_bytes;
    const bool other = name == "offsets" || name == "voxel_sizes" || name == "origins";
    return other ? other_bytes : 0;
  });
}

void check_list(const FileTask& task, const NpyArray& ijk) {
  if (!ijk.is('i', 4) && !ijk.is('i', 8)) {
    task.refuse(ErrorKind::Unsupported,
                fmt::format("{} is {}; voxels are int32 or int64", ijk.name(), ijk.type()));
  }
  if (ijk.shape().size() != 2 || ijk.shape()[1] != 3) {
    task.refuse(ErrorKind::Corrupt, fmt::format("{} has the shape {}; voxels have [N,3]",
                                                ijk.name(), ijk.shape_text()));
  }
}

// Rows [begin, end) of a list, in canonical order.
std::vector<Voxel> member_voxels(const FileTask& task, const NpyArray& ijk, std::uint64_t begin,
                                 std::uint64_t end, std::size_t member, Input& input) {
  std::vector<Voxel> voxels;
  voxels.reserve(end - begin);
  for (std::uint64_t row = begin; row < end; ++row) {
    std::array<std::int32_t, 3> v;
    for (std::uint64_t axis = 0; axis < 3; ++axis) {
      const std::int64_t c = ijk.integer(row, axis);
      v[axis] = static_cast<std::int32_t>(c);
      if (v[axis] != c) {
        task.refuse(ErrorKind::OutOfRange,
                    fmt::format("{} = {} of {} is outside 32 bits", "xyz"[axis], c, ijk.name()),
                    static_cast<std::int64_t>(member), static_cast<std::int64_t>(row - begin));
      }
    }
    voxels.push_back({v[0], v[1], v[2]});
  }
  if (const std::uint64_t repeats = canonicalise(voxels); repeats > 0) {
    input.notes.push_back(
        fmt::format("{}: member {} lists {} more than once", task.file.string(), member,
                    repeats == 1 ? "1 voxel" : fmt::format("{} voxels", repeats)));
  }
  return voxels;
}

std::vector<std::uint64_t> checked_offsets(const FileTask& task, const NpyArray& offsets,
                                           std::uint64_t rows) {
  if (!offsets.is('i', 8)) {
    task.refuse(ErrorKind::Unsupported, "offsets is " + offsets.type() + "; int64 is read");
  }
  if (offsets.shape().size() != 1 || offsets.shape()[0] == 0) {
    task.refuse(ErrorKind::Corrupt,
                "offsets has the shape " + offsets.shape_text() + "; it needs [B+1], B >= 0");
  }
  std::vector<std::uint64_t> result;
  result.reserve(offsets.shape()[0]);
  for (std::uint64_t i = 0; i < offsets.shape()[0]; ++i) {
    const std::int64_t offset = offsets.integer(i);
    if (i == 0 && offset != 0) {
      task.refuse(ErrorKind::Corrupt, fmt::format("offsets start at {}, not at 0", offset));
    }
    if (offset < 0 || (i > 0 && static_cast<std::uint64_t>(offset) < result.back())) {
      task.refuse(
          ErrorKind::Corrupt,
          fmt::format("offsets decrease: offsets[{}] = {} after {}", i, offset, result.back()),
          static_cast<std::int64_t>(i) - 1);
    }
    result.push_back(static_cast<std::uint64_t>(offset));
  }
  if (result.back() != rows) {
    task.refuse(ErrorKind::Corrupt,
                fmt::format("offsets end at {}, and ijk has {} rows", result.back(), rows));
  }
  return result;
}

// voxel_sizes or origins: what `pick` says of each map.
void read_triples(const FileTask& task, const NpzArchive& members, const std::string& name,
                  std::vector<Map>& maps, std::array<double, 3> Map::* pick) {
  const auto found = members.arrays.find(name);
  if (found == members.arrays.end()) return;
  const NpyArray array(task, name, found->second);
  if (!array.is('f', 8)) {
    task.refuse(ErrorKind::Unsupported, name + " is " + array.type() + "; float64 is read");
  }
  if (array.shape() != std::vector<std::uint64_t>{maps.size(), 3}) {
    task.refuse(ErrorKind::Corrupt, fmt::format("{} has the shape {}; the batch needs ({}, 3)",
                                                name, array.shape_text(), maps.size()));
  }
  for (std::size_t member = 0; member < maps.size(); ++member) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      (maps[member].*pick)[axis] = array.real(member, axis);
    }
  }
}

template <class T>
void append_bytes(std::string& bytes, const T* values, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

}  // namespace

void read_npz(const FileTask& task, std::uint64_t max_voxels, Input& input) {
  const NpzArchive members = read_members(task, max_voxels);
  for (const char* name : {"ijk", "offsets"}) {
    if (!members.arrays.contains(name)) {
      task.refuse(ErrorKind::Corrupt, fmt::format("has no array {}.npy", name));
    }
  }
  const NpyArray ijk(task, "ijk", members.arrays.at("ijk"));
  check_list(task, ijk);
  const NpyArray offset_array(task, "offsets", members.arrays.at("offsets"));
  const std::uint64_t rows = ijk.shape()[0];
  const std::vector<std::uint64_t> offsets = checked_offsets(task, offset_array, rows);
  check_budget(task, rows, max_voxels);

  std::vector<Map> maps(offsets.size() - 1);
  read_triples(task, members, "voxel_sizes", maps, &Map::voxel_size);
  read_triples(task, members, "origins", maps, &Map::origin);
  for (std::size_t member = 0; member < maps.size(); ++member) {
    append_member(
        task, input, member_voxels(task, ijk, offsets[member], offsets[member + 1], member, input),
        maps[member], maps.size() == 1 ? member_name(task.file) : member_name(task.file, member),
        fmt::format("{} voxel list {}", task.file.filename().string(), member));
  }
  for (const std::string& other : members.others) {
    input.notes.push_back(task.file.string() + ": not read: " + other);
  }
}

void append_voxel_list(const FileTask& task, const NpyArray& ijk, std::uint64_t max_voxels,
                       Input& input) {
  check_list(task, ijk);
  check_budget(task, ijk.shape()[0], max_voxels);
  append_member(task, input, member_voxels(task, ijk, 0, ijk.shape()[0], 0, input), Map{},
                member_name(task.file), task.file.filename().string() + " voxel list");
}

void write_voxel_npz(const std::filesystem::path& file, const Batch& batch) {
  for_file("write .npz", file, [&](const FileTask& task) {
    std::vector<std::int64_t> offsets{0};
    for (const auto& member : batch.members) {
      offsets.push_back(offsets.back() + static_cast<std::int64_t>(member.size()));
    }
    const auto rows = static_cast<std::uint64_t>(offsets.back());
    const auto array = [](std::string_view type, std::vector<std::uint64_t> shape) {
      return npy_header(type, shape);
    };
    std::string ijk = array("<i4", {rows, 3});
    ijk.reserve(ijk.size() + rows * sizeof(Voxel));
    static_assert(sizeof(Voxel) == 12);
    for (const auto& member : batch.members) append_bytes(ijk, member.data(), member.size());
    std::string ends = array("<i8", {offsets.size()});
    append_bytes(ends, offsets.data(), offsets.size());
    std::string sizes = array("<f8", {batch.size(), 3}), origins = sizes;
    for (const Map& map : batch.maps) {
      append_bytes(sizes, map.voxel_size.data(), 3);
      append_bytes(origins, map.origin.data(), 3);
    }
    NpzWriter writer(task);
    writer.add("ijk", std::move(ijk));
    writer.add("offsets", std::move(ends));
    writer.add("voxel_sizes", std::move(sizes));
    writer.add("origins", std::move(origins));
    writer.write();
  });
}

}  // namespace leafproof::oracle
