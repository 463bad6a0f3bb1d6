// Maps tap by tap. First what makes a map unreadable, then the pairs.
#include "oracle/compare_conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "oracle/compare_numbers.h"

namespace leafproof::oracle {
namespace {

using reference::DenseMap;
using reference::KernelMap;
using Pair = std::pair<std::int64_t, std::int64_t>;  // target row, source row

constexpr std::size_t kTapsInWindow = 8;

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

Triple tap_at(const Triple& size, std::int64_t number) {
  const std::int64_t yz = std::max<std::int64_t>(1, size[1] * size[2]);
  const std::int64_t z = std::max<std::int64_t>(1, size[2]);
  return {number / yz, number % yz / z, number % z};
}

std::string name_of_tap(const Triple& size, std::int64_t number) {
  const Triple t = tap_at(size, number);
  return fmt::format("tap {} ({},{},{})", number, t[0], t[1], t[2]);
}

/// [E-2] False where the offsets delimit nothing that can be followed; says so.
bool offsets_hold(const KernelMap& map, std::size_t taps, const Triple& size, Verdict& verdict) {
  const auto fail = [&](std::string what, std::string expected, std::string actual) {
    add_difference(verdict, {.clause = "M-2",
                             .what = std::move(what),
                             .expected = std::move(expected),
                             .actual = std::move(actual)});
    return false;
  };
  if (map.offsets.size() != taps + 1)
    return fail("the number of offsets", fmt::format("{}: one more than taps", taps + 1),
                fmt::format("{}", map.offsets.size()));
  if (map.gather.size() != map.scatter.size())
    return fail("the lengths of gather and scatter", "equal",
                fmt::format("{} and {}", map.gather.size(), map.scatter.size()));
  if (map.offsets.front() != 0)
    return fail("the first offset", "0", fmt::format("{}", map.offsets.front()));
  for (std::size_t t = 0; t < taps; ++t)
    if (map.offsets[t + 1] < map.offsets[t])
      return fail("decreasing offsets of " + name_of_tap(size, static_cast<std::int64_t>(t)),
                  fmt::format("at least {}", map.offsets[t]),
                  fmt::format("{}", map.offsets[t + 1]));
  if (map.offsets.back() != static_cast<std::int64_t>(map.gather.size()))
    return fail("the last offset", fmt::format("{}: the number of pairs", map.gather.size()),
                fmt::format("{}", map.offsets.back()));
  return true;
}

/// Both sides of a comparison of maps: what the reference says of rows.
struct Context {
  const KernelMapAnswer& expected;
  const std::vector<std::int64_t>&sources, &targets;  // the candidate's rows, renumbered
  Profile profile;
  Verdict& verdict;

  std::string show(const Pair& pair) const {
    return fmt::format("source {} -> target {}", show_row(expected.source_rows, pair.second),
                       show_row(expected.target_rows, pair.first));
  }
};

class Tap {
 public:
  Tap(const Context& context, std::int64_t number)
      : context_(context),
        tally_{.tap = number, .at = tap_at(context.expected.kernel_size, number)} {}

  void judge(const KernelMap& candidate) {
    const KernelMap& reference = context_.expected.map;
    for (auto i = reference.offsets[index(tally_.tap)];
         i < reference.offsets[index(tally_.tap) + 1]; ++i)
      want_.emplace_back(reference.scatter[index(i)], reference.gather[index(i)]);
    for (auto i = candidate.offsets[index(tally_.tap)];
         i < candidate.offsets[index(tally_.tap) + 1]; ++i)
      take(candidate.gather[index(i)], candidate.scatter[index(i)], i);
    tally_.expected = static_cast<std::int64_t>(want_.size());
    const auto given = have_;
    std::sort(want_.begin(), want_.end());
    std::sort(have_.begin(), have_.end());
    merge();
    if (context_.profile == Profile::Bytes && tally_.missing + tally_.extra + tally_.repeated == 0)
      judge_order(given);
    finish();
  }

 private:
  // A pair of the candidate; rows that it does not have are named at once.
  void take(std::int64_t gather, std::int64_t scatter, std::int64_t position) {
    ++tally_.actual;
    const auto outside = [&](std::int64_t row, const std::vector<std::int64_t>& rows) {
      return row < 0 || row >= static_cast<std::int64_t>(rows.size());
    };
    const bool source = outside(gather, context_.sources);
    if (!source && !outside(scatter, context_.targets)) {
      have_.emplace_back(context_.targets[index(scatter)], context_.sources[index(gather)]);
      return;
    }
    ++tally_.extra;
    if (!is_first()) return;
    const auto& rows = source ? context_.sources : context_.targets;
    const std::string given = fmt::format("{}, in pair {}", source ? gather : scatter, position);
    note({.clause = "E-2",
          .what = fmt::format("a {} row out of range", source ? "source" : "target"),
          .expected =
              rows.empty() ? "no row of it: it has none" : fmt::format("0 ... {}", rows.size() - 1),
          .actual = given},
         given);
  }

  void merge() {
    std::size_t w = 0, h = 0;
    while (w < want_.size() || h < have_.size()) {
      const bool wanted = w < want_.size() && (h == have_.size() || want_[w] <= have_[h]);
      const Pair pair = wanted ? want_[w] : have_[h];
      const std::size_t from = h;
      while (h < have_.size() && have_[h] == pair) ++h;
      const auto times = static_cast<std::int64_t>(h - from);
      if (wanted) ++w;
      if (wanted && times == 0) {
        ++tally_.missing;
        if (is_first()) note_pair("a missing pair", pair, context_.show(pair), beside(pair, have_));
      } else if (!wanted) {
        ++tally_.extra;
        tally_.repeated += times - 1;
        if (is_first()) note_pair("an extra pair", pair, beside(pair, want_), context_.show(pair));
      } else if (times > 1) {
        tally_.repeated += times - 1;
        if (is_first()) note_pair("a repeated pair", pair, "once", fmt::format("{} times", times));
      }
    }
  }

  // What our own builder owes: ascending target rows [M-2]; of a transposed map also the order of
  // the forward map whose columns are swapped [M-1], which is ascending source rows.
  void judge_order(const std::vector<Pair>& given) {
    const auto by_source = [](const Pair& a, const Pair& b) { return a.second < b.second; };
    if (context_.expected.direction == Direction::Transposed &&
        std::is_sorted(given.begin(), given.end(), by_source))
      return;
    for (std::size_t i = 0; i < want_.size(); ++i)
      if (given[i] != want_[i]) {
        if (is_first())
          note_pair("the order of a tap's pairs", want_[i], context_.show(want_[i]),
                    context_.show(given[i]));
        return;
      }
  }

  /// What the other side has of this target row, else "none".
  std::string beside(const Pair& pair, const std::vector<Pair>& others) const {
    const auto at = std::lower_bound(others.begin(), others.end(), Pair{pair.first, INT64_MIN});
    if (at == others.end() || at->first != pair.first) return "none";
    return context_.show(*at);
  }

  /// Of this tap; only the first difference is put in words.
  bool is_first() { return differences_++ == 0; }

  void note_pair(const char* what, const Pair& pair, std::string expected, std::string actual) {
    const auto& rows = context_.expected.target_rows;
    Difference d{.clause = "M-3",
                 .what = what,
                 .member = member_of(rows, pair.first),
                 .expected = std::move(expected),
                 .actual = std::move(actual)};
    if (d.member >= 0) d.coordinate = (*rows)[index(pair.first)].voxel;
    note(std::move(d), context_.show(pair));
  }

  /// `shown`: what the difference is about.
  void note(Difference d, const std::string& shown) {
    d.path = name_of_tap(context_.expected.kernel_size, tally_.tap);
    tally_.first = d.what + ": " + shown;
    if (!context_.verdict.first) context_.verdict.first = std::move(d);
  }

  void finish() {
    Verdict& v = context_.verdict;
    v.missing += tally_.missing;
    v.extra += tally_.extra;
    v.repeated += tally_.repeated;
    v.differences += tally_.missing + tally_.extra + tally_.repeated;
    if (differences_ == 0) return;
    if (tally_.missing + tally_.extra + tally_.repeated == 0) ++v.differences;  // the order alone
    v.taps.push_back(tally_);
  }

  const Context& context_;
  TapTally tally_;
  std::vector<Pair> want_, have_;
  std::int64_t differences_ = 0;
};

/// The taps that differ, as lines beside the first difference.
void add_taps_to_window(const Triple& size, Verdict& verdict) {
  if (verdict.taps.empty() || !verdict.first) return;
  auto& window = verdict.first->window;
  for (std::size_t i = 0; i < std::min(verdict.taps.size(), kTapsInWindow); ++i) {
    const TapTally& t = verdict.taps[i];
    window.push_back(fmt::format(
        "{} {:<18} {:>8} pairs expected, {:>8} actual: {} missing, {} extra, {} repeated",
        i == 0 ? ">" : " ", name_of_tap(size, t.tap), t.expected, t.actual, t.missing, t.extra,
        t.repeated));
    window.push_back("    " + t.first);
  }
  if (verdict.taps.size() > kTapsInWindow)
    window.push_back(
        fmt::format("  and {} more taps that differ", verdict.taps.size() - kTapsInWindow));
}

Answer layout_answer(const std::variant<Layout, GridBuffer>& target) {
  return std::visit([](const auto& layout) -> Answer { return layout; }, target);
}

/// The complete target that both sides generated; what differs there explains all else.
template <class Map>
void compare_targets(const Map& expected, const Map& actual, Profile profile, Verdict& verdict) {
  if (!expected.target || actual.target_rows) return;  // rows of its own are judged as rows
  if (!actual.target) {
    if (profile < Profile::Layout) return;
    add_difference(verdict, {.clause = "K-6",
                             .what = "the complete target",
                             .expected = "generated",
                             .actual = "none"});
    return;
  }
  const bool bytes =
      profile == Profile::Bytes && std::holds_alternative<GridBuffer>(*actual.target);
  const Verdict of_target = compare(layout_answer(*expected.target), layout_answer(*actual.target),
                                    bytes ? Profile::Bytes : std::min(profile, Profile::Layout));
  if (!of_target.first) return;
  Difference first = *of_target.first;
  first.what = "of the target: " + first.what;
  add_difference(verdict, std::move(first), of_target.differences);
}

template <class Map>
std::int64_t members_of(const Map& expected) {
  if (!expected.source_rows || expected.source_rows->empty()) return 0;
  return expected.source_rows->back().member + 1;
}

void compare_maps_of(const KernelMapAnswer& expected, const KernelMapAnswer& actual,
                     Profile profile, Verdict& verdict) {
  verdict.counted = Counted::Pairs;
  verdict.members = members_of(expected);
  compare_targets(expected, actual, profile, verdict);
  const auto sources = renumbering(expected.source_rows, actual.source_rows,
                                   expected.map.source_rows, "source", verdict);
  const auto targets = renumbering(expected.target_rows, actual.target_rows,
                                   expected.map.target_rows, "target", verdict);
  const std::size_t taps = expected.map.offsets.size() - 1;
  if (!sources || !targets || !offsets_hold(actual.map, taps, expected.kernel_size, verdict)) {
    verdict.compared = false;
    return;
  }
  verdict.voxels = static_cast<std::int64_t>(expected.map.gather.size());
  const Context context{expected, *sources, *targets, profile, verdict};
  for (std::size_t t = 0; t < taps; ++t)
    Tap(context, static_cast<std::int64_t>(t)).judge(actual.map);
  add_taps_to_window(expected.kernel_size, verdict);
  const auto cover = [&](const char* side, const auto& want, const auto& have, std::int64_t rows) {
    verdict.coverage.push_back({side, degree_histogram(want, rows), degree_histogram(have, rows)});
  };
  cover("source", expected.map.gather, actual.map.gather, expected.map.source_rows);
  cover("target", expected.map.scatter, actual.map.scatter, expected.map.target_rows);
}

/// The dense form, read as the pairs that it holds: what is not -1.
KernelMapAnswer sparse(const DenseMapAnswer& dense, std::int64_t taps, std::int64_t rows) {
  KernelMapAnswer answer{{},           dense.source_rows, dense.target_rows,
                         dense.target, dense.kernel_size, Direction::Forward};
  for (std::int64_t t = 0; t < taps; ++t) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t source = dense.map.index[index(t * rows + row)];
      if (source == -1) continue;
      answer.map.gather.push_back(source);
      answer.map.scatter.push_back(row);
    }
    answer.map.offsets.push_back(static_cast<std::int64_t>(answer.map.gather.size()));
  }
  answer.map.target_rows = rows;
  answer.map.source_rows =
      dense.source_rows ? static_cast<std::int64_t>(dense.source_rows->size()) : rows;
  return answer;
}

void compare_dense(const DenseMapAnswer& expected, const DenseMapAnswer& actual, Profile profile,
                   Verdict& verdict) {
  const DenseMap &want = expected.map, &have = actual.map;
  verdict.counted = Counted::Pairs;
  const auto size = static_cast<std::int64_t>(have.index.size());
  if (have.taps != want.taps || have.rows != want.rows || size != want.taps * want.rows) {
    verdict.compared = false;
    add_difference(verdict,
                   {.clause = "M-4",
                    .what = "the shape of the map",
                    .expected = fmt::format("[{}][{}]", want.taps, want.rows),
                    .actual = fmt::format("[{}][{}], {} numbers", have.taps, have.rows, size)});
    return;
  }
  compare_maps_of(sparse(expected, want.taps, want.rows), sparse(actual, want.taps, want.rows),
                  profile == Profile::Bytes ? Profile::Layout : profile, verdict);
}

}  // namespace

std::vector<std::int64_t> degree_histogram(const std::vector<std::int64_t>& column,
                                           std::int64_t rows) {
  std::vector<std::size_t> degrees(index(rows));
  for (const std::int64_t row : column)
    if (row >= 0 && row < rows) ++degrees[index(row)];
  std::vector<std::int64_t> histogram;
  for (const std::size_t degree : degrees) {
    if (degree >= histogram.size()) histogram.resize(degree + 1);
    ++histogram[degree];
  }
  return histogram;
}

bool is_of_convolution(const Answer& answer) {
  return std::holds_alternative<KernelMapAnswer>(answer) ||
         std::holds_alternative<DenseMapAnswer>(answer) ||
         std::holds_alternative<NumbersAnswer>(answer) ||
         std::holds_alternative<GradientsAnswer>(answer);
}

void compare_convolution(const Answer& reference, const Answer& candidate, Profile profile,
                         Verdict& verdict) {
  if (const auto* map = std::get_if<KernelMapAnswer>(&reference))
    return compare_maps_of(*map, std::get<KernelMapAnswer>(candidate), profile, verdict);
  if (const auto* dense = std::get_if<DenseMapAnswer>(&reference))
    return compare_dense(*dense, std::get<DenseMapAnswer>(candidate), profile, verdict);
  if (const auto* numbers = std::get_if<NumbersAnswer>(&reference))
    return compare_numbers(*numbers, std::get<NumbersAnswer>(candidate), "V-1", "output", verdict);
  const auto& want = std::get<GradientsAnswer>(reference);
  const auto& have = std::get<GradientsAnswer>(candidate);
  compare_numbers(want.features, have.features, "V-2", "grad_features", verdict);
  compare_numbers(want.weights, have.weights, "V-2", "grad_weights", verdict);
  compare_numbers(want.bias, have.bias, "V-2", "grad_bias", verdict);
}

}  // namespace leafproof::oracle
