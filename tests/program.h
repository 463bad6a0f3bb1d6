// The program `leafproof`, run as a person runs it: what it prints on stdout and stderr, and how it
// ends.
#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace leafproof::tests {

using Strings = std::vector<std::string>;

struct Result {
  int code = -1;  // exit code; 128 + n when killed by signal n
  std::string out, err;
};

/// Runs the program with stdout and stderr in pipes.
inline Result run(const Strings& arguments) {
  std::array<int, 2> out{}, err{};
  if (pipe(out.data()) != 0 || pipe(err.data()) != 0) throw std::runtime_error("pipe");
  Strings words{LEAFPROOF_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    for (const int fd : {out[0], out[1], err[0], err[1]}) close(fd);
    execv(LEAFPROOF_PROGRAM, argv.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  Result result;
  std::array<pollfd, 2> ends{{{out[0], POLLIN, 0}, {err[0], POLLIN, 0}}};
  for (int open = 2; open > 0;) {
    poll(ends.data(), ends.size(), -1);
    for (std::size_t i = 0; i < 2; ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      std::array<char, 4096> buffer{};
      const ssize_t size = read(ends[i].fd, buffer.data(), buffer.size());
      if (size > 0) {
        (i == 0 ? result.out : result.err).append(buffer.data(), static_cast<std::size_t>(size));
      } else {
        close(ends[i].fd);
        ends[i].fd = -1;
        --open;
      }
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace leafproof::tests
