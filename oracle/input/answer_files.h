// Answers in files: archives of arrays (docs/npz-format.md) and NanoVDB grids that another program
// wrote. Hostile until checked, like every file [E-2].
#pragma once

#include <filesystem>
#include <string_view>

#include "oracle/answer_text.h"
#include "oracle/input/npy.h"

namespace leafproof::oracle {

/// The answer in an archive. `kind`: "grid", "map", "dense", "numbers", "gradients"; another is a
/// logic_error. Arrays of other names are not read. Errors, naming the file: Corrupt where an array
/// is missing or is none of its kind, OutOfRange for a number beyond its type; all else is for the
/// judge.
Answer read_npz_answer(const std::filesystem::path& file, std::string_view kind);

/// How the program reads the files that an answer names. A NanoVDB file of no bytes is a batch of
/// no members [G-6].
AnswerFiles answer_files();

/// The numbers of an array and their type, with the arithmetic of [V-6]. Error(Unsupported) for
/// another type than float64, float32, float16 and int32.
NumbersAnswer numbers_in(const FileTask& task, const NpyArray& array);

}  // namespace leafproof::oracle
