// A case with the reference's answer as a known answer in the format of [F].
#pragma once

#include <string>

#include "oracle/backend.h"

namespace leafproof::oracle {

/// A file of vectors with this one case. A kernel map is written as a convolution of ones, whose
/// pairs it is; a complete target as the target that it is. Error(Unsupported) naming what the
/// format has no place for: maps and names of members, a dense map, numbers that are not whole, ...
std::string write_vector(const Case& question, const Backend& reference);

}  // namespace leafproof::oracle
