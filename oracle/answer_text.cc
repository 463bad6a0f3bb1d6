// A writer and a reader for each kind of answer.
#include "oracle/answer_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "oracle/conv_answers.h"
#include "oracle/layout_view.h"
#include "oracle/out_of_memory.h"
#include "oracle/text_fields.h"
#include "reference/numbers.h"

namespace leafproof::oracle {
namespace {

using namespace forms;

constexpr std::string_view kHeader = "answer1";

[[noreturn]] void refuse(std::string_view field, std::string_view value, std::string reason) {
  fail(field, value, std::move(reason), "answer");
}

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// Rows member after member [M-7], as lists.
Members lists_of(const char* field, const RowVoxels& rows) {
  Members lists;
  for (const RowVoxel& row : rows) {
    const auto last = static_cast<std::int64_t>(lists.size()) - 1;
    if (row.member < std::max<std::int64_t>(0, last) || row.member > INT32_MAX)
      refuse(field, std::to_string(row.member), "rows must be listed member after member");
    lists.resize(index(std::max(last, row.member) + 1));
    lists.back().push_back(row.voxel);
  }
  return lists;
}

RowVoxels rows_in(const Members& lists) {
  RowVoxels rows;
  for (std::size_t m = 0; m < lists.size(); ++m)
    for (const Voxel v : lists[m]) rows.push_back({static_cast<std::int64_t>(m), v});
  return rows;
}

class Writer {
 public:
  std::string operator()(const Layout& layout) const { return (*this)(voxels_of(layout)); }
  std::string operator()(const GridBuffer& buffer) const {
    return (*this)(voxels_of(read_layout(buffer)));
  }
  std::string operator()(const VoxelsAnswer& v) const {
    std::string text = line("grid", "voxels", v.members);
    if (v.own_order) text += " order=own";
    if (v.maps) text += field("maps", *v.maps);
    return text;
  }
  std::string operator()(const oracle::Maps& m) const { return line("maps", "maps", m.maps); }

  std::string operator()(const KernelMapAnswer& answer) const {
    const auto& [offsets, gather, scatter, sources, targets] = answer.map;
    if (offsets.empty() || offsets.front() != 0 || gather.size() != scatter.size() ||
        offsets.back() != static_cast<std::int64_t>(gather.size()))
      refuse("pairs", std::to_string(gather.size()), "the offsets must delimit all pairs");
    PairLists taps;
    // All of them before any is followed: one that is too large is known by a later, smaller one.
    if (const auto less = std::is_sorted_until(offsets.begin(), offsets.end());
        less != offsets.end())
      refuse("pairs", std::to_string(*less), "the offsets must not decrease");
    for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
      auto& pairs = taps.emplace_back();
      for (auto i = index(offsets[t]); i < index(offsets[t + 1]); ++i)
        pairs.push_back({gather[i], scatter[i]});
    }
    return line("map", "pairs", taps) + rows("source_rows", answer.source_rows) +
           rows("target_rows", answer.target_rows);
  }
  std::string operator()(const DenseMapAnswer& answer) const {
    const auto& [taps, row_count, numbers] = answer.map;
    if (taps < 0 || row_count < 0 || static_cast<std::int64_t>(numbers.size()) != taps * row_count)
      refuse("index", std::to_string(numbers.size()), "must be taps times target rows");
    std::vector<View> lists;
    for (std::int64_t t = 0; t < taps; ++t)
      lists.emplace_back(numbers.begin() + t * row_count, numbers.begin() + (t + 1) * row_count);
    return line("dense", "index", lists) + rows("source_rows", answer.source_rows) +
           rows("target_rows", answer.target_rows);
  }
  std::string operator()(const NumbersAnswer& n) const {
    return line("numbers", "output", n.array) + arithmetic(n) + rows("target_rows", n.rows);
  }
  std::string operator()(const GradientsAnswer& g) const {
    return line("gradients", "features", g.features.array) + field("weights", g.weights.array) +
           field("bias", g.bias.array) + arithmetic(g.features) +
           rows("source_rows", g.features.rows);
  }
  std::string operator()(const Error& error) const {
    return fmt::format("{} refused kind={} reason={}", kHeader, to_string(error.kind()),
                       escaped(error.detail().reason));
  }
  std::string operator()(const NotImplemented& n) const {
    return fmt::format("{} not_implemented reason={}", kHeader, escaped(n.reason));
  }
  std::string operator()(const Failed& f) const {
    return fmt::format("{} failed reason={}", kHeader, escaped(f.fault));
  }

 private:
  static VoxelsAnswer voxels_of(const Layout& layout) {
    Batch batch = batch_of(layout);
    return {std::move(batch.members), false, std::move(batch.maps)};
  }
  template <class T>
  static std::string field(std::string_view name, const T& value) {
    return fmt::format(" {}={}", name, text_of(value));
  }
  template <class T>
  static std::string line(std::string_view kind, std::string_view name, const T& value) {
    return fmt::format("{} {}", kHeader, kind) + field(name, value);
  }
  static std::string rows(const char* name, const std::optional<RowVoxels>& rows) {
    return rows ? field(name, lists_of(name, *rows)) : std::string();
  }
  static std::string arithmetic(const NumbersAnswer& n) {
    return fmt::format(" type={} multiplier={} accumulator={}", reference::to_string(n.type),
                       to_string(n.multiplier), to_string(n.accumulator));
  }
};

class Reader {
 public:
  Reader(TextFields& fields, const Case& question, const AnswerFiles& files)
      : fields_(fields), question_(question), files_(files) {}

  Answer read(std::string_view kind) {
    if (kind == "grid") return ordered(VoxelsAnswer{members("voxels"), false, {}});
    if (kind == "nanovdb") return nanovdb();
    if (kind == "npz") return npz();
    if (kind == "maps") return oracle::Maps{maps()};
    if (kind == "map") return map();
    if (kind == "dense") return dense();
    if (kind == "numbers") {
      NumbersAnswer n = numbers("output", declared_type());
      n.rows = rows("target_rows");
      return n;
    }
    if (kind == "gradients") return gradients();
    if (kind == "refused")
      return Error(error_kind(), {.operation = std::string(to_string(question_.op)),
                                  .argument = "case",
                                  .value = {},
                                  .reason = reason(),
                                  .member = {},
                                  .row = {}});
    if (kind == "not_implemented") return NotImplemented{reason()};
    if (kind == "failed") return Failed{reason(), {}, false};
    refuse("kind", kind,
           "must be grid, nanovdb, maps, map, dense, numbers, gradients, npz, refused, "
           "not_implemented or failed");
  }

 private:
  Members members(const char* name) {
    Members lists;
    fields_.value(name, lists);
    return lists;
  }
  std::optional<RowVoxels> rows(const char* name) {
    if (!fields_.has(name)) return {};
    return rows_in(members(name));
  }
  std::vector<Map> maps() {
    std::vector<Map> list;
    fields_.value("maps", list);
    return list;
  }
  std::string reason() {
    std::string text;
    if (fields_.has("reason")) fields_.value("reason", text);
    return text;
  }
  std::string path() {
    std::string file;
    fields_.value("file", file);
    if (file.empty() || file.find('\0') != file.npos) fields_.refuse("file", "must be a path");
    return file;
  }

  VoxelsAnswer ordered(VoxelsAnswer answer) {
    if (fields_.has("order")) {
      const std::string_view order = fields_.take("order");
      if (order != "own" && order != "canonical")
        fields_.refuse("order", "must be own or canonical");
      answer.own_order = order == "own";
    }
    if (fields_.has("maps")) answer.maps = maps();
    return answer;
  }

  GridBuffer nanovdb() {
    const std::string file = path();
    if (!files_.nanovdb) fields_.refuse("file", "no file is read here");
    GridBuffer buffer = files_.nanovdb(file);
    buffer.profile = Profile::Topology;
    if (fields_.has("profile")) {
      buffer.profile = parse_profile(fields_.take("profile"));
      if (!buffer.profile) fields_.refuse("profile", "must be sets, topology, layout or bytes");
    }
    return buffer;
  }

  Answer npz() {
    const std::string file = path();
    const std::string_view kind = fields_.take("kind");
    constexpr std::array kinds{"grid", "map", "dense", "numbers", "gradients"};
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      fields_.refuse("kind", "must be grid, map, dense, numbers or gradients");
    if (!files_.npz) fields_.refuse("file", "no file is read here");
    Answer answer = files_.npz(file, kind);
    if (auto* voxels = std::get_if<VoxelsAnswer>(&answer)) return ordered(std::move(*voxels));
    if (auto* map = std::get_if<KernelMapAnswer>(&answer)) map->profile = Profile::Topology;
    if (auto* dense = std::get_if<DenseMapAnswer>(&answer)) dense->profile = Profile::Topology;
    if (auto* n = std::get_if<NumbersAnswer>(&answer)) arithmetic(*n);
    if (auto* g = std::get_if<GradientsAnswer>(&answer))
      for (NumbersAnswer* n : {&g->features, &g->weights, &g->bias}) arithmetic(*n);
    return answer;
  }

  KernelMapAnswer map() {
    KernelMapAnswer answer;
    answer.profile = Profile::Topology;
    PairLists taps;
    fields_.value("pairs", taps);
    for (const auto& pairs : taps) {
      for (const auto& [source, target] : pairs) {
        answer.map.gather.push_back(source);
        answer.map.scatter.push_back(target);
      }
      answer.map.offsets.push_back(static_cast<std::int64_t>(answer.map.gather.size()));
    }
    answer.source_rows = rows("source_rows");
    answer.target_rows = rows("target_rows");
    return answer;
  }

  DenseMapAnswer dense() {
    DenseMapAnswer answer;
    answer.profile = Profile::Topology;
    std::vector<View> lists;
    fields_.value("index", lists);
    answer.map.taps = static_cast<std::int64_t>(lists.size());
    answer.map.rows = lists.empty() ? 0 : static_cast<std::int64_t>(lists.front().size());
    for (const View& list : lists) {
      if (list.size() != lists.front().size())
        refuse(
            "index", std::to_string(list.size()),
            fmt::format("every tap must have as many rows as the first, {}", lists.front().size()));
      answer.map.index.insert(answer.map.index.end(), list.begin(), list.end());
    }
    answer.source_rows = rows("source_rows");
    answer.target_rows = rows("target_rows");
    return answer;
  }

  NumberType declared_type() {
    NumberType type = question_.operands.type;
    if (fields_.has("type")) fields_.value("type", type);
    return type;
  }

  void arithmetic(NumbersAnswer& n) {
    const auto declare = [&](const char* name, Arithmetic& arithmetic) {
      if (!fields_.has(name)) return;
      const auto parsed = parse_arithmetic(fields_.take(name));
      if (!parsed) fields_.refuse(name, "must be fp64, fp32, tf32 or fp16");
      arithmetic = *parsed;
    };
    declare("multiplier", n.multiplier);
    declare("accumulator", n.accumulator);
  }

  /// A decimal is the number of the type that is nearest to it.
  NumbersAnswer numbers(const char* name, NumberType type) {
    reference::Array array;
    fields_.value(name, array);
    for (double& x : array.values) {
      const bool whole = x >= -0x1p31 && x < 0x1p31 && x == std::trunc(x);
      if (type == NumberType::Int32 && !whole)
        refuse(name, number_text(x), "must be integers of 32 bits");
      x = reference::rounded(type, x);
    }
    NumbersAnswer n = numbers_of(std::move(array), type);
    arithmetic(n);
    return n;
  }

  GradientsAnswer gradients() {
    const NumberType type = declared_type();
    GradientsAnswer g{numbers("features", type), numbers("weights", type), numbers("bias", type)};
    g.features.rows = rows("source_rows");
    return g;
  }

  ErrorKind error_kind() {
    const auto kind = parse_error_kind(fields_.take("kind"));
    if (kind) return *kind;
    fields_.refuse("kind", "must be a kind of refusal [E-3]");
  }

  TextFields& fields_;
  const Case& question_;
  const AnswerFiles& files_;
};

}  // namespace

std::string write_answer_text(const Answer& answer) {
  return or_out_of_memory("write answer", "answer",
                          [&]() -> std::string { return std::visit(Writer{}, answer); });
}

Answer read_answer_text(std::string_view text, const Case& question, const AnswerFiles& files) {
  return or_out_of_memory("read answer", "answer", [&]() -> Answer {
    const auto words = words_of(text);
    if (words.empty() || words[0] != kHeader)
      refuse("version", words.empty() ? std::string_view() : words[0],
             fmt::format("must begin with {}", kHeader));
    if (words.size() < 2) refuse("kind", "", "is missing");
    TextFields fields("answer", std::span(words).subspan(2));
    Answer answer = Reader(fields, question, files).read(words[1]);
    fields.finish();
    return answer;
  });
}

}  // namespace leafproof::oracle
