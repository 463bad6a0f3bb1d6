// What a builder can do, whoever runs it: the face behind BatchedBuilder. Each executor has its own
// implementation, all of them instances of PassesOn.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "gpu/batched_builder.h"
#include "gpu/costs.h"
#include "gpu/engine.h"

namespace leafproof::gpu {

class Passes {
 public:
  Passes() = default;
  Passes(const Passes&) = delete;
  Passes& operator=(const Passes&) = delete;
  virtual ~Passes() = default;

  virtual GridBatch from_ijk(const VoxelLists& lists, const MapsAndNames& given) = 0;
  virtual GridBatch from_points(const PointLists& points, const MapsAndNames& given) = 0;
  virtual GridBatch refine(const GridBatch& source, Triple factor, const VoxelFlags* mask) = 0;
  virtual GridBatch coarsen(const GridBatch& source, Triple factor) = 0;
  virtual GridBatch conv_grid(const GridBatch& source, const ConvGeometry& geometry) = 0;
  virtual GridBatch conv_transpose_grid(const GridBatch& source, const ConvGeometry& geometry) = 0;
  virtual GridBatch dilate_box(const GridBatch& source, Triple lo, Triple hi) = 0;
  virtual GridBatch dual(const GridBatch& source) = 0;
  virtual GridBatch erode_box(const GridBatch& source, Triple lo, Triple hi) = 0;
  virtual GridBatch prune(const GridBatch& source, const VoxelFlags& mask) = 0;
  virtual GridBatch combine(SetOperation operation, const GridBatch& source,
                            const GridBatch& other) = 0;
  virtual KernelMap kernel_map(const GridBatch& source, const GridBatch& target,
                               const ConvGeometry& geometry, Direction direction) = 0;
  virtual DenseMap dense_map(const KernelMap& map) = 0;
  virtual GridBatch rebuild(const GridBatch& view) = 0;
  virtual GridBatch adopt(std::shared_ptr<std::byte> memory, std::size_t bytes) = 0;

  virtual std::shared_ptr<std::byte> to_device(std::span<const std::byte> bytes) = 0;
  virtual GridBatch to_host(const GridBatch& batch) = 0;
  virtual void read(std::span<std::byte> to, const void* from) = 0;

  virtual bool works_in_host_memory() const = 0;

  virtual const Costs& costs() const = 0;
  virtual std::size_t peak_scratch() const = 0;
};

}  // namespace leafproof::gpu
