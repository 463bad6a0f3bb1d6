// See library_backend.h.
#include "oracle/backends/library_backend.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <vector>

#include "oracle/backends/child_process.h"
#include "oracle/backends/cuda_backend.h"
#include "oracle/backends/library.h"
#include "oracle/backends/library_answer.h"
#include "oracle/backends/library_question.h"
#include "oracle/backends/process_backend.h"
#include "oracle/text_fields.h"

namespace leafproof::oracle {
namespace {

/// What a call into the library threw: C has no exceptions.
struct Thrown {
  const char* function;
  std::string what;
};

template <class Function, class... Arguments>
auto call(const char* name, Function function, Arguments... arguments) {
  const LibraryCall now;
  try {
    return function(arguments...);
  } catch (const std::exception& error) {
    throw Thrown{name, error.what()};
  } catch (...) {
    throw Thrown{name, "something that is no std::exception"};
  }
}

/// Bytes as a file, so that the one reader of files reads them.
GridBuffer read_as_file(const AnswerFiles& files, std::span<const std::byte> bytes) {
  const Descriptor file(::memfd_create("leafproof-grids", MFD_CLOEXEC));
  for (std::span<const std::byte> rest = bytes; !rest.empty();) {
    const ssize_t done = ::write(file.get(), rest.data(), rest.size());
    if (done < 0) throw std::bad_alloc();
    rest = rest.subspan(static_cast<std::size_t>(done));
  }
  return files.nanovdb(fmt::format("/proc/self/fd/{}", file.get()));
}

/// What set_up() made, and what it needs.
struct Context {
  std::unique_ptr<DeviceMemory> there;
  void* of_library = nullptr;
  std::int64_t left = 0;  // cases that it will serve
};

class LibraryBackend : public Backend {
 public:
  LibraryBackend(const std::string& path, const AnswerFiles& files, MakeDeviceMemory device,
                 std::string why_no_device)
      : path_(path),
        library_(path),
        files_(files),
        device_(std::move(device)),
        why_no_device_(std::move(why_no_device)) {}
  ~LibraryBackend() override {
    for (Context& context : idle_) {
      try {
        tear_down(context);
      } catch (const Thrown&) {  // nobody is left to be told
      }
    }
  }

  std::string_view name() const override { return path_; }
  std::string_view description() const override { return library_.description(); }

  Answer answer(const Case& question) const override {
    try {
      return ask(question);
    } catch (const Thrown& thrown) {
      return failed(thrown);
    }
  }

 private:
  static Failed failed(const Thrown& thrown) {
    return {fmt::format("{}() threw an exception: {}", thrown.function, thrown.what), {}, false};
  }
  const leafproof_backend& functions() const { return library_.functions(); }

  Answer ask(const Case& question) const {
    const LibraryParameters parameters(question);
    const char* const why_not = call("why_not", functions().why_not, parameters.get());
    if (why_not != nullptr) return NotImplemented{text_from(why_not, "no reason given")};
    if (functions().memory == LEAFPROOF_DEVICE_MEMORY && !device_)
      return NotImplemented{"it works in the memory of a device: " + why_no_device_};
    std::optional<Answer> refused;
    std::optional<Context> context = take(question, refused);
    if (!context) return *std::move(refused);
    Answer answer;
    try {
      answer = run(question, parameters, *context);
    } catch (const Thrown& thrown) {
      answer = failed(thrown);
    }
    give_back(*std::move(context));
    return answer;
  }

  Answer run(const Case& question, const LibraryParameters& parameters,
             const Context& context) const {
    LibraryQuestion asked(question, parameters, context.there.get());
    LibraryAnswer answer(context.there.get());
    const std::int32_t status =
        call("run", functions().run, context.of_library, asked.get(), answer.get());
    if (std::string what = asked.violation(); !what.empty()) return Failed{what, {}, false};
    std::function<GridBuffer(std::span<const std::byte>)> read_grids;
    if (files_.nanovdb)
      read_grids = [this](std::span<const std::byte> bytes) { return read_as_file(files_, bytes); };
    try {
      return answer.read(status, question, read_grids);
    } catch (const Error& error) {  // of the reader of grids
      return Failed{fmt::format("malformed grids: {}", error.what()), {}, false};
    }
  }

  /// A context that is idle, or a new one; none where it is not to be had: then `refused` says why.
  std::optional<Context> take(const Case& question, std::optional<Answer>& refused) const {
    Context context;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        context = std::move(idle_.back());
        idle_.pop_back();
        return context;
      }
      // Contexts serve 1, 2, 4, ... cases: what goes wrong when one ends goes wrong with a case.
      context.left = lifetime_;
      if (lifetime_ < (std::int64_t{1} << 20)) lifetime_ *= 2;
    }
    leafproof_environment environment{};
    environment.size = sizeof environment;
    if (functions().memory == LEAFPROOF_DEVICE_MEMORY) {
      context.there = device_();
      environment.memory = LEAFPROOF_DEVICE_MEMORY;
      environment.device = context.there->device();
      environment.stream = context.there->stream();
    }
    const char* reason = nullptr;
    const std::int32_t status =
        call("set_up", functions().set_up, &environment, &context.of_library, &reason);
    if (status == LEAFPROOF_OK) return context;
    LibraryAnswer none(nullptr);
    none.get()->reason = reason;
    refused = none.read(status, question, {});
    return {};
  }

  void give_back(Context context) const {
    if (--context.left <= 0) {
      tear_down(context);
      return;
    }
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(context));
  }

  void tear_down(Context& context) const {
    call("tear_down", functions().tear_down, context.of_library);
  }

  std::string path_;
  Library library_;
  AnswerFiles files_;
  MakeDeviceMemory device_;
  std::string why_no_device_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::vector<Context> idle_;
  mutable std::int64_t lifetime_ = 1;
};

/// Loads the library in another process and lets it go; what it says of itself.
std::string described_elsewhere(const std::string& path, const ForeignOptions& options) {
  Starter starter;
  ChildProcess child(starter, {options.loader, "serve", "--usable", "--", path});
  const auto now = std::chrono::steady_clock::now();
  const auto deadline = now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                  std::chrono::duration<double>(std::min(options.start, 1e6)));
  std::string line;
  const auto got = child.ask("", line, std::size_t{1} << 16, deadline);
  if (got == ChildProcess::Got::Late)
    refuse_library(path, fmt::format("it was not loaded within {:g} s", options.start));
  if (got != ChildProcess::Got::Line) {
    const std::string how = child.end(deadline);
    std::string said;
    for (const std::string& words : child.said(3)) said += "; stderr: " + words;
    refuse_library(path, fmt::format("while it was loaded: {}{}{}",
                                     how.starts_with("signal ") ? "a crash: " : "an end: ",
                                     how.empty() ? "none" : how, said));
  }
  const auto words = forms::words_of(line);
  forms::TextFields fields("library", words);
  std::string text;
  if (fields.has("unusable")) {
    fields.value("unusable", text);
    refuse_library(path, text);
  }
  fields.value("description", text);
  return text;
}

}  // namespace

std::unique_ptr<Backend> load_library_backend(const std::string& path, const AnswerFiles& files,
                                              MakeDeviceMemory device, std::string why_no_device) {
  return std::make_unique<LibraryBackend>(path, files, std::move(device), std::move(why_no_device));
}

std::unique_ptr<Backend> make_library_backend(const std::string& path,
                                              const ForeignOptions& options) {
  if (options.loader.empty()) {
    std::string why = why_no_cuda_backend();
    MakeDeviceMemory device;
    if (why.empty()) device = make_cuda_memory;
    return load_library_backend(path, options.files, std::move(device), std::move(why));
  }
  std::string description = described_elsewhere(path, options);
  return make_library_server(path, {options.loader, "serve", "--", path}, options,
                             std::move(description));
}

}  // namespace leafproof::oracle
