// See lint.h.
#include "oracle/dialects/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "oracle/dialects/vectors.h"
#include "oracle/vectors.h"
#include "oracle/vectors_node.h"

namespace leafproof::oracle::dialects {
namespace {

namespace fs = std::filesystem;
using vectors::json;

[[noreturn]] void refuse_folder(const fs::path& folder, std::string reason) {
  throw reference::Error(reference::ErrorKind::InvalidArgument, {.operation = "lint vectors",
                                                                 .argument = "folder",
                                                                 .value = folder.string(),
                                                                 .reason = std::move(reason),
                                                                 .member = {},
                                                                 .row = {}});
}

/// Every file of vectors below a folder: relative name -> path.
std::map<std::string, fs::path> files_below(const fs::path& folder) {
  std::map<std::string, fs::path> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end;
       it.increment(failed)) {
    if (it->is_directory() && it->path().filename() == "schemas") it.disable_recursion_pending();
    if (!it->is_regular_file() || it->path().extension() != ".json") continue;
    const std::string name = it->path().lexically_relative(folder).generic_string();
    if (name != "manifest.json") files[name] = it->path();
  }
  if (failed || files.empty())
    refuse_folder(folder, "must be a folder with .json files of vectors");
  return files;
}

bool blank(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c == ' ' || c == '\t' || c == '\n'; });
}

/// What the strict readers do not ask: groups that are there once, ids that ascend, comments.
void look_closer(const json& document, VectorFile& file, const auto& find) {
  std::set<std::string> groups;
  for (const json& group : document.at("groups")) {
    ++file.groups;
    const std::string which = group.at("op").get<std::string>() + " " + group.at("params").dump();
    if (!groups.insert(which).second) find("the group " + which + " is there twice");
    std::int64_t last = -1;
    for (const json& c : group.at("cases")) {
      ++file.cases;
      const auto id = c.at("id").get<std::int64_t>();
      if (id <= last) find(fmt::format("{}: id {} comes after {}", which, id, last));
      last = id;
      if (blank(c.at("comment").get<std::string>()))
        find(fmt::format("{}, id {}: the comment says nothing", which, id));
    }
  }
}

/// A file below named/ is one report, and says which.
void look_at_name(const json& document, const std::string& name, const auto& find) {
  if (!name.starts_with("named/")) return;
  const std::string stem = fs::path(name).stem().string();
  const auto matches = [&](std::string report) {
    std::ranges::replace(report, '#', '-');
    return report == stem;
  };
  if (document.contains("report")) {
    if (!matches(document["report"].get<std::string>()))
      find("is named otherwise than its report " + document["report"].get<std::string>());
    return;
  }
  for (const json& group : document.at("groups"))
    for (const json& c : group.at("cases")) {
      const std::string comment = c.at("comment").get<std::string>();
      if (!matches(comment.substr(0, comment.find(':'))))
        find(fmt::format("id {}: the comment must begin with the report", c.at("id").dump()));
    }
}

/// Identity within a file -> the whole case.
std::map<std::string, json> cases_of(const json& document) {
  std::map<std::string, json> cases;
  for (const json& group : document.at("groups"))
    for (const json& c : group.at("cases"))
      cases.emplace(fmt::format("{} {} #{}", group.at("op").get<std::string>(),
                                group.at("params").dump(), c.at("id").dump()),
                    c);
  return cases;
}

void compare_with(const fs::path& before, const fs::path& now, LintReport& report) {
  const auto current = files_below(now);
  for (const auto& [name, path] : files_below(before)) {
    const auto at = current.find(name);
    if (at == current.end()) {
      report.findings.push_back(name + ": was there, and is gone");
      continue;
    }
    const auto old_cases = cases_of(vectors::read_document(path));
    const auto new_cases = cases_of(vectors::read_document(at->second));
    for (const auto& [identity, body] : old_cases) {
      const auto same = new_cases.find(identity);
      if (same == new_cases.end())
        report.findings.push_back(fmt::format("{}: {} was there, and is gone", name, identity));
      else if (same->second != body)
        report.findings.push_back(fmt::format("{}: {} is not what it was", name, identity));
    }
  }
}

}  // namespace

LintReport lint(const fs::path& folder, const std::optional<fs::path>& since) {
  LintReport report;
  for (const auto& [name, path] : files_below(folder)) {
    const auto find = [&, &file_name = name](const std::string& what) {
      report.findings.push_back(file_name + ": " + what);
    };
    VectorFile file{.name = name, .format = {}, .bytes = fs::file_size(path)};
    try {
      const bool dialect = holds_dialect_vectors(path);
      file.format = dialect ? "leafproof-dialect-vectors" : "leafproof-vectors";
      if (dialect)
        read_dialect_vectors(path);
      else
        read_vectors(path);
      const json document = vectors::read_document(path);
      look_closer(document, file, find);
      look_at_name(document, name, find);
    } catch (const reference::Error& error) {
      find(error.what());
    }
    report.files.push_back(std::move(file));
  }
  if (since && report.findings.empty()) compare_with(*since, folder, report);
  return report;
}

std::string manifest_text(const LintReport& report, const std::string& program_version) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  std::size_t cases = 0;
  for (const VectorFile& file : report.files) {
    cases += file.cases;
    files.push_back({{"file", file.name},
                     {"format", file.format},
                     {"bytes", file.bytes},
                     {"groups", file.groups},
                     {"cases", file.cases}});
  }
  const nlohmann::ordered_json manifest{{"format", "leafproof-vectors-release"},
                                        {"version", 1},
                                        {"semantics_version", kSemanticsVersion},
                                        {"program_version", program_version},
                                        {"cases", cases},
                                        {"files", std::move(files)}};
  return manifest.dump(1) + "\n";
}

}  // namespace leafproof::oracle::dialects
