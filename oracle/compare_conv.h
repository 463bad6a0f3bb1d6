// Kernel maps [M] and numbers [V] against those of the reference: the part of `compare` that knows
// them. What a candidate answers is hostile: offsets that decrease, rows out of range, shapes that
// do not fit are differences with a name [E-2].
#pragma once

#include "oracle/compare.h"

namespace leafproof::oracle {

/// A kernel map in either form, numbers, or gradients.
bool is_of_convolution(const Answer& answer);

/// Judges two answers of the same one of these kinds, and adds what it finds to `verdict`.
/// O(n log n) in the pairs of a tap.
void compare_convolution(const Answer& reference, const Answer& candidate, Profile profile,
                         Verdict& verdict);

/// [M-6] How many of a side's rows have 0, 1, ... pairs; `column` has the side's row of each pair.
/// Rows that are not there are not counted. O(pairs + rows).
std::vector<std::int64_t> degree_histogram(const std::vector<std::int64_t>& column,
                                           std::int64_t rows);

/// [V-3] May `actual` be the element whose exact value is given? `terms` of at most
/// `largest_whole`, where that is positive, are whole numbers.
struct Judgement {
  bool right = false;
  double wanted = 0;  // the exact value, rounded to the output's type
  double bound = 0;   // of the error; 0 where the element must be `wanted` itself
};
Judgement judge_number(const reference::Exact& exact, double actual, NumberType type,
                       Arithmetic multiplier, Arithmetic accumulator, double largest_whole);

}  // namespace leafproof::oracle
