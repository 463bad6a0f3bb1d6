// See voxel_lists.h. The archive is libzip's business; what is in it is ours.
#include "oracle/input/voxel_lists.h"

#include <fmt/format.h>
#include <zip.h>

#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "oracle/input/atomic_file.h"
#include "oracle/input/voxel_set.h"

namespace leafproof::oracle {
namespace {

// No stream of the deflate format expands further (RFC 1951: 258 bytes from 2 bits).
constexpr std::uint64_t max_expansion = 1032;

struct Close {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, Close>;

Archive open_archive(const FileTask& task) {
  check_readable(task);
  int code = 0;
  Archive archive(zip_open(task.file.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    task.refuse(ErrorKind::Corrupt, "is no sound zip archive: " + reason);
  }
  return archive;
}

// One file of the archive, whole; libzip checks its CRC.
std::vector<std::byte> extract(const FileTask& task, zip_t* archive, const zip_stat_t& entry,
                               std::uint64_t max_bytes) {
  const std::string name = printable(entry.name);
  constexpr auto needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((entry.valid & needed) != needed) {
    task.refuse(ErrorKind::Corrupt, name + " has no sizes in the archive");
  }
  if ((entry.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && entry.encryption_method != ZIP_EM_NONE) {
    task.refuse(ErrorKind::Unsupported, name + " is encrypted");
  }
  if (entry.comp_method != ZIP_CM_STORE && entry.comp_method != ZIP_CM_DEFLATE) {
    task.refuse(ErrorKind::Unsupported,
                fmt::format("{} is compressed by method {}; stored and deflated files are read",
                            name, entry.comp_method));
  }
  const std::uint64_t expansion = entry.comp_method == ZIP_CM_STORE ? 1 : max_expansion;
  if (entry.size / expansion > entry.comp_size) {
    task.refuse(ErrorKind::Corrupt, fmt::format("{} cannot grow from {} bytes to {}", name,
                                                entry.comp_size, entry.size));
  }
  if (entry.size > max_bytes) {
    task.refuse(
        ErrorKind::CapacityExceeded,
        fmt::format("{} has {} bytes, more than the limit of {}", name, entry.size, max_bytes));
  }
  std::unique_ptr<zip_file_t, Close> file(zip_fopen_index(archive, entry.index, 0));
  if (file == nullptr) {
    task.refuse(ErrorKind::Corrupt, fmt::format("{}: {}", name, zip_strerror(archive)));
  }
  std::vector<std::byte> bytes(entry.size);
  std::uint64_t done = 0;
  while (done < bytes.size()) {
    const zip_int64_t got = zip_fread(file.get(), bytes.data() + done, bytes.size() - done);
    if (got <= 0) {
      task.refuse(ErrorKind::Corrupt, fmt::format("{}: {}", name, zip_file_strerror(file.get())));
    }
    done += static_cast<std::uint64_t>(got);
  }
  // The CRC is checked by the read that meets the end.
  std::byte beyond;
  if (zip_fread(file.get(), &beyond, 1) != 0) {
    task.refuse(ErrorKind::Corrupt,
                fmt::format("{} is longer than its size, or its checksum is wrong", name));
  }
  return bytes;
}

// The members of an archive that we want, by their names.
struct Members {
  std::map<std::string, std::vector<std::byte>> arrays;
  std::vector<std::string> others;
};

Members read_members(const FileTask& task, std::uint64_t max_voxels) {
  // Before the array's own header is known: at most this many bytes of voxels, and of others.
  const std::uint64_t ijk_bytes = 24 * std::min(max_voxels, std::uint64_t{1} << 40) + (1 << 16);
  constexpr std::uint64_t other_bytes = std::uint64_t{1} << 28;
  const Archive archive = open_archive(task);
  Members members;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t entry;
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &entry) != 0 ||
        (entry.valid & ZIP_STAT_NAME) == 0) {
      task.refuse(ErrorKind::Corrupt, fmt::format("entry {} of the archive has no name", i));
    }
    std::string name = entry.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    if (name != "ijk" && name != "offsets" && name != "voxel_sizes" && name != "origins") {
      members.others.push_back(printable(name));
    } else if (members.arrays.contains(name)) {
      task.refuse(ErrorKind::Corrupt, name + " is there twice");
    } else {
      entry.index = static_cast<zip_uint64_t>(i);
      members.arrays[name] =
          extract(task, archive.get(), entry, name == "ijk" ? ijk_bytes : other_bytes);
    }
  }
  return members;
}

void check_list(const FileTask& task, const NpyArray& ijk) {
  if (!ijk.is('i', 4) && !ijk.is('i', 8)) {
    task.refuse(ErrorKind::Unsupported,
                fmt::format("{} is {}; voxels are int32 or int64", ijk.name(), ijk.type()));
  }
  if (ijk.shape().size() != 2 || ijk.shape()[1] != 3) {
    task.refuse(ErrorKind::Corrupt, fmt::format("{} has the shape {}; voxels have [N,3]",
                                                ijk.name(), ijk.shape_text()));
  }
}

// Rows [begin, end) of a list, in canonical order.
std::vector<Voxel> member_voxels(const FileTask& task, const NpyArray& ijk, std::uint64_t begin,
                                 std::uint64_t end, std::size_t member, Input& input) {
  std::vector<Voxel> voxels;
  voxels.reserve(end - begin);
  for (std::uint64_t row = begin; row < end; ++row) {
    std::array<std::int32_t, 3> v;
    for (std::uint64_t axis = 0; axis < 3; ++axis) {
      const std::int64_t c = ijk.integer(row, axis);
      v[axis] = static_cast<std::int32_t>(c);
      if (v[axis] != c) {
        task.refuse(ErrorKind::OutOfRange,
                    fmt::format("{} = {} of {} is outside 32 bits", "xyz"[axis], c, ijk.name()),
                    static_cast<std::int64_t>(member), static_cast<std::int64_t>(row - begin));
      }
    }
    voxels.push_back({v[0], v[1], v[2]});
  }
  if (const std::uint64_t repeats = canonicalise(voxels); repeats > 0) {
    input.notes.push_back(
        fmt::format("{}: member {} lists {} more than once", task.file.string(), member,
                    repeats == 1 ? "1 voxel" : fmt::format("{} voxels", repeats)));
  }
  return voxels;
}

std::vector<std::uint64_t> checked_offsets(const FileTask& task, const NpyArray& offsets,
                                           std::uint64_t rows) {
  if (!offsets.is('i', 8)) {
    task.refuse(ErrorKind::Unsupported, "offsets is " + offsets.type() + "; int64 is read");
  }
  if (offsets.shape().size() != 1 || offsets.shape()[0] == 0) {
    task.refuse(ErrorKind::Corrupt,
                "offsets has the shape " + offsets.shape_text() + "; it needs [B+1], B >= 0");
  }
  std::vector<std::uint64_t> result;
  result.reserve(offsets.shape()[0]);
  for (std::uint64_t i = 0; i < offsets.shape()[0]; ++i) {
    const std::int64_t offset = offsets.integer(i);
    if (i == 0 && offset != 0) {
      task.refuse(ErrorKind::Corrupt, fmt::format("offsets start at {}, not at 0", offset));
    }
    if (offset < 0 || (i > 0 && static_cast<std::uint64_t>(offset) < result.back())) {
      task.refuse(
          ErrorKind::Corrupt,
          fmt::format("offsets decrease: offsets[{}] = {} after {}", i, offset, result.back()),
          static_cast<std::int64_t>(i) - 1);
    }
    result.push_back(static_cast<std::uint64_t>(offset));
  }
  if (result.back() != rows) {
    task.refuse(ErrorKind::Corrupt,
                fmt::format("offsets end at {}, and ijk has {} rows", result.back(), rows));
  }
  return result;
}

// voxel_sizes or origins: what `pick` says of each map.
void read_triples(const FileTask& task, const Members& members, const std::string& name,
                  std::vector<Map>& maps, std::array<double, 3> Map::* pick) {
  const auto found = members.arrays.find(name);
  if (found == members.arrays.end()) return;
  const NpyArray array(task, name, found->second);
  if (!array.is('f', 8)) {
    task.refuse(ErrorKind::Unsupported, name + " is " + array.type() + "; float64 is read");
  }
  if (array.shape() != std::vector<std::uint64_t>{maps.size(), 3}) {
    task.refuse(ErrorKind::Corrupt, fmt::format("{} has the shape {}; the batch needs ({}, 3)",
                                                name, array.shape_text(), maps.size()));
  }
  for (std::size_t member = 0; member < maps.size(); ++member) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      (maps[member].*pick)[axis] = array.real(member, axis);
    }
  }
}

// An array as a file of the archive. `header` and the rows make up its bytes.
class Writer {
 public:
  explicit Writer(const FileTask& task) : task_(task) {
    zip_error_init(&error_);
    target_ = zip_source_buffer_create(nullptr, 0, 0, &error_);
    if (target_ == nullptr) fail();
    zip_source_keep(target_);  // ours too, to read the archive from
    archive_.reset(zip_open_from_source(target_, ZIP_TRUNCATE, &error_));
    if (archive_ == nullptr) fail();
  }
  ~Writer() {
    archive_.reset();
    if (target_ != nullptr) zip_source_free(target_);
    zip_error_fini(&error_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void add(const std::string& name, std::string bytes) {
    contents_.push_back(std::make_unique<std::string>(std::move(bytes)));
    const std::string& kept = *contents_.back();
    zip_source_t* source = zip_source_buffer(archive_.get(), kept.data(), kept.size(), 0);
    const zip_int64_t index =
        source == nullptr ? -1 : zip_file_add(archive_.get(), (name + ".npy").c_str(), source, 0);
    if (index < 0) {
      if (source != nullptr) zip_source_free(source);
      fail();
    }
    const auto entry = static_cast<zip_uint64_t>(index);
    zip_set_file_compression(archive_.get(), entry, ZIP_CM_STORE, 0);
    zip_file_set_dostime(archive_.get(), entry, 0, 1 << 5 | 1,
                         0);  // 1980-01-01: the same bytes ever
  }

  void write() {
    if (zip_close(archive_.get()) != 0) fail();
    (void)archive_.release();  // closed
    zip_stat_t status;
    if (zip_source_stat(target_, &status) != 0 || zip_source_open(target_) != 0) fail();
    AtomicFile file(task_);
    std::vector<std::byte> chunk(std::size_t{1} << 20);
    zip_int64_t got = 0;
    while ((got = zip_source_read(target_, chunk.data(), chunk.size())) > 0) {
      file.write(std::span(chunk).first(static_cast<std::size_t>(got)));
    }
    zip_source_close(target_);
    if (got < 0) fail();
    file.commit();
  }

 private:
  [[noreturn]] void fail() { task_.refuse(ErrorKind::OutOfMemory, "the archive cannot be made"); }

  const FileTask& task_;
  zip_error_t error_;
  zip_source_t* target_ = nullptr;
  Archive archive_;
  std::vector<std::unique_ptr<std::string>> contents_;  // live until the archive is closed
};

template <class T>
void append_bytes(std::string& bytes, const T* values, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

}  // namespace

void read_npz(const FileTask& task, std::uint64_t max_voxels, Input& input) {
  const Members members = read_members(task, max_voxels);
  for (const char* name : {"ijk", "offsets"}) {
    if (!members.arrays.contains(name)) {
      task.refuse(ErrorKind::Corrupt, fmt::format("has no array {}.npy", name));
    }
  }
  const NpyArray ijk(task, "ijk", members.arrays.at("ijk"));
  check_list(task, ijk);
  const NpyArray offset_array(task, "offsets", members.arrays.at("offsets"));
  const std::uint64_t rows = ijk.shape()[0];
  const std::vector<std::uint64_t> offsets = checked_offsets(task, offset_array, rows);
  check_budget(task, rows, max_voxels);

  std::vector<Map> maps(offsets.size() - 1);
  read_triples(task, members, "voxel_sizes", maps, &Map::voxel_size);
  read_triples(task, members, "origins", maps, &Map::origin);
  for (std::size_t member = 0; member < maps.size(); ++member) {
    append_member(
        task, input, member_voxels(task, ijk, offsets[member], offsets[member + 1], member, input),
        maps[member], maps.size() == 1 ? member_name(task.file) : member_name(task.file, member),
        fmt::format("{} voxel list {}", task.file.filename().string(), member));
  }
  for (const std::string& other : members.others) {
    input.notes.push_back(task.file.string() + ": not read: " + other);
  }
}

void append_voxel_list(const FileTask& task, const NpyArray& ijk, std::uint64_t max_voxels,
                       Input& input) {
  check_list(task, ijk);
  check_budget(task, ijk.shape()[0], max_voxels);
  append_member(task, input, member_voxels(task, ijk, 0, ijk.shape()[0], 0, input), Map{},
                member_name(task.file), task.file.filename().string() + " voxel list");
}

void write_voxel_npz(const std::filesystem::path& file, const Batch& batch) {
  const FileTask task{"write .npz", file};
  std::vector<std::int64_t> offsets{0};
  for (const auto& member : batch.members) {
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(member.size()));
  }
  const auto rows = static_cast<std::uint64_t>(offsets.back());
  const auto array = [](std::string_view type, std::vector<std::uint64_t> shape) {
    return npy_header(type, shape);
  };
  std::string ijk = array("<i4", {rows, 3});
  ijk.reserve(ijk.size() + rows * sizeof(Voxel));
  static_assert(sizeof(Voxel) == 12);
  for (const auto& member : batch.members) append_bytes(ijk, member.data(), member.size());
  std::string ends = array("<i8", {offsets.size()});
  append_bytes(ends, offsets.data(), offsets.size());
  std::string sizes = array("<f8", {batch.size(), 3}), origins = sizes;
  for (const Map& map : batch.maps) {
    append_bytes(sizes, map.voxel_size.data(), 3);
    append_bytes(origins, map.origin.data(), 3);
  }
  Writer writer(task);
  writer.add("ijk", std::move(ijk));
  writer.add("offsets", std::move(ends));
  writer.add("voxel_sizes", std::move(sizes));
  writer.add("origins", std::move(origins));
  writer.write();
}

}  // namespace leafproof::oracle
