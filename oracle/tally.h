// What a sweep found, or a part of one: sums that add up. Parts that were judged on many machines,
// written down and merged, make the report that one process would have made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oracle/verify.h"

namespace leafproof::oracle {

/// All that decides what a sweep asks and reports: the same in all of its parts.
struct Sweep {
  std::string version;             // of the program
  std::vector<std::string> notes;  // of the caller
  std::vector<Op> ops;
  std::vector<std::string> backends;
  std::vector<std::string> inputs;  // name, voxels and a hash of them: which they are
  int level = 0;
  std::uint64_t seed = 0;
  std::optional<std::int64_t> cases;
  std::optional<std::uint64_t> only_case;
  std::vector<Skip> skips;
  std::int64_t shrink_tries = 0;
  int kept_failures = 0;
};

/// Of an operation on a backend over one input. Places count the items of the whole sweep.
struct RowTally {
  Op op = Op::FromIjk;
  bool generated = true;
  std::int64_t items = 0;          // of this row in the part, run or not
  Row row;                         // without `promised`
  std::int64_t unimplemented = 0;  // beyond stated limits
  std::string why;                 // of the first of these, which is at:
  std::int64_t why_at = -1;
  /// The first few, ascending, with their places; the first of them is made small.
  std::vector<std::pair<std::int64_t, Failure>> failures;
};

struct Tally {
  Sweep sweep;
  VerifyOptions::Shard shard;
  std::int64_t items = 0, done = 0;  // of this part; the first `done` are in the sums
  double seconds = 0;
  std::optional<double> limit;  // what time it was given, where that was not enough
  bool cut_short = false;       // the first difference was the last case (VerifyOptions::fail_fast)
  std::vector<RowTally> rows;
  bool complete() const { return done == items; }
};

/// Of what verify() would judge.
Sweep sweep_of(const std::vector<const Backend*>& backends, const std::vector<Scene>& scenes,
               const VerifyOptions& options);

/// Judges a part. `before`: the same part as far as it came, which is gone on with. `keep` is
/// called with what is done so far every few thousand items, and at the end. Errors: as verify();
/// InvalidArgument where `before` is of another sweep or part.
Tally judge_part(const Backend& reference, const std::vector<const Backend*>& backends,
                 const std::vector<Scene>& scenes, const VerifyOptions& options,
                 std::optional<Tally> before = {},
                 const std::function<void(const Tally&)>& keep = {});

/// The report of what was judged, and whether it passes.
Verification conclude(const Tally& tally);

/// The whole of a sweep from all of its parts, in any order. Errors, all of the argument "shard":
/// InvalidArgument where there is none, where parts are of different sweeps (naming in what), where
/// one is given twice, and naming all that are missing.
Tally merged(std::vector<Tally> parts);

/// In what two sweeps differ: "seed: 1 and 2"; empty where they are the same.
std::string difference_of(const Sweep& a, const Sweep& b);

/// JSON (docs/report-format.md), and back: Error(Corrupt) of the argument `name` for what is none.
std::string write_tally(const Tally& tally);
Tally read_tally(std::string_view text, const std::string& name);

}  // namespace leafproof::oracle
