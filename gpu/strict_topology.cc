// The passes over batches, on the strict executor.
#include "gpu/strict_executor.h"
#include "gpu/topology_passes.h"

namespace leafproof::gpu {

LEAFPROOF_TOPOLOGY_PASSES_ON(StrictExecutor);

}  // namespace leafproof::gpu
