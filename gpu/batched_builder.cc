#include "gpu/batched_builder.h"

#include <utility>

#include "gpu/conv_relation.h"
#include "gpu/counting_executor.h"
#include "gpu/host_executor.h"
#include "gpu/passes_on.h"

namespace leafproof::gpu {

BatchedBuilder::BatchedBuilder(const BuilderOptions& options)
    : passes_(or_out_of_memory("builder", [&] {
        return std::make_unique<PassesOn<HostExecutor>>(
            HostExecutor(options.threads, options.allocator, options.scratch), options);
      })) {}
BatchedBuilder::BatchedBuilder(std::unique_ptr<Passes> passes) : passes_(std::move(passes)) {}
BatchedBuilder::~BatchedBuilder() = default;
BatchedBuilder::BatchedBuilder(BatchedBuilder&&) noexcept = default;
BatchedBuilder& BatchedBuilder::operator=(BatchedBuilder&&) noexcept = default;

GridBatch BatchedBuilder::from_ijk(const VoxelLists& lists, const MapsAndNames& given) {
  return or_out_of_memory("from_ijk", [&] { return passes_->from_ijk(lists, given); });
}
GridBatch BatchedBuilder::from_points(const PointLists& points, const MapsAndNames& given) {
  return or_out_of_memory("from_points", [&] { return passes_->from_points(points, given); });
}
GridBatch BatchedBuilder::refine(const GridBatch& source, Triple factor) {
  return or_out_of_memory("refine", [&] { return passes_->refine(source, factor, nullptr); });
}
GridBatch BatchedBuilder::refine(const GridBatch& source, Triple factor, const VoxelFlags& mask) {
  return or_out_of_memory("refine", [&] { return passes_->refine(source, factor, &mask); });
}
GridBatch BatchedBuilder::coarsen(const GridBatch& source, Triple factor) {
  return or_out_of_memory("coarsen", [&] { return passes_->coarsen(source, factor); });
}
GridBatch BatchedBuilder::dilate_box(const GridBatch& source, Triple lo, Triple hi) {
  return or_out_of_memory("dilate_box", [&] { return passes_->dilate_box(source, lo, hi); });
}
GridBatch BatchedBuilder::conv_grid(const GridBatch& source, const ConvGeometry& geometry) {
  return or_out_of_memory("conv_grid", [&] { return passes_->conv_grid(source, geometry); });
}
GridBatch BatchedBuilder::conv_transpose_grid(const GridBatch& source,
                                              const ConvGeometry& geometry) {
  return or_out_of_memory("conv_transpose_grid",
                          [&] { return passes_->conv_transpose_grid(source, geometry); });
}
GridBatch BatchedBuilder::dual(const GridBatch& source) {
  return or_out_of_memory("dual", [&] { return passes_->dual(source); });
}
GridBatch BatchedBuilder::erode_box(const GridBatch& source, Triple lo, Triple hi) {
  return or_out_of_memory("erode_box", [&] { return passes_->erode_box(source, lo, hi); });
}
GridBatch BatchedBuilder::prune(const GridBatch& source, const VoxelFlags& mask) {
  return or_out_of_memory("prune", [&] { return passes_->prune(source, mask); });
}
GridBatch BatchedBuilder::merge(const GridBatch& source, const GridBatch& other) {
  return or_out_of_memory("merge",
                          [&] { return passes_->combine(SetOperation::Merge, source, other); });
}
GridBatch BatchedBuilder::intersect(const GridBatch& source, const GridBatch& other) {
  return or_out_of_memory("intersect",
                          [&] { return passes_->combine(SetOperation::Intersect, source, other); });
}
GridBatch BatchedBuilder::subtract(const GridBatch& source, const GridBatch& other) {
  return or_out_of_memory("subtract",
                          [&] { return passes_->combine(SetOperation::Subtract, source, other); });
}
KernelMap BatchedBuilder::kernel_map(const GridBatch& source, const GridBatch& target,
                                     const ConvGeometry& geometry, Direction direction) {
  return or_out_of_memory("kernel_map",
                          [&] { return passes_->kernel_map(source, target, geometry, direction); });
}
KernelMap BatchedBuilder::submanifold_map(const GridBatch& source, const ConvGeometry& geometry) {
  return or_out_of_memory("submanifold_map", [&] {
    check_submanifold("submanifold_map", geometry);
    return passes_->kernel_map(source, source, geometry, Direction::Forward);
  });
}
DenseMap BatchedBuilder::dense_map(const KernelMap& map) {
  return or_out_of_memory("dense_map", [&] { return passes_->dense_map(map); });
}
GridBatch BatchedBuilder::rebuild(const GridBatch& view) {
  return or_out_of_memory("rebuild", [&] { return passes_->rebuild(view); });
}
GridBatch BatchedBuilder::adopt(std::shared_ptr<std::byte> memory, std::size_t bytes) {
  return or_out_of_memory("adopt", [&] { return passes_->adopt(std::move(memory), bytes); });
}
std::shared_ptr<std::byte> BatchedBuilder::to_device(std::span<const std::byte> bytes) {
  return or_out_of_memory("to_device", [&] { return passes_->to_device(bytes); });
}
GridBatch BatchedBuilder::to_host(const GridBatch& batch) {
  return or_out_of_memory("to_host", [&] { return passes_->to_host(batch); });
}
KernelMap BatchedBuilder::to_host(const KernelMap& map) {
  if (works_in_host_memory() || !map.memory()) return map;
  return or_out_of_memory("to_host", [&] {
    bool zeroed = false;
    auto memory = allocate_shared(system_allocator(), map.bytes(), &zeroed);
    read({memory.get(), map.bytes()}, map.memory().get());
    return map.moved_to(std::move(memory));
  });
}
void BatchedBuilder::read(std::span<std::byte> to, const void* from) {
  passes_->read(to, from);
}
bool BatchedBuilder::works_in_host_memory() const {
  return passes_->works_in_host_memory();
}
const Costs& BatchedBuilder::costs() const {
  return passes_->costs();
}
int BatchedBuilder::synchronisations() const {
  return static_cast<int>(costs().synchronisations);
}
std::size_t BatchedBuilder::peak_scratch() const {
  return passes_->peak_scratch();
}

}  // namespace leafproof::gpu
