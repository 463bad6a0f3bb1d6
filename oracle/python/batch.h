// A batch as Python holds it: immutable, and made of whichever form it came in. The others (NanoVDB
// grids of the builder, bytes, lists of voxels) are made when they are first asked for, and kept.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/batched_builder.h"
#include "oracle/backend.h"

namespace leafproof::python {

/// The builder of this thread, which keeps its scratch. In a process that was forked from one that
/// used threads, one without.
gpu::BatchedBuilder& builder();
gpu::Threads threads();

class Batch {
 public:
  explicit Batch(gpu::GridBatch grids);
  /// In canonical order; Errors as layout_of(). O(voxels).
  explicit Batch(const reference::Batch& voxels);
  /// Any bytes: read first, distrusting all [E-2]. Errors as read_layout().
  explicit Batch(oracle::GridBuffer buffer);
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  std::int64_t size() const { return static_cast<std::int64_t>(maps_.size()); }
  std::int64_t voxel_count() const { return offsets_.back(); }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }  // rows, B+1
  const std::vector<reference::Map>& maps() const { return maps_; }
  const std::vector<std::string>& names() const { return names_; }

  // Safe from several threads, without the GIL.
  /// x, y, z of each row. The first time O(bytes): read by the oracle, not by the builder.
  std::span<const std::int32_t> ijk() const;
  /// The first time, of a batch that the builder did not make, its bytes are adopted.
  const gpu::GridBatch& grids() const;
  /// The canonical bytes. The first time, of a view, it is rebuilt.
  const oracle::GridBuffer& buffer() const;
  /// A copy.
  reference::Batch voxels() const;

  /// [T-9] Of one that the builder made O(listed). InvalidArgument for an index outside 0 ... B-1.
  std::shared_ptr<Batch> view(const std::vector<std::int64_t>& members) const;

 private:
  std::span<const std::int32_t> read_ijk() const;  // these two under the lock
  const oracle::GridBuffer& made_buffer() const;
  reference::Batch listed(std::span<const std::int32_t> ijk) const;

  std::vector<std::int64_t> offsets_{0};
  std::vector<reference::Map> maps_;
  std::vector<std::string> names_;
  mutable std::mutex mutex_;  // of all below
  mutable std::optional<gpu::GridBatch> grids_;
  mutable std::optional<oracle::GridBuffer> buffer_;
  mutable std::optional<std::vector<std::int32_t>> ijk_;
};

/// The same members in the same order: voxels, maps (bit for bit) and names.
bool equal(const Batch& one, const Batch& other);

}  // namespace leafproof::python
