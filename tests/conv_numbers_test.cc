// Convolution in numbers: by hand, the adjoint identity in exact integers, types, what is not
// finite, and refusals; in both references.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracle/backend.h"
#include "oracle/choice_source.h"
#include "reference/brute_force_conv.h"
#include "reference/canonical_order.h"
#include "reference/conv_support.h"
#include "reference/convolution.h"
#include "reference/kernel_map.h"
#include "reference/numbers.h"
#include "reference/passes.h"

namespace leafproof::reference {
namespace {

using oracle::ChoiceSource;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Voxel> scattered(ChoiceSource& r, int side, int count) {
  std::vector<Voxel> voxels;
  for (int i = 0; i < count; ++i)
    voxels.push_back({static_cast<std::int32_t>(r.between(-side, side)),
                      static_cast<std::int32_t>(r.between(-side, side)),
                      static_cast<std::int32_t>(r.between(-side, side))});
  make_canonical(voxels);
  return voxels;
}

Array drawn(ChoiceSource& r, std::vector<std::int64_t> shape) {
  Array array{std::move(shape), {}};
  for (std::int64_t i = 0; i < size_of(array.shape); ++i)
    array.values.push_back(static_cast<double>(r.between(-9, 9)));
  return array;
}

/// The two channel axes of W exchanged [V-2].
Array exchanged(const Array& w) {
  Array other = w;
  std::swap(other.shape[0], other.shape[1]);
  const std::int64_t cout = w.shape[0], cin = w.shape[1],
                     taps = w.shape[2] * w.shape[3] * w.shape[4];
  for (std::int64_t co = 0; co < cout; ++co)
    for (std::int64_t ci = 0; ci < cin; ++ci)
      for (std::int64_t t = 0; t < taps; ++t)
        other.values[static_cast<std::size_t>((ci * cout + co) * taps + t)] =
            w.values[static_cast<std::size_t>((co * cin + ci) * taps + t)];
  return other;
}

double inner(const Array& a, const Array& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return sum;
}

// <conv(x), y> = <x, conv_transpose(y)>, and the gradients are the same sums: K 1...6, S 1...5,
// D 1...3, mixed per axis, both target policies.
TEST(Convolution, AdjointIdentityInExactIntegers) {
  int joined = 0, apart = 0;
  for (std::int64_t k = 1; k <= 6; ++k)
    for (std::int64_t s = 1; s <= 5; ++s)
      for (std::int64_t d = 1; d <= 3; ++d) {
        ChoiceSource r{static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(s),
                       static_cast<std::uint64_t>(d)};
        const Kernel kernel{{k, r.between(1, 6), r.between(1, 3)},
                            {s, r.between(1, 5), r.between(1, 5)},
                            {d, r.between(1, 3), r.between(1, 3)}};
        const Batch fine = from_ijk({scattered(r, 6, 30), {}, scattered(r, 3, 12)});
        const Batch generated = conv_grid(fine, kernel);
        const Batch given = from_ijk({scattered(r, 3, 20), scattered(r, 3, 4), {}});
        for (const Batch* coarse : {&generated, &given}) {
          const KernelMap down = kernel_map(fine, *coarse, kernel, Direction::Forward);
          const KernelMap up = kernel_map(*coarse, fine, kernel, Direction::Transposed);
          const std::int64_t cin = r.between(1, 3), cout = r.between(1, 3);
          Operands x, y;
          x.type = y.type = NumberType::Int32;
          x.features = drawn(r, {down.source_rows, cin});
          y.features = drawn(r, {down.target_rows, cout});
          x.weights = drawn(r, {cout, cin, kernel.size[0], kernel.size[1], kernel.size[2]});
          y.weights = exchanged(x.weights);
          const Array out = convolve(down, kernel, x), back = convolve(up, kernel, y);
          EXPECT_EQ(inner(out, y.features), inner(x.features, back)) << k << s << d;
          x.grad_output = y.features;
          const Gradients gradient = gradients(down, kernel, x);
          EXPECT_EQ(gradient.features.values, back.values);
          EXPECT_EQ(inner(gradient.weights, x.weights), inner(out, y.features));
          (down.gather.empty() ? apart : joined) += 1;
        }
      }
  EXPECT_GT(joined, 120) << "most have pairs";
  EXPECT_EQ(joined + apart, 180);
}

TEST(Convolution, ChannelsAndWeightsAreOrderedAsV1Says) {
  // One pair at tap (0,1,2) of (1,2,3): out[co] = sum W[co][ci][tap] * in[ci].
  const Kernel kernel{{1, 2, 3}, {1, 1, 1}, {1, 1, 1}};
  const Batch source = from_ijk({{{0, 1, 1}}}), target = from_ijk({{{0, 0, 0}}});
  const KernelMap map = kernel_map(source, target, kernel, Direction::Forward);
  ASSERT_EQ(map.offsets, (std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 1}));
  for (std::int64_t cin = 1; cin <= 9; ++cin)
    for (std::int64_t cout = 1; cout <= 9; ++cout) {
      Operands o;
      o.features = {{1, cin}, {}};
      o.weights = {{cout, cin, 1, 2, 3}, {}};
      std::vector<double> wanted(static_cast<std::size_t>(cout), 100);
      for (std::int64_t ci = 0; ci < cin; ++ci) o.features.values.push_back(1 << ci);
      for (std::int64_t co = 0; co < cout; ++co)
        for (std::int64_t ci = 0; ci < cin; ++ci)
          for (std::int64_t t = 0; t < 6; ++t) {
            const double w = static_cast<double>(100 * co + 10 * ci + t);
            o.weights.values.push_back(w);
            if (t == 5) wanted[static_cast<std::size_t>(co)] += w * (1 << ci);
          }
      o.bias = Array{{cout}, std::vector<double>(static_cast<std::size_t>(cout), 100)};
      EXPECT_EQ(convolve(map, kernel, o).values, wanted) << cin << " to " << cout;
      EXPECT_EQ(brute_force::convolve(map, kernel, o).values, wanted) << cin << " to " << cout;
    }
}

// [V-1] What is not finite reaches exactly the rows joined to its own; absent neighbours are not
// multiplied, and a row without pairs is exactly the bias.
TEST(Convolution, NanAndInfinityReachExactlyTheRowsJoinedToThem) {
  const Kernel kernel{{1, 1, 3}, {1, 1, 1}, {1, 1, 1}};
  std::vector<Voxel> line;
  for (int z = 0; z < 9; ++z) line.push_back({0, 0, z});
  line.push_back({0, 0, 100});
  const Batch source = from_ijk({line});
  const KernelMap map = kernel_map(source, source, kernel, Direction::Forward);
  for (const NumberType type : {NumberType::Float64, NumberType::Float32, NumberType::Float16})
    for (const double special : {kInfinity, -kInfinity, std::nan("")}) {
      Operands o;
      o.type = type;
      o.features = {{10, 1}, std::vector<double>(10, 1)};
      o.features.values[4] = special;
      o.weights = {{1, 1, 1, 1, 3}, {1, 0, 2}};  // 0 at the middle: 0 * infinity is NaN there
      o.bias = Array{{1}, {0.5}};
      for (const Array& out : {convolve(map, kernel, o), brute_force::convolve(map, kernel, o)}) {
        for (std::size_t row = 0; row < 10; ++row) {
          const double x = out.values[row];
          if (row == 4 || (std::isnan(special) && (row == 3 || row == 5)))
            EXPECT_TRUE(std::isnan(x)) << row;
          else if (row == 3 || row == 5)
            EXPECT_EQ(x, special) << row;
          else
            EXPECT_TRUE(std::isfinite(x)) << row;
        }
        EXPECT_EQ(out.values[9], 0.5);  // only itself, with weight 0
      }
      const auto exact = convolve_exactly(map, kernel, o);
      EXPECT_TRUE(std::isnan(exact[4].value));
      EXPECT_EQ(exact[0].value, 2.5);
      EXPECT_EQ(exact[0].magnitude, 2.5);
      EXPECT_EQ(exact[0].terms, 3);
    }
}

TEST(Convolution, ARowWithoutPairsIsTheBias) {
  const Kernel kernel{{1, 1, 1}, {2, 2, 2}, {1, 1, 1}};
  const Batch source = from_ijk({{{1, 1, 1}}}), target = from_ijk({{{0, 0, 0}, {4, 4, 4}}});
  const KernelMap map = kernel_map(source, target, kernel, Direction::Forward);
  Operands o;
  o.features = {{1, 1}, {kInfinity}};
  o.weights = {{2, 1, 1, 1, 1}, {3, 4}};
  EXPECT_EQ(convolve(map, kernel, o).values, (std::vector<double>{0, 0, 0, 0}));
  o.bias = Array{{2}, {-1, 7}};
  EXPECT_EQ(convolve(map, kernel, o).values, (std::vector<double>{-1, 7, -1, 7}));
}

Operands one_by_one(NumberType type, double x, double w) {
  Operands o;
  o.type = type;
  o.features = {{1, 1}, {x}};
  o.weights = {{1, 1, 1, 1, 1}, {w}};
  return o;
}

// [V-6] Cast to the features' type, accumulated in its accumulator, rounded once.
TEST(Convolution, TypesCastAccumulateAndRoundOnce) {
  const Batch one = from_ijk({{{0, 0, 0}}});
  const Kernel kernel;
  const KernelMap map = kernel_map(one, one, kernel, Direction::Forward);
  const auto both = [&](const Operands& o) {
    const double x = convolve(map, kernel, o).values[0];
    EXPECT_EQ(brute_force::convolve(map, kernel, o).values[0], x);
    return x;
  };
  EXPECT_EQ(both(one_by_one(NumberType::Float64, 1, 0.1)), 0.1);
  EXPECT_EQ(both(one_by_one(NumberType::Float32, 1, 0.1)), static_cast<double>(0.1f));
  EXPECT_EQ(both(one_by_one(NumberType::Float16, 1, 0.1)), 0.0999755859375);
  EXPECT_EQ(both(one_by_one(NumberType::Float16, 300, 300)), kInfinity);  // above 65504
  EXPECT_EQ(both(one_by_one(NumberType::Float16, 65504, 1)), 65504);
  EXPECT_EQ(both(one_by_one(NumberType::Float16, 0x1p-14, 0x1p-10)), 0x1p-24);  // the smallest
  EXPECT_EQ(both(one_by_one(NumberType::Float16, 0x1p-14, 0x1p-12)), 0);
  EXPECT_EQ(both(one_by_one(NumberType::Float32, 16777216, 3)), 50331648);
  EXPECT_EQ(both(one_by_one(NumberType::Int32, 46340, -46340)), -2147395600.);
  EXPECT_EQ(both(one_by_one(NumberType::Int32, -2147483648., 1)), -2147483648.);
  // Half accumulates in float: 2048 + 1 - 2048 is 1, which half itself would lose.
  Operands sum = one_by_one(NumberType::Float16, 1, 1);
  sum.features = {{1, 3}, {2048, 1, -2048}};
  sum.weights = {{1, 3, 1, 1, 1}, {1, 1, 1}};
  EXPECT_EQ(both(sum), 1);
  // Integers pass out of 32 and 64 bits on the way and come back.
  Operands wide = one_by_one(NumberType::Int32, 1, 1);
  const double low = -2147483648.;
  wide.features = {{1, 5}, {low, low, low, low, -65536}};
  wide.weights = {{1, 5, 1, 1, 1}, {low, low, 2147483647, 2147483647, 65536}};
  EXPECT_EQ(both(wide), 0);  // 2^62 + 2^62 - 2^62 + 2^31 - 2^62 + 2^31 - 2^32
  wide.weights.values = {low, low, low, 1, 1};
  wide.features.values = {low, low, 0, 0, 7};
  EXPECT_THROW(convolve(map, kernel, wide), Error);  // 2^63 + 7: 64 bits do not hold it
  EXPECT_THROW(brute_force::convolve(map, kernel, wide), Error);
}

TEST(Convolution, Int32RefusesWhatItDoesNotHold) {
  const Batch one = from_ijk({{{0, 0, 0}}});
  const KernelMap map = kernel_map(one, one, {}, Direction::Forward);
  const auto kind_of = [&](const Operands& o) {
    ErrorKind kinds[2] = {ErrorKind::Corrupt, ErrorKind::Corrupt};
    try {
      convolve(map, {}, o);
    } catch (const Error& error) {
      kinds[0] = error.kind();
    }
    try {
      brute_force::convolve(map, {}, o);
    } catch (const Error& error) {
      kinds[1] = error.kind();
    }
    EXPECT_EQ(kinds[0], kinds[1]);
    return kinds[0];
  };
  EXPECT_EQ(kind_of(one_by_one(NumberType::Int32, 65536, 32768)), ErrorKind::OutOfRange);
  EXPECT_EQ(kind_of(one_by_one(NumberType::Int32, 65536, -32769)), ErrorKind::OutOfRange);
  EXPECT_EQ(kind_of(one_by_one(NumberType::Int32, 0.5, 1)), ErrorKind::InvalidArgument);
  EXPECT_EQ(kind_of(one_by_one(NumberType::Int32, 1, std::nan(""))), ErrorKind::InvalidArgument);
  EXPECT_EQ(kind_of(one_by_one(NumberType::Int32, 1, 2147483648.)), ErrorKind::InvalidArgument);
}

TEST(Convolution, ShapesThatDoNotFitAreNamed) {
  const Batch one = from_ijk({{{0, 0, 0}, {0, 0, 1}}});
  const Kernel kernel{{1, 1, 2}, {1, 1, 1}, {1, 1, 1}};
  const KernelMap map = kernel_map(one, one, kernel, Direction::Forward);
  Operands good;
  good.features = {{2, 1}, {1, 2}};
  good.weights = {{3, 1, 1, 1, 2}, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(convolve(map, kernel, good).shape, (std::vector<std::int64_t>{2, 3}));
  const auto refused = [&](auto change, const char* argument) {
    Operands bad = good;
    change(bad);
    for (const bool brute : {false, true}) try {
        brute ? brute_force::convolve(map, kernel, bad) : convolve(map, kernel, bad);
        ADD_FAILURE() << argument;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::ShapeMismatch);
        EXPECT_EQ(error.detail().argument, argument);
      }
  };
  refused([](Operands& o) { o.features = {{1, 1}, {1}}; }, "features");
  refused([](Operands& o) { o.features = {{2}, {1, 2}}; }, "features");
  refused([](Operands& o) { o.features.values.pop_back(); }, "features");
  refused([](Operands& o) { o.features.shape[1] = std::int64_t{1} << 62; }, "features");
  refused([](Operands& o) { o.weights.shape = {1, 3, 1, 1, 2}; }, "weights");
  refused([](Operands& o) { o.weights.shape = {3, 1, 2, 1, 1}; }, "weights");
  refused([](Operands& o) { o.weights.shape = {3, 2}; }, "weights");
  refused([](Operands& o) { o.weights = {}; }, "weights");
  refused([](Operands& o) { o.bias = Array{{2}, {1, 2}}; }, "bias");
}

// [V-4] Two axes of weights, only where K=S=1 and the target is the source itself.
TEST(Convolution, MatricesAreAcceptedAtIdentityOnly) {
  const Batch one = from_ijk({{{0, 0, 0}, {0, 0, 1}}});
  const KernelMap map = kernel_map(one, one, {}, Direction::Forward);
  Operands o;
  o.features = {{2, 2}, {1, 2, 3, 4}};
  o.weights = {{1, 2}, {10, 1}};
  EXPECT_THROW(convolve(map, {}, o), Error);
  o.target_is_source = true;
  EXPECT_EQ(convolve(map, {}, o).values, (std::vector<double>{12, 34}));
  EXPECT_EQ(brute_force::convolve(map, {}, o).values, (std::vector<double>{12, 34}));
  EXPECT_THROW(convolve(map, {{1, 1, 1}, {1, 2, 1}, {1, 1, 1}}, o), Error);
}

// The sums without error hold what double loses.
TEST(Convolution, ExactSumsHoldWhatDoubleLoses) {
  const Batch one = from_ijk({{{0, 0, 0}}});
  const KernelMap map = kernel_map(one, one, {}, Direction::Forward);
  Operands o;
  o.features = {{1, 4}, {1e16, 1, -1e16, 0x1p-60}};
  o.weights = {{1, 4, 1, 1, 1}, {1, 1, 1, 1}};
  const Exact exact = convolve_exactly(map, {}, o)[0];
  EXPECT_EQ(exact.value, 1 + 0x1p-60);
  EXPECT_EQ(exact.value, 1);
  EXPECT_EQ(exact.rest, 0x1p-60);
  EXPECT_EQ(exact.terms, 4);
  o.features = {{1, 2}, {1 + 0x1p-40, -1}};
  o.weights = {{1, 2, 1, 1, 1}, {1 + 0x1p-40, 1 + 0x1p-39}};
  const Exact product = convolve_exactly(map, {}, o)[0];
  EXPECT_EQ(product.value + product.rest, 0x1p-80);  // what one rounding of the product loses
}

}  // namespace
}  // namespace leafproof::reference
