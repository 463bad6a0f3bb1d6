// See dialect_options.h.
#include "oracle/cli/dialect_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "oracle/cli/operation.h"
#include "oracle/dialects/rows.h"

namespace leafproof::oracle::cli {

void DialectOptions::add_to(CLI::App& command) {
  command
      .add_option("DIALECT", name,
                  fmt::format("one of {}", fmt::join(dialects::dialect_names(), ", ")))
      ->required();
  command.add_option("-K,--kernel", kernel, "kernel size, 3 or x,y,z");
  command.add_option("-S,--stride", stride, "stride (1)");
  command.add_option("-D,--dilation", dilation, "dilation (1)");
  auto* up = command.add_flag("--transposed", transposed, "the source is coarse, the target fine");
  auto* back = command.add_flag("--inverse", inverse, "the pairs of a stored forward map, swapped");
  auto* same = command.add_flag("--submanifold", submanifold, "the target is the source");
  up->excludes(back)->excludes(same);
  back->excludes(same);
  command.add_option("--padding", padding, "the padding given to the library (default: ours)");
  command.add_option("--output-padding", output_padding, "of a transposed layer (0)");
  command.add_option("--shape", shape, "the spatial shape of the input, where the library has one");
  command.add_option("--tensor-stride", tensor_stride, "minkowski: of the fine side (1)");
}

dialects::Layer DialectOptions::layer() const {
  using dialects::Kind;
  const dialects::Dialect& chosen = dialect();
  const auto triple = [&](const char* option, const std::string& text) {
    return to_columns(chosen, parse_triple(option, text));
  };
  dialects::Layer layer;
  layer.kind = transposed    ? Kind::Transposed
               : inverse     ? Kind::Inverse
               : submanifold ? Kind::Submanifold
                             : chosen.kinds().front();
  layer.size = triple("-K", kernel);
  layer.stride = triple("-S", stride);
  layer.dilation = triple("-D", dilation);
  layer.tensor_stride = triple("--tensor-stride", tensor_stride);
  if (!output_padding.empty()) layer.output_padding = triple("--output-padding", output_padding);
  if (!shape.empty()) layer.shape = triple("--shape", shape);
  if (!padding.empty()) layer.padding = triple("--padding", padding);
  chosen.check(layer);
  if (padding.empty()) layer.padding = chosen.our_padding(layer);
  return layer;
}

}  // namespace leafproof::oracle::cli
