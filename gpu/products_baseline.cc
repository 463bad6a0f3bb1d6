// The inner loops of a convolution for any CPU that the compiler was told to assume, and the
// choice.
#define LEAFPROOF_SET on_baseline
#define LEAFPROOF_SET_EIGEN LeafproofEigenBaseline
#include "gpu/products_of_set.h"

namespace leafproof::gpu {

const Products& products_baseline() {
  return on_baseline::kProducts;
}

const Products& products() {
#if defined(LEAFPROOF_INSTRUCTION_SETS)
  switch (instruction_set()) {
    case InstructionSet::Avx512:
      return products_avx512();
    case InstructionSet::Avx2:
      return products_avx2();
    case InstructionSet::Baseline:
      break;
  }
#endif
  return products_baseline();
}

}  // namespace leafproof::gpu
