// Each pass says which voxel makes which others; gathered() makes sets of them.
#include "tests/faults/plain_sets.h"

#include <cmath>
#include <map>
#include <numeric>

#include "oracle/backends/answering.h"
#include "reference/checks.h"
#include "reference/conv_relation.h"
#include "reference/map.h"

namespace leafproof::faults {
namespace {

using oracle::Map;
using oracle::Masks;
using oracle::Point;
using reference::ErrorKind;

/// A voxel of the source, and one that it makes.
struct Made {
  Voxel from;
  Triple to;
};

bool dilates(Op op) {
  return op == Op::DilateBox || op == Op::Dual;
}

// A neighbour that was never allocated: 18 directions, or none across a root tile's edge.
bool neighbour_missing(Fault fault, const Made& made) {
  const Voxel to = voxel_at(made.to);
  if (fault == Fault::NeighbourCorner)
    return to.x >> 3 != made.from.x >> 3 && to.y >> 3 != made.from.y >> 3 &&
           to.z >> 3 != made.from.z >> 3;
  if (fault == Fault::NeighbourTile) return tile_of(to) != tile_of(made.from);
  return false;
}

// Of the source leaves that feed a target leaf, the last one's voxels alone.
void keep_last_writers(std::vector<Made>& all) {
  const auto key = [](const Voxel& v) { return std::tuple(v.x, v.y, v.z); };
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, Voxel> last;
  for (const Made& made : all) last[key(corner(voxel_at(made.to), 8))] = corner(made.from, 8);
  std::erase_if(all, [&](const Made& made) {
    return last[key(corner(voxel_at(made.to), 8))] != corner(made.from, 8);
  });
}

std::vector<Voxel> gathered(Fault fault, Op op, std::vector<Made> all) {
  if (dilates(op)) std::erase_if(all, [&](const Made& m) { return neighbour_missing(fault, m); });
  if (fault == Fault::LastWriterWins) keep_last_writers(all);
  std::vector<Voxel> voxels;
  voxels.reserve(all.size());
  for (const Made& made : all) voxels.push_back(voxel_at(made.to));
  sort_unique(fault, voxels);
  return voxels;
}

/// [T-10] Whether a row of a member is flagged.
class Flags {
 public:
  Flags(Fault fault, const char* operation, const Batch& source, const std::optional<Masks>& masks)
      : fault_(fault), given_(masks.has_value()) {
    if (!given_) return;
    if (fault == Fault::LengthsTotalOnly && sizes(*masks) == sizes(source.members)) {
      for (const auto& list : *masks) flags_.insert(flags_.end(), list.begin(), list.end());
    } else {
      reference::check_masks(operation, source, *masks);
      for (const auto& list : *masks) flags_.insert(flags_.end(), list.begin(), list.end());
    }
    first_.assign(1, 0);
    for (const auto& member : source.members) {
      first_.push_back(first_.back() + member.size());
      if (fault == Fault::MaskOfWrongRow) note_input_order(member);
    }
  }
  bool operator()(std::size_t member, std::size_t row) const {
    if (!given_) return true;
    std::size_t at = first_[member] + row;
    if (fault_ == Fault::MaskOfWrongRow) at = first_[member] + input_order_[at];
    return flags_[at] != 0;
  }

 private:
  template <class Lists>
  static std::size_t sizes(const Lists& lists) {
    std::size_t all = 0;
    for (const auto& list : lists) all += list.size();
    return all;
  }
  // Rows as people give them: x first, whatever leaf a voxel is in.
  void note_input_order(const std::vector<Voxel>& member) {
    std::vector<std::size_t> rows(member.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    std::sort(rows.begin(), rows.end(), [&](std::size_t i, std::size_t j) {
      const Voxel &a = member[i], &b = member[j];
      return std::tuple(a.x, a.y, a.z) < std::tuple(b.x, b.y, b.z);
    });
    input_order_.insert(input_order_.end(), rows.begin(), rows.end());
  }

  Fault fault_;
  bool given_;
  std::vector<std::uint8_t> flags_;
  std::vector<std::size_t> first_, input_order_;
};

/// Calls visit(c) for every integer point of a box.
template <class Visit>
void each_in(const Triple& lo, const Triple& hi, Visit visit) {
  for (std::int64_t x = lo[0]; x <= hi[0]; ++x)
    for (std::int64_t y = lo[1]; y <= hi[1]; ++y)
      for (std::int64_t z = lo[2]; z <= hi[2]; ++z) visit(Triple{x, y, z});
}

Triple plus(const Triple& a, const Triple& b) {  // wraps, where nobody checked
  Triple sum{};
  for (std::size_t i = 0; i < 3; ++i)
    sum[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(a[i]) +
                                       static_cast<std::uint64_t>(b[i]));
  return sum;
}

/// [L-5] unless results may wrap.
void check_range(Fault fault, const char* operation, const Batch& source, const Masks* masks,
                 const reference::Image& image) {
  if (fault != Fault::RangeWraps) reference::check_range(operation, source, masks, image);
}

template <class After>
std::vector<Map> maps_after(const Batch& source, After after) {
  std::vector<Map> maps;
  for (std::size_t m = 0; m < source.size(); ++m)
    maps.push_back(after(source.maps[m], static_cast<std::int64_t>(m)));
  return maps;
}

/// make(member, row, list of Made) for every voxel.
template <class Make>
void make_members(Fault fault, Op op, const Batch& source, Batch& result, Make make) {
  for (std::size_t m = 0; m < source.size(); ++m) {
    std::vector<Made> all;
    for (std::size_t i = 0; i < source.members[m].size(); ++i) make(m, i, all);
    result.members[m] = gathered(fault, op, std::move(all));
  }
}

Batch refined(Fault fault, const Case& c, const Batch& source) {
  reference::check_factor("refine", "factor", c.factor, reference::kMaxRefineFactor);
  reference::check_batch("refine", source);
  const Flags flagged(fault, "refine", source, c.mask);
  Batch result = source;
  result.maps = maps_after(source, [&](const Map& map, std::int64_t m) {
    return reference::map_after_refine(map, c.factor, m);
  });
  const Triple f = factor_as_read(fault, c.factor);
  const auto lowest = [&](const Voxel& v) {
    return Triple{finer(fault, v.x, f[0]), finer(fault, v.y, f[1]), finer(fault, v.z, f[2])};
  };
  const bool fits = c.mask && fault != Fault::LengthsTotalOnly;
  check_range(fault, "refine", source, fits ? &*c.mask : nullptr, [&](const Voxel& v) {
    return std::pair(lowest(v), plus(lowest(v), {f[0] - 1, f[1] - 1, f[2] - 1}));
  });
  make_members(fault, c.op, source, result, [&](std::size_t m, std::size_t i, auto& all) {
    if (!flagged(m, i)) return;
    const Voxel v = source.members[m][i];
    each_in({0, 0, 0}, {f[0] - 1, f[1] - 1, f[2] - 1},
            [&](const Triple& d) { all.push_back({v, plus(lowest(v), d)}); });
  });
  return result;
}

Batch coarsened(Fault fault, const Case& c, const Batch& source) {
  reference::check_factor("coarsen", "factor", c.factor, 0);
  reference::check_batch("coarsen", source);
  Batch result = source;
  result.maps = maps_after(source, [&](const Map& map, std::int64_t m) {
    return reference::map_after_coarsen(map, c.factor, m);
  });
  const Triple f = factor_as_read(fault, c.factor);
  make_members(fault, c.op, source, result, [&](std::size_t m, std::size_t i, auto& all) {
    const Voxel v = source.members[m][i];
    all.push_back(
        {v, {coarser(fault, v.x, f[0]), coarser(fault, v.y, f[1]), coarser(fault, v.z, f[2])}});
  });
  return result;
}

Batch dilated(Fault fault, Op op, const Batch& source, const Triple& lo, const Triple& hi) {
  reference::check_box("dilate_box", lo, hi, false);
  reference::check_batch("dilate_box", source);
  Batch result = source;
  if (op == Op::Dual) result.maps = maps_after(source, reference::map_after_dual);
  const auto sum = [](const Voxel& v, const Triple& d) {  // beyond 64 bits is beyond the lattice
    Triple c = coordinates(v);
    for (std::size_t a = 0; a < 3; ++a)
      if (__builtin_add_overflow(c[a], d[a], &c[a])) c[a] = d[a] < 0 ? INT64_MIN : INT64_MAX;
    return c;
  };
  check_range(fault, "dilate_box", source, nullptr,
              [&](const Voxel& v) { return std::pair(sum(v, lo), sum(v, hi)); });
  make_members(fault, op, source, result, [&](std::size_t m, std::size_t i, auto& all) {
    const Voxel v = source.members[m][i];
    each_in({0, 0, 0}, {hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]},
            [&](const Triple& d) { all.push_back({v, plus(sum(v, lo), d)}); });
  });
  return result;
}

Batch eroded(Fault fault, const Case& c, const Batch& source) {
  reference::check_box("erode_box", c.lo, c.hi, true);
  reference::check_batch("erode_box", source);
  Batch result = source;
  for (auto& member : result.members) {
    const std::vector<Voxel> whole = member;
    const auto holds = [&](const Triple& t) {
      if (fault != Fault::NeighbourWraps && !fits(t)) return false;
      const auto less = [fault](const Voxel& a, const Voxel& b) { return before(fault, a, b); };
      return std::binary_search(whole.begin(), whole.end(), voxel_at(t), less);
    };
    std::erase_if(member, [&](const Voxel& v) {
      bool inside = true;
      // The corners first: they decide nearly all.
      for (int n = 0; n < 8; ++n)
        inside = inside &&
                 holds(plus(coordinates(v), {n & 1 ? c.lo[0] : c.hi[0], n & 2 ? c.lo[1] : c.hi[1],
                                             n & 4 ? c.lo[2] : c.hi[2]}));
      if (inside)
        each_in(c.lo, c.hi,
                [&](const Triple& d) { inside = inside && holds(plus(coordinates(v), d)); });
      return !inside;
    });
  }
  return result;
}

Batch pruned(Fault fault, const Case& c, const Batch& source) {
  reference::check_batch("prune", source);
  const Flags flagged(fault, "prune", source, oracle::required(c.mask, c, "mask"));
  Batch result = source;
  make_members(fault, c.op, source, result, [&](std::size_t m, std::size_t i, auto& all) {
    if (flagged(m, i)) all.push_back({source.members[m][i], coordinates(source.members[m][i])});
  });
  return result;
}

Batch joined(Fault fault, const Case& c, const Batch& source) {
  const char* operation = to_string(c.op).data();
  const Batch& other = oracle::required(c.other, c, "other");
  if (other.size() != source.size())
    reference::refuse(ErrorKind::ShapeMismatch, operation, "other", std::to_string(other.size()),
                      "as many members as the source");
  reference::check_batch(operation, source);
  reference::check_members(operation, "other", other.members);
  Batch result = source;
  for (std::size_t m = 0; m < source.size(); ++m) {
    auto& member = result.members[m];
    const auto& second = other.members[m];
    const auto in_second = [&](const Voxel& v) {
      const auto less = [](const Voxel& a, const Voxel& b) { return before(Fault::None, a, b); };
      return std::binary_search(second.begin(), second.end(), v, less);
    };
    if (c.op == Op::Merge) member.insert(member.end(), second.begin(), second.end());
    if (c.op == Op::Intersect) std::erase_if(member, [&](const Voxel& v) { return !in_second(v); });
    if (c.op == Op::Subtract) std::erase_if(member, in_second);
    sort_unique(fault, member);
  }
  return result;
}

// --- lists [T-1]

/// One for each member: as given, or one for all, or the default.
template <class T>
std::vector<T> one_for_each(const char* argument, const std::vector<T>& given, std::size_t n) {
  if (given.size() == n) return given;
  if (given.size() <= 1) return std::vector<T>(n, given.empty() ? T{} : given.front());
  reference::refuse(ErrorKind::ShapeMismatch, "from_ijk", argument, std::to_string(given.size()),
                    "one for each member, or one for all, or none");
}

Batch listed(Fault fault, const Case& c, std::vector<std::vector<Voxel>> lists) {
  Batch result;
  result.maps = one_for_each("maps", c.source.maps, lists.size());
  result.names = one_for_each("names", c.source.names, lists.size());
  for (std::size_t m = 0; m < lists.size(); ++m) {
    reference::check_map("from_ijk", result.maps[m], static_cast<std::int64_t>(m));
    reference::check_name("from_ijk", result.names[m], static_cast<std::int64_t>(m));
  }
  result.members = std::move(lists);
  for (auto& list : result.members) {
    if (fault == Fault::DuplicatesKept)
      std::sort(list.begin(), list.end(),
                [](const Voxel& a, const Voxel& b) { return before(Fault::None, a, b); });
    else if (fault == Fault::InputAssumedSorted)
      list.erase(std::unique(list.begin(), list.end()), list.end());
    else
      sort_unique(fault, list);
  }
  return result;
}

Batch from_points(Fault fault, const Case& c) {
  for (const auto& list : c.points)
    for (const Point& p : list)
      for (const double x : p)
        if (!std::isfinite(x))
          reference::refuse(ErrorKind::InvalidArgument, "from_points", "points",
                            reference::to_text(x), "must be finite");
  const auto maps = one_for_each("maps", c.source.maps, c.points.size());
  for (std::size_t m = 0; m < maps.size(); ++m)
    reference::check_map("from_points", maps[m], static_cast<std::int64_t>(m));
  std::vector<std::vector<Voxel>> lists(c.points.size());
  for (std::size_t m = 0; m < c.points.size(); ++m)
    for (const Point& p : c.points[m]) {
      Triple at{};
      for (std::size_t a = 0; a < 3; ++a) {
        const double x = (p[a] - maps[m].origin[a]) / maps[m].voxel_size[a];
        const double below = std::floor(x), nearest = below + (x - below >= 0.5 ? 1 : 0);
        if (!(nearest >= -2147483648.0 && nearest <= 2147483647.0))
          reference::refuse(ErrorKind::OutOfRange, "from_points", "result",
                            reference::to_text(nearest), "must lie in the lattice");
        at[a] = static_cast<std::int64_t>(nearest);
      }
      lists[m].push_back(voxel_at(at));
    }
  return listed(fault, c, std::move(lists));
}

/// The member of a row: the last one that begins at it or before it.
std::int64_t member_of_row(Fault fault, const std::vector<std::int64_t>& offsets,
                           std::int64_t row) {
  const auto after = std::upper_bound(offsets.begin(), offsets.end(), row);
  const auto first = std::lower_bound(offsets.begin(), offsets.end(), row);
  if (fault == Fault::OffsetSearch && first != after) return first - offsets.begin();
  return after - offsets.begin() - 1;
}

/// Members out of one list of rows and its offsets.
void split(Fault fault, Batch& batch) {
  std::vector<std::int64_t> offsets{0};
  std::vector<Voxel> rows;
  for (auto& member : batch.members) {
    rows.insert(rows.end(), member.begin(), member.end());
    offsets.push_back(static_cast<std::int64_t>(rows.size()));
    member.clear();
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto m = member_of_row(fault, offsets, static_cast<std::int64_t>(row));
    batch.members[static_cast<std::size_t>(m)].push_back(rows[row]);
  }
}

bool all_are(const Triple& t, std::int64_t n) {
  return t == Triple{n, n, n};
}

}  // namespace

Batch members_read(Fault fault, const Case& c) {
  if (c.op == Op::FromIjk || c.op == Op::FromPoints) oracle::refuse_view_of_lists(c);
  Batch batch;
  if (!c.view) batch = c.source;
  for (std::size_t i = 0; c.view && i < c.view->size(); ++i) {
    const auto m = (*c.view)[i], size = static_cast<std::int64_t>(c.source.size());
    if (m < 0 || m >= size)
      reference::refuse(ErrorKind::InvalidArgument, "view", "view", std::to_string(m),
                        "must be a member");
    const auto physical = static_cast<std::size_t>(
        fault == Fault::ViewPhysical ? static_cast<std::int64_t>(i) % size : m);
    batch.members.push_back(c.source.members[physical]);
    batch.maps.push_back(c.source.maps[physical]);
    batch.names.push_back(c.source.names[physical]);
  }
  split(fault, batch);
  return batch;
}

Batch passed(Fault fault, const Case& c, const Batch& source) {
  switch (c.op) {
    case Op::FromIjk:
      return listed(fault, c, source.members);
    case Op::FromPoints:
      return from_points(fault, c);
    case Op::Refine:
      return refined(fault, c, source);
    case Op::Coarsen:
      return coarsened(fault, c, source);
    case Op::DilateBox:
      return dilated(fault, c.op, source, c.lo, c.hi);
    case Op::Dual:
      return dilated(fault, c.op, source, {0, 0, 0}, {1, 1, 1});
    case Op::ErodeBox:
      return eroded(fault, c, source);
    case Op::Prune:
      return pruned(fault, c, source);
    case Op::ConvGrid:
      return support(fault, c.kernel, Direction::Forward, source);
    case Op::ConvTransposeGrid:
      return support(fault, c.kernel, Direction::Transposed, source);
    default:
      return joined(fault, c, source);
  }
}

Batch support(Fault fault, const Kernel& given, Direction direction, const Batch& source) {
  const bool forward = direction == Direction::Forward;
  const char* operation = forward ? "conv_grid" : "conv_transpose_grid";
  reference::check_kernel(operation, given);
  reference::check_batch(operation, source);
  Batch result = source;
  result.maps = maps_after(source, [&](const Map& map, std::int64_t m) {
    return forward ? reference::map_after_conv_grid(map, given.stride, m)
                   : reference::map_after_conv_transpose_grid(map, given.stride, m);
  });
  const Kernel k = as_read(fault, given);
  const bool k1 = all_are(k.size, 1);
  if (fault == Fault::K1Identity && k1) return result;
  // Shortcuts that hold for K = S = 2 alone.
  const bool coarse_by_floor =
      fault == Fault::CoarseByFloor || (fault == Fault::K1Coarsening && k1) ||
      (fault == Fault::KEqualsS && k.size == k.stride && all_are(k.dilation, 1));
  const std::vector<Tap> taps = taps_of(fault, k);
  std::vector<Made> all;
  for (std::size_t m = 0; m < source.size(); ++m) {
    all.clear();
    for (const Voxel& v : source.members[m]) {
      if (coarse_by_floor && forward) {
        all.push_back({v,
                       {divided(fault, v.x, k.stride[0]), divided(fault, v.y, k.stride[1]),
                        divided(fault, v.z, k.stride[2])}});
        continue;
      }
      for (const Tap& tap : taps) {
        if (forward) {
          const auto coarse = coarse_of(fault, k, coordinates(v), tap.at, direction);
          if (coarse) all.push_back({v, *coarse});
        } else {
          all.push_back({v, fine_of(fault, k, coordinates(v), tap.at, direction)});
        }
      }
    }
    for (const Made& made : all)
      if (fault != Fault::RangeWraps && !fits(made.to))
        reference::refuse(ErrorKind::OutOfRange, operation, "result", reference::to_text(made.to),
                          "must lie in the lattice", static_cast<std::int64_t>(m));
    result.members[m] = gathered(fault, forward ? Op::ConvGrid : Op::ConvTransposeGrid, all);
  }
  return result;
}

}  // namespace leafproof::faults
