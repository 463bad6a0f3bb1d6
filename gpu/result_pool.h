// Memory for results on a CPU that stays clean: a buffer that comes back is un-written, by walking
// its child masks, and handed out again as zeros. Most of a NanoVDB buffer is empty child tables,
// so that costs a small part of zeroing it, and a build into it neither zeroes nor touches a page
// for the first time. For programs that build batch after batch, as a training step does.
#pragma once

#include <cstddef>
#include <memory>

#include "gpu/memory.h"

namespace leafproof::gpu {

/// Safe from several threads and for several builders at once:
///
///     ResultPool pool;
///     BatchedBuilder builder({.allocator = pool.allocator()});
///
/// The pool must outlive the builders that use it; results may outlive the pool. A result is never
/// written by anyone but the builder (GridBatch gives it out as const): what somebody else wrote
/// into one could show in a later one. Memory of other things (kernel maps, copies) is kept too,
/// and comes back as it was left, for who does not need zeros.
class ResultPool {
 public:
  /// Keeps at most `kept_bytes` of memory that nobody uses; what is more goes back to `below`,
  /// where all comes from.
  explicit ResultPool(std::size_t kept_bytes = std::size_t{1} << 30,
                      Allocator below = system_allocator());
  ~ResultPool();
  ResultPool(const ResultPool&) = delete;
  ResultPool& operator=(const ResultPool&) = delete;

  Allocator allocator();

  /// Bytes of blocks that wait for use.
  std::size_t kept() const;
  /// Gives them all back.
  void clear();

 private:
  class Blocks;
  Blocks* blocks_;  // lives until the last result has come back
};

}  // namespace leafproof::gpu
