// Work items (a generated case, or a pass on a scene) run on a few threads, each into its own slot;
// the slots are added up afterwards in order, so that the report does not depend on the threads.
#include "oracle/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "oracle/generate.h"
#include "oracle/judge.h"
#include "oracle/layout_view.h"
#include "oracle/ledger.h"
#include "oracle/smallest.h"

namespace leafproof::oracle {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One case to be asked of every backend.
struct Item {
  Op op;
  std::uint64_t number = 0;      // of a generated case
  const Scene* scene = nullptr;  // or a pass on a scene
  const ScenePass* pass = nullptr;
};

/// What one backend made of one item.
struct Judged {
  Outcome outcome = Outcome::Equal;
  bool stated_limit = false;  // not implemented, as its documentation says
  std::int64_t members = 0, voxels = 0;
  double seconds = 0;
  std::unique_ptr<Verdict> verdict;  // unless equal: there may be a million of these

  void take(Verdict given) {
    outcome = given.outcome;
    members = given.members;
    voxels = given.voxels;
    if (outcome != Outcome::Equal) verdict = std::make_unique<Verdict>(std::move(given));
  }
};

struct Slot {
  std::string case_id;
  std::set<Boundary> touched;
  Classes classes;
  bool refused = false;
  std::vector<Judged> judged;  // per backend; none where time was over
  bool ran() const { return !judged.empty(); }
  bool differs() const {
    return std::any_of(judged.begin(), judged.end(),
                       [](const Judged& j) { return j.outcome == Outcome::Different; });
  }
};

bool asked(const Scene* scene, const Backend& backend) {
  return scene == nullptr || !scene->asks || scene->asks(backend.name());
}

Case question_of(const Item& item, std::uint64_t seed) {
  if (item.pass == nullptr) return generate(item.op, seed, item.number);
  Case question = item.pass->make(item.scene->batch);
  question.id = item.pass->name + " on " + item.scene->name;
  question.comment = "real input";
  return question;
}

Slot run(const Item& item, std::uint64_t seed, const Backend& reference,
         const std::vector<const Backend*>& backends) {
  const Case question = question_of(item, seed);
  Slot slot;
  slot.case_id = question.id;
  const Standard expected(question, reference);
  slot.refused = expected.error() != nullptr;
  if (item.pass == nullptr) slot.classes = classes_of(question);
  slot.touched = boundaries_of(question, expected.layout());
  if (slot.refused && expected.error()->kind() == ErrorKind::OutOfRange)
    slot.touched.insert(Boundary::Range);
  for (const Backend* backend : backends) {
    Judged& judged = slot.judged.emplace_back();
    if (!asked(item.scene, *backend)) continue;
    try {
      const auto start = Clock::now();
      const Answer actual = backend->answer(question);
      judged.seconds = seconds_since(start);
      judged.take(expected.judge(actual));
      if (const auto* reason = std::get_if<NotImplemented>(&actual))
        judged.stated_limit = is_stated_limit(backend->name(), *reason);
    } catch (const std::exception& error) {
      judged.take(verdict_of_exception(error));
    }
  }
  return slot;
}

std::vector<Item> items_of(const std::vector<Scene>& scenes, const VerifyOptions& options) {
  std::vector<Item> items;
  // The long ones first, so that the threads end together.
  for (const Scene& scene : scenes)
    for (const ScenePass& pass : scene_passes())
      if (std::find(options.ops.begin(), options.ops.end(), pass.op) != options.ops.end())
        items.push_back({pass.op, 0, &scene, &pass});
  // The operations take turns, so that all have their part of a bounded time.
  const auto cases_of = [&](Op op) -> std::int64_t {
    if (options.only_case) return 1;
    if (options.cases) return *options.cases;
    return options.level == 0 ? 0 : cases_of_level(op, options.level);
  };
  std::int64_t most = 0;
  for (const Op op : options.ops) most = std::max(most, cases_of(op));
  for (std::int64_t i = 0; i < most; ++i)
    for (const Op op : options.ops)
      if (i < cases_of(op))
        items.push_back({op, options.only_case.value_or(static_cast<std::uint64_t>(i)), {}, {}});
  // The part of a sweep: every so-manieth of all.
  std::vector<Item> part;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (static_cast<std::int64_t>(i) % options.shard.parts == options.shard.part - 1)
      part.push_back(items[i]);
  return part;
}

/// No more than there is work for, and at most four per processor: more only cost memory.
int workers(int asked, std::size_t items) {
  const unsigned most = 4 * std::max(1u, std::thread::hardware_concurrency());
  return static_cast<int>(std::min({static_cast<std::size_t>(asked), items,  //
                                    static_cast<std::size_t>(most)}));
}

std::vector<Slot> run_all(const std::vector<Item>& items, const Backend& reference,
                          const std::vector<const Backend*>& backends,
                          const VerifyOptions& options) {
  std::vector<Slot> slots(items.size());
  const auto clock = options.clock ? options.clock : [] {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  };
  const double start = options.seconds ? clock() : 0;
  std::atomic<std::size_t> next{0};
  std::int64_t done = 0;
  std::exception_ptr failed;
  std::mutex mutex;  // of `done` and `failed`
  const auto work = [&] {
    for (std::size_t i; (i = next++) < items.size();) {
      if (options.seconds && clock() - start >= *options.seconds) break;
      try {
        slots[i] = run(items[i], options.seed, reference, backends);
        if (options.fail_fast && slots[i].differs()) next = items.size();
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failed) failed = std::current_exception();
        next = items.size();
      }
      const std::lock_guard lock(mutex);
      ++done;
      if (options.progress) options.progress(done, static_cast<std::int64_t>(items.size()));
    }
  };
  {
    std::vector<std::jthread> threads;  // joined whatever happens
    try {
      for (int i = 1; i < workers(options.threads, items.size()); ++i) threads.emplace_back(work);
    } catch (const std::system_error&) {
      // The system gives no more threads: those that there are, and this one, judge all the same.
    }
    work();
  }
  if (failed) std::rethrow_exception(failed);
  return slots;
}

/// The member's voxels on one side of a difference, for the picture; none if they cannot be read.
std::vector<Voxel> voxels_of(const Answer& answer, std::int64_t member) {
  try {
    const auto* buffer = std::get_if<GridBuffer>(&answer);
    const auto* layout = std::get_if<Layout>(&answer);
    if (buffer == nullptr && layout == nullptr) return {};
    Batch batch = batch_of(buffer != nullptr ? read_layout(*buffer) : *layout);
    const auto index = static_cast<std::size_t>(std::max<std::int64_t>(0, member));
    if (index < batch.size()) return std::move(batch.members[index]);
  } catch (const std::exception&) {
    // A hostile answer: the verdict already says what is wrong with it.
  }
  return {};
}

std::string replay_of(const Item& item, std::string_view backend, std::uint64_t seed) {
  if (item.pass == nullptr)
    return fmt::format("leafproof verify --ops {} --seed {} --case {} --backend {}",
                       to_string(item.op), seed, item.number, backend);
  const std::string_view input = item.scene->replay;
  return fmt::format("leafproof verify --level 0 --ops {} --backend {}{}{}", to_string(item.op),
                     backend, input.empty() ? "" : " ", input);
}

Failure failure_of(const Item& item, const Judged& judged, const Backend& reference,
                   const Backend& backend, std::uint64_t seed, std::int64_t shrink_tries) {
  Failure failure;
  const Case question = question_of(item, seed);
  failure.operation = to_string(item.op);
  failure.backend = backend.name();
  failure.case_id = fmt::format("{} ({})", question.id, question.comment);
  failure.replay = replay_of(item, backend.name(), seed);
  failure.verdict = *judged.verdict;
  const auto& first = failure.verdict.first;
  const std::int64_t member = first ? first->member : -1;
  failure.expected_voxels = voxels_of(reference.answer(question), member);
  try {
    failure.actual_voxels = voxels_of(backend.answer(question), member);
  } catch (const std::exception&) {
    // It threw before, too: the verdict says so.
  }
  if (shrink_tries > 0) failure.smallest = smallest_of(question, reference, backend, shrink_tries);
  return failure;
}

bool skipped(const std::vector<Skip>& skips, Op op, std::string_view backend) {
  return std::any_of(skips.begin(), skips.end(), [&](const Skip& skip) {
    return skip.op == op && (skip.backend.empty() || skip.backend == backend);
  });
}

void check(const VerifyOptions& options, const std::vector<const Backend*>& backends) {
  const auto refuse = [](const char* argument, std::string value, const char* reason) {
    throw Error(ErrorKind::InvalidArgument, {.operation = "verify",
                                             .argument = argument,
                                             .value = std::move(value),
                                             .reason = reason,
                                             .member = {},
                                             .row = {}});
  };
  if (options.level < 0 || options.level > 3)
    refuse("level", std::to_string(options.level), "must be 1, 2 or 3 (0: no generated cases)");
  if (options.shard.parts < 1 || options.shard.part < 1 || options.shard.part > options.shard.parts)
    refuse("shard", fmt::format("{}/{}", options.shard.part, options.shard.parts),
           "must be a part i of n parts, 1 <= i <= n");
  if (options.seconds && !(*options.seconds > 0))
    refuse("time", fmt::format("{}", *options.seconds), "must be positive");
  if (options.threads < 1) refuse("threads", std::to_string(options.threads), "must be positive");
  if (options.ops.empty()) refuse("ops", "none", "must name at least one operation");
  if (backends.empty()) refuse("backend", "none", "must name at least one backend");
  for (const Op op : options.ops)
    if (std::find(generated_ops().begin(), generated_ops().end(), op) == generated_ops().end())
      refuse("ops", std::string(to_string(op)), "must be a pass [T] or one of convolution");
}

constexpr Boundary kBoundaries[] = {Boundary::RootTile,    Boundary::Lower,
                                    Boundary::Leaf,        Boundary::NegativeOctant,
                                    Boundary::EmptyMember, Boundary::Range};

/// Adds up one row, and says what it leaves to be desired.
class RowOfItems {
 public:
  RowOfItems(Op op, const Backend& backend, std::string input) : op_(op) {
    row_.operation = to_string(op);
    row_.backend = backend.name();
    row_.input = std::move(input);
  }

  void add(const Slot& slot, const Judged& judged) {
    ++row_.cases;
    row_.seconds += judged.seconds;
    if (judged.outcome == Outcome::NotImplemented) {
      ++row_.not_implemented;
      if (judged.stated_limit) return;
      if (unimplemented_++ == 0) why_ = fmt::format("{}: {}", slot.case_id, judged.verdict->reason);
      return;
    }
    row_.members += judged.members;
    row_.voxels += judged.voxels;
    for (const Boundary boundary : slot.touched) ++row_.touched[boundary];
    for (std::size_t i = 0; i < case_classes().size(); ++i)
      if (case_classes()[i].one_in(op_) > 0)
        row_.classes[std::string(case_classes()[i].name)] += slot.classes[i];
    if (judged.outcome == Outcome::Equal) {
      ++row_.equal;
      if (slot.refused) ++row_.refused;
    } else {
      ++row_.different;
    }
  }

  /// `cut_short`: stopped at a first difference, so that this row may lack cases.
  std::vector<std::string> faults(const VerifyOptions& options, bool generated, bool cut_short) {
    std::vector<std::string> faults;
    const std::string who = fmt::format("{} on {}, {}", row_.operation, row_.backend, row_.input);
    if (skipped(options.skips, op_, row_.backend)) return faults;
    if (unimplemented_ > 0)
      faults.push_back(
          fmt::format("{}: {} of {} cases not implemented and not told to skip them ({})", who,
                      unimplemented_, row_.cases, why_));
    // Of a backend with a stated limit only the rest is promised.
    const bool limited = row_.not_implemented > unimplemented_;
    const std::int64_t compared = row_.equal + row_.different;
    if (cut_short) return faults;
    if (compared == 0 && unimplemented_ == 0 && (generated || !limited))
      faults.push_back(who + ": nothing was compared");
    if (!generated || options.only_case || options.shard.parts > 1 || limited || compared == 0)
      return faults;
    const auto promise = [&](std::string_view name, bool reached) {
      if (!reached)
        faults.push_back(fmt::format("{}: no case reached the class \"{}\"", who, name));
    };
    for (const Boundary boundary : kBoundaries)
      promise(to_string(boundary), row_.touched.contains(boundary));
    const Classes classes = promised(op_, row_.cases);
    for (std::size_t i = 0; i < case_classes().size(); ++i) {
      if (!classes[i]) continue;
      row_.promised.emplace_back(case_classes()[i].name);
      promise(row_.promised.back(), row_.classes[row_.promised.back()] > 0);
    }
    return faults;
  }
  const Row& row() const { return row_; }

 private:
  Op op_;
  Row row_;
  std::int64_t unimplemented_ = 0;  // beyond stated limits
  std::string why_;
};

}  // namespace

bool is_stated_limit(std::string_view backend, const NotImplemented& answer) {
  return backend == "brute_force" && answer.reason.find("does not suffice") != std::string::npos;
}

Verification verify(const Backend& reference, const std::vector<const Backend*>& backends,
                    const std::vector<Scene>& scenes, const VerifyOptions& options) {
  check(options, backends);
  const auto start = Clock::now();
  const std::vector<Item> items = items_of(scenes, options);
  const std::vector<Slot> slots = run_all(items, reference, backends, options);

  Verification result;
  Report& report = result.report;
  report.seed = options.seed;
  report.level = options.level;
  std::vector<const Scene*> inputs{nullptr};
  for (const Scene& scene : scenes) inputs.push_back(&scene);
  bool equal = true;
  const auto ran = std::count_if(slots.begin(), slots.end(), [](const Slot& s) { return s.ran(); });
  const auto left = static_cast<std::int64_t>(items.size()) - ran;
  const bool cut_short =
      options.fail_fast && left > 0 &&
      std::any_of(slots.begin(), slots.end(), [](const Slot& s) { return s.differs(); });
  for (const Scene* scene : inputs)
    for (const Op op : options.ops)
      for (std::size_t b = 0; b < backends.size(); ++b) {
        if (scene == nullptr && options.level == 0 && !options.only_case) continue;
        if (!asked(scene, *backends[b])) continue;
        RowOfItems row(op, *backends[b], scene == nullptr ? "generated" : scene->name);
        int kept = 0;
        bool listed = options.shard.parts == 1;  // a part need not have items of every row
        for (std::size_t i = 0; i < items.size(); ++i) {
          if (items[i].op != op || items[i].scene != scene) continue;
          listed = true;
          if (!slots[i].ran()) continue;
          const Judged& judged = slots[i].judged[b];
          row.add(slots[i], judged);
          if (judged.outcome != Outcome::Different) continue;
          equal = false;
          if (kept++ < options.kept_failures)
            report.failures.push_back(failure_of(items[i], judged, reference, *backends[b],
                                                 options.seed,
                                                 kept == 1 ? options.shrink_tries : 0));
        }
        if (!listed) continue;
        for (auto& fault : row.faults(options, scene == nullptr, cut_short))
          result.faults.push_back(std::move(fault));
        report.rows.push_back(row.row());
      }
  if (left > 0)
    report.notes.push_back(
        fmt::format("NOT TESTED: {} of {} cases: {}", left, items.size(),
                    cut_short ? "one differed, and was to be the last (--fail-fast)"
                              : fmt::format("{} s were over", options.seconds.value_or(0))));
  if (options.shard.parts > 1)
    report.notes.push_back(
        fmt::format("part {} of {} of a sweep: it promises no class of cases, their union does",
                    options.shard.part, options.shard.parts));
  if (report.rows.empty())
    result.faults.push_back("no generated cases and no input: nothing to do");
  for (const auto& fault : result.faults) report.notes.push_back("FAILED: " + fault);
  report.seconds = seconds_since(start);
  result.ok = equal && result.faults.empty();
  return result;
}

}  // namespace leafproof::oracle
