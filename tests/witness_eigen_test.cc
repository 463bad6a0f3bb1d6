// A third witness of convolution, which nobody here wrote: the tensor convolution of Eigen's
// unsupported modules, on small dense boxes, by padding, inflating and cropping; in integers.
#include <gtest/gtest.h>

#include <unsupported/Eigen/CXX11/Tensor>

#include "oracle/choice_source.h"
#include "reference/canonical_order.h"
#include "reference/convolution.h"
#include "reference/kernel_map.h"
#include "reference/numbers.h"
#include "reference/passes.h"

namespace leafproof::reference {
namespace {

using oracle::ChoiceSource;
using Tensor = Eigen::Tensor<std::int64_t, 3>;
using Sizes = Eigen::array<Eigen::Index, 3>;

/// Where a dense box begins, and its numbers: 0 where no voxel is.
struct Dense {
  Triple lo;
  Tensor values;
};

std::vector<Voxel> all_of(const Triple& lo, const Triple& size) {
  std::vector<Voxel> voxels;
  for (std::int64_t x = 0; x < size[0]; ++x)
    for (std::int64_t y = 0; y < size[1]; ++y)
      for (std::int64_t z = 0; z < size[2]; ++z)
        voxels.push_back({static_cast<std::int32_t>(lo[0] + x),
                          static_cast<std::int32_t>(lo[1] + y),
                          static_cast<std::int32_t>(lo[2] + z)});
  make_canonical(voxels);
  return voxels;
}

/// The part of a box from `lo` on, of `size` cells, zeros outside it.
Tensor window(const Dense& box, const Triple& lo, const Triple& size) {
  constexpr std::int64_t margin = 64;  // more than any window here reaches beyond its box
  const Eigen::array<std::pair<Eigen::Index, Eigen::Index>, 3> around{
      {{margin, margin}, {margin, margin}, {margin, margin}}};
  Sizes from, extent;
  for (std::size_t a = 0; a < 3; ++a) {
    from[a] = margin + lo[a] - box.lo[a];
    extent[a] = size[a];
    EXPECT_GE(from[a], 0);
    EXPECT_LE(from[a] + extent[a], box.values.dimension(static_cast<int>(a)) + 2 * margin);
  }
  return box.values.pad(around).slice(from, extent);
}

// out[c] = sum of W[t] * in[S c + D t - P]: a window that begins at S lo - P, a kernel inflated by
// D, every S-th result.
Tensor forward(const Kernel& k, const Dense& in, const Tensor& weights, const Triple& lo,
               const Triple& size) {
  Triple from, extent;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t reach = k.dilation[a] * (k.size[a] - 1);
    from[a] = k.stride[a] * lo[a] - reach / 2;
    extent[a] = k.stride[a] * (size[a] - 1) + 1 + reach;
  }
  const Sizes dilation{k.dilation[0], k.dilation[1], k.dilation[2]};
  const Sizes stride{k.stride[0], k.stride[1], k.stride[2]};
  const Tensor kernel = weights.inflate(dilation);
  const Eigen::array<Eigen::Index, 3> axes{0, 1, 2};
  const Tensor every = window(in, from, extent).convolve(kernel, axes);
  return every.stride(stride);
}

// out[f] = sum of W[t] * in[c] with S c = f - D t + P: the input inflated by S, the kernel inflated
// by D and turned around.
Tensor transposed(const Kernel& k, const Dense& in, const Tensor& weights, const Triple& lo,
                  const Triple& size) {
  const Sizes dilation{k.dilation[0], k.dilation[1], k.dilation[2]};
  const Sizes stride{k.stride[0], k.stride[1], k.stride[2]};
  Dense spread;
  Triple from, extent;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t reach = k.dilation[a] * (k.size[a] - 1);
    spread.lo[a] = k.stride[a] * in.lo[a];
    from[a] = lo[a] + reach / 2 - reach;
    extent[a] = size[a] + reach;
  }
  spread.values = in.values.inflate(stride);
  const Tensor kernel = weights.inflate(dilation).reverse(Eigen::array<bool, 3>{true, true, true});
  const Eigen::array<Eigen::Index, 3> axes{0, 1, 2};
  return window(spread, from, extent).convolve(kernel, axes);
}

class EigenAgrees : public testing::TestWithParam<Direction> {};

TEST_P(EigenAgrees, OnDenseBoxesInIntegers) {
  const Direction direction = GetParam();
  std::int64_t pairs = 0;
  for (std::int64_t k = 1; k <= 6; ++k)
    for (std::int64_t s = 1; s <= 5; ++s)
      for (std::int64_t d = 1; d <= 3; ++d) {
        ChoiceSource r{91, static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(s),
                       static_cast<std::uint64_t>(d)};
        const Kernel kernel{{k, r.between(1, 4), r.between(1, 6)},
                            {s, r.between(1, 5), r.between(1, 3)},
                            {d, r.between(1, 3), r.between(1, 2)}};
        const Triple in_lo{r.between(-7, 2), r.between(-7, 2), r.between(-7, 2)};
        const Triple in_size{r.between(5, 9), r.between(5, 9), r.between(5, 9)};
        const Triple out_size{r.between(4, 8), r.between(4, 8), r.between(4, 8)};
        Triple out_lo{};  // where the input's lowest corner is joined to, or a little before
        for (std::size_t a = 0; a < 3; ++a) {
          const std::int64_t before = r.between(0, 2);
          out_lo[a] = (direction == Direction::Forward ? floor_div(in_lo[a], kernel.stride[a])
                                                       : in_lo[a] * kernel.stride[a]) -
                      before;
        }

        std::vector<Voxel> voxels = all_of(in_lo, in_size);
        std::erase_if(voxels, [&](const Voxel&) { return r.one_in(3); });
        const Batch source = from_ijk({voxels}), target = from_ijk({all_of(out_lo, out_size)});
        const KernelMap map = kernel_map(source, target, kernel, direction);
        pairs += map.offsets.back();

        Operands o;
        o.type = NumberType::Int32;
        o.features.shape = {map.source_rows, 1};
        Dense in{in_lo, Tensor(in_size[0], in_size[1], in_size[2])};
        in.values.setZero();
        for (const Voxel& v : source.members[0]) {
          const std::int64_t x = r.between(-9, 9);
          o.features.values.push_back(static_cast<double>(x));
          in.values(v.x - in_lo[0], v.y - in_lo[1], v.z - in_lo[2]) = x;
        }
        o.weights.shape = {1, 1, kernel.size[0], kernel.size[1], kernel.size[2]};
        Tensor weights(kernel.size[0], kernel.size[1], kernel.size[2]);
        for (std::int64_t x = 0; x < kernel.size[0]; ++x)
          for (std::int64_t y = 0; y < kernel.size[1]; ++y)
            for (std::int64_t z = 0; z < kernel.size[2]; ++z) {
              weights(x, y, z) = r.between(-9, 9);
              o.weights.values.push_back(static_cast<double>(weights(x, y, z)));
            }

        const Array ours = convolve(map, kernel, o);
        const Tensor theirs = direction == Direction::Forward
                                  ? forward(kernel, in, weights, out_lo, out_size)
                                  : transposed(kernel, in, weights, out_lo, out_size);
        for (std::size_t a = 0; a < 3; ++a)
          ASSERT_EQ(theirs.dimension(static_cast<int>(a)), out_size[a]);
        for (std::size_t row = 0; row < target.members[0].size(); ++row) {
          const Voxel v = target.members[0][row];
          ASSERT_EQ(ours.values[row],
                    static_cast<double>(theirs(v.x - out_lo[0], v.y - out_lo[1], v.z - out_lo[2])))
              << "K " << to_text({kernel.size[0], kernel.size[1], kernel.size[2]}) << " S "
              << to_text({kernel.stride[0], kernel.stride[1], kernel.stride[2]}) << " D "
              << to_text({kernel.dilation[0], kernel.dilation[1], kernel.dilation[2]}) << " at "
              << v.x << "," << v.y << "," << v.z;
        }
      }
  EXPECT_GT(pairs, 10'000);
}

INSTANTIATE_TEST_SUITE_P(Both, EigenAgrees,
                         testing::Values(Direction::Forward, Direction::Transposed),
                         [](const auto& test) {
                           return test.param == Direction::Forward ? "Forward" : "Transposed";
                         });

}  // namespace
}  // namespace leafproof::reference
