// What is done to real input: every pass, with parameters that people use.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "oracle/choice_source.h"
#include "oracle/verify.h"
#include "reference/canonical_order.h"

namespace leafproof::oracle {
namespace {

Case on(const Batch& batch, Op op) {
  Case c;
  c.op = op;
  c.source = batch;
  return c;
}

Case refined(const Batch& batch, Triple factor) {
  Case c = on(batch, Op::Refine);
  c.factor = factor;
  return c;
}

Case coarsened(const Batch& batch, std::int64_t f) {
  Case c = on(batch, Op::Coarsen);
  c.factor = {f, f, f};
  return c;
}

Case boxed(const Batch& batch, Op op, Triple lo, Triple hi) {
  Case c = on(batch, op);
  c.lo = lo;
  c.hi = hi;
  return c;
}

/// Flags with a prime period, so that exchanged blocks cannot look equal.
Masks painted(const Batch& batch) {
  Masks masks;
  for (const auto& member : batch.members) {
    auto& mask = masks.emplace_back(member.size());
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 251 % 3 == 0;
  }
  return masks;
}

/// A copy moved by `by`, less what would leave the lattice.
std::vector<Voxel> moved(const std::vector<Voxel>& voxels, const Triple& by) {
  std::vector<Voxel> result;
  result.reserve(voxels.size());
  for (const Voxel v : voxels) {
    const Triple c{v.x + by[0], v.y + by[1], v.z + by[2]};
    if (std::all_of(c.begin(), c.end(), [](auto x) { return INT32_MIN <= x && x <= INT32_MAX; }))
      result.push_back({static_cast<std::int32_t>(c[0]), static_cast<std::int32_t>(c[1]),
                        static_cast<std::int32_t>(c[2])});
  }
  reference::make_canonical(result);
  return result;
}

/// Even members: the member itself moved by (1, 2, -3), which overlaps it; odd ones: another
/// member, moved so that their first voxels are one.
Batch neighbours(const Batch& batch) {
  Batch other = batch;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto& member = batch.members[i];
    const auto& next = batch.members[(i + 1) % batch.size()];
    if (i % 2 == 0) {
      other.members[i] = moved(member, {1, 2, -3});
    } else if (member.empty() || next.empty()) {
      other.members[i] = next;
    } else {
      const Voxel to = member.front(), from = next.front();
      other.members[i] = moved(next, {std::int64_t{to.x} - from.x, std::int64_t{to.y} - from.y,
                                      std::int64_t{to.z} - from.z});
    }
  }
  return other;
}

Case with_other(const Batch& batch, Op op) {
  Case c = on(batch, op);
  c.other = neighbours(batch);
  return c;
}

Case lists(const Batch& batch) {
  Case c = on(batch, Op::FromIjk);
  ChoiceSource random{batch.size()};
  for (auto& list : c.source.members) {
    const std::size_t size = list.size();
    for (std::size_t i = 0; i < size; i += 3) list.push_back(list[i]);
    random.shuffle(list);
  }
  return c;
}

Case centres(const Batch& batch) {
  Case c = on(batch, Op::FromPoints);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Map& map = batch.maps[i];
    auto& points = c.points.emplace_back();
    points.reserve(batch.members[i].size());
    for (const Voxel v : batch.members[i]) {
      const std::array<std::int32_t, 3> voxel{v.x, v.y, v.z};
      Point p{};
      for (std::size_t a = 0; a < 3; ++a) p[a] = voxel[a] * map.voxel_size[a] + map.origin[a];
      points.push_back(p);
    }
    c.source.members[i].clear();
  }
  return c;
}

/// The last member twice, then every second one backwards.
Case viewed(const Batch& batch) {
  Case c = boxed(batch, Op::DilateBox, {-1, 0, -2}, {1, 1, 0});
  c.view.emplace();
  const auto last = static_cast<std::int64_t>(batch.size()) - 1;
  if (last >= 0) c.view->push_back(last);
  for (std::int64_t i = last; i >= 0; i -= 2) c.view->push_back(i);
  return c;
}

Case masked(Case c) {
  c.mask = painted(c.source);
  return c;
}

Case kernelled(const Batch& batch, Op op, std::int64_t size, std::int64_t stride,
               std::int64_t dilation) {
  Case c = on(batch, op);
  c.kernel = {{size, size, size}, {stride, stride, stride}, {dilation, dilation, dilation}};
  return c;
}

/// Onto itself, with small numbers of a prime period.
Case layer(const Batch& batch, Op op, std::int64_t size) {
  Case c = kernelled(batch, op, size, 1, 1);
  c.target = batch;
  const auto numbers = [](std::vector<std::int64_t> shape) {
    reference::Array array{std::move(shape), {}};
    std::int64_t count = 1;
    for (const std::int64_t n : array.shape) count *= n;
    for (std::int64_t i = 0; i < count; ++i)
      array.values.push_back(static_cast<double>(i % 251 % 19 - 9));
    return array;
  };
  std::int64_t rows = 0;
  for (const auto& member : batch.members) rows += static_cast<std::int64_t>(member.size());
  c.operands.type = NumberType::Float32;
  c.operands.features = numbers({rows, 1});
  c.operands.weights = numbers({2, 1, size, size, size});
  if (op == Op::ConvolutionGradients) c.operands.grad_output = numbers({rows, 2});
  return c;
}

}  // namespace

const std::vector<ScenePass>& scene_passes() {
  using B = const Batch&;
  static const std::vector<ScenePass> passes{
      {"from_ijk shuffled, with repeats", Op::FromIjk, lists},
      {"from_points at voxel centres", Op::FromPoints, centres},
      {"refine 2", Op::Refine, [](B b) { return refined(b, {2, 2, 2}); }},
      {"refine 1,2,3 masked", Op::Refine, [](B b) { return masked(refined(b, {1, 2, 3})); }},
      {"coarsen 2", Op::Coarsen, [](B b) { return coarsened(b, 2); }},
      {"coarsen 3", Op::Coarsen, [](B b) { return coarsened(b, 3); }},
      {"dilate_box [-1,1]", Op::DilateBox,
       [](B b) { return boxed(b, Op::DilateBox, {-1, -1, -1}, {1, 1, 1}); }},
      {"dilate_box [-1,0]", Op::DilateBox,
       [](B b) { return boxed(b, Op::DilateBox, {-1, -1, -1}, {0, 0, 0}); }},
      {"dilate_box [0,1]", Op::DilateBox,
       [](B b) { return boxed(b, Op::DilateBox, {0, 0, 0}, {1, 1, 1}); }},
      {"dilate_box of a view", Op::DilateBox, viewed},
      {"dual", Op::Dual, [](B b) { return on(b, Op::Dual); }},
      {"erode_box [-1,1]", Op::ErodeBox,
       [](B b) { return boxed(b, Op::ErodeBox, {-1, -1, -1}, {1, 1, 1}); }},
      {"erode_box [0,1] in the plane", Op::ErodeBox,
       [](B b) { return boxed(b, Op::ErodeBox, {0, 0, 0}, {1, 1, 0}); }},
      {"prune", Op::Prune, [](B b) { return masked(on(b, Op::Prune)); }},
      {"merge", Op::Merge, [](B b) { return with_other(b, Op::Merge); }},
      {"intersect", Op::Intersect, [](B b) { return with_other(b, Op::Intersect); }},
      {"subtract", Op::Subtract, [](B b) { return with_other(b, Op::Subtract); }},
      {"conv_grid K=S=2", Op::ConvGrid, [](B b) { return kernelled(b, Op::ConvGrid, 2, 2, 1); }},
      {"conv_grid K=3 S=2 D=2", Op::ConvGrid,
       [](B b) { return kernelled(b, Op::ConvGrid, 3, 2, 2); }},
      {"conv_transpose_grid K=3 S=2", Op::ConvTransposeGrid,
       [](B b) { return kernelled(b, Op::ConvTransposeGrid, 3, 2, 1); }},
      {"kernel_map K=S=2", Op::KernelMap, [](B b) { return kernelled(b, Op::KernelMap, 2, 2, 1); }},
      {"submanifold_index_map K=3", Op::SubmanifoldIndexMap,
       [](B b) { return kernelled(b, Op::SubmanifoldIndexMap, 3, 1, 1); }},
      {"convolution K=3 onto itself", Op::Convolution,
       [](B b) { return layer(b, Op::Convolution, 3); }},
      {"convolution_gradients K=2 onto itself", Op::ConvolutionGradients,
       [](B b) { return layer(b, Op::ConvolutionGradients, 2); }},
  };
  return passes;
}

Scene cropped(const Scene& scene, std::int32_t width) {
  Scene crop = scene;
  crop.name = scene.name + ", cropped";
  for (auto& member : crop.batch.members) {
    if (member.empty()) continue;
    const Voxel middle = member[member.size() / 2];
    const auto inside = [&](std::int64_t c, std::int64_t centre) {
      return c >= centre - width / 2 && c < centre - width / 2 + width;
    };
    std::erase_if(member, [&](Voxel v) {
      return !(inside(v.x, middle.x) && inside(v.y, middle.y) && inside(v.z, middle.z));
    });
  }
  return crop;
}

}  // namespace leafproof::oracle
