// An executor around another: counts what a build asks for, and refuses a build that would take
// more memory than it may, before it is allocated [L-6]. Every builder runs on one, so costs can be
// asked of any build.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "gpu/costs.h"
#include "gpu/error.h"
#include "gpu/executor.h"

namespace leafproof::gpu {

template <Executor E>
class CountingExecutor {
 public:
  static constexpr bool kHostMemory = E::kHostMemory;

  explicit CountingExecutor(E executor) : executor_(std::move(executor)) {}

  /// A new build of this name, of at most so many bytes of scratch and result together.
  void begin(std::string operation, std::int64_t max_memory, bool trace) {
    operation_ = std::move(operation);
    max_memory_ = max_memory;
    trace_ = trace;
    begin();
  }
  void begin() {
    costs_ = {};
    executor_.begin();
  }

  void* scratch_bytes(std::size_t bytes) {
    check(bytes);
    void* memory = executor_.scratch_bytes(bytes);
    ++costs_.scratch_requests;
    costs_.scratch_bytes += bytes;
    return memory;
  }
  std::shared_ptr<std::byte> result_bytes(std::size_t bytes, bool* zeroed) {
    check(bytes);
    auto memory = executor_.result_bytes(bytes, zeroed);
    ++costs_.results;
    costs_.result_bytes += bytes;
    return memory;
  }

  void zero(void* to, std::size_t bytes) {
    ++costs_.fills;
    costs_.zeroed += bytes;
    executor_.zero(to, bytes);
  }
  void upload(void* to, const void* from, std::size_t bytes) {
    ++costs_.uploads;
    costs_.uploaded += bytes;
    executor_.upload(to, from, bytes);
  }
  void read_back(void* to, const void* from, std::size_t bytes) {
    ++costs_.synchronisations;
    costs_.read_back += bytes;
    executor_.read_back(to, from, bytes);
  }

  template <class F>
  void for_each_index(Count n, const F& functor, std::int64_t grain) {
    record(name_of<F>(), n.bound);
    executor_.for_each_index(n, functor, grain);
  }
  template <class Value>
  void exclusive_scan(Count n, const Value& value, std::int64_t* out) {
    record(name_of<Value>(), n.bound);
    executor_.exclusive_scan(n, value, out);
  }
  template <class Key>
  void sort_unique(Key* keys, Count n, std::int64_t* unique, int bits) {
    record(__func__, n.bound);
    executor_.sort_unique(keys, n, unique, bits);
  }
  template <class F>
  void reduce_segments(Count n, const F& functor) {
    record(name_of<F>(), n.bound);
    executor_.reduce_segments(n, functor);
  }

  const Costs& costs() const { return costs_; }
  E& inner() { return executor_; }

 private:
  void check(std::size_t bytes) const {
    const std::size_t so_far = costs_.scratch_bytes + costs_.result_bytes;
    const auto limit = static_cast<std::size_t>(max_memory_);
    if (bytes <= limit && so_far <= limit - bytes) return;
    std::size_t needed = 0;
    const bool huge = __builtin_add_overflow(so_far, bytes, &needed);
    throw Error(
        ErrorKind::CapacityExceeded, operation_, "memory", std::to_string(huge ? SIZE_MAX : needed),
        "bytes of scratch and result would be more than the limit of " + std::to_string(limit));
  }

  /// "discovery::MarkLeaves<CoarsenRule>", of the compiler's name for this very function.
  template <class F>
  static const char* signature() {
    return __PRETTY_FUNCTION__;
  }
  template <class F>
  static const std::string& name_of() {
    static const std::string name = [] {
      std::string text = signature<F>();
      text = text.substr(text.find("F = ") + 4);
      text = text.substr(0, text.find_first_of(";]"));
      const std::string room = "leafproof::gpu::";
      for (auto at = text.find(room); at != text.npos; at = text.find(room)) {
        text.erase(at, room.size());
      }
      return text;
    }();
    return name;
  }
  void record(const std::string& functor, std::int64_t items) {
    ++costs_.launches;
    if (trace_) costs_.trace.push_back({functor, items});
  }

  E executor_;
  Costs costs_;
  std::string operation_;
  std::int64_t max_memory_ = INT64_MAX;
  bool trace_ = false;
};

}  // namespace leafproof::gpu
