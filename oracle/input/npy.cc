// See npy.h. The format is described in NumPy's documentation, numpy.lib.format.
#include "oracle/input/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace leafproof::oracle {
namespace {

using reference::ErrorKind;

constexpr std::string_view magic = "\x93NUMPY";

// The header is the text of a Python dictionary. This reads exactly the literals that occur in one.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  bool take(char c) {
    skip_space();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool peek(char c) {
    skip_space();
    return !text_.empty() && text_.front() == c;
  }
  bool word(std::string_view expected) {
    skip_space();
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }
  std::optional<std::string> string() {
    const char quote = peek('"') ? '"' : '\'';
    if (!take(quote)) return {};
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) return {};
    std::string value(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return value;
  }
  std::optional<std::uint64_t> number() {
    skip_space();
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (code != std::errc{}) return {};
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }
  std::optional<std::vector<std::uint64_t>> tuple() {
    std::vector<std::uint64_t> values;
    if (!take('(')) return {};
    while (!take(')')) {
      const auto value = number();
      if (!value) return {};
      values.push_back(*value);
      if (!take(',') && !peek(')')) return {};
    }
    return values;
  }
  bool at_end() {
    skip_space();
    return text_.empty();
  }

 private:
  void skip_space() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n'))
      text_.remove_prefix(1);
  }
  std::string_view text_;
};

struct Header {
  std::optional<std::string> type;
  std::optional<bool> fortran;
  std::optional<std::vector<std::uint64_t>> shape;
  bool structured = false;
};

// Nothing but the three keys, each once, in any order.
std::optional<Header> parse(std::string_view text) {
  Header header;
  Literal literal(text);
  if (!literal.take('{')) return {};
  while (!literal.take('}')) {
    const auto key = literal.string();
    if (!key || !literal.take(':')) return {};
    if (*key == "descr" && !header.type) {
      if (literal.peek('[')) {
        header.structured = true;
        return header;
      }
      if (!(header.type = literal.string())) return {};
    } else if (*key == "fortran_order" && !header.fortran) {
      const bool yes = literal.word("True");
      if (!yes && !literal.word("False")) return {};
      header.fortran = yes;
    } else if (*key == "shape" && !header.shape) {
      if (!(header.shape = literal.tuple())) return {};
    } else {
      return {};
    }
    if (!literal.take(',') && !literal.peek('}')) return {};
  }
  if (!literal.at_end() || !header.type || !header.fortran || !header.shape) return {};
  return header;
}

}  // namespace

NpyArray::NpyArray(const FileTask& task, std::string name, std::span<const std::byte> bytes)
    : name_(std::move(name)) {
  const auto fail = [&](ErrorKind kind, std::string reason) {
    task.refuse(kind, name_.empty() ? std::move(reason) : name_ + ": " + reason);
  };
  Cursor cursor(task, bytes);
  if (bytes.size() < magic.size() || as_text(bytes.first(magic.size())) != magic) {
    fail(ErrorKind::Corrupt, "does not begin like a NumPy array");
  }
  cursor.take(magic.size(), "the magic");
  const int major = cursor.get<std::uint8_t>("the format version");
  cursor.get<std::uint8_t>("the format version");
  if (major < 1 || major > 3) {
    fail(ErrorKind::Unsupported,
         fmt::format("NumPy format version {}; 1, 2 and 3 are read", major));
  }
  static_assert(std::endian::native == std::endian::little);
  const std::uint64_t length = major == 1 ? cursor.get<std::uint16_t>("the header's length")
                                          : cursor.get<std::uint32_t>("the header's length");
  const std::string_view text = as_text(cursor.take(length, "the array's header"));
  const auto header = parse(text);
  if (!header) {
    fail(ErrorKind::Corrupt, "malformed NumPy header: " + printable(text, 120));
  }
  if (header->structured) {
    fail(ErrorKind::Unsupported, "has a structured type; plain numbers are read");
  }

  // "<i4": byte order, kind, size.
  const std::string& type = *header->type;
  std::size_t digits = 1;
  char order = '=';
  if (!type.empty() && std::string_view("<>=|").find(type[0]) != std::string_view::npos) {
    order = type[0];
    digits = 2;
  }
  const char* end = type.data() + type.size();
  const char* number = type.data() + std::min(digits, type.size());
  const auto [stop, code] = std::from_chars(number, end, size_);
  if (type.size() <= digits || code != std::errc{} || stop != end || size_ < 1 || size_ > 32) {
    fail(ErrorKind::Unsupported,
         fmt::format("has the type {}; plain numbers are read", printable(type)));
  }
  kind_ = type[digits - 1];
  if (kind_ == 'O') fail(ErrorKind::Unsupported, "holds Python objects; plain numbers are read");
  const bool whole = kind_ == 'i' || kind_ == 'u';
  if ((kind_ == 'b' && size_ != 1) ||
      (whole && size_ != 1 && size_ != 2 && size_ != 4 && size_ != 8))
    fail(ErrorKind::Unsupported,
         fmt::format("has the type {}, which NumPy has not", printable(type)));
  swapped_ = order == '>';
  fortran_ = *header->fortran;
  shape_ = *header->shape;

  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape_) {
    if (extent != 0 && count > std::numeric_limits<std::uint64_t>::max() / 64 / extent) {
      fail(ErrorKind::Corrupt, fmt::format("the shape {} does not fit 64 bits", shape_text()));
    }
    count *= extent;
  }
  const std::uint64_t size = count * static_cast<std::uint64_t>(size_);
  if (size != cursor.left()) {
    fail(ErrorKind::Corrupt, fmt::format("{} of shape {} takes {} bytes, and {} are there",
                                         this->type(), shape_text(), size, cursor.left()));
  }
  data_ = cursor.take(size, "the numbers");
}

std::string NpyArray::type() const {
  switch (kind_) {
    case 'i':
      return fmt::format("int{}", 8 * size_);
    case 'u':
      return fmt::format("uint{}", 8 * size_);
    case 'f':
      return fmt::format("float{}", 8 * size_);
    case 'b':
      return "bool";
    default:
      return fmt::format("{}{}", kind_, size_);
  }
}

std::string NpyArray::shape_text() const {
  if (shape_.size() == 1) return fmt::format("({},)", shape_[0]);
  return fmt::format("({})", fmt::join(shape_, ", "));
}

template <class T>
T NpyArray::element(std::uint64_t row, std::uint64_t column) const {
  const std::uint64_t columns = shape_.size() > 1 ? shape_[1] : 1;
  const std::uint64_t index = fortran_ ? column * shape_[0] + row : row * columns + column;
  std::array<std::byte, sizeof(T)> bytes;
  std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(index * sizeof(T)), sizeof(T),
              bytes.begin());
  if (swapped_) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

std::int64_t NpyArray::integer(std::uint64_t row, std::uint64_t column) const {
  const bool is_signed = kind_ == 'i';
  switch (kind_ == 'i' || kind_ == 'u' || kind_ == 'b' ? size_ : 0) {
    case 1:
      return is_signed ? std::int64_t{element<std::int8_t>(row, column)}
                       : std::int64_t{element<std::uint8_t>(row, column)};
    case 2:
      return is_signed ? std::int64_t{element<std::int16_t>(row, column)}
                       : std::int64_t{element<std::uint16_t>(row, column)};
    case 4:
      return is_signed ? std::int64_t{element<std::int32_t>(row, column)}
                       : std::int64_t{element<std::uint32_t>(row, column)};
    case 8:
      return element<std::int64_t>(row, column);
    default:
      throw std::logic_error("NpyArray::integer: the array holds " + type());
  }
}

double NpyArray::real(std::uint64_t row, std::uint64_t column) const {
  if (is('f', 4)) return static_cast<double>(element<float>(row, column));
  if (is('f', 8)) return element<double>(row, column);
  throw std::logic_error("NpyArray::real: the array holds " + type());
}

std::vector<std::uint64_t> NpyArray::c_order() const {
  std::uint64_t size = 1;
  for (const std::uint64_t n : shape_) size *= n;
  std::vector<std::uint64_t> places(size);
  for (std::uint64_t i = 0; i < size; ++i) {
    places[i] = i;
    if (!fortran_) continue;
    std::uint64_t rest = i, step = size;
    places[i] = 0;
    for (std::size_t a = shape_.size(); a-- > 0;) {  // the last axis changes first
      step /= shape_[a];
      places[i] += rest % shape_[a] * step;
      rest /= shape_[a];
    }
  }
  return places;
}

std::vector<std::int64_t> NpyArray::integers() const {
  NpyArray flat = *this;
  flat.shape_ = {};
  flat.fortran_ = false;
  std::vector<std::int64_t> values;
  for (const std::uint64_t place : c_order()) values.push_back(flat.integer(place));
  return values;
}

std::vector<double> NpyArray::reals() const {
  NpyArray flat = *this;
  flat.shape_ = {};
  flat.fortran_ = false;
  std::vector<double> values;
  for (const std::uint64_t place : c_order()) {
    if (is('i', 4)) {
      values.push_back(static_cast<double>(flat.integer(place)));
    } else if (is('f', 2)) {  // sign, 5 bits of exponent, 10 of fraction
      const auto bits = flat.element<std::uint16_t>(place, 0);
      const int exponent = bits >> 10 & 31, fraction = bits & 1023;
      const double inf = std::numeric_limits<double>::infinity();
      const double size = exponent == 31  ? (fraction == 0 ? inf : std::nan(""))
                          : exponent == 0 ? std::ldexp(fraction, -24)
                                          : std::ldexp(1024 + fraction, exponent - 25);
      values.push_back((bits >> 15) != 0 ? -size : size);
    } else {
      values.push_back(flat.real(place));
    }
  }
  return values;
}

std::string npy_header(std::string_view type, std::span<const std::uint64_t> shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 type, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // Magic, version, length and header together are a multiple of 64 bytes, padded with spaces.
  const std::size_t begin = magic.size() + 4;
  text.resize((begin + text.size() + 1 + 63) / 64 * 64 - begin - 1, ' ');
  text += '\n';
  const char low = static_cast<char>(text.size() & 255), high = static_cast<char>(text.size() >> 8);
  return std::string(magic) + '\1' + '\0' + low + high + text;
}

}  // namespace leafproof::oracle
