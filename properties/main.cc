// The laws' main: a fixed seed unless RC_PARAMS names another, printed with how to run it again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("RC_PARAMS", "seed=20261129", 0);
  std::cerr << "laws: to run this again: RC_PARAMS='" << std::getenv("RC_PARAMS") << "' " << argv[0]
            << " (seed=N draws other input, max_success=N more of it)\n";
  return RUN_ALL_TESTS();
}
