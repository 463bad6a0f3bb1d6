// The passes that read coordinates, on the strict executor.
#include "gpu/list_passes.h"
#include "gpu/strict_executor.h"

namespace leafproof::gpu {

LEAFPROOF_LIST_PASSES_ON(StrictExecutor);

}  // namespace leafproof::gpu
