// See guarded_memory.h.
#include "oracle/backends/guarded_memory.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <string_view>

namespace leafproof::oracle {

/// Text without an allocation, for a signal handler. What does not fit is cut.
class PlainText {
 public:
  PlainText& operator<<(std::string_view text) {
    for (const char c : text.substr(0, text_.size() - 1 - length_)) text_[length_++] = c;
    return *this;
  }
  PlainText& operator<<(std::int64_t number) {
    std::array<char, 24> digits{};
    std::size_t at = digits.size();
    auto rest = static_cast<std::uint64_t>(number < 0 ? -number : number);
    do digits[--at] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0) digits[--at] = '-';
    return *this << std::string_view(digits.data() + at, digits.size() - at);
  }
  const char* c_str() const { return text_.data(); }

 private:
  std::array<char, 300> text_{};
  std::size_t length_ = 0;
};

namespace {

constexpr std::size_t kZone = 256;  // bytes of pattern, at least, where something is written

std::byte pattern(std::size_t i) {
  return static_cast<std::byte>((i * 37 + 11) & 0xFF);
}

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

/// The first of `bytes`, which are numbered from `first` on, that is not the pattern's; -1: none.
std::ptrdiff_t first_change(std::span<const std::byte> bytes, std::size_t first) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != pattern(first + i)) return static_cast<std::ptrdiff_t>(i);
  return -1;
}

std::string outside(std::string_view name, std::size_t size, std::ptrdiff_t at) {
  return fmt::format("a write {} {}: at its byte {}, of {}",
                     at < 0 ? "before the start of" : "beyond the end of", name, at, size);
}

/// Those that are there, for the handler.
std::array<std::atomic<const GuardedMemory*>, 4096> all_walls;

void enter(const GuardedMemory* memory) {
  for (auto& slot : all_walls) {
    const GuardedMemory* none = nullptr;
    if (slot.compare_exchange_strong(none, memory)) return;
  }
}  // more are guarded all the same, and not named

void leave(const GuardedMemory* memory) {
  for (auto& slot : all_walls) {
    const GuardedMemory* one = memory;
    if (slot.compare_exchange_strong(one, nullptr)) return;
  }
}

void (*hears)(const char*) = nullptr;
struct sigaction before;

void on_fault(int number, siginfo_t* info, void* machine) {
  static std::atomic_flag told;
  bool known = false, write = false;
#ifdef __x86_64__
  known = true;
  write = (static_cast<ucontext_t*>(machine)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  static_cast<void>(machine);
#endif
  for (const auto& slot : all_walls) {
    const GuardedMemory* memory = slot.load();
    if (memory == nullptr || !memory->has(info->si_addr)) continue;
    PlainText text;
    memory->describe(info->si_addr, known, write, text);
    if (!told.test_and_set()) hears(text.c_str());
  }
  ::sigaction(number, &before, nullptr);
  if (info->si_code <= 0) ::raise(number);  // it was sent; else the fault happens again
}

}  // namespace

GuardedMemory::GuardedMemory(std::string name, std::size_t size, std::size_t alignment,
                             std::byte fill)
    : Area(std::move(name), size) {
  const std::size_t page = page_size();
  const std::size_t inner = (kZone + size + alignment + page - 1) / page * page;
  map_size_ = inner + 2 * page;
  void* const map =
      ::mmap(nullptr, map_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  map_ = static_cast<std::byte*>(map);
  if (::mprotect(map_ + page, inner, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(map_, map_size_);
    throw std::bad_alloc();
  }
  std::byte* const end = map_ + page + inner;
  data_ = end - (size + alignment - 1) / alignment * alignment;
  for (std::byte* p = map_ + page; p != data_; ++p)
    *p = pattern(static_cast<std::size_t>(p - map_));
  std::memset(data_, static_cast<int>(fill), size);
  for (std::byte* p = data_ + size; p != end; ++p) *p = pattern(static_cast<std::size_t>(p - map_));
  enter(this);
}

GuardedMemory::~GuardedMemory() {
  leave(this);
  ::munmap(map_, map_size_);
}

void GuardedMemory::make_read_only() {
  ::mprotect(map_ + page_size(), map_size_ - 2 * page_size(), PROT_READ);
  read_only_ = true;
}

std::string GuardedMemory::violation() {
  if (read_only_) return {};
  const std::size_t page = page_size();
  const auto offset = [&](const std::byte* p) { return static_cast<std::size_t>(p - map_); };
  const std::byte* const behind = data_ + size();
  const std::span<const std::byte> after(behind, map_ + map_size_ - page);
  if (const auto at = first_change(after, offset(behind)); at >= 0)
    return outside(name(), size(), static_cast<std::ptrdiff_t>(size()) + at);
  const std::span<const std::byte> front(map_ + page, data_);
  for (std::size_t i = front.size(); i > 0; --i)  // the nearest one
    if (front[i - 1] != pattern(page + i - 1))
      return outside(
          name(), size(),
          static_cast<std::ptrdiff_t>(i - 1) - static_cast<std::ptrdiff_t>(front.size()));
  return {};
}

bool GuardedMemory::has(const void* address) const {
  const auto* const p = static_cast<const std::byte*>(address);
  return map_ <= p && p < map_ + map_size_;
}

void GuardedMemory::describe(const void* address, bool known, bool write, PlainText& text) const {
  const std::ptrdiff_t at = static_cast<const std::byte*>(address) - data_;
  const auto bytes = static_cast<std::int64_t>(size());
  text << (!known ? "an access" : write ? "a write" : "a read");
  text << (at < 0 ? " before the start of " : at >= bytes ? " beyond the end of " : " into ");
  text << name()
       << (at >= 0 && at < bytes ? ", which is only to be read: at its byte " : ": at its byte ");
  text << at << ", of " << bytes;
}

DeviceArea::DeviceArea(std::string name, DeviceMemory& there, std::vector<std::byte> contents,
                       bool read_only)
    : Area(std::move(name), contents.size()), there_(there), read_only_(read_only) {
  image_.resize(contents.size() + 2 * kZone);
  for (std::size_t i = 0; i < kZone; ++i) image_[i] = pattern(i);
  std::copy(contents.begin(), contents.end(), image_.begin() + kZone);
  for (std::size_t i = kZone + contents.size(); i < image_.size(); ++i) image_[i] = pattern(i);
  copy_ = there_.copy_of(image_);
}

void* DeviceArea::address() const {
  return copy_.get() + kZone;
}

std::string DeviceArea::violation() {
  now_.resize(image_.size());
  there_.read(now_, copy_.get());
  for (std::size_t i = 0; i < now_.size(); ++i) {
    if (now_[i] == image_[i]) continue;
    const auto at = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(kZone);
    const bool inside = at >= 0 && static_cast<std::size_t>(at) < size();
    if (!inside) return outside(name(), size(), at);
    if (read_only_)
      return fmt::format("a write into {}, which is only to be read: at its byte {}, of {}", name(),
                         at, size());
  }
  return {};
}

std::span<const std::byte> DeviceArea::bytes() const {
  return std::span(now_).subspan(kZone, size());
}

void hear_of_walls(void (*hear)(const char* sentence)) {
  const bool first = hears == nullptr;
  hears = hear;
  if (!first) return;
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGSEGV, &action, &before);
}

}  // namespace leafproof::oracle
