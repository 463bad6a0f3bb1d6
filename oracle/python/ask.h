// One question in Python's words to one backend.
#pragma once

#include <string>

#include "oracle/python/question.h"

namespace leafproof::python {

/// The answer as Python has it. Passes and maps of "host" go to the builder as they are; all else
/// is a Case. A refusal is raised; so is Unsupported where the backend does not implement it.
nb::object ask(const std::string& op, nb::handle backend, const nb::kwargs& given);

}  // namespace leafproof::python
