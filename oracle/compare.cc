// From two answers of any kind to one verdict.
#include "oracle/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "oracle/compare_member.h"
#include "oracle/layout_view.h"
#include "oracle/window.h"

namespace leafproof::oracle {
namespace {

using reference::Grid;

std::string describe(const Answer& answer) {
  struct Describe {
    std::string operator()(const Layout& l) const {
      return fmt::format("a batch of {} members", l.grids.size());
    }
    std::string operator()(const GridBuffer& b) const {
      return fmt::format("a buffer of {} grids, {} bytes",
                         b.offsets.empty() ? 0 : b.offsets.size() - 1, b.bytes.size());
    }
    std::string operator()(const Maps& m) const { return fmt::format("{} maps", m.maps.size()); }
    std::string operator()(const Error& e) const { return e.what(); }
    std::string operator()(const NotImplemented& n) const { return "not implemented: " + n.reason; }
  };
  return std::visit(Describe{}, answer);
}

void differ(Verdict& verdict, Difference difference, std::int64_t count = 1) {
  verdict.differences += count;
  if (!verdict.first) verdict.first = std::move(difference);
}

/// An answer that could not be read.
Difference unreadable(const Error& e, const char* side) {
  const ErrorDetail& detail = e.detail();
  const bool tile = e.kind() == ErrorKind::Unsupported;
  return {.clause = tile ? "G-4" : "E-2",
          .what = side + detail.argument,
          .member = detail.member.value_or(-1),
          .expected = detail.reason,
          .actual = detail.value,
          .window = {e.what()}};
}

/// An answer as a layout: a Layout as it is, a buffer as examined.
struct Side {
  const Layout* layout = nullptr;
  Examination examination;  // of a buffer

  bool read(const Answer& answer, const char* side, Verdict& verdict) {
    if (const auto* held = std::get_if<Layout>(&answer)) {
      layout = held;
      return true;
    }
    try {
      examination = examine(std::get<GridBuffer>(answer));
      layout = &examination.layout;
      return true;
    } catch (const Error& e) {
      differ(verdict, unreadable(e, side));
      return false;
    }
  }
};

std::int64_t voxels_of(const Grid& grid) {
  std::int64_t count = 0;
  for (const reference::Leaf& leaf : grid.leaves)
    for (const std::uint64_t word : leaf.mask) count += std::popcount(word);
  return count;
}

std::int64_t voxels_of(const Layout& layout) {
  std::int64_t count = 0;
  for (const Grid& grid : layout.grids) count += voxels_of(grid);
  return count;
}

// [G-8] Where members begin: consequences, so they come after the members.
void compare_offsets(const Layout& expected, const Layout& actual, Verdict& verdict) {
  const auto judge = [&](const char* clause, const char* what, const std::vector<std::uint64_t>& e,
                         const std::vector<std::uint64_t>& a) {
    for (std::size_t i = 0; i < std::max(e.size(), a.size()); ++i) {
      if (i < e.size() && i < a.size() && e[i] == a[i]) continue;
      const auto text = [i](const std::vector<std::uint64_t>& v) {
        return i < v.size() ? fmt::format("{}", v[i]) : std::string("none");
      };
      const auto members = static_cast<std::int64_t>(expected.grids.size());
      const auto member = static_cast<std::int64_t>(i);
      differ(verdict, {.clause = clause,
                       .what = fmt::format("{} {}", what, i),
                       .member = member < members ? member : -1,
                       .expected = text(e),
                       .actual = text(a)});
    }
  };
  judge("G-6", "byte offset", expected.byte_offsets, actual.byte_offsets);
  judge("G-8", "voxel offset", expected.voxel_offsets, actual.voxel_offsets);
  judge("G-8", "leaf offset", expected.leaf_offsets, actual.leaf_offsets);
}

std::string hex_of(std::span<const std::byte> bytes, std::uint64_t at, std::uint64_t size) {
  std::string text;
  for (std::uint64_t i = at; i < at + std::min<std::uint64_t>(size, 16) && i < bytes.size(); ++i)
    text += fmt::format("{}{:02x}", i == at ? "" : " ", std::to_integer<unsigned>(bytes[i]));
  return text.empty() ? "none" : text + (size > 16 ? " ..." : "");
}

void compare_bytes(const Layout& layout, std::span<const std::byte> expected,
                   std::span<const std::byte> actual, Verdict& verdict) {
  const std::uint64_t common = std::min(expected.size(), actual.size());
  std::int64_t count = static_cast<std::int64_t>(std::max(expected.size(), actual.size()) - common);
  std::uint64_t first = common;
  constexpr std::uint64_t chunk = 4096;
  for (std::uint64_t at = 0; at < common; at += chunk) {
    const std::uint64_t size = std::min(chunk, common - at);
    if (std::memcmp(&expected[at], &actual[at], size) == 0) continue;
    for (std::uint64_t i = at; i < at + size; ++i) {
      if (expected[i] == actual[i]) continue;
      ++count;
      first = std::min(first, i);
    }
  }
  if (count == 0) return;
  const ByteOwner owner = owner_of_byte(layout, first);
  // A long field is shown from the 16 bytes that hold the difference on.
  const std::uint64_t skip =
      owner.field_size > 16 ? (first - owner.field_at) / 16 * 16 : std::uint64_t{0};
  const std::uint64_t at = owner.field_at + skip, size = owner.field_size - skip;
  differ(verdict,
         {.clause = owner.clause,
          .what = fmt::format("byte {} of the buffer, {}", first, owner.field),
          .member = owner.member,
          .path = owner.path,
          .expected = hex_of(expected, at, size),
          .actual = hex_of(actual, at, size),
          .window = byte_window(expected, actual, first)},
         count);
}

void judge_bytes(const Answer& reference, const Layout& expected, const Answer& candidate,
                 const Layout& actual, Verdict& verdict) {
  const auto* given = std::get_if<GridBuffer>(&reference);
  const GridBuffer left = given != nullptr ? *given : write_layout(expected);
  GridBuffer right;
  if (const auto* buffer = std::get_if<GridBuffer>(&candidate)) {
    right = *buffer;
  } else {
    try {
      right = write_layout(actual);
    } catch (const Error& e) {
      return differ(verdict, unreadable(e, ""));
    }
  }
  compare_bytes(expected, left.bytes, right.bytes, verdict);
}

void judge_layouts(const Answer& reference, const Answer& candidate, Profile profile,
                   bool judge_maps, Verdict& verdict) {
  Side expected, actual;
  if (!expected.read(reference, "the reference's own ", verdict)) return;
  verdict.members = static_cast<std::int64_t>(expected.layout->grids.size());
  verdict.voxels = voxels_of(*expected.layout);
  if (!actual.read(candidate, "", verdict)) return;

  const auto& left = expected.layout->grids;
  const auto& right = actual.layout->grids;
  if (left.size() != right.size())
    differ(verdict, {.clause = "L-2",
                     .what = "number of members",
                     .expected = fmt::format("{}", left.size()),
                     .actual = fmt::format("{}", right.size())});

  // Of what the reader found, each concern is decided by its profile [G-9].
  const bool maps = judge_maps || profile == Profile::Bytes;
  const auto& counts = actual.examination.counts;
  verdict.differences += counts[static_cast<std::size_t>(Concern::Tree)];
  if (profile >= Profile::Layout)
    verdict.differences += counts[static_cast<std::size_t>(Concern::Layout)];
  if (maps) verdict.differences += counts[static_cast<std::size_t>(Concern::Map)];

  const std::vector<Finding>& findings = actual.examination.findings;
  auto from = findings.begin();
  for (std::size_t m = 0; m < std::min(left.size(), right.size()); ++m) {
    const auto member = static_cast<std::int64_t>(m);
    const auto to =
        std::find_if(from, findings.end(), [&](const Finding& f) { return f.member != member; });
    compare_members(left[m], right[m], member, profile, judge_maps, {from, to}, verdict);
    from = to;
  }
  // Members that only one side has.
  for (std::size_t m = right.size(); m < left.size(); ++m) verdict.missing += voxels_of(left[m]);
  for (std::size_t m = left.size(); m < right.size(); ++m) verdict.extra += voxels_of(right[m]);
  if (profile >= Profile::Layout) compare_offsets(*expected.layout, *actual.layout, verdict);
  if (profile == Profile::Bytes && !verdict.first)
    judge_bytes(reference, *expected.layout, candidate, *actual.layout, verdict);
}

/// The maps that an answer holds; none when it holds no batch or cannot be read.
std::optional<std::vector<Map>> maps_of(const Answer& answer, const char* side, Verdict& verdict) {
  if (const auto* maps = std::get_if<Maps>(&answer)) return maps->maps;
  Side read;
  if (!read.read(answer, side, verdict)) return {};
  std::vector<Map> maps;
  for (const Grid& grid : read.layout->grids) maps.push_back(grid.map);
  return maps;
}

void judge_map_lists(const Answer& reference, const Answer& candidate, Verdict& verdict) {
  const auto expected = maps_of(reference, "the reference's own ", verdict);
  if (!expected) return;
  verdict.members = static_cast<std::int64_t>(expected->size());
  const auto actual = maps_of(candidate, "", verdict);
  if (!actual) return;
  if (expected->size() != actual->size())
    differ(verdict, {.clause = "G-7",
                     .what = "number of maps",
                     .expected = fmt::format("{}", expected->size()),
                     .actual = fmt::format("{}", actual->size())});
  for (std::size_t m = 0; m < std::min(expected->size(), actual->size()); ++m)
    verdict.differences +=
        compare_maps((*expected)[m], (*actual)[m], static_cast<std::int64_t>(m), verdict.first);
}

}  // namespace

std::string_view to_string(Profile profile) {
  switch (profile) {
    case Profile::Sets:
      return "sets";
    case Profile::Topology:
      return "topology";
    case Profile::Layout:
      return "layout";
    case Profile::Bytes:
      return "bytes";
  }
  return "unknown profile";
}

std::optional<Profile> parse_profile(std::string_view name) {
  for (const Profile p : {Profile::Sets, Profile::Topology, Profile::Layout, Profile::Bytes})
    if (name == to_string(p)) return p;
  return {};
}

std::string_view clause_of(Op op) {
  switch (op) {
    case Op::FromIjk:
    case Op::FromPoints:
      return "T-1";
    case Op::Refine:
      return "T-2";
    case Op::Coarsen:
      return "T-3";
    case Op::DilateBox:
    case Op::Dual:
      return "T-4";
    case Op::ErodeBox:
      return "T-5";
    case Op::Prune:
    case Op::Merge:
    case Op::Intersect:
    case Op::Subtract:
      return "T-6";
    case Op::MapAfter:
      return "G-7";
    case Op::ConvGrid:
      return "K-3";
    case Op::ConvTransposeGrid:
      return "K-4";
    case Op::SubmanifoldIndexMap:
      return "M-5";
    case Op::Convolution:
      return "V-1";
    case Op::ConvolutionGradients:
      return "V-2";
  }
  return "T";
}

Verdict compare(const Answer& reference, const Answer& candidate, Profile profile,
                bool judge_maps) {
  Verdict verdict;
  verdict.profile = profile;
  if (const auto* none = std::get_if<NotImplemented>(&candidate)) {
    verdict.outcome = Outcome::NotImplemented;
    verdict.reason = none->reason;
    return verdict;
  }
  if (const auto* none = std::get_if<NotImplemented>(&reference)) {
    verdict.outcome = Outcome::NotImplemented;
    verdict.reason = "the reference has no answer: " + none->reason;
    return verdict;
  }
  const auto* refused = std::get_if<Error>(&reference);
  const auto* refuses = std::get_if<Error>(&candidate);
  if (refused != nullptr || refuses != nullptr) {
    const bool equal =
        refused != nullptr && refuses != nullptr && refused->kind() == refuses->kind();
    if (!equal)
      differ(verdict,
             {.clause = "E-3",
              .what = refused == nullptr   ? "a refusal of what is legal"
                      : refuses == nullptr ? "an answer to what must be refused"
                                           : "the kind of a refusal",
              .expected = refused != nullptr ? std::string(to_string(refused->kind()))
                                             : describe(reference),
              .actual = refuses != nullptr ? std::string(to_string(refuses->kind()))
                                           : describe(candidate),
              .window = {"expected: " + describe(reference), "actual:   " + describe(candidate)}});
  } else if (std::holds_alternative<Maps>(reference) || std::holds_alternative<Maps>(candidate)) {
    judge_map_lists(reference, candidate, verdict);
  } else {
    judge_layouts(reference, candidate, profile, judge_maps, verdict);
  }
  verdict.outcome = verdict.first ? Outcome::Different : Outcome::Equal;
  return verdict;
}

}  // namespace leafproof::oracle
