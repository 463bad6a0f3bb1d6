// A strict reader of [F] and the judgement of answers by it.
#include "oracle/vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "oracle/judge.h"
#include "oracle/layout_view.h"
#include "oracle/out_of_memory.h"
#include "oracle/vectors_node.h"
#include "reference/canonical_order.h"

namespace leafproof::oracle {
namespace vectors {

void refuse(ErrorKind kind, const std::string& file, std::string value, std::string reason) {
  throw Error(kind, {.operation = "read vectors",
                     .argument = file,
                     .value = std::move(value),
                     .reason = std::move(reason),
                     .member = {},
                     .row = {}});
}

std::vector<std::vector<Voxel>> read_lists(const Node& node, bool canonical) {
  std::vector<std::vector<Voxel>> lists;
  for (const Node& member : node.items()) {
    auto& list = lists.emplace_back();
    for (const Node& row : member.items()) {
      list.push_back(row.voxel());
      if (canonical && list.size() > 1 &&
          !reference::canonical_less(list[list.size() - 2], list.back()))
        row.fail("voxels must be in canonical order, without repeats [G-2]");
    }
  }
  return lists;
}

Batch batch_of_lists(std::vector<std::vector<Voxel>> lists) {
  Batch batch;
  batch.members = std::move(lists);
  batch.maps.resize(batch.members.size());
  batch.names.resize(batch.members.size());
  return batch;
}

namespace {

constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 30;

/// Parses, refusing a key that an object has twice (the library would keep the last).
json parse(const std::string& text, const std::string& file) {
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      refuse(ErrorKind::Corrupt, file, "key '" + parsed.get<std::string>() + "'",
             "an object has this key twice");
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::parse_error& error) {
    refuse(ErrorKind::Corrupt, file, "", fmt::format("must be JSON; byte {} is not", error.byte));
  } catch (const json::exception&) {
    refuse(ErrorKind::Corrupt, file, "", "must be JSON");
  }
}

std::string read_text(const std::filesystem::path& path, const std::string& file) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed) || failed)
    refuse(ErrorKind::InvalidArgument, file, path.string(), "no such file");
  if (std::filesystem::file_size(path, failed) > kLargestFile || failed)
    refuse(ErrorKind::CapacityExceeded, file, path.string(), "larger than 1 GiB");
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream && !stream.eof())
    refuse(ErrorKind::InvalidArgument, file, path.string(), "cannot be read");
  return text;
}

}  // namespace

json read_document(const std::filesystem::path& path) {
  const std::string file = path.filename().string();
  return parse(read_text(path, file), file);
}

std::optional<ErrorKind> parse_kind(const std::string& name) {
  for (const ErrorKind kind : {ErrorKind::InvalidArgument, ErrorKind::ShapeMismatch,
                               ErrorKind::OutOfRange, ErrorKind::CapacityExceeded,
                               ErrorKind::OutOfMemory, ErrorKind::Unsupported, ErrorKind::Corrupt})
    if (to_string(kind) == name) return kind;
  return std::nullopt;
}

}  // namespace vectors

namespace {

using nlohmann::json;
using reference::Box;
using namespace vectors;

// --- parts of a case
// ------------------------------------------------------------------------------

Masks read_mask(const Node& node) {
  Masks masks;
  for (const Node& member : node.items()) {
    auto& mask = masks.emplace_back();
    for (const Node& flag : member.items())
      mask.push_back(static_cast<std::uint8_t>(flag.integer(0, 1)));
  }
  return masks;
}

std::vector<Map> read_maps(const Node& at, const char* sizes, const char* origins) {
  std::vector<Map> maps;
  for (const Node& size : at[sizes].items()) maps.push_back({size.numbers(), {}});
  const auto origin_nodes = at[origins].items(maps.size());
  for (std::size_t i = 0; i < maps.size(); ++i) maps[i].origin = origin_nodes[i].numbers();
  return maps;
}

// --- what a file expects, checked against itself
// --------------------------------------------------

std::optional<Box> box_of(const std::vector<Voxel>& voxels) {
  if (voxels.empty()) return std::nullopt;
  Box box{voxels.front(), voxels.front()};
  for (const Voxel v : voxels) {
    box.min = {std::min(box.min.x, v.x), std::min(box.min.y, v.y), std::min(box.min.z, v.z)};
    box.max = {std::max(box.max.x, v.x), std::max(box.max.y, v.y), std::max(box.max.z, v.z)};
  }
  return box;
}

/// Leaf, lower and upper nodes of voxels in canonical order, in which equal nodes are neighbours.
std::array<std::uint64_t, 3> count_nodes(const std::vector<Voxel>& voxels) {
  std::array<std::uint64_t, 3> counts{};
  for (std::size_t i = 0; i < voxels.size(); ++i)
    for (std::size_t level = 0; level < 3; ++level) {
      const int shift = level == 0 ? 3 : level == 1 ? 7 : 12;
      const auto node = [&](Voxel v) { return Voxel{v.x >> shift, v.y >> shift, v.z >> shift}; };
      if (i == 0 || node(voxels[i - 1]) != node(voxels[i])) ++counts[level];
    }
  return counts;
}

Expected read_expected(const Node& node) {
  node.keys({"voxels", "bboxes", "node_counts"});
  Expected expected;
  expected.voxels = read_lists(node["voxels"], /*canonical=*/true);
  const std::size_t members = expected.voxels.size();
  for (const Node& box : node["bboxes"].items(members)) {
    const auto voxels_box = box_of(expected.voxels[expected.boxes.size()]);
    auto& read = expected.boxes.emplace_back();
    if (!box.raw().is_null()) {
      const auto corners = box.items(2);
      read = Box{corners[0].voxel(), corners[1].voxel()};
    }
    if (read != voxels_box) box.fail("contradicts the voxels");
  }
  for (const Node& counts : node["node_counts"].items(members)) {
    const auto voxels_counts = count_nodes(expected.voxels[expected.node_counts.size()]);
    auto& read = expected.node_counts.emplace_back();
    const auto levels = counts.items(3);
    for (std::size_t level = 0; level < 3; ++level)
      read[level] = static_cast<std::uint64_t>(levels[level].integer(0, INT64_MAX));
    if (read != voxels_counts) counts.fail("contradicts the voxels");
  }
  return expected;
}

// --- operations
// -----------------------------------------------------------------------------------

/// Keys of a case beyond those that all have; those in `optional` may be absent.
struct Keys {
  std::set<std::string> params, required, optional;
};

Keys keys_of(Op op) {
  const std::set<std::string> kernel{"kernel_size", "stride", "dilation"};
  const std::set<std::string> convolution{"kernel_size", "stride", "dilation", "transposed"};
  switch (op) {
    case Op::FromIjk:
      return {{}, {"source"}, {}};
    case Op::FromPoints:
      return {{}, {"points", "voxel_size", "origin"}, {}};
    case Op::Refine:
      return {{"factor"}, {"source"}, {"mask", "view"}};
    case Op::Coarsen:
      return {{"factor"}, {"source"}, {"view"}};
    case Op::DilateBox:
    case Op::ErodeBox:
      return {{"lo", "hi"}, {"source"}, {"view"}};
    case Op::Dual:
      return {{}, {"source"}, {"view"}};
    case Op::Prune:
      return {{}, {"source", "mask"}, {"view"}};
    case Op::Merge:
    case Op::Intersect:
    case Op::Subtract:
      return {{}, {"source", "other"}, {"view"}};
    case Op::MapAfter:
      return {{"operation", "factor"}, {"voxel_sizes", "origins"}, {}};
    case Op::ConvGrid:
    case Op::ConvTransposeGrid:
      return {kernel, {"source"}, {"view"}};
    case Op::SubmanifoldIndexMap:
      return {{"kernel_size"}, {"source"}, {"view"}};
    case Op::Convolution:
      return {convolution, {"source", "target", "features", "weights", "bias"}, {"view"}};
    case Op::ConvolutionGradients:
      return {convolution, {"source", "target", "features", "weights", "grad_output"}, {"view"}};
    case Op::KernelMap:
      break;  // no operation of the format: its pairs stand within a convolution
  }
  return {};
}

void read_params(const Node& params, Case& question) {
  for (const auto& [key, unused] : params.raw().items())
    if (key != "operation" && key != "transposed") params[key.c_str()].triple();
  if (params.has("factor")) question.factor = params["factor"].triple();
  if (params.has("lo")) question.lo = params["lo"].triple();
  if (params.has("hi")) question.hi = params["hi"].triple();
  if (params.has("kernel_size")) question.kernel.size = params["kernel_size"].triple();
  if (params.has("stride")) question.kernel.stride = params["stride"].triple();
  if (params.has("dilation")) question.kernel.dilation = params["dilation"].triple();
  if (params.has("transposed")) {
    const json& transposed = params["transposed"].raw();
    if (!transposed.is_boolean()) params["transposed"].fail("must be true or false");
    if (transposed.get<bool>()) question.direction = Direction::Transposed;
  }
  if (params.has("operation")) {
    const Node name = params["operation"];
    const auto mapped = parse_op(name.string());
    if (!mapped) name.fail("unknown operation '" + name.string() + "'");
    question.mapped = *mapped;
  }
}

Vector read_case(const Node& at, const Node& params, Op op, const std::string& file) {
  Vector vector;
  vector.file = file;
  vector.params = params.raw().dump();
  Case& question = vector.question;
  question.op = op;
  read_params(params, question);

  const Keys keys = keys_of(op);
  const std::string result = at["result"].string();
  if (result != "valid" && result != "invalid") at["result"].fail("must be 'valid' or 'invalid'");
  const bool valid = result == "valid";
  std::set<std::string> required = keys.required;
  required.insert({"id", "comment", "flags", "result", valid ? "expected" : "error"});
  at.keys(required, keys.optional);

  vector.id = at["id"].integer(0, INT64_MAX);
  question.id = fmt::format("{} {} {} #{}", file, to_string(op), vector.params, vector.id);
  question.comment = at["comment"].string();
  for (const Node& flag : at["flags"].items()) flag.string();

  if (at.has("source"))
    question.source = batch_of_lists(read_lists(at["source"], op != Op::FromIjk));
  if (at.has("other")) question.other = batch_of_lists(read_lists(at["other"], true));
  if (at.has("mask")) question.mask = read_mask(at["mask"]);
  if (at.has("view")) {
    question.view.emplace();
    for (const Node& member : at["view"].items())
      question.view->push_back(member.integer(INT64_MIN, INT64_MAX));
  }
  if (at.has("points")) {
    for (const Node& member : at["points"].items()) {
      auto& list = question.points.emplace_back();
      for (const Node& point : member.items()) list.push_back(point.numbers());
    }
    question.source = batch_of_lists(std::vector<std::vector<Voxel>>(question.points.size()));
    for (Map& map : question.source.maps)
      map = {at["voxel_size"].numbers(), at["origin"].numbers()};
  }
  if (op == Op::MapAfter) {
    const auto maps = read_maps(at, "voxel_sizes", "origins");
    question.source = batch_of_lists(std::vector<std::vector<Voxel>>(maps.size()));
    question.source.maps = maps;
  }

  if (convolves(op)) read_convolution(at, question);
  if (!valid) {
    const Node error = at["error"];
    const auto kind = parse_error_kind(error.string());
    if (!kind) error.fail("unknown kind of error '" + error.string() + "'");
    vector.expected = Error(*kind, {.operation = std::string(to_string(op)),
                                    .argument = "the case",
                                    .value = question.comment,
                                    .reason = "must be refused",
                                    .member = {},
                                    .row = {}});
  } else if (op == Op::MapAfter) {
    at["expected"].keys({"voxel_sizes", "origins"});
    const auto maps = read_maps(at["expected"], "voxel_sizes", "origins");
    if (maps.size() != question.source.size()) at["expected"].fail("must have a map per member");
    vector.expected = Maps{maps};
  } else if (convolves(op) && op != Op::ConvGrid && op != Op::ConvTransposeGrid) {
    read_expected_convolution(at["expected"], vector);
  } else {
    vector.written = read_expected(at["expected"]);
    const std::size_t members = question.view ? question.view->size() : question.source.size();
    if (vector.written.voxels.size() != members)
      at["expected"].fail(fmt::format("must have {} members", members));
    Batch batch = batch_of_lists(vector.written.voxels);
    if (op == Op::FromPoints) batch.maps = question.source.maps;
    vector.expected = reference::layout_of(batch);
  }
  return vector;
}

// --- judgement
// ------------------------------------------------------------------------------------

/// An answer differs from what the file itself says; only met where the reference's own layout, to
/// which `compare` holds all others, is wrong.
void against_file(const Expected& expected, const Layout& actual, Verdict& verdict) {
  const Batch batch = batch_of(actual);
  const auto differ = [&](std::string clause, std::string what, std::size_t member,
                          std::string wanted, std::string got) {
    if (!verdict.first) {
      verdict.first = Difference{};
      verdict.first->clause = std::move(clause);
      verdict.first->what = std::move(what);
      verdict.first->member = static_cast<std::int64_t>(member);
      verdict.first->expected = std::move(wanted);
      verdict.first->actual = std::move(got);
    }
    verdict.outcome = Outcome::Different;
    ++verdict.differences;
  };
  const auto text = [](const Voxel& v) { return fmt::format("({},{},{})", v.x, v.y, v.z); };
  for (std::size_t m = 0; m < expected.voxels.size(); ++m) {
    const auto& want = expected.voxels[m];
    const auto& have = batch.members[m];
    for (std::size_t i = 0; i < std::max(want.size(), have.size()); ++i)
      if (i >= want.size() || i >= have.size() || want[i] != have[i])
        differ("G-2", fmt::format("voxel {} of the member", i), m,
               i < want.size() ? text(want[i]) : "none", i < have.size() ? text(have[i]) : "none");
    const auto& grid = actual.grids[m];
    if (grid.box != expected.boxes[m])
      differ("G-5", "the member's box", m, "as written", "another");
    const std::array<std::uint64_t, 3> counts{grid.leaves.size(), grid.lowers.size(),
                                              grid.uppers.size()};
    if (counts != expected.node_counts[m])
      differ("G-1", "node counts [leaf, lower, upper]", m,
             fmt::format("{}", fmt::join(expected.node_counts[m], ",")),
             fmt::format("{}", fmt::join(counts, ",")));
  }
}

}  // namespace

std::vector<Vector> read_vectors(const std::filesystem::path& path) {
  return or_out_of_memory("read vectors", "file", [&]() -> std::vector<Vector> {
    const std::string file = path.filename().string();
    const json document = read_document(path);
    const Node root(document, file, "the file");
    root.keys({"format", "version", "semantics_version", "groups"});
    if (root["format"].string() != "leafproof-vectors")
      root["format"].fail("must be 'leafproof-vectors'");
    root["version"].integer(1, 1);
    root["semantics_version"].integer(kSemanticsVersion, kSemanticsVersion);

    std::vector<Vector> vectors;
    std::set<std::string> identities;
    std::size_t number = 0;
    for (const Node& group : root["groups"].items()) {
      group.keys({"op", "params", "cases"});
      const std::string name = group["op"].string();
      const auto op = parse_op(name);
      if (!op || *op == Op::KernelMap) group["op"].fail("unknown operation '" + name + "'");
      const std::string where = fmt::format("group {} ({})", number++, name);
      const Node params(group["params"].raw(), file, where + ": params");
      params.keys(keys_of(*op).params);
      for (const Node& listed : group["cases"].items()) {
        const json& raw = listed.raw();
        const bool named = raw.is_object() && raw.contains("id") && raw["id"].is_number();
        const std::string id = named ? raw["id"].dump() : "without a number";
        const Node at(raw, file, where + ", case " + id);
        vectors.push_back(read_case(at, params, *op, file));
        if (!identities.insert(vectors.back().question.id).second)
          at.fail("the identity (op, params, id) is used twice");
      }
    }
    return vectors;
  });
}

Verdict judge(const Vector& vector, const Answer& actual) {
  const bool about_maps = vector.question.op == Op::FromPoints;  // the result takes its map [T-1]
  const auto asked = profile_asked(actual);
  Verdict verdict =
      of_operation(vector.question.op,
                   compare(vector.expected, actual, asked.value_or(Profile::Layout), about_maps));
  if (asked || !verdict.ok() || !std::holds_alternative<Layout>(vector.expected)) return verdict;
  if (const auto* layout = std::get_if<Layout>(&actual))
    against_file(vector.written, *layout, verdict);
  else if (const auto* buffer = std::get_if<GridBuffer>(&actual))
    against_file(vector.written, read_layout(*buffer), verdict);
  return verdict;
}

Verdict judge_on(const Vector& vector, const Backend& backend) {
  Verdict verdict = judge(vector, backend.answer(vector.question));
  if (!verdict.ok() || !vector.pairs) return verdict;
  Case question = vector.question;
  question.op = Op::KernelMap;
  question.operands = {};  // which a map does not take
  const Answer pairs = backend.answer(question);
  return compare(*vector.pairs, pairs, profile_asked(pairs).value_or(Profile::Layout));
}

Tally run_vectors(const std::vector<Vector>& vectors, const Backend& backend,
                  const std::function<void(const Vector&, const Verdict&)>& on_verdict) {
  Tally tally;
  for (const Vector& vector : vectors) {
    const Verdict verdict = judge_on(vector, backend);
    if (verdict.outcome == Outcome::Equal) ++tally.passed;
    if (verdict.outcome == Outcome::Different) ++tally.failed;
    if (verdict.outcome == Outcome::NotImplemented) ++tally.not_implemented;
    if (on_verdict) on_verdict(vector, verdict);
  }
  return tally;
}

std::vector<std::filesystem::path> vector_files(const std::filesystem::path& folder_or_file) {
  std::error_code failed;
  if (std::filesystem::is_regular_file(folder_or_file, failed)) return {folder_or_file};
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator it(folder_or_file, failed), end; !failed && it != end;
       it.increment(failed))
    if (it->path().extension() == ".json") files.push_back(it->path());
  std::sort(files.begin(), files.end());
  if (failed || files.empty())
    refuse(ErrorKind::InvalidArgument, folder_or_file.string(), "",
           "must be a .json file of vectors, or a folder of them");
  return files;
}

}  // namespace leafproof::oracle
