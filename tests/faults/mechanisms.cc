#include "tests/faults/mechanisms.h"

#include <sys/mman.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <new>
#include <span>
#include <utility>

#include "gpu/build.h"
#include "oracle/backends/builder_backend.h"
#include "oracle/backends/host_backend.h"
#include "oracle/backends/reference_backend.h"
#include "oracle/judge.h"
#include "oracle/layout_view.h"
#include "oracle/nanovdb_format.h"
#include "oracle/sequence.h"
#include "tests/faults/judging.h"
#include "tests/faults/plain.h"
#include "tests/faults/plain_lattice.h"

namespace leafproof::faults {
namespace {

namespace format = oracle::format;
using oracle::Answer;
using oracle::GridBuffer;
using oracle::Layout;
using reference::Array;

/// Bytes that may be changed.
struct Copy {
  std::shared_ptr<std::vector<std::byte>> bytes;
  std::vector<std::uint64_t> offsets;
  explicit Copy(const GridBuffer& buffer)
      : bytes(std::make_shared<std::vector<std::byte>>(buffer.bytes.begin(), buffer.bytes.end())),
        offsets(buffer.offsets) {}
  GridBuffer buffer() const { return {bytes, *bytes, offsets}; }
};

/// Kernel maps by what decides them [P-2].
class Cache {
 public:
  explicit Cache(Fault fault) : fault_(fault) {}
  Answer get(const Case& c) {
    Key key;
    const auto add = [&](Fault without, const auto& values) {
      if (fault_ != without) key.insert(key.end(), values.begin(), values.end());
    };
    add(Fault::CacheWithoutSize, c.kernel.size);
    add(Fault::CacheWithoutStride, c.kernel.stride);
    add(Fault::CacheWithoutDilation, c.kernel.dilation);
    add(Fault::CacheWithoutDirection, std::vector<std::int64_t>{c.direction == Direction::Forward});
    key.push_back(c.dense);
    for (const Batch* batch : {&c.source, c.target ? &*c.target : nullptr})
      if (batch != nullptr) add_batch(*batch, key);
    const auto found = answers_.find(key);
    if (found != answers_.end()) return found->second;
    return answers_.emplace(key, Plain().answer(c)).first->second;
  }

 private:
  using Key = std::vector<std::int64_t>;
  // What it is, or only how large.
  void add_batch(const Batch& batch, Key& key) const {
    for (const auto& member : batch.members) {
      key.push_back(static_cast<std::int64_t>(member.size()));
      for (const Voxel& v : member)
        if (fault_ != Fault::CacheWithoutIdentity) key.insert(key.end(), {v.x, v.y, v.z});
    }
  }
  Fault fault_;
  std::map<Key, Answer> answers_;
};

/// The value masks of the nodes of one level of a layout's only grid, as they are written.
struct ValueMasks {
  std::uint64_t at, size, stride, nodes;  // the first's place; bytes of one, and to the next
  void clear(std::vector<std::byte>& bytes) const {
    for (std::uint64_t i = 0; i < nodes; ++i) std::memset(&bytes.at(at + i * stride), 0, size);
  }
};

ValueMasks masks_of_uppers(const reference::Grid& grid) {
  using Data = format::UpperData;
  const std::uint64_t nodes = grid.uppers.size();
  const std::uint64_t first = format::GridData::size + format::TreeData::size +
                              format::RootData::size + nodes * format::Tile::size;
  return {first + Data::value_mask.at, Data::value_mask.size, Data::size, nodes};
}

ValueMasks masks_of_lowers(const reference::Grid& grid) {
  using Data = format::LowerData;
  const ValueMasks above = masks_of_uppers(grid);
  const std::uint64_t first =
      above.at - format::UpperData::value_mask.at + above.nodes * above.stride;
  return {first + Data::value_mask.at, Data::value_mask.size, Data::size, grid.lowers.size()};
}

/// The grids as the oracle reads them, or its refusal.
Answer read(const GridBuffer& buffer) {
  try {
    return oracle::read_layout(buffer);
  } catch (const reference::Error& error) {
    return error;
  }
}

/// The same by the builder.
Answer adopted(const std::vector<std::byte>& bytes) {
  const std::shared_ptr<std::byte> memory(
      static_cast<std::byte*>(::operator new(bytes.size(), std::align_val_t{32})),
      [](std::byte* p) { ::operator delete(p, std::align_val_t{32}); });
  std::memcpy(memory.get(), bytes.data(), bytes.size());
  try {
    const gpu::GridBatch batch = gpu::BatchedBuilder().adopt(memory, bytes.size());
    return GridBuffer{batch.storage(), batch.bytes(), batch.byte_offsets()};
  } catch (const gpu::Error& error) {
    return oracle::translated(error);
  }
}

/// A batch in which each leaf stands for so many that a member's leaves pass 2^32 bytes: the real
/// ones are the last of them. Its grids lie where the builder's sizes say, in memory that is
/// reserved and hardly touched.
class Spread {
 public:
  Spread(const Layout& layout, Fault fault) {
    std::size_t most = 1;
    for (const auto& grid : layout.grids) most = std::max(most, grid.leaves.size());
    const int shift = std::max(0, 27 - static_cast<int>(std::bit_width(most)));
    gpu::PassPlan plan;
    plan.operation = "virtual";
    plan.maps.resize(layout.grids.size());
    plan.names.resize(layout.grids.size());
    std::vector<gpu::MemberStart> starts(1);
    for (const auto& grid : layout.grids) {
      const auto count = [](const auto& nodes) { return static_cast<std::int64_t>(nodes.size()); };
      gpu::MemberStart next = starts.back();
      next.upper += count(grid.uppers);
      next.lower += count(grid.lowers);
      next.leaf += count(grid.leaves) << shift;
      starts.push_back(next);
    }
    const auto placed = gpu::building::place(plan, starts, INT64_MAX);
    reserve(static_cast<std::size_t>(placed.grid_bytes));
    const GridBuffer real = oracle::write_layout(layout);
    for (std::size_t m = 0; m < layout.grids.size(); ++m) {
      const gpu::MemberTarget& target = placed.targets[m];
      auto at = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(target.grid));
      auto size = static_cast<std::uint64_t>(target.bytes());
      if (fault == Fault::CountNarrowed) {
        at = buffer_.offsets.back();
        size = static_cast<std::uint64_t>(target.leaves_at()) +
               static_cast<std::uint32_t>(target.leaves * gpu::kLeafBytes);
      }
      const std::uint64_t before = real.offsets[m + 1] - real.offsets[m];
      write(layout.grids[m], real.bytes.subspan(real.offsets[m], before), at, size,
            static_cast<std::uint64_t>(target.bytes()) - before);
      buffer_.offsets.push_back(at + size);
    }
    buffer_.bytes = {memory_, buffer_.offsets.back()};
  }
  const GridBuffer& buffer() const { return buffer_; }

 private:
  void reserve(std::size_t size) {
    if (size == 0) return;
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    buffer_.owner = std::shared_ptr<const void>(
        memory, [size](const void* p) { munmap(const_cast<void*>(p), size); });
    memory_ = static_cast<std::byte*>(memory);
  }

  // The real grid at `at`, its leaves `further` on.
  void write(const reference::Grid& grid, std::span<const std::byte> real, std::uint64_t at,
             std::uint64_t size, std::uint64_t further) const {
    std::byte* to = memory_ + at;
    const std::uint64_t leaves_at = real.size() - grid.leaves.size() * format::LeafData::size;
    std::memcpy(to, real.data(), leaves_at);
    std::memcpy(to + leaves_at + further, real.data() + leaves_at, real.size() - leaves_at);
    const auto add = [&](std::uint64_t where) {
      std::uint64_t value = 0;
      std::memcpy(&value, to + where, sizeof value);
      value += further;
      std::memcpy(to + where, &value, sizeof value);
    };
    for (const auto& field : {format::GridData::byte_size, format::GridData::blind_offset})
      std::memcpy(to + field.at, &size, sizeof size);
    if (grid.leaves.empty()) return;
    add(format::GridData::size + format::TreeData::leaf_offset.at);
    std::uint64_t lower = leaves_at - grid.lowers.size() * format::LowerData::size;
    for (const auto& node : grid.lowers) {
      for (std::size_t slot = 0; slot < 64 * node.child_mask.size(); ++slot)
        if ((node.child_mask[slot / 64] >> (slot % 64) & 1) != 0)
          add(lower + format::LowerData::table.at + 8 * slot);
      lower += format::LowerData::size;
    }
  }

  GridBuffer buffer_{{}, {}, {0}};
  std::byte* memory_ = nullptr;
};

/// A fast engine's number where the slow one has `right`: NaN for a number, a number for NaN.
double fast_number(Fault fault, double right) {
  if (std::isnan(right)) return fault == Fault::NanPassesActual ? right : 0;
  return fault == Fault::NanPassesExpected ? right : std::nan("");
}

/// Whether the fast number may stand for the slow one. With the fault as it is often written: what
/// is not further off than a bound passes.
bool agree(Fault fault, double fast, double slow) {
  const double bound = 1e-3;
  if (fault != Fault::None) return !(std::fabs(fast - slow) > bound);
  return std::fabs(fast - slow) <= bound || (std::isnan(fast) && std::isnan(slow));
}

}  // namespace

Killed by_answers(const Case& question, Fault fault) {
  return judged(question, [&] { return Plain(fault).answer(question); });
}

Killed by_bytes(const Case& question, Fault fault) {
  return judged(question, [&]() -> Answer {
    Answer answer = Plain(fault).answer(question);
    if (const auto* layout = std::get_if<Layout>(&answer)) return oracle::write_layout(*layout);
    return answer;
  });
}

Killed by_inputs(const Case& question, Fault fault) {
  return judged(question, [&] {
    Case operands = question;
    plain_answer(fault, operands);
    return plain_answer(fault, operands);
  });
}

Killed by_calls(const Case& question, Fault fault) {
  if (question.view)
    return {};  // whose members decide too; the second implementation's key does not
  Cache cache(fault);
  using oracle::Change;
  for (const Change change :
       {Change::KernelSizeX, Change::StrideY, Change::DilationX, Change::DilationY,
        Change::DilationZ, Change::Direction, Change::VoxelsX})
    if (oracle::has(question, change)) cache.get(oracle::changed(question, change));
  return judged(question, [&] { return cache.get(question); });
}

Killed by_stale_bytes(const Case& question, Fault fault) {
  const auto host = oracle::make_host_backend(oracle::HostEngine::Default);
  return judged(question, [&]() -> Answer {
    Answer answer = host->answer(question);
    const auto* buffer = std::get_if<GridBuffer>(&answer);
    if (buffer == nullptr || fault == Fault::None) return answer;
    Copy copy(*buffer);
    for (std::size_t m = 0; m + 1 < copy.offsets.size(); ++m) {
      std::byte* grid = copy.bytes->data() + copy.offsets[m];
      // Behind the name's end, as if it had been copied with strcpy over what was there.
      auto* name = reinterpret_cast<char*>(grid + format::GridData::name.at);
      const std::size_t length = std::strlen(name);
      if (length + 1 < format::GridData::name.size)
        std::memset(name + length + 1, 0xA5, format::GridData::name.size - length - 1);
    }
    return copy.buffer();
  });
}

Killed by_value_tiles(const Case& question, Fault fault) {
  for (const auto& member : question.source.members) {
    if (member.empty()) continue;
    Batch source;  // one member that has nodes
    source.members.push_back(member);
    source.maps.emplace_back();
    source.names.emplace_back();
    sort_unique(Fault::None, source.members.back());
    const Layout layout = reference::layout_of(source);
    const auto& grid = layout.grids[0];
    const ValueMasks lower = masks_of_lowers(grid), upper = masks_of_uppers(grid);
    for (const auto& [masks, node] :
         {std::pair(lower, &grid.lowers[0]), std::pair(upper, &grid.uppers[0])}) {
      const auto free = std::find_if(node->child_mask.begin(), node->child_mask.end(),
                                     [](std::uint64_t word) { return ~word != 0; });
      if (free == node->child_mask.end()) continue;
      const auto slot =
          static_cast<std::size_t>(64 * (free - node->child_mask.begin()) + std::countr_one(*free));
      Copy copy(oracle::write_layout(layout));
      copy.bytes->at(masks.at + slot / 8) |= std::byte{1} << (slot % 8);
      const Answer reference = read(copy.buffer());
      if (fault == Fault::ValueTiles)
        for (const ValueMasks& all : {lower, upper}) all.clear(*copy.bytes);
      const Answer candidate = adopted(*copy.bytes);
      if (auto killed = killed_by(oracle::compare(reference, candidate, oracle::Profile::Topology),
                                  question.op))
        return killed;
    }
    return {};
  }
  return {};
}

Killed by_virtual_counts(const Case& question, Fault fault) {
  Batch source = question.source;
  for (auto& member : source.members) sort_unique(Fault::None, member);
  source.maps.assign(source.size(), {});
  source.names.assign(source.size(), "");
  const Layout layout = reference::layout_of(source);
  const Spread spread(layout, fault);
  return killed_by(oracle::compare(layout, spread.buffer(), oracle::Profile::Topology),
                   question.op);
}

Killed by_nan(const Case& question, Fault fault) {
  return judged(question, [&] {
    Answer answer = Plain().answer(question);
    auto* slow = std::get_if<oracle::NumbersAnswer>(&answer);
    if (slow == nullptr || slow->type == oracle::NumberType::Int32) return answer;
    for (double& right : slow->array.values) {
      const double fast = fast_number(fault, right);
      if (agree(fault, fast, right)) right = fast;
    }
    return answer;
  });
}

}  // namespace leafproof::faults
