// Taking over buffers, and moving batches, on the strict executor.
#include "gpu/adopt_passes.h"
#include "gpu/strict_executor.h"

namespace leafproof::gpu {

LEAFPROOF_ADOPT_PASSES_ON(StrictExecutor);

}  // namespace leafproof::gpu
