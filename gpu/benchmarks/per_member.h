// What a user of NanoVDB's or OpenVDB's CPU tools does today: each member alone, in a tree that can
// be changed, then converted, then all merged into one buffer. The yardsticks of the benchmarks.
#pragma once

#include <nanovdb/GridHandle.h>

#include <cstdint>
#include <memory>

#include "gpu/benchmarks/workloads.h"

namespace leafproof::gpu::benchmarks {

enum class Pass { FromIjk, Refine2, Coarsen2, Dilate26 };
inline constexpr Pass kPasses[] = {Pass::FromIjk, Pass::Refine2, Pass::Coarsen2, Pass::Dilate26};
const char* name_of(Pass pass);

/// NanoVDB's builder: the voxels of the result set one by one, from the list of the source's.
/// Members in parallel on TBB's arena; each is built by one thread.
nanovdb::GridHandle<> build_by_nanovdb(const Workload& workload, Pass pass);

/// OpenVDB's tools: from_ijk through an accessor, dilate 26 through dilateActiveValues; it has none
/// for the other two. Members in parallel, and OpenVDB's own threads within.
class OpenvdbMembers {
 public:
  static bool has(Pass pass);  // false for all where OpenVDB is not built in

  OpenvdbMembers(const Workload& workload, Pass pass);
  ~OpenvdbMembers();
  /// Not part of what is measured: dilateActiveValues changes its source, so each run has a copy.
  void prepare();
  nanovdb::GridHandle<> build();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether a batch built per member has the leaves of ours: all masks, no others, in whatever order
/// its root has its tiles.
bool same_leaves(const nanovdb::GridHandle<>& theirs, const GridBatch& ours);

}  // namespace leafproof::gpu::benchmarks
