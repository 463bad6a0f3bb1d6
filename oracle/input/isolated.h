// Parsers of big formats (Assimp, OpenVDB) are not written for hostile files. They run in a child
// process with bounded memory and time: what crashes there is a refusal here, never undefined
// behaviour of ours, and what comes back is a stream of bytes that is checked like a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "oracle/input/file_bytes.h"

namespace leafproof::oracle {

/// The child's end: buffered, and ends the child when nobody reads any more.
class Outlet {
 public:
  explicit Outlet(int fd) : fd_(fd) { buffer_.reserve(capacity); }
  void put(std::span<const std::byte> bytes);
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put_value(const T& value) {
    put(std::as_bytes(std::span(&value, 1)));
  }
  void put_text(std::string_view text);  // 64-bit length, then the characters
  void flush();

 private:
  static constexpr std::size_t capacity = std::size_t{1} << 16;
  int fd_;
  std::vector<std::byte> buffer_;
};

/// Runs `work` in a child and returns the bytes that it put. Errors name the file: an Error thrown
/// by `work` arrives with its kind and reason; any other exception, and a crash of `library`, is
/// Corrupt; more than 8 GiB of memory is OutOfMemory; more than 10 minutes is CapacityExceeded. May
/// be called from several threads. In the child only the calling thread exists.
std::vector<std::byte> run_isolated(const FileTask& task, std::string_view library,
                                    const std::function<void(Outlet&)>& work);

}  // namespace leafproof::oracle
