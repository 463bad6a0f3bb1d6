// The batched builder on the strict device, as a backend: `strict`.
#pragma once

#include <memory>

#include "oracle/backend.h"

namespace leafproof::oracle {

std::unique_ptr<Backend> make_strict_backend();

}  // namespace leafproof::oracle
