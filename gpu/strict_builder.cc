#include "gpu/strict_builder.h"

#include <utility>

#include "gpu/passes_on.h"
#include "gpu/strict_executor.h"

namespace leafproof::gpu {

BatchedBuilder strict_builder(std::shared_ptr<StrictDevice> device, const BuildSettings& settings) {
  return BatchedBuilder(
      std::make_unique<PassesOn<StrictExecutor>>(StrictExecutor(std::move(device)), settings));
}

BatchedBuilder strict_builder(const StrictOptions& options) {
  return strict_builder(std::make_shared<StrictDevice>(options), options);
}

}  // namespace leafproof::gpu
