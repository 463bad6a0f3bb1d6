// See question.h.
#include "oracle/python/question.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "reference/numbers.h"

namespace leafproof::python {
namespace {

using oracle::Op;

oracle::Op op_named(const std::string& name) {
  if (const auto op = oracle::parse_op(name)) return *op;
  refuse(ErrorKind::InvalidArgument, {"ask", "op"}, name, "is no operation");
}

/// What an operation takes.
std::set<std::string> arguments_of(Op op) {
  const auto is = [op](auto... ops) { return ((op == ops) || ...); };
  if (op == Op::FromIjk) return {"ijk", "offsets", "voxel_sizes", "origins", "names"};
  if (op == Op::FromPoints) return {"points", "offsets", "voxel_sizes", "origins", "names"};
  if (op == Op::MapAfter) return {"operation", "factor", "voxel_sizes", "origins"};
  std::set<std::string> all{"source"};
  if (is(Op::Refine, Op::Coarsen)) all.insert("factor");
  if (is(Op::Refine, Op::Prune)) all.insert("mask");
  if (is(Op::DilateBox, Op::ErodeBox)) all.insert({"lo", "hi"});
  if (is(Op::Merge, Op::Intersect, Op::Subtract)) all.insert("other");
  if (oracle::convolves(op)) all.insert({"kernel_size", "stride", "dilation"});
  const bool sums = is(Op::Convolution, Op::ConvolutionGradients);
  if (sums || op == Op::KernelMap) all.insert({"target", "transposed"});
  if (op == Op::KernelMap) all.insert("dense");
  if (sums) all.insert({"features", "weights"});
  if (op == Op::Convolution) all.insert("bias");
  if (op == Op::ConvolutionGradients) all.insert("grad_output");
  return all;
}

nb::object value_of(const nb::kwargs& given, const char* name) {
  if (!given.contains(name)) return nb::none();
  return nb::borrow(given[name]);
}

reference::Array array_of_doubles(const Argument& argument, nb::handle given) {
  const auto all = numbers<double>(argument, given, {}, Holds::Numbers);
  return {all.shape, {all.values.begin(), all.values.end()}};
}

}  // namespace

std::shared_ptr<Batch> batch_in(const Argument& argument, nb::handle given) {
  std::shared_ptr<Batch> batch;
  if (!nb::try_cast(given, batch) || batch == nullptr)
    refuse(ErrorKind::InvalidArgument, argument, text_of(given), "must be a Batch");
  return batch;
}

Question::Question(const std::string& op, const nb::kwargs& given) : operation_(op) {
  case_.op = op_named(op);
  const auto taken = arguments_of(case_.op);
  for (const auto [key, value] : given) {
    const std::string name = bytes_of({op, "an argument"}, key);
    if (!taken.contains(name) && !value.is_none())
      refuse(ErrorKind::InvalidArgument, {op, name}, text_of(value),
             fmt::format("{} takes {}", op, fmt::join(taken, ", ")));
  }
  const auto has = [&](const char* name) {
    return taken.contains(name) && !value_of(given, name).is_none();
  };
  const auto read = [&](const char* name, Triple& to) {
    if (taken.contains(name) && given.contains(name))
      to = triple(argument(name), value_of(given, name));
  };
  if (taken.contains("source")) source_ = batch_in(argument("source"), value_of(given, "source"));
  if (taken.contains("other")) other_ = batch_in(argument("other"), value_of(given, "other"));
  read("factor", case_.factor);
  read("lo", case_.lo);
  read("hi", case_.hi);
  read("kernel_size", case_.kernel.size);
  read("stride", case_.kernel.stride);
  read("dilation", case_.kernel.dilation);
  if (has("operation"))
    case_.mapped = op_named(bytes_of(argument("operation"), value_of(given, "operation")));
  if (taken.contains("voxel_sizes")) read_lists(given);
  if (has("mask")) read_mask(value_of(given, "mask"));
  if (taken.contains("kernel_size")) read_kernel(given);
  if (taken.contains("features")) read_operands(given);
}

void Question::read_lists(const nb::kwargs& given) {
  maps_ = maps(operation_, value_of(given, "voxel_sizes"), value_of(given, "origins"));
  if (case_.op == Op::MapAfter) return;
  names_ = names(argument("names"), value_of(given, "names"));
  const auto rows_offsets = [&](std::size_t numbers) {
    lists_.offsets = offsets(argument("offsets"), value_of(given, "offsets"),
                             static_cast<std::int64_t>(numbers / 3));
  };
  if (case_.op == Op::FromIjk) {
    lists_.ijk =
        numbers<std::int32_t>(argument("ijk"), value_of(given, "ijk"), {-1, 3}, Holds::Integers);
    rows_offsets(lists_.ijk.values.size());
  } else {
    lists_.xyz =
        numbers<double>(argument("points"), value_of(given, "points"), {-1, 3}, Holds::Numbers);
    rows_offsets(lists_.xyz.values.size());
  }
}

void Question::read_mask(nb::handle given) {
  Flags flags;
  // A list of as many arrays as there are members, or all flags in one.
  if (PyList_Check(given.ptr()) || PyTuple_Check(given.ptr()))
    flags.by_member = nb::len(given) == 0 || nb::hasattr(given[0], "__len__");
  if (flags.by_member) {
    for (const nb::handle one : nb::iter(given))
      flags.each.push_back(numbers<std::uint8_t>(argument("mask"), one, {-1}, Holds::Flags));
  } else {
    flags.all = numbers<std::uint8_t>(argument("mask"), given, {-1}, Holds::Flags);
    const auto count = static_cast<std::int64_t>(flags.all.values.size());
    if (count != source_->voxel_count())
      refuse(ErrorKind::ShapeMismatch, argument("mask"), reference::to_text(flags.all.shape),
             fmt::format("there are {} voxels", source_->voxel_count()));
  }
  mask_ = std::move(flags);
}

void Question::read_kernel(const nb::kwargs& given) {
  const auto turned = value_of(given, "transposed"), dense = value_of(given, "dense");
  if (!turned.is_none() && flag(argument("transposed"), turned))
    case_.direction = oracle::Direction::Transposed;
  case_.dense = !dense.is_none() && flag(argument("dense"), dense);
  const auto target = value_of(given, "target");
  if (!target.is_none()) target_ = batch_in(argument("target"), target);
  // [V-4] The source itself, not another batch: the complete target of such a kernel.
  const Triple ones{1, 1, 1};
  if (target_ == source_ && case_.op != Op::KernelMap && case_.kernel.size == ones &&
      case_.kernel.stride == ones)
    target_ = nullptr;
}

void Question::read_operands(const nb::kwargs& given) {
  auto& operands = case_.operands;
  const auto features = value_of(given, "features");
  operands.type = number_type(argument("features"), features);
  operands.features = array_of_doubles(argument("features"), features);
  operands.weights = array_of_doubles(argument("weights"), value_of(given, "weights"));
  operands.target_is_source = target_ == nullptr;
  const auto bias = value_of(given, "bias"), gradient = value_of(given, "grad_output");
  if (!bias.is_none()) operands.bias = array_of_doubles(argument("bias"), bias);
  if (case_.op == Op::ConvolutionGradients)
    operands.grad_output = array_of_doubles(argument("grad_output"), gradient);
}

oracle::Case Question::as_case() const {
  oracle::Case c = case_;
  if (source_) c.source = source_->voxels();
  if (other_) c.other = other_->voxels();
  if (target_) c.target = target_->voxels();
  if (c.op == Op::MapAfter) {
    c.source.maps = maps_;
    c.source.members.resize(maps_.size());
    c.source.names.resize(maps_.size());
  }
  if (c.op == Op::FromIjk || c.op == Op::FromPoints) {
    const auto& at = lists_.offsets;
    const auto members = at.size() - 1;
    c.source.members.resize(members);
    if (c.op == Op::FromPoints) c.points.resize(members);
    for (std::size_t m = 0; m < members; ++m)
      for (auto i = 3 * static_cast<std::size_t>(at[m]);
           i < 3 * static_cast<std::size_t>(at[m + 1]); i += 3) {
        const auto& v = lists_.ijk.values;
        const auto& p = lists_.xyz.values;
        if (c.op == Op::FromIjk)
          c.source.members[m].push_back({v[i], v[i + 1], v[i + 2]});
        else
          c.points[m].push_back({p[i], p[i + 1], p[i + 2]});
      }
    c.source.maps = maps_.empty()       ? std::vector<Map>(members)
                    : maps_.size() == 1 ? std::vector<Map>(members, maps_[0])
                                        : maps_;
    c.source.names = names_.empty()       ? std::vector<std::string>(members)
                     : names_.size() == 1 ? std::vector<std::string>(members, names_[0])
                                          : names_;
  }
  if (mask_) {
    c.mask.emplace();
    for (const auto& one : mask_->each) c.mask->emplace_back(one.values.begin(), one.values.end());
    const auto& at = source_->offsets();
    const auto flags = mask_->all.values;
    for (std::size_t m = 0; !mask_->by_member && m + 1 < at.size(); ++m)
      c.mask->emplace_back(flags.begin() + at[m], flags.begin() + at[m + 1]);
  }
  return c;
}

gpu::GridBatch Question::ask_builder() const {
  auto& build = builder();
  std::vector<std::uint8_t> joined;
  std::vector<std::int64_t> joined_at{0};
  const auto flags = [&]() -> gpu::VoxelFlags {
    if (!mask_->by_member) return {mask_->all.values, source_->offsets()};
    for (const auto& one : mask_->each) {
      joined.insert(joined.end(), one.values.begin(), one.values.end());
      joined_at.push_back(static_cast<std::int64_t>(joined.size()));
    }
    return {joined, joined_at};
  };
  std::vector<gpu::MemberMap> maps;
  for (const Map& map : maps_) maps.push_back({map.voxel_size, map.origin});
  const gpu::MapsAndNames named{maps, names_};
  const gpu::ConvGeometry geometry{case_.kernel.size, case_.kernel.stride, case_.kernel.dilation};
  switch (case_.op) {
    case Op::FromIjk:
      return build.from_ijk({lists_.ijk.values, lists_.offsets}, named);
    case Op::FromPoints:
      return build.from_points({lists_.xyz.values, lists_.offsets}, named);
    case Op::Refine:
      return mask_ ? build.refine(source_->grids(), case_.factor, flags())
                   : build.refine(source_->grids(), case_.factor);
    case Op::Coarsen:
      return build.coarsen(source_->grids(), case_.factor);
    case Op::DilateBox:
      return build.dilate_box(source_->grids(), case_.lo, case_.hi);
    case Op::Dual:
      return build.dual(source_->grids());
    case Op::ErodeBox:
      return build.erode_box(source_->grids(), case_.lo, case_.hi);
    case Op::Prune:
      if (!mask_) refuse(ErrorKind::InvalidArgument, argument("mask"), "absent", "must be given");
      return build.prune(source_->grids(), flags());
    case Op::Merge:
      return build.merge(source_->grids(), other_->grids());
    case Op::Intersect:
      return build.intersect(source_->grids(), other_->grids());
    case Op::Subtract:
      return build.subtract(source_->grids(), other_->grids());
    case Op::ConvGrid:
      return build.conv_grid(source_->grids(), geometry);
    case Op::ConvTransposeGrid:
      return build.conv_transpose_grid(source_->grids(), geometry);
    default:
      refuse(ErrorKind::Unsupported, argument("op"), operation_, "makes no grids");
  }
}

std::shared_ptr<KernelMap> Question::ask_builder_for_map() const {
  auto& build = builder();
  const bool forward = case_.direction == oracle::Direction::Forward;
  const gpu::ConvGeometry geometry{case_.kernel.size, case_.kernel.stride, case_.kernel.dilation};
  auto target = target_;
  if (target == nullptr) {
    const auto& source = source_->grids();
    target = std::make_shared<Batch>(forward ? build.conv_grid(source, geometry)
                                             : build.conv_transpose_grid(source, geometry));
  }
  const auto map = build.kernel_map(source_->grids(), target->grids(), geometry,
                                    forward ? gpu::Direction::Forward : gpu::Direction::Transposed);
  return std::make_shared<KernelMap>(map, source_, target);
}

}  // namespace leafproof::python
