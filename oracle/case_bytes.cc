// The compact form: numbers of seven bits a byte, the highest first, so that of two encodings of
// one length the less in alphabetical order has the smaller numbers; voxels as steps from the one
// before.
#include "oracle/case_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "oracle/case_fields.h"
#include "oracle/out_of_memory.h"

namespace leafproof::oracle {
namespace {

using namespace forms;

constexpr std::array<std::uint8_t, 4> kHeader{'L', 'P', 'C', 1};  // the last is the version

/// Small magnitudes of either sign as small numbers: 0, -1, 1, -2, ...
std::uint64_t zigzag(std::int64_t n) {
  return static_cast<std::uint64_t>(n) << 1 ^ static_cast<std::uint64_t>(n >> 63);
}
std::int64_t unzigzag(std::uint64_t n) {
  return static_cast<std::int64_t>(n >> 1) ^ -static_cast<std::int64_t>(n & 1);
}

/// Every number of an array as a varint, where that is exact.
bool is_whole(double x) {
  return x == std::trunc(x) && std::fabs(x) < 0x1p31 && !(x == 0 && std::signbit(x));
}

class ByteWriter {
 public:
  static constexpr bool reading = false;
  explicit ByteWriter(const Case& c) : op_(c.op), bytes_(kHeader.begin(), kHeader.end()) {
    byte(static_cast<std::uint8_t>(c.op));
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

  bool present(const char*, bool is_default) {
    byte(is_default ? 0 : 1);
    return !is_default;
  }
  void absent(const char* name, bool is_default) const {
    if (!is_default) fail(name, to_string(op_), "must not be given: the operation takes none");
  }

  void value(const char*, const Triple& t) {
    for (const std::int64_t n : t) signed_number(n);
  }
  void value(const char*, const Op& op) { byte(static_cast<std::uint8_t>(op)); }
  void value(const char*, const bool& b) { byte(b ? 1 : 0); }
  void value(const char*, const Direction& d) { byte(static_cast<std::uint8_t>(d)); }
  void value(const char*, const NumberType& t) { byte(static_cast<std::uint8_t>(t)); }
  void value(const char*, const Members& members) {
    number(members.size());
    Voxel last;
    for (const auto& member : members) {
      number(member.size());
      for (const Voxel v : member) {
        signed_number(std::int64_t{v.x} - last.x);
        signed_number(std::int64_t{v.y} - last.y);
        signed_number(std::int64_t{v.z} - last.z);
        last = v;
      }
    }
  }
  void value(const char*, const Points& points) {
    number(points.size());
    for (const auto& list : points) {
      number(list.size());
      for (const Point& p : list)
        for (const double x : p) real(x);
    }
  }
  void value(const char*, const Masks& masks) {
    number(masks.size());
    for (const auto& mask : masks) {
      number(mask.size());
      for (std::size_t i = 0; i < mask.size(); i += 8) {
        std::uint8_t eight = 0;
        for (std::size_t bit = 0; bit < std::min<std::size_t>(8, mask.size() - i); ++bit)
          eight = static_cast<std::uint8_t>(eight | mask[i + bit] << bit);
        byte(eight);
      }
    }
  }
  void value(const char*, const forms::Maps& maps) {
    for (const Map& m : maps) {  // as many as there are members
      for (const double x : m.voxel_size) real(x);
      for (const double x : m.origin) real(x);
    }
  }
  void value(const char*, const Names& names) {
    for (const std::string& name : names) {
      number(name.size());
      bytes_.insert(bytes_.end(), name.begin(), name.end());
    }
  }
  void value(const char*, const View& view) {
    number(view.size());
    for (const std::int64_t member : view) signed_number(member);
  }
  void value(const char*, const Array& array) {
    number(array.shape.size());
    for (const std::int64_t n : array.shape) signed_number(n);
    number(array.values.size());
    const bool whole = std::all_of(array.values.begin(), array.values.end(), is_whole);
    byte(whole ? 1 : 0);
    for (const double x : array.values)
      whole ? signed_number(static_cast<std::int64_t>(x)) : real(x);
  }

 private:
  void byte(std::uint8_t b) { bytes_.push_back(b); }
  void number(std::uint64_t n) {
    int shift = 0;
    while (shift < 63 && n >> shift >= 0x80) shift += 7;
    for (; shift > 0; shift -= 7) byte(static_cast<std::uint8_t>(n >> shift | 0x80));
    byte(static_cast<std::uint8_t>(n & 0x7f));
  }
  void signed_number(std::int64_t n) { number(zigzag(n)); }
  void real(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    for (int shift = 56; shift >= 0; shift -= 8) byte(static_cast<std::uint8_t>(bits >> shift));
  }
  Op op_;
  std::vector<std::uint8_t> bytes_;
};

class ByteReader {
 public:
  static constexpr bool reading = true;
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    for (const std::uint8_t expected : kHeader)
      if (byte("version") != expected) wrong("version", "must begin with LPC and version 1");
  }
  Op read_op() {
    Op op{};
    value("op", op);
    return op;
  }
  void finish() {
    if (at_ != bytes_.size()) wrong("the end", "must be the end of the case");
  }

  bool present(const char* name, bool) {
    bool given = false;
    value(name, given);
    return given;
  }
  void absent(const char*, bool) const {}

  void value(const char* name, Triple& t) {
    for (std::int64_t& n : t) n = signed_number(name);
  }
  void value(const char* name, Op& op) { enumerated(name, op, Op::KernelMap); }
  void value(const char* name, bool& b) { b = enumerated_byte(name, 1) == 1; }
  void value(const char* name, Direction& d) { enumerated(name, d, Direction::Transposed); }
  void value(const char* name, NumberType& t) { enumerated(name, t, NumberType::Int32); }
  void value(const char* name, Members& members) {
    members.resize(count(name, 1));
    Voxel last;
    const auto step = [&](std::int32_t& from) {
      std::int64_t to = 0;
      if (__builtin_add_overflow(signed_number(name), std::int64_t{from}, &to) || to < INT32_MIN ||
          to > INT32_MAX)
        wrong(name, "must be a coordinate of 32 bits");
      from = static_cast<std::int32_t>(to);
    };
    for (auto& member : members) {
      member.resize(count(name, 3));
      for (Voxel& v : member) {
        step(last.x);
        step(last.y);
        step(last.z);
        v = last;
      }
    }
    expected_ = members.size();
  }
  void value(const char* name, Points& points) {
    points.resize(count(name, 1));
    for (auto& list : points) {
      list.resize(count(name, 24));
      for (Point& p : list)
        for (double& x : p) x = real(name);
    }
  }
  void value(const char* name, Masks& masks) {
    masks.resize(count(name, 1));
    for (auto& mask : masks) {
      const std::uint64_t size = number(name);
      if (size / 8 > bytes_.size() - at_) wrong(name, "must not be more than there are bytes for");
      mask.resize(static_cast<std::size_t>(size));
      for (std::size_t i = 0; i < mask.size(); ++i)
        mask[i] = (i % 8 == 0 ? byte(name) : bytes_[at_ - 1]) >> i % 8 & 1;
    }
  }
  void value(const char* name, forms::Maps& maps) {
    maps.assign(expected_, {});
    for (Map& m : maps) {
      for (double& x : m.voxel_size) x = real(name);
      for (double& x : m.origin) x = real(name);
    }
  }
  void value(const char* name, Names& names) {
    names.assign(expected_, {});
    for (std::string& text : names) {
      const std::size_t size = count(name, 1);
      text.assign(bytes_.begin() + static_cast<std::ptrdiff_t>(at_),
                  bytes_.begin() + static_cast<std::ptrdiff_t>(at_ + size));
      at_ += size;
    }
  }
  void value(const char* name, View& view) {
    view.resize(count(name, 1));
    for (std::int64_t& member : view) member = signed_number(name);
  }
  void value(const char* name, Array& array) {
    array.shape.resize(count(name, 1));
    for (std::int64_t& n : array.shape) n = signed_number(name);
    array.values.resize(count(name, 1));
    bool whole = false;
    value(name, whole);
    for (double& x : array.values)
      x = whole ? static_cast<double>(signed_number(name)) : real(name);
  }

 private:
  [[noreturn]] void wrong(const char* name, std::string reason) const {
    fail(name, fmt::format("byte {}", at_ > 0 ? at_ - 1 : 0), std::move(reason));
  }
  std::uint8_t byte(const char* name) {
    if (at_ == bytes_.size()) wrong(name, "must not end here");
    return bytes_[at_++];
  }
  std::uint8_t enumerated_byte(const char* name, int last) {
    const std::uint8_t b = byte(name);
    if (b > last) wrong(name, fmt::format("must be at most {}", last));
    return b;
  }
  template <class Enum>
  void enumerated(const char* name, Enum& e, Enum last) {
    e = static_cast<Enum>(enumerated_byte(name, static_cast<int>(last)));
  }
  std::uint64_t number(const char* name) {
    std::uint64_t n = 0;
    for (;;) {
      const std::uint8_t b = byte(name);
      if (n >> 57 != 0) wrong(name, "must be a number of 64 bits");
      n = n << 7 | (b & 0x7fu);
      if (b < 0x80) return n;
    }
  }
  std::int64_t signed_number(const char* name) { return unzigzag(number(name)); }
  /// Of things that take at least `least` bytes each.
  std::size_t count(const char* name, std::size_t least) {
    const std::uint64_t n = number(name);
    if (n > (bytes_.size() - at_) / least) wrong(name, "must not be more than there are bytes for");
    return static_cast<std::size_t>(n);
  }
  double real(const char* name) {
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | byte(name);
    return std::bit_cast<double>(bits);
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::size_t expected_ = 0;  // members of the batch being read
};

}  // namespace

std::vector<std::uint8_t> write_case_bytes(const Case& question) {
  return or_out_of_memory("write case", "case", [&]() -> std::vector<std::uint8_t> {
    check(question);
    ByteWriter writer(question);
    each_field(writer, question);
    return writer.take();
  });
}

Case read_case_bytes(std::span<const std::uint8_t> bytes) {
  return or_out_of_memory("read case", "case", [&]() -> Case {
    ByteReader reader(bytes);
    Case question;
    question.op = reader.read_op();
    each_field(reader, question);
    reader.finish();
    // A number may be written in several ways, and a default too: one of them is the encoding.
    const auto written = write_case_bytes(question);
    const auto differs = std::mismatch(written.begin(), written.end(), bytes.begin(), bytes.end());
    if (differs.second != bytes.end() || differs.first != written.end())
      fail("the encoding", fmt::format("byte {}", differs.second - bytes.begin()),
           "must be the one of docs/case-format.md");
    return question;
  });
}

}  // namespace leafproof::oracle
