// The bytes of the .nvdb container, as oracle/nanovdb_format.h spells out those of a grid: a
// segment is a FileHeader, then for each grid a FileRecord (NanoVDB's FileMetaData) and its name
// with a NUL, then the grids. Also the few fields in which ValueMask and float grids differ from
// ValueOnIndex.
#pragma once

#include "oracle/nanovdb_format.h"

namespace leafproof::oracle {

using format::Field;

constexpr std::uint64_t magic_file = 0x324244566f6e614e;  // "NanoVDB2"
constexpr std::uint16_t codec_none = 0, codec_zip = 1, codec_blosc = 2;
constexpr std::uint64_t blosc_chunk = std::uint64_t{1} << 30;  // bytes of a grid in one chunk

struct FileHeader {
  static constexpr Field magic{"magic", 0, 8}, version{"version", 8, 4},
      grid_count{"gridCount", 12, 2}, codec{"codec", 14, 2};
  static constexpr std::uint64_t size = 16;
};

struct FileRecord {
  static constexpr Field grid_size{"gridSize", 0, 8}, file_size{"fileSize", 8, 8},
      name_key{"nameKey", 16, 8}, voxel_count{"voxelCount", 24, 8}, grid_type{"gridType", 32, 4},
      grid_class{"gridClass", 36, 4}, world_box{"worldBBox", 40, 48},
      index_box{"indexBBox", 88, 24}, voxel_size{"voxelSize", 112, 24},
      name_size{"nameSize", 136, 4}, node_count{"nodeCount", 140, 16},
      tile_count{"tileCount", 156, 12}, codec{"codec", 168, 2},
      blind_count{"blindDataCount", 170, 2}, version{"version", 172, 4};
  static constexpr std::uint64_t size = 176;
};

constexpr std::uint32_t type_float = 1, type_mask = 8;

/// Sizes by type; tiles and internal nodes are alike in all three.
struct TreeSizes {
  std::uint64_t root, leaf;
};
constexpr TreeSizes sizes_float{64, 2144}, sizes_mask{64, 96};

}  // namespace leafproof::oracle
