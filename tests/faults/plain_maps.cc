// Every target row asks at every tap who its partner is, and an index of the source's voxels
// answers with a row.
#include "tests/faults/plain_maps.h"

#include <unordered_map>

namespace leafproof::faults {
namespace {

using reference::KernelMap;

struct Row {
  std::size_t member;
  Voxel voxel;
};

/// The voxels of a batch by rows.
std::vector<Row> rows_of(Fault fault, const Batch& batch) {
  std::vector<Row> rows;
  for (std::size_t m = 0; m < batch.size(); ++m)
    for (const Voxel& v : batch.members[m]) rows.push_back({m, v});
  if (fault == Fault::MembersInterleaved)
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
      return a.voxel == b.voxel ? a.member < b.member : before(Fault::None, a.voxel, b.voxel);
    });
  return rows;
}

/// A voxel as a key of a table.
class Index {
 public:
  Index(Fault fault, const std::vector<Row>& rows) : fault_(fault) {
    for (const Row& row : rows) {  // the extents of all voxels, in powers of two
      const Triple c = coordinates(row.voxel);
      for (std::size_t a = 0; a < 3; ++a) {
        low_[a] = &row == &rows.front() ? c[a] : std::min(low_[a], c[a]);
        high_[a] = &row == &rows.front() ? c[a] : std::max(high_[a], c[a]);
      }
    }
    for (std::size_t a = 0; a < 3; ++a)
      bits_[a] = std::bit_width(static_cast<std::uint64_t>(high_[a] - low_[a]));
    for (std::size_t i = 0; i < rows.size(); ++i)
      table_[key(rows[i])] = static_cast<std::int64_t>(i);
  }
  std::optional<std::int64_t> find(const Row& row) const {
    const Triple c = coordinates(row.voxel);
    for (std::size_t a = 0; a < 3; ++a)
      if (c[a] < low_[a] || c[a] > high_[a]) return std::nullopt;
    const auto at = table_.find(key(row));
    if (at == table_.end()) return std::nullopt;
    return at->second;
  }

 private:
  struct Key {
    std::size_t member;
    Triple c;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      std::uint64_t h = k.member;
      for (const std::int64_t x : k.c)
        h = (h ^ static_cast<std::uint64_t>(x)) * 0x9E3779B97F4A7C15u;
      return h ^ h >> 32;
    }
  };
  Key key(const Row& row) const {
    Triple c = coordinates(row.voxel);
    const std::size_t member = fault_ == Fault::MemberNotInKey ? 0 : row.member;
    if (fault_ == Fault::LinearKey32) {
      const std::uint64_t x = static_cast<std::uint64_t>(c[0] - low_[0]),
                          y = static_cast<std::uint64_t>(c[1] - low_[1]),
                          z = static_cast<std::uint64_t>(c[2] - low_[2]);
      const std::uint64_t linear = (x << bits_[1] | y) << bits_[2] | z;
      c = {static_cast<std::uint32_t>(linear), 0, 0};
    }
    return {member, c};
  }

  Fault fault_;
  Triple low_{}, high_{};
  std::array<int, 3> bits_{};
  std::unordered_map<Key, std::int64_t, Hash> table_;
};

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;  // target row, source row

bool same_sizes(const Batch& a, const Batch& b) {
  for (std::size_t m = 0; m < a.size(); ++m)
    if (a.members[m].size() != b.members[m].size()) return false;
  return true;
}

}  // namespace

KernelMap map_of(Fault fault, const Batch& source, const Batch& given, const Kernel& kernel,
                 Direction direction, bool submanifold) {
  const Kernel k = as_read(fault, kernel);
  const bool stays = k.stride == Triple{1, 1, 1};
  // Two sets of equal size are taken for one.
  const bool taken = fault == Fault::IdentityByCount && stays && same_sizes(source, given);
  const Batch& target = taken ? source : given;
  const bool forward = direction == Direction::Forward;
  const std::vector<Row> sources = rows_of(fault, source), targets = rows_of(fault, target);
  const Index index(fault, sources);
  const std::int64_t all = k.size[0] * k.size[1] * k.size[2];
  std::vector<Pairs> taps(static_cast<std::size_t>(all));
  for (const Tap& tap : taps_of(fault, k)) {
    Pairs& pairs = taps[static_cast<std::size_t>(tap.number)];
    if (fault == Fault::HalfMap && submanifold && tap.number > all / 2) {
      // By symmetry: the pairs of another tap, turned round; of the wrong one.
      for (const auto& [to, from] : taps[static_cast<std::size_t>(tap.number - all / 2 - 1)])
        pairs.emplace_back(from, to);
      std::sort(pairs.begin(), pairs.end());
      continue;
    }
    for (std::size_t row = 0; row < targets.size(); ++row) {
      const Triple at = coordinates(targets[row].voxel);
      const std::optional<Triple> partner =
          forward ? std::optional(fine_of(fault, k, at, tap.at, direction))
                  : coarse_of(fault, k, at, tap.at, direction);
      if (!partner || (fault != Fault::NeighbourWraps && !fits(*partner))) continue;
      const auto from = index.find({targets[row].member, voxel_at(*partner)});
      if (!from) continue;
      const std::pair pair(static_cast<std::int64_t>(row), *from);
      if (fault == Fault::PairLost && *from == 0 && row > 0) continue;
      pairs.push_back(pair);
      if (fault == Fault::PairTwice && *from == 0 && row > 0) pairs.push_back(pair);
    }
  }
  KernelMap map;
  map.source_rows = static_cast<std::int64_t>(sources.size());
  map.target_rows = static_cast<std::int64_t>(targets.size());
  for (const Pairs& pairs : taps) {
    for (const auto& [to, from] : pairs) {
      // The columns of a transposed map are those of the forward one, swapped [M-1].
      const bool forgotten = fault == Fault::TransposeColumns && !forward;
      map.gather.push_back(forgotten ? to : from);
      map.scatter.push_back(forgotten ? from : to);
    }
    map.offsets.push_back(static_cast<std::int64_t>(map.gather.size()));
  }
  return map;
}

reference::DenseMap dense_of(const KernelMap& map) {
  reference::DenseMap dense;
  dense.taps = static_cast<std::int64_t>(map.offsets.size()) - 1;
  dense.rows = map.target_rows;
  dense.index.assign(static_cast<std::size_t>(dense.taps * dense.rows), -1);
  for (std::int64_t t = 0; t < dense.taps; ++t)
    for (auto i = map.offsets[static_cast<std::size_t>(t)];
         i < map.offsets[static_cast<std::size_t>(t) + 1]; ++i) {
      const auto from = map.gather[static_cast<std::size_t>(i)],
                 to = map.scatter[static_cast<std::size_t>(i)];
      if (from < map.source_rows && to < map.target_rows)
        dense.index[static_cast<std::size_t>(t * dense.rows + to)] = from;
    }
  return dense;
}

}  // namespace leafproof::faults
