// Where memory comes from: the caller's allocator for finished batches, and the workspace that a
// builder reuses from one build to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace leafproof::gpu {

/// An allocator of the caller, as a plain pair of functions with a context. `allocate` returns
/// memory aligned to 32 bytes at least, or null; it sets *zeroed when every byte is known to be
/// zero, which spares the builder from writing the empty parts of child tables.
struct Allocator {
  void* (*allocate)(void* context, std::size_t bytes, bool* zeroed);
  void (*release)(void* context, void* memory, std::size_t bytes);
  void* context = nullptr;
  /// When set, called instead of `release` for a block that holds a finished batch [G-6]; see
  /// ResultPool.
  void (*release_batch)(void* context, void* memory, std::size_t bytes) = nullptr;
};

/// Fresh zeroed pages of the system from 1 MiB on, huge ones (where the system has them to give)
/// from 2 MiB to 4 GiB; the C library below.
Allocator system_allocator();

/// A block from an Allocator, given back when the last owner lets go.
std::shared_ptr<std::byte> allocate_shared(const Allocator& allocator, std::size_t bytes,
                                           bool* zeroed);

/// Notes that a block of allocate_shared() holds a finished batch, for its release.
void holds_batch(const std::shared_ptr<std::byte>& memory);

/// Scratch for one build at a time: blocks are handed out one after the other and all taken back by
/// reset(). Keeps its memory, so that a second build of the same size allocates nothing; contents
/// are never read before they are written, so reuse leaves no trace.
class Workspace {
 public:
  explicit Workspace(Allocator allocator = system_allocator());
  Workspace(Workspace&&) noexcept = default;
  Workspace& operator=(Workspace&&) noexcept = default;

  /// 256-byte aligned; throws Error(OutOfMemory).
  void* take(std::size_t bytes);
  void reset();

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    std::size_t size = 0;
  };
  Allocator allocator_;
  std::vector<Block> blocks_;
  std::size_t used_ = 0;              // of the last block
  std::size_t taken_ = 0, held_ = 0;  // since the last reset; bytes kept
};

}  // namespace leafproof::gpu
