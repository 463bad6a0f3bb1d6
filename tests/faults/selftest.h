// The harness tested: every planted fault must be killed by generated cases, its case shrunk, and
// the replay of that must kill it again; nothing must be killed where nothing is planted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/fault.h"

namespace leafproof::faults {

struct SelftestOptions {
  std::uint64_t seed = 1;
  std::int64_t cases = 4000;  // generated ones that a fault is asked before it has survived
  std::int64_t tries = 400;   // of the shrinker
  int jobs = 2;
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

/// What became of one planted fault.
struct Outcome {
  const Planted* planted = nullptr;
  std::int64_t cases = 0;      // that were asked, the one that killed it included
  double milliseconds = 0;     // until it was killed
  std::optional<Kill> kill;    // none: it survived
  Case question;               // that killed it, as generated
  std::string generated;       // its --seed and --case
  std::optional<Case> shrunk;  // and its text, which still kills when it is read again
  std::string text;
  std::optional<Kill> of_shrunk;
  bool ok() const { return kill && of_shrunk; }
};

/// One fault: cases of its operations in turn.
Outcome run_fault(const Planted& planted, const SelftestOptions& options);

/// All of `faults`, on `jobs` threads; in their order.
std::vector<Outcome> run_faults(const std::vector<const Planted*>& faults,
                                const SelftestOptions& options);

/// A report of something healthy: a fault of the harness.
struct FalseAlarm {
  std::string who, generated;
  Kill kill;
};

/// `cases` generated cases of all operations in turn: the second implementation and the batched
/// builder on each, and one of the other mechanisms, healthy, on one in eight.
std::vector<FalseAlarm> run_healthy(std::int64_t cases, const SelftestOptions& options);

/// Voxels of all that a case reads: members, targets, second operands, points.
std::int64_t voxels_in(const Case& question);

}  // namespace leafproof::faults
