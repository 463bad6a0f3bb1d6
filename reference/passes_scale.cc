// [T-2] refine and [T-3] coarsen.
#include "reference/canonical_order.h"
#include "reference/checks.h"
#include "reference/map.h"
#include "reference/passes.h"

namespace leafproof::reference {
namespace {

// { f*c + d : c in S, 0 <= d < f }, for the flagged c where there is a mask.
Batch refine(const Batch& source, const Triple& f, const Masks* masks) {
  check_factor("refine", "factor", f, kMaxRefineFactor);
  check_batch("refine", source);
  if (masks) check_masks("refine", source, *masks);

  Batch result;
  result.names = source.names;
  for (std::size_t m = 0; m < source.size(); ++m)
    result.maps.push_back(map_after_refine(source.maps[m], f, m));

  check_range("refine", source, masks, [&](const Voxel& c) {
    const Triple lowest{f[0] * c.x, f[1] * c.y, f[2] * c.z};
    return std::pair(lowest,
                     Triple{lowest[0] + f[0] - 1, lowest[1] + f[1] - 1, lowest[2] + f[2] - 1});
  });

  const auto chosen = [&](std::size_t m, std::size_t i) { return !masks || (*masks)[m][i]; };
  std::vector<std::uint64_t> counts(source.size());
  std::uint64_t total = 0;
  for (std::size_t m = 0; m < source.size(); ++m) {
    for (std::size_t i = 0; i < source.members[m].size(); ++i)
      if (chosen(m, i)) counts[m] += static_cast<std::uint64_t>(f[0] * f[1] * f[2]);
    total += counts[m];
  }
  check_budget("refine", total, /*exact=*/true);

  for (std::size_t m = 0; m < source.size(); ++m) {
    std::vector<Voxel>& fine = result.members.emplace_back();
    fine.reserve(counts[m]);
    for (std::size_t i = 0; i < source.members[m].size(); ++i) {
      if (!chosen(m, i)) continue;
      const Voxel& c = source.members[m][i];
      for (std::int64_t dx = 0; dx < f[0]; ++dx)
        for (std::int64_t dy = 0; dy < f[1]; ++dy)
          for (std::int64_t dz = 0; dz < f[2]; ++dz)
            fine.push_back({static_cast<std::int32_t>(f[0] * c.x + dx),
                            static_cast<std::int32_t>(f[1] * c.y + dy),
                            static_cast<std::int32_t>(f[2] * c.z + dz)});
    }
    make_canonical(fine);
  }
  return result;
}

}  // namespace

Batch refine(const Batch& source, Triple factor) {
  return refine(source, factor, nullptr);
}

Batch refine(const Batch& source, Triple factor, const Masks& mask) {
  return refine(source, factor, &mask);
}

// { floor(c / f) }: never leaves the lattice, whatever f is.
Batch coarsen(const Batch& source, Triple f) {
  check_factor("coarsen", "factor", f, /*limit=*/0);
  check_batch("coarsen", source);

  Batch result;
  result.names = source.names;
  for (std::size_t m = 0; m < source.size(); ++m)
    result.maps.push_back(map_after_coarsen(source.maps[m], f, m));

  for (const std::vector<Voxel>& member : source.members) {
    std::vector<Voxel>& coarse = result.members.emplace_back();
    for (const Voxel& c : member)
      coarse.push_back({static_cast<std::int32_t>(floor_div(c.x, f[0])),
                        static_cast<std::int32_t>(floor_div(c.y, f[1])),
                        static_cast<std::int32_t>(floor_div(c.z, f[2]))});
    make_canonical(coarse);
  }
  return result;
}

}  // namespace leafproof::reference
