// Output files that are whole or absent: written under a temporary name in the same folder, synced,
// then renamed. A failure, SIGINT (Ctrl-C), SIGQUIT, SIGTERM or SIGHUP before that removes the
// temporary file. Used for every file that the oracle writes: grids, voxel lists, reports.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "oracle/input/file_bytes.h"

namespace leafproof::oracle {

/// One output file. If the target exists and is no regular file (/dev/null, a pipe) the bytes go
/// straight to it; a symbolic link is followed, so that the link stays and its target is replaced.
/// Errors, all naming the target: InvalidArgument when it cannot be made or is a directory;
/// CapacityExceeded when the disk is full or
/// the file larger than its limit (SIGXFSZ is ignored from the first file on). Not for several
/// threads at once (several files are).
class AtomicFile {
 public:
  explicit AtomicFile(FileTask target);
  ~AtomicFile();  // removes what was not committed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  /// Syncs and renames; nothing may be written afterwards.
  void commit();

 private:
  [[noreturn]] void fail(const char* what, int code);
  void abandon();

  FileTask target_;
  std::filesystem::path temporary_;  // empty for a direct target
  int fd_ = -1;
  int slot_ = -1;  // in the table that the signal handler reads
};

/// The whole of a small output at once.
void write_file(const FileTask& target, std::string_view text);

/// Unlinks the temporary files of this process. Async-signal-safe: for programs that handle SIGINT
/// or SIGTERM themselves. (AtomicFile installs a handler only where there is none.)
void remove_temporary_files() noexcept;

}  // namespace leafproof::oracle
