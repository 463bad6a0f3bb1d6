// Known answers in the format of [F]: read strictly, run on a backend, count.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "oracle/compare.h"

namespace leafproof::oracle {

/// The numbers of a file themselves, so that a layout derived by the reference is judged by them
/// too.
struct Expected {
  std::vector<std::vector<Voxel>> voxels;  // per member, in canonical order
  std::vector<std::optional<reference::Box>> boxes;
  std::vector<std::array<std::uint64_t, 3>> node_counts;  // leaf, lower, upper
};

struct Vector {
  Case question;
  Answer expected;     // Layout from `voxels`, Maps, a map, numbers, or an Error whose kind is all
                       // that counts
  Expected written;    // when `expected` is a Layout
  std::string file;    // identity [F]: file, op, params, id
  std::string params;  // JSON text, keys sorted
  std::int64_t id = 0;
  std::optional<KernelMapAnswer> pairs;  // of a convolution: the map that is asked for as well
};

/// Throws Error(Corrupt) naming file, group, case and key: unknown, repeated or missing keys, wrong
/// shapes, voxels out of canonical order, a node count or box that contradicts the voxels, an
/// identity used twice. Error(InvalidArgument) when the file cannot be read.
std::vector<Vector> read_vectors(const std::filesystem::path& file);

/// Judges one answer: order and voxels, boxes and node counts of `expected`, and then the whole
/// layout [G-9]; the maps; the map or the numbers; or the error's kind.
Verdict judge(const Vector& vector, const Answer& actual);

/// Asks a backend and judges it; of a convolution its kernel map is asked for and judged too.
Verdict judge_on(const Vector& vector, const Backend& backend);

struct Tally {
  std::int64_t passed = 0, failed = 0, not_implemented = 0;
};

/// Runs every vector on a backend, in order; `on_verdict` is called with each.
Tally run_vectors(const std::vector<Vector>& vectors, const Backend& backend,
                  const std::function<void(const Vector&, const Verdict&)>& on_verdict = {});

/// The `*.json` files of a folder, by name; or the file itself. Error(InvalidArgument) when there
/// is none.
std::vector<std::filesystem::path> vector_files(const std::filesystem::path& folder_or_file);

}  // namespace leafproof::oracle
