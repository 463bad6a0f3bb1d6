#include "gpu/sort_keys.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>

namespace leafproof::gpu {

void sort_keys(std::uint64_t* keys, std::int64_t n) {
  constexpr std::int64_t kFew = 256;  // below, its scratch is not worth setting up
  if (n < kFew) {
    std::sort(keys, keys + n);
    return;
  }
  const hwy::Sorter sorter;
  sorter(keys, static_cast<std::size_t>(n), hwy::SortAscending());
}

}  // namespace leafproof::gpu
