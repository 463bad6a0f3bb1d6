#include "gpu/pass_checks.h"

#include <optional>
#include <utility>
#include <vector>

#include "gpu/error.h"
#include "gpu/map_rules.h"

namespace leafproof::gpu {
namespace {

template <class T>
std::vector<T> one_each(const char* operation, const char* argument, std::span<const T> given,
                        std::int64_t size) {
  const auto n = static_cast<std::size_t>(size);
  if (given.empty()) return std::vector<T>(n);
  if (given.size() == 1) return std::vector<T>(n, given.front());
  if (given.size() != n) {
    throw Error(ErrorKind::ShapeMismatch, operation, argument,
                std::to_string(given.size()) + " given",
                "there is none, one for all, or one for each of " + std::to_string(size));
  }
  return {given.begin(), given.end()};
}

}  // namespace

std::string text_of(const Triple& t) {
  std::string all = "(";
  all.append(std::to_string(t[0])).append(", ");
  all.append(std::to_string(t[1])).append(", ");
  return all.append(std::to_string(t[2])).append(")");
}

void check_factor(const char* operation, const Triple& factor, std::int64_t greatest) {
  for (const std::int64_t f : factor) {
    if (f < 1) {
      throw Error(ErrorKind::InvalidArgument, operation, "factor", text_of(factor),
                  "every factor must be at least 1");
    }
  }
  for (const std::int64_t f : factor) {
    if (f > greatest) {
      throw Error(ErrorKind::Unsupported, operation, "factor", text_of(factor),
                  "a factor is at most " + std::to_string(greatest));
    }
  }
}

void check_box(const char* operation, const Triple& lo, const Triple& hi, bool holds_zero) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (lo[axis] > hi[axis]) {
      throw Error(ErrorKind::InvalidArgument, operation, "lo",
                  text_of(lo) + ", hi = " + text_of(hi), "lo must not be above hi on any axis");
    }
    if (holds_zero && (lo[axis] > 0 || hi[axis] < 0)) {
      throw Error(ErrorKind::InvalidArgument, operation, "lo",
                  text_of(lo) + ", hi = " + text_of(hi),
                  "the box of an erosion must hold 0 on every axis");
    }
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    // lo <= hi, so the unsigned difference is the true one.
    const std::uint64_t width =
        static_cast<std::uint64_t>(hi[axis]) - static_cast<std::uint64_t>(lo[axis]);
    if (width >= static_cast<std::uint64_t>(kWidest)) {
      throw Error(ErrorKind::Unsupported, operation, "lo", text_of(lo) + ", hi = " + text_of(hi),
                  "a box is at most 1024 wide on an axis");
    }
  }
}

void check_flags(const char* operation, const GridBatch& source, const VoxelFlags& mask) {
  const auto rows = source.voxel_offsets();
  const auto refuse = [&](std::string value, std::string reason,
                          std::optional<std::int64_t> member = {}) {
    throw Error(ErrorKind::ShapeMismatch, operation, "mask", std::move(value), std::move(reason),
                member);
  };
  if (mask.offsets.size() != rows.size()) {
    refuse(std::to_string(mask.offsets.size()) + " offsets",
           "the batch has " + std::to_string(source.size()) + " members");
  }
  if (mask.offsets[0] != 0) {
    refuse("offsets from " + std::to_string(mask.offsets[0]), "offsets begin at 0");
  }
  for (std::size_t m = 1; m < rows.size(); ++m) {
    if (mask.offsets[m] == rows[m]) continue;
    refuse("a list that ends at " + std::to_string(mask.offsets[m]),
           "the member's voxels end at row " + std::to_string(rows[m]),
           static_cast<std::int64_t>(m) - 1);
  }
  if (static_cast<std::int64_t>(mask.flags.size()) != rows.back()) {
    refuse(std::to_string(mask.flags.size()) + " flags",
           "the batch has " + std::to_string(rows.back()) + " voxels");
  }
}

std::int64_t check_offsets(const char* operation, std::span<const std::int64_t> offsets,
                           std::size_t numbers) {
  const auto refuse = [&](std::string value, std::string reason,
                          std::optional<std::int64_t> member = {}) {
    throw Error(ErrorKind::ShapeMismatch, operation, "offsets", std::move(value), std::move(reason),
                member);
  };
  if (numbers % 3 != 0) {
    throw Error(ErrorKind::ShapeMismatch, operation, "rows", std::to_string(numbers) + " numbers",
                "a list is [N, 3]");
  }
  const auto rows = static_cast<std::int64_t>(numbers / 3);
  if (offsets.empty()) refuse("no number", "there are B+1 offsets");
  if (offsets.front() != 0) refuse(std::to_string(offsets.front()), "offsets begin at 0", 0);
  for (std::size_t m = 1; m < offsets.size(); ++m) {
    if (offsets[m] < offsets[m - 1]) {
      refuse(std::to_string(offsets[m]), "offsets do not decrease",
             static_cast<std::int64_t>(m) - 1);
    }
  }
  if (offsets.back() != rows) {
    refuse(std::to_string(offsets.back()),
           "offsets end at the number of rows, " + std::to_string(rows));
  }
  return static_cast<std::int64_t>(offsets.size()) - 1;
}

PassPlan plan_like(const char* operation, const GridBatch& source) {
  PassPlan plan;
  plan.operation = operation;
  for (std::int64_t m = 0; m < source.size(); ++m) {
    plan.maps.push_back(source.member(m).map);
    plan.names.push_back(source.member(m).name);
  }
  return plan;
}

PassPlan plan_for(const char* operation, std::int64_t size, const MapsAndNames& given) {
  PassPlan plan;
  plan.operation = operation;
  plan.maps = one_each(operation, "maps", given.maps, size);
  plan.names = one_each(operation, "names", given.names, size);
  for (std::int64_t m = 0; m < size; ++m) {
    check_map(operation, plan.maps[static_cast<std::size_t>(m)], m);
    check_name(operation, plan.names[static_cast<std::size_t>(m)], m);
  }
  return plan;
}

}  // namespace leafproof::gpu
