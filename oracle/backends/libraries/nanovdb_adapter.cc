// NanoVDB's own builder on the CPU as an adapter: build::Grid<ValueMask> made a ValueOnIndex grid
// by createNanoGrid, a batch by mergeGrids; the answer is the raw buffer. Files go to the folder
// that LEAFPROOF_ANSWERS names, else to a temporary one, which stays.
#include <nanovdb/GridHandle.h>
#include <nanovdb/NanoVDB.h>
#include <nanovdb/tools/CreateNanoGrid.h>
#include <nanovdb/tools/GridBuilder.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "oracle/backends/libraries/adapter.h"

namespace {

using namespace leafproof::oracle;
using leafproof::oracle::libraries::NotImplementedHere;

nanovdb::GridHandle<> built(const std::vector<Voxel>& voxels) {
  nanovdb::tools::build::Grid<nanovdb::ValueMask> grid(false);
  auto accessor = grid.getAccessor();
  for (const Voxel& v : voxels) accessor.setValueOn(nanovdb::Coord(v.x, v.y, v.z));
  return nanovdb::tools::createNanoGrid<nanovdb::tools::build::Grid<nanovdb::ValueMask>,
                                        nanovdb::ValueOnIndex>(grid, 0u, false, false);
}

std::filesystem::path folder() {
  static const std::filesystem::path path = [] {
    if (const char* named = std::getenv("LEAFPROOF_ANSWERS"); named != nullptr)
      return std::filesystem::path(named);
    std::string made = (std::filesystem::temp_directory_path() / "leafproof-XXXXXX").string();
    if (mkdtemp(made.data()) == nullptr) throw std::runtime_error("no folder for answers");
    return std::filesystem::path(made);
  }();
  return path;
}

std::string answer(const Case& c, const std::string& number) {
  const auto members = libraries::members_of(c);
  if (members.empty()) throw NotImplementedHere("a buffer of no grid is none");
  std::vector<nanovdb::GridHandle<>> handles;
  for (const auto& member : members) handles.push_back(built(member));
  const auto batch = nanovdb::mergeGrids(handles);
  const auto file = folder() / (number + ".grids");
  std::ofstream out(file, std::ios::binary);
  out.write(static_cast<const char*>(batch.data()),
            static_cast<std::streamsize>(batch.bufferSize()));
  out.close();
  if (!out) throw std::runtime_error("an answer's file was not written");
  return "nanovdb profile=topology file=" + libraries::plain(file.string());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string version = std::to_string(NANOVDB_MAJOR_VERSION_NUMBER) + "." +
                              std::to_string(NANOVDB_MINOR_VERSION_NUMBER) + "." +
                              std::to_string(NANOVDB_PATCH_VERSION_NUMBER);
  return libraries::serve(
      argc, argv,
      {"nanovdb",
       version,
       {{"from_ijk", "tools::build::Grid<ValueMask>, createNanoGrid as ValueOnIndex, mergeGrids"}},
       answer});
}
