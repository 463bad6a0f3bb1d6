// A case as one line of text, for people, shells and replays: "case1 refine factor=2
// source=[0,0,0;7,7,7][]". Written and read by docs/case-format.md.
#pragma once

#include <string>
#include <string_view>

#include "oracle/case.h"

namespace leafproof::oracle {

/// One line without an end of line, no quotes and nothing but ASCII in it. `id` and `comment` are
/// no part of the question and are not written. Error(Corrupt) for a case that holds what its
/// operation does not take, or breaks what case.h promises. O(size).
std::string write_case_text(const Case& question);

/// Reads it back, every field exactly. White space around it and between fields may be any; fields
/// may come in any order. Error(Corrupt) naming the field and its value: a version that is not 1,
/// an unknown, repeated or missing field, a value that is none. O(size).
Case read_case_text(std::string_view text);

}  // namespace leafproof::oracle
