// The format of docs/dialect-vectors.md, read and judged.
#include "oracle/dialects/vectors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <set>

#include "oracle/dialects/rows.h"
#include "oracle/vectors_node.h"

namespace leafproof::oracle::dialects {
namespace {

using vectors::json;
using vectors::Node;

constexpr const char* kFormat = "leafproof-dialect-vectors";
constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int32_t>::max();

Triple read_triple(const Node& node) {
  Triple t{};
  const auto items = node.items(3);
  for (std::size_t a = 0; a < 3; ++a) t[a] = items[a].integer(kLow, kHigh);
  return t;
}

Layer read_layer(const Node& params) {
  params.keys({"kind", "kernel_size", "stride", "dilation"},
              {"padding", "output_padding", "spatial_shape", "tensor_stride"});
  Layer layer;
  const auto kind = parse_kind(params["kind"].string());
  if (!kind) params["kind"].fail("must be forward, transposed, inverse or submanifold");
  layer.kind = *kind;
  layer.size = read_triple(params["kernel_size"]);
  layer.stride = read_triple(params["stride"]);
  layer.dilation = read_triple(params["dilation"]);
  if (params.has("padding")) layer.padding = read_triple(params["padding"]);
  if (params.has("output_padding")) layer.output_padding = read_triple(params["output_padding"]);
  if (params.has("spatial_shape")) layer.shape = read_triple(params["spatial_shape"]);
  if (params.has("tensor_stride")) layer.tensor_stride = read_triple(params["tensor_stride"]);
  return layer;
}

Rows read_rows(const Node& node, std::int64_t batch_size) {
  Rows rows;
  std::set<Row> seen;
  for (const Node& item : node.items()) {
    const auto columns = item.items(4);
    Row row{columns[0].integer(0, batch_size - 1), {}};
    for (std::size_t a = 0; a < 3; ++a) row.at[a] = columns[a + 1].integer(kLow, kHigh);
    if (!seen.insert(row).second) item.fail("is a row that is there already");
    rows.push_back(row);
  }
  return rows;
}

Array read_numbers(const Node& node) {
  node.keys({"shape", "values"});
  Array array;
  std::int64_t count = 1;
  for (const Node& n : node["shape"].items()) {
    array.shape.push_back(n.integer(0, 1 << 20));
    count *= std::max<std::int64_t>(array.shape.back(), 1);
    if (count > 1 << 28) node["shape"].fail("is too large");
  }
  for (const std::int64_t n : array.shape)
    if (n == 0) count = 0;
  for (const Node& x : node["values"].items(static_cast<std::size_t>(count)))
    array.values.push_back(static_cast<double>(x.integer(-(1ll << 53), 1ll << 53)));
  return array;
}

void read_map(const Node& expected, DialectVector& vector) {
  expected.keys({"target", "step", "offsets", "pairs"});
  vector.expected.target = read_rows(expected["target"], vector.batch_size);
  const bool own_order = vector.target || vector.expected.target == vector.source;
  if (!own_order && !std::ranges::is_sorted(vector.expected.target))
    expected["target"].fail("must be sorted by batch, then column by column");
  vector.step = read_triple(expected["step"]);
  for (const Node& offset : expected["offsets"].items())
    vector.offsets.push_back(read_triple(offset));
  const auto sources = static_cast<std::int64_t>(vector.source.size());
  const auto targets = static_cast<std::int64_t>(vector.expected.target.size());
  for (const Node& tap : expected["pairs"].items(vector.offsets.size())) {
    auto& pairs = vector.expected.pairs.emplace_back();
    std::int64_t after = 0;  // target rows ascend, each at most once
    for (const Node& pair : tap.items()) {
      const auto rows = pair.items(2);
      pairs.push_back({rows[0].integer(0, sources - 1), rows[1].integer(after, targets - 1)});
      after = pairs.back()[1] + 1;
    }
  }
}

DialectVector read_case(const Node& at, const std::string& result, DialectVector vector) {
  const bool map = vector.op == VectorOp::KernelMap, valid = result == "valid";
  std::set<std::string> keys{"id", "comment", "flags", "result", valid ? "expected" : "error"};
  if (map)
    keys.insert({"batch_size", "source"});
  else
    keys.insert("ours");
  at.keys(keys, map ? std::set<std::string>{"target"} : std::set<std::string>{});
  vector.comment = at["comment"].string();
  if (vector.comment.empty()) at["comment"].fail("must say what the case is about");
  for (const Node& flag : at["flags"].items()) flag.string();
  if (map) {
    vector.batch_size = at["batch_size"].integer(0, kHigh);
    vector.source = read_rows(at["source"], vector.batch_size);
    if (at.has("target")) vector.target = read_rows(at["target"], vector.batch_size);
  } else {
    vector.ours = read_numbers(at["ours"]);
  }
  if (!valid) {
    vector.refused = vectors::parse_kind(at["error"].string());
    if (!vector.refused) at["error"].fail("is no kind of error");
  } else if (map) {
    read_map(at["expected"], vector);
  } else {
    vector.theirs = read_numbers(at["expected"]);
  }
  return vector;
}

std::string text(const Row& row) {
  return fmt::format("[{}, {}, {}, {}]", row.batch, row.at[0], row.at[1], row.at[2]);
}

/// The first place where two lists differ.
template <class List, class Text>
std::string first_difference(const std::string& what, const List& expected, const List& actual,
                             const Text& text_of) {
  for (std::size_t i = 0; i < std::max(expected.size(), actual.size()); ++i) {
    const bool there = i < expected.size(), here = i < actual.size();
    if (there && here && expected[i] == actual[i]) continue;
    return fmt::format("{} {}: expected {}, the dialect's own code says {}", what, i,
                       there ? text_of(expected[i]) : "none", here ? text_of(actual[i]) : "none");
  }
  return {};
}

std::string map_difference(const DialectVector& vector, const Dialect& dialect) {
  const LayerMap actual =
      dialect.map(vector.layer, vector.source, vector.target ? &*vector.target : nullptr);
  const auto triple = [](const Triple& t) { return show(t); };
  if (dialect.step(vector.layer) != vector.step)
    return fmt::format("step: expected {}, the dialect's own code says {}", show(vector.step),
                       show(dialect.step(vector.layer)));
  std::string first =
      first_difference("offset of tap", vector.offsets, dialect.offsets(vector.layer), triple);
  if (first.empty())
    first = first_difference("target row", vector.expected.target, actual.target, text);
  const auto pair = [](const auto& p) { return fmt::format("[{}, {}]", p[0], p[1]); };
  for (std::size_t t = 0; first.empty() && t < actual.pairs.size(); ++t)
    first = first_difference(fmt::format("tap {}, pair", t), vector.expected.pairs[t],
                             actual.pairs[t], pair);
  return first;
}

std::string weights_difference(const DialectVector& vector, const Dialect& dialect) {
  const auto number = [](double x) { return fmt::format("{}", x); };
  const auto length = [](std::int64_t n) { return fmt::format("{}", n); };
  const Array there = weights_from_ours(dialect, vector.layer, vector.ours);
  const Array back = weights_to_ours(dialect, vector.layer, vector.theirs);
  std::string first = first_difference("axis", vector.theirs.shape, there.shape, length);
  if (first.empty())
    first = first_difference("their element", vector.theirs.values, there.values, number);
  if (first.empty()) first = first_difference("our axis", vector.ours.shape, back.shape, length);
  if (first.empty())
    first = first_difference("our element", vector.ours.values, back.values, number);
  return first;
}

}  // namespace

bool holds_dialect_vectors(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string begin(512, '\0');
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(stream.gcount()));
  return begin.find(fmt::format("\"{}\"", kFormat)) != begin.npos;
}

std::vector<DialectVector> read_dialect_vectors(const std::filesystem::path& path) {
  const std::string file = path.filename().string();
  const json document = vectors::read_document(path);
  const Node root(document, file, "the file");
  root.keys({"format", "version", "semantics_version", "dialect", "columns", "groups"}, {"report"});
  if (root["format"].string() != kFormat) root["format"].fail(fmt::format("must be '{}'", kFormat));
  root["version"].integer(1, 1);
  root["semantics_version"].integer(1, 1);
  DialectVector common;
  common.file = file;
  common.dialect = root["dialect"].string();
  if (std::ranges::find(dialect_names(), common.dialect) == dialect_names().end())
    root["dialect"].fail(fmt::format("must be one of {}", fmt::join(dialect_names(), ", ")));
  if (root.has("report")) {
    common.report = root["report"].string();
    if (common.report.empty()) root["report"].fail("must name the report");
  }
  const auto columns = root["columns"].items(4);
  const auto axes = dialect(common.dialect).axes();
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string wanted = i == 0 ? "batch" : std::string(1, "xyz"[axes[i - 1]]);
    if (columns[i].string() != wanted) columns[i].fail("must be '" + wanted + "'");
  }

  std::vector<DialectVector> read;
  std::set<std::string> identities;
  std::size_t number = 0;
  for (const Node& group : root["groups"].items()) {
    group.keys({"op", "params", "cases"});
    const std::string op = group["op"].string();
    if (op != "kernel_map" && op != "weights") group["op"].fail("must be kernel_map or weights");
    const std::string where = fmt::format("group {} ({})", number++, op);
    const Node params(group["params"].raw(), file, where + ": params");
    common.op = op == "weights" ? VectorOp::Weights : VectorOp::KernelMap;
    common.layer = read_layer(params);
    std::int64_t last = -1;
    for (const Node& listed : group["cases"].items()) {
      const json& raw = listed.raw();
      const bool named = raw.is_object() && raw.contains("id") && raw["id"].is_number_integer();
      const Node at(raw, file, where + ", case " + (named ? raw["id"].dump() : "without a number"));
      const std::string result = at["result"].string();
      if (result != "valid" && result != "invalid")
        at["result"].fail("must be 'valid' or 'invalid'");
      DialectVector vector = read_case(at, result, common);
      vector.id = at["id"].integer(0, std::numeric_limits<std::int64_t>::max());
      vector.identity = fmt::format("{} {} {} #{}", file, op, params.raw().dump(), vector.id);
      if (!identities.insert(vector.identity).second)
        at.fail("the identity (op, params, id) is used twice");
      if (vector.id <= last) at["id"].fail("must be more than the id before it");
      last = vector.id;
      read.push_back(std::move(vector));
    }
  }
  return read;
}

std::string difference(const DialectVector& vector) {
  const Dialect& chosen = dialect(vector.dialect);
  try {
    const std::string first = vector.op == VectorOp::Weights ? weights_difference(vector, chosen)
                                                             : map_difference(vector, chosen);
    if (!vector.refused) return first;
    return fmt::format("expected {}, the dialect's own code answers",
                       reference::to_string(*vector.refused));
  } catch (const reference::Error& error) {
    if (vector.refused == error.kind()) return {};
    return fmt::format("the dialect's own code says: {}", error.what());
  }
}

}  // namespace leafproof::oracle::dialects
