// What every fuzz target shares: the one function that libFuzzer and the replaying main call, the
// rule that a refusal is an Error and anything else is a bug, bytes read one number at a time, and
// a file for readers that take a path.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <type_traits>

#include "reference/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace leafproof::fuzz {

/// What a target answers to bytes that are no input of it: libFuzzer keeps none of those, and the
/// replaying main fails, because a corpus must not rot.
constexpr int kNoInput = -1;

/// Ends the process so that the input counts as a finding, with a sentence.
[[noreturn]] inline void finding(const std::string& what) {
  std::fprintf(stderr, "finding: %s\n", what.c_str());
  std::abort();
}

/// Runs a reader on hostile input: it may succeed, or refuse with the one typed Error [E-1].
template <class Body>
void may_refuse(const Body& body) {
  try {
    body();
  } catch (const reference::Error&) {  // as [E-2] asks
  } catch (const std::exception& error) {
    finding(std::string("refused with something that is not an Error: ") + error.what());
  }
}

/// The input as a stream of numbers; zero after its end.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }

  template <class T>
    requires std::is_trivially_copyable_v<T>
  T next() {
    T value{};
    const std::size_t size = std::min(sizeof value, bytes_.size());
    if (size > 0) std::memcpy(&value, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return value;
  }

  /// One byte's worth of choice in [0, count), count <= 256.
  std::size_t choice(std::size_t count) { return next<std::uint8_t>() % count; }
  std::span<const std::uint8_t> rest() const { return bytes_; }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// A file with the given content, removed again. `ending`: ".npz", ...
class File {
 public:
  File(const std::string& ending, std::span<const std::uint8_t> content)
      : path_(std::filesystem::temp_directory_path() /
              ("leafproof-fuzz-" + std::to_string(getpid()) + ending)) {
    std::ofstream stream(path_, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(content.data()),
                 static_cast<std::streamsize>(content.size()));
  }
  ~File() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace leafproof::fuzz
