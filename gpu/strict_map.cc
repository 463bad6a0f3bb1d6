// Kernel maps, on the strict executor.
#include "gpu/strict_executor.h"
#include "gpu/map_passes.h"

namespace leafproof::gpu {

LEAFPROOF_MAP_PASSES_ON(StrictExecutor);

}  // namespace leafproof::gpu
