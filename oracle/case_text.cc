// The one-line form: the fields of a case as the words of a line.
#include "oracle/case_text.h"

#include <fmt/format.h>

#include "oracle/case_fields.h"
#include "oracle/out_of_memory.h"
#include "oracle/text_fields.h"

namespace leafproof::oracle {
namespace {

using namespace forms;

constexpr std::string_view kHeader = "case1";

class TextWriter {
 public:
  static constexpr bool reading = false;
  explicit TextWriter(const Case& c) : op_(c.op) {
    text_ = fmt::format("{} {}", kHeader, to_string(c.op));
  }
  std::string take() { return std::move(text_); }

  bool present(const char*, bool is_default) const { return !is_default; }
  void absent(const char* name, bool is_default) const {
    if (!is_default) fail(name, to_string(op_), "must not be given: the operation takes none");
  }
  template <class T>
  void value(const char* name, const T& value) {
    text_ += fmt::format(" {}={}", name, text_of(value));
  }

 private:
  Op op_;
  std::string text_;
};

/// The fields of a line, some of which the operation takes.
class TextReader : public TextFields {
 public:
  static constexpr bool reading = true;
  TextReader(Op op, std::span<const std::string_view> words) : TextFields("case", words), op_(op) {}

  bool present(const char* name, bool) const { return has(name); }
  void absent(const char* name, bool) const {
    if (has(name)) refuse(name, fmt::format("must not be given: {} takes none", to_string(op_)));
  }

 private:
  Op op_;
};

}  // namespace

std::string write_case_text(const Case& question) {
  return or_out_of_memory("write case", "case", [&]() -> std::string {
    check(question);
    TextWriter writer(question);
    each_field(writer, question);
    return writer.take();
  });
}

Case read_case_text(std::string_view text) {
  return or_out_of_memory("read case", "case", [&]() -> Case {
    const auto words = words_of(text);
    if (words.empty() || words[0] != kHeader)
      fail("version", words.empty() ? std::string_view() : words[0],
           fmt::format("must begin with {}", kHeader));
    const auto op = words.size() > 1 ? parse_op(words[1]) : std::nullopt;
    if (!op) fail("op", words.size() > 1 ? words[1] : std::string_view(), "must be an operation");
    Case question;
    question.op = *op;
    TextReader reader(*op, std::span(words).subspan(2));
    each_field(reader, question);
    reader.finish();
    check(question);
    return question;
  });
}

}  // namespace leafproof::oracle
