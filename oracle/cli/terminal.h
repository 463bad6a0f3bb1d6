// Talk to the person: progress and remarks on stderr, answers on stdout.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

namespace leafproof::oracle::cli {

/// A remark, on stderr.
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
