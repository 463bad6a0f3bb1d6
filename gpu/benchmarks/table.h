// What `bench` prints: rows as Markdown tables of at most 100 columns, or as JSON; and the part of
// a document between two marker lines replaced by them.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu/benchmarks/measure.h"

namespace leafproof::gpu::benchmarks {

/// Which machine, which build, which command.
struct Circumstances {
  std::string command, processor, compiler, openvdb;
  int cores = 0, threads = 0;
  double load = 0;                    // of the machine before the run
  std::vector<std::string> left_out;  // workloads whose files are not there
};
Circumstances circumstances(std::string command, int threads);
/// The program with its arguments as one types them to a shell.
std::string command_line(std::string program, int argc, char** argv);
/// The same in a paragraph.
std::string made_by(const Circumstances& given);
/// The same as members of an object.
nlohmann::ordered_json json_of(const Circumstances& given);
/// As it is printed.
std::string text_of(const nlohmann::ordered_json& all);

/// Times, ratios, growth from 16 to 48 members, threads, memory: a section each.
std::string markdown(const Circumstances& given, const std::vector<Row>& rows);

/// {"command", "processor", ..., "rows": [{"workload", "pass", ..., "ms": {WHO: median}}]}
std::string json(const Circumstances& given, const std::vector<Row>& rows);

/// std::runtime_error when the file cannot be read or has no marker lines.
void check_document(const std::filesystem::path& file);

/// Replaces what is between the lines `<!-- bench: begin -->` and `<!-- bench: end -->` of a file;
/// as check_document, and std::runtime_error when the file cannot be written.
void update_document(const std::filesystem::path& file, const std::string& text);

}  // namespace leafproof::gpu::benchmarks
