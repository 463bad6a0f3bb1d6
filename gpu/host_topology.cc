// The passes over batches, on the host executor.
#include "gpu/host_executor.h"
#include "gpu/topology_passes.h"

namespace leafproof::gpu {

LEAFPROOF_TOPOLOGY_PASSES_ON(HostExecutor);

}  // namespace leafproof::gpu
