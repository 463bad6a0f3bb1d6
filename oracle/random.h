// Random numbers that are the same on every machine and with every standard library: a 64-bit
// counter through an avalanching mixer, and distributions of our own (those of <random> differ).
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace leafproof::oracle {

class Random {
 public:
  /// A stream of its own for every key, e.g. {operation, seed, case number}.
  explicit Random(std::initializer_list<std::uint64_t> key) {
    for (const std::uint64_t part : key) state_ = mix(state_ ^ mix(part + kStep));
  }

  std::uint64_t next() { return mix(state_ += kStep); }

  /// In lo ... hi, both included; lo <= hi. The bias of the remainder is far below what matters
  /// here.
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    const std::uint64_t width = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo) + 1;
    const std::uint64_t step = width == 0 ? next() : next() % width;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + step);
  }

  bool one_in(std::int64_t n) { return between(1, n) == 1; }

  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[between(0, static_cast<std::int64_t>(choices.size()) - 1)];
  }

  template <class T>
  const T& pick(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(
        between(0, static_cast<std::int64_t>(choices.size()) - 1))];
  }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::int64_t i = static_cast<std::int64_t>(items.size()) - 1; i > 0; --i)
      std::swap(items[static_cast<std::size_t>(i)], items[static_cast<std::size_t>(between(0, i))]);
  }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio, odd

  // A bijection that flips every output bit with probability near 1/2 (the finaliser of SplitMix64,
  // Steele, Lea and Flood 2014, public domain constants of Stafford's variant 13).
  static std::uint64_t mix(std::uint64_t v) {
    v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9u;
    v = (v ^ (v >> 27)) * 0x94D049BB133111EBu;
    return v ^ (v >> 31);
  }

  std::uint64_t state_ = 0;
};

}  // namespace leafproof::oracle
