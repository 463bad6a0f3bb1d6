// Every offset and size of oracle/nanovdb_format.h against NanoVDB's own structures.
#include "oracle/nanovdb_format.h"

#include <gtest/gtest.h>
#include <nanovdb/NanoVDB.h>

#include <string>

// NanoVDB's structures are not standard layout in the letter of the law; every compiler lays them
// out as C would.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#endif

namespace {

namespace format = leafproof::oracle::format;

using Grid = nanovdb::GridData;
using Tree = nanovdb::TreeData;
using Leaf = nanovdb::NanoLeaf<nanovdb::ValueOnIndex>::DataType;
using Lower = nanovdb::NanoLower<nanovdb::ValueOnIndex>::DataType;
using Upper = nanovdb::NanoUpper<nanovdb::ValueOnIndex>::DataType;
using Root = nanovdb::NanoRoot<nanovdb::ValueOnIndex>::DataType;
using Blind = nanovdb::GridBlindMetaData;

#define SAME_FIELD(ours, Struct, member)                         \
  EXPECT_EQ(format::ours.at, offsetof(Struct, member)) << #ours; \
  EXPECT_EQ(format::ours.size, sizeof(std::declval<Struct&>().member)) << #ours

TEST(NanovdbFormat, Constants) {
  EXPECT_EQ(format::magic_grid, NANOVDB_MAGIC_GRID);
  EXPECT_EQ(format::magic_of_old, NANOVDB_MAGIC_NUMB);
  EXPECT_EQ(format::major_version, unsigned{NANOVDB_MAJOR_VERSION_NUMBER});
  EXPECT_EQ(format::alignment, unsigned{NANOVDB_DATA_ALIGNMENT});
  EXPECT_EQ(format::version(NANOVDB_MAJOR_VERSION_NUMBER, NANOVDB_MINOR_VERSION_NUMBER,
                            NANOVDB_PATCH_VERSION_NUMBER),
            nanovdb::Version().id());
  EXPECT_EQ(format::major_of(nanovdb::Version().id()), nanovdb::Version().getMajor());
  EXPECT_EQ(format::type_on_index, unsigned(nanovdb::GridType::OnIndex));
  EXPECT_EQ(format::class_index, unsigned(nanovdb::GridClass::IndexGrid));
  EXPECT_EQ(format::has_long_name, unsigned(nanovdb::GridFlags::HasLongGridName));
  EXPECT_EQ(format::has_bbox, unsigned(nanovdb::GridFlags::HasBBox));
  EXPECT_EQ(format::is_breadth_first, unsigned(nanovdb::GridFlags::IsBreadthFirst));
  EXPECT_EQ(format::no_checksum, nanovdb::Checksum().full());
  EXPECT_EQ(format::BlindData::class_grid_name, unsigned(nanovdb::GridBlindDataClass::GridName));
}

TEST(NanovdbFormat, GridData) {
  SAME_FIELD(GridData::magic, Grid, mMagic);
  SAME_FIELD(GridData::checksum, Grid, mChecksum);
  SAME_FIELD(GridData::version, Grid, mVersion);
  SAME_FIELD(GridData::flags, Grid, mFlags);
  SAME_FIELD(GridData::index, Grid, mGridIndex);
  SAME_FIELD(GridData::count, Grid, mGridCount);
  SAME_FIELD(GridData::byte_size, Grid, mGridSize);
  SAME_FIELD(GridData::name, Grid, mGridName);
  SAME_FIELD(GridData::mat_f, Grid, mMap.mMatF);
  SAME_FIELD(GridData::inv_mat_f, Grid, mMap.mInvMatF);
  SAME_FIELD(GridData::vec_f, Grid, mMap.mVecF);
  SAME_FIELD(GridData::taper_f, Grid, mMap.mTaperF);
  SAME_FIELD(GridData::mat_d, Grid, mMap.mMatD);
  SAME_FIELD(GridData::inv_mat_d, Grid, mMap.mInvMatD);
  SAME_FIELD(GridData::vec_d, Grid, mMap.mVecD);
  SAME_FIELD(GridData::taper_d, Grid, mMap.mTaperD);
  SAME_FIELD(GridData::world_box, Grid, mWorldBBox);
  SAME_FIELD(GridData::voxel_size, Grid, mVoxelSize);
  SAME_FIELD(GridData::grid_class, Grid, mGridClass);
  SAME_FIELD(GridData::grid_type, Grid, mGridType);
  SAME_FIELD(GridData::blind_offset, Grid, mBlindMetadataOffset);
  SAME_FIELD(GridData::blind_count, Grid, mBlindMetadataCount);
  SAME_FIELD(GridData::data0, Grid, mData0);
  SAME_FIELD(GridData::data1, Grid, mData1);
  SAME_FIELD(GridData::data2, Grid, mData2);
  EXPECT_EQ(format::GridData::size, sizeof(Grid));
}

TEST(NanovdbFormat, TreeData) {
  SAME_FIELD(TreeData::leaf_offset, Tree, mNodeOffset[0]);
  SAME_FIELD(TreeData::lower_offset, Tree, mNodeOffset[1]);
  SAME_FIELD(TreeData::upper_offset, Tree, mNodeOffset[2]);
  SAME_FIELD(TreeData::root_offset, Tree, mNodeOffset[3]);
  SAME_FIELD(TreeData::leaf_count, Tree, mNodeCount[0]);
  SAME_FIELD(TreeData::lower_count, Tree, mNodeCount[1]);
  SAME_FIELD(TreeData::upper_count, Tree, mNodeCount[2]);
  SAME_FIELD(TreeData::tile_counts, Tree, mTileCount);
  SAME_FIELD(TreeData::voxel_count, Tree, mVoxelCount);
  EXPECT_EQ(format::TreeData::size, sizeof(Tree));
}

TEST(NanovdbFormat, RootDataAndTile) {
  SAME_FIELD(RootData::box, Root, mBBox);
  SAME_FIELD(RootData::tile_count, Root, mTableSize);
  SAME_FIELD(RootData::background, Root, mBackground);
  SAME_FIELD(RootData::minimum, Root, mMinimum);
  SAME_FIELD(RootData::maximum, Root, mMaximum);
  SAME_FIELD(RootData::average, Root, mAverage);
  SAME_FIELD(RootData::deviation, Root, mStdDevi);
  EXPECT_EQ(format::RootData::size, sizeof(Root));
  SAME_FIELD(Tile::key, Root::Tile, key);
  SAME_FIELD(Tile::child, Root::Tile, child);
  SAME_FIELD(Tile::state, Root::Tile, state);
  SAME_FIELD(Tile::value, Root::Tile, value);
  EXPECT_EQ(format::Tile::size, sizeof(Root::Tile));
}

template <class Ours, class Theirs>
void same_internal() {
  EXPECT_EQ(Ours::box.at, offsetof(Theirs, mBBox));
  EXPECT_EQ(Ours::flags.at, offsetof(Theirs, mFlags));
  EXPECT_EQ(Ours::value_mask.at, offsetof(Theirs, mValueMask));
  EXPECT_EQ(Ours::child_mask.at, offsetof(Theirs, mChildMask));
  EXPECT_EQ(Ours::minimum.at, offsetof(Theirs, mMinimum));
  EXPECT_EQ(Ours::maximum.at, offsetof(Theirs, mMaximum));
  EXPECT_EQ(Ours::average.at, offsetof(Theirs, mAverage));
  EXPECT_EQ(Ours::deviation.at, offsetof(Theirs, mStdDevi));
  EXPECT_EQ(Ours::table.at, offsetof(Theirs, mTable));
  EXPECT_EQ(Ours::box.size, sizeof(Theirs::mBBox));
  EXPECT_EQ(Ours::flags.size, sizeof(Theirs::mFlags));
  EXPECT_EQ(Ours::value_mask.size, sizeof(Theirs::mValueMask));
  EXPECT_EQ(Ours::child_mask.size, sizeof(Theirs::mChildMask));
  EXPECT_EQ(Ours::minimum.size, sizeof(Theirs::mMinimum));
  EXPECT_EQ(Ours::maximum.size, sizeof(Theirs::mMaximum));
  EXPECT_EQ(Ours::average.size, sizeof(Theirs::mAverage));
  EXPECT_EQ(Ours::deviation.size, sizeof(Theirs::mStdDevi));
  EXPECT_EQ(Ours::table.size, sizeof(Theirs::mTable));
  EXPECT_EQ(Ours::size, sizeof(Theirs));
}

TEST(NanovdbFormat, InternalNodes) {
  same_internal<format::LowerData, Lower>();
  same_internal<format::UpperData, Upper>();
}

TEST(NanovdbFormat, LeafData) {
  SAME_FIELD(LeafData::box_min, Leaf, mBBoxMin);
  SAME_FIELD(LeafData::box_dif, Leaf, mBBoxDif);
  SAME_FIELD(LeafData::flags, Leaf, mFlags);
  SAME_FIELD(LeafData::mask, Leaf, mValueMask);
  SAME_FIELD(LeafData::offset, Leaf, mOffset);
  SAME_FIELD(LeafData::prefix_sum, Leaf, mPrefixSum);
  EXPECT_EQ(format::LeafData::size, sizeof(Leaf));
}

TEST(NanovdbFormat, BlindData) {
  SAME_FIELD(BlindData::data_offset, Blind, mDataOffset);
  SAME_FIELD(BlindData::value_count, Blind, mValueCount);
  SAME_FIELD(BlindData::value_size, Blind, mValueSize);
  SAME_FIELD(BlindData::data_class, Blind, mDataClass);
  EXPECT_EQ(format::BlindData::size, sizeof(Blind));
}

// The tables that name the owner of a byte list every field once, in order, without overlap.
template <class Struct>
void fields_in_order(const char* name) {
  std::uint64_t end = 0;
  for (const format::Field& field : Struct::fields) {
    EXPECT_GE(field.at, end) << name << " " << field.name;
    end = field.at + field.size;
  }
  EXPECT_LE(end, Struct::size) << name;
}

TEST(NanovdbFormat, FieldTables) {
  fields_in_order<format::GridData>("GridData");
  fields_in_order<format::TreeData>("TreeData");
  fields_in_order<format::RootData>("RootData");
  fields_in_order<format::Tile>("Tile");
  fields_in_order<format::LowerData>("LowerData");
  fields_in_order<format::UpperData>("UpperData");
  fields_in_order<format::LeafData>("LeafData");
}

}  // namespace
