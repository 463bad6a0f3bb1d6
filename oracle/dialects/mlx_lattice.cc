// mlx-lattice: the coarse set is a division, rounded down, of the input; odd kernels are centred,
// even ones anchored at their corner, and the padding moves both [X].
#include "oracle/dialects/all.h"
#include "oracle/dialects/rows.h"

namespace leafproof::oracle::dialects {
namespace {

class MlxLattice : public Dialect {
 public:
  Facts facts() const override {
    return {
        .name = "mlx-lattice",
        .library = "mlx-lattice 0.6",
        .checked = "run against the library",
        .coordinates = "[batch, x, y, z] int32 or int64 of any sign, in units of its own stride",
        .coarse_set = "floor(in/S), whatever K and pad; at S=1, pad=0 the input rows",
        .offsets =
            "forward: K odd D*(t - (K-1)/2) - pad, K even D*t - pad; transposed and "
            "generative: D*t - pad",
        .tap_order = "C order of (tx, ty, tz), z fastest",
        .weights = "[Cout, Kx, Ky, Kz, Cin] or [K^3, Cin, Cout]",
        .limits = {"coordinates beyond 32 bits are refused here",
                   "a tap can meet no coarse row, as with MinkowskiEngine"}};
  }
  std::vector<Kind> kinds() const override {
    return {Kind::Forward, Kind::Transposed, Kind::Submanifold};
  }

  void check(const Layer& layer) const override {
    check_layer(*this, layer, {.padding = layer.kind != Kind::Submanifold});
    if (layer.kind == Kind::Submanifold && layer.stride != Triple{1, 1, 1})
      refuse(ErrorKind::InvalidArgument, "mlx-lattice", "stride", show(layer.stride),
             "the target is the source at stride 1 only");
  }

  std::vector<Triple> taps(const Layer& layer) const override { return last_fastest(layer.size); }

  std::vector<Triple> offsets(const Layer& layer) const override {
    std::vector<Triple> offsets;
    for (const Triple& tap : taps(layer)) {
      Triple& offset = offsets.emplace_back();
      for (std::size_t a = 0; a < 3; ++a) {
        const bool centred = layer.kind != Kind::Transposed && layer.size[a] % 2 == 1;
        const std::int64_t centre = centred ? layer.size[a] / 2 : 0;
        offset[a] = layer.dilation[a] * (tap[a] - centre) - layer.padding[a];
      }
    }
    return offsets;
  }

  Triple our_padding(const Layer& layer) const override {
    Triple padding{0, 0, 0};
    if (layer.kind == Kind::Submanifold) return padding;
    for (std::size_t a = 0; a < 3; ++a)
      if (layer.kind == Kind::Transposed || layer.size[a] % 2 == 0)
        padding[a] = layer.dilation[a] * (layer.size[a] - 1) / 2;
    return padding;
  }

  LayerMap map(const Layer& layer, const Rows& source, const Rows* target) const override {
    check(layer);
    check_rows("mlx-lattice", "source", source);
    if (target != nullptr) check_rows("mlx-lattice", "target", *target);
    const auto looks = offsets(layer);
    const auto fine = [&](const Triple& coarse, std::size_t t) {
      Triple c;
      for (std::size_t a = 0; a < 3; ++a) c[a] = coarse[a] * layer.stride[a] + looks[t][a];
      return std::optional(c);
    };
    if (layer.kind == Kind::Transposed) {
      Rows rows;
      if (target == nullptr)
        for (const Row& row : source)
          for (std::size_t t = 0; t < looks.size(); ++t)
            rows.push_back({row.batch, *fine(row.at, t)});
      rows = target != nullptr ? *target : as_set("mlx-lattice", std::move(rows));
      return pull(source, std::move(rows), looks.size(),
                  [&](const Triple& out, std::size_t t) -> std::optional<Triple> {
                    Triple c;
                    for (std::size_t a = 0; a < 3; ++a) {
                      const std::int64_t from = out[a] - looks[t][a];
                      c[a] = down(from, layer.stride[a]);
                      if (c[a] * layer.stride[a] != from) return {};
                    }
                    return c;
                  });
    }
    Rows rows = target != nullptr ? *target : source;
    if (target == nullptr &&
        (layer.stride != Triple{1, 1, 1} || layer.padding != Triple{0, 0, 0})) {
      for (Row& row : rows)
        for (std::size_t a = 0; a < 3; ++a) row.at[a] = down(row.at[a], layer.stride[a]);
      rows = as_set("mlx-lattice", std::move(rows));
    }
    return pull(source, std::move(rows), looks.size(), fine);
  }

  int weight_forms() const override { return 2; }
  std::vector<std::int64_t> weight_shape(const Layer& layer, const Channels& channels,
                                         int form) const override {
    if (form == 1) return {volume(layer.size), channels.in, channels.out};
    return {channels.out, layer.size[0], layer.size[1], layer.size[2], channels.in};
  }
  std::int64_t weight_place(const Layer& layer, const Channels& channels, std::int64_t co,
                            std::int64_t ci, const Triple& tap, int form) const override {
    const std::int64_t number = number_last_fastest(layer.size, tap);
    if (form == 1) return (number * channels.in + ci) * channels.out + co;
    return (co * volume(layer.size) + number) * channels.in + ci;
  }
};

}  // namespace

std::unique_ptr<Dialect> make_mlx_lattice() {
  return std::make_unique<MlxLattice>();
}

}  // namespace leafproof::oracle::dialects
