// The dialects by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "oracle/dialects/all.h"
#include "oracle/dialects/rows.h"

namespace leafproof::oracle::dialects {
namespace {

const std::vector<std::unique_ptr<Dialect>>& all() {
  static const auto made = [] {
    std::vector<std::unique_ptr<Dialect>> list;
    list.push_back(make_fvdb());
    list.push_back(make_spconv());
    list.push_back(make_minkowski());
    list.push_back(make_torchsparse(TorchSparseMode::OnTheFly));
    list.push_back(make_torchsparse(TorchSparseMode::Hashmap));
    list.push_back(make_torchsparse(TorchSparseMode::HashmapMinkowski));
    list.push_back(make_mlx_lattice());
    list.push_back(make_lato());
    list.push_back(make_dense());
    return list;
  }();
  return made;
}

constexpr std::array<std::string_view, 4> kKinds{"forward", "transposed", "inverse", "submanifold"};

}  // namespace

std::string_view to_string(Kind kind) {
  return kKinds.at(static_cast<std::size_t>(kind));
}

std::optional<Kind> parse_kind(std::string_view name) {
  const auto* const at = std::ranges::find(kKinds, name);
  if (at == kKinds.end()) return {};
  return static_cast<Kind>(at - kKinds.begin());
}

const std::vector<std::string>& dialect_names() {
  static const auto names = [] {
    std::vector<std::string> list;
    for (const auto& each : all()) list.push_back(each->facts().name);
    return list;
  }();
  return names;
}

const Dialect& dialect(std::string_view name) {
  for (const auto& each : all())
    if (each->facts().name == name) return *each;
  throw reference::Error(
      ErrorKind::InvalidArgument,
      {.operation = "dialect",
       .argument = "name",
       .value = std::string(name),
       .reason = fmt::format("must be one of {}", fmt::join(dialect_names(), ", ")),
       .member = {},
       .row = {}});
}

}  // namespace leafproof::oracle::dialects
