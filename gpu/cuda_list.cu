// The passes that read coordinates, on a CUDA device.
#include "gpu/cuda_executor.cuh"
#include "gpu/list_passes.h"

namespace leafproof::gpu {

LEAFPROOF_LIST_PASSES_ON(CudaExecutor);

}  // namespace leafproof::gpu
