// Laws of files: a batch that is written and read again is the same batch.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <variant>

#include "oracle/input/input.h"
#include "oracle/input/voxel_lists.h"
#include "oracle/layout_view.h"
#include "properties/arbitrary.h"
#include "properties/questions.h"
#include "properties/subject.h"

namespace leafproof::properties {
namespace {

class Files : public Law {};

/// A name for a file, which is removed in the end.
class Temporary {
 public:
  explicit Temporary(const std::string& ending)
      : path_(std::filesystem::temp_directory_path() /
              ("leafproof-laws-" + std::to_string(getpid()) + ending)) {}
  ~Temporary() { std::filesystem::remove(path_); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

GridBuffer grids_of(const Answer& answer) {
  if (const auto* layout = std::get_if<Layout>(&answer)) return write_layout(*layout);
  return std::get<GridBuffer>(answer);
}

TEST_P(Files, GridsComeBack) {
  const Subject run = subject();
  holds("grids in a .nvdb file are the same bytes when they are read, and the same batch [G-6]",
        [&] {
          const Batch batch = *batches();
          RC_PRE(batch.size() > 0U);  // a file has at least one grid
          const GridBuffer written = grids_of(run.answer(ask(Op::FromIjk, batch)));
          const Temporary file(".nvdb");
          write_nvdb(file.path(), written);
          const GridBuffer read = read_nvdb(file.path());
          RC_ASSERT(read.offsets == written.offsets);
          RC_ASSERT(std::ranges::equal(read.bytes, written.bytes));
          RC_ASSERT(read_input({file.path()}, {}).batch == batch);
        });
}

TEST_P(Files, VoxelListsComeBack) {
  const Subject run = subject();
  holds("voxels and maps in a .npz file are the same when they are read [L-3] [G-7]", [&] {
    const Batch batch = *batches();
    const Temporary file(".npz");
    write_voxel_npz(file.path(), run(ask(Op::FromIjk, batch)));
    const Batch read = read_input({file.path()}, {}).batch;  // names are not kept
    RC_ASSERT(read.members == batch.members);
    RC_ASSERT(read.maps == batch.maps);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Files, testing::ValuesIn(subjects()), name_of);

}  // namespace
}  // namespace leafproof::properties
