// How convolution topology is built voxel by voxel, by 64-bit keys of member and coordinates: the
// yardsticks of `bench conv`. They are given what the builder has to find for itself, the lists of
// all voxels, and keep their working memory from run to run, as the builder does.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/batched_builder.h"

namespace leafproof::gpu::benchmarks {

/// Member and coordinates in one number: whole coordinates can be added to it. Members below 1024,
/// coordinates within +-2^17 (std::runtime_error).
class VoxelKeys {
 public:
  static constexpr int kBits = 18;
  static std::uint64_t of(std::int64_t member, std::int64_t x, std::int64_t y, std::int64_t z) {
    return static_cast<std::uint64_t>(member) << (3 * kBits) |
           step(x + kMiddle, y + kMiddle, z + kMiddle);
  }
  /// What to add to a key to move by so many voxels.
  static std::uint64_t step(std::int64_t x, std::int64_t y, std::int64_t z) {
    return (static_cast<std::uint64_t>(x) << (2 * kBits)) +
           (static_cast<std::uint64_t>(y) << kBits) + static_cast<std::uint64_t>(z);
  }
  static std::int64_t member(std::uint64_t key) {
    return static_cast<std::int64_t>(key >> (3 * kBits));
  }
  static std::array<std::int32_t, 3> voxel(std::uint64_t key);

 private:
  static constexpr std::int64_t kMiddle = std::int64_t{1} << (kBits - 1);
};

/// All voxels of a batch, in canonical order.
struct VoxelRows {
  explicit VoxelRows(const GridBatch& batch);
  std::vector<std::array<std::int32_t, 3>> voxels;
  std::vector<std::int32_t> members;     // of each
  std::vector<std::int64_t> offsets{0};  // per member
};

/// How the keys of a conv grid are sorted.
enum class KeySort {
  Batch,    // all at once, by all threads (tbb::parallel_sort)
  Members,  // each member's by one thread (std::sort)
  Vector,   // the same, by the vectorised sort that the builder has for lists (Highway's vqsort)
};

/// conv_grid or conv_transpose_grid: lists the key of every voxel that some tap of some source
/// voxel reaches, sorts, drops repeats, and hands the lists to from_ijk.
class GridByKeys {
 public:
  GridByKeys(const VoxelRows& source, const ConvGeometry& geometry, Direction direction);
  /// `like`: whose maps the result gets.
  GridBatch build(BatchedBuilder& builder, const GridBatch& like, KeySort sort);
  std::int64_t keys() const { return keys_; }

 private:
  void list();
  void sort_and_drop(KeySort sort);

  const VoxelRows& source_;
  std::int64_t stride_;  // of the coarse side, where the source is the fine one
  std::array<std::vector<std::int64_t>, 3> d_;  // per axis: source + d, over stride, is reached
  std::int64_t factor_;
  std::int64_t keys_ = 0;
  std::vector<std::int64_t> before_;  // keys before each source voxel
  std::vector<std::uint64_t> list_;
  std::vector<std::int64_t> first_, last_;  // of each sorted part of the list
  std::vector<std::int32_t> ijk_;
};

/// A kernel map, forward: for each tap and coarse voxel its partner is looked up.
class MapByKeys {
 public:
  enum class How { SortedKeys, FlatHashMap };  // with std::lower_bound; Abseil's flat_hash_map
  static bool has(How how);                    // false for the latter where Abseil is not built in

  MapByKeys(const VoxelRows& fine, const VoxelRows& coarse, const ConvGeometry& geometry, How how);
  ~MapByKeys();
  MapByKeys(const MapByKeys&) = delete;
  MapByKeys& operator=(const MapByKeys&) = delete;
  /// The index of the keys too is built anew.
  KernelMap build();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same pairs in the same order.
bool same_map(const KernelMap& a, const KernelMap& b);

}  // namespace leafproof::gpu::benchmarks
