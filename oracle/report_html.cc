// Reports for a browser: one page that needs nothing from elsewhere and runs no script. First the
// table, then each difference with the slices through it.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "oracle/layout_view.h"
#include "oracle/report_parts.h"

namespace leafproof::oracle {
namespace {

constexpr const char* style = R"(
:root { color-scheme: light dark;
  --page: #ffffff; --card: #f6f7f9; --text: #1b1f24; --soft: #5b636e; --line: #d5dae0;
  --good: #176f34; --bad: #b3261e; --warn: #7a4d00;
  --both: #9aa3ad; --missing: #d55e00; --extra: #0068b0;
  --leaf: #c9d0d8; --lower: #7d8792; --tile: #1b1f24; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14171b; --card: #1c2127; --text: #e7eaee; --soft: #9aa4af; --line: #343b44;
  --good: #5bcb7d; --bad: #ff8a80; --warn: #e8b04a;
  --both: #66707b; --missing: #ff9d4d; --extra: #5cb8ff;
  --leaf: #363e47; --lower: #7d8792; --tile: #e7eaee; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 88rem; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans",
  sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1rem; margin: 0; }
code, pre, .mono { font: 13px/1.5 ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; }
.soft { color: var(--soft); } .meta { margin: .25rem 0 0; overflow-wrap: anywhere; }
.totals { display: flex; flex-wrap: wrap; gap: .5rem 2.25rem; margin: 1.25rem 0 0; padding: 0;
  list-style: none; }
.totals b { display: block; font-size: 1.9rem; line-height: 1.1; font-weight: 650;
  font-variant-numeric: tabular-nums; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: 13px;
  font-variant-numeric: tabular-nums; }
th, td { padding: .34rem .4rem; text-align: left; white-space: nowrap; }
th { font-weight: 600; color: var(--soft); } thead { background: var(--card); }
thead th { vertical-align: bottom; line-height: 1.25; } thead tr:last-child th {
  border-bottom: 1px solid var(--line); }
th.group { text-align: center; border-bottom: 1px solid var(--line); font-weight: 500; }
tbody tr + tr td { border-top: 1px solid var(--line); }
tfoot td { border-top: 2px solid var(--line); font-weight: 600; background: var(--card); }
.n { text-align: right; } .zero { color: var(--soft); opacity: .65; }
.first { border-left: 1px solid var(--line); }
td.name { font-weight: 600; }
.pill { display: inline-block; padding: 0 .55rem; border-radius: 1rem;
  border: 1px solid currentColor; font-weight: 600; font-size: 12.5px; }
article { border: 1px solid var(--line); border-radius: 8px; margin: 0 0 1.5rem;
  overflow: hidden; }
article > header { background: var(--card); border-bottom: 1px solid var(--line);
  padding: .7rem 1rem; overflow-wrap: anywhere; }
article > div { padding: .9rem 1rem 1.1rem; }
.what { font-size: 1.08rem; font-weight: 600; margin: 0 0 .5rem; overflow-wrap: anywhere; }
.clause { font-weight: 500; color: var(--soft); border: 1px solid var(--line);
  border-radius: 4px; padding: 0 .35rem; font-size: .85em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 .8rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.slices { display: flex; flex-wrap: wrap; gap: 1rem 1.5rem; margin: 1rem 0; }
figure { margin: 0; width: min-content; } figcaption { font-size: 13px; color: var(--soft);
  margin: 0 0 .25rem; }
figcaption b { color: var(--text); }
svg { display: block; }
svg text { font: 10px ui-monospace, "DejaVu Sans Mono", monospace; fill: var(--soft); }
.frame { fill: none; stroke: var(--line); }
.l-leaf { stroke: var(--leaf); } .l-lower { stroke: var(--lower); stroke-width: 1.6; }
.l-tile { stroke: var(--tile); stroke-width: 2.6; }
.both { fill: var(--both); } .miss { fill: none; stroke: var(--missing); stroke-width: 1.8; }
.extra { fill: var(--extra); } .plus { stroke: var(--page); stroke-width: 1.5; fill: none; }
.ring { fill: none; stroke: var(--text); stroke-width: 1.8; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; font-size: 13px;
  color: var(--soft); margin: 0 0 1rem; padding: 0; list-style: none; }
.legend li { display: flex; align-items: center; gap: .45rem; }
pre { margin: .75rem 0; padding: .7rem .9rem; background: var(--card); border-radius: 6px;
  overflow-x: auto; }
pre b { color: var(--bad); font-weight: 650; }
.replay { display: block; user-select: all; -webkit-user-select: all; cursor: copy;
  padding: .5rem .9rem; border: 1px dashed var(--line); border-radius: 6px; overflow-x: auto;
  white-space: pre; }
.notes { padding-left: 1.2rem; } .notes li { overflow-wrap: anywhere; }
@media print { article { break-inside: avoid; } body { max-width: none; } }
)";

/// 1234567 with thin spaces between thousands.
std::string grouped(std::int64_t n) {
  std::string text = fmt::format("{}", n);
  for (std::size_t at = text.size(); at > 3 && text[at - 4] != '-';) text.insert(at -= 3, "\u202f");
  return text;
}

// ---- pictures ----------------------------------------------------------------------------------

constexpr std::int64_t reach = 16;  // cells shown to each side of the first difference
constexpr int cell = 10;            // pixels

std::array<std::int64_t, 3> axes(const Voxel& v) {
  return {v.x, v.y, v.z};
}

/// The voxels of one side in a window of a slice, as flags.
std::vector<bool> in_view(const std::vector<Voxel>& voxels, std::size_t normal, std::size_t down,
                          std::size_t right, const Voxel& centre,
                          const std::array<std::int64_t, 2>& low,
                          const std::array<std::int64_t, 2>& count) {
  std::vector<bool> on(static_cast<std::size_t>(count[0] * count[1]));
  const auto c = axes(centre);
  for (const Voxel& v : voxels) {
    const auto a = axes(v);
    if (a[normal] != c[normal]) continue;
    const std::int64_t row = a[down] - low[0], column = a[right] - low[1];
    if (row >= 0 && row < count[0] && column >= 0 && column < count[1])
      on[static_cast<std::size_t>(row * count[1] + column)] = true;
  }
  return on;
}

const char* line_class(std::int64_t coordinate) {
  const auto multiple = [&](std::int64_t n) { return coordinate % n == 0; };
  return multiple(4096) ? "l-tile" : multiple(128) ? "l-lower" : "l-leaf";
}

/// The slice through `centre` across axis `normal`.
std::string slice(const Failure& failure, const Voxel& centre, std::size_t normal) {
  const std::size_t down = normal == 0 ? 1 : 0, right = normal == 2 ? 1 : 2;
  constexpr std::int64_t lowest = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t highest = std::numeric_limits<std::int32_t>::max();
  const auto c = axes(centre);
  std::array<std::int64_t, 2> low{}, count{};
  const std::array<std::size_t, 2> shown{down, right};
  for (std::size_t i = 0; i < 2; ++i) {
    low[i] = std::max(c[shown[i]] - reach, lowest);
    count[i] = std::min(c[shown[i]] + reach, highest) - low[i] + 1;
  }
  const auto expected = in_view(failure.expected_voxels, normal, down, right, centre, low, count);
  const auto actual = in_view(failure.actual_voxels, normal, down, right, centre, low, count);

  std::string lines, labels, both, miss, extra, plus;
  std::size_t widest = 1;
  const auto label_at = [&](std::int64_t coordinate) { return coordinate % 8 == 0; };
  for (std::int64_t r = 0; r < count[0]; ++r)
    if (label_at(low[0] + r)) widest = std::max(widest, fmt::format("{}", low[0] + r).size());
  const int left = 10 + 6 * static_cast<int>(widest), top = 18;
  const int wide = static_cast<int>(count[1]) * cell, high = static_cast<int>(count[0]) * cell;

  std::array<std::int64_t, 3> seen{};
  for (std::int64_t r = 0; r < count[0]; ++r)
    for (std::int64_t k = 0; k < count[1]; ++k) {
      const auto i = static_cast<std::size_t>(r * count[1] + k);
      const int x = left + static_cast<int>(k) * cell, y = top + static_cast<int>(r) * cell;
      if (expected[i] && actual[i]) {
        both += fmt::format("M{} {}h8v8h-8z", x + 1, y + 1);
        ++seen[0];
      } else if (expected[i]) {
        miss += fmt::format("M{} {}h7v7h-7zl7 7", x + 1.5, y + 1.5);
        ++seen[1];
      } else if (actual[i]) {
        extra += fmt::format("M{} {}h8v8h-8z", x + 1, y + 1);
        plus += fmt::format("M{} {}h5M{} {}v5", x + 2.5, y + 5, x + 5, y + 2.5);
        ++seen[2];
      }
    }
  // Lines where leaves, lower nodes and root tiles meet, the strongest last.
  for (const char* kind : {"l-leaf", "l-lower", "l-tile"}) {
    std::string path;
    for (std::int64_t r = 0; r < count[0]; ++r)
      if (label_at(low[0] + r) && line_class(low[0] + r) == std::string_view(kind))
        path += fmt::format("M{} {}h{}", left, top + r * cell, wide);
    for (std::int64_t k = 0; k < count[1]; ++k)
      if (label_at(low[1] + k) && line_class(low[1] + k) == std::string_view(kind))
        path += fmt::format("M{} {}v{}", left + k * cell, top, high);
    if (!path.empty()) lines += fmt::format("<path class=\"{}\" d=\"{}\"/>", kind, path);
  }
  for (std::int64_t r = 0; r < count[0]; ++r)
    if (label_at(low[0] + r))
      labels += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", left - 4,
                            top + r * cell + 9, low[0] + r);
  for (std::int64_t k = 0; k < count[1]; ++k)
    if (label_at(low[1] + k))
      labels += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", left + k * cell + 1, top - 5,
                            low[1] + k);
  const char name[] = "xyz";
  std::string svg = fmt::format(
      "<figure><figcaption><b>{0} = {1}</b>, {2} right, {3} down<br>"
      "{4} both, {5} expected only, {6} actual only</figcaption>"
      "<svg role=\"img\" aria-label=\"slice at {0} = {1}\" width=\"{7}\" height=\"{8}\" "
      "viewBox=\"0 0 {7} {8}\">",
      name[normal], c[normal], name[right], name[down], seen[0], seen[1], seen[2], left + wide + 2,
      top + high + 2);
  svg += lines;
  const auto path = [&](const char* kind, const std::string& d) {
    if (!d.empty()) svg += fmt::format("<path class=\"{}\" d=\"{}\"/>", kind, d);
  };
  path("both", both);
  path("miss", miss);
  path("extra", extra);
  path("plus", plus);
  svg += fmt::format("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                     left + .5, top + .5, wide - 1, high - 1);
  svg += fmt::format("<rect class=\"ring\" x=\"{}\" y=\"{}\" width=\"14\" height=\"14\" rx=\"3\"/>",
                     left + (c[right] - low[1]) * cell - 2, top + (c[down] - low[0]) * cell - 2);
  return svg + labels + "</svg></figure>\n";
}

std::string legend() {
  const auto item = [](const std::string& drawing, const char* text) {
    return fmt::format("<li><svg width=\"16\" height=\"16\" viewBox=\"0 0 10 10\">{}</svg>{}</li>",
                       drawing, text);
  };
  return "<ul class=\"legend\">" + item("<path class=\"both\" d=\"M1 1h8v8h-8z\"/>", "both") +
         item("<path class=\"miss\" d=\"M1.5 1.5h7v7h-7zl7 7\"/>", "expected only: missing") +
         item(
             "<path class=\"extra\" d=\"M1 1h8v8h-8z\"/><path class=\"plus\" "
             "d=\"M2.5 5h5M5 2.5v5\"/>",
             "actual only: extra") +
         item("<rect class=\"ring\" x=\"1\" y=\"1\" width=\"8\" height=\"8\" rx=\"2\"/>",
              "the first difference") +
         item("<path class=\"l-leaf\" d=\"M5 0v10\"/>", "leaf") +
         item("<path class=\"l-lower\" d=\"M5 0v10\"/>", "lower node") +
         item("<path class=\"l-tile\" d=\"M5 0v10\"/>", "root tile") + "</ul>\n";
}

// ---- the parts of the page ---------------------------------------------------------------------

std::string heading(const Report& report, const Totals& totals) {
  std::string html = "<header><h1>Leafproof report</h1>\n<p class=\"meta soft\">";
  if (!report.command.empty()) html += "<code>" + markup(report.command) + "</code> &middot; ";
  html +=
      fmt::format("version {} &middot; seed {} &middot; level {} &middot; {}</p>\n",
                  markup(report.version), report.seed, report.level, short_time(report.seconds));
  const auto total = [](std::int64_t n, const char* kind, const char* text) {
    return fmt::format("<li><b class=\"{}\">{}</b>{}</li>", n == 0 ? "zero" : kind, grouped(n),
                       text);
  };
  return html + "<ul class=\"totals\">" + total(totals.passed, "good", "passed") +
         total(totals.failed, "bad", "failed") +
         total(totals.not_implemented, "warn", "not implemented") +
         fmt::format("<li><b>{}</b>members compared</li><li><b>{}</b>voxels compared</li>",
                     grouped(totals.members), grouped(totals.voxels)) +
         "</ul></header>\n";
}

std::string on_two_lines(std::string_view words) {
  const std::size_t space = words.find(' ');
  if (space == std::string_view::npos) return std::string(words);
  return fmt::format("{}<br>{}", words.substr(0, space), words.substr(space + 1));
}

std::string number_cell(std::int64_t n, const char* kind = "") {
  return fmt::format("<td class=\"n {}{}\">{}</td>", kind, n == 0 ? " zero" : "", grouped(n));
}

std::string table(const Report& report, const Totals& totals) {
  std::string html =
      "<h2>Operations</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th colspan=\"6\"></th>"
      "<th class=\"group first\" colspan=\"6\">cases that touched</th>"
      "<th class=\"group first\" colspan=\"4\">answers</th><th class=\"first\" colspan=\"2\"></th>"
      "</tr>\n<tr><th>operation</th><th>backend</th><th>input</th><th class=\"n\">cases</th>"
      "<th class=\"n\">members</th><th class=\"n\">voxels</th>";
  std::map<Boundary, std::int64_t> touched;
  for (const Boundary b : all_boundaries)
    html += fmt::format("<th class=\"n{}\">{}</th>", b == all_boundaries[0] ? " first" : "",
                        on_two_lines(to_string(b)));
  html +=
      "<th class=\"n first\">equal</th><th class=\"n\">different</th><th class=\"n\">not<br>"
      "impl.</th><th class=\"n\">refused<br>alike</th><th class=\"first\">verdict</th>"
      "<th class=\"n\">time</th></tr></thead>\n<tbody>\n";
  std::int64_t equal = 0, refused = 0;
  for (const Row& row : report.rows) {
    html += fmt::format("<tr><td class=\"name\">{}</td><td>{}</td><td>{}</td>",
                        markup(row.operation), markup(row.backend), markup(row.input));
    html += number_cell(row.cases) + number_cell(row.members) + number_cell(row.voxels);
    for (const Boundary b : all_boundaries) {
      const auto it = row.touched.find(b);
      const std::int64_t n = it == row.touched.end() ? 0 : it->second;
      touched[b] += n;
      html += number_cell(n, b == all_boundaries[0] ? "first" : "");
    }
    const std::string_view verdict = verdict_of(row);
    html += number_cell(row.equal, "first") +
            number_cell(row.different, row.different > 0 ? "bad" : "") +
            number_cell(row.not_implemented, row.not_implemented > 0 ? "warn" : "") +
            number_cell(row.refused) +
            fmt::format(
                "<td class=\"first\"><span class=\"pill {}\">{}</span></td>"
                "<td class=\"n\">{}</td></tr>\n",
                verdict == "equal"                        ? "good"
                : verdict == "n/i" || verdict == "partly" ? "warn"
                                                          : "bad",
                verdict == "n/i" ? "not impl." : verdict, short_time(row.seconds));
    equal += row.equal;
    refused += row.refused;
  }
  html += "</tbody>\n<tfoot><tr><td colspan=\"3\">total</td>" + number_cell(totals.cases) +
          number_cell(totals.members) + number_cell(totals.voxels);
  for (const Boundary b : all_boundaries)
    html += number_cell(touched[b], b == all_boundaries[0] ? "first" : "");
  html +=
      number_cell(equal, "first") + number_cell(totals.failed) +
      number_cell(totals.not_implemented) + number_cell(refused) +
      fmt::format("<td class=\"first\"></td><td class=\"n\">{}</td></tr></tfoot>\n</table></div>\n",
                  short_time(report.seconds));
  return html;
}

/// The taps of a map that differ.
std::string taps_of(const Verdict& v) {
  if (v.taps.empty()) return "";
  std::string html =
      "<div class=\"scroll\"><table>\n<thead><tr><th>tap</th><th>at</th>"
      "<th class=\"n\">pairs expected</th><th class=\"n\">actual</th><th class=\"n\">missing</th>"
      "<th class=\"n\">extra</th><th class=\"n\">repeated</th><th>first "
      "difference</th></tr></thead>\n"
      "<tbody>\n";
  for (const TapTally& t : v.taps)
    html += fmt::format("<tr><td>{}</td><td class=\"mono\">({},{},{})</td>", t.tap, t.at[0],
                        t.at[1], t.at[2]) +
            number_cell(t.expected) + number_cell(t.actual) +
            number_cell(t.missing, t.missing > 0 ? "bad" : "") +
            number_cell(t.extra, t.extra > 0 ? "bad" : "") +
            number_cell(t.repeated, t.repeated > 0 ? "bad" : "") + "<td class=\"mono\">" +
            markup(t.first) + "</td></tr>\n";
  return html + "</tbody></table></div>\n";
}

/// [M-6] Both sides of a map.
std::string coverage_of(const Verdict& v) {
  std::string html;
  for (const CoverageTally& c : v.coverage) {
    html += "<p class=\"soft\">" + markup(text_coverage(c.side, c.expected));
    if (c.actual != c.expected) html += "; " + markup(degrees_that_differ(c));
    html += ".</p>\n";
  }
  return html;
}

std::string failure(const Failure& f) {
  const Verdict& v = f.verdict;
  std::string html = fmt::format(
      "<article><header><h3>{} on {}</h3><div class=\"mono soft\">{}</div></header>\n<div>",
      markup(f.operation), markup(f.backend), markup(f.case_id));
  if (v.first) {
    const Difference& d = *v.first;
    html += fmt::format("<p class=\"what\">{} <span class=\"clause\">{}</span></p>\n<dl>",
                        markup(d.what), markup(d.clause));
    const auto entry = [&](const char* term, const std::string& text) {
      if (!text.empty())
        html += fmt::format("<dt>{}</dt><dd class=\"mono\">{}</dd>", term, markup(text));
    };
    if (d.member >= 0) entry("member", fmt::format("{}", d.member));
    if (d.coordinate) entry("voxel", to_text(*d.coordinate));
    entry("path", d.path);
    entry("expected", d.expected);
    entry("actual", d.actual);
    html += "</dl>\n";
  } else if (!v.reason.empty()) {
    html += "<p class=\"what\">" + markup(v.reason) + "</p>\n";
  }
  html += fmt::format("<p class=\"soft\">Profile {}: ", to_string(v.profile));
  if (v.compared)
    html += (v.counted == Counted::Numbers
                 ? fmt::format("{} numbers differ; the largest error of the others is {:.2g} of "
                               "its bound",
                               grouped(v.differences), v.largest_error)
                 : fmt::format("{} {} missing, {} extra, {} repeated; {} elements differ",
                               grouped(v.missing), to_string(v.counted), grouped(v.extra),
                               grouped(v.repeated), grouped(v.differences))) +
            fmt::format("; {} members and {} {} compared", grouped(v.members), grouped(v.voxels),
                        to_string(v.counted));
  else
    html += "not compared: no voxel and no count was judged";
  if (v.compared && v.not_compared > 0)
    html += fmt::format("; {} members not compared", grouped(v.not_compared));
  html += ".</p>\n";
  if (v.first && v.first->coordinate && !(f.expected_voxels.empty() && f.actual_voxels.empty())) {
    html += "<div class=\"slices\">\n";
    for (std::size_t axis = 0; axis < 3; ++axis) html += slice(f, *v.first->coordinate, axis);
    html += "</div>\n";
  }
  if (v.first && !v.first->window.empty()) {
    html += "<pre>";
    for (const std::string& line : v.first->window) {
      const bool marked = line.starts_with('>');
      html += (marked ? "<b>" : "") + markup(line) + (marked ? "</b>" : "") + "\n";
    }
    html += "</pre>\n";
  }
  html += taps_of(v) + coverage_of(v);
  if (!f.replay.empty())
    html +=
        "<div class=\"soft\">Replay (one click selects the line):</div><code class=\"replay\">" +
        markup(f.replay) + "</code>\n";
  if (f.smallest)
    html += "<div class=\"soft\">The smallest case that differs:</div><code class=\"replay\">" +
            markup(f.smallest->replay) + "</code>\n<pre>" +
            markup(text_verdict(f.smallest->verdict)) + "</pre>\n";
  return html + "</div></article>\n";
}

}  // namespace

std::string html_report(const Report& report) {
  const Totals totals = totals_of(report);
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += fmt::format("<title>Leafproof: {} passed, {} failed, {} not implemented</title>\n",
                      totals.passed, totals.failed, totals.not_implemented);
  html += std::string("<style>") + style + "</style></head>\n<body>\n" + heading(report, totals);
  if (!report.rows.empty()) html += table(report, totals);
  if (!report.failures.empty()) {
    html += "<h2>Differences</h2>\n" + legend();
    for (const Failure& f : report.failures) html += failure(f);
  }
  if (!report.notes.empty()) {
    html += "<h2>Notes</h2>\n<ul class=\"notes\">";
    for (const std::string& note : report.notes) html += "<li>" + markup(note) + "</li>";
    html += "</ul>\n";
  }
  return html + "</body></html>\n";
}

}  // namespace leafproof::oracle
