// A writer and a reader of each type of value.
#include "oracle/text_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "reference/numbers.h"

namespace leafproof::oracle::forms {
namespace {

constexpr std::string_view kNone = "-";  // a list of nothing

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

}  // namespace

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<std::string_view> words;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
    if (line.empty()) return words;
    words.push_back(line.substr(0, line.find_first_of(kSpace)));
    line.remove_prefix(words.back().size());
  }
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == '-';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string text_of(const Triple& t) {
  const bool one = t[0] == t[1] && t[1] == t[2];
  return one ? std::to_string(t[0]) : fmt::format("{},{},{}", t[0], t[1], t[2]);
}
std::string text_of(Op op) {
  return std::string(to_string(op));
}
std::string text_of(bool flag) {
  return flag ? "true" : "false";
}
std::string text_of(Direction direction) {
  return text_of(direction == Direction::Transposed);
}
std::string text_of(NumberType type) {
  return std::string(reference::to_string(type));
}
std::string text_of(const Members& members) {
  return lists_text(members, ";",
                    [](const Voxel& v) { return fmt::format("{},{},{}", v.x, v.y, v.z); });
}
std::string text_of(const Points& points) {
  return lists_text(points, ";", [](const Point& p) { return numbers_text(p.data(), 3); });
}
std::string text_of(const Masks& masks) {
  return lists_text(masks, "", [](std::uint8_t f) { return f == 0 ? "0" : "1"; });
}
std::string text_of(const Maps& maps) {
  if (maps.empty()) return std::string(kNone);
  std::string out;
  for (const Map& m : maps) {
    if (!out.empty()) out += ';';
    out += numbers_text(m.voxel_size.data(), 3) + "@" + numbers_text(m.origin.data(), 3);
  }
  return out;
}
std::string text_of(const Names& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += ',';
    out += escaped(names[i]);
  }
  return out;
}
std::string text_of(const View& integers) {
  return integers.empty() ? std::string(kNone) : fmt::format("{}", fmt::join(integers, ","));
}
std::string text_of(const Array& array) {
  return fmt::format("{}:", fmt::join(array.shape, "x")) +
         numbers_text(array.values.data(), array.values.size());
}
std::string text_of(const std::vector<View>& lists) {
  return lists_text(lists, ",", [](std::int64_t i) { return std::to_string(i); });
}
std::string text_of(const PairLists& lists) {
  return lists_text(lists, ";", [](const auto& p) { return fmt::format("{},{}", p[0], p[1]); });
}

TextFields::TextFields(const char* what, std::span<const std::string_view> words) : what_(what) {
  for (const std::string_view word : words) {
    const std::size_t at = word.find('=');
    if (at == word.npos) fail("field", word, "must be NAME=VALUE", what_);
    if (!values_.emplace(word.substr(0, at), word.substr(at + 1)).second)
      fail(word.substr(0, at), word.substr(at + 1), "must not be given twice", what_);
  }
}

void TextFields::finish() const {
  for (const auto& [name, value] : values_)
    if (!read_.contains(name))
      fail(name, value, fmt::format("no {} has such a field", what_), what_);
}

std::string_view TextFields::take(std::string_view name) {
  const auto it = values_.find(name);
  if (it == values_.end()) fail(name, "", "is missing", what_);
  read_.insert(it->first);
  return it->second;
}

void TextFields::refuse(std::string_view name, std::string reason) const {
  fail(name, values_.find(name)->second, std::move(reason), what_);
}

void TextFields::value(const char* name, Triple& t) {
  const auto parts = split(take(name), ',');
  if (parts.size() != 1 && parts.size() != 3) refuse(name, "must be N or X,Y,Z");
  for (std::size_t a = 0; a < 3; ++a)
    t[a] = integer<std::int64_t>(name, parts[parts.size() == 3 ? a : 0]);
}
void TextFields::value(const char* name, Op& op) {
  const auto known = parse_op(take(name));
  if (!known) refuse(name, "must be an operation");
  op = *known;
}
void TextFields::value(const char* name, bool& flag) {
  const std::string_view text = take(name);
  if (text != "true" && text != "false") refuse(name, "must be true or false");
  flag = text == "true";
}
void TextFields::value(const char* name, Direction& d) {
  bool transposed = false;
  value(name, transposed);
  d = transposed ? Direction::Transposed : Direction::Forward;
}
void TextFields::value(const char* name, NumberType& type) {
  const std::string_view text = take(name);
  for (const NumberType known :
       {NumberType::Float64, NumberType::Float32, NumberType::Float16, NumberType::Int32})
    if (reference::to_string(known) == text) {
      type = known;
      return;
    }
  refuse(name, "must be float64, float32, float16 or int32");
}
void TextFields::value(const char* name, Members& members) {
  each_list(name, [&](std::string_view list) {
    auto& member = members.emplace_back();
    for (const std::string_view text : split(list, ';')) {
      const auto parts = split(text, ',');
      if (parts.size() != 3) fail(name, text, "must be a voxel X,Y,Z", what_);
      member.push_back({integer<std::int32_t>(name, parts[0]),
                        integer<std::int32_t>(name, parts[1]),
                        integer<std::int32_t>(name, parts[2])});
    }
  });
}
void TextFields::value(const char* name, Points& points) {
  each_list(name, [&](std::string_view list) {
    auto& member = points.emplace_back();
    for (const std::string_view text : split(list, ';'))
      member.push_back(three_numbers(name, text));
  });
}
void TextFields::value(const char* name, Masks& masks) {
  each_list(name, [&](std::string_view list) {
    auto& mask = masks.emplace_back();
    for (const char flag : list) {
      if (flag != '0' && flag != '1') fail(name, {&flag, 1}, "must be flags of 0 and 1", what_);
      mask.push_back(flag == '1');
    }
  });
}
void TextFields::value(const char* name, Maps& maps) {
  maps.clear();
  const std::string_view all = take(name);
  if (all == kNone) return;
  for (const std::string_view text : split(all, ';')) {
    const auto parts = split(text, '@');
    if (parts.size() != 2) fail(name, text, "must be a map SX,SY,SZ@OX,OY,OZ", what_);
    maps.push_back({three_numbers(name, parts[0]), three_numbers(name, parts[1])});
  }
}
void TextFields::value(const char* name, Names& names) {
  names.clear();
  const std::string_view all = take(name);
  for (const std::string_view text : split(all, ',')) names.push_back(unescaped(name, text));
  if (all.empty()) names.emplace_back();
}
void TextFields::value(const char* name, View& integers) {
  const std::string_view text = take(name);
  if (text.empty()) refuse(name, "must be members A,B,..., or -");
  if (text == kNone) return;
  for (const std::string_view part : split(text, ','))
    integers.push_back(integer<std::int64_t>(name, part));
}
void TextFields::value(const char* name, Array& array) {
  const std::string_view text = take(name);
  const std::size_t colon = text.find(':');
  if (colon == text.npos) refuse(name, "must be AxB:NUMBER,NUMBER,...");
  for (const std::string_view part : split(text.substr(0, colon), 'x'))
    array.shape.push_back(integer<std::int64_t>(name, part));
  for (const std::string_view part : split(text.substr(colon + 1), ','))
    array.values.push_back(number(name, part));
}
void TextFields::value(const char* name, std::vector<View>& lists) {
  each_list(name, [&](std::string_view list) {
    auto& integers = lists.emplace_back();
    for (const std::string_view text : split(list, ','))
      integers.push_back(integer<std::int64_t>(name, text));
  });
}
void TextFields::value(const char* name, PairLists& lists) {
  each_list(name, [&](std::string_view list) {
    auto& pairs = lists.emplace_back();
    for (const std::string_view text : split(list, ';')) {
      const auto parts = split(text, ',');
      if (parts.size() != 2) fail(name, text, "must be a pair SOURCE,TARGET", what_);
      pairs.push_back(
          {integer<std::int64_t>(name, parts[0]), integer<std::int64_t>(name, parts[1])});
    }
  });
}
void TextFields::value(const char* name, std::string& text) {
  text = unescaped(name, take(name));
}

template <class T>
T TextFields::integer(std::string_view name, std::string_view text) const {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  if (failed != std::errc{} || stop != end)
    fail(name, text, fmt::format("must be an integer of {} bits", 8 * sizeof number), what_);
  return number;
}

double TextFields::number(std::string_view name, std::string_view text) const {
  double parsed = 0;
  if (!parse_number(text, parsed)) fail(name, text, "must be a number of double precision", what_);
  return parsed;
}

Point TextFields::three_numbers(std::string_view name, std::string_view text) const {
  const auto parts = split(text, ',');
  if (parts.size() != 3) fail(name, text, "must be three numbers X,Y,Z", what_);
  return {number(name, parts[0]), number(name, parts[1]), number(name, parts[2])};
}

template <class Take>
void TextFields::each_list(const char* name, Take take_list) {
  std::string_view text = take(name);
  if (text == kNone) return;
  if (text.empty()) fail(name, text, "must be lists [...], or - for none", what_);
  while (!text.empty()) {
    const std::size_t end = text.find(']');
    if (text.front() != '[' || end == text.npos) fail(name, text, "must be lists [...]", what_);
    take_list(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
  }
}

std::string TextFields::unescaped(std::string_view name, std::string_view text) const {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const char* const end = digits.data() + digits.size();
    const auto [stop, failed] = std::from_chars(digits.data(), end, byte, 16);
    if (digits.size() != 2 || failed != std::errc{} || stop != end)
      fail(name, text, "must have two hexadecimal digits behind every %", what_);
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

}  // namespace leafproof::oracle::forms
