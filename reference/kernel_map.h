// Kernel maps [M]: which source row meets which target row at which tap.
#pragma once

#include "reference/conv_structs.h"

namespace leafproof::reference {

/// The most pairs that this reference lists (16 bytes each); more is CapacityExceeded [L-6].
inline constexpr std::int64_t kMaxPairs = 1'000'000'000;

/// [M-1], [M-2] The map onto `target`: a complete target is given as complete_target() makes it, a
/// restricted one is any batch of equal B [K-6]. Within a tap ascending target rows. What lies
/// outside the lattice is no partner. Errors, the first of: [K-7]; ShapeMismatch for another B; the
/// source, then the target's voxels out of canonical order; CapacityExceeded.
/// Cost: O(taps * target rows * log(source rows)).
KernelMap kernel_map(const Batch& source, const Batch& target, const Kernel& kernel,
                     Direction direction);

/// [M-5] Target = source. Errors: InvalidArgument where K is even or S is not 1 on some axis; else
/// as kernel_map.
KernelMap submanifold_map(const Batch& source, const Kernel& kernel);

/// [M-4] The same pairs by target row.
DenseMap dense(const KernelMap& map);

/// [M-1] The columns exchanged; the pairs of a tap keep their places.
KernelMap swapped(const KernelMap& map);

/// [M-6] Of the rows of a side.
Coverage source_coverage(const KernelMap& map);
Coverage target_coverage(const KernelMap& map);

}  // namespace leafproof::reference
