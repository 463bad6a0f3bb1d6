#include "tests/faults/mechanisms.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

#include "gpu/build.h"
#include "oracle/backends/builder_backend.h"
#include "oracle/backends/host_backend.h"
#include "oracle/backends/reference_backend.h"
#include "oracle/judge.h"
#include "oracle/layout_view.h"
#include "oracle/nanovdb_format.h"
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

std::vector<double> numbers_in(const oracle::Operands& o) {
  std::vector<double> all = o.features.values;
  for (const Array* array :
       {&o.weights, o.bias ? &*o.bias : nullptr, o.grad_output ? &*o.grad_output : nullptr})
    if (array != nullptr) all.insert(all.end(), array->values.begin(), array->values.end());
  return all;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

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

/// The same question with one thing changed, five times.
std::vector<Case> neighbours_of(const Case& c) {
  std::vector<Case> all(5, c);
  auto& size = all[0].kernel.size[0];
  size += size > 1 ? -1 : 1;
  auto& stride = all[1].kernel.stride[1];
  stride += stride > 1 ? -1 : 1;
  auto& dilation = all[2].kernel.dilation[2];
  dilation += dilation > 1 ? -1 : 1;
  all[3].direction = c.direction == Direction::Forward ? Direction::Transposed : Direction::Forward;
  for (auto& member : all[4].source.members) {
    const bool room = std::all_of(member.begin(), member.end(),
                                  [](const Voxel& v) { return v.x <= INT32_MAX - 1; });
    for (Voxel& v : member) v.x += room ? 1 : 0;  // as many voxels, others
    sort_unique(Fault::None, member);
  }
  return all;
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
  Case copy = question;
  const std::vector<double> before = numbers_in(copy.operands);
  plain_answer(fault, copy);
  if (same_bits(before, numbers_in(copy.operands))) return {};
  return Kill{"an operand is not what it was before", "V-1", {}};
}

Killed by_calls(const Case& question, Fault fault) {
  if (question.view)
    return {};  // whose members decide too; the second implementation's key does not
  Cache cache(fault);
  for (const Case& other : neighbours_of(question)) cache.get(other);
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
  Batch source;
  for (std::size_t m = 0; m < question.source.size(); ++m) {
    if (question.source.members[m].empty()) continue;
    source.members.push_back(question.source.members[m]);
    source.maps.emplace_back();
    source.names.emplace_back();
    sort_unique(Fault::None, source.members.back());
    break;  // one member that has nodes
  }
  if (source.size() == 0) return {};
  const Layout layout = reference::layout_of(source);
  const GridBuffer written = oracle::write_layout(layout);
  const std::uint64_t root = format::GridData::size + format::TreeData::size;
  const std::uint64_t tile = root + format::RootData::size;
  const std::uint64_t upper = tile + layout.grids[0].tiles.size() * format::Tile::size;
  const std::uint64_t lower = upper + layout.grids[0].uppers.size() * format::UpperData::size;
  const auto slot_without_child = [](const std::vector<std::uint64_t>& mask) {
    std::size_t n = 0;
    while (mask[n / 64] >> (n % 64) & 1) ++n;
    return n;
  };
  const auto is_full = [](const std::vector<std::uint64_t>& mask) {
    return std::all_of(mask.begin(), mask.end(), [](std::uint64_t w) { return ~w == 0; });
  };
  for (const int level : {1, 2}) {
    const auto& node = level == 1 ? layout.grids[0].lowers[0] : layout.grids[0].uppers[0];
    if (is_full(node.child_mask)) continue;
    const std::size_t n = slot_without_child(node.child_mask);
    Copy copy(written);
    std::byte* at = copy.bytes->data() +
                    (level == 1 ? lower + format::LowerData::value_mask.at
                                : upper + format::UpperData::value_mask.at) +
                    n / 8;
    // A reader that asks child masks alone accepts it.
    if (fault != Fault::ValueTiles) *at |= std::byte{1} << (n % 8);
    const std::size_t bytes = copy.bytes->size();
    const std::shared_ptr<std::byte> memory(
        static_cast<std::byte*>(::operator new(bytes, std::align_val_t{32})),
        [](std::byte* p) { ::operator delete(p, std::align_val_t{32}); });
    std::memcpy(memory.get(), copy.bytes->data(), bytes);
    try {
      gpu::BatchedBuilder().adopt(memory, bytes);
    } catch (const gpu::Error& error) {
      if (error.kind() == gpu::ErrorKind::Unsupported) continue;
      return Kill{
          fmt::format("Unsupported expected, {} given", to_string(error.kind())), "G-7", {}};
    }
    return Kill{
        fmt::format("a value tile in {} node is accepted", level == 1 ? "a lower" : "an upper"),
        "G-7",
        {}};
  }
  return {};
}

Killed by_virtual_counts(const Case& question, Fault fault) {
  Batch source = question.source;
  for (auto& member : source.members) sort_unique(Fault::None, member);
  source.maps.assign(source.size(), {});
  source.names.assign(source.size(), "");
  const Layout layout = reference::layout_of(source);
  std::uint64_t most = 0;
  for (const auto& grid : layout.grids) most = std::max<std::uint64_t>(most, grid.leaves.size());
  if (most == 0) return {};
  // Each node stands for so many that the largest level of a member still fits its 32-bit field.
  const int shift = std::countl_zero(static_cast<std::uint32_t>(most));
  std::vector<gpu::MemberStart> starts(1);
  gpu::PassPlan plan;
  plan.operation = "virtual";
  plan.maps.resize(layout.grids.size());
  plan.names.resize(layout.grids.size());
  __extension__ using Wide = unsigned __int128;
  Wide exact = 0;
  std::uint64_t bent = 0;
  for (const auto& grid : layout.grids) {
    const auto many = [&](std::size_t count) { return static_cast<std::uint64_t>(count) << shift; };
    const std::uint64_t uppers = many(grid.uppers.size()), lowers = many(grid.lowers.size()),
                        leaves = many(grid.leaves.size());
    const auto& last = starts.back();
    starts.push_back({last.tile, last.lower_candidate,
                      last.upper + static_cast<std::int64_t>(uppers),
                      last.lower + static_cast<std::int64_t>(lowers),
                      last.leaf + static_cast<std::int64_t>(leaves)});
    const auto bytes = [&](auto of_leaves) {
      return reference::kGridBytes + reference::kTreeBytes + reference::kRootBytes +
             uppers * (reference::kTileBytes + reference::kUpperBytes) +
             lowers * reference::kLowerBytes + of_leaves;
    };
    exact += bytes(Wide{leaves} * reference::kLeafBytes);
    bent += bytes(static_cast<std::uint32_t>(leaves * reference::kLeafBytes));
  }
  const std::uint64_t found =
      fault == Fault::CountNarrowed
          ? bent
          : static_cast<std::uint64_t>(gpu::building::place(plan, starts, INT64_MAX).grid_bytes);
  if (Wide{found} == exact) return {};
  return Kill{fmt::format("a batch of {} bytes, where there are {:.17g}", found,
                          static_cast<double>(exact)),
              "L-6",
              {}};
}

Killed by_nan(const Case& question, Fault fault) {
  const Answer answer = oracle::make_reference_backend()->answer(question);
  const auto* expected = std::get_if<oracle::NumbersAnswer>(&answer);
  if (expected == nullptr || expected->type == oracle::NumberType::Int32) return {};
  // A comparison as it is often written: what is not larger than a bound passes.
  const auto passes = [](double a, double b) { return !(std::fabs(a - b) > 1e-3); };
  const auto& want = expected->array.values;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto& exact = (*expected->exact)[i];
    const bool of_expected = std::isnan(want[i]);
    if (of_expected != (fault == Fault::NanPassesExpected) && fault != Fault::None) continue;
    if (!(exact.magnitude < 1e30)) continue;  // beyond the model of [V-3] any answer passes
    oracle::NumbersAnswer actual = *expected;
    actual.array.values[i] = of_expected ? 0 : std::nan("");
    const bool quiet = fault == Fault::None
                           ? oracle::compare(answer, actual, oracle::Profile::Layout).ok()
                           : passes(actual.array.values[i], want[i]);
    if (!quiet) return {};
    return Kill{fmt::format("{} passes for {}", actual.array.values[i], want[i]), "V-3", {}};
  }
  return {};
}

}  // namespace leafproof::faults
