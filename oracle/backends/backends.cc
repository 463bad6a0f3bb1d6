// The backends of this build, by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "oracle/backend.h"
#include "oracle/backends/brute_force_backend.h"
#include "oracle/backends/cuda_backend.h"
#include "oracle/backends/host_backend.h"
#include "oracle/backends/library.h"
#include "oracle/backends/library_backend.h"
#include "oracle/backends/process_backend.h"
#include "oracle/backends/reference_backend.h"
#include "oracle/backends/strict_backend.h"

namespace leafproof::oracle {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Backend> (*make)();
  bool needs_device = false;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all{
      {"reference", make_reference_backend},
      {"brute_force", make_brute_force_backend},
      {"host", [] { return make_host_backend(HostEngine::Default); }},
      {"host-sort", [] { return make_host_backend(HostEngine::Sort); }},
      {"host-mask", [] { return make_host_backend(HostEngine::Mask); }},
      {"strict", make_strict_backend},
      {"cuda", [] { return make_cuda_backend("cuda", gpu::Engine::Mask); }, true},
      {"cuda-sort", [] { return make_cuda_backend("cuda-sort", gpu::Engine::Sort); }, true},
      {"cuda-mask", [] { return make_cuda_backend("cuda-mask", gpu::Engine::Mask); }, true},
  };
  return all;
}

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  const bool device = why_no_cuda_backend().empty();
  for (const Entry& entry : entries()) {
    if (device || !entry.needs_device) names.emplace_back(entry.name);
  }
  return names;
}

std::unique_ptr<Backend> make_backend(std::string_view name, const ForeignOptions& options) {
  for (const Entry& entry : entries())
    if (entry.name == name) return entry.make();
  if (names_library(std::string(name))) return make_library_backend(std::string(name), options);
  if (auto words = command_words(std::string(name)))
    return make_process_backend(std::string(name), std::move(*words), options);
  throw Error(ErrorKind::InvalidArgument,
              {.operation = "make a backend",
               .argument = "backend",
               .value = std::string(name),
               .reason = fmt::format("must be one of {}; a shared library, lib*.so; or a command, "
                                     "and this names no program",
                                     fmt::join(backend_names(), ", ")),
               .member = {},
               .row = {}});
}

}  // namespace leafproof::oracle
