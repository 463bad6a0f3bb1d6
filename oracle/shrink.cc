// Edits in rounds, until a round changes nothing.
#include "oracle/shrink.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "oracle/case_bytes.h"
#include "oracle/case_edit.h"
#include "reference/error.h"

namespace leafproof::oracle {
namespace {

using reference::floor_div;
using Bytes = std::vector<std::uint8_t>;

constexpr std::array kSides{Side::Source, Side::Other, Side::Target};
constexpr std::size_t kFewVoxels = 24;    // up to so many are moved one by one
constexpr std::size_t kFewNumbers = 400;  // up to so many are simplified one by one

class Shrinker {
 public:
  Shrinker(const Case& start, const std::function<bool(const Case&)>& fails, std::int64_t tries)
      : fails_(fails),
        left_(tries),
        best_(start),
        cost_(*cost_of(start)),
        has_gradient_(has_fitting_gradient(start)) {}

  static std::optional<Bytes> cost_of(const Case& c) {
    try {
      return write_case_bytes(c);
    } catch (const reference::Error&) {
      return std::nullopt;  // an edit that made no case of it
    }
  }

  Shrunk run() {
    std::int64_t before = -1;
    while (before != steps_ && left_ > 0) {
      before = steps_;
      drop_members();
      parameters();  // first: a large one may need many voxels
      drop_elements();
      drop_parts();
      flatten_axes();
      exchange();
      move_all();
      move_each();
      numbers();
    }
    return {best_, tries_, steps_, before == steps_ && left_ > 0};
  }

 private:
  /// Takes an edited case where it is simpler and still fails.
  bool offer(const Case& candidate) {
    const auto cost = cost_of(candidate);
    if (!cost || cost->size() > cost_.size() || (cost->size() == cost_.size() && *cost >= cost_))
      return false;
    if (left_ == 0) return false;
    --left_;
    ++tries_;
    if (!fails_(candidate)) return false;
    ++steps_;
    best_ = candidate;
    cost_ = *cost;
    return true;
  }

  /// The best case with an edit.
  template <class Edit>
  bool edited(Edit edit) {
    Case c = best_;
    edit(c);
    if (has_gradient_) fit_gradient(c);
    return offer(c);
  }

  /// Drops runs of n items, then of half as many, down to single ones. `count` says how many there
  /// are in a case, `drop(case, begin, count)` drops some.
  template <class Count, class Drop>
  void drop_runs(Count count, Drop drop) {
    for (std::size_t run = count(best_); run >= 1 && left_ > 0; run /= 2)
      for (std::size_t at = 0; at < count(best_) && left_ > 0;)
        if (!edited([&](Case& c) { drop(c, at, std::min(run, count(best_) - at)); })) at += run;
  }

  void drop_members() {
    drop_runs(positions, drop_positions);
    for (std::size_t m = best_.source.size(); m-- > 0;)
      edited([m](Case& c) { drop_unread_member(c, m); });
    edited(resolve_view);
    if (best_.view && best_.view->size() > 1)  // of one member, whichever it was
      for (std::size_t m = 0; m < best_.source.size(); ++m)
        edited([m](Case& c) { c.view = {{static_cast<std::int64_t>(m)}}; });
  }

  void drop_elements() {
    // Of source and target together first, where only their being equally many shows the fault.
    const auto pairs = [](const Case& c) {
      const std::size_t sources = voxels_on(c, Side::Source);
      return sources == voxels_on(c, Side::Target) ? sources : 0;
    };
    drop_runs(pairs, [](Case& c, std::size_t at, std::size_t n) {
      drop_voxels(c, Side::Source, at, n);
      drop_voxels(c, Side::Target, at, n);
    });
    for (const Side side : kSides)
      drop_runs([side](const Case& c) { return voxels_on(c, side); },
                [side](Case& c, std::size_t at, std::size_t n) { drop_voxels(c, side, at, n); });
    drop_runs(points_in, drop_points);
    drop_unfit_flags();
  }

  /// Of a mask whose lengths are wrong: flags of one member and voxels of another, so that what is
  /// right about it, its total say, stays right.
  void drop_unfit_flags() {
    const auto fits = [this](std::size_t m) {
      return (*best_.mask)[m].size() == best_.source.members[m].size();
    };
    if (!best_.mask || best_.view || best_.mask->size() != best_.source.size()) return;
    for (std::size_t member = 0; member < best_.source.size(); ++member)
      for (std::size_t mask = 0; mask < best_.mask->size(); ++mask) {
        if (fits(member) && fits(mask)) continue;
        std::size_t n = std::min(best_.source.members[member].size(), (*best_.mask)[mask].size());
        for (; n > 0 && left_ > 0; n /= 2)
          while (edited([&](Case& c) { drop_voxels_and_flags(c, member, mask, n); })) {
          }
      }
  }

  /// What a case may do without, or have plainer.
  void drop_parts() {
    edited([](Case& c) { c.mask.reset(); });
    edited([](Case& c) { c.target.reset(); });
    edited([](Case& c) { c.operands.bias.reset(); });
    edited([](Case& c) { c.direction = Direction::Forward; });
    edited([](Case& c) { c.dense = false; });
    edited([](Case& c) { c.operands.type = NumberType::Float64; });
    edited([](Case& c) { c.operands.target_is_source = false; });
    edited([](Case& c) {
      for (Batch* batch : batches(c)) {
        batch->maps.assign(batch->size(), {});
        batch->names.assign(batch->size(), {});
      }
    });
    edited([](Case& c) {
      for (Batch* batch : batches(c)) batch->names.assign(batch->size(), {});
    });
    edited([](Case& c) {
      for (Batch* batch : batches(c)) batch->maps.assign(batch->size(), {});
    });
    for (std::size_t m = 0; m < best_.source.size(); ++m) {
      edited([m](Case& c) { c.source.names[m].clear(); });
      edited([m](Case& c) { c.source.names[m].assign(1, 'a'); });
      edited([m](Case& c) { c.source.maps[m] = {}; });
      for (std::size_t a = 0; a < 3; ++a) {
        edited([m, a](Case& c) { c.source.maps[m].voxel_size[a] = 1; });
        edited([m, a](Case& c) { c.source.maps[m].origin[a] = 0; });
      }
    }
    if (best_.mask)
      for (const std::uint8_t flag : {0, 1})
        edited([flag](Case& c) {
          for (auto& mask : *c.mask) std::fill(mask.begin(), mask.end(), flag);
        });
    for (std::int64_t channel = 7; channel >= 0; --channel)
      for (const int which : {1, 2, 3})  // in, out, both
        edited([&](Case& c) {
          if (which & 1) drop_channel(c, true, channel);
          if (which & 2) drop_channel(c, false, channel);
        });
  }

  static std::vector<Batch*> batches(Case& c) {
    std::vector<Batch*> all{&c.source};
    if (c.other) all.push_back(&*c.other);
    if (c.target) all.push_back(&*c.target);
    return all;
  }

  /// Simpler numbers than n, the simplest first: `from`, which is the simplest of all, its
  /// neighbours, and then ever nearer to n.
  static std::vector<std::int64_t> simpler(std::int64_t n, std::int64_t from) {
    if (n == from) return {};
    const std::int64_t step = n > from ? 1 : -1;
    std::vector<std::int64_t> all{from, from + step, from + 2 * step};
    auto distance = n > from ? static_cast<std::uint64_t>(n) - static_cast<std::uint64_t>(from)
                             : static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(n);
    for (distance /= 2; distance > 0; distance /= 2)
      all.push_back(n - step * static_cast<std::int64_t>(distance));
    return all;
  }

  void parameters() {
    for (std::size_t a = 0; a < 3; ++a) {
      number(&Case::factor, a, 1);
      number(&Case::lo, a, 0);
      number(&Case::hi, a, 0);
      edited([a](Case& c) { c.lo[a] = c.hi[a] = 0; });
      // A box moved towards 0, as wide as it is.
      std::int64_t width = 0;
      if (!__builtin_sub_overflow(best_.hi[a], best_.lo[a], &width) && width > 0) {
        edited([a, width](Case& c) { c.lo[a] = 0, c.hi[a] = width; });
        edited([a, width](Case& c) { c.lo[a] = -width, c.hi[a] = 0; });
      }
      for (const auto part : {&Kernel::stride, &Kernel::dilation})
        for (const std::int64_t n : simpler((best_.kernel.*part)[a], 1))
          edited([&](Case& c) { (c.kernel.*part)[a] = n; });
      for (const std::int64_t n : simpler(best_.kernel.size[a], 1))
        for (const bool first : {true, false})
          edited([&](Case& c) {
            if (1 <= n && n < c.kernel.size[a])
              cut_kernel(c, a, n, first);
            else
              c.kernel.size[a] = n;
          });
    }
    if (best_.view)
      for (std::size_t i = 0; i < best_.view->size(); ++i)
        for (const std::int64_t n : simpler((*best_.view)[i], 0))
          edited([&](Case& c) { (*c.view)[i] = n; });
  }
  void number(Triple Case::* parameter, std::size_t a, std::int64_t from) {
    for (const std::int64_t n : simpler((best_.*parameter)[a], from))
      edited([&](Case& c) { (c.*parameter)[a] = n; });
  }

  static std::int32_t& at(Voxel& v, std::size_t axis) {
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
  }

  /// All voxels into a plane, with plain parameters on that axis or with those that there are.
  void flatten_axes() {
    for (std::size_t a = 0; a < 3; ++a)
      for (const bool plain : {true, false})
        edited([&](Case& c) {
          for (const Side side : kSides)
            if (batch_on(c, side) != nullptr)
              map_voxels(c, side, [a](Voxel v) {
                at(v, a) = 0;
                return v;
              });
          if (!plain) return;
          c.factor[a] = 1;
          c.lo[a] = c.hi[a] = 0;
          c.kernel.stride[a] = c.kernel.dilation[a] = 1;
          if (c.kernel.size[a] > 1) cut_kernel(c, a, 1, true);
        });
  }

  /// A fault that shows on any axis shows on the last.
  void exchange() {
    for (const auto& axes : {std::pair{0u, 1u}, {0u, 2u}, {1u, 2u}})
      edited([&](Case& c) { exchange_axes(c, axes.first, axes.second); });
  }

  /// How far a coordinate may be moved at once: whole nodes of the result and of the source, then
  /// one period of the phase, then one voxel.
  std::vector<std::int64_t> steps_of(std::size_t a) const {
    const auto part = [](std::int64_t n) { return std::clamp<std::int64_t>(n, 1, 1 << 16); };
    const std::int64_t period = std::min<std::int64_t>(
        part(best_.factor[a]) * part(best_.kernel.stride[a]) * part(best_.kernel.dilation[a]),
        1 << 20);
    std::vector<std::int64_t> steps;
    for (const std::int64_t node : {4096, 128, 8, 1}) {
      if (period > 1) steps.push_back(node * period);
      steps.push_back(node);
    }
    return steps;
  }

  /// The whole case towards the origin, its sides by what keeps them joined [K-1].
  void move_all() {
    const bool finer =
        best_.op == Op::ConvTransposeGrid || best_.direction == Direction::Transposed;
    for (std::size_t a = 0; a < 3; ++a)
      for (const std::int64_t step : steps_of(a)) {
        const auto first = first_coordinate(a);
        if (!first) return;
        const std::int64_t s = std::clamp<std::int64_t>(best_.kernel.stride[a], 1, 64);
        const std::int64_t periods = floor_div(*first, step);
        for (const std::int64_t by : {periods, periods + 1}) {
          if (by == 0) continue;
          edited([&](Case& c) {
            bool inside = true;
            for (const Side side : kSides) {
              if (batch_on(c, side) == nullptr) continue;
              std::int64_t shift = by * step;
              if (convolves(c.op) && side == Side::Target)
                shift = finer ? shift * s : floor_div(shift, s);
              map_voxels(c, side, [&](Voxel v) { return shifted(v, a, -shift, inside); });
            }
            if (!inside) c = best_;
          });
        }
      }
  }

  static Voxel shifted(Voxel v, std::size_t a, std::int64_t by, bool& inside) {
    const std::int64_t to = at(v, a) + by;
    inside = inside && INT32_MIN <= to && to <= INT32_MAX;
    at(v, a) = static_cast<std::int32_t>(inside ? to : 0);
    return v;
  }

  std::optional<std::int64_t> first_coordinate(std::size_t a) const {
    for (const auto& member : best_.source.members)
      if (!member.empty()) {
        Voxel v = member.front();
        return at(v, a);
      }
    return std::nullopt;
  }

  /// Single voxels towards the origin.
  void move_each() {
    for (const Side side : kSides) {
      if (voxels_on(best_, side) > kFewVoxels) continue;
      for (std::size_t i = 0; i < voxels_on(best_, side); ++i)
        for (std::size_t a = 0; a < 3; ++a) move_one(side, i, a);
    }
  }
  void move_one(Side side, std::size_t index, std::size_t a) {
    const auto moved = [&](auto to) {
      edited([&](Case& c) {
        std::size_t n = 0;  // in the order in which map_voxels() visits them
        map_voxels(c, side, [&](Voxel v) {
          if (n++ == index) at(v, a) = static_cast<std::int32_t>(to(std::int64_t{at(v, a)}));
          return v;
        });
      });
    };
    for (const std::int64_t to : {0, -1, 1}) moved([to](std::int64_t) { return to; });
    // Towards 0 by as many steps as there are, from either side.
    for (const std::int64_t step : steps_of(a))
      moved([step](std::int64_t x) { return x - x / step * step; });
  }

  // --- numbers: features, weights, points

  static std::vector<std::vector<double>*> numbers_of(Case& c) {
    Operands& o = c.operands;
    std::vector<std::vector<double>*> all{&o.features.values, &o.weights.values};
    for (auto* array : {&o.bias, &o.grad_output})
      if (*array) all.push_back(&(*array)->values);
    return all;
  }

  void numbers() {
    const std::size_t arrays = numbers_of(best_).size();
    for (std::size_t i = 0; i < arrays; ++i) {
      for (const double all : {0.0, 1.0})
        edited([&](Case& c) { std::ranges::fill(*numbers_of(c)[i], all); });
      edited([&](Case& c) {
        for (double& x : *numbers_of(c)[i])
          if (std::isfinite(x)) x = std::trunc(x);
      });
      if (numbers_of(best_)[i]->size() > kFewNumbers) continue;
      for (std::size_t n = 0; n < numbers_of(best_)[i]->size(); ++n)
        for (const double to : simpler_numbers((*numbers_of(best_)[i])[n]))
          if (edited([&](Case& c) { (*numbers_of(c)[i])[n] = to; })) break;
    }
    for (std::size_t l = 0; l < best_.points.size(); ++l)
      for (std::size_t n = 0; n < std::min<std::size_t>(best_.points[l].size(), kFewVoxels); ++n)
        for (std::size_t a = 0; a < 3; ++a)
          for (const double to : simpler_numbers(best_.points[l][n][a]))
            if (edited([&](Case& c) { c.points[l][n][a] = to; })) break;
  }
  static std::vector<double> simpler_numbers(double x) {
    if (!std::isfinite(x)) return {0, 1};
    return {0, 1, -1, std::trunc(x), std::trunc(x * 2) / 2, std::trunc(x / 2)};
  }

  const std::function<bool(const Case&)>& fails_;
  std::int64_t left_, tries_ = 0, steps_ = 0;
  Case best_;
  Bytes cost_;
  bool has_gradient_;  // of a complete target, whose rows every edit may change
};

}  // namespace

Shrunk shrink(const Case& start, const std::function<bool(const Case&)>& fails,
              std::int64_t most_tries) {
  // What has no written form, a name that is too long say, cannot be compared: it stays.
  if (!Shrinker::cost_of(start)) return {start, 0, 0, false};
  return Shrinker(start, fails, most_tries).run();
}

}  // namespace leafproof::oracle
