// The one error that the reference and the oracle refuse with: what was asked, which argument,
// which value, and where it applies the member and the row [E-1]. Kinds are those of [E-3].
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace leafproof::reference {

enum class ErrorKind {
  InvalidArgument,   // a value that no input makes right
  ShapeMismatch,     // B, mask or list lengths that do not fit each other
  OutOfRange,        // a true result outside the lattice [L-5]
  CapacityExceeded,  // a count that a structure or a stated budget cannot hold [L-6]
  OutOfMemory,
  Unsupported,  // legal, but beyond a stated limit [T-11]
  Corrupt,      // outside data that contradicts itself [E-2]
};

/// The name that vectors and reports use, e.g. "OutOfRange".
std::string_view to_string(ErrorKind kind);

/// What is refused. `member` counts from 0 in the batch (or view); `row` is a canonical row of the
/// batch, or for `from_...` the index in the member's list [T-10].
struct ErrorDetail {
  std::string operation;  // "refine", "read .nvdb", ...
  std::string argument;   // "factor", "lo", "mask", "file", ...
  std::string value;      // the offending value, as text
  std::string reason;     // one clause: what would have been right
  std::optional<std::int64_t> member;
  std::optional<std::int64_t> row;
};

/// `what()` is one sentence made of the kind and the detail.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, ErrorDetail detail);
  ErrorKind kind() const { return kind_; }
  const ErrorDetail& detail() const { return detail_; }

 private:
  ErrorKind kind_;
  ErrorDetail detail_;
};

}  // namespace leafproof::reference
