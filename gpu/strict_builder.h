// The batched builder on a StrictDevice: how code that CI cannot run on a GPU is kept honest. Slow,
// and equal to every other builder byte for byte.
#pragma once

#include <memory>

#include "gpu/batched_builder.h"
#include "gpu/strict_device.h"

namespace leafproof::gpu {

struct StrictOptions : BuildSettings, StrictBehaviour {};

/// A builder on the device's stream; several may share a device, from one thread at a time.
BatchedBuilder strict_builder(std::shared_ptr<StrictDevice> device, const BuildSettings& settings);

/// A builder on a device of its own.
BatchedBuilder strict_builder(const StrictOptions& options = {});

}  // namespace leafproof::gpu
