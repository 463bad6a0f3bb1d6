#include "tests/faults/selftest.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "oracle/backends/host_backend.h"
#include "oracle/case_text.h"
#include "oracle/generate.h"
#include "oracle/shrink.h"
#include "tests/faults/judging.h"
#include "tests/faults/plain.h"

namespace leafproof::faults {
namespace {

/// Runs work(i) for 0 <= i < n on a few threads; the first exception is thrown on.
void in_parallel(std::int64_t n, const SelftestOptions& options,
                 const std::function<void(std::int64_t)>& work) {
  std::atomic<std::int64_t> next{0};
  std::int64_t done = 0;
  std::exception_ptr failed;
  std::mutex mutex;  // of `done` and `failed`
  const auto run = [&] {
    for (std::int64_t i; (i = next++) < n;) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failed) failed = std::current_exception();
        next = n;
      }
      const std::lock_guard lock(mutex);
      ++done;
      if (options.progress) options.progress(done, n);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 1; i < options.jobs; ++i) threads.emplace_back(run);
    run();
  }
  if (failed) std::rethrow_exception(failed);
}

void shrink_and_replay(const Planted& planted, const SelftestOptions& options, Outcome& outcome) {
  const auto fails = [&](const Case& c) {
    try {
      return planted.ask(c, planted.fault).has_value();
    } catch (const std::exception&) {
      return false;  // the reference has no judgement of it
    }
  };
  outcome.shrunk = oracle::shrink(outcome.question, fails, options.tries).question;
  outcome.text = oracle::write_case_text(*outcome.shrunk);
  outcome.of_shrunk = planted.ask(oracle::read_case_text(outcome.text), planted.fault);
}

}  // namespace

Outcome run_fault(const Planted& planted, const SelftestOptions& options) {
  Outcome outcome;
  outcome.planted = &planted;
  const auto start = std::chrono::steady_clock::now();
  const auto ops = static_cast<std::int64_t>(planted.ops.size());
  while (outcome.cases < options.cases && !outcome.kill) {
    const Op op = planted.ops[static_cast<std::size_t>(outcome.cases % ops)];
    const auto number = static_cast<std::uint64_t>(outcome.cases / ops);
    outcome.question = oracle::generate(op, options.seed, number);
    outcome.kill = planted.ask(outcome.question, planted.fault);
    ++outcome.cases;
  }
  const auto taken = std::chrono::steady_clock::now() - start;
  outcome.milliseconds = std::chrono::duration<double, std::milli>(taken).count();
  if (!outcome.kill) return outcome;
  outcome.generated = outcome.question.id;
  shrink_and_replay(planted, options, outcome);
  return outcome;
}

std::vector<Outcome> run_faults(const std::vector<const Planted*>& faults,
                                const SelftestOptions& options) {
  std::vector<Outcome> outcomes(faults.size());
  in_parallel(static_cast<std::int64_t>(faults.size()), options, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    outcomes[at] = run_fault(*faults[at], options);
  });
  return outcomes;
}

std::vector<FalseAlarm> run_healthy(std::int64_t cases, const SelftestOptions& options) {
  std::vector<const Planted*> special;  // one of each mechanism but `answers`
  for (const Planted& each : planted())
    if (each.ask != by_answers && std::none_of(special.begin(), special.end(),
                                               [&](auto* other) { return other->ask == each.ask; }))
      special.push_back(&each);
  std::vector<FalseAlarm> alarms;
  std::mutex mutex;
  const auto& ops = oracle::generated_ops();
  const auto host = oracle::make_host_backend(oracle::HostEngine::Default);
  in_parallel(cases, options, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const auto look = [&](const Case& c, std::string who, Killed killed) {
      if (!killed) return;
      const std::lock_guard lock(mutex);
      alarms.push_back({std::move(who), c.id, std::move(*killed)});
    };
    const Case question = oracle::generate(ops[at % ops.size()], options.seed, at / ops.size());
    look(question, "plain", by_answers(question, Fault::None));
    look(question, "host", judged(question, [&] { return host->answer(question); }));
    if (at % 8 != 0) return;
    const Planted& one = *special[at / 8 % special.size()];
    const Case its = oracle::generate(one.ops[at / 8 % one.ops.size()], options.seed, at / 8);
    look(its, std::string(one.mechanism), one.ask(its, Fault::None));
  });
  return alarms;
}

std::int64_t voxels_in(const Case& c) {
  std::int64_t voxels = 0;
  for (const oracle::Batch* batch :
       {&c.source, c.other ? &*c.other : nullptr, c.target ? &*c.target : nullptr})
    if (batch != nullptr)
      for (const auto& member : batch->members) voxels += static_cast<std::int64_t>(member.size());
  for (const auto& list : c.points) voxels += static_cast<std::int64_t>(list.size());
  return voxels;
}

}  // namespace leafproof::faults
