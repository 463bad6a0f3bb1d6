// What the commands `bench` and `bench conv` have in common: options, and where rows go.
#pragma once

#include <tbb/info.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>

#include "gpu/benchmarks/table.h"

namespace leafproof::gpu::benchmarks {

struct CommonOptions {
  bool json = false, quick = false;
  int threads = static_cast<int>(tbb::info::default_concurrency());
  std::string filter, update;
};

/// --quick, --filter and --threads, the first two with their own words.
void add_run_options(CLI::App& app, CommonOptions& options, const std::string& quick,
                     const std::string& filter);
/// --json and --update, with a document as its example.
void add_output_options(CLI::App& app, CommonOptions& options, const std::string& document);

/// The exit code where there is nothing to run: --help, or a mistake; it has said so.
std::optional<int> parse(CLI::App& app, int argc, char** argv);

/// Prints rows as they are asked for, or updates the document with them.
template <class Rows>
void publish(const CommonOptions& options, const Circumstances& now, const Rows& rows) {
  if (options.update.empty()) {
    std::fputs((options.json ? json(now, rows) : markdown(now, rows)).c_str(), stdout);
  } else {
    update_document(options.update, markdown(now, rows));
  }
}

}  // namespace leafproof::gpu::benchmarks
