// Hostile answers: a case and an answer to it, a line each, as programs write them; or a byte that
// names a kind, and an archive of it.
#include <array>
#include <string>
#include <string_view>

#include "fuzz/target.h"
#include "oracle/answer_text.h"
#include "oracle/case_text.h"
#include "oracle/input/answer_files.h"

namespace {

using namespace leafproof;

/// What is read can be written, and is then read as the same; or it has no text.
void round_trip(const oracle::Answer& answer, const oracle::Case& question) {
  std::string text;
  try {
    text = oracle::write_answer_text(answer);
  } catch (const reference::Error&) {
    return;
  }
  if (oracle::write_answer_text(oracle::read_answer_text(text, question)) != text)
    fuzz::finding("an answer that is read, written and read again is another: " + text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr std::array<const char*, 5> kinds{"grid", "map", "dense", "numbers", "gradients"};
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with("case1 ")) {
    const auto end = std::min(input.find('\n'), input.size());
    fuzz::may_refuse([&] {
      const oracle::Case question = oracle::read_case_text(input.substr(0, end));
      const auto answer = input.substr(std::min(end + 1, input.size()));
      round_trip(oracle::read_answer_text(answer, question), question);
    });
    return 0;
  }
  fuzz::Bytes bytes({data, size});
  const char* kind = kinds[bytes.choice(kinds.size())];
  const fuzz::File file(".npz", bytes.rest());
  fuzz::may_refuse([&] { round_trip(oracle::read_npz_answer(file.path(), kind), {}); });
  return 0;
}
