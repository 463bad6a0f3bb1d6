// What is judged: anything that answers a Case. An answer is a layout (the references), a NanoVDB
// buffer (the batched builder, files from outside), lists of voxels (programs from outside), maps,
// numbers, a refusal, "not implemented", or a fault that a backend met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

enum class Profile { Sets, Topology, Layout, Bytes };  // [G-9]
std::string_view to_string(Profile profile);
std::optional<Profile> parse_profile(std::string_view name);

/// "OutOfRange", ...: the kinds of [E-3], as error.h names them.
std::optional<ErrorKind> parse_error_kind(std::string_view name);

/// A batch as NanoVDB grids in one buffer [G-6]; `owner` keeps `bytes` alive. 32-byte aligned.
/// `offsets` (B+1) says where each grid begins, and where the last ends; nothing in the bytes has
/// been checked. `profile`: what a foreign author asks to be judged by; none: `bytes`, as our
/// builders owe them.
struct GridBuffer {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  std::vector<std::uint64_t> offsets{0};
  std::optional<Profile> profile{};
};

/// The voxels alone, per member: of a builder that has no NanoVDB grids. In canonical order, judged
/// element by element; or in an order of its own, judged as sets. `maps` are judged where they are
/// given and the operation is about maps.
struct VoxelsAnswer {
  std::vector<std::vector<Voxel>> members;
  bool own_order = false;
  std::optional<std::vector<Map>> maps;
};

struct NotImplemented {
  std::string reason;
};

/// What a backend did instead of answering, as one phrase ("a crash: signal 11, Segmentation
/// fault"), and lines that tell more, such as the last of its stderr. Never a right answer.
struct Failed {
  std::string fault;
  std::vector<std::string> lines;
  bool hung = false;  // it had its time and gave no answer: asking again takes as long
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
  /// As of a GridBuffer. Below `layout` a complete target may stay unsaid: the pairs show it.
  std::optional<Profile> profile{};
};

/// For Op::KernelMap in its dense form, and Op::SubmanifoldIndexMap [M-4].
struct DenseMapAnswer {
  reference::DenseMap map;
  std::optional<RowVoxels> source_rows, target_rows;
  std::shared_ptr<const std::variant<Layout, GridBuffer>> target;
  Triple kernel_size{1, 1, 1};
  std::optional<Profile> profile{};
};

/// What a backend multiplies and sums in, by which its numbers are judged [V-3].
enum class Arithmetic { Fp64, Fp32, Tf32, Fp16 };
std::string_view to_string(Arithmetic arithmetic);
std::optional<Arithmetic> parse_arithmetic(std::string_view name);

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

using Answer = std::variant<Layout, GridBuffer, VoxelsAnswer, Maps, KernelMapAnswer, DenseMapAnswer,
                            NumbersAnswer, GradientsAnswer, Error, NotImplemented, Failed>;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // "reference", "brute_force", "host", ...
  /// One line for people: what it is.
  virtual std::string_view description() const = 0;
  /// Refusals are returned as an Error, not thrown. Safe from several threads at once.
  virtual Answer answer(const Case& question) const = 0;
};

/// How the files that an answer names are read (docs/answer-format.md). Both throw Error for what
/// cannot be. The program has those of input/answer_files.h; without them an answer names no file.
struct AnswerFiles {
  std::function<GridBuffer(const std::string& path)> nanovdb;
  /// `kind`: "grid", "map", "dense", "numbers", "gradients".
  std::function<Answer(const std::string& path, std::string_view kind)> npz;
};

/// Of a backend that is another's program or shared library.
struct ForeignOptions {
  double limit = 10;  // seconds for a case
  double start = 60;  // more for the first case of the first process, which may load libraries
  AnswerFiles files;
  /// The program `leafproof`, which loads a shared library and answers for it in a process of its
  /// own, so that a crash is a verdict. Empty: it is loaded into this process, without a limit.
  std::string loader{};
};

/// Names of all backends of this build, in the order of --help.
std::vector<std::string> backend_names();

/// The backend of that name; or of a shared library ("./libmine.so"), by abi/leafproof_backend.h;
/// or of a command ("python3 mine.py"), the program that it runs. Error(InvalidArgument, argument
/// "backend") when it is none of them.
std::unique_ptr<Backend> make_backend(std::string_view name, const ForeignOptions& options = {});

}  // namespace leafproof::oracle
