// fVDB: one relation for topology and execution, fine = S * coarse + t - floor((K - 1) / 2) [X].
#include "oracle/dialects/all.h"
#include "oracle/dialects/rows.h"

namespace leafproof::oracle::dialects {
namespace {

class Fvdb : public Dialect {
 public:
  Facts facts() const override {
    return {
        .name = "fvdb",
        .library = "fVDB 0.6",
        .checked = "run against the library",
        .coordinates = "ijk int32 of any sign; a JaggedTensor keeps the batch index beside them",
        .coarse_set = "every coarse voxel that some tap joins to a fine voxel of the source",
        .offsets = "t - floor((K-1)/2) per axis",
        .tap_order = "C order of (tx, ty, tz), z fastest",
        .weights = "[Cout, Cin, Kx, Ky, Kz]",
        .limits = {"no dilation", "the order of pairs within a tap is not fixed"}};
  }
  std::vector<Kind> kinds() const override {
    return {Kind::Forward, Kind::Transposed, Kind::Submanifold};
  }

  void check(const Layer& layer) const override {
    check_layer(*this, layer, {.dilation = false});
    if (layer.kind == Kind::Submanifold && layer.stride != Triple{1, 1, 1})
      refuse(ErrorKind::InvalidArgument, "fvdb", "stride", show(layer.stride),
             "the target is the source at stride 1 only");
  }

  std::vector<Triple> taps(const Layer& layer) const override { return last_fastest(layer.size); }

  std::vector<Triple> offsets(const Layer& layer) const override {
    std::vector<Triple> offsets = taps(layer);
    for (Triple& offset : offsets)
      for (std::size_t a = 0; a < 3; ++a) offset[a] -= (layer.size[a] - 1) / 2;
    return offsets;
  }

  LayerMap map(const Layer& layer, const Rows& source, const Rows* target) const override {
    check(layer);
    check_rows("fvdb", "source", source);
    if (target != nullptr) check_rows("fvdb", "target", *target);
    const auto looks = offsets(layer);
    const auto fine = [&](const Triple& coarse, std::size_t t) {
      Triple c;
      for (std::size_t a = 0; a < 3; ++a) c[a] = layer.stride[a] * coarse[a] + looks[t][a];
      return c;
    };
    const auto coarse = [&](const Triple& at, std::size_t t) -> std::optional<Triple> {
      Triple c;
      for (std::size_t a = 0; a < 3; ++a) {
        const std::int64_t multiple = at[a] - looks[t][a];
        if (multiple % layer.stride[a] != 0) return {};
        c[a] = multiple / layer.stride[a];  // exact, so rounding does not matter
      }
      return c;
    };
    if (layer.kind == Kind::Submanifold) return pull(source, source, looks.size(), fine);
    const bool forward = layer.kind == Kind::Forward;
    Rows made;
    if (target == nullptr)
      for (const Row& row : source)
        for (std::size_t t = 0; t < looks.size(); ++t)
          if (const auto c = forward ? coarse(row.at, t) : std::optional(fine(row.at, t)))
            made.push_back({row.batch, *c});
    Rows rows = target != nullptr ? *target : as_set("fvdb", std::move(made));
    if (forward) return pull(source, std::move(rows), looks.size(), fine);
    return pull(source, std::move(rows), looks.size(), coarse);
  }

  std::vector<std::int64_t> weight_shape(const Layer& layer, const Channels& channels,
                                         int) const override {
    return {channels.out, channels.in, layer.size[0], layer.size[1], layer.size[2]};
  }
  std::int64_t weight_place(const Layer& layer, const Channels& channels, std::int64_t co,
                            std::int64_t ci, const Triple& tap, int) const override {
    return (co * channels.in + ci) * volume(layer.size) + number_last_fastest(layer.size, tap);
  }
};

}  // namespace

std::unique_ptr<Dialect> make_fvdb() {
  return std::make_unique<Fvdb>();
}

}  // namespace leafproof::oracle::dialects
