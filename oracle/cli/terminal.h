// Talk to the person: progress and remarks on stderr, answers on stdout.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace leafproof::oracle::cli {

/// "1 voxel", "2 voxels"; with a plural of its own "1 leaf", "2 leaves".
std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {});

/// A file name or other text from outside as it may be printed: valid UTF-8, control characters
/// escaped.
std::string plain(std::string_view text);

/// Opens /dev/null on those of stdin, stdout and stderr that are closed, so that no file of ours
/// gets their number and takes what is printed. Writing to a closed stdout stays an error.
void guard_standard_files();

/// A remark, one line on stderr whatever is in it; lost when nobody listens.
void say(std::string_view remark);

/// The columns of the terminal on stdout; 120 when it is a file or a pipe.
int terminal_width();

/// True when the locale is UTF-8, so that block characters can be printed.
bool speaks_utf8();

/// One line that is overwritten, on a terminal only; gone when the object is.
class Progress {
 public:
  explicit Progress(std::string_view what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(std::int64_t done, std::int64_t total);
  void clear();

 private:
  std::string_view what_;
  bool on_ = isatty(STDERR_FILENO) != 0;
  std::int64_t shown_ = -1;  // per mille
};

}  // namespace leafproof::oracle::cli
