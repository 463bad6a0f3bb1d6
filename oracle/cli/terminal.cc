// See terminal.h.
#include "oracle/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <cstdlib>
#include <string>

namespace leafproof::oracle::cli {

void say(std::string_view remark) {
  fmt::print(stderr, "leafproof: {}\n", remark);
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
  if (on_ && shown_ >= 0) fmt::print(stderr, "\r\033[K");
  shown_ = -1;
}

void Progress::show(std::int64_t done, std::int64_t total) {
  const std::int64_t share = total > 0 ? done * 1000 / total : 1000;
  if (!on_ || share == shown_) return;
  shown_ = share;
  fmt::print(stderr, "\r\033[K{}: {} of {}", what_, done, total);
  std::fflush(stderr);
}

}  // namespace leafproof::oracle::cli
