// Memory that the C++ library does not have, as the typed refusal that it is [E-3].
#pragma once

#include <new>

#include "reference/error.h"

namespace leafproof::oracle {

/// What `call` returns; std::bad_alloc becomes Error(OutOfMemory) of this operation and argument.
template <class Call>
auto or_out_of_memory(const char* operation, const char* argument, const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw reference::Error(reference::ErrorKind::OutOfMemory,
                           {.operation = operation,
                            .argument = argument,
                            .value = {},
                            .reason = "takes more memory than there is",
                            .member = {},
                            .row = {}});
  }
}

}  // namespace leafproof::oracle
