#include "gpu/result_pool.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/assemble.h"
#include "gpu/thread_sanitizer.h"

namespace leafproof::gpu {
namespace {

/// A node's head and masks, and those entries of its table that its child mask names.
template <class Node>
void unwrite(Node* node) {
  const std::uint64_t* children = node->mChildMask.words();
  constexpr std::int64_t kWords = std::extent_v<decltype(Node::mTable)> / 64;
  for (std::int64_t w = 0; w < kWords; ++w) {
    for (std::uint64_t bits = children[w]; bits != 0; bits &= bits - 1) {
      node->mTable[w * 64 + lowest_bit(bits)].child = 0;
    }
  }
  std::memset(static_cast<void*>(node), 0, offsetof(Node, mTable));
}

void unwrite_grid(std::byte* grid) {
  const auto& tree = *reinterpret_cast<const nanovdb::TreeData*>(grid + kGridBytes);
  MemberTarget target{};
  target.grid = grid;
  target.leaves = tree.mNodeCount[0];
  target.lowers = tree.mNodeCount[1];
  target.uppers = tree.mNodeCount[2];
  std::memset(static_cast<void*>(target.leaf(0)), 0,
              static_cast<std::size_t>(target.leaves * kLeafBytes));
  for (std::int64_t i = 0; i < target.lowers; ++i) unwrite(target.lower(i));
  for (std::int64_t i = 0; i < target.uppers; ++i) unwrite(target.upper(i));
  std::memset(grid, 0, static_cast<std::size_t>(target.uppers_at()));
}

/// Zeroes a finished batch: grids one after the other [G-6], metadata behind them.
void unwrite_batch(std::byte* memory, std::size_t bytes) {
  std::vector<std::byte*> grids(reinterpret_cast<const nanovdb::GridData*>(memory)->mGridCount);
  std::byte* end = memory;
  for (std::byte*& grid : grids) {
    grid = end;
    end += reinterpret_cast<const nanovdb::GridData*>(grid)->mGridSize;
  }
  std::memset(end, 0, static_cast<std::size_t>(memory + bytes - end));
  constexpr std::size_t kFew = std::size_t{4} << 20;  // for one thread
  if (bytes < kFew || kThreadSanitizer) {
    for (std::byte* grid : grids) unwrite_grid(grid);
  } else {
    tbb::parallel_for(std::size_t{0}, grids.size(), [&](std::size_t i) { unwrite_grid(grids[i]); });
  }
}

}  // namespace

/// All blocks of a pool. Each begins with a Head, and is handed out from behind it.
class ResultPool::Blocks {
 public:
  Blocks(std::size_t limit, Allocator below) : limit_(limit), below_(below) {}

  void* allocate(std::size_t bytes, bool* zeroed) {
    const std::size_t size = rounded(bytes);
    Head* block = take(bytes, 2 * size);
    if (block == nullptr) {
      bool zeros = false;
      void* memory = below_.allocate(below_.context, kHead + size, &zeros);
      if (memory == nullptr) return nullptr;
      block = new (memory) Head{size, true, nullptr};
      if (!zeros) std::memset(behind(block), 0, size);  // the rest of a block must be zero too
      const std::lock_guard lock(mutex_);
      ++used_;
    }
    *zeroed = block->clean;
    return behind(block);
  }

  /// `zeros`: of the bytes that were asked for, so many are zero again, all or none. Also the end
  /// of a pool that is no more, with its last block.
  void release(void* memory, std::size_t zeros) {
    auto* block = reinterpret_cast<Head*>(static_cast<std::byte*>(memory) - kHead);
    if (zeros > 0 && !block->clean) std::memset(behind(block) + zeros, 0, block->size - zeros);
    block->clean = zeros > 0;
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      --used_;
      last = closed_ && used_ == 0;
      if (!closed_ && kept_ <= limit_ && block->size <= limit_ - kept_) {
        kept_ += block->size;
        block->next = std::exchange(free_, block);
        return;
      }
    }
    give_back(block);
    if (last) delete this;
  }

  void clear() {
    Head* block = nullptr;
    {
      const std::lock_guard lock(mutex_);
      block = std::exchange(free_, nullptr);
      kept_ = 0;
    }
    while (block != nullptr) give_back(std::exchange(block, block->next));
  }

  /// What still comes back is not kept, and the last takes this along.
  void close() {
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      last = used_ == 0;
    }
    clear();
    if (last) delete this;
  }

  std::size_t kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }

 private:
  struct Head {
    std::size_t size;  // behind the head
    bool clean;        // every byte there is zero
    Head* next;
  };
  static constexpr std::size_t kHead = 256;  // keeps the alignment

  static std::byte* behind(Head* block) { return reinterpret_cast<std::byte*>(block) + kHead; }

  /// In steps of an eighth, so that batches of about one size can use the same blocks.
  static std::size_t rounded(std::size_t bytes) {
    const std::size_t step = std::max<std::size_t>(std::bit_floor(bytes) / 8, 4096);
    return (bytes + step - 1) / step * step;
  }

  /// The smallest free block from `bytes` to `most` bytes, clean ones first; or null.
  Head* take(std::size_t bytes, std::size_t most) {
    const std::lock_guard lock(mutex_);
    Head** best = nullptr;
    for (Head** at = &free_; *at != nullptr; at = &(*at)->next) {
      const Head& block = **at;
      if (block.size < bytes || block.size > most) continue;
      const auto worth = [](const Head& b) { return std::pair{!b.clean, b.size}; };
      if (best == nullptr || worth(block) < worth(**best)) best = at;
    }
    if (best == nullptr) return nullptr;
    Head* block = std::exchange(*best, (*best)->next);
    kept_ -= block->size;
    ++used_;
    return block;
  }
  void give_back(Head* block) { below_.release(below_.context, block, kHead + block->size); }

  mutable std::mutex mutex_;
  Head* free_ = nullptr;
  std::size_t kept_ = 0, limit_;  // bytes that are free
  std::int64_t used_ = 0;         // blocks
  bool closed_ = false;
  Allocator below_;
};

ResultPool::ResultPool(std::size_t kept_bytes, Allocator below)
    : blocks_(new Blocks(kept_bytes, below)) {}

ResultPool::~ResultPool() {
  blocks_->close();
}

Allocator ResultPool::allocator() {
  Allocator allocator;
  allocator.context = blocks_;
  allocator.allocate = [](void* context, std::size_t bytes, bool* zeroed) {
    return static_cast<Blocks*>(context)->allocate(bytes, zeroed);
  };
  allocator.release = [](void* context, void* memory, std::size_t) {
    static_cast<Blocks*>(context)->release(memory, 0);
  };
  allocator.release_batch = [](void* context, void* memory, std::size_t bytes) {
    std::size_t zeros = bytes;
    try {
      unwrite_batch(static_cast<std::byte*>(memory), bytes);
    } catch (const std::exception&) {  // no memory for a list of grids, or no threads
      zeros = 0;
    }
    static_cast<Blocks*>(context)->release(memory, zeros);
  };
  return allocator;
}

std::size_t ResultPool::kept() const {
  return blocks_->kept();
}

void ResultPool::clear() {
  blocks_->clear();
}

}  // namespace leafproof::gpu
