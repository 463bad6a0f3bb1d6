// The JSON form: a writer and a reader of each type of value.
#include "oracle/case_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "oracle/case_fields.h"
#include "oracle/out_of_memory.h"
#include "reference/numbers.h"

namespace leafproof::oracle {
namespace {

using namespace forms;
using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "leafproof-case";
constexpr std::int64_t kVersion = 1;

/// The fields that stand within "params", as in [F]; all of an operation's are written.
bool is_parameter(std::string_view name) {
  static const std::set<std::string_view> names{
      "factor", "operation", "lo", "hi", "kernel_size", "stride", "dilation", "transposed"};
  return names.contains(name);
}

std::string shown(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(double number) {
  if (std::isfinite(number)) return number;
  return number_text(number);
}
Json json_of(const double* numbers, std::size_t count) {
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back(json_of(numbers[i]));
  return list;
}

template <class Lists, class Item>
Json lists_of(const Lists& lists, Item item) {
  Json all = Json::array();
  for (const auto& list : lists) {
    Json& one = all.emplace_back(Json::array());
    for (const auto& element : list) one.push_back(item(element));
  }
  return all;
}

class JsonWriter {
 public:
  static constexpr bool reading = false;
  explicit JsonWriter(const Case& c) : op_(c.op) {
    json_["format"] = kFormat;
    json_["version"] = kVersion;
    json_["semantics_version"] = kSemanticsVersion;
    json_["op"] = to_string(c.op);
    if (!c.id.empty()) json_["id"] = c.id;
    if (!c.comment.empty()) json_["comment"] = c.comment;
    json_["params"] = Json::object();
  }
  std::string take() const { return json_.dump(); }

  bool present(const char* name, bool is_default) const {
    return is_parameter(name) || !is_default;
  }
  void absent(const char* name, bool is_default) const {
    if (!is_default) fail(name, to_string(op_), "must not be given: the operation takes none");
  }

  void value(const char* name, const Triple& t) { put(name, t); }
  void value(const char* name, const Op& op) { put(name, to_string(op)); }
  void value(const char* name, const bool& b) { put(name, b); }
  void value(const char* name, const Direction& d) { put(name, d == Direction::Transposed); }
  void value(const char* name, const NumberType& t) { put(name, reference::to_string(t)); }
  void value(const char* name, const Members& members) {
    put(name, lists_of(members, [](const Voxel& v) { return Json::array({v.x, v.y, v.z}); }));
  }
  void value(const char* name, const Points& points) {
    put(name, lists_of(points, [](const Point& p) { return json_of(p.data(), 3); }));
  }
  void value(const char* name, const Masks& masks) {
    put(name, lists_of(masks, [](std::uint8_t flag) { return Json(flag); }));
  }
  void value(const char* name, const forms::Maps& maps) {
    Json list = Json::array();
    for (const Map& m : maps)
      list.push_back({{"voxel_size", json_of(m.voxel_size.data(), 3)},
                      {"origin", json_of(m.origin.data(), 3)}});
    put(name, list);
  }
  void value(const char* name, const Names& names) { put(name, names); }
  void value(const char* name, const View& view) { put(name, view); }
  void value(const char* name, const Array& array) {
    put(name,
        {{"shape", array.shape}, {"values", json_of(array.values.data(), array.values.size())}});
  }

 private:
  void put(const char* name, Json json) {
    (is_parameter(name) ? json_["params"] : json_)[name] = std::move(json);
  }
  Op op_;
  Json json_;
};

// --- reading
// --------------------------------------------------------------------------------------

class JsonReader {
 public:
  static constexpr bool reading = true;
  JsonReader(Op op, const Json& json) : op_(op), json_(json), params_(json.at("params")) {}

  /// Every key must have been one of the case's.
  void finish() const {
    for (const Json* object : {&json_, &params_})
      for (const auto& [name, value] : object->items())
        if (!read_.contains({object, name})) fail(name, shown(value), "no case has such a key");
  }
  void note(const char* name) { read_.emplace(&json_, name); }

  bool present(const char* name, bool) const { return object_of(name).contains(name); }
  void absent(const char* name, bool) const {
    for (const Json* object : {&json_, &params_})
      if (object->contains(name))
        fail(name, shown(object->at(name)),
             fmt::format("must not be given: {} takes none", to_string(op_)));
  }

  void value(const char* name, Triple& t) {
    const Json& list = array_of(name, take(name), 3);
    for (std::size_t a = 0; a < 3; ++a) t[a] = integer<std::int64_t>(name, list[a]);
  }
  void value(const char* name, Op& op) {
    const Json& json = take(name);
    const auto known =
        json.is_string() ? parse_op(json.get_ref<const std::string&>()) : std::nullopt;
    if (!known) fail(name, shown(json), "must be an operation");
    op = *known;
  }
  void value(const char* name, bool& b) {
    const Json& json = take(name);
    if (!json.is_boolean()) fail(name, shown(json), "must be true or false");
    b = json.get<bool>();
  }
  void value(const char* name, Direction& d) {
    bool transposed = false;
    value(name, transposed);
    d = transposed ? Direction::Transposed : Direction::Forward;
  }
  void value(const char* name, NumberType& type) {
    const Json& json = take(name);
    for (const NumberType known :
         {NumberType::Float64, NumberType::Float32, NumberType::Float16, NumberType::Int32})
      if (json == reference::to_string(known)) {
        type = known;
        return;
      }
    fail(name, shown(json), "must be float64, float32, float16 or int32");
  }
  void value(const char* name, Members& members) {
    for (const Json& list : array_of(name, take(name))) {
      auto& member = members.emplace_back();
      for (const Json& voxel : array_of(name, list)) {
        array_of(name, voxel, 3);
        member.push_back({integer<std::int32_t>(name, voxel[0]),
                          integer<std::int32_t>(name, voxel[1]),
                          integer<std::int32_t>(name, voxel[2])});
      }
    }
  }
  void value(const char* name, Points& points) {
    for (const Json& list : array_of(name, take(name))) {
      auto& member = points.emplace_back();
      for (const Json& point : array_of(name, list)) member.push_back(three_numbers(name, point));
    }
  }
  void value(const char* name, Masks& masks) {
    for (const Json& list : array_of(name, take(name))) {
      auto& mask = masks.emplace_back();
      for (const Json& flag : array_of(name, list)) {
        const auto read = integer<std::int32_t>(name, flag);
        if (read != 0 && read != 1) fail(name, shown(flag), "must be a flag of 0 or 1");
        mask.push_back(static_cast<std::uint8_t>(read));
      }
    }
  }
  void value(const char* name, forms::Maps& maps) {
    maps.clear();
    for (const Json& map : array_of(name, take(name))) {
      if (!map.is_object() || map.size() != 2 || !map.contains("voxel_size") ||
          !map.contains("origin"))
        fail(name, shown(map), "must be an object of voxel_size and origin");
      maps.push_back({three_numbers(name, map["voxel_size"]), three_numbers(name, map["origin"])});
    }
  }
  void value(const char* name, Names& names) {
    names.clear();
    for (const Json& text : array_of(name, take(name))) {
      if (!text.is_string()) fail(name, shown(text), "must be a string");
      names.push_back(text.get<std::string>());
    }
  }
  void value(const char* name, View& view) {
    for (const Json& member : array_of(name, take(name)))
      view.push_back(integer<std::int64_t>(name, member));
  }
  void value(const char* name, Array& array) {
    const Json& json = take(name);
    if (!json.is_object() || json.size() != 2 || !json.contains("shape") ||
        !json.contains("values"))
      fail(name, shown(json), "must be an object of shape and values");
    for (const Json& n : array_of(name, json["shape"]))
      array.shape.push_back(integer<std::int64_t>(name, n));
    for (const Json& n : array_of(name, json["values"])) array.values.push_back(number(name, n));
  }

 private:
  const Json& object_of(const char* name) const { return is_parameter(name) ? params_ : json_; }
  const Json& take(const char* name) {
    const Json& object = object_of(name);
    if (!object.contains(name)) fail(name, "", "is missing");
    read_.emplace(&object, name);
    return object.at(name);
  }

  static const Json& array_of(const char* name, const Json& json, std::size_t size = SIZE_MAX) {
    if (!json.is_array()) fail(name, shown(json), "must be a list");
    if (size != SIZE_MAX && json.size() != size)
      fail(name, shown(json), fmt::format("must be a list of {}", size));
    return json;
  }
  template <class T>
  static T integer(const char* name, const Json& json) {
    const bool fits =
        json.is_number_integer() &&
        (json.is_number_unsigned()
             ? json.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<T>::max()}
             : json.get<std::int64_t>() >= std::numeric_limits<T>::min());
    if (!fits) fail(name, shown(json), fmt::format("must be an integer of {} bits", 8 * sizeof(T)));
    return static_cast<T>(json.get<std::int64_t>());
  }
  static double number(const char* name, const Json& json) {
    double parsed = 0;
    if (json.is_number()) return json.get<double>();
    const bool text = json.is_string() && parse_number(json.get_ref<const std::string&>(), parsed);
    if (!text || std::isfinite(parsed))
      fail(name, shown(json), R"(must be a number, or "inf", "-inf" or "nan")");
    return parsed;
  }
  static Point three_numbers(const char* name, const Json& json) {
    array_of(name, json, 3);
    return {number(name, json[0]), number(name, json[1]), number(name, json[2])};
  }

  Op op_;
  const Json& json_;
  const Json& params_;
  std::set<std::pair<const Json*, std::string>> read_;
};

/// Parses, refusing a key that an object has twice (the library would keep the last).
Json parse(std::string_view text) {
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      fail(parsed.get<std::string>(), "", "an object has this key twice");
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    fail("the text", fmt::format("byte {}", error.byte), "must be JSON");
  } catch (const Json::exception&) {
    fail("the text", text, "must be JSON");
  }
}

/// A key that must be there.
const Json& key(const Json& object, const char* name) {
  if (!object.is_object()) fail("the text", shown(object), "must be an object");
  if (!object.contains(name)) fail(name, "", "is missing");
  return object.at(name);
}

/// A name is any bytes, a text of JSON is not.
void check_utf8(const Case& c) {
  const auto check_names = [](const char* name, const std::optional<Batch>& batch) {
    if (!batch) return;
    for (const std::string& text : batch->names) {
      try {
        static_cast<void>(Json(text).dump());
      } catch (const Json::exception&) {
        fail(name, shown(Json(text)), "must be UTF-8 to be written as JSON");
      }
    }
  };
  check_names("source_names", c.source);
  check_names("other_names", c.other);
  check_names("target_names", c.target);
}

}  // namespace

std::string write_case_json(const Case& question) {
  return or_out_of_memory("write case", "case", [&]() -> std::string {
    check(question);
    check_utf8(question);
    JsonWriter writer(question);
    each_field(writer, question);
    return writer.take();
  });
}

Case read_case_json(std::string_view text) {
  return or_out_of_memory("read case", "case", [&]() -> Case {
    const Json json = parse(text);
    const auto only = [&](const char* name, const Json& expected) {
      if (key(json, name) != expected) fail(name, shown(json[name]), "must be " + shown(expected));
    };
    only("format", kFormat);
    only("version", kVersion);
    only("semantics_version", kSemanticsVersion);
    const Json& name = key(json, "op");
    const auto op = name.is_string() ? parse_op(name.get_ref<const std::string&>()) : std::nullopt;
    if (!op) fail("op", shown(name), "must be an operation");
    if (!key(json, "params").is_object())
      fail("params", shown(json["params"]), "must be an object");
    Case question;
    question.op = *op;
    JsonReader reader(*op, json);
    for (const char* known : {"format", "version", "semantics_version", "op", "params"})
      reader.note(known);
    for (const auto& [note, text_of] :
         {std::pair{"id", &question.id}, std::pair{"comment", &question.comment}}) {
      reader.note(note);
      if (!json.contains(note)) continue;
      if (!json[note].is_string()) fail(note, shown(json[note]), "must be a string");
      *text_of = json[note].get<std::string>();
    }
    each_field(reader, question);
    reader.finish();
    check(question);
    return question;
  });
}

}  // namespace leafproof::oracle
