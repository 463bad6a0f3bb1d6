// [M]: every tap asks every target row for its partner, and looks for that in the source.
#include "reference/kernel_map.h"

#include <algorithm>
#include <optional>

#include "reference/canonical_order.h"
#include "reference/checks.h"
#include "reference/conv_relation.h"

namespace leafproof::reference {
namespace {

/// The place of a voxel in a member, which is in canonical order.
std::optional<std::int64_t> row_in(const std::vector<Voxel>& member, const Voxel& v) {
  const auto at = std::lower_bound(member.begin(), member.end(), v, canonical_less);
  if (at == member.end() || *at != v) return std::nullopt;
  return at - member.begin();
}

std::int64_t rows_of(const Batch& batch) {
  std::int64_t rows = 0;
  for (const auto& member : batch.members) rows += static_cast<std::int64_t>(member.size());
  return rows;
}

KernelMap map_between(const char* operation, const Batch& source, const Batch& target,
                      const Kernel& kernel, Direction direction) {
  KernelMap map;
  map.source_rows = rows_of(source);
  map.target_rows = rows_of(target);
  for (std::int64_t t = 0; t < tap_count(kernel); ++t) {
    const Triple tap = tap_of(kernel, t);
    std::int64_t first_source = 0, target_row = 0;  // rows count on from member to member
    for (std::size_t m = 0; m < source.size(); ++m) {
      for (const Voxel& v : target.members[m]) {
        const auto partner = source_of(kernel, direction, v, tap);
        if (partner && in_lattice(*partner))
          if (const auto row = row_in(source.members[m], voxel(*partner))) {
            map.gather.push_back(first_source + *row);
            map.scatter.push_back(target_row);
          }
        ++target_row;
      }
      first_source += static_cast<std::int64_t>(source.members[m].size());
    }
    map.offsets.push_back(static_cast<std::int64_t>(map.gather.size()));
    if (map.offsets.back() > kMaxPairs)
      refuse(ErrorKind::CapacityExceeded, operation, "result",
             std::to_string(map.offsets.back()) + " pairs up to tap " + std::to_string(t),
             "at most " + std::to_string(kMaxPairs));
  }
  return map;
}

Coverage coverage(const std::vector<std::int64_t>& column, std::int64_t rows) {
  Coverage c;
  c.degrees.resize(static_cast<std::size_t>(rows));
  for (const std::int64_t row : column) ++c.degrees[static_cast<std::size_t>(row)];
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto degree = static_cast<std::size_t>(c.degrees[static_cast<std::size_t>(row)]);
    if (degree >= c.histogram.size()) c.histogram.resize(degree + 1);
    ++c.histogram[degree];
    if (degree == 0) c.uncovered.push_back(row);
  }
  return c;
}

}  // namespace

KernelMap kernel_map(const Batch& source, const Batch& target, const Kernel& kernel,
                     Direction direction) {
  check_kernel("kernel_map", kernel);
  if (target.size() != source.size())
    refuse(ErrorKind::ShapeMismatch, "kernel_map", "target",
           std::to_string(target.size()) + " members",
           "as many as the source: " + std::to_string(source.size()));
  check_batch("kernel_map", source);
  check_members("kernel_map", "target", target.members);
  return map_between("kernel_map", source, target, kernel, direction);
}

KernelMap submanifold_map(const Batch& source, const Kernel& kernel) {
  for (std::size_t a = 0; a < 3; ++a) {
    if (kernel.size[a] % 2 == 0)
      refuse(ErrorKind::InvalidArgument, "submanifold_index_map", "kernel_size",
             to_text(kernel.size), "must be odd on every axis");
    if (kernel.stride[a] != 1)
      refuse(ErrorKind::InvalidArgument, "submanifold_index_map", "stride", to_text(kernel.stride),
             "must be 1 on every axis");
  }
  check_kernel("submanifold_index_map", kernel);
  check_batch("submanifold_index_map", source);
  return map_between("submanifold_index_map", source, source, kernel, Direction::Forward);
}

DenseMap dense(const KernelMap& map) {
  DenseMap d;
  d.taps = static_cast<std::int64_t>(map.offsets.size()) - 1;
  d.rows = map.target_rows;
  d.index.assign(static_cast<std::size_t>(d.taps * d.rows), -1);
  for (std::int64_t t = 0; t < d.taps; ++t)
    for (std::int64_t i = map.offsets[static_cast<std::size_t>(t)];
         i < map.offsets[static_cast<std::size_t>(t) + 1]; ++i)
      d.index[static_cast<std::size_t>(t * d.rows + map.scatter[static_cast<std::size_t>(i)])] =
          map.gather[static_cast<std::size_t>(i)];
  return d;
}

KernelMap swapped(const KernelMap& map) {
  KernelMap other = map;
  std::swap(other.gather, other.scatter);
  std::swap(other.source_rows, other.target_rows);
  return other;
}

Coverage source_coverage(const KernelMap& map) {
  return coverage(map.gather, map.source_rows);
}

Coverage target_coverage(const KernelMap& map) {
  return coverage(map.scatter, map.target_rows);
}

}  // namespace leafproof::reference
