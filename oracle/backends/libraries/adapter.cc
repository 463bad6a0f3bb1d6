// The pipe of a C++ adapter.
#include "oracle/backends/libraries/adapter.h"

#include <fmt/format.h>

#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "oracle/case_text.h"

namespace leafproof::oracle::libraries {
namespace {

std::string answer(const Library& library, const std::string& number, std::string_view text) {
  try {
    const Case question = read_case_text(text);
    if (!library.operations.contains(std::string(to_string(question.op))))
      throw NotImplementedHere(library.name + " has no such operation");
    return library.answer(question, number);
  } catch (const NotImplementedHere& none) {
    return "not_implemented reason=" + plain(none.what());
  } catch (const std::exception& fault) {
    return "failed reason=" + plain(fault.what());
  }
}

}  // namespace

std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool stands = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    out += stands ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string grid_text(const std::vector<std::vector<Voxel>>& members) {
  std::string text = "grid order=own voxels=";
  for (const auto& member : members) {
    text += '[';
    for (std::size_t i = 0; i < member.size(); ++i)
      text += fmt::format("{}{},{},{}", i > 0 ? ";" : "", member[i].x, member[i].y, member[i].z);
    text += ']';
  }
  return members.empty() ? text + "-" : text;
}

std::vector<std::vector<Voxel>> members_of(const Case& question) {
  if (!question.view) return question.source.members;
  std::vector<std::vector<Voxel>> members;
  for (const std::int64_t i : *question.view) {
    if (i < 0 || i >= static_cast<std::int64_t>(question.source.size()))
      throw NotImplementedHere("a case that must be refused is not asked of the library");
    members.push_back(question.source.members[static_cast<std::size_t>(i)]);
  }
  return members;
}

int serve(int argc, char** argv, const Library& library) {
  if (argc > 1 && std::string_view(argv[1]) == "--about") {
    const nlohmann::json about{{"name", library.name},
                               {"version", library.version},
                               {"operations", library.operations},
                               {"conventions", nlohmann::json::object()},
                               {"notes", nlohmann::json::array()}};
    std::cout << about.dump(1) << '\n';
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const auto at = line.find(' ');
    if (at == line.npos) continue;
    const std::string number = line.substr(0, at);
    std::cout << number << " answer1 "
              << answer(library, number, std::string_view(line).substr(at + 1)) << std::endl;
  }
  return 0;
}

}  // namespace leafproof::oracle::libraries
