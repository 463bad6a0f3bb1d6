#include "gpu/strict_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "gpu/error.h"

namespace leafproof::gpu {
namespace {

constexpr std::size_t kAlign = 256;
constexpr auto kMargin = std::byte{0xC5};

std::size_t page() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t rounded(std::size_t bytes, std::size_t to) {
  return (std::max<std::size_t>(bytes, 1) + to - 1) / to * to;
}

/// A step that visits every index of 0 ... n-1 once, in an order that looks like none.
std::int64_t stride_for(std::int64_t n, std::uint64_t seed) {
  auto step = static_cast<std::int64_t>(seed * 0x9E3779B97F4A7C15u >> 33) % n;
  while (std::gcd(step, n) != 1) ++step;
  return step;
}

}  // namespace

struct StrictTeam::Meeting {
  std::barrier<> all{StrictDevice::kTeam};
  std::array<std::int32_t, StrictDevice::kTeam> values{};
};

template <class Fold>
void StrictTeam::meet(std::int32_t value, const Fold& fold) const {
  meeting_.values[static_cast<std::size_t>(rank_)] = value;
  meeting_.all.arrive_and_wait();
  fold(meeting_.values);
  meeting_.all.arrive_and_wait();  // nobody writes again before all have read
}

int StrictTeam::size() const {
  return StrictDevice::kTeam;
}

int StrictTeam::sum_before(int value, int& all) const {
  int before = 0;
  meet(value, [&](const auto& values) {
    before = std::accumulate(values.begin(), values.begin() + rank_, 0);
    all = std::accumulate(values.begin(), values.end(), 0);
  });
  return before;
}

int StrictTeam::sum(int value) const {
  int all = 0;
  sum_before(value, all);
  return all;
}

std::int32_t StrictTeam::least(std::int32_t value) const {
  meet(value, [&](const auto& v) { value = *std::min_element(v.begin(), v.end()); });
  return value;
}

std::int32_t StrictTeam::greatest(std::int32_t value) const {
  meet(value, [&](const auto& v) { value = *std::max_element(v.begin(), v.end()); });
  return value;
}

StrictDevice::StrictDevice(const StrictBehaviour& behaviour) : behaviour_(behaviour) {}

StrictDevice::~StrictDevice() {
  synchronise();
  for (const auto& [memory, block] : blocks_) {
    munmap(block.pages - page(), block.mapped + 2 * page());
  }
}

std::shared_ptr<std::byte> StrictDevice::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::size_t mapped = rounded(rounded(bytes, kAlign), page());
  void* reserved = MAP_FAILED;
  if (++allocations_ != behaviour_.failing_allocation) {
    reserved = mmap(nullptr, mapped + 2 * page(), PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (reserved == MAP_FAILED) {
    throw Error(ErrorKind::OutOfMemory, "allocate", "bytes", std::to_string(bytes),
                "the strict device has no such block");
  }
  Block block{static_cast<std::byte*>(reserved) + page(), mapped, mapped - rounded(bytes, kAlign),
              bytes};
  mprotect(block.pages, mapped, PROT_READ | PROT_WRITE);
  std::byte* memory = block.pages + block.margin;
  std::fill_n(block.pages, mapped, kMargin);
  fill(memory, bytes);
  mprotect(block.pages, mapped, PROT_NONE);
  blocks_.emplace(memory, block);
  return {memory, [device = shared_from_this()](std::byte* gone) {
            device->enqueue([raw = device.get(), gone] { raw->release(gone); });
          }};
}

void StrictDevice::fill(std::byte* memory, std::size_t bytes) {
  if (behaviour_.poison != Poison::Random) {
    std::memset(memory, behaviour_.poison == Poison::Zeros ? 0 : 0xFF, bytes);
    return;
  }
  std::uint64_t state =
      (behaviour_.seed + static_cast<std::uint64_t>(allocations_)) * 0x9E3779B97F4A7C15u | 1;
  for (std::size_t at = 0; at < bytes; at += sizeof state) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    std::memcpy(memory + at, &state, std::min(sizeof state, bytes - at));
  }
}

void StrictDevice::enqueue(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
}

void StrictDevice::open(bool readable) {
  const std::lock_guard lock(mutex_);
  for (const auto& [memory, block] : blocks_) {
    mprotect(block.pages, block.mapped, readable ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
}

void StrictDevice::synchronise() {
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(queue_);
  }
  if (work.empty()) return;
  open(true);
  for (const auto& each : work) each();
  open(false);
}

void StrictDevice::elsewhere(const std::function<void()>& work) {
  open(true);
  work();
  open(false);
}

void StrictDevice::release(std::byte* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(memory);
  const Block block = found->second;
  const auto is_margin = [](std::byte b) { return b == kMargin; };
  const bool intact = std::all_of(block.pages, memory, is_margin) &&
                      std::all_of(memory + block.bytes, block.pages + block.mapped, is_margin);
  overruns_ += intact ? 0 : 1;
  munmap(block.pages - page(), block.mapped + 2 * page());
  blocks_.erase(found);
}

std::int64_t StrictDevice::live_blocks() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(blocks_.size());
}

void StrictDevice::run_teams(std::int64_t n,
                             const std::function<void(std::int64_t, const StrictTeam&)>& body) {
  StrictTeam::Meeting meeting;
  std::vector<std::thread> team;
  for (int rank = 0; rank < kTeam; ++rank) {
    team.emplace_back([n, rank, &body, &meeting] {
      const StrictTeam mine(meeting, rank);
      for (std::int64_t i = n - 1; i >= 0; --i) body(i, mine);
    });
  }
  for (std::thread& thread : team) thread.join();
}

void StrictDevice::run(std::int64_t n, const std::function<void(std::int64_t)>& body) {
  if (n <= 0) return;
  ++launches_;
  switch (behaviour_.order) {
    case LaunchOrder::Forwards:
      for (std::int64_t i = 0; i < n; ++i) body(i);
      break;
    case LaunchOrder::Backwards:
      for (std::int64_t i = n - 1; i >= 0; --i) body(i);
      break;
    case LaunchOrder::Shuffled: {
      const std::int64_t step =
          stride_for(n, behaviour_.seed + static_cast<std::uint64_t>(launches_));
      std::int64_t i = step / 2;
      for (std::int64_t visited = 0; visited < n; ++visited) {
        body(i);
        i = (i + step) % n;
      }
      break;
    }
    case LaunchOrder::Threads: {
      std::vector<std::thread> team;
      for (std::int64_t t = 0; t < std::min<std::int64_t>(4, n); ++t) {
        team.emplace_back([n, t, &body] {
          for (std::int64_t i = n - 1 - t; i >= 0; i -= 4) body(i);
        });
      }
      for (std::thread& thread : team) thread.join();
    }
  }
}

}  // namespace leafproof::gpu
