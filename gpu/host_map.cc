// Kernel maps, on the host executor.
#include "gpu/host_executor.h"
#include "gpu/map_passes.h"

namespace leafproof::gpu {

LEAFPROOF_MAP_PASSES_ON(HostExecutor);

}  // namespace leafproof::gpu
