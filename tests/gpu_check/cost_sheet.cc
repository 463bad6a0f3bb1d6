#include "tests/gpu_check/cost_sheet.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/benchmarks/workloads.h"
#include "gpu/strict_builder.h"

namespace leafproof::gpu_check {
namespace {

using gpu::BatchedBuilder;
using gpu::GridBatch;

// The GPU that is named: an H100 SXM. Bandwidth is the vendor's figure; the rest is what people
// commonly see, rounded: the time from one small kernel to the next on a stream, and from a copy to
// the host to the next launch.
constexpr double kBytesPerSecond = 3.35e12;
constexpr double kLaunchSeconds = 2.5e-6, kSynchronisationSeconds = 10e-6;

/// Nodes of a batch, all members.
struct Nodes {
  double uppers = 0, lowers = 0, leaves = 0;
  explicit Nodes(const GridBatch& batch) {
    for (std::int64_t m = 0; m < batch.size(); ++m) {
      uppers += static_cast<double>(batch.member(m).uppers);
      lowers += static_cast<double>(batch.member(m).lowers);
      leaves += static_cast<double>(batch.member(m).leaves);
    }
  }
};

struct Sizes {
  Nodes source, target;
  double members, rows, items;  // `items`: of this launch, as the host bounds them
  double looked_up;             // source leaves that the gather of one target leaf reads
  double dense_leaves;          // from_ijk: leaf masks of the dense array
};

/// Bytes that a launch reads and writes. 32 bytes, a sector, for what stands alone; what is read
/// twice by neighbours is counted twice, so this is an upper bound where the cache helps.
using Bytes = double (*)(const Sizes&);
const std::map<std::string, Bytes>& bytes_of_launches() {
  static const std::map<std::string, Bytes> all{
      // a box of each upper node; a count, a key
      {"discovery::CountReached", [](const Sizes& s) { return s.source.uppers * (32 + 8); }},
      {"discovery::ListTiles", [](const Sizes& s) { return s.source.uppers * (32 + 8 + 16); }},
      // padded, sorted, flagged and moved back: six times a key, and its index twice
      {"sort_unique", [](const Sizes& s) { return s.items * (6 * 16 + 16); }},
      // masks: 4096 bytes of an upper node, 512 of a lower one
      {"discovery::ZeroMasks",
       [](const Sizes& s) { return (s.target.uppers * 4096 + s.target.lowers * 512) / 2; }},
      {"discovery::MarkLowers", [](const Sizes& s) { return s.source.lowers * (32 + 8 * 32); }},
      {"MarkLowersOfBoxes", [](const Sizes& s) { return s.members * (64 + 32); }},
      {"discovery::RankMask<512>",
       [](const Sizes& s) { return s.target.uppers * (4096 + 1024 + 8); }},
      {"discovery::RankMask<64>", [](const Sizes& s) { return s.target.lowers * (512 + 128 + 8); }},
      {"discovery::CopyLast", [](const Sizes&) { return 64.0; }},
      {"discovery::ListLowers",
       [](const Sizes& s) { return s.target.uppers * 512 * (8 + 2) + s.target.lowers * 8; }},
      // a leaf's mask, or a dense array's; a sector of a lower mask for each leaf reached
      {"discovery::MarkLeaves",
       [](const Sizes& s) {
         return s.source.leaves * 96 + s.dense_leaves * 64 + s.target.leaves * 32;
       }},
      // numbers: read, written, and scanned in place
      {"discovery::ValueAt", [](const Sizes& s) { return s.items * (8 + 8 + 16); }},
      {"discovery::StaysLower", [](const Sizes& s) { return s.target.lowers * (16 + 8 + 16); }},
      {"discovery::StaysUpper", [](const Sizes& s) { return s.target.uppers * (32 + 8 + 16); }},
      {"discovery::StartMembers", [](const Sizes& s) { return s.members * (5 * 32 + 40); }},
      {"assembly::WriteHeaders", [](const Sizes& s) { return s.members * (128 + 672 + 64 + 64); }},
      // masks of candidates, then a sector of a table for each child
      {"assembly::WriteUppers",
       [](const Sizes& s) { return s.target.uppers * 512 * (8 + 2 + 8) + s.target.lowers * 32; }},
      {"assembly::WriteLowers",
       [](const Sizes& s) { return s.target.lowers * 64 * (8 + 2 + 8) + s.target.leaves * 32; }},
      // the leaf written, its count and member; a mask and a table entry of each leaf read
      {"assembly::WriteLeaves",
       [](const Sizes& s) { return s.target.leaves * (96 + 12 + s.looked_up * (64 + 32)); }},
      {"assembly::WriteOffsets", [](const Sizes& s) { return s.target.leaves * (3 * 32 + 8); }},
      {"assembly::ReduceLeaves",
       [](const Sizes& s) { return s.target.leaves * 96 + s.target.lowers * 56; }},
      {"assembly::MeasureEachLeaf",
       [](const Sizes& s) { return s.target.leaves * s.looked_up * 64 + s.target.lowers * 56; }},
      {"assembly::ReduceLowers", [](const Sizes& s) { return s.target.lowers * 56; }},
      {"assembly::ReduceUppers", [](const Sizes& s) { return s.target.uppers * 56; }},
      {"assembly::WriteLowerBoxes", [](const Sizes& s) { return s.target.lowers * (56 + 64); }},
      {"assembly::WriteUpperBoxes", [](const Sizes& s) { return s.target.uppers * (56 + 64); }},
      {"assembly::WriteExtents", [](const Sizes& s) { return s.members * (56 + 6 * 32); }},
      {"assembly::VoxelsOf", [](const Sizes& s) { return s.members * 64; }},
      {"assembly::WriteMetadata", [](const Sizes& s) { return s.members * (56 + 128); }},
      // 12 bytes a row; a sector of a mask for each
      {"MeasureRows", [](const Sizes& s) { return s.rows * 12; }},
      {"FillDense", [](const Sizes& s) { return s.rows * (12 + 32); }},
  };
  return all;
}

double bytes_of(const gpu::LaunchRecord& launch, Sizes sizes) {
  sizes.items = static_cast<double>(launch.items);
  const auto& all = bytes_of_launches();
  auto found = all.find(launch.functor);
  if (found == all.end()) found = all.find(launch.functor.substr(0, launch.functor.find('<')));
  if (found == all.end()) throw std::logic_error("no figure for the launch " + launch.functor);
  return found->second(sizes);
}

/// Kernels that the CUDA executor runs for a launch: a scan of more than 4096 items takes two of
/// CUB's after the one that evaluates; a sort pads, sorts (one of CUB's where a block can, which is
/// assumed: root tiles are few), scans, moves back, and copies how many are left.
std::int64_t kernels_of(const gpu::LaunchRecord& launch) {
  if (launch.functor == "sort_unique") return 5;
  for (const char* scan : {"CountReached", "ValueAt", "Stays", "VoxelsOf", "Begins"}) {
    if (launch.functor.find(scan) != std::string::npos) return launch.items <= 4096 ? 1 : 3;
  }
  return 1;
}

struct SheetPass {
  const char* name;
  double looked_up;
  GridBatch (*run)(BatchedBuilder&, const gpu::VoxelLists&, const GridBatch&);
};
constexpr std::array kPasses{
    SheetPass{"refine 2", 1,
              [](BatchedBuilder& b, const gpu::VoxelLists&, const GridBatch& s) {
                return b.refine(s, {2, 2, 2});
              }},
    SheetPass{"coarsen 2", 8,
              [](BatchedBuilder& b, const gpu::VoxelLists&, const GridBatch& s) {
                return b.coarsen(s, {2, 2, 2});
              }},
    SheetPass{"dilate 26", 27,
              [](BatchedBuilder& b, const gpu::VoxelLists&, const GridBatch& s) {
                return b.dilate_box(s, {-1, -1, -1}, {1, 1, 1});
              }},
    SheetPass{"from_ijk", 1, [](BatchedBuilder& b, const gpu::VoxelLists& lists, const GridBatch&) {
                return b.from_ijk(lists);
              }}};

struct Line {
  gpu::Costs costs;
  std::vector<double> bytes;  // per launch
  std::int64_t kernels = 0;
  double moved = 0;

  double seconds_of_waiting() const {
    return static_cast<double>(kernels + costs.fills + costs.uploads) * kLaunchSeconds +
           static_cast<double>(costs.synchronisations) * kSynchronisationSeconds;
  }
  double seconds_of_bytes() const { return moved / kBytesPerSecond; }
};

Line line_of(const SheetPass& pass, std::int64_t members) {
  gpu::StrictOptions options;  // which deals work out as to a GPU
  options.trace = true;
  BatchedBuilder builder = gpu::strict_builder(options);
  const auto work = gpu::benchmarks::shells(gpu::benchmarks::kSmallRadius, members, true);
  const auto rows = builder.to_device(std::as_bytes(std::span(work.ijk)));
  const gpu::VoxelLists lists{{reinterpret_cast<const std::int32_t*>(rows.get()), work.ijk.size()},
                              work.offsets};
  const GridBatch source = builder.from_ijk(lists);
  const GridBatch result = pass.run(builder, lists, source);
  Line line;
  line.costs = builder.costs();
  const bool from_list = std::string(pass.name) == "from_ijk";
  Sizes sizes{Nodes(from_list ? GridBatch() : source),
              Nodes(result),
              static_cast<double>(members),
              static_cast<double>(work.voxels()),
              0,
              pass.looked_up,
              0};
  if (from_list) {  // the box of each shell in leaves, and its masks are set to zero
    sizes.dense_leaves = static_cast<double>(line.costs.zeroed - line.costs.result_bytes) / 64;
  }
  line.moved = static_cast<double>(line.costs.zeroed);
  for (const auto& launch : line.costs.trace) {
    line.bytes.push_back(bytes_of(launch, sizes));
    line.moved += line.bytes.back();
    line.kernels += kernels_of(launch);
  }
  return line;
}

}  // namespace

void print_cost_sheet() {
  fmt::print(
      "| pass | B | launches | kernels | fills | uploads | waits | bytes up | bytes back | "
      "scratch, KB |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  std::vector<std::string> times;
  Line last;
  for (const SheetPass& pass : kPasses) {
    for (const std::int64_t members : {1, 16, 48}) {
      const Line line = line_of(pass, members);
      const gpu::Costs& c = line.costs;
      fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0f} |\n", pass.name, members,
                 c.launches, line.kernels, c.fills, c.uploads, c.synchronisations, c.uploaded,
                 c.read_back, static_cast<double>(c.scratch_bytes) / 1e3);
      const double out = static_cast<double>(c.result_bytes);
      times.push_back(
          fmt::format("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.0f} | {:.0f} | {:.0f} |",
                      pass.name, members, out / 1e6, line.moved / 1e6, line.moved / out,
                      1e6 * line.seconds_of_waiting(), 1e6 * line.seconds_of_bytes(),
                      1e6 * (line.seconds_of_waiting() + line.seconds_of_bytes())));
      if (std::string(pass.name) == "dilate 26") last = line;
    }
  }
  fmt::print(
      "\n| pass | B | output, MB | moved, MB | moved / output | us of launches | us of bytes "
      "| us in all |\n|---|--:|--:|--:|--:|--:|--:|--:|\n");
  for (const std::string& line : times) fmt::print("{}\n", line);
  fmt::print("\n| launch of dilate 26, B = 48 | items at most | KB |\n|---|--:|--:|\n");
  for (std::size_t i = 0; i < last.bytes.size(); ++i) {
    const auto& launch = last.costs.trace[i];
    fmt::print("| `{}` | {} | {:.1f} |\n", launch.functor, launch.items, last.bytes[i] / 1e3);
  }
  fmt::print("| (zeroing the result) | {} | {:.1f} |\n", last.costs.zeroed,
             static_cast<double>(last.costs.zeroed) / 1e3);
}

}  // namespace leafproof::gpu_check
