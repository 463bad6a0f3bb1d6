#include <tbb/parallel_for.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "gpu/benchmarks/per_member.h"

// At -O3 g++ 12 sees an empty array of threads in NanoVDB's forEach, which is never entered.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Warray-bounds"
#endif
#include <nanovdb/tools/CreateNanoGrid.h>
#include <nanovdb/tools/GridBuilder.h>

namespace leafproof::gpu::benchmarks {
namespace {

using Source = nanovdb::tools::build::Grid<nanovdb::ValueMask>;

nanovdb::GridHandle<> build_member(const Workload& workload, std::int64_t member, Pass pass) {
  Source grid(false);
  auto to = grid.getAccessor();
  const auto on = [&to](int x, int y, int z) { to.setValueOn(nanovdb::Coord(x, y, z)); };
  const auto begin = workload.offsets[static_cast<std::size_t>(member)];
  const auto end = workload.offsets[static_cast<std::size_t>(member) + 1];
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int32_t* v = workload.ijk.data() + 3 * row;
    switch (pass) {
      case Pass::FromIjk:
        on(v[0], v[1], v[2]);
        break;
      case Pass::Refine2:
        for (int i = 0; i < 8; ++i)
          on(2 * v[0] + (i >> 2), 2 * v[1] + (i >> 1 & 1), 2 * v[2] + (i & 1));
        break;
      case Pass::Coarsen2:
        on(v[0] >> 1, v[1] >> 1, v[2] >> 1);
        break;
      case Pass::Dilate26:
        for (int x = -1; x <= 1; ++x) {
          for (int y = -1; y <= 1; ++y) {
            for (int z = -1; z <= 1; ++z) on(v[0] + x, v[1] + y, v[2] + z);
          }
        }
        break;
    }
  }
  return nanovdb::tools::createNanoGrid<Source, nanovdb::ValueOnIndex>(grid, 0u, false, false);
}

}  // namespace

const char* name_of(Pass pass) {
  switch (pass) {
    case Pass::FromIjk:
      return "from_ijk";
    case Pass::Refine2:
      return "refine 2";
    case Pass::Coarsen2:
      return "coarsen 2";
    case Pass::Dilate26:
      return "dilate 26";
  }
  return "?";
}

nanovdb::GridHandle<> build_by_nanovdb(const Workload& workload, Pass pass) {
  std::vector<nanovdb::GridHandle<>> members(static_cast<std::size_t>(workload.size()));
  tbb::parallel_for(std::int64_t{0}, workload.size(), [&](std::int64_t m) {
    members[static_cast<std::size_t>(m)] = build_member(workload, m, pass);
  });
  return nanovdb::mergeGrids<nanovdb::HostBuffer, std::vector>(members);
}

bool same_leaves(const nanovdb::GridHandle<>& theirs, const GridBatch& ours) {
  using nanovdb::ValueOnIndex;
  if (theirs.gridCount() != ours.size()) return false;
  for (std::int64_t m = 0; m < ours.size(); ++m) {
    const auto* grid = theirs.grid<ValueOnIndex>(static_cast<std::uint32_t>(m));
    const MemberInfo& member = ours.member(m);
    if (grid == nullptr || grid->tree().nodeCount(0) != member.leaves) return false;
    const auto* leaves =
        reinterpret_cast<const nanovdb::NanoLeaf<ValueOnIndex>*>(ours.grid(m) + member.leaves_at);
    if (!std::all_of(leaves, leaves + member.leaves, [&](const auto& leaf) {
          const auto* same = grid->tree().root().probeLeaf(leaf.origin());
          return same != nullptr && same->valueMask() == leaf.valueMask();
        })) {
      return false;
    }
  }
  return true;
}

}  // namespace leafproof::gpu::benchmarks
