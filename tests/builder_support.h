// For tests of the batched builder: batches written down and read back through NanoVDB's own
// structures, every executor mode, every pass, and allocators that watch, poison and fail.
#pragma once

#include <gtest/gtest.h>
#include <nanovdb/NanoVDB.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gpu/batched_builder.h"
#include "reference/canonical_order.h"

namespace leafproof::tests {

using gpu::BatchedBuilder;
using gpu::BuilderOptions;
using gpu::GridBatch;
using reference::Voxel;
using Members = std::vector<std::vector<Voxel>>;
using NanoGrid = nanovdb::NanoGrid<nanovdb::ValueOnIndex>;

// ---- batches, there and back

/// Members as the arrays that the builder takes.
struct Lists {
  std::vector<std::int32_t> ijk;
  std::vector<std::int64_t> offsets{0};

  Lists() = default;
  explicit Lists(const Members& members) {
    for (const auto& member : members) {
      for (const Voxel& v : member) ijk.insert(ijk.end(), {v.x, v.y, v.z});
      offsets.push_back(static_cast<std::int64_t>(ijk.size() / 3));
    }
  }
  gpu::VoxelLists view() const { return {ijk, offsets}; }
};

inline GridBatch build(BatchedBuilder& builder, const Members& members,
                       const gpu::MapsAndNames& given = {}) {
  const Lists lists(members);
  if (builder.works_in_host_memory()) return builder.from_ijk(lists.view(), given);
  const auto copy = builder.to_device(std::as_bytes(std::span(lists.ijk)));
  return builder.from_ijk(
      {{reinterpret_cast<const std::int32_t*>(copy.get()), lists.ijk.size()}, lists.offsets},
      given);
}

inline const NanoGrid& nano(const GridBatch& batch, std::int64_t member) {
  return *reinterpret_cast<const NanoGrid*>(batch.grid(member));
}

/// The voxels of a member in stored order, from the masks of its leaves.
inline std::vector<Voxel> voxels(const GridBatch& batch, std::int64_t member) {
  std::vector<Voxel> found;
  const auto& tree = nano(batch, member).tree();
  const auto* leaf = tree.getFirstLeaf();
  for (std::uint32_t i = 0; i < tree.nodeCount(0); ++i, ++leaf) {
    const nanovdb::Coord at = leaf->origin();
    for (std::uint32_t n = 0; n < 512; ++n) {
      if (!leaf->valueMask().isOn(n)) continue;
      found.push_back({at[0] + static_cast<std::int32_t>(n >> 6),
                       at[1] + static_cast<std::int32_t>((n >> 3) & 7),
                       at[2] + static_cast<std::int32_t>(n & 7)});
    }
  }
  return found;
}

inline Members members(const GridBatch& batch) {
  Members all;
  for (std::int64_t m = 0; m < batch.size(); ++m) all.push_back(voxels(batch, m));
  return all;
}

/// Leaves, lower and upper nodes as the tree in the buffer counts them.
using NodeCounts = std::array<std::int64_t, 3>;
inline NodeCounts node_counts(const GridBatch& batch, std::int64_t member) {
  const auto& tree = nano(batch, member).tree();
  return {tree.nodeCount(0), tree.nodeCount(1), tree.nodeCount(2)};
}

inline std::vector<Voxel> canonical(std::vector<Voxel> voxels) {
  reference::make_canonical(voxels);
  return voxels;
}

/// Byte for byte, all grids of both; the first difference named.
inline testing::AssertionResult same_bytes(const GridBatch& left, const GridBatch& right) {
  const auto a = left.bytes(), b = right.bytes();
  if (left.byte_offsets() != right.byte_offsets()) {
    return testing::AssertionFailure()
           << "grids of other sizes: " << left.size() << " in " << a.size() << " bytes, "
           << right.size() << " in " << b.size();
  }
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) {
    return testing::AssertionSuccess();
  }
  std::size_t at = 0, member = 0;
  while (a[at] == b[at]) ++at;
  const auto offsets = left.byte_offsets();
  while (offsets[member + 1] <= at) ++member;
  return testing::AssertionFailure()
         << "member " << member << " differs from its byte " << at - offsets[member] << " on";
}

/// One member of each, byte for byte but for grid index and count [L-3].
inline testing::AssertionResult same_member(const GridBatch& left, std::int64_t i,
                                            const GridBatch& right, std::int64_t j) {
  const std::int64_t bytes = left.member(i).bytes;
  if (bytes != right.member(j).bytes) {
    return testing::AssertionFailure() << bytes << " bytes, and " << right.member(j).bytes;
  }
  constexpr std::int64_t kIndexAt = offsetof(nanovdb::GridData, mGridIndex);
  constexpr std::int64_t kCountEnd = offsetof(nanovdb::GridData, mGridSize);
  const auto same = [&](std::int64_t from, std::int64_t to) {
    return std::memcmp(left.grid(i) + from, right.grid(j) + from,
                       static_cast<std::size_t>(to - from)) == 0;
  };
  if (!same(0, kIndexAt)) return testing::AssertionFailure() << "the grids' heads differ";
  if (!same(kCountEnd, bytes)) {
    std::int64_t at = kCountEnd;
    while (left.grid(i)[at] == right.grid(j)[at]) ++at;
    return testing::AssertionFailure() << "members differ from byte " << at << " on";
  }
  return testing::AssertionSuccess();
}

// ---- executor modes

struct Mode {
  std::string name;
  BuilderOptions options;
};

/// Engines x threads x scratch budgets; a budget of 0 counts before it allocates.
inline std::vector<Mode> modes(std::vector<gpu::Threads> threads = {
                                   gpu::Threads::Tbb, gpu::Threads::Serial, gpu::Threads::Own}) {
  std::vector<Mode> all;
  for (const auto engine : {gpu::Engine::Mask, gpu::Engine::Sort}) {
    for (const auto thread : threads) {
      for (const bool counted : {false, true}) {
        Mode mode;
        mode.name = engine == gpu::Engine::Mask ? "mask" : "sort";
        mode.name += thread == gpu::Threads::Tbb      ? ", TBB"
                     : thread == gpu::Threads::Serial ? ", serial"
                                                      : ", own threads";
        if (counted) mode.name += ", counted";
        mode.options.engine = engine;
        mode.options.threads = thread;
        if (counted) mode.options.scratch_budget = 0;
        all.push_back(std::move(mode));
      }
    }
  }
  return all;
}

/// Runs `body(builder)` in every mode on one thread: what is found does not depend on who runs it.
template <class Body>
void in_every_mode(const Body& body) {
  for (const Mode& mode : modes({gpu::Threads::Serial})) {
    SCOPED_TRACE(mode.name);
    BatchedBuilder builder(mode.options);
    body(builder);
  }
}

// ---- refusals

/// Runs `call`, which must refuse with an Error of `kind`; returns it.
template <class Call>
std::optional<gpu::Error> refusal(gpu::ErrorKind kind, const Call& call) {
  try {
    call();
  } catch (const gpu::Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << error.what();
    return error;
  }
  ADD_FAILURE() << "no refusal where " << to_string(kind) << " was expected";
  return {};
}

// ---- allocators

/// Counts what it gives and takes back, fills blocks with a byte or with noise and never says that
/// they are zero, puts guard bytes behind each, and fails on demand. Safe from several threads.
class TestAllocator {
 public:
  static constexpr int kNoise = -1, kPlain = -2;  // kPlain: fresh zeroed memory, for counting alone
  explicit TestAllocator(int fill = kNoise) : fill_(fill) {}
  TestAllocator(const TestAllocator&) = delete;
  TestAllocator& operator=(const TestAllocator&) = delete;

  gpu::Allocator allocator() { return {allocate, release, this}; }

  /// The n-th allocation from now on fails (1: the next); 0: none.
  void fail_at(std::int64_t n) { fails_at_ = n == 0 ? -1 : calls_ + n; }

  std::int64_t calls() const { return calls_; }
  std::int64_t live_blocks() const { return blocks_; }
  std::int64_t live_bytes() const { return bytes_; }
  std::int64_t overruns() const { return overruns_; }  // blocks written behind their end
  std::int64_t largest() const { return largest_; }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr int kGuardByte = 0xA5;

  static void* allocate(void* context, std::size_t bytes, bool* zeroed) {
    auto& self = *static_cast<TestAllocator*>(context);
    *zeroed = false;
    const std::int64_t call = ++self.calls_;
    if (call == self.fails_at_) return nullptr;
    void* memory = nullptr;
    if (self.fill_ == kPlain) {
      memory = gpu::system_allocator().allocate(nullptr, bytes + kGuard, zeroed);
      if (memory == nullptr) return nullptr;
    } else {
      if (posix_memalign(&memory, 256, bytes + kGuard) != 0) return nullptr;
      self.fill(static_cast<std::byte*>(memory), bytes, static_cast<std::uint64_t>(call));
    }
    std::memset(static_cast<std::byte*>(memory) + bytes, kGuardByte, kGuard);
    ++self.blocks_;
    self.bytes_ += static_cast<std::int64_t>(bytes);
    if (static_cast<std::int64_t>(bytes) > self.largest_) {
      self.largest_ = static_cast<std::int64_t>(bytes);
    }
    return memory;
  }

  static void release(void* context, void* memory, std::size_t bytes) {
    auto& self = *static_cast<TestAllocator*>(context);
    const auto* guard = static_cast<const std::byte*>(memory) + bytes;
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (guard[i] != std::byte{kGuardByte}) {
        ++self.overruns_;
        break;
      }
    }
    if (self.fill_ == kPlain) {
      gpu::system_allocator().release(nullptr, memory, bytes + kGuard);
    } else {
      std::memset(memory, 0xDD, bytes);  // who reads it now sees it
      std::free(memory);
    }
    --self.blocks_;
    self.bytes_ -= static_cast<std::int64_t>(bytes);
  }

  void fill(std::byte* memory, std::size_t bytes, std::uint64_t seed) const {
    if (fill_ != kNoise) {
      std::memset(memory, fill_, bytes);
      return;
    }
    std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (std::size_t at = 0; at < bytes; at += 8) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      std::memcpy(memory + at, &state, std::min<std::size_t>(8, bytes - at));
    }
  }

  int fill_;
  std::atomic<std::int64_t> calls_{0}, fails_at_{-1}, blocks_{0}, bytes_{0}, overruns_{0},
      largest_{0};
};

// ---- every pass

/// What the passes below read. Made once, then only read.
struct Operands {
  Lists lists;                       // unsorted, with repeats
  std::vector<double> points;        // the same voxels as points
  GridBatch source, other;           // equal B
  std::vector<std::int64_t> picks;   // a view of source: reversed, the first member twice
  std::vector<std::uint8_t> flags;   // one per voxel of source, asymmetric
  std::vector<gpu::MemberMap> maps;  // of source, all different
  std::vector<std::string> names;    // of source, all different

  // Copies of what launches read, in the memory of a builder that does not work in the host's.
  std::shared_ptr<std::byte> device_ijk, device_points, device_flags;

  gpu::MapsAndNames given() const { return {maps, names}; }
  gpu::VoxelLists voxel_lists() const { return {there(device_ijk, lists.ijk), lists.offsets}; }
  gpu::PointLists point_lists() const { return {there(device_points, points), lists.offsets}; }
  gpu::VoxelFlags voxel_flags() const {
    return {there(device_flags, flags), source.voxel_offsets()};
  }

 private:
  template <class T>
  static std::span<const T> there(const std::shared_ptr<std::byte>& copy,
                                  const std::vector<T>& numbers) {
    if (copy == nullptr) return numbers;
    return {reinterpret_cast<const T*>(copy.get()), numbers.size()};
  }
};

inline Operands operands(BatchedBuilder& builder, const Members& source, const Members& other,
                         std::uint64_t seed = 1) {
  Operands made;
  std::mt19937_64 rng(seed);
  Members raw = source;
  for (std::size_t m = 0; m < raw.size(); ++m) {
    std::vector<Voxel>& list = raw[m];
    const std::size_t n = list.size();
    for (std::size_t i = 0; i < n; i += 3) list.push_back(list[i]);
    std::shuffle(list.begin(), list.end(), rng);
    const auto k = static_cast<double>(m);
    made.maps.push_back({{0.5 + k, 0.25, 2.0}, {k, -1.5, 1000.0}});
    made.names.push_back("member " + std::to_string(m));
    made.picks.insert(made.picks.begin(), static_cast<std::int64_t>(m));
  }
  if (!made.picks.empty()) made.picks.push_back(0);
  made.lists = Lists(raw);
  for (std::size_t m = 0; m < raw.size(); ++m) {
    const gpu::MemberMap& map = made.maps[m];
    for (const Voxel& v : raw[m]) {
      const double xyz[3] = {static_cast<double>(v.x), static_cast<double>(v.y),
                             static_cast<double>(v.z)};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        made.points.push_back(xyz[axis] * map.voxel_size[axis] + map.origin[axis]);
      }
    }
  }
  if (!builder.works_in_host_memory()) {
    made.device_ijk = builder.to_device(std::as_bytes(std::span(made.lists.ijk)));
    made.device_points = builder.to_device(std::as_bytes(std::span(made.points)));
  }
  made.source = builder.from_ijk(made.voxel_lists(), made.given());
  made.other = build(builder, other);
  made.flags.resize(static_cast<std::size_t>(made.source.voxel_count()));
  for (std::size_t i = 0; i < made.flags.size(); ++i) made.flags[i] = i % 7 < 3 || i % 11 == 0;
  if (!builder.works_in_host_memory()) {
    made.device_flags = builder.to_device(std::as_bytes(std::span(made.flags)));
  }
  return made;
}

struct Pass {
  const char* name;
  GridBatch (*run)(BatchedBuilder&, const Operands&);
};

/// Each pass of the builder, along each of its ways through the code.
inline const std::vector<Pass>& passes() {
  using B = BatchedBuilder;
  using O = Operands;
  static const std::vector<Pass> all{
      {"from_ijk", [](B& b, const O& o) { return b.from_ijk(o.voxel_lists(), o.given()); }},
      {"from_points", [](B& b, const O& o) { return b.from_points(o.point_lists(), o.given()); }},
      {"refine 2", [](B& b, const O& o) { return b.refine(o.source, {2, 2, 2}); }},
      {"refine (3,1,5)", [](B& b, const O& o) { return b.refine(o.source, {3, 1, 5}); }},
      {"refine 1", [](B& b, const O& o) { return b.refine(o.source, {1, 1, 1}); }},
      {"refine 2, masked",
       [](B& b, const O& o) { return b.refine(o.source, {2, 2, 2}, o.voxel_flags()); }},
      {"refine 1, masked",
       [](B& b, const O& o) { return b.refine(o.source, {1, 1, 1}, o.voxel_flags()); }},
      {"coarsen 2", [](B& b, const O& o) { return b.coarsen(o.source, {2, 2, 2}); }},
      {"coarsen (3,1,5)", [](B& b, const O& o) { return b.coarsen(o.source, {3, 1, 5}); }},
      {"coarsen 1", [](B& b, const O& o) { return b.coarsen(o.source, {1, 1, 1}); }},
      {"dilate 26",
       [](B& b, const O& o) { return b.dilate_box(o.source, {-1, -1, -1}, {1, 1, 1}); }},
      {"dilate far",
       [](B& b, const O& o) { return b.dilate_box(o.source, {-9, 3, 0}, {-2, 5, 11}); }},
      {"dilate by nothing",
       [](B& b, const O& o) { return b.dilate_box(o.source, {0, 0, 0}, {0, 0, 0}); }},
      {"dual", [](B& b, const O& o) { return b.dual(o.source); }},
      {"erode 26", [](B& b, const O& o) { return b.erode_box(o.source, {-1, -1, -1}, {1, 1, 1}); }},
      {"erode far", [](B& b, const O& o) { return b.erode_box(o.source, {-9, 0, 0}, {0, 0, 1}); }},
      {"prune", [](B& b, const O& o) { return b.prune(o.source, o.voxel_flags()); }},
      {"merge", [](B& b, const O& o) { return b.merge(o.source, o.other); }},
      {"intersect", [](B& b, const O& o) { return b.intersect(o.source, o.other); }},
      {"subtract", [](B& b, const O& o) { return b.subtract(o.source, o.other); }},
      {"conv K 2 S 2",
       [](B& b, const O& o) { return b.conv_grid(o.source, {{2, 2, 2}, {2, 2, 2}, {1, 1, 1}}); }},
      {"conv K 3",
       [](B& b, const O& o) { return b.conv_grid(o.source, {{3, 3, 3}, {1, 1, 1}, {1, 1, 1}}); }},
      {"conv K 4 S 2",
       [](B& b, const O& o) { return b.conv_grid(o.source, {{4, 4, 4}, {2, 2, 2}, {1, 1, 1}}); }},
      {"conv mixed",
       [](B& b, const O& o) { return b.conv_grid(o.source, {{3, 2, 6}, {2, 3, 1}, {1, 2, 3}}); }},
      {"conv transposed K 3 S 2",
       [](B& b, const O& o) {
         return b.conv_transpose_grid(o.source, {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}});
       }},
      {"conv transposed, mixed",
       [](B& b, const O& o) {
         return b.conv_transpose_grid(o.source, {{3, 2, 6}, {2, 3, 1}, {1, 2, 3}});
       }},
      {"conv of a view",
       [](B& b, const O& o) {
         return b.conv_grid(o.source.view(o.picks), {{2, 3, 1}, {2, 2, 2}, {1, 1, 1}});
       }},
      {"rebuild a view", [](B& b, const O& o) { return b.rebuild(o.source.view(o.picks)); }},
      {"refine a view",
       [](B& b, const O& o) { return b.refine(o.source.view(o.picks), {2, 1, 3}); }},
      {"merge views",
       [](B& b, const O& o) { return b.merge(o.source.view(o.picks), o.other.view(o.picks)); }},
  };
  return all;
}

/// A cube with its faces, edges and corners, [min, max] on every axis.
inline void add_box(std::vector<Voxel>& to, Voxel min, Voxel max) {
  for (std::int32_t x = min.x; x <= max.x; ++x) {
    for (std::int32_t y = min.y; y <= max.y; ++y) {
      for (std::int32_t z = min.z; z <= max.z; ++z) to.push_back({x, y, z});
    }
  }
}

/// Four members of random voxels in [-reach, reach]^3, the second empty.
inline Members cloud(std::mt19937& random, std::int32_t reach, int voxels) {
  Members all(4);
  for (std::size_t m = 0; m < all.size(); ++m) {
    if (m == 1) continue;
    std::uniform_int_distribution<std::int32_t> draw(-reach, reach);
    for (int i = 0; i < voxels; ++i) all[m].push_back({draw(random), draw(random), draw(random)});
    all[m] = canonical(all[m]);
  }
  return all;
}

/// Three numbers of 1 ... most.
inline gpu::Triple random_triple(std::mt19937& random, std::int64_t most) {
  std::uniform_int_distribution<std::int64_t> draw(1, most);
  return {draw(random), draw(random), draw(random)};
}

/// Members with different node counts on every level, negative tiles, an empty one in the middle,
/// full leaves and thin lines. Three members at least.
inline Members rich_members() {
  Members all(5);
  add_box(all[0], {-3, -3, -3}, {12, 9, 9});
  all[0].push_back({300, 5, 5});
  all[0].push_back({4200, 0, 0});
  all[0].push_back({-4200, 0, 9000});
  add_box(all[2], {0, 0, 0}, {7, 7, 15});
  add_box(all[3], {120, 127, -2}, {135, 128, 1});
  add_box(all[3], {4094, 0, 0}, {4097, 2, 2});
  all[4] = {{1, 2, 3}, {-1, -1, -1}, {127, 127, 127}, {-129, 4095, -4097}};
  for (auto& member : all) reference::make_canonical(member);
  return all;
}

/// The rich members moved by a voxel and a leaf: they meet some of the others' voxels, not all.
inline Members rich_others() {
  Members all = rich_members();
  for (auto& member : all) {
    for (Voxel& v : member) v.x += 1, v.z += 8;
  }
  std::swap(all[1], all[3]);  // an empty second operand, and an empty first one
  for (auto& member : all) reference::make_canonical(member);
  return all;
}

}  // namespace leafproof::tests

namespace leafproof::reference {

inline void PrintTo(const Voxel& v, std::ostream* out) {
  *out << '(' << v.x << ", " << v.y << ", " << v.z << ')';
}

}  // namespace leafproof::reference
