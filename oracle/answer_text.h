// An answer as one line of text, for programs in any language: "answer1 grid voxels=[0,0,0][]".
// Written and read by docs/answer-format.md. What is read is another program's word: hostile [E-2].
#pragma once

#include <string>
#include <string_view>

#include "oracle/backend.h"

namespace leafproof::oracle {

/// One line without an end of line, nothing but ASCII in it. A layout or a NanoVDB buffer is
/// written as the voxels and maps that it holds. Error(Corrupt) for an answer that has no text:
/// rows that are not listed member after member, offsets that delimit nothing. O(size).
std::string write_answer_text(const Answer& answer);

/// Reads the answer to `question`, which decides nothing but the type of numbers where none is
/// given. A map, an index or a buffer is judged by `topology` unless it asks for more. White space
/// around it and between fields may be any, fields in any order. Error(Corrupt), naming the field
/// and its value, for everything that is no answer; Errors of `files`. O(size).
Answer read_answer_text(std::string_view text, const Case& question, const AnswerFiles& files = {});

}  // namespace leafproof::oracle
