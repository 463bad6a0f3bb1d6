// The vectors of the dialects: every kind of layer of each, on small inputs with negatives where
// the library has them. Appended to, never reordered: an identity is permanent.
#include <fmt/format.h>

#include <algorithm>

#include "oracle/dialects/rows.h"
#include "oracle/dialects/vector_text.h"
#include "oracle/dialects/vectors.h"

namespace leafproof::oracle::dialects {
namespace {

/// A list of voxels by x, y, z, with its batch index.
struct Input {
  const char* comment;
  std::int64_t batch_size;
  std::vector<std::array<std::int64_t, 4>> voxels;
};

/// With negatives; rows stand in no order.
const std::vector<Input>& inputs() {
  static const std::vector<Input> all{
      {"one voxel at the origin", 1, {{0, 0, 0, 0}}},
      {"an L of four voxels across zero",
       1,
       {{0, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, -1}}},
      {"odd, even and far voxels on either side of zero",
       1,
       {{0, -5, 2, 3},
        {0, -2, -3, 1},
        {0, 3, -1, -4},
        {0, 5, 5, 5},
        {0, 4, 5, 5},
        {0, -1, -1, -1}}},
      {"three members, the middle one empty; the same voxel in two of them",
       3,
       {{2, 1, 0, 0}, {0, 1, 0, 0}, {2, 0, 0, 0}, {0, 2, 1, 0}}},
  };
  return all;
}

struct Shape {
  const char* comment;
  Kind kind;
  Triple size, stride, dilation;  // by x, y, z
};

const std::vector<Shape>& shapes() {
  using enum Kind;
  static const std::vector<Shape> all{
      {"K=3 S=1", Forward, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
      {"K=2 S=1", Forward, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}},
      {"K=2 S=2", Forward, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}},
      {"K=3 S=2", Forward, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}},
      {"K=3 S=3: floor of the coordinate and the image differ",
       Forward,
       {3, 3, 3},
       {3, 3, 3},
       {1, 1, 1}},
      {"K=4 S=2: the phase of even kernels shows", Forward, {4, 2, 4}, {2, 2, 2}, {1, 1, 1}},
      {"K=1 S=2", Forward, {1, 1, 1}, {2, 2, 2}, {1, 1, 1}},
      {"every axis another K and S", Forward, {1, 2, 3}, {2, 1, 3}, {1, 1, 1}},
      {"K=3 S=1 D=2", Forward, {3, 3, 1}, {1, 1, 1}, {2, 2, 1}},
      {"K=2 D=2 and K=3 D=3 under a stride", Forward, {2, 3, 1}, {2, 1, 1}, {2, 3, 1}},
      {"transposed K=3 S=2", Transposed, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}},
      {"transposed K=2 S=2", Transposed, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}},
      {"transposed K=4 S=2 on one axis", Transposed, {4, 1, 3}, {2, 1, 1}, {1, 1, 1}},
      {"transposed K=3 S=1 D=2", Transposed, {3, 1, 1}, {1, 1, 1}, {2, 1, 1}},
      {"inverse K=3 S=2", Inverse, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}},
      {"inverse K=2 S=2", Inverse, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}},
      {"submanifold K=3", Submanifold, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
      {"submanifold K=(1,3,5)", Submanifold, {1, 3, 5}, {1, 1, 1}, {1, 1, 1}},
      {"submanifold K=3 D=2", Submanifold, {3, 3, 3}, {1, 1, 1}, {2, 2, 2}},
      {"submanifold K=2", Submanifold, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}},
  };
  return all;
}

bool is_boxed(const std::string& name) {
  return name == "spconv" || name == "dense";
}

/// An input as rows of the library, moved away from negatives for a library without them.
Rows rows_for(const Dialect& dialect, const Input& input, const Triple& unit) {
  const std::string name = dialect.facts().name;
  const std::int64_t lift = is_boxed(name) || name.starts_with("torchsparse") ? 6 : 0;
  Rows rows;
  for (const auto& [batch, x, y, z] : input.voxels) {
    Row row{batch, to_columns(dialect, {x + lift, y + lift, z + lift})};
    for (std::size_t a = 0; a < 3; ++a) row.at[a] *= unit[a];
    rows.push_back(row);
  }
  return rows;
}

Layer layer_for(const Dialect& dialect, const Shape& shape) {
  Layer layer;
  layer.kind = shape.kind;
  layer.size = to_columns(dialect, shape.size);
  layer.stride = to_columns(dialect, shape.stride);
  layer.dilation = to_columns(dialect, shape.dilation);
  if (is_boxed(dialect.facts().name)) layer.shape = Triple{12, 12, 12};
  return layer;
}

/// The case; none where the library would take the shape but cannot have it in this way.
void add_cases(const Dialect& dialect, const Layer& layer, const std::string& about,
               std::vector<VectorCase>& cases) {
  for (const Input& input : inputs()) {
    VectorCase c{.layer = layer,
                 .comment = fmt::format("{}: {}", about, input.comment),
                 .flags = {"Dialect"},
                 .source = {},
                 .target = {},
                 .batch_size = input.batch_size,
                 .channels = {}};
    const bool up = layer.kind == Kind::Transposed || layer.kind == Kind::Inverse;
    c.source = rows_for(
        dialect, input,
        layer.kind == Kind::Transposed ? dialect.coarse_unit(layer) : dialect.fine_unit(layer));
    if (layer.kind == Kind::Inverse) {
      Layer forward = layer;
      forward.kind = Kind::Forward;
      c.target = c.source;
      c.source = dialect.map(forward, *c.target, nullptr).target;
      std::ranges::reverse(c.source);  // in an order of its own
    }
    if (up) c.flags.emplace_back("Transposed");
    cases.push_back(std::move(c));
  }
}

bool refuses(const Dialect& dialect, const Layer& layer) {
  try {
    dialect.check(layer);
    return false;
  } catch (const reference::Error&) {
    return true;
  }
}

bool has(const Dialect& dialect, Kind kind) {
  const auto kinds = dialect.kinds();
  return std::ranges::find(kinds, kind) != kinds.end();
}

void add_weights(const Dialect& dialect, const Shape& shape, std::vector<VectorCase>& cases) {
  const Layer layer = layer_for(dialect, shape);
  if (refuses(dialect, layer)) return;
  cases.push_back({.layer = layer,
                   .comment = fmt::format("weights, {}, two channels out of three", shape.comment),
                   .flags = {"Weights"},
                   .source = {},
                   .target = {},
                   .batch_size = 0,
                   .channels = Channels{2, 3}});
}

std::string text_of(const std::string& name) {
  const Dialect& chosen = dialect(name);
  std::vector<VectorCase> cases, weights;
  for (const Shape& shape : shapes()) {
    if (!has(chosen, shape.kind)) continue;
    Layer layer = layer_for(chosen, shape);
    if (refuses(chosen, layer)) {  // once: what the library has not
      add_cases(chosen, layer, fmt::format("{}: this library has no such layer", shape.comment),
                cases);
      cases.erase(cases.end() - static_cast<std::ptrdiff_t>(inputs().size()) + 1, cases.end());
      continue;
    }
    const Triple ours = chosen.our_padding(layer);
    add_cases(chosen, layer, shape.comment, cases);
    if (ours != Triple{0, 0, 0}) {
      layer.padding = ours;
      add_cases(chosen, layer, fmt::format("{}, the padding that is ours", shape.comment), cases);
    }
  }
  if (name == "minkowski")
    for (const Shape& shape : {shapes()[3], shapes()[5], shapes()[10], shapes()[16]}) {
      Layer layer = layer_for(chosen, shape);
      layer.tensor_stride = {2, 2, 2};
      add_cases(chosen, layer, fmt::format("{}, tensor stride 2", shape.comment), cases);
    }
  if (is_boxed(name)) {  // a shape that crops
    for (const std::size_t i : {std::size_t{3}, std::size_t{5}}) {
      Layer layer = layer_for(chosen, shapes()[i]);
      layer.padding = {1, 1, 1};
      VectorCase c{
          .layer = layer,
          .comment = fmt::format("{}: outputs beyond the shape are dropped", shapes()[i].comment),
          .flags = {"Crop"},
          .source = {{0, {11, 11, 11}}, {0, {0, 0, 0}}, {0, {11, 0, 6}}},
          .target = {},
          .batch_size = 1,
          .channels = {}};
      cases.push_back(c);
      c.comment = "a row outside the spatial shape is refused";
      c.source = {{0, {12, 0, 0}}};
      c.flags = {"Refusal"};
      cases.push_back(c);
    }
  }
  for (const Kind kind : chosen.kinds()) {
    const std::array<Shape, 3> some{{
        {"K=(1,2,3)", kind, {1, 2, 3}, {1, 1, 1}, {1, 1, 1}},
        {"K=(3,1,5), odd", kind, {3, 1, 5}, {1, 1, 1}, {1, 1, 1}},
        {"K=1", kind, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    }};
    for (const Shape& shape : some) add_weights(chosen, shape, weights);
    if (kind == Kind::Forward)
      add_weights(chosen, {"K=1 S=2", kind, {1, 1, 1}, {2, 2, 2}, {1, 1, 1}}, weights);
  }
  cases.insert(cases.end(), weights.begin(), weights.end());
  return vector_text(name, "", cases);
}

}  // namespace

std::vector<GeneratedFile> generate_dialect_vectors() {
  std::vector<GeneratedFile> files;
  for (const std::string& name : dialect_names())
    files.push_back({fmt::format("dialects/{}.json", name), text_of(name)});
  return files;
}

}  // namespace leafproof::oracle::dialects
