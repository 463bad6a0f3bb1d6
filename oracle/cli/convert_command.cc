// `leafproof convert`: voxel lists and weights between a dialect [X] and ours.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "oracle/cli/commands.h"
#include "oracle/cli/conv_files.h"
#include "oracle/cli/dialect_options.h"
#include "oracle/cli/operation.h"
#include "oracle/cli/terminal.h"
#include "oracle/dialects/rows.h"
#include "oracle/input/atomic_file.h"
#include "oracle/input/npz.h"
#include "oracle/input/voxel_lists.h"

namespace leafproof::oracle::cli {

void add_explain(CLI::App& app, int& exit_code);  // explain_command.cc

namespace {

using namespace dialects;

struct Options {
  DialectOptions dialect;
  InputOptions input;
  std::filesystem::path file, output, order;
  std::string shift;
  std::int64_t members = -1;
  int form = 0;
  bool weights = false, to_ours = false, coarse = false;
};

[[noreturn]] void refuse_option(const char* option, std::string reason) {
  throw reference::Error(ErrorKind::InvalidArgument, {.operation = "convert",
                                                      .argument = option,
                                                      .value = "",
                                                      .reason = std::move(reason),
                                                      .member = {},
                                                      .row = {}});
}

std::string columns(const Dialect& dialect) {
  std::string text = "batch";
  for (const std::size_t axis : dialect.axes()) text += fmt::format(", {}", "xyz"[axis]);
  return text;
}

std::string triple_text(const Triple& t) {
  return fmt::format("{},{},{}", t[0], t[1], t[2]);
}

Batch shifted(Batch batch, const Triple& by) {
  for (std::size_t m = 0; m < batch.size(); ++m) {
    for (auto& v : batch.members[m]) {
      const Triple c{v.x + by[0], v.y + by[1], v.z + by[2]};
      for (const std::int64_t x : c)
        if (x < std::numeric_limits<std::int32_t>::min() ||
            x > std::numeric_limits<std::int32_t>::max())
          throw reference::Error(ErrorKind::OutOfRange,
                                 {.operation = "convert",
                                  .argument = "--shift",
                                  .value = triple_text(by),
                                  .reason = fmt::format("({}) would leave 32 bits", triple_text(c)),
                                  .member = static_cast<std::int64_t>(m),
                                  .row = {}});
      v = {static_cast<std::int32_t>(c[0]), static_cast<std::int32_t>(c[1]),
           static_cast<std::int32_t>(c[2])};
    }
  }
  return batch;
}

Triple shift_of(const Options& o) {
  if (o.shift.empty()) return {0, 0, 0};
  const Triple shift = parse_triple("--shift", o.shift);
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  for (const std::int64_t by : shift)
    if (by < -kMost || by > kMost) refuse_option("--shift", "no voxel could be moved so far");
  return shift;
}

int rows_from_ours(const Options& o) {
  const Dialect& dialect = o.dialect.dialect();
  const Layer layer = o.dialect.layer();
  const Input input = read_input({o.file}, o.input);
  for (const auto& note : input.notes) say(note);
  const Triple unit = o.coarse ? dialect.coarse_unit(layer) : dialect.fine_unit(layer);
  const Rows rows = rows_of(dialect, shifted(input.batch, shift_of(o)), unit);
  const std::string name = dialect.facts().name;
  const bool from_zero = name == "spconv" || name == "dense" || name.starts_with("torchsparse");
  std::vector<std::int32_t> values;
  Triple low{0, 0, 0}, high{0, 0, 0};
  for (const auto& row : rows) {
    values.push_back(static_cast<std::int32_t>(row.batch));
    for (std::size_t a = 0; a < 3; ++a) {
      values.push_back(static_cast<std::int32_t>(row.at[a]));
      low[a] = std::min(low[a], row.at[a]);
      high[a] = std::max(high[a], row.at[a] + 1);
    }
  }
  if (from_zero && low != Triple{0, 0, 0}) {
    const Triple least = to_xyz(dialect, low);
    refuse_option("--shift", fmt::format("{} has no negative coordinates and the lowest are ({}): "
                                         "shift by multiples of the stride that lift them",
                                         name, triple_text(least)));
  }
  write_file({"write rows", o.output}, npy_bytes("<i4", {rows.size(), 4}, values));
  fmt::print("{}: {} [{}] of {}{}\n", plain(o.output.string()), counted(rows.size(), "row"),
             columns(dialect), counted(input.batch.size(), "member"),
             from_zero ? fmt::format("; spatial shape at least ({})", triple_text(high)) : "");
  return kEqual;
}

int rows_to_ours(const Options& o) {
  const Dialect& dialect = o.dialect.dialect();
  const Layer layer = o.dialect.layer();
  const FileTask task{"read rows", o.file};
  const FileBytes bytes = read_file(task);
  const NpyArray array(task, "the array", bytes.bytes);
  if (!(array.is('i', 4) || array.is('i', 8)) || array.shape().size() != 2 || array.shape()[1] != 4)
    task.refuse(ErrorKind::InvalidArgument,
                fmt::format("rows are int32 or int64 of shape (N, 4): [{}]; this is {} of shape {}",
                            columns(dialect), array.type(), array.shape_text()));
  if (array.shape()[0] > o.input.max_voxels)
    task.refuse(ErrorKind::CapacityExceeded, fmt::format("has {} rows, more than the limit of {}",
                                                         array.shape()[0], o.input.max_voxels));
  constexpr std::int64_t kMostMembers = 1 << 20;
  Rows rows;
  std::int64_t members = 0;
  for (std::uint64_t i = 0; i < array.shape()[0]; ++i) {
    rows.push_back(
        {array.integer(i, 0), {array.integer(i, 1), array.integer(i, 2), array.integer(i, 3)}});
    members = std::max(members, std::min(rows.back().batch, kMostMembers) + 1);
  }
  if (o.members >= 0) members = o.members;
  if (members > kMostMembers)
    task.refuse(ErrorKind::CapacityExceeded,
                fmt::format("a batch of more than {} members", kMostMembers));
  const Triple unit = o.coarse ? dialect.coarse_unit(layer) : dialect.fine_unit(layer);
  FromRows made = batch_of(dialect, rows, members, unit);
  Triple back = shift_of(o);
  if (!o.order.empty() && back != Triple{0, 0, 0}) {
    // The order is that of the shifted voxels: shift first, so that rows are numbered after it.
    Rows moved = rows_of(dialect, shifted(made.batch, {-back[0], -back[1], -back[2]}), {1, 1, 1});
    const FromRows again = batch_of(dialect, moved, members, {1, 1, 1});
    std::vector<std::int64_t> order;
    for (const std::int64_t i : again.order)
      order.push_back(made.order[static_cast<std::size_t>(i)]);
    made = {again.batch, std::move(order)};
    back = {0, 0, 0};
  }
  write_voxel_npz(o.output, shifted(made.batch, {-back[0], -back[1], -back[2]}));
  if (!o.order.empty())
    write_file({"write the order of rows", o.order},
               npy_bytes("<i8", {made.order.size()}, made.order));
  fmt::print("{}: {} of {}\n", plain(o.output.string()), counted(rows.size(), "voxel"),
             counted(made.batch.size(), "member"));
  return kEqual;
}

int convert_weights(const Options& o) {
  const Dialect& dialect = o.dialect.dialect();
  const Layer layer = o.dialect.layer();
  NumberType type{};
  const Array read = read_array(o.file, &type);
  if (o.form < 0 || o.form >= dialect.weight_forms())
    refuse_option("--form",
                  fmt::format("{} has {} of weights, counted from 0", dialect.facts().name,
                              counted(static_cast<std::uint64_t>(dialect.weight_forms()), "form")));
  const Array made = o.to_ours ? weights_to_ours(dialect, layer, read)
                               : weights_from_ours(dialect, layer, read, o.form);
  write_array(o.output, made, type);
  fmt::print("{}: weights [{}]\n", plain(o.output.string()), fmt::join(made.shape, ", "));
  return kEqual;
}

int run(const Options& o) {
  check_output({"convert", o.output});
  if (!o.order.empty()) check_output({"convert", o.order});
  const bool rows_back = o.to_ours && !o.weights;
  if (!o.order.empty() && !rows_back)
    refuse_option("--order", "is of rows that become ours (--to-ours)");
  if (o.members >= 0 && !rows_back)
    refuse_option("--members", "is of rows that become ours (--to-ours)");
  if (o.weights && !o.shift.empty()) refuse_option("--shift", "is of rows, not of weights");
  if (o.weights && o.coarse) refuse_option("--coarse", "is of rows, not of weights");
  if (o.form != 0 && (!o.weights || o.to_ours))
    refuse_option("--form", "is of weights that leave ours");
  if (o.weights) return convert_weights(o);
  return o.to_ours ? rows_to_ours(o) : rows_from_ours(o);
}

}  // namespace

void add_dialects(CLI::App& app, int& exit_code) {
  add_explain(app, exit_code);
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("convert", "voxel lists and weights between another library and ours");
  command->description(
      "Converts FILE into the dialect of another library [X], or with --to-ours out of it. A voxel "
      "list: any input file of ours becomes int32 rows [N,4] in a .npy, and such rows a .npz. With "
      "--weights: [Cout, Cin, Kx, Ky, Kz] of a .npy and the library's layout for the layer that "
      "-K, -S, -D and --transposed describe; the type of numbers stays.");
  options->dialect.add_to(*command);
  command->add_option("FILE", options->file, "what is converted")->required();
  command->add_option("-o,--output", options->output, "the file to write")->required();
  command->add_flag("--to-ours", options->to_ours, "FILE is the library's");
  command->add_flag("--weights", options->weights, "FILE holds weights, not voxels");
  command->add_flag("--coarse", options->coarse,
                    "rows of the coarse side, where units depend on the tensor stride");
  command->add_option("--shift", options->shift,
                      "x,y,z added to our voxels on their way there, taken off on the way back: "
                      "multiples of the stride keep every relation");
  command
      ->add_option("--members", options->members,
                   "how many the batch has (default: one more than the largest batch index)")
      ->check(integer<std::int64_t>(0));
  command->add_option("--order", options->order,
                      "also write int64 [N]: the row of FILE that is our canonical row i, by which "
                      "features are taken along");
  command->add_option("--form", options->form, "of weights, where the library takes several (0)")
      ->check(integer<int>(0));
  add_input_options(*command, options->input);
  command->footer(
      "\nExamples:\n"
      "  leafproof convert spconv fine.nvdb -o indices.npy --shift 64,64,64\n"
      "  leafproof convert minkowski coords.npy --to-ours --order order.npy -o batch.npz\n"
      "  leafproof convert minkowski w.npy --weights -K 3 -S 2 -o theirs.npy");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace leafproof::oracle::cli
