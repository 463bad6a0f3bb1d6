// Plans [P]: all that a convolution needs of its grids, built once and used with any weights and
// features that fit; and a cache of them.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/batched_builder.h"
#include "gpu/convolution.h"

namespace leafproof::gpu {

/// [K-6] The generated support, or a batch that was given.
enum class TargetPolicy { Complete, Restricted };

/// [M-6] Of the rows of one side: how many pairs each is in.
struct Degrees {
  std::vector<std::int64_t> of_row;
  std::vector<std::int64_t> histogram;  // rows of degree 0, 1, ...
  std::vector<std::int64_t> unjoined;   // rows of degree 0, ascending
};
struct Coverage {
  Degrees source, target;
};

/// Immutable; a handle, which owns what it needs. Copies are constant time.
class Plan {
 public:
  /// The backends that a plan can be for: of builders that work in plain memory, and of the others.
  static constexpr std::string_view kHost = "host", kDevice = "device";

  /// Without a target: complete, conv_grid() or conv_transpose_grid() of the source. K=S=1 where
  /// the target is the source itself, or none is given, builds no map and no grid [V-4], in
  /// O(B); other batches go the general way, however much they look like the source.
  /// Unsupported for another backend, and for one that is not the builder's; other errors as those
  /// passes.
  static Plan build(BatchedBuilder& builder, const GridBatch& source, const ConvGeometry& geometry,
                    Direction direction = Direction::Forward,
                    const std::optional<GridBatch>& target = {}, std::string_view backend = kHost);

  const GridBatch& source() const { return swapped_ ? data_->target : data_->source; }
  const GridBatch& target() const { return swapped_ ? data_->source : data_->target; }
  const ConvGeometry& geometry() const { return data_->geometry; }
  Direction direction() const;
  /// Of a transposed plan: the target is the batch that the plan was built from, so restricted.
  TargetPolicy policy() const { return swapped_ ? TargetPolicy::Restricted : data_->policy; }
  std::string_view backend() const { return data_->on_host ? kHost : kDevice; }
  const ConvolutionMap& map() const { return map_; }

  /// [P-3] Per axis, the residues of 0 ... S-1 that no tap reaches, as bits.
  const std::array<std::uint64_t, 3>& missed_residues() const { return data_->missed_residues; }
  bool reaches_every_residue() const {
    return data_->missed_residues == std::array<std::uint64_t, 3>{};
  }

  /// Source and target exchanged [P-2]; constant time.
  Plan transposed() const;

  /// O(pairs), on request. Unsupported where the map lies in device memory.
  Coverage coverage() const;
  /// What it is, in a few lines for people: geometry, rows, pairs, residues missed.
  std::string report() const;

  /// convolve() and convolution_gradients() over this plan's map; those of a plan for device memory
  /// are a CudaConvolution's.
  template <class T>
  std::vector<T> convolve(const ConvolutionInput<T>& input,
                          const ConvolutionOptions& options = {}) const {
    return gpu::convolve(map_, input, options);
  }
  template <class T>
  ConvolutionGradients<T> gradients(const ConvolutionInput<T>& input, const Tensor<T>& grad_output,
                                    const ConvolutionOptions& options = {}) const {
    return convolution_gradients(map_, input, grad_output, options);
  }

 private:
  struct Data {
    GridBatch source, target;
    ConvGeometry geometry;
    Direction direction;
    TargetPolicy policy;
    bool on_host;
    std::array<std::uint64_t, 3> missed_residues;
  };
  Plan(std::shared_ptr<const Data> data, ConvolutionMap map, bool swapped);

  std::shared_ptr<const Data> data_;
  ConvolutionMap map_;
  bool swapped_ = false;
};

/// Plans by all that decides them [P-2]; the least recently used is let go where there are more
/// than `capacity`. Safe from several threads, each with a builder of its own; two that miss the
/// same plan at once build it twice, and get the same.
class PlanCache {
 public:
  /// InvalidArgument for a capacity of 0.
  explicit PlanCache(std::size_t capacity = 64);

  /// As Plan::build, which is called where there is none.
  Plan get(BatchedBuilder& builder, const GridBatch& source, const ConvGeometry& geometry,
           Direction direction = Direction::Forward, const std::optional<GridBatch>& target = {},
           std::string_view backend = Plan::kHost);
  /// The same under a name, which says what the caller believes: InvalidArgument where the name
  /// stands for another plan, saying in what they differ. Names are kept until forget_names(), also
  /// of plans that were let go.
  Plan get_named(const std::string& name, BatchedBuilder& builder, const GridBatch& source,
                 const ConvGeometry& geometry, Direction direction = Direction::Forward,
                 const std::optional<GridBatch>& target = {},
                 std::string_view backend = Plan::kHost);
  void forget_names();
  /// All plans and names; the counts stay.
  void clear();

  std::int64_t hits() const;
  std::int64_t misses() const;
  std::size_t size() const;

 private:
  struct Key {
    BatchIdentity source;
    std::optional<BatchIdentity> target;  // none: complete
    Triple kernel, stride, dilation;
    Direction direction;
    std::string backend;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    Plan plan;
    std::list<Key>::iterator use;
  };
  static Key key_of(const GridBatch& source, const ConvGeometry& geometry, Direction direction,
                    const std::optional<GridBatch>& target, std::string_view backend);
  static const char* difference(const Key& a, const Key& b);

  std::size_t capacity_;
  mutable std::mutex mutex_;  // of all below
  std::map<Key, Entry> plans_;
  std::list<Key> uses_;  // the latest first
  std::map<std::string, Key> names_;
  std::int64_t hits_ = 0, misses_ = 0;
};

}  // namespace leafproof::gpu
