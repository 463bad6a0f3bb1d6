// The convolution relation [K]: which fine voxel and which coarse voxel a tap joins. The one place
// of this reference where its phase and its division stand; everything else asks.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "reference/conv_structs.h"

namespace leafproof::reference {

/// Limits of [K-7], on an axis and in all.
inline constexpr std::int64_t kMaxKernelSize = 128, kMaxDilation = 16, kMaxTaps = 4096;

/// [K-7] InvalidArgument where K, S or D is below 1 on any axis; else Unsupported beyond a limit.
void check_kernel(const char* operation, const Kernel& kernel);

/// The number of taps, and the tap of a number: C order of (tx, ty, tz), z fastest [K-2].
std::int64_t tap_count(const Kernel& kernel);
Triple tap_of(const Kernel& kernel, std::int64_t number);

/// [K-1] fine = S * coarse + D * t - P, with P = floor(D * (K - 1) / 2), on every axis. Exact: what
/// is asked lies near the lattice, and 64 bits hold all that follows. The coarse partner is none
/// where the division leaves a remainder on some axis.
Triple fine_of(const Kernel& kernel, const Triple& coarse, const Triple& tap);
std::optional<Triple> coarse_of(const Kernel& kernel, const Triple& fine, const Triple& tap);

/// The partner, and whether a voxel is one of the lattice [L-1].
std::optional<Triple> target_of(const Kernel& kernel, Direction direction, const Voxel& source,
                                const Triple& tap);
std::optional<Triple> source_of(const Kernel& kernel, Direction direction, const Voxel& target,
                                const Triple& tap);
bool in_lattice(const Triple& c);

Triple triple(const Voxel& v);
Voxel voxel(const Triple& c);  // which is in the lattice

/// [P-3] Per axis the residues 0 ... S-1, ascending, that no tap reaches; all lists are empty for a
/// geometry whose taps reach all. Errors: as check_kernel, of the operation "residues".
std::array<std::vector<std::int64_t>, 3> missed_residues(const Kernel& kernel);

}  // namespace leafproof::reference
