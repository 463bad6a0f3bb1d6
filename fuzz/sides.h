// Who is asked, and what an answer that should be another's is compared by.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fuzz/target.h"
#include "oracle/backend.h"
#include "oracle/boxed_backend.h"
#include "oracle/compare.h"
#include "oracle/report.h"
#include "oracle/smallest.h"

namespace leafproof::fuzz {

inline const oracle::Backend& reference_side() {
  static const auto side = oracle::make_backend("reference");
  return *side;
}

/// Each engine of the builder, and where `rarely` the strict device and the device of this machine.
inline std::vector<const oracle::Backend*> builders(bool rarely) {
  static const std::vector<std::unique_ptr<oracle::Backend>> all = [] {
    std::vector<std::unique_ptr<oracle::Backend>> made;
    for (const std::string& name : oracle::backend_names())
      // host is host-mask or host-sort by another name, and cuda likewise
      if (name != "reference" && name != "brute_force" && name != "host" && name != "cuda")
        made.push_back(oracle::make_backend(name));
    return made;
  }();
  std::vector<const oracle::Backend*> asked;
  for (const auto& side : all)
    if (rarely || side->name().starts_with("host")) asked.push_back(side.get());
  return asked;
}

/// The same and the second reference, in a small box.
inline std::vector<const oracle::Backend*> candidates(bool rarely) {
  static const auto brute_force =
      oracle::make_boxed(oracle::make_backend("brute_force"), std::int64_t{1} << 18);
  auto asked = builders(rarely);
  asked.push_back(brute_force.get());
  return asked;
}

/// Ends in a finding that says how to replay the case.
[[noreturn]] inline void finding_in(const oracle::Case& question, const oracle::Backend& side,
                                    const std::string& what) {
  finding(std::string(side.name()) + ", " + std::string(to_string(question.op)) + ": " + what +
          "\nreplay: " + oracle::replay_line(question, side.name()));
}

inline bool same_numbers(const reference::Array& a, const reference::Array& b) {
  const auto same = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) ||
           (std::isnan(x) && std::isnan(y));
  };
  return a.shape == b.shape &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same);
}

/// How two answers of one side to the same question differ, or nothing: grids byte for byte, maps
/// in their order, numbers bit for bit, refusals in kind.
inline std::optional<std::string> difference(const oracle::Answer& expected,
                                             const oracle::Answer& actual) {
  using namespace oracle;
  if (expected.index() != actual.index()) {
    const auto text = [](const Answer& a) {
      const auto* error = std::get_if<Error>(&a);
      return error == nullptr ? "an answer of kind " + std::to_string(a.index()) : error->what();
    };
    return "expected " + text(expected) + ", got " + text(actual);
  }
  bool same = true;
  if (const auto* grids = std::get_if<GridBuffer>(&expected)) {
    const auto& other = std::get<GridBuffer>(actual);
    same = grids->offsets == other.offsets && std::ranges::equal(grids->bytes, other.bytes);
  } else if (const auto* map = std::get_if<KernelMapAnswer>(&expected)) {
    same = map->map == std::get<KernelMapAnswer>(actual).map;
  } else if (const auto* dense = std::get_if<DenseMapAnswer>(&expected)) {
    same = dense->map == std::get<DenseMapAnswer>(actual).map;
  } else if (const auto* numbers = std::get_if<NumbersAnswer>(&expected)) {
    same = same_numbers(numbers->array, std::get<NumbersAnswer>(actual).array);
  } else if (const auto* gradients = std::get_if<GradientsAnswer>(&expected)) {
    const auto& other = std::get<GradientsAnswer>(actual);
    same = same_numbers(gradients->features.array, other.features.array) &&
           same_numbers(gradients->weights.array, other.weights.array) &&
           same_numbers(gradients->bias.array, other.bias.array);
  } else if (const auto* error = std::get_if<Error>(&expected)) {
    same = error->kind() == std::get<Error>(actual).kind();
  }
  if (same) return std::nullopt;
  const Verdict verdict = compare(expected, actual, Profile::Bytes, true);
  return verdict.ok() ? "answers differ, which compare() passes" : text_verdict(verdict);
}

}  // namespace leafproof::fuzz
