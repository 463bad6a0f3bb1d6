// What a run of the checks found: one line for people as it goes, everything as JSON at its end.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace leafproof::gpu_check {

class Findings {
 public:
  /// One comparison or assertion of the section that runs.
  bool check(bool ok, const std::string& what) {
    ++checked_;
    if (ok) return true;
    ++failed_;
    if (failures_.size() < 8) failures_.push_back(what);
    return false;
  }
  void note(const std::string& text) { notes_.push_back(text); }
  /// On a terminal, what the section is doing.
  void progress(const std::string& text) const {
    if (isatty(2) != 0) fmt::print(stderr, "\r\033[K{}: {}", name_, text.substr(0, 80));
  }

  /// Runs a section; what it throws is a failure of it. A section that checked nothing failed.
  void section(const std::string& name, const std::function<void()>& body) {
    name_ = name;
    checked_ = failed_ = 0;
    failures_.clear();
    notes_.clear();
    progress("");
    const auto begin = std::chrono::steady_clock::now();
    try {
      body();
    } catch (const std::exception& error) {
      check(false, error.what());
    }
    if (checked_ == 0) check(false, "nothing was checked");
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (isatty(2) != 0) fmt::print(stderr, "\r\033[K");
    fmt::print("{}  {}: {} checked, {} failed ({:.1f} s)\n", failed_ == 0 ? "ok  " : "FAIL", name,
               checked_, failed_, seconds);
    for (const std::string& note : notes_) fmt::print("      {}\n", note);
    for (const std::string& failure : failures_) fmt::print("      {}\n", failure);
    std::fflush(stdout);
    json["sections"].push_back({{"name", name},
                                {"checked", checked_},
                                {"failed", failed_},
                                {"seconds", seconds},
                                {"notes", notes_},
                                {"failures", failures_}});
    ok_ = ok_ && failed_ == 0;
  }

  bool ok() const { return ok_; }
  nlohmann::json json = nlohmann::json::object();

 private:
  std::string name_;
  std::int64_t checked_ = 0, failed_ = 0;
  std::vector<std::string> failures_, notes_;
  bool ok_ = true;
};

}  // namespace leafproof::gpu_check
