// See library_question.h.
#include "oracle/backends/library_question.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "reference/numbers.h"

namespace leafproof::oracle {
namespace {

constexpr std::byte kNothing{0};

template <class Number>
struct Flat {
  std::vector<std::int64_t> offsets{0};
  std::vector<Number> numbers;
};

/// Lists as one array of rows and B+1 offsets.
template <class Number, class Lists, class Add>
Flat<Number> flat(const Lists& lists, Add add) {
  Flat<Number> all;
  for (const auto& list : lists) {
    for (const auto& row : list) add(all.numbers, row);
    all.offsets.push_back(all.offsets.back() + static_cast<std::int64_t>(list.size()));
  }
  return all;
}

std::vector<double> triples(const std::vector<Map>& maps, std::array<double, 3> Map::* part) {
  std::vector<double> all;
  for (const Map& map : maps) all.insert(all.end(), (map.*part).begin(), (map.*part).end());
  return all;
}

std::int32_t type_of(NumberType type) {
  switch (type) {
    case NumberType::Float64:
      return LEAFPROOF_FLOAT64;
    case NumberType::Float32:
      return LEAFPROOF_FLOAT32;
    case NumberType::Float16:
      return LEAFPROOF_FLOAT16;
    case NumberType::Int32:
      return LEAFPROOF_INT32;
  }
  return LEAFPROOF_FLOAT64;
}

template <class T>
std::vector<T> cast(const std::vector<double>& values) {
  std::vector<T> all;
  for (const double x : values) {
    if constexpr (std::is_same_v<T, Eigen::half>)
      all.push_back(Eigen::half(static_cast<float>(x)));  // by way of float32, as in [V-6]
    else
      all.push_back(static_cast<T>(x));
  }
  return all;
}

bool fits_int32(double x) {
  return x >= -0x1p31 && x < 0x1p31 && x == std::trunc(x);
}

leafproof_parameters parameters_of(const Case& c) {
  leafproof_parameters p{};
  p.size = sizeof p;
  p.operation = static_cast<std::int32_t>(c.op);
  p.mapped = static_cast<std::int32_t>(c.mapped);
  for (std::size_t a = 0; a < 3; ++a) {
    p.factor[a] = c.factor[a];
    p.lo[a] = c.lo[a];
    p.hi[a] = c.hi[a];
    p.kernel_size[a] = c.kernel.size[a];
    p.stride[a] = c.kernel.stride[a];
    p.dilation[a] = c.kernel.dilation[a];
  }
  p.transposed = c.direction == Direction::Transposed;
  p.dense = c.dense;
  p.number_type = type_of(c.operands.type);
  p.target_is_source = c.operands.target_is_source;
  const auto given = [&](bool is, std::uint32_t bit) { p.given |= is ? bit : 0U; };
  given(c.view.has_value(), LEAFPROOF_GIVEN_VIEW);
  given(c.other.has_value(), LEAFPROOF_GIVEN_OTHER);
  given(c.mask.has_value(), LEAFPROOF_GIVEN_MASK);
  given(c.target.has_value(), LEAFPROOF_GIVEN_TARGET);
  given(c.operands.bias.has_value(), LEAFPROOF_GIVEN_BIAS);
  return p;
}

// The numbers of docs/case-format.md, in which both sides count operations.
static_assert(static_cast<int>(Op::FromIjk) == LEAFPROOF_FROM_IJK);
static_assert(static_cast<int>(Op::FromPoints) == LEAFPROOF_FROM_POINTS);
static_assert(static_cast<int>(Op::Refine) == LEAFPROOF_REFINE);
static_assert(static_cast<int>(Op::Coarsen) == LEAFPROOF_COARSEN);
static_assert(static_cast<int>(Op::DilateBox) == LEAFPROOF_DILATE_BOX);
static_assert(static_cast<int>(Op::Dual) == LEAFPROOF_DUAL);
static_assert(static_cast<int>(Op::ErodeBox) == LEAFPROOF_ERODE_BOX);
static_assert(static_cast<int>(Op::Prune) == LEAFPROOF_PRUNE);
static_assert(static_cast<int>(Op::Merge) == LEAFPROOF_MERGE);
static_assert(static_cast<int>(Op::Intersect) == LEAFPROOF_INTERSECT);
static_assert(static_cast<int>(Op::Subtract) == LEAFPROOF_SUBTRACT);
static_assert(static_cast<int>(Op::MapAfter) == LEAFPROOF_MAP_AFTER);
static_assert(static_cast<int>(Op::ConvGrid) == LEAFPROOF_CONV_GRID);
static_assert(static_cast<int>(Op::ConvTransposeGrid) == LEAFPROOF_CONV_TRANSPOSE_GRID);
static_assert(static_cast<int>(Op::SubmanifoldIndexMap) == LEAFPROOF_SUBMANIFOLD_INDEX_MAP);
static_assert(static_cast<int>(Op::Convolution) == LEAFPROOF_CONVOLUTION);
static_assert(static_cast<int>(Op::ConvolutionGradients) == LEAFPROOF_CONVOLUTION_GRADIENTS);
static_assert(static_cast<int>(Op::KernelMap) == LEAFPROOF_KERNEL_MAP);

}  // namespace

LibraryParameters::LibraryParameters(const Case& question)
    : memory_("question->parameters", sizeof(leafproof_parameters), alignof(leafproof_parameters),
              kNothing) {
  const leafproof_parameters p = parameters_of(question);
  std::memcpy(memory_.data(), &p, sizeof p);
  memory_.make_read_only();
}

const leafproof_parameters* LibraryParameters::get() const {
  return static_cast<const leafproof_parameters*>(memory_.address());
}

template <class T>
const T* LibraryQuestion::lend(const std::string& name, const std::vector<T>& values) {
  auto memory =
      std::make_unique<GuardedMemory>(name, values.size() * sizeof(T), alignof(T), kNothing);
  if (!values.empty()) std::memcpy(memory->data(), values.data(), memory->size());
  memory->make_read_only();
  areas_.push_back(std::move(memory));
  return static_cast<const T*>(areas_.back()->address());
}

template <class T>
const T* LibraryQuestion::lend_large(const std::string& name, const std::vector<T>& values) {
  if (there_ == nullptr) return lend(name, values);
  const auto bytes = std::as_bytes(std::span(values));
  areas_.push_back(std::make_unique<DeviceArea>(
      name, *there_, std::vector<std::byte>(bytes.begin(), bytes.end()), true));
  return static_cast<const T*>(areas_.back()->address());
}

const leafproof_batch* LibraryQuestion::batch(const char* name, const Batch& given) {
  const auto part = [&](const char* member) { return std::string("question->") + name + member; };
  const auto rows = flat<std::int32_t>(given.members, [](auto& numbers, const Voxel& v) {
    numbers.insert(numbers.end(), {v.x, v.y, v.z});
  });
  const auto names = flat<char>(given.names, [](auto& all, char c) { all.push_back(c); });
  leafproof_batch b{};
  b.members = static_cast<std::int64_t>(given.size());
  b.offsets = lend(part("->offsets"), rows.offsets);
  b.voxels = lend_large(part("->voxels"), rows.numbers);
  b.voxel_sizes = lend(part("->voxel_sizes"), triples(given.maps, &Map::voxel_size));
  b.origins = lend(part("->origins"), triples(given.maps, &Map::origin));
  b.name_offsets = lend(part("->name_offsets"), names.offsets);
  b.names = lend(part("->names"), names.numbers);
  return lend(part(""), std::vector{b});
}

const leafproof_array* LibraryQuestion::array(const char* name, const reference::Array& given,
                                              NumberType type) {
  const auto part = [&](const char* member) { return std::string("question->") + name + member; };
  const auto& values = given.values;
  if (type == NumberType::Int32 && !std::all_of(values.begin(), values.end(), fits_int32))
    type = NumberType::Float64;
  leafproof_array a{};
  a.type = type_of(type);
  a.rank = static_cast<std::int32_t>(given.shape.size());
  a.shape = lend(part("->shape"), given.shape);
  a.count = static_cast<std::int64_t>(values.size());
  const std::string where = part("->values");
  switch (type) {
    case NumberType::Float64:
      a.values = lend_large(where, values);
      break;
    case NumberType::Float32:
      a.values = lend_large(where, cast<float>(values));
      break;
    case NumberType::Float16:
      a.values = lend_large(where, cast<Eigen::half>(values));
      break;
    case NumberType::Int32:
      a.values = lend_large(where, cast<std::int32_t>(values));
      break;
  }
  return lend(part(""), std::vector{a});
}

LibraryQuestion::LibraryQuestion(const Case& c, const LibraryParameters& parameters,
                                 DeviceMemory* there)
    : there_(there) {
  leafproof_question q{};
  q.size = sizeof q;
  q.parameters = parameters.get();
  q.source = batch("source", c.source);
  if (c.op == Op::FromPoints) {
    const auto points = flat<double>(c.points, [](auto& numbers, const Point& p) {
      numbers.insert(numbers.end(), p.begin(), p.end());
    });
    leafproof_points p{};
    p.members = static_cast<std::int64_t>(c.points.size());
    p.offsets = lend("question->points->offsets", points.offsets);
    p.xyz = lend_large("question->points->xyz", points.numbers);
    q.points = lend("question->points", std::vector{p});
  }
  if (c.view) {
    leafproof_view v{};
    v.count = static_cast<std::int64_t>(c.view->size());
    v.members = lend("question->view->members", *c.view);
    q.view = lend("question->view", std::vector{v});
  }
  if (c.other) q.other = batch("other", *c.other);
  if (c.mask) {
    const auto mask =
        flat<std::uint8_t>(*c.mask, [](auto& all, std::uint8_t flag) { all.push_back(flag); });
    leafproof_mask m{};
    m.members = static_cast<std::int64_t>(c.mask->size());
    m.offsets = lend("question->mask->offsets", mask.offsets);
    m.flags = lend_large("question->mask->flags", mask.numbers);
    q.mask = lend("question->mask", std::vector{m});
  }
  if (c.target) q.target = batch("target", *c.target);
  if (c.op == Op::Convolution || c.op == Op::ConvolutionGradients) {
    const Operands& o = c.operands;
    q.features = array("features", o.features, o.type);
    q.weights = array("weights", o.weights, o.type);
    if (o.bias) q.bias = array("bias", *o.bias, o.type);
    if (o.grad_output) q.grad_output = array("grad_output", *o.grad_output, o.type);
  }
  question_ = lend("question", std::vector{q});
}

const leafproof_question* LibraryQuestion::get() const {
  return question_;
}

std::string LibraryQuestion::violation() {
  for (const auto& area : areas_)
    if (std::string what = area->violation(); !what.empty()) return what;
  return {};
}

}  // namespace leafproof::oracle
