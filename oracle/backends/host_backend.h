// The batched builder on the host executor, as a backend: `host`, `host-sort`, `host-mask`.
#pragma once

#include <memory>
#include <string>

#include "gpu/batched_builder.h"
#include "oracle/backend.h"

namespace leafproof::oracle {

enum class HostEngine { Default, Sort, Mask };

std::unique_ptr<Backend> make_host_backend(HostEngine engine);

/// The same under another name and with other options: how tests and sanitizer builds reach every
/// executor mode.
std::unique_ptr<Backend> make_host_backend(std::string name, const gpu::BuilderOptions& options);

}  // namespace leafproof::oracle
