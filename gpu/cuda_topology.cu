// The passes over batches, on a CUDA device.
#include "gpu/cuda_executor.cuh"
#include "gpu/topology_passes.h"

namespace leafproof::gpu {

LEAFPROOF_TOPOLOGY_PASSES_ON(CudaExecutor);

}  // namespace leafproof::gpu
