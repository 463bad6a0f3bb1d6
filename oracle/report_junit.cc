// Reports for CI systems: JUnit's XML, of which every one reads suites, cases, failures and skips.
#include <fmt/format.h>

#include "oracle/report_parts.h"

namespace leafproof::oracle {
namespace {

/// Text of several lines as content: each harmless, the line ends kept.
std::string content(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += markup(text.substr(0, end)) + "\n";
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return out;
}

std::string text_of(const Failure& failure) {
  std::string text = text_verdict(failure.verdict);
  if (!failure.replay.empty()) text += "replay: " + failure.replay + "\n";
  if (failure.smallest && !failure.smallest->replay.empty())
    text += "smallest case: " + failure.smallest->replay + "\n";
  return text;
}

/// A row that compared something is a test that passed or failed; one that compared nothing is
/// skipped where it could not be asked, an error where no case ran.
std::string test_case(const Row& row, const Report& report) {
  std::string xml =
      fmt::format("    <testcase classname=\"{}\" name=\"{} on {}\" time=\"{:.3f}\">\n",
                  markup(row.backend), markup(row.operation), markup(row.input), row.seconds);
  if (row.different > 0) {
    xml += fmt::format("      <failure type=\"difference\" message=\"{} of {} cases differ\">\n",
                       row.different, row.cases);
    for (const Failure& failure : report.failures)
      if (failure.operation == row.operation && failure.backend == row.backend)
        xml += markup(failure.case_id) + "\n" + content(text_of(failure));
    xml += "      </failure>\n";
  } else if (row.cases == 0) {
    xml += "      <error type=\"nothing\" message=\"no case ran\"/>\n";
  } else if (passed(row) == 0) {
    xml += fmt::format("      <skipped message=\"not implemented in all {} cases\"/>\n", row.cases);
  }
  xml += fmt::format(
      "      <system-out>{} cases, {} members, {} voxels; {} equal ({} refused alike), {} not "
      "implemented</system-out>\n",
      row.cases, row.members, row.voxels, row.equal, row.refused, row.not_implemented);
  return xml + "    </testcase>\n";
}

struct Suite {
  std::string cases;
  int tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;

  void add(const Row& row, const Report& report) {
    cases += test_case(row, report);
    ++tests;
    failures += row.different > 0 ? 1 : 0;
    errors += row.cases == 0 ? 1 : 0;
    skipped += row.cases > 0 && row.different == 0 && passed(row) == 0 ? 1 : 0;
    seconds += row.seconds;
  }
};

std::string counts(const Suite& suite) {
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                     suite.tests, suite.failures, suite.errors, suite.skipped, suite.seconds);
}

}  // namespace

std::string junit_report(const Report& report, const std::vector<std::string>& faults) {
  std::map<std::string, Suite> suites;
  for (const Row& row : report.rows) suites[row.backend].add(row, report);
  Suite sweep;  // of the run as a whole
  sweep.tests = 1;
  sweep.failures = faults.empty() ? 0 : 1;
  sweep.cases = "    <testcase classname=\"sweep\" name=\"nothing was left out\" time=\"0\">\n";
  if (!faults.empty()) {
    sweep.cases +=
        fmt::format("      <failure type=\"left out\" message=\"{}\">\n", markup(faults.front()));
    for (const std::string& fault : faults) sweep.cases += markup(fault) + "\n";
    sweep.cases += "      </failure>\n";
  }
  sweep.cases += "      <system-out>\n";
  for (const std::string& note : report.notes) sweep.cases += markup(note) + "\n";
  sweep.cases += "      </system-out>\n    </testcase>\n";

  Suite total = sweep;
  for (const auto& [name, suite] : suites) {
    total.tests += suite.tests;
    total.failures += suite.failures;
    total.errors += suite.errors;
    total.skipped += suite.skipped;
  }
  total.seconds = report.seconds;
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  xml += fmt::format("<testsuites name=\"{}\" {}>\n", markup(report.command), counts(total));
  const auto add = [&](const std::string& name, const Suite& suite) {
    xml += fmt::format("  <testsuite name=\"{}\" {}>\n", markup(name), counts(suite));
    xml += fmt::format(
        "    <properties>\n"
        "      <property name=\"seed\" value=\"{}\"/>\n"
        "      <property name=\"level\" value=\"{}\"/>\n"
        "      <property name=\"version\" value=\"{}\"/>\n"
        "    </properties>\n",
        report.seed, report.level, markup(report.version));
    xml += suite.cases + "  </testsuite>\n";
  };
  for (const auto& [name, suite] : suites) add(name, suite);
  add("sweep", sweep);
  return xml + "</testsuites>\n";
}

}  // namespace leafproof::oracle
