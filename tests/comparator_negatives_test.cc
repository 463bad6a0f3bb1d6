// The comparison's own negatives, by table: one bit of every field of the layout, one number of
// every map, pair, entry and output is wrong, and the verdict names that field by its clause, in
// the right member and node, from the right profile on [G-9]. A field without a row in the table
// fails.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "oracle/compare.h"
#include "oracle/judge.h"
#include "oracle/layout_view.h"
#include "oracle/nanovdb_format.h"
#include "reference/conv_support.h"
#include "reference/passes.h"
#include "tests/layout_samples.h"

namespace {

using namespace leafproof;
namespace format = oracle::format;
using oracle::Answer;
using oracle::Case;
using oracle::DenseMapAnswer;
using oracle::GradientsAnswer;
using oracle::GridBuffer;
using oracle::KernelMapAnswer;
using oracle::NumbersAnswer;
using oracle::NumberType;
using oracle::Op;
using oracle::Profile;
using oracle::Verdict;
using reference::Layout;
using reference::Voxel;

constexpr Profile profiles[] = {Profile::Sets, Profile::Topology, Profile::Layout, Profile::Bytes};

/// What a verdict says first, without the number of a byte: "[G-6] mChecksum".
std::string said(const Verdict& v) {
  if (!v.first) return "nothing";
  std::string what = v.first->what;
  if (what.starts_with("byte ") && what.find(", ") != what.npos)
    what = what.substr(what.find(", ") + 2);
  return fmt::format("[{}] {}", v.first->clause, what);
}

// ---- the layout, bit by bit

/// What may be said of a wrong bit of a field, and the lowest profile that says it.
struct Says {
  Profile lowest;
  const char* text;  // the beginning of it
};

constexpr Profile S = Profile::Sets, T = Profile::Topology, L = Profile::Layout, B = Profile::Bytes;

/// By structure and field. Where a bit makes the buffer contradict itself, that is what is said.
const std::map<std::string, std::vector<Says>>& table() {
  static const std::map<std::string, std::vector<Says>> rows{
      {"GridData mMagic", {{S, "[E-2] mMagic"}, {B, "[G-6] mMagic"}}},
      {"GridData mChecksum", {{B, "[G-6] mChecksum"}}},
      {"GridData mVersion", {{B, "[G-6] mVersion"}, {S, "[E-2] mVersion"}}},
      {"GridData mFlags", {{L, "[G-6] mFlags of the grid"}}},
      {"GridData mGridIndex", {{L, "[G-6] mGridIndex"}}},
      {"GridData mGridCount", {{L, "[G-6] mGridCount"}}},
      {"GridData mGridSize", {{S, "[E-2] mGridSize"}}},
      {"GridData mGridName", {{B, "[G-7] name"}, {B, "[G-7] mGridName"}}},
      {"GridData mMap.mMatF", {{B, "[G-7] mMap.mMatF"}}},
      {"GridData mMap.mInvMatF", {{B, "[G-7] mMap.mInvMatF"}}},
      {"GridData mMap.mVecF", {{B, "[G-7] mMap.mVecF"}}},
      {"GridData mMap.mTaperF", {{B, "[G-7] taper of the map"}}},
      {"GridData mMap.mMatD", {{B, "[G-7] voxel size along"}, {B, "[G-7] mMap.mMatD"}}},
      {"GridData mMap.mInvMatD", {{B, "[G-7] mMap.mInvMatD"}}},
      {"GridData mMap.mVecD", {{B, "[G-7] origin along"}, {B, "[G-7] sign of the origin along"}}},
      {"GridData mMap.mTaperD", {{B, "[G-7] taper of the map"}}},
      {"GridData mWorldBBox", {{L, "[G-5] mWorldBBox"}, {B, "[G-5] mWorldBBox"}}},
      {"GridData mVoxelSize", {{B, "[G-7] mVoxelSize"}}},
      {"GridData mGridClass", {{B, "[G-6] mGridClass"}}},
      {"GridData mGridType", {{S, "[E-2] mGridType"}}},
      {"GridData mBlindMetadataOffset", {{L, "[G-6] mBlindMetadataOffset"}}},
      {"GridData mBlindMetadataCount", {{S, "[E-2] mBlindMetadataCount"}}},
      {"GridData mData0", {{B, "[G-6] mData0"}}},
      {"GridData mData1", {{L, "[G-6] mData1"}}},
      {"GridData mData2", {{B, "[G-6] mData2"}}},
      // A level elsewhere: it lies on another, or reads as nodes what are none.
      {"TreeData mNodeOffset[0]",
       {{S, "[E-2] mNodeOffset[0]"},
        {S, "[E-2] mNodeOffset"},
        {S, "[E-2] mNodeCount[0] or mNodeOffset[0]"},
        {L, "[G-6] mNodeOffset[0]"}}},
      {"TreeData mNodeOffset[1]",
       {{S, "[E-2] mNodeOffset[1]"},
        {S, "[E-2] mNodeOffset"},
        {S, "[E-2] mNodeCount[1] or mNodeOffset[1]"},
        {L, "[G-6] mNodeOffset[1]"}}},
      {"TreeData mNodeOffset[2]",
       {{S, "[E-2] mNodeOffset[2]"},
        {S, "[E-2] mNodeOffset"},
        {S, "[E-2] mNodeCount[2] or mNodeOffset[2]"},
        {L, "[G-6] mNodeOffset[2]"}}},
      {"TreeData mNodeOffset[3]",
       {{S, "[E-2] mNodeOffset[3]"},
        {S, "[E-2] mNodeOffset"},
        {S, "[E-2] mTableSize"},
        {S, "[E-2] upper 0"},
        {L, "[G-6] mNodeOffset[3]"}}},
      // More nodes than fit, or fewer than there are children.
      {"TreeData mNodeCount[0]",
       {{S, "[E-2] mNodeCount[0]"}, {S, "[E-2] child of lower"}, {S, "[E-2] mNodeOffset[0]"}}},
      {"TreeData mNodeCount[1]",
       {{S, "[E-2] mNodeCount[1]"}, {S, "[E-2] child of upper"}, {S, "[E-2] mNodeOffset"}}},
      {"TreeData mNodeCount[2]",
       {{S, "[E-2] mNodeCount[2]"},
        {S, "[E-2] child of root tile"},
        {S, "[E-2] mNodeOffset"},
        {S, "[E-2] mTableSize"}}},
      {"TreeData mTileCount", {{L, "[G-4] mTileCount"}}},
      {"TreeData mVoxelCount", {{L, "[G-6] mVoxelCount"}}},
      {"RootData mBBox", {{L, "[G-5] box of the grid"}}},
      {"RootData mTableSize", {{S, "[E-2] mTableSize"}, {S, "[E-2] upper"}}},
      {"RootData mBackground", {{L, "[G-4] mBackground"}}},
      {"RootData mMinimum", {{B, "[G-6] mMinimum"}}},
      {"RootData mMaximum", {{B, "[G-6] mMaximum"}}},
      {"RootData mAverage", {{B, "[G-6] mAverage"}}},
      {"RootData mStdDevi", {{B, "[G-6] mStdDevi"}}},
      {"Tile key", {{T, "[G-3] key of a root tile"}}},
      {"Tile child", {{S, "[E-2] child of root tile"}, {S, "[G-4] root tile"}}},
      {"Tile state", {{L, "[G-4] state and value of root tile"}}},
      {"Tile value", {{L, "[G-4] state and value of root tile"}}},
      {"upper mBBox", {{L, "[G-5] box of an upper node"}}},
      {"upper mFlags", {{L, "[G-5] mFlags of an upper node"}}},
      {"upper mValueMask", {{S, "[G-4] mValueMask of upper"}}},
      {"upper mChildMask", {{S, "[E-2] child of upper"}, {S, "[E-2] lower"}}},
      {"upper mMinimum", {{B, "[G-6] mMinimum"}}},
      {"upper mMaximum", {{B, "[G-6] mMaximum"}}},
      {"upper mAverage", {{B, "[G-6] mAverage"}}},
      {"upper mStdDevi", {{B, "[G-6] mStdDevi"}}},
      {"upper mTable", {{L, "[G-4] value in slot"}, {S, "[E-2] child of upper"}}},
      {"lower mBBox", {{L, "[G-5] box of a lower node"}}},
      {"lower mFlags", {{L, "[G-5] mFlags of a lower node"}}},
      {"lower mValueMask", {{S, "[G-4] mValueMask of lower"}}},
      {"lower mChildMask", {{S, "[E-2] child of lower"}, {S, "[E-2] leaf"}}},
      {"lower mMinimum", {{B, "[G-6] mMinimum"}}},
      {"lower mMaximum", {{B, "[G-6] mMaximum"}}},
      {"lower mAverage", {{B, "[G-6] mAverage"}}},
      {"lower mStdDevi", {{B, "[G-6] mStdDevi"}}},
      {"lower mTable", {{L, "[G-4] value in slot"}, {S, "[E-2] child of lower"}}},
      // Within its leaf a wrong minimum is a wrong box, elsewhere it is another leaf.
      {"leaf mBBoxMin", {{L, "[G-5] box of a leaf"}, {S, "[G-5] mBBoxMin of a leaf"}}},
      {"leaf mBBoxDif", {{L, "[G-5] box of a leaf"}}},
      {"leaf mFlags", {{L, "[G-5] mFlags of a leaf"}}},
      {"leaf mValueMask", {{S, "[T] a missing voxel"}, {S, "[T] an extra voxel"}}},
      {"leaf mOffset", {{T, "[G-4] mOffset of a leaf"}}},
      {"leaf mPrefixSum", {{T, "[G-4] mPrefixSum of a leaf"}}},
      {"padding", {{B, "[G-6] padding of"}}},
  };
  return rows;
}

/// Two root tiles, several nodes of every level; nothing; a full leaf and one beside it.
reference::Batch patient() {
  std::vector<Voxel> a{{0, 0, 0}, {1, 2, 3}, {9, 2, 3}, {130, 0, 0}, {130, 0, 9}, {-1, -1, -1}}, c;
  samples::add_box(c, {0, 0, 0}, {7, 7, 8});
  reference::Batch batch = samples::of({a, {}, c});
  batch.names = {"first", "", "third"};
  batch.maps[0] = {{0.5, 0.25, 2}, {1, -2, 3}};
  return batch;
}

class EveryField : public testing::Test {
 protected:
  EveryField() : layout_(reference::layout_of(patient())) {
    const GridBuffer good = oracle::write_layout(layout_);
    bytes_ = std::make_shared<std::vector<std::byte>>(good.bytes.begin(), good.bytes.end());
    buffer_ = {bytes_, *bytes_, good.offsets};
  }

  /// One bit of byte `at` of the buffer is wrong.
  void flip(const std::string& row, std::uint64_t at, int bit, std::int64_t member,
            const std::string& node) {
    const auto expected = table().find(row);
    if (expected == table().end()) {
      if (reported_.insert(row).second) ADD_FAILURE() << "no row for " << row;
      return;
    }
    used_.insert(row);
    ++flips_;
    std::byte& byte = (*bytes_)[at];
    byte ^= std::byte{1} << bit;
    std::optional<Profile> lowest;
    for (const Profile profile : profiles) {
      const Verdict v = oracle::compare(layout_, buffer_, profile);
      if (v.ok()) {
        EXPECT_FALSE(lowest) << row << ": seen by a lower profile, not by " << to_string(profile);
        continue;
      }
      EXPECT_EQ(v.first->member, member) << row << ": " << said(v);
      EXPECT_NE(v.first->expected, v.first->actual) << row << ": " << said(v);
      if (lowest) continue;
      lowest = profile;
      const auto fits = [&](const Says& says) {
        return says.lowest == profile && said(v).starts_with(says.text);
      };
      EXPECT_TRUE(std::any_of(expected->second.begin(), expected->second.end(), fits))
          << row << ", byte " << at << ", bit " << bit << ": " << to_string(profile) << " says "
          << said(v);
      // A node that no parent reaches is named itself, not the parent.
      const bool unreached = v.first->expected == "reached from the root";
      const std::string where = v.first->what + " " + v.first->path;
      EXPECT_TRUE(v.first->path.empty() || unreached || where.find(node) != std::string::npos)
          << row << " of " << node << ": " << where;
    }
    EXPECT_TRUE(lowest) << row << ", byte " << at << ", bit " << bit << " is not seen";
    byte ^= std::byte{1} << bit;
  }

  /// Every byte of small fields, some of large ones; and every byte that no field owns.
  template <class Data>
  void flip_fields(const char* structure, std::uint64_t start, std::int64_t member,
                   const std::string& node) {
    std::uint64_t end = 0;
    const auto padding = [&](std::uint64_t to) {
      for (; end < to; ++end) flip("padding", start + end, bit_of(end), member, "");
    };
    for (const format::Field& field : Data::fields) {
      padding(field.at);
      const std::uint64_t step = field.size > 256 ? field.size / 23 : 1;
      for (std::uint64_t i = 0; i < field.size; i += step)
        flip(fmt::format("{} {}", structure, field.name), start + field.at + i, bit_of(i), member,
             node);
      end = field.at + field.size;
    }
    padding(Data::size);
  }
  static int bit_of(std::uint64_t i) { return static_cast<int>(i * 5 % 8); }

  Layout layout_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
  GridBuffer buffer_;
  std::set<std::string> used_, reported_;
  std::int64_t flips_ = 0;
};

TEST_F(EveryField, IsNamedByItsClause) {
  for (std::size_t m = 0; m < layout_.grids.size(); ++m) {
    const reference::Grid& grid = layout_.grids[m];
    const auto member = static_cast<std::int64_t>(m);
    std::uint64_t at = layout_.byte_offsets[m];
    const auto next = [&]<class Data>(Data, const char* structure, const char* node,
                                      std::size_t count) {
      for (std::size_t i = 0; i < count; ++i, at += Data::size)
        flip_fields<Data>(structure, at, member,
                          *node == 0 ? std::string() : fmt::format("{} {}", node, i));
    };
    next(format::GridData{}, "GridData", "", 1);
    next(format::TreeData{}, "TreeData", "", 1);
    next(format::RootData{}, "RootData", "", 1);
    next(format::Tile{}, "Tile", "", grid.tiles.size());
    next(format::UpperData{}, "upper", "upper", grid.uppers.size());
    next(format::LowerData{}, "lower", "lower", grid.lowers.size());
    next(format::LeafData{}, "leaf", "leaf", grid.leaves.size());
    EXPECT_EQ(at, layout_.byte_offsets[m + 1]);
  }
  for (const auto& [row, says] : table()) EXPECT_TRUE(used_.contains(row)) << row;
  EXPECT_GT(flips_, 4000);
}

// A child table's entries that lead to other children, masks that move a child: the right node.
TEST_F(EveryField, TwoChildrenExchanged) {
  const std::uint64_t upper = layout_.byte_offsets[2] + 672 + 64 + 96 + 32;
  const std::uint64_t lower = upper + format::UpperData::size;
  std::byte* table = bytes_->data() + lower + format::LowerData::table.at;
  std::swap_ranges(table, table + 8, table + 8);
  const Verdict v = oracle::compare(layout_, buffer_, Profile::Bytes);
  EXPECT_EQ(said(v), "[G-5] mBBoxMin of a leaf");
  EXPECT_EQ(v.first->member, 2);
}

// Each offset of the metadata, one more and one less [G-6] [G-8].
TEST(Offsets, EachIsNamed) {
  const Layout layout = reference::layout_of(patient());
  const struct {
    const char* name;
    const char* clause;
    std::vector<std::uint64_t> Layout::* offsets;
  } kinds[] = {{"byte offset", "G-6", &Layout::byte_offsets},
               {"voxel offset", "G-8", &Layout::voxel_offsets},
               {"leaf offset", "G-8", &Layout::leaf_offsets}};
  for (const auto& kind : kinds)
    for (std::size_t i = 0; i < (layout.*kind.offsets).size(); ++i)
      for (const std::uint64_t by : {std::uint64_t{1}, ~std::uint64_t{0}}) {
        Layout wrong = layout;
        (wrong.*kind.offsets)[i] += by;
        EXPECT_TRUE(oracle::compare(layout, wrong, Profile::Topology).ok());
        const Verdict v = oracle::compare(layout, wrong, Profile::Layout);
        EXPECT_EQ(said(v), fmt::format("[{}] {} {}", kind.clause, kind.name, i));
        EXPECT_EQ(v.differences, 1);
      }
}

// ---- maps

TEST(MapsOfMembers, EachNumberIsNamed) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  oracle::Maps good;
  for (const auto& map : patient().maps) good.maps.push_back(map);
  for (std::size_t m = 0; m < good.maps.size(); ++m)
    for (const bool size : {true, false})
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (const double number : {1e-300, nan, -7.0}) {
          oracle::Maps wrong = good;
          auto& numbers = size ? wrong.maps[m].voxel_size : wrong.maps[m].origin;
          numbers[axis] = number == 1e-300 ? std::nextafter(numbers[axis], 1e9) : number;
          for (const bool exchanged : {false, true}) {
            const Verdict v = exchanged ? oracle::compare(wrong, good, Profile::Sets)
                                        : oracle::compare(good, wrong, Profile::Sets);
            EXPECT_EQ(said(v), fmt::format("[G-7] {} along {}", size ? "voxel size" : "origin",
                                           "xyz"[axis]));
            EXPECT_EQ(v.first->member, static_cast<std::int64_t>(m));
            EXPECT_EQ(v.differences, 1);
          }
        }
}

TEST(MapsOfMembers, ANameIsNamed) {
  const reference::Batch good = patient();
  for (std::size_t m = 0; m < good.size(); ++m) {
    reference::Batch wrong = good;
    wrong.names[m] += "x";
    const Verdict v = oracle::compare(reference::layout_of(good),
                                      oracle::write_layout(reference::layout_of(wrong)), B);
    EXPECT_EQ(said(v), "[G-7] name");
    EXPECT_EQ(v.first->member, static_cast<std::int64_t>(m));
  }
}

// ---- the clause of the operation

/// A question of each operation whose answer is a grid, and the clause that says its voxels.
std::vector<std::pair<Case, std::string>> questions_of_grids() {
  std::vector<std::pair<Case, std::string>> all;
  for (const auto& [op, clause] : std::map<Op, std::string>{{Op::FromIjk, "T-1"},
                                                            {Op::FromPoints, "T-1"},
                                                            {Op::Refine, "T-2"},
                                                            {Op::Coarsen, "T-3"},
                                                            {Op::DilateBox, "T-4"},
                                                            {Op::Dual, "T-4"},
                                                            {Op::ErodeBox, "T-5"},
                                                            {Op::Prune, "T-6"},
                                                            {Op::Merge, "T-6"},
                                                            {Op::Intersect, "T-6"},
                                                            {Op::Subtract, "T-6"},
                                                            {Op::ConvGrid, "K-3"},
                                                            {Op::ConvTransposeGrid, "K-4"}}) {
    Case c;
    c.op = op;
    c.source = samples::of({{{0, 0, 0}, {0, 0, 1}}});
    if (op == Op::FromPoints) {
      c.source = samples::of({{}});
      c.points = {{{0.25, 0.5, 0.75}}};
    }
    if (op == Op::Prune) c.mask = {{1, 1}};
    if (op == Op::Intersect) c.other = c.source;
    if (op == Op::Merge || op == Op::Subtract) c.other = samples::of({{{0, 0, 9}}});
    all.emplace_back(c, clause);
  }
  return all;
}

// compare() knows no operation and names the chapter [T]; a judged case names the clause, in
// whatever form its voxels are answered.
TEST(Operations, AJudgedCaseNamesItsClause) {
  const auto reference = oracle::make_backend("reference");
  for (const auto& [question, clause] : questions_of_grids()) {
    SCOPED_TRACE(to_string(question.op));
    const oracle::Standard standard(question, *reference);
    ASSERT_NE(standard.layout(), nullptr);
    const reference::Batch right = oracle::batch_of(*standard.layout());
    ASSERT_FALSE(right.members[0].empty());
    for (const bool extra : {false, true}) {
      reference::Batch wrong = right;
      if (extra)
        wrong.members[0].push_back({4000, 4000, 4000});
      else
        wrong.members[0].pop_back();
      const Layout layout = reference::layout_of(wrong);
      oracle::VoxelsAnswer voxels;
      voxels.members = wrong.members;
      const std::string what = extra ? " an extra voxel" : " a missing voxel";
      for (const Answer& answer :
           {Answer(layout), Answer(oracle::write_layout(layout)), Answer(voxels)}) {
        EXPECT_EQ(said(standard.judge(answer)), "[" + clause + "]" + what);
        EXPECT_EQ(said(oracle::compare(*standard.layout(), answer, Profile::Layout)), "[T]" + what);
      }
    }
  }
}

// ---- kernel maps

/// Asked of the reference: rows of three members, of which one is empty.
Case question_of(Op op) {
  Case c;
  c.op = op;
  c.kernel.size = {3, 1, 2};
  c.source = reference::from_ijk(
      {{{0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {1, 0, 0}}, {}, {{-1, 8, 8}, {0, 8, 8}}});
  c.target = c.source;
  return c;
}
Answer reference_answer(const Case& c) {
  return oracle::make_backend("reference")->answer(c);
}
std::string tap_name(const oracle::Triple& size, std::int64_t t) {
  return fmt::format("tap {} ({},{},{})", t, t / (size[1] * size[2]), t / size[2] % size[1],
                     t % size[2]);
}

class EveryPair : public testing::Test {
 protected:
  EveryPair() : question_(question_of(Op::KernelMap)) {
    good_ = std::get<KernelMapAnswer>(reference_answer(question_));
    const auto& offsets = good_.map.offsets;
    for (std::size_t t = 0; t + 1 < offsets.size(); ++t)
      for (auto i = offsets[t]; i < offsets[t + 1]; ++i)
        tap_.push_back(static_cast<std::int64_t>(t));
  }
  std::size_t pairs() const { return good_.map.gather.size(); }

  /// `change` makes the map wrong at pair i; the verdict says one of `kinds` first, at the tap and
  /// in the member and at the voxel of the pair's target.
  template <class Change>
  Verdict wrong(std::size_t i, std::set<std::string> kinds, const Change& change,
                Profile profile = Profile::Layout) {
    KernelMapAnswer bad = good_;
    bad.source_rows.reset();
    bad.target_rows.reset();
    change(bad.map);
    const Verdict v = oracle::compare(good_, bad, profile);
    EXPECT_TRUE(kinds.contains(said(v))) << said(v);
    if (!v.first) return v;
    EXPECT_EQ(v.first->path, tap_name(question_.kernel.size, tap_[i]));
    if (!v.first->coordinate) return v;
    const auto row = static_cast<std::size_t>(good_.map.scatter[i]);
    EXPECT_EQ(v.first->member, (*good_.target_rows)[row].member);
    EXPECT_EQ(*v.first->coordinate, (*good_.target_rows)[row].voxel);
    return v;
  }

  Case question_;
  KernelMapAnswer good_;
  std::vector<std::int64_t> tap_;  // of each pair
};

TEST_F(EveryPair, Lost) {
  for (std::size_t i = 0; i < pairs(); ++i) {
    const Verdict v = wrong(i, {"[M-3] a missing pair"}, [&](auto& map) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      map.gather.erase(map.gather.begin() + at);
      map.scatter.erase(map.scatter.begin() + at);
      for (std::size_t t = static_cast<std::size_t>(tap_[i]) + 1; t < map.offsets.size(); ++t)
        --map.offsets[t];
    });
    EXPECT_EQ(v.missing, 1);
    EXPECT_EQ(v.extra + v.repeated, 0);
  }
}

TEST_F(EveryPair, Twice) {
  for (std::size_t i = 0; i < pairs(); ++i) {
    const Verdict v = wrong(i, {"[M-3] a repeated pair"}, [&](auto& map) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      const auto from = map.gather[i], to = map.scatter[i];
      map.gather.insert(map.gather.begin() + at, from);
      map.scatter.insert(map.scatter.begin() + at, to);
      for (std::size_t t = static_cast<std::size_t>(tap_[i]) + 1; t < map.offsets.size(); ++t)
        ++map.offsets[t];
    });
    EXPECT_EQ(v.repeated, 1);
    EXPECT_EQ(v.extra + v.missing, 0);
  }
}

TEST_F(EveryPair, AnotherSource) {
  const auto rows = good_.map.source_rows;
  for (std::size_t i = 0; i < pairs(); ++i)
    for (std::int64_t row = 0; row < rows; ++row) {
      if (row == good_.map.gather[i]) continue;
      const Verdict v = wrong(i, {"[M-3] a missing pair", "[M-3] an extra pair"},
                              [&](auto& map) { map.gather[i] = row; });
      EXPECT_EQ(v.missing, 1);
      EXPECT_EQ(v.extra, 1);
    }
}

TEST_F(EveryPair, AnotherTarget) {
  for (std::size_t i = 0; i < pairs(); ++i)
    for (std::int64_t row = 0; row < good_.map.target_rows; ++row) {
      if (row == good_.map.scatter[i]) continue;
      KernelMapAnswer bad = good_;
      bad.map.scatter[i] = row;
      const Verdict v = oracle::compare(good_, bad, Profile::Layout);
      EXPECT_EQ(said(v).substr(0, 6), "[M-3] ");
      EXPECT_EQ(v.first->path, tap_name(question_.kernel.size, tap_[i]));
      EXPECT_EQ(v.missing, 1);
      EXPECT_EQ(v.extra, 1);
    }
}

TEST_F(EveryPair, RowsOutOfRange) {
  for (std::size_t i = 0; i < pairs(); ++i)
    for (const std::int64_t row : {std::int64_t{-1}, good_.map.source_rows, INT64_MAX, INT64_MIN}) {
      wrong(i, {"[E-2] a source row out of range"}, [&](auto& map) { map.gather[i] = row; });
      wrong(i, {"[E-2] a target row out of range"}, [&](auto& map) { map.scatter[i] = row; });
    }
}

TEST_F(EveryPair, ColumnsExchanged) {
  for (std::size_t i = 0; i < pairs(); ++i) {
    if (good_.map.gather[i] == good_.map.scatter[i]) continue;
    KernelMapAnswer bad = good_;
    std::swap(bad.map.gather[i], bad.map.scatter[i]);
    const Verdict v = oracle::compare(good_, bad, Profile::Layout);
    EXPECT_EQ(said(v).substr(0, 6), "[M-3] ");
    EXPECT_EQ(v.missing + v.extra, 2);
  }
}

TEST_F(EveryPair, OrderWithinATap) {
  for (std::size_t i = 0; i + 1 < pairs(); ++i) {
    if (tap_[i] != tap_[i + 1]) continue;
    const auto exchange = [&](auto& map) {
      std::swap(map.gather[i], map.gather[i + 1]);
      std::swap(map.scatter[i], map.scatter[i + 1]);
    };
    wrong(i, {"[M-3] the order of a tap's pairs"}, exchange, Profile::Bytes);
    KernelMapAnswer bad = good_;
    exchange(bad.map);
    EXPECT_TRUE(oracle::compare(good_, bad, Profile::Layout).ok());  // as it likes [M-3]
  }
}

TEST_F(EveryPair, UnderTheTapBeside) {
  for (std::size_t t = 1; t + 1 < good_.map.offsets.size(); ++t)
    for (const std::int64_t by : {-1, 1}) {
      KernelMapAnswer bad = good_;
      const std::int64_t moved = bad.map.offsets[t] += by;
      if (moved < bad.map.offsets[t - 1] || moved > bad.map.offsets[t + 1]) continue;
      const Verdict v = oracle::compare(good_, bad, Profile::Layout);
      EXPECT_EQ(said(v), by < 0 ? "[M-3] a missing pair" : "[M-3] an extra pair");
      EXPECT_EQ(v.first->path, tap_name(question_.kernel.size, static_cast<std::int64_t>(t) - 1));
      EXPECT_EQ(v.missing, 1);
      EXPECT_EQ(v.extra, 1);
    }
}

TEST_F(EveryPair, Offsets) {
  const std::size_t last = good_.map.offsets.size() - 1;
  for (std::size_t t = 0; t <= last; ++t)
    for (const std::int64_t value : {std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
      KernelMapAnswer bad = good_;
      bad.map.offsets[t] = value;
      const Verdict v = oracle::compare(good_, bad, Profile::Sets);
      EXPECT_EQ(said(v).substr(0, 6), "[M-2] ") << said(v);
      EXPECT_FALSE(v.compared);
    }
  for (const int by : {-1, 1}) {
    KernelMapAnswer bad = good_;
    bad.map.offsets.resize(static_cast<std::size_t>(static_cast<int>(last) + 1 + by), 0);
    EXPECT_EQ(said(oracle::compare(good_, bad, S)), "[M-2] the number of offsets");
    bad = good_;
    bad.map.gather.resize(static_cast<std::size_t>(static_cast<int>(pairs()) + by));
    EXPECT_EQ(said(oracle::compare(good_, bad, S)), "[M-2] the lengths of gather and scatter");
  }
}

TEST_F(EveryPair, KindsOfAnswers) {
  const Answer dense = DenseMapAnswer{};
  for (const Answer& other : {dense, Answer(NumbersAnswer{}), Answer(GradientsAnswer{}),
                              Answer(Layout{}), Answer(oracle::Maps{})}) {
    EXPECT_EQ(said(oracle::compare(good_, other, S)), "[M-1] the kind of an answer");
    EXPECT_EQ(said(oracle::compare(other, good_, S)), "[M-1] the kind of an answer");
  }
}

TEST(EveryEntry, OfADenseMap) {
  Case c = question_of(Op::KernelMap);
  c.dense = true;
  const auto good = std::get<DenseMapAnswer>(reference_answer(c));
  ASSERT_GT(good.map.index.size(), 30U);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < good.map.index.size(); ++i)
    for (std::int64_t entry = -2; entry <= good.map.rows; ++entry) {
      if (entry == good.map.index[i]) continue;
      DenseMapAnswer bad = good;
      bad.map.index[i] = entry;
      const Verdict v = oracle::compare(good, bad, Profile::Layout);
      const bool outside = entry < -1 || entry == good.map.rows;
      seen.insert(said(v));
      EXPECT_EQ(said(v).substr(0, 6), outside ? "[E-2] " : "[M-3] ");
      EXPECT_EQ(v.first->path,
                tap_name(c.kernel.size, static_cast<std::int64_t>(i) / good.map.rows));
      EXPECT_EQ(v.missing, good.map.index[i] == -1 ? 0 : 1);
      EXPECT_EQ(v.extra, entry == -1 ? 0 : 1);
    }
  EXPECT_EQ(seen, (std::set<std::string>{"[E-2] a source row out of range", "[M-3] a missing pair",
                                         "[M-3] an extra pair"}));
  for (const int by : {-1, 1}) {
    DenseMapAnswer taps = good, rows = good, size = good;
    taps.map.taps += by;
    rows.map.rows += by;
    size.map.index.resize(static_cast<std::size_t>(static_cast<int>(size.map.index.size()) + by));
    for (const auto& bad : {taps, rows, size})
      EXPECT_EQ(said(oracle::compare(good, bad, S)), "[M-4] the shape of the map");
  }
}

// ---- numbers

Case question_of_numbers(Op op, NumberType type) {
  Case c = question_of(op);
  c.operands.type = type;
  c.operands.features = {{6, 2}, {}};
  for (int i = 0; i < 12; ++i) c.operands.features.values.push_back(i % 7 - 3);
  c.operands.weights = {{3, 2, 3, 1, 2}, {}};
  for (int i = 0; i < 36; ++i) c.operands.weights.values.push_back(i % 11 - 5);
  if (op == Op::Convolution) {
    c.operands.bias = reference::Array{{3}, {1, 2, 3}};
  } else {
    c.operands.grad_output = reference::Array{{6, 3}, {}};
    for (int i = 0; i < 18; ++i) c.operands.grad_output->values.push_back(i % 5 - 2);
  }
  return c;
}

constexpr NumberType types[] = {NumberType::Float64, NumberType::Float32, NumberType::Float16,
                                NumberType::Int32};

/// Whatever is wrong with the numbers that `part` picks is said of `what`.
template <class WholeAnswer, class Part>
void judge_every_number(const WholeAnswer& good, const Part& part, const char* clause,
                        const std::string& what) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const NumbersAnswer& numbers = part(good);
  const auto says = [&](auto change) {
    WholeAnswer bad = good;
    change(const_cast<NumbersAnswer&>(part(bad)));
    return oracle::compare(good, bad, Profile::Layout);
  };
  const auto in_a_row = numbers.array.values.size() /
                        static_cast<std::size_t>(std::max<std::int64_t>(1, numbers.array.shape[0]));
  for (std::size_t i = 0; i < numbers.array.values.size(); ++i) {
    const double right = numbers.array.values[i];
    for (const double wrong : {right + 1, right - 1, std::nan(""), inf, -inf}) {
      const Verdict v = says([&](NumbersAnswer& n) { n.array.values[i] = wrong; });
      EXPECT_EQ(said(v), fmt::format("[{}] element {} of {}", clause, i % in_a_row, what));
      EXPECT_EQ(v.differences, 1);
      EXPECT_NE(v.first->path.find(fmt::format("row {}", i / in_a_row)), std::string::npos);
    }
  }
  for (const NumberType type : types) {
    if (type == numbers.type) continue;
    EXPECT_EQ(said(says([&](NumbersAnswer& n) { n.type = type; })),
              fmt::format("[{}] the type of {}", clause, what));
  }
  for (std::size_t axis = 0; axis < numbers.array.shape.size(); ++axis)
    EXPECT_EQ(said(says([&](NumbersAnswer& n) { ++n.array.shape[axis]; })),
              fmt::format("[{}] the shape of {}", clause, what));
  EXPECT_EQ(said(says([&](NumbersAnswer& n) { n.array.values.push_back(0); })),
            fmt::format("[{}] the count of numbers of {}", clause, what));
}

TEST(EveryNumber, OfAConvolution) {
  for (const NumberType type : types) {
    const auto good =
        std::get<NumbersAnswer>(reference_answer(question_of_numbers(Op::Convolution, type)));
    judge_every_number(
        good, [](const auto& n) -> const NumbersAnswer& { return n; }, "V-1", "output");
  }
}

TEST(EveryNumber, OfGradients) {
  for (const NumberType type : types) {
    const auto good = std::get<GradientsAnswer>(
        reference_answer(question_of_numbers(Op::ConvolutionGradients, type)));
    judge_every_number(
        good, [](const auto& g) -> const NumbersAnswer& { return g.features; }, "V-2",
        "grad_features");
    judge_every_number(
        good, [](const auto& g) -> const NumbersAnswer& { return g.weights; }, "V-2",
        "grad_weights");
    judge_every_number(
        good, [](const auto& g) -> const NumbersAnswer& { return g.bias; }, "V-2", "grad_bias");
  }
}

// NaN is owed where the reference has it, and nowhere else.
TEST(EveryNumber, WhereNanIsOwed) {
  Case c = question_of_numbers(Op::Convolution, NumberType::Float32);
  c.operands.features.values[1] = std::nan("");
  const auto good = std::get<NumbersAnswer>(reference_answer(c));
  EXPECT_TRUE(oracle::compare(good, good, Profile::Layout).ok());
  std::size_t owed = 0;
  for (std::size_t i = 0; i < good.array.values.size(); ++i) {
    NumbersAnswer bad = good;
    owed += std::isnan(good.array.values[i]);
    bad.array.values[i] = std::isnan(good.array.values[i]) ? 0 : std::nan("");
    const std::string element = said(oracle::compare(good, bad, Profile::Layout));
    EXPECT_TRUE(element == fmt::format("[V-1] element {} of output", i % 3) ||
                element == fmt::format("[V-3] element {} of output", i % 3))
        << element;
  }
  EXPECT_GT(owed, 0U);
  EXPECT_LT(owed, good.array.values.size());
}

}  // namespace
