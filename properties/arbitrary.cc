// Generators by composition; each shrinks towards few members, few voxels, coordinates at 0.
#include "properties/arbitrary.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "reference/passes.h"

namespace leafproof::properties {
namespace {

/// A whole number in [lowest, highest], whatever RapidCheck's size is; shrinks towards 0.
rc::Gen<std::int64_t> numbers(std::int64_t lowest, std::int64_t highest) {
  const auto any = rc::gen::resize(rc::kNominalSize, rc::gen::inRange(lowest, highest + 1));
  return rc::gen::shrink(any, [lowest, highest](std::int64_t n) {
    const std::int64_t towards =
        n > 0 ? std::max<std::int64_t>(lowest, 0) : std::min<std::int64_t>(highest, 0);
    return rc::shrink::towards(n, towards);
  });
}

rc::Gen<Triple> triples(std::int64_t lowest, std::int64_t highest) {
  return rc::gen::map(
      rc::gen::tuple(numbers(lowest, highest), numbers(lowest, highest), numbers(lowest, highest)),
      [](const auto& t) { return Triple{std::get<0>(t), std::get<1>(t), std::get<2>(t)}; });
}

/// Where a member's voxels gather on one axis: 0 first, so that shrinking goes there.
rc::Gen<std::int64_t> anchors() {
  static constexpr std::array<std::int64_t, 11> places{
      0, 8, -8, 128, -128, 4096, -4096, 4096 * 5, -4096 * 5, reach - 4096, 4096 - reach};
  return rc::gen::map(numbers(0, places.size() - 1),
                      [](std::int64_t n) { return places[static_cast<std::size_t>(n)]; });
}

rc::Gen<Voxel> voxels_near(const Triple& anchor) {
  return rc::gen::map(triples(-9, 9), [anchor](const Triple& d) {
    return Voxel{static_cast<std::int32_t>(anchor[0] + d[0]),
                 static_cast<std::int32_t>(anchor[1] + d[1]),
                 static_cast<std::int32_t>(anchor[2] + d[2])};
  });
}

rc::Gen<Triple> anchor_triples() {
  return rc::gen::map(rc::gen::tuple(anchors(), anchors(), anchors()), [](const auto& a) {
    return Triple{std::get<0>(a), std::get<1>(a), std::get<2>(a)};
  });
}

/// A member: empty now and then, else voxels around two anchors.
rc::Gen<std::vector<Voxel>> members() {
  const auto list =
      rc::gen::mapcat(rc::gen::pair(anchor_triples(), anchor_triples()), [](const auto& two) {
        return rc::gen::container<std::vector<Voxel>>(
            rc::gen::oneOf(voxels_near(two.first), voxels_near(two.second)));
      });
  return rc::gen::weightedOneOf<std::vector<Voxel>>(
      {{1, rc::gen::just(std::vector<Voxel>{})}, {5, list}});
}

rc::Gen<std::vector<std::vector<Voxel>>> lists_of(std::size_t count) {
  return rc::gen::container<std::vector<std::vector<Voxel>>>(count, members());
}

/// Maps and names by position: distinct, so that one of another member shows.
Batch batch_from(const std::vector<std::vector<Voxel>>& lists) {
  std::vector<Map> maps;
  std::vector<std::string> names;
  for (std::size_t m = 0; m < lists.size(); ++m) {
    const auto n = static_cast<double>(m);
    maps.push_back({{0.5 + n, 0.1, 3}, {n, -1000, 0.25 * n}});
    names.push_back("member " + std::to_string(m));
  }
  return reference::from_ijk(lists, maps, names);
}

rc::Gen<Box> boxes_with(const rc::Gen<Triple>& lows, bool around_zero) {
  return rc::gen::map(rc::gen::pair(lows, triples(0, 4)), [around_zero](const auto& pair) {
    Box box{pair.first, pair.second};  // the second is the width, or what lies beyond 0
    for (std::size_t axis = 0; axis < 3 && !around_zero; ++axis) box.hi[axis] += box.lo[axis];
    return box;
  });
}

rc::Gen<std::size_t> batch_sizes() {
  return rc::gen::map(numbers(0, 3), [](std::int64_t n) { return static_cast<std::size_t>(n); });
}

}  // namespace

rc::Gen<std::vector<std::vector<Voxel>>> lists() {
  return rc::gen::mapcat(batch_sizes(), lists_of);
}

rc::Gen<Batch> batches() {
  return rc::gen::map(lists(), batch_from);
}

rc::Gen<std::pair<Batch, Batch>> pairs() {
  return rc::gen::mapcat(batch_sizes(), [](std::size_t count) {
    // The second has the first's voxels of every other row as well: overlap is the ordinary case.
    return rc::gen::map(rc::gen::pair(lists_of(count), lists_of(count)), [](auto two) {
      for (std::size_t m = 0; m < two.first.size(); ++m) {
        for (std::size_t row = 0; row < two.first[m].size(); row += 2) {
          two.second[m].push_back(two.first[m][row]);
        }
      }
      return std::pair{batch_from(two.first), batch_from(two.second)};
    });
  });
}

rc::Gen<Triple> factors() {
  return triples(1, 6);
}
rc::Gen<Triple> translations() {
  return triples(-5000, 5000);
}
rc::Gen<Box> boxes() {
  return boxes_with(triples(-9, 9), false);
}
rc::Gen<Box> boxes_around_zero() {
  return boxes_with(triples(-4, 0), true);
}

rc::Gen<Order> orders() {
  return rc::gen::element(Order{0, 2, 1}, Order{1, 0, 2}, Order{2, 1, 0}, Order{1, 2, 0},
                          Order{2, 0, 1});
}

rc::Gen<Masks> masks(const Batch& batch) {
  std::size_t total = 0;
  for (const auto& member : batch.members) total += member.size();
  const auto flags =
      rc::gen::container<std::vector<std::uint8_t>>(total, rc::gen::inRange<std::uint8_t>(0, 2));
  return rc::gen::map(flags, [members = batch.members](const std::vector<std::uint8_t>& all) {
    Masks made;
    auto next = all.begin();
    for (const auto& member : members) {
      const auto end = next + static_cast<std::ptrdiff_t>(member.size());
      made.emplace_back(next, end);
      next = end;
    }
    return made;
  });
}

rc::Gen<std::vector<std::int64_t>> selections(std::size_t batch_size) {
  if (batch_size == 0) return rc::gen::just(std::vector<std::int64_t>{});
  const auto member = numbers(0, static_cast<std::int64_t>(batch_size) - 1);
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, 6), [member](std::size_t length) {
    return rc::gen::container<std::vector<std::int64_t>>(length, member);
  });
}

rc::Gen<Kernel> kernels() {
  return rc::gen::map(
      rc::gen::tuple(triples(1, 6), triples(1, 5), triples(1, 3)),
      [](const auto& t) { return Kernel{std::get<0>(t), std::get<1>(t), std::get<2>(t)}; });
}

rc::Gen<Direction> directions() {
  return rc::gen::element(Direction::Forward, Direction::Transposed);
}

rc::Gen<Batch> targets_near(const Batch& source, const Kernel& kernel, Direction direction) {
  std::size_t total = 0;
  for (const auto& member : source.members) total += member.size();
  const auto moves = rc::gen::container<std::vector<Triple>>(total, triples(-2, 2));
  return rc::gen::map(moves, [=](const std::vector<Triple>& by) {
    std::vector<std::vector<Voxel>> made;
    auto move = by.begin();
    for (const auto& member : source.members) {
      auto& list = made.emplace_back();
      for (const Voxel& v : member) {
        Triple to{v.x, v.y, v.z};
        for (std::size_t a = 0; a < 3; ++a) {
          to[a] =
              direction == Direction::Forward ? to[a] / kernel.stride[a] : to[a] * kernel.stride[a];
          to[a] += (*move)[a];
        }
        ++move;
        list.push_back({static_cast<std::int32_t>(to[0]), static_cast<std::int32_t>(to[1]),
                        static_cast<std::int32_t>(to[2])});
      }
    }
    return batch_from(made);
  });
}

rc::Gen<Batch> dense_batches() {
  const auto block = [](const auto& drawn) {
    const auto& [anchor, low, sides, gap] = drawn;
    std::vector<Voxel> voxels;
    for (std::int64_t x = 0; x < sides[0]; ++x) {
      for (std::int64_t y = 0; y < sides[1]; ++y) {
        for (std::int64_t z = 0; z < sides[2]; ++z) {
          if ((3 * x + 5 * y + 7 * z + 1) % gap == 0) continue;
          voxels.push_back({static_cast<std::int32_t>(anchor[0] + low[0] + x),
                            static_cast<std::int32_t>(anchor[1] + low[1] + y),
                            static_cast<std::int32_t>(anchor[2] + low[2] + z)});
        }
      }
    }
    return voxels;
  };
  const auto blocks = rc::gen::map(
      rc::gen::tuple(anchor_triples(), triples(-6, 2), triples(1, 6), numbers(2, 9)), block);
  const auto member = rc::gen::weightedOneOf<std::vector<Voxel>>({{1, members()}, {3, blocks}});
  return rc::gen::map(rc::gen::mapcat(batch_sizes(),
                                      [member](std::size_t count) {
                                        return rc::gen::container<std::vector<std::vector<Voxel>>>(
                                            count, member);
                                      }),
                      batch_from);
}

rc::Gen<std::vector<double>> small_numbers(std::size_t count) {
  const auto number = rc::gen::map(numbers(-9, 9), [](std::int64_t n) { return double(n); });
  return rc::gen::container<std::vector<double>>(count, number);
}

void showValue(const Box& box, std::ostream& out) {
  rc::show(std::pair{box.lo, box.hi}, out);
}

}  // namespace leafproof::properties

namespace leafproof::reference {

void showValue(const Voxel& voxel, std::ostream& out) {
  out << '(' << voxel.x << ',' << voxel.y << ',' << voxel.z << ')';
}

void showValue(const Batch& batch, std::ostream& out) {
  rc::show(batch.members, out);
}

void showValue(const Kernel& kernel, std::ostream& out) {
  out << "K ";
  rc::show(kernel.size, out);
  out << " S ";
  rc::show(kernel.stride, out);
  out << " D ";
  rc::show(kernel.dilation, out);
}

void showValue(const Direction& direction, std::ostream& out) {
  out << (direction == Direction::Forward ? "forward" : "transposed");
}

}  // namespace leafproof::reference
