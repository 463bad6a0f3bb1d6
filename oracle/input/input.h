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
  int resolution = 128;   // meshes and points: voxels along the longest side of their box, from 2
  double voxel_size = 0;  // meshes and points: overrides the resolution when positive
  std::uint64_t max_voxels = 200'000'000;  // of all files together; more is CapacityExceeded
};

/// A batch read from one or more files, in order; files may hold several members.
struct Input {
  Batch batch;                          // canonical order
  std::vector<std::string> provenance;  // per member: "bunny.obj at 128, surface samples <= ..."
  std::vector<std::string> notes;       // what reading can have missed
};

/// The formats, what is checked and what can be missed are in README.md. Throws Error, whose
/// argument is "file" and whose members and rows count within that file: InvalidArgument (no
/// readable file; NaN; a map that is none), Corrupt, Unsupported (unknown format, or its library
/// was not built in), OutOfRange, CapacityExceeded with the size, OutOfMemory.
Input read_input(const std::vector<std::filesystem::path>& files, const InputOptions& options);

/// The ValueOnIndex grids of a `.nvdb` file (segments; uncompressed, ZIP or BLOSC) or of a raw
/// buffer, as stored: the container and the first fields of every grid are checked, no tree is.
/// Errors as read_input; Unsupported, naming it, for a grid of another type.
GridBuffer read_nvdb(const std::filesystem::path& file);

/// Writes 1 ... 65535 grids uncompressed, to a temporary name first, then moved [G-6]. Before
/// anything is written: CapacityExceeded for another count, Corrupt for a grid whose header
/// contradicts the buffer. Errors of writing as AtomicFile.
void write_nvdb(const std::filesystem::path& file, const GridBuffer& buffer);

/// The built-in real input of `verify`: meshes of the package glmark2-data at resolutions 64 to
/// 512, at least 16 members of mixed sizes, some empty, placed across tile boundaries and in
/// negative octants. Empty with a note when the package is absent. Looks into the folder that the
/// environment variable LEAFPROOF_MODELS names, else into /usr/share/glmark2/models.
Input real_scene();

}  // namespace leafproof::oracle
