// From two answers of any kind to one verdict.
#include "oracle/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "oracle/compare_conv.h"
#include "oracle/compare_member.h"
#include "oracle/compare_voxels.h"
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
    std::string operator()(const VoxelsAnswer& v) const {
      return fmt::format("the voxels of {} members", v.members.size());
    }
    std::string operator()(const Maps& m) const { return fmt::format("{} maps", m.maps.size()); }
    std::string operator()(const KernelMapAnswer& k) const {
      return fmt::format("a kernel map of {} pairs", k.map.gather.size());
    }
    std::string operator()(const DenseMapAnswer& d) const {
      return fmt::format("a dense map of {} taps, {} rows", d.map.taps, d.map.rows);
    }
    std::string operator()(const NumbersAnswer& n) const {
      return fmt::format("{} numbers", n.array.values.size());
    }
    std::string operator()(const GradientsAnswer&) const { return "gradients"; }
    std::string operator()(const Error& e) const { return e.what(); }
    std::string operator()(const NotImplemented& n) const { return "not implemented: " + n.reason; }
    std::string operator()(const Failed& f) const { return f.fault; }
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
  if (e.kind() == ErrorKind::OutOfMemory)  // ours, and no fault of the answer
    return {.clause = "E-3",
            .what = fmt::format("{}answer could not be read: this machine ran out of memory", side),
            .member = detail.member.value_or(-1),
            .expected = detail.reason,
            .actual = detail.value,
            .window = {e.what()}};
  const bool tile = e.kind() == ErrorKind::Unsupported;
  return {.clause = tile ? "G-4" : "E-2",
          .what = side + detail.argument,
          .member = detail.member.value_or(-1),
          .expected = detail.reason,
          .actual = detail.value,
          .window = {e.what()}};
}

constexpr const char* of_reference = "the reference's own ";

/// An answer as a layout: a Layout as it is, a buffer as examined as far as it can be followed.
struct Side {
  const Layout* layout = nullptr;
  Examination examination;  // of a buffer

  explicit Side(const Answer& answer) : layout(std::get_if<Layout>(&answer)) {
    if (layout != nullptr) return;
    examination = examine_while_sound(std::get<GridBuffer>(answer));
    layout = &examination.layout;
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  const std::optional<Error>& stopped() const { return examination.stopped; }
  /// Members that the answer says it has, of which those after the stop are not in `layout`; none
  /// where its offsets cannot be read (a stop inside a member means that there is one).
  std::optional<std::size_t> members() const {
    if (!stopped()) return layout->grids.size();
    if (layout->byte_offsets.size() < 2) return {};
    return layout->byte_offsets.size() - 1;
  }
};

/// Puts where the candidate's reading stopped after what the members before it differ in.
void judge_stop(const std::optional<Error>& stopped, std::int64_t members, Verdict& verdict) {
  if (!stopped) return;
  differ(verdict, unreadable(*stopped, ""));
  verdict.not_compared = members - verdict.members;
  verdict.compared = verdict.members > 0;
}

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
  const Side expected(reference);
  if (expected.stopped()) {
    verdict.compared = false;
    return differ(verdict, unreadable(*expected.stopped(), of_reference));
  }
  const Side actual(candidate);
  const auto& left = expected.layout->grids;
  const auto& right = actual.layout->grids;
  const auto members = actual.members();
  if (members && left.size() != *members)
    differ(verdict, {.clause = "L-2",
                     .what = "number of members",
                     .expected = fmt::format("{}", left.size()),
                     .actual = fmt::format("{}", *members)});

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
  for (std::size_t m = left.size(); m < right.size(); ++m) verdict.extra += voxels_of(right[m]);
  if (actual.stopped()) {
    for (std::size_t m = 0; m < std::min(left.size(), right.size()); ++m)
      verdict.voxels += voxels_of(left[m]);
    verdict.members = static_cast<std::int64_t>(std::min(left.size(), right.size()));
    return judge_stop(actual.stopped(), static_cast<std::int64_t>(left.size()), verdict);
  }
  verdict.members = static_cast<std::int64_t>(left.size());
  verdict.voxels = voxels_of(*expected.layout);
  for (std::size_t m = right.size(); m < left.size(); ++m) verdict.missing += voxels_of(left[m]);
  if (profile >= Profile::Layout) compare_offsets(*expected.layout, *actual.layout, verdict);
  if (profile == Profile::Bytes && !verdict.first)
    judge_bytes(reference, *expected.layout, candidate, *actual.layout, verdict);
}

/// A reference's layout against a candidate that lists its voxels.
void judge_voxels(const Answer& reference, const VoxelsAnswer& candidate, bool judge_maps,
                  Verdict& verdict) {
  const Side expected(reference);
  if (expected.stopped()) {
    verdict.compared = false;
    return differ(verdict, unreadable(*expected.stopped(), of_reference));
  }
  verdict.profile = candidate.own_order ? Profile::Sets : Profile::Topology;
  verdict.members = static_cast<std::int64_t>(expected.layout->grids.size());
  verdict.voxels = voxels_of(*expected.layout);
  compare_voxels(batch_of(*expected.layout), candidate, judge_maps, verdict);
}

bool is_a_grid(const Answer& answer) {
  return std::holds_alternative<Layout>(answer) || std::holds_alternative<GridBuffer>(answer);
}

/// The maps that an answer holds, and why there are no more.
struct MapsRead {
  std::vector<Map> maps;
  std::optional<Error> stopped;
};

MapsRead maps_of(const Answer& answer) {
  if (const auto* maps = std::get_if<Maps>(&answer)) return {maps->maps, {}};
  if (const auto* voxels = std::get_if<VoxelsAnswer>(&answer)) return {*voxels->maps, {}};
  const Side side(answer);
  MapsRead read{{}, side.stopped()};
  for (const Grid& grid : side.layout->grids) read.maps.push_back(grid.map);
  return read;
}

void judge_map_lists(const Answer& reference, const Answer& candidate, Verdict& verdict) {
  const auto [expected, unread] = maps_of(reference);
  if (unread) {
    verdict.compared = false;
    return differ(verdict, unreadable(*unread, of_reference));
  }
  const auto [actual, stopped] = maps_of(candidate);
  if (!stopped && expected.size() != actual.size())
    differ(verdict, {.clause = "G-7",
                     .what = "number of maps",
                     .expected = fmt::format("{}", expected.size()),
                     .actual = fmt::format("{}", actual.size())});
  const std::size_t both = std::min(expected.size(), actual.size());
  for (std::size_t m = 0; m < both; ++m)
    verdict.differences +=
        compare_maps(expected[m], actual[m], static_cast<std::int64_t>(m), verdict.first);
  verdict.members = static_cast<std::int64_t>(stopped ? both : expected.size());
  judge_stop(stopped, static_cast<std::int64_t>(expected.size()), verdict);
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

std::optional<ErrorKind> parse_error_kind(std::string_view name) {
  for (const ErrorKind kind : {ErrorKind::InvalidArgument, ErrorKind::ShapeMismatch,
                               ErrorKind::OutOfRange, ErrorKind::CapacityExceeded,
                               ErrorKind::OutOfMemory, ErrorKind::Unsupported, ErrorKind::Corrupt})
    if (to_string(kind) == name) return kind;
  return std::nullopt;
}

std::string_view to_string(Counted counted) {
  switch (counted) {
    case Counted::Voxels:
      return "voxels";
    case Counted::Pairs:
      return "pairs";
    case Counted::Numbers:
      return "numbers";
  }
  return "unknown things";
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
    case Op::KernelMap:
      return "M-2";
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
  if (const auto* failed = std::get_if<Failed>(&candidate)) {
    verdict.compared = false;
    verdict.hung = failed->hung;
    differ(verdict, {.clause = "E-2",
                     .what = "a fault instead of an answer",
                     .expected = describe(reference),
                     .actual = failed->fault,
                     .window = failed->lines});
    verdict.outcome = Outcome::Different;
    return verdict;
  }
  const auto* refused = std::get_if<Error>(&reference);
  const auto* refuses = std::get_if<Error>(&candidate);
  const auto other_kind = [&](const char* clause) {
    verdict.compared = false;
    differ(verdict, {.clause = clause,
                     .what = "the kind of an answer",
                     .expected = describe(reference),
                     .actual = describe(candidate)});
  };
  if (refused != nullptr || refuses != nullptr) {
    const bool equal =
        refused != nullptr && refuses != nullptr && refused->kind() == refuses->kind();
    const auto exhausted = [](const Error* e) {
      return e != nullptr && e->kind() == ErrorKind::OutOfMemory;
    };
    verdict.compared = equal;
    if (equal)
      verdict.refusal = describe(reference);
    else
      differ(verdict,
             {.clause = "E-3",
              // A machine short of memory says nothing about what is legal.
              .what = exhausted(refuses)   ? "the backend ran out of memory: not judged"
                      : exhausted(refused) ? "the reference ran out of memory: not judged"
                      : refused == nullptr ? "a refusal of what is legal"
                      : refuses == nullptr ? "an answer to what must be refused"
                                           : "the kind of a refusal",
              .expected = refused != nullptr ? std::string(to_string(refused->kind()))
                                             : describe(reference),
              .actual = refuses != nullptr ? std::string(to_string(refuses->kind()))
                                           : describe(candidate),
              .window = {"expected: " + describe(reference), "actual:   " + describe(candidate)}});
  } else if (is_of_convolution(reference) || is_of_convolution(candidate)) {
    if (reference.index() == candidate.index())
      compare_convolution(reference, candidate, profile, verdict);
    else
      other_kind("M-1");
  } else if (!is_a_grid(reference) && !std::holds_alternative<Maps>(reference)) {
    other_kind("G-9");  // nothing to judge by
  } else if (std::holds_alternative<Maps>(reference)) {
    const auto* voxels = std::get_if<VoxelsAnswer>(&candidate);
    if (voxels != nullptr && !voxels->maps)
      other_kind("G-7");
    else
      judge_map_lists(reference, candidate, verdict);
  } else if (const auto* voxels = std::get_if<VoxelsAnswer>(&candidate)) {
    judge_voxels(reference, *voxels, judge_maps, verdict);
  } else if (is_a_grid(candidate)) {
    judge_layouts(reference, candidate, profile, judge_maps, verdict);
  } else {
    other_kind("G-9");
  }
  verdict.outcome = verdict.first ? Outcome::Different : Outcome::Equal;
  return verdict;
}

}  // namespace leafproof::oracle
