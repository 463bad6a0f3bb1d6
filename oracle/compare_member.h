// One member against another, element by element: the part of `compare` that knows the tree.
#pragma once

#include <span>

#include "oracle/compare.h"
#include "oracle/layout_view.h"

namespace leafproof::oracle {

/// Judges `actual` against `expected` by `profile` (`Bytes`: all that a Layout holds) and adds what
/// it finds to `verdict`. `findings`: what was odd in the actual buffer, of this member alone.
/// Linear in the leaves where both sides list the same; else O(n log n).
void compare_members(const reference::Grid& expected, const reference::Grid& actual,
                     std::int64_t member, Profile profile, bool judge_maps,
                     std::span<const Finding> findings, Verdict& verdict);

/// Two maps, exactly; NaN equals nothing [G-7]. The number of components that differ; the first is
/// put into `first` when that is still empty.
std::int64_t compare_maps(const Map& expected, const Map& actual, std::int64_t member,
                          std::optional<Difference>& first);

}  // namespace leafproof::oracle
