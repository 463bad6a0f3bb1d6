// Cases drawn from a seed: parameters, then members made for them, then what else the operation
// takes. Every eighth case is one that must be refused, broken in exactly one way.
//
// Draws are made one per statement or in braces, never twice in one expression or argument list:
// their order must not depend on the compiler.
#include "oracle/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "oracle/choice_source.h"
#include "oracle/generate_conv.h"
#include "oracle/shapes.h"
#include "reference/canonical_order.h"
#include "reference/error.h"

namespace leafproof::oracle {
namespace {

using reference::Error;
using reference::ErrorKind;

constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostVoxels = 100'000;  // of a case's result, or little more
constexpr std::int64_t kMaxVoxel = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMinVoxel = std::numeric_limits<std::int32_t>::min();

bool from_lists(Op op) {
  return op == Op::FromIjk || op == Op::FromPoints;
}
bool takes_other(Op op) {
  return op == Op::Merge || op == Op::Intersect || op == Op::Subtract;
}

std::int64_t volume(Triple t) {
  return t[0] * t[1] * t[2];
}
Triple widths(const Case& c) {
  return {c.hi[0] - c.lo[0] + 1, c.hi[1] - c.lo[1] + 1, c.hi[2] - c.lo[2] + 1};
}
std::string text(Triple t) {
  return fmt::format("({},{},{})", t[0], t[1], t[2]);
}

// --- parameters
// -----------------------------------------------------------------------------------

/// One value for every axis, or one per axis.
template <class Draw>
Triple per_axis(ChoiceSource& r, Draw draw) {
  Triple t{};
  const bool isotropic = r.one_in(2);
  for (std::size_t a = 0; a < 3; ++a) t[a] = a > 0 && isotropic ? t[0] : draw();
  return t;
}

void draw_refine_factor(Case& c, ChoiceSource& r, bool safe) {
  c.factor = per_axis(
      r, [&] { return r.pick<std::int64_t>({1, 2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 16, 17, 64}); });
  if (safe) c.factor = per_axis(r, [&] { return r.between(1, 5); });
  if (!safe && r.one_in(10))
    c.factor = {r.pick<std::int64_t>({127, 128, 129, 256, 513, 1000, 1024, 1024, 65, 66}),
                r.pick<std::int64_t>({2, 2, 2, 25, 33}), 1};
  if (!safe && r.one_in(12)) c.factor = {c.factor[0], 1, 1};
  if (!safe && r.one_in(12)) c.factor = {r.between(1, 2), 1, 1};
  std::swap(c.factor[1], c.factor[static_cast<std::size_t>(r.between(1, 2))]);
  std::swap(c.factor[0], c.factor[static_cast<std::size_t>(r.between(0, 2))]);
  std::int64_t most = 4096;
  if (!safe && r.one_in(32)) {  // one voxel becomes as many as a leaf's or a node's counts overflow
    c.factor = r.pick<Triple>({{17, 17, 17}, {33, 33, 2}, {65, 65, 1}, {41, 41, 41}});
    std::swap(c.factor[2], c.factor[static_cast<std::size_t>(r.between(0, 2))]);
    most = 70'000;
  }
  // The largest axis gives way until one voxel's image is small enough for a quick answer.
  while (volume(c.factor) > most) {
    auto& largest = *std::max_element(c.factor.begin(), c.factor.end());
    largest = (largest + 1) / 2;
  }
}

void draw_coarsen_factor(Case& c, ChoiceSource& r, bool safe) {
  c.factor = per_axis(r, [&] {
    return r.pick<std::int64_t>({1, 2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 16, 17, 64, 127, 128, 129});
  });
  if (!safe && r.one_in(5))  // where n * (1 / f) is just below a whole number, and rarer ones
    c.factor[static_cast<std::size_t>(r.between(0, 2))] =
        r.pick<std::int64_t>({49, 98, 103, 107, 161, 187, 10,   11,   12,   13,     15,    31,
                              32, 33, 100, 255, 256, 257, 1000, 1023, 1024, 65'535, 65'536});
  if (!safe && r.one_in(8))
    c.factor[static_cast<std::size_t>(r.between(0, 2))] =
        r.pick<std::int64_t>({4096, std::int64_t{1} << 20, kMaxVoxel, kMaxVoxel + 1, kMaxVoxel + 2,
                              std::int64_t{1} << 40, kMax64});
  if (r.one_in(10)) {  // of one axis alone
    c.factor = {c.factor[0], 1, 1};
    std::swap(c.factor[0], c.factor[static_cast<std::size_t>(r.between(0, 2))]);
  }
}

void draw_dilation(Case& c, ChoiceSource& r, bool safe) {
  switch (r.between(0, safe ? 6 : 9)) {
    case 0:
    case 1:
      c.lo = {-1, -1, -1}, c.hi = {1, 1, 1};
      break;
    case 2:
      c.lo = {-1, -1, -1}, c.hi = {0, 0, 0};
      break;
    case 3:
      c.lo = {0, 0, 0}, c.hi = {1, 1, 1};
      break;
    case 4: {
      const std::int64_t radius = r.between(0, 4);
      c.lo = {-radius, -radius, -radius}, c.hi = {radius, radius, radius};
      break;
    }
    case 5:  // anisotropic, any signs: the box need not hold 0
      c.lo = {r.between(-9, 9), r.between(-9, 9), r.between(-9, 9)};
      for (std::size_t a = 0; a < 3; ++a) c.hi[a] = c.lo[a] + r.between(0, 9);
      break;
    case 6: {  // wide on one axis
      const std::size_t axis = static_cast<std::size_t>(r.between(0, 2));
      const std::int64_t width = r.pick<std::int64_t>(
          {17, 65, 129, 1023, 1024, 11, 12, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256, 257, 512});
      c.lo = {r.between(-2, 0), r.between(-2, 0), r.between(-2, 0)};
      c.hi = {0, 0, 0};
      c.lo[axis] = r.one_in(3) ? r.between(-200, 200) : r.between(-width + 1, 0);
      c.hi[axis] = c.lo[axis] + width - 1;
      break;
    }
    case 7: {  // wide on two axes, or on all
      for (std::size_t a = 0; a < 3; ++a) {
        const std::int64_t width = r.pick<std::int64_t>({17, 9, 10, 18, 33, 65});
        c.lo[a] = r.one_in(4) ? r.between(-99, 99) : r.between(-width + 1, 0);
        c.hi[a] = c.lo[a] + width - 1;
      }
      const std::size_t axis = static_cast<std::size_t>(r.between(0, 2));
      c.hi[axis] = c.lo[axis] + r.pick<std::int64_t>({0, 1, 9, 16});
      if (r.one_in(3)) {  // on all: more than two leaves, or than four
        const std::int64_t width = r.pick<std::int64_t>({18, 19, 34});
        for (std::size_t a = 0; a < 3; ++a) c.hi[a] = c.lo[a] + width - 1;
      }
      break;
    }
    case 8:  // a shift by whole nodes, and by one voxel less or more
      for (auto& x : c.lo) {
        const std::int64_t by = r.pick<std::int64_t>({-4096, -128, -8, 0, 8, 128, 4096});
        x = by + r.between(-1, 1);
      }
      for (std::size_t a = 0; a < 3; ++a) c.hi[a] = c.lo[a] + r.between(0, 2);
      break;
    default: {  // a shift as wide as the lattice, or wider than it
      const std::size_t axis = static_cast<std::size_t>(r.between(0, 2));
      c.lo = {0, 0, 0}, c.hi = {1, 1, 1};
      c.lo[axis] = r.pick<std::int64_t>({std::int64_t{1} << 31, -(std::int64_t{1} << 31),
                                         (std::int64_t{1} << 32) - 2, 1 - (std::int64_t{1} << 32),
                                         std::int64_t{1} << 40, kMin64, kMax64 - 1});
      c.hi[axis] = c.lo[axis] + r.between(0, 1);
    }
  }
}

void draw_erosion(Case& c, ChoiceSource& r) {
  switch (r.between(0, 5)) {
    case 0:
    case 1:
      c.lo = {-1, -1, -1}, c.hi = {1, 1, 1};
      break;
    case 5:  // wider than a leaf on two axes, or on all
      for (std::size_t a = 0; a < 3; ++a) {
        const std::int64_t width = r.pick<std::int64_t>({6, 9, 10, 10});
        c.lo[a] = r.one_in(3) ? -r.between(0, width - 1) : 0;
        c.hi[a] = c.lo[a] + width - 1;
      }
      if (r.one_in(2)) {
        const std::size_t axis = static_cast<std::size_t>(r.between(0, 2));
        c.lo[axis] = c.hi[axis] = 0;
      }
      break;
    case 2:  // one side only
      c.lo = {-r.between(0, 1), -r.between(0, 1), -r.between(0, 1)};
      c.hi = {r.between(0, 1), r.between(0, 1), r.between(0, 1)};
      break;
    case 3:
      c.lo = {r.between(-4, 0), r.between(-4, 0), r.between(-4, 0)};
      c.hi = {r.between(0, 4), r.between(0, 4), r.between(0, 4)};
      break;
    default: {  // wide on one axis
      const std::size_t axis = static_cast<std::size_t>(r.between(0, 2));
      const std::int64_t width = r.pick<std::int64_t>(
          {17, 65, 129, 1023, 1024, 10, 11, 16, 31, 32, 33, 64, 128, 255, 256, 257, 512});
      const bool others = width < 150 && r.one_in(2);  // the work grows with their square
      for (std::size_t a = 0; a < 3; ++a) {
        c.lo[a] = others ? r.between(-1, 0) : 0;
        c.hi[a] = others ? r.between(0, 1) : 0;
      }
      c.lo[axis] = r.between(-width + 1, 0);
      c.hi[axis] = c.lo[axis] + width - 1;
    }
  }
}

void draw_parameters(Case& c, ChoiceSource& r, bool safe) {
  if (c.op == Op::Refine) draw_refine_factor(c, r, safe);
  if (c.op == Op::Coarsen) draw_coarsen_factor(c, r, safe);
  if (c.op == Op::DilateBox) draw_dilation(c, r, safe);
  if (c.op == Op::ErodeBox) draw_erosion(c, r);
  if (convolves(c.op)) draw_kernel(c, r, safe);
}

/// Where members lie so that the *result* meets the boundaries, and how many voxels they may have.
Place place_for(const Case& c, ChoiceSource& r, bool safe) {
  Place place;
  place.ends = !safe;
  // One case in 16 is larger than the others.
  std::int64_t budget = safe ? 200 : r.one_in(16) ? 20'000 : 2'500;
  if (c.op == Op::Refine) {
    place.denominator = c.factor;
    budget /= volume(c.factor);
  } else if (c.op == Op::Coarsen) {
    place.numerator = c.factor;
  } else if (c.op == Op::DilateBox || c.op == Op::Dual) {
    place.shift = r.one_in(2) ? c.lo : c.hi;
    budget /= c.op == Op::Dual ? 4 : std::max<std::int64_t>(1, volume(widths(c)) / 2);
  } else if (c.op == Op::ErodeBox) {
    budget /= std::max<std::int64_t>(1, volume(widths(c)) / 27);
  }
  place.budget = std::max<std::int64_t>(1, budget);
  if (convolves(c.op)) place_for_kernel(c, budget, place);
  return place;
}

// --- members
// --------------------------------------------------------------------------------------

/// Which members are empty. Cases 0 ... 30 have every pattern of 0 to 4 members, and so on round.
std::vector<bool> draw_emptiness(ChoiceSource& r, std::uint64_t number) {
  if (r.one_in(10)) {
    std::vector<bool> empty(
        static_cast<std::size_t>(r.pick<std::int64_t>({5, 7, 8, 9, 16, 17, 33, 6, 10, 31, 32})));
    for (auto&& one : empty) one = r.one_in(3);
    if (!r.one_in(4)) return empty;
    // Numbers of members that words and bytes end at; but few that hold voxels.
    empty.assign(
        static_cast<std::size_t>(r.pick<std::int64_t>({64, 65, 128, 129, 255, 256, 257, 257})),
        true);
    empty.front() = r.one_in(3);
    empty.back() = r.one_in(6);
    for (int i = 0; i < 3; ++i)
      empty[static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(empty.size()) - 1))] =
          false;
    // The first members behind a word's and a byte's end, and one whose number ends like theirs.
    for (const std::size_t m : {64u, 128u, 256u})
      if (m < empty.size() && r.one_in(2)) empty[m] = empty[0] = false;
    return empty;
  }
  const std::uint64_t pattern = number % 31 + 1;  // a leading 1, then a bit per member
  std::vector<bool> empty;
  for (std::uint64_t bits = pattern; bits > 1; bits /= 2) empty.push_back(bits % 2 == 0);
  return empty;
}

std::array<double, 3> draw_sizes(ChoiceSource& r) {
  const auto draw = [&] {
    return r.pick<double>({1, 1, 0.5, 2, 0.25, 0.1, 0.05, 1.0 / 3, 3, 1e-3, 1024, 0.013});
  };
  std::array<double, 3> sizes{};
  const bool isotropic = r.one_in(2);
  for (std::size_t a = 0; a < 3; ++a) sizes[a] = a > 0 && isotropic ? sizes[0] : draw();
  if (r.one_in(24))  // legal, and 1/s or the float is not finite
    sizes[static_cast<std::size_t>(r.between(0, 2))] = r.pick<double>({1e-7, 1e39, 1e-310, 1e-46});
  return sizes;
}

Map draw_map(ChoiceSource& r) {
  Map map;
  if (r.one_in(5)) return map;
  map.voxel_size = draw_sizes(r);
  for (auto& o : map.origin)
    o = r.pick<double>({0, 0, -0.5, 0.37, -1000.25, 1e6, 1.0 / 3, 17.75, -3e-7});
  return map;
}

std::string draw_name(ChoiceSource& r, std::size_t member) {
  switch (r.between(0, 6)) {
    case 6:
      return "all alike";
    case 0:
      return "";
    case 1:
      return std::string(255, static_cast<char>('a' + member % 26));  // the longest that fits
    case 2:
      return "n\xC3\xBA"
             "mero " +
             std::to_string(member);  // UTF-8
    default:
      return "member " + std::to_string(member);
  }
}

/// A copy moved by `by`, less what would leave the lattice.
std::vector<Voxel> moved(const std::vector<Voxel>& voxels, Triple by) {
  std::vector<Voxel> result;
  for (const Voxel v : voxels) {
    const Triple c{v.x + by[0], v.y + by[1], v.z + by[2]};
    const auto [low, high] = std::minmax({c[0], c[1], c[2]});
    if (low >= kMinVoxel && high <= kMaxVoxel)
      result.push_back({static_cast<std::int32_t>(c[0]), static_cast<std::int32_t>(c[1]),
                        static_cast<std::int32_t>(c[2])});
  }
  reference::make_canonical(result);
  return result;
}

/// The family of a case's first member: all of them in turn.
const Shape& shape_of(std::uint64_t number) {
  return shapes()[number % shapes().size()];
}

const Shape& draw_shape(ChoiceSource& r, bool ends) {
  for (;;) {
    const Shape& shape = r.pick(shapes());
    if (ends || !shape.needs_ends) return shape;
  }
}

/// Makes it as many voxels as blocks of threads and fields of bits end at, where it may have them.
void cut_or_fill(std::vector<Voxel>& member, ChoiceSource& r, std::int64_t budget) {
  std::int64_t size = r.pick<std::int64_t>({32, 64, 64, 128, 192, 255, 256, 257, 511, 512, 513,
                                            1023, 1024, 1025, 2048, 4095, 4096, 4097, 8192});
  if (size > budget) size = r.pick<std::int64_t>({32, 64, 64, 128});
  if (size > budget) return;
  const auto wanted = static_cast<std::size_t>(size);
  const Voxel from = member.front();
  // Blocks of a leaf each, in a row; so many that those of the member cannot make them too few.
  const std::int64_t leaves = size / 512 + 2 + static_cast<std::int64_t>(member.size()) / 512;
  if (std::int64_t{from.z} + 8 * leaves < kMaxVoxel && member.size() < wanted) {
    std::vector<Voxel> more = member;
    for (std::int64_t i = 0; i < 512 * leaves; ++i)
      more.push_back({static_cast<std::int32_t>((from.x & ~7) + i / 64 % 8),
                      static_cast<std::int32_t>((from.y & ~7) + i / 8 % 8),
                      static_cast<std::int32_t>((from.z & ~7) + 8 * (i / 512) + i % 8)});
    reference::make_canonical(more);
    member = std::move(more);
  }
  if (member.size() > wanted) member.resize(wanted);
}

std::vector<Voxel> draw_member(const Case& c, ChoiceSource& r, const Shape& shape, Place place) {
  if (c.op == Op::ErodeBox && r.one_in(3)) return make_erodible(r, place, c.lo, c.hi);
  const std::int64_t whole = place.budget;
  place.budget = std::max<std::int64_t>(1, place.budget / r.pick<std::int64_t>({1, 1, 4, 64}));
  std::vector<Voxel> member = make_member(r, shape, place);
  const bool small = c.op == Op::Refine && volume(c.factor) <= 2;  // of one voxel
  if (r.one_in(small ? 2 : 9)) cut_or_fill(member, r, whole);
  return member;
}

void draw_members(Case& c, ChoiceSource& r, const Shape& first, Place place,
                  const std::vector<bool>& empty) {
  const auto live = std::count(empty.begin(), empty.end(), false);
  place.budget = std::max<std::int64_t>(1, place.budget / std::max<std::int64_t>(1, live));
  const Shape* shape = &first;
  const bool twins = r.one_in(5);  // members with equal coordinates, or nearly so
  // Nearly: beside each other, or apart by what a key with the member in it may have no room for.
  Triple apart{0, 0, 0};
  apart[static_cast<std::size_t>(r.between(0, 2))] =
      r.pick<std::int64_t>({0, 1, 1 << 20, 1 << 21, 1 << 16, 1 << 24, -1, -(1 << 20), -(1 << 21)});
  const std::vector<Voxel>* original = nullptr;
  const std::int64_t image = c.op == Op::Refine      ? volume(c.factor)
                             : c.op == Op::DilateBox ? volume(widths(c))
                             : convolves(c.op)       ? 4 * volume(c.kernel.size)  // pairs are work
                                                     : 1;
  std::int64_t used = 0;  // voxels of results
  c.source.members.resize(empty.size());
  for (std::size_t i = 0; i < empty.size(); ++i) {
    c.source.maps.push_back(draw_map(r));
    c.source.names.push_back(draw_name(r, i));
    if (empty[i]) continue;
    auto& member = c.source.members[i];
    if (used > kMostVoxels) continue;  // one voxel each would be too many
    if (twins && original != nullptr)
      member = moved(*original, r.one_in(2) ? apart : Triple{0, 0, 0});
    else
      member = draw_member(c, r, *shape, place);
    used += static_cast<std::int64_t>(member.size()) * std::max<std::int64_t>(1, image);
    if (original == nullptr) original = &member;
    shape = &draw_shape(r, place.ends);
  }
}

// --- what else an operation takes
// -----------------------------------------------------------------

/// As many rows as blocks of threads have and one more, a voxel that no other row has.
void one_row_left(std::vector<Voxel>& list, ChoiceSource& r) {
  const auto rows = static_cast<std::size_t>(r.pick<std::int64_t>({33, 129, 257, 513, 1025}));
  const Voxel last = list.back();
  std::erase(list, last);
  const std::size_t size = list.size();
  if (size > 0)
    while (list.size() + 1 < rows) list.push_back(list[list.size() - size]);
  if (list.size() >= rows) list.resize(rows - 1);
  list.push_back(last);
}

/// Raw lists: every order, repeats adjacent and far apart.
void unsort(Batch& batch, ChoiceSource& r) {
  for (auto& list : batch.members) {
    const std::size_t size = list.size();
    const std::int64_t repeat = r.pick<std::int64_t>({0, 1, 3});  // one voxel in so many
    for (std::size_t i = 0; i < size && repeat > 0; ++i)
      if (r.one_in(repeat)) list.push_back(list[i]);
    switch (r.between(0, 3)) {
      case 0:
        std::reverse(list.begin(), list.end());
        break;
      case 1:
        break;  // canonical, then the repeats
      default:
        r.shuffle(list);
    }
    if (size > 0 && r.one_in(6)) one_row_left(list, r);
  }
}

/// Points in the cells of the drawn voxels: centres, exact halves and their neighbours, anything.
void make_points(Case& c, ChoiceSource& r) {
  unsort(c.source, r);
  const double below = std::nextafter(0.5, 0.0);
  for (std::size_t i = 0; i < c.source.size(); ++i) {
    const Map& map = c.source.maps[i];
    std::vector<Point> list;
    for (const Voxel v : c.source.members[i]) {
      const std::array<std::int32_t, 3> voxel{v.x, v.y, v.z};
      Point p{};
      for (std::size_t a = 0; a < 3; ++a) {
        double jitter = r.pick<double>({0, 0, 0.5, -0.5, below, -below, 0.25, 2});
        if (jitter == 2) jitter = static_cast<double>(r.between(-499, 499)) / 1000;
        const double x = voxel[a] + jitter;
        const double scaled = x * map.voxel_size[a];
        p[a] = scaled + map.origin[a];
      }
      list.push_back(p);
    }
    c.points.push_back(std::move(list));
    c.source.members[i].clear();
  }
}

std::vector<std::int64_t> draw_view(ChoiceSource& r, std::int64_t members) {
  std::vector<std::int64_t> view;
  if (members == 0) return view;
  const std::int64_t kind = r.between(0, 5);
  for (std::int64_t i = 0; i < members; ++i) view.push_back(kind == 0 ? members - 1 - i : i);
  if (kind == 1) {  // a subset, perhaps of none
    std::vector<std::int64_t> subset;
    for (const auto i : view)
      if (r.one_in(2)) subset.push_back(i);
    return subset;
  }
  if (kind == 2) return {r.between(0, members - 1)};
  if (kind == 3) {  // one member repeated
    const std::int64_t member = r.between(0, members - 1);
    return {member, member};
  }
  if (kind == 4) r.shuffle(view);
  if (kind == 5) {  // any selection, repeats included; longer than the batch as well
    if (r.one_in(2))
      view.resize(
          static_cast<std::size_t>(r.between(1, 2 * std::min<std::int64_t>(members, 8) + 1)));
    for (auto& i : view) i = r.between(0, members - 1);
  }
  return view;
}

/// The members that the operation reads [T-9]; the view's indices must be good.
std::vector<const std::vector<Voxel>*> read_members(const Case& c) {
  std::vector<const std::vector<Voxel>*> members;
  if (c.view)
    for (const auto i : *c.view) members.push_back(&c.source.members[static_cast<std::size_t>(i)]);
  else
    for (const auto& member : c.source.members) members.push_back(&member);
  return members;
}

Masks draw_mask(const Case& c, ChoiceSource& r) {
  Masks masks;
  for (const auto* member : read_members(c)) {
    const std::size_t size = member->size();
    std::vector<std::uint8_t> mask(size);
    const std::int64_t kind = r.between(0, 7);
    const std::int64_t one =
        r.between(0, std::max<std::int64_t>(0, static_cast<std::int64_t>(size) - 1));
    for (std::size_t i = 0; i < size; ++i) {
      const auto row = static_cast<std::int64_t>(i);
      mask[i] = kind == 0   ? 0
                : kind == 1 ? 1
                : kind == 2 ? row == one
                : kind == 3 ? row != one
                : kind == 4 ? 2 * i < size  // asymmetric: rows taken in another order show
                : kind == 5 ? i % 7 < 3     // a prime period: exchanged blocks show
                : kind == 6 ? r.one_in(10)
                            : r.one_in(2);
    }
    masks.push_back(std::move(mask));
  }
  return masks;
}

Batch draw_other(const Case& c, ChoiceSource& r, const Place& place) {
  Batch other;
  for (const auto* member : read_members(c)) {
    std::vector<Voxel> voxels;
    switch (r.between(0, 8)) {
      case 0:
        voxels = *member;
        break;
      case 7:  // as many, in its box, with the same ends
        voxels = nudged(*member, r);
        break;
      case 1:
        break;  // empty
      case 2:   // moved by a voxel, a leaf, a lower or an upper node
        voxels = moved(*member, {r.pick<std::int64_t>({-1, 1, 8, 128, 4096}), 0, r.between(-1, 1)});
        break;
      case 3:  // a part of it
        for (const Voxel v : *member)
          if (r.one_in(2)) voxels.push_back(v);
        break;
      case 4:  // all but one: a difference of one voxel
        voxels = *member;
        if (!voxels.empty())
          voxels.erase(voxels.begin() + r.between(0, static_cast<std::int64_t>(voxels.size()) - 1));
        break;
      case 5:
      case 6:  // a part of it and something else
        voxels = make_member(r, draw_shape(r, place.ends), place);
        for (const Voxel v : *member)
          if (r.one_in(3)) voxels.push_back(v);
        reference::make_canonical(voxels);
        break;
      default:
        voxels = make_member(r, draw_shape(r, place.ends), place);
    }
    other.maps.push_back(draw_map(r));  // of its own, and not to be read [T-10]
    other.names.push_back("other " + std::to_string(other.members.size()));
    other.members.push_back(std::move(voxels));
  }
  return other;
}

void draw_rest(Case& c, ChoiceSource& r, const Place& place) {
  if (c.op == Op::FromIjk) unsort(c.source, r);
  add_partners(c, r);
  if (c.op == Op::FromPoints) make_points(c, r);
  if (!from_lists(c.op) && r.one_in(4))
    c.view = draw_view(r, static_cast<std::int64_t>(c.source.size()));
  if (c.op == Op::Prune || (c.op == Op::Refine && r.one_in(3))) c.mask = draw_mask(c, r);
  if (takes_other(c.op)) c.other = draw_other(c, r, place);
  if (convolves(c.op)) draw_operands(c, r);
}

std::string parameters_text(const Case& c) {
  std::string s;
  if (c.op == Op::Refine || c.op == Op::Coarsen) s += "; factor " + text(c.factor);
  if (c.op == Op::DilateBox || c.op == Op::ErodeBox)
    s += "; box " + text(c.lo) + " to " + text(c.hi);
  if (convolves(c.op)) s += kernel_text(c);
  if (c.mask) s += "; masked";
  if (c.view) s += fmt::format("; a view of {}", c.view->size());
  return s + fmt::format("; {} members", c.source.size());
}

// --- refusals
// -------------------------------------------------------------------------------------

std::size_t any_member(const Case& c, ChoiceSource& r) {
  return static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(c.source.size()) - 1));
}
std::size_t any_axis(ChoiceSource& r) {
  return static_cast<std::size_t>(r.between(0, 2));
}

/// A member that the operation reads, if there is one.
std::optional<std::size_t> any_read(const Case& c, ChoiceSource& r) {
  if (c.source.size() == 0 || (c.view && c.view->empty())) return {};
  return c.view ? static_cast<std::size_t>(c.view->front()) : any_member(c, r);
}

/// What is made of voxels alone has no use for a map or a name.
bool makes_grids(Op op) {
  return !convolves(op) || op == Op::ConvGrid || op == Op::ConvTransposeGrid;
}

/// What belongs to a member that is read, for one more of them.
void one_more(Case& c) {
  if (c.mask) c.mask->emplace_back();
  for (auto* batch : {&c.other, &c.target})
    if (*batch) {
      (*batch)->members.emplace_back();
      (*batch)->maps.emplace_back();
      (*batch)->names.emplace_back();
    }
}

/// What belongs to members that are read, where none is.
void none_read(Case& c) {
  if (c.mask) c.mask->clear();
  for (auto* batch : {&c.other, &c.target})
    if (*batch) **batch = {};
}

/// Nothing to do: no member, none that is read, or none with a voxel. What is wrong stays wrong.
void make_empty(Case& c, ChoiceSource& r) {
  const std::int64_t kind = from_lists(c.op) ? r.between(0, 1) : r.between(0, 2);
  const auto clear = [](std::vector<std::vector<Voxel>>& members) {
    for (auto& member : members) member.clear();
  };
  if (kind == 1) {
    c.source = {};
    c.points.clear();
    c.view.reset();
  } else if (kind == 2) {
    c.view.emplace();
  }
  if (kind > 0) {
    none_read(c);
  } else {
    clear(c.source.members);
    for (auto& list : c.points) list.clear();
    if (c.mask)
      for (auto& mask : *c.mask) mask.clear();
    for (auto* batch : {&c.other, &c.target})
      if (*batch) clear((*batch)->members);
  }
  const auto no_rows = [](reference::Array& array) {
    if (array.shape.empty()) return;
    array.shape[0] = 0;
    array.values.clear();
  };
  no_rows(c.operands.features);
  if (c.operands.grad_output) no_rows(*c.operands.grad_output);
}

bool break_view(Case& c, ChoiceSource& r) {
  if (from_lists(c.op)) return false;
  if (r.one_in(6)) {  // of a batch of nothing no index is good
    make_empty(c, r);
    none_read(c);
    c.source = {};
    c.view.emplace();
  }
  const auto size = static_cast<std::int64_t>(c.source.size());
  if (!c.view) {
    c.view.emplace();
    for (std::int64_t i = 0; i < size; ++i) c.view->push_back(i);
  }
  c.view->push_back(
      r.pick<std::int64_t>({size, size + 1, -1, kMax64, kMin64, std::int64_t{1} << 32}));
  one_more(c);
  return true;
}

bool break_map(Case& c, ChoiceSource& r) {
  const auto member = any_read(c, r);
  if (!member || !makes_grids(c.op)) return false;
  Map& map = c.source.maps[*member];
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (r.one_in(2))
    map.voxel_size[any_axis(r)] = r.pick<double>({0.0, -0.0, -1.0, inf, nan});
  else
    map.origin[any_axis(r)] = r.pick<double>({inf, -inf, nan});
  for (auto& list : c.points) list.clear();  // so that only the map is wrong
  return true;
}

bool break_name(Case& c, ChoiceSource& r) {
  const auto member = any_read(c, r);
  if (!member || !makes_grids(c.op)) return false;
  c.source.names[*member] =
      r.one_in(2) ? std::string(256, 'x')
                  : r.pick<std::string>({{"a\0b", 3}, {"a\0", 2}, {"\0", 1}, {"\0b", 2}});
  return true;
}

bool break_point(Case& c, ChoiceSource& r) {
  if (c.op != Op::FromPoints || c.source.size() == 0) return false;
  auto& list = c.points[any_member(c, r)];
  Point bad{0, 0, 0};
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  bad[any_axis(r)] = r.pick<double>({nan, nan, nan, inf, -inf});
  list.insert(r.one_in(2) ? list.begin() : list.end(), bad);
  return true;
}

const Refusal kBadPoint{"NaN or infinity among the points [T-1]", break_point};
const Refusal kBadView{"a view of a member that is not there [E-3]", break_view};
const Refusal kBadMap{"a map that is not finite and positive [G-7]", break_map};
const Refusal kBadName{"a name of 256 bytes, or with an inner NUL [G-7]", break_name};

const std::vector<Refusal>& pass_refusals() {
  static const std::vector<Refusal> all{
      {"a factor below 1 [T-11]",
       [](Case& c, ChoiceSource& r) {
         if (c.op != Op::Refine && c.op != Op::Coarsen) return false;
         c.factor[any_axis(r)] = r.pick<std::int64_t>({0, -1, -2, kMin64});
         return true;
       },
       true},
      {"a factor over 1024 [T-11]",
       [](Case& c, ChoiceSource& r) {
         if (c.op != Op::Refine) return false;
         c.factor[any_axis(r)] =
             r.pick<std::int64_t>({1025, std::int64_t{1} << 31, std::int64_t{1} << 32, kMax64});
         return true;
       },
       true},
      {"lo above hi [T-11]",
       [](Case& c, ChoiceSource& r) {
         if (c.op != Op::DilateBox) return false;
         const std::size_t a = any_axis(r);
         c.lo[a] = r.pick<std::int64_t>({1, 5, kMax64});
         c.hi[a] = c.lo[a] - 1;
         if (r.one_in(4)) c.lo[a] = kMax64, c.hi[a] = kMin64;
         return true;
       },
       true},
      {"a box over 1024 wide [T-11]",
       [](Case& c, ChoiceSource& r) {
         if (c.op != Op::DilateBox && c.op != Op::ErodeBox) return false;
         const std::size_t a = any_axis(r);
         switch (r.between(0, 3)) {
           case 0:
             c.lo[a] = 0, c.hi[a] = 1024;
             break;
           case 1:
             c.lo[a] = -512, c.hi[a] = 512;
             break;
           case 2:
             c.lo[a] = kMin64, c.hi[a] = kMax64;  // a width that wraps to 0
             break;
           default:
             c.lo[a] = kMin64, c.hi[a] = 0;
         }
         return true;
       },
       true},
      {"an erosion box without 0 [T-11]",
       [](Case& c, ChoiceSource& r) {
         if (c.op != Op::ErodeBox) return false;
         const std::size_t a = any_axis(r);
         const bool above = r.one_in(2);
         c.lo[a] = above ? 1 : -3, c.hi[a] = above ? 3 : -1;
         return true;
       },
       true},
      kBadPoint,
      {"mask lengths exchanged: the total is right [T-10]",
       [](Case& c, ChoiceSource&) {
         if (!c.mask) return false;
         for (auto& one : *c.mask)
           for (auto& two : *c.mask)
             if (one.size() != two.size()) return one.swap(two), true;
         return false;
       }},
      {"a mask one flag too long, or too short [T-10]",
       [](Case& c, ChoiceSource& r) {
         if (!c.mask || c.mask->empty()) return false;
         auto& mask = (*c.mask)[static_cast<std::size_t>(
             r.between(0, static_cast<std::int64_t>(c.mask->size()) - 1))];
         if (mask.empty() || r.one_in(2))
           mask.push_back(1);
         else
           mask.pop_back();
         return true;
       }},
      {"a mask list too many, or too few [T-10]",
       [](Case& c, ChoiceSource& r) {
         if (!c.mask) return false;
         if (c.mask->empty() || r.one_in(2))
           c.mask->emplace_back();
         else
           c.mask->pop_back();
         return true;
       }},
      {"two batches of unequal size [T-10]",
       [](Case& c, ChoiceSource& r) {
         if (!c.other) return false;
         miscount(*c.other, c, r);
         return true;
       }},
      kBadView,
      {"a result one voxel outside the lattice [L-5]",
       [](Case& c, ChoiceSource& r) {
         if (c.source.size() == 0 || c.view) return false;
         const std::size_t m = any_member(c, r), a = any_axis(r);
         const bool high = r.one_in(2);
         Triple at{};
         if (c.op == Op::Dual) {
           at[a] = kMaxVoxel;
         } else if (c.op == Op::DilateBox) {
           c.lo[a] = -1, c.hi[a] = 1;
           at[a] = high ? kMaxVoxel : kMinVoxel;
         } else if (c.op == Op::Refine && !c.mask) {
           c.factor[a] = r.between(2, 5);
           at[a] = high ? (kMaxVoxel + 1) / c.factor[a]
                        : reference::floor_div(kMinVoxel - 1, c.factor[a]);
         } else if (c.op == Op::FromPoints) {
           const bool exact = r.one_in(2);  // the first voxel outside, by a unit map
           if (exact) c.source.maps[m] = {};
           const Map& map = c.source.maps[m];
           const double outside = high ? 2147483648.0 : -2147483649.0;
           const double scaled = outside * map.voxel_size[a];
           c.points[m].push_back({0, 0, 0});
           if (exact) {
             c.points[m].back()[a] = outside;
             return true;
           }
           c.points[m].back()[a] = r.one_in(4) ? (high ? 1e308 : -1e308) : scaled + map.origin[a];
           // Rounding may bring it back to the edge: a further voxel is surely outside.
           if (std::abs(c.points[m].back()[a]) < 1e300)
             c.points[m].back()[a] += high ? map.voxel_size[a] : -map.voxel_size[a];
           return true;
         } else {
           return false;
         }
         c.source.members[m].push_back({static_cast<std::int32_t>(at[0]),
                                        static_cast<std::int32_t>(at[1]),
                                        static_cast<std::int32_t>(at[2])});
         reference::make_canonical(c.source.members[m]);
         return true;
       }},
      kBadPoint,
      kBadMap,
      {"a map that the pass makes infinite, or zero [G-7]",
       [](Case& c, ChoiceSource& r) {
         if (c.source.size() == 0 || c.view) return false;
         Map& map = c.source.maps[any_member(c, r)];
         const std::size_t a = any_axis(r);
         if (c.op == Op::Coarsen) {
           c.factor[a] = 16;
           const bool origin = r.one_in(2);  // the size stays finite, the origin does not
           map.voxel_size[a] = origin ? 1e307 : 1e308;
           if (origin) map.origin[a] = 1.79e308;
         } else if (c.op == Op::Refine) {
           c.factor[a] = 2;
           map.voxel_size[a] = std::numeric_limits<double>::denorm_min();
         } else if (c.op == Op::Dual) {
           map.voxel_size[a] = 1.7e308;
           map.origin[a] = -1.7e308;
         } else {
           return false;
         }
         return true;
       }},
      kBadName,
      kBadMap,  // it has many kinds
  };
  return all;
}

const std::vector<Refusal>& refusals(Op op) {
  static const std::vector<Refusal> of_convolution = [] {
    std::vector<Refusal> all = convolution_refusals();
    all.insert(all.end(), {kBadView, kBadMap, kBadName, kBadMap});
    return all;
  }();
  return convolves(op) ? of_convolution : pass_refusals();
}

/// A good case of moderate size, away from the ends of the lattice, with at least two members.
Case safe_case(Op op, ChoiceSource& r) {
  Case c;
  c.op = op;
  draw_parameters(c, r, /*safe=*/true);
  const Place place = place_for(c, r, /*safe=*/true);
  std::vector<bool> empty(static_cast<std::size_t>(r.between(2, 4)));
  for (auto&& one : empty) one = r.one_in(4);
  draw_members(c, r, draw_shape(r, false), place, empty);
  draw_rest(c, r, place);
  return c;
}

/// The two ends of a node along an axis, and nothing in the nodes beside it, eroded across its end:
/// a neighbour that is looked up in the same node is there, and ought not to be.
void erode_across_a_node(Case& c, ChoiceSource& r) {
  const auto member = std::find_if(c.source.members.begin(), c.source.members.end(),
                                   [](const auto& voxels) { return !voxels.empty(); });
  if (member == c.source.members.end()) return;
  const std::size_t axis = any_axis(r);
  const std::int64_t width = r.pick<std::int64_t>({8, 128, 4096, 4096});
  Triple at{};
  for (auto& x : at) x = r.between(-2, 2) * width;
  Triple end = at;
  end[axis] += width - 1;
  member->clear();
  for (const Triple& t : {at, end})
    member->push_back({static_cast<std::int32_t>(t[0]), static_cast<std::int32_t>(t[1]),
                       static_cast<std::int32_t>(t[2])});
  reference::make_canonical(*member);
  c.lo = c.hi = {0, 0, 0};
  (r.one_in(2) ? c.lo[axis] = -1 : c.hi[axis] = 1);
}

/// A block about a corner of nodes, less one voxel beyond the corner, eroded towards it: of three
/// neighbours in other nodes, or of two, the one across all of them is absent.
void erode_at_a_corner(Case& c, ChoiceSource& r) {
  const auto member = std::find_if(c.source.members.begin(), c.source.members.end(),
                                   [](const auto& voxels) { return !voxels.empty(); });
  if (member == c.source.members.end()) return;
  const bool leaf = r.one_in(3);  // all of a leaf and what is about it
  const std::int64_t width = leaf ? 8 : r.pick<std::int64_t>({8, 128, 4096});
  Triple first{}, side{}, absent{};
  const std::int64_t where = r.between(0, 7);  // a corner, an edge or a face
  for (std::size_t a = 0; a < 3; ++a) {
    const bool above = r.one_in(2);
    const bool across = where < 4 || where == 4 + static_cast<std::int64_t>(a) || r.one_in(2);
    const std::int64_t corner = r.between(-2, 2) * width;
    first[a] = corner - 1;
    side[a] = leaf ? 10 : 2;
    c.lo[a] = above ? 0 : -1;
    c.hi[a] = above ? 1 : 0;
    if (leaf && r.one_in(2)) c.lo[a] = -1, c.hi[a] = 1;
    absent[a] = above == across ? first[a] + side[a] - 1 : first[a];
    if (leaf && !across) absent[a] = first[a] + r.between(1, 8);
  }
  member->clear();
  for (std::int64_t i = 0; i < side[0] * side[1] * side[2]; ++i) {
    const Triple at{first[0] + i / (side[1] * side[2]), first[1] + i / side[2] % side[1],
                    first[2] + i % side[2]};
    if (at != absent)
      member->push_back({static_cast<std::int32_t>(at[0]), static_cast<std::int32_t>(at[1]),
                         static_cast<std::int32_t>(at[2])});
  }
  reference::make_canonical(*member);
}

/// Parameters as large as they may be, of a batch that makes them no work.
void make_large_of_nothing(Case& c, ChoiceSource& r) {
  if (c.op == Op::Refine)
    c.factor = per_axis(r, [&] { return r.pick<std::int64_t>({1000, 1023, 1024, 1024}); });
  else
    c.lo = {-511, -1023, 0}, c.hi = {512, 0, 1023};
  make_empty(c, r);
}

Case refused_case(Op op, ChoiceSource& r, std::uint64_t number) {
  const auto& all = refusals(op);
  for (std::uint64_t attempt = 0;; ++attempt) {
    Case c = safe_case(op, r);
    // In steps that meet all of them, the later ones no later than the first.
    const Refusal& refusal = all[(7 * (number / 8) + attempt / 2) % all.size()];
    if (!refusal.apply(c, r)) continue;
    if (refusal.of_parameters && r.one_in(3)) make_empty(c, r);
    c.comment = fmt::format("refused: {}{}", refusal.reason, parameters_text(c));
    return c;
  }
}

Case ordinary_case(Op op, ChoiceSource& r, std::uint64_t number) {
  Case c;
  c.op = op;
  draw_parameters(c, r, /*safe=*/false);
  const Place place = place_for(c, r, /*safe=*/false);
  const Shape& shape = shape_of(number);
  draw_members(c, r, shape, place, draw_emptiness(r, number));
  if (op == Op::ErodeBox && r.one_in(16)) erode_across_a_node(c, r);
  if (op == Op::ErodeBox && r.one_in(5)) erode_at_a_corner(c, r);
  draw_rest(c, r, place);
  if ((op == Op::Refine || op == Op::DilateBox || op == Op::ErodeBox) && r.one_in(40))
    make_large_of_nothing(c, r);
  c.comment = fmt::format("{}: {}{}", shape.name, shape.reason, parameters_text(c));
  return c;
}

void check_generated(Op op) {
  const auto& known = generated_ops();
  if (std::find(known.begin(), known.end(), op) == known.end())
    throw Error(ErrorKind::InvalidArgument,
                {.operation = "generate",
                 .argument = "op",
                 .value = std::string(to_string(op)),
                 .reason = "cases are generated for the passes of [T] and for convolution",
                 .member = {},
                 .row = {}});
}

/// Decides family, emptiness and refusal of a case, every combination of them.
std::uint64_t draw_number(ChoiceSource& choices) {
  const auto rounds = static_cast<std::int64_t>(8 * 31 * shapes().size());
  return static_cast<std::uint64_t>(choices.between(0, rounds - 1));
}

Case draw_case(Op op, ChoiceSource& choices, std::uint64_t number) {
  return number % 8 == 7 ? refused_case(op, choices, number) : ordinary_case(op, choices, number);
}

// --- boundary classes
// -----------------------------------------------------------------------------

/// What a member's voxels, in any order, show by themselves.
void touch(std::vector<Voxel> voxels, std::set<Boundary>& touched) {
  if (voxels.empty()) touched.insert(Boundary::EmptyMember);
  reference::make_canonical(voxels);
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    const Voxel v = voxels[i];
    const auto [low, high] = std::minmax({v.x, v.y, v.z});
    if (low < 0) touched.insert(Boundary::NegativeOctant);
    if (low < kMinVoxel + 4096 || high > kMaxVoxel - 4096) touched.insert(Boundary::Range);
    if (i == 0) continue;
    const Voxel u = voxels[i - 1];
    if (reference::root_tile(u) != reference::root_tile(v))
      touched.insert(Boundary::RootTile);
    else if (reference::upper_offset(u) != reference::upper_offset(v))
      touched.insert(Boundary::Lower);
    else if (reference::lower_offset(u) != reference::lower_offset(v))
      touched.insert(Boundary::Leaf);
  }
}

void touch(const reference::Grid& grid, std::set<Boundary>& touched) {
  if (!grid.box) {
    touched.insert(Boundary::EmptyMember);
    return;
  }
  const auto& [min, max] = *grid.box;
  const auto low = std::min({min.x, min.y, min.z}), high = std::max({max.x, max.y, max.z});
  if (low < 0) touched.insert(Boundary::NegativeOctant);
  if (low < kMinVoxel + 4096 || high > kMaxVoxel - 4096) touched.insert(Boundary::Range);
  if (grid.tiles.size() > 1) touched.insert(Boundary::RootTile);
  if (grid.lowers.size() > grid.uppers.size()) touched.insert(Boundary::Lower);
  if (grid.leaves.size() > grid.lowers.size()) touched.insert(Boundary::Leaf);
}

}  // namespace

Case generate(Op op, std::uint64_t seed, std::uint64_t number) {
  check_generated(op);
  ChoiceSource choices{std::uint64_t{kSemanticsVersion}, static_cast<std::uint64_t>(op), seed,
                       number};
  Case c = draw_case(op, choices, number);
  c.id = case_id(op, seed, number);
  return c;
}

std::string case_id(Op op, std::uint64_t seed, std::uint64_t number) {
  return fmt::format("{} --seed {} --case {}", to_string(op), seed, number);
}

Case generate(Op op, std::span<const std::uint8_t> bytes) {
  check_generated(op);
  ChoiceSource choices(bytes);
  Case c = draw_case(op, choices, draw_number(choices));
  c.id = fmt::format("{} by {} bytes", to_string(op), bytes.size());
  return c;
}

Case generate(Op op, std::span<const std::uint8_t> bytes, const Shape& family) {
  check_generated(op);
  ChoiceSource choices(bytes);
  std::uint64_t number = draw_number(choices);
  while (&shape_of(number) != &family || number % 8 == 7) ++number;
  Case c = draw_case(op, choices, number);
  c.id = fmt::format("{} of {} by {} bytes", to_string(op), family.name, bytes.size());
  return c;
}

std::int64_t cases_of_level(Op, int level) {
  return level <= 1 ? 64 : level == 2 ? 512 : 20'000;
}

std::set<Boundary> boundaries_of(const Case& question, const Layout* result) {
  std::set<Boundary> touched;
  if (question.op != Op::FromPoints)
    for (const auto& member : question.source.members) touch(member, touched);
  for (const auto& list : question.points)
    if (list.empty()) touched.insert(Boundary::EmptyMember);
  if (question.other)
    for (const auto& member : question.other->members) touch(member, touched);
  if (question.target)
    for (const auto& member : question.target->members) touch(member, touched);
  if (result != nullptr)
    for (const auto& grid : result->grids) touch(grid, touched);
  return touched;
}

}  // namespace leafproof::oracle
