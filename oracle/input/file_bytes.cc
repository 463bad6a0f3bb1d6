// See file_bytes.h.
#include "oracle/input/file_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace leafproof::oracle {
namespace {

using reference::Error;
using reference::ErrorKind;

std::string system_reason(int code) {
  return std::generic_category().message(code);
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// Opens a regular file that has bytes; the size is that of the open file.
std::uint64_t open_regular(const FileTask& task, Descriptor& opened) {
  // Not blocking: a named pipe without a writer must be refused, not waited for.
  opened.fd = ::open(task.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened.fd < 0) {
    task.refuse(ErrorKind::InvalidArgument, "cannot be opened: " + system_reason(errno));
  }
  struct stat status{};
  if (::fstat(opened.fd, &status) != 0) {
    task.refuse(ErrorKind::InvalidArgument, "cannot be examined: " + system_reason(errno));
  }
  if (S_ISDIR(status.st_mode)) {
    task.refuse(ErrorKind::InvalidArgument, "is a directory, not a file");
  }
  if (!S_ISREG(status.st_mode)) {
    task.refuse(ErrorKind::InvalidArgument, "is not a regular file");
  }
  if (status.st_size == 0) {
    task.refuse(ErrorKind::InvalidArgument, "is empty (0 bytes)");
  }
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

void FileTask::refuse(ErrorKind kind, std::string reason, std::optional<std::int64_t> member,
                      std::optional<std::int64_t> row) const {
  throw Error(kind, {.operation = operation,
                     .argument = "file",
                     .value = file.string(),
                     .reason = std::move(reason),
                     .member = member,
                     .row = row});
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string result = "\"";
  for (const char c : text.substr(0, limit)) {
    const bool printable = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    result +=
        printable ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return result + (text.size() > limit ? "...\"" : "\"");
}

std::shared_ptr<std::byte[]> aligned_bytes(const FileTask& task, std::uint64_t size) {
  static constexpr std::align_val_t alignment{32};
  try {
    auto* bytes = static_cast<std::byte*>(::operator new(size, alignment));
    return {bytes, [](std::byte* p) { ::operator delete(p, alignment); }};
  } catch (const std::bad_alloc&) {
    task.refuse(ErrorKind::OutOfMemory, fmt::format("needs {} bytes of memory", size));
  }
}

void check_readable(const FileTask& task) {
  Descriptor opened;
  open_regular(task, opened);
}

FileBytes read_file(const FileTask& task) {
  Descriptor opened;
  const std::uint64_t size = open_regular(task, opened);
  FileBytes result{aligned_bytes(task, size), {}};
  std::uint64_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(opened.fd, result.owner.get() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      task.refuse(ErrorKind::InvalidArgument, "cannot be read: " + system_reason(errno));
    }
    if (got == 0) {
      task.refuse(ErrorKind::Corrupt,
                  fmt::format("ended after {} of {} bytes while it was read", done, size));
    }
    done += static_cast<std::uint64_t>(got);
  }
  result.bytes = {result.owner.get(), size};
  return result;
}

void Cursor::ends_early(std::uint64_t count, std::string_view what) const {
  task_.refuse(ErrorKind::Corrupt,
               fmt::format("ends early: {} takes {} bytes at byte {}, and {} are left", what, count,
                           position_, left()));
}

}  // namespace leafproof::oracle
