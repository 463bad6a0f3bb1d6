// The one error that the builder refuses with [E-1]: kind, operation, argument, value, member, row.
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace leafproof::gpu {

enum class ErrorKind {  // [E-3]
  InvalidArgument,
  ShapeMismatch,
  OutOfRange,
  CapacityExceeded,
  OutOfMemory,
  Unsupported,
  Corrupt,
};

std::string_view to_string(ErrorKind kind);

class Error : public std::runtime_error {
 public:
  /// `operation` "refine", `argument` "factor", `value` "0", `reason` "must be at least 1".
  Error(ErrorKind kind, std::string operation, std::string argument, std::string value,
        std::string reason, std::optional<std::int64_t> member = {},
        std::optional<std::int64_t> row = {});

  ErrorKind kind() const { return kind_; }
  const std::string& operation() const { return operation_; }
  const std::string& argument() const { return argument_; }
  const std::string& value() const { return value_; }
  const std::string& reason() const { return reason_; }
  std::optional<std::int64_t> member() const { return member_; }  // position in the batch or view
  std::optional<std::int64_t> row() const { return row_; }        // [T-10]

 private:
  ErrorKind kind_;
  std::string operation_, argument_, value_, reason_;
  std::optional<std::int64_t> member_, row_;
};

/// What `call` returns. Where the C++ library has no memory left that is a refusal like any other
/// [E-3], and what was changed until then is as it was.
template <class Call>
auto or_out_of_memory(const char* operation, const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::OutOfMemory, operation, "memory", "", "there is none left");
  }
}

}  // namespace leafproof::gpu
