// [M-6] as brute_force has it: from every coarse cell that is on, every tap is followed, and where
// it ends on a cell that is on both cells have one pair more.
#include <algorithm>

#include "reference/brute_force_conv_parts.h"

namespace leafproof::brute_force {
namespace {

Coverage summary(std::vector<std::int64_t> degrees) {
  Coverage c;
  const auto most = std::max_element(degrees.begin(), degrees.end());
  for (std::int64_t d = 0; most != degrees.end() && d <= *most; ++d)
    c.histogram.push_back(std::count(degrees.begin(), degrees.end(), d));
  for (std::size_t row = 0; row < degrees.size(); ++row)
    if (degrees[row] == 0) c.uncovered.push_back(static_cast<std::int64_t>(row));
  c.degrees = std::move(degrees);
  return c;
}

}  // namespace

BothCoverages coverage(const Batch& source, const Batch& target, const Kernel& kernel,
                       Direction direction) {
  require_kernel("coverage", kernel);
  if (source.members.size() != target.members.size())
    reject(ErrorKind::ShapeMismatch, "coverage", "target",
           std::to_string(target.members.size()) + " members",
           std::to_string(source.members.size()) + " members");
  require_batch("coverage", source);
  require_members("coverage", target.members);
  const bool forward = direction == Direction::Forward;
  const Batch &coarse = forward ? target : source, &fine = forward ? source : target;
  std::vector<std::int64_t> of_coarse, of_fine;
  for (std::size_t m = 0; m < source.members.size(); ++m) {
    const Rows from(coarse.members[m], 0);
    const Rows to(fine.members[m], static_cast<std::int64_t>(of_fine.size()));
    of_fine.resize(of_fine.size() + to.cells().size());
    for (const Cell& cell : from.cells()) {
      std::int64_t pairs = 0;
      each_tap(kernel, [&](const Cell& tap) {
        const std::int64_t row = to.row_of(fine_cell(kernel, cell, tap));
        if (row < 0) return;
        ++pairs;
        ++of_fine[static_cast<std::size_t>(row)];
      });
      of_coarse.push_back(pairs);
    }
  }
  Coverage c = summary(std::move(of_coarse)), f = summary(std::move(of_fine));
  if (forward) return {std::move(f), std::move(c)};
  return {std::move(c), std::move(f)};
}

}  // namespace leafproof::brute_force
