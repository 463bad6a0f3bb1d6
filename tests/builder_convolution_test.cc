// The builder's convolution and its gradients against loops over pairs, for all types and both
// forms; what must not change a bit; where NaN and infinity go; and the adjoint identity.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "gpu/convolution.h"
#include "gpu/products.h"
#include "gpu/strict_builder.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;
using gpu::ConvGeometry;
using gpu::ConvolutionForm;
using gpu::ConvolutionInput;
using gpu::ConvolutionMap;
using gpu::ConvolutionOptions;
using gpu::Direction;
using gpu::KernelMap;
using gpu::Tensor;
using gpu::Triple;
using Shape = std::vector<std::int64_t>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t volume(const Shape& shape) {
  std::size_t n = 1;
  for (const std::int64_t side : shape) n *= static_cast<std::size_t>(side);
  return n;
}

/// Whole numbers of few bits, which every type sums exactly.
template <class T>
std::vector<T> whole(std::mt19937& random, std::size_t n) {
  std::uniform_int_distribution<int> draw(-3, 3);
  std::vector<T> numbers(n);
  for (T& x : numbers) x = static_cast<T>(draw(random));
  return numbers;
}
/// Numbers that round at every step.
std::vector<float> rough(std::mt19937& random, std::size_t n) {
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<float> numbers(n);
  for (float& x : numbers) x = draw(random);
  return numbers;
}

/// Operands that own their numbers.
template <class T>
struct Operands {
  std::int64_t cin, cout;
  Triple kernel;
  std::vector<T> features, weights, bias, gradient;
  ConvolutionInput<T> input(bool with_bias = true) const {
    ConvolutionInput<T> all{{features, {static_cast<std::int64_t>(features.size()) / cin, cin}},
                            {weights, {cout, cin, kernel[0], kernel[1], kernel[2]}},
                            {}};
    if (with_bias) all.bias = Tensor<T>{bias, {cout}};
    return all;
  }
  Tensor<T> grad_output() const {
    return {gradient, {static_cast<std::int64_t>(gradient.size()) / cout, cout}};
  }
};

template <class T, class Draw>
Operands<T> operands_of(const ConvolutionMap& over, std::int64_t cin, std::int64_t cout,
                        const Draw& draw) {
  return {cin,
          cout,
          over.kernel(),
          draw(volume({over.source_rows(), cin})),
          draw(volume({over.taps(), cin, cout})),
          draw(volume({cout})),
          draw(volume({over.target_rows(), cout}))};
}

// ---- the plain way: [V-1], [V-2] as loops over pairs

struct Plain {
  std::vector<double> output, features, weights, bias;
};

template <class T>
Plain plainly(const KernelMap& map, const Operands<T>& o) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  Plain p;
  p.output.resize(at(map.target_rows() * o.cout));
  p.features.resize(o.features.size());
  p.weights.resize(o.weights.size());
  p.bias.resize(o.bias.size());
  for (std::int64_t i = 0; i < map.target_rows() * o.cout; ++i) {
    p.output[at(i)] = static_cast<double>(o.bias[at(i % o.cout)]);
    p.bias[at(i % o.cout)] += static_cast<double>(o.gradient[at(i)]);
  }
  for (std::int64_t t = 0; t < map.taps(); ++t) {
    for (std::int64_t i = map.offsets()[at(t)]; i < map.offsets()[at(t + 1)]; ++i) {
      for (std::int64_t co = 0; co < o.cout; ++co) {
        for (std::int64_t ci = 0; ci < o.cin; ++ci) {
          const std::size_t from = at(map.gather()[i] * o.cin + ci);
          const std::size_t to = at(map.scatter()[i] * o.cout + co);
          const std::size_t w = at((co * o.cin + ci) * map.taps() + t);
          const auto x = static_cast<double>(o.features[from]);
          const auto weight = static_cast<double>(o.weights[w]);
          const auto g = static_cast<double>(o.gradient[to]);
          p.output[to] += weight * x;
          p.features[from] += weight * g;
          p.weights[w] += x * g;
        }
      }
    }
  }
  return p;
}

template <class T>
std::vector<double> doubles(const std::vector<T>& numbers) {
  std::vector<double> all;
  for (const T x : numbers) all.push_back(static_cast<double>(x));
  return all;
}

template <class T>
class BuilderConvolutionOf : public testing::Test {};
using AllTypes = testing::Types<double, float, Eigen::half, std::int32_t>;
TYPED_TEST_SUITE(BuilderConvolutionOf, AllTypes);

TYPED_TEST(BuilderConvolutionOf, EqualsLoopsOverPairs) {
  using T = TypeParam;
  std::mt19937 random(11);
  const auto triple = [&](std::int64_t most) { return random_triple(random, most); };
  for (int round = 0; round < 24; ++round) {
    const ConvGeometry g{triple(4), triple(3), triple(3)};
    SCOPED_TRACE(round);
    BatchedBuilder builder;
    const GridBatch source = build(builder, cloud(random, 5, 90));
    const Direction direction = round % 2 == 0 ? Direction::Forward : Direction::Transposed;
    const GridBatch target = round % 3 == 0 ? build(builder, cloud(random, 4, 90))
                             : direction == Direction::Forward
                                 ? builder.conv_grid(source, g)
                                 : builder.conv_transpose_grid(source, g);
    const KernelMap map = builder.kernel_map(source, target, g, direction);
    const ConvolutionMap over = ConvolutionMap::of(builder, map, g.kernel);
    const auto draw = [&](std::size_t n) { return whole<T>(random, n); };
    const auto o = operands_of<T>(over, round % 9 + 1, (round * 5) % 9 + 1, draw);
    const Plain expected = plainly(map, o);
    for (const auto form : {ConvolutionForm::PerTap, ConvolutionForm::Chunked}) {
      ConvolutionOptions options;
      options.form = form;
      ASSERT_EQ(doubles(gpu::convolve(over, o.input(), options)), expected.output);
      const auto gradients = gpu::convolution_gradients(over, o.input(), o.grad_output(), options);
      ASSERT_EQ(doubles(gradients.features), expected.features);
      ASSERT_EQ(doubles(gradients.bias), expected.bias);
      if constexpr (!std::is_same_v<T, Eigen::half>) {  // sums of more than 11 bits
        ASSERT_EQ(doubles(gradients.weights), expected.weights);
      }
    }
  }
}

// [V-3] Numbers that round: within the bound of a sum in float, and the same bits whatever the
// threads and the memory are.
TEST(BuilderConvolution, RoughNumbersAreNearAndTheSameEveryTime) {
  std::mt19937 random(12);
  BatchedBuilder builder;
  const ConvGeometry g{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}};
  const GridBatch source = build(builder, cloud(random, 9, 2500));
  const KernelMap map = builder.submanifold_map(source, g);
  const ConvolutionMap over = ConvolutionMap::of(builder, map, g.kernel);
  for (const auto& [cin, cout] : {std::pair{1, 1}, {7, 1}, {1, 5}, {13, 9}, {32, 64}}) {
    const auto draw = [&](std::size_t n) { return rough(random, n); };
    const auto o = operands_of<float>(over, cin, cout, draw);
    const Plain expected = plainly(map, o);
    for (const auto form : {ConvolutionForm::PerTap, ConvolutionForm::Chunked}) {
      ConvolutionOptions options;
      options.form = form;
      options.threads = gpu::Threads::Serial;
      const auto once = gpu::convolve(over, o.input(), options);
      const double bound = 27.0 * (cin + 1) * 27 * (cin + 1) * 0x1p-24;  // n terms of at most 1
      for (std::size_t i = 0; i < once.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(once[i]), expected.output[i], bound) << i;
      }
      const auto gradients = gpu::convolution_gradients(over, o.input(), o.grad_output(), options);
      for (const auto threads : {gpu::Threads::Tbb, gpu::Threads::Own}) {
        for (const std::int64_t memory : {std::int64_t{2} << 20, std::int64_t{256} << 20}) {
          options.threads = threads;
          options.working_memory = memory;
          ASSERT_EQ(gpu::convolve(over, o.input(), options), once);
          const auto again = gpu::convolution_gradients(over, o.input(), o.grad_output(), options);
          ASSERT_EQ(again.features, gradients.features);
          ASSERT_EQ(again.weights, gradients.weights);
          ASSERT_EQ(again.bias, gradients.bias);
        }
      }
    }
  }
}

// Rows around the sizes of blocks, every pair of channels of 1 ... 9: nothing is left over.
TEST(BuilderConvolution, EveryNumberOfRowsAndChannels) {
  std::mt19937 random(18);
  BatchedBuilder builder;
  const ConvGeometry g{{1, 1, 3}, {1, 1, 1}, {1, 1, 1}};
  int round = 0;
  for (const std::int32_t rows : {1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257}) {
    std::vector<Voxel> line;
    add_box(line, {0, 0, 0}, {0, 0, rows - 1});
    const GridBatch source = build(builder, {line});
    const KernelMap map = builder.submanifold_map(source, g);
    const ConvolutionMap over = ConvolutionMap::of(builder, map, g.kernel);
    for (std::int64_t cin = 1; cin <= 9; ++cin) {
      for (std::int64_t cout = 1; cout <= 9; ++cout, ++round) {
        const auto draw = [&](std::size_t n) { return whole<float>(random, n); };
        const auto o = operands_of<float>(over, cin, cout, draw);
        const Plain expected = plainly(map, o);
        ConvolutionOptions options;
        options.threads = gpu::Threads::Serial;
        options.form = round % 2 == 0 ? ConvolutionForm::PerTap : ConvolutionForm::Chunked;
        ASSERT_EQ(doubles(gpu::convolve(over, o.input(), options)), expected.output);
        const auto gradients =
            gpu::convolution_gradients(over, o.input(), o.grad_output(), options);
        ASSERT_EQ(doubles(gradients.features), expected.features);
        ASSERT_EQ(doubles(gradients.weights), expected.weights);
        ASSERT_EQ(doubles(gradients.bias), expected.bias);
      }
    }
  }
}

// [V-5] The target rows of a transposed map do not ascend: its pairs are brought together in parts,
// as many as the memory asks for, and no bit depends on it.
TEST(BuilderConvolution, TransposedMapsInPartsAreTheSame) {
  std::mt19937 random(16);
  BatchedBuilder builder;
  const ConvGeometry g{{3, 3, 3}, {2, 2, 2}, {1, 1, 1}};
  const GridBatch fine = build(builder, cloud(random, 14, 3000));
  const KernelMap down = builder.kernel_map(fine, builder.conv_grid(fine, g), g);
  const ConvolutionMap up = ConvolutionMap::of(builder, down.transposed(), g.kernel);
  ASSERT_FALSE(std::is_sorted(up.map()->scatter(), up.map()->scatter() + up.map()->offsets()[1]));
  const auto o = operands_of<float>(up, 8, 8, [&](std::size_t n) { return rough(random, n); });
  const Plain expected = plainly(*up.map(), o);
  for (const auto& [form, little] :
       {std::pair{ConvolutionForm::PerTap, 6000}, std::pair{ConvolutionForm::Chunked, 132000}}) {
    ConvolutionOptions options;
    options.form = form;
    const auto once = gpu::convolve(up, o.input(), options);
    for (std::size_t i = 0; i < once.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(once[i]), expected.output[i], 220.0 * 220 * 0x1p-24) << i;
    }
    for (const auto threads : {gpu::Threads::Serial, gpu::Threads::Tbb, gpu::Threads::Own}) {
      for (const std::int64_t memory : {little, 2 * little, 16 << 20}) {
        options.threads = threads;
        options.working_memory = memory;
        ASSERT_EQ(gpu::convolve(up, o.input(), options), once) << memory;
      }
    }
    options.working_memory = little / 8;
    EXPECT_EQ(
        refusal(gpu::ErrorKind::CapacityExceeded, [&] { gpu::convolve(up, o.input(), options); })
            ->argument(),
        "working_memory");
  }
}

/// The tables of all instruction sets that this CPU has.
std::vector<const gpu::Products*> all_products() {
  std::vector<const gpu::Products*> all{&gpu::products_baseline()};
#if defined(LEAFPROOF_INSTRUCTION_SETS)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v3")) all.push_back(&gpu::products_avx2());
  if (__builtin_cpu_supports("x86-64-v4")) all.push_back(&gpu::products_avx512());
#endif
  return all;
}

// One product by every instruction set: the same for whole numbers, and rows that do not depend on
// where they stand or on what stands beside them.
TEST(BuilderConvolution, EveryInstructionSetMultipliesAlike) {
  std::mt19937 random(17);
  for (const auto& [n, from, to] :
       {std::array{64, 1, 1}, std::array{64, 5, 3}, std::array{64, 33, 65}, std::array{128, 99, 7},
        std::array{64, 1, 40}, std::array{64, 40, 1}}) {
    const auto size = [](int a, int b) { return static_cast<std::size_t>(a * b); };
    const auto x = whole<float>(random, size(n, from)), w = whole<float>(random, size(from, to));
    std::vector<float> expected(size(n, to));
    for (int i = 0; i < n; ++i) {
      for (int f = 0; f < from; ++f) {
        for (int t = 0; t < to; ++t) {
          expected[size(i, to) + size(1, t)] +=
              x[size(i, from) + size(1, f)] * w[size(f, to) + size(1, t)];
        }
      }
    }
    for (const gpu::Products* products : all_products()) {
      std::vector<float> y(size(n, to));
      products->of_float.multiply(x.data(), w.data(), y.data(), n, from, to);
      ASSERT_EQ(y, expected);
      // Rough numbers, row 0 again in every place.
      auto rows = rough(random, size(n, from));
      const auto weights = rough(random, size(from, to));
      std::vector<float> first(size(n, to));
      products->of_float.multiply(rows.data(), weights.data(), first.data(), n, from, to);
      for (int i = 1; i < n; ++i) {
        std::copy(rows.begin(), rows.begin() + from, rows.begin() + i * from);
        products->of_float.multiply(rows.data(), weights.data(), y.data(), n, from, to);
        for (int t = 0; t < to; ++t) {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(y[size(i, to) + size(1, t)]),
                    std::bit_cast<std::uint32_t>(first[size(1, t)]))
              << n << " x " << from << " x " << to << ", row " << i;
        }
      }
    }
  }
}

// [L-3] A member's rows do not depend on the other members: the same bits.
TEST(BuilderConvolution, AMemberAloneIsTheSame) {
  std::mt19937 random(13);
  BatchedBuilder builder;
  const ConvGeometry g{{3, 2, 3}, {2, 1, 1}, {1, 1, 1}};
  const GridBatch source = build(builder, cloud(random, 6, 400));
  const GridBatch target = builder.conv_grid(source, g);
  for (const auto& [cin, cout] : {std::pair{5, 1}, {6, 7}, {16, 32}}) {
    for (const auto form : {ConvolutionForm::PerTap, ConvolutionForm::Chunked}) {
      ConvolutionOptions options;
      options.form = form;
      const ConvolutionMap all =
          ConvolutionMap::of(builder, builder.kernel_map(source, target, g), g.kernel);
      auto o = operands_of<float>(all, cin, cout, [&](std::size_t n) { return rough(random, n); });
      const auto together = gpu::convolve(all, o.input(), options);
      const std::vector<float> features = o.features;
      for (std::int64_t m = 0; m < source.size(); ++m) {
        const std::int64_t only[] = {m};
        const ConvolutionMap one = ConvolutionMap::of(
            builder, builder.kernel_map(source.view(only), target.view(only), g), g.kernel);
        const auto rows = [&](const auto& numbers, const GridBatch& batch, std::int64_t width) {
          const auto offsets = batch.voxel_offsets();
          const auto at = static_cast<std::size_t>(m);
          return std::vector<float>(numbers.begin() + offsets[at] * width,
                                    numbers.begin() + offsets[at + 1] * width);
        };
        o.features = rows(features, source, cin);
        ASSERT_EQ(gpu::convolve(one, o.input(), options), rows(together, target, cout)) << m;
      }
    }
  }
}

// [V-1] Not finite: exactly the rows joined to it, and a row of degree 0 is the bias.
TEST(BuilderConvolution, NaNAndInfinityReachTheRowsJoinedToThem) {
  BatchedBuilder builder;
  const ConvGeometry g{{3, 1, 1}, {1, 1, 1}, {1, 1, 1}};
  const GridBatch source = build(builder, {{{0, 0, 0}, {1, 0, 0}, {5, 0, 0}, {6, 0, 0}}});
  const GridBatch target =
      build(builder, {{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {7, 7, 7}}});
  const ConvolutionMap over =
      ConvolutionMap::of(builder, builder.kernel_map(source, target, g), g.kernel);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto form : {ConvolutionForm::PerTap, ConvolutionForm::Chunked}) {
    ConvolutionOptions options;
    options.form = form;
    Operands<double> o{1, 1, g.kernel, {nan, 2, kInfinity, 3}, {1, 10, 100}, {-0.0}, {}};
    auto out = gpu::convolve(over, o.input(), options);
    EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
    EXPECT_EQ(out[2], 2);
    EXPECT_EQ(out[3], kInfinity);
    EXPECT_TRUE(out[4] == 0 && std::signbit(out[4]));
    // A weight that is infinite, where its neighbour is absent, is not multiplied.
    o.features = {1, 2, 3, 4};
    o.weights = {1, 10, kInfinity};
    out = gpu::convolve(over, o.input(), options);
    EXPECT_EQ(out, (std::vector<double>{kInfinity, 21, 2, kInfinity, 0}));
  }
}

// [V-2] With the channel axes of W exchanged on one side, in integers.
TEST(BuilderConvolution, TheTransposedIsTheAdjoint) {
  std::mt19937 random(14);
  int round = 0;
  for (std::int64_t k = 1; k <= 6; ++k) {
    for (std::int64_t s = 1; s <= 5; ++s) {
      for (std::int64_t d = 1; d <= 3; ++d, ++round) {
        const ConvGeometry g{{k, 7 - k, (k + d) % 4 + 1}, {s, (s + k) % 5 + 1, 1}, {d, 4 - d, 1}};
        BatchedBuilder builder;
        const GridBatch fine = build(builder, cloud(random, 7, 60));
        const GridBatch coarse =
            round % 2 == 0 ? builder.conv_grid(fine, g) : build(builder, cloud(random, 5, 60));
        const ConvolutionMap down =
            ConvolutionMap::of(builder, builder.kernel_map(fine, coarse, g), g.kernel);
        const ConvolutionMap up = ConvolutionMap::of(
            builder, builder.kernel_map(coarse, fine, g, Direction::Transposed), g.kernel);
        const std::int64_t cin = round % 9 + 1, cout = (round + 4) % 9 + 1, taps = down.taps();
        const auto draw = [&](std::size_t n) { return whole<std::int32_t>(random, n); };
        const auto o = operands_of<std::int32_t>(down, cin, cout, draw);
        Operands<std::int32_t> back{cout, cin, g.kernel, o.gradient, {}, {}, {}};
        for (std::int64_t ci = 0; ci < cin; ++ci) {
          for (std::int64_t co = 0; co < cout; ++co) {
            for (std::int64_t t = 0; t < taps; ++t) {
              back.weights.push_back(
                  o.weights[static_cast<std::size_t>((co * cin + ci) * taps + t)]);
            }
          }
        }
        const auto dot = [](const auto& a, const auto& b) {
          EXPECT_EQ(a.size(), b.size());
          std::int64_t sum = 0;
          for (std::size_t i = 0; i < a.size(); ++i) sum += std::int64_t{a[i]} * b[i];
          return sum;
        };
        const auto x = gpu::convolve(up, back.input(false));
        ASSERT_EQ(dot(gpu::convolve(down, o.input(false)), o.gradient), dot(o.features, x));
        ASSERT_EQ(x, gpu::convolution_gradients(down, o.input(), o.grad_output()).features);
        ASSERT_EQ(x, gpu::convolve(down.transposed(), back.input(false)));
      }
    }
  }
}

// [V-4] The identity is the same numbers as its map, bit for bit, and takes [Cout][Cin].
TEST(BuilderConvolution, TheIdentityNeedsNoMap) {
  std::mt19937 random(15);
  BatchedBuilder builder;
  const GridBatch source = build(builder, cloud(random, 9, 300));
  const ConvolutionMap none = ConvolutionMap::identity(source.voxel_count());
  const ConvolutionMap map =
      ConvolutionMap::of(builder, builder.kernel_map(source, source, {}), {1, 1, 1});
  const auto o = operands_of<float>(map, 5, 7, [&](std::size_t n) { return rough(random, n); });
  auto input = o.input();
  const auto expected = gpu::convolve(map, input);
  EXPECT_EQ(gpu::convolve(none, input), expected);
  EXPECT_EQ(gpu::convolution_gradients(none, input, o.grad_output()).weights,
            gpu::convolution_gradients(map, input, o.grad_output()).weights);
  input.weights.shape = {7, 5};
  EXPECT_EQ(gpu::convolve(none, input), expected);
  refusal(gpu::ErrorKind::ShapeMismatch, [&] { gpu::convolve(map, input); });
}

// [V-6] Sums beyond 64 bits are not wrapped into range, and 32 bits are not passed.
TEST(BuilderConvolution, IntegersAreExactOrRefused) {
  const std::int32_t least = std::numeric_limits<std::int32_t>::min();
  const ConvolutionMap over = ConvolutionMap::identity(2);
  // 4 * 2^62 is 0 in 64 bits.
  Operands<std::int32_t> o{
      4,   1, {1, 1, 1}, std::vector<std::int32_t>(8, 0), std::vector<std::int32_t>(4, least),
      {0}, {}};
  std::fill(o.features.begin() + 4, o.features.end(), least);
  auto error = refusal(gpu::ErrorKind::OutOfRange, [&] { gpu::convolve(over, o.input()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->argument(), "output");
  EXPECT_EQ(error->row(), 1);
  o.features[4] = o.features[5] = 1;  // 2^63 - 2^32 is out of range as well
  refusal(gpu::ErrorKind::OutOfRange, [&] { gpu::convolve(over, o.input()); });
  o.weights = {1, -1, 1, -1};  // partial sums pass 32 bits, the result does not
  o.features = {least, 0, least, least, least, least, least, 0};
  o.bias = {5};
  EXPECT_EQ(gpu::convolve(over, o.input()), (std::vector<std::int32_t>{least + 5, least + 5}));
  // 2^64 + 4, which is 4 in 64 bits, of numbers whose largest product is odd.
  const std::int32_t most = std::numeric_limits<std::int32_t>::max(), rest = 1 << 17;
  const Operands<std::int32_t> odd{
      5, 1, {1, 1, 1}, {most, most, most, most, rest}, {most, most, most, most, rest}, {0}, {}};
  refusal(gpu::ErrorKind::OutOfRange,
          [&] { gpu::convolve(ConvolutionMap::identity(1), odd.input()); });
}

TEST(BuilderConvolution, WhatDoesNotFitIsRefusedWithBothShapes) {
  const ConvolutionMap over = ConvolutionMap::identity(2);
  const Operands<float> good{2, 3, {1, 1, 1}, {1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}, {1, 2, 3}, {}};
  const auto refused = [&](const auto& change, const char* argument, const char* value,
                           const char* reason) {
    auto input = good.input();
    change(input);
    const auto error = refusal(gpu::ErrorKind::ShapeMismatch, [&] { gpu::convolve(over, input); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->argument(), argument);
    EXPECT_EQ(error->value(), value);
    EXPECT_EQ(error->reason(), reason);
  };
  refused([](auto& i) { i.features.shape = {4, 1}; }, "features", "[4][1]", "must be [2][1]");
  refused([](auto& i) { i.features.shape = {2, 3}; }, "features", "[2][3]", "has 4 numbers");
  refused([](auto& i) { i.features.shape = {-2, -2}; }, "features", "[-2][-2]", "has 4 numbers");
  refused([](auto& i) { i.features.shape = {4}; }, "features", "[4]", "must be [2][Cin]");
  refused([](auto& i) { i.weights.shape = {2, 3, 1, 1, 1}; }, "weights", "[2][3][1][1][1]",
          "must be [2][2][1][1][1]");
  refused([](auto& i) { i.weights.shape = {6}; }, "weights", "[6]", "must be [6][2][1][1][1]");
  refused([](auto& i) { i.bias->shape = {1, 3}; }, "bias", "[1][3]", "must be [3]");
  refused([](auto& i) { i.bias->values = i.bias->values.first(2); }, "bias", "[3]",
          "has 2 numbers");
  const float numbers[6] = {};
  const auto error = refusal(gpu::ErrorKind::ShapeMismatch, [&] {
    gpu::convolution_gradients(over, good.input(), Tensor<float>{numbers, {3, 2}});
  });
  EXPECT_EQ(error->argument(), "grad_output");
  EXPECT_EQ(error->reason(), "must be [2][3]");

  ConvolutionOptions little;
  little.working_memory = 1000;
  EXPECT_EQ(
      refusal(gpu::ErrorKind::CapacityExceeded, [&] { gpu::convolve(over, good.input(), little); })
          ->argument(),
      "working_memory");
}

TEST(BuilderConvolution, MapsThatDoNotFitAreRefused) {
  BatchedBuilder host;
  const GridBatch one = build(host, {{{0, 0, 0}}});
  EXPECT_EQ(refusal(gpu::ErrorKind::ShapeMismatch,
                    [&] { ConvolutionMap::of(host, host.kernel_map(one, one, {}), {2, 1, 1}); })
                ->argument(),
            "kernel");
}

TEST(BuilderConvolution, AMapInDeviceMemoryIsNotReadThere) {
  gpu::StrictOptions options;
  const auto device = std::make_shared<gpu::StrictDevice>(options);
  BatchedBuilder strict = strict_builder(device, options);
  const GridBatch there = build(strict, {{{0, 0, 0}}});
  const KernelMap map = strict.kernel_map(there, there, {});
  // Where it lies it is one, but not for this convolution.
  const ConvolutionMap over = ConvolutionMap::in_place(strict, map, {1, 1, 1});
  EXPECT_FALSE(over.in_host_memory());
  const float number = 1;
  const Tensor<float> features{{&number, 1}, {1, 1}}, weights{{&number, 1}, {1, 1, 1, 1, 1}};
  EXPECT_EQ(
      refusal(gpu::ErrorKind::Unsupported, [&] { convolve<float>(over, {features, weights, {}}); })
          ->argument(),
      "map");
  EXPECT_EQ(refusal(gpu::ErrorKind::Unsupported,
                    [&] { convolution_gradients<float>(over, {features, weights, {}}, features); })
                ->argument(),
            "map");
}

// Over a map that lies in device memory the numbers are those over the same map in plain memory,
// either way round.
TEST(BuilderConvolution, AMapInDeviceMemoryIsCopied) {
  std::mt19937 random(16);
  const ConvGeometry g{{3, 2, 2}, {2, 1, 1}, {1, 2, 1}};
  const Members fine = cloud(random, 6, 90), coarse = cloud(random, 5, 70);
  const auto numbers = [&](BatchedBuilder& builder, Direction direction) {
    std::mt19937 same(17);
    const bool forward = direction == Direction::Forward;
    const GridBatch source = build(builder, forward ? fine : coarse);
    const GridBatch target = build(builder, forward ? coarse : fine);
    const KernelMap map = builder.kernel_map(source, target, g, direction);
    const ConvolutionMap over = ConvolutionMap::of(builder, map, g.kernel);
    const auto o = operands_of<float>(over, 3, 2, [&](std::size_t n) { return rough(same, n); });
    const auto back =
        operands_of<float>(over.transposed(), 3, 2, [&](std::size_t n) { return rough(same, n); });
    return std::pair{gpu::convolve(over, o.input()),
                     gpu::convolve(over.transposed(), back.input())};
  };
  for (const Direction direction : {Direction::Forward, Direction::Transposed}) {
    BatchedBuilder host, strict = gpu::strict_builder();
    const auto expected = numbers(host, direction);
    EXPECT_GT(expected.first.size(), 0U);
    EXPECT_EQ(numbers(strict, direction), expected);
  }
}

TEST(BuilderConvolution, NothingIsFine) {
  for (const auto& [rows, cin, cout] :
       {std::array{0, 2, 3}, std::array{2, 0, 3}, std::array{2, 2, 0}, std::array{0, 0, 0}}) {
    const ConvolutionMap over = ConvolutionMap::identity(rows);
    const std::vector<float> ones(6, 1.0F);
    const auto of = [&](Shape shape) {
      return Tensor<float>{std::span(ones).first(std::min(volume(shape), ones.size())), shape};
    };
    const ConvolutionInput<float> input{of({rows, cin}), of({cout, cin}), of({cout})};
    EXPECT_EQ(gpu::convolve(over, input), std::vector<float>(volume({rows, cout}), 1.0F));
  }
}

}  // namespace
