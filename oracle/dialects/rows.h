// What all dialects share, none of it a convention: rows found again, taps counted, refusals.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "oracle/dialects/dialect.h"

namespace leafproof::oracle::dialects {

using reference::ErrorKind;

[[noreturn]] void refuse(ErrorKind kind, const std::string& dialect, const std::string& argument,
                         const std::string& value, const std::string& reason,
                         std::optional<std::int64_t> row = {});
std::string show(const Triple& t);

/// Down to the next lower integer, for every sign; d > 0.
std::int64_t down(std::int64_t n, std::int64_t d);

/// What a library takes besides K, S and D.
struct Takes {
  bool dilation = true, padding = false, output_padding = false, shape = false;
  bool tensor_stride = false;
};

/// Refuses values below their least, K, S, D beyond [K-7], and what the library does not take.
void check_layer(const Dialect& dialect, const Layer& layer, const Takes& takes);

/// The spatial shape, which a kernel map needs: InvalidArgument where it is not given.
const Triple& shape_of(const Dialect& dialect, const Layer& layer);

/// Every (t0, t1, t2), the last axis fastest, or the first.
std::vector<Triple> last_fastest(const Triple& size);
std::vector<Triple> first_fastest(const Triple& size);

/// Refuses a batch index or coordinates that are none (32 bits), and a row that is there twice.
void check_rows(const std::string& dialect, const char* argument, const Rows& rows);

/// Rows by their coordinates.
class Found {
 public:
  explicit Found(const Rows& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      place_.emplace(rows[i], static_cast<std::int64_t>(i));
  }
  /// The row's number; -1 where it is not there.
  std::int64_t operator()(const Row& row) const {
    const auto at = place_.find(row);
    return at == place_.end() ? -1 : at->second;
  }

 private:
  std::map<Row, std::int64_t> place_;
};

/// Sorted, each once; OutOfRange for coordinates beyond 32 bits.
Rows as_set(const std::string& dialect, Rows rows);

/// The pairs of every tap where `partner(target, tap number)` is a row of the source.
using Partner = std::function<std::optional<Triple>(const Triple& target, std::size_t tap)>;
LayerMap pull(const Rows& source, Rows target, std::size_t taps, const Partner& partner);

/// The forward map of `target` onto `source`'s rows with its columns swapped: an inverse layer.
/// Error(ShapeMismatch) where `source` is not the target set of that forward map.
LayerMap swapped_forward(const Dialect& dialect, Layer layer, const Rows& source,
                         const Rows* target);

/// The number of a tap among `last_fastest(size)`, and among `first_fastest(size)`.
std::int64_t number_last_fastest(const Triple& size, const Triple& tap);
std::int64_t number_first_fastest(const Triple& size, const Triple& tap);
std::int64_t volume(const Triple& size);

// --- conversions, which read what a dialect says of itself

/// A triple of ours (x, y, z) in the library's order, and back.
Triple to_columns(const Dialect& dialect, const Triple& xyz);
Triple to_xyz(const Dialect& dialect, const Triple& columns);

/// Our voxels as rows, member by member in canonical order, in multiples of `unit` (by column).
/// Error(OutOfRange), naming the row, where 32 bits do not hold a product.
Rows rows_of(const Dialect& dialect, const Batch& batch, const Triple& unit);

/// Rows as a batch of `members`, and where each went: order[i] is the row (of the list) that is
/// canonical row i. Errors, naming the row: InvalidArgument for a batch index outside the batch, a
/// coordinate that is no multiple of `unit`, a row that is there twice; OutOfRange.
struct FromRows {
  Batch batch;
  std::vector<std::int64_t> order;
};
FromRows batch_of(const Dialect& dialect, const Rows& rows, std::int64_t members,
                  const Triple& unit);

/// Weights between [Cout][Cin][Kx][Ky][Kz] (or [Cout][Cin] for one tap) and the library's memory,
/// both ways, of any of the library's forms. Error(ShapeMismatch), naming both shapes. O(elements).
Array weights_from_ours(const Dialect& dialect, const Layer& layer, const Array& ours,
                        int form = 0);
Array weights_to_ours(const Dialect& dialect, const Layer& layer, const Array& theirs);

/// ours[n]: the library's number of the tap that we number n [K-2].
std::vector<std::size_t> tap_numbers(const Dialect& dialect, const Layer& layer);

/// A layer's map as we write it [M-2]: our taps, canonical rows of both sides. `members`: B.
reference::KernelMap map_in_our_terms(const Dialect& dialect, const Layer& layer,
                                      const Rows& source, const LayerMap& map,
                                      std::int64_t members);

}  // namespace leafproof::oracle::dialects
