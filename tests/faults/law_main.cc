// The laws (properties/) asked of faulty backends and dialects; a law that is broken has killed the
// fault.
//   leafproof_law_faults --gtest_filter='*Scale.CoarsensCompose/floor_as_trunc'
// Options are GoogleTest's; the seed is the laws' own, unless RC_PARAMS names another.
#include <gtest/gtest.h>

#include <cstdlib>

#include "oracle/case_text.h"
#include "properties/subject.h"
#include "tests/faults/dialect_faults.h"
#include "tests/faults/law_faults.h"

int main(int argc, char** argv) {
  using namespace leafproof;
  properties::Subjects& asked = properties::asked();
  asked.names = faults::law_faults();
  asked.make = faults::with_law_fault;
  // What is written is not a backend's: its fault is planted here, a text that forgets the view.
  asked.through_text = [](const oracle::Case& question) {
    oracle::Case forgotten = oracle::read_case_text(oracle::write_case_text(question));
    forgotten.view.reset();
    return forgotten;
  };
  asked.dialect_sets = faults::dialect_faults();
  asked.dialect = faults::dialect_with_fault;
  setenv("RC_PARAMS", "seed=20261129 noshrink=1", 0);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
