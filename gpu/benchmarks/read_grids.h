// Batches from files, so that any can be measured. The program `leafproof`, which reads meshes,
// points, lists and grids, is asked to write what it reads as .nvdb, and that is read here: this
// room has no reader of its own for files that people have.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gpu/batched_builder.h"

namespace leafproof::gpu::benchmarks {

/// The batch that `leafproof apply from_ijk ARGUMENTS... -o FILE` writes; the program lies in the
/// folder of this one. std::runtime_error when it fails (it has said why on stderr).
GridBatch read_by_leafproof(BatchedBuilder& builder, const std::vector<std::string>& arguments);

/// The ValueOnIndex grids of an uncompressed .nvdb file, all segments, as one batch. Every size is
/// held against the file before it is believed, and adopt() checks the grids [E-2]. Error:
/// InvalidArgument (no readable file), Corrupt, Unsupported (compressed; another format).
GridBatch read_grids(BatchedBuilder& builder, const std::filesystem::path& file);

}  // namespace leafproof::gpu::benchmarks
