// What the laws are asked of: one backend, as a function from a question to a batch.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <string>
#include <utility>

#include "oracle/backend.h"

namespace leafproof::properties {

using namespace oracle;
using reference::DenseMap;
using reference::KernelMap;

class Subject {
 public:
  /// A name of backend_names().
  explicit Subject(const std::string& name) : backend_(make_backend(name)) {}

  /// The answer as a layout; a NanoVDB buffer is read without trust. A refusal is thrown as the
  /// Error that it is; "not implemented" fails the law: a backend answers every pass or is not
  /// asked.
  Layout layout(const Case& question) const;

  /// The same as voxels, maps and names.
  Batch operator()(const Case& question) const;

  /// The answers of convolution, likewise.
  KernelMap map(const Case& question) const;
  DenseMap dense(const Case& question) const;
  std::vector<double> numbers(const Case& question) const;
  struct Gradients {
    std::vector<double> features, weights, bias;
  };
  Gradients gradients(const Case& question) const;

 private:
  template <class Wanted>
  Wanted answer(const Case& question) const;
  std::unique_ptr<Backend> backend_;
};

/// A test of one law; its parameter is the name of the backend that is asked.
class Law : public testing::TestWithParam<std::string> {
 protected:
  Subject subject() const { return Subject(GetParam()); }
};

/// Checks a law on random input; RapidCheck prints the smallest counter-example and how to replay
/// it.
template <class Body>
void holds(const std::string& law, const Body& body) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  EXPECT_TRUE(rc::check(std::string(test->name()) + ": " + law, body)) << law;
}

/// The backends that laws are asked of: all but brute_force, whose small box cannot hold them, and
/// host, which is host-mask or host-sort under the name that users give it.
std::vector<std::string> subjects();

inline std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '-' ? '_' : c;  // GoogleTest's names have no dash
  return name;
}

}  // namespace leafproof::properties
