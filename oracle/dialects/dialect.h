// What other libraries of sparse convolution mean by their coordinates, taps and weights [X]: each
// a Dialect, as facts for people and as code both ways. A dialect derives its own phase and its own
// kernel map from its own rule, and asks neither the reference nor another dialect.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/conv_structs.h"
#include "reference/error.h"
#include "reference/lattice.h"

namespace leafproof::oracle::dialects {

using reference::Array;
using reference::Batch;
using reference::Triple;

/// One row of a list of coordinates: the batch index, which every library puts first, and three
/// coordinates in the order and the unit of the library.
struct Row {
  std::int64_t batch = 0;
  Triple at{0, 0, 0};
  friend auto operator<=>(const Row&, const Row&) = default;
};
using Rows = std::vector<Row>;

enum class Kind {
  Forward,      // source fine, target coarse
  Transposed,   // source coarse, target fine; generative where no target is given
  Inverse,      // source coarse, target fine: the pairs of a stored forward map, swapped
  Submanifold,  // target = source
};
std::string_view to_string(Kind kind);  // "forward", ...
std::optional<Kind> parse_kind(std::string_view name);

/// What a layer is given. Every triple is in the order of the library's coordinates. An inverse
/// layer is described by the forward layer whose map it swaps.
struct Layer {
  Kind kind = Kind::Forward;
  Triple size{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  Triple padding{0, 0, 0}, output_padding{0, 0, 0};
  std::optional<Triple> shape;    // the spatial shape of the input, where the library has one
  Triple tensor_stride{1, 1, 1};  // of the fine side, where coordinates are in finest voxels
  friend bool operator==(const Layer&, const Layer&) = default;
};

struct Channels {
  std::int64_t out = 1, in = 1;
};

/// What a layer does on some rows: its target rows, and for each tap, in the library's order of
/// taps, the pairs (source row, target row) in ascending target row.
struct LayerMap {
  Rows target;
  std::vector<std::vector<std::array<std::int64_t, 2>>> pairs;
  friend bool operator==(const LayerMap&, const LayerMap&) = default;
};

/// For people; each a short clause.
struct Facts {
  std::string name;         // as on the command line
  std::string library;      // with its version
  std::string checked;      // "run against the library" or "read in its source"
  std::string coordinates;  // columns, units, signs
  std::string coarse_set;
  std::string offsets;
  std::string tap_order;
  std::string weights;
  std::vector<std::string> limits;
};

/// Errors of all that follows: InvalidArgument for a value that no layer takes, or a row that is
/// none; Unsupported, naming the argument, for what the library has not. Cost: O(taps * rows).
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual Facts facts() const = 0;

  /// Coordinate i of a row, and entry i of every triple of a layer, is our axis axes()[i].
  virtual std::array<std::size_t, 3> axes() const { return {0, 1, 2}; }

  /// Refuses a layer that the library has not.
  virtual void check(const Layer& layer) const = 0;
  /// The kinds that it has.
  virtual std::vector<Kind> kinds() const = 0;

  /// (t0, t1, t2) of each tap, in the order in which weights and kernel maps number them.
  virtual std::vector<Triple> taps(const Layer& layer) const = 0;
  /// Where each tap looks: fine = step * coarse + offset, in the library's coordinates.
  virtual std::vector<Triple> offsets(const Layer& layer) const = 0;
  virtual Triple step(const Layer& layer) const { return layer.stride; }

  /// Coordinates are multiples of this on the fine and on the coarse side.
  virtual Triple fine_unit(const Layer&) const { return {1, 1, 1}; }
  virtual Triple coarse_unit(const Layer&) const { return {1, 1, 1}; }

  /// The padding with which the taps look where ours look [K-1]; all zeros where the library takes
  /// none. Whether that suffices to be ours is for `explain` to compare.
  virtual Triple our_padding(const Layer&) const { return {0, 0, 0}; }

  /// The kernel map of a layer by the library's own rule: onto the target set that it makes, or
  /// onto `target`. A set that is made is sorted by batch and then column by column, but for a
  /// layer whose target is its input: then in the order of the input.
  virtual LayerMap map(const Layer& layer, const Rows& source, const Rows* target) const = 0;

  /// Weights of `cout` times `cin` channels: the shape in memory (last axis fastest), and which
  /// element of that memory the layer multiplies for (co, ci) at a tap (t0, t1, t2). Where a
  /// library takes several shapes, `form` says which; 0 is the one that it makes itself.
  virtual int weight_forms() const { return 1; }
  virtual std::vector<std::int64_t> weight_shape(const Layer& layer, const Channels& channels,
                                                 int form) const = 0;
  virtual std::int64_t weight_place(const Layer& layer, const Channels& channels, std::int64_t co,
                                    std::int64_t ci, const Triple& tap, int form) const = 0;
};

/// All dialects, in the order of [X]: fvdb, spconv, minkowski, torchsparse, torchsparse-hashmap,
/// torchsparse-minkowski, mlx-lattice, lato, dense.
const std::vector<std::string>& dialect_names();
/// Error(InvalidArgument) names those there are.
const Dialect& dialect(std::string_view name);

}  // namespace leafproof::oracle::dialects
