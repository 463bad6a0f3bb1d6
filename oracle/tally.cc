// Parts of a sweep added up. See tally.h.
#include "oracle/tally.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace leafproof::oracle {
namespace {

[[noreturn]] void refuse(std::string value, std::string reason) {
  throw Error(ErrorKind::InvalidArgument, {.operation = "merge",
                                           .argument = "shard",
                                           .value = std::move(value),
                                           .reason = std::move(reason),
                                           .member = {},
                                           .row = {}});
}

std::string text_of(const VerifyOptions::Shard& shard) {
  return fmt::format("{}/{}", shard.part, shard.parts);
}

std::string names_of(const std::vector<Op>& ops) {
  std::vector<std::string_view> names;
  for (const Op op : ops) names.push_back(to_string(op));
  return fmt::format("{}", fmt::join(names, ","));
}

std::string names_of(const std::vector<Skip>& skips) {
  std::vector<std::string> names;
  for (const Skip& skip : skips)
    names.push_back(std::string(to_string(skip.op))
                        .append("@")
                        .append(skip.backend)
                        .append(" ")
                        .append(skip.reason));
  return fmt::format("{}", fmt::join(names, ","));
}

/// The parts of one row, in any order.
void add(RowTally& sum, RowTally part, int kept) {
  Row &a = sum.row, &b = part.row;
  sum.items += part.items;
  a.cases += b.cases;
  a.members += b.members;
  a.voxels += b.voxels;
  a.equal += b.equal;
  a.different += b.different;
  a.not_implemented += b.not_implemented;
  a.refused += b.refused;
  a.seconds += b.seconds;
  for (const auto& [boundary, cases] : b.touched) a.touched[boundary] += cases;
  for (const auto& [name, cases] : b.classes) a.classes[name] += cases;
  sum.unimplemented += part.unimplemented;
  if (part.why_at >= 0 && (sum.why_at < 0 || part.why_at < sum.why_at)) {
    sum.why = std::move(part.why);
    sum.why_at = part.why_at;
  }
  for (auto& failure : part.failures) sum.failures.push_back(std::move(failure));
  std::sort(sum.failures.begin(), sum.failures.end(),
            [](const auto& x, const auto& y) { return x.first < y.first; });
  if (sum.failures.size() > static_cast<std::size_t>(kept))
    sum.failures.resize(static_cast<std::size_t>(kept));
  // Each part made its first one small; of the whole it is the first of all.
  for (std::size_t i = 1; i < sum.failures.size(); ++i) sum.failures[i].second.smallest.reset();
}

}  // namespace

std::string difference_of(const Sweep& a, const Sweep& b) {
  const auto differ = [](std::string_view what, const auto& x, const auto& y) {
    return x == y ? std::string() : fmt::format("{}: {} and {}", what, x, y);
  };
  const auto number = [](const auto& n) { return n ? std::to_string(*n) : std::string("all"); };
  const auto joined = [](const std::vector<std::string>& texts) {
    return texts.empty() ? std::string("none") : fmt::format("{}", fmt::join(texts, "; "));
  };
  for (const std::string& text : {
           differ("program version", a.version, b.version),
           differ("seed", a.seed, b.seed),
           differ("level", a.level, b.level),
           differ("cases", number(a.cases), number(b.cases)),
           differ("case", number(a.only_case), number(b.only_case)),
           differ("operations", names_of(a.ops), names_of(b.ops)),
           differ("backends", joined(a.backends), joined(b.backends)),
           differ("real input", joined(a.inputs), joined(b.inputs)),
           differ("skips", names_of(a.skips), names_of(b.skips)),
           differ("tries", a.shrink_tries, b.shrink_tries),
           differ("kept failures", a.kept_failures, b.kept_failures),
       })
    if (!text.empty()) return text;
  return {};
}

Tally merged(std::vector<Tally> parts) {
  if (parts.empty()) refuse("none", "there is nothing to merge");
  std::sort(parts.begin(), parts.end(),
            [](const Tally& a, const Tally& b) { return a.shard.part < b.shard.part; });
  Tally whole = std::move(parts.front());
  const std::int64_t all = whole.shard.parts;
  std::vector<std::int64_t> given{whole.shard.part};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Tally& part = parts[i];
    const std::string difference = difference_of(whole.sweep, part.sweep);
    if (!difference.empty()) refuse(text_of(part.shard), "is of another sweep, " + difference);
    if (part.shard.parts != all)
      refuse(text_of(part.shard), fmt::format("the others are of {} parts", all));
    if (part.shard.part == given.back()) refuse(text_of(part.shard), "is given twice");
    given.push_back(part.shard.part);
    const bool same_rows = std::equal(whole.rows.begin(), whole.rows.end(), part.rows.begin(),
                                      part.rows.end(), [](const RowTally& a, const RowTally& b) {
                                        return a.row.operation == b.row.operation &&
                                               a.row.backend == b.row.backend &&
                                               a.row.input == b.row.input;
                                      });
    if (!same_rows) refuse(text_of(part.shard), "has other rows than the others");
    whole.items += part.items;
    whole.done += part.done;
    whole.seconds += part.seconds;
    if (part.limit) whole.limit = std::max(whole.limit.value_or(0), *part.limit);
    for (std::size_t r = 0; r < whole.rows.size(); ++r)
      add(whole.rows[r], std::move(part.rows[r]), whole.sweep.kept_failures);
  }
  const std::int64_t absent = all - static_cast<std::int64_t>(given.size());
  if (absent > 0) {
    std::vector<std::string> first;
    std::size_t next = 0;
    for (std::int64_t part = 1; part <= all && first.size() < 20; ++part) {
      if (next < given.size() && given[next] == part)
        ++next;
      else
        first.push_back(std::to_string(part));
    }
    refuse(fmt::format("{}", fmt::join(first, ", ")),
           fmt::format("{} of {} parts are missing", absent, all));
  }
  whole.shard = {1, 1};
  return whole;
}

}  // namespace leafproof::oracle
