// Hostile written cases: as bytes, text and JSON. What is read is written again, and read again the
// same; and any bytes choose a case that can be written.
#include <string>

#include "fuzz/target.h"
#include "oracle/case_bytes.h"
#include "oracle/case_json.h"
#include "oracle/case_text.h"
#include "oracle/generate.h"

namespace leafproof::fuzz {
namespace {

using namespace oracle;

/// The bytes of a case are its only encoding: by them two cases are compared.
void comes_back(const Case& question, const char* form) {
  const auto bytes = write_case_bytes(question);
  if (write_case_bytes(read_case_bytes(bytes)) != bytes) finding("bytes do not come back");
  if (write_case_bytes(read_case_text(write_case_text(question))) != bytes)
    finding(std::string("text does not come back, read as ") + form);
  may_refuse([&] {  // a name that is not UTF-8 has no JSON
    if (write_case_bytes(read_case_json(write_case_json(question))) != bytes)
      finding(std::string("JSON does not come back, read as ") + form);
  });
}

void run(std::span<const std::uint8_t> data) {
  const std::string text(data.begin(), data.end());
  may_refuse([&] { comes_back(read_case_bytes(data), "bytes"); });
  may_refuse([&] { comes_back(read_case_text(text), "text"); });
  may_refuse([&] { comes_back(read_case_json(text), "JSON"); });
  if (data.empty() || data.size() > 512) return;
  const auto& ops = generated_ops();
  comes_back(generate(ops[data[0] % ops.size()], data.subspan(1)), "choices");
}

}  // namespace
}  // namespace leafproof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  leafproof::fuzz::run({data, size});
  return 0;
}
