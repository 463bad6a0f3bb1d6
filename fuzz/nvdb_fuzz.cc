// Hostile .nvdb files, and raw buffers of grids, for read_nvdb and what reads its grids.
#include "fuzz/target.h"
#include "oracle/input/input.h"
#include "oracle/layout_view.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace leafproof;
  const fuzz::File file(".nvdb", {data, size});
  fuzz::may_refuse([&] { oracle::read_layout(oracle::read_nvdb(file.path())); });
  fuzz::may_refuse([&] {
    oracle::InputOptions options;
    options.max_voxels = 1'000'000;
    oracle::read_input({file.path()}, options);
  });
  return 0;
}
