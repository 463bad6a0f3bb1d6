// Parameters of an operation, read strictly: what it does not take is refused, not ignored.
#include "oracle/cli/operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>

#include "oracle/input/file_bytes.h"
#include "oracle/input/npy.h"
#include "reference/error.h"

namespace leafproof::oracle::cli {
namespace {

using reference::Error;
using reference::ErrorKind;

[[noreturn]] void refuse(ErrorKind kind, std::string operation, std::string argument,
                         std::string value, std::string reason) {
  throw Error(kind, {.operation = std::move(operation),
                     .argument = std::move(argument),
                     .value = std::move(value),
                     .reason = std::move(reason),
                     .member = {},
                     .row = {}});
}

std::vector<std::int64_t> parse_integers(std::string_view option, std::string_view text) {
  std::vector<std::int64_t> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (!text.empty()) {
    const auto [stop, failed] = std::from_chars(at, end, values.emplace_back());
    if (failed != std::errc{} || (stop != end && *stop != ','))
      refuse(ErrorKind::InvalidArgument, "read the command line", std::string(option),
             std::string(text), "must be 64-bit integers separated by commas, as in 2,3,4");
    if (stop == end) break;
    at = stop + 1;
  }
  return values;
}

/// Flags of a .npy, one per row of the batch (or view), as one list per member [T-10].
Masks read_mask(const std::filesystem::path& file, const Case& question) {
  const FileTask task{"read mask", file};
  const FileBytes bytes = read_file(task);
  const NpyArray array(task, "", bytes.bytes);
  if (array.shape().size() != 1 ||
      !(array.is('b', 1) || array.is('u', 1) || array.is('i', 4) || array.is('i', 8)))
    task.refuse(ErrorKind::InvalidArgument,
                fmt::format("a mask is a bool or integer array of one axis, this is {} of shape {}",
                            array.type(), array.shape_text()));
  Masks masks;
  std::uint64_t row = 0, rows = 0;
  const auto member_of = [&](std::size_t i) -> const std::vector<Voxel>& {
    return question.source
        .members[question.view ? static_cast<std::size_t>((*question.view)[i]) : i];
  };
  const std::size_t members = question.view ? question.view->size() : question.source.size();
  for (std::size_t i = 0; i < members; ++i) rows += member_of(i).size();
  if (array.shape()[0] != rows)
    task.refuse(ErrorKind::ShapeMismatch,
                fmt::format("a mask of {} flags for {} voxels", array.shape()[0], rows));
  for (std::size_t i = 0; i < members; ++i) {
    auto& mask = masks.emplace_back(member_of(i).size());
    for (auto& flag : mask) {
      const std::int64_t value = array.integer(row);
      if (value != 0 && value != 1)
        task.refuse(ErrorKind::InvalidArgument, fmt::format("a flag of {}; 0 or 1 is meant", value),
                    static_cast<std::int64_t>(i), static_cast<std::int64_t>(row));
      flag = static_cast<std::uint8_t>(value);
      ++row;
    }
  }
  return masks;
}

/// Each option that is given must be one that the operation takes; those that it needs must be
/// given.
void check_options(const OperationOptions& o, Op op) {
  struct Given {
    const char* option;
    bool given, taken, needed;
  };
  const bool scales = op == Op::Refine || op == Op::Coarsen;
  const bool boxes = op == Op::DilateBox || op == Op::ErodeBox;
  const bool combines = op == Op::Merge || op == Op::Intersect || op == Op::Subtract;
  const bool reads = op != Op::FromIjk && op != Op::FromPoints;
  const Given options[] = {
      {"--factor", !o.factor.empty(), scales, scales},
      {"--lo", !o.lo.empty(), boxes, boxes},
      {"--hi", !o.hi.empty(), boxes, boxes},
      {"--mask", !o.mask.empty(), op == Op::Prune || op == Op::Refine, op == Op::Prune},
      {"--other", !o.other.empty(), combines, combines},
      {"--view", !o.view.empty(), reads, false},
  };
  for (const Given& option : options) {
    if (option.given && !option.taken)
      refuse(ErrorKind::InvalidArgument, o.op, option.option, "given",
             "this operation does not take it");
    if (option.needed && !option.given)
      refuse(ErrorKind::InvalidArgument, o.op, option.option, "missing", "this operation needs it");
  }
}

void check_view(const Case& question) {
  for (const auto member : *question.view)
    if (member < 0 || member >= static_cast<std::int64_t>(question.source.size()))
      refuse(ErrorKind::InvalidArgument, std::string(to_string(question.op)), "--view",
             std::to_string(member),
             fmt::format("the batch has members 0 ... {}",
                         static_cast<std::int64_t>(question.source.size()) - 1));
}

}  // namespace

std::uint64_t free_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kilobytes = 0;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:") &&
        std::from_chars(line.data() + line.find_first_of("0123456789"), line.data() + line.size(),
                        kilobytes)
                .ec == std::errc{})
      return kilobytes * 1024;
  return UINT64_MAX;  // not Linux: the allocation itself will tell
}

void add_input_options(CLI::App& command, InputOptions& options) {
  command.add_option("--resolution", options.resolution,
                     "meshes and points: voxels along the longest side of the box (128)");
  command.add_option("--voxel-size", options.voxel_size,
                     "meshes and points: the voxel size instead, in world units");
}

void OperationOptions::add_to(CLI::App& command) {
  command
      .add_option(
          "OP", op,
          "the operation: from_ijk, from_points (the input as it stands; points are "
          "voxelised [T-1] when read), refine, coarsen, dilate_box, dual, erode_box, prune, "
          "merge, intersect, subtract")
      ->required();
  command.add_option("--factor", factor, "refine, coarsen: 2 (every axis) or 2,3,4");
  command.add_option("--lo", lo, "dilate_box, erode_box: lowest corner of the box: -1 or -1,0,-2");
  command.add_option("--hi", hi, "dilate_box, erode_box: highest corner, included: 1 or 1,1,0");
  command.add_option("--mask", mask,
                     "prune, refine: a .npy of one bool (or 0/1) per voxel, all members in one "
                     "array, in canonical order");
  command
      .add_option("--other", other,
                  "merge, intersect, subtract: the second batch, a file; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--view", view,
                     "read these members of the input, in this order, repeats allowed: 0,2,2");
  add_input_options(command, input);
}

Triple parse_triple(std::string_view option, std::string_view text) {
  const auto values = parse_integers(option, text);
  if (values.size() == 1) return {values[0], values[0], values[0]};
  if (values.size() != 3)
    refuse(ErrorKind::InvalidArgument, "read the command line", std::string(option),
           std::string(text), "must be one integer, or three separated by commas");
  return {values[0], values[1], values[2]};
}

std::vector<Op> parse_ops(const std::vector<std::string>& names) {
  std::vector<Op> ops;
  std::vector<std::string_view> known;
  for (const Op op : topology_ops()) known.push_back(to_string(op));
  for (const std::string& name : names) {
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end())
      refuse(ErrorKind::InvalidArgument, "read the command line", "operation", name,
             fmt::format("must be one of {}", fmt::join(known, ", ")));
    const Op op = topology_ops()[static_cast<std::size_t>(at - known.begin())];
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
  }
  return ops;
}

Case make_case(const OperationOptions& options, const std::vector<std::filesystem::path>& inputs,
               std::vector<std::string>& notes) {
  Case question;
  question.op = parse_ops({options.op}).front();
  check_options(options, question.op);
  if (!options.factor.empty()) question.factor = parse_triple("--factor", options.factor);
  if (!options.lo.empty()) question.lo = parse_triple("--lo", options.lo);
  if (!options.hi.empty()) question.hi = parse_triple("--hi", options.hi);
  if (!options.view.empty()) question.view = parse_integers("--view", options.view);

  Input input = read_input(inputs, options.input);
  question.source = std::move(input.batch);
  notes.insert(notes.end(), input.notes.begin(), input.notes.end());
  if (question.view) check_view(question);
  if (!options.mask.empty()) question.mask = read_mask(options.mask, question);
  if (!options.other.empty()) {
    Input other = read_input(options.other, options.input);
    question.other = std::move(other.batch);
    notes.insert(notes.end(), other.notes.begin(), other.notes.end());
  }
  // The reader has voxelised what was points [T-1]; what is left is to build the batch.
  if (question.op == Op::FromPoints) question.op = Op::FromIjk;
  std::vector<std::string> names;
  for (const auto& file : inputs) names.push_back(file.string());
  question.id = fmt::format("{} {}", options.op, fmt::join(names, " "));
  return question;
}

void check_memory(const Case& question, std::string_view backend) {
  // Per axis, a coordinate c becomes f coordinates (refine) or w (dilation).
  std::array<double, 3> factor{1, 1, 1}, width{1, 1, 1};
  for (std::size_t a = 0; a < 3; ++a) {
    if (question.op == Op::Refine) factor[a] = static_cast<double>(question.factor[a]);
    if (question.op == Op::Dual) width[a] = 2;
    if (question.op == Op::DilateBox)
      width[a] = static_cast<double>(question.hi[a]) - static_cast<double>(question.lo[a]) + 1;
    if (factor[a] < 1 || factor[a] > 1024 || width[a] < 1 || width[a] > 1024)
      return;  // the pass itself refuses it [T-11]
  }

  double voxels_before = 0, voxels_after = 0, leaves_after = 0;
  const auto count = [&](const std::vector<Voxel>& member) {
    if (member.empty()) return;
    double leaves = 0;
    std::array<double, 3> low{1e10, 1e10, 1e10}, high{-1e10, -1e10, -1e10};
    for (std::size_t i = 0; i < member.size(); ++i) {
      const std::array<std::int32_t, 3> c{member[i].x, member[i].y, member[i].z};
      for (std::size_t a = 0; a < 3; ++a) {
        low[a] = std::min(low[a], static_cast<double>(c[a]));
        high[a] = std::max(high[a], static_cast<double>(c[a]));
      }
      const Voxel last = member[i == 0 ? 0 : i - 1];
      if (i == 0 || ((c[0] ^ last.x) | (c[1] ^ last.y) | (c[2] ^ last.z)) >> 3 != 0) leaves += 1;
    }
    // At most: what each voxel or leaf becomes by itself; and what the member's box becomes.
    const auto before = static_cast<double>(member.size());
    double voxels = before, box = 1, box_leaves = 1;
    for (std::size_t a = 0; a < 3; ++a) {
      voxels *= factor[a] * width[a];
      leaves *= factor[a] * (width[a] > 1 ? std::floor((width[a] + 21) / 8) : 1);
      const double extent = (high[a] - low[a] + 1) * factor[a] + width[a] - 1;
      box *= extent;
      box_leaves *= std::floor((extent + 14) / 8);
    }
    leaves = std::min({leaves, voxels, box_leaves});
    voxels_before += before;
    voxels_after += std::min({voxels, box, 512 * leaves});
    leaves_after += leaves;
  };
  if (question.view)
    for (const auto i : *question.view) count(question.source.members[static_cast<std::size_t>(i)]);
  else
    for (const auto& member : question.source.members) count(member);
  if (question.other)
    for (const auto& member : question.other->members) count(member);

  // The references keep lists of voxels, twice while they sort; a builder keeps leaves of 96 bytes,
  // their share of upper nodes, and scratch of the same order. Both hold the input's list.
  const bool lists = backend == "reference" || backend == "brute_force";
  const double bytes = 24 * voxels_before + (lists ? 40 * voxels_after : 0) + 400 * leaves_after;
  const double available = static_cast<double>(free_memory());
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  if (bytes > available)
    refuse(
        ErrorKind::CapacityExceeded, std::string(to_string(question.op)), "memory",
        fmt::format("{:.1f} GiB", bytes / gib),
        fmt::format("the result may have {:.0f} voxels in {:.0f} leaves, and {:.1f} GiB are free",
                    voxels_after, leaves_after, available / gib));
}

}  // namespace leafproof::oracle::cli
