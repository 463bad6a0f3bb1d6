// An answer, or what is thrown instead, judged as `verify` judges it.
#pragma once

#include <exception>
#include <functional>

#include "tests/faults/mechanisms.h"

namespace leafproof::faults {

/// What a verdict says of an operation's answer; nothing where it is equal.
Killed killed_by(oracle::Verdict verdict, Op op);

/// Killed where the answer is not the reference's. The reference is asked once per call.
Killed judged(const Case& question, const std::function<oracle::Answer()>& answer);

}  // namespace leafproof::faults
