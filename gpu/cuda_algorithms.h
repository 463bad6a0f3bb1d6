// The algorithms that CUB has for a whole device, each compiled once. Temporary memory is the
// queue's.
#pragma once

#include <cstdint>

#include "gpu/cuda_queue.h"
#include "gpu/node_key.h"

namespace leafproof::gpu {

/// Each of n numbers becomes the sum of those before it.
void scan_in_place(CudaQueue& queue, std::int64_t* numbers, std::int64_t n);

/// Sorts n keys into another array by their lowest `bits` bits, stably.
void sort_into(CudaQueue& queue, const std::uint64_t* keys, std::uint64_t* sorted, std::int64_t n,
               int bits);
void sort_into(CudaQueue& queue, const TileKey* keys, TileKey* sorted, std::int64_t n, int bits);

}  // namespace leafproof::gpu
