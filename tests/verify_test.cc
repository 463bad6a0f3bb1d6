// The driver itself is judged: planted faults are caught and can be replayed, and what was not
// implemented, not reached or left out fails. Verdicts do not depend on the number of threads.
#include "oracle/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <stdexcept>

#include "oracle/boxed_backend.h"
#include "oracle/compare_conv.h"
#include "oracle/generate.h"
#include "oracle/layout_view.h"
#include "oracle/ledger.h"

namespace leafproof::oracle {
namespace {

/// The reference's answers, changed by a fault.
class Faulty : public Backend {
 public:
  using Fault = std::function<Answer(const Case&, Answer)>;
  Faulty(std::string name, Fault fault)
      : name_(std::move(name)), fault_(std::move(fault)), inner_(make_backend("reference")) {}
  std::string_view name() const override { return name_; }
  std::string_view description() const override { return "a planted fault"; }
  Answer answer(const Case& c) const override { return fault_(c, inner_->answer(c)); }

 private:
  std::string name_;
  Fault fault_;
  std::unique_ptr<Backend> inner_;
};

/// A fault in the batch that an answer holds.
Answer with_batch(Answer answer, const std::function<void(Batch&)>& change) {
  if (const auto* layout = std::get_if<Layout>(&answer)) {
    Batch batch = batch_of(*layout);
    change(batch);
    return reference::layout_of(batch);
  }
  return answer;
}

const Backend& reference_backend() {
  static const auto backend = make_backend("reference");
  return *backend;
}

VerifyOptions options(std::vector<Op> ops, std::int64_t cases = 64) {
  VerifyOptions result;
  result.ops = std::move(ops);
  result.cases = cases;
  return result;
}

Verification judge(const Backend& backend, const VerifyOptions& with,
                   const std::vector<Scene>& scenes = {}) {
  return verify(reference_backend(), {&backend}, scenes, with);
}

Scene small_scene() {
  Scene scene;
  scene.name = "small";
  scene.replay = "--input small.npz";
  scene.batch.members = {{{-1, -1, -1}, {0, 0, 0}, {0, 0, 1}, {7, 7, 7}}, {}, {{4096, 0, 0}}};
  scene.batch.maps.resize(3);
  scene.batch.names = {"a", "b", "c"};
  return scene;
}

TEST(Verify, ThePerfectBackendPassesEveryOperationAndScenePass) {
  const Faulty perfect("perfect", [](const Case&, Answer answer) { return answer; });
  const Verification v = judge(perfect, options(generated_ops()), {small_scene()});
  EXPECT_TRUE(v.ok);
  EXPECT_EQ(v.faults, std::vector<std::string>{});
  EXPECT_EQ(v.report.failures.size(), 0u);
  ASSERT_EQ(v.report.rows.size(), 2 * generated_ops().size());
  std::int64_t scene_cases = 0;
  for (const Row& row : v.report.rows) {
    EXPECT_EQ(row.equal, row.cases) << row.operation;
    if (row.input == "generated") {
      EXPECT_EQ(row.cases, 64);
      EXPECT_EQ(row.touched.size(), 6u) << row.operation;
      EXPECT_GT(row.refused, 0) << row.operation;
      EXPECT_GT(row.voxels, 0) << row.operation;
    } else {
      EXPECT_EQ(row.input, "small");
      scene_cases += row.cases;
    }
  }
  EXPECT_EQ(scene_cases, static_cast<std::int64_t>(scene_passes().size()));
}

TEST(Verify, TheBuilderPassesWhereItIsBuilt) {
  const auto names = backend_names();
  if (std::find(names.begin(), names.end(), "host-mask") == names.end())
    GTEST_SKIP() << "this build has no host builder";
  const auto sort = make_backend("host-sort"), mask = make_backend("host-mask");
  const Verification v = verify(reference_backend(), {sort.get(), mask.get()}, {small_scene()},
                                options(topology_ops(), 128));
  EXPECT_TRUE(v.ok);
  for (const Failure& failure : v.report.failures)
    ADD_FAILURE() << failure.replay << ": " << failure.verdict.first->what;
  for (const std::string& fault : v.faults) ADD_FAILURE() << fault;
}

TEST(Verify, TheReferencesAgree) {
  const auto brute_force = make_boxed(make_backend("brute_force"), std::int64_t{1} << 20);
  const Verification v =
      judge(*brute_force, options(topology_ops(), 256), {cropped(small_scene(), 16)});
  EXPECT_TRUE(v.ok);
  for (const Failure& failure : v.report.failures)
    ADD_FAILURE() << failure.replay << ": " << failure.verdict.first->what;
  for (const Row& row : v.report.rows) EXPECT_GT(row.equal, 0) << row.operation << row.input;
}

struct Planted {
  const char* name;
  Faulty::Fault fault;
};

class PlantedFault : public testing::TestWithParam<Planted> {};

TEST_P(PlantedFault, IsCaughtInEveryOperationAndReplayed) {
  const Faulty faulty(GetParam().name, GetParam().fault);
  const Verification v = judge(faulty, options(topology_ops()));
  EXPECT_FALSE(v.ok);
  for (const Row& row : v.report.rows) EXPECT_GT(row.different, 0) << row.operation;
  ASSERT_FALSE(v.report.failures.empty());
  for (const Failure& failure : v.report.failures) {
    EXPECT_EQ(failure.verdict.outcome, Outcome::Different);
    ASSERT_TRUE(failure.verdict.first);
    // The replay is one case of one operation, and it fails again.
    const std::string key = " --case ";
    const auto at = failure.replay.find(key);
    ASSERT_NE(at, std::string::npos) << failure.replay;
    VerifyOptions replay = options({*parse_op(failure.operation)});
    replay.only_case = std::stoull(failure.replay.substr(at + key.size()));
    const Verification again = judge(faulty, replay);
    EXPECT_FALSE(again.ok) << failure.replay;
    ASSERT_EQ(again.report.rows.size(), 1u);
    EXPECT_EQ(again.report.rows[0].cases, 1);
    EXPECT_EQ(again.report.rows[0].different, 1) << failure.replay;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, PlantedFault,
    testing::Values(Planted{"last_voxel_lost",
                            [](const Case&, Answer a) {
                              return with_batch(std::move(a), [](Batch& b) {
                                for (auto& member : b.members)
                                  if (!member.empty()) member.pop_back();
                              });
                            }},
                    Planted{"trailing_empty_dropped",
                            [](const Case&, Answer a) {
                              return with_batch(std::move(a), [](Batch& b) {
                                if (b.size() == 0 || !b.members.back().empty()) return;
                                b.members.pop_back();
                                b.maps.pop_back();
                                b.names.pop_back();
                              });
                            }},
                    Planted{"map_of_first",
                            [](const Case&, Answer a) {
                              return with_batch(std::move(a), [](Batch& b) {
                                for (auto& map : b.maps) map = b.maps.front();
                              });
                            }},
                    Planted{"members_exchanged",
                            [](const Case&, Answer a) {
                              return with_batch(std::move(a), [](Batch& b) {
                                if (b.size() > 1) std::swap(b.members.front(), b.members.back());
                              });
                            }},
                    Planted{"tiles_unsigned",
                            [](const Case&, Answer a) {
                              if (auto* layout = std::get_if<Layout>(&a))
                                for (auto& grid : layout->grids)
                                  std::sort(
                                      grid.tiles.begin(), grid.tiles.end(),
                                      [](const auto& l, const auto& r) { return l.key < r.key; });
                              return a;
                            }},
                    Planted{"prefix_sum_of_full_words",
                            [](const Case&, Answer a) {
                              if (auto* layout = std::get_if<Layout>(&a))
                                for (auto& grid : layout->grids)
                                  for (auto& leaf : grid.leaves)
                                    leaf.prefix_sum &= ~std::uint64_t{0x1ff};
                              return a;
                            }},
                    Planted{"mask_offset_base",
                            [](const Case&, Answer a) {
                              if (auto* layout = std::get_if<Layout>(&a))
                                for (auto& grid : layout->grids)
                                  for (auto& leaf : grid.leaves) --leaf.offset;
                              return a;
                            }},
                    Planted{"never_refuses",
                            [](const Case&, Answer a) -> Answer {
                              if (std::holds_alternative<Error>(a)) return Layout{};
                              return a;
                            }},
                    Planted{"another_kind",
                            [](const Case&, Answer a) -> Answer {
                              if (std::holds_alternative<Error>(a))
                                return Error(ErrorKind::Corrupt, {"", "", "", "", {}, {}});
                              return a;
                            }},
                    Planted{"throws",
                            [](const Case& c, Answer a) -> Answer {
                              if (c.source.size() == 3) throw std::runtime_error("crash");
                              return a;
                            }},
                    Planted{"buffer_of_nonsense",
                            [](const Case&, Answer a) -> Answer {
                              if (!std::holds_alternative<Layout>(a)) return a;
                              static const std::vector<std::byte> zeros(1024);
                              return GridBuffer{nullptr, zeros, {0, 1024}};
                            }},
                    Planted{"one_byte_in_a_buffer",
                            [](const Case&, Answer a) -> Answer {
                              const auto* layout = std::get_if<Layout>(&a);
                              if (layout == nullptr || layout->grids.empty()) return a;
                              const GridBuffer good = write_layout(*layout);
                              auto bytes = std::make_shared<std::vector<std::byte>>(
                                  good.bytes.begin(), good.bytes.end());
                              bytes->at(652) =
                                  std::byte{1};  // mData0 of the first grid: statistics zero
                              return GridBuffer{bytes, *bytes, good.offsets};
                            }}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Verify, AFaultOnRealInputAloneIsCaughtAndNamesTheInput) {
  const Faulty faulty("real-only", [](const Case& c, Answer a) {
    if (c.comment != "real input") return a;
    return with_batch(std::move(a), [](Batch& b) {
      if (!b.members.empty()) b.members.back().clear();
    });
  });
  const Verification v = judge(faulty, options({Op::Refine}), {small_scene()});
  EXPECT_FALSE(v.ok);
  ASSERT_EQ(v.report.rows.size(), 2u);
  EXPECT_EQ(v.report.rows[0].different, 0);
  EXPECT_EQ(v.report.rows[1].different, 2) << "refine 2, and refine 1,2,3 masked";
  ASSERT_EQ(v.report.failures.size(), 2u);
  EXPECT_EQ(v.report.failures[0].replay,
            "leafproof verify --level 0 --ops refine --backend real-only --input small.npz");
  EXPECT_EQ(v.report.failures[0].expected_voxels.size(), 8u) << "the picture of (4096,0,0) refined";
  EXPECT_TRUE(v.report.failures[0].actual_voxels.empty());
}

TEST(Verify, NotImplementedFailsUnlessItIsSkipped) {
  const Faulty none("none", [](const Case& c, Answer a) -> Answer {
    if (c.op == Op::Dual) return NotImplemented{"later"};
    return a;
  });
  VerifyOptions with = options({Op::Dual, Op::Merge});
  Verification v = judge(none, with);
  EXPECT_FALSE(v.ok);
  ASSERT_EQ(v.faults.size(), 1u);
  EXPECT_NE(v.faults[0].find("dual on none"), std::string::npos) << v.faults[0];
  EXPECT_NE(v.faults[0].find("later"), std::string::npos) << v.faults[0];
  EXPECT_TRUE(std::any_of(v.report.notes.begin(), v.report.notes.end(), [&](const auto& note) {
    return note.find(v.faults[0]) != std::string::npos;
  })) << "the report says so too";

  with.skips = {{Op::Dual, "other"}};
  EXPECT_FALSE(judge(none, with).ok) << "a skip for another backend";
  with.skips = {{Op::Merge, ""}};
  EXPECT_FALSE(judge(none, with).ok) << "a skip of another operation";
  with.skips = {{Op::Dual, "none"}};
  v = judge(none, with);
  EXPECT_TRUE(v.ok);
  EXPECT_EQ(v.report.rows[0].not_implemented, 64) << "skipped, and still counted";
}

TEST(Verify, OnlyBruteForceHasAStatedLimitAndMustCompareSomething) {
  const auto small_box = [](const Case& c, Answer a) -> Answer {
    if (c.source.size() > 2) return NotImplemented{"the bitmap does not suffice"};
    return a;
  };
  EXPECT_TRUE(judge(Faulty("brute_force", small_box), options({Op::Dual})).ok);
  EXPECT_FALSE(judge(Faulty("host", small_box), options({Op::Dual})).ok);
  const auto no_box = [](const Case&, Answer) -> Answer {
    return NotImplemented{"the bitmap does not suffice"};
  };
  const Verification v = judge(Faulty("brute_force", no_box), options({Op::Dual}));
  EXPECT_FALSE(v.ok);
  ASSERT_EQ(v.faults.size(), 1u);
  EXPECT_NE(v.faults[0].find("nothing was compared"), std::string::npos) << v.faults[0];
  const auto refuses = [](const Case&, Answer) -> Answer { return NotImplemented{"no"}; };
  EXPECT_FALSE(judge(Faulty("brute_force", refuses), options({Op::Dual})).ok)
      << "another reason than its box";
}

TEST(Verify, ABoundaryClassThatIsNotReachedFails) {
  const Faulty perfect("perfect", [](const Case&, Answer answer) { return answer; });
  const Verification v = judge(perfect, options({Op::Refine}, 1));
  EXPECT_FALSE(v.ok);
  ASSERT_FALSE(v.faults.empty());
  EXPECT_NE(v.faults[0].find("no case reached the class"), std::string::npos);
}

TEST(Verify, APromisedClassThatIsNotReachedFails) {
  const Faulty perfect("perfect", [](const Case&, Answer answer) { return answer; });
  const Verification v = judge(perfect, options({Op::FromIjk}));
  EXPECT_TRUE(v.ok);
  const Row& row = v.report.rows.at(0);
  EXPECT_GE(row.promised.size(), 4u);
  EXPECT_GT(row.classes.at("repeats"), 12);
  EXPECT_GT(row.classes.at("family leaf"), 0);
  EXPECT_FALSE(row.classes.contains("factor 1")) << "from_ijk has no factor";
  EXPECT_NE(text_report(v.report).find("classes of cases: "), std::string::npos);
  EXPECT_NE(json_report(v.report).find("\"repeats\": "), std::string::npos);
  // More cases promise more.
  EXPECT_GT(promised(Op::Refine, 512).count(), promised(Op::Refine, 64).count());
  EXPECT_EQ(promised(Op::Refine, 5).count(), 0u);
}

TEST(Verify, ShardsAreTheSweepEachCaseOnce) {
  std::multiset<std::string> whole, parts;
  const auto run = [&](VerifyOptions::Shard shard, std::multiset<std::string>& asked) {
    const Faulty listener("listener", [&](const Case& c, Answer answer) {
      asked.insert(c.id);
      return answer;
    });
    VerifyOptions with = options({Op::Refine, Op::Merge, Op::KernelMap}, 65);
    with.threads = 1;
    with.shard = shard;
    const Verification v = judge(listener, with, {small_scene()});
    EXPECT_TRUE(v.ok) << text_report(v.report);
    return v;
  };
  run({1, 1}, whole);
  for (std::int64_t part = 1; part <= 7; ++part) {
    const Verification v = run({part, 7}, parts);
    EXPECT_TRUE(std::any_of(v.report.notes.begin(), v.report.notes.end(), [](const auto& note) {
      return note.find("of 7 of a sweep") != std::string::npos;
    }));
    for (const Row& row : v.report.rows) EXPECT_GT(row.cases, 0);
  }
  // Some are asked twice, the first time with something changed.
  EXPECT_EQ(std::set<std::string>(whole.begin(), whole.end()).size(), 3 * 65u + 4)
      << "and the passes on the scene";
  EXPECT_EQ(parts, whole);
}

TEST(Verify, TimeEndsASweepAndSaysWhatItLeftOut) {
  const Faulty perfect("perfect", [](const Case&, Answer answer) { return answer; });
  VerifyOptions with = options({Op::Refine, Op::Merge}, 1'000'000);
  with.threads = 1;
  with.seconds = 0.5;
  double now = 100;
  with.clock = [&now] { return now += 1.0 / 64; };  // a case takes as long, on any machine
  const Verification v = judge(perfect, with);
  ASSERT_EQ(v.report.rows.size(), 2u);
  // 31 cases, and the operations take turns.
  EXPECT_EQ(v.report.rows[0].cases, 16);
  EXPECT_EQ(v.report.rows[1].cases, 15);
  EXPECT_TRUE(std::any_of(v.report.notes.begin(), v.report.notes.end(), [](const auto& note) {
    return note.find("1999969 of 2000000 cases: 0.5 s were over") != std::string::npos;
  }));
  with.seconds = 1e-9;
  with.clock = nullptr;
  EXPECT_FALSE(judge(perfect, with).ok) << "nothing was compared";
}

TEST(Verify, FailFastBeginsNoCaseAfterTheFirstThatDiffers) {
  const Faulty faulty("faulty", [](const Case& question, Answer a) {
    return question.op == Op::Merge ? Answer(NotImplemented{"broken"}) : std::move(a);
  });
  const Faulty wrong("wrong", [](const Case&, Answer a) {
    return with_batch(std::move(a), [](Batch& b) { b.members.emplace_back(); });
  });
  VerifyOptions with = options({Op::Refine, Op::Merge}, 1000);
  with.threads = 1;
  with.fail_fast = true;
  const Verification first = judge(wrong, with);
  EXPECT_FALSE(first.ok);
  EXPECT_TRUE(first.faults.empty()) << "what was left out is no fault of its own";
  ASSERT_EQ(first.report.rows.size(), 2u);
  EXPECT_EQ(first.report.rows[0].different, 1);
  EXPECT_EQ(first.report.rows[0].cases, 1);
  EXPECT_EQ(first.report.rows[1].cases, 0);
  EXPECT_TRUE(std::any_of(first.report.notes.begin(), first.report.notes.end(), [](auto& note) {
    return note.find("1999 of 2000 cases: one differed") != std::string::npos;
  }));
  // Without a difference nothing is left out.
  with.cases = 20;
  const Verification whole = judge(faulty, with);
  EXPECT_EQ(whole.report.rows[0].equal, 20);
  EXPECT_FALSE(whole.ok) << "not implemented";
}

TEST(Verify, TheFirstFailureOfARowIsShrunk) {
  const Faulty faulty("faulty", [](const Case&, Answer a) {
    return with_batch(std::move(a), [](Batch& b) {
      for (auto& member : b.members)
        if (!member.empty()) member.pop_back();
    });
  });
  VerifyOptions with = options({Op::Prune, Op::Merge});
  const Verification v = judge(faulty, with);
  ASSERT_EQ(v.report.failures.size(), 6u);
  const auto& smallest = v.report.failures[0].smallest;
  ASSERT_TRUE(smallest);
  EXPECT_EQ(smallest->text, "case1 prune source=[0,0,0] mask=[1]");
  EXPECT_TRUE(smallest->finished);
  EXPECT_FALSE(v.report.failures[1].smallest) << "the first of a row alone";
  EXPECT_TRUE(v.report.failures[3].smallest);
  const std::string line = "leafproof replay --backend faulty 'case1 prune";
  EXPECT_NE(text_report(v.report).find(line), std::string::npos);
  EXPECT_NE(json_report(v.report).find(line), std::string::npos);
  EXPECT_NE(html_report(v.report).find("--backend faulty &#39;case1 prune"), std::string::npos);
  with.shrink_tries = 0;
  EXPECT_FALSE(judge(faulty, with).report.failures[0].smallest);
}

TEST(Verify, NothingToDoFails) {
  const Faulty perfect("perfect", [](const Case&, Answer answer) { return answer; });
  VerifyOptions none = options({Op::Refine}, 0);
  EXPECT_FALSE(judge(perfect, none).ok);
  none.cases.reset();
  none.level = 0;
  EXPECT_FALSE(judge(perfect, none).ok);
}

TEST(Verify, OptionsOutOfTheirRangeAreRefused) {
  const Faulty perfect("perfect", [](const Case&, Answer answer) { return answer; });
  VerifyOptions bad = options({Op::Refine});
  bad.level = 4;
  EXPECT_THROW(judge(perfect, bad), Error);
  bad = options({});
  EXPECT_THROW(judge(perfect, bad), Error);
  bad = options({Op::MapAfter});
  EXPECT_THROW(judge(perfect, bad), Error);
  bad = options({Op::Refine});
  bad.threads = 0;
  EXPECT_THROW(judge(perfect, bad), Error);
  bad = options({Op::Refine});
  for (const VerifyOptions::Shard shard :
       {VerifyOptions::Shard{0, 1}, VerifyOptions::Shard{2, 1}, VerifyOptions::Shard{1, 0}}) {
    bad.shard = shard;
    EXPECT_THROW(judge(perfect, bad), Error);
  }
  bad = options({Op::Refine});
  bad.seconds = 0;
  EXPECT_THROW(judge(perfect, bad), Error);
  EXPECT_THROW(verify(reference_backend(), {}, {}, options({Op::Refine})), Error);
}

TEST(Verify, AReferenceThatDoesNotAnswerIsAFaultOfTheHarness) {
  const Faulty mute("reference",
                    [](const Case&, Answer) -> Answer { return NotImplemented{"no"}; });
  const Faulty perfect("perfect", [](const Case&, Answer answer) { return answer; });
  EXPECT_THROW(verify(mute, {&perfect}, {}, options({Op::Refine})), std::logic_error);
}

TEST(Verify, TheVerdictsAreTheSameForAnyNumberOfThreads) {
  const Faulty faulty("faulty", [](const Case& c, Answer a) {
    if (c.source.size() % 2 == 0) return a;
    return with_batch(std::move(a), [](Batch& b) {
      for (auto& member : b.members) member.clear();
    });
  });
  const auto run = [&](int threads) {
    VerifyOptions with = options({Op::FromIjk, Op::Refine, Op::Merge});
    with.threads = threads;
    Report report = judge(faulty, with, {small_scene()}).report;
    for (Row& row : report.rows) row.seconds = 0;
    report.seconds = 0;
    return json_report(report);
  };
  const std::string one = run(1);
  EXPECT_EQ(run(2), one);
  EXPECT_EQ(run(5), one);
  EXPECT_NE(one.find("--case"), std::string::npos);
}

TEST(Verify, ProgressEndsAtItsTotal) {
  const Faulty perfect("perfect", [](const Case&, Answer answer) { return answer; });
  VerifyOptions with = options({Op::Dual}, 64);
  std::int64_t last = 0, calls = 0;
  with.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 64);
    EXPECT_GT(done, last);
    last = done;
    ++calls;
  };
  judge(perfect, with);
  EXPECT_EQ(last, 64);
  EXPECT_EQ(calls, 64);
}

TEST(ScenePasses, CoverEveryOperation) {
  for (const Op op : topology_ops())
    EXPECT_TRUE(std::any_of(scene_passes().begin(), scene_passes().end(),
                            [&](const ScenePass& pass) { return pass.op == op; }))
        << to_string(op);
}

// A builder in device memory answers numbers as well.
TEST(Verify, NumbersOverMapsInDeviceMemoryAreJudged) {
  const auto strict = make_backend("strict");
  const Verification v =
      judge(*strict, options({Op::Convolution, Op::ConvolutionGradients, Op::Coarsen}));
  ASSERT_EQ(v.report.rows.size(), 3u);
  EXPECT_TRUE(v.ok);
  for (const Row& row : v.report.rows) EXPECT_EQ(row.equal, row.cases) << row.operation;
}

TEST(ScenePasses, MakeQuestionsThatTheReferenceAnswers) {
  const Batch batch = small_scene().batch;
  for (const ScenePass& pass : scene_passes()) {
    const Case question = pass.make(batch);
    EXPECT_EQ(question.op, pass.op);
    const auto answered = [&](const Case& c) {
      const Answer answer = reference_backend().answer(c);
      return std::holds_alternative<Layout>(answer) || is_of_convolution(answer);
    };
    EXPECT_TRUE(answered(question)) << pass.name;
    EXPECT_TRUE(answered(pass.make(Batch{}))) << pass.name << " on no members";
  }
}

TEST(ScenePasses, ACropKeepsAWindowOfEachMember) {
  Scene scene = small_scene();
  const Scene crop = cropped(scene, 4);
  ASSERT_EQ(crop.batch.size(), 3u);
  EXPECT_EQ(crop.batch.members[0],
            (std::vector<Voxel>{{-1, -1, -1}, {0, 0, 0}, {0, 0, 1}}));  // around (0,0,1)
  EXPECT_EQ(crop.batch.members[1], std::vector<Voxel>{});
  EXPECT_EQ(crop.batch.members[2], scene.batch.members[2]);
}

}  // namespace
}  // namespace leafproof::oracle
