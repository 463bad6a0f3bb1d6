#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "gpu/cuda_algorithms.h"

namespace leafproof::gpu {
namespace {

/// CUB asks for its temporary memory first, then works.
template <class Call>
void run(CudaQueue& queue, const char* name, const Call& call) {
  const OnDevice on(queue.device());
  std::size_t bytes = 0;
  check_cuda(call(nullptr, bytes), name);
  void* memory = queue.temporary(bytes);
  check_cuda(call(memory, bytes), name);
}

template <class Key>
void sort(CudaQueue& queue, const Key* keys, Key* sorted, std::int64_t n, int bits) {
  run(queue, "cub::DeviceRadixSort", [&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(memory, bytes, keys, sorted, n, 0, bits, queue.stream());
  });
}

}  // namespace

void scan_in_place(CudaQueue& queue, std::int64_t* numbers, std::int64_t n) {
  run(queue, "cub::DeviceScan", [&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, numbers, numbers, n, queue.stream());
  });
}

void sort_into(CudaQueue& queue, const std::uint64_t* keys, std::uint64_t* sorted, std::int64_t n,
               int bits) {
  sort(queue, keys, sorted, n, bits);
}
void sort_into(CudaQueue& queue, const TileKey* keys, TileKey* sorted, std::int64_t n, int bits) {
  sort(queue, keys, sorted, n, bits);
}

}  // namespace leafproof::gpu
