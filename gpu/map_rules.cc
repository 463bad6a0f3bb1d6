#include "gpu/map_rules.h"

#include <cmath>
#include <cstdio>

#include "gpu/error.h"

namespace leafproof::gpu {
namespace {

std::string text(double v) {  // exactly: 1e-310 is not 0.000000
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.17g", v);
  return digits;
}

}  // namespace

void check_map(const std::string& operation, const MemberMap& map, std::int64_t member) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double size = map.voxel_size[axis], origin = map.origin[axis];
    if (!std::isfinite(size) || size <= 0) {
      throw Error(ErrorKind::InvalidArgument, operation, "voxel_size", text(size),
                  "the voxel size of the result must be finite and positive", member);
    }
    if (!std::isfinite(origin)) {
      throw Error(ErrorKind::InvalidArgument, operation, "origin", text(origin),
                  "the origin of the result must be finite", member);
    }
  }
}

void check_name(const std::string& operation, const std::string& name, std::int64_t member) {
  if (name.size() > 255) {
    throw Error(ErrorKind::InvalidArgument, operation, "name",
                std::to_string(name.size()) + " bytes", "a name has at most 255 bytes", member);
  }
  if (name.find('\0') != std::string::npos) {
    throw Error(ErrorKind::InvalidArgument, operation, "name", "an inner NUL",
                "a name is text without NUL", member);
  }
}

MemberMap refined(const MemberMap& map, Triple factor) {
  MemberMap result;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto f = static_cast<double>(factor[axis]);
    const double n = map.voxel_size[axis] / f;
    const double reach = (f - 1.0) * n;
    const double shift = reach / 2.0;
    result.voxel_size[axis] = n;
    result.origin[axis] = map.origin[axis] - shift;
  }
  return result;
}

MemberMap coarsened(const MemberMap& map, Triple factor) {
  MemberMap result;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto f = static_cast<double>(factor[axis]);
    const double reach = (f - 1.0) * map.voxel_size[axis];
    const double shift = reach / 2.0;
    result.voxel_size[axis] = map.voxel_size[axis] * f;
    result.origin[axis] = map.origin[axis] + shift;
  }
  return result;
}

MemberMap dual_map(const MemberMap& map) {
  MemberMap result = map;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double half = map.voxel_size[axis] / 2.0;
    result.origin[axis] = map.origin[axis] - half;
  }
  return result;
}

MemberMap strided(const MemberMap& map, Triple stride) {
  MemberMap result = map;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    result.voxel_size[axis] = map.voxel_size[axis] * static_cast<double>(stride[axis]);
  }
  return result;
}

MemberMap unstrided(const MemberMap& map, Triple stride) {
  MemberMap result = map;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    result.voxel_size[axis] = map.voxel_size[axis] / static_cast<double>(stride[axis]);
  }
  return result;
}

}  // namespace leafproof::gpu
