// What a target is whose input is a case in bytes (docs/case-format.md): the operations that it
// asks about, and what must hold. case_target.cc does the rest: it decodes, refuses what is no such
// case, and mutates cases as cases.
#pragma once

#include <vector>

#include "fuzz/target.h"
#include "oracle/case.h"

namespace leafproof::fuzz {

/// Written by the target: what it asks about.
const std::vector<oracle::Op>& target_ops();

/// Written by the target: asks, and ends in finding() where something does not hold. `rarely` is
/// true of one case of four, by its bytes: for what takes longer than all the rest, the strict
/// device. The case costs at most kBudget (case_mend.h).
void try_case(const oracle::Case& question, bool rarely);

}  // namespace leafproof::fuzz
