// Reports on a terminal, and what all forms of a report share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "oracle/layout_view.h"
#include "oracle/report_parts.h"

namespace leafproof::oracle {
namespace {

constexpr std::size_t failures_shown = 5, window_lines_shown = 26;

/// Length of the valid UTF-8 sequence at the start of `text`, and its code point; 0 when invalid.
std::size_t decode(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  const std::size_t size = lead < 0x80             ? 1
                           : (lead & 0xe0) == 0xc0 ? 2
                           : (lead & 0xf0) == 0xe0 ? 3
                           : (lead & 0xf8) == 0xf0 ? 4
                                                   : 0;
  if (size == 0 || size > text.size()) return 0;
  code = size == 1 ? lead : lead & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < smallest[size] || code > 0x10ffff || surrogate ? 0 : size;
}

/// Characters that a reader does not see, or that turn or join what stands beside them.
bool hides(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
         code == 0xfeff || code == 0xad;
}

std::string clipped(std::string text, std::size_t width) {
  if (columns_of(text) <= width) return text;
  if (width <= 2) return text.substr(0, width);
  std::size_t at = 0, columns = 0;
  while (columns < width - 2) {
    ++at;
    while (at < text.size() && (static_cast<std::uint8_t>(text[at]) & 0xc0) == 0x80) ++at;
    ++columns;
  }
  return text.substr(0, at) + "..";
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, columns_of(text)), ' ');
  return right ? space + text : text + space;
}

/// One column of the table. When the table is too wide, columns go in ascending `worth`.
struct Column {
  std::string group, header;
  bool right;
  int worth;
  std::function<std::string(const Row&)> cell;
};

constexpr int always = 1000;

std::vector<Column> columns() {
  const auto number = [](std::int64_t n) { return fmt::format("{}", n); };
  std::vector<Column> list{
      {"", "operation", false, always, [](const Row& r) { return printable(r.operation); }},
      {"", "backend", false, always, [](const Row& r) { return printable(short_name(r.backend)); }},
      {"", "input", false, always, [](const Row& r) { return printable(r.input); }},
      {"", "cases", true, 9, [=](const Row& r) { return number(r.cases); }},
      {"", "memb.", true, 2, [](const Row& r) { return short_number(r.members); }},
      {"", "voxels", true, 5, [](const Row& r) { return short_number(r.voxels); }}};
  constexpr const char* names[] = {"tile", "lower", "leaf", "neg.", "empty", "2^31"};
  for (const Boundary b : all_boundaries)
    list.push_back({"cases that touched", names[static_cast<int>(b)], true, 6, [=](const Row& r) {
                      const auto it = r.touched.find(b);
                      return number(it == r.touched.end() ? 0 : it->second);
                    }});
  list.push_back({"", "touched", false, 6, [](const Row& r) {
                    std::string text = "TLlNE2";
                    for (std::size_t i = 0; i < text.size(); ++i) {
                      const auto it = r.touched.find(all_boundaries[i]);
                      if (it == r.touched.end() || it->second == 0) text[i] = '-';
                    }
                    return text;
                  }});
  list.push_back({"answers", "equal", true, 4, [=](const Row& r) { return number(r.equal); }});
  list.push_back({"answers", "diff", true, 8, [=](const Row& r) { return number(r.different); }});
  list.push_back(
      {"answers", "n/i", true, 7, [=](const Row& r) { return number(r.not_implemented); }});
  list.push_back({"answers", "ref.", true, 3, [=](const Row& r) { return number(r.refused); }});
  list.push_back(
      {"", "verdict", false, always, [](const Row& r) { return std::string(verdict_of(r)); }});
  list.push_back({"", "time", true, 1, [](const Row& r) { return short_time(r.seconds); }});
  return list;
}

/// The table as lines, no wider than `width` where that is possible at all; `list` becomes the
/// columns that are in it.
std::vector<std::string> table(const std::vector<Row>& rows, std::size_t width,
                               std::vector<Column>& list) {
  constexpr std::size_t input = 2, shortest_input = 9;
  std::vector<std::vector<std::string>> cells;
  std::vector<std::size_t> wide;
  const auto measure = [&] {
    cells.assign(list.size(), {});
    wide.clear();
    for (std::size_t c = 0; c < list.size(); ++c) {
      wide.push_back(list[c].header.size());
      for (const Row& row : rows) {
        cells[c].push_back(clipped(list[c].cell(row), 24));
        wide[c] = std::max(wide[c], columns_of(cells[c].back()));
      }
    }
    std::size_t total = list.size() - 1;
    for (const std::size_t w : wide) total += w;
    return total;
  };
  const auto shorten_input = [&](std::size_t& total) {
    if (total <= width || wide[input] <= shortest_input) return;
    const std::size_t less = std::min(total - width, wide[input] - shortest_input);
    wide[input] -= less;
    total -= less;
    for (std::string& cell : cells[input]) cell = clipped(cell, wide[input]);
  };
  // The six classes are columns where there is room, else one column of six letters.
  const std::vector<Column> full = list;
  std::erase_if(list, [](const Column& c) { return c.header == "touched"; });
  std::size_t total = measure();
  shorten_input(total);
  if (total > width) {
    list = full;
    std::erase_if(list, [](const Column& c) { return !c.group.empty() && c.group != "answers"; });
    total = measure();
  }
  for (shorten_input(total); total > width; shorten_input(total)) {
    const auto least =
        std::min_element(list.begin(), list.end(),
                         [](const Column& a, const Column& b) { return a.worth < b.worth; });
    if (least->worth == always) break;
    list.erase(least);
    total = measure();
  }

  std::vector<std::string> lines;
  const auto trimmed = [](std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  // A line of group names above the columns that belong together.
  std::string groups;
  for (std::size_t c = 0; c < list.size();) {
    std::size_t end = c + 1, span = wide[c];
    while (!list[c].group.empty() && end < list.size() && list[end].group == list[c].group)
      span += wide[end++] + 1;
    std::string name = list[c].group.size() <= span ? list[c].group : "";
    if (!name.empty() && name.size() + 4 <= span)
      name = fmt::format("{:-^{}}", " " + name + " ", span);
    groups += padded(name, span, false) + " ";
    c = end;
  }
  if (!trimmed(groups).empty()) lines.push_back(trimmed(groups));
  std::string header, rule;
  for (std::size_t c = 0; c < list.size(); ++c) {
    header += padded(list[c].header, wide[c], list[c].right) + " ";
    rule += std::string(wide[c], '-') + " ";
  }
  lines.push_back(trimmed(header));
  lines.push_back(trimmed(rule));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < list.size(); ++c)
      line += padded(cells[c][r], wide[c], list[c].right) + " ";
    lines.push_back(trimmed(line));
  }
  return lines;
}

std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += "  " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

/// "1 member, 20 voxels".
std::string size_of(const Verdict& verdict) {
  std::string counted(to_string(verdict.counted));
  if (verdict.voxels == 1) counted.pop_back();
  return fmt::format("{} member{}, {} {}", verdict.members, verdict.members == 1 ? "" : "s",
                     verdict.voxels, counted);
}

/// What came of all that was counted.
std::string counts_of(const Verdict& verdict) {
  if (verdict.counted == Counted::Numbers)
    return fmt::format("numbers: {} differ; the largest error of the others is {:.2g} of its bound",
                       verdict.differences, verdict.largest_error);
  const std::string taps = verdict.taps.empty() ? ""
                                                : fmt::format(", at {} tap{}", verdict.taps.size(),
                                                              verdict.taps.size() == 1 ? "" : "s");
  return fmt::format("{}: {} missing, {} extra, {} repeated{}; {} elements differ",
                     to_string(verdict.counted), verdict.missing, verdict.extra, verdict.repeated,
                     taps, verdict.differences);
}

/// The smallest case that fails, and what to paste where.
std::string smallest_text(const Smallest& smallest) {
  constexpr std::size_t shown = 4000;  // characters; all of it is in the JSON
  const auto cut = [](const std::string& text) {
    return text.size() <= shown ? text : text.substr(0, shown) + "... (whole in --json)\n";
  };
  std::string text = fmt::format("smallest ({} tries{}):\n", smallest.tries,
                                 smallest.finished ? "" : ", and there may be a smaller one");
  text += indented(cut(printable(smallest.text)) + "\n" + text_verdict(smallest.verdict));
  text += "replay: " + cut(printable(smallest.replay)) + "\nas a test:\n";
  text += indented(cut(smallest.test)) + "as a vector [F]:\n" + indented(cut(smallest.vector));
  return text;
}

/// How many classes of cases were promised, and which of them is the nearest to being missed; and
/// those that so few cases do not promise and did not meet, by operation and class.
std::string classes_text(const std::vector<Row>& rows) {
  std::size_t promised = 0;
  std::set<std::pair<std::string, std::string>> unmet;
  std::int64_t fewest = INT64_MAX;
  std::string of;
  for (const Row& row : rows) {
    promised += row.promised.size();
    if (row.promised.empty()) continue;
    for (const auto& [name, cases] : row.classes)
      if (cases == 0) unmet.emplace(row.operation, name);
    for (const std::string& name : row.promised) {
      const auto it = row.classes.find(name);
      const std::int64_t cases = it == row.classes.end() ? 0 : it->second;
      if (cases >= fewest) continue;
      fewest = cases;
      of = fmt::format("\"{}\", {} of {} on {}", name, cases, row.operation, row.backend);
    }
  }
  if (promised == 0) return "";
  std::string text = fmt::format("classes of cases: {} promised; the fewest cases: {}.\n", promised,
                                 printable(of));
  if (!unmet.empty())
    text +=
        fmt::format("Not promised, and met by no case: {} more; a higher --level promises them.\n",
                    unmet.size());
  return text;
}

}  // namespace

std::string text_report(const Report& report, int width) {
  std::string text;
  if (!report.rows.empty()) {
    std::vector<Column> list = columns();
    for (const std::string& line :
         table(report.rows, static_cast<std::size_t>(std::max(width, 40)), list))
      text += line + "\n";
    const auto has = [&](const char* header) {
      return std::any_of(list.begin(), list.end(),
                         [&](const Column& c) { return c.header == header; });
    };
    if (has("touched"))
      text +=
          "touched: some case touched a root tile boundary (T), lower node boundary (L), leaf\n"
          "boundary (l), negative octant (N), empty member (E), end of the lattice (2); -: none.\n";
    if (has("2^31"))
      text +=
          "touched: boundaries of root tiles, lower nodes, leaves; negative octants, empty "
          "members, "
          "ends of the lattice.\n";
    if (has("n/i")) {
      text +=
          "n/i: not implemented; a verdict of \"partly\": equal wherever the backend answered.\n";
    }
    if (has("ref.")) text += "ref.: refused, by both sides alike.\n";
    text += classes_text(report.rows);
  }
  for (std::size_t i = 0; i < report.failures.size(); ++i) {
    if (i == failures_shown) {
      text += fmt::format("\n... and {} more that are kept in the report.\n",
                          report.failures.size() - failures_shown);
      break;
    }
    const Failure& f = report.failures[i];
    text += fmt::format("\nFAILED {} on {}: {}\n", printable(f.operation), printable(f.backend),
                        printable(f.case_id));
    text += indented(text_verdict(f.verdict));
    if (!f.replay.empty()) text += "  replay: " + printable(f.replay) + "\n";
    if (f.smallest) text += indented(smallest_text(*f.smallest));
  }
  if (!report.notes.empty()) text += "\n";
  for (const std::string& note : report.notes) text += "note: " + printable(note) + "\n";

  const Totals totals = totals_of(report);
  text += fmt::format("\n{} passed, {} failed, {} not implemented; seed {}", totals.passed,
                      totals.failed, totals.not_implemented, report.seed);
  if (!report.html_path.empty()) text += "; report " + printable(report.html_path);
  return text + "\n";
}

std::string text_coverage(const std::string& side, const std::vector<std::int64_t>& histogram) {
  std::int64_t rows = 0;
  for (const std::int64_t n : histogram) rows += n;
  std::string text = fmt::format("{} rows: {}", side, rows);
  if (rows == 0) return text;
  text += fmt::format(", of which {} in no pair", histogram[0]);
  if (histogram[0] == rows) return text;
  const auto least =
      std::find_if(histogram.begin() + 1, histogram.end(), [](auto n) { return n > 0; }) -
      histogram.begin();
  const auto most = static_cast<std::ptrdiff_t>(histogram.size()) - 1;
  text += fmt::format(", {} in {}", histogram[0] == 0 ? "all" : "the others", least);
  return most == least ? text : text + fmt::format(" ... {}", most);
}

std::string degrees_that_differ(const CoverageTally& side) {
  constexpr std::size_t kShown = 5;
  const auto at = [](const std::vector<std::int64_t>& histogram, std::size_t degree) {
    return degree < histogram.size() ? histogram[degree] : 0;
  };
  const auto s = [](std::int64_t n) { return n == 1 ? "" : "s"; };
  std::string text;
  std::size_t differ = 0;
  for (std::size_t d = 0; d < std::max(side.expected.size(), side.actual.size()); ++d) {
    const std::int64_t want = at(side.expected, d), have = at(side.actual, d);
    if (want == have || ++differ > kShown) continue;
    text += fmt::format("{}{} row{} in {} pair{}, {} expected", differ == 1 ? "" : "; ", have,
                        s(have), d, s(static_cast<std::int64_t>(d)), want);
  }
  return differ > kShown ? text + fmt::format("; and {} more", differ - kShown) : text;
}

std::string text_verdict(const Verdict& verdict) {
  const std::string judged =
      fmt::format("by profile {}: {}", to_string(verdict.profile), size_of(verdict));
  if (verdict.outcome == Outcome::NotImplemented)
    return "not implemented: " + printable(verdict.reason) + "\n";
  if (!verdict.refusal.empty()) return "refused alike: " + printable(verdict.refusal) + "\n";
  std::string coverage;  // [M-6]
  for (const CoverageTally& side : verdict.coverage) {
    coverage += "  " + text_coverage(side.side, side.expected) + "\n";
    if (side.actual != side.expected) coverage += "    " + degrees_that_differ(side) + "\n";
  }
  if (verdict.outcome == Outcome::Equal) return "equal " + judged + "\n" + coverage;
  const Difference none;
  const Difference& d = verdict.first ? *verdict.first : none;
  std::string text =
      fmt::format("DIFFERENT by profile {}: {}", to_string(verdict.profile), printable(d.what));
  if (d.member >= 0) text += fmt::format(", member {}", d.member);
  if (!d.clause.empty()) text += fmt::format("  [{}]", printable(d.clause));
  text += "\n";
  if (d.coordinate || !d.path.empty())
    text += fmt::format("  where     {}{}{}\n", d.coordinate ? to_text(*d.coordinate) : "",
                        d.coordinate && !d.path.empty() ? "  in  " : "", printable(d.path));
  text += fmt::format("  expected  {}\n  actual    {}\n", clipped(printable(d.expected), 160),
                      clipped(printable(d.actual), 160));
  for (std::size_t i = 0; i < std::min(d.window.size(), window_lines_shown); ++i)
    text += "    " + clipped(printable(d.window[i]), 160) + "\n";
  if (!verdict.compared) return text + "  not compared: no voxel and no count was judged\n";
  text += "  " + counts_of(verdict) + "\n";
  text += fmt::format("  compared: {}", size_of(verdict));
  if (verdict.not_compared > 0)
    text += fmt::format("; not compared: the other {} members", verdict.not_compared);
  return text + "\n" + coverage;
}

std::string_view to_string(Boundary boundary) {
  switch (boundary) {
    case Boundary::RootTile:
      return "root tile";
    case Boundary::Lower:
      return "lower node";
    case Boundary::Leaf:
      return "leaf";
    case Boundary::NegativeOctant:
      return "negative octant";
    case Boundary::EmptyMember:
      return "empty member";
    case Boundary::Range:
      return "±2³¹";
  }
  return "unknown boundary";
}

std::string_view key_of(Boundary boundary) {
  switch (boundary) {
    case Boundary::RootTile:
      return "root_tile";
    case Boundary::Lower:
      return "lower_node";
    case Boundary::Leaf:
      return "leaf";
    case Boundary::NegativeOctant:
      return "negative_octant";
    case Boundary::EmptyMember:
      return "empty_member";
    case Boundary::Range:
      return "range";
  }
  return "unknown";
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::Equal:
      return "equal";
    case Outcome::Different:
      return "different";
    case Outcome::NotImplemented:
      return "not_implemented";
  }
  return "unknown";
}

std::int64_t passed(const Row& row) {
  return row.cases - row.different - row.not_implemented;
}

Totals totals_of(const Report& report) {
  Totals totals;
  for (const Row& row : report.rows) {
    totals.cases += row.cases;
    totals.members += row.members;
    totals.voxels += row.voxels;
    totals.passed += passed(row);
    totals.failed += row.different;
    totals.not_implemented += row.not_implemented;
  }
  return totals;
}

std::string_view verdict_of(const Row& row) {
  if (row.different > 0) return "DIFFERS";
  if (row.cases == 0) return "NOTHING";
  if (row.not_implemented > 0) return row.equal > 0 ? "partly" : "n/i";
  return "equal";
}

std::string markup(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t code = 0;
    const std::size_t size = decode(text.substr(at), code);
    if (size == 0 || (size == 1 && hides(code)))
      out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[at]));
    else if (hides(code))
      out += fmt::format("\\u{{{:04x}}}", code);
    else
      out += text.substr(at, size);
    at += std::max<std::size_t>(size, 1);
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<std::uint8_t>(c) & 0xc0) != 0x80;
  }));
}

std::string short_name(std::string_view backend) {
  if (backend.find_first_of(" /") == backend.npos) return std::string(backend);
  std::string_view first, rest = backend;
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    while (!word.empty() && std::strchr("'\"", word.back()) != nullptr) word.remove_suffix(1);
    while (!word.empty() && std::strchr("'\"", word.front()) != nullptr) word.remove_prefix(1);
    const std::string_view file = word.substr(word.find_last_of('/') + 1);
    if (first.empty()) {
      first = file;
    } else if (!word.starts_with('-') && file.find('.') != file.npos) {
      return std::string(file);
    }
  }
  return std::string(first.empty() ? backend : first);
}

std::string shell_word(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./@%+=:,").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string short_number(std::int64_t n) {
  if (n < 10000) return fmt::format("{}", n);
  double value = static_cast<double>(n);
  const char* unit = "";
  for (const char* next : {"k", "M", "G", "T"}) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  return fmt::format("{:.{}f}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

std::string short_time(double seconds) {
  if (!(seconds >= 0) || seconds > 1e6) return "?";
  if (seconds < 9.95) return fmt::format("{:.1f}s", seconds);
  if (seconds < 99.5) return fmt::format("{:.0f}s", seconds);
  const auto whole = static_cast<std::int64_t>(std::lround(seconds));
  return fmt::format("{}m{:02}s", whole / 60, whole % 60);
}

}  // namespace leafproof::oracle
