#include "oracle/statement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "oracle/report_parts.h"

namespace leafproof::oracle {
namespace {

struct Sum {
  std::int64_t cases = 0, equal = 0, refused = 0, different = 0, not_implemented = 0;
  void add(const Row& row) {
    cases += row.cases;
    equal += row.equal;
    refused += row.refused;
    different += row.different;
    not_implemented += row.not_implemented;
  }
  std::string text() const {
    return fmt::format("{} cases: {} equal ({} refused alike), {} different, {} not implemented",
                       cases, equal, refused, different, not_implemented);
  }
};

std::string line(std::string_view name, std::string_view value) {
  return fmt::format("{:<12} {}\n", name, printable(value));
}

std::string result_of(const Report& report, const StatementScope& scope, bool equal,
                      const std::vector<std::string>& missing) {
  if (!equal) return "DOES NOT CONFORM: something differs";
  if (!scope.faults.empty()) return "DOES NOT CONFORM: " + scope.faults.front();
  if (!scope.narrowed.empty())
    return fmt::format("equal on what was asked; no level is claimed, for this is not one: {}",
                       fmt::join(scope.narrowed, ", "));
  std::string result =
      fmt::format("CONFORMS to level {}, semantics {}", report.level, kSemanticsVersion);
  if (!missing.empty()) result += fmt::format(", but for {}", fmt::join(missing, ", "));
  return result;
}

}  // namespace

std::string statement(const Report& report, std::string_view backend, const StatementScope& scope) {
  Sum generated, real;
  std::vector<std::string> operations, missing, inputs;
  for (const Row& row : report.rows) {
    if (row.backend != backend) continue;
    if (row.input != "generated") {
      real.add(row);
      if (std::find(inputs.begin(), inputs.end(), row.input) == inputs.end())
        inputs.push_back(row.input);
      continue;
    }
    generated.add(row);
    operations.push_back(fmt::format("{} {}", row.operation, passed(row)));
    if (row.not_implemented > 0)
      missing.push_back(fmt::format("{} ({} of {} not implemented)", row.operation,
                                    row.not_implemented, row.cases));
  }
  const bool vectors_equal = !scope.vectors || scope.vectors->failed == 0;
  const bool equal = generated.different == 0 && real.different == 0 && vectors_equal &&
                     generated.cases + real.cases > 0;

  std::string text = "Leafproof conformance statement\n";
  text += line("backend", backend);
  text += line("judged by",
               fmt::format("Leafproof {}, semantics {}, level {}, seed {}; {}", report.version,
                           kSemanticsVersion, report.level, report.seed, scope.date));
  text += line("result", result_of(report, scope, equal, missing));
  text += line("generated", generated.text());
  text +=
      line("real input",
           inputs.empty() ? "none" : fmt::format("{}: {}", fmt::join(inputs, ", "), real.text()));
  text += line("vectors", scope.vectors ? fmt::format("{} passed, {} failed, {} not implemented",
                                                      scope.vectors->passed, scope.vectors->failed,
                                                      scope.vectors->not_implemented)
                                        : "not run");
  text += line("operations", fmt::format("{}", fmt::join(operations, ", ")));
  text += line("again", scope.again);
  return text;
}

}  // namespace leafproof::oracle
