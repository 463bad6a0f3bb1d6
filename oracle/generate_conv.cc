// Cases of convolution [K], [M], [V]: kernels mixed per axis, targets of every relation to the
// source, numbers of every type.
//
// Draws are made one per statement or in braces, as in generate.cc.
#include "oracle/generate_conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "oracle/case_edit.h"
#include "reference/canonical_order.h"
#include "reference/conv_relation.h"
#include "reference/numbers.h"

namespace leafproof::oracle {
namespace {

using reference::Array;

constexpr std::int64_t kMaxVoxel = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMinVoxel = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool maps(Op op) {
  return op == Op::KernelMap || op == Op::Convolution || op == Op::ConvolutionGradients;
}
bool sums(Op op) {
  return op == Op::Convolution || op == Op::ConvolutionGradients;
}
bool finer(const Case& c) {
  return c.op == Op::ConvTransposeGrid || c.direction == Direction::Transposed;
}
std::int64_t taps_of(const Case& c) {
  return c.kernel.size[0] * c.kernel.size[1] * c.kernel.size[2];
}
std::size_t axis(ChoiceSource& r) {
  return static_cast<std::size_t>(r.between(0, 2));
}

/// One value for every axis, or one per axis.
template <class Draw>
Triple per_axis(ChoiceSource& r, Draw draw) {
  Triple t{};
  const bool isotropic = r.one_in(2);
  for (std::size_t a = 0; a < 3; ++a) t[a] = a > 0 && isotropic ? t[0] : draw();
  return t;
}

std::vector<std::vector<Voxel>> read_members(const Case& c) {
  if (!c.view) return c.source.members;
  std::vector<std::vector<Voxel>> members;
  for (const auto i : *c.view)
    if (i >= 0 && i < static_cast<std::int64_t>(c.source.size()))
      members.push_back(c.source.members[static_cast<std::size_t>(i)]);
  return members;
}

std::int64_t rows_of(const std::vector<std::vector<Voxel>>& members) {
  std::int64_t rows = 0;
  for (const auto& member : members) rows += static_cast<std::int64_t>(member.size());
  return rows;
}

/// Adds a voxel; for one beyond the lattice, the voxel that sums in 32 bits would take it for.
void add(std::vector<Voxel>& voxels, const Triple& c) {
  voxels.push_back({static_cast<std::int32_t>(c[0]), static_cast<std::int32_t>(c[1]),
                    static_cast<std::int32_t>(c[2])});
}

/// The target voxel that a tap joins to the source's voxel v [K-1], or one beside it where no tap
/// of that kind does. Ends of the kernel are as likely as all between.
Triple partner(const Case& c, ChoiceSource& r, const Voxel& v) {
  const Triple& size = c.kernel.size;
  const Triple& stride = c.kernel.stride;
  Triple tap{};
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t kind = r.between(0, 2);
    tap[a] = kind == 0 ? size[a] - 1 : kind == 1 ? 0 : r.between(0, size[a] - 1);
  }
  Triple at{v.x, v.y, v.z};
  if (finer(c)) return reference::fine_of(c.kernel, at, tap);
  for (std::size_t a = 0; a < 3; ++a) {
    // S times the coarse voxel that this tap would join; the next ones where S does not divide it.
    const auto scaled = [&] { return at[a] - reference::fine_of(c.kernel, {}, tap)[a]; };
    for (std::int64_t i = 0; i < stride[a] && scaled() % stride[a] != 0; ++i)
      tap[a] = (tap[a] + 1) % size[a];
    at[a] = reference::floor_div(scaled(), stride[a]);
  }
  return at;
}

/// Near the voxels that a source's are joined to: half of them just there, the others divided or
/// multiplied by the stride, and off by a little.
std::vector<Voxel> near_target(const Case& c, ChoiceSource& r, const std::vector<Voxel>& source,
                               std::int64_t off) {
  std::vector<Voxel> target;
  for (const Voxel v : source) {
    if (off > 0 && r.one_in(2)) {
      add(target, partner(c, r, v));
      continue;
    }
    Triple at{v.x, v.y, v.z};
    for (std::size_t a = 0; a < 3; ++a) {
      const std::int64_t s = c.kernel.stride[a];
      const std::int64_t by = r.between(-off, off);
      at[a] = (finer(c) ? at[a] * s : reference::floor_div(at[a], s)) + by;
    }
    add(target, at);
  }
  reference::make_canonical(target);
  return target;
}

/// Restricted targets [K-6], of which none is what the source generates.
Batch draw_target(const Case& c, ChoiceSource& r) {
  Batch target;
  const std::int64_t kind = r.between(0, 10);
  const bool beside_nothing = r.one_in(2);  // rows where the source has none
  for (const auto& source : read_members(c)) {
    std::vector<Voxel> voxels = near_target(c, r, source, kind == 1 ? 0 : 2);
    switch (kind) {
      case 0:  // the source itself, even K and all
        voxels = source;
        break;
      case 2:  // as many voxels as the source, but others
        voxels.clear();
        for (const Voxel v : source) add(voxels, {std::int64_t{v.x} + 1, v.y, v.z});
        reference::make_canonical(voxels);
        break;
      case 3:  // a part, half of the time of the source itself
        if (r.one_in(2)) voxels = source;
        std::erase_if(voxels, [&](const Voxel&) { return r.one_in(2); });
        break;
      case 4:  // nothing in common
        for (Voxel& v : voxels) v.x = static_cast<std::int32_t>((v.x & 0xffff) - (1 << 28));
        reference::make_canonical(voxels);
        break;
      case 6:  // as many as the source, in its box, with the same ends
        voxels = nudged(source, r);
        break;
      case 5:  // empty members on this side alone
        if (r.one_in(2)) voxels.clear();
        break;
      case 8:
      case 9:  // more rows than the source has: several that each of its voxels is joined to
        for (std::size_t i = 0; i < 3 * source.size(); ++i)
          add(voxels, partner(c, r, source[i % source.size()]));
        reference::make_canonical(voxels);
        break;
      case 10:  // the source, and as many beside it
        voxels = source;
        for (const Voxel v : source) add(voxels, {v.x, v.y, std::int64_t{v.z} + 1});
        reference::make_canonical(voxels);
        break;
      default:
        break;
    }
    if (source.empty() && beside_nothing) {
      const std::int64_t rows = r.between(1, 3);
      for (std::int64_t i = 0; i < rows; ++i) {
        Triple at{};
        for (auto& x : at) x = r.between(-2, 2);
        add(voxels, at);
      }
      reference::make_canonical(voxels);
    }
    target.members.push_back(std::move(voxels));
    target.maps.emplace_back();
    target.names.push_back("target " + std::to_string(target.members.size()));
  }
  return target;
}

/// How numbers are drawn.
enum class Kind { Small, Real, Large, Special };

/// How far the exponents of large numbers go, so that products of two and sums of some thousands
/// stay numbers.
int exponents(NumberType type) {
  return type == NumberType::Float64 ? 400 : type == NumberType::Float32 ? 50 : 12;
}

double draw_number(ChoiceSource& r, NumberType type, Kind kind, int most) {
  if (kind == Kind::Special && type != NumberType::Int32 && r.one_in(40))
    return r.pick<double>({kInfinity, -kInfinity, std::nan(""), kInfinity});
  if (kind == Kind::Small || kind == Kind::Special || type == NumberType::Int32) {
    const bool large = kind == Kind::Large && type == NumberType::Int32;
    return static_cast<double>(large ? r.between(-30'000, 30'000) : r.between(-9, 9));
  }
  const double x = static_cast<double>(r.between(-1'000'000, 1'000'000)) / 1'000'000;
  if (kind != Kind::Large) return x;
  return std::ldexp(x, static_cast<int>(r.between(-most, most)));
}

Array draw_array(ChoiceSource& r, std::vector<std::int64_t> shape, NumberType type, Kind kind) {
  Array array{std::move(shape), {}};
  const std::int64_t size = reference::size_of(array.shape);
  const int most = r.one_in(2) ? 12 : exponents(type);
  for (std::int64_t i = 0; i < size; ++i) array.values.push_back(draw_number(r, type, kind, most));
  return array;
}

Array features_of(ChoiceSource& r, std::vector<std::int64_t> shape, NumberType type, Kind kind) {
  Array array = draw_array(r, std::move(shape), type, kind);
  for (double& x : array.values) x = reference::rounded(type, x);
  return array;
}

bool break_axis(Triple& values, ChoiceSource& r, std::initializer_list<std::int64_t> bad) {
  const std::size_t a = axis(r);
  values[a] = r.pick<std::int64_t>(bad);
  return true;
}

}  // namespace

void miscount(Batch& batch, const Case& c, ChoiceSource& r) {
  std::size_t size = batch.size() + 1;
  const std::int64_t kind = r.between(0, 3);
  if (kind == 1 && c.view) size = c.source.size();
  if (kind == 2) size = 1;
  if (kind == 3 && batch.size() > 0) size = batch.size() - 1;
  if (size == batch.size()) ++size;
  batch.members.resize(size);
  batch.maps.resize(size);
  batch.names.resize(size);
}

void draw_kernel(Case& c, ChoiceSource& r, bool safe) {
  Kernel& k = c.kernel;
  k.size = per_axis(r, [&] { return r.pick<std::int64_t>({1, 2, 2, 3, 3, 3, 4, 5}); });
  k.stride = per_axis(r, [&] { return r.pick<std::int64_t>({1, 1, 2, 2, 2, 3, 4, 5}); });
  k.dilation = per_axis(r, [&] { return r.pick<std::int64_t>({1, 1, 1, 2, 3}); });
  if (!safe && r.one_in(4)) {  // values that are rarer in practice
    if (r.one_in(2))
      k.dilation = per_axis(r, [&] {
        return r.pick<std::int64_t>({1, 4, 5, 7, 8, 9, 12, 15, 16, 6, 10, 11, 13, 14});
      });
    if (r.one_in(2))  // 49: where n * (1 / S) is just below a whole number
      k.stride = per_axis(r, [&] {
        const std::int64_t any = r.between(2, 64);
        return r.pick<std::int64_t>(
            {1, 2, 6, 7, 8, 16, 32, 64, 63, 49, any, any, any, any, any, any});
      });
    if (r.one_in(4)) {
      const std::int64_t any = r.between(6, 64);
      k.size[axis(r)] = r.pick<std::int64_t>({7, 9, 10, 15, 16, 17, 24, 32, any, any, any, any});
    }
  }
  if (!safe && r.one_in(8)) {
    const std::int64_t any = r.between(9, 64);
    k.stride[axis(r)] = r.pick<std::int64_t>({49, any, any});
  }
  // Shapes for which others have a shortcut, which is where phases are forgotten.
  if (r.one_in(16)) {
    k.size = per_axis(r, [&] { return r.pick<std::int64_t>({3, 3, 4, 5, 6, 7, 8}); });
    k.stride = k.size;
    k.dilation = {1, 1, 1};
  } else if (r.one_in(20)) {
    k.size = {1, 1, 1};
    k.stride = per_axis(r, [&] { return r.pick<std::int64_t>({1, 2, 2, 3}); });
  } else if (r.one_in(20)) {  // holes between the taps, on every axis
    k.size = {3, 3, 3};
    k.stride = {1, 1, 1};
    k.dilation.fill(r.pick<std::int64_t>({2, 4, 8, 15, 16, 16}));
  }
  if (!safe && r.one_in(8)) {  // wide on one axis: many taps, far apart
    const std::size_t wide = axis(r), other = axis(r);
    k.size = {r.pick<std::int64_t>({31, 32, 33, 63, 64, 65, 127, 128, 128}), 1, r.between(1, 2)};
    std::swap(k.size[0], k.size[wide]);
    k.stride[axis(r)] = r.pick<std::int64_t>({1, 8, 63, 64});
    k.dilation[r.one_in(2) ? wide : other] = r.pick<std::int64_t>({1, 2, 15, 16});
  }
  if (!safe && r.one_in(12)) k.size = {6, 7, 8};  // 336 taps
  if (!safe && r.one_in(24)) {  // numbers of taps that tables and words are sized for
    k.size = r.pick<Triple>({{2, 4, 4},
                             {4, 4, 4},
                             {4, 8, 8},
                             {7, 7, 7},
                             {8, 8, 8},
                             {9, 9, 9},
                             {11, 11, 11},
                             {8, 8, 16},
                             {15, 15, 15},
                             {16, 16, 16},
                             {16, 16, 16},
                             {128, 32, 1}});
    std::swap(k.size[0], k.size[axis(r)]);
  }
  if (r.one_in(14)) k.size = k.stride = k.dilation = {1, 1, 1};  // where weights may be a matrix
  if (c.op == Op::SubmanifoldIndexMap) {
    for (auto& size : k.size) size -= size % 2 == 0;
    k.stride = {1, 1, 1};
    if (!safe) return;
    k.dilation = {1, 1, 1};
  }
  if (maps(c.op) && r.one_in(2)) c.direction = Direction::Transposed;
}

void place_for_kernel(const Case& c, std::int64_t budget, Place& place) {
  (finer(c) ? place.denominator : place.numerator) = c.kernel.stride;
  // Each voxel is asked of at every tap, and of a finer target there may be as many as taps.
  budget = std::min(budget, 40'000 / taps_of(c) / (finer(c) ? 2 : 1));
  place.budget =
      std::max<std::int64_t>(2, sums(c.op) ? std::min<std::int64_t>(budget, 400) : budget);
}

void add_partners(Case& c, ChoiceSource& r) {
  if (c.op != Op::SubmanifoldIndexMap) return;
  for (auto& member : c.source.members) {
    if (!r.one_in(2)) continue;
    const std::size_t some = std::min<std::size_t>(member.size(), 8);
    for (std::size_t i = 0; i < some; ++i) add(member, partner(c, r, member[i]));
    reference::make_canonical(member);
  }
}

std::vector<Voxel> nudged(const std::vector<Voxel>& voxels, ChoiceSource& r) {
  std::vector<Voxel> result = voxels;
  if (result.size() < 3) return result;
  const auto at =
      static_cast<std::size_t>(r.between(1, static_cast<std::int64_t>(result.size()) - 2));
  Triple moved{result[at].x, result[at].y, result[at].z};
  moved[axis(r)] += r.one_in(2) ? 1 : -1;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(at));
  add(result, moved);
  reference::make_canonical(result);
  return result;
}

/// Results of int32 at its ends and beyond 24 bits, exactly: of the factors of each sum at most one
/// is neither 0 nor 1, be it of weights, features, or what is added or comes back.
void draw_edges(Operands& o, ChoiceSource& r) {
  const std::int64_t cout = o.weights.shape[0], cin = o.weights.shape[1];
  const std::int64_t taps = reference::size_of(o.weights.shape) / cout / cin;
  const auto edge = [&] {
    const std::int64_t any = r.between(-(1 << 26), 1 << 26);
    return r.pick<double>(
        {2147483646., -2147483648., 16777217., -16777217., 70'000., static_cast<double>(any)});
  };
  enum class Of { Weights, Features, Added };
  const Of of = r.pick<Of>({Of::Weights, Of::Weights, Of::Features, Of::Added});
  std::fill(o.weights.values.begin(), o.weights.values.end(), 0.);
  const std::int64_t tap = r.between(0, taps - 1);
  for (std::int64_t out = 0; out < cout; ++out) {
    const auto at = static_cast<std::size_t>((out * cin + r.between(0, cin - 1)) * taps + tap);
    o.weights.values[at] = of == Of::Weights ? edge() : 1;
  }
  for (double& x : o.features.values)
    x = of == Of::Features ? edge() : static_cast<double>(r.between(0, 1));
  if (o.bias)
    for (double& x : o.bias->values) x = of == Of::Added ? edge() : r.between(0, 1) * 1.;
  if (!o.grad_output) return;
  // One number alone: gradients of weights and bias are sums over all rows.
  auto& gradient = o.grad_output->values;
  std::fill(gradient.begin(), gradient.end(), 0.);
  if (gradient.empty()) return;
  const auto last = static_cast<std::int64_t>(gradient.size()) - 1;
  gradient[static_cast<std::size_t>(r.between(0, last))] = of == Of::Added ? edge() : 1;
}

/// Features so small, and weights so large, that a type which flushes the one loses the product.
void draw_far_apart(Operands& o, ChoiceSource& r) {
  struct Exponents {
    int features, weights;
  };
  const auto [features, weights] =
      o.type == NumberType::Float64   ? r.pick<Exponents>({{-300, 290}, {-1030, 1000}})
      : o.type == NumberType::Float32 ? r.pick<Exponents>({{-40, 40}, {-130, 115}})
                                      : r.pick<Exponents>({{-8, 8}, {-15, 10}});
  for (double& x : o.features.values) x = reference::rounded(o.type, std::ldexp(x, features));
  for (double& x : o.weights.values) x = std::ldexp(x, weights);
}

/// Channels as wide as tiles and their tails, of one side or of both, where that is little enough
/// work.
void widen(std::int64_t& cin, std::int64_t& cout, std::int64_t taps, std::int64_t rows,
           ChoiceSource& r) {
  const auto wide = [&] {
    return r.pick<std::int64_t>({6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 34, 64, 65, 66, 66});
  };
  const std::int64_t kind = r.between(0, 3);
  const std::int64_t in = kind == 1 ? cin : wide(), out = kind == 2 ? cout : wide();
  if (rows * in > 8'000 || rows * out > 8'000) return;
  if (taps * in * out > 12'000 || rows * taps * in * out > 1'500'000) return;
  cin = in;
  cout = out;
}

void draw_operands(Case& c, ChoiceSource& r) {
  if (!maps(c.op)) return;
  if (r.between(0, 4) > 1) c.target = draw_target(c, r);
  if (c.op == Op::KernelMap) {
    c.dense = r.one_in(4);
    return;
  }
  Operands& o = c.operands;
  o.type = r.pick<NumberType>(
      {NumberType::Float64, NumberType::Float32, NumberType::Float16, NumberType::Int32});
  const Kind kind =
      r.pick<Kind>({Kind::Small, Kind::Small, Kind::Real, Kind::Large, Kind::Special});
  const std::int64_t few = taps_of(c) > 64 && !r.one_in(4) ? 2 : 5;
  const std::int64_t rows = rows_of(read_members(c));
  std::int64_t cin = r.between(1, few), cout = r.between(1, few);
  const Triple& k = c.kernel.size;
  if (r.one_in(2)) widen(cin, cout, taps_of(c), rows, r);
  if (taps_of(c) == 1 && r.one_in(2)) cout = cin;  // a transposed matrix has the same shape
  o.features = features_of(r, {rows, cin}, o.type, kind);
  // Infinite weights too: an absent row must not be multiplied by one [V-1].
  o.weights = draw_array(r, {cout, cin, k[0], k[1], k[2]}, o.type, kind);
  if (!c.target && taps_of(c) == 1 && c.kernel.stride == Triple{1, 1, 1} && r.one_in(2))
    o.weights.shape = {cout, cin};  // [V-4]
  if (c.op == Op::Convolution && r.one_in(2)) {
    const Kind of_bias = kind == Kind::Special ? Kind::Small : kind;  // it would hide the rest
    o.bias = draw_array(r, {cout}, o.type, of_bias);
    if (kind == Kind::Special && o.type != NumberType::Int32 && r.one_in(cout > 1 ? 2 : 8))
      o.bias->values[static_cast<std::size_t>(r.between(0, cout - 1))] =
          r.pick<double>({std::nan(""), kInfinity, -kInfinity});
  }
  if (c.op == Op::ConvolutionGradients) {
    std::optional<std::int64_t> target_rows;
    if (!c.target) target_rows = complete_rows(c);
    if (!target_rows || *target_rows > 4'000) {  // or more than is quick
      if (!c.target) c.target = draw_target(c, r);
      target_rows = rows_of(c.target->members);
      if (o.weights.shape.size() == 2) o.weights.shape = {cout, cin, 1, 1, 1};
    }
    o.grad_output = features_of(r, {*target_rows, cout}, o.type, kind);
  }
  if (o.type == NumberType::Int32 && r.one_in(2)) draw_edges(o, r);
  if (o.type != NumberType::Int32 && kind == Kind::Real && r.one_in(2)) draw_far_apart(o, r);
}

std::string kernel_text(const Case& c) {
  const Kernel& k = c.kernel;
  const auto text = [](const Triple& t) { return fmt::format("({},{},{})", t[0], t[1], t[2]); };
  std::string s = fmt::format("; K {} S {} D {}", text(k.size), text(k.stride), text(k.dilation));
  if (maps(c.op)) {
    s += c.direction == Direction::Transposed ? "; transposed" : "";
    s += c.target ? "; restricted" : "; complete";
    s += c.dense ? "; dense" : "";
  }
  if (sums(c.op)) s += fmt::format("; {}", to_string(c.operands.type));
  return s;
}

const std::vector<Refusal>& convolution_refusals() {
  static const std::vector<Refusal> all{
      {"K, S or D below 1 [K-7]",
       [](Case& c, ChoiceSource& r) {
         const std::int64_t which = r.between(0, 2);
         return break_axis(which == 0   ? c.kernel.size
                           : which == 1 ? c.kernel.stride
                                        : c.kernel.dilation,
                           r, {0, -1, -7, kMin64});
       },
       true},
      {"K, S or D beyond its limit [K-7]",
       [](Case& c, ChoiceSource& r) {
         const bool submanifold = c.op == Op::SubmanifoldIndexMap;
         const std::int64_t which = r.between(0, 2);
         if (which == 0 && submanifold) return break_axis(c.kernel.size, r, {129, 131});
         if (which == 0) return break_axis(c.kernel.size, r, {129, 129, 1 << 30, kMax64});
         if (which == 1 && !submanifold)
           return break_axis(c.kernel.stride, r, {65, 65, 1 << 30, kMax64});
         return break_axis(c.kernel.dilation, r, {17, 17, 1 << 30, kMax64});
       },
       true},
      {"more than 4096 taps [K-7]",
       [](Case& c, ChoiceSource& r) {
         c.kernel.size = {17, 17, 17};
         if (c.op != Op::SubmanifoldIndexMap && r.one_in(2)) c.kernel.size = {128, 3, 11};
         return true;
       },
       true},
      {"an even submanifold kernel [M-5]",
       [](Case& c, ChoiceSource& r) {
         return c.op == Op::SubmanifoldIndexMap && break_axis(c.kernel.size, r, {2, 4, 6, 128});
       },
       true},
      {"a result one voxel outside the lattice [L-5]",
       [](Case& c, ChoiceSource& r) {
         if (c.source.size() == 0 || c.view || c.target || c.op == Op::SubmanifoldIndexMap ||
             sums(c.op))
           return false;
         const std::size_t a = axis(r);
         c.kernel.size[a] = 3;
         c.kernel.stride[a] = finer(c) ? 2 : 1;
         Triple at{0, 0, 0};
         at[a] = r.one_in(2) ? kMaxVoxel : kMinVoxel;
         // On the other axes 0 is joined to something by the tap in the middle.
         for (std::size_t b = 0; b < 3; ++b)
           if (b != a) c.kernel.size[b] = 1;
         add(c.source.members[0], at);
         reference::make_canonical(c.source.members[0]);
         return true;
       }},
      {"a target of another number of members [K-6]",
       [](Case& c, ChoiceSource& r) {
         if (!c.target) return false;
         miscount(*c.target, c, r);
         return true;
       }},
      {"a map that the stride makes infinite, or zero [G-7]",
       [](Case& c, ChoiceSource& r) {
         if (c.source.size() == 0 || c.view || c.target || sums(c.op) ||
             c.op == Op::SubmanifoldIndexMap)
           return false;
         const std::size_t a = axis(r);
         c.kernel.stride[a] = 64;
         c.source.maps[0].voxel_size[a] =
             finer(c) ? std::numeric_limits<double>::denorm_min() : 1e308;
         return true;
       }},
      {"a row of features too many, or too few [E-3]",
       [](Case& c, ChoiceSource& r) {
         if (!sums(c.op)) return false;
         Array& f = c.operands.features;
         if (f.shape[0] > 0 && r.one_in(2)) {
           --f.shape[0];
           f.values.resize(f.values.size() - static_cast<std::size_t>(f.shape[1]));
         } else {
           ++f.shape[0];
           f.values.resize(f.values.size() + static_cast<std::size_t>(f.shape[1]));
         }
         return true;
       }},
      {"weights of other axes [V-1]",
       [](Case& c, ChoiceSource& r) {
         if (!sums(c.op)) return false;
         Array& w = c.operands.weights;
         const std::int64_t kind = r.between(0, 3);
         if (kind == 0 && w.shape[0] != w.shape[1]) {
           std::swap(w.shape[0], w.shape[1]);  // in and out exchanged: as many numbers
           return true;
         }
         if (kind == 1 && w.shape.size() == 5 && w.shape[2] != w.shape[4]) {
           std::swap(w.shape[2], w.shape[4]);  // the same of the kernel's axes
           return true;
         }
         if (kind == 2 && w.shape.size() == 5 && taps_of(c) > 1) {
           w.shape = {w.shape[0], w.shape[1] * taps_of(c)};  // a matrix [V-4] where none may be
           return true;
         }
         w.shape.push_back(1);
         return true;
       }},
      {"a matrix of weights where the target is not the source [V-4]",
       [](Case& c, ChoiceSource& r) {
         if (!sums(c.op) || (c.op == Op::ConvolutionGradients && !c.target)) return false;
         c.kernel.size = c.kernel.stride = {1, 1, 1};
         if (!c.target) c.kernel.stride[axis(r)] = 2;
         Array& w = c.operands.weights;
         w.shape.resize(2);
         w.values.resize(static_cast<std::size_t>(w.shape[0] * w.shape[1]));
         return true;
       }},
      {"features, or a bias, of an axis more [E-3]",
       [](Case& c, ChoiceSource& r) {
         if (!sums(c.op)) return false;
         auto& bias = c.operands.bias;
         if (c.op == Op::ConvolutionGradients || r.one_in(3)) {
           c.operands.features.shape.push_back(1);
           return true;
         }
         const std::int64_t cout = c.operands.weights.shape[0];
         if (!bias) bias = Array{{cout}, std::vector<double>(static_cast<std::size_t>(cout), 0.)};
         bias->shape.insert(bias->shape.begin() + r.between(0, 1), 1);
         return true;
       }},
      {"a bias, or gradient, of another length [E-3]",
       [](Case& c, ChoiceSource& r) {
         if (!sums(c.op)) return false;
         auto& array = c.op == Op::Convolution ? c.operands.bias : c.operands.grad_output;
         if (!array) return false;
         if (c.op == Op::ConvolutionGradients && r.one_in(2)) {  // of channels
           array->shape[1] += array->shape[1] > 1 && r.one_in(2) ? -1 : 1;
           array->values.resize(static_cast<std::size_t>(reference::size_of(array->shape)));
           return true;
         }
         const std::int64_t kind = array->shape[0] > 1 ? r.between(0, 2) : 0;
         array->shape[0] = kind == 0 ? array->shape[0] + 1 : kind == 1 ? array->shape[0] - 1 : 1;
         array->values.resize(static_cast<std::size_t>(reference::size_of(array->shape)));
         return true;
       }},
      {"an int32 result out of range [V-6]",
       [](Case& c, ChoiceSource& r) {
         if (c.op != Op::Convolution) return false;
         const std::int64_t cout = c.operands.weights.shape[0];
         const double sign = r.one_in(2) ? 1 : -1;
         c.operands.type = NumberType::Int32;
         for (Array* a : {&c.operands.features, &c.operands.weights})
           std::fill(a->values.begin(), a->values.end(), 65536.);
         c.operands.bias = Array{{cout}, std::vector<double>(static_cast<std::size_t>(cout), sign)};
         // Some pair there must be: a voxel that meets itself.
         c.kernel = {};
         c.operands.weights.shape = {cout, c.operands.features.shape[1], 1, 1, 1};
         c.operands.weights.values.assign(
             static_cast<std::size_t>(cout * c.operands.features.shape[1]), sign * 65536.);
         c.target.reset();
         return c.operands.features.shape[0] > 0;
       }},
      {"what int32 does not hold [V-6]",
       [](Case& c, ChoiceSource& r) {
         if (!sums(c.op) || c.operands.weights.values.empty()) return false;
         c.operands.type = NumberType::Int32;
         std::vector<Array*> arrays{&c.operands.weights, &c.operands.features};
         if (c.operands.bias) arrays.push_back(&*c.operands.bias);
         if (c.operands.grad_output) arrays.push_back(&*c.operands.grad_output);
         for (Array* array : arrays)
           for (double& x : array->values) x = std::abs(x) < 30'000 ? std::trunc(x) : 0;  // no NaN
         Array& broken = *r.pick(arrays);
         if (broken.values.empty()) return false;
         broken.values.back() =
             r.pick<double>({0.5, 2147483648.0, -2147483649.0, 1e300, kInfinity, std::nan("")});
         return true;
       }},
  };
  return all;
}

}  // namespace leafproof::oracle
