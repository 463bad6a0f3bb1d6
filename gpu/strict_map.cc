// Kernel maps, on the strict executor.
#include "gpu/map_passes.h"
#include "gpu/strict_executor.h"

namespace leafproof::gpu {

LEAFPROOF_MAP_PASSES_ON(StrictExecutor);

}  // namespace leafproof::gpu
