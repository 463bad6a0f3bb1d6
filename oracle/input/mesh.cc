// See mesh.h.
#include "oracle/input/mesh.h"

#ifdef LEAFPROOF_HAS_ASSIMP

#include <assimp/importerdesc.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <fmt/format.h>

#include <algorithm>
#include <assimp/Importer.hpp>
#include <cctype>
#include <cmath>
#include <exception>
#include <new>
#include <utility>

#include "oracle/input/isolated.h"

namespace leafproof::oracle {
namespace {

std::string extension_of(const FileTask& task) {
  std::string extension = task.file.extension().string();
  extension.erase(0, 1);  // the dot
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

// Only the importers of the file's own extension: the others must not guess at its bytes.
void keep_own_importers(const FileTask& task, Assimp::Importer& importer) {
  const std::string extension = extension_of(task);
  for (std::size_t i = importer.GetImporterCount(); i-- > 0;) {
    const std::string known = fmt::format(" {} ", importer.GetImporterInfo(i)->mFileExtensions);
    if (known.find(fmt::format(" {} ", extension)) == std::string::npos) {
      importer.UnregisterLoader(importer.GetImporter(i));
    }
  }
  if (importer.GetImporterCount() == 0) {
    task.refuse(ErrorKind::Unsupported, "this build's Assimp does not read ." + extension);
  }
}

// Row-major; in double, so that deep hierarchies lose nothing more.
using Transform = std::array<std::array<double, 4>, 3>;

Transform compose(const Transform& parent, const aiMatrix4x4& local) {
  Transform result{};
  for (std::size_t row = 0; row < 3; ++row) {
    for (unsigned column = 0; column < 4; ++column) {
      double sum = column == 3 ? parent[row][3] : 0;
      for (unsigned k = 0; k < 3; ++k)
        sum += parent[row][k] * static_cast<double>(local[k][column]);
      result[row][column] = sum;
    }
  }
  return result;
}

Point transformed(const Transform& transform, const aiVector3D& v) {
  Point result;
  for (std::size_t row = 0; row < 3; ++row) {
    const auto& m = transform[row];
    result[row] = m[0] * static_cast<double>(v.x) + m[1] * static_cast<double>(v.y) +
                  m[2] * static_cast<double>(v.z) + m[3];
  }
  return result;
}

void put_mesh(const FileTask& task, const aiMesh& mesh, unsigned number, const Transform& transform,
              Outlet& outlet) {
  std::vector<Point> vertices(mesh.mNumVertices);
  for (unsigned i = 0; i < mesh.mNumVertices; ++i) {
    vertices[i] = transformed(transform, mesh.mVertices[i]);
    for (const double c : vertices[i]) {
      if (!std::isfinite(c)) {
        task.refuse(ErrorKind::InvalidArgument,
                    fmt::format("vertex {} of mesh {} has the coordinate {}", i, number, c));
      }
    }
  }
  for (unsigned i = 0; i < mesh.mNumFaces; ++i) {
    const aiFace& face = mesh.mFaces[i];
    if (face.mNumIndices == 0 || face.mNumIndices > 3) {
      task.refuse(ErrorKind::Corrupt, fmt::format("face {} of mesh {} has {} corners left", i,
                                                  number, face.mNumIndices));
    }
    Triangle triangle;
    for (unsigned corner = 0; corner < 3; ++corner) {
      const unsigned index = face.mIndices[std::min(corner, face.mNumIndices - 1)];
      if (index >= mesh.mNumVertices) {
        task.refuse(ErrorKind::Corrupt, fmt::format("face {} of mesh {} has vertex {} of {}", i,
                                                    number, index, mesh.mNumVertices));
      }
      triangle[corner] = vertices[index];
    }
    outlet.put_value(triangle);
  }
}

void put_scene(const FileTask& task, Outlet& outlet) {
  Assimp::Importer importer;
  keep_own_importers(task, importer);
  const aiScene* scene = importer.ReadFile(task.file.string(), aiProcess_Triangulate);
  if (scene == nullptr || scene->mRootNode == nullptr) {
    // Assimp keeps what it caught; memory that ran out is no fault of the file.
    if (const std::exception_ptr& caught = importer.GetException()) {
      try {
        std::rethrow_exception(caught);
      } catch (const std::bad_alloc&) {
        throw;
      } catch (...) {  // its text is the reason
      }
    }
    const std::string reason = importer.GetErrorString();
    task.refuse(ErrorKind::Corrupt,
                "is no readable mesh: " + (reason.empty() ? "Assimp gives no reason" : reason));
  }
  // Assimp's 3DS importer turns the scene from z up to y up at the root; the file's own axes are
  // wanted, so it is turned back.
  const Transform identity{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  const Transform z_up{{{1, 0, 0, 0}, {0, 0, -1, 0}, {0, 1, 0, 0}}};
  const Transform& file_axes = extension_of(task) == "3ds" ? z_up : identity;
  std::vector<std::pair<const aiNode*, Transform>> open{
      {scene->mRootNode, compose(file_axes, scene->mRootNode->mTransformation)}};
  while (!open.empty()) {
    const auto [node, transform] = open.back();
    open.pop_back();
    for (unsigned i = 0; i < node->mNumMeshes; ++i) {
      const unsigned number = node->mMeshes[i];
      if (number >= scene->mNumMeshes) {
        task.refuse(ErrorKind::Corrupt,
                    fmt::format("has a node with mesh {} of {}", number, scene->mNumMeshes));
      }
      put_mesh(task, *scene->mMeshes[number], number, transform, outlet);
    }
    for (unsigned i = node->mNumChildren; i-- > 0;) {
      const aiNode* child = node->mChildren[i];
      open.emplace_back(child, compose(transform, child->mTransformation));
    }
  }
}

}  // namespace

std::vector<Triangle> read_mesh(const FileTask& task) {
  check_readable(task);
  const std::vector<std::byte> bytes =
      run_isolated(task, "Assimp", [&task](Outlet& outlet) { put_scene(task, outlet); });
  if (bytes.size() % sizeof(Triangle) != 0) {
    task.refuse(ErrorKind::Corrupt, "Assimp failed on it");
  }
  std::vector<Triangle> triangles(bytes.size() / sizeof(Triangle));
  if (!bytes.empty()) std::memcpy(triangles.data(), bytes.data(), bytes.size());
  return triangles;
}

}  // namespace leafproof::oracle

#else

namespace leafproof::oracle {

std::vector<Triangle> read_mesh(const FileTask& task) {
  check_readable(task);
  task.refuse(ErrorKind::Unsupported, "is a mesh, and this build has no Assimp to read it with");
}

}  // namespace leafproof::oracle

#endif
