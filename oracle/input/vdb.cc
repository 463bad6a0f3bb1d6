// See vdb.h.
#include "oracle/input/vdb.h"

#ifdef LEAFPROOF_HAS_OPENVDB

#include <fmt/format.h>
#include <openvdb/io/Stream.h>
#include <openvdb/openvdb.h>

#include <fstream>

#include "oracle/input/isolated.h"
#include "oracle/input/voxel_set.h"

namespace leafproof::oracle {
namespace {

// What the child says of a grid: a name, a Map, then blocks until a cube of side 0.
struct Block {
  Voxel origin;
  std::int64_t side = 0;  // 8: what the mask says; 128, 4096: a solid cube; 0: no more
  VoxelSet::Mask mask{};
};

Voxel voxel_of(const openvdb::Coord& c) {
  return {c.x(), c.y(), c.z()};
}

// Node by node with plain loops: in a forked child there are no worker threads to wait for.
template <class Tree>
void put_topology(const FileTask& task, const std::string& name, const Tree& tree,
                  std::uint64_t& budget, Outlet& outlet) {
  const auto spend = [&](std::uint64_t voxels) {
    if (voxels > budget) {
      task.refuse(ErrorKind::CapacityExceeded,
                  fmt::format("grid {} has {} more active voxels than the limit leaves ({}), tiles "
                              "counted by their voxels",
                              name, voxels - budget, budget));
    }
    budget -= voxels;
  };
  using Leaf = typename Tree::LeafNodeType;
  static_assert(Leaf::LOG2DIM == 3, "blocks are OpenVDB's leaves");
  // Counted first: nothing is expanded of a grid that does not fit.
  std::uint64_t voxels = 0;
  for (auto leaf = tree.cbeginLeaf(); leaf; ++leaf) voxels += leaf->onVoxelCount();
  const auto each_tile = [&tree](auto visit) {
    auto tile = tree.cbeginValueOn();
    tile.setMaxDepth(Tree::ValueOnCIter::LEAF_DEPTH - 1);
    for (; tile; ++tile) {
      openvdb::CoordBBox box;
      tile.getBoundingBox(box);
      visit(box);
    }
  };
  each_tile([&](const openvdb::CoordBBox& box) {
    const std::uint64_t tile = box.volume();
    voxels = voxels > ~std::uint64_t{0} - tile ? ~std::uint64_t{0} : voxels + tile;
  });
  spend(voxels);
  for (auto leaf = tree.cbeginLeaf(); leaf; ++leaf) {
    Block block{.origin = voxel_of(leaf->origin()), .side = 8, .mask = {}};
    for (unsigned word = 0; word < 8; ++word) {
      block.mask[word] = leaf->getValueMask().template getWord<std::uint64_t>(word);
    }
    outlet.put_value(block);
  }
  each_tile([&](const openvdb::CoordBBox& box) {
    Block block{.origin = voxel_of(box.min()), .side = box.dim().x(), .mask = {}};
    block.mask.fill(~std::uint64_t{0});
    outlet.put_value(block);
  });
  outlet.put_value(Block{});
}

Map map_of(const FileTask& task, const std::string& name,
           const openvdb::math::Transform& transform) {
  const auto refuse = [&](const std::string& what) {
    task.refuse(
        ErrorKind::Unsupported,
        fmt::format("grid {} has {}; a map is a positive scale and a translation", name, what));
  };
  if (!transform.isLinear()) refuse("a map that is not linear: " + transform.mapType());
  const openvdb::Mat4R m = transform.baseMap()->getAffineMap()->getMat4();
  Map map;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      if (row != column && m(row, column) != 0) refuse("rotation or shear");
    }
    if (m(row, 3) != 0) refuse("a perspective");
    const auto axis = static_cast<std::size_t>(row);
    map.voxel_size[axis] = m(row, row);
    map.origin[axis] = m(3, row);  // where index (0,0,0) lies
  }
  return map;
}

void put_file(const FileTask& task, std::uint64_t budget, Outlet& outlet) {
  openvdb::initialize();
  // Never destroyed: to free trees OpenVDB would start threads, and the child ends here anyway.
  // Read as a stream, which keeps the order of the file; io::File would sort the grids by name.
  std::ifstream bytes(task.file, std::ios::binary);
  auto& stream = *new openvdb::io::Stream(bytes, /*delayLoad=*/false);
  const auto& grids = *new openvdb::GridPtrVecPtr(stream.getGrids());
  if (bytes.fail() || grids->empty()) {  // a damaged header is no exception to OpenVDB
    task.refuse(ErrorKind::Corrupt, "holds no grid that OpenVDB can read");
  }
  outlet.put_value(std::uint64_t{grids->size()});
  for (const openvdb::GridBase::Ptr& grid : *grids) {
    const std::string name = printable(grid->getName());
    outlet.put_text(grid->getName());
    outlet.put_value(map_of(task, name, grid->transform()));
    const bool known = grid->apply<openvdb::GridTypes>(
        [&](const auto& typed) { put_topology(task, name, typed.tree(), budget, outlet); });
    if (!known) {
      task.refuse(ErrorKind::Unsupported,
                  fmt::format("grid {} has the type {}", name, printable(grid->type())));
    }
  }
}

}  // namespace

void read_vdb(const FileTask& task, std::uint64_t max_voxels, Input& input) {
  check_readable(task);
  const std::vector<std::byte> bytes =
      run_isolated(task, "OpenVDB", [&](Outlet& outlet) { put_file(task, max_voxels, outlet); });
  Cursor cursor(task, bytes);
  const auto count = cursor.get<std::uint64_t>("OpenVDB's answer");
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto size = cursor.get<std::uint64_t>("OpenVDB's answer");
    const std::string name(as_text(cursor.take(size, "OpenVDB's answer")));
    const auto map = cursor.get<Map>("OpenVDB's answer");
    VoxelSet voxels;
    for (auto block = cursor.get<Block>("OpenVDB's answer"); block.side != 0;
         block = cursor.get<Block>("OpenVDB's answer")) {
      const bool aligned = ((block.origin.x | block.origin.y | block.origin.z) & 7) == 0;
      if (!aligned || (block.side != 8 && block.side != 128 && block.side != 4096)) {
        task.refuse(ErrorKind::Corrupt, "OpenVDB failed on it");
      }
      if (block.side == 8) {
        voxels.insert_block(block.origin, block.mask);
      } else {
        voxels.insert_cube(block.origin, block.side);
      }
    }
    append_member(
        task, input, voxels.canonical(), map, name,
        fmt::format("{} grid {}, active voxels", task.file.filename().string(), printable(name)));
  }
}

}  // namespace leafproof::oracle

#else

namespace leafproof::oracle {

void read_vdb(const FileTask& task, std::uint64_t, Input&) {
  check_readable(task);
  task.refuse(ErrorKind::Unsupported,
              "is an OpenVDB file, and this build has no OpenVDB to read it with");
}

}  // namespace leafproof::oracle

#endif
