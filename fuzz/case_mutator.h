// Structure-aware mutation: a case is edited as a case (voxels, members, views, parameters, masks,
// numbers, maps), never as bytes, so that what a fuzzer tries is a question and not noise. What
// libFuzzer and the engines that speak its interface call is in case_target.cc.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "oracle/case.h"

namespace leafproof::fuzz {

struct Mutant {
  oracle::Case question;
  std::vector<std::string_view> edits;  // their names, as made; some find nothing to change
  bool spoiled = false;                 // broken in exactly one way, for which it must be refused
};

/// One to four edits that `seed` draws, mended so that all parts fit (case_mend.h); one of sixteen
/// is then spoiled. The operation stays among `ops`. The result can always be written, and costs
/// at most kBudget. Deterministic. O(size of the case).
Mutant mutate(const oracle::Case& start, const std::vector<oracle::Op>& ops, std::uint64_t seed);

/// `a` with a part of `b` in the place of its own: voxels, members, target, parameters, numbers.
/// As mutate().
Mutant cross(const oracle::Case& a, const oracle::Case& b, const std::vector<oracle::Op>& ops,
             std::uint64_t seed);

/// A case to begin with, where there is none: a few choices of the generator, mended.
oracle::Case first_case(const std::vector<oracle::Op>& ops, std::uint64_t seed);

/// All names that `edits` may hold: of mutate(), of cross(), and of how a case is spoiled.
std::vector<std::string_view> edit_names();
std::vector<std::string_view> cross_names();
std::vector<std::string_view> spoil_names();

}  // namespace leafproof::fuzz
