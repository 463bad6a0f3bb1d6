// A kernel map [M]: for each tap of a convolution the pairs of rows that it joins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/host_device.h"

namespace leafproof::gpu {

enum class Direction { Forward, Transposed };  // [M-1] source fine, target coarse; or the reverse

/// Pairs of a tap; null columns: each row from `first` on joined to itself [V-4].
struct TapPairs {
  const std::int32_t *gather = nullptr, *scatter = nullptr;
  std::int64_t first = 0, count = 0;

  LEAFPROOF_HD std::int64_t source(std::int64_t i) const {
    return gather == nullptr ? first + i : gather[i];
  }
  LEAFPROOF_HD std::int64_t target(std::int64_t i) const {
    return scatter == nullptr ? first + i : scatter[i];
  }
  TapPairs part(std::int64_t begin, std::int64_t end) const {
    if (gather == nullptr) return {nullptr, nullptr, first + begin, end - begin};
    return {gather + begin, scatter + begin, 0, end - begin};
  }
};

/// CSR form [M-2]: pairs offsets[tap] ... offsets[tap + 1] join gather[i], a row of the source, to
/// scatter[i], a row of the target. A forward map lists a tap's pairs by ascending target row; a
/// transposed one is a forward one with its columns swapped, in the same order. A handle: copies
/// share the arrays, which lie in the memory that the builder works in.
class KernelMap {
 public:
  KernelMap() = default;
  /// `offsets`: taps + 1 numbers. `memory` begins with them, then `gather`, then `scatter`.
  KernelMap(std::shared_ptr<const std::vector<std::int64_t>> offsets, std::int64_t source_rows,
            std::int64_t target_rows, std::shared_ptr<std::byte> memory)
      : offsets_(std::move(offsets)),
        memory_(std::move(memory)),
        source_rows_(source_rows),
        target_rows_(target_rows) {
    const auto* numbers = reinterpret_cast<const std::int64_t*>(memory_.get());
    gather_ = reinterpret_cast<const std::int32_t*>(numbers + offsets_->size());
    scatter_ = gather_ + pairs();
  }

  std::int64_t taps() const { return static_cast<std::int64_t>(offsets_->size()) - 1; }
  std::int64_t pairs() const { return offsets_->back(); }
  std::int64_t source_rows() const { return source_rows_; }
  std::int64_t target_rows() const { return target_rows_; }
  const std::vector<std::int64_t>& offsets() const { return *offsets_; }

  // Where launches read them.
  const std::int64_t* device_offsets() const {
    return reinterpret_cast<const std::int64_t*>(memory_.get());
  }
  const std::int32_t* gather() const { return gather_; }
  const std::int32_t* scatter() const { return scatter_; }
  const std::shared_ptr<std::byte>& memory() const { return memory_; }
  std::size_t bytes() const {
    return offsets_->size() * sizeof(std::int64_t) +
           2 * static_cast<std::size_t>(pairs()) * sizeof(std::int32_t);
  }

  /// The same map over a copy of bytes() of its memory.
  KernelMap moved_to(std::shared_ptr<std::byte> memory) const {
    KernelMap moved(offsets_, source_rows_, target_rows_, std::move(memory));
    if (gather_ > scatter_) std::swap(moved.gather_, moved.scatter_);  // this one is transposed
    return moved;
  }

  TapPairs pairs_of(std::int64_t tap) const {
    const auto t = static_cast<std::size_t>(tap);
    const std::int64_t begin = (*offsets_)[t];
    return {gather_ + begin, scatter_ + begin, 0, (*offsets_)[t + 1] - begin};
  }

  /// The columns swapped [M-1]; constant time.
  KernelMap transposed() const {
    KernelMap other = *this;
    std::swap(other.gather_, other.scatter_);
    std::swap(other.source_rows_, other.target_rows_);
    return other;
  }

 private:
  std::shared_ptr<const std::vector<std::int64_t>> offsets_ =
      std::make_shared<const std::vector<std::int64_t>>(1, 0);
  std::shared_ptr<std::byte> memory_;
  const std::int32_t *gather_ = nullptr, *scatter_ = nullptr;
  std::int64_t source_rows_ = 0, target_rows_ = 0;
};

/// Dense form [M-4]: index[tap * rows + target row] is a source row, or -1.
struct DenseMap {
  std::int64_t taps = 0, rows = 0;
  std::shared_ptr<std::byte> memory;
  const std::int32_t* index() const { return reinterpret_cast<const std::int32_t*>(memory.get()); }
};

}  // namespace leafproof::gpu
