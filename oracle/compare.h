// The verdict: is a candidate's answer the reference's answer, by a profile of judgement [G-9]?
// Element by element, in order; the first difference is shown in its context, then all are counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/backend.h"

namespace leafproof::oracle {

enum class Outcome {
  Equal,
  Different,
  NotImplemented,  // a verdict of its own: fails unless it was asked to be skipped
};

/// The first thing that is not the same. (Every field has an initialiser, so that it can be named
/// where one is made.)
struct Difference {
  std::string clause{};               // the clause it breaks: "G-4"
  std::string what{};                 // "mPrefixSum of a leaf", "an extra voxel", "name"
  std::int64_t member = -1;           // -1: the batch as a whole
  std::optional<Voxel> coordinate{};  // where it applies
  std::string path{};                 // "tile (-1,0,0) > upper 0 > lower 3 > leaf 17"
  std::string expected{}, actual{};
  std::vector<std::string> window{};  // a few lines around it, expected beside actual, marked
};

/// What a verdict counts.
enum class Counted { Voxels, Pairs, Numbers };
std::string_view to_string(Counted counted);  // "voxels", ...

/// One tap of a map in which something differs.
struct TapTally {
  std::int64_t tap = 0;                   // its number [K-2]
  Triple at{0, 0, 0};                     // (tx, ty, tz)
  std::int64_t expected = 0, actual = 0;  // pairs
  std::int64_t missing = 0, extra = 0, repeated = 0;
  std::string first{};  // the first difference: "a missing pair: source row 5, (1,2,3) -> ..."
};

/// [M-6] The rows of one side of a map, by the number of their pairs: how many have 0, 1, ...
struct CoverageTally {
  std::string side;  // "source", "target"
  std::vector<std::int64_t> expected, actual;
};

struct Verdict {
  Outcome outcome = Outcome::Equal;
  Profile profile = Profile::Topology;
  std::optional<Difference> first;
  std::string reason;   // when not implemented
  std::string refusal;  // when both sides refused alike: the reference's sentence
  Counted counted = Counted::Voxels;
  // Of what is counted, over all members. `repeated`: what the candidate holds twice.
  std::int64_t missing = 0, extra = 0, repeated = 0;
  std::int64_t differences = 0;  // elements that differ, over all levels
  // Compared, on the reference side. `voxels`: of a map its pairs, of a convolution its numbers.
  std::int64_t members = 0, voxels = 0;
  std::vector<TapTally> taps;           // of a map: the taps that differ
  std::vector<CoverageTally> coverage;  // of a map that could be read: both sides
  double largest_error = 0;       // of numbers: the largest error as a part of its bound [V-3]
  std::int64_t not_compared = 0;  // members of the reference that the candidate's bytes do not show
  bool compared = true;           // false: a refusal, or an answer of which nothing could be read
  bool hung = false;              // the backend gave no answer in its time
  bool ok() const { return outcome == Outcome::Equal; }
};

/// The clause that says which voxels an operation has: "T-2" for refine. compare() does not know
/// the operation and names a difference of voxels by the chapter, "T"; of_operation() of judge.h
/// puts the clause there.
std::string_view clause_of(Op op);

/// Judges `candidate` against `reference`. Two refusals are equal when their kinds are [E-3].
/// `judge_maps`: maps and world boxes are judged too below `Bytes` (operations about maps [G-9]).
///
/// Order of reading, which decides what is first: members in order; in a member first where its
/// tree contradicts itself, then voxels (an extra voxel is the cause, a changed count its
/// consequence), then the tree from the root down, then what only `layout` judges from the header
/// down, then maps, then the name; after the members the offsets [G-8]; then, for `Bytes` and where
/// nothing else differs, the bytes. `layout` judges a world box too, but lets
/// pass one that is right for the member's own map.
///
/// `Bytes` compares with write_layout() of a reference that is a Layout, with the bytes themselves
/// of one that is a buffer; `differences` then counts bytes if and only if nothing else differs.
///
/// A kernel map is judged tap by tap, pairs in any order but each exactly once [M-3]; for `Bytes`
/// in the order of [M-2] too. Rows that a candidate brings with it are put in the reference's order
/// first [M-7]. Numbers are judged by [V-3]: compare_conv.h. Lists of voxels of a candidate are
/// judged by their own claim of order, whatever the profile; what failed is different.
///
/// Never throws for what the candidate did: a hostile buffer is a Difference with its Corrupt
/// reason, after the differences of the members before the one that cannot be followed. A side that
/// ran out of memory beside one that did not is a Difference that says so, apart from refusals.
/// Throws Error(CapacityExceeded) when the reference's bytes would exceed write_layout()'s budget.
/// Linear; voxels are listed only around a difference.
Verdict compare(const Answer& reference, const Answer& candidate, Profile profile,
                bool judge_maps = false);

}  // namespace leafproof::oracle
