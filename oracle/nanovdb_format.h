// The bytes of a NanoVDB 32.x ValueOnIndex grid, spelled out: where every field of every structure
// lies. Written here and not taken from NanoVDB's headers, which the builder uses, so that a use of
// the wrong field shows; tests/nanovdb_format_test.cc holds each line against those headers.
// All numbers are little endian. Memory order of a grid [G-6]: GridData, TreeData, RootData, tiles,
// upper nodes, lower nodes, leaves; every structure is a multiple of 32 bytes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace leafproof::oracle::format {

static_assert(std::endian::native == std::endian::little, "NanoVDB buffers are little endian");

/// A field: its name in NanoVDB, its offset in its structure, its size in bytes.
struct Field {
  const char* name;
  std::uint64_t at, size;
};

constexpr std::uint64_t alignment = 32;

constexpr std::uint64_t magic_grid = 0x314244566f6e614e;    // "NanoVDB1"
constexpr std::uint64_t magic_of_old = 0x304244566f6e614e;  // "NanoVDB0", before 32.7
constexpr std::uint32_t major_version = 32;                 // the ABI; minor and patch are free
constexpr std::uint32_t type_on_index = 20, class_index = 8;
constexpr std::uint64_t no_checksum = ~std::uint64_t{0};

constexpr std::uint32_t version(std::uint32_t major, std::uint32_t minor, std::uint32_t patch) {
  return major << 21 | minor << 10 | patch;
}
constexpr std::uint32_t major_of(std::uint32_t version) {
  return version >> 21;
}

// Bits of GridData's mFlags; a node's or leaf's HasBBox is 2 as well.
constexpr std::uint32_t has_long_name = 1, has_bbox = 2, is_breadth_first = 32;

/// The header: what is known of a grid without walking its tree.
struct GridData {
  static constexpr Field magic{"mMagic", 0, 8}, checksum{"mChecksum", 8, 8},
      version{"mVersion", 16, 4}, flags{"mFlags", 20, 4}, index{"mGridIndex", 24, 4},
      count{"mGridCount", 28, 4}, byte_size{"mGridSize", 32, 8}, name{"mGridName", 40, 256},
      // Map: index to world, in float and in double; 3x3 matrices are row major.
      mat_f{"mMap.mMatF", 296, 36}, inv_mat_f{"mMap.mInvMatF", 332, 36},
      vec_f{"mMap.mVecF", 368, 12}, taper_f{"mMap.mTaperF", 380, 4}, mat_d{"mMap.mMatD", 384, 72},
      inv_mat_d{"mMap.mInvMatD", 456, 72}, vec_d{"mMap.mVecD", 528, 24},
      taper_d{"mMap.mTaperD", 552, 8},  //
      world_box{"mWorldBBox", 560, 48}, voxel_size{"mVoxelSize", 608, 24},
      grid_class{"mGridClass", 632, 4}, grid_type{"mGridType", 636, 4},
      blind_offset{"mBlindMetadataOffset", 640, 8}, blind_count{"mBlindMetadataCount", 648, 4},
      data0{"mData0", 652, 4}, data1{"mData1", 656, 8}, data2{"mData2", 664, 8};
  static constexpr std::array fields{magic,        checksum,    version,    flags,      index,
                                     count,        byte_size,   name,       mat_f,      inv_mat_f,
                                     vec_f,        taper_f,     mat_d,      inv_mat_d,  vec_d,
                                     taper_d,      world_box,   voxel_size, grid_class, grid_type,
                                     blind_offset, blind_count, data0,      data1,      data2};
  static constexpr std::uint64_t size = 672;
};

/// Directly after GridData. Node offsets are relative to TreeData; levels count from the leaf.
struct TreeData {
  static constexpr Field leaf_offset{"mNodeOffset[0]", 0, 8}, lower_offset{"mNodeOffset[1]", 8, 8},
      upper_offset{"mNodeOffset[2]", 16, 8}, root_offset{"mNodeOffset[3]", 24, 8},
      leaf_count{"mNodeCount[0]", 32, 4}, lower_count{"mNodeCount[1]", 36, 4},
      upper_count{"mNodeCount[2]", 40, 4}, tile_counts{"mTileCount", 44, 12},
      voxel_count{"mVoxelCount", 56, 8};
  static constexpr std::array fields{leaf_offset, lower_offset, upper_offset,
                                     root_offset, leaf_count,   lower_count,
                                     upper_count, tile_counts,  voxel_count};
  static constexpr std::uint64_t size = 64;
};

/// Followed by its tiles. `tile_count` is NanoVDB's mTableSize.
struct RootData {
  static constexpr Field box{"mBBox", 0, 24}, tile_count{"mTableSize", 24, 4},
      background{"mBackground", 32, 8}, minimum{"mMinimum", 40, 8}, maximum{"mMaximum", 48, 8},
      average{"mAverage", 56, 8}, deviation{"mStdDevi", 64, 8};
  static constexpr std::array fields{box,     tile_count, background, minimum,
                                     maximum, average,    deviation};
  static constexpr std::uint64_t size = 96;
};

/// A root tile. `child` is relative to RootData; 0 is a value tile.
struct Tile {
  static constexpr Field key{"key", 0, 8}, child{"child", 8, 8}, state{"state", 16, 4},
      value{"value", 24, 8};
  static constexpr std::array fields{key, child, state, value};
  static constexpr std::uint64_t size = 32;
};

/// An internal node with (2^Log2)^3 slots. A slot of `table` whose child bit is on holds the offset
/// of the child relative to this node; any other slot holds a value index (0: no value).
template <int Log2>
struct InternalData {
  static constexpr std::uint64_t slots = std::uint64_t{1} << (3 * Log2), mask_bytes = slots / 8;
  static constexpr Field box{"mBBox", 0, 24}, flags{"mFlags", 24, 8},
      value_mask{"mValueMask", 32, mask_bytes},
      child_mask{"mChildMask", 32 + mask_bytes, mask_bytes},
      minimum{"mMinimum", 32 + 2 * mask_bytes, 8}, maximum{"mMaximum", 40 + 2 * mask_bytes, 8},
      average{"mAverage", 48 + 2 * mask_bytes, 8}, deviation{"mStdDevi", 56 + 2 * mask_bytes, 8},
      table{"mTable", 64 + 2 * mask_bytes, 8 * slots};
  static constexpr std::array fields{box,     flags,   value_mask, child_mask, minimum,
                                     maximum, average, deviation,  table};
  static constexpr std::uint64_t size = 64 + 2 * mask_bytes + 8 * slots;
};
using LowerData = InternalData<4>;  // 33,856 bytes
using UpperData = InternalData<5>;  // 270,400 bytes

/// A leaf. Its box is stored as its minimum and three differences of 0 ... 7.
struct LeafData {
  static constexpr Field box_min{"mBBoxMin", 0, 12}, box_dif{"mBBoxDif", 12, 3},
      flags{"mFlags", 15, 1}, mask{"mValueMask", 16, 64}, offset{"mOffset", 80, 8},
      prefix_sum{"mPrefixSum", 88, 8};
  static constexpr std::array fields{box_min, box_dif, flags, mask, offset, prefix_sum};
  static constexpr std::uint64_t size = 96;
};

/// Blind data, of which only a grid's long name is ever read.
struct BlindData {
  static constexpr Field data_offset{"mDataOffset", 0, 8},  // relative to this structure
      value_count{"mValueCount", 8, 8}, value_size{"mValueSize", 16, 4},
      data_class{"mDataClass", 24, 4};
  static constexpr std::uint64_t size = 288;
  static constexpr std::uint32_t class_grid_name = 3;
};

/// Reads and writes one number, at any alignment.
template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

}  // namespace leafproof::oracle::format
