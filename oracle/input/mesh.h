// Meshes through Assimp: OBJ, PLY, STL, glTF, GLB, 3DS. Assimp runs isolated.
#pragma once

#include <vector>

#include "oracle/input/surface.h"

namespace leafproof::oracle {

/// Every triangle of every node of the file, node transforms applied, degenerate ones kept;
/// polygons are triangulated, lone edges and points become degenerate triangles. Coordinates pass
/// through Assimp's 32-bit floats. Errors name the file: Corrupt for what Assimp cannot read or
/// crashes on and for indices beyond the vertices; InvalidArgument, naming mesh and vertex, for
/// coordinates that are not finite; Unsupported in a build without Assimp.
std::vector<Triangle> read_mesh(const FileTask& task);

}  // namespace leafproof::oracle
