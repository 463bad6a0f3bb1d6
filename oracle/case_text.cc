// The one-line form: a writer and a reader of each type of value.
#include "oracle/case_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "oracle/case_fields.h"
#include "reference/numbers.h"

namespace leafproof::oracle {
namespace {

using namespace forms;

constexpr std::string_view kHeader = "case1";
constexpr std::string_view kNone = "-";  // a list of nothing

// --- writing
// --------------------------------------------------------------------------------------

/// Letters, digits and "_.-" stand for themselves, every other byte as %XX.
std::string escaped(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == '-';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string numbers_text(const double* numbers, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    out += number_text(numbers[i]);
  }
  return out;
}

/// "[a;b][]": a list per member.
template <class Lists, class Item>
std::string lists_text(const Lists& lists, std::string_view between, Item item) {
  if (lists.empty()) return std::string(kNone);
  std::string out;
  for (const auto& list : lists) {
    out += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out += between;
      out += item(list[i]);
    }
    out += ']';
  }
  return out;
}

class TextWriter {
 public:
  static constexpr bool reading = false;
  explicit TextWriter(const Case& c) : op_(c.op) {
    text_ = fmt::format("{} {}", kHeader, to_string(c.op));
  }
  std::string take() { return std::move(text_); }

  bool present(const char*, bool is_default) const { return !is_default; }
  void absent(const char* name, bool is_default) const {
    if (!is_default) fail(name, to_string(op_), "must not be given: the operation takes none");
  }

  void value(const char* name, const Triple& t) {
    const bool one = t[0] == t[1] && t[1] == t[2];
    put(name, one ? std::to_string(t[0]) : fmt::format("{},{},{}", t[0], t[1], t[2]));
  }
  void value(const char* name, const Op& op) { put(name, std::string(to_string(op))); }
  void value(const char* name, const bool& b) { put(name, b ? "true" : "false"); }
  void value(const char* name, const Direction& d) { value(name, d == Direction::Transposed); }
  void value(const char* name, const NumberType& t) {
    put(name, std::string(reference::to_string(t)));
  }
  void value(const char* name, const Members& members) {
    put(name, lists_text(members, ";",
                         [](const Voxel& v) { return fmt::format("{},{},{}", v.x, v.y, v.z); }));
  }
  void value(const char* name, const Points& points) {
    put(name, lists_text(points, ";", [](const Point& p) { return numbers_text(p.data(), 3); }));
  }
  void value(const char* name, const Masks& masks) {
    put(name, lists_text(masks, "", [](std::uint8_t f) { return f == 0 ? "0" : "1"; }));
  }
  void value(const char* name, const Maps& maps) {
    std::string out;
    for (const Map& m : maps) {
      if (!out.empty()) out += ';';
      out += numbers_text(m.voxel_size.data(), 3) + "@" + numbers_text(m.origin.data(), 3);
    }
    put(name, out);
  }
  void value(const char* name, const Names& names) {
    std::string out;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i > 0) out += ',';
      out += escaped(names[i]);
    }
    put(name, out);
  }
  void value(const char* name, const View& view) {
    put(name, view.empty() ? std::string(kNone) : fmt::format("{}", fmt::join(view, ",")));
  }
  void value(const char* name, const Array& array) {
    put(name, fmt::format("{}:", fmt::join(array.shape, "x")) +
                  numbers_text(array.values.data(), array.values.size()));
  }

 private:
  void put(const char* name, const std::string& text) {
    text_ += ' ';
    text_ += name;
    text_ += '=';
    text_ += text;
  }
  Op op_;
  std::string text_;
};

// --- reading
// --------------------------------------------------------------------------------------

/// The parts of a text between separators; none of an empty text.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
    if (text.empty()) parts.push_back(text);
  }
  return parts;
}

class TextReader {
 public:
  static constexpr bool reading = true;

  /// Takes "name=value" words.
  TextReader(Op op, const std::vector<std::string_view>& words) : op_(op) {
    for (const std::string_view word : words) {
      const std::size_t at = word.find('=');
      if (at == word.npos) fail("field", word, "must be NAME=VALUE");
      if (!values_.emplace(word.substr(0, at), word.substr(at + 1)).second)
        fail(word.substr(0, at), word.substr(at + 1), "must not be given twice");
    }
  }
  /// Every field must have been one of the case's.
  void finish() const {
    for (const auto& [name, value] : values_)
      if (!read_.contains(name)) fail(name, value, "no case has such a field");
  }

  bool present(const char* name, bool) const { return values_.contains(name); }
  void absent(const char* name, bool) const {
    const auto it = values_.find(name);
    if (it != values_.end())
      fail(name, it->second, fmt::format("must not be given: {} takes none", to_string(op_)));
  }

  void value(const char* name, Triple& t) {
    const auto parts = split(take(name), ',');
    if (parts.size() != 1 && parts.size() != 3) fail_value(name, "must be N or X,Y,Z");
    for (std::size_t a = 0; a < 3; ++a)
      t[a] = integer<std::int64_t>(name, parts[parts.size() == 3 ? a : 0]);
  }
  void value(const char* name, Op& op) {
    const auto known = parse_op(take(name));
    if (!known) fail_value(name, "must be an operation");
    op = *known;
  }
  void value(const char* name, bool& b) {
    const std::string_view text = take(name);
    if (text != "true" && text != "false") fail_value(name, "must be true or false");
    b = text == "true";
  }
  void value(const char* name, Direction& d) {
    bool transposed = false;
    value(name, transposed);
    d = transposed ? Direction::Transposed : Direction::Forward;
  }
  void value(const char* name, NumberType& type) {
    const std::string_view text = take(name);
    for (const NumberType known :
         {NumberType::Float64, NumberType::Float32, NumberType::Float16, NumberType::Int32})
      if (reference::to_string(known) == text) {
        type = known;
        return;
      }
    fail_value(name, "must be float64, float32, float16 or int32");
  }
  void value(const char* name, Members& members) {
    each_list(name, [&](std::string_view list) {
      auto& member = members.emplace_back();
      for (const std::string_view text : split(list, ';')) {
        const auto parts = split(text, ',');
        if (parts.size() != 3) fail(name, text, "must be a voxel X,Y,Z");
        member.push_back({integer<std::int32_t>(name, parts[0]),
                          integer<std::int32_t>(name, parts[1]),
                          integer<std::int32_t>(name, parts[2])});
      }
    });
  }
  void value(const char* name, Points& points) {
    each_list(name, [&](std::string_view list) {
      auto& member = points.emplace_back();
      for (const std::string_view text : split(list, ';'))
        member.push_back(three_numbers(name, text));
    });
  }
  void value(const char* name, Masks& masks) {
    each_list(name, [&](std::string_view list) {
      auto& mask = masks.emplace_back();
      for (const char flag : list) {
        if (flag != '0' && flag != '1') fail(name, {&flag, 1}, "must be flags of 0 and 1");
        mask.push_back(flag == '1');
      }
    });
  }
  void value(const char* name, Maps& maps) {
    maps.clear();
    for (const std::string_view text : split(take(name), ';')) {
      const auto parts = split(text, '@');
      if (parts.size() != 2) fail(name, text, "must be a map SX,SY,SZ@OX,OY,OZ");
      maps.push_back({three_numbers(name, parts[0]), three_numbers(name, parts[1])});
    }
  }
  void value(const char* name, Names& names) {
    names.clear();
    const std::string_view all = take(name);
    for (const std::string_view text : split(all, ',')) names.push_back(unescaped(name, text));
    if (all.empty()) names.emplace_back();
  }
  void value(const char* name, View& view) {
    const std::string_view text = take(name);
    if (text.empty()) fail_value(name, "must be members A,B,..., or -");
    if (text == kNone) return;
    for (const std::string_view part : split(text, ','))
      view.push_back(integer<std::int64_t>(name, part));
  }
  void value(const char* name, Array& array) {
    const std::string_view text = take(name);
    const std::size_t colon = text.find(':');
    if (colon == text.npos) fail_value(name, "must be AxB:NUMBER,NUMBER,...");
    for (const std::string_view part : split(text.substr(0, colon), 'x'))
      array.shape.push_back(integer<std::int64_t>(name, part));
    for (const std::string_view part : split(text.substr(colon + 1), ','))
      array.values.push_back(number(name, part));
  }

 private:
  std::string_view take(const char* name) {
    const auto it = values_.find(name);
    if (it == values_.end()) fail(name, "", "is missing");
    read_.insert(it->first);
    return it->second;
  }
  [[noreturn]] void fail_value(const char* name, std::string reason) const {
    fail(name, values_.find(name)->second, std::move(reason));
  }

  template <class T>
  T integer(const char* name, std::string_view text) const {
    T number{};
    const char* const end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, number);
    if (failed != std::errc{} || stop != end)
      fail(name, text, fmt::format("must be an integer of {} bits", 8 * sizeof number));
    return number;
  }
  double number(const char* name, std::string_view text) const {
    double parsed = 0;
    if (!parse_number(text, parsed)) fail(name, text, "must be a number of double precision");
    return parsed;
  }
  Point three_numbers(const char* name, std::string_view text) const {
    const auto parts = split(text, ',');
    if (parts.size() != 3) fail(name, text, "must be three numbers X,Y,Z");
    return {number(name, parts[0]), number(name, parts[1]), number(name, parts[2])};
  }

  /// The texts within brackets.
  template <class Take>
  void each_list(const char* name, Take take_list) {
    std::string_view text = take(name);
    if (text == kNone) return;
    if (text.empty()) fail(name, text, "must be lists [...], or - for none");
    while (!text.empty()) {
      const std::size_t end = text.find(']');
      if (text.front() != '[' || end == text.npos) fail(name, text, "must be lists [...]");
      take_list(text.substr(1, end - 1));
      text.remove_prefix(end + 1);
    }
  }

  static std::string unescaped(const char* field, std::string_view text) {
    std::string name;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        name += text[i];
        continue;
      }
      unsigned byte = 0;
      const std::string_view digits = text.substr(i + 1, 2);
      const char* const end = digits.data() + digits.size();
      const auto [stop, failed] = std::from_chars(digits.data(), end, byte, 16);
      if (digits.size() != 2 || failed != std::errc{} || stop != end)
        fail(field, text, "must have two hexadecimal digits behind every %");
      name += static_cast<char>(byte);
      i += 2;
    }
    return name;
  }

  Op op_;
  std::map<std::string_view, std::string_view> values_;
  std::set<std::string_view> read_;
};

}  // namespace

std::string write_case_text(const Case& question) {
  check(question);
  TextWriter writer(question);
  each_field(writer, question);
  return writer.take();
}

Case read_case_text(std::string_view text) {
  std::vector<std::string_view> words;
  constexpr std::string_view kSpace = " \t\r\n";
  while (
      (text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size())), !text.empty())) {
    words.push_back(text.substr(0, text.find_first_of(kSpace)));
    text.remove_prefix(words.back().size());
  }
  if (words.empty() || words[0] != kHeader)
    fail("version", words.empty() ? std::string_view() : words[0],
         fmt::format("must begin with {}", kHeader));
  const auto op = words.size() > 1 ? parse_op(words[1]) : std::nullopt;
  if (!op) fail("op", words.size() > 1 ? words[1] : std::string_view(), "must be an operation");
  Case question;
  question.op = *op;
  TextReader reader(*op, {words.begin() + 2, words.end()});
  each_field(reader, question);
  reader.finish();
  check(question);
  return question;
}

}  // namespace leafproof::oracle
