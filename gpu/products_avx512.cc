// The inner loops of a convolution for x86-64-v4; compiled with flags that say so.
#include "gpu/instruction_set.h"

#if defined(LEAFPROOF_INSTRUCTION_SETS)
#define LEAFPROOF_SET on_avx512
#define LEAFPROOF_SET_EIGEN LeafproofEigenAvx512
#include "gpu/products_of_set.h"

namespace leafproof::gpu {

const Products& products_avx512() {
  return on_avx512::kProducts;
}

}  // namespace leafproof::gpu
#endif
