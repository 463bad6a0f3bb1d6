// Meshes: triangles as they come from Assimp's process, whatever they are, for what is ours: the
// map that fits them and the sampling of their surface. Assimp itself is not fuzzed here: it is
// another project's, with fuzzers of its own, and it runs in a process whose death is a refusal.
#include <algorithm>
#include <cmath>
#include <vector>

#include "fuzz/target.h"
#include "oracle/input/surface.h"
#include "reference/canonical_order.h"

namespace leafproof::fuzz {
namespace {

using namespace oracle;

/// Any finite double, often a small or a round one: what read_mesh() lets through.
double corner_from(Bytes& input) {
  switch (input.choice(4)) {
    case 0:
      return input.next<std::int8_t>();
    case 1:
      return input.next<std::int16_t>() / 64.0;
    case 2: {
      const auto x = static_cast<double>(input.next<float>());
      return std::isfinite(x) ? x : 0;
    }
    default: {
      const auto x = input.next<double>();
      return std::isfinite(x) ? x : 0;
    }
  }
}

bool within(const Voxel& v, const Point& low, const Point& high) {
  const std::array<double, 3> at{static_cast<double>(v.x), static_cast<double>(v.y),
                                 static_cast<double>(v.z)};
  for (std::size_t a = 0; a < 3; ++a)
    if (at[a] < low[a] - 0.75 || at[a] > high[a] + 0.75) return false;
  return true;
}

void run(Bytes input) {
  InputOptions options;
  options.resolution = 2 + static_cast<int>(input.choice(127));
  options.max_voxels = 1 + 50 * input.choice(40);
  if (input.choice(3) == 0) options.voxel_size = std::fabs(corner_from(input));
  std::vector<Triangle> triangles;
  while (!input.empty() && triangles.size() < 64) {
    Triangle& triangle = triangles.emplace_back();
    for (Point& corner : triangle)
      for (double& x : corner) x = corner_from(input);
    // Two corners in one, or a corner of the one before: lines, points, and surfaces.
    const std::size_t shared = input.choice(8);
    if (shared < 3) triangle[shared] = triangle[(shared + 1) % 3];
    if (shared == 3 && triangles.size() > 1) triangle[0] = triangles[triangles.size() - 2][2];
  }
  const FileTask task{"read", "mesh.obj"};
  may_refuse([&] {
    const Map map = surface_map(task, triangles, options);
    VoxelSet voxels;
    sample_surface(task, triangles, map, options.max_voxels, voxels);
    const auto found = voxels.canonical();
    if (found.size() != voxels.count()) finding("a set that miscounts its voxels");
    if (found.size() > options.max_voxels) finding("more voxels than the limit");
    if (found.empty() != triangles.empty()) finding("a surface without voxels, or voxels of none");
    Point low{}, high{};
    low.fill(HUGE_VAL);
    high.fill(-HUGE_VAL);
    for (const Triangle& triangle : triangles)
      for (const Point& corner : triangle)
        for (std::size_t a = 0; a < 3; ++a) {
          const double x = (corner[a] - map.origin[a]) / map.voxel_size[a];
          low[a] = std::min(low[a], x);
          high[a] = std::max(high[a], x);
        }
    for (std::size_t row = 0; row < found.size(); ++row) {
      if (!within(found[row], low, high)) finding("a voxel outside the box of the surface");
      if (row > 0 && !reference::canonical_less(found[row - 1], found[row]))
        finding("voxels that are not in canonical order [G-2]");
    }
  });
}

}  // namespace
}  // namespace leafproof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  leafproof::fuzz::run(leafproof::fuzz::Bytes({data, std::min<std::size_t>(size, 4096)}));
  return 0;
}
