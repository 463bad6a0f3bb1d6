// Builds a batch of two hollow spheres, refines it by 2 and writes both batches as .nvdb files.
#include <nanovdb/io/IO.h>

#include <cmath>
#include <iostream>

#include "gpu/nanovdb_handle.h"

using namespace leafproof::gpu;

int main() {
  std::vector<std::int32_t> ijk;         // x, y, z of all voxels, member after member
  std::vector<std::int64_t> offsets{0};  // where each member's voxels begin, and where they end
  for (const int radius : {20, 31}) {
    for (int x = -radius; x <= radius; ++x) {
      for (int y = -radius; y <= radius; ++y) {
        for (int z = -radius; z <= radius; ++z) {
          const double distance = std::hypot(x, y, z) - radius;  // from the surface
          if (std::abs(distance) < 0.5) ijk.insert(ijk.end(), {x, y, z});
        }
      }
    }
    offsets.push_back(static_cast<std::int64_t>(ijk.size() / 3));
  }

  try {
    BatchedBuilder builder;
    const std::vector<std::string> names{"small", "large"};
    const GridBatch shells = builder.from_ijk({ijk, offsets}, {.maps = {}, .names = names});
    const GridBatch fine = builder.refine(shells, {2, 2, 2});
    nanovdb::io::writeGrid("shells.nvdb", to_handle(shells));
    nanovdb::io::writeGrid("fine.nvdb", to_handle(fine));
    std::cout << shells.voxel_count() << " voxels, refined " << fine.voxel_count() << "\n";
  } catch (const std::exception& error) {  // an Error of the builder, or of writing
    std::cerr << error.what() << "\n";
    return 1;
  }
}
