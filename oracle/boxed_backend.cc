// See boxed_backend.h.
#include "oracle/boxed_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace leafproof::oracle {
namespace {

/// A box in doubles: parameters and points from outside may be as large as they like.
struct Hull {
  std::array<double, 3> low, high;
  Hull() {
    low.fill(std::numeric_limits<double>::infinity());
    high.fill(-std::numeric_limits<double>::infinity());
  }
  void take(const std::array<double, 3>& c) {
    for (std::size_t a = 0; a < 3; ++a) {
      low[a] = std::min(low[a], c[a]);
      high[a] = std::max(high[a], c[a]);
    }
  }
  void take(const std::vector<Voxel>& voxels) {
    for (const Voxel v : voxels)
      take({static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)});
  }
};

/// Cells of the hull after `c -> c * factor + width - 1` per axis; 0 when empty.
double cells_of(const Hull& hull, const std::array<double, 3>& factor,
                const std::array<double, 3>& width) {
  double cells = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    if (!(hull.low[a] <= hull.high[a])) return 0;
    cells *= (hull.high[a] - hull.low[a] + 1) * factor[a] + width[a] - 1;
  }
  return cells;
}

}  // namespace

double box_cells(const Case& c) {
  std::array<double, 3> factor{1, 1, 1}, width{1, 1, 1};
  double taps = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    if (c.op == Op::Refine) factor[a] = static_cast<double>(c.factor[a]);
    if (c.op == Op::Dual) width[a] = 2;
    if (c.op == Op::DilateBox || c.op == Op::ErodeBox)
      width[a] = static_cast<double>(c.hi[a]) - static_cast<double>(c.lo[a]) + 1;
    if (convolves(c.op)) {  // beyond the limits of [K-7] it is refused anyway
      const double k = std::clamp(static_cast<double>(c.kernel.size[a]), 1.0, 128.0);
      const double s = std::clamp(static_cast<double>(c.kernel.stride[a]), 1.0, 64.0);
      const double d = std::clamp(static_cast<double>(c.kernel.dilation[a]), 1.0, 16.0);
      const bool finer = c.op == Op::ConvTransposeGrid || c.direction == Direction::Transposed;
      factor[a] = finer ? s : 1 / s;
      width[a] = 1 + d * (k - 1) * (finer ? 1 : factor[a]);
      taps *= k;
    }
  }
  // A map, and a transposed grid, ask voxels instead of cells.
  if (c.op != Op::ConvGrid) taps = 1;
  double cells = 0;
  const std::size_t members = c.view ? c.view->size() : c.source.size();
  for (std::size_t m = 0; m < members; ++m) {
    Hull hull;
    const std::int64_t i = c.view ? (*c.view)[m] : static_cast<std::int64_t>(m);
    if (i < 0 || i >= static_cast<std::int64_t>(c.source.size())) continue;  // refused anyway
    const auto index = static_cast<std::size_t>(i);
    hull.take(c.source.members[index]);
    if (c.other && m < c.other->size()) hull.take(c.other->members[m]);
    if (c.target && m < c.target->size()) {
      Hull target;  // a box of its own
      target.take(c.target->members[m]);
      cells += cells_of(target, {1, 1, 1}, {1, 1, 1});
    }
    if (c.op == Op::FromPoints && index < c.points.size())
      for (const Point& p : c.points[index]) {
        Point voxel{};
        for (std::size_t a = 0; a < 3; ++a) voxel[a] = p[a] / c.source.maps[index].voxel_size[a];
        hull.take(voxel);
      }
    cells += cells_of(hull, {1, 1, 1}, {1, 1, 1});
    if (factor != std::array<double, 3>{1, 1, 1} || width != std::array<double, 3>{1, 1, 1})
      cells += taps * cells_of(hull, factor, width);
  }
  return cells;
}

namespace {

class Boxed : public Backend {
 public:
  Boxed(std::unique_ptr<Backend> inner, std::int64_t cells)
      : inner_(std::move(inner)), cells_(cells) {}
  std::string_view name() const override { return inner_->name(); }
  std::string_view description() const override { return inner_->description(); }
  Answer answer(const Case& question) const override {
    const double cells = box_cells(question);
    if (cells > static_cast<double>(cells_))
      return NotImplemented{
          fmt::format("a box of {} cells does not suffice: it would take {:.3g}", cells_, cells)};
    return inner_->answer(question);
  }

 private:
  std::unique_ptr<Backend> inner_;
  std::int64_t cells_;
};

}  // namespace

std::unique_ptr<Backend> make_boxed(std::unique_ptr<Backend> inner, std::int64_t cells) {
  return std::make_unique<Boxed>(std::move(inner), cells);
}

}  // namespace leafproof::oracle
