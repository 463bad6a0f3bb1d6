// Numbers, text and tables of the documents that `bench` writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leafproof::gpu::benchmarks {

using Cells = std::vector<std::string>;

/// Three significant digits, no exponent: 0.0412, 4.12, 412. What is not there (<= 0) is a dash.
std::string number(double value);
/// a / b; a dash where one is not there.
std::string ratio(double a, double b);
/// 1,234,567
std::string grouped(std::int64_t value);
/// Words in lines of at most 100 columns.
std::string wrapped(const std::string& text);
/// A Markdown table with aligned columns: `words` to the left, then numbers to the right. The first
/// row is the heading.
std::string table(const std::vector<Cells>& rows, std::size_t words);

}  // namespace leafproof::gpu::benchmarks
