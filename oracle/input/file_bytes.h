// Bytes from outside, and the only two ways to touch them: a whole file in aligned memory, and a
// cursor that checks every step against the end. Also the one way in which this room refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "oracle/out_of_memory.h"
#include "reference/error.h"

namespace leafproof::oracle {

/// The file that is read or written, and for what: "read .nvdb".
struct FileTask {
  std::string operation;
  std::filesystem::path file;

  /// Throws the Error that names the file [E-1]: operation, argument "file", value the path, and
  /// what is wrong in it.
  [[noreturn]] void refuse(reference::ErrorKind kind, std::string reason,
                           std::optional<std::int64_t> member = {},
                           std::optional<std::int64_t> row = {}) const;
};

/// What `call` returns; std::bad_alloc becomes the task's refusal(OutOfMemory).
template <class Call>
auto or_out_of_memory(const FileTask& task, const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    task.refuse(reference::ErrorKind::OutOfMemory, "takes more memory than there is");
  }
}

/// What `call` returns of a task made of these; std::bad_alloc is Error(OutOfMemory).
template <class Call>
auto for_file(const char* operation, const std::filesystem::path& file, const Call& call) {
  return or_out_of_memory(operation, "file", [&] {
    const FileTask task{operation, file};
    return or_out_of_memory(task, [&] { return call(task); });
  });
}

/// Memory aligned to 32 bytes, as NanoVDB asks of its grids; uninitialised. Error(OutOfMemory) with
/// the size when there is none.
std::shared_ptr<std::byte[]> aligned_bytes(const FileTask& task, std::uint64_t size);

/// Refuses (InvalidArgument) what is not a regular file, cannot be opened, or is empty, saying
/// which.
void check_readable(const FileTask& task);

struct FileBytes {
  std::shared_ptr<std::byte[]> owner;  // 32-byte aligned
  std::span<const std::byte> bytes;
};

/// The whole file. Errors: as check_readable; Corrupt when it ends before its own size.
FileBytes read_file(const FileTask& task);

/// Text from outside for a message: quoted, cut to `limit` characters, nothing unprintable.
std::string printable(std::string_view text, std::size_t limit = 60);

/// `bytes` as characters.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Walks over untrusted bytes; a step past the end is Error(Corrupt) that names the file, the byte
/// and what was expected there.
class Cursor {
 public:
  Cursor(const FileTask& task, std::span<const std::byte> bytes) : task_(task), bytes_(bytes) {}

  std::uint64_t position() const { return position_; }
  std::uint64_t left() const { return bytes_.size() - position_; }

  /// The next `count` bytes.
  std::span<const std::byte> take(std::uint64_t count, std::string_view what) {
    if (count > left()) ends_early(count, what);
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }

  /// The next trivially copyable value, in the byte order of this machine.
  template <class T>
  T get(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

 private:
  [[noreturn]] void ends_early(std::uint64_t count, std::string_view what) const;

  const FileTask& task_;
  std::span<const std::byte> bytes_;
  std::uint64_t position_ = 0;
};

}  // namespace leafproof::oracle
