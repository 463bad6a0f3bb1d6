// The vertices of a .ply file: header, then elements one after the other, each a row of properties.
// A reader of its own because coordinates stay doubles, and because most of it is refusing.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include "oracle/input/points.h"

namespace leafproof::oracle {
namespace {

enum class Encoding { Text, Little, Big };

struct Type {
  char kind;  // i, u, f
  int size;
};

std::optional<Type> parse_type(std::string_view name) {
  struct Named {
    std::string_view name, alias;
    Type type;
  };
  static constexpr std::array<Named, 8> types{{{"char", "int8", {'i', 1}},
                                               {"uchar", "uint8", {'u', 1}},
                                               {"short", "int16", {'i', 2}},
                                               {"ushort", "uint16", {'u', 2}},
                                               {"int", "int32", {'i', 4}},
                                               {"uint", "uint32", {'u', 4}},
                                               {"float", "float32", {'f', 4}},
                                               {"double", "float64", {'f', 8}}}};
  for (const Named& t : types) {
    if (name == t.name || name == t.alias) return t.type;
  }
  return {};
}

struct Property {
  std::string name;
  Type type;
  std::optional<Type> count;  // of a list
  int axis = -1;              // 0, 1, 2: a coordinate
};

struct Element {
  std::string name;
  std::uint64_t rows = 0;
  std::vector<Property> properties;
};

struct Header {
  Encoding encoding = Encoding::Text;
  std::vector<Element> elements;
  std::uint64_t size = 0;  // bytes of the header
};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    if (line.empty()) return words;
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

Header parse_header(const FileTask& task, std::span<const std::byte> bytes) {
  const std::string_view text = as_text(bytes);
  Header header;
  bool has_format = false;
  std::size_t at = 0;
  for (int number = 1;; ++number) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) {
      task.refuse(ErrorKind::Corrupt,
                  number == 1 ? "does not begin with \"ply\"" : "its header has no end_header");
    }
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto words = words_of(line);
    const auto malformed = [&] {
      task.refuse(ErrorKind::Corrupt,
                  fmt::format("line {} of its header: {}", number, printable(line)));
    };
    if (number == 1) {
      if (line != "ply") task.refuse(ErrorKind::Corrupt, "does not begin with \"ply\"");
      continue;
    }
    if (words.empty() || words[0] == "comment" || words[0] == "obj_info") continue;
    if (words[0] == "end_header") break;
    if (words[0] == "format" && words.size() == 3) {
      if (words[1] == "ascii") {
        header.encoding = Encoding::Text;
      } else if (words[1] == "binary_little_endian") {
        header.encoding = Encoding::Little;
      } else if (words[1] == "binary_big_endian") {
        header.encoding = Encoding::Big;
      } else {
        task.refuse(ErrorKind::Unsupported, "has the format " + printable(words[1]));
      }
      has_format = true;
    } else if (words[0] == "element" && words.size() == 3) {
      Element element{.name = std::string(words[1]), .rows = 0, .properties = {}};
      const char* last = words[2].data() + words[2].size();
      const auto [stop, code] = std::from_chars(words[2].data(), last, element.rows);
      if (code != std::errc{} || stop != last) malformed();
      header.elements.push_back(std::move(element));
    } else if (words[0] == "property" && words.size() == 3 && !header.elements.empty()) {
      const auto type = parse_type(words[1]);
      if (!type) malformed();
      const std::size_t axis = std::string_view("xyz").find(words[2]);
      header.elements.back().properties.push_back(
          {std::string(words[2]), *type, {}, words[2].size() == 1 ? static_cast<int>(axis) : -1});
    } else if (words[0] == "property" && words.size() == 5 && words[1] == "list" &&
               !header.elements.empty()) {
      const auto count = parse_type(words[2]), type = parse_type(words[3]);
      if (!count || !type || count->kind == 'f') malformed();
      header.elements.back().properties.push_back({std::string(words[4]), *type, count, -1});
    } else {
      malformed();
    }
  }
  if (!has_format) task.refuse(ErrorKind::Corrupt, "its header has no format");
  header.size = at;
  return header;
}

// One number after another, whatever the encoding.
class Numbers {
 public:
  Numbers(const FileTask& task, std::span<const std::byte> body, Encoding encoding)
      : task_(task), cursor_(task, body), text_(as_text(body)), encoding_(encoding) {}

  double next(Type type) { return encoding_ == Encoding::Text ? word() : binary(type); }

 private:
  double word() {
    const std::size_t begin = text_.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) {
      task_.refuse(ErrorKind::Corrupt, "ends before the last of its vertices");
    }
    text_.remove_prefix(begin);
    const std::string_view token = text_.substr(0, text_.find_first_of(" \t\r\n"));
    const std::string_view digits = token.starts_with('+') ? token.substr(1) : token;
    double value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc{} || end != digits.data() + digits.size()) {
      task_.refuse(ErrorKind::Corrupt, "has " + printable(token) + " in place of a number");
    }
    text_.remove_prefix(token.size());
    return value;
  }

  template <class T>
  double swapped() {
    const auto taken = cursor_.take(sizeof(T), "a number");
    std::array<std::byte, sizeof(T)> bytes;
    std::copy(taken.begin(), taken.end(), bytes.begin());
    static_assert(std::endian::native == std::endian::little);
    if (encoding_ == Encoding::Big) std::reverse(bytes.begin(), bytes.end());
    return static_cast<double>(std::bit_cast<T>(bytes));
  }

  double binary(Type type) {
    if (type.kind == 'f') return type.size == 4 ? swapped<float>() : swapped<double>();
    const bool is_signed = type.kind == 'i';
    switch (type.size) {
      case 1:
        return is_signed ? swapped<std::int8_t>() : swapped<std::uint8_t>();
      case 2:
        return is_signed ? swapped<std::int16_t>() : swapped<std::uint16_t>();
      default:
        return is_signed ? swapped<std::int32_t>() : swapped<std::uint32_t>();
    }
  }

  const FileTask& task_;
  Cursor cursor_;
  std::string_view text_;
  Encoding encoding_;
};

}  // namespace

PlyHeader read_ply_header(const FileTask& task, std::span<const std::byte> bytes) {
  PlyHeader result;
  for (const Element& element : parse_header(task, bytes).elements) {
    if (element.name == "vertex") result.vertices = element.rows;
    result.has_faces |= element.rows > 0 && (element.name == "face" || element.name == "tristrips");
  }
  return result;
}

std::vector<Point> read_ply_points(const FileTask& task, std::span<const std::byte> bytes) {
  const Header header = parse_header(task, bytes);
  Numbers numbers(task, bytes.subspan(header.size), header.encoding);
  for (const Element& element : header.elements) {
    const bool vertex = element.name == "vertex";
    if (element.properties.empty() && !vertex) continue;  // rows without a byte
    std::array<int, 3> seen{};
    for (const Property& property : element.properties) {
      if (property.axis >= 0) ++seen[static_cast<std::size_t>(property.axis)];
    }
    if (vertex && seen != std::array{1, 1, 1}) {
      task.refuse(ErrorKind::Corrupt, "its vertices do not have one each of x, y and z");
    }
    // A row takes at least a byte per property, so that absurd counts end with the file.
    std::vector<Point> points;
    if (vertex) points.reserve(std::min<std::uint64_t>(element.rows, bytes.size() / 3));
    for (std::uint64_t row = 0; row < element.rows; ++row) {
      Point point{};
      for (const Property& property : element.properties) {
        std::uint64_t count = 1;
        if (property.count) {
          const double length = numbers.next(*property.count);
          if (!(length >= 0 && length <= 4294967295.0) || length != std::floor(length)) {
            task.refuse(ErrorKind::Corrupt, fmt::format("has a list of {} numbers", length));
          }
          count = static_cast<std::uint64_t>(length);
        }
        for (std::uint64_t i = 0; i < count; ++i) {
          const double value = numbers.next(property.type);
          if (property.axis >= 0) point[static_cast<std::size_t>(property.axis)] = value;
        }
      }
      if (vertex) points.push_back(point);
    }
    if (vertex) return points;  // what follows is not asked for
  }
  task.refuse(ErrorKind::Corrupt, "has no vertices");
}

}  // namespace leafproof::oracle
