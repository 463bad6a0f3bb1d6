#include "oracle/backends/host_backend.h"

#include <utility>

#include "oracle/backends/builder_backend.h"

namespace leafproof::oracle {

std::unique_ptr<Backend> make_host_backend(std::string name, const gpu::BuilderOptions& options) {
  const char* description = options.engine == gpu::Engine::Mask
                                ? "the batched builder on the CPU; leaves found by child masks"
                                : "the batched builder on the CPU; leaves found by sorted keys";
  return make_builder_backend(std::move(name), description,
                              [options] { return gpu::BatchedBuilder(options); });
}

std::unique_ptr<Backend> make_host_backend(HostEngine engine) {
  gpu::BuilderOptions options;
  if (engine == HostEngine::Sort) options.engine = gpu::Engine::Sort;
  if (engine == HostEngine::Mask) options.engine = gpu::Engine::Mask;
  const char* name = engine == HostEngine::Sort   ? "host-sort"
                     : engine == HostEngine::Mask ? "host-mask"
                                                  : "host";
  return make_host_backend(name, options);
}

}  // namespace leafproof::oracle
