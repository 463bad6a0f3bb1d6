// How finely a launch is divided. A CPU gives each index to one thread, and few large indices are
// best; a GPU has threads for small ones, and a team of neighbours for an index that is large in
// itself. A functor that a team can share has, besides operator()(i), an operator()(i, team): every
// member of the team calls it with the same i, and takes the parts from rank() on in steps of
// size(). Executors that know no teams call operator()(i).
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "gpu/host_device.h"

namespace leafproof::gpu {

/// The team of one thread.
struct Alone {
  LEAFPROOF_HD static constexpr int rank() { return 0; }
  LEAFPROOF_HD static constexpr int size() { return 1; }
  /// The sum over lower ranks; `all` is that over the team. Like the rest, to be called by all.
  LEAFPROOF_HD static int sum_before(int value, int& all) {
    all = value;
    return 0;
  }
  LEAFPROOF_HD static int sum(int value) { return value; }
  LEAFPROOF_HD static std::int32_t least(std::int32_t value) { return value; }
  LEAFPROOF_HD static std::int32_t greatest(std::int32_t value) { return value; }
};

/// Functors that a team can share.
template <class F>
concept ForTeams = requires(const F& functor) { functor(std::int64_t{}, Alone{}); };

/// Whether an executor, or the one inside it, runs small indices best: E::kManyThreads, if it says.
template <class E>
consteval bool many_threads() {
  if constexpr (requires { E::kManyThreads; }) {
    return E::kManyThreads;
  } else if constexpr (requires(E& executor) { executor.inner(); }) {
    return many_threads<std::remove_reference_t<decltype(std::declval<E&>().inner())>>();
  } else {
    return false;
  }
}

}  // namespace leafproof::gpu
