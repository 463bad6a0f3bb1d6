// A kernel map as Python holds it, from whoever made it: the form of [M-2].
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/kernel_map.h"
#include "oracle/backend.h"
#include "oracle/python/batch.h"

namespace leafproof::python {

struct KernelMap {
  /// Shares the memory of the builder's.
  KernelMap(const gpu::KernelMap& map, std::shared_ptr<Batch> source,
            std::shared_ptr<Batch> target);
  /// A copy. CapacityExceeded for rows that 32 bits do not hold.
  KernelMap(const reference::KernelMap& map, std::shared_ptr<Batch> source,
            std::shared_ptr<Batch> target);

  std::int64_t taps() const { return static_cast<std::int64_t>(offsets->size()) - 1; }
  std::int64_t pairs() const { return offsets->back(); }
  /// [M-4] -1 where there is none. O(taps * target rows).
  std::vector<std::int64_t> dense() const;
  KernelMap transposed() const;  // columns swapped [M-1]; constant time

  std::shared_ptr<Batch> source, target;  // null where the backend did not say
  std::int64_t source_rows = 0, target_rows = 0;
  std::shared_ptr<const std::vector<std::int64_t>> offsets;
  std::shared_ptr<const void> owner;  // of the columns
  const std::int32_t *gather = nullptr, *scatter = nullptr;
};

}  // namespace leafproof::python
