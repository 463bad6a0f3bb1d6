#include "gpu/axis_relation.h"

namespace leafproof::gpu {
namespace {

/// Is (target - factor * source) one of the relation's offsets?
bool joined(const AxisRelation& relation, std::int64_t scaled_target, std::int64_t scaled_source) {
  const std::int64_t d = scaled_target - scaled_source - relation.first;
  return d >= 0 && d % relation.step == 0 && d / relation.step < relation.count;
}

}  // namespace

std::vector<AxisEntry> tabulate(const AxisRelation& relation, Axis& axis) {
  axis.factor = relation.factor;
  axis.stride = relation.stride;
  axis.least = relation.least();
  axis.greatest = relation.greatest();
  // 8 q = factor * i - stride * j + d for positions i, j in the leaves.
  axis.q_min = ceil_div(axis.least - 7 * axis.stride, 8);
  axis.q_max = floor_div(axis.greatest + 7 * axis.factor, 8);
  std::vector<AxisEntry> table(static_cast<std::size_t>(axis.q_max - axis.q_min + 1));
  for (std::int64_t q = axis.q_min; q <= axis.q_max; ++q) {
    AxisEntry& entry = table[static_cast<std::size_t>(q - axis.q_min)];
    entry = {};
    for (int i = 0; i < 8; ++i) {
      unsigned targets = 0;
      for (int j = 0; j < 8; ++j) {
        if (joined(relation, 8 * q + relation.stride * j, relation.factor * i)) targets |= 1u << j;
      }
      entry.reached |= static_cast<std::uint64_t>(targets) << (8 * i);
      entry.rows[i] = spread_rows(targets);
      entry.support |= static_cast<std::uint32_t>(targets != 0) << i;
      entry.image |= targets;
    }
    entry.support_rows = spread_rows(entry.support) * 0xFF;
  }
  return table;
}

}  // namespace leafproof::gpu
