// The second implementation: convolution and its gradients [V].
#pragma once

#include "oracle/backend.h"
#include "tests/faults/plain_lattice.h"

namespace leafproof::faults {

/// [V-1] [V-2] Over the dense form, rows in chunks. Shapes and casts by the reference's checks.
/// `given` is read only, but where the fault is that it is written to.
oracle::NumbersAnswer convolved(Fault fault, const reference::KernelMap& map, const Kernel& kernel,
                                oracle::Operands& given);
oracle::GradientsAnswer gradients_of(Fault fault, const reference::KernelMap& map,
                                     const Kernel& kernel, oracle::Operands& given);

}  // namespace leafproof::faults
