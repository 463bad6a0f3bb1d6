// Voxel lists in .npz: the plain way to hand a batch over from Python, and back.
//   ijk          int32 or int64 [N,3]    the voxels of all members, one after the other
//   offsets      int64 [B+1]             where each member begins, and where the last one ends
//   voxel_sizes  float64 [B,3] optional  the maps [G-7]; unit maps without them
//   origins      float64 [B,3] optional
// Voxels may come in any order and more than once [T-1]. Other arrays are left alone, with a note.
#pragma once

#include "oracle/input/members.h"
#include "oracle/input/npy.h"

namespace leafproof::oracle {

/// Appends the members of a list to `input`. Errors, naming the file: Corrupt for a damaged archive
/// or array, a shape that does not fit, offsets that do not start at 0, decrease, or end elsewhere;
/// Unsupported for another element type, encryption or compression; OutOfRange, naming member and
/// row, for a coordinate outside 32 bits; InvalidArgument for a map that is not finite and
/// positive; CapacityExceeded for more than `max_voxels` rows. Rows count from 0 in their member.
void read_npz(const FileTask& task, std::uint64_t max_voxels, Input& input);

/// Appends one list of voxels, int32 or int64 [N,3], with the unit map. Errors as read_npz.
void append_voxel_list(const FileTask& task, const NpyArray& ijk, std::uint64_t max_voxels,
                       Input& input);

/// Writes a batch in the same form (int32 `ijk`, all four arrays), readable by numpy.load. Names
/// are not kept. Errors as AtomicFile.
void write_voxel_npz(const std::filesystem::path& file, const Batch& batch);

}  // namespace leafproof::oracle
