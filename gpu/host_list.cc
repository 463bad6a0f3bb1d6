// The passes that read coordinates, on the host executor.
#include "gpu/host_executor.h"
#include "gpu/list_passes.h"

namespace leafproof::gpu {

LEAFPROOF_LIST_PASSES_ON(HostExecutor);

}  // namespace leafproof::gpu
