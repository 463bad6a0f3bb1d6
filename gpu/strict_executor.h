// The executor on a StrictDevice: everything is enqueued, nothing runs before a read-back. What a
// sort leaves behind its last key is overwritten, and a device count beyond its bound is a fault.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/executor.h"
#include "gpu/strict_device.h"
#include "gpu/team.h"

namespace leafproof::gpu {

class StrictExecutor {
 public:
  static constexpr bool kHostMemory = false;
  static constexpr bool kManyThreads = true;  // work is dealt out as to a GPU

  explicit StrictExecutor(std::shared_ptr<StrictDevice> device) : device_(std::move(device)) {}

  void begin() { scratch_.clear(); }
  void* scratch_bytes(std::size_t bytes) {
    scratch_.push_back(device_->allocate(bytes));
    return scratch_.back().get();
  }
  std::shared_ptr<std::byte> result_bytes(std::size_t bytes, bool* zeroed) {
    *zeroed = false;
    return device_->allocate(bytes);
  }

  void zero(void* to, std::size_t bytes) {
    device_->enqueue([to, bytes] { std::memset(to, 0, bytes); });
  }
  void upload(void* to, const void* from, std::size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(from);
    device_->enqueue([to, staged = std::vector<std::byte>(begin, begin + bytes)] {
      std::copy(staged.begin(), staged.end(), static_cast<std::byte*>(to));
    });
  }
  void read_back(void* to, const void* from, std::size_t bytes) {
    device_->enqueue([to, from, bytes] {
      if (bytes > 0) std::memcpy(to, from, bytes);
    });
    device_->synchronise();
  }

  template <class F>
  void for_each_index(Count n, const F& functor, std::int64_t) {
    static_assert(std::is_trivially_copyable_v<F>, "functors are copied to where they run");
    if constexpr (ForTeams<F>) {
      if (device_->has_teams()) {
        device_->enqueue([device = device_.get(), n, functor] {
          device->run_teams(within_bound(n), [&functor](std::int64_t i, const StrictTeam& team) {
            functor(i, team);
          });
        });
        return;
      }
    }
    launch(n, [functor](std::int64_t i) { functor(i); });
  }

  template <class Value>
  void exclusive_scan(Count n, const Value& value, std::int64_t* out) {
    static_assert(std::is_trivially_copyable_v<Value>);
    device_->enqueue([device = device_.get(), n, value, out] {
      std::vector<std::int64_t> values(static_cast<std::size_t>(within_bound(n)));
      device->run(n.get(), [&](std::int64_t i) { values[static_cast<std::size_t>(i)] = value(i); });
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        out[i] = sum;
        sum += values[i];
      }
      out[values.size()] = sum;
    });
  }

  template <class Key>
  void sort_unique(Key* keys, Count n, std::int64_t* unique, int bits) {
    device_->enqueue([keys, n, unique, bits] {
      Key* end = keys + within_bound(n);
      std::sort(keys, end);
      const int width = 8 * static_cast<int>(sizeof(Key));
      if (end != keys && bits < width && end[-1] >> bits != 0) {
        throw std::logic_error("a key is wider than the bits that are sorted");
      }
      Key* last = std::unique(keys, end);
      *unique = last - keys;
      std::fill(last, end, static_cast<Key>(0xEEEEEEEEEEEEEEEEu));
    });
  }

  template <class F>
  void reduce_segments(Count n, const F& functor) {
    static_assert(std::is_trivially_copyable_v<F>);
    launch(n, [functor](std::int64_t s) {
      std::int64_t begin = 0, end = 0;
      functor.range(s, begin, end);
      Extent sum;
      while (end > begin) sum.add(functor.value(s, --end));
      functor.store(s, sum);
    });
  }

 private:
  static std::int64_t within_bound(Count n) {
    if (n.get() >= 0 && n.get() <= n.bound) return n.get();
    throw std::logic_error("a device count of " + std::to_string(n.get()) +
                           " where the host knew " + std::to_string(n.bound) + " as its bound");
  }
  template <class Body>
  void launch(Count n, Body body) {
    device_->enqueue([device = device_.get(), n, body] { device->run(within_bound(n), body); });
  }

  std::shared_ptr<StrictDevice> device_;
  std::vector<std::shared_ptr<std::byte>> scratch_;
};

static_assert(Executor<StrictExecutor>);

}  // namespace leafproof::gpu
