// `leafproof serve`: a backend of ours, or a shared library, at the middle of the pipe of
// docs/answer-format.md. What a library prints, reads or breaks does not get into that pipe.
// `leafproof about`: what a library says that it does.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "oracle/answer_text.h"
#include "oracle/backends/child_process.h"
#include "oracle/backends/guarded_memory.h"
#include "oracle/backends/library.h"
#include "oracle/backends/library_question.h"
#include "oracle/case_text.h"
#include "oracle/cli/commands.h"
#include "oracle/cli/terminal.h"
#include "oracle/generate.h"
#include "oracle/report_parts.h"
#include "oracle/text_fields.h"

namespace leafproof::oracle::cli {
namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

/// The two ends of the pipe, moved away from where a library would find them: what it prints goes
/// to stderr, and what it reads is nothing.
struct Ends {
  std::FILE* questions;
  int answers;

  Ends() {
    const int in = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    questions = ::fdopen(in, "r");
    answers = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(nothing.get(), STDIN_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  ~Ends() {
    if (questions != nullptr) std::fclose(questions);
    if (answers >= 0) ::close(answers);
    std::free(line_);
  }

  /// A line of any length, without its end; false where there is none.
  bool read(std::string& line) {
    const ssize_t length = questions == nullptr ? -1 : ::getline(&line_, &room_, questions);
    if (length < 0) return false;
    line.assign(line_, static_cast<std::size_t>(length));
    if (line.back() == '\n') line.pop_back();
    return true;
  }

 private:
  char* line_ = nullptr;
  std::size_t room_ = 0;
};

// Of the answer that is awaited, for the signal handler.
std::atomic<std::uint64_t> asked{0};
std::atomic<int> answer_to{-1};

/// A library touched a wall: that is the answer, and the end of this process.
void answer_of_walls(const char* sentence) {
  std::array<char, 1200> line;
  std::size_t length = 0;
  const auto put = [&](char c) {
    if (length < line.size()) line[length++] = c;
  };
  const auto text = [&](const char* words) {
    for (; *words != '\0'; ++words) put(*words);
  };
  std::array<char, 24> digits{};
  std::to_chars(digits.data(), digits.data() + digits.size() - 1, asked.load());
  text(digits.data());
  text(" answer1 failed reason=");
  for (; *sentence != '\0'; ++sentence) {
    constexpr const char* kHex = "0123456789ABCDEF";
    const auto c = static_cast<unsigned char>(*sentence);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) {
      put(*sentence);
    } else {
      put('%');
      put(kHex[c >> 4]);
      put(kHex[c & 15]);
    }
  }
  put('\n');
  write_all(answer_to, {line.data(), length});
  ::_exit(kBadInput);
}

/// The grids of a library as a file that the other end reads: bytes that nobody has looked into. It
/// stays until the next answer is made.
class GridFile {
 public:
  std::string line(const GridBuffer& grids) {
    file_ = Descriptor(::memfd_create("leafproof-grids", MFD_CLOEXEC));
    const std::string_view bytes(reinterpret_cast<const char*>(grids.bytes.data()),
                                 grids.bytes.size());
    if (!write_all(file_.get(), bytes)) throw std::bad_alloc();
    const std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get());
    return fmt::format("answer1 nanovdb file={} profile={}", forms::escaped(path),
                       to_string(*grids.profile));
  }

 private:
  Descriptor file_;
};

/// What a backend is, or why it is none, in a line for a program.
int usable(const std::string& name, int answers) {
  std::string line;
  try {
    line = fmt::format("description={}\n", forms::escaped(make_backend(name)->description()));
  } catch (const Error& error) {
    line = fmt::format("unusable={}\n", forms::escaped(error.detail().reason));
  }
  return write_all(answers, line) ? kEqual : kBadInput;
}

/// What a library says of itself: by operation, of how many of a level's cases it answers to the
/// parameters, and why not to the others.
std::string capabilities(const std::string& path, int level) {
  const Library library(path);
  const leafproof_backend& functions = library.functions();
  std::string text =
      fmt::format("{}\nABI version {}; works in the memory of {}\n\n{:<21} {:>5} {:>7}  {}\n",
                  printable(library.description()), functions.abi_version,
                  functions.memory == LEAFPROOF_DEVICE_MEMORY ? "a CUDA device" : "the host",
                  "operation", "cases", "answers", "not implemented");
  for (const Op op : generated_ops()) {
    const std::int64_t cases = cases_of_level(op, level);
    std::map<std::string, std::int64_t> reasons;
    std::int64_t left_out = 0;
    for (std::int64_t number = 0; number < cases; ++number) {
      const LibraryParameters parameters(
          generate(op, kLevelSeed, static_cast<std::uint64_t>(number)));
      const LibraryCall call;
      const char* const why_not = functions.why_not(parameters.get());
      if (why_not == nullptr) continue;
      ++reasons[text_from(why_not, "no reason given")];
      ++left_out;
    }
    std::string why;
    for (const auto& [reason, count] : reasons)
      why += fmt::format("{}{} ({})", why.empty() ? "" : "; ", printable(reason), count);
    text += fmt::format("{:<21} {:>5} {:>7}{}{}\n", to_string(op), cases, cases - left_out,
                        why.empty() ? "" : "  ", why);
  }
  return text;
}

/// Answers until stdin ends, a line for a line.
int serve(const std::string& name) {
  Ends ends;
  answer_to = ends.answers;
  hear_of_walls(answer_of_walls);
  const auto backend = make_backend(name);
  GridFile file;
  std::string line;
  while (ends.read(line)) {
    std::uint64_t number = 0;
    const auto [stop, wrong] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (wrong != std::errc{}) {
      say("a line does not begin with the number of its case: " + line.substr(0, 60));
      return kBadInput;
    }
    const Case question =
        read_case_text(std::string_view(line).substr(static_cast<std::size_t>(stop - line.data())));
    asked = number;
    std::string text;
    try {
      const Answer answer = backend->answer(question);
      const auto* grids = std::get_if<GridBuffer>(&answer);
      text = grids != nullptr && grids->profile ? file.line(*grids) : write_answer_text(answer);
    } catch (const std::exception& error) {
      text = write_answer_text(Failed{error.what(), {}, false});
    }
    if (!write_all(ends.answers, fmt::format("{} {}\n", number, text))) return kBadInput;
  }
  return kEqual;
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  struct Options {
    std::string name;
    bool usable = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("serve", "answer cases that come as lines on stdin");
  command->description(
      "Answers case lines from stdin by a backend, a line for each, until stdin ends: what "
      "`verify --backend` starts for other programs, with a backend of this one, or a shared "
      "library that is loaded into this process.");
  command->add_option("BACKEND", options->name, "whose answers")->required();
  command->add_flag("--usable", options->usable, "say in a line what it is, and end");
  command->footer(
      "\nExample:\n"
      "  leafproof gen --level 1 | leafproof serve host | leafproof ver --level 1");
  command->callback([options, &exit_code] {
    exit_code = options->usable ? usable(options->name, Ends().answers) : serve(options->name);
  });

  struct About {
    std::string path;
    int level = 1;
  };
  auto about = std::make_shared<About>();
  command = app.add_subcommand("about", "what a shared library says that it does");
  command->description(
      "Loads a shared library (docs/c-abi.md) and prints what it says of itself: its name, and of "
      "each operation how many of a level's cases it answers by their parameters, and why not the "
      "others. Nothing is judged.");
  command->add_option("LIBRARY", about->path, "libmine.so")->required();
  command->add_option("--level", about->level, "1, 2 or 3: of which level's cases (1)")
      ->check(integer<int>(1, 3));
  command->footer("\nExample:\n  leafproof about ./libmine.so");
  command->callback([about, &exit_code] {
    const Ends ends;
    const std::string text = capabilities(about->path, about->level);
    exit_code = write_all(ends.answers, text) ? kEqual : kBadInput;
  });
}

}  // namespace leafproof::oracle::cli
