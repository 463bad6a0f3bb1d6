// Verdicts for people and machines: text for a terminal, JSON, JUnit's XML, and one self-contained
// HTML page.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "oracle/compare.h"

namespace leafproof::oracle {

/// Classes of boundary that a case touched (in source or result).
enum class Boundary { RootTile, Lower, Leaf, NegativeOctant, EmptyMember, Range };
std::string_view to_string(Boundary boundary);

/// One row of the table of `verify`: an operation on a backend, over many cases.
struct Row {
  std::string operation, backend, input;  // input: "generated" or a file / scene name
  std::int64_t cases = 0, members = 0, voxels = 0;
  std::int64_t equal = 0, different = 0, not_implemented = 0,
               refused = 0;                  // refused: of the equal ones, by both alike
  std::map<Boundary, std::int64_t> touched;  // cases per class
  /// Cases per class of the ledger (oracle/ledger.h) that the operation may promise, and those that
  /// it promised.
  std::map<std::string, std::int64_t> classes;
  std::vector<std::string> promised;
  double seconds = 0;
};

/// A failing case made as small as it goes; a text that cannot be written says why.
struct Smallest {
  std::string text;    // the case (docs/case-format.md)
  std::string replay;  // a shell line
  std::string test;    // a GoogleTest to be pasted
  std::string vector;  // a file of vectors [F]
  Verdict verdict;
  std::int64_t tries = 0;  // cases that were judged to find it
  bool finished = false;   // no edit makes it simpler; false: the tries ran out
};

/// A case that came out different, with what is needed to see and replay it.
struct Failure {
  std::string operation, backend, case_id, replay;  // replay: a shell line
  Verdict verdict;
  // For the picture: the voxels of both sides in the member of the first difference.
  std::vector<Voxel> expected_voxels, actual_voxels;
  std::optional<Smallest> smallest;  // of the first failure of a row
};

struct Report {
  std::string command, version;
  std::uint64_t seed = 0;
  int level = 0;
  std::vector<Row> rows;
  std::vector<Failure> failures;   // the first few per row
  std::vector<std::string> notes;  // "not tested: ...", "absent: ..."
  double seconds = 0;
  std::string html_path;
};

/// The table and the closing line of totals. `width`: columns of the terminal.
std::string text_report(const Report& report, int width = 120);
std::string text_verdict(const Verdict& verdict);
/// [M-6] "source rows: 6, of which 1 in no pair, the others in 1 ... 4".
std::string text_coverage(const std::string& side, const std::vector<std::int64_t>& histogram);
std::string json_report(const Report& report);  // stable keys, documented in docs/
std::string json_verdict(const Verdict& verdict);
std::string html_report(const Report& report);  // self-contained, no scripts from elsewhere
/// JUnit's XML, which CI systems show: a suite per backend, a test case per row (an operation on an
/// input), and one more suite for what fails the run besides differences (Verification::faults).
std::string junit_report(const Report& report, const std::vector<std::string>& faults);

}  // namespace leafproof::oracle
