#include "oracle/backends/builder_backend.h"

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>
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

/// The strides of convolution grids are maps alone so far; this side's rules compute them.
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
      case Op::ConvGrid:
      case Op::ConvTransposeGrid:
      case Op::SubmanifoldIndexMap:
      case Op::Convolution:
      case Op::ConvolutionGradients:
      case Op::KernelMap:
        return NotImplemented{"the batched builder has no convolution"};
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
    if (question.op == Op::FromIjk) return buffer_of(builder, builder.rebuild(source));
    return buffer_of(builder, pass(builder, question, source));
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
