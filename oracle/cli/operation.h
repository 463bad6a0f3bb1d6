// What `apply` and `check` share: an operation with its parameters on the command line, and the
// Case that it makes of input files.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/case.h"
#include "oracle/input/file_bytes.h"
#include "oracle/input/input.h"

namespace leafproof::oracle::cli {

struct OperationOptions {
  std::string op, factor, lo, hi, view;
  std::filesystem::path mask;
  std::vector<std::filesystem::path> other;
  bool meshes = false;  // the batch is that of real_scene(), not of input files
  InputOptions input;
  // Of convolution.
  std::string kernel, stride, dilation;
  bool transposed = false, dense = false;
  std::filesystem::path features, weights, bias;
  std::string accumulator, multiplier;  // of an answer that is judged [V-3]
  void add_to(CLI::App& command);
  void add_kernel_to(CLI::App& command);  // -K, -S, -D
  /// --transposed and, of numbers, --features, --weights, --bias; else --dense.
  void add_map_to(CLI::App& command, bool numbers);
  void add_judged_to(CLI::App& command);  // all of them, and --accumulator, --multiplier
  void add_dense_to(CLI::App& command);
  void add_numbers_to(CLI::App& command);
  bool is_of_rows() const;  // kernel-map, convolve: of SOURCE [TARGET]
};

/// "--resolution" and "--voxel-size", for every command that reads files.
void add_input_options(CLI::App& command, InputOptions& options);

/// The question (of rows: of the one or two files SOURCE [TARGET]), with the input's notes appended
/// to `notes`. Error(InvalidArgument) for parameters that the operation does not take, or lacks, or
/// that are no numbers; and all refusals of reading.
Case make_case(const OperationOptions& options, const std::vector<std::filesystem::path>& inputs,
               std::vector<std::string>& notes);

/// "2" (every axis) or "2,3,4". Error(InvalidArgument) naming the option.
Triple parse_triple(std::string_view option, std::string_view text);

/// Comma-separated names of passes [T] and of those of convolution. Error(InvalidArgument) names an
/// unknown one and lists those there are.
std::vector<Op> parse_ops(const std::vector<std::string>& names);

/// Refuses (InvalidArgument), before any work is done, an output file that could not be made: "-",
/// a name too long, a folder that is not there or takes no files.
void check_output(const FileTask& target);

/// check_output of each of the reports, which must not be one of the files that are taken (read, or
/// written otherwise) nor of the other reports, by whatever name; devices are no files that could
/// be overwritten. An empty name is that of no file, on either side.
void check_reports(const char* operation, const std::vector<std::filesystem::path>& reports,
                   std::vector<std::filesystem::path> taken);

/// Bytes that this machine can give without swapping.
std::uint64_t free_memory();

/// Refuses (CapacityExceeded) a pass whose result would not fit the memory that this machine has
/// free; names both sizes. The result's nodes are bounded from above by the images of the source's
/// voxels, leaves, lower and upper nodes, whichever are least; for from_ijk of lists in canonical
/// order that is exact. Allocates nothing; one pass over the voxels.
void check_memory(const Case& question, std::string_view backend);

}  // namespace leafproof::oracle::cli
