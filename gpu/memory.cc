#include "gpu/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "gpu/error.h"

namespace leafproof::gpu {
namespace {

constexpr std::size_t kMapFrom = std::size_t{1} << 20;  // from here on pages come from the system
// Within these bounds huge pages are asked for: a first touch of one costs about as much as of a
// tenth of its small pages, and less on release. Larger blocks may be far emptier than memory is.
constexpr std::size_t kHugePage = std::size_t{1} << 21, kHugeUpTo = std::size_t{1} << 32;
constexpr std::size_t kAlign = 256;

std::size_t rounded(std::size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// The C library keeps what malloc gave and got back, but may map what aligned_alloc gives anew each
// time. So the aligning is done here, with malloc's own address just before the block.
void* small_block(std::size_t bytes) {
  void* given = std::malloc(bytes + kAlign + sizeof(void*));
  if (given == nullptr) return nullptr;
  const auto past = reinterpret_cast<std::uintptr_t>(given) + sizeof(void*);
  auto* block = static_cast<std::byte*>(given) + sizeof(void*) + (kAlign - past % kAlign) % kAlign;
  std::memcpy(block - sizeof(void*), &given, sizeof given);
  return block;
}

void free_small_block(void* memory) {
  void* given = nullptr;
  std::memcpy(&given, static_cast<std::byte*>(memory) - sizeof given, sizeof given);
  std::free(given);
}

void* system_allocate(void*, std::size_t bytes, bool* zeroed) {
  *zeroed = false;
  if (bytes < kMapFrom) return small_block(bytes);
  // Huge pages begin at multiples of their size: map one more, and give back what lies around.
  const bool huge = bytes >= kHugePage && bytes <= kHugeUpTo;
  const std::size_t more = huge ? kHugePage : 0;
  void* memory = mmap(nullptr, bytes + more, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  *zeroed = true;
  if (!huge) return memory;
  constexpr std::size_t kPage = 4096;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(memory) % kHugePage;
  const std::size_t before = past == 0 ? 0 : kHugePage - past;
  const std::size_t used = (bytes + kPage - 1) / kPage * kPage;
  std::byte* begin = static_cast<std::byte*>(memory) + before;
  if (before > 0) munmap(memory, before);
  if (before + used < bytes + more) munmap(begin + used, bytes + more - before - used);
  madvise(begin, bytes, MADV_HUGEPAGE);  // a hint: where there are none, small pages it is
  return begin;
}

void system_release(void*, void* memory, std::size_t bytes) {
  if (bytes < kMapFrom) {
    free_small_block(memory);
  } else {
    munmap(memory, bytes);
  }
}

/// What gives a block back.
struct Release {
  Allocator allocator;
  std::size_t bytes;
  bool batch = false;
  void operator()(std::byte* block) const {
    (batch ? allocator.release_batch : allocator.release)(allocator.context, block, bytes);
  }
};

}  // namespace

Allocator system_allocator() {
  return {system_allocate, system_release, nullptr};
}

std::shared_ptr<std::byte> allocate_shared(const Allocator& allocator, std::size_t bytes,
                                           bool* zeroed) {
  *zeroed = false;
  void* memory = allocator.allocate(allocator.context, bytes, zeroed);
  if (memory == nullptr) {
    throw Error(ErrorKind::OutOfMemory, "allocate", "bytes", std::to_string(bytes),
                "the allocator has no such block");
  }
  return {static_cast<std::byte*>(memory), Release{allocator, bytes}};
}

void holds_batch(const std::shared_ptr<std::byte>& memory) {
  auto* release = std::get_deleter<Release>(memory);
  if (release != nullptr && release->allocator.release_batch != nullptr) release->batch = true;
}

Workspace::Workspace(Allocator allocator) : allocator_(allocator) {}

void* Workspace::take(std::size_t bytes) {
  const std::size_t need = rounded(std::max<std::size_t>(bytes, 1));
  if (blocks_.empty() || blocks_.back().size - used_ < need) {
    // At least as much as all before it, so that a build soon runs in one block.
    const std::size_t size = std::max({need, held_, std::size_t{1} << 16});
    bool zeroed = false;
    blocks_.push_back({allocate_shared(allocator_, size, &zeroed), size});
    held_ += size;
    used_ = 0;
  }
  void* memory = blocks_.back().memory.get() + used_;
  used_ += need;
  taken_ += need;
  return memory;
}

void Workspace::reset() {
  if (blocks_.size() > 1) {  // next time in one block, of the size that was needed
    const std::size_t need = taken_;
    blocks_.clear();
    held_ = 0;
    bool zeroed = false;
    blocks_.push_back({allocate_shared(allocator_, need, &zeroed), need});
    held_ = need;
  }
  used_ = taken_ = 0;
}

}  // namespace leafproof::gpu
