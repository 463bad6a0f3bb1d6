#include "gpu/benchmarks/bench_table.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>

namespace leafproof::gpu::benchmarks {
namespace {

/// name = "workload|pass|who/..." -> its three parts; Google Benchmark may append "/real_time" etc.
bool split(const std::string& name, std::string (&parts)[3]) {
  std::istringstream in(name.substr(0, name.find("/process_time")));
  for (std::string& part : parts) {
    if (!std::getline(in, part, '|')) return false;
  }
  parts[2] = parts[2].substr(0, parts[2].find('/'));
  return true;
}

double at(const std::map<std::string, double>& who, const char* name) {
  const auto found = who.find(name);
  return found == who.end() ? 0 : found->second;
}

}  // namespace

bool TableReporter::ReportContext(const Context& context) {
  return quiet_ || ConsoleReporter::ReportContext(context);
}

void TableReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    std::string parts[3];
    const bool median = run.run_type == Run::RT_Aggregate && run.aggregate_name == "median";
    const bool only = run.run_type == Run::RT_Iteration && run.repetitions <= 1;
    if ((median || only) && split(run.run_name.str(), parts)) {
      medians_[parts[0]][parts[1]][parts[2]] = run.GetAdjustedRealTime();
    }
  }
  if (!quiet_) ConsoleReporter::ReportRuns(runs);
}

void TableReporter::print() const {
  std::printf("%-22s %-10s %9s %9s %9s %9s %10s %8s %8s\n", "workload", "pass", "mask ms",
              "sort ms", "fresh 0s", "warm 0s", "per member", "x member", "of fresh");
  for (const auto& [workload, passes] : medians_) {
    for (const auto& [pass, who] : passes) {
      const double mask = at(who, "mask"), sort = at(who, "sort");
      const double ours = sort > 0 ? std::min(mask, sort) : mask;
      const double fresh = at(who, "zero-fresh"), member = at(who, "per-member");
      std::printf("%-22s %-10s %9.3f %9.3f %9.3f %9.3f %10.3f %7.1fx %8.2f\n", workload.c_str(),
                  pass.c_str(), mask, sort, fresh, at(who, "zero-warm"), member, member / ours,
                  ours / fresh);
    }
  }
  std::printf(
      "\nmask, sort: the batched builder by either engine, into fresh memory. fresh 0s, warm 0s:\n"
      "zeroing as many bytes, just allocated or allocated before. per member: NanoVDB's builder "
      "for\n"
      "each member, then merged. x member: how many times faster; of fresh: share of zeroing.\n");
}

void TableReporter::print_json() const {
  std::cout << "[";
  const char* separator = "\n";
  for (const auto& [workload, passes] : medians_) {
    for (const auto& [pass, who] : passes) {
      std::cout << separator << "  {\"workload\": \"" << workload << "\", \"pass\": \"" << pass
                << "\", \"unit\": \"ms\"";
      for (const auto& [name, milliseconds] : who) {
        std::cout << ", \"" << name << "\": " << milliseconds;
      }
      std::cout << "}";
      separator = ",\n";
    }
  }
  std::cout << "\n]\n";
}

}  // namespace leafproof::gpu::benchmarks
