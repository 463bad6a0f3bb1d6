// Questions to a backend in one line each, and the little arithmetic on batches that laws need.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "oracle/case.h"
#include "properties/arbitrary.h"
#include "reference/passes.h"

namespace leafproof::properties {

inline Case ask(Op op, Batch source) {
  Case question;
  question.op = op;
  question.id = "law";
  question.source = std::move(source);
  return question;
}

inline Case ask_scale(Op op, Batch source, Triple factor) {
  Case question = ask(op, std::move(source));
  question.factor = factor;
  return question;
}

inline Case ask_box(Op op, Batch source, const Box& box) {
  Case question = ask(op, std::move(source));
  question.lo = box.lo;
  question.hi = box.hi;
  return question;
}

inline Case ask_two(Op op, Batch source, Batch other) {
  Case question = ask(op, std::move(source));
  question.other = std::move(other);
  return question;
}

inline Case ask_mask(Op op, Batch source, Masks mask) {
  Case question = ask(op, std::move(source));
  question.mask = std::move(mask);
  return question;
}

inline Case ask_conv(Op op, Batch source, const Kernel& kernel,
                     Direction direction = Direction::Forward) {
  Case question = ask(op, std::move(source));
  question.kernel = kernel;
  question.direction = direction;
  return question;
}

/// The map onto a restricted target.
inline Case ask_map(Batch source, Batch target, const Kernel& kernel,
                    Direction direction = Direction::Forward) {
  Case question = ask_conv(Op::KernelMap, std::move(source), kernel, direction);
  question.target = std::move(target);
  return question;
}

/// The grid of the complete target [K-6].
inline Case ask_grid(Batch source, const Kernel& kernel, Direction direction) {
  return ask_conv(direction == Direction::Forward ? Op::ConvGrid : Op::ConvTransposeGrid,
                  std::move(source), kernel);
}

/// The listed members as a batch of their own.
inline Batch selected(const Batch& batch, const std::vector<std::int64_t>& members) {
  Batch made;
  for (const std::int64_t member : members) {
    const auto m = static_cast<std::size_t>(member);
    made.members.push_back(batch.members[m]);
    made.maps.push_back(batch.maps[m]);
    made.names.push_back(batch.names[m]);
  }
  return made;
}

inline std::int64_t rows_of(const Batch& batch) {
  std::int64_t rows = 0;
  for (const auto& member : batch.members) rows += static_cast<std::int64_t>(member.size());
  return rows;
}

/// The same batch with every voxel moved by `by`; canonical order is made anew.
inline Batch moved(const Batch& batch, const Triple& by) {
  std::vector<std::vector<Voxel>> lists = batch.members;
  for (auto& list : lists) {
    for (Voxel& v : list) {
      v = {static_cast<std::int32_t>(v.x + by[0]), static_cast<std::int32_t>(v.y + by[1]),
           static_cast<std::int32_t>(v.z + by[2])};
    }
  }
  return reference::from_ijk(lists, batch.maps, batch.names);
}

inline Triple reordered(const Triple& t, const Order& order) {
  return {t[order[0]], t[order[1]], t[order[2]]};
}
inline Voxel reordered(const Voxel& v, const Order& order) {
  const std::array<std::int32_t, 3> at{v.x, v.y, v.z};
  return {at[order[0]], at[order[1]], at[order[2]]};
}
inline Box reordered(const Box& box, const Order& order) {
  return {reordered(box.lo, order), reordered(box.hi, order)};
}
inline Kernel reordered(const Kernel& k, const Order& order) {
  return {reordered(k.size, order), reordered(k.stride, order), reordered(k.dilation, order)};
}
/// The same batch under other names of its axes; canonical order is made anew.
inline Batch reordered(const Batch& batch, const Order& order) {
  std::vector<std::vector<Voxel>> lists = batch.members;
  for (auto& list : lists) {
    for (Voxel& v : list) v = reordered(v, order);
  }
  return reference::from_ijk(lists, batch.maps, batch.names);
}

/// Some of the voxels of every member.
inline Batch some_of(const Batch& batch) {
  return reference::prune(batch, *masks(batch));
}

/// Every voxel v becomes -v.
inline Batch mirrored(const Batch& batch) {
  std::vector<std::vector<Voxel>> lists = batch.members;
  for (auto& list : lists) {
    for (Voxel& v : list) v = {-v.x, -v.y, -v.z};
  }
  return reference::from_ijk(lists, batch.maps, batch.names);
}

inline Triple product(const Triple& a, const Triple& b) {
  return {a[0] * b[0], a[1] * b[1], a[2] * b[2]};
}

inline Triple sum(const Triple& a, const Triple& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

/// Every voxel of `part` is in `whole`, member by member.
inline bool contains(const Batch& whole, const Batch& part) {
  return reference::subtract(part, whole).members == std::vector<std::vector<Voxel>>(part.size());
}

}  // namespace leafproof::properties
