// The second implementation: kernel maps [M].
#pragma once

#include "reference/conv_structs.h"
#include "tests/faults/plain_lattice.h"

namespace leafproof::faults {

/// [M-1] [M-2] Pairs by tap, each tap's in ascending target row. `restricted`: the target was
/// given.
reference::KernelMap map_of(Fault fault, const Batch& source, const Batch& target,
                            const Kernel& kernel, Direction direction, bool submanifold);

/// [M-4] What does not fit the map's own rows is left out: a broken map must not break its reader.
reference::DenseMap dense_of(const reference::KernelMap& map);

}  // namespace leafproof::faults
