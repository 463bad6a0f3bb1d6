// Known answers in the terms of other libraries: rows, taps and weights as a dialect has them, read
// strictly, judged, and generated (docs/dialect-vectors.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "oracle/backend.h"
#include "oracle/dialects/dialect.h"

namespace leafproof::oracle::dialects {

enum class VectorOp { KernelMap, Weights };

struct DialectVector {
  std::string file, dialect;
  std::string report;  // the public report whose input this is: "fvdb#668"; empty: none
  VectorOp op = VectorOp::KernelMap;
  std::int64_t id = 0;
  std::string identity;  // file, op, params, id
  std::string comment;
  Layer layer;

  // kernel_map
  std::int64_t batch_size = 0;
  Rows source;
  std::optional<Rows> target;  // where it is given
  LayerMap expected;
  Triple step{1, 1, 1};         // fine = step * coarse + offset of a tap
  std::vector<Triple> offsets;  // per tap

  // weights
  Array ours, theirs;

  std::optional<reference::ErrorKind> refused;  // of an invalid case
};

/// True when the file says that it is of this format; false for anything else.
bool holds_dialect_vectors(const std::filesystem::path& file);

/// Error(Corrupt) naming file, group, case and key, as read_vectors (oracle/vectors.h): unknown,
/// repeated or missing keys, wrong shapes, an identity used twice, ids that do not ascend, an empty
/// comment, columns that are not the dialect's, rows out of order, pairs out of order.
std::vector<DialectVector> read_dialect_vectors(const std::filesystem::path& file);

/// What the dialect's own code answers instead, the first difference in a sentence; empty where it
/// answers what the vector says.
std::string difference(const DialectVector& vector);

struct GeneratedFile {
  std::string name;  // "dialects/fvdb.json", "named/fvdb-668.json"
  std::string text;
};

/// The files of oracle/vectors/dialects and oracle/vectors/named, the same bytes ever. A report
/// that is about a pass is a file of oracle/vectors.h, answered by `reference`.
std::vector<GeneratedFile> generate_dialect_vectors();
std::vector<GeneratedFile> generate_named_vectors(const Backend& reference);

}  // namespace leafproof::oracle::dialects
