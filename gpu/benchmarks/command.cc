#include "gpu/benchmarks/command.h"

namespace leafproof::gpu::benchmarks {

void add_run_options(CLI::App& app, CommonOptions& options, const std::string& quick,
                     const std::string& filter) {
  app.add_flag("--quick", options.quick, quick);
  app.add_option("--filter", options.filter, filter);
  app.add_option("--threads", options.threads, "for everyone (all of the machine)")
      ->check(CLI::Range(1, options.threads));
}

void add_output_options(CLI::App& app, CommonOptions& options, const std::string& document) {
  app.add_flag("--json", options.json, "print JSON instead of Markdown tables");
  app.add_option("--update", options.update,
                 "write the tables into this document, between its lines `<!-- bench: begin -->` "
                 "and `<!-- bench: end -->`, e.g. " +
                     document)
      ->excludes("--json");
}

std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // --help; a mistake
  }
  return {};
}

}  // namespace leafproof::gpu::benchmarks
