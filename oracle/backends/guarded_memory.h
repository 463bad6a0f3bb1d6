// Memory that a shared library is given to read or to write, with walls around it: what it touches
// besides is found and named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace leafproof::oracle {

/// A piece of memory as the library sees it.
class Area {
 public:
  Area(std::string name, std::size_t size) : name_(std::move(name)), size_(size) {}
  virtual ~Area() = default;
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  const std::string& name() const { return name_; }
  std::size_t size() const { return size_; }
  /// Where the library finds it; never null.
  virtual void* address() const = 0;
  /// What was written where nothing may be, as a phrase ("a write beyond the end of ..."); empty:
  /// nothing was. To be called when the library has returned, before `bytes`.
  virtual std::string violation() = 0;
  /// What it holds, on the host.
  virtual std::span<const std::byte> bytes() const = 0;

 private:
  std::string name_;
  std::size_t size_;
};

/// On the host, in pages of its own. Its end is the end of a page (as near as the alignment
/// allows), and behind that and before its first page lies a page that nobody may touch; what is
/// left around it holds a pattern.
class GuardedMemory : public Area {
 public:
  /// Filled with `fill`. std::bad_alloc where there is no memory.
  GuardedMemory(std::string name, std::size_t size, std::size_t alignment, std::byte fill);
  ~GuardedMemory() override;

  void* address() const override { return data_; }
  std::string violation() override;
  std::span<const std::byte> bytes() const override { return {data_, size()}; }

  std::byte* data() { return data_; }
  /// Who writes to it from now on dies.
  void make_read_only();

  /// Whether an address lies in it or in its walls; and what touching that means, in words that a
  /// signal handler may write.
  bool has(const void* address) const;
  void describe(const void* address, bool known, bool write, class PlainText& text) const;

 private:
  std::byte* map_ = nullptr;  // the wall before
  std::size_t map_size_ = 0;  // with both walls
  std::byte* data_ = nullptr;
  bool read_only_ = false;
};

/// Another place than the host, through which bytes go both ways.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual std::int32_t device() const = 0;
  virtual void* stream() const = 0;
  /// A copy there, ready for work on the stream.
  virtual std::shared_ptr<std::byte> copy_of(std::span<const std::byte> bytes) = 0;
  /// Bytes from there, when all work on the stream is done.
  virtual void read(std::span<std::byte> to, const std::byte* from) = 0;
};

/// There: no page can be guarded, so all is a pattern before and behind, and a copy to compare
/// with.
class DeviceArea : public Area {
 public:
  DeviceArea(std::string name, DeviceMemory& there, std::vector<std::byte> contents,
             bool read_only);

  void* address() const override;
  std::string violation() override;
  std::span<const std::byte> bytes() const override;

 private:
  DeviceMemory& there_;
  std::vector<std::byte> image_, now_;
  std::shared_ptr<std::byte> copy_;
  bool read_only_;
};

/// Calls `hear` with a sentence when this process is about to die because the library touched a
/// wall, or wrote to what is read-only; then it dies as it would have. `hear` runs in a signal
/// handler, once. All other faults are handled as before.
void hear_of_walls(void (*hear)(const char* sentence));

}  // namespace leafproof::oracle
