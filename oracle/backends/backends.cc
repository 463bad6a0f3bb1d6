// The backends of this build, by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "oracle/backend.h"
#include "oracle/backends/brute_force_backend.h"
#include "oracle/backends/host_backend.h"
#include "oracle/backends/reference_backend.h"
#include "oracle/backends/strict_backend.h"

namespace leafproof::oracle {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Backend> (*make)();
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all{
      {"reference", make_reference_backend},
      {"brute_force", make_brute_force_backend},
      {"host", [] { return make_host_backend(HostEngine::Default); }},
      {"host-sort", [] { return make_host_backend(HostEngine::Sort); }},
      {"host-mask", [] { return make_host_backend(HostEngine::Mask); }},
      {"strict", make_strict_backend},
  };
  return all;
}

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Backend> make_backend(std::string_view name) {
  for (const Entry& entry : entries())
    if (entry.name == name) return entry.make();
  throw Error(ErrorKind::InvalidArgument,
              {.operation = "make a backend",
               .argument = "backend",
               .value = std::string(name),
               .reason = fmt::format("must be one of {}", fmt::join(backend_names(), ", ")),
               .member = {},
               .row = {}});
}

}  // namespace leafproof::oracle
