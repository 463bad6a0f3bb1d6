// Lockstep: a line out, a line in, the next. Whatever else happens has a name.
#include "oracle/backends/process_backend.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wordexp.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <mutex>

#include "oracle/answer_text.h"
#include "oracle/backends/child_process.h"
#include "oracle/case_text.h"

namespace leafproof::oracle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestReply = std::size_t{1} << 30;
constexpr double kSlowest = 1e6;  // bytes of a case a second, with its answer, for our own server
constexpr std::size_t kShown = 200;  // characters of a reply in a verdict

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(count, 1e6)));
}

bool is_program(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

bool is_in_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  for (;;) {
    const std::size_t at = rest.find(':');
    const std::string_view folder = rest.substr(0, at);
    if (is_program(fmt::format("{}/{}", folder.empty() ? "." : folder, name))) return true;
    if (at == rest.npos) return false;
    rest.remove_prefix(at + 1);
  }
}

class ProcessBackend : public Backend {
 public:
  ProcessBackend(std::string name, std::vector<std::string> words, ForeignOptions options,
                 std::string description, bool ends_with_a_fault)
      : name_(std::move(name)),
        description_(std::move(description)),
        ends_with_a_fault_(ends_with_a_fault),
        words_(std::move(words)),
        options_(std::move(options)),
        start_(options_.start) {}
  ~ProcessBackend() override {
    for (const auto& child : idle_) child->close_input();  // they leave together
  }

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return description_; }

  Answer answer(const Case& question) const override {
    const std::uint64_t number = ++asked_;
    const std::string line = fmt::format("{} {}\n", number, write_case_text(question));
    Conversation with;
    try {
      with = take();
    } catch (const Error& error) {
      return Failed{error.what(), {}, false};
    }
    if (!with.fresh && with.child->has_ended()) {
      Failed before = ended(*with.child);
      before.fault = "before it was asked, while it waited for a case: " + before.fault;
      return before;
    }
    const auto begin = Clock::now();
    const double more = with.fresh ? start_.load() : 0;
    // The server of a library is our own: what it takes to read and write lines is no time of the
    // library's.
    const double limit =
        options_.limit +
        (ends_with_a_fault_ ? std::floor(static_cast<double>(line.size()) / kSlowest) : 0);
    std::string reply;
    const auto got = with.child->ask(line, reply, kLongestReply, begin + seconds(limit + more));
    if (got != ChildProcess::Got::Line) return failed(*with.child, got, reply, limit, more);
    if (with.child->has_more())
      return stop(*with.child, "more than one line in reply to one case", reply);
    if (with.fresh) {
      const double took = std::chrono::duration<double>(Clock::now() - begin).count();
      start_ = std::min(options_.start, 5 + 2 * took);
    }
    return read(number, reply, question, std::move(with));
  }

 private:
  struct Conversation {
    std::unique_ptr<ChildProcess> child;
    bool fresh = false;
  };

  /// A process that waits for a case.
  Conversation take() const {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Conversation with{std::move(idle_.back()), false};
        idle_.pop_back();
        return with;
      }
    }
    return {std::make_unique<ChildProcess>(starter_, words_), true};
  }

  Answer read(std::uint64_t number, std::string_view reply, const Case& question,
              Conversation with) const {
    const std::string_view whole = reply;
    std::uint64_t replied = 0;
    const auto [stop_at, wrong] =
        std::from_chars(reply.data(), reply.data() + reply.size(), replied);
    if (wrong != std::errc{})
      return stop(*with.child, "a reply that does not begin with the number of its case", whole);
    if (replied != number)
      return stop(*with.child,
                  fmt::format("the reply to case {} where {} was asked", replied, number), whole);
    reply.remove_prefix(static_cast<std::size_t>(stop_at - reply.data()));
    try {
      Answer answer = read_answer_text(reply, question, options_.files);
      auto* const failed = std::get_if<Failed>(&answer);
      if (failed != nullptr && ends_with_a_fault_) {
        with.child->close_input();
        with.child->end(Clock::now() + std::chrono::seconds(1));
        failed->lines = said(*with.child, {});
        return answer;
      }
      if (failed != nullptr) failed->lines = said(*with.child, {});
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(with.child));
      return answer;
    } catch (const Error& error) {
      return stop(*with.child, fmt::format("a malformed reply: {}", error.what()), whole);
    }
  }

  /// What came instead of a line.
  Failed failed(ChildProcess& child, ChildProcess::Got got, const std::string& reply, double limit,
                double more) const {
    const std::string part = reply.empty() ? ""
                                           : fmt::format(
                                                 "; {} bytes of a reply without an "
                                                 "end of line came before",
                                                 reply.size());
    if (got == ChildProcess::Got::Late) {
      Failed late =
          stop(child,
               fmt::format("no answer within {:g} s{}{}", limit,
                           more > 0 ? fmt::format(" and {:g} s to start", more) : "", part),
               reply);
      late.hung = true;
      // Who needed more once is not given all of it again, case after case.
      if (more > 0) start_ = std::min(start_.load(), 10.0);
      return late;
    }
    if (got == ChildProcess::Got::TooLong)
      return stop(child, fmt::format("a reply of more than {} bytes", kLongestReply), reply);
    Failed fault = ended(child, reply);
    fault.fault += part;
    return fault;
  }

  /// How it ended.
  static Failed ended(ChildProcess& child, std::string_view reply = {}) {
    const std::string how = child.end(Clock::now() + std::chrono::seconds(1));
    const bool crash = how.starts_with("signal ");
    std::string fault = how.empty() ? "its stdout closed, but it did not end"
                        : crash     ? "a crash: " + how
                                    : "an end instead of an answer: " + how;
    return {std::move(fault), said(child, reply), false};
  }

  static Failed stop(ChildProcess& child, std::string fault, std::string_view reply) {
    child.end(Clock::now());
    return {std::move(fault), said(child, reply), false};
  }

  /// What shows the fault: the reply, and what it said on stderr.
  static std::vector<std::string> said(ChildProcess& child, std::string_view reply) {
    std::vector<std::string> lines;
    if (!reply.empty())
      lines.push_back(
          fmt::format("reply: {}{}", reply.substr(0, kShown), reply.size() > kShown ? "..." : ""));
    for (const std::string& line : child.said()) lines.push_back("stderr: " + line);
    return lines;
  }

  std::string name_, description_;
  bool ends_with_a_fault_;
  std::vector<std::string> words_;
  ForeignOptions options_;
  mutable std::atomic<double> start_;  // seconds that a new process has more for its first case
  mutable std::atomic<std::uint64_t> asked_{0};
  mutable Starter starter_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::vector<std::unique_ptr<ChildProcess>> idle_;
};

}  // namespace

std::optional<std::vector<std::string>> command_words(const std::string& command) {
  wordexp_t expanded{};
  const int failed = ::wordexp(command.c_str(), &expanded, WRDE_NOCMD | WRDE_UNDEF);
  std::vector<std::string> words;
  if (failed == 0) words.assign(expanded.we_wordv, expanded.we_wordv + expanded.we_wordc);
  if (failed == 0 || failed == WRDE_NOSPACE) ::wordfree(&expanded);
  if (words.empty()) return {};
  const bool there =
      words[0].find('/') != std::string::npos ? is_program(words[0]) : is_in_path(words[0]);
  if (!there) return {};
  return words;
}

std::unique_ptr<Backend> make_process_backend(std::string name, std::vector<std::string> words,
                                              ForeignOptions options) {
  return std::make_unique<ProcessBackend>(std::move(name), std::move(words), std::move(options),
                                          "another program, asked line by line", false);
}

std::unique_ptr<Backend> make_library_server(std::string name, std::vector<std::string> words,
                                             ForeignOptions options, std::string description) {
  return std::make_unique<ProcessBackend>(std::move(name), std::move(words), std::move(options),
                                          std::move(description), true);
}

}  // namespace leafproof::oracle
