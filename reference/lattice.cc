// Floor division [L-4]: C++ rounds toward zero, the lattice rounds down.
#include "reference/lattice.h"

namespace leafproof::reference {

std::int64_t floor_div(std::int64_t n, std::int64_t d) {
  const std::int64_t quotient = n / d;
  return n % d < 0 ? quotient - 1 : quotient;
}

std::int64_t floor_mod(std::int64_t n, std::int64_t d) {
  const std::int64_t remainder = n % d;
  return remainder < 0 ? remainder + d : remainder;
}

}  // namespace leafproof::reference
