#include "tests/faults/plain_layout.h"

namespace leafproof::faults {
namespace {

using reference::Box;
using reference::Grid;
using reference::Layout;
using reference::Leaf;
using reference::Node;

Box united(const Box& a, const Box& b) {
  return {{std::min(a.min.x, b.min.x), std::min(a.min.y, b.min.y), std::min(a.min.z, b.min.z)},
          {std::max(a.max.x, b.max.x), std::max(a.max.y, b.max.y), std::max(a.max.z, b.max.z)}};
}

/// What a box of voxels becomes where it is made in another way.
Box as_made(Fault fault, Box box, const Voxel& origin, std::int32_t size) {
  if (fault == Fault::BoxOfNodes)
    return {origin, {origin.x + size - 1, origin.y + size - 1, origin.z + size - 1}};
  if (fault == Fault::BoxOffByOne && box.max.z < origin.z + size - 1) ++box.max.z;
  if (fault == Fault::BoxFromZero)
    box.min = {std::min(box.min.x, 0), std::min(box.min.y, 0), std::min(box.min.z, 0)};
  return box;
}

/// Seven counts of nine bits: of words 0, 0 ... 1, up to 0 ... 6.
std::uint64_t prefix_sum(Fault fault, const Leaf& leaf) {
  std::uint64_t packed = 0, count = 0;
  for (std::size_t word = 0; word < 7; ++word) {
    const std::uint64_t before = count;
    count += static_cast<unsigned>(std::popcount(leaf.mask[word]));
    std::uint64_t field = fault == Fault::PrefixSumLate ? before : count;
    if (fault == Fault::PrefixSumOverflows) field &= 255;
    packed |= field << (9 * word);
  }
  return packed;
}

std::uint32_t bit_of(Fault fault, const Voxel& v) {
  return fault == Fault::MaskBitOrder ? slot({v.z, v.y, v.x}, 3, 0) : slot(v, 3, 0);
}

std::vector<Leaf> leaves_of(Fault fault, const std::vector<Voxel>& voxels, std::uint64_t first) {
  std::vector<Leaf> leaves;
  std::uint64_t next = first;
  const auto start = [&](const Voxel& origin) {
    leaves.emplace_back().origin = origin;
    leaves.back().offset = next;
    leaves.back().box = {origin, origin};
  };
  for (const Voxel& v : voxels) {
    if (leaves.empty() || leaves.back().origin != corner(v, 8)) {
      start(corner(v, 8));
      leaves.back().box = {v, v};
    }
    Leaf& leaf = leaves.back();
    leaf.box = united(leaf.box, {v, v});
    leaf.mask[bit_of(fault, v) / 64] |= std::uint64_t{1} << (bit_of(fault, v) % 64);
    ++next;
    // A neighbour that was allocated in case it is needed, and stays.
    if (fault != Fault::PhantomLeaf) continue;
    const Voxel* following = &v == &voxels.back() ? nullptr : &v + 1;
    if (following != nullptr && corner(*following, 8) == leaf.origin) continue;
    const bool touches = (leaf.box.max.z & 7) == 7;
    if (!touches || (leaf.origin.z & 127) == 120) continue;  // not in this lower node
    const Voxel beside{leaf.origin.x, leaf.origin.y, leaf.origin.z + 8};
    if (following == nullptr || corner(*following, 8) != beside) start(beside);
  }
  for (Leaf& leaf : leaves) {
    leaf.prefix_sum = prefix_sum(fault, leaf);
    leaf.box = as_made(fault, leaf.box, leaf.origin, 8);
  }
  return leaves;
}

/// The level above: a node for each run of children under the same corner. `base` is where the
/// children are counted from.
template <class Child>
std::vector<Node> parents_of(Fault fault, const std::vector<Child>& children, std::int32_t size,
                             int log2, int below, std::int64_t base, bool base_is_parent) {
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Voxel at = children[i].origin;
    if (nodes.empty() || nodes.back().origin != corner(at, size)) {
      const std::size_t words = std::size_t{1} << (3 * log2 - 6);
      nodes.push_back({corner(at, size), std::vector<std::uint64_t>(words), {}, children[i].box});
    }
    Node& node = nodes.back();
    const std::uint32_t n = slot(at, log2, below);
    node.child_mask[n / 64] |= std::uint64_t{1} << (n % 64);
    // The first child's number, as if each node had one child; or a neighbour's.
    const std::size_t number = base_is_parent ? nodes.size() - 1 + node.children.size() : i;
    node.children.push_back(number + static_cast<std::uint64_t>(base));
    node.box = united(node.box, children[i].box);
  }
  for (Node& node : nodes)
    if (fault != Fault::BoxOffByOne) node.box = as_made(fault, node.box, node.origin, size);
  return nodes;
}

/// A lower node beside each that touches it, in case it is needed; those that are not stay.
void add_phantoms(std::vector<Node>& lowers) {
  std::vector<Node> all;
  for (std::size_t i = 0; i < lowers.size(); ++i) {
    const Node& lower = all.emplace_back(lowers[i]);
    Voxel at = lower.origin;
    if ((lower.box.max.z & 127) != 127 || (at.z & 4095) == 4096 - 128) continue;
    at.z += 128;
    if (i + 1 < lowers.size() && lowers[i + 1].origin == at) continue;
    all.push_back({at, std::vector<std::uint64_t>(64), {}, {at, at}});
  }
  lowers = std::move(all);
}

/// 21 bits an axis [G-3].
std::uint64_t key_of(Fault fault, const Voxel& v) {
  const auto bits = [fault](std::int32_t x) {
    const std::uint32_t bias = fault == Fault::TileKeyBiased ? 0x80000000u : 0;
    return std::uint64_t{(static_cast<std::uint32_t>(x) ^ bias) >> 12};
  };
  return bits(v.x) << 42 | bits(v.y) << 21 | bits(v.z);
}

}  // namespace

Layout laid_out(Fault fault, const Batch& batch) {
  Layout layout;
  std::size_t members = batch.size();
  while (fault == Fault::LastEmptyLost && members > 0 && batch.members[members - 1].empty())
    --members;
  std::uint64_t before = 0;           // voxels of the members so far
  std::int64_t neighbour_leaves = 0;  // of the member before
  std::size_t filled = 0;             // members so far that are not empty
  for (std::size_t m = 0; m < members; ++m) {
    const std::vector<Voxel>& voxels = batch.members[m];
    Grid& grid = layout.grids.emplace_back();
    const std::uint64_t first =
        (fault == Fault::OffsetFromZero ? 0 : 1) + (fault == Fault::OffsetRunsOn ? before : 0);
    grid.leaves = leaves_of(fault, voxels, first);
    const std::int64_t base = fault == Fault::BaseOfNeighbour ? neighbour_leaves : 0;
    grid.lowers = parents_of(fault, grid.leaves, 128, 4, 3, base, fault == Fault::NodeBaseLeaf);
    if (fault == Fault::PhantomLower) add_phantoms(grid.lowers);
    grid.uppers = parents_of(fault, grid.lowers, 4096, 5, 7, 0, fault == Fault::NodeBaseLower);
    for (std::size_t i = 0; i < grid.uppers.size(); ++i)
      grid.tiles.push_back(
          {tile_of(grid.uppers[i].origin), key_of(fault, grid.uppers[i].origin), i});
    for (const Node& upper : grid.uppers)
      grid.box = grid.box ? united(*grid.box, upper.box) : upper.box;
    const bool empty = voxels.empty();
    if (empty && fault == Fault::BoxOfEmpty) grid.box = Box{};
    grid.flags = !empty || fault == Fault::FlagOfEmpty ? 0x22 : 0x20;

    grid.voxel_count = voxels.size();
    grid.index = static_cast<std::uint32_t>(fault == Fault::HeaderIndex ? 0 : m);
    grid.count = static_cast<std::uint32_t>(fault == Fault::HeaderCount ? 1 : members);
    std::size_t header = m;
    if (fault == Fault::EmptyShifts) header = std::min(filled, batch.size() - 1);
    grid.map = batch.maps[fault == Fault::HeaderMap ? 0 : header];
    grid.name = batch.names[fault == Fault::HeaderName ? 0 : header];
    grid.world_box = reference::world_box(grid.box, grid.map);
    grid.byte_size =
        reference::kGridBytes + reference::kTreeBytes + reference::kRootBytes +
        reference::kTileBytes * grid.tiles.size() + reference::kUpperBytes * grid.uppers.size() +
        reference::kLowerBytes * grid.lowers.size() + reference::kLeafBytes * grid.leaves.size();

    layout.byte_offsets.push_back(layout.byte_offsets.back() + grid.byte_size);
    layout.voxel_offsets.push_back(layout.voxel_offsets.back() + grid.voxel_count);
    layout.leaf_offsets.push_back(layout.leaf_offsets.back() + grid.leaves.size());
    before += voxels.size();
    neighbour_leaves = static_cast<std::int64_t>(grid.leaves.size());
    filled += !empty;
  }
  return layout;
}

}  // namespace leafproof::faults
