// What the adapters of the references and of the builder have in common, and nothing of what they
// answer: operands that a case must bring, and refusals returned instead of thrown.
#pragma once

#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "oracle/backend.h"

namespace leafproof::oracle {

/// The operand, or an Error that names it as absent.
template <class T>
const T& required(const std::optional<T>& operand, const Case& question, const char* argument) {
  if (!operand)
    throw Error(ErrorKind::InvalidArgument,
                {std::string(to_string(question.op)), argument, "absent", "must be given", {}, {}});
  return *operand;
}

/// from_ijk and from_points read lists; a view is a selection of members of a batch [T-9].
inline void refuse_view_of_lists(const Case& question) {
  if (question.view)
    throw Error(
        ErrorKind::InvalidArgument,
        {std::string(to_string(question.op)), "view", "given", "lists have no view", {}, {}});
}

/// What `answer()` returns or refuses with; memory that is not there is a refusal too [E-3].
template <class Function>
Answer answer_or_refusal(const Case& question, Function answer) {
  try {
    try {
      return answer();
    } catch (const Error& error) {
      return error;  // a copy, which takes memory as well
    }
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::OutOfMemory,
                 {std::string(to_string(question.op)), "result", "", "memory ran out", {}, {}});
  }
}

/// The answer to an operation that a backend does not know.
inline NotImplemented not_implemented(std::string_view backend, Op op) {
  return {std::string(backend) + " does not implement " + std::string(to_string(op))};
}

}  // namespace leafproof::oracle
