// The built-in real input: meshes of Debian's package glmark2-data, at several resolutions, some
// moved by whole voxels so that their boxes cross the boundaries of nodes of every level.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "oracle/input/mesh.h"

namespace leafproof::oracle {
namespace {

constexpr const char* usual_folder = "/usr/share/glmark2/models";

// A mesh at a resolution, with its lowest corner moved to the voxel `corner`.
struct Placed {
  const char* file;
  int resolution;
  Voxel corner;
  const char* where;
};

// An empty file name is an empty member.
constexpr Placed members[] = {
    {"", 0, {}, "empty, first"},
    {"bunny.obj", 128, {-64, -64, -64}, "around the origin, in all octants"},
    {"horse.3ds", 64, {4064, 0, 0}, "across the root tile at x = 4096"},
    {"cat.3ds", 96, {-4128, -4128, -4128}, "across the root tiles at -4096"},
    {"asteroid-low.3ds", 64, {100, 100, 100}, "across the lower node at 128"},
    {"cube.3ds", 64, {-8, -8, -8}, "on the boundaries of leaves"},
    {"bunny.obj", 64, {0, 0, 0}, "from the origin"},
    {"asteroid-high.3ds", 256, {-200, 4000, -4200}, "across two root tiles and an octant"},
    {"", 0, {}, "empty, in the middle"},
    {"", 0, {}, "empty, in the middle"},
    {"horse.3ds", 200, {-100, -4140, 8150}, "across root tiles on three axes"},
    {"cat.3ds", 256, {1, 2, 3}, "off every boundary"},
    {"bunny.obj", 256, {-70000, 69888, -128}, "far out, on boundaries of lower nodes"},
    {"bunny.obj", 512, {-300, -256, -200}, "across the origin, the largest"},
    {"horse.3ds", 384, {8000, -192, -192}, "across the root tile at x = 8192"},
    {"asteroid-high.3ds", 300, {-4296, -200, 3896}, "across root tiles"},
    {"cube.3ds", 128, {120, -8, -136}, "one voxel thin walls on boundaries"},
    {"cat.3ds", 400, {-4352, 3900, -256}, "across root tiles"},
    {"asteroid-low.3ds", 200, {-100, -100, -100}, "in all octants"},
    {"", 0, {}, "empty, last"},
};

std::filesystem::path models_folder() {
  const char* named = std::getenv("LEAFPROOF_MODELS");
  return named != nullptr && *named != '\0' ? named : usual_folder;
}

// The map under which the lowest corner of the mesh is the centre of the voxel `corner`: voxels
// move, world coordinates stay [G-7].
Map moved(Map map, const Voxel& corner) {
  const std::array<std::int32_t, 3> steps{corner.x, corner.y, corner.z};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    map.origin[axis] -= static_cast<double>(steps[axis]) * map.voxel_size[axis];
  }
  return map;
}

}  // namespace

Input real_scene() {
  Input scene;
  const std::filesystem::path folder = models_folder();
  // Each mesh is read once; what cannot be read is said once, and its members are left out.
  std::map<std::string, std::optional<std::vector<Triangle>>> meshes;
  for (const Placed& placed : members) {
    const std::string name = placed.file;
    if (name.empty() || meshes.contains(name)) continue;
    try {
      meshes[name] = read_mesh({"read scene", folder / name});
    } catch (const Error& error) {
      meshes[name] = std::nullopt;
      scene.notes.push_back(fmt::format("left out of the real input: {}", error.what()));
    }
  }
  const bool any =
      std::ranges::any_of(meshes, [](const auto& mesh) { return mesh.second.has_value(); });
  if (!any) {
    scene.notes = {
        fmt::format("no real input: {} holds none of the meshes of Debian's package "
                    "glmark2-data",
                    folder.string())};
    return scene;
  }
  for (const Placed& placed : members) {
    if (*placed.file == '\0') {
      append_member({"read scene", folder}, scene, {}, Map{}, "empty", placed.where);
      continue;
    }
    const auto& mesh = meshes.at(placed.file);
    if (!mesh) continue;
    const FileTask task{"read scene", folder / placed.file};
    const InputOptions options{.resolution = placed.resolution};
    const Map map = moved(surface_map(task, *mesh, options), placed.corner);
    VoxelSet voxels;
    sample_surface(task, *mesh, map, options.max_voxels, voxels);
    append_member(task, scene, voxels.canonical(), map, member_name(task.file),
                  fmt::format("{} {}, {}, {}", placed.file, scale_text(options), placed.where,
                              sampling_text));
  }
  scene.notes.push_back(fmt::format("real input: {}", sampling_note));
  return scene;
}

}  // namespace leafproof::oracle
