// Sorting 8-byte keys on a CPU: the one step whose library is chosen by measurement. Highway's
// vector quicksort sorted 234 thousand to 2 million keys 8 to 14 times as fast as std::sort.
#pragma once

#include <cstdint>

namespace leafproof::gpu {

/// Ascending, in place; O(n log n), the calling thread alone.
void sort_keys(std::uint64_t* keys, std::int64_t n);

}  // namespace leafproof::gpu
