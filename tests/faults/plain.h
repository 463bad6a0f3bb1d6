// The second implementation as a backend: sets of voxels, plain loops, a table of keys; healthy, or
// with one fault in it. What it refuses, it refuses by the reference's checks, so that it is no
// witness of refusals but of those that a fault bends.
#pragma once

#include "oracle/backend.h"
#include "tests/faults/fault.h"

namespace leafproof::faults {

/// What the question's operands hold afterwards is what they held before, unless that is the fault.
oracle::Answer plain_answer(Fault fault, Case& question);

class Plain : public oracle::Backend {
 public:
  explicit Plain(Fault fault = Fault::None) : fault_(fault) {}
  std::string_view name() const override { return "plain"; }
  std::string_view description() const override {
    return "the second implementation, in which faults are planted";
  }
  oracle::Answer answer(const Case& question) const override {
    Case copy = question;
    return plain_answer(fault_, copy);
  }

 private:
  Fault fault_;
};

}  // namespace leafproof::faults
