// Kernel maps, on a CUDA device.
#include "gpu/cuda_executor.cuh"
#include "gpu/map_passes.h"

namespace leafproof::gpu {

LEAFPROOF_MAP_PASSES_ON(CudaExecutor);

}  // namespace leafproof::gpu
