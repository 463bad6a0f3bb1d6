// See isolated.h.
#include "oracle/input/isolated.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <new>
#include <string>
#include <system_error>

namespace leafproof::oracle {
namespace {

using reference::Error;
using reference::ErrorKind;

constexpr rlim_t memory_limit = rlim_t{8} << 30;  // beyond what the process holds at the fork
constexpr rlim_t seconds_limit = 600;
constexpr std::size_t reason_limit =
    2000;  // fits any pipe, so that the child never waits to say it

void write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) ::_exit(1);  // the parent is gone
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

std::vector<std::byte> read_all(int fd) {
  std::vector<std::byte> bytes;
  std::size_t filled = 0;
  for (;;) {
    if (filled == bytes.size())
      bytes.resize(std::max<std::size_t>(std::size_t{1} << 16, 2 * filled));
    const ssize_t got = ::read(fd, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

// Data pages that this process has mapped already: the limit counts from there.
rlim_t mapped_data() {
  std::ifstream statm("/proc/self/statm");
  unsigned long long size = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;
  statm >> size >> resident >> shared >> text >> library >> data;
  return static_cast<rlim_t>(data) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void limit(int resource, rlim_t value) {
  struct rlimit current{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &current) != 0) return;
  current.rlim_cur = std::min(value, current.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &current);
}

[[noreturn]] void child(int data_fd, int reason_fd, rlim_t data_limit,
                        const std::function<void(Outlet&)>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // Ctrl-C on the parent leaves no orphan
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
    ::signal(number, SIG_DFL);  // the parent's handlers own the parent's files
  }
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_DATA, data_limit);
  limit(RLIMIT_CPU, seconds_limit);
  if (const int nowhere = ::open("/dev/null", O_WRONLY); nowhere >= 0) {
    ::dup2(nowhere, STDOUT_FILENO);  // the libraries talk
    ::dup2(nowhere, STDERR_FILENO);
  }
  const auto say = [reason_fd](ErrorKind kind, std::string_view reason) {
    const auto code = static_cast<std::byte>(kind);
    write_all(reason_fd, {&code, 1});
    write_all(reason_fd, std::as_bytes(std::span(reason.substr(0, reason_limit))));
    ::_exit(1);
  };
  try {
    Outlet outlet(data_fd);
    work(outlet);
    outlet.flush();
  } catch (const Error& error) {
    say(error.kind(), error.detail().reason);
  } catch (const std::bad_alloc&) {
    say(ErrorKind::OutOfMemory, "takes more than 8 GiB of memory to read");
  } catch (const std::exception& error) {
    say(ErrorKind::Corrupt, error.what());
  } catch (...) {
    say(ErrorKind::Corrupt, "cannot be read");
  }
  ::_exit(0);  // no destructors, no exit handlers: they are the parent's
}

struct Pipe {
  int ends[2] = {-1, -1};
  bool open() { return ::pipe2(ends, O_CLOEXEC) == 0; }
  void close(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  ~Pipe() {
    close(0);
    close(1);
  }
};

}  // namespace

void Outlet::put(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > capacity) flush();
  if (bytes.size() > capacity) {
    write_all(fd_, bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void Outlet::put_text(std::string_view text) {
  put_value(std::uint64_t{text.size()});
  put(std::as_bytes(std::span(text)));
}

void Outlet::flush() {
  write_all(fd_, buffer_);
  buffer_.clear();
}

std::vector<std::byte> run_isolated(const FileTask& task, std::string_view library,
                                    const std::function<void(Outlet&)>& work) {
  const auto no_process = [&](const char* what) {
    task.refuse(ErrorKind::OutOfMemory, fmt::format("cannot be read: {}: {}", what,
                                                    std::generic_category().message(errno)));
  };
  const rlim_t data_limit = mapped_data() + memory_limit;
  Pipe data, reason;
  if (!data.open() || !reason.open()) no_process("no pipe to a child process");
  const pid_t pid = ::fork();
  if (pid < 0) no_process("no child process");
  if (pid == 0) child(data.ends[1], reason.ends[1], data_limit, work);
  data.close(1);
  reason.close(1);

  std::vector<std::byte> bytes = read_all(data.ends[0]);
  const std::vector<std::byte> said = read_all(reason.ends[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!said.empty()) {
    const auto kind = std::min(static_cast<ErrorKind>(said[0]), ErrorKind::Corrupt);
    task.refuse(kind, std::string(as_text(std::span(said).subspan(1))));
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    task.refuse(ErrorKind::CapacityExceeded,
                fmt::format("{} took more than {} seconds", library, seconds_limit));
  }
  if (WIFSIGNALED(status)) {
    task.refuse(ErrorKind::Corrupt, fmt::format("{} crashed on it (signal {}: {})", library,
                                                WTERMSIG(status), ::strsignal(WTERMSIG(status))));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    task.refuse(ErrorKind::Corrupt, fmt::format("{} failed on it", library));
  }
  return bytes;
}

}  // namespace leafproof::oracle
