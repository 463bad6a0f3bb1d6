// The public face of the batched builder: every topology pass of [T] over all members of a batch at
// once, from leaf masks to leaf masks, into one new buffer of NanoVDB grids.
//
//     BatchedBuilder builder;
//     GridBatch shell = builder.from_ijk({ijk, offsets});
//     GridBatch fine = builder.refine(shell, {2, 2, 2});
//
// A builder owns a workspace that it reuses from build to build; use one builder per thread (there
// is no global state). Sources may be views [T-9]. Every refusal is an Error [E-1] and leaves
// nothing behind. A build synchronises at most twice whatever B is, and allocates its result once.
// This header has no CUDA and no TBB in it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gpu/costs.h"
#include "gpu/engine.h"
#include "gpu/error.h"
#include "gpu/grid_batch.h"
#include "gpu/kernel_map.h"
#include "gpu/memory.h"

namespace leafproof::gpu {

using Triple = std::array<std::int64_t, 3>;  // x, y, z

/// What a build may do, whoever runs it.
struct BuildSettings {
  Engine engine = Engine::Mask;  // how target leaves are found; the result is the same
  std::int64_t scratch_budget = std::int64_t{64} << 20;  // up to here scratch is sized by a bound,
                                                         // without asking what is really needed
  // A larger result, or a build whose scratch and result together would be more than max_memory, is
  // refused before it is allocated (CapacityExceeded, with the size).
  std::int64_t max_bytes = std::int64_t{1} << 40;
  std::int64_t max_memory = std::int64_t{1} << 40;
  bool trace = false;  // list each launch in costs()
};

struct BuilderOptions : BuildSettings {
  Threads threads = Threads::Tbb;
  Allocator allocator = system_allocator();  // of results
  Allocator scratch = system_allocator();    // of the workspace
};

// What the lists below point to is read by launches: it lies in memory that the builder works in
// (plain memory for the host, see to_device()). Offsets and maps are always on the host.

/// Voxels of all members, one after the other: `ijk` is [N, 3] row-major, `offsets` (B+1) says
/// where each member's rows begin. Any order, repeats allowed.
struct VoxelLists {
  std::span<const std::int32_t> ijk;
  std::span<const std::int64_t> offsets;
};
/// Points in world space, [N, 3] row-major.
struct PointLists {
  std::span<const double> xyz;
  std::span<const std::int64_t> offsets;
};
/// One flag per voxel in canonical order; `offsets` (B+1) must be the batch's voxel_offsets().
struct VoxelFlags {
  std::span<const std::uint8_t> flags;
  std::span<const std::int64_t> offsets;
};
/// Maps and names of new members: one each, or one for all, or none (unit map, empty name).
struct MapsAndNames {
  std::span<const MemberMap> maps;
  std::span<const std::string> names;
};

/// Of a convolution, per axis: fine = S * coarse + D * t - floor(D (K - 1) / 2) [K-1].
struct ConvGeometry {
  Triple kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
};

class Passes;

class BatchedBuilder {
 public:
  /// On the CPU.
  explicit BatchedBuilder(const BuilderOptions& options = {});
  /// On another executor: see cuda_builder.h and strict_builder.h.
  explicit BatchedBuilder(std::unique_ptr<Passes> passes);
  ~BatchedBuilder();
  BatchedBuilder(BatchedBuilder&&) noexcept;
  BatchedBuilder& operator=(BatchedBuilder&&) noexcept;

  /// [T-1] ShapeMismatch for offsets that do not begin at 0, decrease, or end elsewhere than the
  /// list, and for maps or names that are neither 0, 1 nor B.
  GridBatch from_ijk(const VoxelLists& lists, const MapsAndNames& given = {});
  /// [T-1] InvalidArgument for NaN and infinity, OutOfRange beyond the lattice; both name the row.
  GridBatch from_points(const PointLists& points, const MapsAndNames& given = {});

  GridBatch refine(const GridBatch& source, Triple factor);                          // [T-2]
  GridBatch refine(const GridBatch& source, Triple factor, const VoxelFlags& mask);  // [T-2]
  GridBatch coarsen(const GridBatch& source, Triple factor);                         // [T-3]
  GridBatch dilate_box(const GridBatch& source, Triple lo, Triple hi);               // [T-4]
  /// Every coarse voxel joined to some fine one of the source [K-3], and every fine voxel joined to
  /// some coarse one [K-4]. Limits of K, S, D: [K-7].
  GridBatch conv_grid(const GridBatch& source, const ConvGeometry& geometry);
  GridBatch conv_transpose_grid(const GridBatch& source, const ConvGeometry& geometry);
  GridBatch dual(const GridBatch& source);                             // [T-4]
  GridBatch erode_box(const GridBatch& source, Triple lo, Triple hi);  // [T-5]
  GridBatch prune(const GridBatch& source, const VoxelFlags& mask);    // [T-6]
  GridBatch merge(const GridBatch& source, const GridBatch& other);    // [T-6]
  GridBatch intersect(const GridBatch& source, const GridBatch& other);
  GridBatch subtract(const GridBatch& source, const GridBatch& other);

  /// [M-1] [M-2] of two batches of equal B, of which the target may be any [K-6]: conv_grid of the
  /// source gives the complete map. CapacityExceeded beyond 2^31 - 1 rows. One synchronisation;
  /// O(taps x leaves), scratch at most 64 MiB.
  KernelMap kernel_map(const GridBatch& source, const GridBatch& target,
                       const ConvGeometry& geometry, Direction direction = Direction::Forward);
  /// [M-5] Target = source. InvalidArgument where the kernel is even or the stride not 1.
  KernelMap submanifold_map(const GridBatch& source, const ConvGeometry& geometry);
  /// [M-4] No synchronisation.
  DenseMap dense_map(const KernelMap& map);

  /// The view as a batch of its own [T-9]. A batch that is one already is returned as it is.
  GridBatch rebuild(const GridBatch& view);

  /// A foreign buffer of consecutive grids, taken over without copying, after all that a pass reads
  /// was checked: sizes, offsets, counts, child pointers, masks, prefix sums, boxes of nodes, maps;
  /// Corrupt or Unsupported where one is wrong [E-2] [G-7]. What no pass reads stays as it is:
  /// checksum, grid index, count and class, world box, statistics, the float half of the map. Root
  /// tiles in another order than the canonical one, each with the nodes below it, are accepted and
  /// brought into order (a copy). 32-byte aligned. O(bytes touched).
  GridBatch adopt(std::shared_ptr<std::byte> memory, std::size_t bytes);

  /// A copy in the memory that the builder works in; a batch or map copied from there to plain
  /// memory: where that is plain memory already, itself. At most one synchronisation.
  std::shared_ptr<std::byte> to_device(std::span<const std::byte> bytes);
  GridBatch to_host(const GridBatch& batch);
  KernelMap to_host(const KernelMap& map);
  /// Bytes from there, of a map for example. One synchronisation.
  void read(std::span<std::byte> to, const void* from);

  bool works_in_host_memory() const;

  /// Of the last build.
  const Costs& costs() const;
  int synchronisations() const;
  /// The most scratch that any build so far used.
  std::size_t peak_scratch() const;

 private:
  std::unique_ptr<Passes> passes_;
};

}  // namespace leafproof::gpu
