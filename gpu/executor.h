// The executor concept: the dozen operations by which a pass runs, on a CPU or on a GPU. A pass is
// written once against it, as small trivially copyable functors over index ranges; nothing else in
// the builder knows where memory is or who runs a launch.
//
// Work is stream-ordered: each call sees the results of those before it. Scratch and results are
// uninitialised and may be memory that the host cannot read; read_back() is the only way to look,
// and the only synchronisation.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "gpu/arithmetic.h"
#include "gpu/host_device.h"

namespace leafproof::gpu {

/// How many items a launch has: known to the host, or a number in device memory with a bound that
/// the host knows.
struct Count {
  std::int64_t bound = 0;
  const std::int64_t* device = nullptr;  // when set, *device * scale <= bound is the number
  std::int64_t scale = 1;

  LEAFPROOF_HD std::int64_t get() const { return device == nullptr ? bound : *device * scale; }
  LEAFPROOF_HD Count times(std::int64_t n) const { return {bound * n, device, scale * n}; }
};

/// What is reduced up the tree: the box of voxels and how many they are.
struct Extent {
  Box box = nothing();
  std::int64_t voxels = 0;
  LEAFPROOF_HD void add(const Extent& other) {
    box = united(box, other.box);
    voxels += other.voxels;
  }
};

namespace concept_check {
struct IndexFunctor {
  LEAFPROOF_HD void operator()(std::int64_t) const {}
};
struct ValueFunctor {
  LEAFPROOF_HD std::int64_t operator()(std::int64_t) const { return 0; }
};
struct SegmentFunctor {
  LEAFPROOF_HD void range(std::int64_t, std::int64_t&, std::int64_t&) const {}
  LEAFPROOF_HD Extent value(std::int64_t, std::int64_t) const { return {}; }
  LEAFPROOF_HD void store(std::int64_t, const Extent&) const {}
};
}  // namespace concept_check

template <class E>
concept Executor = requires(E e, void* to, const void* from, std::size_t bytes, Count n,
                            std::int64_t* numbers, std::uint64_t* keys, bool* zeroed) {
  // Whether the host can read what launches work in: no copies are needed then.
  { E::kHostMemory } -> std::convertible_to<bool>;
  // A new build: the scratch of the last one is free again.
  e.begin();
  // Scratch of this build, 256-byte aligned; Error(OutOfMemory) when there is none.
  { e.scratch_bytes(bytes) } -> std::same_as<void*>;
  // Memory of a result, 32-byte aligned at least; *zeroed where every byte is known to be zero.
  { e.result_bytes(bytes, zeroed) } -> std::same_as<std::shared_ptr<std::byte>>;
  // Sets bytes to zero.
  e.zero(to, bytes);
  // From host memory, which may go when this returns; to host memory, waiting for all work before.
  e.upload(to, from, bytes);
  e.read_back(to, from, bytes);
  // functor(i) for every i, in any order, at once. `grain`: items worth a task of their own.
  e.for_each_index(n, concept_check::IndexFunctor{}, std::int64_t{1});
  // out[i] = value(0) + ... + value(i-1), for 0 <= i <= n.
  e.exclusive_scan(n, concept_check::ValueFunctor{}, numbers);
  // Sorts and drops repeats in place; *numbers = how many are left. Keys are below 2^bits.
  e.sort_unique(keys, n, numbers, int{});
  // store(s, sum of value(s, i) over i in range(s)) for every segment s, by reduction.
  e.reduce_segments(n, concept_check::SegmentFunctor{});
};

/// n elements of scratch.
template <class T, Executor E>
T* scratch(E& executor, std::int64_t n) {
  return static_cast<T*>(
      executor.scratch_bytes(static_cast<std::size_t>(n > 0 ? n : 1) * sizeof(T)));
}

}  // namespace leafproof::gpu
