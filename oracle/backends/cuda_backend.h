// The batched builder on a CUDA device, as a backend: `cuda`, `cuda-sort`, `cuda-mask`.
#pragma once

#include <memory>
#include <string>

#include "gpu/engine.h"
#include "oracle/backend.h"
#include "oracle/backends/guarded_memory.h"

namespace leafproof::oracle {

/// Why there is no such backend here, in one phrase; empty where there is.
std::string why_no_cuda_backend();

/// On a stream of its own of the current device. Error(Unsupported, argument "backend") where
/// why_no_cuda_backend() says why.
std::unique_ptr<Backend> make_cuda_backend(std::string name, gpu::Engine engine);

/// Memory of the current device, with a stream of its own, for a library that works there. The same
/// Error.
std::unique_ptr<DeviceMemory> make_cuda_memory();

}  // namespace leafproof::oracle
