#include "gpu/benchmarks/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace leafproof::gpu::benchmarks {

std::string number(double value) {
  if (!(value > 0)) return "-";
  const double rounded = value * (1 + 5e-4);  // 9.996 is 10.0
  const int digits = static_cast<int>(std::floor(std::log10(rounded))) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(3 - digits, 0, 6));
}

std::string grouped(std::int64_t value) {
  if (value < 1000) return std::to_string(value);
  return fmt::format("{},{:03}", grouped(value / 1000), value % 1000);
}

std::string wrapped(const std::string& text) {
  constexpr std::size_t kColumns = 100;
  std::istringstream words(text);
  std::string all, line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > kColumns) {
      all += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return all + line + "\n";
}

std::string table(const std::vector<Cells>& rows, std::size_t words) {
  std::vector<std::size_t> widths(rows.front().size(), 3);
  for (const Cells& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < widths.size(); ++c) {
      text += c < words ? fmt::format("| {:<{}} ", rows[r].at(c), widths[c])
                        : fmt::format("| {:>{}} ", rows[r].at(c), widths[c]);
    }
    text += "|\n";
    if (r > 0) continue;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      text += fmt::format("|{:-<{}}", "", widths[c] + 1) + (c < words ? "-" : ":");
    }
    text += "|\n";
  }
  return text;
}

std::string ratio(double a, double b) {
  return a > 0 && b > 0 ? number(a / b) : "-";
}

}  // namespace leafproof::gpu::benchmarks
