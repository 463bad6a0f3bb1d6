// Sets first, since an extra voxel is the cause and a changed count its consequence; then the tree
// from the root down; then the fields of `layout`; then maps and names.
#include "oracle/compare_member.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "oracle/window.h"
#include "reference/canonical_order.h"

namespace leafproof::oracle {
namespace {

using reference::Box;
using reference::canonical_less;
using reference::Grid;
using reference::Leaf;
using reference::Node;
using reference::RootTile;
using Mask = std::array<std::uint64_t, 8>;

std::string hex(std::uint64_t value) {
  return fmt::format("0x{:016x}", value);
}
std::string number(std::uint64_t value) {
  return fmt::format("{}", value);
}

std::string box_text(const Box& box) {
  return to_text(box.min) + " ... " + to_text(box.max);
}
std::string box_text(const std::optional<Box>& box) {
  return box ? box_text(*box) : "empty";
}

std::string prefix_counts(std::uint64_t packed) {
  std::string text;
  for (int n = 0; n < 7; ++n)
    text += fmt::format("{}{}", n == 0 ? "" : " ", packed >> (9 * n) & 511);
  return text;
}
std::string prefix_text(std::uint64_t packed) {
  return hex(packed) + " = " + prefix_counts(packed);
}

std::int64_t popcount(const Mask& mask) {
  std::int64_t count = 0;
  for (const std::uint64_t word : mask) count += std::popcount(word);
  return count;
}

/// The first bit that is on, or -1.
std::int64_t first_on(std::span<const std::uint64_t> mask) {
  for (std::size_t w = 0; w < mask.size(); ++w)
    if (mask[w] != 0) return static_cast<std::int64_t>(64 * w) + std::countr_zero(mask[w]);
  return -1;
}

/// A level of the tree for what is the same at each: its name and the places of its nodes.
struct Level {
  int height;  // 0 leaf, 1 lower, 2 upper, 3 root tile
  const char* name;
};

Voxel place_of(const Leaf& leaf) {
  return leaf.origin;
}
Voxel place_of(const Node& node) {
  return node.origin;
}
Voxel place_of(const RootTile& tile) {
  const auto axis = [](std::int32_t t) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(t) << 12);
  };
  return {axis(tile.tile.x), axis(tile.tile.y), axis(tile.tile.z)};
}

/// Which nodes of two lists stand for the same place.
struct Alignment {
  bool same = true;                                            // the same places in the same order
  std::size_t size = 0;                                        // when same
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;  // else
  std::vector<std::uint64_t> only_expected, only_actual;       // else; repeats are only_actual

  template <class Visit>
  void for_each(Visit visit) const {
    if (same)
      for (std::size_t i = 0; i < size; ++i) visit(i, i);
    else
      for (const auto& [e, a] : pairs) visit(e, a);
  }
};

/// Indices in canonical order of place.
template <class T>
std::vector<std::uint64_t> canonical_indices(const std::vector<T>& nodes) {
  std::vector<std::uint64_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto less = [&](std::uint64_t i, std::uint64_t j) {
    const Voxel a = place_of(nodes[i]), b = place_of(nodes[j]);
    return a == b ? i < j : canonical_less(a, b);
  };
  if (!std::is_sorted(order.begin(), order.end(), less))
    std::sort(order.begin(), order.end(), less);
  return order;
}

template <class T>
Alignment align(const std::vector<T>& expected, const std::vector<T>& actual) {
  Alignment out;
  out.size = expected.size();
  out.same = std::equal(expected.begin(), expected.end(), actual.begin(), actual.end(),
                        [](const T& e, const T& a) { return place_of(e) == place_of(a); });
  if (out.same) return out;
  const auto left = canonical_indices(expected), right = canonical_indices(actual);
  std::size_t i = 0, j = 0;
  while (i < left.size() || j < right.size()) {
    if (j == right.size() || (i < left.size() && canonical_less(place_of(expected[left[i]]),
                                                                place_of(actual[right[j]]))))
      out.only_expected.push_back(left[i++]);
    else if (i == left.size() ||
             canonical_less(place_of(actual[right[j]]), place_of(expected[left[i]])))
      out.only_actual.push_back(right[j++]);
    else
      out.pairs.emplace_back(left[i++], right[j++]);
  }
  std::sort(out.pairs.begin(), out.pairs.end());  // reading order is the expected side's
  return out;
}

class MemberJudge {
 public:
  MemberJudge(const Grid& expected, const Grid& actual, std::int64_t member, Profile profile,
              bool judge_maps, std::span<const Finding> findings, Verdict& verdict)
      : e_(expected),
        a_(actual),
        member_(member),
        profile_(profile),
        judge_maps_(judge_maps || profile == Profile::Bytes),
        findings_(findings),
        verdict_(verdict) {}

  void judge() {
    judge_findings(Concern::Tree);
    judge_sets();
    if (profile_ >= Profile::Topology) judge_topology();
    if (profile_ >= Profile::Layout) judge_layout();
    if (judge_maps_) judge_maps();
    if (profile_ == Profile::Bytes && e_.name != a_.name)
      note([&] {
        return Difference{.clause = "G-7",
                          .what = "name",
                          .expected = quoted(e_.name),
                          .actual = quoted(a_.name)};
      });
  }

 private:
  /// Counts differences, and keeps the first of all.
  template <class Make>
  void note(Make make, std::int64_t count = 1) {
    verdict_.differences += count;
    if (verdict_.first || count == 0) return;
    verdict_.first = make();
    verdict_.first->member = member_;
  }

  static std::string quoted(const std::string& name) { return fmt::format("\"{}\"", name); }

  // Their number is added once for the whole buffer; here only the first is put in its place.
  void judge_findings(Concern concern) {
    for (const Finding& f : findings_) {
      if (f.concern != concern || verdict_.first) continue;
      verdict_.first =
          Difference{f.clause, f.what, member_, f.coordinate, f.path, f.expected, f.actual, {}};
    }
  }

  // ---- sets ----------------------------------------------------------------------------------

  void judge_sets() {
    sets_equal_ = std::equal(
        e_.leaves.begin(), e_.leaves.end(), a_.leaves.begin(), a_.leaves.end(),
        [](const Leaf& e, const Leaf& a) { return e.origin == a.origin && e.mask == a.mask; });
    if (sets_equal_) return;

    const auto left = canonical_indices(e_.leaves), right = canonical_indices(a_.leaves);
    std::int64_t missing = 0, extra = 0, repeated = 0;
    std::optional<Voxel> first;
    const char* kind = "";
    std::uint64_t holder = 0;  // a leaf of the side that holds the first difference
    Mask first_expected{}, first_actual{};
    for (std::size_t i = 0, j = 0; i < left.size() || j < right.size();) {
      const bool take_left =
          i < left.size() && (j == right.size() || !before(a_, right[j], e_, left[i]));
      const bool take_right =
          j < right.size() && (i == left.size() || !before(e_, left[i], a_, right[j]));
      const Voxel place = take_left ? e_.leaves[left[i]].origin : a_.leaves[right[j]].origin;
      const std::uint64_t expected_leaf = take_left ? left[i] : 0;
      const std::uint64_t actual_leaf = take_right ? right[j] : 0;
      Mask expected{}, actual{}, twice{}, unused{};
      while (i < left.size() && e_.leaves[left[i]].origin == place)
        gather(e_.leaves[left[i++]].mask, expected, unused);
      while (j < right.size() && a_.leaves[right[j]].origin == place)
        gather(a_.leaves[right[j++]].mask, actual, twice);
      Mask gone{}, more{}, wrong{};
      for (std::size_t w = 0; w < 8; ++w) {
        gone[w] = expected[w] & ~actual[w];
        more[w] = actual[w] & ~expected[w];
        wrong[w] = gone[w] | more[w] | twice[w];
      }
      missing += popcount(gone);
      extra += popcount(more);
      repeated += popcount(twice);
      if (const std::int64_t n = first_on(wrong); n >= 0 && !first) {
        const auto on = [n](const Mask& mask) {
          return (mask[static_cast<std::size_t>(n / 64)] >> (n % 64) & 1) != 0;
        };
        first = voxel_of(take_left ? e_.leaves[expected_leaf] : a_.leaves[actual_leaf],
                         static_cast<std::uint32_t>(n));
        kind = on(gone) ? "a missing voxel" : on(more) ? "an extra voxel" : "a repeated voxel";
        holder = on(gone) ? expected_leaf : actual_leaf;
        first_expected = expected;
        first_actual = actual;
      }
    }
    verdict_.missing += missing;
    verdict_.extra += extra;
    verdict_.repeated += repeated;
    sets_equal_ = !first;
    if (!first) return;
    note(
        [&] {
          const bool gone = kind[2] == 'm', twice = kind[2] == 'r';
          Difference d{.clause = twice ? "L-2" : "T", .what = kind, .coordinate = *first};
          d.path = node_path(gone ? e_ : a_, 0, holder);
          d.expected = gone || twice ? to_text(*first) : "no voxel there";
          d.actual = gone    ? "no voxel there"
                     : twice ? to_text(*first) + ", twice"
                             : to_text(*first);
          d.window = voxel_window(e_, left, a_, right, *first);
          const Window slice =
              mask_window(first_expected, first_actual, 3,
                          static_cast<std::uint32_t>(reference::leaf_offset(*first)));
          d.window.push_back("leaf at " +
                             to_text(Voxel{first->x & ~7, first->y & ~7, first->z & ~7}));
          d.window.insert(d.window.end(), slice.begin(), slice.end());
          return d;
        },
        missing + extra + repeated);
  }

  static bool before(const Grid& g, std::uint64_t i, const Grid& h, std::uint64_t j) {
    return canonical_less(g.leaves[i].origin, h.leaves[j].origin);
  }

  /// Adds a mask to those before it of the same place; `twice`: bits that were on already.
  static void gather(const Mask& mask, Mask& sum, Mask& twice) {
    for (std::size_t w = 0; w < 8; ++w) {
      twice[w] |= sum[w] & mask[w];
      sum[w] |= mask[w];
    }
  }

  // ---- topology ------------------------------------------------------------------------------

  void judge_topology() {
    tiles_ = align(e_.tiles, a_.tiles);
    uppers_ = align(e_.uppers, a_.uppers);
    lowers_ = align(e_.lowers, a_.lowers);
    leaves_ = align(e_.leaves, a_.leaves);
    judge_places({3, "root tile"}, e_.tiles, a_.tiles, tiles_);
    judge_places({2, "upper node"}, e_.uppers, a_.uppers, uppers_);
    judge_places({1, "lower node"}, e_.lowers, a_.lowers, lowers_);
    judge_places({0, "leaf"}, e_.leaves, a_.leaves, leaves_);

    tiles_.for_each([&](std::uint64_t i, std::uint64_t j) {
      const RootTile &e = e_.tiles[i], &a = a_.tiles[j];
      if (e.key == a.key) return;
      note([&] {
        return Difference{.clause = "G-3",
                          .what = "key of a root tile",
                          .coordinate = place_of(e),
                          .path = path(3, j),
                          .expected = hex(e.key),
                          .actual = hex(a.key),
                          .window = rows(3, e_.tiles, a_.tiles, i, j, [](const RootTile& t) {
                            return to_text(t.tile) + "  " + hex(t.key);
                          })};
      });
    });
    judge_child_masks({2, "upper node"}, 5, e_.uppers, a_.uppers, uppers_);
    judge_child_masks({1, "lower node"}, 4, e_.lowers, a_.lowers, lowers_);
    judge_leaf_field("G-4", "mOffset of a leaf", &Leaf::offset, number, number);
    judge_leaf_field("G-4", "mPrefixSum of a leaf", &Leaf::prefix_sum, prefix_text, prefix_counts);
  }

  template <class T>
  void judge_places(Level level, const std::vector<T>& expected, const std::vector<T>& actual,
                    const Alignment& alignment) {
    if (alignment.same) return;
    std::size_t at = 0;  // the first position that differs
    while (at < expected.size() && at < actual.size() &&
           place_of(expected[at]) == place_of(actual[at]))
      ++at;
    std::int64_t count =
        static_cast<std::int64_t>(alignment.only_expected.size() + alignment.only_actual.size());
    if (count == 0)  // the same nodes, in another order
      for (std::size_t i = 0; i < expected.size(); ++i)
        count += place_of(expected[i]) != place_of(actual[i]);
    note([&] { return place_difference(level, expected, actual, alignment, at); }, count);
  }

  template <class T>
  Difference place_difference(Level level, const std::vector<T>& expected,
                              const std::vector<T>& actual, const Alignment& alignment,
                              std::size_t at) {
    const auto holds = [](const std::vector<T>& nodes, const Voxel& place, std::size_t n) {
      return std::any_of(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(n),
                         [&](const T& node) { return place_of(node) == place; });
    };
    const auto contains = [](const std::vector<std::uint64_t>& list, std::size_t i) {
      return std::find(list.begin(), list.end(), i) != list.end();
    };
    Difference d;
    const std::string name = level.name;
    if (at < actual.size()) {
      d.coordinate = place_of(actual[at]);
      d.path = path(level.height, at);
    }
    if (at < actual.size() && contains(alignment.only_actual, at)) {
      if (holds(actual, place_of(actual[at]), at)) {
        d.clause = "G-2";
        d.what = "a " + name + " that occurs twice";
      } else if (!has_voxel(a_, level.height, at)) {
        d.clause = "G-4";
        d.what = "a " + name + " without an active voxel";
      } else {
        d.clause = "G-2";
        d.what = "an extra " + name;
      }
    } else if (at < expected.size() && contains(alignment.only_expected, at)) {
      d.clause = "G-2";
      d.what = "a missing " + name;
      d.coordinate = place_of(expected[at]);
      d.path.clear();
    } else {
      d.clause = level.height == 3 ? "G-3" : "G-2";
      d.what =
          fmt::format("order of {}s, first at position {}", level.height == 0 ? "leave" : name, at);
    }
    const auto text = [&](const std::vector<T>& nodes) {
      return at < nodes.size() ? fmt::format("{} at {}", name, to_text(place_of(nodes[at])))
                               : fmt::format("the end, after {}", nodes.size());
    };
    d.expected = text(expected);
    d.actual = text(actual);
    d.window = rows(level.height, expected, actual, at, at,
                    [](const T& t) { return to_text(place_of(t)); });
    return d;
  }

  /// Whether any leaf under a node has a bit on.
  static bool has_voxel(const Grid& grid, int height, std::uint64_t i) {
    if (height == 3) return i < grid.tiles.size() && has_voxel(grid, 2, grid.tiles[i].child);
    if (height == 0) return i < grid.leaves.size() && first_on(grid.leaves[i].mask) >= 0;
    const auto& nodes = height == 2 ? grid.uppers : grid.lowers;
    return i < nodes.size() && std::any_of(
                                   nodes[i].children.begin(), nodes[i].children.end(),
                                   [&](std::uint64_t c) { return has_voxel(grid, height - 1, c); });
  }

  void judge_child_masks(Level level, int log2, const std::vector<Node>& expected,
                         const std::vector<Node>& actual, const Alignment& alignment) {
    alignment.for_each([&](std::uint64_t i, std::uint64_t j) {
      const Node &e = expected[i], &a = actual[j];
      if (e.child_mask == a.child_mask) return;
      note([&] {
        std::vector<std::uint64_t> wrong(std::max(e.child_mask.size(), a.child_mask.size()));
        for (std::size_t w = 0; w < wrong.size(); ++w)
          wrong[w] = (w < e.child_mask.size() ? e.child_mask[w] : 0) ^
                     (w < a.child_mask.size() ? a.child_mask[w] : 0);
        const std::int64_t n = first_on(wrong);
        Difference d{
            .clause = "G-4",
            .what = fmt::format("child mask of {} {}", level.height == 2 ? "an" : "a", level.name),
            .coordinate = e.origin,
            .path = path(level.height, j)};
        if (n < 0) {  // words that are off, of another number
          d.expected = fmt::format("{} words", e.child_mask.size());
          d.actual = fmt::format("{} words", a.child_mask.size());
          return d;
        }
        const auto word = static_cast<std::size_t>(n / 64);
        const bool on = word < e.child_mask.size() && (e.child_mask[word] >> (n % 64) & 1) != 0;
        d.expected = fmt::format("slot {} {}", n, on ? "on" : "off");
        d.actual = fmt::format("slot {} {}", n, on ? "off" : "on");
        d.window = mask_window(e.child_mask, a.child_mask, log2, static_cast<std::uint32_t>(n));
        return d;
      });
    });
  }

  /// `text` of the field that differs; `brief` of the rows around it.
  template <class Text, class Brief>
  void judge_leaf_field(const char* clause, const char* what, std::uint64_t Leaf::* field,
                        Text text, Brief brief) {
    leaves_.for_each([&](std::uint64_t i, std::uint64_t j) {
      const Leaf &e = e_.leaves[i], &a = a_.leaves[j];
      if (e.*field == a.*field) return;
      note([&] {
        return Difference{.clause = clause,
                          .what = what,
                          .coordinate = e.origin,
                          .path = path(0, j),
                          .expected = text(e.*field),
                          .actual = text(a.*field),
                          .window = rows(0, e_.leaves, a_.leaves, i, j,
                                         [&](const Leaf& l) { return brief(l.*field); })};
      });
    });
  }

  // ---- layout --------------------------------------------------------------------------------

  void judge_layout() {
    judge_value("G-6", "mGridIndex", number(e_.index), number(a_.index));
    judge_value("G-6", "mGridCount", number(e_.count), number(a_.count));
    judge_value("G-6", "mFlags of the grid", fmt::format("0x{:x}", e_.flags),
                fmt::format("0x{:x}", a_.flags));
    judge_value("G-6", "mGridSize", number(e_.byte_size), number(a_.byte_size));
    judge_value("G-6", "mVoxelCount", number(e_.voxel_count), number(a_.voxel_count));
    if (e_.box != a_.box)
      note([&] {
        return Difference{.clause = "G-5",
                          .what = "box of the grid",
                          .expected = box_text(e_.box),
                          .actual = box_text(a_.box)};
      });
    if (!judge_maps_) judge_world_box();
    judge_findings(Concern::Layout);

    tiles_.for_each([&](std::uint64_t i, std::uint64_t j) {
      const RootTile &e = e_.tiles[i], &a = a_.tiles[j];
      if (e.child != a.child)
        note([&] {
          return Difference{.clause = "G-2",
                            .what = "child of a root tile",
                            .coordinate = place_of(e),
                            .path = path(3, j),
                            .expected = fmt::format("upper {}", e.child),
                            .actual = fmt::format("upper {}", a.child)};
        });
    });
    judge_node_fields({2, "upper node"}, "lower", 5, e_.uppers, a_.uppers, uppers_);
    judge_node_fields({1, "lower node"}, "leaf", 4, e_.lowers, a_.lowers, lowers_);
    leaves_.for_each([&](std::uint64_t i, std::uint64_t j) {
      const Leaf &e = e_.leaves[i], &a = a_.leaves[j];
      judge_box({0, "leaf"}, e.origin, e.box, a.box, j);
      judge_flags({0, "leaf"}, e.origin, e.flags, a.flags, j);
    });
  }

  void judge_value(const char* clause, const char* what, const std::string& expected,
                   const std::string& actual) {
    if (expected == actual) return;
    note([&] {
      return Difference{.clause = clause, .what = what, .expected = expected, .actual = actual};
    });
  }

  // [G-5] Where maps are not judged, a box of voxels through the member's own map will do, so that
  // a foreign map does not fail it; and so does the expected one beside a foreign map.
  void judge_world_box() {
    const auto& actual = a_.world_box;
    if (actual == e_.world_box) return;
    if (!judge_maps_) {
      for (const Finding& f : findings_)
        if (f.refusal) return;  // rotation, shear, taper, NaN: what its world box is, is not ours
      if (actual == reference::world_box(e_.box, a_.map)) return;
    }
    const auto text = [](const std::array<double, 6>& b) {
      return fmt::format("({:.17g},{:.17g},{:.17g}) ... ({:.17g},{:.17g},{:.17g})", b[0], b[1],
                         b[2], b[3], b[4], b[5]);
    };
    note([&] {
      return Difference{.clause = "G-5",
                        .what = "mWorldBBox",
                        .expected = text(e_.world_box),
                        .actual = text(actual)};
    });
  }

  void judge_node_fields(Level level, const char* below, int log2,
                         const std::vector<Node>& expected, const std::vector<Node>& actual,
                         const Alignment& alignment) {
    alignment.for_each([&](std::uint64_t i, std::uint64_t j) {
      const Node &e = expected[i], &a = actual[j];
      judge_box(level, e.origin, e.box, a.box, j);
      judge_flags(level, e.origin, e.flags, a.flags, j);
      if (e.children == a.children) return;
      std::int64_t count = std::abs(static_cast<std::int64_t>(e.children.size()) -
                                    static_cast<std::int64_t>(a.children.size()));
      std::size_t first = std::min(e.children.size(), a.children.size());
      for (std::size_t k = first; k-- > 0;)
        if (e.children[k] != a.children[k]) {
          ++count;
          first = k;
        }
      note(
          [&] {
            const auto text = [&](const std::vector<std::uint64_t>& c) {
              return first < c.size() ? fmt::format("{} {}", below, c[first]) : std::string("none");
            };
            return Difference{
                .clause = "G-2",
                .what = fmt::format("child {} of {} {}", first, log2 == 5 ? "an" : "a", level.name),
                .coordinate = e.origin,
                .path = path(level.height, j),
                .expected = text(e.children),
                .actual = text(a.children)};
          },
          count);
    });
  }

  void judge_box(Level level, const Voxel& place, const Box& e, const Box& a, std::uint64_t j) {
    if (e == a) return;
    note([&] {
      return Difference{
          .clause = "G-5",
          .what = fmt::format("box of {} {}", level.height == 2 ? "an" : "a", level.name),
          .coordinate = place,
          .path = path(level.height, j),
          .expected = box_text(e),
          .actual = box_text(a)};
    });
  }

  void judge_flags(Level level, const Voxel& place, std::uint64_t e, std::uint64_t a,
                   std::uint64_t j) {
    if (e == a) return;
    note([&] {
      return Difference{
          .clause = "G-5",
          .what = fmt::format("mFlags of {} {}", level.height == 2 ? "an" : "a", level.name),
          .coordinate = place,
          .path = path(level.height, j),
          .expected = hex(e),
          .actual = hex(a)};
    });
  }

  // ---- maps ----------------------------------------------------------------------------------

  void judge_maps() {
    verdict_.differences += compare_maps(e_.map, a_.map, member_, verdict_.first);
    if (profile_ == Profile::Bytes) judge_sign_of_zero();
    judge_world_box();
    judge_findings(Concern::Map);
  }

  // Equal as numbers, not as bytes; what is derived of it differs too, and is not the cause.
  void judge_sign_of_zero() {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double e = e_.map.origin[axis], a = a_.map.origin[axis];
      if (e != a || std::signbit(e) == std::signbit(a)) continue;
      note([&] {
        return Difference{.clause = "G-7",
                          .what = fmt::format("sign of the origin along {}", "xyz"[axis]),
                          .expected = fmt::format("{}", e),
                          .actual = fmt::format("{}", a)};
      });
    }
  }

  // ---- texts ---------------------------------------------------------------------------------

  /// The chain to node j of the actual side.
  std::string path(int height, std::uint64_t j) const {
    if (height < 3) return node_path(a_, height, j);
    return fmt::format("tile {}", to_text(a_.tiles[j].tile));
  }

  /// A few rows of both lists around positions i and j.
  template <class T, class Text>
  Window rows(int height, const std::vector<T>& expected, const std::vector<T>& actual,
              std::uint64_t i, std::uint64_t j, Text text) const {
    static constexpr const char* names[] = {"leaf", "lower", "upper", "tile"};
    std::vector<WindowRow> rows;
    for (std::int64_t d = -3; d <= 3; ++d) {
      const auto k = static_cast<std::int64_t>(i) + d, l = static_cast<std::int64_t>(j) + d;
      const bool left = k >= 0 && k < static_cast<std::int64_t>(expected.size());
      const bool right = l >= 0 && l < static_cast<std::int64_t>(actual.size());
      if (!left && !right) continue;
      WindowRow row;
      row.label = fmt::format("{} {}", names[height], left ? k : l);
      if (left) row.expected = text(expected[static_cast<std::size_t>(k)]);
      if (right) row.actual = text(actual[static_cast<std::size_t>(l)]);
      row.marked = d == 0;
      rows.push_back(std::move(row));
    }
    return side_by_side(rows);
  }

  const Grid &e_, &a_;
  std::int64_t member_;
  Profile profile_;
  bool judge_maps_;
  std::span<const Finding> findings_;
  Verdict& verdict_;
  bool sets_equal_ = true;
  Alignment tiles_, uppers_, lowers_, leaves_;
};

}  // namespace

void compare_members(const Grid& expected, const Grid& actual, std::int64_t member, Profile profile,
                     bool judge_maps, std::span<const Finding> findings, Verdict& verdict) {
  MemberJudge(expected, actual, member, profile, judge_maps, findings, verdict).judge();
}

std::int64_t compare_maps(const Map& expected, const Map& actual, std::int64_t member,
                          std::optional<Difference>& first) {
  std::int64_t count = 0;
  const auto judge = [&](const char* what, const std::array<double, 3>& e,
                         const std::array<double, 3>& a) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (e[axis] == a[axis]) continue;
      ++count;
      if (first) continue;
      const auto text = [](const std::array<double, 3>& v) {
        return fmt::format("({:.17g},{:.17g},{:.17g})", v[0], v[1], v[2]);
      };
      first = Difference{.clause = "G-7",
                         .what = fmt::format("{} along {}", what, "xyz"[axis]),
                         .member = member,
                         .expected = fmt::format("{:.17g}", e[axis]),
                         .actual = fmt::format("{:.17g}", a[axis]),
                         .window = side_by_side({{what, text(e), text(a), "", true}})};
    }
  };
  judge("voxel size", expected.voxel_size, actual.voxel_size);
  judge("origin", expected.origin, actual.origin);
  return count;
}

}  // namespace leafproof::oracle
