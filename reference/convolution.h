// Convolution over a kernel map [V]: forward and transposed alike (the map decides [M-1]), its
// gradients, and the same without error, so that others can be judged [V-3].
#pragma once

#include "reference/conv_structs.h"

namespace leafproof::reference {

/// [V-1] Bias plus the sum over pairs (i, o) of tap t and over ci of W[co][ci][t] * in[i][ci], as
/// [target rows][Cout], accumulated and rounded as [V-6] says; a row without pairs is the bias.
/// `map` is one of kernel_map() for `kernel`. Errors, the first of: ShapeMismatch of features,
/// weights, bias, naming both shapes; InvalidArgument for what int32 does not hold; OutOfRange for
/// an int32 result out of range, naming its row.
/// Cost: O(pairs * Cin * Cout), taps ascending, in a tap as the map has them.
Array convolve(const KernelMap& map, const Kernel& kernel, const Operands& given);

/// [V-2] From `grad_output`, which must be there. Errors as convolve.
Gradients gradients(const KernelMap& map, const Kernel& kernel, const Operands& given);

/// The same without error [V-3], element for element; never OutOfRange.
std::vector<Exact> convolve_exactly(const KernelMap& map, const Kernel& kernel,
                                    const Operands& given);
struct ExactGradients {
  std::vector<Exact> features, weights, bias;
};
ExactGradients gradients_exactly(const KernelMap& map, const Kernel& kernel, const Operands& given);

}  // namespace leafproof::reference
