// Reports for machines. Keys are stable; docs/report-format.md lists them.
#include <nlohmann/json.hpp>

#include "oracle/report_parts.h"

namespace leafproof::oracle {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Voxel& v) {
  return {v.x, v.y, v.z};
}

Json json_of(const Difference& d) {
  Json window = Json::array();
  for (const std::string& line : d.window) window.push_back(printable(line));
  return {{"clause", printable(d.clause)},
          {"what", printable(d.what)},
          {"member", d.member < 0 ? Json(nullptr) : Json(d.member)},
          {"coordinate", d.coordinate ? json_of(*d.coordinate) : Json(nullptr)},
          {"path", printable(d.path)},
          {"expected", printable(d.expected)},
          {"actual", printable(d.actual)},
          {"window", std::move(window)}};
}

Json json_of(const TapTally& t) {
  return {{"tap", t.tap},           {"at", {t.at[0], t.at[1], t.at[2]}},
          {"expected", t.expected}, {"actual", t.actual},
          {"missing", t.missing},   {"extra", t.extra},
          {"repeated", t.repeated}, {"first", printable(t.first)}};
}

Json json_of(const Verdict& v) {
  Json taps = Json::array();
  for (const TapTally& tap : v.taps) taps.push_back(json_of(tap));
  Json coverage = Json::object();
  for (const CoverageTally& c : v.coverage)
    coverage[c.side] = {{"expected", c.expected}, {"actual", c.actual}};
  const auto count = [&](std::int64_t n) { return v.compared ? Json(n) : Json(nullptr); };
  return {{"outcome", to_string(v.outcome)},
          {"profile", to_string(v.profile)},
          {"first", v.first ? json_of(*v.first) : Json(nullptr)},
          {"reason", printable(v.reason)},
          {"refusal", v.refusal.empty() ? Json(nullptr) : Json(printable(v.refusal))},
          {"counted", to_string(v.counted)},
          {"missing", count(v.missing)},
          {"extra", count(v.extra)},
          {"repeated", count(v.repeated)},
          {"differences", count(v.differences)},
          {"members", count(v.members)},
          {"voxels", count(v.voxels)},
          {"not_compared", count(v.not_compared)},
          {"taps", std::move(taps)},
          {"coverage", std::move(coverage)},
          {"largest_error", v.largest_error}};
}

Json json_of(const Row& row) {
  Json touched;
  for (const Boundary b : all_boundaries) {
    const auto it = row.touched.find(b);
    touched[std::string(key_of(b))] = it == row.touched.end() ? 0 : it->second;
  }
  const char* verdict = row.different > 0         ? "different"
                        : row.cases == 0          ? "nothing_ran"
                        : row.not_implemented > 0 ? "not_implemented"
                                                  : "equal";
  return {{"operation", printable(row.operation)},
          {"backend", printable(row.backend)},
          {"input", printable(row.input)},
          {"cases", row.cases},
          {"members", row.members},
          {"voxels", row.voxels},
          {"equal", row.equal},
          {"different", row.different},
          {"not_implemented", row.not_implemented},
          {"refused", row.refused},
          {"touched", std::move(touched)},
          {"classes", row.classes},
          {"promised", row.promised},
          {"verdict", verdict},
          {"seconds", row.seconds}};
}

Json json_of(const Smallest& smallest) {
  return {{"case", printable(smallest.text)},
          {"replay", printable(smallest.replay)},
          {"test", smallest.test},
          {"vector", smallest.vector},
          {"verdict", json_of(smallest.verdict)},
          {"tries", smallest.tries},
          {"finished", smallest.finished}};
}

}  // namespace

std::string json_report(const Report& report) {
  const Totals totals = totals_of(report);
  Json rows = Json::array(), failures = Json::array(), notes = Json::array();
  for (const Row& row : report.rows) rows.push_back(json_of(row));
  for (const Failure& f : report.failures)
    failures.push_back({{"operation", printable(f.operation)},
                        {"backend", printable(f.backend)},
                        {"case", printable(f.case_id)},
                        {"replay", printable(f.replay)},
                        {"verdict", json_of(f.verdict)},
                        {"smallest", f.smallest ? json_of(*f.smallest) : Json()}});
  for (const std::string& note : report.notes) notes.push_back(printable(note));
  const Json json{{"format", "leafproof-report"},
                  {"version", 1},
                  {"command", printable(report.command)},
                  {"program_version", printable(report.version)},
                  {"seed", report.seed},
                  {"level", report.level},
                  {"totals",
                   {{"cases", totals.cases},
                    {"members", totals.members},
                    {"voxels", totals.voxels},
                    {"passed", totals.passed},
                    {"failed", totals.failed},
                    {"not_implemented", totals.not_implemented}}},
                  {"rows", std::move(rows)},
                  {"failures", std::move(failures)},
                  {"notes", std::move(notes)},
                  {"seconds", report.seconds},
                  {"html", printable(report.html_path)}};
  return json.dump(2) + "\n";
}

std::string json_verdict(const Verdict& verdict) {
  Json json{{"format", "leafproof-verdict"}, {"version", 1}};
  json.update(json_of(verdict));
  return json.dump(2) + "\n";
}

}  // namespace leafproof::oracle
