// A batch of grids: one buffer of consecutive NanoVDB ValueOnIndex grids [G-6], its metadata [G-8],
// and views of it [T-9]. A handle: copies share the buffer, which is never written again.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/memory.h"

namespace leafproof::gpu {

/// world = index * voxel_size + origin, per axis [G-7].
struct MemberMap {
  std::array<double, 3> voxel_size{1, 1, 1};
  std::array<double, 3> origin{0, 0, 0};
  friend bool operator==(const MemberMap&, const MemberMap&) = default;
};

/// Inclusive box of voxels [G-5].
struct VoxelBox {
  std::array<std::int32_t, 3> min, max;
  friend bool operator==(const VoxelBox&, const VoxelBox&) = default;
};

/// What the host knows of a member; the byte positions are counted from the member's grid.
struct MemberInfo {
  std::int64_t offset = 0, bytes = 0;  // of the grid in the buffer
  std::int64_t uppers = 0, lowers = 0, leaves = 0, voxels = 0;
  std::int64_t root_at = 0, uppers_at = 0, lowers_at = 0, leaves_at = 0;
  std::optional<VoxelBox> box;  // none when empty
  MemberMap map;
  std::string name;
};

/// Where the metadata stand in the memory that the executor works on (for the host executor, plain
/// memory). Null for a foreign batch. Entries are those of the buffer, not of a view.
struct MetadataPointers {
  const std::int64_t* voxel_offsets = nullptr;  // B+1, rows
  const std::int64_t* leaf_offsets = nullptr;   // B+1
  const std::int32_t* leaf_member = nullptr;    // per leaf
  const std::int64_t* voxel_counts = nullptr;   // B
  const std::int32_t* boxes = nullptr;          // B x 6: min, max; max < min when empty
  const double* voxel_sizes = nullptr;          // B x 3
  const double* origins = nullptr;              // B x 3
};

/// A number of its own for every storage of the process, never reused; a copy has another [P-2].
class StorageId {
 public:
  StorageId();
  StorageId(const StorageId&) : StorageId() {}
  StorageId& operator=(const StorageId&) { return *this; }
  std::uint64_t number() const { return number_; }

 private:
  std::uint64_t number_;
};

/// The memory behind a batch.
struct GridStorage {
  StorageId id;
  std::shared_ptr<std::byte> memory;  // grids, then metadata; 32-byte aligned
  std::int64_t bytes = 0;             // of the grids
  std::int64_t total_bytes = 0;       // with the metadata behind them
  std::vector<MemberInfo> members;
  MetadataPointers metadata;
  bool canonical = true;       // every byte is as [G-6] says: built here
  bool tiles_in_order = true;  // false: a foreign batch that still has to be brought into order
};

/// Which batch or view it is [P-2]: two that merely look alike differ.
struct BatchIdentity {
  std::uint64_t storage = 0;
  std::vector<std::int64_t> selection;  // members of the storage
  friend auto operator<=>(const BatchIdentity&, const BatchIdentity&) = default;
};

class GridBatch {
 public:
  /// The batch of no members: a buffer of no bytes.
  GridBatch();
  explicit GridBatch(std::shared_ptr<const GridStorage> storage);

  /// Members, of the view if it is one.
  std::int64_t size() const { return static_cast<std::int64_t>(selection_.size()); }
  bool is_view() const { return is_view_; }

  const MemberInfo& member(std::int64_t i) const;
  /// The grid of member i as it stands in the buffer; its grid index and count are the buffer's.
  const std::byte* grid(std::int64_t i) const;

  /// Rows before each member, B+1; rows number the voxels of this batch or view [T-9].
  std::span<const std::int64_t> voxel_offsets() const { return voxel_offsets_; }
  std::span<const std::int64_t> leaf_offsets() const { return leaf_offsets_; }
  /// The member of each leaf of this batch or view. O(leaves).
  std::vector<std::int32_t> leaf_members() const;
  std::int64_t voxel_count() const { return voxel_offsets_.back(); }
  std::int64_t leaf_count() const { return leaf_offsets_.back(); }

  /// The listed members, in that order, repeats included: O(listed), shares the buffer.
  /// Error(InvalidArgument) for an index outside 0 ... size()-1; its member is the position.
  GridBatch view(std::span<const std::int64_t> members) const;

  /// All grids, one after the other. Error(InvalidArgument) for a view: rebuild it first.
  std::span<const std::byte> bytes() const;
  /// Where each grid begins, and where the last ends (B+1).
  std::vector<std::uint64_t> byte_offsets() const;

  /// The same batch or view over a copy of the whole buffer.
  GridBatch moved_to(std::shared_ptr<std::byte> memory) const;

  /// The same members of the same storage, in the same order.
  BatchIdentity identity() const { return {storage_->id.number(), selection_}; }
  bool is(const GridBatch& other) const {
    return storage_ == other.storage_ && selection_ == other.selection_;
  }

  const std::shared_ptr<const GridStorage>& storage() const { return storage_; }

 private:
  GridBatch(std::shared_ptr<const GridStorage> storage, std::vector<std::int64_t> selection,
            bool is_view);

  std::shared_ptr<const GridStorage> storage_;
  std::vector<std::int64_t> selection_;  // members of the storage
  std::vector<std::int64_t> voxel_offsets_, leaf_offsets_;
  bool is_view_ = false;
};

}  // namespace leafproof::gpu
