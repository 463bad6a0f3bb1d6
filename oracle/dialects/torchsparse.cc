// TorchSparse: at stride 1 the target is the input, even for even kernels; what a stride makes, and
// where the taps of an even kernel look, depends on how the map is made [X].
#include <algorithm>

#include "oracle/dialects/all.h"
#include "oracle/dialects/rows.h"

namespace leafproof::oracle::dialects {
namespace {

class TorchSparse : public Dialect {
 public:
  explicit TorchSparse(TorchSparseMode mode) : mode_(mode) {}

  Facts facts() const override {
    const bool fly = mode_ == TorchSparseMode::OnTheFly;
    const bool minkowski = mode_ == TorchSparseMode::HashmapMinkowski;
    const std::string images =
        "(in + pad - t)/S where divisible, cropped to 0 ... "
        "floor((max + 2*pad - (K-1))/S), max over all members";
    return {
        .name = name(),
        .library = fly         ? "TorchSparse 2.1 (default: hashmap_on_the_fly)"
                   : minkowski ? "TorchSparse 2.1 (kmap mode hashmap, downsample minkowski)"
                               : "TorchSparse 2.1 (kmap mode hashmap)",
        .checked = "read in its source",
        .coordinates = "[batch, x, y, z] int32, not negative unless that is allowed",
        .coarse_set = "S=1: the input set, even K too; S>1: " +
                      (fly         ? images
                       : minkowski ? std::string("floor(in/S)")
                                   : "floor(in/S) where S is 1 or K on every axis, else " + images),
        .offsets = fly ? "S=1: K odd on every axis t - (K-1)/2, else t; S>1: t - pad"
                       : "t - floor((K-1)/2)",
        .tap_order = "K odd on every axis: x fastest; else z fastest",
        .weights = "[K^3, Cin, Cout]",
        .limits = {"dilation is taken and ignored", "negative coordinates are refused here",
                   "inverse (its `transposed`): the pairs of a stored forward layer, swapped"}};
  }
  std::vector<Kind> kinds() const override {
    return {Kind::Forward, Kind::Inverse, Kind::Submanifold};
  }

  void check(const Layer& layer) const override {
    check_layer(*this, layer, {.padding = true});
    if (layer.kind == Kind::Submanifold && strided(layer))
      refuse(ErrorKind::InvalidArgument, name(), "stride", show(layer.stride),
             "the target is the source at stride 1 only");
  }

  std::vector<Triple> taps(const Layer& layer) const override {
    return odd(layer) ? first_fastest(layer.size) : last_fastest(layer.size);
  }

  std::vector<Triple> offsets(const Layer& layer) const override {
    std::vector<Triple> offsets = taps(layer);
    for (Triple& offset : offsets)
      for (std::size_t a = 0; a < 3; ++a) {
        if (mode_ != TorchSparseMode::OnTheFly)
          offset[a] -= (layer.size[a] - 1) / 2;
        else if (strided(layer))
          offset[a] -= layer.padding[a];
        else if (odd(layer))
          offset[a] -= layer.size[a] / 2;
      }
    return offsets;
  }

  Triple our_padding(const Layer& layer) const override {
    Triple padding{0, 0, 0};
    if (mode_ == TorchSparseMode::OnTheFly && strided(layer))
      for (std::size_t a = 0; a < 3; ++a) padding[a] = (layer.size[a] - 1) / 2;
    return padding;
  }

  LayerMap map(const Layer& layer, const Rows& source, const Rows* target) const override {
    check(layer);
    if (layer.kind == Kind::Inverse) return swapped_forward(*this, layer, source, target);
    if (target != nullptr)
      refuse(ErrorKind::Unsupported, name(), "target", "given",
             "this library makes its target set itself");
    check_rows(name(), "source", source);
    for (std::size_t i = 0; i < source.size(); ++i)
      if (std::ranges::min(source[i].at) < 0)
        refuse(ErrorKind::Unsupported, name(), "source", show(source[i].at), "must not be negative",
               static_cast<std::int64_t>(i));
    const auto looks = offsets(layer);
    return pull(source, target_set(layer, source), looks.size(),
                [&](const Triple& out, std::size_t t) {
                  Triple in;
                  for (std::size_t a = 0; a < 3; ++a)
                    in[a] = layer.stride[a] * out[a] + looks[t][a];
                  return std::optional(in);
                });
  }

  std::vector<std::int64_t> weight_shape(const Layer& layer, const Channels& channels,
                                         int) const override {
    return {volume(layer.size), channels.in, channels.out};
  }
  std::int64_t weight_place(const Layer& layer, const Channels& channels, std::int64_t co,
                            std::int64_t ci, const Triple& tap, int) const override {
    const std::int64_t number =
        odd(layer) ? number_first_fastest(layer.size, tap) : number_last_fastest(layer.size, tap);
    return (number * channels.in + ci) * channels.out + co;
  }

 private:
  std::string name() const {
    return mode_ == TorchSparseMode::OnTheFly  ? "torchsparse"
           : mode_ == TorchSparseMode::Hashmap ? "torchsparse-hashmap"
                                               : "torchsparse-minkowski";
  }
  static bool odd(const Layer& layer) { return volume(layer.size) % 2 == 1; }
  static bool strided(const Layer& layer) { return layer.stride != Triple{1, 1, 1}; }

  bool by_floor(const Layer& layer) const {
    if (mode_ != TorchSparseMode::Hashmap) return mode_ == TorchSparseMode::HashmapMinkowski;
    for (std::size_t a = 0; a < 3; ++a)
      if (layer.stride[a] != 1 && layer.stride[a] != layer.size[a]) return false;
    return true;
  }

  Rows target_set(const Layer& layer, const Rows& source) const {
    if (!strided(layer)) return source;
    Rows rows;
    if (by_floor(layer)) {
      for (Row row : source) {
        for (std::size_t a = 0; a < 3; ++a) row.at[a] /= layer.stride[a];  // none is negative
        rows.push_back(row);
      }
      return as_set(name(), std::move(rows));
    }
    Triple last{0, 0, 0};
    for (const Row& row : source)
      for (std::size_t a = 0; a < 3; ++a) last[a] = std::max(last[a], row.at[a]);
    for (std::size_t a = 0; a < 3; ++a)
      last[a] = down(last[a] + 2 * layer.padding[a] - (layer.size[a] - 1), layer.stride[a]);
    for (const Row& row : source)
      for (const Triple& tap : last_fastest(layer.size)) {
        Row out{row.batch, {}};
        bool there = true;
        for (std::size_t a = 0; a < 3; ++a) {
          const std::int64_t multiple = row.at[a] + layer.padding[a] - tap[a];
          out.at[a] = multiple / layer.stride[a];
          there = there && multiple >= 0 && multiple % layer.stride[a] == 0 && out.at[a] <= last[a];
        }
        if (there) rows.push_back(out);
      }
    return as_set(name(), std::move(rows));
  }

  TorchSparseMode mode_;
};

}  // namespace

std::unique_ptr<Dialect> make_torchsparse(TorchSparseMode mode) {
  return std::make_unique<TorchSparse>(mode);
}

}  // namespace leafproof::oracle::dialects
