// Dialects with a fault, that the laws of dialects (properties/laws_of_dialects.cc) are asked of: a
// law that no fault breaks says nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oracle/dialects/dialect.h"

namespace leafproof::faults {

/// "none" and the faults, each in every dialect alike ("dialect/...").
std::vector<std::string> dialect_faults();

/// The dialect of that name with that fault; "none": as it is. InvalidArgument for a name of
/// either kind that is none.
const oracle::dialects::Dialect& dialect_with_fault(const std::string& fault,
                                                    std::string_view name);

}  // namespace leafproof::faults
