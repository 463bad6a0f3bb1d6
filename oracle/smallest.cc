// See smallest.h.
#include "oracle/smallest.h"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "oracle/case_text.h"
#include "oracle/judge.h"
#include "oracle/report_parts.h"
#include "oracle/shrink.h"
#include "oracle/vector_writer.h"

namespace leafproof::oracle {
namespace {

/// "dilate_box", "host-mask": "DilateBox", "HostMask".
std::string camel(std::string_view name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (letter) out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = !letter;
  }
  return out;
}

/// As the text of a C string.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// How the case is written in a report, or why it cannot be.
template <class Write>
std::string written(Write write) {
  try {
    return write();
  } catch (const Error& error) {
    return fmt::format("none: {}", error.what());
  }
}

}  // namespace

std::string replay_line(const Case& question, std::string_view backend,
                        std::optional<Change> after) {
  return fmt::format("leafproof replay --backend {}{} '{}'", shell_word(backend),
                     after ? fmt::format(" --after {}", to_string(*after)) : "",
                     write_case_text(question));
}

std::string google_test(const Case& question, std::string_view backend,
                        std::optional<Change> after) {
  const std::string asked =
      after ? fmt::format("AfterAnother(*candidate, *parse_change(\"{}\"))", to_string(*after))
            : "*candidate";
  return fmt::format(R"(#include <gtest/gtest.h>

#include "oracle/case_text.h"
#include "oracle/judge.h"
#include "oracle/report.h"
{}
TEST(Leafproof, {}On{}) {{
  using namespace leafproof::oracle;
  const Case question = read_case_text(
      "{}");
  const auto reference = make_backend("reference"), candidate = make_backend("{}");
  const Verdict verdict = judge(question, *reference, {});
  EXPECT_TRUE(verdict.ok()) << text_verdict(verdict);
}}
)",
                     after ? "#include \"oracle/sequence.h\"\n" : "", camel(to_string(question.op)),
                     camel(short_name(backend)), write_case_text(question), quoted(backend), asked);
}

std::optional<Smallest> smallest_of(const Case& question, const Backend& reference,
                                    const Backend& backend, std::int64_t most_tries,
                                    std::optional<Change> after) {
  const AfterAnother candidate(backend, after);
  const bool refused = Standard(question, reference).error() != nullptr;
  Smallest smallest;  // its verdict is that of the last to fail, which is the smallest
  const auto fails = [&](const Case& c) {
    const Standard standard(c, reference);
    if ((standard.error() != nullptr) != refused) return false;
    Verdict verdict = judge(standard, c, candidate);
    if (verdict.outcome != Outcome::Different) return false;
    smallest.verdict = std::move(verdict);
    return true;
  };
  if (!fails(question)) return {};
  Shrunk shrunk = shrink(question, fails, most_tries);
  Case& c = shrunk.question;
  smallest.tries = shrunk.tries;
  smallest.finished = shrunk.finished;
  smallest.text = written([&] { return write_case_text(c); });
  smallest.replay = written([&] { return replay_line(c, backend.name(), after); });
  smallest.test = written([&] { return google_test(c, backend.name(), after); });
  c.comment = question.id.empty() ? "shrunk" : "shrunk from " + printable(question.id);
  smallest.vector = written([&] { return write_vector(c, reference); });
  return smallest;
}

}  // namespace leafproof::oracle
