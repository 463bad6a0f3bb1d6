// The table of classes. A class looks at the case itself, never at how it was drawn, but for the
// families, which are named in the comment.
#include "oracle/ledger.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "oracle/shapes.h"
#include "reference/canonical_order.h"
#include "reference/conv_relation.h"
#include "reference/error.h"
#include "reference/map.h"

namespace leafproof::oracle {
namespace {

constexpr std::int64_t kMet = 12;  // of a promised class, by the odds

// --- what a case is
// --------------------------------------------------------------------------------

bool any_of(Op op, std::initializer_list<Op> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}
bool lists(Op op) {
  return any_of(op, {Op::FromIjk, Op::FromPoints});
}
bool sums(Op op) {
  return any_of(op, {Op::Convolution, Op::ConvolutionGradients});
}
bool maps(Op op) {
  return sums(op) || op == Op::KernelMap;
}
std::size_t size_of(const Case& c, std::size_t m) {
  return c.op == Op::FromPoints ? c.points[m].size() : c.source.members[m].size();
}
std::size_t members(const Case& c) {
  return c.op == Op::FromPoints ? c.points.size() : c.source.size();
}

template <class Test>
bool any_voxel(const Case& c, Test test) {
  for (const auto& member : c.source.members)
    if (std::any_of(member.begin(), member.end(), test)) return true;
  return false;
}

std::int64_t farthest(const Voxel& v) {
  return std::max(
      {std::abs(std::int64_t{v.x}), std::abs(std::int64_t{v.y}), std::abs(std::int64_t{v.z})});
}
/// A coordinate within 4096 of +-2^power.
template <int power>
bool near_power(const Case& c) {
  return any_voxel(c, [](const Voxel& v) {
    for (const std::int64_t x : {v.x, v.y, v.z})
      if (std::abs(std::abs(x) - (std::int64_t{1} << power)) <= 4096) return true;
    return false;
  });
}

/// Two voxels of one member that touch each other across boundaries of nodes of so many voxels, on
/// all the axes on which they differ.
template <int axes>
bool touching(const Case& c) {
  for (const auto& member : c.source.members)
    for (std::size_t i = 0; i < std::min<std::size_t>(member.size(), 64); ++i)
      for (std::size_t j = i + 1; j < std::min<std::size_t>(member.size(), 64); ++j) {
        int across = 0;
        bool apart = false;
        for (const auto& [a, b] : {std::pair{member[i].x, member[j].x},
                                   {member[i].y, member[j].y},
                                   {member[i].z, member[j].z}}) {
          apart = apart || std::abs(std::int64_t{a} - b) > 1;
          across += a != b && (a >> 3) != (b >> 3);
        }
        if (!apart && across == axes) return true;
      }
  return false;
}

/// Two voxels of one member at opposite ends of the lattice that sums in 32 bits take for
/// neighbours.
bool across_the_ends(const Case& c) {
  constexpr std::int64_t kNear = 4;
  const auto at_end = [](std::int32_t x) { return x < INT32_MIN + kNear || x > INT32_MAX - kNear; };
  for (const auto& member : c.source.members) {
    std::vector<Voxel> some;
    for (const Voxel& v : member)
      if (some.size() < 200 && (at_end(v.x) || at_end(v.y) || at_end(v.z))) some.push_back(v);
    for (const Voxel& u : some)
      for (const Voxel& v : some) {
        bool near = true, across = false;
        for (const auto& [x, y] : {std::pair{u.x, v.x}, {u.y, v.y}, {u.z, v.z}}) {
          const std::int64_t apart = std::int64_t{x} - y;
          near = near && std::abs(std::int64_t{static_cast<std::int32_t>(apart)}) <= kNear;
          across = across || apart > kNear;
        }
        if (near && across) return true;
      }
  }
  return false;
}

/// Root tiles of the member that has the most.
std::size_t most_tiles(const Case& c) {
  std::size_t most = 0;
  for (const auto& member : c.source.members) {
    std::size_t tiles = member.empty() ? 0 : 1;  // in canonical order equal tiles are neighbours
    for (std::size_t i = 1; i < member.size(); ++i)
      tiles += reference::root_tile(member[i - 1]) != reference::root_tile(member[i]);
    most = std::max(most, tiles);
  }
  return most;
}

/// A leaf of a member of which just these of its eight words hold a voxel.
bool leaf_with_words(const Case& c, unsigned words, std::size_t voxels) {
  for (const auto& member : c.source.members) {
    unsigned seen = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < member.size(); ++i) {
      const Voxel v = member[i];
      seen |= 1u << (v.x & 7);
      ++count;
      const Voxel w = i + 1 < member.size() ? member[i + 1] : Voxel{v.x ^ 8, v.y, v.z};
      if ((v.x >> 3) == (w.x >> 3) && (v.y >> 3) == (w.y >> 3) && (v.z >> 3) == (w.z >> 3))
        continue;
      if (seen == words && count >= voxels) return true;
      seen = 0;
      count = 0;
    }
  }
  return false;
}

bool mixed(const Triple& t) {
  return t[0] != t[1] || t[1] != t[2];
}
bool power_of_two(std::int64_t n) {
  return n > 1 && (n & (n - 1)) == 0;
}
template <class Test>
bool any_axis(const Triple& t, Test test) {
  return std::any_of(t.begin(), t.end(), test);
}
/// A source's voxel and a target's that a tap joins [K-1], further apart than the next leaf.
bool far_partner(const Case& c) {
  const bool submanifold = c.op == Op::SubmanifoldIndexMap;
  if (!submanifold && !c.target) return false;
  for (const Triple* t : {&c.kernel.size, &c.kernel.stride, &c.kernel.dilation})
    if (any_axis(*t, [](std::int64_t n) { return n < 1 || n > 4096; })) return false;  // refused
  const bool finer = c.direction == Direction::Transposed;
  const std::size_t count = c.view ? c.view->size() : c.source.size();
  for (std::size_t p = 0; p < count; ++p) {
    const auto m = c.view ? static_cast<std::size_t>((*c.view)[p]) : p;
    if (m >= c.source.size() || (!submanifold && p >= c.target->size())) continue;
    const auto& source = c.source.members[m];
    const auto& target = submanifold ? source : c.target->members[p];
    for (std::size_t i = 0; i < std::min<std::size_t>(source.size(), 64); ++i)
      for (std::size_t j = 0; j < std::min<std::size_t>(target.size(), 64); ++j) {
        const Voxel fine = finer ? target[j] : source[i], coarse = finer ? source[i] : target[j];
        const Triple f = reference::triple(fine), s = reference::triple(coarse);
        const Triple first = reference::fine_of(c.kernel, s, {});  // of the first tap
        bool joined = true, far = false;
        for (std::size_t a = 0; a < 3 && joined; ++a) {
          const std::int64_t k = c.kernel.size[a], d = c.kernel.dilation[a];
          const std::int64_t reach = f[a] - first[a];
          joined = reach >= 0 && reach % d == 0 && reach / d < k;
          far = far || std::abs(f[a] - c.kernel.stride[a] * s[a]) >= 16;
        }
        if (joined && far) return true;
      }
  }
  return false;
}

/// A double, since a case may ask for any kernel.
double volume(const Triple& t) {
  double product = 1;
  for (const auto n : t) product *= static_cast<double>(n);
  return product;
}
bool is_box(const Case& c, std::int64_t lo, std::int64_t hi) {
  return c.lo == Triple{lo, lo, lo} && c.hi == Triple{hi, hi, hi};
}

std::size_t flags_on(const std::vector<std::uint8_t>& mask) {
  return static_cast<std::size_t>(std::count(mask.begin(), mask.end(), 1));
}
template <class Test>
bool any_mask(const Case& c, Test test) {
  return c.mask && std::any_of(c.mask->begin(), c.mask->end(),
                               [&](const auto& mask) { return mask.size() > 1 && test(mask); });
}

/// What the second batch, or the target, has in common with the members that are read.
enum class Common { Equal, SameSize, Part, Nothing, MoreRows, BesideNothing };
bool has_common(const Case& c, const std::optional<Batch>& other, Common wanted) {
  if (!other) return false;
  for (std::size_t p = 0; p < std::min(other->size(), c.view ? c.view->size() : c.source.size());
       ++p) {
    const std::int64_t m = c.view ? (*c.view)[p] : static_cast<std::int64_t>(p);
    if (m < 0 || m >= static_cast<std::int64_t>(c.source.size())) continue;
    const auto& one = c.source.members[static_cast<std::size_t>(m)];
    const auto& two = other->members[p];
    if (wanted == Common::BesideNothing && one.empty() && !two.empty()) return true;
    if (one.empty() || two.empty()) continue;
    if (wanted == Common::MoreRows && two.size() > one.size()) return true;
    std::vector<Voxel> both;
    std::set_intersection(one.begin(), one.end(), two.begin(), two.end(), std::back_inserter(both),
                          reference::canonical_less);
    const bool equal = both.size() == one.size() && both.size() == two.size();
    if (wanted == Common::Equal && equal) return true;
    if (wanted == Common::SameSize && !equal && one.size() == two.size()) return true;
    if (wanted == Common::Part && !equal &&
        (both.size() == one.size() || both.size() == two.size()))
      return true;
    if (wanted == Common::Nothing && both.empty()) return true;
  }
  return false;
}

bool is_view(const Case& c, bool (*test)(const std::vector<std::int64_t>& view, std::size_t size)) {
  return c.view && test(*c.view, c.source.size());
}

template <class Test>
bool any_number(const Case& c, Test test) {
  const auto& x = c.operands.features.values;
  return std::any_of(x.begin(), x.end(), test);
}

template <class Test>
bool any_point(const Case& c, Test test) {
  for (std::size_t m = 0; m < std::min(c.points.size(), c.source.size()); ++m)
    for (const Point& p : c.points[m])
      for (std::size_t a = 0; a < 3; ++a) {
        const Map& map = c.source.maps[m];
        if (test((p[a] - map.origin[a]) / map.voxel_size[a])) return true;
      }
  return false;
}

bool refused(const Case& c) {
  return c.comment.starts_with("refused:");
}
template <class Check>
bool refuses(Check check) {
  try {
    check();
    return false;
  } catch (const reference::Error&) {
    return true;
  }
}
/// Whether a member's map, or its name, is one that [G-7] refuses.
bool refused_map(const Batch& batch, std::size_t m) {
  return refuses([&] { reference::check_map("ledger", batch.maps[m], 0); });
}
bool refused_name(const Batch& batch, std::size_t m) {
  return refuses([&] { reference::check_name("ledger", batch.names[m], 0); });
}
template <auto refused_of>
bool any_source(const Case& c) {
  for (std::size_t m = 0; m < c.source.size(); ++m)
    if (refused_of(c.source, m)) return true;
  return false;
}

// --- who promises it
// -------------------------------------------------------------------------------

using OneIn = std::int64_t (*)(Op);

template <std::int64_t n>
std::int64_t all(Op) {
  return n;
}
template <std::int64_t n>
std::int64_t batches(Op op) {  // those that read members in canonical order
  return lists(op) ? 0 : n;
}
template <std::int64_t n>
std::int64_t not_points(Op op) {
  return op == Op::FromPoints ? 0 : n;
}
template <std::int64_t n, Op... ops>
std::int64_t of(Op op) {
  return any_of(op, {ops...}) ? n : 0;
}
template <std::int64_t n>
std::int64_t kernels(Op op) {
  return convolves(op) ? n : 0;
}
template <std::int64_t n>
std::int64_t strided(Op op) {
  return convolves(op) && op != Op::SubmanifoldIndexMap ? n : 0;
}
template <std::int64_t n>
std::int64_t grids(Op op) {
  return !convolves(op) || any_of(op, {Op::ConvGrid, Op::ConvTransposeGrid}) ? n : 0;
}
template <std::int64_t n>
std::int64_t kernel_maps(Op op) {
  return maps(op) ? n : 0;
}
template <std::int64_t n>
std::int64_t numbers(Op op) {
  return sums(op) ? n : 0;
}

template <std::size_t family>
bool is_family(const Case& c) {
  const auto& name = shapes()[family].name;
  return c.comment.size() > name.size() && c.comment.starts_with(name) &&
         c.comment[name.size()] == ':';
}

template <std::size_t... family>
void add_families(std::vector<CaseClass>& table, std::index_sequence<family...>) {
  static const std::vector<std::string> names{"family " + std::string(shapes()[family].name)...};
  (table.push_back({names[family], shapes()[family].reason, all<20>, is_family<family>}), ...);
}

std::vector<CaseClass> make_table() {
  using V = const std::vector<std::int64_t>&;
  std::vector<CaseClass> table{
      // Batches.
      {"no member", "empty launches", all<48>, [](const Case& c) { return members(c) == 0; }},
      {"many members", "searches over offsets", all<16>,
       [](const Case& c) { return members(c) > 4; }},
      {"empty first", "an empty member shifts what follows", all<6>,
       [](const Case& c) { return members(c) > 1 && size_of(c, 0) == 0 && size_of(c, 1) > 0; }},
      {"empty between", "the search over equal offsets", all<8>,
       [](const Case& c) {
         for (std::size_t m = 1; m + 1 < members(c); ++m)
           if (size_of(c, m) == 0 && size_of(c, m - 1) > 0 && size_of(c, m + 1) > 0) return true;
         return false;
       }},
      {"empty last", "a trailing empty member is dropped", all<6>,
       [](const Case& c) {
         const std::size_t n = members(c);
         return n > 1 && size_of(c, n - 1) == 0 && size_of(c, n - 2) > 0;
       }},
      {"all empty", "zero items on every level", all<16>,
       [](const Case& c) {
         for (std::size_t m = 0; m < members(c); ++m)
           if (size_of(c, m) > 0) return false;
         return members(c) > 0;
       }},
      {"twin members", "neighbours found across members", batches<24>,
       [](const Case& c) {
         for (std::size_t m = 1; m < c.source.size(); ++m)
           if (!c.source.members[m].empty() && !c.source.members[m - 1].empty() &&
               c.source.members[m].front() == c.source.members[m - 1].front())
             return true;
         return false;
       }},
      {"distinct maps", "a header of the first member everywhere", all<3>,
       [](const Case& c) {
         for (std::size_t m = 1; m < c.source.size(); ++m)
           if (!(c.source.maps[m] == c.source.maps[0])) return true;
         return false;
       }},
      {"longest name", "a name cut short, or its tail not cleared", all<6>,
       [](const Case& c) {
         return std::any_of(c.source.names.begin(), c.source.names.end(),
                            [](const std::string& n) { return n.size() == 255; });
       }},
      // Trees.
      {"across a face", "a target leaf across a face is missing", batches<6>, touching<1>},
      {"across an edge", "18 directions instead of 6", batches<16>, touching<2>},
      {"across a corner", "26 directions instead of 18", batches<72>, touching<3>},
      {"full leaf", "a prefix sum that overflows its field", batches<100>,
       [](const Case& c) { return leaf_with_words(c, 0xff, 512); }},
      {"only word 0", "prefix sums one word late", batches<3>,
       [](const Case& c) { return leaf_with_words(c, 1, 1); }},
      {"only word 7", "the word without a prefix sum", batches<4>,
       [](const Case& c) { return leaf_with_words(c, 0x80, 1); }},
      {"31 root tiles or more", "tables of a power of two", batches<80>,
       [](const Case& c) { return most_tiles(c) >= 31; }},
      {"near 2^17", "keys of 18 bits", not_points<10>, near_power<17>},
      {"near 2^20", "keys of 21 bits", not_points<10>, near_power<20>},
      {"near 2^24", "floats for coordinates", not_points<10>, near_power<24>},
      {"near 2^30", "sums of two coordinates wrap", not_points<64>, near_power<30>},
      {"near 2^31", "a result beyond 32 bits wraps", not_points<16>, near_power<31>},
      {"neighbours across 2^31", "a neighbour beyond 32 bits is found at the other end",
       of<24, Op::ErodeBox, Op::SubmanifoldIndexMap, Op::KernelMap, Op::Convolution,
          Op::ConvolutionGradients>,
       across_the_ends},
      {"both sides of 0", "tiles sorted unsigned", not_points<4>,
       [](const Case& c) {
         return any_voxel(c, [](const Voxel& v) { return v.x < 0; }) &&
                any_voxel(c, [](const Voxel& v) { return v.x >= 0; });
       }},
      {"beyond 2^21 apart", "three times 21 bits in a key", not_points<6>,
       [](const Case& c) {
         return any_voxel(c, [](const Voxel& v) { return farthest(v) > 1 << 21; });
       }},
      // Lists.
      {"unsorted", "input assumed sorted", of<3, Op::FromIjk>,
       [](const Case& c) {
         return std::any_of(c.source.members.begin(), c.source.members.end(), [](const auto& list) {
           return !std::is_sorted(list.begin(), list.end(), reference::canonical_less);
         });
       }},
      {"repeats", "repeated input coordinates survive", of<3, Op::FromIjk>,
       [](const Case& c) {
         for (auto list : c.source.members) {
           const std::size_t size = list.size();
           reference::make_canonical(list);
           if (list.size() < size) return true;
         }
         return false;
       }},
      {"exact halves", "rounding to even, or downward", of<3, Op::FromPoints>,
       [](const Case& c) {
         return any_point(c, [](double x) { return x - std::floor(x) == 0.5; });
       }},
      {"just below a half", "x + 0.5 in double", of<4, Op::FromPoints>,
       [](const Case& c) {
         return any_point(c, [](double x) {
           const double rest = x - std::floor(x);
           return rest < 0.5 && rest > 0.499999;
         });
       }},
      // Parameters.
      {"factor 1", "a pass that does nothing", of<16, Op::Refine, Op::Coarsen>,
       [](const Case& c) { return any_axis(c.factor, [](std::int64_t f) { return f == 1; }); }},
      {"factor a power of two", "the shortcut by shifts", of<3, Op::Refine, Op::Coarsen>,
       [](const Case& c) { return any_axis(c.factor, power_of_two); }},
      {"factor no power of two", "the shortcut by shifts taken where it does not hold",
       of<3, Op::Refine, Op::Coarsen>,
       [](const Case& c) {
         return any_axis(c.factor, [](std::int64_t f) { return f > 2 && !power_of_two(f); });
       }},
      {"factor mixed per axis", "one component for all, or components exchanged",
       of<4, Op::Refine, Op::Coarsen>, [](const Case& c) { return mixed(c.factor); }},
      {"factor 64 or more", "a voxel's image in many leaves", of<16, Op::Refine, Op::Coarsen>,
       [](const Case& c) { return any_axis(c.factor, [](std::int64_t f) { return f >= 64; }); }},
      {"box of 26 neighbours", "what is built most", of<6, Op::DilateBox, Op::ErodeBox>,
       [](const Case& c) { return is_box(c, -1, 1); }},
      {"box of an octant", "one side only", of<16, Op::DilateBox>,
       [](const Case& c) { return is_box(c, -1, 0) || is_box(c, 0, 1); }},
      {"box without 0", "the box is a shift as well", of<6, Op::DilateBox>,
       [](const Case& c) {
         for (std::size_t a = 0; a < 3; ++a)
           if (c.lo[a] > 0 || c.hi[a] < 0) return true;
         return false;
       }},
      {"box mixed per axis", "one component for all", of<4, Op::DilateBox, Op::ErodeBox>,
       [](const Case& c) { return mixed(c.lo) || mixed(c.hi); }},
      {"box 64 wide or more", "more than the neighbouring leaves",
       of<16, Op::DilateBox, Op::ErodeBox>,
       [](const Case& c) {
         for (std::size_t a = 0; a < 3; ++a)
           if (static_cast<double>(c.hi[a]) - static_cast<double>(c.lo[a]) >= 63) return true;
         return false;
       }},
      // Masks, views, second batches.
      {"mask of none", "a pass empties a member", of<16, Op::Prune>,
       [](const Case& c) { return any_mask(c, [](const auto& m) { return flags_on(m) == 0; }); }},
      {"mask of all", "a mask that does nothing", of<16, Op::Prune>,
       [](const Case& c) {
         return any_mask(c, [](const auto& m) { return flags_on(m) == m.size(); });
       }},
      {"mask of some", "a mask read by another row", of<3, Op::Prune>,
       [](const Case& c) {
         return any_mask(c,
                         [](const auto& m) { return flags_on(m) > 0 && flags_on(m) < m.size(); });
       }},
      {"masked refinement", "a mask that is ignored", of<6, Op::Refine>,
       [](const Case& c) { return c.mask.has_value(); }},
      {"view reordered", "a view reads the physical order", batches<20>,
       [](const Case& c) {
         return is_view(
             c, [](V view, std::size_t) { return !std::is_sorted(view.begin(), view.end()); });
       }},
      {"view with repeats", "a repeated member has rows once", batches<20>,
       [](const Case& c) {
         return is_view(c, [](V view, std::size_t) {
           return std::set<std::int64_t>(view.begin(), view.end()).size() < view.size();
         });
       }},
      {"view of some", "offsets of members that are not read", batches<20>,
       [](const Case& c) {
         return is_view(c, [](V view, std::size_t n) { return view.size() < n; });
       }},
      {"other is equal", "intersection and difference at their ends",
       of<8, Op::Merge, Op::Intersect, Op::Subtract>,
       [](const Case& c) { return has_common(c, c.other, Common::Equal); }},
      {"other is a part", "a result that one operand has already",
       of<4, Op::Merge, Op::Intersect, Op::Subtract>,
       [](const Case& c) { return has_common(c, c.other, Common::Part); }},
      {"other is disjoint", "leaves of one operand alone",
       of<4, Op::Merge, Op::Intersect, Op::Subtract>,
       [](const Case& c) { return has_common(c, c.other, Common::Nothing); }},
      // Kernels.
      {"K even", "even kernels anchored at a corner", strided<4>,
       [](const Case& c) {
         return any_axis(c.kernel.size, [](std::int64_t k) { return k % 2 == 0; });
       }},
      {"K mixed per axis", "taps with axes exchanged", kernels<4>,
       [](const Case& c) { return mixed(c.kernel.size); }},
      {"K = 1 with a stride", "taken for the identity, or for coarsening", strided<16>,
       [](const Case& c) {
         for (std::size_t a = 0; a < 3; ++a)
           if (c.kernel.size[a] == 1 && c.kernel.stride[a] > 1) return true;
         return false;
       }},
      {"K < S", "voxels that no tap reaches", strided<4>,
       [](const Case& c) {
         for (std::size_t a = 0; a < 3; ++a)
           if (c.kernel.size[a] < c.kernel.stride[a]) return true;
         return false;
       }},
      {"K = S > 2", "a shortcut without phase", strided<8>,
       [](const Case& c) {
         for (std::size_t a = 0; a < 3; ++a)
           if (c.kernel.size[a] > 2 && c.kernel.size[a] == c.kernel.stride[a]) return true;
         return false;
       }},
      {"S mixed per axis", "only S[0] used", strided<4>,
       [](const Case& c) { return mixed(c.kernel.stride); }},
      {"D > 1", "a dilation that is ignored", kernels<4>,
       [](const Case& c) {
         return any_axis(c.kernel.dilation, [](std::int64_t d) { return d > 1; });
       }},
      {"partners 16 voxels apart", "only the next leaf is looked at",
       [](Op op) -> std::int64_t {
         return op == Op::SubmanifoldIndexMap ? 24 : maps(op) ? 100 : 0;
       },
       far_partner},
      {"more than 64 taps", "masks of taps in a word", kernels<6>,
       [](const Case& c) { return volume(c.kernel.size) > 64; }},
      {"transposed", "columns exchanged in one place", kernel_maps<3>,
       [](const Case& c) { return c.direction == Direction::Transposed; }},
      {"complete target", "the target that is generated", of<5, Op::KernelMap, Op::Convolution>,
       [](const Case& c) { return !c.target; }},
      {"target is the source", "the identity, and even kernels on it", kernel_maps<16>,
       [](const Case& c) { return has_common(c, c.target, Common::Equal); }},
      {"target as large as the source", "the identity taken by counts", kernel_maps<4>,
       [](const Case& c) { return has_common(c, c.target, Common::SameSize); }},
      {"target a part", "rows of a restricted target", kernel_maps<32>,
       [](const Case& c) { return has_common(c, c.target, Common::Part); }},
      {"target disjoint", "a map without a pair", kernel_maps<4>,
       [](const Case& c) { return has_common(c, c.target, Common::Nothing); }},
      {"target of more rows", "buffers as long as the source", kernel_maps<8>,
       [](const Case& c) { return has_common(c, c.target, Common::MoreRows); }},
      {"target beside nothing", "no source rows, so no target rows", kernel_maps<12>,
       [](const Case& c) { return has_common(c, c.target, Common::BesideNothing); }},
      {"gradients of a complete target", "the target that is generated, backwards",
       of<6, Op::ConvolutionGradients>, [](const Case& c) { return !c.target; }},
      {"dense", "the form of [M-4]", of<8, Op::KernelMap>, [](const Case& c) { return c.dense; }},
      // Numbers.
      {"float64", "sums in less", numbers<6>,
       [](const Case& c) { return c.operands.type == NumberType::Float64; }},
      {"float32", "sums in half precision", numbers<6>,
       [](const Case& c) { return c.operands.type == NumberType::Float32; }},
      {"float16", "the accumulator of [V-6]", numbers<6>,
       [](const Case& c) { return c.operands.type == NumberType::Float16; }},
      {"int32", "sums that wrap", numbers<6>,
       [](const Case& c) { return c.operands.type == NumberType::Int32; }},
      {"NaN or infinity", "an absent neighbour is multiplied", numbers<16>,
       [](const Case& c) { return any_number(c, [](double x) { return !std::isfinite(x); }); }},
      {"fractions", "a tolerance instead of the bound of [V-3]", numbers<5>,
       [](const Case& c) { return any_number(c, [](double x) { return x != std::trunc(x); }); }},
      {"Cin is not Cout", "weights transposed", numbers<3>,
       [](const Case& c) {
         const auto& shape = c.operands.weights.shape;
         return shape.size() > 1 && shape[0] != shape[1];
       }},
      {"Cin and Cout above 5", "tiles of a matrix product, and their tails", numbers<24>,
       [](const Case& c) {
         const auto& shape = c.operands.weights.shape;
         return shape.size() > 1 && shape[0] > 5 && shape[1] > 5;
       }},
      {"bias", "a bias per tap, or none at rows of degree 0", of<4, Op::Convolution>,
       [](const Case& c) { return c.operands.bias.has_value(); }},
      // Refusals.
      {"must be refused", "a refusal that is left out", all<9>, refused},
      {"a point that is NaN", "a range that NaN passes", of<36, Op::FromPoints>,
       [](const Case& c) {
         for (const auto& list : c.points)
           for (const Point& p : list)
             if (std::any_of(p.begin(), p.end(), [](double x) { return std::isnan(x); }))
               return true;
         return false;
       }},
      {"refused for its map", "a header of numbers that are none", grids<100>,
       any_source<refused_map>},
      {"refused for its name", "a name that does not fit its header", grids<100>,
       any_source<refused_name>},
  };
  add_families(table, std::make_index_sequence<19>());
  return table;
}

}  // namespace

const std::vector<CaseClass>& case_classes() {
  static const std::vector<CaseClass> table = make_table();
  return table;
}

Classes classes_of(const Case& c) {
  Classes classes;
  const auto& table = case_classes();
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].one_in(c.op) > 0) classes[i] = table[i].has(c);
  return classes;
}

Classes promised(Op op, std::int64_t cases) {
  Classes classes;
  const auto& table = case_classes();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::int64_t one_in = table[i].one_in(op);
    classes[i] = one_in > 0 && cases / one_in >= kMet;
  }
  return classes;
}

}  // namespace leafproof::oracle
