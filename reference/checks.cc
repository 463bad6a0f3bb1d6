// The refusals shared by the passes; each says what was asked and what would have been right [E-1].
#include "reference/checks.h"

#include <charconv>
#include <limits>

#include "reference/canonical_order.h"
#include "reference/map.h"

namespace leafproof::reference {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int32_t>::min();  // [L-1]
constexpr std::int64_t kHighest = std::numeric_limits<std::int32_t>::max();

}  // namespace

std::string to_text(const Triple& t) {
  std::string text = "(";
  text += std::to_string(t[0]) + ", " + std::to_string(t[1]) + ", " + std::to_string(t[2]) + ")";
  return text;
}

std::string to_text(const Voxel& v) {
  return to_text(Triple{v.x, v.y, v.z});
}

std::string to_text(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

void refuse(ErrorKind kind, const char* operation, const char* argument, std::string value,
            std::string reason, std::optional<std::int64_t> member,
            std::optional<std::int64_t> row) {
  throw Error(kind, {operation, argument, std::move(value), std::move(reason), member, row});
}

void check_factor(const char* operation, const char* argument, const Triple& factor,
                  std::int64_t limit) {
  for (const std::int64_t f : factor)
    if (f < 1)
      refuse(ErrorKind::InvalidArgument, operation, argument, to_text(factor),
             "must be at least 1 on every axis");
  for (const std::int64_t f : factor)
    if (limit > 0 && f > limit)
      refuse(ErrorKind::Unsupported, operation, argument, to_text(factor),
             "at most " + std::to_string(limit) + " on an axis");
}

void check_box(const char* operation, const Triple& lo, const Triple& hi, bool needs_zero) {
  const std::string value = to_text(lo) + " ... " + to_text(hi);
  for (int a = 0; a < 3; ++a) {
    if (lo[a] > hi[a])
      refuse(ErrorKind::InvalidArgument, operation, "lo", value, "lo must not exceed hi");
    if (needs_zero && (lo[a] > 0 || hi[a] < 0))
      refuse(ErrorKind::InvalidArgument, operation, "lo", value, "the box must hold 0");
  }
  for (int a = 0; a < 3; ++a) {
    // Exact for all lo <= hi: the difference of two 64-bit numbers fits 64 bits without sign.
    const std::uint64_t width_minus_1 =
        static_cast<std::uint64_t>(hi[a]) - static_cast<std::uint64_t>(lo[a]);
    if (width_minus_1 >= static_cast<std::uint64_t>(kMaxBoxWidth))
      refuse(ErrorKind::Unsupported, operation, "hi", value,
             "at most " + std::to_string(kMaxBoxWidth) + " wide on an axis");
  }
}

void check_members(const char* operation, const char* argument,
                   const std::vector<std::vector<Voxel>>& members) {
  std::int64_t row = 0;
  for (std::size_t m = 0; m < members.size(); ++m)
    for (std::size_t i = 0; i < members[m].size(); ++i, ++row)
      if (i > 0 && !canonical_less(members[m][i - 1], members[m][i]))
        refuse(ErrorKind::InvalidArgument, operation, argument, to_text(members[m][i]),
               "voxels must be in canonical order without repeats", m, row);
}

void check_batch(const char* operation, const Batch& batch) {
  const auto expect_one_each = [&](const char* argument, std::size_t count) {
    if (count != batch.size())
      refuse(ErrorKind::ShapeMismatch, operation, argument, std::to_string(count) + " entries",
             "a batch of " + std::to_string(batch.size()) + " members needs one for each");
  };
  expect_one_each("maps", batch.maps.size());
  expect_one_each("names", batch.names.size());
  check_members(operation, "source", batch.members);
  for (std::size_t m = 0; m < batch.size(); ++m) {
    check_map(operation, batch.maps[m], m);
    check_name(operation, batch.names[m], m);
  }
}

void check_masks(const char* operation, const Batch& batch, const Masks& masks) {
  if (masks.size() != batch.size())
    refuse(ErrorKind::ShapeMismatch, operation, "mask", std::to_string(masks.size()) + " lists",
           "one list for each of " + std::to_string(batch.size()) + " members");
  for (std::size_t m = 0; m < batch.size(); ++m)
    if (masks[m].size() != batch.members[m].size())
      refuse(ErrorKind::ShapeMismatch, operation, "mask",
             std::to_string(masks[m].size()) + " flags",
             "one flag for each of " + std::to_string(batch.members[m].size()) + " voxels", m);
}

void check_range(const char* operation, const Batch& batch, const Masks* masks,
                 const Image& image) {
  std::int64_t row = 0;
  for (std::size_t m = 0; m < batch.size(); ++m)
    for (std::size_t i = 0; i < batch.members[m].size(); ++i, ++row) {
      if (masks && !(*masks)[m][i]) continue;
      const auto [lowest, highest] = image(batch.members[m][i]);
      Triple result = lowest;  // one result outside, if there is any
      bool outside = false;
      for (int a = 0; a < 3; ++a) {
        if (lowest[a] < kLowest || highest[a] > kHighest) outside = true;
        if (lowest[a] >= kLowest && highest[a] > kHighest) result[a] = highest[a];
      }
      if (outside)
        refuse(ErrorKind::OutOfRange, operation, "result", to_text(result),
               "voxel " + to_text(batch.members[m][i]) + " has a result outside the 32-bit lattice",
               m, row);
    }
}

void check_budget(const char* operation, std::uint64_t voxels, bool exact) {
  if (voxels <= kMaxVoxels) return;
  refuse(ErrorKind::CapacityExceeded, operation, "result",
         (exact ? "" : "at least ") + std::to_string(voxels) + " voxels",
         "at most " + std::to_string(kMaxVoxels) + ", of " + std::to_string(sizeof(Voxel)) +
             " bytes each");
}

}  // namespace leafproof::reference
