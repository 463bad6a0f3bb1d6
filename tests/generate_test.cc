// Generated cases: the same everywhere, well formed, of every family, at every boundary, and
// refused exactly where they say so.
#include "oracle/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>

#include "oracle/boxed_backend.h"
#include "oracle/choice_source.h"
#include "oracle/shapes.h"
#include "reference/canonical_order.h"
#include "reference/error.h"

namespace leafproof::oracle {
namespace {

using reference::ErrorKind;

constexpr std::uint64_t kSeed = 20'261'129;

/// FNV-1a over everything that a case holds: a change of any bit on any machine shows.
class Hash {
 public:
  void add(std::uint64_t v) {
    for (int i = 0; i < 8; ++i, v >>= 8) value_ = (value_ ^ (v & 255)) * 0x100000001B3u;
  }
  void add(std::int64_t v) { add(static_cast<std::uint64_t>(v)); }
  void add(double v) { add(std::bit_cast<std::uint64_t>(v)); }
  void add(std::uint8_t v) { add(std::uint64_t{v}); }
  void add(const Voxel& v) {
    for (const auto c : {v.x, v.y, v.z}) add(std::int64_t{c});
  }
  void add(const std::string& s) {
    for (const char c : s) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    add(static_cast<std::uint64_t>(s.size()));
  }
  template <class T, std::size_t N>
  void add(const std::array<T, N>& items) {
    for (const auto& item : items) add(item);
  }
  template <class T>
  void add(const std::vector<T>& items) {
    add(static_cast<std::uint64_t>(items.size()));
    for (const auto& item : items) add(item);
  }
  template <class T>
  void add(const std::optional<T>& item) {
    add(std::uint64_t{item ? 1u : 0u});
    if (item) add(*item);
  }
  void add(const Map& map) {
    add(map.voxel_size);
    add(map.origin);
  }
  void add(const Batch& batch) {
    add(batch.members);
    add(batch.maps);
    add(batch.names);
  }
  void add(const reference::Array& array) {
    add(array.shape);
    add(array.values);
  }
  void add(const Case& c) {
    add(c.factor);
    add(c.lo);
    add(c.hi);
    add(c.source);
    add(c.points);
    add(c.other);
    add(c.mask);
    add(c.view);
    add(c.kernel.size);
    add(c.kernel.stride);
    add(c.kernel.dilation);
    add(static_cast<std::int64_t>(c.direction));
    add(c.target);
    add(static_cast<std::int64_t>(c.dense));
    add(static_cast<std::int64_t>(c.operands.type));
    add(c.operands.features);
    add(c.operands.weights);
    add(c.operands.bias);
    add(c.operands.grad_output);
    add(c.id);
    add(c.comment);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325u;
};

std::uint64_t hash_of(Op op, std::uint64_t seed, std::uint64_t from, std::uint64_t to) {
  Hash hash;
  for (std::uint64_t i = from; i < to; ++i) hash.add(generate(op, seed, i));
  return hash.value();
}

std::uint64_t hash_of(const Case& c) {
  Hash hash;
  hash.add(c);
  return hash.value();
}

std::vector<Case> cases(Op op, std::uint64_t count = 248) {
  std::vector<Case> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(generate(op, kSeed, i));
  return all;
}

bool must_be_refused(const Case& c) {
  return c.comment.starts_with("refused:");
}

/// Members, masks and other batches as the operation reads them, with view indices trusted.
std::size_t members_read(const Case& c) {
  return c.view ? c.view->size() : c.source.size();
}
const std::vector<Voxel>& member_read(const Case& c, std::size_t i) {
  return c.source.members[c.view ? static_cast<std::size_t>((*c.view)[i]) : i];
}

bool canonical(const std::vector<Voxel>& voxels) {
  return std::adjacent_find(voxels.begin(), voxels.end(), [](const Voxel& u, const Voxel& v) {
           return !reference::canonical_less(u, v);
         }) == voxels.end();
}

TEST(ChoiceSource, BySeedIsTheSameEverywhere) {
  ChoiceSource random{1, 2};
  std::vector<std::int64_t> drawn;
  for (int i = 0; i < 4; ++i) drawn.push_back(random.between(-1000, 1000));
  EXPECT_EQ(drawn, (std::vector<std::int64_t>{194, -967, -846, 308}));
  ChoiceSource one{1, 2}, other{2, 1};
  EXPECT_NE(one.between(INT64_MIN, INT64_MAX), other.between(INT64_MIN, INT64_MAX));
  ChoiceSource whole{3};
  EXPECT_NO_FATAL_FAILURE(whole.between(INT64_MIN, INT64_MAX));
  EXPECT_EQ(whole.between(7, 7), 7);
}

TEST(ChoiceSource, ByBytesTakesWhatARangeNeedsAndEndsWithTheSimplest) {
  const std::vector<std::uint8_t> bytes{3, 0x01, 0x02, 200, 9, 1};
  ChoiceSource choices(bytes);
  EXPECT_EQ(choices.between(5, 5), 5) << "no choice, no byte";
  EXPECT_EQ(choices.between(0, 255), 3);
  EXPECT_EQ(choices.between(0, 65'535), 0x0201) << "the lowest byte first";
  EXPECT_EQ(choices.between(-100, 99), 0) << "200 % 200 is the simplest, 0";
  EXPECT_EQ(choices.between(-4, 5), -4) << "0 ... 5, then -1 ... -4";
  EXPECT_TRUE(choices.one_in(2));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(choices.between(-7, 9), 0);
    EXPECT_EQ(choices.between(3, 9), 3);
    EXPECT_EQ(choices.between(-9, -3), -3);
    EXPECT_EQ(choices.between(INT64_MIN, INT64_MAX), 0);
    EXPECT_FALSE(choices.one_in(2));
    EXPECT_TRUE(choices.one_in(1));
    EXPECT_EQ(choices.pick({7, 8, 9}), 7);
  }
}

/// Every value of a range is drawn by one residue, whatever its place beside 0.
TEST(ChoiceSource, ReachesAllOfARange) {
  for (const auto& [lo, hi] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{-3, 4},
                                                          {0, 7},
                                                          {2, 9},
                                                          {-9, -2},
                                                          {INT64_MIN, INT64_MIN + 7},
                                                          {INT64_MAX - 7, INT64_MAX}}) {
    std::set<std::int64_t> drawn;
    for (std::uint8_t byte = 0; byte < 8; ++byte) {
      const std::vector<std::uint8_t> bytes{byte};
      ChoiceSource choices(bytes);
      const std::int64_t n = choices.between(lo, hi);
      EXPECT_TRUE(lo <= n && n <= hi) << n;
      drawn.insert(n);
    }
    EXPECT_EQ(drawn.size(), 8u);
  }
}

TEST(Generate, AnyBytesMakeAWellFormedCaseAndNoneTheSimplest) {
  ChoiceSource random{77};
  for (const Op op : generated_ops()) {
    const Case simplest = generate(op, std::span<const std::uint8_t>{});
    EXPECT_EQ(simplest.source.size(), 0u) << to_string(op);
    std::set<std::string> families;
    std::int64_t refused = 0, members = 0;
    for (int i = 0; i < 200; ++i) {
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(random.between(2, 300)));
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.between(0, 255));
      const Case c = generate(op, bytes);
      EXPECT_EQ(hash_of(c), hash_of(generate(op, bytes))) << "the same for the same bytes";
      refused += must_be_refused(c);
      members += static_cast<std::int64_t>(c.source.size());
      families.insert(c.comment.substr(0, c.comment.find(':')));
      EXPECT_EQ(c.source.maps.size(), c.source.size());
      EXPECT_EQ(c.source.names.size(), c.source.size());
      if (op == Op::FromIjk) continue;
      for (const auto& member : c.source.members) EXPECT_TRUE(canonical(member));
    }
    EXPECT_GT(refused, 5) << to_string(op);
    EXPECT_GT(members, 200) << to_string(op);
    EXPECT_GT(families.size(), 12u) << to_string(op);
  }
}

// The golden values are what makes a seed a citation: they change only with the semantics version.
TEST(Generate, CasesAreTheSameOnEveryMachineAndForEver) {
  const std::map<Op, std::uint64_t> golden{
      {Op::FromIjk, 0x078ca33a6d3571c7u},
      {Op::FromPoints, 0xef7eefe89f441918u},
      {Op::Refine, 0xb2388253b6e9df6au},
      {Op::Coarsen, 0xe486768ed24b90d0u},
      {Op::DilateBox, 0x71eea0b2d1db75fcu},
      {Op::Dual, 0x4758e44678d83649u},
      {Op::ErodeBox, 0xbf7a1d0de90602d9u},
      {Op::Prune, 0xa3e74106816c560cu},
      {Op::Merge, 0x2ce51ed1f5d69de3u},
      {Op::Intersect, 0xf7f3f198bed467c8u},
      {Op::Subtract, 0x67adbfd2f0b22878u},
      {Op::ConvGrid, 0x6b2d042fcf6d9a3au},
      {Op::ConvTransposeGrid, 0xffd6f0fec600cbe3u},
      {Op::KernelMap, 0x72af143a9d9b6c17u},
      {Op::SubmanifoldIndexMap, 0x4e20d76a6303b319u},
      {Op::Convolution, 0xbadb09378aa2fa92u},
      {Op::ConvolutionGradients, 0xf0ba425ac78c34acu},
  };
  for (const auto& [op, value] : golden)
    EXPECT_EQ(hash_of(op, kSeed, 0, 64), value) << to_string(op);
}

TEST(Generate, ACaseDependsOnNothingButItsKey) {
  for (const Op op : topology_ops()) {
    const std::uint64_t backwards = [&] {
      std::vector<std::uint64_t> each;
      for (std::uint64_t i = 8; i-- > 0;) each.push_back(hash_of(op, 5, i, i + 1));
      std::reverse(each.begin(), each.end());
      Hash hash;
      hash.add(each);
      return hash.value();
    }();
    Hash forwards;
    forwards.add(std::vector<std::uint64_t>{
        hash_of(op, 5, 0, 1), hash_of(op, 5, 1, 2), hash_of(op, 5, 2, 3), hash_of(op, 5, 3, 4),
        hash_of(op, 5, 4, 5), hash_of(op, 5, 5, 6), hash_of(op, 5, 6, 7), hash_of(op, 5, 7, 8)});
    EXPECT_EQ(forwards.value(), backwards) << to_string(op);
    EXPECT_NE(hash_of(op, 5, 0, 8), hash_of(op, 6, 0, 8)) << to_string(op);
  }
}

TEST(Generate, OrdinaryCasesAreWellFormed) {
  for (const Op op : topology_ops())
    for (const Case& c : cases(op)) {
      SCOPED_TRACE(c.id + " " + c.comment);
      EXPECT_FALSE(c.comment.empty());
      if (must_be_refused(c)) continue;
      EXPECT_EQ(c.source.maps.size(), c.source.size());
      EXPECT_EQ(c.source.names.size(), c.source.size());
      if (op != Op::FromIjk) {
        for (const auto& member : c.source.members) EXPECT_TRUE(canonical(member));
      }
      for (const auto i : c.view.value_or(std::vector<std::int64_t>{}))
        EXPECT_TRUE(i >= 0 && i < static_cast<std::int64_t>(c.source.size()));
      if (c.mask) {
        ASSERT_EQ(c.mask->size(), members_read(c));
        for (std::size_t i = 0; i < c.mask->size(); ++i)
          EXPECT_EQ((*c.mask)[i].size(), member_read(c, i).size());
      }
      if (c.other) {
        ASSERT_EQ(c.other->size(), members_read(c));
        for (const auto& member : c.other->members) EXPECT_TRUE(canonical(member));
      }
    }
}

TEST(Generate, EveryFamilyAndEveryPatternOfEmptinessOccursForEveryOperation) {
  for (const Op op : topology_ops()) {
    std::set<std::string> families;
    std::set<std::vector<bool>> patterns;
    for (const Case& c : cases(op, 496)) {
      if (must_be_refused(c)) continue;
      families.insert(c.comment.substr(0, c.comment.find(':')));
      std::vector<bool> pattern;
      for (std::size_t i = 0; i < c.source.size(); ++i)
        pattern.push_back(op == Op::FromPoints ? c.points[i].empty() : c.source.members[i].empty());
      if (pattern.size() <= 4) patterns.insert(pattern);
    }
    for (const Shape& shape : shapes())
      EXPECT_TRUE(families.contains(std::string(shape.name))) << to_string(op) << shape.name;
    EXPECT_EQ(patterns.size(), 31u) << to_string(op) << ": 1 + 2 + 4 + 8 + 16 patterns";
  }
}

TEST(Generate, EveryBoundaryClassIsReachedAlreadyAtLevelOne) {
  const auto judge = make_backend("reference");
  for (const Op op : topology_ops()) {
    std::map<Boundary, int> touched;
    const std::int64_t count = cases_of_level(op, 1);
    for (std::int64_t i = 0; i < count; ++i) {
      const Case c = generate(op, kSeed, static_cast<std::uint64_t>(i));
      const Answer answer = judge->answer(c);
      for (const Boundary b : boundaries_of(c, std::get_if<Layout>(&answer))) ++touched[b];
    }
    for (const Boundary b : {Boundary::RootTile, Boundary::Lower, Boundary::Leaf,
                             Boundary::NegativeOctant, Boundary::EmptyMember, Boundary::Range})
      EXPECT_GE(touched[b], 3) << to_string(op) << ", class " << static_cast<int>(b);
  }
}

/// The kinds that a refusal's reason may mean, by the clause that it cites.
std::set<ErrorKind> kinds_of(const std::string& comment) {
  if (comment.find("over 1024") != comment.npos) return {ErrorKind::Unsupported};
  if (comment.find("[T-10]") != comment.npos) return {ErrorKind::ShapeMismatch};
  if (comment.find("[L-5]") != comment.npos) return {ErrorKind::OutOfRange};
  return {ErrorKind::InvalidArgument};
}

TEST(Generate, RefusedCasesAreRefusedForTheReasonTheyGive) {
  const auto judge = make_backend("reference");
  for (const Op op : topology_ops()) {
    std::set<ErrorKind> kinds;
    std::set<std::string> of_header;  // [G-7]
    int refused = 0;
    for (const Case& c : cases(op, 496)) {
      if (!must_be_refused(c)) continue;
      ++refused;
      const Answer answer = judge->answer(c);
      const auto* error = std::get_if<Error>(&answer);
      ASSERT_NE(error, nullptr) << c.id << " " << c.comment;
      EXPECT_TRUE(kinds_of(c.comment).contains(error->kind()))
          << c.id << " " << c.comment << ": " << error->what();
      kinds.insert(error->kind());
      for (const char* what : {"a map", "a name"})
        if (c.comment.find(std::string("refused: ") + what) == 0) of_header.insert(what);
    }
    EXPECT_EQ(refused, 62) << "one case in eight";
    EXPECT_TRUE(of_header.contains("a map")) << to_string(op);
    EXPECT_TRUE(of_header.contains("a name")) << to_string(op);
    const bool scales = op == Op::Refine || op == Op::DilateBox || op == Op::ErodeBox;
    EXPECT_EQ(kinds.contains(ErrorKind::Unsupported), scales) << to_string(op);
    EXPECT_TRUE(kinds.contains(ErrorKind::InvalidArgument) ||
                kinds.contains(ErrorKind::ShapeMismatch))
        << to_string(op);
  }
}

TEST(Generate, ValidAnswersAreCommonAndSmall) {
  const auto judge = make_backend("reference");
  for (const Op op : topology_ops()) {
    int valid = 0, nonempty = 0;
    for (const Case& c : cases(op)) {
      const Answer answer = judge->answer(c);
      const auto* layout = std::get_if<Layout>(&answer);
      if (layout == nullptr) continue;
      ++valid;
      nonempty += layout->voxel_offsets.back() > 0;
      EXPECT_LE(layout->voxel_offsets.back(), 400'000u) << c.id;
    }
    EXPECT_GT(valid, 124) << to_string(op);
    EXPECT_GT(nonempty, 62) << to_string(op);
  }
}

TEST(Generate, OnlyTopologyPassesAreGenerated) {
  EXPECT_THROW(generate(Op::MapAfter, 1, 0), reference::Error);
  EXPECT_THROW(generate(Op::MapAfter, 1, 0), reference::Error);
}

TEST(Boundaries, AreReadFromSourceAndResult) {
  Case c;
  c.op = Op::Coarsen;
  c.source.members = {{{0, 0, 0}, {7, 0, 0}}};
  EXPECT_EQ(boundaries_of(c, nullptr), std::set<Boundary>{});
  c.source.members = {{{7, 0, 0}, {8, 0, 0}}};
  EXPECT_EQ(boundaries_of(c, nullptr), std::set<Boundary>{Boundary::Leaf});
  c.source.members = {{{127, 0, 0}, {128, 0, 0}}, {}};
  EXPECT_EQ(boundaries_of(c, nullptr),
            (std::set<Boundary>{Boundary::Lower, Boundary::EmptyMember}));
  c.source.members = {{{-1, 0, 0}, {0, 0, 0}}};
  EXPECT_EQ(boundaries_of(c, nullptr),
            (std::set<Boundary>{Boundary::RootTile, Boundary::NegativeOctant}));
  c.source.members = {{{0, INT32_MAX, 0}}};
  EXPECT_EQ(boundaries_of(c, nullptr), std::set<Boundary>{Boundary::Range});
  c.source.members = {{{0, 0, 0}}};
  Batch result;
  result.members = {{{7, 0, 0}, {8, 0, 0}}};
  result.maps.resize(1);
  result.names.resize(1);
  const Layout layout = reference::layout_of(result);
  EXPECT_EQ(boundaries_of(c, &layout), std::set<Boundary>{Boundary::Leaf});
}

TEST(Boxed, CountsTheCellsOfSourceAndResult) {
  Case c;
  c.op = Op::Prune;
  c.source.members = {{{0, 0, 0}, {1, 2, 3}}, {}};
  EXPECT_EQ(box_cells(c), 24);
  c.op = Op::Refine;
  c.factor = {2, 1, 1};
  EXPECT_EQ(box_cells(c), 24 + 48);
  c.op = Op::Dual;
  EXPECT_EQ(box_cells(c), 24 + 60);
  c.op = Op::DilateBox;
  c.lo = {INT64_MIN, 0, 0};
  c.hi = {INT64_MAX, 0, 0};
  EXPECT_GT(box_cells(c), 1e19);
}

TEST(Boxed, AsksTheInnerBackendOnlyWithinItsBox) {
  const auto boxed = make_boxed(make_backend("reference"), 24);
  EXPECT_EQ(boxed->name(), "reference");
  Case c;
  c.op = Op::Prune;
  c.source = {{{{0, 0, 0}, {1, 2, 3}}}, {Map{}}, {""}};
  c.mask = Masks{{1, 0}};
  EXPECT_TRUE(std::holds_alternative<Layout>(boxed->answer(c)));
  c.source.members[0][1].z = 4;
  EXPECT_TRUE(std::holds_alternative<NotImplemented>(boxed->answer(c)));
}

}  // namespace
}  // namespace leafproof::oracle
