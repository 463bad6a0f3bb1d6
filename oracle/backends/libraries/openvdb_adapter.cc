// OpenVDB's topology operations as an adapter: MaskGrid, dilation and erosion by 26 neighbours,
// union, intersection, difference.
#include <openvdb/openvdb.h>
#include <openvdb/tools/Morphology.h>

#include "oracle/backends/libraries/adapter.h"

namespace {

using namespace leafproof::oracle;
using leafproof::oracle::libraries::NotImplementedHere;
using openvdb::MaskGrid;
namespace tools = openvdb::tools;

MaskGrid::Ptr grid_of(const std::vector<Voxel>& voxels) {
  const auto grid = MaskGrid::create();
  auto accessor = grid->getAccessor();
  for (const Voxel& v : voxels) accessor.setValueOn(openvdb::Coord(v.x, v.y, v.z));
  return grid;
}

/// Active voxels in OpenVDB's order, tiles expanded.
std::vector<Voxel> voxels_of(MaskGrid& grid) {
  grid.tree().voxelizeActiveTiles();
  std::vector<Voxel> voxels;
  for (auto it = grid.cbeginValueOn(); it; ++it) {
    const openvdb::Coord at = it.getCoord();
    voxels.push_back({at[0], at[1], at[2]});
  }
  return voxels;
}

/// How often the 26 neighbours are taken: the box must be a cube around 0.
int iterations(const Case& c) {
  const std::int64_t r = c.hi[0];
  for (std::size_t a = 0; a < 3; ++a)
    if (c.hi[a] != r || c.lo[a] != -r)
      throw NotImplementedHere("its dilation and erosion are by cubes around the voxel");
  if (r < 0) throw NotImplementedHere("a case that must be refused is not asked of the library");
  if (r > 16) throw NotImplementedHere("a cube that takes more than 16 steps is not asked for");
  return static_cast<int>(r);
}

const std::vector<Voxel>& other_of(const Case& c, std::size_t member, std::size_t members) {
  if (!c.other || c.other->members.size() != members)
    throw NotImplementedHere("a case that must be refused is not asked of the library");
  return c.other->members[member];
}

std::string answer(const Case& c, const std::string&) {
  auto members = libraries::members_of(c);
  for (std::size_t m = 0; m < members.size(); ++m) {
    const auto grid = grid_of(members[m]);
    switch (c.op) {
      case Op::DilateBox:
        tools::dilateActiveValues(grid->tree(), iterations(c), tools::NN_FACE_EDGE_VERTEX,
                                  tools::EXPAND_TILES, /*threaded=*/false);
        break;
      case Op::ErodeBox:
        tools::erodeActiveValues(grid->tree(), iterations(c), tools::NN_FACE_EDGE_VERTEX,
                                 tools::EXPAND_TILES, /*threaded=*/false);
        break;
      case Op::Merge:
        grid->topologyUnion(*grid_of(other_of(c, m, members.size())));
        break;
      case Op::Intersect:
        grid->topologyIntersection(*grid_of(other_of(c, m, members.size())));
        break;
      case Op::Subtract:
        grid->topologyDifference(*grid_of(other_of(c, m, members.size())));
        break;
      default:
        break;  // from_ijk
    }
    members[m] = voxels_of(*grid);
  }
  return libraries::grid_text(members);
}

}  // namespace

int main(int argc, char** argv) {
  openvdb::initialize();
  return libraries::serve(
      argc, argv,
      {"openvdb",
       OPENVDB_LIBRARY_VERSION_STRING,
       {{"from_ijk", "setValueOn of a MaskGrid"},
        {"dilate_box", "tools::dilateActiveValues, NN_FACE_EDGE_VERTEX, tiles expanded"},
        {"erode_box", "tools::erodeActiveValues, NN_FACE_EDGE_VERTEX, tiles expanded"},
        {"merge", "topologyUnion"},
        {"intersect", "topologyIntersection"},
        {"subtract", "topologyDifference"}},
       answer});
}
