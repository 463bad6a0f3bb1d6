// LATO.2 for MLX: one layer, submanifold, its taps numbered over (dz, dy, dx) [X].
#include "oracle/dialects/all.h"
#include "oracle/dialects/rows.h"

namespace leafproof::oracle::dialects {
namespace {

class Lato : public Dialect {
 public:
  Facts facts() const override {
    return {.name = "lato",
            .library = "LATO.2 for MLX, SubMConv3d",
            .checked = "run against the library",
            .coordinates = "[batch, z, y, x] int32 of any sign",
            .coarse_set = "none: the target is the input",
            .offsets = "t - floor(K/2), K odd",
            .tap_order = "C order of (dz, dy, dx), x fastest",
            .weights = "[K^3, Cin, Cout]",
            .limits = {"submanifold only: no stride, no dilation, K odd on every axis"}};
  }
  std::array<std::size_t, 3> axes() const override { return {2, 1, 0}; }
  std::vector<Kind> kinds() const override { return {Kind::Submanifold}; }

  void check(const Layer& layer) const override {
    check_layer(*this, layer, {.dilation = false});
    for (std::size_t a = 0; a < 3; ++a)
      if (layer.size[a] % 2 == 0)
        refuse(ErrorKind::Unsupported, "lato", "kernel_size", show(layer.size),
               "must be odd on every axis");
    if (layer.stride != Triple{1, 1, 1})
      refuse(ErrorKind::Unsupported, "lato", "stride", show(layer.stride), "must be 1");
  }

  std::vector<Triple> taps(const Layer& layer) const override { return last_fastest(layer.size); }

  std::vector<Triple> offsets(const Layer& layer) const override {
    std::vector<Triple> offsets;
    for (const auto& [dz, dy, dx] : taps(layer))
      offsets.push_back({dz - layer.size[0] / 2, dy - layer.size[1] / 2, dx - layer.size[2] / 2});
    return offsets;
  }

  LayerMap map(const Layer& layer, const Rows& source, const Rows* target) const override {
    check(layer);
    check_rows("lato", "source", source);
    if (target != nullptr)
      refuse(ErrorKind::Unsupported, "lato", "target", "given", "the target is the source");
    const auto looks = offsets(layer);
    return pull(source, source, looks.size(), [&](const Triple& c, std::size_t t) {
      return std::optional<Triple>({c[0] + looks[t][0], c[1] + looks[t][1], c[2] + looks[t][2]});
    });
  }

  std::vector<std::int64_t> weight_shape(const Layer& layer, const Channels& channels,
                                         int) const override {
    return {volume(layer.size), channels.in, channels.out};
  }
  std::int64_t weight_place(const Layer& layer, const Channels& channels, std::int64_t co,
                            std::int64_t ci, const Triple& tap, int) const override {
    return (number_last_fastest(layer.size, tap) * channels.in + ci) * channels.out + co;
  }
};

}  // namespace

std::unique_ptr<Dialect> make_lato() {
  return std::make_unique<Lato>();
}

}  // namespace leafproof::oracle::dialects
