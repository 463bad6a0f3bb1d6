#include <utility>
#include <vector>

#include "gpu/benchmarks/per_member.h"

#ifdef LEAFPROOF_HAS_OPENVDB
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Warray-bounds"  // as in by_nanovdb.cc
#endif
#define NANOVDB_USE_OPENVDB  // createNanoGrid takes OpenVDB's grids
#include <nanovdb/tools/CreateNanoGrid.h>
#include <openvdb/openvdb.h>
#include <openvdb/tools/Morphology.h>
#include <tbb/parallel_for.h>

namespace leafproof::gpu::benchmarks {

struct OpenvdbMembers::State {
  const Workload& workload;
  Pass pass;
  std::vector<openvdb::MaskGrid::Ptr> source, copy;

  template <class F>
  void for_each_member(const F& f) {
    tbb::parallel_for(std::int64_t{0}, workload.size(),
                      [&](std::int64_t m) { f(static_cast<std::size_t>(m)); });
  }
  openvdb::MaskGrid::Ptr from_list(std::size_t member) const {
    const auto grid = openvdb::MaskGrid::create();
    auto accessor = grid->getAccessor();
    for (std::int64_t row = workload.offsets[member]; row < workload.offsets[member + 1]; ++row) {
      accessor.setValueOn(openvdb::Coord(workload.ijk.data() + 3 * row));
    }
    return grid;
  }
};

bool OpenvdbMembers::has(Pass pass) {
  return pass == Pass::FromIjk || pass == Pass::Dilate26;
}

OpenvdbMembers::OpenvdbMembers(const Workload& workload, Pass pass)
    : state_(new State{workload, pass, {}, {}}) {
  openvdb::initialize();
  state_->source.resize(static_cast<std::size_t>(workload.size()));
  state_->copy.resize(state_->source.size());
  if (pass == Pass::FromIjk) return;
  state_->for_each_member([this](std::size_t m) { state_->source[m] = state_->from_list(m); });
}

OpenvdbMembers::~OpenvdbMembers() = default;

void OpenvdbMembers::prepare() {
  if (state_->pass == Pass::FromIjk) return;
  state_->for_each_member(
      [this](std::size_t m) { state_->copy[m] = state_->source[m]->deepCopy(); });
}

nanovdb::GridHandle<> OpenvdbMembers::build() {
  std::vector<nanovdb::GridHandle<>> members(state_->source.size());
  state_->for_each_member([&](std::size_t m) {
    openvdb::MaskGrid::Ptr grid = state_->copy[m];
    if (state_->pass == Pass::FromIjk) {
      grid = state_->from_list(m);
    } else {
      openvdb::tools::dilateActiveValues(grid->tree(), 1, openvdb::tools::NN_FACE_EDGE_VERTEX,
                                         openvdb::tools::IGNORE_TILES);  // there are none
    }
    members[m] = nanovdb::tools::createNanoGrid<openvdb::MaskGrid, nanovdb::ValueOnIndex>(
        *grid, 0u, false, false);
  });
  return nanovdb::mergeGrids<nanovdb::HostBuffer, std::vector>(members);
}

}  // namespace leafproof::gpu::benchmarks

#else

namespace leafproof::gpu::benchmarks {

struct OpenvdbMembers::State {};
bool OpenvdbMembers::has(Pass) {
  return false;
}
OpenvdbMembers::OpenvdbMembers(const Workload&, Pass) {}
OpenvdbMembers::~OpenvdbMembers() = default;
void OpenvdbMembers::prepare() {}
nanovdb::GridHandle<> OpenvdbMembers::build() {
  return {};
}

}  // namespace leafproof::gpu::benchmarks
#endif
