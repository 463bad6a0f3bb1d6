// All passes on one executor. The class is here; how it does things is in topology_passes.h,
// map_passes.h, list_passes.h and adopt_passes.h, each of which ends with a macro that compiles it
// for an executor: a source file a piece, so that they compile side by side.
#pragma once

#include <algorithm>
#include <utility>

#include "gpu/counting_executor.h"
#include "gpu/engine.h"
#include "gpu/passes.h"

namespace leafproof::gpu {

struct AxisRelation;
struct Measured;
struct NearBox;
struct PassPlan;
struct Rows;

template <Executor Inner>
class PassesOn final : public Passes {
 public:
  using E = CountingExecutor<Inner>;

  PassesOn(Inner executor, const BuildSettings& settings)
      : executor_(std::move(executor)), settings_(settings) {}

  // topology_passes.h
  GridBatch refine(const GridBatch& source, Triple factor, const VoxelFlags* mask) override;
  GridBatch coarsen(const GridBatch& source, Triple factor) override;
  GridBatch conv_grid(const GridBatch& source, const ConvGeometry& geometry) override;
  GridBatch conv_transpose_grid(const GridBatch& source, const ConvGeometry& geometry) override;
  GridBatch dilate_box(const GridBatch& source, Triple lo, Triple hi) override;
  GridBatch dual(const GridBatch& source) override;
  GridBatch erode_box(const GridBatch& source, Triple lo, Triple hi) override;
  GridBatch prune(const GridBatch& source, const VoxelFlags& mask) override;
  GridBatch combine(SetOperation operation, const GridBatch& source,
                    const GridBatch& other) override;
  GridBatch rebuild(const GridBatch& view) override;

  // map_passes.h
  KernelMap kernel_map(const GridBatch& source, const GridBatch& target,
                       const ConvGeometry& geometry, Direction direction) override;
  DenseMap dense_map(const KernelMap& map) override;

  // list_passes.h
  GridBatch from_ijk(const VoxelLists& lists, const MapsAndNames& given) override;
  GridBatch from_points(const PointLists& points, const MapsAndNames& given) override;

  // adopt_passes.h
  GridBatch adopt(std::shared_ptr<std::byte> memory, std::size_t bytes) override;
  std::shared_ptr<std::byte> to_device(std::span<const std::byte> bytes) override;
  GridBatch to_host(const GridBatch& batch) override;
  void read(std::span<std::byte> to, const void* from) override;

  bool works_in_host_memory() const override { return Inner::kHostMemory; }
  const Costs& costs() const override { return executor_.costs(); }
  std::size_t peak_scratch() const override {
    return std::max(peak_scratch_, costs().scratch_bytes);
  }

 private:
  /// The executor, for a new build of this name.
  E& begin(const char* operation) {
    peak_scratch_ = peak_scratch();
    executor_.begin(operation, settings_.max_memory, settings_.trace);
    return executor_;
  }

  template <class Rule>
  GridBatch by_relation(const GridBatch& source, PassPlan plan, const AxisRelation (&axes)[3],
                        const VoxelFlags* mask, const NearBox& near);
  GridBatch conv_support(const char* operation, const GridBatch& source,
                         const ConvGeometry& geometry, bool transposed);
  GridBatch coarse(const GridBatch& source, Triple factor, PassPlan plan);
  GridBatch copied(const GridBatch& source, PassPlan plan);
  GridBatch dilated(const char* operation, const GridBatch& source, Triple lo, Triple hi,
                    PassPlan plan);
  GridBatch build_rows(const Rows& rows, PassPlan plan, Measured measured);
  GridBatch build_dense(const Rows& rows, const PassPlan& plan);
  template <class Key>
  GridBatch build_sorted(const Rows& rows, const PassPlan& plan, std::int64_t runs);

  E executor_;
  BuildSettings settings_;
  std::size_t peak_scratch_ = 0;
};

}  // namespace leafproof::gpu
