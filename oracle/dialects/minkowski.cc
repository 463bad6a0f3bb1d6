// MinkowskiEngine: coordinates stay in units of the finest voxel, and a tensor stride says how
// coarse a tensor is; even kernels are anchored at their corner [X].
#include "oracle/dialects/all.h"
#include "oracle/dialects/rows.h"

namespace leafproof::oracle::dialects {
namespace {

class Minkowski : public Dialect {
 public:
  Facts facts() const override {
    return {.name = "minkowski",
            .library = "MinkowskiEngine 0.5.4",
            .checked = "run against the library",
            .coordinates =
                "[batch, x, y, z] int32 of any sign, in units of the finest voxel: "
                "multiples of the tensor stride ts",
            .coarse_set = "floor(in/(ts*S))*(ts*S), whatever K is; at S=1 the input set",
            .offsets = "K odd: ts*D*(t - (K-1)/2); K even: ts*D*t; ts of the fine side",
            .tap_order = "(tx, ty, tz) with x fastest",
            .weights = "[K^3, Cin, Cout]; K=S=1: [Cin, Cout]",
            .limits = {"no padding",
                       "a tap can meet no coarse row: with K=S=3 the corner voxels of a block are "
                       "in no pair",
                       "transposed: onto given rows, or generative, onto all that taps reach"}};
  }
  std::vector<Kind> kinds() const override {
    return {Kind::Forward, Kind::Transposed, Kind::Submanifold};
  }

  void check(const Layer& layer) const override {
    check_layer(*this, layer, {.tensor_stride = true});
    if (layer.kind == Kind::Submanifold && layer.stride != Triple{1, 1, 1})
      refuse(ErrorKind::InvalidArgument, "minkowski", "stride", show(layer.stride),
             "the target is the source at stride 1 only");
  }

  std::vector<Triple> taps(const Layer& layer) const override { return first_fastest(layer.size); }

  std::vector<Triple> offsets(const Layer& layer) const override {
    std::vector<Triple> offsets;
    for (const Triple& tap : taps(layer)) {
      Triple& offset = offsets.emplace_back();
      for (std::size_t a = 0; a < 3; ++a) {
        const std::int64_t k = layer.size[a];
        const std::int64_t from = k % 2 == 1 ? tap[a] - (k - 1) / 2 : tap[a];
        offset[a] = layer.tensor_stride[a] * layer.dilation[a] * from;
      }
    }
    return offsets;
  }

  // Coordinates are in finest voxels on both sides.
  Triple step(const Layer&) const override { return {1, 1, 1}; }
  Triple fine_unit(const Layer& layer) const override { return layer.tensor_stride; }
  Triple coarse_unit(const Layer& layer) const override {
    Triple unit = layer.tensor_stride;
    for (std::size_t a = 0; a < 3; ++a) unit[a] *= layer.stride[a];
    return unit;
  }

  LayerMap map(const Layer& layer, const Rows& source, const Rows* target) const override {
    check(layer);
    const bool to_fine = layer.kind == Kind::Transposed;
    const Triple fine = fine_unit(layer), coarse = coarse_unit(layer);
    check_multiples("source", source, to_fine ? coarse : fine);
    if (target != nullptr) check_multiples("target", *target, to_fine ? fine : coarse);
    const auto looks = offsets(layer);
    const auto moved = [&](const Triple& c, std::size_t t, std::int64_t sign) {
      return Triple{c[0] + sign * looks[t][0], c[1] + sign * looks[t][1],
                    c[2] + sign * looks[t][2]};
    };
    Rows rows;
    if (target != nullptr) {
      rows = *target;
    } else if (to_fine) {
      for (const Row& row : source)
        for (std::size_t t = 0; t < looks.size(); ++t)
          rows.push_back({row.batch, moved(row.at, t, 1)});
      rows = as_set("minkowski", std::move(rows));
    } else if (layer.stride == Triple{1, 1, 1}) {
      rows = source;
    } else {
      for (Row row : source) {
        for (std::size_t a = 0; a < 3; ++a) row.at[a] = down(row.at[a], coarse[a]) * coarse[a];
        rows.push_back(row);
      }
      rows = as_set("minkowski", std::move(rows));
    }
    return pull(source, std::move(rows), looks.size(), [&](const Triple& out, std::size_t t) {
      return std::optional(moved(out, t, to_fine ? -1 : 1));
    });
  }

  std::vector<std::int64_t> weight_shape(const Layer& layer, const Channels& channels,
                                         int) const override {
    if (volume(layer.size) == 1 && layer.stride == Triple{1, 1, 1})
      return {channels.in, channels.out};
    return {volume(layer.size), channels.in, channels.out};
  }
  std::int64_t weight_place(const Layer& layer, const Channels& channels, std::int64_t co,
                            std::int64_t ci, const Triple& tap, int) const override {
    return (number_first_fastest(layer.size, tap) * channels.in + ci) * channels.out + co;
  }

 private:
  static void check_multiples(const char* argument, const Rows& rows, const Triple& unit) {
    check_rows("minkowski", argument, rows);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t a = 0; a < 3; ++a)
        if (rows[i].at[a] % unit[a] != 0)
          refuse(ErrorKind::InvalidArgument, "minkowski", argument, show(rows[i].at),
                 "must be multiples of the tensor stride " + show(unit),
                 static_cast<std::int64_t>(i));
  }
};

}  // namespace

std::unique_ptr<Dialect> make_minkowski() {
  return std::make_unique<Minkowski>();
}

}  // namespace leafproof::oracle::dialects
