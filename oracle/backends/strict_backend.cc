#include "oracle/backends/strict_backend.h"

#include "gpu/strict_builder.h"
#include "oracle/backends/builder_backend.h"

namespace leafproof::oracle {

std::unique_ptr<Backend> make_strict_backend() {
  return make_builder_backend(
      "strict",
      "the batched builder on a hostile device: closed and poisoned memory, shuffled launches",
      [] { return gpu::strict_builder(); });
}

}  // namespace leafproof::oracle
