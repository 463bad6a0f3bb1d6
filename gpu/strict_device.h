// A device that is hostile on purpose, on a CPU: what a GPU would punish one day, this punishes at
// once and always.
//   - Its memory is closed to the host (PROT_NONE) except while launches run: a host dereference
//     dies. Each block is poisoned, ends at a guard page, and has its margins checked when
//     released.
//   - It has one stream, the caller's: work given to it waits until somebody synchronises. Work
//     given to any other stream runs at once, so whatever relies on being ordered finds poison.
//   - A launch runs its indices forwards, backwards, shuffled, or on four threads.
//   - The n-th allocation fails on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace leafproof::gpu {

enum class Poison { Zeros, Ones, Random };
enum class LaunchOrder { Forwards, Backwards, Shuffled, Threads };

struct StrictBehaviour {
  Poison poison = Poison::Random;
  LaunchOrder order = LaunchOrder::Shuffled;
  std::uint64_t seed = 1;               // of random poison and of shuffles
  std::int64_t failing_allocation = 0;  // 1: the next one; 0: none
};

/// A thread's place in a team (see team.h), whose members wait for each other where they meet.
class StrictTeam {
 public:
  struct Meeting;
  StrictTeam(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  int rank() const { return rank_; }
  int size() const;
  int sum_before(int value, int& all) const;
  int sum(int value) const;
  std::int32_t least(std::int32_t value) const;
  std::int32_t greatest(std::int32_t value) const;

 private:
  template <class Fold>
  void meet(std::int32_t value, const Fold& fold) const;  // fold(values of all ranks)
  Meeting& meeting_;
  int rank_;
};

class StrictDevice : public std::enable_shared_from_this<StrictDevice> {
 public:
  explicit StrictDevice(const StrictBehaviour& behaviour);
  StrictDevice(const StrictDevice&) = delete;
  StrictDevice& operator=(const StrictDevice&) = delete;
  ~StrictDevice();

  /// Poisoned memory, 256-byte aligned, that ends at a guard page but for the rounding to 256
  /// bytes, which is checked on release. Freed in the order of the stream. Error(OutOfMemory) on
  /// demand.
  std::shared_ptr<std::byte> allocate(std::size_t bytes);

  /// Work for the caller's stream: runs at the next synchronise(), in order.
  void enqueue(std::function<void()> work);
  /// Runs all that was enqueued, with the memory open.
  void synchronise();
  /// Work on any other stream: runs at once, with the memory open, before what is enqueued.
  void elsewhere(const std::function<void()>& work);

  /// body(i) for 0 <= i < n in the order that the device has. For work that runs.
  void run(std::int64_t n, const std::function<void(std::int64_t)>& body);

  /// body(i, team) likewise; where launches run on threads, a team of them shares each index.
  static constexpr int kTeam = 4;
  bool has_teams() const { return behaviour_.order == LaunchOrder::Threads; }
  void run_teams(std::int64_t n, const std::function<void(std::int64_t, const StrictTeam&)>& body);

  std::int64_t allocations() const { return allocations_; }
  std::int64_t live_blocks() const;  // not yet released, what is enqueued for release included
  std::int64_t overruns() const { return overruns_; }  // blocks whose margins had been written

 private:
  struct Block {
    std::byte* pages;  // between two guard pages
    std::size_t mapped, margin, bytes;
  };
  void open(bool readable);
  void release(std::byte* memory);
  void fill(std::byte* memory, std::size_t bytes);

  StrictBehaviour behaviour_;
  mutable std::mutex mutex_;  // of the lists below: batches may be dropped by any thread
  std::map<std::byte*, Block> blocks_;
  std::vector<std::function<void()>> queue_;
  std::int64_t allocations_ = 0, overruns_ = 0, launches_ = 0;
};

}  // namespace leafproof::gpu
