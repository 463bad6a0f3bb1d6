// What the batched builder refuses, and how: every kind, argument, member and row of [E-1], hostile
// 64-bit parameters, memory that is not there at each allocation, results larger than allowed.
// After each refusal nothing is leaked, no source has changed, and the builder still builds.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gpu/build.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using namespace leafproof::tests;
using gpu::ErrorKind;
using gpu::Triple;

constexpr std::int64_t kMin64 = INT64_MIN, kMax64 = INT64_MAX;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// What every pass gives when nothing fails.
std::vector<GridBatch> right_answers(const Operands& o) {
  BatchedBuilder builder;
  std::vector<GridBatch> answers;
  for (const Pass& pass : passes()) answers.push_back(pass.run(builder, o));
  return answers;
}

std::vector<std::byte> copy_of(const GridBatch& batch) {
  return {batch.bytes().begin(), batch.bytes().end()};
}

bool unchanged(const GridBatch& batch, const std::vector<std::byte>& copy) {
  return std::equal(copy.begin(), copy.end(), batch.bytes().begin(), batch.bytes().end());
}

/// Runs a pass; true where memory was refused, which must be said as an OutOfMemory.
bool out_of_memory(const Pass& pass, BatchedBuilder& builder, const Operands& o,
                   GridBatch& result) {
  try {
    result = pass.run(builder, o);
    return false;
  } catch (const gpu::Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::OutOfMemory) << error.what();
    return true;
  }
}

// alloc-fails: every allocation of every pass, of results and of scratch.
TEST(BuilderMemory, EveryAllocationMayFail) {
  BatchedBuilder plain;
  const Operands o = operands(plain, rich_members(), rich_others());
  const std::vector<std::byte> source = copy_of(o.source), other = copy_of(o.other);
  const std::vector<GridBatch> right = right_answers(o);
  std::int64_t failures = 0;
  for (Mode& mode : modes({gpu::Threads::Serial})) {
    SCOPED_TRACE(mode.name);
    for (std::size_t p = 0; p < passes().size(); ++p) {
      const Pass& pass = passes()[p];
      SCOPED_TRACE(pass.name);
      for (const bool fails_for_results : {true, false}) {
        for (std::int64_t n = 1;; ++n) {
          ASSERT_LT(n, 100) << "never succeeds";
          TestAllocator results, scratch;
          BuilderOptions options = mode.options;
          options.allocator = results.allocator();
          options.scratch = scratch.allocator();
          bool failed = false;
          {
            BatchedBuilder builder(options);
            (fails_for_results ? results : scratch).fail_at(n);
            GridBatch result;
            failed = out_of_memory(pass, builder, o, result);
            EXPECT_TRUE(unchanged(o.source, source));
            EXPECT_TRUE(unchanged(o.other, other));
            if (failed) {
              ++failures;
              EXPECT_EQ(results.live_blocks(), 0) << "allocation " << n;
              // Afterwards it builds, and builds the same.
              (fails_for_results ? results : scratch).fail_at(0);
              ASSERT_FALSE(out_of_memory(pass, builder, o, result));
            }
            EXPECT_TRUE(same_bytes(result, right[p])) << "allocation " << n;
          }
          EXPECT_EQ(results.live_blocks() + scratch.live_blocks(), 0);
          EXPECT_EQ(results.live_bytes() + scratch.live_bytes(), 0);
          EXPECT_EQ(results.overruns() + scratch.overruns(), 0);
          if (!failed) break;
        }
      }
    }
  }
  // One at least for the result of every pass, and for its scratch.
  EXPECT_GE(failures, static_cast<std::int64_t>(8 * passes().size()) - 8);
  RecordProperty("failures", std::to_string(failures));
}

// The workspace of one builder, through failures in one pass after the other.
TEST(BuilderMemory, ABuilderOutlivesFailures) {
  BatchedBuilder plain;
  const Operands o = operands(plain, rich_members(), rich_others());
  const std::vector<GridBatch> right = right_answers(o);
  TestAllocator scratch;
  {
    BuilderOptions options;
    options.threads = gpu::Threads::Serial;
    options.scratch = scratch.allocator();
    BatchedBuilder builder(options);
    for (int round = 0; round < 3; ++round) {
      for (std::size_t p = 0; p < passes().size(); ++p) {
        SCOPED_TRACE(passes()[p].name);
        GridBatch result;
        scratch.fail_at(1 + round);
        if (out_of_memory(passes()[p], builder, o, result)) {
          scratch.fail_at(0);
          ASSERT_FALSE(out_of_memory(passes()[p], builder, o, result));
        }
        EXPECT_TRUE(same_bytes(result, right[p]));
      }
    }
  }
  EXPECT_EQ(scratch.live_blocks(), 0);
}

// A handle outlives its builder, and gives the memory back when the last copy goes.
TEST(BuilderMemory, AHandleOutlivesItsBuilder) {
  TestAllocator results;
  {
    GridBatch kept, view;
    {
      BuilderOptions options;
      options.allocator = results.allocator();
      BatchedBuilder builder(options);
      const GridBatch made = build(builder, rich_members());
      kept = made;
      view = made.view(std::vector<std::int64_t>{2, 2});
    }
    EXPECT_EQ(results.live_blocks(), 1);
    EXPECT_EQ(members(kept), rich_members());
    kept = GridBatch();
    EXPECT_EQ(results.live_blocks(), 1) << "the view still reads it";
    EXPECT_EQ(voxels(view, 1), rich_members()[2]);
  }
  EXPECT_EQ(results.live_blocks(), 0);
}

// [L-6] the size is refused before it is allocated, and exactly the limit is not.
TEST(BuilderMemory, AResultBeyondTheLimitIsRefusedBeforeItIsAllocated) {
  BatchedBuilder plain;
  const Operands o = operands(plain, rich_members(), rich_others());
  for (Mode& mode : modes({gpu::Threads::Serial})) {
    SCOPED_TRACE(mode.name);
    for (const Pass& pass : passes()) {
      SCOPED_TRACE(pass.name);
      TestAllocator results(TestAllocator::kPlain);
      BuilderOptions options = mode.options;
      options.allocator = results.allocator();
      options.max_bytes = 1;
      BatchedBuilder small(options);
      const auto error = refusal(ErrorKind::CapacityExceeded, [&] { pass.run(small, o); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->argument(), "bytes");
      EXPECT_EQ(results.calls(), 0);
      const std::int64_t bytes = std::stoll(error->value());
      options.max_bytes = bytes - 1;
      BatchedBuilder shorter(options);
      refusal(ErrorKind::CapacityExceeded, [&] { pass.run(shorter, o); });
      EXPECT_EQ(results.calls(), 0);
      options.max_bytes = bytes;
      BatchedBuilder enough(options);
      EXPECT_NO_THROW(pass.run(enough, o));
      EXPECT_EQ(results.calls(), 1);
      EXPECT_EQ(results.largest(), bytes) << "the size that was named is the size that is taken";
    }
  }
}

// count-narrowed [L-6]: counts that no test can build go through the size arithmetic.
TEST(BuilderMemory, CountsAreSixtyFourBitsOrRefused) {
  gpu::PassPlan plan;
  plan.operation = "merge";
  plan.maps.resize(2);
  plan.names.resize(2);
  const auto place = [&](std::int64_t uppers, std::int64_t lowers, std::int64_t leaves,
                         std::int64_t limit = kMax64) {
    std::vector<gpu::MemberStart> starts(3, gpu::MemberStart{});
    starts[2] = {0, 0, uppers, lowers, leaves};  // all in member 1
    return gpu::building::place(plan, starts, limit);
  };
  constexpr std::int64_t k32 = std::int64_t{1} << 32;
  const auto largest = place(1, k32 / 4096, k32 - 1);
  EXPECT_EQ(largest.targets[1].leaves, k32 - 1);
  const std::int64_t grid = 832 + 32 + 270400 + k32 / 4096 * 33856 + (k32 - 1) * 96;
  EXPECT_EQ(largest.targets[1].bytes(), grid);
  EXPECT_EQ(largest.grid_bytes, 832 + grid);
  EXPECT_GE(largest.total_bytes, largest.grid_bytes + 4 * (k32 - 1));
  const auto error = refusal(ErrorKind::CapacityExceeded, [&] { place(1, k32, k32); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->operation(), "merge");
  EXPECT_EQ(error->argument(), "leaves");
  EXPECT_EQ(error->value(), "4294967296");
  EXPECT_EQ(error->member(), 1);
  const auto bytes = refusal(ErrorKind::CapacityExceeded,
                             [&] { place(k32 - 1, k32 - 1, k32 - 1, std::int64_t{1} << 40); });
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->argument(), "bytes");
  EXPECT_GT(std::stoll(bytes->value()), (k32 - 1) * 304000);
}

// ---- arguments

/// Two members to refuse passes on; checks each refusal in full, and that it changed nothing.
class BuilderRefusals : public testing::Test {
 protected:
  BuilderRefusals() : builder_(options()) {
    source_ = build(builder_, {{{0, 0, 0}}, {{-1, 5, 0}, {2, 0, 0}, {9, 9, 9}}});
    other_ = build(builder_, {{{1, 1, 1}}});
    before_ = copy_of(source_);
  }

  template <class Call>
  gpu::Error refused(ErrorKind kind, const char* operation, const char* argument,
                     const std::string& value, std::optional<std::int64_t> member,
                     const Call& call) {
    const std::int64_t allocated = results_.calls();
    const auto error = refusal(kind, [&] { call(builder_, source_); });
    EXPECT_EQ(results_.calls(), allocated) << "something was allocated";
    EXPECT_TRUE(unchanged(source_, before_));
    if (!error) return gpu::Error(kind, "", "", "", "");
    EXPECT_EQ(error->operation(), operation);
    EXPECT_EQ(error->argument(), argument);
    EXPECT_NE(error->value().find(value), std::string::npos) << error->what();
    EXPECT_EQ(error->member(), member) << error->what();
    EXPECT_NE(std::string(error->what()).find(error->reason()), std::string::npos);
    return *error;
  }

  ~BuilderRefusals() override {
    // Whatever was refused before, the builder builds.
    const GridBatch after = builder_.merge(source_, source_);
    EXPECT_TRUE(same_bytes(after, source_));
  }

  BuilderOptions options() {
    BuilderOptions given;
    given.allocator = results_.allocator();
    given.threads = gpu::Threads::Serial;
    return given;
  }

  TestAllocator results_;
  BatchedBuilder builder_;
  GridBatch source_, other_;
  std::vector<std::byte> before_;
};

std::string text(std::int64_t v) {
  return std::to_string(v);
}

TEST_F(BuilderRefusals, Factors) {  // [T-11]
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const std::int64_t f : {std::int64_t{0}, std::int64_t{-1}, kMin64}) {
      Triple factor{2, 2, 2};
      factor[axis] = f;
      refused(ErrorKind::InvalidArgument, "refine", "factor", text(f), {},
              [&](auto& b, auto& s) { b.refine(s, factor); });
      refused(ErrorKind::InvalidArgument, "coarsen", "factor", text(f), {},
              [&](auto& b, auto& s) { b.coarsen(s, factor); });
      factor[(axis + 1) % 3] = 5000;  // Unsupported too, but what is never right comes first
      refused(ErrorKind::InvalidArgument, "refine", "factor", text(f), {},
              [&](auto& b, auto& s) { b.refine(s, factor); });
      // An empty batch does not make it right.
      refused(ErrorKind::InvalidArgument, "refine", "factor", text(f), {},
              [&](auto& b, auto&) { b.refine(GridBatch(), factor); });
    }
    for (const std::int64_t f : {std::int64_t{1025}, std::int64_t{1} << 32, kMax64}) {
      Triple factor{1, 1, 1};
      factor[axis] = f;
      refused(ErrorKind::Unsupported, "refine", "factor", text(f), {},
              [&](auto& b, auto& s) { b.refine(s, factor); });
    }
  }
  EXPECT_NO_THROW(builder_.coarsen(source_, {kMax64, kMax64, kMax64}));
  EXPECT_NO_THROW(builder_.refine(source_, {1, 1024, 1}));
}

TEST_F(BuilderRefusals, Boxes) {  // [T-11]
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto on_axis = [axis](std::int64_t v) {
      Triple t{0, 0, 0};
      t[axis] = v;
      return t;
    };
    struct {
      std::int64_t lo, hi;
    } const inverted[] = {{1, 0}, {0, -1}, {kMax64, kMin64}, {kMax64, kMax64 - 1}, {0, kMin64}},
            wide[] = {{0, 1024}, {-512, 512}, {kMin64, kMax64}, {kMin64, 0}, {0, kMax64}},
            without[] = {{1, 2}, {-2, -1}, {kMax64, kMax64}, {kMin64, kMin64}, {kMin64, -1}};
    for (const auto& [lo, hi] : inverted) {
      refused(ErrorKind::InvalidArgument, "dilate_box", "lo", text(lo), {},
              [&](auto& b, auto& s) { b.dilate_box(s, on_axis(lo), on_axis(hi)); });
      refused(ErrorKind::InvalidArgument, "erode_box", "lo", text(lo), {},
              [&](auto& b, auto& s) { b.erode_box(s, on_axis(lo), on_axis(hi)); });
      // A box that is too wide on another axis is still wrong first.
      Triple low = on_axis(lo), high = on_axis(hi);
      low[(axis + 2) % 3] = -3000;
      refused(ErrorKind::InvalidArgument, "dilate_box", "lo", text(lo), {},
              [&](auto& b, auto& s) { b.dilate_box(s, low, high); });
    }
    for (const auto& [lo, hi] : wide) {
      refused(ErrorKind::Unsupported, "dilate_box", "lo", text(lo), {},
              [&](auto& b, auto& s) { b.dilate_box(s, on_axis(lo), on_axis(hi)); });
      refused(ErrorKind::Unsupported, "erode_box", "lo", text(lo), {},
              [&](auto& b, auto& s) { b.erode_box(s, on_axis(lo), on_axis(hi)); });
    }
    for (const auto& [lo, hi] : without) {
      refused(ErrorKind::InvalidArgument, "erode_box", "lo", text(lo), {},
              [&](auto& b, auto& s) { b.erode_box(s, on_axis(lo), on_axis(hi)); });
    }
    EXPECT_NO_THROW(builder_.dilate_box(source_, on_axis(-1023), on_axis(0)));
    EXPECT_NO_THROW(builder_.erode_box(source_, on_axis(0), on_axis(1023)));
  }
}

// [L-5]: the first source voxel in canonical order, its member, its result in 64 bits; a sum beyond
// 64 bits is named as the nearest number.
TEST_F(BuilderRefusals, ResultsOutsideTheLattice) {
  struct {
    std::int64_t shift, result;
  } const shifts[] = {{std::int64_t{1} << 31, std::int64_t{1} << 31},
                      {-(std::int64_t{1} << 31) - 1, -(std::int64_t{1} << 31) - 1},
                      {std::int64_t{1} << 40, std::int64_t{1} << 40},
                      {-(std::int64_t{1} << 50), -(std::int64_t{1} << 50)},
                      {kMax64, kMax64},
                      {kMin64, kMin64}};
  for (const auto& [shift, result] : shifts) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      Triple d{0, 0, 0};
      d[axis] = shift;
      const gpu::Error error = refused(ErrorKind::OutOfRange, "dilate_box", "voxel", "(0, 0, 0)", 0,
                                       [&](auto& b, auto& s) { b.dilate_box(s, d, d); });
      EXPECT_NE(error.reason().find(text(result)), std::string::npos) << error.what();
    }
  }
  // Member 1 of the batch; member 0 of a view.
  const GridBatch edge = build(builder_, {{{0, 0, 0}}, {{5, INT32_MAX, 5}, {7, INT32_MAX, 5}}});
  refused(ErrorKind::OutOfRange, "dual", "voxel", "(5, 2147483647, 5)", 1,
          [&](auto& b, auto&) { b.dual(edge); });
  refused(ErrorKind::OutOfRange, "dual", "voxel", "(5, 2147483647, 5)", 0,
          [&](auto& b, auto&) { b.dual(edge.view(std::vector<std::int64_t>{1, 0})); });
  const std::vector<std::uint8_t> second{1, 0, 1};
  refused(ErrorKind::OutOfRange, "refine", "voxel", "(7, 2147483647, 5)", 1,
          [&](auto& b, auto&) { b.refine(edge, {1, 2, 1}, {second, edge.voxel_offsets()}); });
}

// [E-1] The row is that of the whole member: leaves before it, voxels before it in its leaf; the
// result is the one that is outside, whichever end of the voxel's results that is.
TEST_F(BuilderRefusals, ResultsOutsideTheLatticeNameTheRow) {
  const GridBatch edge =
      build(builder_, {{{0, 0, 0}, {1, 0, 0}},
                       {{0, 0, 0}, {0, 0, 9}, {3, INT32_MAX, 1}, {3, INT32_MAX, 2}, {40, 0, 0}}});
  const std::vector<std::uint8_t> last{1, 1, 1, 1, 1, 0, 1};
  auto error = refused(ErrorKind::OutOfRange, "dual", "voxel", "(3, 2147483647, 1)", 1,
                       [&](auto& b, auto&) { b.dual(edge); });
  EXPECT_EQ(error.row(), 2 + 3) << error.what();
  error = refused(ErrorKind::OutOfRange, "refine", "voxel", "(3, 2147483647, 2)", 1,
                  [&](auto& b, auto&) { b.refine(edge, {1, 2, 1}, {last, edge.voxel_offsets()}); });
  EXPECT_EQ(error.row(), 2 + 4) << error.what();
  const GridBatch least = build(builder_, {{{INT32_MIN, 7, 7}}});
  error = refused(ErrorKind::OutOfRange, "dilate_box", "voxel", "(-2147483648, 7, 7)", 0,
                  [&](auto& b, auto&) { b.dilate_box(least, {-1, 0, 0}, {2, 0, 0}); });
  EXPECT_NE(error.reason().find("(-2147483649, 7, 7)"), std::string::npos) << error.what();
}

TEST(BuilderErrors, SayWhatTheyHave) {
  const gpu::Error bare(gpu::ErrorKind::Corrupt, "adopt", "bytes", "", "too few");
  EXPECT_STREQ(bare.what(), "Corrupt: adopt: bytes: too few");
  const gpu::Error full(gpu::ErrorKind::Corrupt, "adopt", "bytes", "7", "too few", 3, 4);
  EXPECT_STREQ(full.what(), "Corrupt: adopt: bytes = 7, member 3, row 4: too few");
}

TEST_F(BuilderRefusals, Masks) {  // [T-10]
  struct {
    std::vector<std::int64_t> offsets;
    std::size_t flags;
    std::optional<std::int64_t> member;
  } const bad[] = {
      {{}, 4, {}},              // no offsets at all
      {{0}, 0, {}},             // no list
      {{0, 1}, 1, {}},          // a list too few
      {{0, 1, 4, 4}, 4, {}},    // a list too many
      {{0, 3, 4}, 4, 0},        // lengths exchanged, the total is right
      {{0, 1, 5}, 5, 1},        // one flag too many
      {{0, 1, 3}, 3, 1},        // one too few
      {{1, 1, 4}, 4, {}},       // does not begin at 0
      {{kMin64, 1, 4}, 4, {}},  // nor there
      {{0, kMax64, 4}, 4, 0},   // decreases
      {{0, -1, 4}, 4, 0},       // negative
      {{0, 1, kMax64}, 4, 1},   // ends elsewhere
      {{0, 1, 4}, 3, {}},       // fewer flags than the offsets say
      {{0, 1, 4}, 5, {}},       // more
      {{0, 1, 4}, 0, {}},       // none
  };
  const std::vector<std::uint8_t> flags(8, 1);
  for (const auto& [offsets, count, member] : bad) {
    SCOPED_TRACE(testing::PrintToString(offsets));
    const gpu::VoxelFlags mask{std::span(flags.data(), count), offsets};
    refused(ErrorKind::ShapeMismatch, "prune", "mask", "", member,
            [&](auto& b, auto& s) { b.prune(s, mask); });
    refused(ErrorKind::ShapeMismatch, "refine", "mask", "", member,
            [&](auto& b, auto& s) { b.refine(s, {2, 2, 2}, mask); });
  }
  // The factor is judged before the mask.
  refused(ErrorKind::InvalidArgument, "refine", "factor", "0", {}, [&](auto& b, auto& s) {
    b.refine(s, {0, 2, 2}, {std::span(flags.data(), 3), s.voxel_offsets()});
  });
}

TEST_F(BuilderRefusals, SecondOperandsAndViews) {  // [T-10], [E-3]
  refused(ErrorKind::ShapeMismatch, "merge", "other", "1", {},
          [&](auto& b, auto& s) { b.merge(s, other_); });
  refused(ErrorKind::ShapeMismatch, "intersect", "other", "1", {},
          [&](auto& b, auto& s) { b.intersect(s, other_); });
  refused(ErrorKind::ShapeMismatch, "subtract", "other", "2", {},
          [&](auto& b, auto& s) { b.subtract(other_, s); });
  refused(ErrorKind::ShapeMismatch, "merge", "other", "0", {},
          [&](auto& b, auto& s) { b.merge(s, GridBatch()); });
  for (const std::int64_t i :
       {std::int64_t{-1}, std::int64_t{2}, kMin64, kMax64, std::int64_t{1} << 32}) {
    refused(ErrorKind::InvalidArgument, "view", "members", text(i), 1,
            [&](auto&, auto& s) { s.view(std::vector<std::int64_t>{0, i, 1}); });
  }
  refused(ErrorKind::InvalidArgument, "view", "members", "1", 0, [&](auto&, auto& s) {
    s.view(std::vector<std::int64_t>{1}).view(std::vector<std::int64_t>{1});
  });
  refused(ErrorKind::InvalidArgument, "bytes", "batch", "a view", {},
          [&](auto&, auto& s) { s.view(std::vector<std::int64_t>{0}).bytes(); });
}

TEST_F(BuilderRefusals, Lists) {  // [T-1], [E-2]
  const std::vector<std::int32_t> ijk(12, 1);
  const std::vector<double> xyz(12, 1);
  struct {
    std::vector<std::int64_t> offsets;
    std::optional<std::int64_t> member;
  } const bad[] = {
      {{}, {}},         {{0}, {}},           {{0, 3}, {}},
      {{0, 2, 5}, {}},  {{1, 4}, 0},         {{-1, 4}, 0},
      {{kMin64, 4}, 0}, {{0, 3, 2, 4}, 1},   {{0, kMax64, 4}, 1},
      {{0, -1, 4}, 0},  {{0, kMin64, 4}, 0}, {{0, 4, kMax64}, {}},
  };
  for (const auto& [offsets, member] : bad) {
    SCOPED_TRACE(testing::PrintToString(offsets));
    refused(ErrorKind::ShapeMismatch, "from_ijk", "offsets", "", member,
            [&](auto& b, auto&) { b.from_ijk({ijk, offsets}); });
    refused(ErrorKind::ShapeMismatch, "from_points", "offsets", "", member,
            [&](auto& b, auto&) { b.from_points({xyz, offsets}); });
  }
  const std::vector<std::int64_t> three{0, 1, 2, 4};
  for (const std::size_t n : {10u, 11u, 1u}) {
    refused(ErrorKind::ShapeMismatch, "from_ijk", "rows", "", {},
            [&](auto& b, auto&) { b.from_ijk({std::span(ijk.data(), n), three}); });
  }
  const std::vector<gpu::MemberMap> maps(2);
  const std::vector<std::string> names(4);
  refused(ErrorKind::ShapeMismatch, "from_ijk", "maps", "2", {},
          [&](auto& b, auto&) { b.from_ijk({ijk, three}, {maps, {}}); });
  refused(ErrorKind::ShapeMismatch, "from_points", "names", "4", {},
          [&](auto& b, auto&) { b.from_points({xyz, three}, {{}, names}); });
}

TEST_F(BuilderRefusals, MapsAndNames) {  // [G-7]
  const std::vector<std::int32_t> ijk(9, 1);
  const std::vector<double> xyz(9, 1);
  const std::vector<std::int64_t> three{0, 1, 2, 3};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const double s : {0.0, -0.0, -1.0, kInf, -kInf, kNan}) {
      std::vector<gpu::MemberMap> maps(3);
      maps[2].voxel_size[axis] = s;
      refused(ErrorKind::InvalidArgument, "from_ijk", "voxel_size", "", 2,
              [&](auto& b, auto&) { b.from_ijk({ijk, three}, {maps, {}}); });
      refused(ErrorKind::InvalidArgument, "from_points", "voxel_size", "", 2,
              [&](auto& b, auto&) { b.from_points({xyz, three}, {maps, {}}); });
    }
    for (const double o : {kInf, -kInf, kNan}) {
      std::vector<gpu::MemberMap> maps(3);
      maps[1].origin[axis] = o;
      refused(ErrorKind::InvalidArgument, "from_ijk", "origin", "", 1,
              [&](auto& b, auto&) { b.from_ijk({ijk, three}, {maps, {}}); });
    }
  }
  std::vector<std::string> names(3);
  names[1] = std::string(256, 'n');
  refused(ErrorKind::InvalidArgument, "from_ijk", "name", "256", 1,
          [&](auto& b, auto&) { b.from_ijk({ijk, three}, {{}, names}); });
  names[1] = std::string("a\0b", 3);
  refused(ErrorKind::InvalidArgument, "from_ijk", "name", "", 1,
          [&](auto& b, auto&) { b.from_ijk({ijk, three}, {{}, names}); });
  names[1] = std::string(255, 'n');
  const GridBatch named = builder_.from_ijk({ijk, three}, {{}, names});
  EXPECT_EQ(nano(named, 1).gridName(), names[1]);

  // Maps of results: too small, too large, or carried away by the shift of the origin.
  const auto with = [&](double size, double origin) {
    std::vector<gpu::MemberMap> maps(3);
    maps[2].voxel_size[1] = size;
    maps[2].origin[1] = origin;
    return builder_.from_ijk({ijk, three}, {maps, {}});
  };
  constexpr double kTiny = std::numeric_limits<double>::denorm_min();
  constexpr double kHuge = std::numeric_limits<double>::max();
  GridBatch made = with(kTiny, 0);  // finite and positive, though its inverse is not [G-7]
  EXPECT_EQ(made.member(2).map.voxel_size[1], kTiny);
  refused(ErrorKind::InvalidArgument, "refine", "voxel_size", "", 2,
          [&](auto& b, auto&) { b.refine(made, {1, 2, 1}); });
  made = with(kHuge, 0);
  refused(ErrorKind::InvalidArgument, "coarsen", "voxel_size", "", 2,
          [&](auto& b, auto&) { b.coarsen(made, {1, 2, 1}); });
  made = with(kHuge, -kHuge);
  refused(ErrorKind::InvalidArgument, "dual", "origin", "", 2,
          [&](auto& b, auto&) { b.dual(made); });
  EXPECT_NO_THROW(builder_.dilate_box(made, {0, 0, 0}, {1, 1, 1}));  // keeps its map
}

TEST_F(BuilderRefusals, Points) {  // [T-1]
  const std::vector<std::int64_t> offsets{0, 2, 2, 5};
  const std::vector<double> good(15, 1.0);
  for (const std::size_t row : {0u, 1u, 2u, 4u}) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t member = row < 2 ? 0 : 2;
      const auto in_member = static_cast<std::int64_t>(row) - (row < 2 ? 0 : 2);
      for (const double v : {kNan, kInf, -kInf, 2147483647.5, -2147483648.5000005, 1e308}) {
        std::vector<double> points = good;
        points[3 * row + axis] = v;
        const bool finite = std::isfinite(v);
        const gpu::Error error = refused(
            finite ? ErrorKind::OutOfRange : ErrorKind::InvalidArgument, "from_points", "points",
            "", member, [&](auto& b, auto&) { b.from_points({points, offsets}); });
        EXPECT_EQ(error.row(), in_member);
        points[0] = 1e300;  // out of range, but NaN is wrong whatever the map
        if (!finite && row > 0) {
          refused(ErrorKind::InvalidArgument, "from_points", "points", "", member,
                  [&](auto& b, auto&) { b.from_points({points, offsets}); });
        }
      }
    }
  }
  // A difference that overflows is outside too.
  std::vector<gpu::MemberMap> maps(3);
  maps[2].origin[0] = -1e308;
  std::vector<double> points = good;
  points[12] = 1e308;
  refused(ErrorKind::OutOfRange, "from_points", "points", "", 2,
          [&](auto& b, auto&) { b.from_points({points, offsets}, {maps, {}}); });
}

// aliased-input: passes read their sources and nothing else happens to them.
TEST(BuilderSources, AreNotWrittenTo) {
  BatchedBuilder plain;
  const Operands o = operands(plain, rich_members(), rich_others());
  const Operands copy = o;
  const std::vector<std::byte> source = copy_of(o.source), other = copy_of(o.other);
  in_every_mode([&](BatchedBuilder& builder) {
    for (const Pass& pass : passes()) {
      SCOPED_TRACE(pass.name);
      pass.run(builder, o);
      EXPECT_TRUE(unchanged(o.source, source));
      EXPECT_TRUE(unchanged(o.other, other));
    }
    EXPECT_EQ(o.lists.ijk, copy.lists.ijk);
    EXPECT_EQ(o.points, copy.points);
    EXPECT_EQ(o.flags, copy.flags);
  });
}

}  // namespace
