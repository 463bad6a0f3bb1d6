// Archives of arrays, NumPy's .npz: read distrusting everything, written whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oracle/input/file_bytes.h"
#include "oracle/input/npy.h"

namespace leafproof::oracle {

struct NpzArchive {
  std::map<std::string, std::vector<std::byte>> arrays;  // .npy files by name, without ".npy"
  std::vector<std::string> others;                       // what was not wanted, printable
};

/// `wanted`: the most bytes that an array of this name may have; 0 where it is not wanted. Errors,
/// naming the file: Corrupt for a damaged archive or a name that is there twice; Unsupported for
/// encryption or compression; CapacityExceeded.
NpzArchive read_archive(const FileTask& task,
                        const std::function<std::uint64_t(const std::string&)>& wanted);

/// Arrays into an archive that numpy.load reads. Errors as AtomicFile.
class NpzWriter {
 public:
  explicit NpzWriter(const FileTask& task);
  ~NpzWriter();
  NpzWriter(const NpzWriter&) = delete;
  NpzWriter& operator=(const NpzWriter&) = delete;

  /// `bytes`: npy_header() and the numbers.
  void add(const std::string& name, std::string bytes);
  void write();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The bytes of an array: its header, and values of type T as they lie.
template <class T>
std::string npy_bytes(std::string_view type, const std::vector<std::uint64_t>& shape,
                      const std::vector<T>& values) {
  std::string bytes = npy_header(type, shape);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return bytes;
}

}  // namespace leafproof::oracle
