#include "oracle/backends/builder_backend.h"

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "gpu/map_rules.h"

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

class BuilderBackend : public Backend {
 public:
  BuilderBackend(std::string name, std::string description, MakeBuilder make)
      : name_(std::move(name)), description_(std::move(description)), make_(std::move(make)) {}

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return description_; }

  Answer answer(const Case& question) const override {
    try {
      return answered(question);
    } catch (const gpu::Error& error) {
      return translated(error);
    } catch (const std::bad_alloc&) {
      return Error(ErrorKind::OutOfMemory,
                   {std::string(to_string(question.op)), "memory", "", "none left", {}, {}});
    }
  }

 private:
  Answer answered(const Case& question) const {
    gpu::BatchedBuilder builder = make_();
    switch (question.op) {
      case Op::Convolution:
      case Op::ConvolutionGradients:
        return NotImplemented{"the batched builder computes no features"};
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
      case Op::SubmanifoldIndexMap:
        return dense_answer(builder, builder.submanifold_map(source, geometry_of(question)));
      default:
        return buffer_of(builder, pass(builder, question, source));
    }
  }

  std::string name_, description_;
  MakeBuilder make_;
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
                                              MakeBuilder make) {
  return std::make_unique<BuilderBackend>(std::move(name), std::move(description), std::move(make));
}

}  // namespace leafproof::oracle
