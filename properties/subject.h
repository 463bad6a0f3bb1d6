// What the laws are asked of: one backend, as a function from a question to a batch; or one set of
// dialects.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oracle/backend.h"
#include "oracle/dialects/dialect.h"

namespace leafproof::properties {

using namespace oracle;
using reference::DenseMap;
using reference::KernelMap;

/// Who is asked, and how it is made of its name. Set before GoogleTest begins by a program that
/// asks the laws of something else, of planted faults for example.
struct Subjects {
  std::vector<std::string> names;
  std::function<std::unique_ptr<Backend>(const std::string& name)> make;
  std::function<Case(const Case&)> through_text;  // a case written as text and read back
  /// Sets of the dialects, and a dialect of such a set.
  std::vector<std::string> dialect_sets;
  std::function<const dialects::Dialect&(const std::string& set, std::string_view name)> dialect;
};
/// At first the backends that laws are asked of: all but brute_force, whose small box cannot hold
/// them, and host, which is host-mask or host-sort under the name that users give it; and the one
/// set of dialects that there is.
Subjects& asked();

class Subject {
 public:
  /// A name of asked().names.
  explicit Subject(const std::string& name) : backend_(asked().make(name)) {}

  const Backend& backend() const { return *backend_; }

  /// Whatever it answers.
  Answer answer(const Case& question) const;

  /// The answer as a layout; a NanoVDB buffer is read without trust. A refusal is thrown as the
  /// Error that it is; "not implemented" fails the law: a backend answers every pass or is not
  /// asked.
  Layout layout(const Case& question) const;

  /// The same as voxels, maps and names.
  Batch operator()(const Case& question) const;

  /// The answers of convolution, likewise. A map that leads outside itself fails the law, which
  /// would follow it there.
  KernelMap map(const Case& question) const;
  DenseMap dense(const Case& question) const;
  std::vector<double> numbers(const Case& question) const;
  struct Gradients {
    std::vector<double> features, weights, bias;
  };
  Gradients gradients(const Case& question) const;

 private:
  template <class Wanted>
  Wanted answer_of(const Case& question) const;
  std::unique_ptr<Backend> backend_;
};

/// A test of one law; its parameter is the name of the backend that is asked.
class Law : public testing::TestWithParam<std::string> {
 protected:
  Subject subject() const { return Subject(GetParam()); }
};

/// A test of a law of dialects; its parameter is the name of their set.
class DialectLaw : public testing::TestWithParam<std::string> {
 protected:
  static const dialects::Dialect& dialect(std::string_view name) {
    return asked().dialect(GetParam(), name);
  }
};

/// The questions that a law asked of its present input.
std::vector<Case>& questions();

/// Seed, command and the questions asked, as `leafproof replay` takes them.
std::string how_to_replay(const std::vector<Case>& asked);

/// Whether a law was checked on as much input as RapidCheck draws by default: what is demanded of
/// all of it together is not demanded of less, such as that of a replay.
bool in_full(std::size_t inputs);

/// Checks a law on random input. RapidCheck prints the smallest counter-example; below stand the
/// questions that it asked, and how to replay it.
template <class Body>
void holds(const std::string& law, const Body& body) {
  std::vector<Case> of_failure;  // it shrinks to what fails, so the last to fail is the smallest
  const auto kept = [&] {
    questions().clear();
    try {
      body();
    } catch (const rc::detail::CaseResult& result) {
      if (result.type == rc::detail::CaseResult::Type::Failure) of_failure = questions();
      throw;
    } catch (...) {
      of_failure = questions();
      throw;
    }
  };
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const bool ok = rc::check(std::string(test->name()) + ": " + law, kept);
  EXPECT_TRUE(ok) << law << how_to_replay(of_failure);
}

inline std::vector<std::string> subjects() {
  return asked().names;
}

inline std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '-' || c == '/' ? '_' : c;  // GoogleTest's names have neither
  return name;
}

}  // namespace leafproof::properties
