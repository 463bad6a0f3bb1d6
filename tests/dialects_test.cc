// The dialects of other libraries [X], by small cases drawn by hand: how rows and weights stand,
// and where each library is not ours. (Where it is ours: properties/laws_of_dialects.cc.)
#include <gtest/gtest.h>

#include <numeric>

#include "oracle/dialects/rows.h"
#include "reference/conv_support.h"
#include "reference/passes.h"

namespace leafproof::oracle::dialects {
namespace {

using reference::Direction;
using reference::Error;
using reference::Kernel;
using reference::Voxel;
using Pairs = std::vector<std::array<std::int64_t, 2>>;

Layer cube(Kind kind, std::int64_t size, std::int64_t stride = 1, std::int64_t dilation = 1) {
  Layer layer;
  layer.kind = kind;
  layer.size = {size, size, size};
  layer.stride = {stride, stride, stride};
  layer.dilation = {dilation, dilation, dilation};
  return layer;
}

/// A layer along the first axis of the library alone.
Layer line(Kind kind, std::int64_t size, std::int64_t stride = 1, std::int64_t dilation = 1) {
  Layer layer;
  layer.kind = kind;
  layer.size[0] = size;
  layer.stride[0] = stride;
  layer.dilation[0] = dilation;
  return layer;
}

/// Rows of batch 0 along the first axis.
Rows on_line(const std::vector<std::int64_t>& places) {
  Rows rows;
  for (const std::int64_t x : places) rows.push_back({0, {x, 0, 0}});
  return rows;
}

LayerMap map_of(std::string_view name, const Layer& layer, const Rows& source,
                const Rows* target = nullptr) {
  return dialect(name).map(layer, source, target);
}

/// The kind of refusal, or "none"; `says` must be in it.
template <class Body>
std::string refusal(const Body& body, const std::string& says = "") {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    return std::string(reference::to_string(error.kind()));
  }
  return "none";
}

TEST(Dialects, AreNamedAndSayWhatTheyAre) {
  const std::vector<std::string> names{"fvdb",
                                       "spconv",
                                       "minkowski",
                                       "torchsparse",
                                       "torchsparse-hashmap",
                                       "torchsparse-minkowski",
                                       "mlx-lattice",
                                       "lato",
                                       "dense"};
  EXPECT_EQ(dialect_names(), names);
  for (const auto& name : names) {
    const Facts facts = dialect(name).facts();
    for (const auto& text : {facts.library, facts.checked, facts.coordinates, facts.coarse_set,
                             facts.offsets, facts.tap_order, facts.weights})
      EXPECT_FALSE(text.empty()) << name;
    EXPECT_FALSE(facts.limits.empty()) << name;
    for (const Kind kind : dialect(name).kinds()) EXPECT_EQ(parse_kind(to_string(kind)), kind);
  }
  EXPECT_EQ(refusal([] { dialect("caffe"); }, "mlx-lattice"), "InvalidArgument");
}

TEST(Dialects, RowsStandAsTheLibrariesHaveThem) {
  const Batch batch = reference::from_ijk({{{-4, 0, 8}}, {{1, 2, 3}, {-1, 2, 0}}});
  const auto rows = [&](std::string_view name, Triple unit = {1, 1, 1}) {
    return rows_of(dialect(name), batch, unit);
  };
  EXPECT_EQ(rows("fvdb"), (Rows{{0, {-4, 0, 8}}, {1, {-1, 2, 0}}, {1, {1, 2, 3}}}));
  EXPECT_EQ(rows("spconv"), (Rows{{0, {8, 0, -4}}, {1, {0, 2, -1}}, {1, {3, 2, 1}}}));
  EXPECT_EQ(rows("lato"), rows("spconv"));
  EXPECT_EQ(rows("minkowski", {4, 4, 4}),
            (Rows{{0, {-16, 0, 32}}, {1, {-4, 8, 0}}, {1, {4, 8, 12}}}));
  EXPECT_EQ(refusal([&] { rows("minkowski", {1 << 30, 1, 1}); }, "32 bits"), "OutOfRange");
}

TEST(Dialects, RowsFromOutsideAreNotTrusted) {
  const auto read = [](const Rows& rows, Triple unit = {1, 1, 1}) {
    return refusal([&] { batch_of(dialect("minkowski"), rows, 2, unit); }, "row 1");
  };
  EXPECT_EQ(read({{0, {0, 0, 0}}, {2, {0, 0, 0}}}), "InvalidArgument");
  EXPECT_EQ(read({{0, {0, 0, 0}}, {-1, {0, 0, 0}}}), "InvalidArgument");
  EXPECT_EQ(read({{0, {0, 0, 0}}, {0, {0, 0, 0}}}), "InvalidArgument");
  EXPECT_EQ(read({{0, {0, 0, 0}}, {0, {0, 1ll << 31, 0}}}), "OutOfRange");
  EXPECT_EQ(read({{0, {0, 0, 0}}, {0, {-3, 0, 0}}}, {2, 1, 1}), "InvalidArgument");
  EXPECT_EQ(
      refusal([] { batch_of(dialect("fvdb"), {{0, {0, 0, 0}}, {0, {1, 0, 0}}}, 1, {1, 1, 1}); }),
      "none");
}

/// Ours as [Cout=2][Cin=3][1][2][3], every element another.
Array our_weights(const Triple& size) {
  Array ours{{2, 3, size[0], size[1], size[2]}, {}};
  ours.values.resize(static_cast<std::size_t>(6 * volume(size)));
  std::iota(ours.values.begin(), ours.values.end(), 0.0);
  return ours;
}

double element(const Array& array, const std::vector<std::int64_t>& at) {
  std::int64_t place = 0;
  for (std::size_t a = 0; a < at.size(); ++a) place = place * array.shape[a] + at[a];
  return array.values.at(static_cast<std::size_t>(place));
}

TEST(Dialects, WeightsOfAnAnisotropicKernel) {
  const Triple size{1, 2, 3};
  const Array ours = our_weights(size);
  const auto theirs = [&](std::string_view name, Kind kind, int form = 0) {
    Layer layer;
    layer.kind = kind;
    layer.size = to_columns(dialect(name), size);
    return weights_from_ours(dialect(name), layer, ours, form);
  };
  const Array spconv = theirs("spconv", Kind::Forward);
  EXPECT_EQ(spconv.shape, (std::vector<std::int64_t>{2, 3, 2, 1, 3}));
  const Array minkowski = theirs("minkowski", Kind::Forward);
  EXPECT_EQ(minkowski.shape, (std::vector<std::int64_t>{6, 3, 2}));
  const Array torchsparse = theirs("torchsparse", Kind::Forward);
  const Array rows = theirs("mlx-lattice", Kind::Forward);
  EXPECT_EQ(rows.shape, (std::vector<std::int64_t>{2, 1, 2, 3, 3}));
  const Array flat = theirs("mlx-lattice", Kind::Forward, 1);
  const Array up = theirs("dense", Kind::Transposed);
  EXPECT_EQ(up.shape, (std::vector<std::int64_t>{3, 2, 1, 2, 3}));
  EXPECT_EQ(theirs("fvdb", Kind::Forward).values, ours.values);
  EXPECT_EQ(theirs("dense", Kind::Forward).values, ours.values);
  for (std::int64_t co = 0; co < 2; ++co)
    for (std::int64_t ci = 0; ci < 3; ++ci)
      for (std::int64_t y = 0; y < 2; ++y)
        for (std::int64_t z = 0; z < 3; ++z) {
          const double w = element(ours, {co, ci, 0, y, z});
          EXPECT_EQ(element(spconv, {co, z, y, 0, ci}), w);
          EXPECT_EQ(element(minkowski, {y + 2 * z, ci, co}), w);    // x, then y, fastest
          EXPECT_EQ(element(torchsparse, {y * 3 + z, ci, co}), w);  // an even volume: z fastest
          EXPECT_EQ(element(rows, {co, 0, y, z, ci}), w);
          EXPECT_EQ(element(flat, {y * 3 + z, ci, co}), w);
          EXPECT_EQ(element(up, {ci, co, 0, y, z}), w);
        }
}

TEST(Dialects, WeightsOfASingleTap) {
  const Array ours{{2, 3}, {1, 2, 3, 4, 5, 6}};  // [V-4]
  const Layer one, strided = cube(Kind::Forward, 1, 2);
  // spconv reads the memory of [Cout, 1, 1, 1, Cin] as [Cin, Cout], but not where it strides.
  const Array product = weights_from_ours(dialect("spconv"), one, ours);
  EXPECT_EQ(product.shape, (std::vector<std::int64_t>{2, 1, 1, 1, 3}));
  EXPECT_EQ(product.values, (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(weights_from_ours(dialect("spconv"), strided, ours).values, ours.values);
  const Array matrix = weights_from_ours(dialect("minkowski"), one, ours);
  EXPECT_EQ(matrix.shape, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(matrix.values, (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(weights_from_ours(dialect("minkowski"), strided, ours).shape,
            (std::vector<std::int64_t>{1, 3, 2}));
}

TEST(Dialects, WeightsThatDoNotFitAreRefused) {
  const Layer layer = cube(Kind::Forward, 2);
  const auto to_ours = [&](std::string_view name, std::vector<std::int64_t> shape) {
    return refusal([&] { weights_to_ours(dialect(name), layer, {std::move(shape), {}}); }, "Cin");
  };
  EXPECT_EQ(to_ours("spconv", {0, 2, 2, 3, 0}), "ShapeMismatch");
  EXPECT_EQ(to_ours("minkowski", {7, 0, 0}), "ShapeMismatch");
  EXPECT_EQ(to_ours("minkowski", {8, 0}), "ShapeMismatch");
  EXPECT_EQ(to_ours("mlx-lattice", {8, 0, 0}), "none");
  EXPECT_EQ(to_ours("mlx-lattice", {0, 2, 2, 2, 0}), "none");
  EXPECT_EQ(to_ours("mlx-lattice", {0, 2, 2, 0}), "ShapeMismatch");
  EXPECT_EQ(
      refusal([&] { weights_from_ours(dialect("fvdb"), layer, {{0, 0, 2, 2, 3}, {}}); }, "Cin"),
      "ShapeMismatch");
}

TEST(Dialects, TapOrders) {
  Layer layer;
  layer.size = {3, 1, 3};
  EXPECT_EQ(dialect("fvdb").taps(layer)[1], (Triple{0, 0, 1}));
  EXPECT_EQ(dialect("minkowski").taps(layer)[1], (Triple{1, 0, 0}));
  EXPECT_EQ(dialect("torchsparse").taps(layer)[1], (Triple{1, 0, 0}));
  layer.size = {3, 2, 3};
  EXPECT_EQ(dialect("minkowski").taps(layer)[1], (Triple{1, 0, 0}));
  EXPECT_EQ(dialect("torchsparse").taps(layer)[1], (Triple{0, 0, 1}));
  EXPECT_EQ(dialect("torchsparse-hashmap").taps(layer)[1], (Triple{0, 0, 1}));
}

/// The offsets along the first axis.
std::vector<std::int64_t> looks(std::string_view name, const Layer& layer) {
  std::vector<std::int64_t> places;
  for (const Triple& offset : dialect(name).offsets(layer)) places.push_back(offset[0]);
  return places;
}
using Places = std::vector<std::int64_t>;

TEST(Dialects, WhereTheTapsOfEvenKernelsLook) {
  const Layer four = line(Kind::Forward, 4, 2);
  EXPECT_EQ(looks("fvdb", four), (Places{-1, 0, 1, 2}));
  EXPECT_EQ(looks("spconv", four), (Places{0, 1, 2, 3}));  // no padding is given
  EXPECT_EQ(looks("dense", four), (Places{0, 1, 2, 3}));
  EXPECT_EQ(looks("minkowski", four), (Places{0, 1, 2, 3}));
  EXPECT_EQ(looks("mlx-lattice", four), (Places{0, 1, 2, 3}));
  EXPECT_EQ(looks("torchsparse", four), (Places{0, 1, 2, 3}));
  EXPECT_EQ(looks("torchsparse-hashmap", four), (Places{-1, 0, 1, 2}));
}

TEST(Dialects, DilationAndUnits) {
  EXPECT_EQ(looks("spconv", line(Kind::Submanifold, 3, 1, 2)), (Places{-2, 0, 2}));
  EXPECT_EQ(looks("mlx-lattice", line(Kind::Forward, 3, 1, 2)), (Places{-2, 0, 2}));
  EXPECT_EQ(looks("mlx-lattice", line(Kind::Transposed, 3, 1, 2)), (Places{0, 2, 4}));
  EXPECT_EQ(looks("torchsparse", line(Kind::Forward, 3, 1, 2)), (Places{-1, 0, 1}));  // ignored
  Layer coarse = line(Kind::Forward, 3, 2, 2);
  coarse.tensor_stride = {4, 4, 4};
  EXPECT_EQ(looks("minkowski", coarse), (Places{-8, 0, 8}));
  EXPECT_EQ(refusal([] { dialect("fvdb").check(line(Kind::Forward, 3, 1, 2)); }, "dilation"),
            "Unsupported");
}

/// Ours: what `conv_grid` or `conv_transpose_grid` makes along x.
Places our_target(const std::vector<std::int32_t>& places, std::int64_t size, std::int64_t stride,
                  Direction direction) {
  std::vector<Voxel> voxels;
  for (const std::int32_t x : places) voxels.push_back({x, 0, 0});
  const Kernel kernel{.size = {size, 1, 1}, .stride = {stride, 1, 1}, .dilation = {1, 1, 1}};
  const Batch target = reference::complete_target(reference::from_ijk({voxels}), kernel, direction);
  Places made;
  for (const Voxel& v : target.members[0]) made.push_back(v.x);
  return made;
}

TEST(DialectsThatAreNotOurs, MinkowskiAnchorsEvenKernelsAtTheirCorner) {
  EXPECT_EQ(map_of("minkowski", line(Kind::Transposed, 4), on_line({0})).target,
            on_line({0, 1, 2, 3}));
  EXPECT_EQ(our_target({0}, 4, 1, Direction::Transposed), (Places{-1, 0, 1, 2}));
}

TEST(DialectsThatAreNotOurs, MinkowskiAndMlxLatticeDivideInsteadOfImaging) {
  // Voxel 5 under K = S = 3: its block's coarse voxel is 1 (at 3 in finest voxels), which no tap
  // joins it to; ours is 2.
  const LayerMap minkowski = map_of("minkowski", line(Kind::Forward, 3, 3), on_line({5}));
  EXPECT_EQ(minkowski.target, on_line({3}));
  const LayerMap lattice = map_of("mlx-lattice", line(Kind::Forward, 3, 3), on_line({5}));
  EXPECT_EQ(lattice.target, on_line({1}));
  for (const auto& map : {minkowski, lattice})
    for (const Pairs& pairs : map.pairs) EXPECT_TRUE(pairs.empty());
  EXPECT_EQ(our_target({5}, 3, 3, Direction::Forward), (Places{2}));
}

TEST(Dialects, DivisionRoundsDown) {
  Layer layer = line(Kind::Forward, 2, 2);
  layer.tensor_stride = {3, 1, 1};
  const LayerMap map = map_of("minkowski", layer, on_line({-3, 3}));
  EXPECT_EQ(map.target, on_line({-6, 0}));
  EXPECT_EQ(map.pairs[0], Pairs{});
  EXPECT_EQ(map.pairs[1], (Pairs{{0, 0}, {1, 1}}));
  EXPECT_EQ(map_of("mlx-lattice", line(Kind::Forward, 2, 2), on_line({-1, 1})).target,
            on_line({-1, 0}));
  EXPECT_EQ(map_of("fvdb", line(Kind::Forward, 2, 2), on_line({-1, 1})).target, on_line({-1, 0}));
}

TEST(DialectsThatAreNotOurs, SpconvCropsToItsShape) {
  Layer layer = line(Kind::Forward, 3, 2);
  layer.padding[0] = 1;
  layer.shape = Triple{4, 1, 1};
  EXPECT_EQ(map_of("spconv", layer, on_line({3})).target, on_line({1}));
  EXPECT_EQ(our_target({3}, 3, 2, Direction::Forward), (Places{1, 2}));
  // The last index is a division of C: (2 - 2 - 1)/2 is 0, not -1.
  layer.padding[0] = 0;
  layer.shape = Triple{2, 1, 1};
  EXPECT_EQ(map_of("spconv", layer, on_line({0})).target, on_line({0}));
  layer.shape = Triple{1, 1, 1};
  EXPECT_EQ(map_of("spconv", layer, on_line({0})).target, Rows{});
}

TEST(DialectsThatAreNotOurs, SpconvCropsTransposedOutputsWithoutDilation) {
  Layer layer = line(Kind::Transposed, 3, 1, 2);
  layer.shape = Triple{1, 1, 1};
  EXPECT_EQ(map_of("spconv", layer, on_line({0})).target, on_line({0, 2}));  // not 4
  layer.output_padding[0] = 2;
  EXPECT_EQ(map_of("spconv", layer, on_line({0})).target, on_line({0, 2, 4}));
}

TEST(Dialects, SpconvSubmanifoldIgnoresPaddingAndStride) {
  Layer layer = line(Kind::Submanifold, 3, 2);
  layer.padding[0] = 5;
  layer.shape = Triple{9, 1, 1};
  const LayerMap map = map_of("spconv", layer, on_line({4, 3}));
  EXPECT_EQ(map.target, on_line({4, 3}));  // in the input's own order
  EXPECT_EQ(map.pairs, (std::vector<Pairs>{{{1, 0}}, {{0, 0}, {1, 1}}, {{0, 1}}}));
  EXPECT_EQ(refusal([] { dialect("spconv").check(line(Kind::Submanifold, 2)); }), "Unsupported");
}

TEST(Dialects, InverseIsTheStoredMapSwapped) {
  Layer layer = line(Kind::Forward, 3, 2);
  layer.padding[0] = 1;
  layer.shape = Triple{8, 1, 1};
  const Rows fine = on_line({5, 0, 1});
  const LayerMap forward = map_of("spconv", layer, fine);
  EXPECT_EQ(forward.target, on_line({0, 1, 2, 3}));
  layer.kind = Kind::Inverse;
  const Rows coarse = on_line({3, 2, 1, 0});  // in an order of its own
  const LayerMap back = map_of("spconv", layer, coarse, &fine);
  EXPECT_EQ(back.target, fine);
  // Tap 0 joins 5 to 3 and 1 to 1; tap 1 joins 0 to 0; tap 2 joins 5 to 2 and 1 to 0.
  EXPECT_EQ(back.pairs, (std::vector<Pairs>{{{0, 0}, {2, 2}}, {{3, 1}}, {{1, 0}, {3, 2}}}));
  EXPECT_EQ(refusal([&] { map_of("spconv", layer, on_line({0, 1, 2}), &fine); }), "ShapeMismatch");
  EXPECT_EQ(refusal([&] { map_of("spconv", layer, on_line({0, 1, 2, 3, 4}), &fine); }),
            "ShapeMismatch");
  EXPECT_EQ(refusal([&] { map_of("spconv", layer, coarse); }, "target"), "InvalidArgument");
}

TEST(DialectsThatAreNotOurs, TorchSparseCropsByTheLargestCoordinate) {
  // Planes at an even place are lost under K = S = 2 without padding where they are the last.
  const auto coarse = [](std::int64_t place, std::int64_t pad) {
    Layer layer = line(Kind::Forward, 2, 2);
    layer.padding[0] = pad;
    return map_of("torchsparse", layer, on_line({place})).target;
  };
  EXPECT_EQ(coarse(0, 0), Rows{});
  EXPECT_EQ(coarse(1, 0), on_line({0}));
  EXPECT_EQ(coarse(2, 0), Rows{});
  EXPECT_EQ(coarse(2, 1), on_line({1}));
  EXPECT_EQ(map_of("torchsparse-hashmap", line(Kind::Forward, 2, 2), on_line({2})).target,
            on_line({1}));
  EXPECT_EQ(our_target({2}, 2, 2, Direction::Forward), (Places{1}));
}

TEST(DialectsThatAreNotOurs, TorchSparseLeavesTheInputAloneAtStrideOne) {
  const LayerMap map = map_of("torchsparse", line(Kind::Forward, 2), on_line({1, 0}));
  EXPECT_EQ(map.target, on_line({1, 0}));
  EXPECT_EQ(map.pairs, (std::vector<Pairs>{{{0, 0}, {1, 1}}, {{0, 1}}}));
  EXPECT_EQ(our_target({0, 1}, 2, 1, Direction::Forward), (Places{-1, 0, 1}));
}

TEST(DialectsThatAreNotOurs, TorchSparseHashmapModes) {
  // K = 3, S = 2: neither 1 nor K, so the set is an image with the padding that is given; the taps
  // are centred whatever that is.
  const Layer layer = line(Kind::Forward, 3, 2);
  EXPECT_EQ(map_of("torchsparse-hashmap", layer, on_line({0, 3})).target, on_line({0}));
  EXPECT_EQ(map_of("torchsparse-minkowski", layer, on_line({0, 3})).target, on_line({0, 1}));
  EXPECT_EQ(map_of("torchsparse-hashmap", layer, on_line({0, 3})).pairs,
            (std::vector<Pairs>{{}, {{0, 0}}, {}}));
  EXPECT_EQ(refusal([&] { map_of("torchsparse", layer, on_line({-1})); }, "negative"),
            "Unsupported");
}

TEST(Dialects, DenseIsCroppedToItsBoxes) {
  Layer layer = line(Kind::Forward, 3, 2);
  layer.padding[0] = 1;
  layer.shape = Triple{4, 1, 1};  // m = 2
  EXPECT_EQ(map_of("dense", layer, on_line({3})).target, on_line({1}));
  layer.kind = Kind::Transposed;
  layer.shape = Triple{2, 1, 1};  // m = 3
  EXPECT_EQ(map_of("dense", layer, on_line({1})).target, on_line({1, 2}));
  layer.output_padding[0] = 1;
  EXPECT_EQ(map_of("dense", layer, on_line({1})).target, on_line({1, 2, 3}));
  const Rows outside = on_line({4});
  EXPECT_EQ(refusal([&] { map_of("dense", layer, on_line({1}), &outside); }, "box"),
            "InvalidArgument");
  layer.shape = {};
  EXPECT_EQ(refusal([&] { map_of("dense", layer, on_line({1})); }, "spatial_shape"),
            "InvalidArgument");
}

TEST(Dialects, MembersDoNotMeet) {
  const Rows rows{{0, {0, 0, 0}}, {1, {1, 0, 0}}};
  for (const auto& name : dialect_names()) {
    const auto kinds = dialect(name).kinds();
    Layer layer = line(kinds.front() == Kind::Submanifold ? Kind::Submanifold : Kind::Forward, 3);
    if (name == "spconv" || name == "dense") layer.shape = Triple{4, 1, 1};
    const LayerMap map = dialect(name).map(layer, rows, nullptr);
    for (const Pairs& pairs : map.pairs)
      for (const auto& [from, to] : pairs)
        EXPECT_EQ(rows[static_cast<std::size_t>(from)].batch,
                  map.target[static_cast<std::size_t>(to)].batch)
            << name;
  }
}

TEST(Dialects, LayersThatALibraryHasNotAreRefused) {
  const auto check = [](std::string_view name, const Layer& layer, const std::string& says) {
    return refusal([&] { dialect(name).check(layer); }, says);
  };
  EXPECT_EQ(check("lato", cube(Kind::Forward, 3), "forward"), "Unsupported");
  EXPECT_EQ(check("lato", cube(Kind::Submanifold, 2), "odd"), "Unsupported");
  EXPECT_EQ(check("lato", cube(Kind::Submanifold, 3, 2), "stride"), "Unsupported");
  EXPECT_EQ(check("torchsparse", cube(Kind::Transposed, 3), "transposed"), "Unsupported");
  EXPECT_EQ(check("minkowski", cube(Kind::Inverse, 3), "inverse"), "Unsupported");
  EXPECT_EQ(check("fvdb", cube(Kind::Submanifold, 3, 2), "stride"), "InvalidArgument");
  for (const auto& name : {"fvdb", "spconv", "minkowski", "torchsparse", "mlx-lattice", "dense"}) {
    EXPECT_EQ(check(name, cube(Kind::Forward, 0), "kernel_size"), "InvalidArgument") << name;
    EXPECT_EQ(check(name, cube(Kind::Forward, 3, -1), "stride"), "InvalidArgument") << name;
    EXPECT_EQ(check(name, line(Kind::Forward, 129), "kernel_size"), "Unsupported") << name;
    EXPECT_EQ(check(name, cube(Kind::Forward, 17), "taps"), "Unsupported") << name;
    EXPECT_EQ(check(name, cube(Kind::Forward, 3, 65), "stride"), "Unsupported") << name;
  }
  Layer padded = cube(Kind::Forward, 3);
  padded.padding = {1, 0, 0};
  EXPECT_EQ(check("fvdb", padded, "padding"), "Unsupported");
  EXPECT_EQ(check("minkowski", padded, "padding"), "Unsupported");
  Layer strided = cube(Kind::Forward, 3);
  strided.tensor_stride = {2, 2, 2};
  EXPECT_EQ(check("spconv", strided, "tensor_stride"), "Unsupported");
  Layer shaped = cube(Kind::Forward, 3);
  shaped.shape = Triple{8, 8, 8};
  EXPECT_EQ(check("mlx-lattice", shaped, "spatial_shape"), "Unsupported");
  EXPECT_EQ(check("spconv", shaped, ""), "none");
}

TEST(Dialects, RowsThatAreNoneAreRefused) {
  Layer shaped = line(Kind::Forward, 3);
  shaped.shape = Triple{4, 1, 1};
  const auto refused = [&](std::string_view name, const Rows& rows, const std::string& says) {
    return refusal([&] { map_of(name, name == "spconv" ? shaped : line(Kind::Forward, 3), rows); },
                   says);
  };
  EXPECT_EQ(refused("spconv", on_line({4}), "spatial_shape"), "InvalidArgument");
  EXPECT_EQ(refused("spconv", on_line({-1}), "spatial_shape"), "InvalidArgument");
  EXPECT_EQ(refused("fvdb", on_line({1, 1}), "row 0 already"), "InvalidArgument");
  EXPECT_EQ(refused("mlx-lattice", on_line({1ll << 31}), "32 bits"), "OutOfRange");
  EXPECT_EQ(refused("fvdb", on_line({(1ll << 31) - 1}), "32 bits"), "OutOfRange");  // the result
  Layer coarse = line(Kind::Transposed, 3, 2);
  EXPECT_EQ(refusal([&] { map_of("minkowski", coarse, on_line({1})); }, "tensor stride"),
            "InvalidArgument");
}

}  // namespace
}  // namespace leafproof::oracle::dialects
