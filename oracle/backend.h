// What is judged: anything that answers a Case. An answer is a layout (the references), a NanoVDB
// buffer (the batched builder, files from outside), a refusal, or "not implemented".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oracle/case.h"
#include "reference/error.h"
#include "reference/layout.h"

namespace leafproof::oracle {

using reference::Error;
using reference::ErrorDetail;
using reference::ErrorKind;
using reference::Layout;

/// A batch as NanoVDB grids in one buffer [G-6]; `owner` keeps `bytes` alive. 32-byte aligned.
/// `offsets` (B+1) says where each grid begins, and where the last ends; nothing in the bytes has
/// been checked.
struct GridBuffer {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  std::vector<std::uint64_t> offsets{0};
};

struct NotImplemented {
  std::string reason;
};

/// The maps alone, for Op::MapAfter.
struct Maps {
  std::vector<Map> maps;
};

using Answer = std::variant<Layout, GridBuffer, Maps, Error, NotImplemented>;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // "reference", "brute_force", "host", ...
  /// One line for people: what it is.
  virtual std::string_view description() const = 0;
  /// Refusals are returned as an Error, not thrown. Safe from several threads at once.
  virtual Answer answer(const Case& question) const = 0;
};

/// Names of all backends of this build, in the order of --help.
std::vector<std::string> backend_names();

/// Error(InvalidArgument, argument "backend") when there is none of that name.
std::unique_ptr<Backend> make_backend(std::string_view name);

}  // namespace leafproof::oracle
