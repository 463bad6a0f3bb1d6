// A case as a shared library is asked it: plain arrays in memory that it may only read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oracle/abi/leafproof_backend.h"
#include "oracle/backends/guarded_memory.h"
#include "oracle/case.h"

namespace leafproof::oracle {

/// The parameters alone.
class LibraryParameters {
 public:
  explicit LibraryParameters(const Case& question);
  const leafproof_parameters* get() const;

 private:
  GuardedMemory memory_;
};

class LibraryQuestion {
 public:
  /// `there`: where arrays marked (d) go; null: to the host. `parameters` must outlive it.
  LibraryQuestion(const Case& question, const LibraryParameters& parameters, DeviceMemory* there);
  const leafproof_question* get() const;
  /// What the library wrote into it; empty: nothing.
  std::string violation();

 private:
  template <class T>
  const T* lend(const std::string& name, const std::vector<T>& values);
  template <class T>
  const T* lend_large(const std::string& name, const std::vector<T>& values);
  const leafproof_batch* batch(const char* name, const Batch& given);
  const leafproof_array* array(const char* name, const reference::Array& given, NumberType type);

  DeviceMemory* there_;
  std::vector<std::unique_ptr<Area>> areas_;
  const leafproof_question* question_ = nullptr;
};

}  // namespace leafproof::oracle
