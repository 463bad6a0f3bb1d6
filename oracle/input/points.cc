// See points.h; the .ply reader is in ply.cc.
#include "oracle/input/points.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "reference/passes.h"

namespace leafproof::oracle {
namespace {

constexpr int max_resolution = 1 << 20;

bool is_separator(char c) {
  return c == ' ' || c == '\t' || c == ',' || c == '\r';
}

// The next number of a line; false when there is none.
bool take_number(std::string_view& line, double& value) {
  while (!line.empty() && is_separator(line.front())) line.remove_prefix(1);
  if (line.starts_with('+')) line.remove_prefix(1);
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (code != std::errc{}) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return line.empty() || is_separator(line.front());
}

bool is_blank(std::string_view line) {
  while (!line.empty() && is_separator(line.front())) line.remove_prefix(1);
  return line.empty();
}

}  // namespace

std::vector<Point> read_xyz(const FileTask& task) {
  const FileBytes file = read_file(task);
  std::string_view text = as_text(file.bytes);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  std::vector<Point> points;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    std::string_view line = whole.substr(0, whole.find('#'));
    if (is_blank(line)) continue;
    Point point;
    for (double& coordinate : point) {
      if (!take_number(line, coordinate)) {
        task.refuse(ErrorKind::Corrupt, fmt::format("line {} does not begin with three numbers: {}",
                                                    number, printable(whole)));
      }
    }
    points.push_back(point);
  }
  return points;
}

Map fitted_map(const FileTask& task, const Point& lo, const Point& hi,
               const InputOptions& options) {
  Map map;
  if (options.voxel_size > 0) {
    map.voxel_size.fill(options.voxel_size);
    return map;
  }
  if (options.resolution < 2 || options.resolution > max_resolution) {
    task.refuse(ErrorKind::InvalidArgument,
                fmt::format("cannot be voxelised at resolution {}; 2 to {}", options.resolution,
                            max_resolution));
  }
  double longest = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) longest = std::max(longest, hi[axis] - lo[axis]);
  const double size = longest / (options.resolution - 1);
  if (!std::isfinite(size)) {
    task.refuse(ErrorKind::OutOfRange, "its bounding box is longer than a double can say");
  }
  map.voxel_size.fill(size > 0 ? size : 1);  // a single point has no size of its own
  map.origin = lo;
  return map;
}

std::string scale_text(const InputOptions& options) {
  return options.voxel_size > 0 ? fmt::format("at voxel size {}", options.voxel_size)
                                : fmt::format("at {}", options.resolution);
}

void append_points(const FileTask& task, const std::vector<Point>& points,
                   const InputOptions& options, Input& input) {
  check_budget(task, points.size(), options.max_voxels);
  Point lo{}, hi{};
  for (std::size_t row = 0; row < points.size(); ++row) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double c = points[row][axis];
      if (!std::isfinite(c)) {
        task.refuse(ErrorKind::InvalidArgument,
                    fmt::format("{} = {} is not finite", "xyz"[axis], c), {},
                    static_cast<std::int64_t>(row));
      }
      lo[axis] = row == 0 ? c : std::min(lo[axis], c);
      hi[axis] = row == 0 ? c : std::max(hi[axis], c);
    }
  }
  const Map map = fitted_map(task, lo, hi, options);
  Batch batch;
  try {
    batch = reference::from_points({points}, {map});
  } catch (const Error& error) {  // what it says of a row, said of the file
    task.refuse(error.kind(),
                error.detail().argument + " " + error.detail().value + ": " + error.detail().reason,
                error.detail().member, error.detail().row);
  }
  append_member(task, input, std::move(batch.members[0]), map, member_name(task.file),
                fmt::format("{} {}, {} {}", task.file.filename().string(), scale_text(options),
                            points.size(), points.size() == 1 ? "point" : "points"));
}

}  // namespace leafproof::oracle
