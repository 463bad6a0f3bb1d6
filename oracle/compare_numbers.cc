// Numbers by the bound of [V-3], and rows put in order [M-7].
#include "oracle/compare_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "reference/numbers.h"

namespace leafproof::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Significant bits, and the largest number.
struct Format {
  int bits;
  double largest;
};
Format format_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::Fp64:
      return {53, std::numeric_limits<double>::max()};
    case Arithmetic::Fp32:
      return {24, std::numeric_limits<float>::max()};
    case Arithmetic::Tf32:
      return {11, std::numeric_limits<float>::max()};
    case Arithmetic::Fp16:
      return {11, 65504};
  }
  return {53, kInfinity};
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

std::string number(double x) {
  return fmt::format("{}", x);
}

}  // namespace

void add_difference(Verdict& verdict, Difference difference, std::int64_t count) {
  verdict.differences += count;
  if (!verdict.first) verdict.first = std::move(difference);
}

std::string_view to_string(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::Fp64:
      return "fp64";
    case Arithmetic::Fp32:
      return "fp32";
    case Arithmetic::Tf32:
      return "tf32";
    case Arithmetic::Fp16:
      return "fp16";
  }
  return "unknown";
}

std::optional<Arithmetic> parse_arithmetic(std::string_view name) {
  for (const Arithmetic a :
       {Arithmetic::Fp64, Arithmetic::Fp32, Arithmetic::Tf32, Arithmetic::Fp16})
    if (name == to_string(a)) return a;
  return {};
}

Judgement judge_number(const reference::Exact& exact, double actual, NumberType type,
                       Arithmetic multiplier, Arithmetic accumulator, double largest_whole) {
  Judgement judgement;
  judgement.wanted = reference::rounded(type, exact.value);
  const Format sums = format_of(accumulator), factors = format_of(multiplier);
  // What can pass the accumulator's largest number on the way may come out as anything: the model
  // of rounding ends there.
  if (type != NumberType::Int32 && !(exact.magnitude <= sums.largest)) {
    judgement.bound = kInfinity;
    judgement.right = true;
    return judgement;
  }
  if (type == NumberType::Int32 || !std::isfinite(exact.value)) {
    // Whole, or a term is NaN or infinite: no rounding has a say in it.
    judgement.right = same(actual, exact.value);
    return judgement;
  }
  if (largest_whole > 0 && largest_whole <= std::ldexp(1.0, factors.bits) &&
      exact.magnitude <= std::ldexp(1.0, sums.bits)) {
    judgement.right = same(actual, judgement.wanted);
    return judgement;
  }
  const auto [u_out, smallest, largest] = reference::precision_of(type);
  const double n = static_cast<double>(exact.terms), u = std::ldexp(1.0, -sums.bits);
  const double gamma = n * u < 1 ? n * u / (1 - n * u) : kInfinity;
  // A multiplier of fewer bits than the type rounds both factors first.
  const double of_factors = std::ldexp(1.0, -factors.bits), v = of_factors > u_out ? of_factors : 0;
  const double summed = (gamma + (2 * v + v * v) * (1 + gamma)) * exact.magnitude;
  judgement.bound = summed + u_out * (std::fabs(exact.value) + summed) + n * smallest;
  const double error = std::fabs((actual - exact.value) - exact.rest);
  const bool overflows = std::fabs(exact.value) + summed > largest;
  judgement.right = error <= judgement.bound ||
                    (overflows && std::isinf(actual) && (actual > 0) == (exact.value > 0));
  return judgement;
}

std::string show_row(const std::optional<RowVoxels>& rows, std::int64_t row) {
  if (!rows || row < 0 || row >= static_cast<std::int64_t>(rows->size()))
    return fmt::format("row {}", row);
  const Voxel v = (*rows)[static_cast<std::size_t>(row)].voxel;
  return fmt::format("row {}, ({},{},{})", row, v.x, v.y, v.z);
}

std::int64_t member_of(const std::optional<RowVoxels>& rows, std::int64_t row) {
  if (!rows || row < 0 || row >= static_cast<std::int64_t>(rows->size())) return -1;
  return (*rows)[static_cast<std::size_t>(row)].member;
}

std::optional<std::vector<std::int64_t>> renumbering(const std::optional<RowVoxels>& reference,
                                                     const std::optional<RowVoxels>& candidate,
                                                     std::int64_t row_count, const char* side,
                                                     Verdict& verdict) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(row_count));
  std::iota(rows.begin(), rows.end(), 0);
  if (!candidate || !reference) return rows;
  using Key = std::tuple<std::int64_t, std::int32_t, std::int32_t, std::int32_t>;
  const auto key = [](const RowVoxel& r) { return Key{r.member, r.voxel.x, r.voxel.y, r.voxel.z}; };
  std::map<Key, std::int64_t> known;
  for (std::size_t i = 0; i < reference->size(); ++i)
    known[key((*reference)[i])] = static_cast<std::int64_t>(i);

  const std::int64_t before = verdict.differences;
  const auto report = [&](const char* what, const RowVoxel& row, std::string expected,
                          std::string actual) {
    add_difference(verdict, {.clause = "M-7",
                             .what = fmt::format("{} {} row", what, side),
                             .member = row.member,
                             .coordinate = row.voxel,
                             .expected = std::move(expected),
                             .actual = std::move(actual)});
  };
  std::vector<bool> met(reference->size());
  rows.clear();
  for (std::size_t i = 0; i < candidate->size(); ++i) {
    const auto at = known.find(key((*candidate)[i]));
    if (at == known.end()) {
      report("an extra", (*candidate)[i], "none", fmt::format("row {}", i));
    } else if (met[static_cast<std::size_t>(at->second)]) {
      report("a repeated", (*candidate)[i], "one row", fmt::format("another, {}", i));
    } else {
      met[static_cast<std::size_t>(at->second)] = true;
      rows.push_back(at->second);
    }
  }
  for (std::size_t i = 0; i < reference->size(); ++i)
    if (!met[i]) report("a missing", (*reference)[i], fmt::format("row {}", i), "none");
  if (verdict.differences > before) return {};
  return rows;
}

void compare_numbers(const NumbersAnswer& expected, const NumbersAnswer& actual, const char* clause,
                     const char* what, Verdict& verdict) {
  verdict.counted = Counted::Numbers;
  const auto& want = expected.array;
  const auto& have = actual.array;
  const auto fail = [&](std::string part, std::string wanted, std::string got) {
    add_difference(verdict, {.clause = clause,
                             .what = fmt::format("{} of {}", part, what),
                             .expected = std::move(wanted),
                             .actual = std::move(got)});
  };
  if (actual.type != expected.type)
    return fail("the type", std::string(to_string(expected.type)),
                std::string(to_string(actual.type)));
  if (want.shape != have.shape)
    return fail("the shape", reference::to_text(want.shape), reference::to_text(have.shape));
  if (have.values.size() != want.values.size())
    return fail("the count of numbers", fmt::format("{}", want.values.size()),
                fmt::format("{}", have.values.size()));
  if (!expected.exact || expected.exact->size() != want.values.size())
    return fail("the reference's exact value", "given", "absent");
  const std::int64_t count = want.shape.empty() ? 0 : want.shape[0];
  const auto rows = renumbering(expected.rows, actual.rows, count, "target", verdict);
  if (!rows) return;

  verdict.voxels += static_cast<std::int64_t>(want.values.size());
  if (expected.rows && !expected.rows->empty())
    verdict.members = std::max(verdict.members, expected.rows->back().member + 1);
  const std::size_t in_a_row = count > 0 ? want.values.size() / static_cast<std::size_t>(count) : 0;
  // First in the reference's order, wherever the candidate keeps it.
  std::vector<std::size_t> place(rows->size());
  for (std::size_t i = 0; i < rows->size(); ++i) place[static_cast<std::size_t>((*rows)[i])] = i;
  for (std::size_t i = 0; i < want.values.size(); ++i) {
    const std::size_t row = i / in_a_row;
    const double x = have.values[place[row] * in_a_row + i % in_a_row];
    const auto& exact = (*expected.exact)[i];
    const Judgement j = judge_number(exact, x, expected.type, actual.multiplier, actual.accumulator,
                                     expected.largest_whole);
    const double error = std::fabs((x - exact.value) - exact.rest);
    if (j.right && j.bound > 0 && std::isfinite(j.bound) && std::isfinite(error))
      verdict.largest_error = std::max(verdict.largest_error, error / j.bound);
    if (j.right) continue;
    const auto r = static_cast<std::int64_t>(row);
    Difference d{.clause = j.bound > 0 ? "V-3" : clause,
                 .what = fmt::format("element {} of {}", i % in_a_row, what),
                 .member = member_of(expected.rows, r),
                 .path = show_row(expected.rows, r),
                 .expected = number(j.wanted),
                 .actual = number(x)};
    if (d.member >= 0) d.coordinate = (*expected.rows)[row].voxel;
    d.window.push_back(j.bound > 0
                           ? fmt::format("error {:.4g}, at most {:.4g}", error, j.bound)
                           : std::string("must be exactly this: whole numbers, NaN or infinity"));
    d.window.push_back(fmt::format("{} terms of magnitude {:.6g} together; {} summed in {}",
                                   exact.terms, exact.magnitude, to_string(actual.multiplier),
                                   to_string(actual.accumulator)));
    add_difference(verdict, std::move(d));
  }
}

}  // namespace leafproof::oracle
