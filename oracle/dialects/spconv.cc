// spconv: each input row pushes itself to the outputs of its taps; outputs outside the new spatial
// shape are dropped [X].
#include <algorithm>

#include "oracle/dialects/all.h"
#include "oracle/dialects/rows.h"

namespace leafproof::oracle::dialects {
namespace {

class Spconv : public Dialect {
 public:
  Facts facts() const override {
    return {.name = "spconv",
            .library = "spconv 2.3",
            .checked = "run against the library",
            .coordinates = "[batch, z, y, x] int32, meant for 0 ... spatial_shape-1",
            .coarse_set =
                "(in + pad - D*t)/S where divisible, cropped to 0 ... "
                "(shape + 2*pad - D*(K-1) - 1)/S",
            .offsets = "D*t - pad, with the pad that is given; submanifold D*(t - (K-1)/2)",
            .tap_order = "C order of (tz, ty, tx), x fastest",
            .weights = "[Cout, Kz, Ky, Kx, Cin]; K=1 at S=1: that memory read as [Cin, Cout]",
            .limits = {"transposed: cropped to 0 ... (shape-1)*S - 2*pad + K + output_padding - 1, "
                       "without D",
                       "submanifold: K odd; its pad and stride are ignored",
                       "inverse: the pairs of a stored forward layer, swapped"}};
  }
  std::array<std::size_t, 3> axes() const override { return {2, 1, 0}; }
  std::vector<Kind> kinds() const override {
    return {Kind::Forward, Kind::Transposed, Kind::Inverse, Kind::Submanifold};
  }

  void check(const Layer& layer) const override {
    check_layer(*this, layer,
                {.padding = true, .output_padding = layer.kind == Kind::Transposed, .shape = true});
    if (layer.kind == Kind::Submanifold)
      for (const std::int64_t k : layer.size)
        if (k % 2 == 0)
          refuse(ErrorKind::Unsupported, "spconv", "kernel_size", show(layer.size),
                 "must be odd on every axis of a submanifold layer");
  }

  std::vector<Triple> taps(const Layer& layer) const override { return last_fastest(layer.size); }

  std::vector<Triple> offsets(const Layer& layer) const override {
    const bool centred = layer.kind == Kind::Submanifold;
    std::vector<Triple> offsets;
    for (const Triple& tap : taps(layer)) {
      Triple& offset = offsets.emplace_back();
      for (std::size_t a = 0; a < 3; ++a)
        offset[a] = centred ? layer.dilation[a] * (tap[a] - (layer.size[a] - 1) / 2)
                            : layer.dilation[a] * tap[a] - layer.padding[a];
    }
    return offsets;
  }

  Triple step(const Layer& layer) const override {
    return layer.kind == Kind::Submanifold ? Triple{1, 1, 1} : layer.stride;
  }

  Triple our_padding(const Layer& layer) const override {
    Triple padding{0, 0, 0};
    if (layer.kind != Kind::Submanifold)
      for (std::size_t a = 0; a < 3; ++a) padding[a] = layer.dilation[a] * (layer.size[a] - 1) / 2;
    return padding;
  }

  LayerMap map(const Layer& layer, const Rows& source, const Rows* target) const override {
    check(layer);
    if (layer.kind == Kind::Inverse) return swapped_forward(*this, layer, source, target);
    if (target != nullptr)
      refuse(ErrorKind::Unsupported, "spconv", "target", "given",
             "this library makes its target set itself");
    check_rows("spconv", "source", source);
    check_inside(shape_of(*this, layer), source);
    const auto all = taps(layer);
    if (layer.kind == Kind::Submanifold) {
      const auto looks = offsets(layer);
      return pull(source, source, all.size(), [&](const Triple& out, std::size_t t) {
        return std::optional<Triple>(
            {out[0] + looks[t][0], out[1] + looks[t][1], out[2] + looks[t][2]});
      });
    }
    struct Push {
      std::size_t tap;
      std::int64_t from;
      Row to;
    };
    std::vector<Push> pushes;
    Rows made;
    const Triple last = last_index(layer);
    for (std::size_t t = 0; t < all.size(); ++t)
      for (std::size_t i = 0; i < source.size(); ++i)
        if (const auto out = output_of(layer, source[i].at, all[t], last)) {
          pushes.push_back({t, static_cast<std::int64_t>(i), {source[i].batch, *out}});
          made.push_back(pushes.back().to);
        }
    LayerMap map{as_set("spconv", std::move(made)), {}};
    map.pairs.resize(all.size());
    const Found found(map.target);
    for (const Push& push : pushes) map.pairs[push.tap].push_back({push.from, found(push.to)});
    for (auto& pairs : map.pairs)
      std::ranges::sort(pairs, {}, [](const auto& pair) { return pair[1]; });
    return map;
  }

  std::vector<std::int64_t> weight_shape(const Layer& layer, const Channels& channels,
                                         int) const override {
    return {channels.out, layer.size[0], layer.size[1], layer.size[2], channels.in};
  }
  std::int64_t weight_place(const Layer& layer, const Channels& channels, std::int64_t co,
                            std::int64_t ci, const Triple& tap, int) const override {
    // A matrix product of the rows with the memory viewed as [Cin, Cout].
    const bool product = volume(layer.size) == 1 &&
                         (layer.kind == Kind::Submanifold || layer.stride == Triple{1, 1, 1});
    if (product) return ci * channels.out + co;
    return (co * volume(layer.size) + number_last_fastest(layer.size, tap)) * channels.in + ci;
  }

 private:
  static void check_inside(const Triple& shape, const Rows& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t a = 0; a < 3; ++a)
        if (rows[i].at[a] < 0 || rows[i].at[a] >= shape[a])
          refuse(ErrorKind::InvalidArgument, "spconv", "source", show(rows[i].at),
                 "must lie in 0 ... spatial_shape-1 of " + show(shape),
                 static_cast<std::int64_t>(i));
  }

  /// The last index of the output's shape, whose division is that of C.
  static Triple last_index(const Layer& layer) {
    Triple last;
    for (std::size_t a = 0; a < 3; ++a) {
      const std::int64_t n = (*layer.shape)[a], pad = layer.padding[a], k = layer.size[a],
                         s = layer.stride[a];
      last[a] = layer.kind == Kind::Transposed
                    ? (n - 1) * s - 2 * pad + k + layer.output_padding[a] - 1
                    : (n + 2 * pad - layer.dilation[a] * (k - 1) - 1) / s;
    }
    return last;
  }

  static std::optional<Triple> output_of(const Layer& layer, const Triple& in, const Triple& tap,
                                         const Triple& last) {
    Triple out;
    for (std::size_t a = 0; a < 3; ++a) {
      const std::int64_t reach = layer.dilation[a] * tap[a];
      if (layer.kind == Kind::Transposed) {
        out[a] = layer.stride[a] * in[a] + reach - layer.padding[a];
      } else {
        const std::int64_t from_corner = in[a] + layer.padding[a] - reach;
        if (from_corner % layer.stride[a] != 0) return {};
        out[a] = from_corner / layer.stride[a];
      }
      if (out[a] < 0 || out[a] > last[a]) return {};
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<Dialect> make_spconv() {
  return std::make_unique<Spconv>();
}

}  // namespace leafproof::oracle::dialects
