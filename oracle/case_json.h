// A case as JSON: the form of the vectors [F] where they have one, and beyond them maps, names,
// typed arrays with numbers that JSON has not, and complete targets. Written and read by
// docs/case-format.md.
#pragma once

#include <string>
#include <string_view>

#include "oracle/case.h"

namespace leafproof::oracle {

/// One object on one line. `id` and `comment` are written where they are not empty; they are notes
/// and no part of the question. Error(Corrupt) as of write_case_text. O(size).
std::string write_case_json(const Case& question);

/// Reads it back, every field exactly. Error(Corrupt) naming the field and its value: not JSON,
/// another format or version, an unknown, repeated or missing key, a value that is none. O(size).
Case read_case_json(std::string_view text);

}  // namespace leafproof::oracle
