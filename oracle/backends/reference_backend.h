// The reference as a backend: the expected side of every verdict.
#pragma once

#include <memory>

#include "oracle/backend.h"

namespace leafproof::oracle {

/// Answers every pass of [T] with a Layout and Op::MapAfter with Maps; NotImplemented for [K] ...
/// [V].
std::unique_ptr<Backend> make_reference_backend();

}  // namespace leafproof::oracle
