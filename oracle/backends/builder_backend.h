// Any batched builder as a backend, whatever executor it runs on: inputs go to the memory that it
// works in, answers come back from there.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gpu/batched_builder.h"
#include "oracle/backend.h"

namespace leafproof::oracle {

/// A new builder: each answer is given by its own, so answers may be asked from several threads.
using MakeBuilder = std::function<gpu::BatchedBuilder()>;

std::unique_ptr<Backend> make_builder_backend(std::string name, std::string description,
                                              MakeBuilder make);

/// The builder's error in the oracle's words.
Error translated(const gpu::Error& error);

}  // namespace leafproof::oracle
