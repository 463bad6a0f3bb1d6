#include "gpu/benchmarks/conv_rivals.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "gpu/benchmarks/workloads.h"
#include "gpu/conv_relation.h"
#include "gpu/memory.h"
#include "gpu/sort_keys.h"

#ifdef LEAFPROOF_HAS_ABSEIL
#include <absl/container/flat_hash_map.h>
#endif

namespace leafproof::gpu::benchmarks {
namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// f(begin, end) over parts of [0, n), by all threads.
template <class F>
void in_parts(std::int64_t n, std::int64_t part, const F& f) {
  tbb::parallel_for(std::int64_t{0}, (n + part - 1) / part,
                    [&](std::int64_t i) { f(i * part, std::min(n, (i + 1) * part)); });
}

constexpr std::int64_t kPart = 4096;

}  // namespace

std::array<std::int32_t, 3> VoxelKeys::voxel(std::uint64_t key) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
  const auto axis = [key](int shift) {
    return static_cast<std::int32_t>(static_cast<std::int64_t>(key >> shift & kMask) - kMiddle);
  };
  return {axis(2 * kBits), axis(kBits), axis(0)};
}

VoxelRows::VoxelRows(const GridBatch& batch) {
  const Workload all = voxels_of(batch, "", "");
  offsets = all.offsets;
  voxels.resize(at(batch.voxel_count()));
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    voxels[i] = {all.ijk[3 * i], all.ijk[3 * i + 1], all.ijk[3 * i + 2]};
    for (const std::int32_t c : voxels[i]) {
      if (c < -60'000 || c > 60'000) throw std::runtime_error("voxels too far away for keys");
    }
  }
  members.resize(voxels.size());
  for (std::int64_t m = 0; m < batch.size(); ++m) {
    std::fill(members.begin() + offsets[at(m)], members.begin() + offsets[at(m) + 1],
              static_cast<std::int32_t>(m));
  }
  if (batch.size() > 1024) throw std::runtime_error("too many members for keys");
}

// --- grids

GridByKeys::GridByKeys(const VoxelRows& source, const ConvGeometry& geometry, Direction direction)
    : source_(source) {
  const bool forward = direction == Direction::Forward;
  AxisRelation axes[3];
  forward ? forward_axes(geometry, axes) : transposed_axes(geometry, axes);
  stride_ = axes[0].stride;
  factor_ = axes[0].factor;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (axes[axis].stride != stride_ || axes[axis].factor != factor_) {
      throw std::runtime_error("one stride for all axes");
    }
    for (std::int64_t i = 0; i < axes[axis].count; ++i) {
      d_[axis].push_back(axes[axis].first + i * axes[axis].step);
    }
  }
}

void GridByKeys::list() {
  const auto rows = static_cast<std::int64_t>(source_.voxels.size());
  // Of one axis of a voxel: what is reached.
  const auto reached = [this](std::int32_t c, std::size_t axis, std::int64_t* to) {
    int n = 0;
    for (const std::int64_t d : d_[axis]) {
      const std::int64_t moved = factor_ * c + d;
      if (stride_ == 1) {
        to[n++] = moved;
      } else if ((moved & (stride_ - 1)) == 0) {  // strides are powers of two
        to[n++] = moved / stride_;
      }
    }
    return n;
  };
  before_.resize(at(rows) + 1);
  in_parts(rows, kPart, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t some[128];
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t n = 1;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        n *= reached(source_.voxels[at(i)][axis], axis, some);
      }
      before_[at(i)] = n;
    }
  });
  std::exclusive_scan(before_.begin(), before_.end(), before_.begin(), std::int64_t{0});
  keys_ = before_.back();
  if (at(keys_) > list_.size()) list_.resize(at(keys_));
  in_parts(rows, kPart, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t xs[128], ys[128], zs[128];
    std::uint64_t* to = list_.data() + before_[at(begin)];
    for (std::int64_t i = begin; i < end; ++i) {
      const auto& v = source_.voxels[at(i)];
      const int nx = reached(v[0], 0, xs), ny = reached(v[1], 1, ys), nz = reached(v[2], 2, zs);
      for (int x = 0; x < nx; ++x) {
        for (int y = 0; y < ny; ++y) {
          for (int z = 0; z < nz; ++z) {
            *to++ = VoxelKeys::of(source_.members[at(i)], xs[x], ys[y], zs[z]);
          }
        }
      }
    }
  });
}

void GridByKeys::sort_and_drop(KeySort sort) {
  const auto members = static_cast<std::int64_t>(source_.offsets.size()) - 1;
  first_.clear();
  last_.clear();
  if (sort == KeySort::Batch) {
    const auto end = list_.begin() + keys_;
    tbb::parallel_sort(list_.begin(), end);
    const auto last = std::unique(list_.begin(), end);
    for (std::int64_t m = 0; m < members; ++m) {
      const auto key = static_cast<std::uint64_t>(m) << (3 * VoxelKeys::kBits);
      first_.push_back(std::lower_bound(list_.begin(), last, key) - list_.begin());
    }
    last_.assign(first_.begin() + (members > 0), first_.end());
    if (members > 0) last_.push_back(last - list_.begin());
    return;
  }
  first_.resize(at(members));
  last_.resize(at(members));
  tbb::parallel_for(std::int64_t{0}, members, [this, sort](std::int64_t m) {
    first_[at(m)] = before_[at(source_.offsets[at(m)])];
    std::uint64_t* begin = list_.data() + first_[at(m)];
    std::uint64_t* end = list_.data() + before_[at(source_.offsets[at(m) + 1])];
    if (sort == KeySort::Vector) {
      sort_keys(begin, end - begin);
    } else {
      std::sort(begin, end);
    }
    last_[at(m)] = std::unique(begin, end) - list_.data();
  });
}

GridBatch GridByKeys::build(BatchedBuilder& builder, const GridBatch& like, KeySort sort) {
  list();
  sort_and_drop(sort);
  std::vector<std::int64_t> offsets{0};
  for (std::size_t m = 0; m < first_.size(); ++m) {
    offsets.push_back(offsets.back() + last_[m] - first_[m]);
  }
  ijk_.resize(at(3 * offsets.back()));
  for (std::size_t m = 0; m < first_.size(); ++m) {
    in_parts(last_[m] - first_[m], kPart, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto voxel = VoxelKeys::voxel(list_[at(first_[m] + i)]);
        std::copy(voxel.begin(), voxel.end(), ijk_.begin() + 3 * (offsets[m] + i));
      }
    });
  }
  std::vector<MemberMap> maps;
  for (std::int64_t m = 0; m < like.size(); ++m) maps.push_back(like.member(m).map);
  return builder.from_ijk({ijk_, offsets}, {maps, {}});
}

// --- maps

struct MapByKeys::State {
  State(const VoxelRows& fine_rows, How which) : fine(fine_rows), how(which) {}
  const VoxelRows& fine;
  How how;
  int shards = 1;  // flat hash maps, each filled by one thread
  std::int64_t rows = 0;
  std::vector<std::uint64_t> steps;                           // per tap
  std::vector<std::uint64_t> homes;                           // per coarse row: where tap 0 looks
  std::vector<std::pair<std::uint64_t, std::int32_t>> order;  // keys and rows
  std::vector<std::uint64_t> keys;                            // sorted
#ifdef LEAFPROOF_HAS_ABSEIL
  std::vector<absl::flat_hash_map<std::uint64_t, std::int32_t>> tables;
#endif
  std::vector<std::int32_t> some_fine, some_coarse;  // found: by tap and part
  std::vector<std::int64_t> counts;

  static std::size_t shard(std::uint64_t key, int shards) {
    return static_cast<std::size_t>(
        (key * 0x9E3779B97F4A7C15u >> 32) * static_cast<std::uint64_t>(shards) >> 32);
  }
  std::uint64_t key(std::int64_t i) const {
    const auto& v = fine.voxels[at(i)];
    return VoxelKeys::of(fine.members[at(i)], v[0], v[1], v[2]);
  }
  std::int64_t size() const { return static_cast<std::int64_t>(fine.voxels.size()); }

  void sort() {
    order.resize(fine.voxels.size());
    keys.resize(fine.voxels.size());
    in_parts(size(), kPart, [this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        order[at(i)] = {key(i), static_cast<std::int32_t>(i)};
    });
    tbb::parallel_sort(order.begin(), order.end());
    in_parts(size(), kPart, [this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) keys[at(i)] = order[at(i)].first;
    });
  }
  std::int32_t find_sorted(std::uint64_t wanted) const {
    const auto found = std::lower_bound(keys.begin(), keys.end(), wanted);
    return found == keys.end() || *found != wanted ? -1 : order[at(found - keys.begin())].second;
  }

#ifdef LEAFPROOF_HAS_ABSEIL
  void hash() {
    tables.clear();
    tables.resize(at(shards));
    tbb::parallel_for(std::size_t{0}, at(shards), [this](std::size_t s) {
      tables[s].reserve(fine.voxels.size() / at(shards) * 9 / 8);
      for (std::int64_t i = 0; i < size(); ++i) {
        const std::uint64_t k = key(i);
        if (shard(k, shards) == s) tables[s].emplace(k, static_cast<std::int32_t>(i));
      }
    });
  }
  std::int32_t find_hashed(std::uint64_t wanted) const {
    const auto& table = tables[shards == 1 ? 0 : shard(wanted, shards)];
    const auto found = table.find(wanted);
    return found == table.end() ? -1 : found->second;
  }
#endif

  /// Looks up all partners, then brings the lists together.
  template <class Find>
  KernelMap look_up(const Find& find) {
    const auto taps = static_cast<std::int64_t>(steps.size());
    const std::int64_t parts = (rows + kPart - 1) / kPart;
    counts.assign(at(taps * parts + 1), 0);
    tbb::parallel_for(std::int64_t{0}, taps * parts, [&](std::int64_t item) {
      const std::int64_t tap = item / parts, begin = item % parts * kPart;
      std::int64_t to = tap * rows + begin;
      const std::int64_t first = to;
      for (std::int64_t row = begin; row < std::min(rows, begin + kPart); ++row) {
        const std::int32_t found = find(homes[at(row)] + steps[at(tap)]);
        if (found < 0) continue;
        some_fine[at(to)] = found;
        some_coarse[at(to++)] = static_cast<std::int32_t>(row);
      }
      counts[at(item)] = to - first;
    });
    std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), std::int64_t{0});
    auto offsets = std::make_shared<std::vector<std::int64_t>>();
    for (std::int64_t tap = 0; tap <= taps; ++tap) offsets->push_back(counts[at(tap * parts)]);
    const std::int64_t pairs = counts.back();
    bool zeroed = false;
    auto memory = allocate_shared(
        system_allocator(),
        offsets->size() * sizeof(std::int64_t) + at(2 * pairs) * sizeof(std::int32_t), &zeroed);
    std::memcpy(memory.get(), offsets->data(), offsets->size() * sizeof(std::int64_t));
    auto* to =
        reinterpret_cast<std::int32_t*>(memory.get() + offsets->size() * sizeof(std::int64_t));
    tbb::parallel_for(std::int64_t{0}, taps * parts, [&](std::int64_t item) {
      const std::int64_t from = item / parts * rows + item % parts * kPart;
      const auto bytes = at(counts[at(item) + 1] - counts[at(item)]) * sizeof(std::int32_t);
      std::memcpy(to + counts[at(item)], some_fine.data() + from, bytes);
      std::memcpy(to + pairs + counts[at(item)], some_coarse.data() + from, bytes);
    });
    return KernelMap(offsets, size(), rows, memory);
  }
};

bool MapByKeys::has(How how) {
#ifdef LEAFPROOF_HAS_ABSEIL
  return how == How::SortedKeys || how == How::FlatHashMap;
#else
  return how == How::SortedKeys;
#endif
}

MapByKeys::MapByKeys(const VoxelRows& fine, const VoxelRows& coarse, const ConvGeometry& geometry,
                     How how)
    : state_(new State(fine, how)) {
  State& s = *state_;
  s.shards = static_cast<int>(
      tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
  s.rows = static_cast<std::int64_t>(coarse.voxels.size());
  AxisRelation axes[3];
  transposed_axes(geometry, axes);  // fine = factor * coarse + first + step * tap
  for (std::int64_t x = 0; x < axes[0].count; ++x) {
    for (std::int64_t y = 0; y < axes[1].count; ++y) {
      for (std::int64_t z = 0; z < axes[2].count; ++z) {
        s.steps.push_back(VoxelKeys::step(axes[0].step * x, axes[1].step * y, axes[2].step * z));
      }
    }
  }
  for (std::size_t i = 0; i < coarse.voxels.size(); ++i) {
    const auto& v = coarse.voxels[i];
    s.homes.push_back(VoxelKeys::of(coarse.members[i], axes[0].factor * v[0] + axes[0].first,
                                    axes[1].factor * v[1] + axes[1].first,
                                    axes[2].factor * v[2] + axes[2].first));
  }
  s.some_fine.resize(s.steps.size() * s.homes.size());
  s.some_coarse.resize(s.some_fine.size());
}

MapByKeys::~MapByKeys() = default;

KernelMap MapByKeys::build() {
#ifdef LEAFPROOF_HAS_ABSEIL
  if (state_->how == How::FlatHashMap) {
    state_->hash();
    return state_->look_up([this](std::uint64_t key) { return state_->find_hashed(key); });
  }
#endif
  state_->sort();
  return state_->look_up([this](std::uint64_t key) { return state_->find_sorted(key); });
}

bool same_map(const KernelMap& a, const KernelMap& b) {
  return a.offsets() == b.offsets() && a.source_rows() == b.source_rows() &&
         a.target_rows() == b.target_rows() &&
         std::equal(a.gather(), a.gather() + a.pairs(), b.gather()) &&
         std::equal(a.scatter(), a.scatter() + a.pairs(), b.scatter());
}

}  // namespace leafproof::gpu::benchmarks
