// Laws of the dialects [X]: coordinates, taps and weights go there and come back; a kernel map
// holds every pair of its dialect's relation once and no other; and where a dialect is our relation
// under other names, its map is the reference's.
#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "oracle/dialects/rows.h"
#include "properties/arbitrary.h"
#include "properties/questions.h"
#include "properties/subject.h"
#include "reference/conv_support.h"
#include "reference/kernel_map.h"

namespace leafproof::properties {
namespace {

using namespace dialects;

/// A dialect and a layer that it has, but for a shape.
struct Asked {
  const Dialect& dialect;
  Layer layer;
};

Triple drawn(std::int64_t low, std::int64_t high) {
  Triple t;
  for (auto& x : t) x = *rc::gen::inRange(low, high + 1);
  return t;
}

Triple odd(Triple size) {
  for (auto& k : size) k |= 1;
  return size;
}

Layer draw_layer(const Dialect& dialect) {
  const std::string name = dialect.facts().name;
  Layer layer;
  layer.kind = *rc::gen::elementOf(dialect.kinds());
  layer.size = drawn(1, 4);
  if (name == "lato" || (name == "spconv" && layer.kind == Kind::Submanifold))
    layer.size = odd(layer.size);
  if (layer.kind != Kind::Submanifold) layer.stride = drawn(1, 3);
  if (name != "fvdb" && name != "lato") layer.dilation = drawn(1, 3);
  const bool pads = name == "spconv" || name == "dense" || name.starts_with("torchsparse") ||
                    (name == "mlx-lattice" && layer.kind != Kind::Submanifold);
  if (pads) layer.padding = drawn(0, 3);
  if (name == "minkowski") layer.tensor_stride = drawn(1, 3);
  return layer;
}

/// The laws of every dialect.
class Dialects : public DialectLaw {
 protected:
  static Asked draw() {
    const Dialect& chosen = dialect(*rc::gen::elementOf(dialect_names()));
    return {chosen, draw_layer(chosen)};
  }
};
/// Each of one.
class DialectsThatAreOurs : public DialectLaw {};

bool boxed(const Dialect& dialect) {
  return dialect.facts().name == "spconv" || dialect.facts().name == "dense";
}
bool only_positive(const Dialect& dialect) {
  return boxed(dialect) || dialect.facts().name.starts_with("torchsparse");
}

/// Two members of voxels near each other, so that most have neighbours; from `low` on.
Batch small_batch(std::int32_t low) {
  const auto coordinate = rc::gen::inRange<std::int32_t>(low, low + 7);
  const auto voxel = rc::gen::build<Voxel>(rc::gen::set(&Voxel::x, coordinate),
                                           rc::gen::set(&Voxel::y, coordinate),
                                           rc::gen::set(&Voxel::z, coordinate));
  return reference::from_ijk(*rc::gen::container<std::vector<std::vector<Voxel>>>(
      2, rc::gen::container<std::vector<Voxel>>(voxel)));
}

Batch batch_for(const Dialect& dialect) {
  return small_batch(only_positive(dialect) ? 0 : -3);
}

std::int64_t members_of(const Batch& batch) {
  return static_cast<std::int64_t>(batch.size());
}

bool of_coarse_source(Kind kind) {
  return kind == Kind::Transposed || kind == Kind::Inverse;
}

TEST_P(Dialects, CoordinatesComeBack) {
  holds("voxels as rows and back are the same batch, in whatever order the rows stand [X]", [] {
    const auto [dialect, layer] = draw();
    Batch batch = *batches();
    batch.maps.assign(batch.size(), Map{});
    batch.names.assign(batch.size(), "");
    const Triple unit = drawn(1, 16);
    const Rows rows = rows_of(dialect, batch, unit);
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0);
    const auto keys = *rc::gen::container<std::vector<int>>(rows.size(), rc::gen::arbitrary<int>());
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(keys[i], i); });
    Rows shuffled;
    for (const std::size_t i : order) shuffled.push_back(rows[i]);
    const FromRows back = batch_of(dialect, shuffled, members_of(batch), unit);
    RC_ASSERT(back.batch == batch);
    // And the order says where each row went: rows of ours are in canonical order.
    for (std::size_t i = 0; i < rows.size(); ++i)
      RC_ASSERT(shuffled[static_cast<std::size_t>(back.order[i])] == rows[i]);
  });
}

TEST_P(Dialects, TriplesComeBack) {
  holds("an order of axes and back [X]", [] {
    const auto [dialect, layer] = draw();
    const Triple t = *translations();
    RC_ASSERT(to_xyz(dialect, to_columns(dialect, t)) == t);
    RC_ASSERT(to_columns(dialect, to_xyz(dialect, t)) == t);
  });
}

TEST_P(Dialects, EveryTapIsNumberedOnce) {
  holds("the taps are all of 0 <= t < K, each once, and each looks elsewhere [K-2] [X]", [] {
    const auto [dialect, layer] = draw();
    const auto taps = dialect.taps(layer);
    const auto offsets = dialect.offsets(layer);
    RC_ASSERT(static_cast<std::int64_t>(taps.size()) == volume(layer.size));
    RC_ASSERT(offsets.size() == taps.size());
    RC_ASSERT(std::set(taps.begin(), taps.end()).size() == taps.size());
    RC_ASSERT(std::set(offsets.begin(), offsets.end()).size() == taps.size());
    for (const Triple& tap : taps)
      for (std::size_t a = 0; a < 3; ++a) RC_ASSERT(tap[a] >= 0 && tap[a] < layer.size[a]);
    const auto numbers = tap_numbers(dialect, layer);
    const Triple size = to_xyz(dialect, layer.size);
    for (std::size_t ours = 0; ours < numbers.size(); ++ours)
      RC_ASSERT(number_last_fastest(size, to_xyz(dialect, taps[numbers[ours]])) ==
                static_cast<std::int64_t>(ours));
  });
}

TEST_P(Dialects, WeightsComeBack) {
  holds("weights of any shape and form go there and come back, both ways round [V-1] [X]", [] {
    const auto [dialect, layer] = draw();
    const std::int64_t cout = *rc::gen::inRange(0, 5), cin = *rc::gen::inRange(0, 5);
    const int form = *rc::gen::inRange(0, dialect.weight_forms());
    const Triple size = to_xyz(dialect, layer.size);
    Array ours{{cout, cin, size[0], size[1], size[2]}, {}};
    ours.values.resize(static_cast<std::size_t>(cout * cin * volume(size)));
    std::iota(ours.values.begin(), ours.values.end(), 1.0);  // every element another
    const Array theirs = weights_from_ours(dialect, layer, ours, form);
    RC_ASSERT(theirs.shape == dialect.weight_shape(layer, {cout, cin}, form));
    const Array back = weights_to_ours(dialect, layer, theirs);
    RC_ASSERT(back.shape == ours.shape);
    RC_ASSERT(back.values == ours.values);
    Array memory = theirs;
    std::iota(memory.values.begin(), memory.values.end(), 1.0);
    const Array again =
        weights_from_ours(dialect, layer, weights_to_ours(dialect, layer, memory), form);
    RC_ASSERT(again.shape == memory.shape);
    RC_ASSERT(again.values == memory.values);
  });
}

/// A layer with a shape that holds the batch, where the dialect has one.
void give_shape(const Dialect& dialect, Layer& layer) {
  if (boxed(dialect)) layer.shape = drawn(14, 18);
}

TEST_P(Dialects, AMapHoldsEveryPairOfItsRelationOnce) {
  std::size_t pairs = 0, inputs = 0;
  holds("of all source rows, target rows and taps: fine = step * coarse + offset [X]", [&] {
    auto [dialect, layer] = draw();
    give_shape(dialect, layer);
    const Batch batch = batch_for(dialect);
    const bool up = of_coarse_source(layer.kind);
    Rows source =
        rows_of(dialect, batch, up ? dialect.coarse_unit(layer) : dialect.fine_unit(layer));
    LayerMap map;
    if (layer.kind == Kind::Inverse) {
      Layer forward = layer;
      forward.kind = Kind::Forward;
      const Rows fine = source;
      source = dialect.map(forward, fine, nullptr).target;
      map = dialect.map(layer, source, &fine);
    } else {
      map = dialect.map(layer, source, nullptr);
    }
    const auto offsets = dialect.offsets(layer);
    const Triple step = dialect.step(layer);
    std::vector<std::vector<std::array<std::int64_t, 2>>> wanted(offsets.size());
    for (std::size_t o = 0; o < map.target.size(); ++o)
      for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i].batch != map.target[o].batch) continue;
        const Triple &fine = up ? map.target[o].at : source[i].at,
                     &coarse = up ? source[i].at : map.target[o].at;
        Triple distance;
        for (std::size_t a = 0; a < 3; ++a) distance[a] = fine[a] - step[a] * coarse[a];
        const auto tap = std::ranges::find(offsets, distance);
        if (tap != offsets.end())
          wanted[static_cast<std::size_t>(tap - offsets.begin())].push_back(
              {static_cast<std::int64_t>(i), static_cast<std::int64_t>(o)});
      }
    RC_ASSERT(map.pairs == wanted);
    ++inputs;
    for (const auto& tap : wanted) pairs += tap.size();
  });
  EXPECT_TRUE(!in_full(inputs) || pairs > 50 * inputs)
      << "the input has too few pairs to show anything";
}

// --- where a dialect is our relation under other names

Layer layer_of(const Dialect& dialect, const Kernel& kernel, Kind kind) {
  Layer layer;
  layer.kind = kind;
  layer.size = to_columns(dialect, kernel.size);
  layer.stride = to_columns(dialect, kernel.stride);
  layer.dilation = to_columns(dialect, kernel.dilation);
  layer.padding = dialect.our_padding(layer);
  return layer;
}

/// The dialect's map of `source` in our terms is the reference's onto the same target.
void is_ours(const Dialect& dialect, const Layer& layer, const Kernel& kernel, const Batch& source,
             bool complete) {
  const bool up = of_coarse_source(layer.kind);
  const Direction direction = up ? Direction::Transposed : Direction::Forward;
  const Rows rows =
      rows_of(dialect, source, up ? dialect.coarse_unit(layer) : dialect.fine_unit(layer));
  const LayerMap map = dialect.map(layer, rows, nullptr);
  const bool fine = up || layer.kind == Kind::Submanifold;
  const Batch target = batch_of(dialect, map.target, members_of(source),
                                fine ? dialect.fine_unit(layer) : dialect.coarse_unit(layer))
                           .batch;
  RC_ASSERT(map_in_our_terms(dialect, layer, rows, map, members_of(source)) ==
            reference::kernel_map(source, target, kernel, direction));
  if (complete)
    RC_ASSERT(target.members == reference::complete_target(source, kernel, direction).members);
}

Kernel any_kernel(bool dilated) {
  Kernel kernel = *kernels();
  for (std::size_t a = 0; a < 3; ++a) kernel.size[a] = std::min<std::int64_t>(kernel.size[a], 5);
  if (!dilated) kernel.dilation = {1, 1, 1};
  return kernel;
}

TEST_P(DialectsThatAreOurs, Fvdb) {
  holds("fvdb: the whole relation at D = 1, both directions and submanifold [K-1] [X]", [] {
    const Dialect& fvdb = dialect("fvdb");
    Kernel kernel = any_kernel(/*dilated=*/false);
    const Kind kind = *rc::gen::elementOf(fvdb.kinds());
    if (kind == Kind::Submanifold) kernel.stride = {1, 1, 1};
    is_ours(fvdb, layer_of(fvdb, kernel, kind), kernel, *dense_batches(),
            kind != Kind::Submanifold);
  });
}

TEST_P(DialectsThatAreOurs, Spconv) {
  holds("spconv: pad = P, and a shape that crops nothing [K-1] [X]", [] {
    const Dialect& spconv = dialect("spconv");
    Kernel kernel = any_kernel(/*dilated=*/true);
    const Kind kind = *rc::gen::element(Kind::Forward, Kind::Transposed, Kind::Submanifold);
    if (kind == Kind::Submanifold) {
      kernel.stride = {1, 1, 1};
      kernel.size = odd(kernel.size);
    }
    Layer layer = layer_of(spconv, kernel, kind);
    layer.shape = Triple{200, 200, 200};
    is_ours(spconv, layer, kernel, small_batch(60), kind != Kind::Submanifold);
  });
}

TEST_P(DialectsThatAreOurs, Dense) {
  holds("dense: pad = P, and a box that crops nothing [K-1] [X]", [] {
    const Dialect& dense = dialect("dense");
    const Kernel kernel = any_kernel(/*dilated=*/true);
    Layer layer = layer_of(dense, kernel, *rc::gen::elementOf(dense.kinds()));
    layer.shape = Triple{200, 200, 200};
    is_ours(dense, layer, kernel, small_batch(60), /*complete=*/true);
  });
}

TEST_P(DialectsThatAreOurs, Minkowski) {
  holds("minkowski: odd K, onto the rows that it makes; generative ones are all of ours [X]", [] {
    const Dialect& minkowski = dialect("minkowski");
    Kernel kernel = any_kernel(/*dilated=*/true);
    kernel.size = odd(kernel.size);
    const Kind kind = *rc::gen::elementOf(minkowski.kinds());
    if (kind == Kind::Submanifold) kernel.stride = {1, 1, 1};
    Layer layer = layer_of(minkowski, kernel, kind);
    layer.tensor_stride = drawn(1, 4);
    is_ours(minkowski, layer, kernel, small_batch(-3), kind == Kind::Transposed);
  });
}

TEST_P(DialectsThatAreOurs, MlxLattice) {
  holds("mlx-lattice: odd K at pad 0, even K at pad = P; generative ones are all of ours [X]", [] {
    const Dialect& lattice = dialect("mlx-lattice");
    Kernel kernel = any_kernel(/*dilated=*/true);
    const Kind kind = *rc::gen::elementOf(lattice.kinds());
    if (kind == Kind::Submanifold) {
      kernel.stride = {1, 1, 1};
      kernel.size = odd(kernel.size);
    }
    is_ours(lattice, layer_of(lattice, kernel, kind), kernel, *dense_batches(),
            kind == Kind::Transposed);
  });
}

TEST_P(DialectsThatAreOurs, TorchSparse) {
  holds("torchsparse: at D = 1 and pad = P, onto the rows that it makes [X]", [] {
    const Dialect& chosen = dialect(*rc::gen::element<std::string>(
        "torchsparse", "torchsparse-hashmap", "torchsparse-minkowski"));
    Kernel kernel = any_kernel(/*dilated=*/false);
    // At S = 1 the default looks at the corner of an even kernel.
    if (kernel.stride == Triple{1, 1, 1}) kernel.size = odd(kernel.size);
    is_ours(chosen, layer_of(chosen, kernel, Kind::Forward), kernel, small_batch(0),
            /*complete=*/false);
  });
}

TEST_P(DialectsThatAreOurs, Lato) {
  holds("lato: the submanifold map [M-5] [X]", [] {
    const Dialect& lato = dialect("lato");
    Kernel kernel;
    kernel.size = odd(drawn(1, 5));
    is_ours(lato, layer_of(lato, kernel, Kind::Submanifold), kernel, *dense_batches(), false);
  });
}

INSTANTIATE_TEST_SUITE_P(Conversions, Dialects, testing::ValuesIn(asked().dialect_sets), name_of);
INSTANTIATE_TEST_SUITE_P(Conversions, DialectsThatAreOurs, testing::ValuesIn(asked().dialect_sets),
                         name_of);

}  // namespace
}  // namespace leafproof::properties
