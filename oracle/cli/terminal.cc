// See terminal.h.
#include "oracle/cli/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>

#include <cstdlib>
#include <string>

#include "oracle/report_parts.h"

namespace leafproof::oracle::cli {

namespace {

/// fmt::print would throw where stderr is closed or full.
void print_talk(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

std::string plain(std::string_view text) {
  return printable(text);
}

void guard_standard_files() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

void say(std::string_view remark) {
  print_talk(fmt::format("leafproof: {}\n", printable(remark)));
}

int terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 120;
  return size.ws_col < 40 ? 120 : size.ws_col;
}

bool speaks_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

Progress::Progress(std::string_view what) : what_(what) {}

Progress::~Progress() {
  clear();
}

void Progress::clear() {
  if (on_ && shown_ >= 0) print_talk("\r\033[K");
  shown_ = -1;
}

void Progress::show(std::int64_t done, std::int64_t total) {
  const std::int64_t share = total > 0 ? done * 1000 / total : 1000;
  if (!on_ || share == shown_) return;
  shown_ = share;
  print_talk(fmt::format("\r\033[K{}: {} of {}", what_, done, total));
  std::fflush(stderr);
}

}  // namespace leafproof::oracle::cli
