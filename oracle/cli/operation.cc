// Parameters of an operation, read strictly: what it does not take is refused, not ignored.
#include "oracle/cli/operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <numeric>
#include <span>

#include "oracle/cli/commands.h"
#include "oracle/cli/conv_files.h"
#include "oracle/cli/terminal.h"
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
                fmt::format("a mask of {} for {}", counted(array.shape()[0], "flag"),
                            counted(rows, "voxel")));
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
  const bool maps = op == Op::KernelMap || op == Op::Convolution;
  const Given options[] = {
      {"--factor", !o.factor.empty(), scales, scales},
      {"--lo", !o.lo.empty(), boxes, boxes},
      {"--hi", !o.hi.empty(), boxes, boxes},
      {"--mask", !o.mask.empty(), op == Op::Prune || op == Op::Refine, op == Op::Prune},
      {"--other", !o.other.empty(), combines, combines},
      {"--view", !o.view.empty(), reads, false},
      {"-K", !o.kernel.empty(), convolves(op), convolves(op)},
      {"-S", !o.stride.empty(), convolves(op), false},
      {"-D", !o.dilation.empty(), convolves(op), false},
      {"--transposed", o.transposed, maps, false},
      {"--dense", o.dense, op == Op::KernelMap, false},
      {"--features", !o.features.empty(), op == Op::Convolution, op == Op::Convolution},
      {"--weights", !o.weights.empty(), op == Op::Convolution, op == Op::Convolution},
      {"--bias", !o.bias.empty(), op == Op::Convolution, false},
      {"--accumulator", !o.accumulator.empty(), op == Op::Convolution, false},
      {"--multiplier", !o.multiplier.empty(), op == Op::Convolution, false},
  };
  for (const Given& option : options) {
    if (option.given && !option.taken)
      refuse(ErrorKind::InvalidArgument, o.op, option.option, "",
             "this operation does not take this option");
    if (option.needed && !option.given)
      refuse(ErrorKind::InvalidArgument, o.op, option.option, "",
             "this operation needs this option");
  }
}

void check_view(const Case& question) {
  for (const auto member : *question.view)
    if (member < 0 || member >= static_cast<std::int64_t>(question.source.size()))
      refuse(ErrorKind::InvalidArgument, std::string(to_string(question.op)), "--view",
             std::to_string(member),
             fmt::format("the batch has {}, counted from 0",
                         counted(question.source.size(), "member")));
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
  auto* resolution =
      command
          .add_option("--resolution", options.resolution,
                      "meshes and points: voxels along the longest side of the box (128)")
          ->check(integer<int>(2));
  const auto positive = [](const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, value);
    if (failed == std::errc{} && stop == end && value > 0 && std::isfinite(value))
      return std::string();
    return fmt::format("must be a positive number, not {}", text);
  };
  command
      .add_option("--voxel-size", options.voxel_size,
                  "meshes and points: the voxel size instead, in world units")
      ->check(CLI::Validator(positive, "", "positive"))
      ->excludes(resolution);
}

void OperationOptions::add_to(CLI::App& command) {
  command
      .add_option(
          "OP", op,
          "the operation: from_ijk, from_points (the input as it stands; points are "
          "voxelised [T-1] when read), refine, coarsen, dilate_box, dual, erode_box, prune, "
          "merge, intersect, subtract, conv_grid, conv_transpose_grid")
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
  add_kernel_to(command);
  add_input_options(command, input);
}

void OperationOptions::add_kernel_to(CLI::App& command) {
  command.add_option("-K,--kernel", kernel, "of a convolution: kernel size, 3 or 3,3,1");
  command.add_option("-S,--stride", stride, "of a convolution: stride (1)");
  command.add_option("-D,--dilation", dilation, "of a convolution: dilation (1)");
}

void OperationOptions::add_map_to(CLI::App& command, bool numbers) {
  command.add_flag("--transposed", transposed, "the source is coarse, the target fine [M-1]");
  if (numbers)
    add_numbers_to(command);
  else
    add_dense_to(command);
}

void OperationOptions::add_judged_to(CLI::App& command) {
  command.add_flag("--transposed", transposed,
                   "kernel-map, convolve: the source is coarse, the target fine [M-1]");
  add_dense_to(command);
  add_numbers_to(command);
  command.add_option("--accumulator", accumulator,
                     "convolve: what the answer was summed in: fp64, fp32, tf32, fp16 (that of the "
                     "features' type)");
  command.add_option("--multiplier", multiplier, "convolve: what it was multiplied in");
}

void OperationOptions::add_dense_to(CLI::App& command) {
  command.add_flag("--dense", dense,
                   "kernel-map: index[tap][target row], -1 where there is no pair [M-4]");
}

void OperationOptions::add_numbers_to(CLI::App& command) {
  command.add_option("--features", features, "a .npy [source rows, Cin]");
  command.add_option("--weights", weights, "a .npy [Cout, Cin, Kx, Ky, Kz]");
  command.add_option("--bias", bias, "a .npy [Cout]");
}

bool OperationOptions::is_of_rows() const {
  return op == "kernel-map" || op == "convolve";
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
  for (const Op op : generated_ops()) known.push_back(to_string(op));
  for (const std::string& name : names) {
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end())
      refuse(ErrorKind::InvalidArgument, "read the command line", "operation", name,
             fmt::format("must be one of {}", fmt::join(known, ", ")));
    const Op op = generated_ops()[static_cast<std::size_t>(at - known.begin())];
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
  }
  return ops;
}

Case make_case(const OperationOptions& options, const std::vector<std::filesystem::path>& inputs,
               std::vector<std::string>& notes) {
  Case question;
  std::string name = options.op == "convolve" ? "convolution" : options.op;
  std::replace(name.begin(), name.end(), '-', '_');  // kernel-map, conv-grid
  question.op = parse_ops({name}).front();
  if (question.op == Op::SubmanifoldIndexMap || question.op == Op::ConvolutionGradients ||
      (convolves(question.op) && !options.is_of_rows() && question.op != Op::ConvGrid &&
       question.op != Op::ConvTransposeGrid))
    refuse(ErrorKind::InvalidArgument, "read the command line", "operation", options.op,
           "maps and numbers are those of `kernel-map` and `convolve`");
  check_options(options, question.op);
  if (!options.kernel.empty()) question.kernel.size = parse_triple("-K", options.kernel);
  if (!options.stride.empty()) question.kernel.stride = parse_triple("-S", options.stride);
  if (!options.dilation.empty()) question.kernel.dilation = parse_triple("-D", options.dilation);
  if (options.transposed) question.direction = Direction::Transposed;
  question.dense = options.dense;
  if (!options.factor.empty()) question.factor = parse_triple("--factor", options.factor);
  if (!options.lo.empty()) question.lo = parse_triple("--lo", options.lo);
  if (!options.hi.empty()) question.hi = parse_triple("--hi", options.hi);
  if (!options.view.empty()) question.view = parse_integers("--view", options.view);

  const bool restricted = options.is_of_rows() && inputs.size() == 2;
  if (options.is_of_rows() && inputs.size() > 2)
    refuse(ErrorKind::InvalidArgument, options.op, "FILES", std::to_string(inputs.size()),
           "must be SOURCE or SOURCE TARGET");
  Input input = options.meshes
                    ? real_scene()
                    : read_input(restricted ? std::vector{inputs[0]} : inputs, options.input);
  question.source = std::move(input.batch);
  notes.insert(notes.end(), input.notes.begin(), input.notes.end());
  if (question.view) check_view(question);
  if (!options.mask.empty()) question.mask = read_mask(options.mask, question);
  if (!options.other.empty()) {
    Input other = read_input(options.other, options.input);
    question.other = std::move(other.batch);
    notes.insert(notes.end(), other.notes.begin(), other.notes.end());
  }
  if (restricted) {
    Input target = read_input({inputs[1]}, options.input);
    question.target = std::move(target.batch);
    notes.insert(notes.end(), target.notes.begin(), target.notes.end());
  }
  if (question.op == Op::Convolution)
    question.operands = read_operands(options.features, options.weights, options.bias);
  // The reader has voxelised what was points [T-1]; what is left is to build the batch.
  if (question.op == Op::FromPoints) question.op = Op::FromIjk;
  std::vector<std::string> names;
  for (const auto& file : inputs) names.push_back(file.string());
  question.id = fmt::format("{} {}", options.op, fmt::join(names, " "));
  return question;
}

namespace {

/// A device or a pipe, which is written to; other files are replaced, which takes the folder.
bool is_written_in_place(const std::filesystem::path& file) {
  std::error_code code;
  return std::filesystem::exists(file, code) && !std::filesystem::is_regular_file(file, code);
}

}  // namespace

void check_output(const FileTask& target) {
  namespace fs = std::filesystem;
  const auto bad = [&](std::string reason) {
    target.refuse(ErrorKind::InvalidArgument, std::move(reason));
  };
  if (target.file == "-") bad("stdout takes no file; name one");
  if (target.file.filename().string().size() > NAME_MAX || target.file.string().size() >= PATH_MAX)
    bad("the name is too long");
  std::error_code code;
  if (target.file.filename().empty() || fs::is_directory(target.file, code))
    bad("is a directory, not a file");
  const bool direct = is_written_in_place(target.file);
  fs::path place = direct ? target.file : fs::weakly_canonical(target.file, code).parent_path();
  if (code || place.empty())
    place = target.file.has_parent_path() ? target.file.parent_path() : ".";
  if (!fs::exists(place, code)) bad("its folder does not exist");
  if (!direct && !fs::is_directory(place, code)) bad("its folder is no folder");
  if (::access(place.c_str(), W_OK) != 0) bad("may not be written");
}

void check_reports(const char* operation, const std::vector<std::filesystem::path>& reports,
                   std::vector<std::filesystem::path> taken) {
  namespace fs = std::filesystem;
  for (const fs::path& report : reports) {
    if (report.empty()) continue;
    const FileTask target{operation, report};
    check_output(target);
    if (is_written_in_place(report)) continue;
    std::error_code code, other;
    for (const fs::path& file : taken) {
      if (file.empty()) continue;
      const bool same = fs::equivalent(report, file, code) ||
                        (fs::weakly_canonical(report, code) == fs::weakly_canonical(file, other) &&
                         !code && !other);
      if (same)
        target.refuse(ErrorKind::InvalidArgument,
                      "is a file that is read or written otherwise: the report would overwrite it");
    }
    taken.push_back(report);
  }
}

namespace {

/// Per axis the coordinates [a,b] become [a*factor+lo, (b+1)*factor-1+hi].
struct Image {
  std::array<std::int64_t, 3> factor{1, 1, 1}, lo{0, 0, 0}, hi{0, 0, 0};
};

constexpr std::array<int, 4> kLevels{0, 3, 7, 12};  // voxel, leaf, lower, upper: log2 of the edge

/// A part of a member: its box, and for every level at most how many nodes its image has.
struct Bound {
  std::array<std::int64_t, 3> low, high;
  std::array<double, 4> nodes;

  /// No more than the box's image touches.
  void limit_to_box(const Image& image) {
    for (std::size_t level = 0; level < 4; ++level) {
      double touched = 1;
      for (std::size_t a = 0; a < 3; ++a) {
        const std::int64_t first = low[a] * image.factor[a] + image.lo[a];
        const std::int64_t last = (high[a] + 1) * image.factor[a] - 1 + image.hi[a];
        touched *= static_cast<double>((last >> kLevels[level]) - (first >> kLevels[level]) + 1);
      }
      nodes[level] = std::min(nodes[level], touched);
    }
  }
};

std::array<std::int64_t, 3> node_of(const Voxel& v, int level) {
  return {v.x >> kLevels[static_cast<std::size_t>(level)],
          v.y >> kLevels[static_cast<std::size_t>(level)],
          v.z >> kLevels[static_cast<std::size_t>(level)]};
}

/// Of voxels in one node of the level above `level` (4: a whole member): the sum over its children,
/// or what its box allows if that is less.
Bound bound_of(std::span<const Voxel> voxels, int level, const Image& image) {
  if (level < 0) {
    const auto at = node_of(voxels.front(), 0);
    const double many = std::numeric_limits<double>::infinity();
    Bound bound{at, at, {many, many, many, many}};
    bound.limit_to_box(image);
    return bound;
  }
  Bound sum{{INT64_MAX, INT64_MAX, INT64_MAX}, {INT64_MIN, INT64_MIN, INT64_MIN}, {0, 0, 0, 0}};
  for (std::size_t begin = 0, end = 0; begin < voxels.size(); begin = end) {
    const auto node = node_of(voxels[begin], level);
    while (end < voxels.size() && node_of(voxels[end], level) == node) ++end;
    const Bound child = bound_of(voxels.subspan(begin, end - begin), level - 1, image);
    for (std::size_t a = 0; a < 3; ++a) {
      sum.low[a] = std::min(sum.low[a], child.low[a]);
      sum.high[a] = std::max(sum.high[a], child.high[a]);
    }
    for (std::size_t i = 0; i < 4; ++i) sum.nodes[i] += child.nodes[i];
  }
  sum.limit_to_box(image);
  return sum;
}

}  // namespace

void check_memory(const Case& question, std::string_view backend) {
  Image image;
  for (std::size_t a = 0; a < 3; ++a) {
    if (question.op == Op::Refine) image.factor[a] = question.factor[a];
    if (question.op == Op::Dual) image.hi[a] = 1;
    if (question.op == Op::DilateBox) {
      image.lo[a] = question.lo[a];
      image.hi[a] = question.hi[a];
    }
    if (convolves(question.op)) {  // no wider than this, at any stride
      const auto& [size, stride, dilation] = question.kernel;
      if (size[a] < 1 || size[a] > 128 || dilation[a] < 1 || dilation[a] > 16 || stride[a] < 1)
        return;
      const bool finer =
          question.op == Op::ConvTransposeGrid || question.direction == Direction::Transposed;
      const std::int64_t reach = dilation[a] * (size[a] - 1), half = reach / 2;
      image.factor[a] = finer ? stride[a] : 1;
      image.lo[a] = finer ? -half : half - reach;
      image.hi[a] = finer ? reach - half : half;
    }
    // Beyond these the pass itself refuses [T-11].
    constexpr std::int64_t far = std::int64_t{1} << 32;
    if (image.factor[a] < 1 || image.factor[a] > 1024 || image.lo[a] < -far || image.hi[a] > far ||
        image.lo[a] > image.hi[a] || image.hi[a] - image.lo[a] > 1023)
      return;
  }
  double before = 0;
  std::array<double, 4> after{};
  const auto count = [&](const std::vector<Voxel>& member) {
    if (member.empty()) return;
    before += static_cast<double>(member.size());
    const Bound bound = bound_of(member, 3, image);
    for (std::size_t i = 0; i < 4; ++i) after[i] += bound.nodes[i];
  };
  if (question.view)
    for (const auto i : *question.view) count(question.source.members[static_cast<std::size_t>(i)]);
  else
    for (const auto& member : question.source.members) count(member);
  if (question.other)
    for (const auto& member : question.other->members) count(member);

  // The nodes of NanoVDB twice, as they are built and as they are written or read back; a builder's
  // scratch per leaf. The references keep lists of voxels, twice while they sort.
  const auto [voxels, leaves, lowers, uppers] = after;
  const double nodes = 96 * leaves + 33856 * lowers + 270400 * uppers;
  const bool lists = backend == "reference" || backend == "brute_force";
  const double bytes = 24 * before + (lists ? 40 * voxels : 0) + 2 * nodes + 200 * leaves;
  const double available = static_cast<double>(free_memory());
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  if (bytes > available)
    refuse(ErrorKind::CapacityExceeded, std::string(to_string(question.op)), "memory",
           fmt::format("{:.0f} bytes ({:.1f} GiB)", bytes, bytes / gib),
           fmt::format("the result may have {:.0f} voxels in {:.0f} leaf, {:.0f} lower and {:.0f} "
                       "upper nodes, and {:.1f} GiB are free",
                       voxels, leaves, lowers, uppers, available / gib));
}

}  // namespace leafproof::oracle::cli
