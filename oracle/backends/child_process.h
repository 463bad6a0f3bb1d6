// A child process with its three standard streams in pipes, and a deadline for whatever is asked of
// it. No thread waits for it, no descriptor outlives it, and it leaves no zombie.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace leafproof::oracle {

using Deadline = std::chrono::steady_clock::time_point;

/// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  int release();
  void close();

 private:
  int fd_;
};

/// Starts processes from one thread of its own: a child is killed with the thread that started it
/// (so that none outlives this program, however it ends), and threads that ask may come and go.
class Starter {
 public:
  Starter();
  ~Starter();
  /// Runs `start` there and waits for it.
  void run(const std::function<void()>& start);

 private:
  std::mutex one_, mutex_;  // one caller at a time; of what follows
  std::condition_variable changed_;
  const std::function<void()>* task_ = nullptr;
  bool stop_ = false;
  std::thread thread_;
};

class ChildProcess {
 public:
  /// Runs `words`. Error(InvalidArgument) where it cannot be started: the system says why.
  ChildProcess(Starter& starter, const std::vector<std::string>& words);
  ~ChildProcess();  // closes its stdin, waits a second, then kills its group
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  enum class Got {
    Line,     // a line is in `line`
    Closed,   // its stdout has ended; what came before the end is in `line`
    Late,     // the deadline passed; what came until then is in `line`
    TooLong,  // more than `most` bytes without an end of line
  };
  /// Writes `text` and reads a line, without its end. What the child says on stderr is kept.
  Got ask(std::string_view text, std::string& line, std::size_t most, Deadline deadline);
  /// True where more than that line has come.
  bool has_more() const { return !unread_.empty(); }

  /// It is time to leave.
  void close_input() { in_.close(); }
  bool has_ended() const;

  /// Waits until it has ended, at most until `deadline`, then kills it. How it ended: "signal 11
  /// (Segmentation fault)", "exit code 3"; empty where it had to be killed.
  std::string end(Deadline deadline);

  /// The last lines of its stderr, at most `count`.
  std::vector<std::string> said(std::size_t count = 12);

 private:
  void start(const std::vector<std::string>& words);
  void listen();  // to what is there on stderr
  void take(int fd, std::string& text, Descriptor& from);

  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
  Descriptor in_, out_, err_;  // our ends
  std::string unread_, stderr_;
};

}  // namespace leafproof::oracle
