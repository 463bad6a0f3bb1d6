// See npz.h. The archive is libzip's business; what is in it is ours.
#include "oracle/input/npz.h"

#include <fmt/format.h>
#include <zip.h>

#include "oracle/input/atomic_file.h"

namespace leafproof::oracle {
namespace {

using reference::ErrorKind;

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

}  // namespace

NpzArchive read_archive(const FileTask& task,
                        const std::function<std::uint64_t(const std::string&)>& wanted) {
  const Archive archive = open_archive(task);
  NpzArchive read;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t entry;
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &entry) != 0 ||
        (entry.valid & ZIP_STAT_NAME) == 0) {
      task.refuse(ErrorKind::Corrupt, fmt::format("entry {} of the archive has no name", i));
    }
    std::string name = entry.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    const std::uint64_t most = wanted(name);
    if (most == 0) {
      read.others.push_back(printable(name));
    } else if (read.arrays.contains(name)) {
      task.refuse(ErrorKind::Corrupt, name + " is there twice");
    } else {
      entry.index = static_cast<zip_uint64_t>(i);
      read.arrays[name] = extract(task, archive.get(), entry, most);
    }
  }
  return read;
}

// The archive in memory, until it is written.
struct NpzWriter::State {
  explicit State(const FileTask& task) : task_(task) {
    zip_error_init(&error_);
    target_ = zip_source_buffer_create(nullptr, 0, 0, &error_);
    if (target_ == nullptr) fail();
    zip_source_keep(target_);  // ours too, to read the archive from
    archive_.reset(zip_open_from_source(target_, ZIP_TRUNCATE, &error_));
    if (archive_ == nullptr) fail();
  }
  ~State() {
    archive_.reset();
    if (target_ != nullptr) zip_source_free(target_);
    zip_error_fini(&error_);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

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

  [[noreturn]] void fail() { task_.refuse(ErrorKind::OutOfMemory, "the archive cannot be made"); }

  FileTask task_;
  zip_error_t error_;
  zip_source_t* target_ = nullptr;
  Archive archive_;
  std::vector<std::unique_ptr<std::string>> contents_;  // live until the archive is closed
};

NpzWriter::NpzWriter(const FileTask& task) : state_(std::make_unique<State>(task)) {}
NpzWriter::~NpzWriter() = default;

void NpzWriter::add(const std::string& name, std::string bytes) {
  state_->add(name, std::move(bytes));
}

void NpzWriter::write() {
  state_->write();
}

}  // namespace leafproof::oracle

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
// libzip asks libc for the time zone; neither is instrumented, so the lock is not seen.
extern "C" const char* __tsan_default_suppressions();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "race:tzset_internal\n";
}
#endif
#endif
