// Shrinking reaches the known minimum of planted faults from every case that shows them; what it
// prints fails again: the case, the replay line, the GoogleTest, the vector. Edits keep a case one.
#include "oracle/shrink.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "oracle/case_edit.h"
#include "oracle/case_text.h"
#include "oracle/choice_source.h"
#include "oracle/generate.h"
#include "oracle/judge.h"
#include "oracle/layout_view.h"
#include "oracle/report.h"
#include "oracle/smallest.h"
#include "oracle/vector_writer.h"
#include "oracle/vectors.h"
#include "reference/canonical_order.h"
#include "tests/case_support.h"

namespace leafproof::oracle {
namespace {

using reference::floor_div;

const Backend& reference_backend() {
  static const auto backend = make_backend("reference");
  return *backend;
}

/// The reference with a fault.
class Faulty : public Backend {
 public:
  using Fault = std::function<Answer(const Case&, const Backend& right)>;
  explicit Faulty(Fault fault) : fault_(std::move(fault)) {}
  std::string_view name() const override { return "faulty"; }
  std::string_view description() const override { return "a planted fault"; }
  Answer answer(const Case& c) const override { return fault_(c, reference_backend()); }

 private:
  Fault fault_;
};

bool fails(const Case& c, const Backend& backend) {
  return judge(c, reference_backend(), backend).outcome == Outcome::Different;
}

/// A change of the voxels that an answer holds.
Answer with_members(Answer answer, const std::function<void(std::vector<Voxel>&)>& change) {
  const auto* layout = std::get_if<Layout>(&answer);
  if (layout == nullptr) return answer;
  Batch batch = batch_of(*layout);
  for (auto& member : batch.members) {
    change(member);
    reference::make_canonical(member);
  }
  return reference::layout_of(batch);
}

struct Planted {
  const char* name;
  Op op;
  std::vector<std::string> smallest;  // one of these is reached from every failing case
  Faulty::Fault fault;
};

bool same_leaf(const Voxel& a, const Voxel& b) {
  return (a.x >> 3) == (b.x >> 3) && (a.y >> 3) == (b.y >> 3) && (a.z >> 3) == (b.z >> 3);
}

const std::vector<Planted>& planted() {
  static const std::vector<Planted> all{
      {"the last voxel of a leaf is lost",
       Op::Prune,
       {"case1 prune source=[0,0,0] mask=[1]"},
       [](const Case& c, const Backend& right) {
         return with_members(right.answer(c), [](std::vector<Voxel>& voxels) {
           std::vector<Voxel> kept;
           for (std::size_t i = 0; i + 1 < voxels.size(); ++i)
             if (same_leaf(voxels[i], voxels[i + 1])) kept.push_back(voxels[i]);
           voxels = kept;
         });
       }},
      {"floor as trunc",
       Op::Coarsen,
       {"case1 coarsen factor=1,1,2 source=[0,0,-1]"},
       [](const Case& c, const Backend& right) {
         const Answer answer = right.answer(c);
         if (!std::holds_alternative<Layout>(answer)) return answer;
         Case truncated = c;
         for (auto& member : truncated.source.members) {
           for (Voxel& v : member)
             v = {static_cast<std::int32_t>(v.x / c.factor[0]),
                  static_cast<std::int32_t>(v.y / c.factor[1]),
                  static_cast<std::int32_t>(v.z / c.factor[2])};
           reference::make_canonical(member);
         }
         truncated.factor = {1, 1, 1};
         const Answer wrong = right.answer(truncated);
         // The maps are right.
         Batch batch = batch_of(std::get<Layout>(wrong));
         batch.maps = batch_of(std::get<Layout>(answer)).maps;
         return Answer(reference::layout_of(batch));
       }},
      {"a leaf across a face is missing",
       Op::DilateBox,
       {"case1 dilate_box lo=0,0,-1 source=[0,0,0]", "case1 dilate_box hi=0,0,1 source=[0,0,-1]",
        "case1 dilate_box hi=0,0,8 source=[0,0,0]"},
       [](const Case& c, const Backend& right) {
         Answer answer = right.answer(c);
         if (c.view || !std::holds_alternative<Layout>(answer)) return answer;
         std::size_t m = 0;
         return with_members(std::move(answer), [&](std::vector<Voxel>& voxels) {
           const auto& source = c.source.members[m++];
           std::erase_if(voxels, [&](const Voxel& v) {
             return std::none_of(source.begin(), source.end(),
                                 [&](const Voxel& u) { return same_leaf(u, v); });
           });
         });
       }},
      {"repeats survive, which costs the voxel behind them",
       Op::FromIjk,
       {"case1 from_ijk source=[0,0,0;0,0,0]"},
       [](const Case& c, const Backend& right) {
         std::size_t m = 0;
         return with_members(right.answer(c), [&](std::vector<Voxel>& voxels) {
           const auto& list = c.source.members[m++];
           if (list.size() > voxels.size()) voxels.pop_back();
         });
       }},
      {"the last member is lost where it is empty",
       Op::Dual,
       {"case1 dual source=[]"},
       [](const Case& c, const Backend& right) {
         const Answer answer = right.answer(c);
         const auto* layout = std::get_if<Layout>(&answer);
         if (layout == nullptr) return answer;
         Batch batch = batch_of(*layout);
         if (batch.size() > 0 && batch.members.back().empty()) {
           batch.members.pop_back();
           batch.maps.pop_back();
           batch.names.pop_back();
         }
         return Answer(reference::layout_of(batch));
       }},
      {"a view reads the physical order",
       Op::ErodeBox,
       {"case1 erode_box source=[][0,0,0] view=1", "case1 erode_box source=[0,0,0][] view=1"},
       [](const Case& c, const Backend& right) {
         const Answer answer = right.answer(c);
         const auto* layout = std::get_if<Layout>(&answer);
         if (layout == nullptr || !c.view) return answer;
         Case physical = c;
         for (std::size_t i = 0; i < c.view->size(); ++i)
           (*physical.view)[i] = static_cast<std::int64_t>(i % c.source.size());
         Batch batch = batch_of(*layout);  // maps and names are right
         batch.members = batch_of(std::get<Layout>(right.answer(physical))).members;
         return Answer(reference::layout_of(batch));
       }},
      {"a factor of three is taken for two",
       Op::Refine,
       {"case1 refine factor=1,1,3 source=[0,0,0]"},
       [](const Case& c, const Backend& right) {
         Case other = c;
         for (auto& f : other.factor) f = f == 3 ? 2 : f;
         const Answer answer = right.answer(c), wrong = right.answer(other);
         if (!std::holds_alternative<Layout>(answer) || !std::holds_alternative<Layout>(wrong))
           return answer;
         Batch batch = batch_of(std::get<Layout>(answer));  // maps and names are right
         batch.members = batch_of(std::get<Layout>(wrong)).members;
         return Answer(reference::layout_of(batch));
       }},
      {"a factor of 1024 and more is not refused",
       Op::Refine,
       {"case1 refine factor=1,1,1025 source=-"},
       [](const Case& c, const Backend& right) {
         const Answer answer = right.answer(c);
         const auto* error = std::get_if<Error>(&answer);
         return error && error->kind() == ErrorKind::Unsupported ? Answer(Layout{}) : answer;
       }},
      {"taps are mirrored",
       Op::KernelMap,
       {"case1 kernel_map kernel_size=1,1,2 source=[0,0,0]"},
       [](const Case& c, const Backend& right) {
         Answer answer = right.answer(c);
         auto* map = std::get_if<KernelMapAnswer>(&answer);
         if (map == nullptr) return answer;
         reference::KernelMap mirrored;
         mirrored.source_rows = map->map.source_rows;
         mirrored.target_rows = map->map.target_rows;
         for (std::size_t t = map->map.offsets.size() - 1; t-- > 0;) {
           const auto from = map->map.offsets[t], to = map->map.offsets[t + 1];
           for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i) {
             mirrored.gather.push_back(map->map.gather[i]);
             mirrored.scatter.push_back(map->map.scatter[i]);
           }
           mirrored.offsets.push_back(static_cast<std::int64_t>(mirrored.gather.size()));
         }
         map->map = mirrored;
         return answer;
       }},
      {"a target as large as the source is taken for it",
       Op::KernelMap,
       {"case1 kernel_map source=[0,0,0] target=[0,0,-1]"},
       [](const Case& c, const Backend& right) {
         Case other = c;
         if (c.target && !c.view && c.target->size() == c.source.size()) {
           bool equal = true;
           for (std::size_t m = 0; m < c.source.size(); ++m)
             equal = equal && c.source.members[m].size() == c.target->members[m].size();
           if (equal) other.target = c.source;
         }
         return right.answer(other);
       }},
      {"the bias is added twice",
       Op::Convolution,
       {"case1 convolution source=[] target=[0,0,0] features=0x1: weights=1x1x1x1x1:0 bias=1:-1",
        "case1 convolution source=[0,0,0] features=1x1:0 weights=1x1x1x1x1:0 bias=1:-1"},
       [](const Case& c, const Backend& right) {
         Case other = c;
         if (other.operands.bias)
           for (double& x : other.operands.bias->values) x *= 2;
         return right.answer(other);
       }},
      {"channels in and out are exchanged",
       Op::ConvolutionGradients,
       {"case1 convolution_gradients source=[0,0,0] features=1x2:0,0 "
        "weights=2x2x1x1x1:0,-1,0,0 grad_output=1x2:0,-1",
        "case1 convolution_gradients source=[0,0,0] features=1x2:0,0 "
        "weights=2x2x1x1x1:0,0,-1,0 grad_output=1x2:0,-1",
        // As small; the one number cannot move without the other.
        "case1 convolution_gradients source=[0,0,0] features=1x2:0,0 "
        "weights=2x2x1x1x1:0,0,-1,0 grad_output=1x2:-1,0",
        "case1 convolution_gradients source=[0,0,0] features=1x2:0,0 "
        "weights=2x2x1x1x1:0,-1,0,0 grad_output=1x2:-1,0",
        // Without its other tap the target would have to move at once.
        "case1 convolution_gradients kernel_size=1,1,2 source=[0,0,0] target=[0,0,-1] "
        "features=1x2:0,0 weights=2x2x1x1x2:0,0,0,0,0,-1,0,0 grad_output=1x2:0,-1"},
       [](const Case& c, const Backend& right) {
         Case other = c;
         auto& w = other.operands.weights;
         if (w.shape.size() == 5 && w.shape[0] == w.shape[1]) {
           const auto n = static_cast<std::size_t>(w.shape[0]);
           const std::size_t taps = w.values.size() / std::max<std::size_t>(1, n * n);
           for (std::size_t a = 0; a < n; ++a)
             for (std::size_t b = 0; b < a; ++b)
               for (std::size_t t = 0; t < taps; ++t)
                 std::swap(w.values[(a * n + b) * taps + t], w.values[(b * n + a) * taps + t]);
         }
         return right.answer(other);
       }},
  };
  return all;
}

class Shrink : public testing::TestWithParam<std::size_t> {};

TEST_P(Shrink, ReachesTheKnownMinimumFromEveryCaseThatFails) {
  const Planted& fault = planted()[GetParam()];
  const Faulty faulty(fault.fault);
  std::int64_t failing = 0;
  for (std::uint64_t number = 0; number < 1500 && failing < 12; ++number) {
    const Case start = generate(fault.op, 31, number);
    if (!fails(start, faulty)) continue;
    ++failing;
    const Shrunk shrunk = shrink(start, [&](const Case& c) { return fails(c, faulty); });
    EXPECT_TRUE(fails(shrunk.question, faulty)) << start.id;
    EXPECT_TRUE(shrunk.finished) << start.id;
    EXPECT_EQ(shrunk.question.id, start.id);
    EXPECT_GE(shrunk.tries, shrunk.steps);
    EXPECT_EQ(
        std::count(fault.smallest.begin(), fault.smallest.end(), write_case_text(shrunk.question)),
        1)
        << fault.name << ", " << start.id << ": " << write_case_text(shrunk.question);
  }
  EXPECT_GE(failing, 5) << fault.name;
}

INSTANTIATE_TEST_SUITE_P(Faults, Shrink, testing::Range<std::size_t>(0, planted().size()));

const Planted& named(const std::string& name) {
  for (const Planted& fault : planted())
    if (fault.name == name) return fault;
  throw std::logic_error(name);
}

/// The first generated case that a fault shows in.
Case failing_case(const Planted& fault, const Backend& faulty) {
  for (std::uint64_t number = 0;; ++number) {
    Case c = generate(fault.op, 31, number);
    if (fails(c, faulty)) return c;
  }
}

TEST(Shrink, IsDeterministicAndBounded) {
  const Planted& fault = named("taps are mirrored");
  const Faulty faulty(fault.fault);
  const Case start = failing_case(fault, faulty);
  std::int64_t asked = 0;
  const auto ask = [&](const Case& c) {
    ++asked;
    return fails(c, faulty);
  };
  const Shrunk one = shrink(start, ask), two = shrink(start, ask);
  EXPECT_TRUE(tests::SameCase::same(one.question, two.question));
  EXPECT_EQ(one.tries, two.tries);
  EXPECT_EQ(asked, one.tries + two.tries);
  asked = 0;
  const Shrunk cut = shrink(start, ask, 3);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(cut.tries, 3);
  EXPECT_FALSE(cut.finished);
  const Shrunk none = shrink(start, ask, 0);
  EXPECT_TRUE(tests::SameCase::same(none.question, start));
  EXPECT_FALSE(none.finished);
}

TEST(Shrink, ACaseWithoutAWrittenFormStaysAsItIs) {
  Case c;
  c.source.members.resize(1);  // without a map
  const Shrunk shrunk = shrink(c, [](const Case&) { return true; });
  EXPECT_EQ(shrunk.tries, 0);
  EXPECT_FALSE(shrunk.finished);
  EXPECT_EQ(shrunk.question.source.size(), 1u);
}

// Whatever is true of a case is shrunk to the least of which it is true.
// lengths-total-only: flags and voxels of different members go together.
TEST(Shrink, OfAMaskOfWhichTheTotalIsRightOneFlagIsLeft) {
  Case c;
  c.op = Op::Prune;
  for (const int voxels : {3, 0, 8}) {
    std::vector<Voxel> member;
    for (int i = 0; i < voxels; ++i) member.push_back({0, 0, 5 * i});
    c.source.members.push_back(std::move(member));
  }
  c.source.maps.resize(3);
  c.source.names.resize(3);
  c.mask = Masks{{1, 0, 1, 1, 0, 1, 0, 0}, {}, {1, 1, 0}};
  const auto total_alone = [](const Case& question) {
    if (!question.mask || question.mask->size() != question.source.size()) return false;
    std::size_t voxels = 0, flags = 0;
    bool fits = true;
    for (std::size_t m = 0; m < question.source.size(); ++m) {
      voxels += question.source.members[m].size();
      flags += (*question.mask)[m].size();
      fits = fits && question.source.members[m].size() == (*question.mask)[m].size();
    }
    return voxels == flags && !fits;
  };
  const Shrunk shrunk = shrink(c, total_alone, 1500);
  EXPECT_TRUE(shrunk.finished);
  EXPECT_EQ(voxels_on(shrunk.question, Side::Source), 1u) << write_case_text(shrunk.question);
  EXPECT_EQ(shrunk.question.source.size(), 2u);
}

TEST(Shrink, KeepsThePhaseAndWhatThePredicateAsks) {
  const Case start = read_case_text(
      "case1 refine factor=3,5,2 source=[-40000,70000,123456;4099,12345,-7][][1,2,3] "
      "mask=[10][][1] source_names=a,b,c");
  const auto odd_phase = [](const Case& c) {
    for (const auto& member : c.source.members)
      for (const Voxel& v : member)
        if (((v.x % 8) + 8) % 8 == 3 && v.y < 0) return true;
    return false;
  };
  EXPECT_FALSE(odd_phase(start));
  Case moved = start;
  map_voxels(moved, Side::Source, [](const Voxel& v) { return Voxel{v.x, v.y - 80000, v.z}; });
  EXPECT_TRUE(odd_phase(moved));
  const Shrunk shrunk = shrink(moved, odd_phase);
  EXPECT_EQ(write_case_text(shrunk.question), "case1 refine source=[3,-1,0]");
}

// --- what is printed
// ------------------------------------------------------------------------------

// The text that google_test() makes of the case below, between these two lines, compiles and runs.
// begin
TEST(Leafproof, RefineOnHostMask) {
  using namespace leafproof::oracle;
  const Case question = read_case_text("case1 refine factor=2 source=[0,0,0]");
  const auto reference = make_backend("reference"), candidate = make_backend("host-mask");
  const Verdict verdict = judge(question, *reference, *candidate);
  EXPECT_TRUE(verdict.ok()) << text_verdict(verdict);
}
// end

TEST(Smallest, TheGoogleTestIsOneThatCompiles) {
  const auto words = [](std::string text) {  // however it is laid out
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    return text;
  };
  std::ifstream file(LEAFPROOF_SOURCE_DIR "/tests/shrink_test.cc");
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  const std::string test =
      google_test(read_case_text("case1 refine factor=2 source=[0,0,0]"), "host-mask");
  const std::string body = words(test.substr(test.find("TEST(")));
  EXPECT_NE(words(source).find("//begin" + body + "//end"), std::string::npos) << test;
}

TEST(Smallest, EverythingThatIsPrintedFailsAgain) {
  int vectors = 0;
  for (const Planted& fault : planted()) {
    SCOPED_TRACE(fault.name);
    const Faulty faulty(fault.fault);
    const Case start = failing_case(fault, faulty);
    const auto found = smallest_of(start, reference_backend(), faulty, 4000);
    ASSERT_TRUE(found);
    const Smallest& smallest = *found;
    EXPECT_TRUE(smallest.finished);
    EXPECT_EQ(smallest.verdict.outcome, Outcome::Different);
    const Case again = read_case_text(smallest.text);
    EXPECT_TRUE(fails(again, faulty));
    EXPECT_EQ(smallest.replay, "leafproof replay --backend faulty '" + smallest.text + "'");
    EXPECT_NE(smallest.test.find(smallest.text), std::string::npos);
    if (smallest.vector.starts_with("none: ")) {
      ADD_FAILURE() << smallest.vector;
      continue;
    }
    const auto path = std::filesystem::temp_directory_path() /
                      ("leafproof_shrink_" + std::to_string(getpid()) + ".json");
    std::ofstream(path) << smallest.vector;
    const auto read = read_vectors(path);
    std::filesystem::remove(path);
    ASSERT_EQ(read.size(), 1u);
    EXPECT_TRUE(judge_on(read[0], reference_backend()).ok()) << smallest.vector;
    EXPECT_FALSE(judge_on(read[0], faulty).ok()) << smallest.vector;
    ++vectors;
  }
  EXPECT_EQ(vectors, static_cast<int>(planted().size()));
}

TEST(Smallest, AVectorSaysWhatItHasNoPlaceFor) {
  const auto refused = [](const char* text, const char* argument) {
    try {
      write_vector(read_case_text(text), reference_backend());
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
      EXPECT_EQ(error.detail().argument, argument) << text;
    }
  };
  refused("case1 dual source=[] source_maps=2,2,2@0,0,0", "source");
  refused("case1 dual source=[] source_names=a", "source");
  refused("case1 kernel_map source=[0,0,0] dense=true", "dense");
  refused("case1 submanifold_index_map dilation=2 source=[0,0,0]", "stride");
  refused("case1 from_points source=[] points=[nan,0,0]", "points");
  refused("case1 convolution source=[0,0,0] features=1x1:0.5 weights=1x1x1x1x1:1", "features");
  refused("case1 convolution type=int32 source=[0,0,0] features=1x1:1 weights=1x1x1x1x1:1", "type");
}

// --- edits
// ----------------------------------------------------------------------------------------

/// A random edit of every kind, applied over and over, leaves a case that is one: its parts fit
/// each other where they did.
TEST(CaseEdit, EditsKeepTheParts) {
  for (const Op op : generated_ops())
    for (std::uint64_t number = 0; number < 40; ++number) {
      Case c = generate(op, 3, number);
      if (std::holds_alternative<Error>(reference_backend().answer(c))) continue;
      const bool has_gradient = has_fitting_gradient(c);
      ChoiceSource r{number, static_cast<std::uint64_t>(op)};
      for (int edit = 0; edit < 12; ++edit) {
        const auto any = [&](std::size_t n) {
          return static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(n)));
        };
        const Side side = r.pick({Side::Source, Side::Other, Side::Target});
        const std::size_t a = any(2), b = any(2);
        switch (r.between(0, 8)) {
          case 0:
            if (batch_on(c, side)) drop_voxels(c, side, any(voxels_on(c, side)), any(9));
            break;
          case 1:
            drop_positions(c, any(positions(c)), any(2));
            break;
          case 2:
            drop_unread_member(c, any(4));
            break;
          case 3:
            resolve_view(c);
            break;
          case 4:
            drop_points(c, any(points_in(c)), any(9));
            break;
          case 5:
            if (op == Op::SubmanifoldIndexMap) break;  // which takes no even one
            cut_kernel(c, a, r.between(1, c.kernel.size[a]), r.one_in(2));
            break;
          case 6:
            exchange_axes(c, a, b);
            break;
          case 7:
            drop_channel(c, r.one_in(2), r.between(0, 4));
            break;
          default:
            if (batch_on(c, side))
              map_voxels(c, side, [](const Voxel& v) { return Voxel{v.x / 2, v.y, -(v.z / 2)}; });
        }
        if (has_gradient) fit_gradient(c);
        SCOPED_TRACE(c.id);
        // It is a case: it has a written form, and is still answered, not refused for its shapes.
        EXPECT_TRUE(tests::SameCase::same(c, read_case_text(write_case_text(c))));
        const Answer answer = reference_backend().answer(c);
        const auto* error = std::get_if<Error>(&answer);
        EXPECT_TRUE(error == nullptr || error->kind() == ErrorKind::OutOfRange) << error->what();
      }
    }
}

TEST(CaseEdit, RowsAndWeightsGoWithWhatTheyBelongTo) {
  Case c = read_case_text(
      "case1 convolution kernel_size=1,2,3 source=[0,0,0;0,0,1;0,0,5][0,0,9] view=1,0 "
      "features=4x1:1,2,3,4 weights=1x1x1x2x3:1,2,3,4,5,6 target=[0,0,0][0,0,1]");
  drop_voxels(c, Side::Source, 1, 1);  // (0,0,1) of member 0, which is read second
  EXPECT_EQ(c.operands.features.values, (std::vector<double>{1, 2, 4}));
  cut_kernel(c, 2, 2, /*keep_first=*/false);
  EXPECT_EQ(c.operands.weights.values, (std::vector<double>{2, 3, 5, 6}));
  exchange_axes(c, 1, 2);
  EXPECT_EQ(c.operands.weights.values, (std::vector<double>{2, 5, 3, 6}));
  EXPECT_EQ(c.kernel.size, (Triple{1, 2, 2}));
  EXPECT_EQ(c.source.members[0], (std::vector<Voxel>{{0, 0, 0}, {0, 5, 0}}));
  drop_positions(c, 0, 1);
  EXPECT_EQ(c.operands.features.values, (std::vector<double>{2, 4}));
  EXPECT_EQ(c.view, std::vector<std::int64_t>{0});
  EXPECT_EQ(c.target->size(), 1u);
  drop_unread_member(c, 1);
  EXPECT_EQ(c.source.size(), 1u);
}

}  // namespace
}  // namespace leafproof::oracle
