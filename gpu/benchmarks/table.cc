#include "gpu/benchmarks/table.h"

#include <fmt/format.h>
#include <tbb/info.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "gpu/benchmarks/markdown.h"

#ifdef LEAFPROOF_HAS_OPENVDB
#include <openvdb/version.h>
#endif

namespace leafproof::gpu::benchmarks {
namespace {

double ms(const Row& row, const char* name) {
  const auto found = row.ms.find(name);
  return found == row.ms.end() ? 0 : found->second;
}

/// The faster of the tools of others.
double best_of_others(const Row& row) {
  const double nanovdb = ms(row, who::kNanovdb), openvdb = ms(row, who::kOpenvdb);
  return openvdb > 0 ? std::min(nanovdb, openvdb) : nanovdb;
}

/// Runs of rows of the same family, in order.
template <class F>
void for_each_family(const std::vector<Row>& rows, const F& f) {
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto end = std::find_if(begin, rows.end(),
                                  [&](const Row& row) { return row.family != begin->family; });
    f(std::vector<Row>(begin, end));
    begin = end;
  }
}

/// One table a family: `heading` and the cells that `line` makes of a row.
template <class F>
std::string by_family(const std::vector<Row>& all, const Cells& heading, const F& line) {
  std::string text;
  for_each_family(all, [&](const std::vector<Row>& rows) {
    text += fmt::format("\n**{}**: {}.\n\n", rows.front().family, rows.front().what);
    std::vector<Cells> cells{{"B", "pass"}};
    cells[0].insert(cells[0].end(), heading.begin(), heading.end());
    for (const Row& row : rows) {
      cells.push_back({std::to_string(row.members), row.pass});
      for (std::string& cell : line(row)) cells.back().push_back(std::move(cell));
    }
    text += table(cells, 2);
  });
  return text;
}

std::string beside_others(const std::vector<Row>& all) {
  return "### Beside the tools of others\n\n" +
         wrapped(
             "Milliseconds. `mask`, `sort`: the builder by either engine, into new memory; "
             "`pooled`: by `mask`, from a ResultPool and back into it. `NanoVDB`, `OpenVDB`: each "
             "member alone, converted, merged. Then how many times as long the better of those two "
             "takes as `mask` and as `pooled`.") +
         by_family(all, {"mask", "sort", "pooled", "NanoVDB", "OpenVDB", "of mask", "of pooled"},
                   [](const Row& row) {
                     const double mask = ms(row, who::kMask), pooled = ms(row, who::kPooled);
                     const double others = best_of_others(row);
                     return Cells{number(mask),
                                  number(ms(row, who::kSort)),
                                  number(pooled),
                                  number(ms(row, who::kNanovdb)),
                                  number(ms(row, who::kOpenvdb)),
                                  ratio(others, mask),
                                  ratio(others, pooled)};
                   });
}

std::string beside_zeros(const std::vector<Row>& all) {
  return "\n### Beside zeroing as many bytes\n\n" +
         wrapped(
             "Milliseconds. `mask`: into new memory; `reused`: into the dirty memory of the result "
             "before. `zeros`: setting as many bytes to zero in newly mapped small pages; `own`: "
             "in new memory of the allocator that `mask` uses (huge pages for large results, the C "
             "library's memory for small ones); `warm`: in the same memory again. Then shares: "
             "`mask` of `zeros` and of `own`, `reused` of `warm`.") +
         by_family(all, {"mask", "reused", "zeros", "own", "warm", "of zeros", "of own", "of warm"},
                   [](const Row& row) {
                     const double mask = ms(row, who::kMask), reused = ms(row, who::kReused);
                     const double zeros = ms(row, who::kZeroFresh), own = ms(row, who::kZeroOwn);
                     const double warm = ms(row, who::kZeroWarm);
                     return Cells{number(mask),     number(reused),     number(zeros),
                                  number(own),      number(warm),       ratio(mask, zeros),
                                  ratio(mask, own), ratio(reused, warm)};
                   });
}

std::string growth(const std::vector<Row>& all) {
  std::vector<Cells> cells{{"workload"}};
  for (const Pass pass : kPasses) cells[0].emplace_back(name_of(pass));
  for_each_family(all, [&](const std::vector<Row>& rows) {
    Cells line{rows.front().family};
    bool any = false;
    for (const Pass pass : kPasses) {
      const auto at = [&](std::int64_t members) {
        const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
          return row.members == members && row.pass == name_of(pass);
        });
        return found == rows.end() ? 0 : ms(*found, who::kMask);
      };
      line.push_back(ratio(at(48), at(16)));
      any = any || line.back() != "-";
    }
    if (any) cells.push_back(line);
  });
  if (cells.size() == 1) return "";
  return "\n### From 16 to 48 members\n\n" +
         wrapped("How many times as long 48 members take as 16, by `mask` into fresh memory.") +
         "\n" + table(cells, 1);
}

std::string threads(const std::vector<Row>& all, int count) {
  std::vector<Cells> cells{{"workload", "B", "pass", "one thread", "all", "gain"}};
  for (const Row& row : all) {
    const double one = ms(row, who::kSerial), many = ms(row, who::kMask);
    if (one > 0) {
      cells.push_back({row.family, std::to_string(row.members), row.pass, number(one), number(many),
                       ratio(one, many)});
    }
  }
  if (cells.size() == 1) return "";
  return fmt::format("\n### One thread and {}\n\n", count) +
         wrapped(
             "Milliseconds by `mask` into fresh memory, on the calling thread alone and on all "
             "threads.") +
         "\n" + table(cells, 3);
}

std::string costs(const std::vector<Row>& all) {
  return "\n### Memory, launches, synchronisations\n\n" +
         wrapped(
             "`leaves`: of the result. `output`: its bytes in MB (10^6). `scratch`: bytes of "
             "workspace that a build takes, in MB, by `mask` and by `sort`; `per leaf`: those of "
             "`mask` over the leaves of the result. `peak`: output and scratch of `mask` over "
             "output. `launches` and `syncs`: of `mask`.") +
         by_family(all,
                   {"leaves", "output", "scratch", "sort", "per leaf", "peak", "launches", "syncs"},
                   [](const Row& row) {
                     const auto scratch = static_cast<double>(row.mask.scratch);
                     const auto bytes = static_cast<double>(row.bytes);
                     return Cells{grouped(row.leaves),
                                  number(bytes / 1e6),
                                  number(scratch / 1e6),
                                  number(static_cast<double>(row.sort.scratch) / 1e6),
                                  ratio(scratch, static_cast<double>(row.leaves)),
                                  ratio(bytes + scratch, bytes),
                                  std::to_string(row.mask.launches),
                                  std::to_string(row.mask.synchronisations)};
                   });
}

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "an unnamed processor";
}

struct Document {
  std::string text;
  std::size_t begin = 0, end = 0;  // of what is between the markers
};

Document read_document(const std::filesystem::path& file) {
  const std::string begin = "<!-- bench: begin -->\n", end = "<!-- bench: end -->\n";
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file.string() + " cannot be read");
  Document document{{std::istreambuf_iterator<char>(in), {}}};
  const auto from = document.text.find(begin);
  document.begin = from + begin.size();
  document.end = from == std::string::npos ? from : document.text.find(end, document.begin);
  if (document.end == std::string::npos) {
    throw std::runtime_error(file.string() +
                             " has no lines `<!-- bench: begin -->` and `<!-- bench: end -->`");
  }
  return document;
}

}  // namespace

Circumstances circumstances(std::string command, int threads) {
  Circumstances now;
  now.command = std::move(command);
  now.processor = model_name();
#if defined(__clang__)
  now.compiler = fmt::format("clang {}", __clang_version__);
#else
  now.compiler = fmt::format("g++ {}", __VERSION__);
#endif
#ifdef LEAFPROOF_HAS_OPENVDB
  now.openvdb = OPENVDB_LIBRARY_VERSION_STRING;
#endif
  now.cores = tbb::info::default_concurrency();
  now.threads = threads;
  double load = 0;
  if (getloadavg(&load, 1) == 1) now.load = load;
  return now;
}

std::string command_line(std::string program, int argc, char** argv) {
  static const std::regex plain("[A-Za-z0-9_./=,:@%+-]+");
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    program += " " + (std::regex_match(word, plain) ? word : "'" + word + "'");
  }
  return program;
}

std::string made_by(const Circumstances& given) {
  const std::string openvdb =
      given.openvdb.empty() ? "OpenVDB was not built in" : fmt::format("OpenVDB {}", given.openvdb);
  const auto counted = [](int n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  const std::string missing =
      given.left_out.empty()
          ? ""
          : fmt::format(" NOT MEASURED, for lack of files: {}.", fmt::join(given.left_out, ", "));
  // Half a core taken by others already shows in what is compared here.
  const char* busy =
      given.load > 0.5 ? " **The machine was not idle: times and ratios are rough.**" : "";
  return wrapped(fmt::format(
      "Made by `{}` on {} ({}), {} for everyone, {}, {}; load before the "
      "run {:.2f}. Medians, interleaved.{}{}",
      given.command, counted(given.cores, "core"), given.processor,
      counted(given.threads, "thread"), given.compiler, openvdb, given.load, busy, missing));
}

std::string markdown(const Circumstances& given, const std::vector<Row>& rows) {
  return made_by(given) + "\n" + beside_others(rows) + beside_zeros(rows) + growth(rows) +
         threads(rows, given.threads) + costs(rows);
}

nlohmann::ordered_json json_of(const Circumstances& given) {
  return {{"command", given.command}, {"processor", given.processor}, {"compiler", given.compiler},
          {"openvdb", given.openvdb}, {"cores", given.cores},         {"threads", given.threads},
          {"load", given.load},       {"left_out", given.left_out}};
}

std::string text_of(const nlohmann::ordered_json& all) {
  return all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string json(const Circumstances& given, const std::vector<Row>& rows) {
  nlohmann::ordered_json all = json_of(given);
  all["rows"] = nlohmann::json::array();
  for (const Row& row : rows) {
    all["rows"].push_back(
        {{"workload", row.family},
         {"members", row.members},
         {"pass", row.pass},
         {"voxels_in", row.voxels},
         {"leaves_out", row.leaves},
         {"bytes_out", row.bytes},
         {"scratch", {{"mask", row.mask.scratch}, {"sort", row.sort.scratch}}},
         {"launches", {{"mask", row.mask.launches}, {"sort", row.sort.launches}}},
         {"synchronisations",
          {{"mask", row.mask.synchronisations}, {"sort", row.sort.synchronisations}}},
         {"ms", row.ms}});
  }
  return text_of(all);
}

void check_document(const std::filesystem::path& file) {
  read_document(file);
}

void update_document(const std::filesystem::path& file, const std::string& text) {
  Document document = read_document(file);
  document.text.replace(document.begin, document.end - document.begin, "\n" + text + "\n");
  // The whole document, then its name: a run that is interrupted leaves the old one.
  std::filesystem::path next = file;
  next += ".new";
  std::ofstream out(next, std::ios::binary);
  out << document.text;
  out.close();
  if (!out) throw std::runtime_error(file.string() + " cannot be written");
  std::filesystem::rename(next, file);
}

}  // namespace leafproof::gpu::benchmarks
