// Marks code that runs on both sides, and the few bit operations that each side spells differently.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define LEAFPROOF_HD __host__ __device__
#else
#define LEAFPROOF_HD
#endif

namespace leafproof::gpu {

LEAFPROOF_HD constexpr int popcount(std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  return __popcll(word);
#elif defined(__POPCNT__)
  return __builtin_popcountll(word);
#else  // without the instruction a compiler would call a function of its library for each word
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  return static_cast<int>(word * 0x0101010101010101u >> 56);
#endif
}

/// Index of the lowest set bit; word != 0.
LEAFPROOF_HD inline int lowest_bit(std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(word)) - 1;
#else
  return __builtin_ctzll(word);
#endif
}

/// Index of the highest set bit; word != 0.
LEAFPROOF_HD inline int highest_bit(std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  return 63 - __clzll(static_cast<long long>(word));
#else
  return 63 - __builtin_clzll(word);
#endif
}

/// The bits below bit n, 0 <= n < 64.
LEAFPROOF_HD inline std::uint64_t bits_below(int n) {
  return (std::uint64_t{1} << n) - 1;
}

/// A functor, or the rule in one, that is worth code of its own for every instruction set of a CPU
/// says so by kHeavyWork = true.
template <class F>
concept HeavyWork = requires { requires F::kHeavyWork; };

/// Asks for memory that will be read soon; nothing on a GPU, which has other threads to run.
LEAFPROOF_HD inline void prefetch([[maybe_unused]] const void* address) {
#if !defined(__CUDA_ARCH__)
  __builtin_prefetch(address);
#endif
}

/// ORs bits into a word that several threads share; true when it did not have all of them. OR is
/// free of order, so the result is deterministic; a word that has the bits already is left alone,
/// which is the common case.
LEAFPROOF_HD inline bool atomic_or(std::uint64_t* word, std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  auto* target = reinterpret_cast<unsigned long long*>(word);
  if ((*static_cast<volatile unsigned long long*>(target) & bits) == bits) return false;
  return (atomicOr(target, bits) & bits) != bits;
#else
  if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bits) == bits) return false;
  return (__atomic_fetch_or(word, bits, __ATOMIC_RELAXED) & bits) != bits;
#endif
}

/// Lowers a shared number to `value` if that is less: free of order as well.
LEAFPROOF_HD inline void atomic_min(std::uint64_t* number, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  atomicMin(reinterpret_cast<unsigned long long*>(number), value);
#else
  std::uint64_t seen = __atomic_load_n(number, __ATOMIC_RELAXED);
  while (value < seen && !__atomic_compare_exchange_n(number, &seen, value, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
  }
#endif
}

/// Adds to a shared number; integers, so the order does not matter.
LEAFPROOF_HD inline void atomic_add(std::uint64_t* number, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  atomicAdd(reinterpret_cast<unsigned long long*>(number), value);
#else
  __atomic_fetch_add(number, value, __ATOMIC_RELAXED);
#endif
}

}  // namespace leafproof::gpu
