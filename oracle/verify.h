// The driver of `verify`: every backend on every operation, over generated cases and real input,
// against the reference; and what must hold beyond "nothing differs": that nothing was left out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/backend.h"
#include "oracle/report.h"

namespace leafproof::oracle {

/// Real input: a batch on which every pass is run.
struct Scene {
  std::string name;    // as reports print it
  Batch batch;         // canonical order
  std::string replay;  // what `verify` must be told to have it again: "--input bunny.obj"
  /// Who is asked; all when empty. (A brute-force box does not suffice for whole meshes, and a crop
  /// of them tells nothing new about the others.)
  std::function<bool(std::string_view backend)> asks;
};

/// "Not implemented" is accepted of this operation on this backend (empty: on all). One with a
/// reason must be needed: a fault where the backend was asked and left out nothing.
struct Skip {
  Op op;
  std::string backend;  // as it was named, or as tables show it
  std::string reason{};
};

/// A file of skips: on each line an operation, the backend in brackets unless it is any, and a
/// reason; "#" begins a comment. "kernel_map [python3 mine.py] has no maps". Error(Corrupt), naming
/// the line. `name`: of the file, for errors.
std::vector<Skip> read_skips(std::string_view text, std::string_view name);

struct VerifyOptions {
  std::vector<Op> ops;  // of generated_ops()
  int level = 2;        // 1 ... 3; 0: no generated cases
  std::uint64_t seed = 1;
  std::optional<std::int64_t> cases;       // per operation, instead of the level's number
  std::optional<std::uint64_t> only_case;  // replay: this generated case alone
  std::vector<Skip> skips;
  /// Instead of generated cases these, with ids of their own; of their operations alone.
  std::vector<Case> listed;
  std::string listed_name;  // as reports print where they are from
  /// How a report says a case is judged again, where `leafproof verify` and `replay` cannot do it.
  std::function<std::string(const Case& question, std::uint64_t number)> replay;
  /// Of all work of a sweep this part alone: the parts of one sweep are its cases, each once. A
  /// part promises no class of cases.
  struct Shard {
    std::int64_t part = 1, parts = 1;  // 1 <= part <= parts
  } shard;
  std::optional<double> seconds;     // begin no case after so many; what is left out is noted
  std::function<double()> clock;     // tells `seconds`, from any thread; empty: the machine's
  bool sequences = true;             // ask some cases after others; not of answers given before
  bool fail_fast = false;            // begin none after the first difference; likewise
  std::int64_t shrink_tries = 1500;  // on the first failure of a row; 0: it is not shrunk
  std::string version;               // of the program, for the report
  std::vector<std::string> notes;    // of the caller, which begin the report's
  int threads = 2;        // at most, 4 per processor; the verdicts are the same for any number
  int kept_failures = 3;  // per row
  /// Called now and then, from any thread, one call at a time.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

struct Verification {
  Report report;  // rows in the order of `ops`, then backends, then inputs
  /// What fails the run besides differences, one sentence each: an operation that a backend did not
  /// implement without being told to skip it, a class of cases that was promised and not reached
  /// (boundaries; oracle/ledger.h), a row that compared nothing. Repeated in `report.notes`.
  std::vector<std::string> faults;
  bool ok = false;  // no difference and no fault
};

/// Judges `backends` against `reference`. An answer that is a NanoVDB buffer owes `bytes` [G-9], so
/// all backends that answer with buffers are held to one another's bytes too; an answer that is a
/// layout owes `layout`. A backend that throws is different. Reference answers are computed once.
/// Throws Error(InvalidArgument) for options out of their range.
Verification verify(const Backend& reference, const std::vector<const Backend*>& backends,
                    const std::vector<Scene>& scenes, const VerifyOptions& options);

/// A generated case of a sweep; `place`: which of all its cases, whatever part is asked for.
struct SweepCase {
  std::uint64_t place = 0;
  Op op{};
  std::uint64_t number = 0;
};
/// Those that verify() judges besides scenes, in order; the options of `listed` are not read.
std::vector<SweepCase> cases_of_sweep(const VerifyOptions& options);

/// The passes that run on real input, by name: "refine 2", "refine 2 masked", ...
struct ScenePass {
  std::string name;
  Op op;
  Case (*make)(const Batch& batch);
};
const std::vector<ScenePass>& scene_passes();

/// A window of at most `width` voxels on each axis around the middle voxel of every member: real
/// shapes for backends that need a small box.
Scene cropped(const Scene& scene, std::int32_t width);

/// True where a backend may answer "not implemented" unasked: `brute_force`, because its box does
/// not suffice.
bool is_stated_limit(std::string_view backend, const NotImplemented& answer);

}  // namespace leafproof::oracle
