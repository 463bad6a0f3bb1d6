// See plan.h.
#include "gpu/plan.h"

#include <algorithm>
#include <utility>

#include "gpu/conv_relation.h"
#include "gpu/error.h"

namespace leafproof::gpu {
namespace {

bool all_ones(const Triple& t) {
  return t == Triple{1, 1, 1};
}

/// `rows`: a column of pairs.
Degrees degrees_of(const std::int32_t* rows, std::int64_t pairs, std::int64_t row_count) {
  Degrees found;
  found.of_row.resize(static_cast<std::size_t>(row_count));
  for (std::int64_t i = 0; i < pairs; ++i) ++found.of_row[static_cast<std::size_t>(rows[i])];
  for (std::int64_t row = 0; row < row_count; ++row) {
    const auto degree = static_cast<std::size_t>(found.of_row[static_cast<std::size_t>(row)]);
    if (degree >= found.histogram.size()) found.histogram.resize(degree + 1);
    ++found.histogram[degree];
    if (degree == 0) found.unjoined.push_back(row);
  }
  return found;
}

Degrees all_of_degree_one(std::int64_t rows) {
  Degrees found;
  found.of_row.assign(static_cast<std::size_t>(rows), 1);
  if (rows > 0) found.histogram = {0, rows};
  return found;
}

std::string text(const Triple& t) {
  std::string all = std::to_string(t[0]);
  for (const std::size_t axis : {1, 2}) all.append(", ").append(std::to_string(t[axis]));
  return all;
}

}  // namespace

Plan::Plan(std::shared_ptr<const Data> data, ConvolutionMap map, bool swapped)
    : data_(std::move(data)), map_(std::move(map)), swapped_(swapped) {}

Plan Plan::build(BatchedBuilder& builder, const GridBatch& source, const ConvGeometry& geometry,
                 Direction direction, const std::optional<GridBatch>& target,
                 std::string_view backend) {
  return or_out_of_memory("plan", [&]() -> Plan {
    const bool on_host = builder.works_in_host_memory();
    if (backend != kHost && backend != kDevice) {
      throw Error(ErrorKind::Unsupported, "plan", "backend", std::string(backend),
                  "plans are for \"host\" or \"device\"");
    }
    if ((backend == kHost) != on_host) {
      throw Error(
          ErrorKind::Unsupported, "plan", "backend", std::string(backend),
          on_host ? "the builder works in plain memory" : "the builder works in device memory");
    }
    check_geometry("plan", geometry);
    const bool identity = all_ones(geometry.kernel) && all_ones(geometry.stride) &&
                          (!target || target->is(source));  // [V-4]
    const bool forward = direction == Direction::Forward;
    Data data{source,
              source,
              geometry,
              direction,
              target ? TargetPolicy::Restricted : TargetPolicy::Complete,
              on_host,
              {}};
    if (target) {
      data.target = *target;
    } else if (!identity) {
      data.target = forward ? builder.conv_grid(source, geometry)
                            : builder.conv_transpose_grid(source, geometry);
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      data.missed_residues[axis] = gpu::missed_residues(geometry, axis);
    }
    ConvolutionMap map =
        identity ? ConvolutionMap::identity(source.voxel_count())
                 : ConvolutionMap::in_place(
                       builder, builder.kernel_map(data.source, data.target, geometry, direction),
                       geometry.kernel);
    return {std::make_shared<const Data>(std::move(data)), std::move(map), false};
  });
}

Direction Plan::direction() const {
  if (!swapped_) return data_->direction;
  return data_->direction == Direction::Forward ? Direction::Transposed : Direction::Forward;
}

Plan Plan::transposed() const {
  return {data_, map_.transposed(), !swapped_};
}

Coverage Plan::coverage() const {
  return or_out_of_memory("plan", [&]() -> Coverage {
    if (map_.is_identity()) {
      const Degrees ones = all_of_degree_one(map_.source_rows());
      return {ones, ones};
    }
    if (!map_.in_host_memory()) {
      throw Error(ErrorKind::Unsupported, "plan", "map", "lies in device memory",
                  "its pairs are counted in plain memory");
    }
    const KernelMap& map = *map_.map();
    return {degrees_of(map.gather(), map.pairs(), map.source_rows()),
            degrees_of(map.scatter(), map.pairs(), map.target_rows())};
  });
}

std::string Plan::report() const {
  return or_out_of_memory("plan", [&]() -> std::string {
    const bool forward = direction() == Direction::Forward;
    std::string all = forward ? "forward" : "transposed";
    all += policy() == TargetPolicy::Complete ? ", complete target" : ", restricted target";
    all += ", backend " + std::string(backend()) + "\n";
    all.append("kernel ").append(text(geometry().kernel)).append("; stride ");
    all.append(text(geometry().stride)).append("; dilation ");
    all.append(text(geometry().dilation)).append("\n");
    all += std::to_string(source().size()) + " members, " + std::to_string(map_.source_rows()) +
           " source rows, " + std::to_string(map_.target_rows()) + " target rows, ";
    all += map_.is_identity() ? "each joined to itself: no map\n"
                              : std::to_string(map_.map()->pairs()) + " pairs of " +
                                    std::to_string(map_.taps()) + " taps\n";
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (missed_residues()[axis] == 0) continue;
      all += std::string("no tap reaches the fine voxels whose ") + "xyz"[axis] + " is";
      const char* before = " ";
      for (std::int64_t r = 0; r < geometry().stride[axis]; ++r) {
        if ((missed_residues()[axis] >> r & 1) == 0) continue;
        all += before + std::to_string(r);
        before = ", ";
      }
      all += " modulo " + std::to_string(geometry().stride[axis]) + " [P-3]\n";
    }
    return all;
  });
}

// --- the cache

PlanCache::PlanCache(std::size_t capacity) : capacity_(capacity) {
  if (capacity == 0) {
    throw Error(ErrorKind::InvalidArgument, "plan_cache", "capacity", "0", "must be at least 1");
  }
}

PlanCache::Key PlanCache::key_of(const GridBatch& source, const ConvGeometry& geometry,
                                 Direction direction, const std::optional<GridBatch>& target,
                                 std::string_view backend) {
  Key key{source.identity(), {},        geometry.kernel,     geometry.stride,
          geometry.dilation, direction, std::string(backend)};
  if (target) key.target = target->identity();
  return key;
}

const char* PlanCache::difference(const Key& a, const Key& b) {
  if (a.kernel != b.kernel) return "kernel";
  if (a.stride != b.stride) return "stride";
  if (a.dilation != b.dilation) return "dilation";
  if (a.direction != b.direction) return "direction";
  if (a.source != b.source) return "source";
  if (a.target != b.target) return "target";
  return "backend";
}

Plan PlanCache::get(BatchedBuilder& builder, const GridBatch& source, const ConvGeometry& geometry,
                    Direction direction, const std::optional<GridBatch>& target,
                    std::string_view backend) {
  return or_out_of_memory("plan_cache", [&]() -> Plan {
    Key key = key_of(source, geometry, direction, target, backend);
    {
      const std::lock_guard lock(mutex_);
      const auto found = plans_.find(key);
      if (found != plans_.end()) {
        ++hits_;
        uses_.splice(uses_.begin(), uses_, found->second.use);
        return found->second.plan;
      }
      ++misses_;
    }
    Plan plan = Plan::build(builder, source, geometry, direction, target, backend);
    const std::lock_guard lock(mutex_);
    const auto found = plans_.find(key);  // of another thread, meanwhile
    if (found != plans_.end()) return found->second.plan;
    std::list<Key> use{key};  // in both or, where memory runs out, in neither
    plans_.emplace(std::move(key), Entry{plan, use.begin()});
    uses_.splice(uses_.begin(), use);
    if (plans_.size() > capacity_) {
      plans_.erase(uses_.back());
      uses_.pop_back();
    }
    return plan;
  });
}

Plan PlanCache::get_named(const std::string& name, BatchedBuilder& builder, const GridBatch& source,
                          const ConvGeometry& geometry, Direction direction,
                          const std::optional<GridBatch>& target, std::string_view backend) {
  return or_out_of_memory("plan_cache", [&]() -> Plan {
    const Key key = key_of(source, geometry, direction, target, backend);
    const auto check = [&](const Key& kept) {
      if (kept == key) return;
      throw Error(ErrorKind::InvalidArgument, "plan_cache", "name", name,
                  std::string("stands for a plan with another ") + difference(kept, key));
    };
    {
      const std::lock_guard lock(mutex_);
      const auto found = names_.find(name);
      if (found != names_.end()) check(found->second);
    }
    Plan plan = get(builder, source, geometry, direction, target, backend);
    const std::lock_guard lock(mutex_);
    check(names_.emplace(name, key).first->second);
    return plan;
  });
}

void PlanCache::forget_names() {
  const std::lock_guard lock(mutex_);
  names_.clear();
}

void PlanCache::clear() {
  const std::lock_guard lock(mutex_);
  plans_.clear();
  uses_.clear();
  names_.clear();
}

std::int64_t PlanCache::hits() const {
  const std::lock_guard lock(mutex_);
  return hits_;
}
std::int64_t PlanCache::misses() const {
  const std::lock_guard lock(mutex_);
  return misses_;
}
std::size_t PlanCache::size() const {
  const std::lock_guard lock(mutex_);
  return plans_.size();
}

}  // namespace leafproof::gpu
