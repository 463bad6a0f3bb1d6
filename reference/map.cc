// Maps after a pass [G-7]: one double operation a step; contraction is off for the whole build.
#include "reference/map.h"

#include <cmath>
#include <string>

#include "reference/checks.h"

namespace leafproof::reference {
namespace {

constexpr std::size_t kMaxNameBytes = 255;

// One axis of a map: s and o.
struct Axis {
  double size, origin;
};

// Applies `rule` to each axis and refuses what is no map any more.
template <class Rule>
Map each_axis(const char* operation, const Map& map, std::int64_t member, Rule rule) {
  check_map(operation, map, member);
  Map result;
  for (int a = 0; a < 3; ++a) {
    const Axis axis = rule(Axis{map.voxel_size[a], map.origin[a]}, a);
    result.voxel_size[a] = axis.size;
    result.origin[a] = axis.origin;
  }
  check_map(operation, result, member);
  return result;
}

}  // namespace

void check_map(const char* operation, const Map& map, std::int64_t member) {
  for (int a = 0; a < 3; ++a) {
    const double s = map.voxel_size[a], o = map.origin[a];
    if (!std::isfinite(s) || !(s > 0))
      refuse(ErrorKind::InvalidArgument, operation, "voxel_size", to_text(s),
             "must be finite and positive", member);
    if (!std::isfinite(o))
      refuse(ErrorKind::InvalidArgument, operation, "origin", to_text(o), "must be finite", member);
  }
}

void check_name(const char* operation, const std::string& name, std::int64_t member) {
  if (name.size() > kMaxNameBytes)
    refuse(ErrorKind::InvalidArgument, operation, "name", std::to_string(name.size()) + " bytes",
           "at most " + std::to_string(kMaxNameBytes) + " bytes", member);
  if (name.find('\0') != std::string::npos)
    refuse(ErrorKind::InvalidArgument, operation, "name", "a name with an inner NUL",
           "must hold no NUL", member);
}

// The fine cells tile the coarse cell.
Map map_after_refine(const Map& map, Triple factor, std::int64_t member) {
  check_factor("refine", "factor", factor, kMaxRefineFactor);
  return each_axis("refine", map, member, [&](Axis axis, int a) {
    const double f = static_cast<double>(factor[a]);
    const double n = axis.size / f;
    return Axis{n, axis.origin - ((f - 1) * n) / 2};
  });
}

Map map_after_coarsen(const Map& map, Triple factor, std::int64_t member) {
  check_factor("coarsen", "factor", factor, 0);
  return each_axis("coarsen", map, member, [&](Axis axis, int a) {
    const double f = static_cast<double>(factor[a]);
    return Axis{axis.size * f, axis.origin + ((f - 1) * axis.size) / 2};
  });
}

Map map_after_conv_grid(const Map& map, Triple stride, std::int64_t member) {
  check_factor("conv_grid", "stride", stride, kMaxStride);
  return each_axis("conv_grid", map, member, [&](Axis axis, int a) {
    return Axis{axis.size * static_cast<double>(stride[a]), axis.origin};
  });
}

Map map_after_conv_transpose_grid(const Map& map, Triple stride, std::int64_t member) {
  check_factor("conv_transpose_grid", "stride", stride, kMaxStride);
  return each_axis("conv_transpose_grid", map, member, [&](Axis axis, int a) {
    return Axis{axis.size / static_cast<double>(stride[a]), axis.origin};
  });
}

Map map_after_dual(const Map& map, std::int64_t member) {
  return each_axis("dual", map, member,
                   [](Axis axis, int) { return Axis{axis.size, axis.origin - axis.size / 2}; });
}

}  // namespace leafproof::reference
