// How the readers of this room hand their voxels over: one member at a time.
#pragma once

#include <string>
#include <vector>

#include "oracle/input/file_bytes.h"
#include "oracle/input/input.h"

namespace leafproof::oracle {

/// Appends a member to `input`. `voxels` are in canonical order. Error(InvalidArgument) for a map
/// that is not finite and positive [G-7]; a name is cut to 255 bytes, or at a NUL, with a note.
void append_member(const FileTask& task, Input& input, std::vector<Voxel> voxels, const Map& map,
                   std::string name, std::string provenance);

/// "bunny" of "models/bunny.obj"; with an index "bunny[3]", cut so that the index stays.
std::string member_name(const std::filesystem::path& file);
std::string member_name(const std::filesystem::path& file, std::uint64_t index);

/// Refuses (CapacityExceeded) more voxels than the budget, naming both.
void check_budget(const FileTask& task, std::uint64_t voxels, std::uint64_t max_voxels);

}  // namespace leafproof::oracle
