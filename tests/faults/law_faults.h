// Faulty backends that the laws (properties/) are asked of: a law that no fault breaks says
// nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oracle/backend.h"

namespace leafproof::faults {

/// "none", the faults of faults.cc that show in answers, and some made for laws which none of those
/// breaks ("law/...").
std::vector<std::string> law_faults();

/// The second implementation with that fault; "none": healthy. InvalidArgument for another name.
std::unique_ptr<oracle::Backend> with_law_fault(const std::string& name);

}  // namespace leafproof::faults
