// [F], written; oracle/vectors.cc reads it.
#include "oracle/vector_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "oracle/case_fields.h"
#include "oracle/layout_view.h"

namespace leafproof::oracle {
namespace {

using forms::Members;
using reference::Array;
using Json = nlohmann::ordered_json;

[[noreturn]] void no_place(const Case& question, const char* argument, std::string reason) {
  throw Error(ErrorKind::Unsupported, {.operation = "write a vector",
                                       .argument = argument,
                                       .value = std::string(to_string(question.op)),
                                       .reason = std::move(reason),
                                       .member = {},
                                       .row = {}});
}

Json json_of(const Voxel& v) {
  return Json::array({v.x, v.y, v.z});
}
Json json_of(const Members& members) {
  Json lists = Json::array();
  for (const auto& member : members) {
    Json& list = lists.emplace_back(Json::array());
    for (const Voxel& v : member) list.push_back(json_of(v));
  }
  return lists;
}

/// A whole number without a point.
Json whole(const Case& question, const char* argument, double x) {
  if (x != std::trunc(x) || std::fabs(x) > 0x1p53) no_place(question, argument, "must be whole");
  return static_cast<std::int64_t>(x);
}

/// [rows][columns], or a list.
Json table(const Case& question, const char* argument, const Array& array) {
  const std::size_t columns =
      array.shape.size() == 2 ? static_cast<std::size_t>(array.shape[1]) : 1;
  Json rows = Json::array();
  for (std::size_t i = 0; columns > 0 && i < array.values.size(); i += columns) {
    Json row = Json::array();
    for (std::size_t k = 0; k < columns; ++k)
      row.push_back(whole(question, argument, array.values[i + k]));
    rows.push_back(array.shape.size() == 2 ? row : row[0]);
  }
  return rows;
}

/// [Cout][Cin][K...] as [tap][Cin][Cout].
Json weights_json(const Case& question, const char* argument, const Array& weights) {
  if (weights.shape.size() != 5) no_place(question, argument, "must have five axes");
  const auto size = [&](std::size_t a) { return static_cast<std::size_t>(weights.shape[a]); };
  const std::size_t cout = size(0), cin = size(1), taps = size(2) * size(3) * size(4);
  Json all = Json::array();
  for (std::size_t t = 0; t < taps; ++t) {
    Json tap = Json::array();
    for (std::size_t ci = 0; ci < cin; ++ci) {
      Json row = Json::array();
      for (std::size_t co = 0; co < cout; ++co)
        row.push_back(whole(question, argument, weights.values[(co * cin + ci) * taps + t]));
      tap.push_back(std::move(row));
    }
    all.push_back(std::move(tap));
  }
  return all;
}

Json expected_layout(const Layout& layout) {
  Json boxes = Json::array(), counts = Json::array();
  for (const auto& grid : layout.grids) {
    boxes.push_back(grid.box ? Json::array({json_of(grid.box->min), json_of(grid.box->max)})
                             : Json());
    counts.push_back({grid.leaves.size(), grid.lowers.size(), grid.uppers.size()});
  }
  return {{"voxels", json_of(batch_of(layout).members)},
          {"bboxes", std::move(boxes)},
          {"node_counts", std::move(counts)}};
}

Json pairs_json(const reference::KernelMap& map) {
  Json taps = Json::array();
  for (std::size_t t = 0; t + 1 < map.offsets.size(); ++t) {
    Json& pairs = taps.emplace_back(Json::array());
    for (auto i = static_cast<std::size_t>(map.offsets[t]);
         i < static_cast<std::size_t>(map.offsets[t + 1]); ++i)
      pairs.push_back({map.gather[i], map.scatter[i]});
  }
  return taps;
}

std::size_t rows_of(const Case& c) {
  std::size_t rows = 0;
  for (std::size_t p = 0; p < (c.view ? c.view->size() : c.source.size()); ++p)
    rows += c.source.members[c.view ? static_cast<std::size_t>((*c.view)[p]) : p].size();
  return rows;
}

/// The case as the format has it: a kernel map within a convolution of ones, and a target that is
/// there to be read.
Case writable(Case c, const Backend& reference) {
  const bool map = c.op == Op::KernelMap;
  if (!map && c.op != Op::Convolution && c.op != Op::ConvolutionGradients) return c;
  Case asked = c;
  asked.op = Op::KernelMap;
  asked.operands = {};
  asked.dense = false;
  const Answer answer = reference.answer(asked);
  const auto* pairs = std::get_if<KernelMapAnswer>(&answer);
  if (pairs == nullptr) return c;  // refused
  if (!c.target) c.target = batch_of(std::get<Layout>(*pairs->target));
  if (!map) return c;
  if (c.dense) no_place(c, "dense", "must not be the form of [M-4]");
  c.op = Op::Convolution;
  const auto rows = static_cast<std::int64_t>(rows_of(c));
  const Triple k = c.kernel.size;
  c.operands.features = {{rows, 1}, std::vector<double>(static_cast<std::size_t>(rows), 1)};
  c.operands.weights = {{1, 1, k[0], k[1], k[2]},
                        std::vector<double>(static_cast<std::size_t>(k[0] * k[1] * k[2]), 1)};
  return c;
}

void check_batch(const Case& c, const char* argument, const Batch& batch, bool maps) {
  if (maps && !forms::same(batch.maps, forms::Maps(batch.size())))
    no_place(c, argument, "must have unit maps");
  if (batch.names != forms::Names(batch.size())) no_place(c, argument, "must have no names");
}

Json maps_json(const std::vector<Map>& maps, bool sizes) {
  Json list = Json::array();
  for (const Map& m : maps) list.push_back(sizes ? m.voxel_size : m.origin);
  return list;
}

class Writer {
 public:
  Writer(const Case& c, const Backend& reference) : c_(c), reference_(reference) {}

  Json params() const {
    const auto& [size, stride, dilation] = c_.kernel;
    switch (c_.op) {
      case Op::Refine:
      case Op::Coarsen:
        return {{"factor", c_.factor}};
      case Op::MapAfter:
        return {{"operation", to_string(c_.mapped)}, {"factor", c_.factor}};
      case Op::DilateBox:
      case Op::ErodeBox:
        return {{"lo", c_.lo}, {"hi", c_.hi}};
      case Op::SubmanifoldIndexMap:
        if (stride != Triple{1, 1, 1} || dilation != Triple{1, 1, 1})
          no_place(c_, "stride", "must have neither stride nor dilation");
        return {{"kernel_size", size}};
      case Op::ConvGrid:
      case Op::ConvTransposeGrid:
        return {{"kernel_size", size}, {"stride", stride}, {"dilation", dilation}};
      case Op::Convolution:
      case Op::ConvolutionGradients:
        return {{"kernel_size", size},
                {"stride", stride},
                {"dilation", dilation},
                {"transposed", c_.direction == Direction::Transposed}};
      default:
        return Json::object();
    }
  }

  Json body() {
    Json json;
    json["id"] = 0;
    json["comment"] = c_.comment;
    json["flags"] = Json::array();
    question(json);
    const Answer answer = reference_.answer(c_);
    const auto* error = std::get_if<Error>(&answer);
    json["result"] = error ? "invalid" : "valid";
    if (error)
      json["error"] = to_string(error->kind());
    else
      json["expected"] = expected(answer);
    return json;
  }

 private:
  void question(Json& json) const {
    const bool own_maps = c_.op == Op::FromPoints || c_.op == Op::MapAfter;
    check_batch(c_, "source", c_.source, !own_maps);
    if (c_.other) check_batch(c_, "other", *c_.other, false);  // not read [T-10]
    if (c_.op == Op::MapAfter) {
      json["voxel_sizes"] = maps_json(c_.source.maps, true);
      json["origins"] = maps_json(c_.source.maps, false);
    } else if (c_.op == Op::FromPoints) {
      points(json);
    } else {
      json["source"] = json_of(c_.source.members);
    }
    if (c_.view) json["view"] = *c_.view;
    if (c_.other) json["other"] = json_of(c_.other->members);
    if (c_.mask) json["mask"] = *c_.mask;
    if (c_.op == Op::Convolution || c_.op == Op::ConvolutionGradients) operands(json);
  }

  void points(Json& json) const {
    const Map map = c_.source.size() > 0 ? c_.source.maps[0] : Map{};
    if (!forms::same(c_.source.maps, forms::Maps(c_.source.size(), map)))
      no_place(c_, "source_maps", "must be one map for all members");
    for (const auto& list : c_.points)
      for (const Point& p : list)
        for (const double x : p)
          if (!std::isfinite(x)) no_place(c_, "points", "must be finite");
    json["points"] = c_.points;
    json["voxel_size"] = map.voxel_size;
    json["origin"] = map.origin;
  }

  void operands(Json& json) const {
    const Operands& o = c_.operands;
    if (o.type != NumberType::Float64) no_place(c_, "type", "must be float64");
    if (!c_.target) no_place(c_, "target", "must be given where the case is refused");
    json["target"] = json_of(c_.target->members);
    json["features"] = table(c_, "features", o.features);
    json["weights"] = weights_json(c_, "weights", o.weights);
    if (c_.op == Op::ConvolutionGradients)
      json["grad_output"] = table(c_, "grad_output", *o.grad_output);
    else
      json["bias"] = o.bias ? table(c_, "bias", *o.bias) : Json();
  }

  Json expected(const Answer& answer) const {
    if (const auto* layout = std::get_if<Layout>(&answer)) return expected_layout(*layout);
    if (const auto* maps = std::get_if<oracle::Maps>(&answer))
      return {{"voxel_sizes", maps_json(maps->maps, true)},
              {"origins", maps_json(maps->maps, false)}};
    if (const auto* dense = std::get_if<DenseMapAnswer>(&answer)) {
      Json taps = Json::array();
      const auto rows = static_cast<std::ptrdiff_t>(dense->map.rows);
      for (auto at = dense->map.index.begin(); at != dense->map.index.end(); at += rows)
        taps.push_back(std::vector<std::int64_t>(at, at + rows));
      return {{"indices", taps}};
    }
    if (const auto* g = std::get_if<GradientsAnswer>(&answer))
      return {{"grad_features", table(c_, "grad_features", g->features.array)},
              {"grad_weights", weights_json(c_, "grad_weights", g->weights.array)},
              {"grad_bias", table(c_, "grad_bias", g->bias.array)}};
    const auto* numbers = std::get_if<NumbersAnswer>(&answer);
    if (numbers == nullptr) no_place(c_, "answer", "must be an answer of the reference");
    Case map = c_;
    map.op = Op::KernelMap;
    map.operands = {};
    const Answer pairs = reference_.answer(map);
    return {{"pairs", pairs_json(std::get<KernelMapAnswer>(pairs).map)},
            {"output", table(c_, "output", numbers->array)}};
  }

  const Case& c_;
  const Backend& reference_;
};

}  // namespace

std::string write_vector(const Case& question, const Backend& reference) {
  const Case c = writable(question, reference);
  Writer writer(c, reference);
  const Json group{{"op", to_string(c.op)},
                   {"params", writer.params()},
                   {"cases", Json::array({writer.body()})}};
  const Json file{{"format", "leafproof-vectors"},
                  {"version", 1},
                  {"semantics_version", kSemanticsVersion},
                  {"groups", Json::array({group})}};
  return file.dump();
}

}  // namespace leafproof::oracle
