// Files that people have: meshes, point clouds, voxel lists, OpenVDB and NanoVDB files. All of it
// is hostile until checked [E-2]; every refusal is one Error naming the file and what is wrong in
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "oracle/backend.h"

namespace leafproof::oracle {

struct InputOptions {
  int resolution = 128;   // meshes: voxels along the longest side of the box
  double voxel_size = 0;  // meshes and points: overrides the resolution when positive
  std::uint64_t max_voxels = 200'000'000;  // an absurd expansion is refused with its size named
};

/// A batch read from one or more files, in order; files may hold several members.
struct Input {
  Batch batch;                          // canonical order
  std::vector<std::string> provenance;  // per member: "bunny.obj at 128, surface samples <= ..."
  std::vector<std::string> notes;       // what reading can have missed
};

Input read_input(const std::vector<std::filesystem::path>& files, const InputOptions& options);

/// `.nvdb` (segments of grids, uncompressed, ZIP or BLOSC) or a raw buffer of grids, as stored.
GridBuffer read_nvdb(const std::filesystem::path& file);

/// Writes 1 ... 65535 grids uncompressed, to a temporary name first, then moved [G-6].
void write_nvdb(const std::filesystem::path& file, const GridBuffer& buffer);

/// The built-in real input of `verify`: meshes of the package glmark2-data at resolutions 64 to
/// 512, at least 16 members of mixed sizes, some empty, placed across tile boundaries and in
/// negative octants. Empty with a note when the package is absent. Looks into the folder that the
/// environment variable LEAFPROOF_MODELS names, else into /usr/share/glmark2/models.
Input real_scene();

}  // namespace leafproof::oracle
