// What the tests of oracle/input share: a folder that goes away, files made of bytes, and refusals.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "oracle/input/input.h"

namespace leafproof::tests {

namespace fs = std::filesystem;
using oracle::Error;
using oracle::ErrorKind;

/// A folder of its own for each test.
class Folder {
 public:
  Folder() {
    std::random_device device;
    path_ = fs::temp_directory_path() /
            ("leafproof-" + std::to_string(::getpid()) + "-" + std::to_string(device()));
    fs::create_directory(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

  fs::path write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path_)) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }

 private:
  fs::path path_;
};

inline std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class T>
void put(std::string& bytes, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.append(raw, sizeof(T));
}

/// Calls `f`, which must refuse with `kind` in a sentence that holds all of `parts`.
template <class F>
void expect_refusal(ErrorKind kind, const std::vector<std::string>& parts, F f) {
  try {
    f();
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << error.what();
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "'" << part << "' is not in: " << error.what();
    }
  }
}

/// The same for reading one file; the sentence must name it.
inline void expect_refused(const fs::path& file, ErrorKind kind, std::vector<std::string> parts,
                           const oracle::InputOptions& options = {}) {
  SCOPED_TRACE(file.filename().string());
  parts.push_back(file.string());
  expect_refusal(kind, parts, [&] { oracle::read_input({file}, options); });
}

}  // namespace leafproof::tests
