#include "gpu/error.h"

#include <utility>

namespace leafproof::gpu {
namespace {

std::string sentence(ErrorKind kind, const std::string& operation, const std::string& argument,
                     const std::string& value, const std::string& reason,
                     std::optional<std::int64_t> member, std::optional<std::int64_t> row) {
  std::string text(to_string(kind));
  text += ": " + operation + ": " + argument;
  if (!value.empty()) text += " = " + value;
  if (member) text += ", member " + std::to_string(*member);
  if (row) text += ", row " + std::to_string(*row);
  return text + ": " + reason;
}

}  // namespace

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::InvalidArgument:
      return "InvalidArgument";
    case ErrorKind::ShapeMismatch:
      return "ShapeMismatch";
    case ErrorKind::OutOfRange:
      return "OutOfRange";
    case ErrorKind::CapacityExceeded:
      return "CapacityExceeded";
    case ErrorKind::OutOfMemory:
      return "OutOfMemory";
    case ErrorKind::Unsupported:
      return "Unsupported";
    case ErrorKind::Corrupt:
      return "Corrupt";
  }
  return "?";
}

Error::Error(ErrorKind kind, std::string operation, std::string argument, std::string value,
             std::string reason, std::optional<std::int64_t> member,
             std::optional<std::int64_t> row)
    : std::runtime_error(sentence(kind, operation, argument, value, reason, member, row)),
      kind_(kind),
      operation_(std::move(operation)),
      argument_(std::move(argument)),
      value_(std::move(value)),
      reason_(std::move(reason)),
      member_(member),
      row_(row) {}

}  // namespace leafproof::gpu
