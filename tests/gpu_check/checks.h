// The checks that need a device, each a section of the findings.
#pragma once

#include <cstdint>
#include <filesystem>

#include "tests/gpu_check/findings.h"

namespace leafproof::gpu_check {

/// Every known answer [F] on cuda-mask and cuda-sort; numbers by cuBLAS where the machine has it.
void check_vectors(Findings& findings, const std::filesystem::path& folder);
/// Generated cases of every operation against the reference; of passes, byte for byte against
/// `host`.
void check_sweep(Findings& findings, std::uint64_t seed, std::int64_t cases);
/// Every pass, both engines, scratch bounded and counted: the bytes of the host executor, the
/// metadata with them; as many launches and synchronisations.
void check_passes(Findings& findings);
/// A buffer from outside is taken over, and a broken one refused, as on the host.
void check_adopt(Findings& findings);
/// Builds beside a kernel that never ends: nothing waits for the device as a whole.
void check_busy(Findings& findings);
/// Inputs made, and results read, by work on the same stream without waiting for either.
void check_stream_order(Findings& findings);
/// Several threads, each with a stream and a builder of its own.
void check_threads(Findings& findings);
/// A caller's allocator: used, released in full, and its n-th allocation failing for every n.
void check_allocator(Findings& findings);
/// A default stream is refused.
void check_refusals(Findings& findings);

/// Shells, B = 1, 16, 48, four passes, both engines: medians, beside zeroing and copying the
/// output.
void measure(Findings& findings, bool short_run);

/// For a process of its own: work that fails on the device is reported as CudaFailure by the build
/// that meets it. 0 when it was.
int provoke_failure();

}  // namespace leafproof::gpu_check
