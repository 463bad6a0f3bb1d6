// libFuzzer's side of case_target.h.
#include "fuzz/case_target.h"

#include <algorithm>
#include <optional>

#include "fuzz/case_mend.h"
#include "fuzz/case_mutator.h"
#include "oracle/case_bytes.h"
#include "oracle/choice_source.h"

namespace leafproof::fuzz {
namespace {

using namespace oracle;

std::optional<Case> decoded(std::span<const std::uint8_t> data) {
  try {
    return read_case_bytes(data);
  } catch (const reference::Error&) {
    return std::nullopt;
  }
}

bool is_asked(const Case& c) {
  const auto& ops = target_ops();
  return std::find(ops.begin(), ops.end(), c.op) != ops.end() && cost_of(c) <= kBudget;
}

bool one_in_four(std::span<const std::uint8_t> data) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::uint8_t b : data) hash = (hash ^ b) * 0x100000001b3;
  return (hash >> 32) % 4 == 0;
}

/// The first of some mutants that has room; the input itself where none has.
template <class Make>
std::size_t written(std::uint8_t* out, std::size_t size, std::size_t room, std::uint64_t seed,
                    const Make& make) {
  ChoiceSource seeds{seed};
  for (int tries = 0; tries < 8; ++tries) {
    const auto draw = static_cast<std::uint64_t>(seeds.between(0, INT64_MAX));
    const auto bytes = write_case_bytes(make(draw));
    if (bytes.size() > room) continue;
    std::copy(bytes.begin(), bytes.end(), out);
    return bytes.size();
  }
  return std::min(size, room);
}

}  // namespace
}  // namespace leafproof::fuzz

using namespace leafproof;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto question = fuzz::decoded({data, size});
  if (!question || !fuzz::is_asked(*question)) return fuzz::kNoInput;
  fuzz::try_case(*question, fuzz::one_in_four({data, size}));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  const auto& ops = fuzz::target_ops();
  const auto start = fuzz::decoded({data, size});
  return fuzz::written(data, size, max_size, seed, [&](std::uint64_t draw) {
    return fuzz::mutate(start ? *start : fuzz::first_case(ops, draw), ops, draw).question;
  });
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data, std::size_t size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t max_size,
                                                 unsigned seed) {
  const auto a = fuzz::decoded({data, size}), b = fuzz::decoded({other, other_size});
  if (!a || !b) return 0;  // libFuzzer tries something else
  return fuzz::written(out, 0, max_size, seed, [&](std::uint64_t draw) {
    return fuzz::cross(*a, *b, fuzz::target_ops(), draw).question;
  });
}
