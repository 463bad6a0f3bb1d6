// See members.h.
#include "oracle/input/members.h"

#include <fmt/format.h>

#include <cmath>

namespace leafproof::oracle {
namespace {

constexpr std::size_t name_limit = 255;  // [G-7]

// At most `limit` bytes, no half character of UTF-8, nothing from a NUL on.
std::string cut(std::string name, std::size_t limit) {
  name.resize(std::min(name.find('\0'), name.size()));
  if (name.size() <= limit) return name;
  while (limit > 0 && (static_cast<unsigned char>(name[limit]) & 0xC0) == 0x80) --limit;
  name.resize(limit);
  return name;
}

}  // namespace

void append_member(const FileTask& task, Input& input, std::vector<Voxel> voxels, const Map& map,
                   std::string name, std::string provenance) {
  const auto member = static_cast<std::int64_t>(input.batch.size());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double size = map.voxel_size[axis], origin = map.origin[axis];
    if (!std::isfinite(size) || !(size > 0) || !std::isfinite(origin)) {
      task.refuse(
          ErrorKind::InvalidArgument,
          fmt::format("voxel size {} and origin {} on axis {}; both must be finite, the size "
                      "positive",
                      size, origin, "xyz"[axis]),
          member);
    }
  }
  std::string kept = cut(name, name_limit);
  if (kept.size() != name.size()) {
    input.notes.push_back(fmt::format("{}: the name of member {} was cut to {} bytes",
                                      task.file.string(), member, kept.size()));
  }
  input.batch.members.push_back(std::move(voxels));
  input.batch.maps.push_back(map);
  input.batch.names.push_back(std::move(kept));
  input.provenance.push_back(std::move(provenance));
}

std::string member_name(const std::filesystem::path& file) {
  return cut(file.stem().string(), name_limit);
}

std::string member_name(const std::filesystem::path& file, std::uint64_t index) {
  const std::string suffix = fmt::format("[{}]", index);
  return cut(file.stem().string(), name_limit - suffix.size()) + suffix;
}

void check_budget(const FileTask& task, std::uint64_t voxels, std::uint64_t max_voxels) {
  if (voxels <= max_voxels) return;
  task.refuse(ErrorKind::CapacityExceeded,
              fmt::format("holds {} voxels, more than the limit of {}", voxels, max_voxels));
}

}  // namespace leafproof::oracle
