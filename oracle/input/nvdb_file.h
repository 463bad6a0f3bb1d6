// The container around NanoVDB grids: a .nvdb file is segments, each a header, one record and name
// per grid, then the grids, plain, deflated or in Blosc chunks; or it is a raw buffer of grids.
// Every size is held against the file before it is believed.
#pragma once

#include <cstdint>

#include "oracle/input/file_bytes.h"
#include "oracle/input/members.h"

namespace leafproof::oracle {

/// All grids of the file as stored, of any type, each on a 32-byte boundary and at least as long as
/// the headers of a grid. Errors name the file and the grid: Corrupt, Unsupported (another major
/// version, byte order or codec), OutOfMemory.
GridBuffer load_nvdb(const FileTask& task);

/// mGridType of a grid of load_nvdb.
std::uint32_t grid_type(const GridBuffer& buffer, std::size_t grid);

/// Appends every grid of the file: ValueOnIndex, ValueMask and float grids; their active voxels,
/// active tiles of the latter two expanded. Errors: those of load_nvdb and of read_layout, which
/// also name what lies inside a grid; Corrupt for a voxel that occurs twice; CapacityExceeded.
void read_nvdb_members(const FileTask& task, std::uint64_t max_voxels, Input& input);

}  // namespace leafproof::oracle
