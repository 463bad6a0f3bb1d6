// The closing table of `bench`: medians of one run, side by side, as ratios.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>

namespace leafproof::gpu::benchmarks {

/// Google Benchmark's console output, and the medians by name ("workload|pass|who") in
/// milliseconds.
class TableReporter : public benchmark::ConsoleReporter {
 public:
  explicit TableReporter(bool quiet) : quiet_(quiet) {}
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;

  /// The table on stdout.
  void print() const;
  /// The same as JSON on stdout: an array of rows.
  void print_json() const;

 private:
  bool quiet_;
  std::map<std::string, std::map<std::string, std::map<std::string, double>>> medians_;
};

}  // namespace leafproof::gpu::benchmarks
