// What `bench conv` measures: conv grids, kernel maps, plans, and a layer, each beside what cannot
// be done without and beside what is done today, contestants interleaved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gpu/batched_builder.h"
#include "gpu/benchmarks/measure.h"

namespace leafproof::gpu::benchmarks {

/// The contestants, by these names in `ms` and in JSON.
namespace conv_who {
inline constexpr const char* kOurs = "ours";         // into new memory
inline constexpr const char* kPooled = "pooled";     // from a ResultPool, and back into it
inline constexpr const char* kBatch = "keys-batch";  // KeySort::Batch
inline constexpr const char* kMembers = "keys-members";
inline constexpr const char* kVector = "keys-vector";
inline constexpr const char* kSorted = "sorted-keys";  // MapByKeys
inline constexpr const char* kHash = "hash-map";
inline constexpr const char* kZeroFresh = "zero-fresh";  // as in measure.h
inline constexpr const char* kZeroOwn = "zero-own";
inline constexpr const char* kPerTap = "per-tap";
inline constexpr const char* kChunked = "chunked";
inline constexpr const char* kDense = "dense";  // products of kDenseSide^3, one a thread
}  // namespace conv_who

struct ConvPass {
  std::string name;  // "K3 S2 transposed"
  ConvGeometry geometry;
  Direction direction = Direction::Forward;
};
ConvPass cubic_pass(std::int64_t kernel, std::int64_t stride,
                    Direction direction = Direction::Forward);

struct GridRow {
  std::string family, pass;
  std::int64_t members = 0, voxels = 0, voxels_out = 0;
  std::int64_t keys = 0;  // that the per-voxel way lists
  std::size_t bytes = 0;  // of the result
  Spent spent;
  std::map<std::string, double> ms;
};
GridRow measure_grid(const GridBatch& source, const std::string& family, const ConvPass& pass,
                     const Effort& effort);

struct MapRow {
  std::string pass;
  std::int64_t voxels = 0, coarse = 0, pairs = 0;
  std::size_t bytes = 0;
  Spent spent;
  std::map<std::string, double> ms;
};
/// Of stride 1: the target is the source. Else conv_grid of it.
MapRow measure_map(const GridBatch& source, const ConvPass& pass, const Effort& effort);

struct PlanRow {
  std::string family, what;
  std::int64_t members = 0, voxels = 0;
  Spent spent;                                         // of all builds together
  double total = 0;                                    // milliseconds
  std::vector<std::pair<std::string, double>> shares;  // milliseconds of parts measured apart
};
/// Plans K2 S2 with a target of their own and back; an encoder and decoder of four levels.
std::vector<PlanRow> measure_plans(const GridBatch& source, const std::string& family,
                                   const Effort& effort);
/// Plans whose target is the source, K=S=1, which need no map.
PlanRow measure_identity(const GridBatch& source, const std::string& family, const Effort& effort);

struct LayerRow {
  std::string family;
  std::int64_t channels_in = 0, channels_out = 0, voxels = 0, pairs = 0;
  double operations = 0;                // floating-point ones of all pairs
  double dense_rate = 0;                // operations per millisecond of Eigen's dense product
  std::map<std::string, double> extra;  // bytes at the peak beyond the result, by form; < 0 unknown
  std::map<std::string, double> ms;
};
/// SubMConv3d K=3 in float.
LayerRow measure_layer(const GridBatch& source, const std::string& family, std::int64_t channels_in,
                       std::int64_t channels_out, int threads, const Effort& effort);

}  // namespace leafproof::gpu::benchmarks
