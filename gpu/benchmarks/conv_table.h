// What `bench conv` prints.
#pragma once

#include <string>
#include <vector>

#include "gpu/benchmarks/conv_measure.h"
#include "gpu/benchmarks/table.h"

namespace leafproof::gpu::benchmarks {

struct ConvRows {
  std::vector<GridRow> grids;
  std::vector<MapRow> maps;
  std::vector<PlanRow> plans;
  std::vector<LayerRow> layers;
  bool empty() const { return grids.empty() && maps.empty() && plans.empty() && layers.empty(); }
};

/// Conv grids, kernel maps, plans, layers: a section each.
std::string markdown(const Circumstances& given, const ConvRows& rows);
/// {"command", ..., "grids": [...], "maps": [...], "plans": [...], "layers": [...]}
std::string json(const Circumstances& given, const ConvRows& rows);

}  // namespace leafproof::gpu::benchmarks
