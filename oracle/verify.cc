// Work items (a generated case, or a pass on a scene) run on a few threads, each into its own slot;
// the slots are added up in order, some thousands at a time, so that the report depends neither on
// the threads nor on how a sweep was cut into parts.
#include "oracle/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>

#include "oracle/generate.h"
#include "oracle/judge.h"
#include "oracle/layout_view.h"
#include "oracle/ledger.h"
#include "oracle/report_parts.h"
#include "oracle/sequence.h"
#include "oracle/smallest.h"
#include "oracle/tally.h"

namespace leafproof::oracle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kTriesOfHangs = 8;  // of a backend that uses its whole time for each

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One case to be asked of every backend.
struct Item {
  Op op;
  std::uint64_t number = 0;      // of a generated case
  const Scene* scene = nullptr;  // or a pass on a scene
  const ScenePass* pass = nullptr;
  const Case* listed = nullptr;  // or a case that was given
  std::int64_t place = 0;        // among all items of the sweep
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
  if (item.listed != nullptr) return *item.listed;
  if (item.pass == nullptr) return generate(item.op, seed, item.number);
  Case question = item.pass->make(item.scene->batch);
  question.id = item.pass->name + " on " + item.scene->name;
  question.comment = "real input";
  return question;
}

/// Every third generated case is asked right after another question, which differs from it in one
/// thing; all things that it has take turns. Not the first cases: what is wrong by itself is shown
/// by one that is asked alone.
std::optional<Change> asked_after(const Item& item, const Case& question, bool sequences) {
  constexpr std::uint64_t kOneIn = 3, kFirst = 30;
  if (!sequences || item.pass != nullptr || item.listed != nullptr) return {};
  if (item.number < kFirst || item.number % kOneIn != 0) return {};
  std::vector<Change> possible;
  for (const Change change : changes())
    if (has(question, change)) possible.push_back(change);
  if (possible.empty()) return {};
  return possible[item.number / kOneIn % possible.size()];
}

Slot run(const Item& item, const VerifyOptions& options, const Backend& reference,
         const std::vector<const Backend*>& backends) {
  const Case question = question_of(item, options.seed);
  const std::optional<Change> after = asked_after(item, question, options.sequences);
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
      const AfterAnother candidate(*backend, after);
      const auto start = Clock::now();
      const Answer actual = candidate.answer(question);
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

/// The operations take turns, so that all have their part of a bounded time.
std::vector<SweepCase> generated(const VerifyOptions& options) {
  const auto cases_of = [&](Op op) -> std::int64_t {
    if (options.only_case) return 1;
    if (options.cases) return *options.cases;
    return options.level == 0 ? 0 : cases_of_level(op, options.level);
  };
  std::vector<SweepCase> cases;
  std::int64_t most = 0;
  for (const Op op : options.ops) most = std::max(most, cases_of(op));
  for (std::int64_t i = 0; i < most; ++i)
    for (const Op op : options.ops)
      if (i < cases_of(op))
        cases.push_back(
            {cases.size(), op, options.only_case.value_or(static_cast<std::uint64_t>(i))});
  return cases;
}

/// Those of the part: of all items every so-manieth.
std::vector<Item> items_of(const std::vector<Scene>& scenes, const VerifyOptions& options) {
  std::vector<Item> items;
  std::int64_t place = 0;  // among all
  const auto add = [&](const Item& item) {
    if (place % options.shard.parts == options.shard.part - 1) {
      items.push_back(item);
      items.back().place = place;
    }
    ++place;
  };
  // The long ones first, so that the threads end together.
  for (const Scene& scene : scenes)
    for (const ScenePass& pass : scene_passes())
      if (std::find(options.ops.begin(), options.ops.end(), pass.op) != options.ops.end())
        add({.op = pass.op, .scene = &scene, .pass = &pass});
  for (const Case& listed : options.listed) add({.op = listed.op, .listed = &listed});
  if (options.listed.empty())
    for (const SweepCase& c : generated(options)) add({.op = c.op, .number = c.number});
  return items;
}

/// No more than there is work for, and at most four per processor: more only cost memory.
int workers(int asked, std::size_t items) {
  const unsigned most = 4 * std::max(1u, std::thread::hardware_concurrency());
  return static_cast<int>(std::min({static_cast<std::size_t>(asked), items,  //
                                    static_cast<std::size_t>(most)}));
}

/// The items from `begin` on, at most `most` of them: those that there was time for, which are the
/// first. `over` tells whether time is over, `done` is called after each.
std::vector<Slot> run_some(const std::vector<Item>& items, std::size_t begin, std::size_t most,
                           const Backend& reference, const std::vector<const Backend*>& backends,
                           const VerifyOptions& options, const std::function<bool()>& over,
                           const std::function<void()>& done) {
  const std::size_t end = begin + std::min(most, items.size() - begin);
  std::vector<Slot> slots(end - begin);
  std::atomic<std::size_t> next{begin};
  std::exception_ptr failed;
  std::mutex mutex;  // of `done` and `failed`
  const auto work = [&] {
    while (!over()) {  // asked first: what is taken is run
      const std::size_t i = next++;
      if (i >= end) break;
      try {
        slots[i - begin] = run(items[i], options, reference, backends);
        if (options.fail_fast && slots[i - begin].differs()) next = end;
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failed) failed = std::current_exception();
        next = end;
      }
      const std::lock_guard lock(mutex);
      done();
    }
  };
  {
    std::vector<std::jthread> threads;  // joined whatever happens
    try {
      for (int i = 1; i < workers(options.threads, slots.size()); ++i) threads.emplace_back(work);
    } catch (const std::system_error&) {
      // The system gives no more threads: those that there are, and this one, judge all the same.
    }
    work();
  }
  if (failed) std::rethrow_exception(failed);
  while (!slots.empty() && !slots.back().ran()) slots.pop_back();
  return slots;
}

/// The member's voxels on one side of a difference, for the picture; none if they cannot be read.
std::vector<Voxel> voxels_of(const Answer& answer, std::int64_t member) {
  try {
    const auto* buffer = std::get_if<GridBuffer>(&answer);
    const auto* layout = std::get_if<Layout>(&answer);
    if (const auto* voxels = std::get_if<VoxelsAnswer>(&answer)) {
      const auto m = static_cast<std::size_t>(std::max<std::int64_t>(0, member));
      return m < voxels->members.size() ? voxels->members[m] : std::vector<Voxel>();
    }
    if (buffer == nullptr && layout == nullptr) return {};
    Batch batch = batch_of(buffer != nullptr ? read_layout(*buffer) : *layout);
    const auto index = static_cast<std::size_t>(std::max<std::int64_t>(0, member));
    if (index < batch.size()) return std::move(batch.members[index]);
  } catch (const std::exception&) {
    // A hostile answer: the verdict already says what is wrong with it.
  }
  return {};
}

std::string replay_of(const Item& item, const Case& question, std::string_view backend,
                      const VerifyOptions& options) {
  if (options.replay) return options.replay(question, item.number);
  if (item.listed != nullptr) return replay_line(question, backend);
  if (item.pass == nullptr)
    return fmt::format("leafproof verify --ops {} --seed {} --case {} --backend {}",
                       to_string(item.op), options.seed, item.number, shell_word(backend));
  const std::string_view input = item.scene->replay;
  return fmt::format("leafproof verify --level 0 --ops {} --backend {}{}{}", to_string(item.op),
                     shell_word(backend), input.empty() ? "" : " ", input);
}

Failure failure_of(const Item& item, const Judged& judged, const Backend& reference,
                   const Backend& backend, const VerifyOptions& options, bool first_of_row) {
  Failure failure;
  const Case question = question_of(item, options.seed);
  failure.operation = to_string(item.op);
  failure.backend = backend.name();
  const std::optional<Change> after = asked_after(item, question, options.sequences);
  const AfterAnother candidate(backend, after);
  failure.case_id = fmt::format(
      "{} ({}{})", question.id, question.comment,
      after ? fmt::format("; asked after the same with another {}", to_string(*after)) : "");
  failure.replay = replay_of(item, question, backend.name(), options);
  failure.verdict = *judged.verdict;
  const auto& first = failure.verdict.first;
  const std::int64_t member = first ? first->member : -1;
  failure.expected_voxels = voxels_of(reference.answer(question), member);
  if (failure.verdict.compared) {
    try {
      failure.actual_voxels = voxels_of(candidate.answer(question), member);
    } catch (const std::exception&) {
      // It threw before, too: the verdict says so.
    }
  }
  std::int64_t tries = first_of_row ? options.shrink_tries : 0;
  if (failure.verdict.hung) tries = std::min(tries, kTriesOfHangs);
  if (tries == 0) return failure;
  failure.smallest = smallest_of(question, reference, backend, tries, after);
  if (!failure.smallest) failure.case_id.append("; ").append(kDidNotComeAgain);
  return failure;
}

bool is_of(const Skip& skip, Op op, std::string_view backend) {
  return skip.op == op &&
         (skip.backend.empty() || skip.backend == backend || skip.backend == short_name(backend));
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
    if (options.listed.empty() &&
        std::find(generated_ops().begin(), generated_ops().end(), op) == generated_ops().end())
      refuse("ops", std::string(to_string(op)), "must be a pass [T] or one of convolution");
}

constexpr Boundary kBoundaries[] = {Boundary::RootTile,    Boundary::Lower,
                                    Boundary::Leaf,        Boundary::NegativeOctant,
                                    Boundary::EmptyMember, Boundary::Range};

void add(const Slot& slot, const Judged& judged, std::int64_t place, RowTally& tally) {
  Row& row = tally.row;
  ++row.cases;
  row.seconds += judged.seconds;
  if (judged.outcome == Outcome::NotImplemented) {
    ++row.not_implemented;
    if (judged.stated_limit || tally.unimplemented++ > 0) return;
    tally.why = fmt::format("{}: {}", slot.case_id, judged.verdict->reason);
    tally.why_at = place;
    return;
  }
  row.members += judged.members;
  row.voxels += judged.voxels;
  for (const Boundary boundary : slot.touched) ++row.touched[boundary];
  for (std::size_t i = 0; i < case_classes().size(); ++i)
    if (case_classes()[i].one_in(tally.op) > 0)
      row.classes[std::string(case_classes()[i].name)] += slot.classes[i];
  if (judged.outcome == Outcome::Equal) {
    ++row.equal;
    if (slot.refused) ++row.refused;
  } else {
    ++row.different;
  }
}

/// What a row leaves to be desired; notes in it what it promised.
std::vector<std::string> faults_of(const Tally& tally, const RowTally& sums, Row& row) {
  std::vector<std::string> faults;
  const Sweep& sweep = tally.sweep;
  const std::string who = fmt::format("{} on {}, {}", row.operation, row.backend, row.input);
  if (std::any_of(sweep.skips.begin(), sweep.skips.end(),
                  [&](const Skip& skip) { return is_of(skip, sums.op, row.backend); }))
    return faults;
  if (sums.unimplemented > 0)
    faults.push_back(
        fmt::format("{}: {} of {} cases not implemented and not told to skip them ({})", who,
                    sums.unimplemented, row.cases, sums.why));
  // Of a backend with a stated limit only the rest is promised.
  const bool limited = row.not_implemented > sums.unimplemented;
  const std::int64_t compared = row.equal + row.different;
  if (tally.cut_short) return faults;  // this row may lack cases
  if (compared == 0 && sums.unimplemented == 0 && (sums.generated || !limited))
    faults.push_back(who + ": nothing was compared");
  if (!sums.generated || sweep.only_case || tally.shard.parts > 1 || limited || compared == 0)
    return faults;
  const auto promise = [&](std::string_view name, bool reached) {
    if (!reached) faults.push_back(fmt::format("{}: no case reached the class \"{}\"", who, name));
  };
  for (const Boundary boundary : kBoundaries)
    promise(to_string(boundary), row.touched.contains(boundary));
  const Classes classes = promised(sums.op, row.cases);
  for (std::size_t i = 0; i < case_classes().size(); ++i) {
    if (!classes[i]) continue;
    row.promised.emplace_back(case_classes()[i].name);
    promise(row.promised.back(), row.classes[row.promised.back()] > 0);
  }
  return faults;
}

/// Which input it is, as far as another one is unlikely to be taken for it.
std::string identity_of(const Scene& scene) {
  std::uint64_t hash = 0xcbf29ce484222325u, voxels = 0;  // FNV-1a, of 64 bits
  const auto mix = [&](std::int64_t n) {
    for (int shift = 0; shift < 64; shift += 8)
      hash = (hash ^ ((static_cast<std::uint64_t>(n) >> shift) & 255u)) * 0x100000001b3u;
  };
  for (const auto& member : scene.batch.members) {
    mix(static_cast<std::int64_t>(member.size()));
    voxels += member.size();
    for (const Voxel& v : member)
      for (const std::int32_t c : {v.x, v.y, v.z}) mix(c);
  }
  return fmt::format("{}: {} voxels, {:016x}", scene.name, voxels, hash);
}

/// The rows of a sweep, and where that of an item on a backend (by place) is.
struct Rows {
  std::vector<RowTally> sums;
  std::map<std::tuple<const Scene*, Op, std::size_t>, std::size_t> places;

  Rows(const std::vector<const Backend*>& backends, const std::vector<Scene>& scenes,
       const VerifyOptions& options) {
    std::vector<const Scene*> inputs;
    if (options.level > 0 || options.only_case || !options.listed.empty())
      inputs.push_back(nullptr);  // generated or listed cases
    for (const Scene& scene : scenes) inputs.push_back(&scene);
    for (const Scene* scene : inputs)
      for (const Op op : options.ops)
        for (std::size_t b = 0; b < backends.size(); ++b) {
          if (!asked(scene, *backends[b])) continue;
          if (!places.try_emplace({scene, op, b}, sums.size()).second) continue;
          RowTally& tally = sums.emplace_back();
          tally.op = op;
          tally.generated = scene == nullptr && options.listed.empty();
          tally.row.operation = to_string(op);
          tally.row.backend = backends[b]->name();
          tally.row.input = scene != nullptr         ? scene->name
                            : options.listed.empty() ? "generated"
                                                     : options.listed_name;
        }
  }
  std::size_t of(const Item& item, std::size_t backend) const {
    return places.at({item.scene, item.op, backend});
  }
};

}  // namespace

std::vector<SweepCase> cases_of_sweep(const VerifyOptions& options) {
  std::vector<SweepCase> part;
  for (const SweepCase& c : generated(options))
    if (static_cast<std::int64_t>(c.place) % options.shard.parts == options.shard.part - 1)
      part.push_back(c);
  return part;
}

std::vector<Skip> read_skips(std::string_view text, std::string_view name) {
  std::vector<Skip> skips;
  std::size_t number = 0;
  constexpr std::string_view space = " \t\r";
  const auto trim = [&](std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(space), line.size()));
    line.remove_suffix(line.size() - 1 - std::min(line.find_last_not_of(space), line.size() - 1));
  };
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    const auto refuse = [&](std::string_view value, const char* reason) {
      throw Error(ErrorKind::Corrupt, {.operation = "read skips",
                                       .argument = fmt::format("{}, line {}", name, number),
                                       .value = std::string(value),
                                       .reason = reason,
                                       .member = {},
                                       .row = {}});
    };
    line = line.substr(0, line.find('#'));
    trim(line);
    if (line.empty()) continue;
    const std::string_view word = line.substr(0, line.find_first_of(space));
    const auto op = parse_op(word);
    if (!op) refuse(word, "must be an operation");
    line.remove_prefix(word.size());
    trim(line);
    Skip skip{*op, {}, {}};
    if (line.starts_with('[')) {
      const std::size_t end = line.find(']');
      if (end == line.npos || end == 1) refuse(line, "must be a backend in brackets, and a reason");
      skip.backend = line.substr(1, end - 1);
      line.remove_prefix(end + 1);
      trim(line);
    }
    if (line.empty()) refuse(word, "must have a reason");
    skip.reason = line;
    skips.push_back(std::move(skip));
  }
  return skips;
}

bool is_stated_limit(std::string_view backend, const NotImplemented& answer) {
  return backend == "brute_force" && answer.reason.find("does not suffice") != std::string::npos;
}

Sweep sweep_of(const std::vector<const Backend*>& backends, const std::vector<Scene>& scenes,
               const VerifyOptions& options) {
  check(options, backends);
  Sweep sweep;
  sweep.version = options.version;
  sweep.notes = options.notes;
  sweep.ops = options.ops;
  for (const Backend* backend : backends) sweep.backends.emplace_back(backend->name());
  for (const Scene& scene : scenes) sweep.inputs.push_back(identity_of(scene));
  sweep.level = options.level;
  sweep.seed = options.seed;
  sweep.cases = options.cases;
  sweep.only_case = options.only_case;
  sweep.skips = options.skips;
  sweep.shrink_tries = options.shrink_tries;
  sweep.kept_failures = options.kept_failures;
  return sweep;
}

Tally judge_part(const Backend& reference, const std::vector<const Backend*>& backends,
                 const std::vector<Scene>& scenes, const VerifyOptions& options,
                 std::optional<Tally> before, const std::function<void(const Tally&)>& keep) {
  constexpr std::size_t kAtOnce = 4096;
  const auto start = Clock::now();
  Tally tally;
  tally.sweep = sweep_of(backends, scenes, options);
  tally.shard = options.shard;
  const std::vector<Item> items = items_of(scenes, options);
  tally.items = static_cast<std::int64_t>(items.size());

  Rows rows(backends, scenes, options);
  for (const Item& item : items)
    for (std::size_t b = 0; b < backends.size(); ++b)
      if (asked(item.scene, *backends[b])) ++rows.sums[rows.of(item, b)].items;
  tally.rows = std::move(rows.sums);
  if (before) {
    const std::string other = difference_of(tally.sweep, before->sweep);
    const bool same_part = before->shard.part == tally.shard.part &&
                           before->shard.parts == tally.shard.parts &&
                           before->items == tally.items && before->rows.size() == tally.rows.size();
    if (!other.empty() || !same_part)
      throw Error(ErrorKind::InvalidArgument,
                  {.operation = "verify",
                   .argument = "result",
                   .value = same_part ? other : "another part",
                   .reason = "what was kept of this part is of another sweep",
                   .member = {},
                   .row = {}});
    tally = *std::move(before);
    tally.limit.reset();
  }

  const auto clock = options.clock ? options.clock : [] {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  };
  const double begun = options.seconds ? clock() : 0;
  const auto over = [&] { return options.seconds && clock() - begun >= *options.seconds; };
  std::int64_t shown = tally.done;
  const auto progress = [&] {
    if (options.progress) options.progress(++shown, tally.items);
  };
  const double earlier = tally.seconds;
  while (!tally.complete()) {
    const auto begin = static_cast<std::size_t>(tally.done);
    const auto slots =
        run_some(items, begin, kAtOnce, reference, backends, options, over, progress);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const Item& item = items[begin + i];
      for (std::size_t b = 0; b < backends.size(); ++b) {
        if (!asked(item.scene, *backends[b])) continue;
        RowTally& sums = tally.rows[rows.of(item, b)];
        const Judged& judged = slots[i].judged[b];
        add(slots[i], judged, item.place, sums);
        if (judged.outcome != Outcome::Different ||
            static_cast<int>(sums.failures.size()) >= options.kept_failures)
          continue;
        sums.failures.emplace_back(item.place, failure_of(item, judged, reference, *backends[b],
                                                          options, sums.failures.empty()));
      }
    }
    tally.done += static_cast<std::int64_t>(slots.size());
    tally.seconds = earlier + seconds_since(start);
    tally.cut_short =
        options.fail_fast && !tally.complete() &&
        std::any_of(slots.begin(), slots.end(), [](const Slot& s) { return s.differs(); });
    const bool stopped = tally.cut_short || (!tally.complete() && over());
    if (stopped) tally.limit = options.seconds;
    if (keep) keep(tally);
    if (stopped) break;
  }
  return tally;
}

Verification conclude(const Tally& tally) {
  Verification result;
  Report& report = result.report;
  report.version = tally.sweep.version;
  report.seed = tally.sweep.seed;
  report.level = tally.sweep.level;
  report.notes = tally.sweep.notes;
  report.seconds = tally.seconds;
  bool equal = true;
  std::map<const Skip*, bool> skips;  // those that were met: whether something was left out
  for (const RowTally& sums : tally.rows) {
    equal = equal && sums.row.different == 0;
    for (const auto& [place, failure] : sums.failures) report.failures.push_back(failure);
    // A part need not have items of every row.
    if (tally.shard.parts > 1 && sums.items == 0) continue;
    Row row = sums.row;
    for (auto& fault : faults_of(tally, sums, row)) result.faults.push_back(std::move(fault));
    for (const Skip& skip : tally.sweep.skips)
      if (is_of(skip, sums.op, row.backend)) skips[&skip] |= sums.unimplemented > 0;
    report.rows.push_back(std::move(row));
  }
  if (!tally.complete())
    report.notes.push_back(
        fmt::format("NOT TESTED: {} of {} cases: {}", tally.items - tally.done, tally.items,
                    tally.cut_short ? "one differed, and was to be the last (--fail-fast)"
                                    : fmt::format("{} s were over", tally.limit.value_or(0))));
  // Only a whole sweep shows what is not needed.
  const bool whole = tally.complete() && tally.shard.parts == 1 && !tally.sweep.only_case &&
                     std::any_of(tally.rows.begin(), tally.rows.end(),
                                 [](const RowTally& sums) { return sums.generated; });
  if (whole)
    for (const auto& [skip, used] : skips)
      if (!used && !skip->reason.empty())
        result.faults.push_back(fmt::format(
            "the skip of {}{} ({}) is not needed: nothing was left out", to_string(skip->op),
            skip->backend.empty() ? "" : " on " + skip->backend, skip->reason));
  if (tally.shard.parts > 1)
    report.notes.push_back(
        fmt::format("part {} of {} of a sweep: it promises no class of cases, their union does",
                    tally.shard.part, tally.shard.parts));
  if (report.rows.empty())
    result.faults.push_back("no generated cases and no input: nothing to do");
  for (const auto& fault : result.faults) report.notes.push_back("FAILED: " + fault);
  result.ok = equal && result.faults.empty();
  return result;
}

Verification verify(const Backend& reference, const std::vector<const Backend*>& backends,
                    const std::vector<Scene>& scenes, const VerifyOptions& options) {
  return conclude(judge_part(reference, backends, scenes, options));
}

}  // namespace leafproof::oracle
