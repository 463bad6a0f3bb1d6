// One case judged as `verify` judges it: which profile an answer owes, and what a backend that
// throws is.
#pragma once

#include <exception>

#include "oracle/compare.h"

namespace leafproof::oracle {

/// What the author of a foreign answer asks to be judged by; none: what our own backends owe.
std::optional<Profile> profile_asked(const Answer& answer);

/// The verdict of compare() on an answer to `op`: a missing or an extra voxel breaks the clause of
/// the operation, clause_of(op).
Verdict of_operation(Op op, Verdict verdict);

/// A reference's answer, by which candidates are judged.
class Standard {
 public:
  /// Throws std::logic_error where the answer is neither a result nor a refusal: such a reference
  /// judges nothing.
  Standard(const Case& question, const Backend& reference);
  const Answer& answer() const { return answer_; }
  const Layout* layout() const { return std::get_if<Layout>(&answer_); }
  const Error* error() const { return std::get_if<Error>(&answer_); }

  /// A foreign answer is judged by what its author asks for. Else an answer that is a NanoVDB
  /// buffer owes `bytes` [G-9], a kernel map the order of its pairs [M-2], a layout `layout`.
  Verdict judge(const Answer& actual) const;

 private:
  Verdict compared(const Answer& actual) const;

  Answer answer_;
  Op op_;
  bool about_maps_;  // the operation says what maps become [G-9]
};

/// The verdict of a backend that threw instead of answering.
Verdict verdict_of_exception(const std::exception& error);

/// Asks the candidate and judges. What it throws is a verdict.
Verdict judge(const Standard& standard, const Case& question, const Backend& backend);

/// Asks both and judges. What the reference throws is thrown on; what the backend throws is a
/// verdict.
Verdict judge(const Case& question, const Backend& reference, const Backend& backend);

}  // namespace leafproof::oracle
