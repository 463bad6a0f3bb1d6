// The batched builder on a CUDA device: the same passes, launched on the caller's stream. This
// header needs no CUDA header, so any compiler can include it; link Leafproof::cuda.
//
//     CudaOptions options;
//     options.stream = stream;                       // yours, not the default stream
//     BatchedBuilder builder = cuda_builder(options);
//     GridBatch fine = builder.refine(coarse, {2, 2, 2});   // buffers in device memory
//
// What a pass reads (rows, points, flags, batches) and what it returns is device memory of the
// stream's device; offsets, maps and names are host memory. Work is ordered on the stream: a build
// may follow the work that makes its source without synchronising. It waits for the stream at most
// twice, and its result is ready for work on the same stream when it returns.
//
// Making a builder allocates 2 MiB of pinned memory, and the end of one waits for its stream; the
// first use of a kernel in a process may load it. Beyond what costs() counts, a build takes CUB's
// temporary memory and, where keys are sorted, a copy of them with an index each.
//
// Errors: refusals are Error [E-1]; memory that the allocator does not have is Error(OutOfMemory);
// any other failure that CUDA reports, of this build's work or of work before it on the stream, is
// a CudaFailure thrown by the build that met it.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "gpu/batched_builder.h"

struct CUstream_st;

namespace leafproof::gpu {

using CudaStream = CUstream_st*;  // cudaStream_t

/// A stream-ordered allocator of the caller, as a plain pair of functions with a context.
/// `allocate` returns device memory aligned to 256 bytes, usable by work enqueued on the stream
/// from now on, or null. `release` is called when the last owner lets go, with the stream of the
/// build. Both must be safe from the threads that build or drop batches.
struct StreamAllocator {
  void* (*allocate)(void* context, std::size_t bytes, CudaStream stream) = nullptr;
  void (*release)(void* context, void* memory, std::size_t bytes, CudaStream stream) = nullptr;
  void* context = nullptr;
};

/// cudaMallocAsync and cudaFreeAsync.
StreamAllocator async_allocator();

struct CudaOptions : BuildSettings {
  CudaStream stream = nullptr;  // required; it must outlive the builder and every batch built
  StreamAllocator allocator = async_allocator();
};

/// A failure that CUDA reported: the call, the error's name and its text.
class CudaFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A builder on a stream of the current device. Error(InvalidArgument) for the default stream
/// (null, legacy or per thread), Error(Unsupported) where there is no device that can run it.
BatchedBuilder cuda_builder(const CudaOptions& options);

/// Why this machine cannot run a cuda_builder, in one phrase with CUDA's own words; empty if it
/// can.
std::string why_no_cuda();

}  // namespace leafproof::gpu
