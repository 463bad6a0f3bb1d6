// See surface.h.
#include "oracle/input/surface.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace leafproof::oracle {
namespace {

constexpr double spacing = 0.25;  // voxels
// Samples per voxel beyond which the surface must overlap itself, or the voxels exceed any budget:
// a square voxel of surface takes 16.
constexpr double samples_per_voxel = 64;

Point operator+(const Point& a, const Point& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
Point operator-(const Point& a, const Point& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
Point operator*(const Point& a, double f) {
  return {a[0] * f, a[1] * f, a[2] * f};
}
double length(const Point& a) {
  return std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}
Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

double steps(double distance) {
  return std::max(1.0, std::ceil(distance / spacing));
}

// As [T-1]: halves upward. By truncation, because std::floor is a call on plain x86-64.
std::int32_t nearest(double x) {
  auto below = static_cast<std::int64_t>(x);
  below -= static_cast<double>(below) > x;
  return static_cast<std::int32_t>(below + (x - static_cast<double>(below) >= 0.5));
}

void sample_segment(const Point& from, const Point& to, VoxelSet& voxels) {
  const double count = steps(length(to - from));
  const Point step = (to - from) * (1 / count);
  Voxel last{};
  for (double i = 0; i <= count; ++i) {
    const Point p = from + step * i;
    const Voxel v{nearest(p[0]), nearest(p[1]), nearest(p[2])};
    if (i > 0 && v == last) continue;
    voxels.insert(v);
    last = v;
  }
}

// A triangle turned so that `base[0] base[1]` is its longest side; sampled in rows along that side.
struct Rows {
  Point base[2], apex;
  double count, base_length;

  explicit Rows(const Triangle& t) {
    std::size_t longest = 0;
    double best = -1;
    for (std::size_t i = 0; i < 3; ++i) {
      const double side = length(t[(i + 1) % 3] - t[i]);
      if (side > best) {
        best = side;
        longest = i;
      }
    }
    base[0] = t[longest];
    base[1] = t[(longest + 1) % 3];
    apex = t[(longest + 2) % 3];
    base_length = best;
    const double height = best > 0 ? length(cross(base[1] - base[0], apex - base[0])) / best : 0;
    count = steps(height);
  }

  double samples() const { return (count + 1) * (steps(base_length) + 1) / 2; }

  void sample(VoxelSet& voxels) const {
    // Rows get shorter towards the apex; the two other sides close the gaps at their ends.
    for (double i = 0; i <= count; ++i) {
      const double t = i / count;
      sample_segment(base[0] + (apex - base[0]) * t, base[1] + (apex - base[1]) * t, voxels);
    }
    sample_segment(base[0], apex, voxels);
    sample_segment(base[1], apex, voxels);
  }
};

}  // namespace

void sample_surface(const FileTask& task, std::span<const Triangle> triangles, const Map& map,
                    std::uint64_t max_voxels, VoxelSet& voxels) {
  const auto to_index = [&map](const Triangle& triangle) {
    Triangle result;
    for (std::size_t corner = 0; corner < 3; ++corner) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        result[corner][axis] = (triangle[corner][axis] - map.origin[axis]) / map.voxel_size[axis];
      }
    }
    return result;
  };
  double samples = 0;
  for (std::size_t i = 0; i < triangles.size(); ++i) {
    const Triangle triangle = to_index(triangles[i]);
    for (const Point& corner : triangle) {
      for (const double c : corner) {
        if (!(c >= std::numeric_limits<std::int32_t>::min() &&
              c <= std::numeric_limits<std::int32_t>::max())) {
          task.refuse(
              ErrorKind::OutOfRange,
              fmt::format("triangle {} has a corner at voxel coordinate {}, outside 32 bits", i,
                          c));
        }
      }
    }
    samples += Rows(triangle).samples();
  }
  if (samples >
      samples_per_voxel * static_cast<double>(std::max(max_voxels, std::uint64_t{1024}))) {
    task.refuse(ErrorKind::CapacityExceeded,
                fmt::format("its surface takes {:.0f} samples, about {:.0f} voxels, more than the "
                            "limit of {}",
                            samples, samples / 16, max_voxels));
  }
  for (const Triangle& triangle : triangles) {
    Rows(to_index(triangle)).sample(voxels);
    check_budget(task, voxels.count(), max_voxels);
  }
}

Map surface_map(const FileTask& task, std::span<const Triangle> triangles,
                const InputOptions& options) {
  Point lo{}, hi{};
  if (!triangles.empty()) lo = hi = triangles[0][0];
  for (const Triangle& triangle : triangles) {
    for (const Point& corner : triangle) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        lo[axis] = std::min(lo[axis], corner[axis]);
        hi[axis] = std::max(hi[axis], corner[axis]);
      }
    }
  }
  return fitted_map(task, lo, hi, options);
}

void append_surface(const FileTask& task, std::span<const Triangle> triangles,
                    const InputOptions& options, Input& input) {
  const Map map = surface_map(task, triangles, options);
  VoxelSet voxels;
  sample_surface(task, triangles, map, options.max_voxels, voxels);
  append_member(
      task, input, voxels.canonical(), map, member_name(task.file),
      fmt::format("{} {}, {}", task.file.filename().string(), scale_text(options), sampling_text));
  input.notes.push_back(triangles.empty()
                            ? task.file.string() + ": holds no triangle"
                            : fmt::format("{}: {}", task.file.string(), sampling_note));
}

}  // namespace leafproof::oracle
