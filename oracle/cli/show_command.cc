// `leafproof show`: what is in a file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "oracle/cli/commands.h"
#include "oracle/cli/operation.h"
#include "oracle/cli/picture.h"
#include "oracle/cli/terminal.h"
#include "oracle/input/input.h"
#include "oracle/layout_view.h"
#include "oracle/nanovdb_format.h"

namespace leafproof::oracle::cli {
namespace {

using nlohmann::json;
using reference::Box;
using reference::Grid;

struct Options {
  std::filesystem::path file;
  std::optional<std::int64_t> only;  // show this member alone
  std::string axis = "z";
  std::optional<std::int64_t> slice;
  int columns = 78, lines = 24;
  bool ascii = false, json = false;
  InputOptions input;
};

/// Fields of a stored header that a Layout does not hold.
struct Header {
  std::uint32_t version = 0, grid_class = 0, type = 0;
  std::uint64_t checksum = 0;
};

struct Shown {
  Layout layout;
  std::vector<Header> headers;  // of a file of ValueOnIndex grids; none for other files
  std::vector<std::string> notes;
};

std::optional<Header> header_of(std::span<const std::byte> grid) {
  using format::GridData;
  if (grid.size() < GridData::size) return {};
  return Header{format::load<std::uint32_t>(&grid[GridData::version.at]),
                format::load<std::uint32_t>(&grid[GridData::grid_class.at]),
                format::load<std::uint32_t>(&grid[GridData::grid_type.at]),
                format::load<std::uint64_t>(&grid[GridData::checksum.at])};
}

/// A .nvdb of ValueOnIndex grids as it is stored; nullopt when some grid is of another type, which
/// the readers of files turn into voxels.
std::optional<Shown> show_stored(const std::filesystem::path& file) {
  const GridBuffer buffer = read_nvdb(file);
  Shown shown;
  for (std::size_t i = 0; i + 1 < buffer.offsets.size(); ++i) {
    if (buffer.offsets[i] > buffer.bytes.size()) return {};
    const auto header = header_of(buffer.bytes.subspan(buffer.offsets[i]));
    if (!header || header->type != format::type_on_index) return {};
    shown.headers.push_back(*header);
  }
  shown.layout = read_layout(buffer);
  return shown;
}

Shown show_file(const Options& options) {
  if (options.file.extension() == ".nvdb")
    if (auto shown = show_stored(options.file)) return std::move(*shown);
  Input input = read_input({options.file}, options.input);
  Case question;  // showing it is building it
  question.id = "show";
  question.source = std::move(input.batch);
  check_memory(question, "show");
  Shown shown;
  shown.layout = reference::layout_of(question.source);
  shown.notes = std::move(input.provenance);
  shown.notes.insert(shown.notes.end(), input.notes.begin(), input.notes.end());
  return shown;
}

std::string text(const Voxel& v) {
  return fmt::format("({},{},{})", v.x, v.y, v.z);
}
std::string text(const std::array<double, 3>& t) {
  return fmt::format("({},{},{})", t[0], t[1], t[2]);
}

/// Bytes that are not UTF-8 would make the JSON invalid.
std::string valid_utf8(const std::string& name) {
  return json(name).dump(-1, ' ', false, json::error_handler_t::replace);
}

void print_grid(const Grid& grid, const Header* header) {
  fmt::print("member {} of {}: \"{}\"\n", grid.index, grid.count, plain(grid.name));
  if (grid.box)
    fmt::print("  {} in {} to {}; {}, {} lower, {}, {}\n", counted(grid.voxel_count, "voxel"),
               text(grid.box->min), text(grid.box->max),
               counted(grid.leaves.size(), "leaf", "leaves"), grid.lowers.size(),
               counted(grid.uppers.size(), "upper node"), counted(grid.tiles.size(), "root tile"));
  else
    fmt::print("  empty\n");
  fmt::print("  voxel size {}, origin {}; {} bytes, flags {:#x}\n", text(grid.map.voxel_size),
             text(grid.map.origin), grid.byte_size, grid.flags);
  if (header != nullptr)
    fmt::print(
        "  NanoVDB {}.{}.{}, type {}, class {}, checksum {}\n", format::major_of(header->version),
        header->version >> 10 & 2047, header->version & 1023, header->type, header->grid_class,
        header->checksum == format::no_checksum ? "none" : fmt::format("{:#x}", header->checksum));
}

json json_of(const Shown& shown) {
  json members = json::array();
  for (std::size_t i = 0; i < shown.layout.grids.size(); ++i) {
    const Grid& grid = shown.layout.grids[i];
    const auto corner = [](const Voxel& v) { return json{v.x, v.y, v.z}; };
    json member{{"name", json::parse(valid_utf8(grid.name))},
                {"index", grid.index},
                {"count", grid.count},
                {"voxels", grid.voxel_count},
                {"box", grid.box ? json{corner(grid.box->min), corner(grid.box->max)} : json()},
                {"node_counts", {grid.leaves.size(), grid.lowers.size(), grid.uppers.size()}},
                {"root_tiles", grid.tiles.size()},
                {"voxel_size", grid.map.voxel_size},
                {"origin", grid.map.origin},
                {"bytes", grid.byte_size},
                {"flags", grid.flags}};
    if (i < shown.headers.size()) {
      member["version"] = shown.headers[i].version;
      member["type"] = shown.headers[i].type;
      member["class"] = shown.headers[i].grid_class;
      member["checksum"] = shown.headers[i].checksum;
    }
    members.push_back(std::move(member));
  }
  std::vector<std::string> notes;
  for (const auto& note : shown.notes) notes.push_back(plain(note));
  return {{"members", members}, {"notes", notes}};
}

[[noreturn]] void refuse(const char* option, std::string value, std::string reason) {
  throw Error(ErrorKind::InvalidArgument, {.operation = "show",
                                           .argument = option,
                                           .value = std::move(value),
                                           .reason = std::move(reason),
                                           .member = {},
                                           .row = {}});
}

void print_picture(const Options& options, const Layout& layout) {
  std::int64_t member = options.only.value_or(-1);  // else the first that is not empty
  for (std::size_t i = 0; member < 0 && i < layout.grids.size(); ++i)
    if (layout.grids[i].box) member = static_cast<std::int64_t>(i);
  if (member < 0) return;  // nothing but empty members
  const Batch batch = batch_of(layout);
  const int axis = options.axis == "x" ? 0 : options.axis == "y" ? 1 : 2;
  fmt::print("\nmember {}, ", member);
  for (const auto& line :
       draw_slice(batch.members[static_cast<std::size_t>(member)], axis, options.slice,
                  options.columns, options.lines, !options.ascii && speaks_utf8()))
    fmt::print("{}\n", line);
}

int run(const Options& options) {
  if (options.axis != "x" && options.axis != "y" && options.axis != "z")
    refuse("--axis", options.axis, "must be x, y or z");
  const Shown shown = show_file(options);
  const auto members = static_cast<std::int64_t>(shown.layout.grids.size());
  if (options.only && *options.only >= members)
    refuse("--member", std::to_string(*options.only),
           fmt::format("the file has {}, counted from 0",
                       counted(static_cast<std::uint64_t>(members), "member")));
  if (options.json) {
    std::cout << json_of(shown).dump(2) << "\n";
    return kEqual;
  }
  fmt::print("{}: {}, {}, {}\n", plain(options.file.string()),
             counted(static_cast<std::uint64_t>(members), "member"),
             counted(shown.layout.voxel_offsets.back(), "voxel"),
             counted(shown.layout.leaf_offsets.back(), "leaf", "leaves"));
  for (const auto& note : shown.notes) fmt::print("  {}\n", plain(note));
  constexpr std::size_t kListed = 20;
  for (std::size_t i = 0; i < shown.layout.grids.size(); ++i) {
    if (i == kListed && !options.only) {
      fmt::print("... and {} more (--member N, --json)\n", shown.layout.grids.size() - kListed);
      break;
    }
    if (!options.only || static_cast<std::size_t>(*options.only) == i)
      print_grid(shown.layout.grids[i], i < shown.headers.size() ? &shown.headers[i] : nullptr);
  }
  print_picture(options, shown.layout);
  return kEqual;
}

}  // namespace

void add_show(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("show", "what is in a file, with a picture of a slice");
  command->description(
      "Prints the members of a file, their counts, boxes, node counts and header fields, and a "
      "slice of one of them. ValueOnIndex .nvdb files are shown as stored; all others as the "
      "voxels "
      "that the readers make of them.");
  command->add_option("FILE", options->file, "what to show")->required();
  command->add_option("--member", options->only, "only this member")
      ->check(integer<std::int64_t>(0));
  command->add_option("--axis", options->axis, "the slice is seen along x, y or z (z)");
  command
      ->add_option("--slice", options->slice, "the coordinate of the slice (where most voxels are)")
      ->check(integer(std::numeric_limits<std::int64_t>::min()));
  command->add_option("--columns", options->columns, "width of the picture (78)")
      ->check(integer(8, 1000));
  command->add_option("--lines", options->lines, "height of the picture (24)")
      ->check(integer(4, 1000));
  command->add_flag("--ascii", options->ascii, "draw with # and . only");
  command->add_flag("--json", options->json, "print all of it as JSON, without the picture");
  add_input_options(*command, options->input);
  command->footer(
      "\nExamples:\n"
      "  leafproof show animals.nvdb\n"
      "  leafproof show animals.nvdb --member 3 --axis y --slice 40\n"
      "  leafproof show bunny.obj --resolution 64 --ascii");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace leafproof::oracle::cli
