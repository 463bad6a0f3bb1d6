// What an author may print in a paper or a README: what was judged, by which version, level and
// seed, with which result, and the command that does it again (docs/citing.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/report.h"
#include "oracle/vectors.h"

namespace leafproof::oracle {

struct StatementScope {
  /// Why no level can be claimed: each option that made the sweep another one than the level's own
  /// ("--seed 7"). Empty: the level as it is defined.
  std::vector<std::string> narrowed;
  /// Verification::faults.
  std::vector<std::string> faults;
  /// The known answers that were run on the backend; none: they were not.
  std::optional<Tally> vectors;
  std::string date;   // as printed: "2026-11-30"
  std::string again;  // the command line
};

/// One backend's statement, some lines of "name  value". It claims "conforms to level L, semantics
/// S" only where the level was run as defined, nothing differed and nothing was left out in
/// silence; operations that are not implemented are named in the claim.
std::string statement(const Report& report, std::string_view backend, const StatementScope& scope);

}  // namespace leafproof::oracle
