// What a folder of vectors must keep: every file strictly readable, comments that say something,
// identities that are unique and stay what they were.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace leafproof::oracle::dialects {

/// A file of vectors below a folder, of either format, counted.
struct VectorFile {
  std::string name;    // relative to the folder, with /
  std::string format;  // "leafproof-vectors", "leafproof-dialect-vectors"
  std::uintmax_t bytes = 0;
  std::size_t groups = 0, cases = 0;
};

struct LintReport {
  std::vector<VectorFile> files;      // by name
  std::vector<std::string> findings;  // a line each, "FILE: what is wrong"; empty where all is well
};

/// Reads every .json below `folder` but schemas/ and manifest.json. `since`: an earlier state of
/// the folder, of which every case must still be there, word for word. Error(InvalidArgument) where
/// a folder cannot be read or holds no vectors.
LintReport lint(const std::filesystem::path& folder,
                const std::optional<std::filesystem::path>& since = {});

/// The manifest of a release of these files: format, semantics version, the program's version, and
/// of each file its size and counts. JSON text.
std::string manifest_text(const LintReport& report, const std::string& program_version);

}  // namespace leafproof::oracle::dialects
