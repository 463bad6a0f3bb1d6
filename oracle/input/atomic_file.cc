// See atomic_file.h.
#include "oracle/input/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>

namespace leafproof::oracle {
namespace {

using reference::ErrorKind;
namespace fs = std::filesystem;

// The names that a signal handler may unlink: fixed memory, published by an atomic state.
enum State : int { Free, Claimed, Published };
struct Slot {
  std::atomic<int> state{Free};
  char name[PATH_MAX];
};
std::array<Slot, 32> slots;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler reads it");

extern "C" void remove_and_die(int signal_number) {
  remove_temporary_files();
  ::signal(signal_number, SIG_DFL);
  ::raise(signal_number);
}

void install_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ}) {
      struct sigaction current{};
      if (::sigaction(number, nullptr, &current) != 0) continue;
      // A program's own handler, and nohup's SIG_IGN, stay.
      if ((current.sa_flags & SA_SIGINFO) != 0 || current.sa_handler != SIG_DFL) continue;
      struct sigaction action{};
      // Ignored, a file that grows beyond its limit is EFBIG from write(): a refusal, not a death.
      action.sa_handler = number == SIGXFSZ ? SIG_IGN : remove_and_die;
      ::sigemptyset(&action.sa_mask);
      ::sigaction(number, &action, nullptr);
    }
  });
}

int publish(const std::string& name) {
  if (name.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    int expected = Free;
    if (!slots[i].state.compare_exchange_strong(expected, Claimed)) continue;
    std::memcpy(slots[i].name, name.c_str(), name.size() + 1);
    slots[i].state.store(Published);
    return static_cast<int>(i);
  }
  return -1;  // more files at once than slots: still removed by the destructor
}

// A name that no other file of this process or another has.
fs::path temporary_name(const fs::path& target) {
  static std::atomic<unsigned> counter{0};
  // Short, so that it fits where the target's own name does.
  return target.parent_path() / fmt::format(".leafproof-{}-{}.tmp", ::getpid(), counter++);
}

}  // namespace

AtomicFile::AtomicFile(FileTask target) : target_(std::move(target)) {
  std::error_code code;
  if (fs::is_symlink(target_.file, code)) {
    const fs::path resolved = fs::weakly_canonical(target_.file, code);
    if (!code) target_.file = resolved;
  }
  struct stat status{};
  const bool exists = ::stat(target_.file.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    target_.refuse(ErrorKind::InvalidArgument, "is a directory, not a file");
  }
  if (exists && !S_ISREG(status.st_mode)) {
    fd_ = ::open(target_.file.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) fail("cannot be opened for writing", errno);
    return;
  }
  install_handlers();
  do {  // a name may be taken, by a file that a killed process left
    abandon();
    temporary_ = temporary_name(target_.file);
    slot_ = publish(temporary_.string());
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) temporary_.clear();  // not ours to remove
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) fail("cannot be created", errno);
  // The permissions of the file that it replaces, else those that the process gives new files.
  if (exists && ::fchmod(fd_, status.st_mode & 07777) != 0) fail("cannot be created", errno);
}

AtomicFile::~AtomicFile() {
  abandon();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("cannot be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void AtomicFile::commit() {
  if (temporary_.empty()) {
    const int closed = ::close(fd_);
    fd_ = -1;
    if (closed != 0) fail("cannot be written", errno);
    return;
  }
  if (::fsync(fd_) != 0) fail("cannot be synced", errno);
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0) fail("cannot be written", errno);
  if (::rename(temporary_.c_str(), target_.file.c_str()) != 0)
    fail("cannot be moved in place", errno);
  temporary_.clear();
  abandon();  // frees the slot
  // So that the new name survives a power cut too; not every file system can, and the file is
  // whole.
  const fs::path folder = target_.file.parent_path().empty() ? "." : target_.file.parent_path();
  if (const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
}

void AtomicFile::abandon() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
  if (slot_ >= 0) slots[static_cast<std::size_t>(slot_)].state.store(Free);
  slot_ = -1;
}

void AtomicFile::fail(const char* what, int code) {
  abandon();
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  target_.refuse(full ? ErrorKind::CapacityExceeded : ErrorKind::InvalidArgument,
                 fmt::format("{}: {}", what, std::generic_category().message(code)));
}

void write_file(const FileTask& target, std::string_view text) {
  AtomicFile file(target);
  file.write(text);
  file.commit();
}

void remove_temporary_files() noexcept {
  for (Slot& slot : slots) {
    if (slot.state.load() == Published) ::unlink(slot.name);
  }
}

}  // namespace leafproof::oracle
