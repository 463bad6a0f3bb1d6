// The second reference as a backend: it judges the first.
#pragma once

#include <memory>

#include "oracle/backend.h"

namespace leafproof::oracle {

/// As make_reference_backend, and NotImplemented where a member's box does not suffice.
std::unique_ptr<Backend> make_brute_force_backend();

}  // namespace leafproof::oracle
