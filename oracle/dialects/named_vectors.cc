// Public reports of other libraries as vectors: each file is one report, its input in the terms of
// the library, and the right answer under that library's rule [X]. A comment says where the input
// is the report's own and where it is the smallest of its kind. Appended to, never reordered: an
// identity is permanent.
#include <fmt/format.h>

#include <algorithm>

#include "oracle/backend.h"
#include "oracle/dialects/rows.h"
#include "oracle/dialects/vector_text.h"
#include "oracle/dialects/vectors.h"
#include "oracle/vector_writer.h"
#include "reference/passes.h"

namespace leafproof::oracle::dialects {
namespace {

using Json = nlohmann::ordered_json;
using reference::Voxel;

struct Report {
  std::string name;  // "fvdb#668"
  std::string dialect;
  std::vector<VectorCase> cases;
};

Layer layer(Kind kind, const Triple& size, const Triple& stride, const Triple& dilation = {1, 1, 1},
            const Triple& padding = {0, 0, 0}, std::optional<Triple> shape = {}) {
  Layer made;
  made.kind = kind;
  made.size = size;
  made.stride = stride;
  made.dilation = dilation;
  made.padding = padding;
  made.shape = shape;
  return made;
}

VectorCase of(const Layer& made, std::string comment, Rows source, std::optional<Rows> target = {},
              std::int64_t batch_size = 1) {
  return {.layer = made,
          .comment = std::move(comment),
          .flags = {"Named"},
          .source = std::move(source),
          .target = std::move(target),
          .batch_size = batch_size,
          .channels = {}};
}

/// Every place of low <= c < high on each axis, sorted.
Rows solid(const Triple& low, const Triple& high) {
  Rows rows;
  for (std::int64_t a = low[0]; a < high[0]; ++a)
    for (std::int64_t b = low[1]; b < high[1]; ++b)
      for (std::int64_t c = low[2]; c < high[2]; ++c) rows.push_back({0, {a, b, c}});
  return rows;
}

std::vector<Report> reports() {
  using enum Kind;
  const Triple one{1, 1, 1}, two{2, 2, 2}, three{3, 3, 3}, four{4, 4, 4}, zero{0, 0, 0};
  std::vector<Report> all;

  // --- fVDB
  all.push_back(
      {"fvdb#668",
       "fvdb",
       {of(layer(Forward, four, four),
           "the report's input, a solid 16^3 under K=S=4: 5^3 coarse voxels, not 4^3",
           solid(zero, {16, 16, 16})),
        of(layer(Transposed, four, four),
           "the way back onto a solid, as in the report, at the smallest size of its kind: every "
           "fine row is reached",
           solid(zero, three), solid(zero, {8, 8, 8})),
        of(layer(Transposed, two, one),
           "the smallest case of the even phase: one voxel makes {0, 1} on each axis, not {-1, 0}",
           {{0, zero}}),
        of(layer(Forward, three, two),
           "the smallest case of a signed remainder: an odd negative voxel has two coarse "
           "voxels on each axis",
           {{0, {-1, -1, -1}}})}});
  all.push_back({"fvdb#183",
                 "fvdb",
                 {of(layer(Forward, {1, 2, 3}, one),
                     "the smallest case of its kind: which axis is which shows where every axis "
                     "has another K",
                     {{0, zero}, {0, {0, 0, 1}}, {0, {0, 1, 0}}, {0, {1, 0, 0}}})}});
  all.push_back(
      {"fvdb#325",
       "fvdb",
       {of(layer(Forward, two, two), "the smallest case of its kind: an empty member between two",
           {{0, zero}, {0, {1, 0, 0}}, {2, {3, 0, 0}}}, {}, 3)}});

  // --- MinkowskiEngine
  all.push_back(
      {"ME#615",
       "minkowski",
       {of(layer(Forward, {3, 3, 1}, {3, 3, 1}),
           "the report's input with a third axis of one: (5,5) is in no pair, since its block's "
           "coarse row is (3,3) and no tap of a centred K=3 reaches two voxels away",
           {{0, {0, 0, 0}}, {0, {1, 1, 0}}, {0, {5, 5, 0}}, {0, {0, 3, 0}}})}});
  all.push_back(
      {"ME#328",
       "minkowski",
       {of(layer(Forward, {2, 2, 1}, one),
           "the report's input with a third axis of one, onto the rows that its expanded "
           "coordinates make: even taps look at 0 and 1 ahead, so the row (0,0), which would see "
           "all three voxels, is not among them",
           {{0, {0, 1, 0}}, {0, {1, 0, 0}}, {0, {1, 1, 0}}},
           Rows{{0, {0, 1, 0}},
                {0, {0, 2, 0}},
                {0, {1, 0, 0}},
                {0, {1, 1, 0}},
                {0, {1, 2, 0}},
                {0, {2, 0, 0}},
                {0, {2, 1, 0}},
                {0, {2, 2, 0}}}),
        of(layer(Transposed, {2, 2, 1}, one), "the same voxels generative: all that the taps reach",
           {{0, {0, 1, 0}}, {0, {1, 0, 0}}, {0, {1, 1, 0}}})}});
  all.push_back({"ME#436",
                 "minkowski",
                 {of(layer(Forward, three, one),
                     "the report asks one row of a solid cube; the smallest case of its kind: the "
                     "cube of 27 taps, not the cross of 7",
                     solid(four, {7, 7, 7}), Rows{{0, {5, 5, 5}}})}});
  all.push_back({"ME#203",
                 "minkowski",
                 {of(layer(Forward, one, one),
                     "the smallest case of its kind: K=1 onto given rows elsewhere is no identity",
                     {{0, zero}, {0, {1, 0, 0}}}, Rows{{0, {1, 0, 0}}, {0, {5, 5, 5}}})}});
  all.push_back({"ME#275",
                 "minkowski",
                 {of(layer(Transposed, three, one),
                     "the smallest case of the report's layer, generative K=3 S=1: one voxel makes "
                     "27, negative ones too",
                     {{0, zero}})}});
  all.push_back({"ME#574",
                 "minkowski",
                 {of(layer(Forward, {7, 7, 1}, {2, 2, 1}),
                     "the report's layer, K=7 S=2, on its pattern of every third pixel, cut to 4 "
                     "by 4 of them: a coarse row without a voxel at its centre sees those around",
                     [] {
                       Rows rows;
                       for (std::int64_t x = 0; x < 12; x += 3)
                         for (std::int64_t y = 0; y < 12; y += 3) rows.push_back({0, {x, y, 0}});
                       return rows;
                     }())}});
  all.push_back({"ME#278",
                 "minkowski",
                 {of(layer(Forward, three, {1, 2, 4}),
                     "the smallest case of its kind: a stride of its own on every axis",
                     {{0, {-1, -1, -1}}, {0, {3, 3, 3}}, {0, zero}})}});
  all.push_back({"ME#451",
                 "minkowski",
                 {of(
                     layer(Forward, one, one),
                     "the report's input, rows that are all distinct, in two batches: each row is "
                     "joined to itself, whoever finds nothing to drop has no empty map",
                     [] {
                       Rows rows;
                       for (std::int64_t batch = 0; batch < 2; ++batch)
                         for (std::int64_t x = 0; x < 4; ++x) rows.push_back({batch, {x, 0, 0}});
                       return rows;
                     }(),
                     {}, 2)}});

  // --- spconv: triples are (z, y, x)
  all.push_back(
      {"spconv#745",
       "spconv",
       {of(layer(Transposed, two, two, one, zero, Triple{1324, 1324, 1324}),
           "the report's input: linear keys of its outputs pass 2^31, and the eight rows are "
           "(570..571, 560..561, 512..513) whatever the shape is",
           {{0, {285, 280, 256}}}),
        of(layer(Transposed, two, two, one, zero, Triple{1224, 1224, 1224}),
           "the same in the smaller shape of the report", {{0, {285, 280, 256}}})}});
  all.push_back(
      {"spconv#385",
       "spconv",
       {of(layer(Forward, {1, 1, 1}, {1, 2, 2}, one, zero, Triple{1, 4, 4}),
           "the report's input with a z axis of one, at the kernel size 1 that it names: the row "
           "(2,2) of member 2 becomes (1,1) in a shape of (2,2), not (2,2) in (4,4)",
           {{2, {0, 2, 2}}}, {}, 10),
        of(layer(Forward, {1, 2, 2}, {1, 2, 2}, one, zero, Triple{1, 4, 4}),
           "the same as the report's program writes it, K=S=2", {{2, {0, 2, 2}}}, {}, 10),
        of(layer(Forward, {1, 1, 1}, {1, 2, 2}, one, zero, Triple{1, 4, 4}),
           "an odd place under K=1 S=2 is in no pair", {{2, {0, 1, 2}}}, {}, 10)}});
  all.push_back({"spconv#685",
                 "spconv",
                 {of(layer(Forward, three, two, one, one, Triple{8, 8, 8}),
                     "the smallest case of its kind: two members under a stride keep their rows "
                     "apart",
                     {{1, {2, 2, 2}}, {0, {2, 2, 2}}, {1, {3, 3, 3}}}, {}, 2)}});
  VectorCase weights = of(layer(Forward, {3, 2, 1}, one),
                          "the smallest case of its kind: Cin, Cout and every K differ, so that no "
                          "order of axes passes for another",
                          {});
  weights.channels = Channels{3, 2};
  all.push_back({"spconv#589", "spconv", {weights}});
  weights.layer = layer(Submanifold, one, one);
  weights.comment =
      "the smallest case of its kind: at K=1 the memory of [Cout, 1, 1, 1, Cin] is read as "
      "[Cin, Cout], so Cin and Cout must differ to tell";
  all.push_back({"spconv#450", "spconv", {weights}});

  // --- TorchSparse
  const Layer plane = layer(Forward, two, two);
  all.push_back(
      {"ts#282",
       "torchsparse",
       {of(plane,
           "the report's planes, cut to 4 by 4: at y=0 nothing is left, since the crop goes by the "
           "largest coordinate and not by the volume",
           solid(zero, {4, 1, 4})),
        of(plane, "the same plane at y=1", solid({0, 1, 0}, {4, 2, 4})),
        of(plane, "the same plane at y=2: nothing again", solid({0, 2, 0}, {4, 3, 4})),
        of(layer(Forward, two, two, one, one), "y=2 with padding 1", solid({0, 2, 0}, {4, 3, 4})),
        of(layer(Forward, three, two, one, one), "y=2 with K=3 and padding 1",
           solid({0, 2, 0}, {4, 3, 4}))}});
  all.push_back(
      {"ts#268",
       "torchsparse",
       {of(
            layer(Forward, three, two),
            "the report's rows [i,i,i,0], which since 2.1 are batch i at (i,i,0): K=3 S=2 "
            "without padding has no output, as z never reaches 2",
            [] {
              Rows rows;
              for (std::int64_t i = 0; i < 16; ++i) rows.push_back({i, {i, i, 0}});
              return rows;
            }(),
            {}, 16),
        of(layer(Forward, three, two), "the rows that were meant, [0,i,i,i], have outputs", [] {
          Rows rows;
          for (std::int64_t i = 0; i < 16; ++i) rows.push_back({0, {i, i, i}});
          return rows;
        }())}});
  all.push_back({"ts#161",
                 "torchsparse",
                 {of(layer(Submanifold, three, one),
                     "the smallest case of its kind: equal coordinates in two members, and a "
                     "neighbour in one of them",
                     {{0, {1, 1, 1}}, {1, {1, 1, 1}}, {1, {1, 1, 2}}}, {}, 2)}});
  all.push_back(
      {"ts#109",
       "torchsparse",
       {of(layer(Forward, {3, 1, 1}, one, {2, 1, 1}),
           "the smallest case of its kind: the dilation is ignored, so 0 meets 1 and not 2",
           {{0, zero}, {0, {1, 0, 0}}, {0, {2, 0, 0}}})}});
  all.push_back({"ts#23",
                 "torchsparse",
                 {of(layer(Forward, one, two),
                     "the smallest case of its kind: K=1 S=2 keeps the even rows and halves them",
                     {{0, zero}, {0, {1, 0, 0}}, {0, {2, 2, 2}}})}});
  all.push_back({"ts#115",
                 "torchsparse",
                 {of(layer(Forward, three, one),
                     "the smallest case of its kind: at stride 1 no row is made beside the input",
                     {{0, {1, 1, 1}}, {0, {1, 1, 2}}, {0, {3, 3, 3}}})}});
  all.push_back(
      {"ts#327",
       "torchsparse",
       {of(layer(Submanifold, {3, 3, 1}, one),
           "the report's five pixels, with the batch column that they lack: the numbers of pairs "
           "are the 2, 2, 4, 2, 1 that the report expects",
           {{0, zero}, {0, {0, 2, 0}}, {0, {1, 1, 0}}, {0, {2, 0, 0}}, {0, {3, 3, 0}}}),
        of(layer(Submanifold, {3, 3, 1}, one),
           "the report's rows as they stand, whose first column is the batch: no two of a member "
           "are neighbours, and every row has one pair",
           {{0, zero}, {0, {2, 0, 0}}, {1, {1, 0, 0}}, {2, zero}, {3, {3, 0, 0}}}, {}, 4)}});

  // --- WarpConvNet is none of the dialects: its reports under fVDB's relation, which is [K] at D=1
  all.push_back({"wcn#3",
                 "fvdb",
                 {of(layer(Forward, three, one),
                     "the smallest case of its kind: the target has as many rows as the source and "
                     "is another set, so the map is no identity",
                     {{0, zero}, {0, {1, 0, 0}}}, Rows{{0, {1, 0, 0}}, {0, {2, 0, 0}}})}});
  all.push_back({"wcn#1",
                 "fvdb",
                 {of(layer(Forward, {3, 1, 1}, one),
                     "the smallest case of its kind: one pair whose tap tells t from K-1-t",
                     {{0, {1, 0, 0}}}, Rows{{0, zero}})}});
  all.push_back(
      {"wcn#23",
       "fvdb",
       {of(layer(Forward, three, two), "the smallest case of its kind: the last member is empty",
           {{0, zero}}, {}, 2)}});
  return all;
}

/// A pass of fVDB's grids, whose rule is [T]: a file of oracle/vectors.h.
struct PassReport {
  std::string name;
  std::vector<Case> cases;
};

Case pass(Op op, std::string comment, std::vector<Voxel> voxels) {
  Case c;
  c.op = op;
  c.comment = std::move(comment);
  c.source = reference::from_ijk({std::move(voxels)});
  return c;
}

std::vector<PassReport> pass_reports() {
  const auto scaled = [](Op op, const Triple& factor, std::string comment,
                         std::vector<Voxel> voxels) {
    Case c = pass(op, std::move(comment), std::move(voxels));
    c.factor = factor;
    return c;
  };
  const auto dilated = [](std::string comment, std::vector<Voxel> voxels) {
    Case c = pass(Op::DilateBox, std::move(comment), std::move(voxels));
    c.lo = {-1, -1, -1};
    c.hi = {1, 1, 1};
    return c;
  };
  const std::vector<Voxel> across{{-4097, 0, 7},      {-4096, -1, 8},    {-1, -3, -5},
                                  {0, 0, 0},          {7, 8, 9},         {8, 7, 6},
                                  {4095, 4095, 4095}, {4096, 4097, 4098}};
  return {
      {"fvdb#716",
       {scaled(Op::Coarsen, {3, 3, 3},
               "the smallest case of its kind: a factor that is no power of two, across zero, "
               "leaves and tiles",
               across),
        scaled(Op::Coarsen, {2, 2, 1}, "the report's example of an anisotropic power of two",
               across),
        scaled(Op::Refine, {3, 1, 2}, "the smallest case of its kind, refined",
               {{-1, -1, -1}, {7, 7, 7}})}},
      {"fvdb#757",
       {scaled(Op::Coarsen, {2, 2, 2},
               "the smallest case of its kind: two source leaves meet in one target leaf",
               {{7, 0, 0}, {8, 0, 0}}),
        dilated("the smallest case of its kind: two source leaves dilate into both",
                {{7, 0, 0}, {8, 0, 0}}),
        dilated("a voxel at the corner where eight tiles meet", {{0, 0, 0}})}},
      {"fvdb#710",
       {pass(Op::Dual,
             "the smallest case of its kind: a result past the last coordinate is refused",
             {{2147483647, 0, 0}})}},
  };
}

std::string pass_text(const PassReport& report, const Backend& reference) {
  Json groups = Json::array();
  for (const Case& c : report.cases) {
    const Json file = Json::parse(write_vector(c, reference));
    Json group = file.at("groups").at(0);
    Json& body = group.at("cases").at(0);
    body["comment"] = fmt::format("{}: {}", report.name, c.comment);
    body["flags"] = {"Named", "fvdb"};
    if (groups.empty() || groups.back()["op"] != group["op"] ||
        groups.back()["params"] != group["params"]) {
      body["id"] = 0;
      groups.push_back(group);
    } else {
      body["id"] = groups.back()["cases"].size();
      groups.back()["cases"].push_back(body);
    }
  }
  return file_text({{"format", "leafproof-vectors"},
                    {"version", 1},
                    {"semantics_version", 1},
                    {"groups", groups}});
}

std::string file_name(std::string report) {
  std::ranges::replace(report, '#', '-');
  return fmt::format("named/{}.json", report);
}

}  // namespace

std::vector<GeneratedFile> generate_named_vectors(const Backend& reference) {
  std::vector<GeneratedFile> files;
  for (const Report& report : reports())
    files.push_back(
        {file_name(report.name), vector_text(report.dialect, report.name, report.cases)});
  for (const PassReport& report : pass_reports())
    files.push_back({file_name(report.name), pass_text(report, reference)});
  std::ranges::sort(files, {}, &GeneratedFile::name);
  return files;
}

}  // namespace leafproof::oracle::dialects
