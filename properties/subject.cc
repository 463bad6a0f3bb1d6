// Asks a backend through the oracle, and reads whatever it answers as voxels.
#include "properties/subject.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include "oracle/case_text.h"
#include "oracle/layout_view.h"

namespace leafproof::properties {

std::vector<Case>& questions() {
  static std::vector<Case> all;
  return all;
}

std::string how_to_replay(const std::vector<Case>& asked) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const char* parameters = std::getenv("RC_PARAMS");
  std::string lines = std::string("\nto run this again: RC_PARAMS='") +
                      (parameters == nullptr ? "" : parameters) + "' " + program_invocation_name +
                      " --gtest_filter='" + test->test_suite_name() + "." + test->name() + "'";
  for (const Case& question : asked) {
    try {
      lines += "\nit asked: leafproof replay '" + write_case_text(question) + "'";
    } catch (const Error&) {
      lines += "\nit asked what no text can hold";  // what breaks the promises of case.h
    }
  }
  return lines;
}

bool in_full(std::size_t inputs) {
  const rc::detail::TestParams fewest;  // RapidCheck's own
  return inputs >= static_cast<std::size_t>(fewest.maxSuccess) &&
         rc::detail::configuration().testParams.maxSize >= fewest.maxSize;
}

Answer Subject::answer(const Case& question) const {
  questions().push_back(question);
  return backend_->answer(question);
}

Layout Subject::layout(const Case& question) const {
  const Answer answer = this->answer(question);
  if (const auto* layout = std::get_if<Layout>(&answer)) return *layout;
  if (const auto* buffer = std::get_if<GridBuffer>(&answer)) return read_layout(*buffer);
  if (const auto* error = std::get_if<Error>(&answer)) throw *error;
  if (const auto* absent = std::get_if<NotImplemented>(&answer)) {
    throw std::runtime_error("not implemented: " + absent->reason);
  }
  throw std::runtime_error("an answer without voxels");
}

Batch Subject::operator()(const Case& question) const {
  return batch_of(layout(question));
}

template <class Wanted>
Wanted Subject::answer_of(const Case& question) const {
  const Answer answer = this->answer(question);
  if (const auto* wanted = std::get_if<Wanted>(&answer)) return *wanted;
  if (const auto* error = std::get_if<Error>(&answer)) throw *error;
  if (const auto* absent = std::get_if<NotImplemented>(&answer)) {
    throw std::runtime_error("not implemented: " + absent->reason);
  }
  throw std::runtime_error("an answer of another kind");
}

namespace {

/// Whether the offsets delimit the pairs, and every pair's rows are there.
bool leads_nowhere_else(const KernelMap& map) {
  const auto pairs = static_cast<std::int64_t>(map.gather.size());
  const auto within = [](std::int64_t rows) {
    return [rows](std::int64_t row) { return row >= 0 && row < rows; };
  };
  return map.scatter.size() == map.gather.size() && !map.offsets.empty() &&
         map.offsets.front() == 0 && map.offsets.back() == pairs &&
         std::ranges::is_sorted(map.offsets) &&
         std::ranges::all_of(map.gather, within(map.source_rows)) &&
         std::ranges::all_of(map.scatter, within(map.target_rows));
}

}  // namespace

KernelMap Subject::map(const Case& question) const {
  KernelMap map = answer_of<KernelMapAnswer>(question).map;
  if (!leads_nowhere_else(map)) throw std::runtime_error("a map of rows that are not there [M-2]");
  return map;
}

DenseMap Subject::dense(const Case& question) const {
  DenseMap map = answer_of<DenseMapAnswer>(question).map;
  if (map.taps < 0 || map.rows < 0 ||
      static_cast<std::int64_t>(map.index.size()) != map.taps * map.rows)
    throw std::runtime_error("a dense map of another size [M-4]");
  return map;
}

std::vector<double> Subject::numbers(const Case& question) const {
  return answer_of<NumbersAnswer>(question).array.values;
}

Subject::Gradients Subject::gradients(const Case& question) const {
  const auto found = answer_of<GradientsAnswer>(question);
  return {found.features.array.values, found.weights.array.values, found.bias.array.values};
}

Subjects& asked() {
  static Subjects subjects = [] {
    std::vector<std::string> names = backend_names();
    std::erase(names, "brute_force");
    std::erase(names, "host");
    return Subjects{names,
                    [](const std::string& name) { return make_backend(name); },
                    [](const Case& written) { return read_case_text(write_case_text(written)); },
                    {"ours"},
                    [](const std::string&, std::string_view name) -> const dialects::Dialect& {
                      return dialects::dialect(name);
                    }};
  }();
  return subjects;
}

}  // namespace leafproof::properties
