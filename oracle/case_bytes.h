// A case as few bytes, which is what a fuzzer keeps and mutates and a corpus is made of. Written
// and read by docs/case-format.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "oracle/case.h"

namespace leafproof::oracle {

/// The one encoding of the question (of `id` and `comment` nothing). Error(Corrupt) as of
/// write_case_text. O(size).
std::vector<std::uint8_t> write_case_bytes(const Case& question);

/// Reads it back, every field exactly, and nothing but what write_case_bytes() writes. Error
/// (Corrupt) naming the field and the byte where it stands. Allocates no more than some ten times
/// the bytes given. O(size).
Case read_case_bytes(std::span<const std::uint8_t> bytes);

}  // namespace leafproof::oracle
