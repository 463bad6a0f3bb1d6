#include "oracle/backends/builder_backend.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gpu/convolution.h"
#include "gpu/map_rules.h"
#include "oracle/backends/answering.h"
#include "oracle/conv_answers.h"

namespace leafproof::oracle {
namespace {

/// Members as one array of rows and B+1 offsets, the form that the builder takes.
template <class Element, class Number>
struct Flat {
  std::vector<Number> numbers;
  std::vector<std::int64_t> offsets{0};
};

Flat<Voxel, std::int32_t> flatten(const std::vector<std::vector<Voxel>>& members) {
  Flat<Voxel, std::int32_t> flat;
  for (const auto& member : members) {
    for (const Voxel& voxel : member) {
      flat.numbers.insert(flat.numbers.end(), {voxel.x, voxel.y, voxel.z});
    }
    flat.offsets.push_back(static_cast<std::int64_t>(flat.numbers.size() / 3));
  }
  return flat;
}

Flat<Point, double> flatten(const std::vector<std::vector<Point>>& members) {
  Flat<Point, double> flat;
  for (const auto& member : members) {
    for (const Point& point : member) {
      flat.numbers.insert(flat.numbers.end(), point.begin(), point.end());
    }
    flat.offsets.push_back(static_cast<std::int64_t>(flat.numbers.size() / 3));
  }
  return flat;
}

Flat<std::uint8_t, std::uint8_t> flatten(const Masks& masks) {
  Flat<std::uint8_t, std::uint8_t> flat;
  for (const auto& mask : masks) {
    flat.numbers.insert(flat.numbers.end(), mask.begin(), mask.end());
    flat.offsets.push_back(static_cast<std::int64_t>(flat.numbers.size()));
  }
  return flat;
}

std::vector<gpu::MemberMap> maps_of(const std::vector<Map>& maps) {
  std::vector<gpu::MemberMap> result;
  for (const Map& map : maps) result.push_back({map.voxel_size, map.origin});
  return result;
}

/// Numbers where the builder can read them: as they are, or copied to its memory.
template <class Number>
class Lent {
 public:
  Lent(gpu::BatchedBuilder& builder, const std::vector<Number>& numbers) : numbers_(numbers) {
    if (builder.works_in_host_memory()) return;
    copy_ = builder.to_device(std::as_bytes(numbers_));
    numbers_ = {reinterpret_cast<const Number*>(copy_.get()), numbers.size()};
  }
  std::span<const Number> span() const { return numbers_; }

 private:
  std::shared_ptr<std::byte> copy_;
  std::span<const Number> numbers_;
};

gpu::GridBatch build(gpu::BatchedBuilder& builder, const Batch& batch) {
  const auto lists = flatten(batch.members);
  const auto maps = maps_of(batch.maps);
  const Lent ijk(builder, lists.numbers);
  return builder.from_ijk({ijk.span(), lists.offsets}, {maps, batch.names});
}

gpu::GridBatch pass(gpu::BatchedBuilder& builder, const Case& question,
                    const gpu::GridBatch& source) {
  const Triple &factor = question.factor, &lo = question.lo, &hi = question.hi;
  const auto mask = question.mask ? flatten(*question.mask) : Flat<std::uint8_t, std::uint8_t>{};
  const Lent lent(builder, mask.numbers);
  const gpu::VoxelFlags flags{lent.span(), mask.offsets};
  switch (question.op) {
    case Op::Refine:
      return question.mask ? builder.refine(source, factor, flags) : builder.refine(source, factor);
    case Op::Coarsen:
      return builder.coarsen(source, factor);
    case Op::DilateBox:
      return builder.dilate_box(source, lo, hi);
    case Op::Dual:
      return builder.dual(source);
    case Op::ErodeBox:
      return builder.erode_box(source, lo, hi);
    case Op::Prune:
      return builder.prune(source, flags);
    case Op::Merge:
      return builder.merge(source, build(builder, *question.other));
    case Op::Intersect:
      return builder.intersect(source, build(builder, *question.other));
    default:
      return builder.subtract(source, build(builder, *question.other));
  }
}

GridBuffer buffer_of(gpu::BatchedBuilder& builder, const gpu::GridBatch& built) {
  const gpu::GridBatch batch = builder.to_host(built);
  return {batch.storage(), batch.bytes(), batch.byte_offsets()};
}

/// The maps after an operation, read from the batch that the operation itself builds.
Answer mapped(gpu::BatchedBuilder& builder, const Case& question) {
  Case one = question;
  one.op = question.mapped;
  one.source.members.assign(question.source.maps.size(), {Voxel{0, 0, 0}});
  one.source.names.assign(question.source.maps.size(), "");
  if (one.op == Op::Prune) {
    one.mask.emplace(one.source.members.size(), std::vector<std::uint8_t>{1});
  }
  const gpu::GridBatch result = pass(builder, one, build(builder, one.source));
  Maps maps;
  for (std::int64_t m = 0; m < result.size(); ++m) {
    maps.maps.push_back({result.member(m).map.voxel_size, result.member(m).map.origin});
  }
  return maps;
}

/// The maps of convolution grids by the rule alone: a map may be asked for beyond [K-7].
Answer strided(const Case& question) {
  Maps result;
  for (std::size_t m = 0; m < question.source.maps.size(); ++m) {
    const Map& map = question.source.maps[m];
    const gpu::MemberMap given{map.voxel_size, map.origin};
    const gpu::MemberMap after = question.mapped == Op::ConvGrid
                                     ? gpu::strided(given, question.factor)
                                     : gpu::unstrided(given, question.factor);
    gpu::check_map(std::string(to_string(question.mapped)), after, static_cast<std::int64_t>(m));
    result.maps.push_back({after.voxel_size, after.origin});
  }
  return result;
}

// --- convolution

gpu::ConvGeometry geometry_of(const Case& question) {
  return {question.kernel.size, question.kernel.stride, question.kernel.dilation};
}

gpu::GridBatch conv_grid(gpu::BatchedBuilder& builder, const gpu::GridBatch& source,
                         const Case& question, bool forward) {
  return forward ? builder.conv_grid(source, geometry_of(question))
                 : builder.conv_transpose_grid(source, geometry_of(question));
}

/// Rows from where the builder works.
std::vector<std::int64_t> rows_from(gpu::BatchedBuilder& builder, const std::int32_t* rows,
                                    std::int64_t n) {
  std::vector<std::int32_t> narrow(static_cast<std::size_t>(n));
  builder.read(std::as_writable_bytes(std::span(narrow)), rows);
  return {narrow.begin(), narrow.end()};
}

DenseMapAnswer dense_answer(gpu::BatchedBuilder& builder, const gpu::KernelMap& map) {
  const gpu::DenseMap dense = builder.dense_map(map);
  DenseMapAnswer answer;
  answer.map = {dense.taps, dense.rows, rows_from(builder, dense.index(), dense.taps * dense.rows)};
  return answer;
}

Answer kernel_map(gpu::BatchedBuilder& builder, const gpu::GridBatch& source,
                  const Case& question) {
  const bool forward = question.direction == reference::Direction::Forward;
  const gpu::GridBatch target = question.target ? build(builder, *question.target)
                                                : conv_grid(builder, source, question, forward);
  const gpu::KernelMap map =
      builder.kernel_map(source, target, geometry_of(question),
                         forward ? gpu::Direction::Forward : gpu::Direction::Transposed);
  std::shared_ptr<const std::variant<Layout, GridBuffer>> complete;
  if (!question.target) {
    complete = std::make_shared<const std::variant<Layout, GridBuffer>>(buffer_of(builder, target));
  }
  if (question.dense) {
    DenseMapAnswer answer = dense_answer(builder, map);
    answer.target = complete;
    return answer;
  }
  KernelMapAnswer answer;
  answer.map = {map.offsets(), rows_from(builder, map.gather(), map.pairs()),
                rows_from(builder, map.scatter(), map.pairs()), map.source_rows(),
                map.target_rows()};
  answer.target = complete;
  return answer;
}

/// The numbers of an argument, cast to what is computed with [V-6]; float16 by way of float32.
template <class T>
std::vector<T> cast(const char* operation, const char* argument, const reference::Array& array) {
  std::vector<T> numbers;
  numbers.reserve(array.values.size());
  for (const double x : array.values) {
    if constexpr (std::is_same_v<T, std::int32_t>) {
      const bool holds = x == std::trunc(x) && x >= std::numeric_limits<T>::min() &&
                         x <= std::numeric_limits<T>::max();
      if (!holds) {
        throw gpu::Error(gpu::ErrorKind::InvalidArgument, operation, argument, std::to_string(x),
                         "int32 does not hold it");
      }
      numbers.push_back(static_cast<T>(x));
    } else if constexpr (std::is_same_v<T, double>) {
      numbers.push_back(x);
    } else {
      numbers.push_back(static_cast<T>(static_cast<float>(x)));
    }
  }
  return numbers;
}

template <class T>
NumbersAnswer numbers_answer(const std::vector<T>& numbers, std::vector<std::int64_t> shape,
                             NumberType type) {
  reference::Array array{std::move(shape), {}};
  array.values.reserve(numbers.size());
  for (const T x : numbers) array.values.push_back(static_cast<double>(x));
  return numbers_of(std::move(array), type);  // multiplied and summed as [V-6] says
}

/// Convolution or gradients, all in numbers of type T; by the host where there is no convolver.
template <class T>
Answer convolution_in(gpu::BatchedBuilder& builder, NumbersOf<T>* convolver,
                      const gpu::ConvolutionMap& over, const Case& question) {
  const bool gradients = question.op == Op::ConvolutionGradients;
  const char* operation = gradients ? "convolution_gradients" : "convolution";
  const Operands& given = question.operands;
  const NumberType type = given.type;
  const bool bias = given.bias && !gradients;
  if (gradients && !given.grad_output) {
    throw gpu::Error(gpu::ErrorKind::InvalidArgument, operation, "grad_output", "absent",
                     "must be given");
  }
  // Shapes are judged first, by as many zeros; then numbers are cast.
  std::vector<T> features(given.features.values.size()), weights(given.weights.values.size()),
      biases(bias ? given.bias->values.size() : 0),
      gradient(gradients ? given.grad_output->values.size() : 0);
  const auto input = [&] {
    gpu::ConvolutionInput<T> all{
        {features, given.features.shape}, {weights, given.weights.shape}, {}};
    if (bias) all.bias = gpu::Tensor<T>{biases, given.bias->shape};
    return all;
  };
  if (gradients) {
    gpu::check_convolution_gradients(over, input(),
                                     gpu::Tensor<T>{gradient, given.grad_output->shape});
  } else {
    gpu::check_convolution(over, input());
  }
  features = cast<T>(operation, "features", given.features);
  weights = cast<T>(operation, "weights", given.weights);
  if (bias) biases = cast<T>(operation, "bias", *given.bias);
  if (!gradients) {
    return numbers_answer(convolver == nullptr ? gpu::convolve(over, input())
                                               : convolver->convolve(builder, over, input()),
                          {over.target_rows(), given.weights.shape[0]}, type);
  }
  gradient = cast<T>(operation, "grad_output", *given.grad_output);
  const gpu::Tensor<T> grad_output{gradient, given.grad_output->shape};
  const auto found = convolver == nullptr
                         ? gpu::convolution_gradients(over, input(), grad_output)
                         : convolver->gradients(builder, over, input(), grad_output);
  return GradientsAnswer{numbers_answer(found.features, given.features.shape, type),
                         numbers_answer(found.weights, given.weights.shape, type),
                         numbers_answer(found.bias, {given.weights.shape[0]}, type)};
}

Answer convolution(gpu::BatchedBuilder& builder, Convolver* convolver, const gpu::GridBatch& source,
                   const Case& question) {
  const gpu::ConvGeometry geometry = geometry_of(question);
  const bool forward = question.direction == reference::Direction::Forward;
  const gpu::Triple ones{1, 1, 1};
  const bool identity = !question.target && geometry.kernel == ones && geometry.stride == ones;
  const gpu::GridBatch target = question.target ? build(builder, *question.target)
                                                : conv_grid(builder, source, question, forward);
  const auto direction = forward ? gpu::Direction::Forward : gpu::Direction::Transposed;
  const auto general = [&] {
    const gpu::KernelMap map = builder.kernel_map(source, target, geometry, direction);
    return convolver == nullptr ? gpu::ConvolutionMap::of(builder, map, geometry.kernel)
                                : convolver->over(builder, map, geometry.kernel);
  };
  const gpu::ConvolutionMap over =
      identity ? gpu::ConvolutionMap::identity(source.voxel_count()) : general();  // [V-4]
  const auto in = [&](auto number) {
    return convolution_in<decltype(number)>(builder, convolver, over, question);
  };
  switch (question.operands.type) {
    case NumberType::Float64:
      return in(double{});
    case NumberType::Float32:
      return in(float{});
    case NumberType::Float16:
      return in(Eigen::half{});
    default:
      return in(std::int32_t{});
  }
}

class BuilderBackend : public Backend {
 public:
  BuilderBackend(std::string name, std::string description, MakeBuilder make,
                 MakeConvolver convolver)
      : name_(std::move(name)),
        description_(std::move(description)),
        make_(std::move(make)),
        convolver_(std::move(convolver)) {}

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return description_; }

  Answer answer(const Case& question) const override {
    return answer_or_refusal(question, [&] {
      try {
        return answered(question);
      } catch (const gpu::Error& error) {
        throw translated(error);
      }
    });
  }

 private:
  Answer answered(const Case& question) const {
    gpu::BatchedBuilder builder = make_();
    switch (question.op) {
      case Op::MapAfter:
        return question.mapped == Op::ConvGrid || question.mapped == Op::ConvTransposeGrid
                   ? strided(question)
                   : mapped(builder, question);
      case Op::FromPoints: {
        const auto points = flatten(question.points);
        const auto maps = maps_of(question.source.maps);
        const Lent xyz(builder, points.numbers);
        return buffer_of(builder, builder.from_points({xyz.span(), points.offsets},
                                                      {maps, question.source.names}));
      }
      default:
        break;
    }
    gpu::GridBatch source = build(builder, question.source);
    if (question.view) source = source.view(*question.view);
    switch (question.op) {
      case Op::FromIjk:
        return buffer_of(builder, builder.rebuild(source));
      case Op::ConvGrid:
      case Op::ConvTransposeGrid:
        return buffer_of(builder,
                         conv_grid(builder, source, question, question.op == Op::ConvGrid));
      case Op::KernelMap:
        return kernel_map(builder, source, question);
      case Op::Convolution:
      case Op::ConvolutionGradients:
        return convolution(builder, convolver_ ? convolver_().get() : nullptr, source, question);
      case Op::SubmanifoldIndexMap:
        return dense_answer(builder, builder.submanifold_map(source, geometry_of(question)));
      default:
        return buffer_of(builder, pass(builder, question, source));
    }
  }

  std::string name_, description_;
  MakeBuilder make_;
  MakeConvolver convolver_;
};

}  // namespace

Error translated(const gpu::Error& error) {
  ErrorKind kind = ErrorKind::Corrupt;
  switch (error.kind()) {
    case gpu::ErrorKind::InvalidArgument:
      kind = ErrorKind::InvalidArgument;
      break;
    case gpu::ErrorKind::ShapeMismatch:
      kind = ErrorKind::ShapeMismatch;
      break;
    case gpu::ErrorKind::OutOfRange:
      kind = ErrorKind::OutOfRange;
      break;
    case gpu::ErrorKind::CapacityExceeded:
      kind = ErrorKind::CapacityExceeded;
      break;
    case gpu::ErrorKind::OutOfMemory:
      kind = ErrorKind::OutOfMemory;
      break;
    case gpu::ErrorKind::Unsupported:
      kind = ErrorKind::Unsupported;
      break;
    case gpu::ErrorKind::Corrupt:
      break;
  }
  return Error(kind, {error.operation(), error.argument(), error.value(), error.reason(),
                      error.member(), error.row()});
}

std::unique_ptr<Backend> make_builder_backend(std::string name, std::string description,
                                              MakeBuilder make, MakeConvolver convolver) {
  return std::make_unique<BuilderBackend>(std::move(name), std::move(description), std::move(make),
                                          std::move(convolver));
}

}  // namespace leafproof::oracle
