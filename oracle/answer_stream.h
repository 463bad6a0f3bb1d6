// Answers that come as lines in the order of their cases, judged as a backend: the end of the pipe
// `leafproof gen | yours | leafproof ver`.
#pragma once

#include <istream>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "oracle/backend.h"

namespace leafproof::oracle {

/// A case of which an answer is awaited: its number in the lines, and its `Case::id`.
struct Awaited {
  std::uint64_t number = 0;
  std::string id;
};

/// A line is "NUMBER answer1 ..." (docs/answer-format.md), or "NUMBER case1 ...", a case that was
/// echoed, which must be the one that was asked. Lines are read as they are needed. An answer that
/// is cut short, malformed, out of its place or not there is Failed; so is every case after the end
/// of the lines.
class AnswerStream : public Backend {
 public:
  /// `lines` must outlive it. Ids and numbers must be unique.
  AnswerStream(std::istream& lines, const std::vector<Awaited>& awaited, AnswerFiles files);

  std::string_view name() const override { return "answers"; }
  std::string_view description() const override { return "answers that are read"; }
  /// Of an awaited case; another is Failed.
  Answer answer(const Case& question) const override;

  /// When all cases were asked: what no case could be blamed for, one sentence each. Reads the
  /// lines to their end.
  std::vector<std::string> rest();

 private:
  struct Line {
    std::string text, echo, fault;
  };
  void read_line() const;
  void lose(std::size_t until, const std::string& why) const;
  void blame(std::string fault) const;

  std::istream& lines_;
  AnswerFiles files_;
  std::vector<std::uint64_t> numbers_;
  std::unordered_map<std::string, std::size_t> place_of_id_;
  std::unordered_map<std::uint64_t, std::size_t> place_of_number_;
  mutable std::mutex mutex_;                   // of what follows
  mutable std::map<std::size_t, Line> ready_;  // by place; those that were not asked for yet
  mutable std::size_t next_ = 0;               // the place whose answer comes next
  mutable std::uint64_t line_ = 0;
  mutable std::vector<std::string> faults_;
};

}  // namespace leafproof::oracle
