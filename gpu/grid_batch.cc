#include "gpu/grid_batch.h"

#include <atomic>
#include <numeric>
#include <type_traits>
#include <utility>

#include "gpu/error.h"

namespace leafproof::gpu {
namespace {

std::vector<std::int64_t> all_members(const GridStorage& storage) {
  std::vector<std::int64_t> members(storage.members.size());
  std::iota(members.begin(), members.end(), 0);
  return members;
}

}  // namespace

StorageId::StorageId() {
  static std::atomic<std::uint64_t> last{0};
  number_ = ++last;
}

GridBatch::GridBatch() : GridBatch(std::make_shared<const GridStorage>()) {}

GridBatch::GridBatch(std::shared_ptr<const GridStorage> storage)
    : GridBatch(storage, all_members(*storage), false) {}

GridBatch::GridBatch(std::shared_ptr<const GridStorage> storage,
                     std::vector<std::int64_t> selection, bool is_view)
    : storage_(std::move(storage)), selection_(std::move(selection)), is_view_(is_view) {
  voxel_offsets_.reserve(selection_.size() + 1);
  leaf_offsets_.reserve(selection_.size() + 1);
  voxel_offsets_.push_back(0);
  leaf_offsets_.push_back(0);
  for (std::int64_t i = 0; i < size(); ++i) {
    voxel_offsets_.push_back(voxel_offsets_.back() + member(i).voxels);
    leaf_offsets_.push_back(leaf_offsets_.back() + member(i).leaves);
  }
}

const MemberInfo& GridBatch::member(std::int64_t i) const {
  return storage_->members[static_cast<std::size_t>(selection_[static_cast<std::size_t>(i)])];
}

const std::byte* GridBatch::grid(std::int64_t i) const {
  return storage_->memory.get() + member(i).offset;
}

std::vector<std::int32_t> GridBatch::leaf_members() const {
  std::vector<std::int32_t> members;
  members.reserve(static_cast<std::size_t>(leaf_count()));
  for (std::int64_t i = 0; i < size(); ++i) {
    members.insert(members.end(), static_cast<std::size_t>(member(i).leaves),
                   static_cast<std::int32_t>(i));
  }
  return members;
}

GridBatch GridBatch::view(std::span<const std::int64_t> members) const {
  return or_out_of_memory("view", [&] {
    std::vector<std::int64_t> selection;
    selection.reserve(members.size());
    for (const std::int64_t i : members) {
      if (i < 0 || i >= size()) {
        throw Error(ErrorKind::InvalidArgument, "view", "members", std::to_string(i),
                    "the batch has members 0 ... B-1 with B = " + std::to_string(size()),
                    static_cast<std::int64_t>(selection.size()));
      }
      selection.push_back(selection_[static_cast<std::size_t>(i)]);
    }
    return GridBatch(storage_, std::move(selection), true);
  });
}

std::span<const std::byte> GridBatch::bytes() const {
  if (is_view_) {
    throw Error(ErrorKind::InvalidArgument, "bytes", "batch", "a view",
                "a view has no buffer of its own; rebuild it first");
  }
  return {storage_->memory.get(), static_cast<std::size_t>(storage_->bytes)};
}

GridBatch GridBatch::moved_to(std::shared_ptr<std::byte> memory) const {
  auto storage = std::make_shared<GridStorage>(*storage_);
  const auto moved = [&](auto& pointer) {
    if (pointer == nullptr) return;
    const auto* at = reinterpret_cast<const std::byte*>(pointer);
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(
        memory.get() + (at - storage_->memory.get()));
  };
  MetadataPointers& metadata = storage->metadata;
  moved(metadata.voxel_offsets);
  moved(metadata.leaf_offsets);
  moved(metadata.leaf_member);
  moved(metadata.voxel_counts);
  moved(metadata.boxes);
  moved(metadata.voxel_sizes);
  moved(metadata.origins);
  storage->memory = std::move(memory);
  return {std::move(storage), selection_, is_view_};
}

std::vector<std::uint64_t> GridBatch::byte_offsets() const {
  std::vector<std::uint64_t> offsets;
  for (const MemberInfo& info : storage_->members) {
    offsets.push_back(static_cast<std::uint64_t>(info.offset));
  }
  offsets.push_back(static_cast<std::uint64_t>(storage_->bytes));
  return offsets;
}

}  // namespace leafproof::gpu
