#include "gpu/benchmarks/read_grids.h"

#include <fcntl.h>
#include <nanovdb/NanoVDB.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace leafproof::gpu::benchmarks {
namespace {

/// The bytes of a file, from first to last.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : file_(file.string()) {
    std::ifstream stream(file, std::ios::binary | std::ios::ate);
    const auto size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
    if (size < 0) refuse(ErrorKind::InvalidArgument, "cannot be read");
    bytes_.resize(static_cast<std::size_t>(size));
    stream.seekg(0);
    if (!stream.read(bytes_.data(), size)) refuse(ErrorKind::InvalidArgument, "cannot be read");
  }

  bool done() const { return at_ == bytes_.size(); }
  const char* take(std::uint64_t bytes) {
    if (bytes > bytes_.size() - at_) refuse(ErrorKind::Corrupt, "ends too early");
    at_ += static_cast<std::size_t>(bytes);
    return bytes_.data() + at_ - bytes;
  }
  template <class T>
  T take() {
    T value;
    std::memcpy(static_cast<void*>(&value), take(sizeof value), sizeof value);
    return value;
  }
  [[noreturn]] void refuse(ErrorKind kind, const std::string& reason) const {
    throw Error(kind, "read grids", "file", file_, reason);
  }

 private:
  std::string file_;
  std::vector<char> bytes_;
  std::size_t at_ = 0;
};

/// A folder of its own, gone with its contents at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "leafproof-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Runs a program to its end, its stdout thrown away; the exit status, -1 if it did not exit.
int run_program(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace

GridBatch read_by_leafproof(BatchedBuilder& builder, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "batch.nvdb";
  const auto program = std::filesystem::canonical("/proc/self/exe").parent_path() / "leafproof";
  std::vector<std::string> words{program.string(), "apply", "from_ijk", "-o", file.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  if (run_program(words) != 0) {
    throw std::runtime_error(program.string() + " could not read the input");
  }
  return read_grids(builder, file);
}

GridBatch read_grids(BatchedBuilder& builder, const std::filesystem::path& file) {
  Reader reader(file);
  std::vector<char> grids;
  std::uint32_t count = 0;
  while (!reader.done()) {
    const auto header = reader.take<nanovdb::io::FileHeader>();
    if (!header.isValid()) reader.refuse(ErrorKind::Unsupported, "is no .nvdb file");
    if (header.codec != nanovdb::io::Codec::NONE) {
      reader.refuse(ErrorKind::Unsupported, "is compressed");
    }
    std::vector<std::uint64_t> sizes;
    for (int i = 0; i < header.gridCount; ++i) {
      const auto record = reader.take<nanovdb::io::FileMetaData>();
      reader.take(record.nameSize);
      sizes.push_back(record.gridSize);
    }
    for (const std::uint64_t size : sizes) {
      const char* grid = reader.take(size);
      grids.insert(grids.end(), grid, grid + size);
      ++count;
    }
  }
  if (count == 0) reader.refuse(ErrorKind::InvalidArgument, "holds no grid");
  bool zeroed = false;
  const auto memory = allocate_shared(system_allocator(), grids.size(), &zeroed);
  std::memcpy(memory.get(), grids.data(), grids.size());
  return builder.adopt(memory, grids.size());
}

}  // namespace leafproof::gpu::benchmarks
