// Hostile files in the format of [F] for the strict reader of known answers.
#include "fuzz/target.h"
#include "oracle/vectors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace leafproof;
  const fuzz::File file(".json", {data, size});
  fuzz::may_refuse([&] { oracle::read_vectors(file.path()); });
  return 0;
}
