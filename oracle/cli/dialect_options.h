// A layer of another library on the command line: its triples are x,y,z there, whatever the library
// has.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "oracle/dialects/dialect.h"

namespace leafproof::oracle::cli {

struct DialectOptions {
  std::string name, kernel = "1", stride = "1", dilation = "1";
  std::string padding, output_padding, shape, tensor_stride = "1";
  bool transposed = false, inverse = false, submanifold = false;

  void add_to(CLI::App& command);
  const dialects::Dialect& dialect() const { return dialects::dialect(name); }

  /// The layer, which the library has; without --padding with the padding that is nearest to ours.
  dialects::Layer layer() const;
};

}  // namespace leafproof::oracle::cli
