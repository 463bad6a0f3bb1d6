#include "gpu/benchmarks/per_member.h"

#include <nanovdb/tools/CreateNanoGrid.h>
#include <nanovdb/tools/GridBuilder.h>
#include <tbb/parallel_for.h>

#include <utility>
#include <vector>

#include "gpu/arithmetic.h"

namespace leafproof::gpu::benchmarks {
namespace {

nanovdb::GridHandle<> build_member(const Workload& workload, std::int64_t member, Pass pass) {
  nanovdb::tools::build::Grid<nanovdb::ValueMask> grid(false);
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
  return nanovdb::tools::createNanoGrid<nanovdb::tools::build::Grid<nanovdb::ValueMask>,
                                        nanovdb::ValueOnIndex>(grid, 0u, false, false);
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

nanovdb::GridHandle<> build_per_member(const Workload& workload, Pass pass) {
  std::vector<nanovdb::GridHandle<>> members(static_cast<std::size_t>(workload.size()));
  tbb::parallel_for(std::int64_t{0}, workload.size(), [&](std::int64_t m) {
    members[static_cast<std::size_t>(m)] = build_member(workload, m, pass);
  });
  return nanovdb::mergeGrids<nanovdb::HostBuffer, std::vector>(members);
}

}  // namespace leafproof::gpu::benchmarks
