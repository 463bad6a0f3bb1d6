// Known answers: the copy of the vectors loads and is the published one, every backend passes what
// it implements, and a file that contradicts itself or the format is refused by name.
#include "oracle/vectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "oracle/boxed_backend.h"
#include "oracle/report.h"
#include "oracle/verify.h"
#include "reference/canonical_order.h"

namespace leafproof::oracle {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kSource = LEAFPROOF_SOURCE_DIR;
const fs::path kCopy = kSource / "oracle" / "vectors";
const fs::path kPublished = kSource.parent_path() / "shared" / "vectors";

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(Vectors, AllFilesLoadWithUniqueIdentities) {
  const auto files = vector_files(kCopy);
  EXPECT_EQ(files.size(), 18u);
  std::set<std::string> identities;
  std::map<Op, int> per_op;
  for (const auto& file : files)
    for (const Vector& vector : read_vectors(file)) {
      EXPECT_TRUE(identities.insert(vector.question.id).second) << vector.question.id;
      EXPECT_FALSE(vector.question.comment.empty()) << vector.question.id;
      EXPECT_EQ(vector.pairs.has_value(), vector.question.op == Op::Convolution &&
                                              !std::holds_alternative<Error>(vector.expected));
      ++per_op[vector.question.op];
    }
  EXPECT_EQ(identities.size(), 2121u);
  // Every pass that the format has an operation for; `dual` is dilate_box [0,1] there.
  for (const Op op : topology_ops()) EXPECT_TRUE(op == Op::Dual || per_op[op] > 0) << to_string(op);
  EXPECT_EQ(per_op[Op::MapAfter], 48);
  for (const Op op : convolution_ops())
    EXPECT_TRUE(op == Op::KernelMap || per_op[op] > 0) << to_string(op);
}

TEST(Vectors, TheCopyIsThePublishedOne) {
  if (!fs::is_directory(kPublished))
    GTEST_SKIP() << "the published vectors are not here: " << kPublished;
  std::set<std::string> published, copied;
  for (const auto& file : vector_files(kPublished)) {
    published.insert(file.filename().string());
    EXPECT_TRUE(text_of(file) == text_of(kCopy / file.filename())) << file.filename();
  }
  for (const auto& file : vector_files(kCopy)) copied.insert(file.filename().string());
  EXPECT_EQ(published, copied);
}

class OnBackend : public testing::TestWithParam<std::string> {};

TEST_P(OnBackend, EveryVectorPasses) {
  // Small boxes keep the test short; `leafproof vectors` asks with larger ones.
  auto backend = make_backend(GetParam());
  const bool boxed = GetParam() == "brute_force";
  if (boxed) backend = make_boxed(std::move(backend), std::int64_t{1} << 22);
  std::map<Op, int> passed, beyond;
  for (const auto& file : vector_files(kCopy))
    run_vectors(read_vectors(file), *backend, [&](const Vector& vector, const Verdict& verdict) {
      const std::string& id = vector.question.id;
      if (verdict.outcome == Outcome::NotImplemented) {
        ++beyond[vector.question.op];
        EXPECT_TRUE(is_stated_limit(GetParam(), {verdict.reason})) << id << verdict.reason;
      } else {
        EXPECT_TRUE(verdict.ok()) << id << ": " << vector.question.comment << "; "
                                  << (verdict.first ? verdict.first->what + ", expected " +
                                                          verdict.first->expected + ", got " +
                                                          verdict.first->actual
                                                    : verdict.reason);
        ++passed[vector.question.op];
      }
    });
  for (const Op op : topology_ops()) EXPECT_TRUE(op == Op::Dual || passed[op] > 0) << to_string(op);
  EXPECT_EQ(passed[Op::MapAfter], 48);
  int all = 0, not_asked = 0;
  for (const auto& [op, count] : passed) all += count;
  for (const auto& [op, count] : beyond) not_asked += count;
  RecordProperty("passed", all);
  RecordProperty("not_implemented", not_asked);
  if (!boxed) {
    EXPECT_EQ(all, 2121);
  } else {
    EXPECT_GT(all, 1600);
    for (const Op op : convolution_ops())
      EXPECT_TRUE(op == Op::KernelMap || passed[op] > 2 * beyond[op]) << to_string(op);
  }
}

// The whole numbers of the file are within every type, or refused where int32 does not hold them.
TEST(Vectors, ConvolutionsPassInEveryType) {
  const auto backend = make_backend("reference");
  std::map<NumberType, int> passed;
  for (const char* file : {"convolution.json", "gradients.json", "named.json"})
    for (Vector vector : read_vectors(kCopy / file)) {
      if (!std::holds_alternative<NumbersAnswer>(vector.expected) &&
          !std::holds_alternative<GradientsAnswer>(vector.expected))
        continue;
      for (const NumberType type : {NumberType::Float32, NumberType::Float16, NumberType::Int32}) {
        vector.question.operands.type = type;
        if (auto* output = std::get_if<NumbersAnswer>(&vector.expected)) output->type = type;
        if (auto* gradients = std::get_if<GradientsAnswer>(&vector.expected))
          gradients->features.type = gradients->weights.type = gradients->bias.type = type;
        const Verdict verdict = judge(vector, backend->answer(vector.question));
        EXPECT_TRUE(verdict.ok()) << vector.question.id << static_cast<int>(type)
                                  << text_verdict(verdict);
        passed[type] += verdict.ok();
      }
    }
  EXPECT_GT(passed[NumberType::Int32], 270);
  EXPECT_EQ(passed[NumberType::Int32], passed[NumberType::Float16]);
}

INSTANTIATE_TEST_SUITE_P(All, OnBackend, testing::ValuesIn(backend_names()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// --- judgement
// ------------------------------------------------------------------------------------

class Judge : public testing::Test {
 protected:
  Judge() {
    for (const Vector& vector : read_vectors(kCopy / "coarsen.json"))
      if (vector.written.voxels.size() == 1 && vector.written.voxels[0].size() > 2) {
        vector_ = vector;
        break;
      }
    answer_ = std::get<Layout>(vector_.expected);
  }
  Vector vector_;
  Layout answer_;
};

TEST_F(Judge, AcceptsTheExpectedAnswer) {
  EXPECT_TRUE(judge(vector_, answer_).ok());
  EXPECT_EQ(judge(vector_, answer_).profile, Profile::Layout);
}

TEST_F(Judge, SeesAMissingVoxel) {
  Batch batch;
  batch.members = vector_.written.voxels;
  batch.members[0].pop_back();
  batch.maps.resize(1);
  batch.names.resize(1);
  const Verdict verdict = judge(vector_, reference::layout_of(batch));
  ASSERT_EQ(verdict.outcome, Outcome::Different);
  EXPECT_EQ(verdict.missing, 1);
  EXPECT_EQ(verdict.first->clause, clause_of(vector_.question.op));
}

TEST_F(Judge, SeesWhatTheFileSaysEvenWhereTheReferencesLayoutIsWrong) {
  // The expected layout and the answer share a fault of the reference: the file's numbers do not.
  Layout wrong = answer_;
  wrong.grids[0].box->max.x += 1;
  vector_.expected = wrong;
  const Verdict box = judge(vector_, wrong);
  ASSERT_EQ(box.outcome, Outcome::Different);
  EXPECT_EQ(box.first->clause, "G-5");

  wrong = answer_;
  vector_.written.voxels[0].front().x += 1;
  vector_.expected = wrong;
  const Verdict voxel = judge(vector_, wrong);
  ASSERT_EQ(voxel.outcome, Outcome::Different);
  EXPECT_EQ(voxel.first->clause, "G-2");
}

TEST_F(Judge, ARefusalOfWhatIsValidDiffers) {
  EXPECT_EQ(judge(vector_, Error(ErrorKind::OutOfRange, {"", "", "", "", {}, {}})).outcome,
            Outcome::Different);
  EXPECT_EQ(judge(vector_, NotImplemented{"no"}).outcome, Outcome::NotImplemented);
}

TEST(JudgeRefusals, OnlyTheKindCounts) {
  const auto vectors = read_vectors(kCopy / "refusals.json");
  const Vector& vector = vectors.front();
  ASSERT_EQ(std::get<Error>(vector.expected).kind(), ErrorKind::InvalidArgument);
  const ErrorDetail other{"another text", "", "", "", 3, {}};
  EXPECT_TRUE(judge(vector, Error(ErrorKind::InvalidArgument, other)).ok());
  EXPECT_FALSE(judge(vector, Error(ErrorKind::ShapeMismatch, other)).ok());
  EXPECT_FALSE(judge(vector, Layout{}).ok());
}

TEST(JudgeMaps, EveryDoubleCounts) {
  const auto vectors = read_vectors(kCopy / "maps.json");
  const Vector& vector = vectors.front();
  Maps maps = std::get<Maps>(vector.expected);
  EXPECT_TRUE(judge(vector, maps).ok());
  maps.maps.back().origin[2] = std::nextafter(maps.maps.back().origin[2], 1e300);
  EXPECT_FALSE(judge(vector, maps).ok());
}

// --- hostile files
// --------------------------------------------------------------------------------

/// Writes a file, reads it, and gives the refusal's text, or "" when it loads.
class Hostile : public testing::Test {
 protected:
  Hostile() {
    good_ = json::parse(R"({"format": "leafproof-vectors", "version": 1, "semantics_version": 1,
      "groups": [{"op": "coarsen", "params": {"factor": [2, 2, 2]}, "cases": [
        {"id": 4, "comment": "two", "flags": [], "source": [[[0, 0, 0], [2, 0, 0]]],
         "result": "valid", "expected": {"voxels": [[[0, 0, 0], [1, 0, 0]]],
         "bboxes": [[[0, 0, 0], [1, 0, 0]]], "node_counts": [[1, 1, 1]]}}]}]})");
  }
  ~Hostile() override { fs::remove(file_); }

  json& one() { return good_["groups"][0]["cases"][0]; }
  std::string refusal() { return refusal_of(good_.dump()); }
  std::string refusal_of(const std::string& text) {
    std::ofstream(file_, std::ios::binary) << text;
    try {
      read_vectors(file_);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Corrupt) << error.what();
      EXPECT_NE(std::string(error.what()).find(file_.filename().string()), std::string::npos)
          << "the refusal names the file: " << error.what();
      return error.what();
    }
  }
  json good_;
  const fs::path file_ =
      fs::temp_directory_path() /
      (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".json");
};

bool says(const std::string& refusal, const std::string& part) {
  return refusal.find(part) != std::string::npos;
}

TEST_F(Hostile, TheGoodFileLoads) {
  EXPECT_EQ(refusal(), "");
}

TEST_F(Hostile, UnknownKeysAreRefusedAtEveryLevel) {
  const json good = good_;
  good_["extra"] = 1;
  EXPECT_TRUE(says(refusal(), "'extra'"));
  good_ = good;
  good_["groups"][0]["extra"] = 1;
  EXPECT_TRUE(says(refusal(), "'extra'"));
  good_ = good;
  good_["groups"][0]["params"]["extra"] = {1, 1, 1};
  EXPECT_TRUE(says(refusal(), "'extra'"));
  good_ = good;
  one()["mask"] = {{1, 0}};  // coarsen takes none
  EXPECT_TRUE(says(refusal(), "'mask'"));
  EXPECT_TRUE(says(refusal(), "group 0 (coarsen), case 4"));
  good_ = good;
  one()["expected"]["extra"] = 1;
  EXPECT_TRUE(says(refusal(), "'extra'"));
}

TEST_F(Hostile, MissingKeysAreRefused) {
  for (const char* key : {"id", "comment", "flags", "source", "result", "expected"}) {
    const json kept = one();
    one().erase(key);
    EXPECT_TRUE(says(refusal(), std::string("'") + key + "'")) << refusal();
    one() = kept;
  }
}

TEST_F(Hostile, RepeatedKeysAndIdentitiesAreRefused) {
  EXPECT_TRUE(says(refusal_of(R"({"format": "leafproof-vectors", "format": "x"})"), "twice"));
  good_["groups"][0]["cases"].push_back(one());
  EXPECT_TRUE(says(refusal(), "used twice"));
}

TEST_F(Hostile, WhatContradictsItselfIsRefused) {
  const json good = good_;
  one()["expected"]["bboxes"][0][1][0] = 2;
  EXPECT_TRUE(says(refusal(), "bboxes[0]"));
  good_ = good;
  one()["expected"]["bboxes"][0] = nullptr;
  EXPECT_TRUE(says(refusal(), "bboxes[0]"));
  good_ = good;
  one()["expected"]["node_counts"][0][0] = 2;
  EXPECT_TRUE(says(refusal(), "node_counts[0]"));
  good_ = good;
  std::swap(one()["expected"]["voxels"][0][0], one()["expected"]["voxels"][0][1]);
  EXPECT_TRUE(says(refusal(), "canonical order"));
  good_ = good;
  one()["source"][0][1] = one()["source"][0][0];
  EXPECT_TRUE(says(refusal(), "canonical order"));
  good_ = good;
  one()["source"].push_back(json::array());
  EXPECT_TRUE(says(refusal(), "expected"));
}

TEST_F(Hostile, NumbersThatAreNotWhatTheyShouldBeAreRefused) {
  const json good = good_;
  for (const json& bad : {json(1.0), json("1"), json(2147483648u), json(-2147483649), json(nullptr),
                          json(18446744073709551615u)}) {
    good_ = good;
    one()["source"][0][0][1] = bad;
    EXPECT_TRUE(says(refusal(), "32-bit")) << bad;
  }
  good_ = good;
  good_["groups"][0]["params"]["factor"] = {2, 2};
  EXPECT_TRUE(says(refusal(), "factor"));
  good_ = good;
  one()["id"] = -1;
  EXPECT_TRUE(says(refusal(), "id"));
  good_ = good;
  good_["version"] = 2;
  EXPECT_TRUE(says(refusal(), "version"));
  good_ = good;
  one()["result"] = "perhaps";
  EXPECT_TRUE(says(refusal(), "result"));
  good_ = good;
  good_["groups"][0]["op"] = "refined";
  EXPECT_TRUE(says(refusal(), "refined"));
}

TEST_F(Hostile, AnInvalidCaseNamesAKnownKind) {
  one().erase("expected");
  one()["result"] = "invalid";
  one()["error"] = "Bad";
  EXPECT_TRUE(says(refusal(), "'Bad'"));
  one()["error"] = "OutOfRange";
  EXPECT_EQ(refusal(), "");
}

/// A convolution that loads: two voxels, two taps, one channel in and two out.
class HostileConvolution : public Hostile {
 protected:
  HostileConvolution() {
    good_ = json::parse(R"({"format": "leafproof-vectors", "version": 1, "semantics_version": 1,
      "groups": [{"op": "convolution", "params": {"kernel_size": [1, 1, 2], "stride": [1, 1, 1],
        "dilation": [1, 1, 1], "transposed": false}, "cases": [
        {"id": 0, "comment": "two", "flags": [], "source": [[[0, 0, 0], [0, 0, 1]]],
         "target": [[[0, 0, 0], [0, 0, 1]]], "features": [[1], [2]],
         "weights": [[[1, 2]], [[3, 4]]], "bias": [5, 6], "result": "valid", "expected":
         {"pairs": [[[0, 0], [1, 1]], [[1, 0]]], "output": [[12, 16], [7, 10]]}}]}]})");
  }
};

TEST_F(HostileConvolution, TheGoodFileLoadsAndPasses) {
  EXPECT_EQ(refusal(), "");
  std::ofstream(file_, std::ios::binary) << good_.dump();
  const auto vectors = read_vectors(file_);
  const auto backend = make_backend("reference");
  EXPECT_TRUE(judge_on(vectors[0], *backend).ok()) << text_verdict(judge_on(vectors[0], *backend));
}

TEST_F(HostileConvolution, WhatDoesNotFitIsRefused) {
  const json good = good_;
  const auto refused = [&](const char* pointer, const json& value, const char* says_this) {
    good_ = good;
    one()[json::json_pointer(pointer)] = value;
    EXPECT_TRUE(says(refusal(), says_this)) << pointer << value << refusal();
  };
  refused("/features", {{1}, {2, 3}}, "features");                      // ragged
  refused("/features", {{1}, {"2"}}, "features");                       // no number
  refused("/weights", {{{1, 2}}, {{3}}}, "weights");                    // ragged
  refused("/weights", {{1, 2}, {3, 4}}, "weights");                     // flat
  refused("/bias", {{5, 6}}, "bias");                                   // nested
  refused("/target", {{{0, 0, 1}, {0, 0, 0}}}, "canonical order");      //
  refused("/expected/pairs", {{{0, 0}, {2, 1}}, {{1, 0}}}, "pairs");    // a source row of two
  refused("/expected/pairs", {{{1, 1}, {0, 0}}, {{1, 0}}}, "pairs");    // descending target rows
  refused("/expected/pairs", {{{0, 0}, {1, 0}}, {{1, 0}}}, "pairs");    // a target row twice
  refused("/expected/pairs", {{{0, 0, 0}}, {{1, 0}}}, "pairs");         //
  refused("/expected/output", {{12, 16}}, "output");                    // a row too few
  refused("/expected/output", {{12, 16}, {7, 10, 1}}, "output");        //
  refused("/expected/output", {{12, 16}, {7.5, 10}}, "whole numbers");  //
  refused("/expected/extra", 1, "'extra'");
  good_ = good;
  good_["groups"][0]["op"] = "kernel_map";  // no operation of the format
  EXPECT_TRUE(says(refusal(), "kernel_map"));
  good_ = good;
  good_["groups"][0]["params"]["transposed"] = 1;
  EXPECT_TRUE(says(refusal(), "transposed"));
}

TEST_F(HostileConvolution, AnotherNumberOfTapsIsForTheBackendToRefuse) {
  one()["weights"] = {{{1, 2}}};
  one().erase("expected");
  one()["result"] = "invalid";
  one()["error"] = "ShapeMismatch";
  EXPECT_EQ(refusal(), "");
  std::ofstream(file_, std::ios::binary) << good_.dump();
  for (const char* name : {"reference", "brute_force"})
    EXPECT_TRUE(judge_on(read_vectors(file_)[0], *make_backend(name)).ok()) << name;
}

TEST_F(Hostile, WhatIsNoJsonIsRefused) {
  EXPECT_FALSE(refusal_of("").empty());
  EXPECT_FALSE(refusal_of("{").empty());
  EXPECT_FALSE(refusal_of("[]").empty());
  EXPECT_FALSE(refusal_of("{\"format\": \"\xff\"}").empty());
  EXPECT_FALSE(refusal_of(good_.dump() + "x").empty());
  EXPECT_FALSE(refusal_of(std::string(200'000, '[')).empty()) << "deep nesting";
  std::string deep = good_.dump();
  deep.replace(deep.find("\"id\":4"), 6,
               "\"id\":" + std::string(200'000, '[') + std::string(200'000, ']'));
  EXPECT_FALSE(refusal_of(deep).empty());
}

TEST(VectorFiles, WhatIsNotThereIsRefusedByName) {
  EXPECT_THROW(vector_files("/no/such/folder"), Error);
  EXPECT_THROW(read_vectors("/no/such/file.json"), Error);
}

}  // namespace
}  // namespace leafproof::oracle
