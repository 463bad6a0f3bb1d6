// What is judged: anything that answers a Case. An answer is a layout (the references), a NanoVDB
// buffer (the batched builder, files from outside), a refusal, or "not implemented".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oracle/case.h"
#include "reference/error.h"
#include "reference/layout.h"

namespace leafproof::oracle {

using reference::Error;
using reference::ErrorDetail;
using reference::ErrorKind;
using reference::Layout;

/// A batch as NanoVDB grids in one buffer [G-6]; `owner` keeps `bytes` alive. 32-byte aligned.
/// `offsets` (B+1) says where each grid begins, and where the last ends; nothing in the bytes has
/// been checked.
struct GridBuffer {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  std::vector<std::uint64_t> offsets{0};
};

struct NotImplemented {
  std::string reason;
};

/// The maps alone, for Op::MapAfter.
struct Maps {
  std::vector<Map> maps;
};

/// The voxels of a backend's rows, for one that numbers them its own way [M-7]; and of the
/// reference, so that differences can be shown.
struct RowVoxel {
  std::int64_t member = 0;
  Voxel voxel;
};
using RowVoxels = std::vector<RowVoxel>;

/// For Op::KernelMap [M-2]. Nothing of a candidate's map has been checked.
struct KernelMapAnswer {
  reference::KernelMap map;  // its row counts are read of the reference only
  std::optional<RowVoxels> source_rows, target_rows;
  std::shared_ptr<const std::variant<Layout, GridBuffer>> target;  // where it is complete [K-6]
  // Read of the reference only.
  Triple kernel_size{1, 1, 1};
  Direction direction = Direction::Forward;
};

/// For Op::KernelMap in its dense form, and Op::SubmanifoldIndexMap [M-4].
struct DenseMapAnswer {
  reference::DenseMap map;
  std::optional<RowVoxels> source_rows, target_rows;
  std::shared_ptr<const std::variant<Layout, GridBuffer>> target;
  Triple kernel_size{1, 1, 1};
};

/// What a backend multiplies and sums in, by which its numbers are judged [V-3].
enum class Arithmetic { Fp64, Fp32, Tf32, Fp16 };
std::string_view to_string(Arithmetic arithmetic);

/// For Op::Convolution: [target rows][Cout].
struct NumbersAnswer {
  reference::Array array;
  NumberType type = NumberType::Float64;
  Arithmetic multiplier = Arithmetic::Fp64, accumulator = Arithmetic::Fp64;
  std::optional<RowVoxels> rows;  // those of the first axis
  /// Of the reference: each element without error, and whether all that it was made of is whole
  /// numbers of at most so much (0: not so), which are then summed exactly.
  std::shared_ptr<const std::vector<reference::Exact>> exact;
  double largest_whole = 0;
};

/// For Op::ConvolutionGradients [V-2].
struct GradientsAnswer {
  NumbersAnswer features, weights, bias;
};

using Answer = std::variant<Layout, GridBuffer, Maps, KernelMapAnswer, DenseMapAnswer,
                            NumbersAnswer, GradientsAnswer, Error, NotImplemented>;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // "reference", "brute_force", "host", ...
  /// One line for people: what it is.
  virtual std::string_view description() const = 0;
  /// Refusals are returned as an Error, not thrown. Safe from several threads at once.
  virtual Answer answer(const Case& question) const = 0;
};

/// Names of all backends of this build, in the order of --help.
std::vector<std::string> backend_names();

/// Error(InvalidArgument, argument "backend") when there is none of that name.
std::unique_ptr<Backend> make_backend(std::string_view name);

}  // namespace leafproof::oracle
