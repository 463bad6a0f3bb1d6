// The executor for a CUDA device: every operation a few kernels on the caller's stream. Grids are
// no larger than what the device holds at once and go on in strides, so that a count that lives on
// the device is read where it is.
#pragma once

#include <algorithm>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <memory>
#include <type_traits>
#include <utility>

#include "gpu/cuda_algorithms.h"
#include "gpu/cuda_queue.h"
#include "gpu/executor.h"
#include "gpu/team.h"

namespace leafproof::gpu {
namespace cuda {

inline constexpr int kWarp = 32, kThreads = 256, kScanThreads = 512, kReduceThreads = 128;

/// The team of a warp; all of its threads are here.
struct Warp {
  LEAFPROOF_HD static int rank() {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(threadIdx.x % kWarp);
#else
    return 0;
#endif
  }
  LEAFPROOF_HD static constexpr int size() { return kWarp; }

  LEAFPROOF_HD static int sum_before(int value, int& all) {
    int sum = value;  // of the ranks up to this one
#if defined(__CUDA_ARCH__)
    for (int step = 1; step < kWarp; step *= 2) {
      const int before = __shfl_up_sync(kAll, sum, step);
      if (rank() >= step) sum += before;
    }
    all = __shfl_sync(kAll, sum, kWarp - 1);
#else
    all = sum;
#endif
    return sum - value;
  }
  LEAFPROOF_HD static int sum(int value) {
#if defined(__CUDA_ARCH__)
    return __reduce_add_sync(kAll, value);
#else
    return value;
#endif
  }
  LEAFPROOF_HD static std::int32_t least(std::int32_t value) {
#if defined(__CUDA_ARCH__)
    return __reduce_min_sync(kAll, value);
#else
    return value;
#endif
  }
  LEAFPROOF_HD static std::int32_t greatest(std::int32_t value) {
#if defined(__CUDA_ARCH__)
    return __reduce_max_sync(kAll, value);
#else
    return value;
#endif
  }

 private:
  static constexpr unsigned kAll = 0xFFFFFFFFu;
};

// Functors are constants of the grid: their members are read where they are, and never copied to a
// thread's own memory because something points at them.

/// A thread an index.
template <class F>
__global__ void __launch_bounds__(kThreads, 1)
    apply(const __grid_constant__ F functor, const __grid_constant__ Count n) {
  const std::int64_t size = n.get(), stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size;
       i += stride) {
    functor(i);
  }
}

/// A warp an index.
template <class F>
__global__ void __launch_bounds__(kThreads, 1)
    apply_by_warps(const __grid_constant__ F functor, const __grid_constant__ Count n) {
  const std::int64_t warps = blockDim.x / kWarp, size = n.get();
  for (std::int64_t i = blockIdx.x * warps + threadIdx.x / kWarp; i < size;
       i += gridDim.x * warps) {
    functor(i, Warp{});
  }
}

/// out[i] = value(i), and 0 from n on: bound + 1 of them.
template <class Value>
__global__ void __launch_bounds__(kThreads, 1)
    evaluate(const __grid_constant__ Value value, const __grid_constant__ Count n,
             std::int64_t* out) {
  const std::int64_t size = n.get(), stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i <= n.bound;
       i += stride) {
    out[i] = i < size ? value(i) : 0;
  }
}

/// A whole scan by one block, for few items: one launch.
template <class Value>
__global__ void __launch_bounds__(kScanThreads, 1)
    scan_few(const __grid_constant__ Value value, const __grid_constant__ Count n,
             std::int64_t* out) {
  using Scan = cub::BlockScan<std::int64_t, kScanThreads>;
  __shared__ typename Scan::TempStorage storage;
  const std::int64_t size = n.get();
  std::int64_t before = 0;
  for (std::int64_t first = 0; first <= size; first += kScanThreads) {
    const std::int64_t i = first + threadIdx.x;
    std::int64_t sum = i < size ? value(i) : 0, all = 0;
    Scan(storage).ExclusiveSum(sum, sum, all);
    if (i <= size) out[i] = before + sum;
    before += all;
    __syncthreads();  // before the storage is used again
  }
}

struct AddExtents {
  LEAFPROOF_HD Extent operator()(Extent sum, const Extent& other) const {
    sum.add(other);
    return sum;
  }
};

/// A block a segment.
template <class F>
__global__ void __launch_bounds__(kReduceThreads, 1)
    reduce(const __grid_constant__ F functor, const __grid_constant__ Count n) {
  using Reduce = cub::BlockReduce<Extent, kReduceThreads>;
  __shared__ typename Reduce::TempStorage storage;
  const std::int64_t size = n.get();
  for (std::int64_t s = blockIdx.x; s < size; s += gridDim.x) {
    std::int64_t begin = 0, end = 0;
    functor.range(s, begin, end);
    Extent sum;
    for (std::int64_t i = begin + threadIdx.x; i < end; i += kReduceThreads) {
      sum.add(functor.value(s, i));
    }
    sum = Reduce(storage).Reduce(sum, AddExtents{});
    if (threadIdx.x == 0) functor.store(s, sum);
    __syncthreads();
  }
}

/// All ones from n on: they sort behind every key that is as long.
template <class Key>
struct PadKeys {
  Key* keys;
  Count n;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    if (i >= n.get()) keys[i] = ~Key{0};
  }
};

/// 1 for the first of equal keys.
template <class Key>
struct FirstOfKey {
  const Key* sorted;
  LEAFPROOF_HD std::int64_t operator()(std::int64_t i) const {
    return i == 0 || sorted[i] != sorted[i - 1];
  }
};

/// Only what is first stays. Padding lies beyond n: it is not counted whatever the keys are.
template <class Key>
struct KeepFirst {
  const Key* sorted;
  const std::int64_t* kept_before;
  Key* keys;
  LEAFPROOF_HD void operator()(std::int64_t i) const {
    if (kept_before[i + 1] != kept_before[i]) keys[kept_before[i]] = sorted[i];
  }
};

struct CopyEnd {
  Count n;
  const std::int64_t* prefix;
  std::int64_t* total;
  LEAFPROOF_HD void operator()(std::int64_t) const { *total = prefix[n.get()]; }
};

}  // namespace cuda

class CudaExecutor {
 public:
  static constexpr bool kHostMemory = false;
  static constexpr bool kManyThreads = true;

  explicit CudaExecutor(std::unique_ptr<CudaQueue> queue) : queue_(std::move(queue)) {}

  void begin() { queue_->begin(); }
  void* scratch_bytes(std::size_t bytes) {
    const OnDevice on(queue_->device());
    return queue_->scratch_bytes(bytes);
  }
  std::shared_ptr<std::byte> result_bytes(std::size_t bytes, bool* zeroed) {
    *zeroed = false;
    return queue_->result_bytes(bytes);
  }

  void zero(void* to, std::size_t bytes) { queue_->zero(to, bytes); }
  void upload(void* to, const void* from, std::size_t bytes) { queue_->upload(to, from, bytes); }
  void read_back(void* to, const void* from, std::size_t bytes) {
    queue_->read_back(to, from, bytes);
  }

  /// Heavy items (a small grain) in small blocks, so that few of them spread over the device.
  template <class F>
  void for_each_index(Count n, const F& functor, std::int64_t grain) {
    static_assert(std::is_trivially_copyable_v<F>, "functors are copied to where they run");
    if constexpr (ForTeams<F>) {
      constexpr int kBlock = 64;
      launch(&cuda::apply_by_warps<F>, n.bound, kBlock / cuda::kWarp, kBlock, functor, n);
    } else {
      const int block = grain >= 4096 ? cuda::kThreads : grain >= 256 ? 128 : 64;
      launch(&cuda::apply<F>, n.bound, block, block, functor, n);
    }
  }

  template <class Value>
  void exclusive_scan(Count n, const Value& value, std::int64_t* out) {
    static_assert(std::is_trivially_copyable_v<Value>);
    constexpr std::int64_t kFew = 4096;
    if (n.bound <= kFew) {
      launch(&cuda::scan_few<Value>, 1, 1, cuda::kScanThreads, value, n, out);
      return;
    }
    launch(&cuda::evaluate<Value>, n.bound + 1, cuda::kThreads, cuda::kThreads, value, n, out);
    scan_in_place(*queue_, out, n.bound + 1);
  }

  template <class Key>
  void sort_unique(Key* keys, Count n, std::int64_t* unique, int bits) {
    Key* sorted = scratch<Key>(*this, n.bound);
    auto* kept_before = scratch<std::int64_t>(*this, n.bound + 1);
    if (n.device != nullptr) {
      for_each_index({n.bound}, cuda::PadKeys<Key>{keys, n}, 4096);
    }
    if (n.bound > 0) sort_into(*queue_, keys, sorted, n.bound, bits);
    exclusive_scan(n, cuda::FirstOfKey<Key>{sorted}, kept_before);
    for_each_index(n, cuda::KeepFirst<Key>{sorted, kept_before, keys}, 4096);
    for_each_index({1}, cuda::CopyEnd{n, kept_before, unique}, 1);
  }

  template <class F>
  void reduce_segments(Count n, const F& functor) {
    static_assert(std::is_trivially_copyable_v<F>);
    launch(&cuda::reduce<F>, n.bound, 1, cuda::kReduceThreads, functor, n);
  }

 private:
  template <class... Parameters, class... Arguments>
  void launch(void (*kernel)(Parameters...), std::int64_t items, std::int64_t items_per_block,
              int threads, const Arguments&... arguments) {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    queue_->launch(reinterpret_cast<const void*>(kernel), items, items_per_block, threads,
                   pointers);
  }

  std::unique_ptr<CudaQueue> queue_;
};

static_assert(Executor<CudaExecutor>);

}  // namespace leafproof::gpu
