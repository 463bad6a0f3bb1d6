// The ledger against vacuity: classes of cases, by what is in them and by the range of their
// parameters; which operations promise each, and which of them a case belongs to. A sweep that
// promised a class and never met it has tested less than it says, and fails.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "oracle/case.h"

namespace leafproof::oracle {

struct CaseClass {
  std::string_view name;    // as reports print it, permanent
  std::string_view reason;  // what would go unseen without it
  /// Of this operation's generated cases at least one in so many belongs to it (by the generator's
  /// odds); 0: the operation does not promise it.
  std::int64_t (*one_in)(Op op);
  bool (*has)(const Case& c);
};

/// All classes, in the order of reports. At most 128.
const std::vector<CaseClass>& case_classes();

/// By place in case_classes().
using Classes = std::bitset<128>;
Classes classes_of(const Case& c);

/// Those that a sweep over `cases` generated cases of an operation promises: in which it meets at
/// least 12 by the odds, so that a seed without any is as likely as one in 150,000.
Classes promised(Op op, std::int64_t cases);

}  // namespace leafproof::oracle
