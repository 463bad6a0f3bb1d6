// See batch.h.
#include "oracle/python/batch.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "oracle/layout_view.h"
#include "reference/checks.h"
#include "reference/passes.h"

namespace leafproof::python {
namespace {

/// How often this process is a fork of one that had loaded the module: TBB's threads are not in it.
std::atomic<int> forks{0};
const int watched = pthread_atfork(nullptr, nullptr, [] { ++forks; });

/// The voxels of a layout, one after the other.
std::vector<std::int32_t> ijk_of(const oracle::Layout& layout) {
  std::vector<std::int32_t> ijk;
  ijk.reserve(3 * layout.voxel_offsets.back());
  for (const auto& grid : layout.grids)
    for (const auto& leaf : grid.leaves)
      for (std::size_t word = 0; word < leaf.mask.size(); ++word)
        for (auto bits = leaf.mask[word]; bits != 0; bits &= bits - 1) {
          const auto n = static_cast<std::uint32_t>(64 * word) +
                         static_cast<std::uint32_t>(std::countr_zero(bits));
          const auto v = oracle::voxel_of(leaf, n);
          ijk.insert(ijk.end(), {v.x, v.y, v.z});
        }
  return ijk;
}

}  // namespace

gpu::Threads threads() {
  return watched == 0 && forks == 0 ? gpu::Threads::Tbb : gpu::Threads::Serial;
}

gpu::BatchedBuilder& builder() {
  thread_local int of_fork = -1;
  thread_local std::optional<gpu::BatchedBuilder> own;
  if (of_fork != forks) {
    gpu::BuilderOptions options;
    options.threads = threads();
    own.emplace(options);
    of_fork = forks;
  }
  return *own;
}

Batch::Batch(gpu::GridBatch grids) {
  const auto rows = grids.voxel_offsets();
  offsets_.assign(rows.begin(), rows.end());
  for (std::int64_t m = 0; m < grids.size(); ++m) {
    const auto& member = grids.member(m);
    maps_.push_back({member.map.voxel_size, member.map.origin});
    names_.push_back(member.name);
  }
  grids_ = std::move(grids);
}

Batch::Batch(const reference::Batch& voxels) {
  reference::check_batch("batch", voxels);
  ijk_.emplace();
  for (const auto& member : voxels.members) {
    for (const auto& v : member) ijk_->insert(ijk_->end(), {v.x, v.y, v.z});
    offsets_.push_back(static_cast<std::int64_t>(ijk_->size() / 3));
  }
  maps_ = voxels.maps;
  names_ = voxels.names;
}

// Counts that the bytes state are not read: voxels are what the masks say.
Batch::Batch(oracle::GridBuffer buffer) : Batch(oracle::batch_of(oracle::read_layout(buffer))) {
  buffer_ = std::move(buffer);
}

const oracle::GridBuffer& Batch::made_buffer() const {
  if (!buffer_) {
    if (grids_) {
      const auto whole = builder().rebuild(*grids_);
      buffer_ = oracle::GridBuffer{whole.storage(), whole.bytes(), whole.byte_offsets()};
    } else {
      buffer_ = oracle::write_layout(reference::layout_of(listed(*ijk_)));
    }
  }
  return *buffer_;
}

std::span<const std::int32_t> Batch::read_ijk() const {
  if (!ijk_) ijk_ = ijk_of(oracle::read_layout(made_buffer()));
  return *ijk_;
}

std::span<const std::int32_t> Batch::ijk() const {
  const std::scoped_lock lock(mutex_);
  return read_ijk();
}

const oracle::GridBuffer& Batch::buffer() const {
  const std::scoped_lock lock(mutex_);
  return made_buffer();
}

const gpu::GridBatch& Batch::grids() const {
  const std::scoped_lock lock(mutex_);
  if (!grids_) {
    const auto& buffer = made_buffer();
    if (maps_.empty()) {
      grids_.emplace();
    } else {
      // The builder reads it, and copies it where it would change anything.
      auto* memory = const_cast<std::byte*>(buffer.bytes.data());
      const auto owner = std::make_shared<oracle::GridBuffer>(buffer);
      grids_ = builder().adopt(std::shared_ptr<std::byte>(owner, memory), buffer.bytes.size());
    }
  }
  return *grids_;
}

reference::Batch Batch::listed(std::span<const std::int32_t> ijk) const {
  reference::Batch batch;
  batch.maps = maps_;
  batch.names = names_;
  for (std::size_t m = 0; m + 1 < offsets_.size(); ++m) {
    auto& member = batch.members.emplace_back();
    member.reserve(static_cast<std::size_t>(offsets_[m + 1] - offsets_[m]));
    for (auto row = static_cast<std::size_t>(offsets_[m]);
         row < static_cast<std::size_t>(offsets_[m + 1]); ++row)
      member.push_back({ijk[3 * row], ijk[3 * row + 1], ijk[3 * row + 2]});
  }
  return batch;
}

reference::Batch Batch::voxels() const {
  return listed(ijk());
}

std::shared_ptr<Batch> Batch::view(const std::vector<std::int64_t>& members) const {
  {
    const std::scoped_lock lock(mutex_);
    if (grids_) return std::make_shared<Batch>(grids_->view(members));
  }
  return std::make_shared<Batch>(reference::view(voxels(), members));
}

bool equal(const Batch& one, const Batch& other) {
  const auto bits = [](const reference::Map& map) {
    return std::bit_cast<std::array<std::uint64_t, 6>>(map);
  };
  return one.offsets() == other.offsets() && one.names() == other.names() &&
         std::ranges::equal(one.maps(), other.maps(), {}, bits, bits) &&
         std::ranges::equal(one.ijk(), other.ijk());
}

}  // namespace leafproof::python
