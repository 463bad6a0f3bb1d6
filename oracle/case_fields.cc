// What the three written forms of a case share.
#include "oracle/case_fields.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "reference/canonical_order.h"

namespace leafproof::oracle::forms {
namespace {

constexpr std::size_t kShown = 60;  // characters of a value in an error

const double kNan = std::numeric_limits<double>::quiet_NaN();

void check_batch(const char* name, const Batch& batch, bool canonical) {
  if (batch.maps.size() != batch.size())
    fail(fmt::format("{}_maps", name), std::to_string(batch.maps.size()),
         fmt::format("must be as many as the members, {}", batch.size()));
  if (batch.names.size() != batch.size())
    fail(fmt::format("{}_names", name), std::to_string(batch.names.size()),
         fmt::format("must be as many as the members, {}", batch.size()));
  for (std::size_t m = 0; canonical && m < batch.size(); ++m)
    for (std::size_t i = 1; i < batch.members[m].size(); ++i) {
      const Voxel v = batch.members[m][i];
      if (!reference::canonical_less(batch.members[m][i - 1], v))
        fail(name, fmt::format("{},{},{}", v.x, v.y, v.z),
             fmt::format("must be in canonical order, without repeats [G-2], in member {}", m));
    }
}

}  // namespace

void fail(std::string_view field, std::string_view value, std::string reason,
          std::string_view what) {
  std::string shown(value.substr(0, kShown));
  if (value.size() > kShown) shown += "...";
  throw reference::Error(reference::ErrorKind::Corrupt,
                         {.operation = std::string(what),
                          .argument = field.empty() ? "a field without a name" : std::string(field),
                          .value = std::move(shown),
                          .reason = std::move(reason),
                          .member = {},
                          .row = {}});
}

void check(const Case& c) {
  check_batch("source", c.source, c.op != Op::FromIjk);
  if (c.other) check_batch("other", *c.other, true);
  if (c.target) check_batch("target", *c.target, true);
  if (!c.mask) return;
  for (const auto& mask : *c.mask)
    for (const std::uint8_t flag : mask)
      if (flag > 1) fail("mask", std::to_string(flag), "must be a flag of 0 or 1");
}

std::string number_text(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  if (std::isnan(number) && bits != std::bit_cast<std::uint64_t>(kNan))
    return fmt::format("nan_{:016x}", bits);
  return fmt::format("{}", number);
}

bool parse_number(std::string_view text, double& number) {
  const char* const end = text.data() + text.size();
  if (text == "inf" || text == "-inf") {
    number = std::numeric_limits<double>::infinity() * (text.front() == '-' ? -1 : 1);
    return true;
  }
  if (text == "nan") {
    number = kNan;
    return true;
  }
  if (text.starts_with("nan_")) {
    std::uint64_t bits = 0;
    const auto [stop, failed] = std::from_chars(text.data() + 4, end, bits, 16);
    number = std::bit_cast<double>(bits);
    return failed == std::errc{} && stop == end && text.size() == 20 && std::isnan(number);
  }
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  return failed == std::errc{} && stop == end && std::isfinite(number);
}

}  // namespace leafproof::oracle::forms
