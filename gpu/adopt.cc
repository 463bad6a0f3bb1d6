// What the host checks of a foreign buffer: headers, and what the launches over its nodes found.
#include "gpu/adopt.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "gpu/build.h"
#include "gpu/error.h"
#include "gpu/map_rules.h"
#include "gpu/pass_plan.h"

namespace leafproof::gpu {
namespace adoption {

const char* describe(Fault fault) {
  switch (fault) {
    case kNone:
      return "nothing";
    case kTileChild:
      return "a root tile does not point to its upper node";
    case kTileKey:
      return "a root tile's key is not that of its upper node";
    case kTileTwice:
      return "two root tiles have one key";
    case kValueTile:
      return "an active value tile";
    case kChildCount:
      return "child masks do not add up to the nodes of the next level";
    case kChild:
      return "a child pointer is not to the next node of the next level";
    case kNodeBox:
      return "a box is not that of the node's voxels";
    case kEmptyNode:
      return "a node has no voxel";
    case kPrefixSum:
      return "mPrefixSum is not that of the mask";
    case kOffset:
      return "mOffset is not 1 plus the voxels before it";
  }
  return "?";
}

}  // namespace adoption

namespace {

using nanovdb::GridData;
using nanovdb::TreeData;

[[noreturn]] void refuse(ErrorKind kind, const char* argument, std::string value,
                         std::string reason, std::int64_t member) {
  throw Error(kind, "adopt", argument, std::move(value), std::move(reason), member);
}

/// A level of nodes: `at` counted from the tree must lie in the grid with room for all nodes.
std::int64_t level_at(const TreeData& tree, int level, std::int64_t nodes, std::int64_t node_bytes,
                      std::int64_t after, std::int64_t grid_bytes, std::int64_t member) {
  if (nodes == 0) return 0;
  const std::int64_t at = tree.mNodeOffset[level];
  // 32-bit counts of nodes of known size cannot overflow 64 bits; `at` is compared before it is
  // added.
  const bool fits = at >= after - kGridBytes && at <= grid_bytes && at % 32 == 0 &&
                    nodes * node_bytes <= grid_bytes - kGridBytes - at;
  if (!fits) {
    refuse(ErrorKind::Corrupt, "mNodeOffset", std::to_string(at),
           "the nodes of level " + std::to_string(level) + " do not lie in the grid", member);
  }
  return at + kGridBytes;
}

MemberMap map_in(const GridData& grid, std::int64_t member) {
  MemberMap map;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      if (row != column && grid.mMap.mMatD[3 * row + column] != 0) {
        refuse(ErrorKind::Unsupported, "mMatD", "off the diagonal",
               "maps with rotation or shear are refused", member);
      }
    }
    const auto axis = static_cast<std::size_t>(row);
    map.voxel_size[axis] = grid.mMap.mMatD[4 * row];
    map.origin[axis] = grid.mMap.mVecD[row];
  }
  if (grid.mMap.mTaperD != 1.0 || grid.mMap.mTaperF != 1.0f) {
    refuse(ErrorKind::Unsupported, "mTaperD", std::to_string(grid.mMap.mTaperD),
           "maps with taper are refused", member);
  }
  check_map("adopt", map, member);
  return map;
}

/// Blind data are not read, but must lie in the grid; a name kept there is too long [G-7].
void check_blind_data(const GridData& grid, std::int64_t member) {
  if (grid.mBlindMetadataCount == 0) return;
  const std::int64_t at = grid.mBlindMetadataOffset;
  const auto bytes = static_cast<std::int64_t>(grid.mGridSize);
  constexpr std::int64_t kHeader = sizeof(nanovdb::GridBlindMetaData);
  if (at < 0 || at > bytes || std::int64_t{grid.mBlindMetadataCount} * kHeader > bytes - at) {
    refuse(ErrorKind::Corrupt, "mBlindMetadataOffset", std::to_string(at),
           "blind data do not lie in the grid", member);
  }
  if (grid.mFlags.isMaskOn(nanovdb::GridFlags::HasLongGridName)) {
    refuse(ErrorKind::InvalidArgument, "name", "in blind data", "a name has at most 255 bytes",
           member);
  }
}

}  // namespace

namespace adoption {

MemberInfo read_header(const std::byte* head, std::int64_t left, std::int64_t offset,
                       std::int64_t member) {
  if (left < kHeadBytes) {
    refuse(ErrorKind::Corrupt, "bytes", std::to_string(left), "too few for a grid", member);
  }
  const auto& grid = *reinterpret_cast<const GridData*>(head);
  const auto& tree = *reinterpret_cast<const TreeData*>(head + kGridBytes);
  if (grid.mMagic != NANOVDB_MAGIC_GRID && grid.mMagic != NANOVDB_MAGIC_NUMB) {
    refuse(ErrorKind::Corrupt, "mMagic", std::to_string(grid.mMagic), "not a NanoVDB grid", member);
  }
  if (!grid.mVersion.isCompatible()) {
    refuse(ErrorKind::Unsupported, "mVersion", std::to_string(grid.mVersion.getMajor()),
           "another major version of the format", member);
  }
  if (grid.mGridType != nanovdb::GridType::OnIndex) {
    refuse(ErrorKind::Unsupported, "mGridType",
           std::to_string(static_cast<std::uint32_t>(grid.mGridType)), "not ValueOnIndex", member);
  }
  if (grid.mGridSize > static_cast<std::uint64_t>(left) || grid.mGridSize % 32 != 0 ||
      grid.mGridSize < static_cast<std::uint64_t>(kHeadBytes)) {
    refuse(ErrorKind::Corrupt, "mGridSize", std::to_string(grid.mGridSize),
           "not the size of a grid in this buffer", member);
  }
  if (tree.mTileCount[0] != 0 || tree.mTileCount[1] != 0 || tree.mTileCount[2] != 0) {
    refuse(ErrorKind::Unsupported, "mTileCount", "active value tiles",
           "grids with value tiles are refused", member);
  }
  if (tree.mNodeOffset[3] != kTreeBytes) {
    refuse(ErrorKind::Corrupt, "mNodeOffset", std::to_string(tree.mNodeOffset[3]),
           "the root does not follow the tree", member);
  }
  const auto& root = *reinterpret_cast<const RootNode*>(head + kRootAt);
  MemberInfo info;
  info.offset = offset;
  info.bytes = static_cast<std::int64_t>(grid.mGridSize);
  info.leaves = tree.mNodeCount[0];
  info.lowers = tree.mNodeCount[1];
  info.uppers = tree.mNodeCount[2];
  info.root_at = kRootAt;
  const std::int64_t after = kRootAt + kRootBytes + std::int64_t{root.mTableSize} * kTileBytes;
  if (root.mTableSize != tree.mNodeCount[2] || after > info.bytes) {
    refuse(ErrorKind::Corrupt, "mTableSize", std::to_string(root.mTableSize),
           "not the number of upper nodes, or too large", member);
  }
  const bool empty = info.leaves == 0;
  if (empty != (info.lowers == 0) || empty != (info.uppers == 0)) {
    refuse(ErrorKind::Corrupt, "mNodeCount", std::to_string(info.leaves),
           "a level without nodes below or above one with", member);
  }
  info.uppers_at = level_at(tree, 2, info.uppers, kUpperBytes, after, info.bytes, member);
  info.lowers_at = level_at(tree, 1, info.lowers, kLowerBytes, after, info.bytes, member);
  info.leaves_at = level_at(tree, 0, info.leaves, kLeafBytes, after, info.bytes, member);
  const std::int64_t levels[3][2] = {{info.uppers_at, info.uppers * kUpperBytes},
                                     {info.lowers_at, info.lowers * kLowerBytes},
                                     {info.leaves_at, info.leaves * kLeafBytes}};
  for (int p = 0; p < 3 && !empty; ++p) {
    const auto& [at, size] = levels[p];
    const auto& [other_at, other_size] = levels[(p + 1) % 3];
    if (at < other_at + other_size && other_at < at + size) {
      refuse(ErrorKind::Corrupt, "mNodeOffset", std::to_string(at - kGridBytes),
             "two levels of nodes lie in each other", member);
    }
  }
  check_blind_data(grid, member);
  info.map = map_in(grid, member);
  info.name.assign(grid.mGridName, strnlen(grid.mGridName, GridData::MaxNameSize));
  check_name("adopt", info.name, member);
  return info;
}

void check_found(const NodesOnHost& found, const std::vector<std::byte>& heads,
                 const std::int64_t* ends, const Extent* boxes, std::vector<MemberInfo>& members) {
  const std::uint64_t faults[4] = {found.leaf, found.lower, found.upper, found.tile};
  const char* levels[4] = {"leaf", "lower", "upper", "tile"};
  for (const int level : {3, 2, 1, 0}) {
    if (faults[level] == kInRange) continue;
    const auto node = static_cast<std::int64_t>(faults[level] >> 8);
    const auto fault = static_cast<Fault>(faults[level] & 0xFF);
    std::int64_t member = 0, before = 0;
    const auto nodes = [&](std::int64_t m) {
      const MemberInfo& info = members[static_cast<std::size_t>(m)];
      return level == 0 ? info.leaves : level == 1 ? info.lowers : info.uppers;
    };
    while (node - before >= nodes(member)) before += nodes(member++);
    refuse(fault == kValueTile ? ErrorKind::Unsupported : ErrorKind::Corrupt, levels[level],
           std::to_string(node - before), describe(fault), member);
  }
  for (std::int64_t m = 0; m < static_cast<std::int64_t>(members.size()); ++m) {
    MemberInfo& info = members[static_cast<std::size_t>(m)];
    const std::int64_t* at = ends + 3 * m;
    info.voxels = at[3] - at[0];
    if (at[4] - at[1] != info.leaves || at[5] - at[2] != info.lowers) {
      refuse(ErrorKind::Corrupt, "mNodeCount", std::to_string(info.leaves), describe(kChildCount),
             m);
    }
    const std::byte* head = heads.data() + m * kHeadBytes;
    const auto& grid = *reinterpret_cast<const GridData*>(head);
    const auto& tree = *reinterpret_cast<const TreeData*>(head + kGridBytes);
    const auto counted = static_cast<std::uint64_t>(info.voxels);
    if (tree.mVoxelCount != counted || grid.mData1 != counted + 1) {
      refuse(ErrorKind::Corrupt, "mVoxelCount", std::to_string(tree.mVoxelCount),
             "the leaves have " + std::to_string(counted) + " voxels (mData1 is one more)", m);
    }
    const Box& box = boxes[m].box;
    if (box.empty()) continue;
    const auto& root = *reinterpret_cast<const RootNode*>(head + kRootAt);
    if (!same_box(box, voxels_of(root.mBBox))) {
      refuse(ErrorKind::Corrupt, "mBBox of the root", "another box", describe(kNodeBox), m);
    }
    const auto narrow = [](const Coord& c) {
      return std::array<std::int32_t, 3>{static_cast<std::int32_t>(c.x),
                                         static_cast<std::int32_t>(c.y),
                                         static_cast<std::int32_t>(c.z)};
    };
    info.box = VoxelBox{narrow(box.min), narrow(box.max)};
  }
}

}  // namespace adoption
}  // namespace leafproof::gpu
