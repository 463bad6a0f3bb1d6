// What brute_force refuses [E-1], [T-10], [T-11].
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "reference/brute_force_parts.h"

namespace leafproof::brute_force {

void reject(ErrorKind kind, const std::string& pass, const std::string& argument,
            const std::string& value, const std::string& reason, Where where) {
  throw reference::Error(kind, {pass, argument, value, reason, where.member, where.row});
}

std::string show(const Cell& c) {
  std::string text;
  for (const std::int64_t i : c) text += (text.empty() ? "(" : ", ") + std::to_string(i);
  return text + ")";
}

void require_factor(const std::string& pass, const Triple& factor, std::int64_t most) {
  if (*std::min_element(factor.begin(), factor.end()) < 1)
    reject(ErrorKind::InvalidArgument, pass, "factor", show(factor), "from 1 on every axis");
  if (*std::max_element(factor.begin(), factor.end()) > most)
    reject(ErrorKind::Unsupported, pass, "factor", show(factor), "up to " + std::to_string(most));
}

void require_box(const std::string& pass, const Triple& lo, const Triple& hi, bool with_zero) {
  bool upside_down = false, without_zero = false, wide = false;
  for (int a = 0; a < 3; ++a) {
    upside_down = upside_down || hi[a] < lo[a];
    without_zero = without_zero || lo[a] > 0 || hi[a] < 0;
    // Of lo <= hi; nothing overflows: hi - 1023 only where hi is far from the lowest number.
    wide =
        wide || (hi[a] >= std::numeric_limits<std::int64_t>::min() + 1024 && lo[a] < hi[a] - 1023);
  }
  const std::string value = "lo " + show(lo) + ", hi " + show(hi);
  if (upside_down) reject(ErrorKind::InvalidArgument, pass, "lo", value, "lo up to hi");
  if (with_zero && without_zero)
    reject(ErrorKind::InvalidArgument, pass, "lo", value, "0 in the box on every axis");
  if (wide) reject(ErrorKind::Unsupported, pass, "hi", value, "1 to 1024 wide on every axis");
}

void require_members(const std::string& pass, const std::vector<std::vector<Voxel>>& members) {
  // [G-2] as a list of numbers, the most significant first: the tile, then block within block.
  const auto path = [](const Voxel& v) {
    std::array<std::int64_t, 12> p;
    for (int a = 0; a < 3; ++a) {
      const std::int64_t c = cell(v)[a];
      p[a] = div_down(c, 4096);
      p[3 + a] = div_down(rest(c, 4096), 128);
      p[6 + a] = div_down(rest(c, 128), 8);
      p[9 + a] = rest(c, 8);
    }
    return p;
  };
  std::int64_t row = 0;
  for (std::size_t m = 0; m < members.size(); ++m)
    for (std::size_t i = 0; i < members[m].size(); ++i, ++row)
      if (i > 0 && path(members[m][i]) <= path(members[m][i - 1]))
        reject(ErrorKind::InvalidArgument, pass, "voxels", show(cell(members[m][i])),
               "canonical order, each voxel once", {m, row});
}

void require_batch(const std::string& pass, const Batch& batch) {
  const std::string b = std::to_string(batch.members.size());
  if (batch.maps.size() != batch.members.size())
    reject(ErrorKind::ShapeMismatch, pass, "maps", std::to_string(batch.maps.size()),
           b + " of them");
  if (batch.names.size() != batch.members.size())
    reject(ErrorKind::ShapeMismatch, pass, "names", std::to_string(batch.names.size()),
           b + " of them");
  require_members(pass, batch.members);
  for (std::size_t m = 0; m < batch.members.size(); ++m) {
    require_map(pass, batch.maps[m], m);
    require_name(pass, batch.names[m], m);
  }
}

void require_masks(const Batch& batch, const Masks& masks, const std::string& pass) {
  if (masks.size() != batch.members.size())
    reject(ErrorKind::ShapeMismatch, pass, "mask", std::to_string(masks.size()) + " lists",
           std::to_string(batch.members.size()) + " lists");
  for (std::size_t m = 0; m < masks.size(); ++m)
    if (masks[m].size() != batch.members[m].size())
      reject(ErrorKind::ShapeMismatch, pass, "mask", std::to_string(masks[m].size()) + " flags",
             std::to_string(batch.members[m].size()) + " flags", {m, {}});
}

void require_map(const std::string& pass, const Map& map, std::int64_t member) {
  for (int a = 0; a < 3; ++a) {
    if (!(map.voxel_size[a] > 0 && map.voxel_size[a] <= std::numeric_limits<double>::max()))
      reject(ErrorKind::InvalidArgument, pass, "voxel_size", std::to_string(map.voxel_size[a]),
             "a finite number above 0", {member, {}});
    if (!(std::fabs(map.origin[a]) <= std::numeric_limits<double>::max()))
      reject(ErrorKind::InvalidArgument, pass, "origin", std::to_string(map.origin[a]),
             "a finite number", {member, {}});
  }
}

void require_name(const std::string& pass, const std::string& name, std::int64_t member) {
  if (name.size() >= 256 || std::count(name.begin(), name.end(), '\0') > 0)
    reject(ErrorKind::InvalidArgument, pass, "name", std::to_string(name.size()) + " bytes",
           "up to 255 bytes, none of them NUL", {member, {}});
}

void require_range(const std::string& pass, const Batch& batch, const Masks* masks,
                   const Triple& scale, const Triple& first, const Triple& last) {
  // Beyond 2^40 a step leaves the lattice from wherever it starts; so far 64 bits are exact.
  constexpr std::int64_t far = std::int64_t{1} << 40;
  constexpr std::int64_t lowest = -(std::int64_t{1} << 31), highest = -lowest - 1;
  std::int64_t row = 0;
  for (std::size_t m = 0; m < batch.members.size(); ++m)
    for (std::size_t i = 0; i < batch.members[m].size(); ++i, ++row) {
      if (masks != nullptr && (*masks)[m][i] == 0) continue;
      const Cell c = cell(batch.members[m][i]);
      Cell named;
      bool leaves = false, exact = true;
      for (int a = 0; a < 3; ++a) {
        const std::int64_t least = scale[a] * c[a] + std::clamp(first[a], -far, far);
        const std::int64_t most = scale[a] * c[a] + std::clamp(last[a], -far, far);
        named[a] = least >= lowest && most > highest ? most : least;
        leaves = leaves || least < lowest || most > highest;
        exact = exact && std::max(std::abs(least), std::abs(most)) < far / 2;
      }
      if (leaves)
        reject(ErrorKind::OutOfRange, pass, "result", exact ? show(named) : "beyond 2^39",
               "results of voxel " + show(c) + " leave the range of 32 bits", {m, row});
    }
}

}  // namespace leafproof::brute_force
