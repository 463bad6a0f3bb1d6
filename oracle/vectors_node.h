// Inside the reader of vectors: JSON read strictly, so that everything says where it was found.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "oracle/vectors.h"

namespace leafproof::oracle::vectors {

using nlohmann::json;

/// An Error of this file: `value` says where in it, or which.
[[noreturn]] void refuse(ErrorKind kind, const std::string& file, std::string value,
                         std::string reason);

/// A whole file. Corrupt where it is no JSON, or an object has a key twice (the library would keep
/// the last); InvalidArgument where it cannot be read; CapacityExceeded beyond 1 GiB.
json read_document(const std::filesystem::path& path);

/// "OutOfRange" as the kind that it names [E-3].
std::optional<ErrorKind> parse_kind(const std::string& name);

/// A JSON value and where it stands: everything that is read says where it was found.
class Node {
 public:
  Node(const json& value, const std::string& file, std::string where)
      : value_(&value), file_(&file), where_(std::move(where)) {}

  [[noreturn]] void fail(std::string reason) const {
    refuse(ErrorKind::Corrupt, *file_, where_, std::move(reason));
  }
  const json& raw() const { return *value_; }
  const std::string& where() const { return where_; }

  /// Exactly these keys: all of `required`, any of `optional`.
  void keys(const std::set<std::string>& required,
            const std::set<std::string>& optional = {}) const {
    if (!value_->is_object()) fail("must be an object");
    for (const auto& [key, unused] : value_->items())
      if (!required.contains(key) && !optional.contains(key)) fail("unknown key '" + key + "'");
    for (const auto& key : required)
      if (!value_->contains(key)) fail("key '" + key + "' is missing");
  }
  bool has(const char* key) const { return value_->contains(key); }
  Node operator[](const char* key) const {
    if (!value_->is_object() || !value_->contains(key))
      fail(fmt::format("key '{}' is missing", key));
    return {value_->at(key), *file_, where_ + ": " + key};
  }
  /// The elements of an array, of exactly `size` when given.
  std::vector<Node> items(std::optional<std::size_t> size = {}) const {
    if (!value_->is_array()) fail("must be an array");
    if (size && value_->size() != *size)
      fail(fmt::format("must have {} elements, has {}", *size, value_->size()));
    std::vector<Node> nodes;
    nodes.reserve(value_->size());
    for (std::size_t i = 0; i < value_->size(); ++i)
      nodes.emplace_back((*value_)[i], *file_, where_ + "[" + std::to_string(i) + "]");
    return nodes;
  }
  std::int64_t integer(std::int64_t lo, std::int64_t hi) const {
    const bool fits =
        value_->is_number_integer() &&
        (!value_->is_number_unsigned() || value_->get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
    if (!fits || value_->get<std::int64_t>() < lo || value_->get<std::int64_t>() > hi)
      fail(fmt::format("must be an integer in {} ... {}", lo, hi));
    return value_->get<std::int64_t>();
  }
  double number() const {
    if (!value_->is_number() || !std::isfinite(value_->get<double>()))
      fail("must be a finite number");
    return value_->get<double>();
  }
  std::string string() const {
    if (!value_->is_string()) fail("must be a string");
    return value_->get<std::string>();
  }
  Triple triple() const {
    Triple t{};
    const auto nodes = items(3);
    for (std::size_t a = 0; a < 3; ++a) t[a] = nodes[a].integer(INT64_MIN, INT64_MAX);
    return t;
  }
  std::array<double, 3> numbers() const {
    std::array<double, 3> t{};
    const auto nodes = items(3);
    for (std::size_t a = 0; a < 3; ++a) t[a] = nodes[a].number();
    return t;
  }
  // Voxel lists are most of a file: read without a Node per number.
  Voxel voxel() const {
    const auto coordinate = [&](std::size_t a) {
      const json& x = (*value_)[a];
      const bool fits = x.is_number_integer() &&
                        (x.is_number_unsigned() ? x.get<std::uint64_t>() <= std::uint64_t{INT32_MAX}
                                                : x.get<std::int64_t>() >= INT32_MIN);
      if (!fits) fail("coordinates must be 32-bit integers");
      return static_cast<std::int32_t>(x.get<std::int64_t>());
    };
    if (!value_->is_array() || value_->size() != 3) fail("must be a voxel [x, y, z]");
    return {coordinate(0), coordinate(1), coordinate(2)};
  }

 private:
  const json* value_;
  const std::string* file_;
  std::string where_;
};

/// Voxels per member; in canonical order without repeats, where that is asked.
std::vector<std::vector<Voxel>> read_lists(const Node& node, bool canonical);

/// With unit maps and no names.
Batch batch_of_lists(std::vector<std::vector<Voxel>> lists);

/// What a convolution takes: target and operands, from a case whose source and parameters are read.
void read_convolution(const Node& at, Case& question);

/// What is expected of it: the answer, and of a convolution its pairs too.
void read_expected_convolution(const Node& expected, Vector& vector);

}  // namespace leafproof::oracle::vectors
