// Hostile voxel lists and point clouds: the first byte names the format, the rest is the file.
#include <array>

#include "fuzz/target.h"
#include "oracle/input/input.h"
#include "reference/canonical_order.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace leafproof;
  static constexpr std::array<const char*, 4> endings{".npz", ".npy", ".xyz", ".ply"};
  fuzz::Bytes input({data, size});
  const char* ending = endings[input.choice(endings.size())];
  const fuzz::File file(ending, input.rest());
  fuzz::may_refuse([&] {
    oracle::InputOptions options;
    options.max_voxels = 1'000'000;
    const oracle::Batch batch = oracle::read_input({file.path()}, options).batch;
    if (batch.maps.size() != batch.size() || batch.names.size() != batch.size()) {
      fuzz::finding("maps or names do not fit the members");
    }
    for (const auto& member : batch.members) {
      for (std::size_t row = 1; row < member.size(); ++row) {
        if (!reference::canonical_less(member[row - 1], member[row])) {
          fuzz::finding("a member that is not in canonical order [G-2]");
        }
      }
    }
  });
  return 0;
}
