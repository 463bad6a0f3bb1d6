// The sentence that a refusal says [E-1].
#include "reference/error.h"

#include <utility>

namespace leafproof::reference {
namespace {

std::string sentence(ErrorKind kind, const ErrorDetail& detail) {
  std::string text =
      detail.operation + ": " + std::string(to_string(kind)) + ": " + detail.argument;
  if (!detail.value.empty()) text += " = " + detail.value;
  if (!detail.reason.empty()) text += ": " + detail.reason;
  if (detail.member) {
    text += " (member " + std::to_string(*detail.member);
    if (detail.row) text += ", row " + std::to_string(*detail.row);
    text += ")";
  } else if (detail.row) {
    text += " (row " + std::to_string(*detail.row) + ")";
  }
  return text;
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
  return "unknown kind";
}

Error::Error(ErrorKind kind, ErrorDetail detail)
    : std::runtime_error(sentence(kind, detail)), kind_(kind), detail_(std::move(detail)) {}

}  // namespace leafproof::reference
