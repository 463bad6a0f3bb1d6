// Families of voxel sets. Draws are made one per statement or in braces, never twice in one
// expression or argument list: their order must not depend on the compiler.
#include "oracle/shapes.h"

#include <array>
#include <limits>

#include "reference/canonical_order.h"

namespace leafproof::oracle {
namespace {

using reference::floor_div;
using reference::Triple;
using reference::Voxel;
using Voxels = std::vector<Voxel>;

constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();

/// Adds a voxel unless it lies outside the lattice or the member is full.
void add(Voxels& member, const Place& place, Triple c) {
  for (const std::int64_t x : c)
    if (x < kMin || x > kMax) return;
  if (static_cast<std::int64_t>(member.size()) >= place.budget) return;
  member.push_back({static_cast<std::int32_t>(c[0]), static_cast<std::int32_t>(c[1]),
                    static_cast<std::int32_t>(c[2])});
}

/// Where a sum in 32 bits arrives that should be x, beyond the upper end of the lattice or not.
std::int64_t wrapped(std::int64_t x) {
  return x > kMax ? x + kMin - kMax - 1 : x;
}

/// The first coordinate of some node of some level, on axis `a`, or its image under the operation.
std::int64_t boundary(ChoiceSource& r, const Place& place, std::size_t a) {
  const std::int64_t node = r.pick<std::int64_t>({8, 128, 4096});
  std::int64_t at = node * r.between(-2, 2);
  if (r.one_in(8)) {
    const std::int64_t power = std::int64_t{1} << r.pick<std::int64_t>({17, 20, 24});
    at += r.one_in(2) ? power : -power;
  }
  if (place.ends && r.one_in(60)) at = r.one_in(2) ? kMax : kMin;
  if (r.one_in(2)) return at;
  std::int64_t image = 0;
  if (__builtin_sub_overflow(at, place.shift[a], &image) ||
      __builtin_mul_overflow(image, place.numerator[a], &image))
    return at;
  image = floor_div(image, place.denominator[a]);
  return image < kMin || image > kMax ? at : image;
}

Triple anchor(ChoiceSource& r, const Place& place) {
  Triple at{};
  for (std::size_t a = 0; a < 3; ++a)
    at[a] = r.one_in(5) ? r.between(-20, 20) : boundary(r, place, a);
  return at;
}

void single(ChoiceSource& r, const Place& place, Voxels& member) {
  const Triple at = anchor(r, place);
  add(member, place, {at[0] - r.between(0, 1), at[1] - r.between(0, 1), at[2] - r.between(0, 1)});
}

void pair(ChoiceSource& r, const Place& place, Voxels& member) {
  Triple at = anchor(r, place), next{};
  std::int64_t direction = r.between(0, 25);  // of 26: the middle of 3 x 3 x 3 is left out
  direction += direction >= 13 ? 1 : 0;
  const Triple step{direction / 9 - 1, direction / 3 % 3 - 1, direction % 3 - 1};
  for (std::size_t a = 0; a < 3; ++a) {
    // The two voxels lie on both sides of the boundary on every axis on which they differ.
    const bool below = step[a] > 0 || (step[a] == 0 && r.one_in(2));
    at[a] -= below ? 1 : 0;
    next[a] = at[a] + step[a];
  }
  add(member, place, at);
  add(member, place, next);
}

void corners(ChoiceSource& r, const Place& place, Voxels& member) {
  const std::int64_t node = r.pick<std::int64_t>({8, 128, 4096});
  const Triple at = anchor(r, place);
  Triple origin{};
  for (std::size_t a = 0; a < 3; ++a) origin[a] = floor_div(at[a], node) * node;
  const std::int64_t chosen = r.one_in(2) ? 255 : r.between(1, 255);
  for (int corner = 0; corner < 8; ++corner)
    if (chosen >> corner & 1)
      add(member, place,
          {origin[0] + (corner & 1 ? node - 1 : 0), origin[1] + (corner & 2 ? node - 1 : 0),
           origin[2] + (corner & 4 ? node - 1 : 0)});
}

void comb(ChoiceSource& r, const Place& place, Voxels& member) {
  static constexpr std::array<std::int64_t, 14> kTeeth{-4097, -4096, -129, -128, -9,  -8,   -1,
                                                       0,     7,     8,    127,  128, 4095, 4096};
  std::array<std::vector<std::int64_t>, 3> axis;
  const std::int64_t first = r.between(0, 2);
  const std::int64_t combed = r.one_in(4) ? 3 : r.between(1, 2);
  for (std::int64_t a = 0; a < 3; ++a) {
    auto& teeth = axis[static_cast<std::size_t>((first + a) % 3)];
    const std::int64_t keep = combed == 3 ? 4 : combed == 2 ? 2 : 1;  // one tooth in so many
    for (const std::int64_t tooth : kTeeth)
      if (a < combed && r.one_in(keep)) teeth.push_back(tooth);
    if (teeth.empty()) teeth.push_back(kTeeth[static_cast<std::size_t>(r.between(0, 13))]);
  }
  for (const auto x : axis[0])
    for (const auto y : axis[1])
      for (const auto z : axis[2]) add(member, place, {x, y, z});
}

void leaf(ChoiceSource& r, const Place& place, Voxels& member) {
  const Triple at = anchor(r, place);
  Triple origin{};
  for (std::size_t a = 0; a < 3; ++a) origin[a] = floor_div(at[a] - r.between(0, 1), 8) * 8;
  const std::int64_t kind = r.between(0, 5);
  const std::int64_t word = r.pick<std::int64_t>({0, 7, 3});
  const std::int64_t hole = r.between(0, 511);
  const std::int64_t step = r.pick<std::int64_t>({3, 5, 7, 9, 63, 64, 65});
  Place whole = place;  // a leaf that is full, or nearly, is worth its time
  if (place.budget >= 8) whole.budget = std::max<std::int64_t>(place.budget, 512);
  for (std::int64_t n = 0; n < 512; ++n) {
    const bool on = kind <= 1   ? true
                    : kind == 2 ? n / 64 == word
                    : kind == 3 ? n / 64 != word
                    : kind == 4 ? n != hole
                                : n % step == 0;
    if (on) add(member, whole, {origin[0] + n / 64, origin[1] + n / 8 % 8, origin[2] + n % 8});
  }
}

/// Calls `visit` for every voxel of a box of random size that lies across an anchor.
template <class Visit>
void box_across(ChoiceSource& r, const Place& place, std::int64_t widest, Visit visit) {
  const Triple at = anchor(r, place);
  Triple low{}, size{};
  for (std::size_t a = 0; a < 3; ++a) {
    size[a] = r.between(1, widest);
    low[a] = at[a] - r.between(0, size[a]);
  }
  while (size[0] * size[1] * size[2] > 4 * place.budget)
    for (auto& s : size) s = (s + 1) / 2;
  for (std::int64_t x = 0; x < size[0]; ++x)
    for (std::int64_t y = 0; y < size[1]; ++y)
      for (std::int64_t z = 0; z < size[2]; ++z)
        visit(Triple{low[0] + x, low[1] + y, low[2] + z}, Triple{x, y, z});
}

void block(ChoiceSource& r, const Place& place, Voxels& member) {
  box_across(r, place, 12, [&](Triple c, Triple) { add(member, place, c); });
}

void parity(ChoiceSource& r, const Place& place, Voxels& member) {
  const std::int64_t kind = r.between(0, 2);
  const std::size_t axis = static_cast<std::size_t>(r.between(0, 2));
  const Triple period{r.between(1, 3), r.between(1, 4), r.between(2, 5)};
  box_across(r, place, 20, [&](Triple c, Triple d) {
    const bool on = kind == 0 ? d[axis] % 2 == 0  // planes
                    : kind == 1
                        ? (d[0] + d[1] + d[2]) % 2 == 0
                        : d[0] % period[0] == 0 && d[1] % period[1] == 0 && d[2] % period[2] == 0;
    if (on) add(member, place, c);
  });
}

void shell(ChoiceSource& r, const Place& place, Voxels& member) {
  const Triple centre = anchor(r, place);
  std::int64_t radius = r.between(2, 11);
  while (radius > 1 && 14 * radius * radius > place.budget) --radius;
  for (std::int64_t x = -radius - 1; x <= radius + 1; ++x)
    for (std::int64_t y = -radius - 1; y <= radius + 1; ++y)
      for (std::int64_t z = -radius - 1; z <= radius + 1; ++z) {
        const std::int64_t off = x * x + y * y + z * z - radius * radius;
        if (-radius <= off && off <= radius)
          add(member, place, {centre[0] + x, centre[1] + y, centre[2] + z});
      }
}

void rings(ChoiceSource& r, const Place& place, Voxels& member) {
  const Triple centre = anchor(r, place);
  const std::int64_t count = r.between(1, 4), spacing = r.between(3, 9), slope = r.between(0, 2);
  const std::int64_t shadow = r.between(0, 3);  // the quadrant that something hides
  for (std::int64_t ring = 1; ring <= count; ++ring) {
    const std::int64_t radius = ring * spacing;
    for (std::int64_t x = -radius; x <= radius; ++x)
      for (std::int64_t y = -radius; y <= radius; ++y) {
        const std::int64_t off = x * x + y * y - radius * radius;
        const bool hidden = (x < 0) == (shadow & 1) && (y < 0) == (shadow >> 1) && x % 5 != 0;
        if (-radius < off && off <= radius && !hidden)
          add(member, place, {centre[0] + x, centre[1] + y, centre[2] + slope * ring * ring});
      }
  }
}

void random_box(ChoiceSource& r, const Place& place, Voxels& member) {
  const std::int64_t per_mille = r.pick<std::int64_t>({500, 200, 50, 10, 900, 1});
  box_across(r, place, 24, [&](Triple c, Triple) {
    if (r.between(0, 999) >= 1000 - per_mille) add(member, place, c);
  });
}

void scattered(ChoiceSource& r, const Place& place, Voxels& member) {
  const std::int64_t count = r.between(2, 9);
  for (std::int64_t i = 0; i < count; ++i) add(member, place, anchor(r, place));
}

void tiles(ChoiceSource& r, const Place& place, Voxels& member) {
  std::int64_t count = r.pick<std::int64_t>({31, 32, 33});
  if (r.one_in(24)) count = r.pick<std::int64_t>({300, 1000});
  const bool in_a_row = r.one_in(2);
  const std::size_t axis = static_cast<std::size_t>(r.between(0, 2));
  for (std::int64_t i = 0; i < count; ++i) {
    Triple c{2048, 127, 7};
    if (count < 100)  // a node costs 300 kB: many of them have no neighbours
      c = {r.pick<std::int64_t>({0, 2048, 4095}), r.pick<std::int64_t>({0, 127, 4095}),
           r.pick<std::int64_t>({0, 7, 4095})};
    if (in_a_row)
      c[axis] += (i - count / 2) * 4096;
    else
      for (auto& x : c) x += r.between(-400'000, 400'000) * 4096 / (place.ends ? 1 : 64);
    add(member, place, c);
  }
}

void line(ChoiceSource& r, const Place& place, Voxels& member) {
  Triple at = anchor(r, place);
  const std::size_t axis = static_cast<std::size_t>(r.between(0, 2));
  const std::int64_t length = r.pick<std::int64_t>({9, 17, 129, 260});
  at[axis] -= r.between(0, length);
  for (std::int64_t i = 0; i < length; ++i) {
    add(member, place, at);
    ++at[axis];
  }
}

void powers(ChoiceSource& r, const Place& place, Voxels& member) {
  const std::int64_t count = r.between(1, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    Triple c{};
    for (auto& x : c) {
      const std::int64_t power = std::int64_t{1} << r.pick<std::int64_t>({17, 20, 24, 30, 31});
      x = r.one_in(2) ? power : -power;
      x += r.between(-2, 1);
      if (r.one_in(3)) x = r.between(-9, 9);
    }
    add(member, place, c);
  }
}

void aliases(ChoiceSource& r, const Place& place, Voxels& member) {
  const Triple at = anchor(r, place);
  add(member, place, at);
  const std::int64_t count = r.between(1, 5);
  for (std::int64_t i = 0; i < count; ++i) {
    Triple other = at;
    const std::int64_t which = r.between(1, 7);  // the axes on which it differs
    const std::int64_t bits = r.pick<std::int64_t>({8, 10, 11, 16, 20, 21, 22, 24, 26});
    for (std::size_t a = 0; a < 3; ++a)
      if (which >> a & 1) other[a] += (r.one_in(2) ? 1 : -1) * (std::int64_t{1} << bits);
    if (r.one_in(3)) {  // one key of those that are sums of powers of a number
      const std::int64_t base =
          r.pick<std::int64_t>({31, 37, 101, 1000, 8191, 65'599, 1'000'003, 16'777'619});
      const auto axis = static_cast<std::size_t>(r.between(0, 1));
      other = at;
      ++other[axis];
      other[axis + 1] -= base;
    }
    add(member, place, other);
    if (r.one_in(2)) ++other[static_cast<std::size_t>(r.between(0, 2))];
    add(member, place, other);
  }
}

/// A block that lies across one or more ends of the lattice as if sums in 32 bits joined them: its
/// voxels are beside each other to who lets coordinates wrap, and to no one else.
void across_the_ends(ChoiceSource& r, const Place& place, Triple at, std::int64_t which,
                     Voxels& member) {
  Triple size{};
  for (std::size_t a = 0; a < 3; ++a) {
    size[a] = r.between(1, 4);
    if (which >> a & 1) {
      ++size[a];
      at[a] = kMax + 1 - r.between(1, size[a] - 1);
    }
  }
  for (std::int64_t x = 0; x < size[0]; ++x)
    for (std::int64_t y = 0; y < size[1]; ++y)
      for (std::int64_t z = 0; z < size[2]; ++z) {
        Triple c{at[0] + x, at[1] + y, at[2] + z};
        for (std::size_t a = 0; a < 3; ++a)
          if (which >> a & 1) c[a] = wrapped(c[a]);
        add(member, place, c);
      }
}

void ends(ChoiceSource& r, const Place& place, Voxels& member) {
  Triple at = anchor(r, place);
  const std::int64_t which = r.between(1, 7);  // the axes on which it lies at an end
  if (r.one_in(2)) return across_the_ends(r, place, at, which, member);
  for (std::size_t a = 0; a < 3; ++a)
    if (which >> a & 1) at[a] = r.one_in(2) ? kMax - r.between(0, 9) : kMin + r.between(0, 9);
  const std::int64_t width = r.between(1, 3);
  for (std::int64_t x = 0; x < width; ++x)
    for (std::int64_t y = 0; y < width; ++y)
      for (std::int64_t z = 0; z < width; ++z)
        add(member, place, {at[0] + x, at[1] + y, at[2] + z});
}

void lattice(ChoiceSource& r, const Place& place, Voxels& member) {
  const Triple at = anchor(r, place);
  const bool lowers = r.one_in(4);  // a lower node costs 34 kB: fewer of them
  const std::int64_t spacing = lowers ? 128 : 8;
  const std::int64_t most = lowers ? 40 : 600;
  const std::int64_t inside = r.between(0, spacing - 1);
  Triple count{};
  for (auto& n : count) n = r.between(1, lowers ? 6 : 11);
  count[static_cast<std::size_t>(r.between(0, 2))] += r.pick<std::int64_t>({0, 0, 3, 30});
  Triple origin{};
  for (std::size_t a = 0; a < 3; ++a) origin[a] = floor_div(at[a], spacing) * spacing + inside;
  std::int64_t made = 0;
  for (std::int64_t x = 0; x < count[0]; ++x)
    for (std::int64_t y = 0; y < count[1]; ++y)
      for (std::int64_t z = 0; z < count[2] && made < most; ++z, ++made)
        add(member, place,
            {origin[0] + spacing * x, origin[1] + spacing * y, origin[2] + spacing * z});
}

void extremes(ChoiceSource& r, const Place& place, Voxels& member) {
  const std::int64_t count = r.between(1, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    Triple c{};
    const bool same = r.one_in(2);  // on all axes
    for (std::size_t a = 0; a < 3; ++a)
      c[a] = a > 0 && same ? c[0] : r.pick<std::int64_t>({kMax, kMin, -1, 0, kMin + 1, kMax - 1});
    add(member, place, c);
  }
}

}  // namespace

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{
      {"single", "a neighbour across a face, edge or corner of a node is missing", false, single},
      {"pair", "two source leaves feed one target leaf and the last one wins", false, pair},
      {"corners", "the eight corners of a leaf, lower or upper node, where 18 directions do not do",
       false, corners},
      {"comb", "division toward zero; node boundaries of every level on both sides of zero", false,
       comb},
      {"leaf", "prefix sums one word late, mOffset, the order of bits in a mask", false, leaf},
      {"block", "degrees and boxes of solid boxes across a boundary; phantom nodes", false, block},
      {"parity", "shifts that mix rows: alternating bits in every word", false, parity},
      {"shell", "what people have: surfaces", false, shell},
      {"rings", "what people have: the rings of a LiDAR, with shadows", false, rings},
      {"random", "anything else, at densities of 0.001 to 0.9", false, random_box},
      {"scattered", "node bases and counts: few voxels, a node of each level for every one", false,
       scattered},
      {"tiles", "root tiles sorted unsigned; tables of 31, 32, 33 and many tiles", false, tiles},
      {"line", "one axis crosses many nodes: components permuted or dropped", false, line},
      {"aliases", "keys too narrow: coordinates equal in their low 8 to 26 bits", false, aliases},
      {"ends", "a result or a neighbour beyond 32 bits wraps", true, ends},
      {"powers", "keys too narrow: coordinates around powers of two up to the ends of the lattice",
       true, powers},
      {"lattice", "many nodes of one level in one parent; many source leaves for a target leaf",
       false, lattice},
      {"extremes", "a real voxel taken for an empty slot: all bits, or none, or the first", true,
       extremes},
      {"mixture", "nodes of one family between those of another", false,
       [](ChoiceSource& r, const Place& place, Voxels& member) {
         Place half = place;
         half.budget = std::max<std::int64_t>(1, place.budget / 2);
         const auto first = static_cast<std::size_t>(r.between(0, 9));
         const auto second = static_cast<std::size_t>(r.between(0, 9));
         shapes()[first].make(r, half, member);
         half.budget = place.budget;
         shapes()[second].make(r, half, member);
       }},
  };
  return all;
}

const Shape* find_shape(std::string_view name) {
  for (const Shape& shape : shapes())
    if (shape.name == name) return &shape;
  return nullptr;
}

std::vector<Voxel> make_member(ChoiceSource& random, const Shape& shape, const Place& place) {
  Voxels member;
  shape.make(random, place, member);
  // A shape that fell wholly outside the lattice, or drew no voxel, becomes a single voxel.
  while (member.empty()) single(random, place, member);
  reference::make_canonical(member);
  return member;
}

std::vector<Voxel> make_erodible(ChoiceSource& random, const Place& place, Triple lo, Triple hi) {
  Triple at = anchor(random, place);
  Triple size{};
  // One in eight lies across ends of the lattice, as if sums in 32 bits joined them.
  const std::int64_t across = place.ends && random.one_in(8) ? random.between(1, 7) : 0;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t more = random.one_in(2) ? random.between(0, 2) : 0;
    const std::int64_t below = random.between(0, more);  // what is left lies across the anchor
    size[a] = hi[a] - lo[a] + 1 + more;
    at[a] = std::clamp(at[a] + lo[a] - below, kMin, kMax - size[a] + 1);
    if (across >> a & 1) at[a] = kMax + 1 - random.between(0, size[a]);
  }
  Voxels member;
  const std::int64_t volume = size[0] * size[1] * size[2];
  const std::int64_t hole = random.one_in(2) ? random.between(0, volume - 1) : -1;
  Place whole = place;
  whole.budget = std::max(place.budget, volume);
  for (std::int64_t i = 0; i < volume; ++i) {
    Triple c{at[0] + i / (size[1] * size[2]), at[1] + i / size[2] % size[1], at[2] + i % size[2]};
    for (auto& x : c) x = wrapped(x);
    if (i != hole) add(member, whole, c);
  }
  reference::make_canonical(member);
  return member;
}

}  // namespace leafproof::oracle
