// See vector_text.h.
#include "oracle/dialects/vector_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "oracle/dialects/rows.h"

namespace leafproof::oracle::dialects {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Rows& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back({row.batch, row.at[0], row.at[1], row.at[2]});
  return list;
}

Json whole_numbers(const Array& array) {
  std::vector<std::int64_t> values;
  for (const double x : array.values) values.push_back(static_cast<std::int64_t>(x));
  return {{"shape", array.shape}, {"values", values}};
}

/// What a layer is given, without what is as if it were not given.
Json params_of(const Layer& layer) {
  const Layer plain;
  Json params{{"kind", to_string(layer.kind)},
              {"kernel_size", layer.size},
              {"stride", layer.stride},
              {"dilation", layer.dilation}};
  if (layer.padding != plain.padding) params["padding"] = layer.padding;
  if (layer.output_padding != plain.output_padding) params["output_padding"] = layer.output_padding;
  if (layer.shape) params["spatial_shape"] = *layer.shape;
  if (layer.tensor_stride != plain.tensor_stride) params["tensor_stride"] = layer.tensor_stride;
  return params;
}

void add_map(Json& body, const Dialect& dialect, const VectorCase& c) {
  const LayerMap map = dialect.map(c.layer, c.source, c.target ? &*c.target : nullptr);
  body["result"] = "valid";
  body["expected"] = {{"target", json_of(map.target)},
                      {"step", dialect.step(c.layer)},
                      {"offsets", dialect.offsets(c.layer)},
                      {"pairs", map.pairs}};
}

void add_weights(Json& body, const Dialect& dialect, const VectorCase& c) {
  const Triple size = to_xyz(dialect, c.layer.size);
  Array ours{{c.channels->out, c.channels->in, size[0], size[1], size[2]}, {}};
  ours.values.resize(static_cast<std::size_t>(c.channels->out * c.channels->in * volume(size)));
  std::iota(ours.values.begin(), ours.values.end(), 1.0);
  body["ours"] = whole_numbers(ours);
  body["result"] = "valid";
  body["expected"] = whole_numbers(weights_from_ours(dialect, c.layer, ours));
}

Json body_of(const Dialect& dialect, const VectorCase& c, std::int64_t id) {
  Json body{{"id", id}, {"comment", c.comment}, {"flags", c.flags}};
  if (!c.channels) {
    body["batch_size"] = c.batch_size;
    body["source"] = json_of(c.source);
    if (c.target) body["target"] = json_of(*c.target);
  }
  try {
    if (c.channels)
      add_weights(body, dialect, c);
    else
      add_map(body, dialect, c);
  } catch (const reference::Error& error) {
    body["result"] = "invalid";
    body["error"] = reference::to_string(error.kind());
  }
  return body;
}

}  // namespace

std::string file_text(const Json& file) {
  std::string text = "{\n";
  for (const auto& [key, value] : file.items())
    if (key != "groups") text += fmt::format(" {}: {},\n", Json(key).dump(), value.dump());
  text += " \"groups\": [\n";
  const Json& groups = file.at("groups");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Json& group = groups[g];
    text += fmt::format("  {{\"op\": {}, \"params\": {}, \"cases\": [\n", group.at("op").dump(),
                        group.at("params").dump());
    const Json& cases = group.at("cases");
    for (std::size_t i = 0; i < cases.size(); ++i)
      text += fmt::format("   {}{}\n", cases[i].dump(), i + 1 < cases.size() ? "," : "");
    text += g + 1 < groups.size() ? "  ]},\n" : "  ]}\n";
  }
  return text.append(" ]\n}\n");
}

std::string vector_text(const std::string& dialect_name, const std::string& report,
                        const std::vector<VectorCase>& cases) {
  const Dialect& chosen = dialect(dialect_name);
  std::vector<std::string> columns{"batch"};
  for (const std::size_t axis : chosen.axes()) columns.emplace_back(1, "xyz"[axis]);
  Json groups = Json::array();
  for (const VectorCase& c : cases) {
    const char* const op = c.channels ? "weights" : "kernel_map";
    const Json params = params_of(c.layer);
    const auto same = [&](const Json& group) {
      return group["op"] == op && group["params"] == params;
    };
    auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) {
      groups.push_back({{"op", op}, {"params", params}, {"cases", Json::array()}});
      group = groups.end() - 1;
    }
    Json& listed = (*group)["cases"];
    listed.push_back(body_of(chosen, c, static_cast<std::int64_t>(listed.size())));
  }
  Json file{{"format", "leafproof-dialect-vectors"}, {"version", 1}, {"semantics_version", 1}};
  if (!report.empty()) file["report"] = report;
  file["dialect"] = dialect_name;
  file["columns"] = columns;
  file["groups"] = std::move(groups);
  return file_text(file);
}

}  // namespace leafproof::oracle::dialects
