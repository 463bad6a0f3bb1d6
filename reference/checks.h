// What every pass refuses before it builds anything, and in which order (see passes.h) [E-1],
// [T-11].
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "reference/error.h"
#include "reference/lattice.h"

namespace leafproof::reference {

/// Limits of [T-11], and of a stride [K-7].
inline constexpr std::int64_t kMaxRefineFactor = 1024;
inline constexpr std::int64_t kMaxBoxWidth = 1024;
inline constexpr std::int64_t kMaxStride = 64;

/// The reference's own budget [L-6]: a result of more voxels (12 GB of them) is refused.
inline constexpr std::uint64_t kMaxVoxels = 1'000'000'000;

/// "(x, y, z)"; and the shortest decimals that give the double back.
std::string to_text(const Triple& t);
std::string to_text(const Voxel& v);
std::string to_text(double number);

[[noreturn]] void refuse(ErrorKind kind, const char* operation, const char* argument,
                         std::string value, std::string reason,
                         std::optional<std::int64_t> member = {},
                         std::optional<std::int64_t> row = {});

/// InvalidArgument below 1 on any axis; else Unsupported above `limit` (0: no limit) on any.
void check_factor(const char* operation, const char* argument, const Triple& factor,
                  std::int64_t limit);

/// InvalidArgument where lo > hi, or without 0 where `needs_zero`; else Unsupported when too wide.
void check_box(const char* operation, const Triple& lo, const Triple& hi, bool needs_zero);

/// InvalidArgument where a member is not in canonical order without repeats. O(voxels).
void check_members(const char* operation, const char* argument,
                   const std::vector<std::vector<Voxel>>& members);

/// ShapeMismatch unless there are B maps and B names; then check_members, check_map, check_name.
void check_batch(const char* operation, const Batch& batch);

/// ShapeMismatch unless there is one list per member, each of the member's length [T-10].
void check_masks(const char* operation, const Batch& batch, const Masks& masks);

/// All results of one voxel, as the inclusive box (lowest corner, highest corner).
using Image = std::function<std::pair<Triple, Triple>(const Voxel&)>;

/// OutOfRange at the first voxel in canonical order, flagged where there are masks, with a result
/// outside the lattice; names its member, its row and one such result [L-5]. O(voxels).
void check_range(const char* operation, const Batch& batch, const Masks* masks, const Image& image);

/// CapacityExceeded when `voxels` exceeds kMaxVoxels. `exact`: the size is known, not a lower
/// bound.
void check_budget(const char* operation, std::uint64_t voxels, bool exact);

}  // namespace leafproof::reference
