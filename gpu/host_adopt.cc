// Taking over buffers, and moving batches, on the host executor.
#include "gpu/adopt_passes.h"
#include "gpu/host_executor.h"

namespace leafproof::gpu {

LEAFPROOF_ADOPT_PASSES_ON(HostExecutor);

}  // namespace leafproof::gpu
