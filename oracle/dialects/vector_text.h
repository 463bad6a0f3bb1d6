// Inside the vectors of dialects: a file is written group by group and case by case.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "oracle/dialects/dialect.h"

namespace leafproof::oracle::dialects {

/// A case to be answered by the dialect itself.
struct VectorCase {
  Layer layer;
  std::string comment;
  std::vector<std::string> flags;
  Rows source;
  std::optional<Rows> target = {};
  std::int64_t batch_size = 1;
  /// Of an op `weights` instead: ours of so many channels, every element another whole number.
  std::optional<Channels> channels = {};
};

/// The text of a file of these cases, in their order; cases with the same op and params are a
/// group. An id counts within its group. A case that the dialect refuses is written as `invalid`.
std::string vector_text(const std::string& dialect, const std::string& report,
                        const std::vector<VectorCase>& cases);

/// Any file of vectors as the project writes it: a case a line.
std::string file_text(const nlohmann::ordered_json& file);

}  // namespace leafproof::oracle::dialects
