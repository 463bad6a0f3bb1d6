// A part of a sweep written down, so that it can be gone on with and merged; read back distrusted.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "oracle/report_parts.h"
#include "oracle/tally.h"

namespace leafproof::oracle {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <class T>
std::optional<T> optional(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional<T>(json.get<T>());
}

/// A number that counts.
std::int64_t count(const Json& json) {
  const auto n = json.get<std::int64_t>();
  if (n < 0) throw std::invalid_argument(fmt::format("{} counts nothing", n));
  return n;
}

Op op_of(const Json& json) {
  const auto name = json.get<std::string>();
  const auto op = parse_op(name);
  if (!op) throw std::invalid_argument(name + " is no operation");
  return *op;
}

Json printed(const std::vector<std::string>& texts) {
  Json json = Json::array();
  for (const std::string& text : texts) json.push_back(printable(text));
  return json;
}

Json json_of(const std::vector<Voxel>& voxels) {
  Json json = Json::array();
  for (const Voxel& v : voxels) json.push_back({v.x, v.y, v.z});
  return json;
}

Voxel voxel_of(const Json& json) {
  return {json.at(0).get<std::int32_t>(), json.at(1).get<std::int32_t>(),
          json.at(2).get<std::int32_t>()};
}

std::vector<Voxel> voxels_of(const Json& json) {
  std::vector<Voxel> voxels;
  for (const Json& v : json) voxels.push_back(voxel_of(v));
  return voxels;
}

// --- verdicts, whole

Json json_of(const Verdict& v) {
  Json json{{"outcome", static_cast<int>(v.outcome)},
            {"profile", to_string(v.profile)},
            {"reason", printable(v.reason)},
            {"counted", static_cast<int>(v.counted)},
            {"counts",
             {v.missing, v.extra, v.repeated, v.differences, v.members, v.voxels, v.not_compared}},
            {"compared", v.compared},
            {"largest_error", v.largest_error},
            {"taps", Json::array()},
            {"coverage", Json::array()}};
  if (v.first) {
    const Difference& d = *v.first;
    json["first"] = {{"clause", printable(d.clause)},
                     {"what", printable(d.what)},
                     {"member", d.member},
                     {"path", printable(d.path)},
                     {"expected", printable(d.expected)},
                     {"actual", printable(d.actual)},
                     {"window", printed(d.window)}};
    if (d.coordinate) json["first"]["coordinate"] = json_of(std::vector{*d.coordinate});
  }
  for (const TapTally& t : v.taps)
    json["taps"].push_back({{"tap", t.tap},
                            {"at", t.at},
                            {"counts", {t.expected, t.actual, t.missing, t.extra, t.repeated}},
                            {"first", printable(t.first)}});
  for (const CoverageTally& c : v.coverage)
    json["coverage"].push_back({{"side", c.side}, {"expected", c.expected}, {"actual", c.actual}});
  return json;
}

/// One of `last` + 1 values.
template <class Enum>
Enum enum_of(const Json& json, Enum last) {
  const auto n = count(json);
  if (n > static_cast<std::int64_t>(last)) throw std::invalid_argument("a value that is none");
  return static_cast<Enum>(n);
}

Verdict verdict_of(const Json& json) {
  Verdict v;
  v.outcome = enum_of(json.at("outcome"), Outcome::NotImplemented);
  const auto profile = parse_profile(json.at("profile").get<std::string>());
  if (!profile) throw std::invalid_argument("a profile that is none");
  v.profile = *profile;
  v.reason = json.at("reason");
  v.counted = enum_of(json.at("counted"), Counted::Numbers);
  std::size_t i = 0;
  for (std::int64_t* n :
       {&v.missing, &v.extra, &v.repeated, &v.differences, &v.members, &v.voxels, &v.not_compared})
    *n = json.at("counts").at(i++);
  v.compared = json.at("compared");
  v.largest_error = json.at("largest_error");
  if (json.contains("first")) {
    const Json& first = json.at("first");
    Difference d;
    d.clause = first.at("clause");
    d.what = first.at("what");
    d.member = first.at("member");
    d.path = first.at("path");
    d.expected = first.at("expected");
    d.actual = first.at("actual");
    d.window = first.at("window").get<std::vector<std::string>>();
    if (first.contains("coordinate")) d.coordinate = voxel_of(first.at("coordinate").at(0));
    v.first = std::move(d);
  }
  for (const Json& tap : json.at("taps")) {
    TapTally t;
    t.tap = tap.at("tap");
    t.at = tap.at("at").get<Triple>();
    std::size_t k = 0;
    for (std::int64_t* n : {&t.expected, &t.actual, &t.missing, &t.extra, &t.repeated})
      *n = tap.at("counts").at(k++);
    t.first = tap.at("first");
    v.taps.push_back(std::move(t));
  }
  for (const Json& c : json.at("coverage"))
    v.coverage.push_back({c.at("side"), c.at("expected").get<std::vector<std::int64_t>>(),
                          c.at("actual").get<std::vector<std::int64_t>>()});
  return v;
}

Json json_of(const Failure& f) {
  Json json{{"operation", printable(f.operation)},
            {"backend", printable(f.backend)},
            {"case", printable(f.case_id)},
            {"replay", printable(f.replay)},
            {"verdict", json_of(f.verdict)},
            {"expected_voxels", json_of(f.expected_voxels)},
            {"actual_voxels", json_of(f.actual_voxels)}};
  if (const auto& s = f.smallest)
    json["smallest"] = {
        {"case", printable(s->text)}, {"replay", printable(s->replay)}, {"test", s->test},
        {"vector", s->vector},        {"verdict", json_of(s->verdict)}, {"tries", s->tries},
        {"finished", s->finished}};
  return json;
}

Failure failure_of(const Json& json) {
  Failure f;
  f.operation = json.at("operation");
  f.backend = json.at("backend");
  f.case_id = json.at("case");
  f.replay = json.at("replay");
  f.verdict = verdict_of(json.at("verdict"));
  f.expected_voxels = voxels_of(json.at("expected_voxels"));
  f.actual_voxels = voxels_of(json.at("actual_voxels"));
  if (json.contains("smallest")) {
    const Json& given = json.at("smallest");
    Smallest s;
    s.text = given.at("case");
    s.replay = given.at("replay");
    s.test = given.at("test");
    s.vector = given.at("vector");
    s.verdict = verdict_of(given.at("verdict"));
    s.tries = given.at("tries");
    s.finished = given.at("finished");
    f.smallest = std::move(s);
  }
  return f;
}

// --- sums

Json json_of(const RowTally& tally) {
  const Row& row = tally.row;
  Json touched = Json::object(), failures = Json::array();
  for (const auto& [boundary, cases] : row.touched) touched[std::string(key_of(boundary))] = cases;
  for (const auto& [place, failure] : tally.failures)
    failures.push_back({{"place", place}, {"failure", json_of(failure)}});
  return {{"operation", to_string(tally.op)},
          {"backend", printable(row.backend)},
          {"input", printable(row.input)},
          {"generated", tally.generated},
          {"items", tally.items},
          {"cases", row.cases},
          {"members", row.members},
          {"voxels", row.voxels},
          {"equal", row.equal},
          {"different", row.different},
          {"not_implemented", row.not_implemented},
          {"refused", row.refused},
          {"touched", std::move(touched)},
          {"classes", row.classes},
          {"seconds", row.seconds},
          {"unimplemented", tally.unimplemented},
          {"why", printable(tally.why)},
          {"why_at", tally.why_at},
          {"failures", std::move(failures)}};
}

RowTally row_of(const Json& json) {
  RowTally tally;
  Row& row = tally.row;
  tally.op = op_of(json.at("operation"));
  row.operation = to_string(tally.op);
  row.backend = json.at("backend");
  row.input = json.at("input");
  tally.generated = json.at("generated");
  tally.items = count(json.at("items"));
  row.cases = count(json.at("cases"));
  row.members = count(json.at("members"));
  row.voxels = count(json.at("voxels"));
  row.equal = count(json.at("equal"));
  row.different = count(json.at("different"));
  row.not_implemented = count(json.at("not_implemented"));
  row.refused = count(json.at("refused"));
  const Json& touched = json.at("touched");
  for (const Boundary boundary : all_boundaries)
    if (const auto it = touched.find(std::string(key_of(boundary))); it != touched.end())
      row.touched[boundary] = count(*it);
  row.classes = json.at("classes").get<std::map<std::string, std::int64_t>>();
  row.seconds = json.at("seconds");
  tally.unimplemented = count(json.at("unimplemented"));
  tally.why = json.at("why");
  tally.why_at = json.at("why_at");
  for (const Json& failure : json.at("failures"))
    tally.failures.emplace_back(count(failure.at("place")), failure_of(failure.at("failure")));
  return tally;
}

Json json_of(const Sweep& sweep) {
  Json ops = Json::array(), skips = Json::array();
  for (const Op op : sweep.ops) ops.push_back(to_string(op));
  for (const Skip& skip : sweep.skips)
    skips.push_back(
        {{"operation", to_string(skip.op)}, {"backend", skip.backend}, {"reason", skip.reason}});
  return {{"program_version", printable(sweep.version)},
          {"notes", printed(sweep.notes)},
          {"operations", std::move(ops)},
          {"backends", printed(sweep.backends)},
          {"inputs", printed(sweep.inputs)},
          {"level", sweep.level},
          {"seed", sweep.seed},
          {"cases", optional(sweep.cases)},
          {"only_case", optional(sweep.only_case)},
          {"skips", std::move(skips)},
          {"tries", sweep.shrink_tries},
          {"kept_failures", sweep.kept_failures}};
}

Sweep sweep_of_json(const Json& json) {
  Sweep sweep;
  sweep.version = json.at("program_version");
  sweep.notes = json.at("notes").get<std::vector<std::string>>();
  for (const Json& op : json.at("operations")) sweep.ops.push_back(op_of(op));
  sweep.backends = json.at("backends").get<std::vector<std::string>>();
  sweep.inputs = json.at("inputs").get<std::vector<std::string>>();
  sweep.level = json.at("level");
  sweep.seed = json.at("seed");
  sweep.cases = optional<std::int64_t>(json.at("cases"));
  sweep.only_case = optional<std::uint64_t>(json.at("only_case"));
  for (const Json& skip : json.at("skips")) {
    Skip& given = sweep.skips.emplace_back();
    given.op = op_of(skip.at("operation"));
    given.backend = skip.at("backend");
    given.reason = skip.at("reason");
  }
  sweep.shrink_tries = count(json.at("tries"));
  sweep.kept_failures =
      static_cast<int>(std::min<std::int64_t>(count(json.at("kept_failures")), 1'000'000));
  return sweep;
}

[[noreturn]] void corrupt(const std::string& name, std::string reason) {
  throw Error(ErrorKind::Corrupt, {.operation = "read a result",
                                   .argument = "file",
                                   .value = name,
                                   .reason = std::move(reason),
                                   .member = {},
                                   .row = {}});
}

}  // namespace

std::string write_tally(const Tally& tally) {
  Json rows = Json::array();
  for (const RowTally& row : tally.rows) rows.push_back(json_of(row));
  const Json json{{"format", "leafproof-result"},
                  {"version", 1},
                  {"semantics_version", kSemanticsVersion},
                  {"sweep", json_of(tally.sweep)},
                  {"part", tally.shard.part},
                  {"parts", tally.shard.parts},
                  {"items", tally.items},
                  {"done", tally.done},
                  {"seconds", tally.seconds},
                  {"limit", optional(tally.limit)},
                  {"rows", std::move(rows)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Tally read_tally(std::string_view text, const std::string& name) {
  try {
    const Json json = Json::parse(text);
    if (json.at("format") != "leafproof-result") corrupt(name, "is no result of `verify --result`");
    if (json.at("version") != 1) corrupt(name, "is of another version of the format");
    if (json.at("semantics_version") != kSemanticsVersion) corrupt(name, "is of other semantics");
    Tally tally;
    tally.sweep = sweep_of_json(json.at("sweep"));
    tally.shard = {count(json.at("part")), count(json.at("parts"))};
    tally.items = count(json.at("items"));
    tally.done = count(json.at("done"));
    tally.seconds = json.at("seconds");
    tally.limit = optional<double>(json.at("limit"));
    for (const Json& row : json.at("rows")) tally.rows.push_back(row_of(row));
    if (tally.shard.part < 1 || tally.shard.part > tally.shard.parts)
      corrupt(name, "its part is none of its parts");
    if (tally.done > tally.items) corrupt(name, "more of it was done than there is");
    return tally;
  } catch (const nlohmann::json::exception& error) {
    corrupt(name, fmt::format("is no whole result ({})", printable(error.what())));
  } catch (const std::invalid_argument& error) {
    corrupt(name, printable(error.what()));
  }
}

}  // namespace leafproof::oracle
