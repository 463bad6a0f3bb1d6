// Inside the text forms of cases and answers: how each type of value looks, and the NAME=VALUE
// words of a line (docs/case-format.md). No value has white space in it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/case_fields.h"

namespace leafproof::oracle::forms {

/// Of every tap, source and target rows.
using PairLists = std::vector<std::vector<std::array<std::int64_t, 2>>>;

/// The words of a line, between white space of any kind.
std::vector<std::string_view> words_of(std::string_view line);

/// Letters, digits and "_.-" stand for themselves, every other byte as %XX.
std::string escaped(std::string_view text);

std::string text_of(const Triple& triple);
std::string text_of(Op op);
std::string text_of(bool flag);
std::string text_of(Direction direction);  // "true": transposed
std::string text_of(NumberType type);
std::string text_of(const Members& members);
std::string text_of(const Points& points);
std::string text_of(const Masks& masks);
std::string text_of(const Maps& maps);
std::string text_of(const Names& names);
std::string text_of(const View& integers);
std::string text_of(const Array& array);
std::string text_of(const std::vector<View>& lists);  // "[0,-1,2][]"
std::string text_of(const PairLists& lists);          // "[0,1;2,1][]"

/// The fields of a line, and a reader for each type of value. All that cannot be read is one
/// Error(Corrupt) that names the field and the value.
class TextFields {
 public:
  /// Takes "name=value" words, which must outlive it. `what`: what errors say is read.
  TextFields(const char* what, std::span<const std::string_view> words);
  /// Every field must have been read.
  void finish() const;

  bool has(std::string_view name) const { return values_.contains(name); }
  /// The text of a field, which counts as read; it must be there.
  std::string_view take(std::string_view name);
  /// The Error of a field that is there.
  [[noreturn]] void refuse(std::string_view name, std::string reason) const;

  void value(const char* name, Triple& triple);
  void value(const char* name, Op& op);
  void value(const char* name, bool& flag);
  void value(const char* name, Direction& direction);
  void value(const char* name, NumberType& type);
  void value(const char* name, Members& members);
  void value(const char* name, Points& points);
  void value(const char* name, Masks& masks);
  void value(const char* name, Maps& maps);
  void value(const char* name, Names& names);
  void value(const char* name, View& integers);
  void value(const char* name, Array& array);
  void value(const char* name, std::vector<View>& lists);
  void value(const char* name, PairLists& lists);
  /// One text with its %XX decoded.
  void value(const char* name, std::string& text);

 private:
  template <class T>
  T integer(std::string_view name, std::string_view text) const;
  double number(std::string_view name, std::string_view text) const;
  Point three_numbers(std::string_view name, std::string_view text) const;
  std::string unescaped(std::string_view name, std::string_view text) const;
  template <class Take>
  void each_list(const char* name, Take take_list);  // the texts within brackets

  const char* what_;
  std::map<std::string_view, std::string_view> values_;
  std::set<std::string_view> read_;
};

}  // namespace leafproof::oracle::forms
