// Known answers in the format of [F]: read strictly, run on a backend, count.
#pragma once

#include <filesystem>
#include <variant>
#include <vector>

#include "oracle/compare.h"

namespace leafproof::oracle {

struct Vector {
  Case question;
  Answer expected;         // Layout from `voxels`, Maps, or an Error whose kind is all that counts
  std::string file, op;    // identity [F]: file, op, params, id
  std::string convolution;  // the raw JSON of a convolution case, kept for the backends that answer it
};

/// Throws Error(Corrupt) naming file, group, case and key: unknown keys, wrong shapes, voxels out of
/// canonical order, a node count or box that contradicts the voxels.
std::vector<Vector> read_vectors(const std::filesystem::path& file);

/// Judges one answer: order and voxels, boxes and node counts of `expected`, or the error's kind.
Verdict judge(const Vector& vector, const Answer& actual);

}  // namespace leafproof::oracle
