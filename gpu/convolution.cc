// See convolution.h. All three sums are one: rows are gathered, multiplied by the weights of a tap,
// and added to the rows that they are joined to.
#include "gpu/convolution.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "gpu/error.h"
#include "gpu/host_executor.h"
#include "gpu/products.h"
#include "gpu/tensor_checks.h"

namespace leafproof::gpu {
namespace {

__extension__ typedef __int128 WideInteger;

// Rows of a product, always: where fewer are left, the others are zero and their results unread. So
// each row goes the same way through a product, and no row depends on what it is multiplied with.
constexpr std::int64_t kRowsOfTap = 64;   // few, since a chunk has few pairs of a tap
constexpr std::int64_t kRowsOfAll = 128;  // more, since all weights are read for each block
constexpr std::int64_t kMostWorkers = 256;

// --- types [V-6]

template <class T>
struct Types {  // double and float
  using Factor = T;
};
template <>
struct Types<Eigen::half> {
  using Factor = float;
};
template <>
struct Types<std::int32_t> {
  using Factor = std::int64_t;
};
template <class T>
using FactorOf = typename Types<T>::Factor;

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

template <class T, class Sum>
T rounded(const char* operation, const char* result, Sum sum, std::int64_t row) {
  if constexpr (std::is_same_v<T, std::int32_t>) {
    if (sum < std::numeric_limits<T>::min() || sum > std::numeric_limits<T>::max()) {
      throw Error(ErrorKind::OutOfRange, operation, result,
                  "about " + std::to_string(static_cast<double>(sum)), "must fit int32", {}, row);
    }
  }
  return static_cast<T>(sum);
}

template <class T, class Sum>
std::vector<T> all_rounded(const char* operation, const char* result, std::vector<Sum> sums,
                           std::int64_t columns) {
  if constexpr (std::is_same_v<T, Sum>) {
    return sums;
  } else {
    std::vector<T> numbers(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      numbers[i] = rounded<T>(operation, result, sums[i], static_cast<std::int64_t>(i) / columns);
    }
    return numbers;
  }
}

std::uint64_t largest(std::span<const std::int32_t> numbers) {
  std::int64_t found = 0;
  for (const std::int64_t x : numbers) found = std::max(found, std::abs(x));
  return static_cast<std::uint64_t>(found);
}

/// Calls `compute` with a zero of what is summed in: of integers 64 bits where they suffice for
/// `terms` products and a bias, else 128.
template <class T, class Compute>
auto summed(std::span<const T> a, std::span<const T> b, std::int64_t terms,
            const Compute& compute) {
  if constexpr (std::is_same_v<T, std::int32_t>) {
    const std::uint64_t product = largest(a) * largest(b);
    const std::uint64_t limit = std::uint64_t{1} << 62;
    if (product > 0 && static_cast<std::uint64_t>(terms) > limit / product) {
      return compute(WideInteger{0});
    }
    return compute(std::int64_t{0});
  } else {
    return compute(FactorOf<T>{0});
  }
}

// --- shapes [P-1]

void check_memory(const char* operation, const ConvolutionMap& over) {
  if (over.in_host_memory()) return;
  throw Error(ErrorKind::Unsupported, operation, "map", "lies in device memory",
              "must be one of a builder that works in plain memory");
}

template <class T>
void check_operands(const char* operation, const ConvolutionMap& over,
                    const ConvolutionInput<T>& input) {
  check_count(operation, "features", input.features);
  check_count(operation, "weights", input.weights);
  if (input.features.shape.size() != 2) {
    throw Error(ErrorKind::ShapeMismatch, operation, "features", text_of(input.features.shape),
                "must be [" + std::to_string(over.source_rows()) + "][Cin]");
  }
  const std::int64_t cin = input.features.shape[1];
  check_shape(operation, "features", input.features, {over.source_rows(), cin});
  const Shape& w = input.weights.shape;
  const std::int64_t cout = w.empty() ? 0 : w[0];
  const Triple k = over.kernel();
  if (over.is_identity() && w.size() == 2) {
    check_shape(operation, "weights", input.weights, {cout, cin});
  } else {
    check_shape(operation, "weights", input.weights, {cout, cin, k[0], k[1], k[2]});
  }
}

// --- sums

/// The pairs of a convolution by chunks of target rows, which are then summed by one thread each.
/// Where a tap's target rows ascend [M-2] those of a chunk stand together. Where they do not, as in
/// transposed maps, they are copied together, of as many chunks at once as there is memory for.
class PairsByChunk {
 public:
  PairsByChunk(const ConvolutionMap& over, std::int64_t rows_of_chunk, HostExecutor& executor)
      : over_(over),
        rows_(rows_of_chunk),
        chunks_((over.target_rows() + rows_ - 1) / rows_),
        executor_(executor) {
    if (over.is_identity() || ascend()) return;
    begin_.resize(index(chunks_ * over.taps()));
    for_each_tap([this](std::int64_t tap) {
      const TapPairs pairs = over_.pairs_of(tap);
      for (std::int64_t i = 0; i < pairs.count; ++i) ++begin_[at(pairs.scatter[i] / rows_, tap)];
    });
    sizes_.resize(index(chunks_));
    for (std::int64_t c = 0; c < chunks_; ++c) {
      for (std::int64_t t = 0; t < over.taps(); ++t) sizes_[index(c)] += begin_[at(c, t)];
    }
  }

  std::int64_t chunks() const { return chunks_; }

  /// Makes the pairs of chunks ready from `first` on, at least one; returns where they end.
  std::int64_t prepare(std::int64_t first, std::int64_t bytes) {
    if (sizes_.empty()) return chunks_;
    std::int64_t end = first, pairs = 0;
    const std::int64_t most = bytes / static_cast<std::int64_t>(2 * sizeof(std::int32_t));
    while (end < chunks_ && (end == first || pairs + sizes_[index(end)] <= most)) {
      pairs += sizes_[index(end++)];
    }
    copied_pairs_ = pairs;
    copy_.resize(index(2 * pairs));
    std::int64_t before = 0;
    for (std::int64_t c = first; c < end; ++c) {
      for (std::int64_t t = 0; t < over_.taps(); ++t) {
        before += std::exchange(begin_[at(c, t)], before);
      }
    }
    for_each_tap([this, first, end](std::int64_t tap) {
      std::vector<std::int64_t> to(index(end - first));
      for (std::int64_t c = first; c < end; ++c) to[index(c - first)] = begin_[at(c, tap)];
      const TapPairs all = over_.pairs_of(tap);
      for (std::int64_t i = 0; i < all.count; ++i) {
        const std::int64_t chunk = all.scatter[i] / rows_;
        if (chunk < first || chunk >= end) continue;
        const std::int64_t j = to[index(chunk - first)]++;
        copy_[index(j)] = all.gather[i];
        copy_[index(copied_pairs_ + j)] = all.scatter[i];
      }
    });
    end_ = end;
    return end;
  }
  std::int64_t copied_bytes() const {
    return static_cast<std::int64_t>(copy_.size() * sizeof(std::int32_t));
  }

  /// Of a chunk that is ready.
  TapPairs pairs(std::int64_t chunk, std::int64_t tap) const {
    const std::int64_t first = chunk * rows_, last = std::min(first + rows_, over_.target_rows());
    if (over_.is_identity()) return {nullptr, nullptr, first, last - first};
    if (sizes_.empty()) {
      const TapPairs all = over_.pairs_of(tap);
      const std::int32_t* end = all.scatter + all.count;
      const std::int32_t* from = std::lower_bound(all.scatter, end, first);
      const std::int32_t* to = std::lower_bound(from, end, last);
      return all.part(from - all.scatter, to - all.scatter);
    }
    const std::int64_t from = begin_[at(chunk, tap)];
    const std::int64_t next = tap + 1 < over_.taps() ? begin_[at(chunk, tap + 1)]
                              : chunk + 1 < end_     ? begin_[at(chunk + 1, 0)]
                                                     : copied_pairs_;
    return {copy_.data() + from, copy_.data() + copied_pairs_ + from, 0, next - from};
  }

 private:
  std::size_t at(std::int64_t chunk, std::int64_t tap) const {
    return index(chunk * over_.taps() + tap);
  }
  template <class Work>
  void for_each_tap(const Work& work) {
    executor_.for_each_index({over_.taps()}, work, 1);
  }
  bool ascend() const {
    std::atomic<bool> all = true;
    executor_.for_each_index(
        {over_.taps()},
        [this, &all](std::int64_t tap) {
          const TapPairs pairs = over_.pairs_of(tap);
          if (all && !std::is_sorted(pairs.scatter, pairs.scatter + pairs.count)) all = false;
        },
        1);
    return all;
  }

  const ConvolutionMap& over_;
  std::int64_t rows_, chunks_;
  HostExecutor& executor_;
  std::vector<std::int64_t> begin_;  // per chunk and tap: how many, and once ready where from
  std::vector<std::int64_t> sizes_;  // per chunk; none where nothing is copied
  std::vector<std::int32_t> copy_;   // source rows, then target rows
  std::int64_t copied_pairs_ = 0, end_ = 0;
};

/// The weights of each tap as [tap][from][to]: from Cin to Cout, or back for gradients.
template <class T>
std::vector<FactorOf<T>> packed(const Tensor<T>& weights, std::int64_t cin, std::int64_t cout,
                                std::int64_t taps, bool back) {
  std::vector<FactorOf<T>> all(weights.values.size());
  std::size_t from = 0;
  for (std::int64_t co = 0; co < cout; ++co) {
    for (std::int64_t ci = 0; ci < cin; ++ci) {
      for (std::int64_t t = 0; t < taps; ++t) {
        const std::int64_t to = back ? (t * cout + co) * cin + ci : (t * cin + ci) * cout + co;
        all[index(to)] = static_cast<FactorOf<T>>(weights.values[from++]);
      }
    }
  }
  return all;
}

/// What is done with blocks of rows: by products() for floats, by loops for integers, whose sums
/// may have more bits than their factors.
template <class T, class Sum>
struct Blocks {
  using Factor = FactorOf<T>;
  static constexpr bool kFloats = std::is_floating_point_v<Sum>;

  static const ProductsOf<Factor>& by_set()
    requires(kFloats)
  {
    if constexpr (std::is_same_v<Factor, float>) {
      return products().of_float;
    } else {
      return products().of_double;
    }
  }

  /// to[i * pitch ...] = the source row of pair i; zeros where that is negative.
  static void gather(const T* values, const TapPairs& pairs, std::int64_t width, Factor* to,
                     std::int64_t pitch) {
    if constexpr (std::is_same_v<T, Eigen::half>) {
      products().gather_half(reinterpret_cast<const std::uint16_t*>(values), pairs.gather,
                             pairs.first, pairs.count, width, to, pitch);
    } else if constexpr (kFloats) {
      by_set().gather(values, pairs.gather, pairs.first, pairs.count, width, to, pitch);
    } else {
      for (std::int64_t i = 0; i < pairs.count; ++i) {
        const std::int64_t row = row_of(pairs.gather, pairs.first, i);
        for (std::int64_t c = 0; c < width; ++c) {
          to[i * pitch + c] = row < 0 ? 0 : values[row * width + c];
        }
      }
    }
  }

  /// result[n][to] = rows[n][from] * weights[from][to].
  static void multiply(const Factor* rows, const Factor* weights, Sum* result, std::int64_t n,
                       std::int64_t from, std::int64_t to) {
    if constexpr (kFloats) {
      by_set().multiply(rows, weights, result, n, from, to);
    } else {
      std::fill(result, result + n * to, Sum{0});
      for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t f = 0; f < from; ++f) {
          const Sum x = rows[r * from + f];
          for (std::int64_t t = 0; t < to; ++t) result[r * to + t] += x * weights[f * to + t];
        }
      }
    }
  }

  /// Adds row i of values[n][width] to the target row of pair i.
  static void scatter(const Sum* values, const TapPairs& pairs, std::int64_t width, Sum* sums) {
    if constexpr (kFloats) {
      by_set().scatter(values, pairs.scatter, pairs.first, pairs.count, width, sums);
    } else {
      for (std::int64_t i = 0; i < pairs.count; ++i) {
        Sum* row = sums + row_of(pairs.scatter, pairs.first, i) * width;
        for (std::int64_t c = 0; c < width; ++c) row[c] += values[i * width + c];
      }
    }
  }

  /// sums[from][to] += x[n][from] transposed * g[n][to].
  static void add_outer(const Factor* x, const Factor* g, Sum* sums, std::int64_t n,
                        std::int64_t from, std::int64_t to) {
    if constexpr (kFloats) {
      by_set().add_outer(x, g, sums, n, from, to);
    } else {
      for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t f = 0; f < from; ++f) {
          const Sum value = x[r * from + f];
          for (std::int64_t t = 0; t < to; ++t) sums[f * to + t] += value * g[r * to + t];
        }
      }
    }
  }

 private:
  static std::int64_t row_of(const std::int32_t* rows, std::int64_t first, std::int64_t i) {
    return rows == nullptr ? first + i : rows[i];
  }
};

/// One convolution: rows of `from` numbers to rows of `to`.
template <class T, class Sum>
class Convolution {
 public:
  using Factor = FactorOf<T>;
  using Work = Blocks<T, Sum>;

  Convolution(const char* operation, const ConvolutionMap& over, std::span<const T> features,
              std::vector<Factor> weights, std::int64_t from, std::int64_t to,
              const ConvolutionOptions& options)
      : operation_(operation),
        over_(over),
        features_(features),
        weights_(std::move(weights)),
        from_(from),
        to_(to),
        options_(options),
        executor_(options.threads, system_allocator(), system_allocator()),
        // With one tap both forms are the same, but for a copy.
        all_taps_(options.form == ConvolutionForm::Chunked && over.taps() > 1 && finite_weights()),
        rows_of_block_(all_taps_ ? kRowsOfAll : kRowsOfTap),
        width_(all_taps_ ? over.taps() * from : from),
        rows_of_chunk_(choose_rows_of_chunk()) {}

  /// Adds to `sums` [target rows][to].
  void add_to(std::vector<Sum>& sums) {
    if (sums.empty()) return;
    const std::int64_t bytes = bytes_of_worker();
    if (bytes > options_.working_memory) {
      throw Error(ErrorKind::CapacityExceeded, operation_, "working_memory",
                  std::to_string(options_.working_memory),
                  "a block of rows takes " + std::to_string(bytes) + " bytes");
    }
    PairsByChunk pairs(over_, rows_of_chunk_, executor_);
    for (std::int64_t first = 0; first < pairs.chunks();) {
      const std::int64_t end = pairs.prepare(first, (options_.working_memory - bytes) / 2);
      const std::int64_t room = (options_.working_memory - pairs.copied_bytes()) / bytes;
      const std::int64_t n = end - first;
      const std::int64_t workers = std::min({n, std::max<std::int64_t>(room, 1), kMostWorkers});
      executor_.for_each_index(
          {workers},
          [&](std::int64_t worker) {
            Memory memory{std::vector<Factor>(index(rows_of_block_ * width_)),
                          std::vector<Sum>(index(rows_of_block_ * to_)),
                          std::vector<std::int32_t>(index(entries_of_index()))};
            const std::int64_t last = first + n * (worker + 1) / workers;
            for (std::int64_t c = first + n * worker / workers; c < last; ++c) {
              all_taps_ ? sum_at_once(pairs, c, memory, sums.data())
                        : sum_tap_by_tap(pairs, c, memory, sums.data());
            }
          },
          1);
      first = end;
    }
  }

 private:
  struct Memory {
    std::vector<Factor> rows;
    std::vector<Sum> products;
    std::vector<std::int32_t> sources;  // per tap, of each row of a chunk; -1: no pair
  };

  bool finite_weights() const {
    if constexpr (std::is_floating_point_v<Factor>) {
      return std::ranges::all_of(weights_, [](Factor w) { return std::isfinite(w); });
    }
    return true;
  }

  std::int64_t entries_of_index() const { return all_taps_ ? rows_of_chunk_ * over_.taps() : 0; }
  std::int64_t bytes_of_worker() const {
    const auto size = [](std::size_t bytes) { return static_cast<std::int64_t>(bytes); };
    return rows_of_block_ * (width_ * size(sizeof(Factor)) + to_ * size(sizeof(Sum))) +
           entries_of_index() * size(sizeof(std::int32_t));
  }
  /// So few that the sums of a chunk stay in a cache from tap to tap and every thread has chunks,
  /// else as many as can be, since a tap's last block in a chunk is filled up.
  std::int64_t choose_rows_of_chunk() {
    constexpr std::int64_t kLeast = 256, kMost = 4096, kCache = std::int64_t{1} << 19;
    const std::int64_t fit =
        kCache / (std::max<std::int64_t>(to_, 1) * static_cast<std::int64_t>(sizeof(Sum)));
    const std::int64_t rows =
        std::clamp(std::min(fit, over_.target_rows() / 64), kLeast, kMost) / kLeast * kLeast;
    rows_of_chunk_ = rows;
    while (rows_of_chunk_ > kRowsOfAll && bytes_of_worker() > options_.working_memory) {
      rows_of_chunk_ /= 2;
    }
    return std::max(rows_of_chunk_, kRowsOfAll);
  }

  // Within a tap a target row occurs at most once [M-2], and taps ascend: so do the sums of a row.
  void sum_tap_by_tap(const PairsByChunk& chunks, std::int64_t chunk, Memory& memory,
                      Sum* sums) const {
    Factor* x = memory.rows.data();
    Sum* y = memory.products.data();
    for (std::int64_t t = 0; t < over_.taps(); ++t) {
      const TapPairs pairs = chunks.pairs(chunk, t);
      for (std::int64_t begin = 0; begin < pairs.count; begin += kRowsOfTap) {
        const TapPairs block = pairs.part(begin, std::min(begin + kRowsOfTap, pairs.count));
        Work::gather(features_.data(), block, from_, x, from_);
        std::fill(x + block.count * from_, x + kRowsOfTap * from_, Factor{0});
        Work::multiply(x, weights_.data() + t * from_ * to_, y, kRowsOfTap, from_, to_);
        Work::scatter(y, block, to_, sums);
      }
    }
  }

  void sum_at_once(const PairsByChunk& chunks, std::int64_t chunk, Memory& memory,
                   Sum* sums) const {
    const std::int64_t taps = over_.taps(), first = chunk * rows_of_chunk_;
    const std::int64_t rows = std::min(rows_of_chunk_, over_.target_rows() - first);
    std::ranges::fill(memory.sources, -1);
    for (std::int64_t t = 0; t < taps; ++t) {
      const TapPairs pairs = chunks.pairs(chunk, t);
      std::int32_t* sources = memory.sources.data() + t * rows_of_chunk_;
      for (std::int64_t i = 0; i < pairs.count; ++i) {
        sources[pairs.scatter[i] - first] = pairs.gather[i];
      }
    }
    Factor* x = memory.rows.data();
    Sum* y = memory.products.data();
    for (std::int64_t begin = 0; begin < rows; begin += kRowsOfAll) {
      const std::int64_t count = std::min(kRowsOfAll, rows - begin);
      bool joined[kRowsOfAll] = {};
      for (std::int64_t t = 0; t < taps; ++t) {
        const std::int32_t* sources = memory.sources.data() + t * rows_of_chunk_ + begin;
        Work::gather(features_.data(), {sources, nullptr, 0, count}, from_, x + t * from_, width_);
        for (std::int64_t row = 0; row < count; ++row) joined[row] |= sources[row] >= 0;
      }
      std::fill(x + count * width_, x + kRowsOfAll * width_, Factor{0});
      Work::multiply(x, weights_.data(), y, kRowsOfAll, width_, to_);
      for (std::int64_t row = 0; row < count; ++row) {
        if (!joined[row]) continue;  // stays the bias, bit for bit
        Work::scatter(y + row * to_, {nullptr, nullptr, first + begin + row, 1}, to_, sums);
      }
    }
  }

  const char* operation_;
  const ConvolutionMap& over_;
  std::span<const T> features_;
  std::vector<Factor> weights_;
  std::int64_t from_, to_;
  const ConvolutionOptions& options_;
  HostExecutor executor_;
  bool all_taps_;
  std::int64_t rows_of_block_, width_, rows_of_chunk_ = kRowsOfAll;
};

/// grad_W[co][ci] of a tap, as [ci][co]: the sum of in[i][ci] * grad_out[o][co].
template <class T, class Sum>
std::vector<Sum> weight_sums(const TapPairs& pairs, std::span<const T> features,
                             std::span<const T> gradient, std::int64_t cin, std::int64_t cout) {
  using Factor = FactorOf<T>;
  using Work = Blocks<T, Sum>;
  std::vector<Sum> sums(index(cin * cout));
  std::vector<Factor> x(index(kRowsOfAll * cin)), g(index(kRowsOfAll * cout));
  for (std::int64_t begin = 0; begin < pairs.count; begin += kRowsOfAll) {
    const TapPairs block = pairs.part(begin, std::min(begin + kRowsOfAll, pairs.count));
    const TapPairs targets{block.scatter, nullptr, block.first, block.count};
    Work::gather(features.data(), block, cin, x.data(), cin);
    Work::gather(gradient.data(), targets, cout, g.data(), cout);
    Work::add_outer(x.data(), g.data(), sums.data(), block.count, cin, cout);
  }
  return sums;
}

template <class T>
std::vector<T> convolved(const ConvolutionMap& over, const ConvolutionInput<T>& input,
                         const ConvolutionOptions& options) {
  check_convolution(over, input);
  check_memory("convolution", over);
  const std::int64_t cin = input.weights.shape[1], cout = input.weights.shape[0];
  const std::span<const T> features = input.features.values;
  return summed(features, input.weights.values, over.taps() * cin, [&]<class Sum>(Sum zero) {
    std::vector<Sum> sums(index(over.target_rows() * cout), zero);
    if (input.bias) {
      std::vector<Sum> bias;
      for (const T b : input.bias->values) bias.push_back(static_cast<FactorOf<T>>(b));
      for (std::size_t i = 0; i < sums.size(); i += bias.size()) {
        std::ranges::copy(bias, sums.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    Convolution<T, Sum>("convolution", over, features,
                        packed(input.weights, cin, cout, over.taps(), false), cin, cout, options)
        .add_to(sums);
    return all_rounded<T>("convolution", "output", std::move(sums), cout);
  });
}

template <class T>
ConvolutionGradients<T> gradients(const ConvolutionMap& over, const ConvolutionInput<T>& input,
                                  const Tensor<T>& grad_output, const ConvolutionOptions& options) {
  constexpr const char* kOperation = "convolution_gradients";
  check_convolution_gradients(over, input, grad_output);
  check_memory(kOperation, over);
  const std::int64_t cin = input.weights.shape[1], cout = input.weights.shape[0];
  const std::int64_t taps = over.taps();
  const std::span<const T> features = input.features.values, gradient = grad_output.values;
  ConvolutionGradients<T> result;

  result.features = summed(gradient, input.weights.values, taps * cout, [&]<class Sum>(Sum zero) {
    std::vector<Sum> sums(index(over.source_rows() * cin), zero);
    const ConvolutionMap back = over.transposed();
    Convolution<T, Sum>(kOperation, back, gradient, packed(input.weights, cin, cout, taps, true),
                        cout, cin, options)
        .add_to(sums);
    return all_rounded<T>(kOperation, "grad_features", std::move(sums), cin);
  });

  result.weights = summed(features, gradient, over.target_rows(), [&]<class Sum>(Sum) {
    std::vector<Sum> sums(index(cout * cin * taps));
    HostExecutor executor(options.threads, system_allocator(), system_allocator());
    executor.for_each_index(
        {taps},
        [&](std::int64_t t) {
          const auto one = weight_sums<T, Sum>(over.pairs_of(t), features, gradient, cin, cout);
          for (std::int64_t ci = 0; ci < cin; ++ci) {
            for (std::int64_t co = 0; co < cout; ++co) {
              sums[index((co * cin + ci) * taps + t)] = one[index(ci * cout + co)];
            }
          }
        },
        1);
    return all_rounded<T>(kOperation, "grad_weights", std::move(sums), cin * taps);
  });

  const T one[] = {static_cast<T>(1)};
  result.bias =
      summed(gradient, std::span<const T>(one), over.target_rows(), [&]<class Sum>(Sum zero) {
        std::vector<Sum> sums(index(cout), zero);
        for (auto row = gradient.begin(); row != gradient.end(); row += cout) {
          for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += static_cast<FactorOf<T>>(row[c]);
        }
        return all_rounded<T>(kOperation, "grad_bias", std::move(sums), 1);
      });
  return result;
}

}  // namespace

ConvolutionMap ConvolutionMap::in_place(const BatchedBuilder& builder, KernelMap map,
                                        Triple kernel) {
  if (map.taps() != kernel[0] * kernel[1] * kernel[2]) {
    throw Error(ErrorKind::ShapeMismatch, "convolution", "kernel",
                text_of({kernel[0], kernel[1], kernel[2]}),
                "the map has " + std::to_string(map.taps()) + " taps");
  }
  ConvolutionMap made;
  made.map_ = std::move(map);
  made.kernel_ = kernel;
  made.in_host_memory_ = builder.works_in_host_memory();
  return made;
}

ConvolutionMap ConvolutionMap::of(BatchedBuilder& builder, const KernelMap& map, Triple kernel) {
  ConvolutionMap made = in_place(builder, map, kernel);
  made.map_ = builder.to_host(map);
  made.in_host_memory_ = true;
  return made;
}

ConvolutionMap ConvolutionMap::identity(std::int64_t rows) {
  ConvolutionMap made;
  made.rows_ = rows;
  return made;
}

ConvolutionMap ConvolutionMap::transposed() const {
  ConvolutionMap other = *this;
  if (map_) other.map_ = map_->transposed();
  return other;
}

template <class T>
void check_convolution(const ConvolutionMap& over, const ConvolutionInput<T>& input) {
  check_operands("convolution", over, input);
  if (input.bias) {
    check_count("convolution", "bias", *input.bias);
    check_shape("convolution", "bias", *input.bias, {input.weights.shape[0]});
  }
}

template <class T>
std::vector<T> convolve(const ConvolutionMap& over, const ConvolutionInput<T>& input,
                        const ConvolutionOptions& options) {
  return or_out_of_memory("convolution", [&] { return convolved(over, input, options); });
}

template <class T>
void check_convolution_gradients(const ConvolutionMap& over, const ConvolutionInput<T>& input,
                                 const Tensor<T>& grad_output) {
  constexpr const char* kOperation = "convolution_gradients";
  check_operands(kOperation, over, input);
  check_count(kOperation, "grad_output", grad_output);
  check_shape(kOperation, "grad_output", grad_output, {over.target_rows(), input.weights.shape[0]});
}

template <class T>
ConvolutionGradients<T> convolution_gradients(const ConvolutionMap& over,
                                              const ConvolutionInput<T>& input,
                                              const Tensor<T>& grad_output,
                                              const ConvolutionOptions& options) {
  return or_out_of_memory("convolution_gradients",
                          [&] { return gradients(over, input, grad_output, options); });
}

#define LEAFPROOF_CONVOLUTION_OF(T)                                                            \
  template void check_convolution(const ConvolutionMap&, const ConvolutionInput<T>&);          \
  template std::vector<T> convolve(const ConvolutionMap&, const ConvolutionInput<T>&,          \
                                   const ConvolutionOptions&);                                 \
  template void check_convolution_gradients(const ConvolutionMap&, const ConvolutionInput<T>&, \
                                            const Tensor<T>&);                                 \
  template ConvolutionGradients<T> convolution_gradients(                                      \
      const ConvolutionMap&, const ConvolutionInput<T>&, const Tensor<T>&,                     \
      const ConvolutionOptions&)
LEAFPROOF_CONVOLUTION_OF(double);
LEAFPROOF_CONVOLUTION_OF(float);
LEAFPROOF_CONVOLUTION_OF(Eigen::half);
LEAFPROOF_CONVOLUTION_OF(std::int32_t);
#undef LEAFPROOF_CONVOLUTION_OF

}  // namespace leafproof::gpu
