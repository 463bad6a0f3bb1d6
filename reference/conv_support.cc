// [K-3] and [K-4]: the image of the source under the relation, voxel by voxel and tap by tap.
#include "reference/conv_support.h"

#include <algorithm>

#include "reference/canonical_order.h"
#include "reference/checks.h"
#include "reference/conv_relation.h"
#include "reference/map.h"

namespace leafproof::reference {
namespace {

// [L-5] The first offending voxel in canonical order, before anything is built.
void check_images(const char* operation, const Batch& source, const Kernel& kernel,
                  Direction direction) {
  std::int64_t row = 0;
  for (std::size_t m = 0; m < source.size(); ++m)
    for (const Voxel& v : source.members[m]) {
      for (std::int64_t t = 0; t < tap_count(kernel); ++t) {
        const auto target = target_of(kernel, direction, v, tap_of(kernel, t));
        if (target && !in_lattice(*target))
          refuse(ErrorKind::OutOfRange, operation, "result", to_text(*target),
                 "voxel " + to_text(v) + " is joined to one outside the 32-bit lattice", m, row);
      }
      ++row;
    }
}

std::vector<Voxel> image(const char* operation, const std::vector<Voxel>& source,
                         const Kernel& kernel, Direction direction, std::uint64_t already) {
  std::vector<Voxel> result;
  std::size_t tidy = 0;  // how many were left when repeats were last dropped
  for (const Voxel& v : source) {
    for (std::int64_t t = 0; t < tap_count(kernel); ++t)
      if (const auto target = target_of(kernel, direction, v, tap_of(kernel, t)))
        result.push_back(voxel(*target));
    if (result.size() < 2 * tidy + 1'000'000) continue;
    make_canonical(result);
    tidy = result.size();
    check_budget(operation, already + tidy, /*exact=*/false);
  }
  make_canonical(result);
  return result;
}

Batch support(const char* operation, const Batch& source, const Kernel& kernel,
              Direction direction) {
  check_kernel(operation, kernel);
  check_batch(operation, source);
  Batch result;
  result.names = source.names;
  for (std::size_t m = 0; m < source.size(); ++m)
    result.maps.push_back(direction == Direction::Forward
                              ? map_after_conv_grid(source.maps[m], kernel.stride, m)
                              : map_after_conv_transpose_grid(source.maps[m], kernel.stride, m));
  check_images(operation, source, kernel, direction);

  std::uint64_t done = 0;
  for (const std::vector<Voxel>& member : source.members) {
    result.members.push_back(image(operation, member, kernel, direction, done));
    done += result.members.back().size();
    check_budget(operation, done, /*exact=*/false);
  }
  return result;
}

}  // namespace

Batch conv_grid(const Batch& source, const Kernel& kernel) {
  return support("conv_grid", source, kernel, Direction::Forward);
}

Batch conv_transpose_grid(const Batch& source, const Kernel& kernel) {
  return support("conv_transpose_grid", source, kernel, Direction::Transposed);
}

Batch complete_target(const Batch& source, const Kernel& kernel, Direction direction) {
  return direction == Direction::Forward ? conv_grid(source, kernel)
                                         : conv_transpose_grid(source, kernel);
}

}  // namespace leafproof::reference
