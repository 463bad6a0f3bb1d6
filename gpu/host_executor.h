// The executor for a CPU: TBB over index ranges, the calling thread alone where there is little to
// do. A product of its own for machines without a GPU, and what CI proves the algorithm with.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <type_traits>
#include <vector>

#include "gpu/engine.h"
#include "gpu/executor.h"
#include "gpu/instruction_set.h"
#include "gpu/memory.h"
#include "gpu/sort_keys.h"
#include "gpu/thread_sanitizer.h"

namespace leafproof::gpu {

/// A functor may have run(begin, end): the same as calling it for each index in turn, by one
/// thread, so that what neighbours share is looked up once.
template <class F>
concept RunsRanges = requires(const F& f, std::int64_t i) { f.run(i, i); };

namespace host_loops {

template <class F>
inline void indices(const F& functor, std::int64_t begin, std::int64_t end) {
  if constexpr (RunsRanges<F>) {
    functor.run(begin, end);
  } else {
    for (std::int64_t i = begin; i < end; ++i) functor(i);
  }
}

#if defined(LEAFPROOF_INSTRUCTION_SETS)
template <class F>
[[gnu::flatten, gnu::noinline, gnu::target("arch=x86-64-v3")]] void indices_avx2(const F& functor,
                                                                                 std::int64_t begin,
                                                                                 std::int64_t end) {
  indices(functor, begin, end);
}
template <class F>
#if defined(__clang__)
[[gnu::flatten, gnu::noinline, gnu::target("arch=x86-64-v4"), clang::min_vector_width(512)]]
#else
[[gnu::flatten, gnu::noinline, gnu::target("arch=x86-64-v4,prefer-vector-width=512")]]
#endif
void indices_avx512(const F& functor, std::int64_t begin, std::int64_t end) {
  indices(functor, begin, end);
}
#endif

}  // namespace host_loops

class HostExecutor {
 public:
  static constexpr bool kHostMemory = true;  // what launches work in, the host can read

  HostExecutor(Threads threads, Allocator results, Allocator scratch,
               InstructionSet instructions = instruction_set())
      : threads_(threads), instructions_(instructions), results_(results), workspace_(scratch) {}

  void begin() { workspace_.reset(); }
  void* scratch_bytes(std::size_t bytes) { return workspace_.take(bytes); }
  std::shared_ptr<std::byte> result_bytes(std::size_t bytes, bool* zeroed) {
    return allocate_shared(results_, bytes, zeroed);
  }

  void zero(void* to, std::size_t bytes) {
    constexpr std::size_t kPart = std::size_t{1} << 20;
    auto* begin = static_cast<std::byte*>(to);
    const auto parts = static_cast<std::int64_t>((bytes + kPart - 1) / kPart);
    run(parts, 1, [=](std::int64_t i) {
      const std::size_t from = static_cast<std::size_t>(i) * kPart;
      std::memset(begin + from, 0, std::min(kPart, bytes - from));
    });
  }

  void upload(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void read_back(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  template <class F>
  void for_each_index(Count n, const F& functor, std::int64_t grain) {
    static_assert(std::is_trivially_copyable_v<F>, "functors are copied to where they run");
    run(n.get(), grain, functor);
  }

  template <class Value>
  void exclusive_scan(Count n, const Value& value, std::int64_t* out) {
    static_assert(std::is_trivially_copyable_v<Value>);
    const std::int64_t size = n.get();
    constexpr std::int64_t kPart = std::int64_t{1} << 15;
    const std::int64_t parts = (size + kPart - 1) / kPart;
    if (parts <= 2) {
      out[size] = scan_part(0, size, 0, value, out);
      return;
    }
    std::vector<std::int64_t> sums(static_cast<std::size_t>(parts) + 1, 0);
    run(parts, 1, [&](std::int64_t p) {
      std::int64_t sum = 0;
      for (std::int64_t i = p * kPart; i < std::min(size, (p + 1) * kPart); ++i) sum += value(i);
      sums[static_cast<std::size_t>(p) + 1] = sum;
    });
    for (std::size_t p = 1; p < sums.size(); ++p) sums[p] += sums[p - 1];
    run(parts, 1, [&](std::int64_t p) {
      scan_part(p * kPart, std::min(size, (p + 1) * kPart), sums[static_cast<std::size_t>(p)],
                value, out);
    });
    out[size] = sums.back();
  }

  template <class Key>
  void sort_unique(Key* keys, Count n, std::int64_t* unique, int) {
    Key* end = keys + n.get();
    if constexpr (std::is_same_v<Key, std::uint64_t>) {
      sort_keys(keys, n.get());
    } else if (threads_ == Threads::Tbb && !kThreadSanitizer && n.get() > 1 << 14) {
      tbb::parallel_sort(keys, end);
    } else {
      std::sort(keys, end);
    }
    *unique = std::unique(keys, end) - keys;
  }

  template <class F>
  void reduce_segments(Count n, const F& functor) {
    static_assert(std::is_trivially_copyable_v<F>);
    run(n.get(), 64, [&functor](std::int64_t s) {
      std::int64_t begin = 0, end = 0;
      functor.range(s, begin, end);
      Extent sum;
      for (std::int64_t i = begin; i < end; ++i) sum.add(functor.value(s, i));
      functor.store(s, sum);
    });
  }

 private:
  template <class Value>
  static std::int64_t scan_part(std::int64_t begin, std::int64_t end, std::int64_t sum,
                                const Value& value, std::int64_t* out) {
    for (std::int64_t i = begin; i < end; ++i) {
      out[i] = sum;
      sum += value(i);
    }
    return sum;
  }

  template <class F>
  void loop(const F& functor, std::int64_t begin, std::int64_t end) const {
#if defined(LEAFPROOF_INSTRUCTION_SETS)
    if constexpr (HeavyWork<F>) {
      switch (instructions_) {
        case InstructionSet::Avx512:
          return host_loops::indices_avx512(functor, begin, end);
        case InstructionSet::Avx2:
          return host_loops::indices_avx2(functor, begin, end);
        case InstructionSet::Baseline:
          break;
      }
    }
#endif
    host_loops::indices(functor, begin, end);
  }

  template <class F>
  void run(std::int64_t n, std::int64_t grain, const F& functor) {
    // Threads of its own show races in small launches too.
    const std::int64_t few = threads_ == Threads::Own ? std::min<std::int64_t>(grain, 16) : grain;
    if (n <= few || threads_ == Threads::Serial) {
      loop(functor, 0, n);
    } else if (threads_ == Threads::Tbb && !kThreadSanitizer) {
      tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, n, static_cast<std::size_t>(grain)),
                        [this, &functor](const tbb::blocked_range<std::int64_t>& range) {
                          const F mine = functor;
                          loop(mine, range.begin(), range.end());
                        });
    } else {
      std::vector<std::thread> team;
      for (std::int64_t t = 0; t < 4; ++t) {
        team.emplace_back([n, t, &functor] {
          for (std::int64_t i = n - 1 - t; i >= 0; i -= 4) functor(i);
        });
      }
      for (std::thread& thread : team) thread.join();
    }
  }

  Threads threads_;
  [[maybe_unused]] InstructionSet instructions_;  // sanitizer builds have one
  Allocator results_;
  Workspace workspace_;
};

static_assert(Executor<HostExecutor>);

}  // namespace leafproof::gpu
