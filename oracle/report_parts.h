// What the forms of a report share: totals, verdicts of rows, harmless text.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "oracle/report.h"

namespace leafproof::oracle {

inline constexpr std::array all_boundaries{Boundary::RootTile,    Boundary::Lower,
                                           Boundary::Leaf,        Boundary::NegativeOctant,
                                           Boundary::EmptyMember, Boundary::Range};
/// "root_tile", ...: the key in JSON.
std::string_view key_of(Boundary boundary);

struct Totals {
  std::int64_t cases = 0, members = 0, voxels = 0, passed = 0, failed = 0, not_implemented = 0;
};
/// A case passes when both sides answered alike or refused alike.
Totals totals_of(const Report& report);
std::int64_t passed(const Row& row);

/// "equal", "DIFFERS", "n/i" (nothing differs, but something was not implemented), "NOTHING" (no
/// case ran, which is never a success).
std::string_view verdict_of(const Row& row);
std::string_view to_string(Outcome outcome);

/// [M-6] "2 rows in 3 pairs, 1 expected; ...": of the numbers of pairs for which they differ.
std::string degrees_that_differ(const CoverageTally& side);

/// Text from outside as text that moves no cursor and hides nothing: control characters, characters
/// that turn the direction of writing, and bytes that are not UTF-8 become \xNN or \u{NNNN}.
std::string printable(std::string_view text);

/// `printable` text, harmless in the content and the attributes of HTML and XML.
std::string markup(std::string_view text);

/// Columns that valid UTF-8 takes on a terminal (one each: the texts here have no wide characters).
std::size_t columns_of(std::string_view text);

/// A backend's name as tables show it: of a command the program that it runs, or the script that an
/// interpreter runs ("mine.py").
std::string short_name(std::string_view backend);

/// Text as one word of a shell's command line.
std::string shell_word(std::string_view text);

/// "950", "12.3k", "4.56M", "1.20G".
std::string short_number(std::int64_t n);
/// "0.4s", "12s", "3m05s".
std::string short_time(double seconds);

}  // namespace leafproof::oracle
