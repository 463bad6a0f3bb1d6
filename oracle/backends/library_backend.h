// A backend that is a shared library with the C interface of oracle/abi/leafproof_backend.h. It is
// asked in a process of its own, which dies instead of ours, or in this one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "oracle/backend.h"
#include "oracle/backends/guarded_memory.h"

namespace leafproof::oracle {

/// Makes the memory of a device, for one thread.
using MakeDeviceMemory = std::function<std::unique_ptr<DeviceMemory>()>;

/// In this process: a crash is ours, and a hang is for ever. `device` is where a library that wants
/// it finds its arrays; without one it answers nothing, for the reason `why_no_device`.
/// Error(InvalidArgument, argument "backend") where the library cannot be used.
std::unique_ptr<Backend> load_library_backend(const std::string& path, const AnswerFiles& files,
                                              MakeDeviceMemory device, std::string why_no_device);

/// By `options.loader`, which runs `serve` for it; in this process where that is empty. The library
/// is loaded once to see whether it can be; if not, the same Error, also where it crashes or hangs
/// while it is loaded.
std::unique_ptr<Backend> make_library_backend(const std::string& path,
                                              const ForeignOptions& options);

}  // namespace leafproof::oracle
