// Maps after a pass, as brute_force has them [G-7]. Contraction is off for the whole build.
#include <limits>

#include "reference/brute_force_parts.h"

namespace leafproof::brute_force {

Map map_after(const std::string& pass, const Map& map, const Triple& factor, std::int64_t member) {
  const bool divides = pass == "refine" || pass == "conv_transpose_grid";
  const bool multiplies = pass == "coarsen" || pass == "conv_grid";
  const bool shifts = pass == "refine" || pass == "coarsen";
  if (divides || multiplies) {
    const std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
    require_factor(pass, factor, pass == "coarsen" ? no_limit : pass == "refine" ? 1024 : 64);
  }
  require_map(pass, map, member);

  Map after = map;
  for (int a = 0; a < 3; ++a) {
    const double f = static_cast<double>(factor[a]);
    double& s = after.voxel_size[a];
    double& o = after.origin[a];
    const double coarse_s = s;
    if (divides) s = coarse_s / f;
    if (multiplies) s = coarse_s * f;
    if (shifts) {  // by half of f - 1 fine cells; the fine size is the smaller one
      double shift = (f - 1) * (divides ? s : coarse_s);
      shift = shift / 2;
      o = divides ? o - shift : o + shift;
    }
    if (pass == "dual") {
      const double half = s / 2;
      o = o - half;
    }
  }
  require_map(pass, after, member);
  return after;
}

}  // namespace leafproof::brute_force
