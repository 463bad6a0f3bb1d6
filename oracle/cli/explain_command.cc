// `leafproof explain`: where each tap of another library looks, beside where ours does, and how its
// coordinates, sets and weights become ours.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "oracle/cli/commands.h"
#include "oracle/cli/dialect_options.h"
#include "oracle/dialects/rows.h"
#include "reference/conv_relation.h"
#include "reference/conv_support.h"
#include "reference/passes.h"

namespace leafproof::oracle::cli {
namespace {

using namespace dialects;
using reference::Direction;
using reference::Kernel;

constexpr std::size_t kTableRows = 64;
constexpr std::size_t kPictureColumns = 11;

bool is_coarse_source(Kind kind) {
  return kind == Kind::Transposed || kind == Kind::Inverse;
}

/// The layer as one of ours: K, S, D by x, y, z.
Kernel kernel_of(const Dialect& dialect, const Layer& layer) {
  const bool same = layer.kind == Kind::Submanifold;
  return {.size = to_xyz(dialect, layer.size),
          .stride = same ? Triple{1, 1, 1} : to_xyz(dialect, layer.stride),
          .dilation = to_xyz(dialect, layer.dilation)};
}

/// Where tap n looks, seen from S * coarse, by x, y, z: theirs in voxels of the fine side.
struct Look {
  Triple tap, at;
};
std::vector<Look> looks_of(const Dialect& dialect, const Layer& layer) {
  const auto taps = dialect.taps(layer);
  const auto offsets = dialect.offsets(layer);
  const Triple unit = dialect.fine_unit(layer);
  std::vector<Look> looks;
  for (std::size_t t = 0; t < taps.size(); ++t) {
    Triple at = offsets[t];
    for (std::size_t a = 0; a < 3; ++a) at[a] /= unit[a];
    looks.push_back({to_xyz(dialect, taps[t]), to_xyz(dialect, at)});
  }
  return looks;
}
std::vector<Look> our_looks(const Kernel& kernel) {
  std::vector<Look> looks;
  for (std::int64_t n = 0; n < reference::tap_count(kernel); ++n) {
    const Triple tap = reference::tap_of(kernel, n);
    looks.push_back({tap, reference::fine_of(kernel, {0, 0, 0}, tap)});
  }
  return looks;
}

/// A label and its text, wrapped at words.
void line(std::string_view label, std::string_view text) {
  constexpr std::size_t kWidth = 86;
  while (text.size() > kWidth) {
    const std::size_t space = text.rfind(' ', kWidth);
    if (space == text.npos) break;
    fmt::print("{:<13} {}\n", label, text.substr(0, space));
    text.remove_prefix(space + 1);
    label = {};
  }
  fmt::print("{:<13} {}\n", label, text);
}

std::string names(const Dialect& dialect) {
  std::string text;
  for (const std::size_t axis : dialect.axes()) text += fmt::format(", {}", "xyz"[axis]);
  return fmt::format("[batch{}]", text);
}

void print_facts(const Facts& facts) {
  fmt::print("{}: {}; {}\n\n", facts.name, facts.library, facts.checked);
  line("coordinates", facts.coordinates);
  line("coarse set", facts.coarse_set);
  line("taps look at", facts.offsets);
  line("tap order", facts.tap_order);
  line("weights", facts.weights);
  for (std::size_t i = 0; i < facts.limits.size(); ++i)
    line(i == 0 ? "limits" : "", facts.limits[i]);
}

std::string shape_text(const Dialect& dialect, const Layer& layer, int form) {
  constexpr Channels kMarked{1'000'003, 1'000'033};
  std::vector<std::string> axes;
  for (const std::int64_t n : dialect.weight_shape(layer, kMarked, form))
    axes.push_back(n == kMarked.out ? "Cout" : n == kMarked.in ? "Cin" : std::to_string(n));
  return fmt::format("[{}]", fmt::join(axes, ", "));
}

void print_layer(const Dialect& dialect, const Layer& layer) {
  const Kernel kernel = kernel_of(dialect, layer);
  fmt::print("\nThis layer: {}, K = {}, S = {}, D = {} by (x,y,z)", to_string(layer.kind),
             show(kernel.size), show(to_xyz(dialect, layer.stride)), show(kernel.dilation));
  if (layer.padding != Triple{0, 0, 0})
    fmt::print(", padding = {}", show(to_xyz(dialect, layer.padding)));
  fmt::print("\n");
  // One voxel there and back, on either side; of a library that has no negative ones, another.
  const Batch one = reference::from_ijk({{}, {{1, 2, 3}}});
  const auto row = [&](const Triple& unit) {
    const auto made = rows_of(dialect, one, unit).front();
    return fmt::format("[{}, {}, {}, {}]", made.batch, made.at[0], made.at[1], made.at[2]);
  };
  const Triple fine = dialect.fine_unit(layer), coarse = dialect.coarse_unit(layer);
  line("a voxel", fmt::format("(1,2,3) of member 1 is the row {} as {}{}", row(fine),
                              names(dialect), fine == coarse ? "" : " on the fine side"));
  if (fine != coarse) line("", fmt::format("and {} on the coarse side", row(coarse)));
  std::vector<std::string> shapes;
  for (int form = 0; form < dialect.weight_forms(); ++form)
    shapes.push_back(shape_text(dialect, layer, form));
  line("weights", fmt::format("{}; ours are [Cout, Cin, {}, {}, {}]", fmt::join(shapes, " or "),
                              kernel.size[0], kernel.size[1], kernel.size[2]));
}

void print_taps(const std::vector<Look>& theirs, const std::vector<Look>& ours,
                const std::vector<std::size_t>& numbers, bool all) {
  fmt::print(
      "\nWhere tap n looks, by (x,y,z): fine = S * coarse + this\n"
      "  theirs  tap         looks at      ours  tap         looks at\n");
  std::vector<std::size_t> our_number(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) our_number[numbers[n]] = n;
  const std::size_t shown = all ? theirs.size() : std::min(theirs.size(), kTableRows);
  for (std::size_t t = 0; t < shown; ++t) {
    const Look& mine = ours[our_number[t]];
    fmt::print("  {:>6}  {:<10}  {:<12}  {:>4}  {:<10}  {}{}\n", t, show(theirs[t].tap),
               show(theirs[t].at), our_number[t], show(mine.tap), show(mine.at),
               mine.at == theirs[t].at ? "" : "  elsewhere");
  }
  if (shown < theirs.size()) fmt::print("  ... and {} more (--all)\n", theirs.size() - shown);
}

void print_comparison(const std::vector<Look>& theirs, const std::vector<Look>& ours,
                      const std::vector<std::size_t>& numbers) {
  bool same_places = true, same_numbers = true;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    same_places = same_places && theirs[numbers[n]].at == ours[n].at;
    same_numbers = same_numbers && numbers[n] == n;
  }
  fmt::print("Every tap looks where ours looks [K-1]: {}. They are numbered as ours [K-2]: {}.\n",
             same_places ? "yes" : "no", same_numbers ? "yes" : "no");
}

/// Numbers of taps where they look, in the plane of the middle z, x to the right, y upward.
std::vector<std::string> picture(const std::string& title, const std::vector<Look>& looks) {
  std::set<std::int64_t> xs, ys, zs;
  for (const Look& look : looks) {
    xs.insert(look.at[0]);
    ys.insert(look.at[1]);
    zs.insert(look.at[2]);
  }
  const std::int64_t z =
      zs.contains(0) ? 0 : *std::next(zs.begin(), static_cast<std::ptrdiff_t>((zs.size() - 1) / 2));
  // S * coarse is in the picture, marked by brackets.
  const std::int64_t left = std::min<std::int64_t>(0, *xs.begin()),
                     right = std::max<std::int64_t>(0, *xs.rbegin()),
                     low = std::min<std::int64_t>(0, *ys.begin()),
                     high = std::max<std::int64_t>(0, *ys.rbegin());
  if (right - left >= static_cast<std::int64_t>(kPictureColumns) ||
      high - low >= 2 * static_cast<std::int64_t>(kPictureColumns))
    return {};
  std::map<std::array<std::int64_t, 2>, std::size_t> number;
  for (std::size_t t = 0; t < looks.size(); ++t)
    if (looks[t].at[2] == z) number[{looks[t].at[0], looks[t].at[1]}] = t;
  std::vector<std::string> rows{fmt::format("{}, z = {}", title, z)};
  for (std::int64_t y = high; y >= low; --y) {
    std::string text = fmt::format("y={:<4}", y);
    for (std::int64_t x = left; x <= right; ++x) {
      const auto at = number.find({x, y});
      const std::string cell = at == number.end() ? "." : std::to_string(at->second);
      const bool origin = x == 0 && y == 0;
      text += origin ? fmt::format("[{:>3}]", cell) : fmt::format(" {:>3} ", cell);
    }
    rows.push_back(text);
  }
  std::string below = "x=    ";
  for (std::int64_t x = left; x <= right; ++x) below += fmt::format(" {:>3} ", x);
  rows.push_back(below);
  return rows;
}

void print_pictures(const std::vector<Look>& theirs, const std::vector<Look>& ours) {
  const auto left = picture("theirs", theirs), right = picture("ours", ours);
  if (left.empty() || right.empty()) {
    fmt::print("\n(The kernel is too wide for a picture.)\n");
    return;
  }
  fmt::print("\nNumbers of taps where they look; [ ] is S * coarse\n");
  std::size_t width = 0;
  for (const auto& text : left) width = std::max(width, text.size());
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string mine = i < left.size() ? left[i] : "";
    const std::string other = i < right.size() ? right[i] : "";
    const std::string text = fmt::format("  {:<{}}    {}", mine, width, other);
    fmt::print("{}\n", text.substr(0, text.find_last_not_of(' ') + 1));
  }
}

std::string list(const std::vector<std::int64_t>& numbers) {
  return numbers.empty() ? "none" : fmt::format("{}", fmt::join(numbers, " "));
}

/// What voxels on the x axis alone make, theirs and ours.
void print_sets(const Dialect& dialect, const Layer& layer) {
  if (layer.kind == Kind::Submanifold || layer.kind == Kind::Inverse) return;
  const auto x_only = [&](const Triple& columns, std::int64_t other) {
    const Triple xyz = to_xyz(dialect, columns);
    return to_columns(dialect, {xyz[0], other, other});
  };
  Layer flat = layer;
  flat.size = x_only(layer.size, 1);
  flat.stride = x_only(layer.stride, 1);
  flat.dilation = x_only(layer.dilation, 1);
  flat.padding = x_only(layer.padding, 0);
  flat.output_padding = x_only(layer.output_padding, 0);
  const bool up = is_coarse_source(layer.kind);
  const std::int32_t count = up ? 2 : 6;
  std::vector<reference::Voxel> voxels;
  for (std::int32_t x = 0; x < count; ++x) voxels.push_back({x, 0, 0});
  const Batch source = reference::from_ijk({voxels});
  std::string note;
  const std::string name = dialect.facts().name;
  if (name == "spconv" || name == "dense") {  // whose sets depend on a shape
    flat.shape = to_columns(dialect, {count, 1, 1});
    note = fmt::format(" (with the spatial shape {} along x)", count);
  }
  const Rows rows =
      rows_of(dialect, source, up ? dialect.coarse_unit(flat) : dialect.fine_unit(flat));
  Batch made;
  try {
    made = batch_of(dialect, dialect.map(flat, rows, nullptr).target, 1,
                    up ? dialect.fine_unit(flat) : dialect.coarse_unit(flat))
               .batch;
  } catch (const reference::Error& error) {  // a box that would be empty
    fmt::print("\nOf {} voxels along x: {}\n", count, error.what());
    return;
  }
  const Batch wanted = reference::complete_target(source, kernel_of(dialect, flat),
                                                  up ? Direction::Transposed : Direction::Forward);
  const auto along_x = [](const Batch& batch) {
    std::vector<std::int64_t> xs;
    for (const auto& v : batch.members.front()) xs.push_back(v.x);
    std::ranges::sort(xs);
    return list(xs);
  };
  fmt::print("\nThe {} set of the voxels 0 ... {} along x{}\n  theirs  {}\n  ours    {}\n",
             up ? "fine" : "coarse", count - 1, note, along_x(made), along_x(wanted));
}

int run(const DialectOptions& options, bool all) {
  const Dialect& dialect = options.dialect();
  const Layer layer = options.layer();
  const Kernel kernel = kernel_of(dialect, layer);
  const auto theirs = looks_of(dialect, layer), ours = our_looks(kernel);
  const auto numbers = tap_numbers(dialect, layer);
  print_facts(dialect.facts());
  print_layer(dialect, layer);
  print_taps(theirs, ours, numbers, all);
  print_comparison(theirs, ours, numbers);
  print_pictures(theirs, ours);
  print_sets(dialect, layer);
  return kEqual;
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DialectOptions>();
  auto all = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("explain", "where the taps of another library look, beside ours");
  command->description(
      "Prints the conventions of another library [X]: coordinates, coarse set, order of taps, "
      "weights; and for one layer where each tap looks, beside where ours looks [K-1], with a "
      "picture. Without --padding the padding is the one that is ours where the library takes "
      "one.");
  options->add_to(*command);
  command->add_flag("--all", *all, "print every tap, not only the first 64");
  command->footer(
      "\nExamples:\n"
      "  leafproof explain spconv -K 3 -S 2\n"
      "  leafproof explain minkowski -K 4 -S 2 --transposed --tensor-stride 2");
  command->callback([options, all, &exit_code] { exit_code = run(*options, *all); });
}

}  // namespace leafproof::oracle::cli
