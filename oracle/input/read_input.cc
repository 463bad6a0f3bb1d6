// Which reader a file is for, and how files become one batch.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

#include "oracle/input/input.h"
#include "oracle/input/mesh.h"
#include "oracle/input/nvdb_file.h"
#include "oracle/input/points.h"
#include "oracle/input/vdb.h"
#include "oracle/input/voxel_lists.h"
#include "oracle/out_of_memory.h"

namespace leafproof::oracle {
namespace {

constexpr std::string_view known =
    "read are .obj .ply .stl .gltf .glb .3ds .xyz .npy .npz .vdb .nvdb";

void read_surface(const FileTask& task, const InputOptions& options, Input& input) {
  append_surface(task, read_mesh(task), options, input);
}

void read_ply(const FileTask& task, const InputOptions& options, Input& input) {
  const FileBytes file = read_file(task);
  if (read_ply_header(task, file.bytes).has_faces) {
    read_surface(task, options, input);
  } else {
    append_points(task, read_ply_points(task, file.bytes), options, input);
  }
}

void read_npy(const FileTask& task, const InputOptions& options, Input& input) {
  const FileBytes file = read_file(task);
  const NpyArray array(task, "", file.bytes);
  if (array.is('i', 4) || array.is('i', 8)) {
    append_voxel_list(task, array, options.max_voxels, input);
    return;
  }
  if (!array.is('f', 4) && !array.is('f', 8)) {
    task.refuse(ErrorKind::Unsupported,
                fmt::format("holds {}; float32 and float64 are points, int32 and int64 voxels",
                            array.type()));
  }
  if (array.shape().size() != 2 || array.shape()[1] != 3) {
    task.refuse(ErrorKind::Corrupt,
                fmt::format("has the shape {}; points have [N,3]", array.shape_text()));
  }
  check_budget(task, array.shape()[0], options.max_voxels);
  std::vector<Point> points(array.shape()[0]);
  for (std::size_t row = 0; row < points.size(); ++row) {
    for (std::size_t axis = 0; axis < 3; ++axis) points[row][axis] = array.real(row, axis);
  }
  append_points(task, points, options, input);
}

void read_any(const FileTask& task, const InputOptions& options, Input& input) {
  std::string extension = task.file.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (extension == ".obj" || extension == ".stl" || extension == ".gltf" || extension == ".glb" ||
      extension == ".3ds") {
    read_surface(task, options, input);
  } else if (extension == ".ply") {
    read_ply(task, options, input);
  } else if (extension == ".xyz") {
    append_points(task, read_xyz(task), options, input);
  } else if (extension == ".npy") {
    read_npy(task, options, input);
  } else if (extension == ".npz") {
    read_npz(task, options.max_voxels, input);
  } else if (extension == ".vdb") {
    read_vdb(task, options.max_voxels, input);
  } else if (extension == ".nvdb") {
    read_nvdb_members(task, options.max_voxels, input);
  } else {
    check_readable(task);
    task.refuse(ErrorKind::Unsupported,
                extension.empty() ? fmt::format("has no extension; {}", known)
                                  : fmt::format("has the extension {}; {}", extension, known));
  }
}

template <class T>
void move_append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void check_options(const InputOptions& options) {
  if (!(options.voxel_size >= 0) || !std::isfinite(options.voxel_size)) {
    throw Error(ErrorKind::InvalidArgument, {.operation = "read input",
                                             .argument = "voxel_size",
                                             .value = fmt::format("{}", options.voxel_size),
                                             .reason = "must be positive and finite",
                                             .member = {},
                                             .row = {}});
  }
}

}  // namespace

Input read_input(const std::vector<std::filesystem::path>& files, const InputOptions& options) {
  return or_out_of_memory("read input", "file", [&]() -> Input {
    check_options(options);
    Input all;
    InputOptions left = options;
    for (const std::filesystem::path& file : files) {
      const std::string extension = file.extension().string();
      const FileTask task{"read " + (extension.empty() ? "input" : extension), file};
      Input input;  // of its own, so that errors number the members of this file
      or_out_of_memory(task, [&] { read_any(task, left, input); });
      for (const auto& member : input.batch.members) left.max_voxels -= member.size();
      move_append(all.batch.members, input.batch.members);
      move_append(all.batch.maps, input.batch.maps);
      move_append(all.batch.names, input.batch.names);
      move_append(all.provenance, input.provenance);
      move_append(all.notes, input.notes);
    }
    return all;
  });
}

}  // namespace leafproof::oracle
