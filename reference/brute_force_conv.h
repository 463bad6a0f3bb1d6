// The second reference of convolution [K], [M], [V]: cells of dense boxes again (brute_force.h),
// and of each the question whether the relation holds. It shares the plain structs of
// conv_structs.h with the first, and no function: its own phase, taps, rows, sums and roundings.
//
// Errors: as the first reference. BoxTooLarge where a member's box does not suffice.
// Cost: O(taps * cells) per member.
#pragma once

#include "reference/brute_force.h"
#include "reference/conv_structs.h"

namespace leafproof::brute_force {

using reference::Array;
using reference::Coverage;
using reference::DenseMap;
using reference::Direction;
using reference::Gradients;
using reference::Kernel;
using reference::KernelMap;
using reference::NumberType;
using reference::Operands;

/// [K-3], [K-4]
Layout conv_grid(const Batch& source, const Kernel& kernel);
Layout conv_transpose_grid(const Batch& source, const Kernel& kernel);

/// The voxels of a layout, where it is to be the target of a map: it must be one of ours.
Batch voxels_of(const Layout& layout);

/// [M-1], [M-2]; [M-5] in the form of [M-4].
KernelMap kernel_map(const Batch& source, const Batch& target, const Kernel& kernel,
                     Direction direction);
DenseMap dense_map(const Batch& source, const Batch& target, const Kernel& kernel,
                   Direction direction);
DenseMap submanifold_map(const Batch& source, const Kernel& kernel);

/// [M-6] Of the rows of the source and of the target: counted in the boxes, without a map.
struct BothCoverages {
  Coverage source, target;
};
BothCoverages coverage(const Batch& source, const Batch& target, const Kernel& kernel,
                       Direction direction);

/// [V-1], [V-2], [V-6]. Taps and channels are summed from the last to the first.
Array convolve(const KernelMap& map, const Kernel& kernel, const Operands& given);
Gradients gradients(const KernelMap& map, const Kernel& kernel, const Operands& given);

}  // namespace leafproof::brute_force
