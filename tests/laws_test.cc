// The laws (properties/) themselves: docs/laws.md has each of them, with its clause and a fault
// that breaks it; planted, the fault is found by that law, and nothing healthy is. Which others
// find it is the page's last column, which LEAFPROOF_WRITE_LAWS=1 in the environment writes.
// label: slow
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kSource = LEAFPROOF_SOURCE_DIR;
const fs::path kBin = fs::path(LEAFPROOF_PROGRAM).parent_path();

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Law {
  std::string says, fault, others;
};

/// Rows of the page: | `Suite.Name` | what it says | `fault` | ... |
std::map<std::string, Law> laws_of_page() {
  std::map<std::string, Law> laws;
  std::istringstream page(text_of(kSource / "docs" / "laws.md"));
  const std::regex row(R"(\| `(\w+\.\w+)` \| ([^|]*) \| `([^`]*)` \| ([^|]*) \|)");
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    EXPECT_TRUE(laws.emplace(match[1], Law{match[2], match[3], match[4]}).second)
        << match[1] << " twice";
  }
  return laws;
}

/// TEST(Suite, Name) or TEST_P(Suite, Name), and the sentence of its holds().
std::map<std::string, std::string> laws_of_sources() {
  std::map<std::string, std::string> laws;
  const std::regex law(R"re(TEST(?:_P)?\((\w+), (\w+)\) \{[^}]*?holds\(\s*((?:"[^"\n]*"\s*)+),)re");
  for (const auto& entry : fs::directory_iterator(kSource / "properties")) {
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator i(text.begin(), text.end(), law), end; i != end; ++i) {
      std::string says = std::regex_replace((*i)[3].str(), std::regex(R"("\s*"|"\s*$|^")"), "");
      laws[(*i)[1].str() + "." + (*i)[2].str()] = says;
    }
  }
  return laws;
}

/// Names as GoogleTest has them: a law's suite and the law, without the backend.
std::set<std::string> laws_of_program() {
  std::set<std::string> laws;
  const std::string command = (kBin / "laws").string() + " --gtest_list_tests 2>/dev/null";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string suite;
  std::array<char, 1000> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    std::string text = line.data();  // "Backends/Suite.", and below it "  Law/backend  # ..."
    text.erase(text.find_first_of("#\n"));
    while (text.ends_with(' ')) text.pop_back();
    if (text.ends_with('.')) {
      suite = text.substr(text.find('/') + 1);  // all of it where there is none
    } else {
      text.erase(std::min(text.find('/'), text.size()));
      laws.insert(suite + text.substr(text.find_first_not_of(' ')));
    }
  }
  EXPECT_EQ(pclose(pipe), 0);
  return laws;
}

std::string parameter_of(std::string fault) {
  for (char& c : fault)
    if (c == '-' || c == '/') c = '_';
  return fault;
}

bool asks_nobody(const std::string& law) {
  return law == "LawsOfCases.EveryFormComesBack";
}

/// A law asks backends, or the dialects; so do its faults break either.
bool is_of_dialects(const std::string& law_or_fault) {
  return law_or_fault.starts_with("Dialects") || law_or_fault.starts_with("dialect/");
}

std::string test_of(const std::string& law, const std::string& fault) {
  if (asks_nobody(law)) return law;
  return (is_of_dialects(law) ? "Conversions/" : "Backends/") + law + "/" + parameter_of(fault);
}

/// The tests of a filter that failed, as GoogleTest names them, of how many that ran.
struct Outcome {
  std::set<std::string> failed;
  int tests = 0;
};
Outcome run_of(const std::string& filter, const std::string& environment = "") {
  Outcome run;
  const std::string command = environment + " " + (kBin / "leafproof_law_faults").string() +
                              " --gtest_color=no " + "--gtest_filter='" + filter + "' 2>/dev/null";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4000> line{};
  const std::regex ran(R"(\[==========\] (\d+) tests? from .* ran.*\n?)");
  const std::regex failed(R"(\[  FAILED  \] (\S+?),? (?:where|\().*\n?)");
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    const std::string text = line.data();
    std::smatch match;
    if (std::regex_match(text, match, failed)) run.failed.insert(match[1]);
    if (std::regex_match(text, match, ran)) run.tests = std::stoi(match[1]);
  }
  pclose(pipe);  // 1 where one failed, which is no mistake here
  return run;
}

TEST(Laws, AreThoseOfThePage) {
  const auto page = laws_of_page();
  const auto sources = laws_of_sources();
  std::set<std::string> names;
  for (const auto& [name, law] : page) {
    names.insert(name);
    const auto found = sources.find(name);
    ASSERT_NE(found, sources.end()) << name;
    EXPECT_EQ(law.says, found->second) << name;
    EXPECT_TRUE(std::regex_search(law.says, std::regex(R"(\[[A-Z](-\d+)?\])"))) << name;
  }
  EXPECT_EQ(names, laws_of_program());
  EXPECT_EQ(names.size(), sources.size());
  EXPECT_GT(names.size(), 45U);
}

TEST(Laws, EachBreaksWithItsFault) {
  std::string filter;
  std::set<std::string> expected;
  for (const auto& [name, law] : laws_of_page()) {
    expected.insert(test_of(name, law.fault));
    filter += test_of(name, law.fault) + ":";
  }
  const Outcome run = run_of(filter);
  EXPECT_EQ(run.tests, static_cast<int>(expected.size())) << "a fault that is none";
  EXPECT_EQ(run.failed, expected);
}

/// The other laws that found a fault, as the page names them.
std::string others_that_found(const std::string& law, const std::string& fault,
                              const std::set<std::string>& failed) {
  const std::string test = test_of(law, fault);
  std::string others;
  for (const std::string& each : failed) {
    const auto begin = each.find('/') + 1, end = each.rfind('/');
    if (each == test || each.substr(end + 1) != parameter_of(fault)) continue;
    others += (others.empty() ? "`" : ", `") + each.substr(begin, end - begin) + "`";
  }
  return others.empty() ? "it alone" : others;
}

// Asked with a fifth of the usual input, as the page says.
TEST(Laws, OthersThatItsFaultBreaksAreThoseOfThePage) {
  const auto page = laws_of_page();
  std::set<std::string> faults;
  for (const auto& [name, law] : page)
    if (!asks_nobody(name)) faults.insert(law.fault);
  std::string filter;
  std::size_t asked = 0;
  for (const std::string& fault : faults) {
    filter += "*/" + parameter_of(fault) + ":";
    asked += static_cast<std::size_t>(std::ranges::count_if(page, [&](const auto& law) {
      return !asks_nobody(law.first) && is_of_dialects(law.first) == is_of_dialects(fault);
    }));
  }
  const Outcome run = run_of(filter, "RC_PARAMS='seed=20261129 noshrink=1 max_success=20'");
  EXPECT_EQ(static_cast<std::size_t>(run.tests), asked);
  const bool writes = std::getenv("LEAFPROOF_WRITE_LAWS") != nullptr;
  std::string text = text_of(kSource / "docs" / "laws.md");
  for (const auto& [name, law] : page) {
    if (asks_nobody(name)) continue;
    const std::string seen = others_that_found(name, law.fault, run.failed);
    if (!writes) {
      EXPECT_EQ(law.others, seen) << name;
    }
    const std::string row = "| `" + name + "` | " + law.says + " | `" + law.fault + "` | ";
    text.replace(text.find(row) + row.size(), law.others.size(), seen);
  }
  if (writes) std::ofstream(kSource / "docs" / "laws.md") << text;
}

TEST(Laws, ABrokenOneSaysHowToReplayIt) {
  const std::string command =
      (kBin / "leafproof_law_faults").string() +
      " --gtest_filter='Backends/Scale.CoarsenUndoesRefine/law_coarsening_by_one_more' 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string said;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said += static_cast<char>(c);
  pclose(pipe);
  for (const char* each :
       {"RC_PARAMS='seed=", "leafproof replay 'case1 refine ", "leafproof replay 'case1 coarsen "})
    EXPECT_NE(said.find(each), said.npos) << each << " is not in:\n" << said;
}

TEST(Laws, HoldWhereNothingIsPlanted) {
  const Outcome run = run_of("*/none");
  EXPECT_EQ(run.failed, std::set<std::string>{});
  EXPECT_EQ(run.tests, static_cast<int>(laws_of_page().size()) - 1) << "all that ask anybody";
}

}  // namespace
