// Taking over buffers, and moving batches, on a CUDA device.
#include "gpu/adopt_passes.h"
#include "gpu/cuda_executor.cuh"

namespace leafproof::gpu {

LEAFPROOF_ADOPT_PASSES_ON(CudaExecutor);

}  // namespace leafproof::gpu
