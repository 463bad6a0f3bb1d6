// Planted faults: none is forgotten, each is killed by generated cases, shrunk, and killed again by
// its smallest case read back from text; healthy things are not reported; the program says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "oracle/generate.h"
#include "tests/faults/selftest.h"

namespace leafproof::faults {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = LEAFPROOF_SOURCE_DIR;
const fs::path kCopy = kSource / "tests" / "faults" / "ids.txt";
const fs::path kPublished = kSource.parent_path() / "shared" / "faults.md";

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Ids in the first column of its tables; a row may have several.
std::set<std::string> ids_of_tables(const std::vector<std::string>& lines) {
  std::set<std::string> ids;
  for (const std::string& line : lines) {
    if (!line.starts_with("| ") || line.starts_with("| id ")) continue;
    std::stringstream column(line.substr(2, line.find('|', 1) - 2));
    for (std::string id; std::getline(column, id, ',');) {
      id.erase(0, id.find_first_not_of(' '));
      id.erase(id.find_last_not_of(' ') + 1);
      ids.insert(id);
    }
  }
  return ids;
}

std::set<std::string> planted_ids() {
  std::set<std::string> ids;
  for (const Planted& each : planted()) ids.emplace(each.id);
  return ids;
}

TEST(PlantedFaults, AreThoseOfTheList) {
  const auto lines = lines_of(kCopy);
  const std::set<std::string> copy(lines.begin(), lines.end());
  EXPECT_EQ(copy.size(), lines.size()) << "an id twice";
  EXPECT_GT(copy.size(), 60U);
  EXPECT_EQ(planted_ids(), copy);
  std::set<std::string> names;
  for (const Planted& each : planted())
    EXPECT_TRUE(names.insert(each.name()).second) << each.name() << " twice";
}

TEST(PlantedFaults, TheListIsThePublishedOne) {
  if (!fs::exists(kPublished)) GTEST_SKIP() << "the published list is not here: " << kPublished;
  const auto lines = lines_of(kCopy);
  EXPECT_EQ(ids_of_tables(lines_of(kPublished)), std::set<std::string>(lines.begin(), lines.end()));
}

TEST(PlantedFaults, TheListsTablesAreRead) {
  EXPECT_EQ(
      ids_of_tables({"| id | fault |", "|---|---|", "| a-b | text, more |", "| c, d-e | x |"}),
      (std::set<std::string>{"a-b", "c", "d-e"}));
}

SelftestOptions options() {
  SelftestOptions o;
  o.tries = 600;
  o.jobs = 1;
  return o;
}

/// Of the smallest case: what shows a fault is one voxel or two, but for these.
std::int64_t most_voxels(const std::string& name) {
  static const std::map<std::string, std::int64_t> others{
      {"linear-key-32", 3},          // two that alias, and one that asks
      {"narrow-accumulator", 4},     // rows that lose what a float keeps
      {"node-base/leaf", 3},         // two leaves of one lower node, and one of the next
      {"node-base/lower", 3},        // the same of lower and upper nodes
      {"chunk-seam/lost", 4},        // a chunk of three rows, and the next
      {"members-interleaved", 3},    // two members, and an order of two rows
      {"chunk-seam/twice", 5},       // a chunk of three rows, the next, and a source
      {"prefix-sum/overflow", 256},  // so many voxels of a leaf, or fewer that a dilation makes
      {"lengths-total-only", 8},     // a mask that fits no member is not shrunk
  };
  const auto found = others.find(name);
  return found == others.end() ? 2 : found->second;
}

class PlantedFault : public testing::TestWithParam<const Planted*> {};

TEST_P(PlantedFault, IsKilledShrunkAndKilledAgain) {
  const Outcome outcome = run_fault(*GetParam(), options());
  ASSERT_TRUE(outcome.kill) << "survived " << outcome.cases << " cases of seed " << options().seed;
  EXPECT_TRUE(outcome.of_shrunk) << "passes: " << outcome.text;
  EXPECT_LE(voxels_in(*outcome.shrunk), most_voxels(GetParam()->name())) << outcome.text;
  EXPECT_FALSE(outcome.kill->clause.empty());
  EXPECT_FALSE(outcome.kill->by.empty());
  // What kills it is silent without it.
  EXPECT_FALSE(GetParam()->ask(outcome.question, Fault::None));
  EXPECT_FALSE(GetParam()->ask(*outcome.shrunk, Fault::None));
  RecordProperty("cases", std::to_string(outcome.cases));
}

std::vector<const Planted*> all() {
  std::vector<const Planted*> faults;
  for (const Planted& each : planted()) faults.push_back(&each);
  return faults;
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedFault, testing::ValuesIn(all()), [](const auto& fault) {
  std::string name = fault.param->name();
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
});

// A library that wraps in one operation alone is found there, and by a sweep of the second level.
TEST(PlantedFaults, AWrappedNeighbourIsSeenInEveryOperation) {
  const auto found = std::find_if(planted().begin(), planted().end(), [](const Planted& each) {
    return each.name() == "range-wraps/neighbour";
  });
  ASSERT_NE(found, planted().end());
  for (const Op op : found->ops) {
    Planted alone = *found;
    alone.ops = {op};
    SelftestOptions level = options();
    level.cases = oracle::cases_of_level(op, 2);
    level.tries = 1;
    EXPECT_TRUE(run_fault(alone, level).kill) << to_string(op);
  }
}

// The same fault by the same seed is killed by the same case, whatever the threads.
TEST(Selftest, IsDeterministic) {
  SelftestOptions two = options();
  two.jobs = 2;
  const auto faults = all();
  const std::vector<const Planted*> some{faults[0], faults[3], faults[30], faults[70]};
  const auto first = run_faults(some, options()), second = run_faults(some, two);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(first[i].planted, some[i]);
    EXPECT_EQ(first[i].cases, second[i].cases);
    EXPECT_EQ(first[i].text, second[i].text);
  }
}

TEST(Selftest, ASurvivorIsNoSuccess) {
  SelftestOptions one = options();
  one.cases = 1;
  bool survived = false;
  for (const Planted& each : planted()) {
    if (each.id != "k-equals-s") continue;
    const Outcome outcome = run_fault(each, one);
    survived = !outcome.ok();
    EXPECT_EQ(outcome.cases, 1);
  }
  EXPECT_TRUE(survived);
}

TEST(Selftest, HealthyThingsAreNotReported) {
  for (const FalseAlarm& alarm : run_healthy(400, options()))
    ADD_FAILURE() << alarm.who << " on " << alarm.generated << ": [" << alarm.kill.clause << "] "
                  << alarm.kill.by;
}

// ---- the program

struct Ran {
  int code = -1;
  std::string out;
};

Ran ran(const std::string& arguments) {
  const std::string program = fs::path(LEAFPROOF_PROGRAM).parent_path() / "leafproof_selftest";
  FILE* pipe = popen(("'" + program + "' " + arguments + " 2>&1").c_str(), "r");
  Ran result;
  std::array<char, 4096> buffer{};
  while (pipe != nullptr) {
    const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe);
    if (n == 0) break;
    result.out.append(buffer.data(), n);
  }
  if (pipe != nullptr) result.code = WEXITSTATUS(pclose(pipe));
  return result;
}

TEST(SelftestProgram, SaysWhatKilledAFaultAndReplaysIt) {
  const Ran text = ran("--fault offset-search");
  EXPECT_EQ(text.code, 0) << text.out;
  const std::size_t at = text.out.find("leafproof selftest --fault offset-search --case '");
  ASSERT_NE(at, text.out.npos) << text.out;
  const std::string line = text.out.substr(at, text.out.find('\n', at) - at);
  const Ran replay = ran(line.substr(std::string("leafproof selftest ").size()));
  EXPECT_EQ(replay.code, 0) << replay.out;
  EXPECT_NE(replay.out.find("offset-search: killed by [T-"), replay.out.npos) << replay.out;

  const Ran json = ran("--fault cache-key --json --seed 7");
  EXPECT_EQ(json.code, 0);
  const auto j = nlohmann::json::parse(json.out);
  EXPECT_EQ(j["seed"], 7);
  EXPECT_EQ(j["faults"].size(), 5U);
  for (const auto& fault : j["faults"]) {
    EXPECT_EQ(fault["id"], "cache-key");
    EXPECT_TRUE(fault["killed"]);
    EXPECT_TRUE(fault["shrunk"]["killed"]);
  }
  EXPECT_TRUE(j["survivors"].empty());
}

TEST(SelftestProgram, ExitCodes) {
  const Ran survivor = ran("--fault k-equals-s --cases 1");
  EXPECT_EQ(survivor.code, 1);
  EXPECT_NE(survivor.out.find("SURVIVED: k-equals-s"), survivor.out.npos) << survivor.out;
  EXPECT_EQ(ran("--fault no-such-fault").code, 2);
  EXPECT_EQ(ran("--fault half-map --case nonsense").code, 2);
  EXPECT_EQ(ran("--cases 0").code, 2);
  EXPECT_EQ(ran("--healthy 40").code, 0);
  EXPECT_EQ(ran("--fault half-map --case 'case1 coarsen factor=2 source=[0,0,0]'").code, 1);
  const Ran list = ran("--list");
  EXPECT_EQ(list.code, 0);
  for (const Planted& each : planted())
    EXPECT_NE(list.out.find(each.name()), list.out.npos) << each.name();
}

}  // namespace
}  // namespace leafproof::faults
