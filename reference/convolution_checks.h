// The operands of a convolution as they must fit each other [E-3], cast to one type [V-6].
#pragma once

#include "reference/conv_structs.h"

namespace leafproof::reference {

/// Operands that fit: all shapes checked, all numbers of the type.
struct Fitted {
  const char* operation;
  Operands given;
  std::size_t cin = 0, cout = 0, taps = 0;
  double weight(std::size_t co, std::size_t ci, std::size_t tap) const {
    return given.weights.values[(co * cin + ci) * taps + tap];
  }
};

/// Errors: as convolve(). `gradients`: grad_output is needed, a bias is not read.
Fitted fitted(const char* operation, const KernelMap& map, const Kernel& kernel,
              const Operands& given, bool gradients);

}  // namespace leafproof::reference
