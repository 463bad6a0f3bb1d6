// Reports: totals and closing line, widths, stable keys, and text from outside that stays text.
#include "oracle/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "oracle/layout_view.h"
#include "oracle/report_parts.h"
#include "tests/layout_samples.h"

namespace {

using namespace leafproof;
using nlohmann::json;
using oracle::Boundary;
using oracle::Failure;
using oracle::Outcome;
using oracle::Profile;
using oracle::Report;
using oracle::Row;
using oracle::Verdict;

Row row(const std::string& operation, const std::string& backend) {
  Row r;
  r.operation = operation;
  r.backend = backend;
  r.input = "generated";
  r.cases = 100;
  r.members = 250;
  r.voxels = 1234567;
  r.equal = 90;
  r.refused = 10;
  r.touched = {{Boundary::RootTile, 40},       {Boundary::Lower, 50},       {Boundary::Leaf, 90},
               {Boundary::NegativeOctant, 45}, {Boundary::EmptyMember, 30}, {Boundary::Range, 5}};
  r.seconds = 1.25;
  return r;
}

const std::string hostile = "\"><script>alert('x')</script>&\x1b[2J\xff\xe2\x80\xae";

Report report() {
  Report r;
  r.command = "leafproof verify";
  r.version = "0.1.0";
  r.seed = 18446744073709551615u;
  r.level = 2;
  r.seconds = 42;
  r.html_path = "out.html";
  for (const char* op : {"from_points", "refine", "dilate_box"})
    for (const char* backend : {"host-sort", "brute_force"}) r.rows.push_back(row(op, backend));
  r.rows[1].equal = 70;
  r.rows[1].not_implemented = 20;
  r.rows[2].equal = 88;
  r.rows[2].different = 2;

  const reference::Batch batch = samples::rich();
  reference::Batch other = batch;
  other.members[2].erase(other.members[2].begin() + 9);
  other.members[2].push_back({1, 1, 20});
  reference::make_canonical(other.members[2]);
  Failure f;
  f.operation = "refine";
  f.backend = "host-sort";
  f.case_id = "seed 1 number 2";
  f.replay = "./leafproof verify --ops refine --seed 1 --case 2";
  f.verdict = oracle::compare(reference::layout_of(batch),
                              oracle::write_layout(reference::layout_of(other)), Profile::Layout);
  f.expected_voxels = batch.members[2];
  f.actual_voxels = other.members[2];
  r.failures.push_back(f);
  r.notes = {"absent: OpenVDB"};
  return r;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ReportText, ClosesWithTotalsSeedAndPath) {
  const std::vector<std::string> lines = lines_of(oracle::text_report(report()));
  EXPECT_EQ(lines.back(),
            "578 passed, 2 failed, 20 not implemented; seed 18446744073709551615; report out.html");
}

TEST(ReportText, FitsTheTerminal) {
  Report r = report();
  r.rows[0].input = "a folder of meshes whose name is long.obj";
  r.failures.clear();
  for (const int width : {160, 120, 100, 80, 60}) {
    const std::string text = oracle::text_report(r, width);
    for (const std::string& line : lines_of(text)) {
      if (line.starts_with("touched:") || line.starts_with("boundary (l)")) continue;  // legend
      EXPECT_LE(oracle::columns_of(line), static_cast<std::size_t>(width < 84 ? 84 : width))
          << line;
    }
    // What nobody may lose at any width: the operation, what differs, the verdict.
    EXPECT_TRUE(has(text, "refine")) << width;
    EXPECT_TRUE(has(text, "DIFFERS")) << width;
    EXPECT_TRUE(has(text, "diff")) << width;
    EXPECT_TRUE(has(text, "n/i")) << width;
  }
  const std::vector<std::string> wide = lines_of(oracle::text_report(r, 120));
  for (const char* column :
       {"operation", "backend", "input", "cases", "memb.", "voxels", "tile", "lower", "leaf",
        "neg.", "empty", "2^31", "equal", "diff", "n/i", "ref.", "verdict", "time"})
    EXPECT_TRUE(has(wide[1], column)) << column;
  EXPECT_TRUE(has(oracle::text_report(r, 80), "TLlNE2"));
}

TEST(ReportText, ANothingIsNotASuccess) {
  Report r = report();
  r.rows = {row("refine", "host")};
  r.rows[0].cases = r.rows[0].equal = r.rows[0].refused = 0;
  r.failures.clear();
  EXPECT_TRUE(has(oracle::text_report(r), "NOTHING"));
  EXPECT_EQ(oracle::verdict_of(report().rows[0]), "equal");
  oracle::Row partly = report().rows[1];
  EXPECT_EQ(oracle::verdict_of(partly), "partly");
  partly.equal = 0;
  EXPECT_EQ(oracle::verdict_of(partly), "n/i");
  EXPECT_EQ(oracle::verdict_of(report().rows[2]), "DIFFERS");
}

TEST(ReportText, ShowsTheFirstFailuresAndCountsTheRest) {
  Report r = report();
  while (r.failures.size() < 9) r.failures.push_back(r.failures[0]);
  const std::string text = oracle::text_report(r);
  EXPECT_TRUE(has(text, "FAILED refine on host-sort: seed 1 number 2"));
  EXPECT_TRUE(has(text, "replay: ./leafproof verify --ops refine --seed 1 --case 2"));
  EXPECT_TRUE(has(text, "... and 4 more"));
}

TEST(ReportText, AVerdictFitsAScreen) {
  const std::string different = oracle::text_verdict(report().failures[0].verdict);
  EXPECT_TRUE(has(different, "DIFFERENT by profile layout: a missing voxel, member 2"));
  EXPECT_TRUE(has(different, "where     (0,1,1)  in  tile (0,0,0) > upper 0 > lower 0 > leaf 0"));
  EXPECT_TRUE(has(different, "voxels: 1 missing, 1 extra, 0 repeated;"));
  EXPECT_LE(lines_of(different).size(), 40u);
  for (const std::string& line : lines_of(different)) EXPECT_LE(line.size(), 170u);

  Verdict equal;
  equal.members = 3;
  equal.voxels = 17;
  EXPECT_EQ(oracle::text_verdict(equal), "equal by profile topology: 3 members, 17 voxels\n");
  Verdict none;
  none.outcome = Outcome::NotImplemented;
  none.reason = "a box of 2^40 voxels";
  EXPECT_EQ(oracle::text_verdict(none), "not implemented: a box of 2^40 voxels\n");
}

TEST(ReportText, TextFromOutsideMovesNoCursor) {
  EXPECT_EQ(oracle::printable("plain, caf\u00e9, \u00b12\u00b3\u00b9"),
            "plain, caf\u00e9, \u00b12\u00b3\u00b9");
  EXPECT_EQ(oracle::printable("\x1b[31m\n\r\t\x7f"), "\\x1b[31m\\x0a\\x0d\\x09\\x7f");
  EXPECT_EQ(oracle::printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(oracle::printable("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");
  EXPECT_EQ(oracle::printable("\u202eabc\ufeff"), "\\u{202e}abc\\u{feff}");
  EXPECT_EQ(oracle::printable(std::string_view("a\0b", 3)), "a\\x00b");
  // Every byte alone, and every pair, ends in printable UTF-8.
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      const std::string text{static_cast<char>(a), static_cast<char>(b)};
      const std::string safe = oracle::printable(text);
      EXPECT_EQ(oracle::printable(safe), safe);
      EXPECT_EQ(safe.find('\x1b'), std::string::npos);
      EXPECT_NO_THROW(json(safe).dump());
    }
}

/// A report in which everything that can come from outside is hostile.
Report hostile_report() {
  Report r = report();
  r.command = r.version = r.html_path = hostile;
  r.notes = {hostile};
  r.rows[0].operation = r.rows[0].backend = r.rows[0].input = hostile;
  Failure& f = r.failures[0];
  f.operation = f.backend = f.case_id = f.replay = hostile;
  auto& d = *f.verdict.first;
  d.clause = d.what = d.path = d.expected = d.actual = hostile;
  d.window = {hostile, "> " + hostile};
  r.failures.push_back(f);
  r.failures[1].verdict.first.reset();
  r.failures[1].verdict.outcome = Outcome::NotImplemented;
  r.failures[1].verdict.reason = hostile;
  return r;
}

TEST(ReportText, Hostile) {
  const std::string text = oracle::text_report(hostile_report());
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  EXPECT_FALSE(has(text, "\u202e"));
}

TEST(ReportJson, StableKeys) {
  const json j = json::parse(oracle::json_report(report()));
  const auto keys = [](const json& object) {
    std::set<std::string> names;
    for (const auto& [name, value] : object.items()) names.insert(name);
    return names;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(keys(j), (Names{"format", "version", "command", "program_version", "seed", "level",
                            "totals", "rows", "failures", "notes", "seconds", "html"}));
  EXPECT_EQ(keys(j["totals"]),
            (Names{"cases", "members", "voxels", "passed", "failed", "not_implemented"}));
  EXPECT_EQ(keys(j["rows"][0]), (Names{"operation", "backend", "input", "cases", "members",
                                       "voxels", "equal", "different", "not_implemented", "refused",
                                       "touched", "classes", "promised", "verdict", "seconds"}));
  EXPECT_EQ(keys(j["rows"][0]["touched"]),
            (Names{"root_tile", "lower_node", "leaf", "negative_octant", "empty_member", "range"}));
  EXPECT_EQ(keys(j["failures"][0]),
            (Names{"operation", "backend", "case", "replay", "verdict", "smallest"}));
  EXPECT_EQ(keys(j["failures"][0]["verdict"]),
            (Names{"outcome", "profile", "first", "reason", "missing", "extra", "repeated",
                   "differences", "members", "voxels", "not_compared", "counted", "taps",
                   "coverage", "largest_error", "refusal"}));
  EXPECT_EQ(
      keys(j["failures"][0]["verdict"]["first"]),
      (Names{"clause", "what", "member", "coordinate", "path", "expected", "actual", "window"}));
  EXPECT_EQ(j["seed"], 18446744073709551615u);
  EXPECT_EQ(j["totals"]["passed"], 578);
  EXPECT_EQ(j["rows"][1]["verdict"], "not_implemented");
  EXPECT_EQ(j["rows"][2]["verdict"], "different");
  EXPECT_EQ(j["failures"][0]["verdict"]["outcome"], "different");
  EXPECT_EQ(j["failures"][0]["verdict"]["first"]["coordinate"], json({0, 1, 1}));

  const json v = json::parse(oracle::json_verdict(Verdict{}));
  EXPECT_EQ(v["format"], "leafproof-verdict");
  EXPECT_EQ(v["outcome"], "equal");
  EXPECT_EQ(v["first"], nullptr);
  EXPECT_EQ(v["missing"], 0);
}

// What was not compared shows no counts, which would read as "nothing is missing".
TEST(Report, WhatWasNotComparedIsNotCounted) {
  Report r = report();
  Verdict& verdict = r.failures[0].verdict;
  verdict.compared = false;
  EXPECT_TRUE(has(oracle::text_verdict(verdict), "not compared: no voxel and no count"));
  EXPECT_FALSE(has(oracle::text_verdict(verdict), "missing, "));
  EXPECT_TRUE(has(oracle::html_report(r), "not compared: no voxel and no count"));
  EXPECT_FALSE(has(oracle::html_report(r), "voxels missing"));
  const json none = json::parse(oracle::json_verdict(verdict));
  for (const char* key :
       {"missing", "extra", "repeated", "differences", "members", "voxels", "not_compared"})
    EXPECT_EQ(none.at(key), nullptr) << key;

  verdict.compared = true;
  verdict.not_compared = 2;
  EXPECT_TRUE(has(oracle::text_verdict(verdict), "; not compared: the other 2 members\n"));
  EXPECT_TRUE(has(oracle::html_report(r), "; 2 members not compared."));
  EXPECT_EQ(json::parse(oracle::json_verdict(verdict))["not_compared"], 2);
}

TEST(ReportJson, Hostile) {
  const json j = json::parse(oracle::json_report(hostile_report()));
  EXPECT_EQ(j["notes"][0], oracle::printable(hostile));
}

TEST(ReportHtml, IsOnePageWithoutScripts) {
  for (const Report& r : {report(), hostile_report()}) {
    const std::string html = oracle::html_report(r);
    EXPECT_TRUE(html.starts_with("<!doctype html>"));
    EXPECT_TRUE(html.ends_with("</body></html>\n"));
    EXPECT_FALSE(has(html, "<script"));
    EXPECT_FALSE(has(html, "src="));
    EXPECT_FALSE(has(html, "http:"));
    EXPECT_FALSE(has(html, "https:"));
    EXPECT_FALSE(has(html, "url("));
    EXPECT_FALSE(has(html, "\x1b"));
    EXPECT_TRUE(has(html, "default-src 'none'"));
    EXPECT_LT(html.find("<table>"), html.find("<article>"));  // the table first
  }
}

/// Tags open and close in order; attributes have no stray quotes.
void expect_balanced(const std::string& html) {
  std::vector<std::string> open;
  const std::set<std::string> single{"!doctype", "meta", "path", "rect", "br"};
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = html.substr(at + 1, end - at - 1);
    EXPECT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (name[0] == '/') {
      ASSERT_FALSE(open.empty()) << tag;
      ASSERT_EQ("/" + open.back(), name);
      open.pop_back();
    } else if (!single.contains(name)) {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(ReportHtml, IsWellFormed) {
  expect_balanced(oracle::html_report(Report{}));
  expect_balanced(oracle::html_report(report()));
  expect_balanced(oracle::html_report(hostile_report()));
}

TEST(ReportHtml, DrawsThreeSlicesThroughTheFirstDifference) {
  const std::string html = oracle::html_report(report());
  for (const char* slice : {"<b>x = 0</b>", "<b>y = 1</b>", "<b>z = 1</b>"})
    EXPECT_TRUE(has(html, slice)) << slice;
  // x = 0 cuts the 8 x 16 box of which one voxel is missing.
  EXPECT_TRUE(has(html, "127 both, 1 expected only, 0 actual only"));
  EXPECT_TRUE(has(html, "class=\"ring\""));
  EXPECT_TRUE(has(html, "class=\"l-tile\""));
  EXPECT_TRUE(has(html, "class=\"l-leaf\""));
  EXPECT_TRUE(has(html, "expected only: missing"));  // the legend
  EXPECT_TRUE(has(html, "--case 2</code>"));         // the line to copy
}

// At the ends of the lattice the picture is cut, and nothing overflows.
TEST(ReportHtml, EndsOfTheLattice) {
  Report r = report();
  Failure& f = r.failures[0];
  for (const std::int32_t end : {samples::lowest, samples::highest}) {
    f.verdict.first->coordinate = reference::Voxel{end, end, end};
    f.expected_voxels = {{end, end, end}};
    f.actual_voxels.clear();
    const std::string html = oracle::html_report(r);
    EXPECT_TRUE(has(html, "0 both, 1 expected only, 0 actual only"));
    EXPECT_TRUE(has(html, "<b>x = " + std::to_string(end) + "</b>"));
  }
}

TEST(Report, ShortNumbersAndTimes) {
  EXPECT_EQ(oracle::short_number(0), "0");
  EXPECT_EQ(oracle::short_number(9999), "9999");
  EXPECT_EQ(oracle::short_number(10000), "10.0k");
  EXPECT_EQ(oracle::short_number(999949), "1.00M");
  EXPECT_EQ(oracle::short_number(123456789), "123M");
  EXPECT_EQ(oracle::short_number(1234567890), "1.23G");
  EXPECT_EQ(oracle::short_number(-5), "-5");
  EXPECT_EQ(oracle::short_time(0.04), "0.0s");
  EXPECT_EQ(oracle::short_time(12.3), "12s");
  EXPECT_EQ(oracle::short_time(185), "3m05s");
}

TEST(Report, JUnitCountsRowsAndShowsWhatFails) {
  Report r = report();
  r.rows.push_back(row("merge", "host-sort"));
  r.rows.back().equal = r.rows.back().refused = 0;
  r.rows.back().not_implemented = 100;
  r.rows.push_back(Row{});
  r.rows.back().operation = hostile;
  r.rows.back().backend = "host-sort";
  r.failures[0].case_id = hostile;
  const std::string xml = oracle::junit_report(r, {"merge on host-sort was not implemented"});
  const auto has = [&](const std::string& text) { return xml.find(text) != std::string::npos; };
  // Eight rows and the sweep itself; from_points passes, refine differs on one of two backends.
  EXPECT_TRUE(has("tests=\"9\" failures=\"2\" errors=\"1\" skipped=\"1\" time=\"42.000\"")) << xml;
  EXPECT_TRUE(has("<testsuite name=\"brute_force\" tests=\"3\" failures=\"0\"")) << xml;
  EXPECT_TRUE(has("message=\"2 of 100 cases differ\"")) << xml;
  EXPECT_TRUE(has("replay: ./leafproof verify --ops refine --seed 1 --case 2")) << xml;
  EXPECT_TRUE(has("name=\"seed\" value=\"18446744073709551615\"")) << xml;
  EXPECT_TRUE(has("merge on host-sort was not implemented")) << xml;
  EXPECT_FALSE(has("<script>")) << xml;
  EXPECT_EQ(xml.find('\x1b'), xml.npos);
  // Well formed: every element that opens closes, in order.
  std::vector<std::string> open;
  for (std::size_t at = xml.find('<', 2); at != xml.npos; at = xml.find('<', at + 1)) {
    const std::size_t end = xml.find('>', at);
    ASSERT_NE(end, xml.npos);
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.back() == '/') continue;
    const std::string name = tag.substr(0, tag.find(' '));
    if (name[0] != '/') {
      open.push_back(name);
    } else {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(name, "/" + open.back());
      open.pop_back();
    }
  }
  EXPECT_TRUE(open.empty());
}

}  // namespace
