// Dense convolution as PyTorch has it, read at the voxels of a set: a box 0 ... n-1, an explicit
// padding, and an output box 0 ... m-1 [X].
#include <algorithm>

#include "oracle/dialects/all.h"
#include "oracle/dialects/rows.h"

namespace leafproof::oracle::dialects {
namespace {

class Dense : public Dialect {
 public:
  Facts facts() const override {
    return {.name = "dense",
            .library = "PyTorch conv3d and conv_transpose3d",
            .checked = "run against the library",
            .coordinates = "[batch, x, y, z] of a tensor [N, C, X, Y, Z]: a box 0 ... n-1",
            .coarse_set =
                "the box 0 ... m-1 with m = floor((n + 2*pad - D*(K-1) - 1)/S) + 1; of "
                "it the voxels that some tap joins to the source",
            .offsets = "D*t - pad; with pad = floor(D*(K-1)/2) ours",
            .tap_order = "C order of (tx, ty, tz), z fastest",
            .weights =
                "forward [Cout, Cin, Kx, Ky, Kz]; transposed [Cin, Cout, Kx, Ky, Kz], taps "
                "not flipped",
            .limits = {"transposed: m = (n-1)*S - 2*pad + D*(K-1) + output_padding + 1"}};
  }
  std::vector<Kind> kinds() const override { return {Kind::Forward, Kind::Transposed}; }

  void check(const Layer& layer) const override {
    check_layer(*this, layer,
                {.padding = true, .output_padding = layer.kind == Kind::Transposed, .shape = true});
  }

  std::vector<Triple> taps(const Layer& layer) const override { return last_fastest(layer.size); }

  std::vector<Triple> offsets(const Layer& layer) const override {
    std::vector<Triple> offsets = taps(layer);
    for (Triple& offset : offsets)
      for (std::size_t a = 0; a < 3; ++a)
        offset[a] = layer.dilation[a] * offset[a] - layer.padding[a];
    return offsets;
  }

  Triple our_padding(const Layer& layer) const override {
    Triple padding;
    for (std::size_t a = 0; a < 3; ++a) padding[a] = layer.dilation[a] * (layer.size[a] - 1) / 2;
    return padding;
  }

  LayerMap map(const Layer& layer, const Rows& source, const Rows* target) const override {
    check(layer);
    const Triple in = shape_of(*this, layer), out = output_shape(layer);
    check_inside("source", source, in);
    if (target != nullptr) check_inside("target", *target, out);
    const auto looks = offsets(layer);
    const auto up = [&](const Triple& coarse, std::size_t t) -> std::optional<Triple> {
      Triple fine;
      for (std::size_t a = 0; a < 3; ++a) fine[a] = layer.stride[a] * coarse[a] + looks[t][a];
      return fine;
    };
    const auto down_to = [&](const Triple& fine, std::size_t t) -> std::optional<Triple> {
      Triple coarse;
      for (std::size_t a = 0; a < 3; ++a) {
        const std::int64_t scaled = fine[a] - looks[t][a];
        if (scaled < 0 || scaled % layer.stride[a] != 0) return {};  // the box starts at 0
        coarse[a] = scaled / layer.stride[a];
      }
      return coarse;
    };
    const Partner to_target = layer.kind == Kind::Forward ? Partner(down_to) : Partner(up);
    const Partner to_source = layer.kind == Kind::Forward ? Partner(up) : Partner(down_to);
    Rows rows;
    if (target == nullptr)
      for (const Row& row : source)
        for (std::size_t t = 0; t < looks.size(); ++t)
          if (const auto c = to_target(row.at, t); c && inside(*c, out))
            rows.push_back({row.batch, *c});
    return pull(source, target != nullptr ? *target : as_set("dense", std::move(rows)),
                looks.size(), to_source);
  }

  std::vector<std::int64_t> weight_shape(const Layer& layer, const Channels& channels,
                                         int) const override {
    const bool transposed = layer.kind == Kind::Transposed;
    return {transposed ? channels.in : channels.out, transposed ? channels.out : channels.in,
            layer.size[0], layer.size[1], layer.size[2]};
  }
  std::int64_t weight_place(const Layer& layer, const Channels& channels, std::int64_t co,
                            std::int64_t ci, const Triple& tap, int) const override {
    const std::int64_t first =
        layer.kind == Kind::Transposed ? ci * channels.out + co : co * channels.in + ci;
    return first * volume(layer.size) + number_last_fastest(layer.size, tap);
  }

 private:
  static Triple output_shape(const Layer& layer) {
    Triple m;
    for (std::size_t a = 0; a < 3; ++a) {
      const std::int64_t n = (*layer.shape)[a], reach = layer.dilation[a] * (layer.size[a] - 1);
      m[a] = layer.kind == Kind::Transposed
                 ? (n - 1) * layer.stride[a] - 2 * layer.padding[a] + reach +
                       layer.output_padding[a] + 1
                 : down(n + 2 * layer.padding[a] - reach - 1, layer.stride[a]) + 1;
      if (m[a] < 1)
        refuse(ErrorKind::InvalidArgument, "dense", "spatial_shape", show(*layer.shape),
               "the output's box would be empty");
    }
    return m;
  }
  static bool inside(const Triple& c, const Triple& shape) {
    for (std::size_t a = 0; a < 3; ++a)
      if (c[a] < 0 || c[a] >= shape[a]) return false;
    return true;
  }
  static void check_inside(const char* argument, const Rows& rows, const Triple& shape) {
    check_rows("dense", argument, rows);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!inside(rows[i].at, shape))
        refuse(ErrorKind::InvalidArgument, "dense", argument, show(rows[i].at),
               "must lie in the box of " + show(shape), static_cast<std::int64_t>(i));
  }
};

}  // namespace

std::unique_ptr<Dialect> make_dense() {
  return std::make_unique<Dense>();
}

}  // namespace leafproof::oracle::dialects
