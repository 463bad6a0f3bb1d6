// The nouns of convolution [K], [M], [V], plain structs that both references share; nothing here
// computes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/lattice.h"

namespace leafproof::reference {

/// Kernel size K, stride S and dilation D, per axis [K].
struct Kernel {
  Triple size{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// Forward: source fine, target coarse. Transposed: source coarse, target fine [M-1].
enum class Direction { Forward, Transposed };

/// The pairs of every tap [M-2]: those of tap t are offsets[t] ... offsets[t+1] of `gather` (source
/// rows) and `scatter` (target rows). Rows count the voxels of a whole batch from 0.
struct KernelMap {
  std::vector<std::int64_t> offsets{0};  // taps + 1
  std::vector<std::int64_t> gather, scatter;
  std::int64_t source_rows = 0, target_rows = 0;
  friend bool operator==(const KernelMap&, const KernelMap&) = default;
};

/// The dense form [M-4]: index[tap * rows + target row] is a source row or -1.
struct DenseMap {
  std::int64_t taps = 0, rows = 0;
  std::vector<std::int64_t> index;
  friend bool operator==(const DenseMap&, const DenseMap&) = default;
};

/// [M-6] How many pairs each row of a side is in; how many rows have each such number; the rows
/// that have none, ascending.
struct Coverage {
  std::vector<std::int64_t> degrees, histogram, uncovered;
  friend bool operator==(const Coverage&, const Coverage&) = default;
};

/// [V-6] The type of features, weights, bias and results.
enum class NumberType { Float64, Float32, Float16, Int32 };

/// Numbers of any of these types, each exactly as a double; last axis fastest.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// What a convolution takes besides its map. Weights, bias and gradients are cast to `type` [V-6].
struct Operands {
  NumberType type = NumberType::Float64;
  Array features;                    // [source rows][Cin]
  Array weights;                     // [Cout][Cin][Kx][Ky][Kz], or [Cout][Cin] [V-1], [V-4]
  std::optional<Array> bias;         // [Cout]
  std::optional<Array> grad_output;  // [target rows][Cout], for gradients alone
  /// [V-4] The target is the source itself, not another batch: [Cout][Cin] is accepted at K=S=1.
  bool target_is_source = false;
};

/// [V-2] The gradients of a convolution, in the shapes of what they are gradients of.
struct Gradients {
  Array features, weights, bias;
};

/// One element without error, as far as it must be known to judge others [V-3].
struct Exact {
  double value = 0;      // the exact sum, rounded to double; NaN or infinity where a term is
  double rest = 0;       // the exact sum is value + rest to about 100 bits
  double magnitude = 0;  // A: magnitudes of all finite terms; where that is infinite, no more holds
  std::int64_t terms = 0;
};

}  // namespace leafproof::reference
