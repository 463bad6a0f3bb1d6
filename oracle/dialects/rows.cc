// See rows.h.
#include "oracle/dialects/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "reference/canonical_order.h"

namespace leafproof::oracle::dialects {
namespace {

constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int32_t>::max();

// [K-7], which hold for every side alike.
constexpr std::int64_t kMaxSize = 128, kMaxStride = 64, kMaxDilation = 16, kMaxTaps = 4096;
constexpr std::int64_t kMaxPadding = 1 << 20;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

bool fits(const Triple& t) {
  return std::ranges::all_of(t, [](std::int64_t x) { return x >= kLow && x <= kHigh; });
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

void between(const std::string& name, const char* argument, const Triple& value, std::int64_t low,
             std::int64_t high) {
  for (const std::int64_t x : value) {
    if (x < low)
      refuse(ErrorKind::InvalidArgument, name, argument, show(value),
             fmt::format("must be at least {}", low));
    if (x > high)
      refuse(ErrorKind::Unsupported, name, argument, show(value),
             fmt::format("must be at most {}", high));
  }
}

bool among(const std::vector<Kind>& kinds, Kind kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

/// A shape of the library with two marked numbers of channels, so that their places show.
constexpr Channels kMarked{1'000'003, 1'000'033};

std::string marked_text(const std::vector<std::int64_t>& marked) {
  std::vector<std::string> axes;
  for (const std::int64_t n : marked)
    axes.push_back(n == kMarked.out ? "Cout" : n == kMarked.in ? "Cin" : std::to_string(n));
  return fmt::format("[{}]", fmt::join(axes, ","));
}

/// The channels of weights of this shape; none where it is not of this form.
std::optional<Channels> channels_of(const std::vector<std::int64_t>& marked,
                                    const std::vector<std::int64_t>& shape) {
  if (marked.size() != shape.size()) return {};
  Channels channels;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (shape[a] < 0) return {};
    if (marked[a] == kMarked.out)
      channels.out = shape[a];
    else if (marked[a] == kMarked.in)
      channels.in = shape[a];
    else if (marked[a] != shape[a])
      return {};
  }
  return channels;
}

/// Calls visit(place in our memory, place in theirs) for every element.
template <class Visit>
void each_weight(const Dialect& dialect, const Layer& layer, const Channels& channels, int form,
                 const Visit& visit) {
  const Triple size = to_xyz(dialect, layer.size);
  const std::int64_t taps = volume(size);
  for (const Triple& tap : dialect.taps(layer)) {
    const std::int64_t number = number_last_fastest(size, to_xyz(dialect, tap));
    for (std::int64_t co = 0; co < channels.out; ++co)
      for (std::int64_t ci = 0; ci < channels.in; ++ci)
        visit(at((co * channels.in + ci) * taps + number),
              at(dialect.weight_place(layer, channels, co, ci, tap, form)));
  }
}

}  // namespace

void refuse(ErrorKind kind, const std::string& dialect, const std::string& argument,
            const std::string& value, const std::string& reason, std::optional<std::int64_t> row) {
  throw reference::Error(kind, {.operation = dialect,
                                .argument = argument,
                                .value = value,
                                .reason = reason,
                                .member = {},
                                .row = row});
}

std::string show(const Triple& t) {
  return fmt::format("({},{},{})", t[0], t[1], t[2]);
}

std::int64_t down(std::int64_t n, std::int64_t d) {
  const std::int64_t q = n / d;
  return n % d < 0 ? q - 1 : q;
}

void check_layer(const Dialect& dialect, const Layer& layer, const Takes& takes) {
  const std::string name = dialect.facts().name;
  if (!among(dialect.kinds(), layer.kind)) {
    std::vector<std::string_view> has;
    for (const Kind kind : dialect.kinds()) has.push_back(to_string(kind));
    refuse(ErrorKind::Unsupported, name, "kind", std::string(to_string(layer.kind)),
           fmt::format("this library has {}", fmt::join(has, ", ")));
  }
  between(name, "kernel_size", layer.size, 1, kMaxSize);
  between(name, "stride", layer.stride, 1, kMaxStride);
  between(name, "dilation", layer.dilation, 1, kMaxDilation);
  if (volume(layer.size) > kMaxTaps)
    refuse(ErrorKind::Unsupported, name, "kernel_size", show(layer.size),
           fmt::format("at most {} taps", kMaxTaps));
  between(name, "padding", layer.padding, 0, kMaxPadding);
  between(name, "output_padding", layer.output_padding, 0, kMaxStride);
  between(name, "tensor_stride", layer.tensor_stride, 1, kMaxPadding);
  if (layer.shape) between(name, "spatial_shape", *layer.shape, 1, kHigh);
  const auto untaken = [&](bool taken, const char* argument, const Triple& value,
                           const Triple& none) {
    if (!taken && value != none)
      refuse(ErrorKind::Unsupported, name, argument, show(value),
             "this library does not take it here");
  };
  untaken(takes.dilation, "dilation", layer.dilation, {1, 1, 1});
  untaken(takes.padding, "padding", layer.padding, {0, 0, 0});
  untaken(takes.output_padding, "output_padding", layer.output_padding, {0, 0, 0});
  untaken(takes.tensor_stride, "tensor_stride", layer.tensor_stride, {1, 1, 1});
  if (layer.shape && !takes.shape)
    refuse(ErrorKind::Unsupported, name, "spatial_shape", show(*layer.shape),
           "this library does not take it here");
}

const Triple& shape_of(const Dialect& dialect, const Layer& layer) {
  if (!layer.shape)
    refuse(ErrorKind::InvalidArgument, dialect.facts().name, "spatial_shape", "none",
           "the target set of this layer depends on it");
  return *layer.shape;
}

std::int64_t volume(const Triple& size) {
  return size[0] * size[1] * size[2];
}

std::int64_t number_last_fastest(const Triple& size, const Triple& tap) {
  return (tap[0] * size[1] + tap[1]) * size[2] + tap[2];
}

std::int64_t number_first_fastest(const Triple& size, const Triple& tap) {
  return (tap[2] * size[1] + tap[1]) * size[0] + tap[0];
}

std::vector<Triple> last_fastest(const Triple& size) {
  std::vector<Triple> taps;
  for (std::int64_t a = 0; a < size[0]; ++a)
    for (std::int64_t b = 0; b < size[1]; ++b)
      for (std::int64_t c = 0; c < size[2]; ++c) taps.push_back({a, b, c});
  return taps;
}

std::vector<Triple> first_fastest(const Triple& size) {
  std::vector<Triple> taps;
  for (std::int64_t c = 0; c < size[2]; ++c)
    for (std::int64_t b = 0; b < size[1]; ++b)
      for (std::int64_t a = 0; a < size[0]; ++a) taps.push_back({a, b, c});
  return taps;
}

void check_rows(const std::string& dialect, const char* argument, const Rows& rows) {
  std::map<Row, std::size_t> seen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const std::string value = fmt::format("batch {} at {}", rows[i].batch, show(rows[i].at));
    if (rows[i].batch < 0 || rows[i].batch > kHigh)
      refuse(ErrorKind::InvalidArgument, dialect, argument, value, "is no batch index", row);
    if (!fits(rows[i].at))
      refuse(ErrorKind::OutOfRange, dialect, argument, value, "is outside 32 bits", row);
    const auto [first, fresh] = seen.emplace(rows[i], i);
    if (!fresh)
      refuse(ErrorKind::InvalidArgument, dialect, argument, value,
             fmt::format("is row {} already", first->second), row);
  }
}

Rows as_set(const std::string& dialect, Rows rows) {
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  for (const Row& row : rows)
    if (!fits(row.at))
      refuse(ErrorKind::OutOfRange, dialect, "result",
             fmt::format("batch {} at {}", row.batch, show(row.at)), "is outside 32 bits");
  return rows;
}

LayerMap pull(const Rows& source, Rows target, std::size_t taps, const Partner& partner) {
  const Found found(source);
  LayerMap map{std::move(target), {}};
  map.pairs.resize(taps);
  for (std::size_t t = 0; t < taps; ++t)
    for (std::size_t i = 0; i < map.target.size(); ++i)
      if (const auto there = partner(map.target[i].at, t))
        if (const std::int64_t row = found({map.target[i].batch, *there}); row >= 0)
          map.pairs[t].push_back({row, static_cast<std::int64_t>(i)});
  return map;
}

LayerMap swapped_forward(const Dialect& dialect, Layer layer, const Rows& source,
                         const Rows* target) {
  const std::string name = dialect.facts().name;
  if (target == nullptr)
    refuse(ErrorKind::InvalidArgument, name, "target", "none",
           "an inverse layer needs the rows of the stored forward map");
  check_rows(name, "source", source);
  layer.kind = Kind::Forward;
  const LayerMap forward = dialect.map(layer, *target, nullptr);
  const Found found(source);
  std::vector<std::int64_t> number;  // of each forward target among the rows of the source
  for (const Row& row : forward.target) {
    number.push_back(found(row));
    if (number.back() < 0)
      refuse(ErrorKind::ShapeMismatch, name, "source",
             fmt::format("no row for batch {} at {}", row.batch, show(row.at)),
             "the source must be the target set of the stored forward map");
  }
  if (forward.target.size() != source.size())
    refuse(ErrorKind::ShapeMismatch, name, "source", fmt::format("{} rows", source.size()),
           fmt::format("the stored forward map has {}", forward.target.size()));
  LayerMap map{*target, {}};
  for (const auto& tap : forward.pairs) {
    auto& pairs = map.pairs.emplace_back();
    for (const auto& [fine, coarse] : tap) pairs.push_back({number[at(coarse)], fine});
    std::ranges::sort(pairs, {}, [](const auto& pair) { return pair[1]; });
  }
  return map;
}

Triple to_columns(const Dialect& dialect, const Triple& xyz) {
  Triple columns;
  for (std::size_t a = 0; a < 3; ++a) columns[a] = xyz[dialect.axes()[a]];
  return columns;
}

Triple to_xyz(const Dialect& dialect, const Triple& columns) {
  Triple xyz;
  for (std::size_t a = 0; a < 3; ++a) xyz[dialect.axes()[a]] = columns[a];
  return xyz;
}

Rows rows_of(const Dialect& dialect, const Batch& batch, const Triple& unit) {
  Rows rows;
  for (std::size_t m = 0; m < batch.size(); ++m)
    for (const auto& v : batch.members[m]) {
      Row row{static_cast<std::int64_t>(m), to_columns(dialect, {v.x, v.y, v.z})};
      for (std::size_t a = 0; a < 3; ++a) row.at[a] *= unit[a];
      if (!fits(row.at))
        refuse(ErrorKind::OutOfRange, dialect.facts().name, "coordinates", show(row.at),
               "is outside 32 bits", static_cast<std::int64_t>(rows.size()));
      rows.push_back(row);
    }
  return rows;
}

FromRows batch_of(const Dialect& dialect, const Rows& rows, std::int64_t members,
                  const Triple& unit) {
  const std::string name = dialect.facts().name;
  check_rows(name, "coordinates", rows);
  struct Placed {
    reference::Voxel voxel;
    std::int64_t row;
  };
  std::vector<std::vector<Placed>> lists(at(members));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    Triple c = rows[i].at;
    if (rows[i].batch >= members)
      refuse(ErrorKind::InvalidArgument, name, "coordinates",
             fmt::format("batch {}", rows[i].batch),
             fmt::format("the batch has {} members", members), row);
    for (std::size_t a = 0; a < 3; ++a) {
      if (c[a] % unit[a] != 0)
        refuse(ErrorKind::InvalidArgument, name, "coordinates", show(rows[i].at),
               "must be multiples of " + show(unit), row);
      c[a] /= unit[a];
    }
    c = to_xyz(dialect, c);
    lists[at(rows[i].batch)].push_back(
        {{static_cast<std::int32_t>(c[0]), static_cast<std::int32_t>(c[1]),
          static_cast<std::int32_t>(c[2])},
         row});
  }
  FromRows made;
  made.batch.maps.resize(at(members));
  made.batch.names.resize(at(members));
  for (auto& list : lists) {
    std::ranges::sort(list, reference::canonical_less, &Placed::voxel);
    auto& member = made.batch.members.emplace_back();
    for (const Placed& placed : list) {
      member.push_back(placed.voxel);
      made.order.push_back(placed.row);
    }
  }
  return made;
}

Array weights_from_ours(const Dialect& dialect, const Layer& layer, const Array& ours, int form) {
  dialect.check(layer);
  const Triple size = to_xyz(dialect, layer.size);
  const bool matrix = ours.shape.size() == 2 && volume(size) == 1;  // [V-4]
  const std::vector<std::int64_t> wanted{kMarked.out, kMarked.in, size[0], size[1], size[2]};
  const auto channels =
      channels_of(matrix ? std::vector<std::int64_t>{kMarked.out, kMarked.in} : wanted, ours.shape);
  if (!channels)
    refuse(ErrorKind::ShapeMismatch, dialect.facts().name, "weights", shape_text(ours.shape),
           "must have the shape " + marked_text(wanted));
  Array theirs{dialect.weight_shape(layer, *channels, form), {}};
  theirs.values.resize(ours.values.size());
  each_weight(dialect, layer, *channels, form, [&](std::size_t our, std::size_t their) {
    theirs.values.at(their) = ours.values.at(our);
  });
  return theirs;
}

Array weights_to_ours(const Dialect& dialect, const Layer& layer, const Array& theirs) {
  dialect.check(layer);
  const Triple size = to_xyz(dialect, layer.size);
  std::string wanted;
  for (int form = 0; form < dialect.weight_forms(); ++form) {
    const auto marked = dialect.weight_shape(layer, kMarked, form);
    wanted.append(form > 0 ? " or " : "").append(marked_text(marked));
    const auto channels = channels_of(marked, theirs.shape);
    if (!channels) continue;
    Array ours{{channels->out, channels->in, size[0], size[1], size[2]}, {}};
    ours.values.resize(theirs.values.size());
    each_weight(dialect, layer, *channels, form, [&](std::size_t our, std::size_t their) {
      ours.values.at(our) = theirs.values.at(their);
    });
    return ours;
  }
  refuse(ErrorKind::ShapeMismatch, dialect.facts().name, "weights", shape_text(theirs.shape),
         "must have the shape " + wanted);
}

std::vector<std::size_t> tap_numbers(const Dialect& dialect, const Layer& layer) {
  const Triple size = to_xyz(dialect, layer.size);
  const auto taps = dialect.taps(layer);
  std::vector<std::size_t> numbers(taps.size());
  for (std::size_t t = 0; t < taps.size(); ++t)
    numbers.at(at(number_last_fastest(size, to_xyz(dialect, taps[t])))) = t;
  return numbers;
}

reference::KernelMap map_in_our_terms(const Dialect& dialect, const Layer& layer,
                                      const Rows& source, const LayerMap& map,
                                      std::int64_t members) {
  const bool down_scale = layer.kind == Kind::Forward;
  const bool same = layer.kind == Kind::Submanifold;
  const auto canonical = [&](const Rows& rows, bool fine) {
    const FromRows made = batch_of(dialect, rows, members,
                                   fine ? dialect.fine_unit(layer) : dialect.coarse_unit(layer));
    std::vector<std::int64_t> numbers(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      numbers[at(made.order[i])] = static_cast<std::int64_t>(i);
    return numbers;
  };
  const auto from = canonical(source, same || down_scale);
  const auto to = canonical(map.target, same || !down_scale);
  reference::KernelMap ours;
  ours.source_rows = static_cast<std::int64_t>(from.size());
  ours.target_rows = static_cast<std::int64_t>(to.size());
  for (const std::size_t theirs : tap_numbers(dialect, layer)) {
    auto pairs = map.pairs.at(theirs);
    for (auto& [gather, scatter] : pairs) {
      gather = from.at(at(gather));
      scatter = to.at(at(scatter));
    }
    std::ranges::sort(pairs, {}, [](const auto& pair) { return pair[1]; });
    for (const auto& [gather, scatter] : pairs) {
      ours.gather.push_back(gather);
      ours.scatter.push_back(scatter);
    }
    ours.offsets.push_back(static_cast<std::int64_t>(ours.gather.size()));
  }
  return ours;
}

}  // namespace leafproof::oracle::dialects
