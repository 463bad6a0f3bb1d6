#include "gpu/benchmarks/conv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gpu/benchmarks/markdown.h"

namespace leafproof::gpu::benchmarks {
namespace {

double ms(const std::map<std::string, double>& all, const char* name) {
  const auto found = all.find(name);
  return found == all.end() ? 0 : found->second;
}

/// The least of those that are there.
double best(const std::map<std::string, double>& all, std::initializer_list<const char*> names) {
  double least = 0;
  for (const char* name : names) {
    const double one = ms(all, name);
    if (one > 0 && (least == 0 || one < least)) least = one;
  }
  return least;
}

std::string megabytes(double bytes) {
  return number(bytes / 1e6);
}

std::string section(const char* heading, const std::string& text, const std::vector<Cells>& cells,
                    std::size_t words) {
  if (cells.size() == 1) return "";
  return std::string("\n### ").append(heading) + "\n\n" + wrapped(text) + "\n" +
         table(cells, words);
}

std::string grids(const std::vector<GridRow>& rows) {
  using namespace conv_who;
  const std::string shells =
      rows.empty() ? "" : "Shells `" + rows.front().family + "` of performance.md. ";
  std::vector<Cells> times{
      {"B", "pass", "ours", "pooled", "batch", "members", "vector", "of ours", "of pooled"}};
  std::vector<Cells> zeros{
      {"B", "pass", "MB", "zeros", "of zeros", "of own", "launches", "syncs", "scratch"}};
  for (const GridRow& row : rows) {
    const double ours = ms(row.ms, kOurs), pooled = ms(row.ms, kPooled);
    const double keys = best(row.ms, {kBatch, kMembers, kVector});
    const Cells words{std::to_string(row.members), row.pass};
    times.push_back(words);
    for (std::string cell :
         {number(ours), number(pooled), number(ms(row.ms, kBatch)), number(ms(row.ms, kMembers)),
          number(ms(row.ms, kVector)), ratio(keys, ours), ratio(keys, pooled)}) {
      times.back().push_back(std::move(cell));
    }
    zeros.push_back(words);
    const double fresh = ms(row.ms, kZeroFresh), own = ms(row.ms, kZeroOwn);
    for (std::string cell :
         {megabytes(static_cast<double>(row.bytes)), number(fresh), ratio(ours, fresh),
          ratio(ours, own), std::to_string(row.spent.launches),
          std::to_string(row.spent.synchronisations),
          megabytes(static_cast<double>(row.spent.scratch))}) {
      zeros.back().push_back(std::move(cell));
    }
  }
  return section(
             "Conv grids",
             shells +
                 "Milliseconds. `ours`: into new memory; `pooled`: from a ResultPool and back into "
                 "it. The per-voxel way, sorting `batch`: all keys at once; `members`: each "
                 "member's; `vector`: each member's, by a vectorised sort. Then how many times as "
                 "long the best of the three takes as `ours` and as `pooled`.",
             times, 2) +
         section("Conv grids beside zeros",
                 "`MB`: of the result. `zeros`: milliseconds to set as many bytes to zero in newly "
                 "mapped small pages. Then `ours` of it, and of zeroing new memory of the "
                 "allocator that "
                 "`ours` uses; launches, synchronisations, and MB of workspace.",
                 zeros, 2);
}

std::string maps(const std::vector<MapRow>& rows) {
  using namespace conv_who;
  std::vector<Cells> cells{{"map", "voxels", "pairs", "MB", "ours", "sorted", "hash", "times",
                            "zeros", "of zeros", "of own"}};
  for (const MapRow& row : rows) {
    const double ours = ms(row.ms, kOurs), zeros = ms(row.ms, kZeroFresh);
    const double own = ms(row.ms, kZeroOwn);
    cells.push_back({row.pass, grouped(row.voxels), grouped(row.pairs),
                     megabytes(static_cast<double>(row.bytes)), number(ours),
                     number(ms(row.ms, kSorted)), number(ms(row.ms, kHash)),
                     ratio(best(row.ms, {kSorted, kHash}), ours), number(zeros), ratio(ours, zeros),
                     number(own), ratio(ours, own)});
  }
  return section(
      "Kernel maps",
      "Milliseconds. `voxels`: of the source; `MB`: of the map, new memory for everyone. "
      "`sorted`, `hash`: by sorted keys and a hash table; `times`: how many times as "
      "long the better of them takes as `ours`. `zeros`: as above; then `ours` of it, and of new "
      "memory of its allocator.",
      cells, 1);
}

std::string plans(const std::vector<PlanRow>& rows) {
  std::vector<Cells> cells{{"source", "B", "what", "ms", "parts, in % of ms", "launches", "syncs"}};
  for (const PlanRow& row : rows) {
    std::string shares;
    for (const auto& [name, part] : row.shares) {
      shares += fmt::format("{}{} {:.0f}", shares.empty() ? "" : ", ", name,
                            row.total > 0 ? 100 * part / row.total : 0);
    }
    cells.push_back({row.family, std::to_string(row.members), row.what, number(row.total),
                     shares.empty() ? "-" : shares, std::to_string(row.spent.launches),
                     std::to_string(row.spent.synchronisations)});
  }
  return section(
      "Plans",
      "Milliseconds. `K2 S2`: a plan with a target that it generates. `3 grids, 8 plans`: "
      "all of an encoder and decoder of four levels, anew. `21 plans`: what its layers "
      "ask a cache for in one iteration; `known`: when it has all. Parts were measured "
      "apart.",
      cells, 3);
}

std::string layers(const std::vector<LayerRow>& rows) {
  using namespace conv_who;
  std::vector<Cells> cells{{"source", "channels", "pairs", "dense", "per tap", "chunked", "share",
                            "share (c)", "MB", "MB (c)"}};
  for (const LayerRow& row : rows) {
    const double per_tap = ms(row.ms, kPerTap), chunked = ms(row.ms, kChunked);
    const double dense = row.operations / row.dense_rate;
    const auto extra = [&](const char* form) {
      const double bytes = row.extra.at(form);
      return bytes < 0 ? std::string("-") : fmt::format("{:.1f}", bytes / 1e6);
    };
    cells.push_back({row.family, fmt::format("{} to {}", row.channels_in, row.channels_out),
                     grouped(row.pairs), number(dense), number(per_tap), number(chunked),
                     ratio(dense, per_tap), ratio(dense, chunked), extra(kPerTap),
                     extra(kChunked)});
  }
  return section("SubMConv3d, K=3, float",
                 "Milliseconds. `dense`: what Eigen's own product of dense matrices needs for as "
                 "many floating-point operations as the pairs have, on all threads; `per "
                 "tap`, `chunked`: the two forms; `share`: `dense` over them; `MB`: memory at the "
                 "peak beyond the result; (c): of `chunked`.",
                 cells, 1);
}

}  // namespace

std::string markdown(const Circumstances& given, const ConvRows& rows) {
  return made_by(given) + grids(rows.grids) + maps(rows.maps) + plans(rows.plans) +
         layers(rows.layers);
}

std::string json(const Circumstances& given, const ConvRows& rows) {
  nlohmann::ordered_json all = json_of(given);
  for (const char* kind : {"grids", "maps", "plans", "layers"}) all[kind] = nlohmann::json::array();
  const auto spent = [](nlohmann::ordered_json& to, const Spent& of) {
    to["launches"] = of.launches;
    to["synchronisations"] = of.synchronisations;
    to["scratch"] = of.scratch;
  };
  for (const GridRow& row : rows.grids) {
    nlohmann::ordered_json one{{"workload", row.family},
                               {"members", row.members},
                               {"pass", row.pass},
                               {"voxels_in", row.voxels},
                               {"voxels_out", row.voxels_out},
                               {"keys", row.keys},
                               {"bytes_out", row.bytes},
                               {"ms", row.ms}};
    spent(one, row.spent);
    all["grids"].push_back(std::move(one));
  }
  for (const MapRow& row : rows.maps) {
    nlohmann::ordered_json one{{"pass", row.pass},       {"voxels", row.voxels},
                               {"coarse", row.coarse},   {"pairs", row.pairs},
                               {"bytes_out", row.bytes}, {"ms", row.ms}};
    spent(one, row.spent);
    all["maps"].push_back(std::move(one));
  }
  for (const PlanRow& row : rows.plans) {
    nlohmann::ordered_json one{{"workload", row.family},
                               {"members", row.members},
                               {"what", row.what},
                               {"voxels", row.voxels},
                               {"total_ms", row.total}};
    for (const auto& [name, part] : row.shares) one["parts_ms"][name] = part;
    spent(one, row.spent);
    all["plans"].push_back(std::move(one));
  }
  for (const LayerRow& row : rows.layers) {
    all["layers"].push_back({{"workload", row.family},
                             {"channels_in", row.channels_in},
                             {"channels_out", row.channels_out},
                             {"voxels", row.voxels},
                             {"pairs", row.pairs},
                             {"operations", row.operations},
                             {"dense_operations_per_ms", row.dense_rate},
                             {"extra_bytes", row.extra},
                             {"ms", row.ms}});
  }
  return text_of(all);
}

}  // namespace leafproof::gpu::benchmarks
