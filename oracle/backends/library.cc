// See library.h.
#include "oracle/backends/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "reference/error.h"

namespace leafproof::oracle {
namespace {

constexpr std::size_t kLongestText = 400;
constexpr const char* kEntry = "leafproof_backend_v1";

using Entry = decltype(&leafproof_backend_v1);

std::atomic<int> calls{0};  // that have not returned

void* load(const std::string& path) {
  std::error_code failed;
  const auto whole = std::filesystem::absolute(path, failed);
  if (failed || !std::filesystem::is_regular_file(whole, failed))
    refuse_library(path, "there is no such file");
  void* const library = ::dlopen(whole.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* const why = ::dlerror();
  refuse_library(path, fmt::format("it cannot be loaded: {}", text_from(why, "no reason given")));
}

}  // namespace

std::string text_from(const char* text, const char* none) {
  if (text == nullptr || *text == '\0') return none;
  std::string_view line(text, ::strnlen(text, kLongestText));
  return std::string(line.substr(0, line.find('\n')));
}

LibraryCall::LibraryCall() {
  std::fegetenv(&arithmetic_);
  ++calls;
}

LibraryCall::~LibraryCall() {
  --calls;
  std::fesetenv(&arithmetic_);
}

void hear_of_exits() {
  static const int once = std::atexit([] {
    if (calls == 0) return;
    fmt::print(stderr, "leafproof: the library has ended this program by exit()\n");
    ::_exit(2);
  });
  static_cast<void>(once);
}

bool names_library(const std::string& name) {
  const std::string_view file = std::string_view(name).substr(name.find_last_of('/') + 1);
  if (!file.ends_with(".so") && file.find(".so.") == file.npos) return false;
  std::error_code failed;
  return name.find(' ') == name.npos || std::filesystem::is_regular_file(name, failed);
}

void refuse_library(const std::string& path, std::string reason) {
  throw reference::Error(reference::ErrorKind::InvalidArgument, {.operation = "load a library",
                                                                 .argument = "backend",
                                                                 .value = path,
                                                                 .reason = std::move(reason),
                                                                 .member = {},
                                                                 .row = {}});
}

Library::Library(const std::string& path) {
  const LibraryCall call;  // its constructors run now
  void* const library = load(path);
  void* const symbol = ::dlsym(library, kEntry);
  if (symbol == nullptr)
    refuse_library(path, fmt::format("it does not export {}, the function of ABI version {}",
                                     kEntry, LEAFPROOF_ABI_VERSION));
  functions_ = reinterpret_cast<Entry>(symbol)();
  if (functions_ == nullptr) refuse_library(path, fmt::format("its {}() returns null", kEntry));
  if (functions_->abi_version != LEAFPROOF_ABI_VERSION)
    refuse_library(path, fmt::format("its ABI version is {}; this program has {}",
                                     functions_->abi_version, LEAFPROOF_ABI_VERSION));
  if (functions_->size < sizeof(leafproof_backend))
    refuse_library(path,
                   fmt::format("its leafproof_backend has {} bytes; those of version {} have "
                               "{}",
                               functions_->size, LEAFPROOF_ABI_VERSION, sizeof(leafproof_backend)));
  const auto need = [&](const char* member, bool there) {
    if (!there) refuse_library(path, fmt::format("the member `{}` of its backend is null", member));
  };
  need("name", functions_->name != nullptr);
  need("description", functions_->description != nullptr);
  need("why_not", functions_->why_not != nullptr);
  need("set_up", functions_->set_up != nullptr);
  need("run", functions_->run != nullptr);
  need("tear_down", functions_->tear_down != nullptr);
  if (functions_->memory != LEAFPROOF_HOST_MEMORY && functions_->memory != LEAFPROOF_DEVICE_MEMORY)
    refuse_library(path, fmt::format("the member `memory` of its backend is {}; it must be "
                                     "LEAFPROOF_HOST_MEMORY or LEAFPROOF_DEVICE_MEMORY",
                                     functions_->memory));
  description_ = fmt::format("{}: {}", text_from(functions_->name, "no name"),
                             text_from(functions_->description, "no description"));
}

}  // namespace leafproof::oracle
