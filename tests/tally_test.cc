// A sweep in parts: written down, read back, gone on with and merged, it makes the very report of
// one process; what does not belong together is refused by name.
#include "oracle/tally.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "oracle/backend.h"
#include "oracle/layout_view.h"
#include "oracle/verify.h"

namespace leafproof::oracle {
namespace {

/// Of the reference's answers every grid without its last voxel where that has an odd x, every map
/// with a pair too many where it has an odd number of them; of some operations none at all.
class Faulty : public Backend {
 public:
  Faulty() : inner_(make_backend("reference")) {}
  std::string_view name() const override { return "faulty"; }
  std::string_view description() const override { return "planted faults"; }
  Answer answer(const Case& c) const override {
    Answer answer = inner_->answer(c);
    if (const auto* layout = std::get_if<Layout>(&answer)) {
      Batch batch = batch_of(*layout);
      if (c.op == Op::Merge) return NotImplemented{"merge"};
      if (batch.members.empty() || batch.members.back().empty()) return answer;
      if (batch.members.back().back().x % 2 != 0) batch.members.back().pop_back();
      return reference::layout_of(batch);
    }
    if (auto* map = std::get_if<KernelMapAnswer>(&answer)) {
      if (map->map.gather.empty() || map->map.gather.size() % 2 == 0) return answer;
      map->map.gather.push_back(map->map.gather.back());
      map->map.scatter.push_back(map->map.scatter.back());
      ++map->map.offsets.back();
    }
    return answer;
  }

 private:
  std::unique_ptr<Backend> inner_;
};

const Backend& reference_backend() {
  static const auto backend = make_backend("reference");
  return *backend;
}

Scene small_scene() {
  Scene scene;
  scene.name = "small";
  scene.batch.members = {{{-1, -1, -1}, {0, 0, 0}, {0, 0, 1}, {7, 7, 7}}, {}, {{4096, 0, 0}}};
  scene.batch.maps.resize(3);
  scene.batch.names = {"a", "b", "c"};
  return scene;
}

VerifyOptions options() {
  VerifyOptions options;
  options.ops = {Op::Refine, Op::Dual, Op::Merge, Op::KernelMap};
  options.cases = 40;
  options.seed = 7;
  options.shrink_tries = 60;
  options.version = "1.2.3";
  options.notes = {"a note of the caller"};
  return options;
}

Tally part_of(std::int64_t part, std::int64_t parts, VerifyOptions with = options()) {
  static const Faulty faulty;
  static const auto second = make_backend("reference");
  with.shard = {part, parts};
  return judge_part(reference_backend(), {&faulty, second.get()}, {small_scene()}, with);
}

/// As it comes back from a file.
Tally kept(const Tally& tally) {
  return read_tally(write_tally(tally), "part.json");
}

/// A report for machines without its times, and whether it passes.
std::string without_times(const Tally& tally) {
  const Verification v = conclude(tally);
  auto json = nlohmann::ordered_json::parse(json_report(v.report));
  json["seconds"] = 0;
  for (auto& row : json["rows"]) row["seconds"] = 0;
  return json.dump(1) + (v.ok ? " passes" : " fails") + testing::PrintToString(v.faults);
}

std::string refusal_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no refusal";
}

TEST(Tally, MergedPartsAreTheReportOfOneProcess) {
  const Tally whole = part_of(1, 1);
  const std::string expected = without_times(whole);
  const Verification v = conclude(whole);
  ASSERT_FALSE(v.ok);
  ASSERT_GE(v.report.failures.size(), 6u);  // there is something to merge
  ASSERT_GE(v.faults.size(), 1u);
  EXPECT_EQ(without_times(kept(whole)), expected);
  for (const std::int64_t parts : {2, 3, 7}) {
    std::vector<Tally> all;
    for (std::int64_t part = parts; part >= 1; --part) all.push_back(kept(part_of(part, parts)));
    EXPECT_EQ(without_times(merged(std::move(all))), expected) << parts << " parts";
  }
}

TEST(Tally, TheTextAndThePageOfMergedPartsAreThoseOfOneProcess) {
  const auto text = [](const Tally& tally) {
    Verification v = conclude(tally);
    v.report.seconds = 0;
    for (Row& row : v.report.rows) row.seconds = 0;
    return text_report(v.report) + html_report(v.report) + junit_report(v.report, v.faults);
  };
  EXPECT_EQ(text(merged({kept(part_of(1, 2)), kept(part_of(2, 2))})), text(part_of(1, 1)));
}

TEST(Tally, SkipsComeBackAndBelongToTheSweep) {
  VerifyOptions skipping = options();
  skipping.skips = {{Op::Merge, "faulty", "no merge here"}};
  const Tally one = part_of(1, 2, skipping), two = part_of(2, 2, skipping);
  EXPECT_EQ(write_tally(kept(one)), write_tally(one));
  EXPECT_EQ(without_times(merged({kept(one), kept(two)})), without_times(part_of(1, 1, skipping)));
  const std::string refusal = refusal_of([&] { merged({one, part_of(2, 2)}); });
  EXPECT_NE(refusal.find("skips: merge@faulty no merge here and "), std::string::npos) << refusal;
}

TEST(Tally, MorePartsThanCasesLeaveSomeEmpty) {
  VerifyOptions few = options();
  few.cases = 2;
  const std::int64_t parts = 60;
  std::vector<Tally> all;
  for (std::int64_t part = 1; part <= parts; ++part) all.push_back(kept(part_of(part, parts, few)));
  EXPECT_EQ(without_times(merged(std::move(all))), without_times(part_of(1, 1, few)));
}

TEST(Tally, APartThatWasStoppedGoesOnWhereItWas) {
  double now = 0;
  VerifyOptions some = options();
  some.threads = 1;
  some.seconds = 50;
  some.clock = [&] { return now += 1; };  // each look at it takes a second
  const Tally stopped = part_of(2, 3, some);
  ASSERT_FALSE(stopped.complete());
  ASSERT_GT(stopped.done, 0);
  EXPECT_NE(without_times(stopped).find("NOT TESTED"), std::string::npos);
  const Faulty faulty;
  const auto second = make_backend("reference");
  VerifyOptions rest = options();
  rest.shard = {2, 3};
  std::int64_t most = 0, calls = 0;
  rest.progress = [&](std::int64_t done, std::int64_t) {
    ++calls;
    most = done;
  };
  int writes = 0;
  const Tally complete = judge_part(reference_backend(), {&faulty, second.get()}, {small_scene()},
                                    rest, kept(stopped), [&](const Tally&) { ++writes; });
  EXPECT_TRUE(complete.complete());
  EXPECT_EQ(calls, stopped.items - stopped.done);  // what was done is not done again
  EXPECT_EQ(most, stopped.items);
  EXPECT_EQ(writes, 1);
  EXPECT_EQ(without_times(complete), without_times(part_of(2, 3)));
}

TEST(Tally, WhatIsOfAnotherSweepIsNotGoneOnWith) {
  const Faulty faulty;
  const auto second = make_backend("reference");
  VerifyOptions other = options();
  other.seed = 8;
  const auto go_on = [&] {
    judge_part(reference_backend(), {&faulty, second.get()}, {small_scene()}, other, part_of(1, 1));
  };
  EXPECT_NE(refusal_of(go_on).find("seed: 8 and 7"), std::string::npos) << refusal_of(go_on);
  VerifyOptions part = options();
  part.shard = {1, 2};
  EXPECT_NE(refusal_of([&] {
              judge_part(reference_backend(), {&faulty, second.get()}, {small_scene()}, part,
                         part_of(2, 2));
            }).find("another part"),
            std::string::npos);
}

TEST(Tally, WhatDoesNotBelongTogetherIsRefusedByName) {
  const Tally one = part_of(1, 3), two = part_of(2, 3), three = part_of(3, 3);
  const auto merging = [](std::vector<Tally> parts) {
    return refusal_of([&] { merged(std::move(parts)); });
  };
  EXPECT_EQ(merging({one, two, three}), "no refusal");
  EXPECT_NE(merging({}).find("nothing to merge"), std::string::npos);
  EXPECT_NE(merging({one, three}).find("2"), std::string::npos);
  EXPECT_NE(merging({one, three}).find("1 of 3 parts are missing"), std::string::npos);
  EXPECT_NE(merging({one, two, two, three}).find("2/3"), std::string::npos);
  EXPECT_NE(merging({one, two, two, three}).find("given twice"), std::string::npos);
  EXPECT_NE(merging({one, part_of(2, 2)}).find("of 3 parts"), std::string::npos);
  VerifyOptions other = options();
  other.seed = 8;
  EXPECT_NE(merging({one, part_of(2, 3, other), three}).find("seed: 7 and 8"), std::string::npos);
  other = options();
  other.ops.pop_back();
  EXPECT_NE(merging({one, two, part_of(3, 3, other)}).find("operations: "), std::string::npos);
  other = options();
  other.version = "9";
  EXPECT_NE(merging({part_of(1, 3, other), two, three}).find("program version: 9 and 1.2.3"),
            std::string::npos);
  Tally few = one;
  few.shard.parts = std::int64_t{1} << 62;  // nobody counts to there
  EXPECT_NE(merging({few}).find("parts are missing"), std::string::npos);
}

TEST(Tally, AFileThatIsNoResultIsRefused) {
  const std::string good = write_tally(part_of(1, 2));
  const auto reading = [](const std::string& text) {
    return refusal_of([&] { read_tally(text, "x.json"); });
  };
  EXPECT_EQ(reading(good), "no refusal");
  for (std::size_t cut = 0; cut < good.size() - 2; cut += 97)
    EXPECT_NE(reading(good.substr(0, cut)).find("x.json"), std::string::npos) << cut;
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return reading(text.replace(at, from.size(), to));
  };
  EXPECT_NE(changed("leafproof-result", "leafproof-report").find("is no result"),
            std::string::npos);
  EXPECT_NE(changed("\"semantics_version\": 1", "\"semantics_version\": 2").find("semantics"),
            std::string::npos);
  EXPECT_NE(changed("\"part\": 1", "\"part\": 3").find("part"), std::string::npos);
  EXPECT_NE(changed("\"refine\"", "\"refined\"").find("refined"), std::string::npos);
  EXPECT_NE(changed("\"items\": ", "\"items\": -").find("counts nothing"), std::string::npos);
  EXPECT_NE(changed("\"seconds\": ", "\"seconds\": true, \"x\": ").find("no whole result"),
            std::string::npos);
}

}  // namespace
}  // namespace leafproof::oracle
