// Faults of execution: a pass on the executors that punish them (device_pass.h).
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "gpu/counting_executor.h"
#include "gpu/host_executor.h"
#include "gpu/strict_executor.h"
#include "oracle/backends/answering.h"
#include "reference/checks.h"
#include "tests/faults/device_pass.h"
#include "tests/faults/judging.h"
#include "tests/faults/plain_layout.h"
#include "tests/faults/plain_sets.h"

namespace leafproof::faults {
namespace {

using gpu::LaunchOrder;
using gpu::Poison;
using gpu::StrictDevice;
using Members = std::vector<std::vector<Voxel>>;

/// The operands of a prune on the device, or a refusal of them.
Rows rows_of(const Case& c, const Batch& source) {
  reference::check_batch("prune", source);
  const auto& mask = oracle::required(c.mask, c, "mask");
  reference::check_masks("prune", source, mask);
  Rows rows;
  rows.offsets.assign(1, 0);
  for (std::size_t m = 0; m < source.size(); ++m) {
    rows.voxels.insert(rows.voxels.end(), source.members[m].begin(), source.members[m].end());
    rows.flags.insert(rows.flags.end(), mask[m].begin(), mask[m].end());
    rows.offsets.push_back(static_cast<std::int64_t>(rows.voxels.size()));
  }
  return rows;
}

/// A pass judged: `run` makes the members of the result out of the rows.
template <class Run>
Killed judged_pass(const Case& question, const Run& run) {
  return judged(question, [&] {
    return oracle::answer_or_refusal(question, [&]() -> oracle::Answer {
      Batch batch = members_read(Fault::None, question);
      const Rows rows = rows_of(question, batch);
      batch.members = run(rows);
      return laid_out(Fault::None, batch);
    });
  });
}

/// On a strict device of its own.
Killed judged_on(const Case& question, Fault fault, const gpu::StrictBehaviour& behaviour) {
  return judged_pass(question, [&](const Rows& rows) {
    const auto device = std::make_shared<StrictDevice>(behaviour);
    gpu::StrictExecutor executor(device);
    return pruned_on(executor, rows, fault, {device.get(), nullptr});
  });
}

/// Results with bytes behind them that nobody may write.
struct Guarded {
  static constexpr std::size_t kGuard = 64;
  static constexpr std::byte kByte{0xA5};
  std::int64_t overruns = 0;

  static void* allocate(void*, std::size_t bytes, bool* zeroed) {
    *zeroed = false;
    void* memory = nullptr;
    if (posix_memalign(&memory, 256, bytes + kGuard) != 0) return nullptr;
    std::fill_n(static_cast<std::byte*>(memory), bytes + kGuard, kByte);
    return memory;
  }
  static void release(void* context, void* memory, std::size_t bytes) {
    const auto* guard = static_cast<const std::byte*>(memory) + bytes;
    if (!std::all_of(guard, guard + kGuard, [](std::byte b) { return b == kByte; }))
      ++static_cast<Guarded*>(context)->overruns;
    std::free(memory);
  }
  gpu::Allocator allocator() { return {allocate, release, this}; }
};

/// Memory that is zero when it is new, and not when it comes again.
gpu::Allocator zeroed_once() {
  return {[](void*, std::size_t bytes, bool* zeroed) -> void* {
            *zeroed = false;
            void* memory = nullptr;
            if (posix_memalign(&memory, 256, bytes) != 0) return nullptr;
            std::memset(memory, 0, bytes);
            return memory;
          },
          [](void*, void* memory, std::size_t) { std::free(memory); }};
}

}  // namespace

Killed by_strict_device(const Case& question, Fault fault) {
  return judged_on(question, fault, {});
}

Killed by_launch_orders(const Case& question, Fault fault) {
  for (const auto& [order, name] : {std::pair(LaunchOrder::Forwards, "forwards"),
                                    std::pair(LaunchOrder::Backwards, "backwards"),
                                    std::pair(LaunchOrder::Shuffled, "shuffled")}) {
    gpu::StrictBehaviour behaviour;
    behaviour.order = order;
    Killed killed = judged_on(question, fault, behaviour);
    if (!killed) continue;
    killed->by += fmt::format(", launched {}", name);
    return killed;
  }
  return {};
}

Killed by_guard_bytes(const Case& question, Fault fault) {
  Guarded guarded;
  Killed killed = judged_pass(question, [&](const Rows& rows) {
    gpu::HostExecutor executor(gpu::Threads::Serial, guarded.allocator(), gpu::system_allocator());
    return pruned_on(executor, rows, fault);
  });
  if (guarded.overruns > 0) return Kill{"bytes behind the result were written", "E-2", {}};
  return killed;
}

Killed by_costs(const Case& question, Fault fault) {
  std::int64_t synchronisations = 0;
  Killed killed = judged_pass(question, [&](const Rows& rows) {
    gpu::CountingExecutor executor(gpu::StrictExecutor(
        std::make_shared<StrictDevice>(gpu::StrictBehaviour{.order = LaunchOrder::Forwards})));
    executor.begin("prune", INT64_MAX, false);
    auto members = pruned_on(executor, rows, fault);
    synchronisations = executor.costs().synchronisations;
    return members;
  });
  if (killed || synchronisations <= 2) return killed;
  return Kill{
      fmt::format("{} synchronisations, where 2 do for every batch", synchronisations), "G-8", {}};
}

Killed by_closed_memory(const Case& question, Fault fault) {
  judged_on(question, Fault::None, {});  // what is made once is made here, not in the child
  const pid_t child = fork();
  if (child < 0) throw std::bad_alloc();
  if (child == 0) {  // an exit code, or the signal of what it touched
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);  // nor to a program that collects dumps
    std::signal(SIGSEGV, SIG_DFL);
    std::signal(SIGBUS, SIG_DFL);
    int code = 2;
    try {
      code = judged_on(question, fault, {}) ? 1 : 0;
    } catch (...) {
    }
    _exit(code);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGSEGV && WTERMSIG(status) != SIGBUS)
    throw std::runtime_error(fmt::format("a child ended by signal {}", WTERMSIG(status)));
  if (WIFSIGNALED(status))
    return Kill{
        fmt::format("the host touched device memory: signal {}", WTERMSIG(status)), "E-2", {}};
  if (WEXITSTATUS(status) == 0) return {};
  return Kill{"another answer, in a child", "T-6", {}};
}

Killed by_failing_memory(const Case& question, Fault fault) {
  for (std::int64_t n = 1;; ++n) {
    gpu::StrictBehaviour behaviour;
    behaviour.order = LaunchOrder::Forwards;
    behaviour.failing_allocation = n;
    const auto device = std::make_shared<StrictDevice>(behaviour);
    std::shared_ptr<std::byte> forgotten;  // outlives the pass, as a leak does
    bool refused = false;
    Killed killed = judged_pass(question, [&](const Rows& rows) {
      gpu::StrictExecutor executor(device);
      try {
        return pruned_on(executor, rows, fault, {device.get(), &forgotten});
      } catch (const gpu::Error& error) {
        refused = error.kind() == gpu::ErrorKind::OutOfMemory;
        throw;
      }
    });
    device->synchronise();
    const std::int64_t live = device->live_blocks();
    const bool failed = device->allocations() >= n;
    forgotten.reset();
    device->synchronise();
    if (live > 0)
      return Kill{fmt::format("{} blocks are kept where allocation {} failed", live, n), "E-1", {}};
    if (!failed) return killed;  // the pass needs fewer, and was judged
    if (!refused) return Kill{fmt::format("a result though allocation {} failed", n), "E-1", {}};
  }
}

Killed by_reused_workspace(const Case& question, Fault fault) {
  gpu::HostExecutor executor(gpu::Threads::Serial, gpu::system_allocator(), zeroed_once());
  for (int round = 1; round <= 4; ++round) {
    Killed killed =
        judged_pass(question, [&](const Rows& rows) { return pruned_on(executor, rows, fault); });
    if (!killed) continue;
    killed->by += fmt::format(", in build {} with one workspace", round);
    return killed;
  }
  return {};
}

}  // namespace leafproof::faults
