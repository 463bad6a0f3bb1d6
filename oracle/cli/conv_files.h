// Kernel maps and numbers in .npz files, as docs/npz-format.md describes them.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "oracle/backend.h"

namespace leafproof::oracle::cli {

/// Features, weights and bias from .npy files; the type is that of the features [V-6]. `bias` may
/// be empty. Errors: as NpyArray; Unsupported for another type.
Operands read_operands(const std::filesystem::path& features, const std::filesystem::path& weights,
                       const std::filesystem::path& bias);

/// Numbers from and into a .npy file, of one of the types of [V-6]. Errors: as NpyArray,
/// AtomicFile; Unsupported for another type.
reference::Array read_array(const std::filesystem::path& file, NumberType* type = nullptr);
void write_array(const std::filesystem::path& file, const reference::Array& array, NumberType type);

/// A kernel map in either form, or numbers. `expected` is the reference's answer to the question,
/// which says what rows are: they are written too [M-7]. Errors as AtomicFile.
void write_answer(const std::filesystem::path& file, const Case& question, const Answer& answer,
                  const Answer& expected);

/// The answer in a file to a question whose right answer is `expected`. Without rows of its own its
/// rows are the canonical ones. Errors: Corrupt where an array is missing, or is no array of its
/// kind; all else is for the judge.
Answer read_answer(const std::filesystem::path& file, const Answer& expected);

}  // namespace leafproof::oracle::cli
