// See child_process.h.
#include "oracle/backends/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "reference/error.h"

namespace leafproof::oracle {
namespace {

using reference::Error;
using reference::ErrorKind;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kKept = std::size_t{1} << 16;  // bytes of stderr

[[noreturn]] void fail(const std::string& what, const std::string& command, int code) {
  throw Error(ErrorKind::InvalidArgument,
              {.operation = "start a backend",
               .argument = "backend",
               .value = command,
               .reason = fmt::format("{}: {}", what, std::generic_category().message(code)),
               .member = {},
               .row = {}});
}

struct Pipe {
  Descriptor read, write;
  explicit Pipe(const std::string& command) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail("no pipe to it", command, errno);
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
};

/// A write to a child that is gone is an error here, not a signal.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec now{};
    if (::sigismember(&before_, SIGPIPE) == 0)
      while (::sigtimedwait(&pipe_, nullptr, &now) > 0) {
      }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_, before_;
};

/// Between fork and exec: nothing but system calls.
[[noreturn]] void become(char* const* words, const std::array<int, 3>& streams, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);  // so that it is killed with whatever it started
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Ours are beyond the standard ones (the program opens those at its start).
  for (int fd = 0; fd < 3; ++fd) ::dup2(streams[static_cast<std::size_t>(fd)], fd);
  ::execvp(words[0], words);
  const int code = errno;
  [[maybe_unused]] const ssize_t sent = ::write(report, &code, sizeof code);
  ::_exit(127);
}

int milliseconds_until(Deadline deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left + 1, 0, 1 << 30));
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

int Descriptor::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Starter::Starter() {
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stop_ || task_ != nullptr; });
      if (stop_) return;
      (*task_)();
      task_ = nullptr;
      changed_.notify_all();
    }
  });
}

Starter::~Starter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Starter::run(const std::function<void()>& start) {
  const std::lock_guard one(one_);
  std::unique_lock lock(mutex_);
  task_ = &start;
  changed_.notify_all();
  changed_.wait(lock, [&] { return task_ == nullptr; });
}

ChildProcess::ChildProcess(Starter& starter, const std::vector<std::string>& words) {
  std::exception_ptr failed;
  starter.run([&] {
    try {
      start(words);
    } catch (...) {
      failed = std::current_exception();
    }
  });
  if (failed) std::rethrow_exception(failed);
}

void ChildProcess::start(const std::vector<std::string>& words) {
  std::vector<std::string> texts = words;
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);

  Pipe in(words[0]), out(words[0]), err(words[0]), report(words[0]);
  pid_ = ::fork();
  if (pid_ < 0) fail("no process for it", words[0], errno);
  if (pid_ == 0)
    become(arguments.data(), {in.read.get(), out.write.get(), err.write.get()}, report.write.get());
  ::setpgid(pid_, pid_);  // whoever of the two is first
  report.write.close();
  int code = 0;
  ssize_t got = 0;
  while ((got = ::read(report.read.get(), &code, sizeof code)) < 0 && errno == EINTR) {
  }
  if (got == sizeof code) {
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    ended_ = true;
    fail("cannot be started", words[0], code);
  }
  in_ = std::move(in.write);
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  for (const Descriptor* end : {&in_, &out_, &err_})
    ::fcntl(end->get(), F_SETFL, ::fcntl(end->get(), F_GETFL) | O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  if (pid_ < 0) return;
  in_.close();
  end(Clock::now() + std::chrono::seconds(1));
}

ChildProcess::Got ChildProcess::ask(std::string_view text, std::string& line, std::size_t most,
                                    Deadline deadline) {
  const WithoutSigpipe guard;
  std::size_t searched = 0;
  const auto take_rest = [&] {
    line = std::move(unread_);
    unread_.clear();
  };
  for (;;) {
    if (const std::size_t at = unread_.find('\n', searched); at != unread_.npos) {
      line = unread_.substr(0, at);
      unread_.erase(0, at + 1);
      return Got::Line;
    }
    searched = unread_.size();
    if (unread_.size() > most) return take_rest(), Got::TooLong;
    if (out_.get() < 0) return take_rest(), Got::Closed;
    const int left = milliseconds_until(deadline);
    if (left <= 0) return take_rest(), Got::Late;

    std::array<pollfd, 3> ends{{{out_.get(), POLLIN, 0},
                                {err_.get(), POLLIN, 0},
                                {text.empty() ? -1 : in_.get(), POLLOUT, 0}}};
    if (::poll(ends.data(), ends.size(), left) < 0 && errno != EINTR) return take_rest(), Got::Late;
    if (ends[1].revents != 0) listen();
    if (ends[0].revents != 0) take(out_.get(), unread_, out_);
    if (ends[2].revents != 0) {
      const ssize_t done = ::write(in_.get(), text.data(), text.size());
      if (done > 0) {
        text.remove_prefix(static_cast<std::size_t>(done));
      } else if (errno != EAGAIN && errno != EINTR) {
        text = {};  // it reads no more; its stdout says the rest
        in_.close();
      }
    }
  }
}

void ChildProcess::take(int fd, std::string& text, Descriptor& from) {
  std::array<char, std::size_t{1} << 16> bytes;
  const ssize_t got = ::read(fd, bytes.data(), bytes.size());
  if (got > 0)
    text.append(bytes.data(), static_cast<std::size_t>(got));
  else if (got == 0 || (errno != EAGAIN && errno != EINTR))
    from.close();
}

void ChildProcess::listen() {
  take(err_.get(), stderr_, err_);
  if (stderr_.size() > 2 * kKept) stderr_.erase(0, stderr_.size() - kKept);
}

bool ChildProcess::has_ended() const {
  siginfo_t gone{};
  const int waited = ::waitid(P_PID, static_cast<id_t>(pid_), &gone, WEXITED | WNOHANG | WNOWAIT);
  return waited == 0 && gone.si_pid != 0;
}

std::string ChildProcess::end(Deadline deadline) {
  bool itself = false;
  while (!ended_) {
    itself = has_ended();
    if (itself) break;
    const int left = milliseconds_until(deadline);
    if (left <= 0) break;
    std::array<pollfd, 1> ends{{{err_.get(), POLLIN, 0}}};  // it must not block on its stderr
    ::poll(ends.data(), ends.size(), std::min(left, 5));
    if (ends[0].revents != 0) listen();
  }
  if (!ended_) {
    ::kill(-pid_, SIGKILL);  // whatever it started as well; before its id may be another's
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    ended_ = true;
  }
  while (err_.get() >= 0) {  // what it said last is in the pipe
    std::array<pollfd, 1> ends{{{err_.get(), POLLIN, 0}}};
    if (::poll(ends.data(), ends.size(), 0) <= 0) break;
    listen();
  }
  in_.close();
  out_.close();
  err_.close();
  if (!itself) return {};
  if (WIFSIGNALED(status_))
    return fmt::format("signal {} ({})", WTERMSIG(status_), ::strsignal(WTERMSIG(status_)));
  return fmt::format("exit code {}", WEXITSTATUS(status_));
}

std::vector<std::string> ChildProcess::said(std::size_t count) {
  std::vector<std::string> lines;
  std::string_view rest = stderr_;
  while (!rest.empty()) {
    const std::size_t at = rest.find('\n');
    if (at != 0) lines.emplace_back(rest.substr(0, std::min<std::size_t>(at, 400)));
    rest.remove_prefix(at == rest.npos ? rest.size() : at + 1);
  }
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<long>(count));
  return lines;
}

}  // namespace leafproof::oracle
