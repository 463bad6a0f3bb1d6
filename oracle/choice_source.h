// What every generated case is drawn from: choices, made by a seed or by bytes. By a seed they are
// the same on every machine and with every standard library (the distributions of <random> are
// not); by bytes they are a fuzzer's, a property test's or another program's to make and to shrink.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace leafproof::oracle {

class ChoiceSource {
 public:
  /// By a seed: a stream of its own for every key, e.g. {operation, seed, case number}.
  ChoiceSource(std::initializer_list<std::uint64_t> key) {
    for (const std::uint64_t part : key) state_ = mix(state_ ^ mix(part + kStep));
  }

  /// By bytes, which must outlive the source. Each choice takes as many as its range needs, the
  /// lowest first; behind their end all bytes are zero, which makes every choice the simplest one.
  explicit ChoiceSource(std::span<const std::uint8_t> bytes) : bytes_(bytes), by_bytes_(true) {}

  /// In lo ... hi, both included; lo <= hi. The simplest is the one nearest to 0. The bias of the
  /// remainder is far below what matters here.
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    const std::uint64_t last = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
    const std::uint64_t drawn = by_bytes_ ? take(last) : next();
    const std::uint64_t step = last == ~std::uint64_t{0} ? drawn : drawn % (last + 1);
    // From the simplest (0, or the end nearest to it) up to hi, then from there down to lo.
    const auto from = static_cast<std::uint64_t>(std::clamp<std::int64_t>(0, lo, hi));
    const std::uint64_t up = static_cast<std::uint64_t>(hi) - from;
    return static_cast<std::int64_t>(step <= up ? from + step : from - (step - up));
  }

  /// Once in n; the simplest is "no".
  bool one_in(std::int64_t n) { return between(0, n - 1) == n - 1; }

  /// The simplest is the first.
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

  std::uint64_t next() { return mix(state_ += kStep); }

  /// The bytes that a number up to `last` needs.
  std::uint64_t take(std::uint64_t last) {
    std::uint64_t value = 0;
    for (int shift = 0; last != 0; last >>= 8, shift += 8) {
      if (bytes_.empty()) continue;
      value |= std::uint64_t{bytes_.front()} << shift;
      bytes_ = bytes_.subspan(1);
    }
    return value;
  }

  std::uint64_t state_ = 0;
  std::span<const std::uint8_t> bytes_;
  bool by_bytes_ = false;
};

}  // namespace leafproof::oracle
