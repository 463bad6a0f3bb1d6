// The two references against each other: small cases by hand, then seeded random ones over every
// pass, with anisotropic parameters, negative octants, node boundaries, empty members, views,
// masks.
#include "reference/brute_force.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <regex>

#include "oracle/backends/brute_force_backend.h"
#include "oracle/backends/reference_backend.h"
#include "reference/canonical_order.h"
#include "reference/passes.h"
#include "tests/layouts.h"

namespace leafproof::tests {
namespace {

using namespace reference;
using oracle::Case;
using oracle::Op;
using Voxels = std::vector<Voxel>;

constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

std::string source_text(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(BruteForce, SharesStructsAndNoFunction) {
  const std::filesystem::path room = std::filesystem::path(LEAFPROOF_SOURCE_DIR) / "reference";
  const std::regex include("#include \"([^\"]*)\"");
  const std::regex borrowed(
      R"(\b(floor_div|floor_mod|canonical_less|make_canonical|upper_offset|lower_offset|leaf_offset|)"
      R"(root_tile|layout_of|tile_key|packed_prefix_sum|k(Grid|Tree|Root|Tile|Upper|Lower|Leaf)Bytes)\b|)"
      R"(reference::(world_box|to_string)\b|using namespace)");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(room)) {
    const std::string name = entry.path().filename().string();
    const std::string text = source_text(entry.path());
    const bool second = name.starts_with("brute_force");
    files += second;
    for (std::sregex_iterator i(text.begin(), text.end(), include), end; i != end; ++i) {
      const std::string header = (*i)[1];
      const bool of_second = header.starts_with("reference/brute_force");
      const bool structs = header == "reference/lattice.h" || header == "reference/layout.h" ||
                           header == "reference/error.h" || header == "reference/conv_structs.h";
      if (second) {
        EXPECT_TRUE(of_second || structs) << name << " includes " << header;
      } else {
        EXPECT_FALSE(of_second) << name << " includes " << header;
      }
    }
    std::smatch found;
    if (second) {
      EXPECT_FALSE(std::regex_search(text, found, borrowed)) << name << ": " << found[0];
    }
  }
  EXPECT_GE(files, 8);
}

// Members of a layout, read back from its leaf masks.
std::vector<Voxels> members_of(const Layout& layout) {
  std::vector<Voxels> members;
  for (const Grid& g : layout.grids) {
    Voxels& voxels = members.emplace_back();
    for (const Leaf& leaf : g.leaves)
      for (int n = 0; n < 512; ++n)
        if (leaf.mask[n / 64] >> (n % 64) & 1)
          voxels.push_back(
              {leaf.origin.x + n / 64, leaf.origin.y + n / 8 % 8, leaf.origin.z + n % 8});
  }
  return members;
}

TEST(BruteForce, SmallCasesByHand) {
  namespace bf = brute_force;
  using Members = std::vector<Voxels>;
  EXPECT_EQ(members_of(bf::from_ijk({{{5, 5, 5}, {-1, 2, 3}, {5, 5, 5}}, {}})),
            (Members{{{-1, 2, 3}, {5, 5, 5}}, {}}));
  EXPECT_EQ(members_of(bf::from_points(
                {{{-1.5, -0.5, 0.5}, {0.49999999999999994, -0.49999999999999994, -2.5}}})),
            (Members{{{-1, 0, 1}, {0, 0, -2}}}));
  EXPECT_EQ(members_of(bf::refine(batch({{{-1, 2, 0}}}), {2, 1, 2})),
            (Members{{{-2, 2, 0}, {-2, 2, 1}, {-1, 2, 0}, {-1, 2, 1}}}));
  EXPECT_EQ(members_of(bf::coarsen(batch({{{-3, -1, 0}, {7, 0, 0}, {8, 0, 0}}}), {2, 2, 2})),
            (Members{{{-2, -1, 0}, {3, 0, 0}, {4, 0, 0}}}));
  EXPECT_EQ(members_of(bf::dilate_box(batch({{{0, 0, 0}, {9, 0, 0}}}), {-1, 0, 2}, {0, 0, 2})),
            (Members{{{-1, 0, 2}, {0, 0, 2}, {8, 0, 2}, {9, 0, 2}}}));
  EXPECT_EQ(members_of(bf::dual(batch({{{-1, 0, 0}}})))[0].size(), 8u);
  EXPECT_EQ(members_of(bf::erode_box(batch({{{0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {5, 0, 0}}}),
                                     {0, 0, -1}, {0, 0, 1})),
            (Members{{{0, 0, 1}}}));
  EXPECT_EQ(members_of(bf::prune(batch({{{-1, 0, 0}, {0, 0, 0}, {9, 0, 0}}}), {{0, 1, 1}})),
            (Members{{{0, 0, 0}, {9, 0, 0}}}));
  const Batch a = batch({{{0, 0, 0}, {1, 0, 0}}}), b = batch({{{1, 0, 0}, {-9, 0, 0}}});
  Batch sorted_b = b;
  make_canonical(sorted_b.members[0]);
  EXPECT_EQ(members_of(bf::merge(a, sorted_b)), (Members{{{-9, 0, 0}, {0, 0, 0}, {1, 0, 0}}}));
  EXPECT_EQ(members_of(bf::intersect(a, sorted_b)), (Members{{{1, 0, 0}}}));
  EXPECT_EQ(members_of(bf::subtract(a, sorted_b)), (Members{{{0, 0, 0}}}));
}

TEST(BruteForce, LayoutByHand) {
  const Layout layout =
      brute_force::from_ijk({{{1, 2, 3}}, {}}, {{{0.5, 1, 2}, {10, 20, 30}}}, {"n"});
  const Grid& g = layout.grids[0];
  EXPECT_EQ(g.leaves[0].mask[1], 1u << 19);
  EXPECT_EQ(g.leaves[0].prefix_sum, 0x40201008040200u);
  EXPECT_EQ(g.leaves[0].offset, 1u);
  EXPECT_EQ(g.byte_size, 305216u);
  EXPECT_EQ(g.world_box, (std::array<double, 6>{10.5, 22, 36, 11, 23, 38}));
  EXPECT_EQ(layout.grids[1].byte_size, 832u);
  EXPECT_EQ(layout.grids[1].flags, 0x20u);
  EXPECT_EQ(layout.grids[1].name, "n");
  EXPECT_EQ(layout.byte_offsets, (std::vector<std::uint64_t>{0, 305216, 306048}));
}

TEST(BruteForce, SaysWhenItsBoxDoesNotSuffice) {
  const Batch far = batch({{{kMin, 0, 0}, {kMax, 0, 0}}, {{0, 0, 0}}});
  EXPECT_THROW(brute_force::erode_box(far, {0, 0, 0}, {0, 0, 0}), brute_force::BoxTooLarge);
  // 2^27 cells are enough, one layer more is not.
  EXPECT_EQ(members_of(brute_force::from_ijk({{{0, 0, 0}, {511, 511, 511}}}))[0].size(), 2u);
  EXPECT_THROW(brute_force::from_ijk({{{0, 0, 0}, {511, 511, 512}}}), brute_force::BoxTooLarge);
  // A single voxel at each end of the range is a small box.
  EXPECT_EQ(members_of(brute_force::from_ijk({{{kMin, kMin, kMin}}, {{kMax, kMax, kMax}}})),
            (std::vector<Voxels>{{{kMin, kMin, kMin}}, {{kMax, kMax, kMax}}}));

  Case c;
  c.op = Op::Dual;
  c.source = batch({{{-1000, -1000, -1000}, {0, 0, 0}}});
  const auto answer = oracle::make_brute_force_backend()->answer(c);
  const auto* none = std::get_if<oracle::NotImplemented>(&answer);
  ASSERT_NE(none, nullptr);
  EXPECT_NE(none->reason.find("does not suffice"), std::string::npos);
}

// Both backends give the same layout, or refuse alike. The reference's is returned, if there is
// one.
const Layout* expect_alike(const Case& c, const oracle::Answer& first,
                           const oracle::Answer& second) {
  const auto* expected = std::get_if<Layout>(&first);
  const auto* actual = std::get_if<Layout>(&second);
  const auto* expected_error = std::get_if<Error>(&first);
  const auto* actual_error = std::get_if<Error>(&second);
  if (expected && actual) {
    EXPECT_TRUE(LayoutComparison::equal(*expected, *actual));
  } else if (expected_error && actual_error) {
    EXPECT_EQ(to_string(expected_error->kind()), to_string(actual_error->kind()))
        << expected_error->what() << "\n"
        << actual_error->what();
    EXPECT_EQ(expected_error->detail().member, actual_error->detail().member);
    EXPECT_EQ(expected_error->detail().row, actual_error->detail().row);
    if (expected_error->kind() == ErrorKind::OutOfRange && c.op != Op::FromPoints) {
      EXPECT_EQ(expected_error->detail().value, actual_error->detail().value);
    }
  } else {
    ADD_FAILURE() << "one answers and the other does not: "
                  << (expected_error ? expected_error->what() : "") << " / "
                  << (actual_error ? actual_error->what() : "");
  }
  return expected;
}

oracle::Answer reference_answer(const Case& c) {
  return oracle::make_reference_backend()->answer(c);
}
oracle::Answer brute_force_answer(const Case& c) {
  return oracle::make_brute_force_backend()->answer(c);
}

TEST(Backends, RefuseAlike) {
  Case c;
  c.source = batch({{{0, 0, 0}}, {{1, 0, 0}, {kMax, 0, 0}}});
  const auto refused = [&](ErrorKind kind) {
    const auto first = reference_answer(c), second = brute_force_answer(c);
    expect_alike(c, first, second);
    const auto* error = std::get_if<Error>(&first);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(to_string(error->kind()), to_string(kind)) << error->what();
  };
  c.op = Op::Dual;
  refused(ErrorKind::OutOfRange);
  c.view = {0, 2};
  refused(ErrorKind::InvalidArgument);
  c.view = {-1};
  refused(ErrorKind::InvalidArgument);
  c.view.reset();
  c.op = Op::Refine;
  c.factor = {2, 1, 1};
  refused(ErrorKind::OutOfRange);
  c.factor = {2000, 0, 1};
  refused(ErrorKind::InvalidArgument);
  c.factor = {2000, 1, 1};
  refused(ErrorKind::Unsupported);
  c.factor = {2, 1, 1};
  c.mask = {{1}, {1}};
  refused(ErrorKind::ShapeMismatch);
  c.mask.reset();
  c.op = Op::DilateBox;
  for (const auto& [lo, hi, kind] : std::initializer_list<std::tuple<Triple, Triple, ErrorKind>>{
           {{0, 0, 1}, {0, 0, 0}, ErrorKind::InvalidArgument},
           {{0, 0, 0}, {1024, 0, 0}, ErrorKind::Unsupported},
           {{kMin64, 0, 0}, {kMax64, 0, 0}, ErrorKind::Unsupported},
           {{kMax64, 0, 0}, {kMin64, 0, 0}, ErrorKind::InvalidArgument},
           {{1, 0, 0}, {1, 0, 0}, ErrorKind::OutOfRange},
           {{0, -1, 0}, {0, kMin, 0}, ErrorKind::InvalidArgument}}) {
    c.lo = lo, c.hi = hi;
    refused(kind);
  }
  c.op = Op::ErodeBox;
  c.lo = {1, 0, 0}, c.hi = {5000, 0, 0};
  refused(ErrorKind::InvalidArgument);
  c.lo = {0, 0, 0};
  refused(ErrorKind::Unsupported);
  for (const Op op : {Op::Prune, Op::Merge, Op::Intersect, Op::Subtract}) {
    c.op = op;
    refused(ErrorKind::InvalidArgument);  // the mask, the second operand is absent
  }
  c.other = batch({{}});
  refused(ErrorKind::ShapeMismatch);
  c.op = Op::FromIjk;
  c.view = {0};
  refused(ErrorKind::InvalidArgument);
  c.view.reset();
  c.source.names[1] = std::string(256, 'n');
  refused(ErrorKind::InvalidArgument);
  c.source.names[1].clear();
  c.source.maps[0].voxel_size[2] = 0;
  refused(ErrorKind::InvalidArgument);
  c.source.maps.emplace_back();
  refused(ErrorKind::ShapeMismatch);
}

TEST(Backends, HostileFarBoxesOfNothingAreNothing) {
  Case c;
  c.op = Op::DilateBox;
  c.source = batch({{}, {}});
  for (const std::int64_t far : {kMin64, kMax64}) {
    c.lo = c.hi = {far, 0, 0};
    expect_alike(c, reference_answer(c), brute_force_answer(c));
    Case one = c;
    one.source = batch({{{-7, 0, 0}}});
    const auto first = reference_answer(one), second = brute_force_answer(one);
    ASSERT_TRUE(std::holds_alternative<Error>(first) && std::holds_alternative<Error>(second));
    EXPECT_EQ(std::get<Error>(first).kind(), ErrorKind::OutOfRange);
    EXPECT_EQ(std::get<Error>(second).kind(), ErrorKind::OutOfRange);
  }
}

TEST(Backends, AnswerEveryOperationOfConvolution) {
  for (const auto& backend :
       {oracle::make_reference_backend(), oracle::make_brute_force_backend()}) {
    for (const Op op : oracle::convolution_ops()) {
      Case c;
      c.op = op;
      const auto answer = backend->answer(c);
      EXPECT_FALSE(std::holds_alternative<oracle::NotImplemented>(answer))
          << backend->name() << ", " << to_string(op);
    }
    EXPECT_FALSE(backend->description().empty());
  }
}

TEST(Backends, MapsAfterEachOperation) {  // [G-7]
  Case c;
  c.op = Op::MapAfter;
  c.source = batch({{}, {}});
  c.source.maps = {{{4, 12, 1.5}, {-0.5, 1, 2}}, {{0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}}};
  c.factor = {3, 2, 1};
  std::vector<double> sizes;
  for (const Op mapped : {Op::Refine, Op::Coarsen, Op::ConvGrid, Op::ConvTransposeGrid, Op::Dual,
                          Op::DilateBox, Op::ErodeBox, Op::Prune, Op::Merge, Op::FromIjk}) {
    c.mapped = mapped;
    const auto first = reference_answer(c), second = brute_force_answer(c);
    ASSERT_TRUE(std::holds_alternative<oracle::Maps>(first));
    ASSERT_TRUE(std::holds_alternative<oracle::Maps>(second));
    EXPECT_EQ(std::get<oracle::Maps>(first).maps, std::get<oracle::Maps>(second).maps);
    sizes.push_back(std::get<oracle::Maps>(first).maps[0].voxel_size[1]);
  }
  EXPECT_EQ(sizes, (std::vector<double>{6, 24, 24, 6, 12, 12, 12, 12, 12, 12}));
}

// Random cases. A member is a few clusters around the corner of a node, in any octant.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}

  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(hi - lo + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }

  Voxels member() {
    Voxels voxels;
    if (one_in(4)) return voxels;
    Triple at = corner_;
    for (std::int64_t cluster = between(1, 3); cluster > 0; --cluster) {
      const std::int64_t reach = one_in(3) ? 12 : 3;
      for (std::int64_t n = between(1, 60); n > 0; --n) {
        std::int32_t v[3];
        for (int a = 0; a < 3; ++a)
          v[a] = static_cast<std::int32_t>(at[a] + between(-reach, reach));
        voxels.push_back({v[0], v[1], v[2]});
      }
      at[between(0, 2)] += between(-30, 30);
    }
    if (one_in(8)) {  // a solid part, for erosion
      for (std::int32_t i = 0; i < 6 * 7 * 8; ++i) {
        const Voxel corner = voxels[0];
        voxels.push_back({corner.x + i % 6, corner.y + i / 6 % 7, corner.z + i / 42});
      }
    }
    return voxels;
  }

  Batch batch_of(std::int64_t members) {
    Batch b;
    for (std::int64_t m = 0; m < members; ++m) {
      b.members.push_back(member());
      make_canonical(b.members.back());
      Map map;
      for (int a = 0; a < 3; ++a) {
        map.voxel_size[a] = static_cast<double>(between(1, 4000)) / 997;
        map.origin[a] = static_cast<double>(between(-40000, 40000)) / 31;
      }
      b.maps.push_back(map);
      b.names.push_back(one_in(3) ? "" : "member " + std::to_string(between(0, 99)));
    }
    return b;
  }

  Case draw(Op op) {
    const std::int64_t edges[] = {0, 8, -8, 128, -128, 4096, -4096, 4096 - 128, -4096 - 8};
    corner_ = {edges[between(0, 8)], edges[between(0, 8)], edges[between(0, 8)]};
    Case c;
    c.op = op;
    c.source = batch_of(between(0, 4));
    std::vector<std::size_t> read(c.source.size());
    for (std::size_t m = 0; m < read.size(); ++m) read[m] = m;
    if (op == Op::FromIjk) {
      for (Voxels& list : c.source.members) {
        if (!list.empty()) list.push_back(list[list.size() / 2]);  // far apart
        std::shuffle(list.begin(), list.end(), random_);
      }
      return c;
    }
    if (op == Op::FromPoints) {
      points(c);
      return c;
    }
    if (c.source.size() > 0 && one_in(3)) {
      c.view.emplace();
      read.clear();
      for (std::int64_t n = between(0, 5); n > 0; --n) {
        c.view->push_back(between(0, static_cast<std::int64_t>(c.source.size()) - 1));
        read.push_back(static_cast<std::size_t>(c.view->back()));
      }
    }
    for (int a = 0; a < 3; ++a) {
      c.factor[a] = op == Op::Refine ? between(1, 6) : between(1, 17);
      c.lo[a] = between(-5, op == Op::ErodeBox ? 0 : 3);
      c.hi[a] = op == Op::ErodeBox ? between(0, 2) : c.lo[a] + between(0, 6);
      if (op == Op::ErodeBox) c.lo[a] = std::max<std::int64_t>(c.lo[a], -2);
    }
    if (op == Op::Coarsen && one_in(10)) c.factor[between(0, 2)] = kMax64;
    if (op == Op::Prune || (op == Op::Refine && one_in(2))) {
      c.mask.emplace();
      for (const std::size_t m : read) {
        auto& flags = c.mask->emplace_back(c.source.members[m].size());
        for (auto& flag : flags) flag = one_in(2);
      }
    }
    if (op == Op::Merge || op == Op::Intersect || op == Op::Subtract) {
      c.other = batch_of(static_cast<std::int64_t>(read.size()));
      for (std::size_t i = 0; i < read.size();
           ++i) {  // near the first operand's, some of it shared
        Voxels near;
        for (const Voxel& v : c.source.members[read[i]])
          if (one_in(2)) near.push_back({v.x, v.y, v.z + static_cast<std::int32_t>(between(0, 1))});
        make_canonical(near);
        if (!one_in(4)) c.other->members[i] = near;
      }
    }
    return c;
  }

 private:
  void points(Case& c) {
    for (std::size_t m = 0; m < c.source.size(); ++m) {
      auto& list = c.points.emplace_back();
      const Map& map = c.source.maps[m];
      for (std::int64_t n = between(0, 60); n > 0; --n) {
        Point p;
        for (int a = 0; a < 3; ++a) {  // halves and quarters of a voxel: on and off the boundary
          const double index = static_cast<double>(corner_[a] + between(-60, 60)) / 4;
          p[a] = index * map.voxel_size[a] + map.origin[a];
        }
        list.push_back(p);
      }
    }
    c.source.members.clear();
  }

  std::mt19937 random_;
  Triple corner_{0, 0, 0};  // of a node; the case's members are around it, so that boxes stay small
};

TEST(Random, BothReferencesAgreeOnEveryPass) {
  const std::uint32_t seed = 20261129;
  std::int64_t voxels = 0, cases = 0;
  for (const Op op : oracle::topology_ops())
    for (std::uint32_t number = 0; number < 200; ++number) {
      Draw draw(seed + number * 16 + static_cast<std::uint32_t>(op));
      const Case c = draw.draw(op);
      const auto first = reference_answer(c), second = brute_force_answer(c);
      const Layout* layout = expect_alike(c, first, second);
      ASSERT_FALSE(HasFailure()) << to_string(op) << ", seed " << seed << ", case " << number;
      ASSERT_NE(layout, nullptr) << to_string(op) << ", seed " << seed << ", case " << number;
      voxels += static_cast<std::int64_t>(layout->voxel_offsets.back());
      ++cases;
    }
  RecordProperty("seed", std::to_string(seed));
  std::cout << "seed " << seed << ": " << cases << " cases, " << voxels << " voxels\n";
  EXPECT_GT(voxels, 100'000);  // the cases are not empty ones
}

TEST(Random, BothReferencesRefuseTheSameVoxelOutOfRange) {  // [L-5]
  const std::uint32_t seed = 77;
  int refused = 0;
  for (std::uint32_t number = 0; number < 300; ++number) {
    Draw draw(seed + number);
    Case c;
    c.op = draw.one_in(2) ? Op::DilateBox : Op::Refine;
    for (int a = 0; a < 3; ++a) {
      c.lo[a] = draw.between(-3, 1);
      c.hi[a] = c.lo[a] + draw.between(0, 4);
      c.factor[a] = draw.between(1, 3);
    }
    c.source = batch({{}, {}});
    for (Voxels& list : c.source.members) {
      for (std::int64_t n = draw.between(0, 5); n > 0; --n) {
        std::int32_t v[3];
        for (int a = 0; a < 3; ++a) {
          const std::int64_t f = c.op == Op::Refine ? c.factor[a] : 1;
          const std::int64_t end = a == 0 ? (number % 2 == 0 ? kMin / f : kMax / f) : 0;
          v[a] = static_cast<std::int32_t>(
              std::clamp<std::int64_t>(end + draw.between(-2, 2), kMin, kMax));
        }
        list.push_back({v[0], v[1], v[2]});
      }
      make_canonical(list);
    }
    const auto first = reference_answer(c), second = brute_force_answer(c);
    refused += std::holds_alternative<Error>(first);
    expect_alike(c, first, second);
    ASSERT_FALSE(HasFailure()) << "seed " << seed << ", case " << number;
  }
  EXPECT_GT(refused, 50);
  EXPECT_LT(refused, 290);
}

}  // namespace
}  // namespace leafproof::tests
