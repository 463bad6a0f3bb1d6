// Inside compare_conv: rows of a candidate's own order [M-7], and numbers.
#pragma once

#include "oracle/compare_conv.h"

namespace leafproof::oracle {

/// For each of the candidate's rows, the reference's row with the same voxel; where the candidate
/// brings no rows, its own are the reference's (`row_count` of them). nullopt where the rows are no
/// permutation of the reference's: `verdict` then says which row is repeated, missing or extra.
std::optional<std::vector<std::int64_t>> renumbering(const std::optional<RowVoxels>& reference,
                                                     const std::optional<RowVoxels>& candidate,
                                                     std::int64_t row_count, const char* side,
                                                     Verdict& verdict);

/// "row 5, (1,2,3)"; the voxel where the rows are known.
std::string show_row(const std::optional<RowVoxels>& rows, std::int64_t row);
std::int64_t member_of(const std::optional<RowVoxels>& rows, std::int64_t row);

/// `what`: "output", "grad_weights"; `clause`: V-1 or V-2.
void compare_numbers(const NumbersAnswer& expected, const NumbersAnswer& actual, const char* clause,
                     const char* what, Verdict& verdict);

void add_difference(Verdict& verdict, Difference difference, std::int64_t count = 1);

}  // namespace leafproof::oracle
