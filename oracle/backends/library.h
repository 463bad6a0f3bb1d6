// A shared library that is loaded into this process, and what it says of itself, checked.
#pragma once

#include <cfenv>
#include <string>

#include "oracle/abi/leafproof_backend.h"

namespace leafproof::oracle {

/// Text that a library points to: at most a line of 400 bytes; `none` where it is null or empty.
std::string text_from(const char* text, const char* none);

class Library {
 public:
  /// Error(InvalidArgument, argument "backend") where there is no such file, it cannot be loaded,
  /// it does not export leafproof_backend_v1, or what that returns is of another version, too
  /// short, or lacks a member. It is never unloaded: threads that it started would run on in
  /// nothing.
  explicit Library(const std::string& path);

  const leafproof_backend& functions() const { return *functions_; }
  /// "mine 1.2: what it is", as it says.
  const std::string& description() const { return description_; }

 private:
  const leafproof_backend* functions_ = nullptr;
  std::string description_;
};

/// Within a call into a library. It may leave another rounding behind, or no denormal numbers (one
/// linked with -ffast-math does so as it is loaded); who called computes on in the arithmetic that
/// it had.
class LibraryCall {
 public:
  LibraryCall();
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

 private:
  std::fenv_t arithmetic_{};
};

/// From now on a library that calls exit() within a call ends this program as a failure, with a
/// line on stderr, and not with a status of its choice.
void hear_of_exits();

/// Whether a backend's name is meant as a shared library: a file name that ends in ".so", or has
/// ".so." in it; with blanks only where there is such a file.
bool names_library(const std::string& name);

/// The Error that a library cannot be used.
[[noreturn]] void refuse_library(const std::string& path, std::string reason);

}  // namespace leafproof::oracle
