// See answer_stream.h.
#include "oracle/answer_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "oracle/answer_text.h"
#include "oracle/case_text.h"

namespace leafproof::oracle {
namespace {

constexpr std::size_t kFaults = 20;  // that are told; all are counted

}  // namespace

AnswerStream::AnswerStream(std::istream& lines, const std::vector<Awaited>& awaited,
                           AnswerFiles files)
    : lines_(lines), files_(std::move(files)) {
  for (const Awaited& one : awaited) {
    const std::size_t place = numbers_.size();
    numbers_.push_back(one.number);
    if (!place_of_id_.emplace(one.id, place).second ||
        !place_of_number_.emplace(one.number, place).second)
      throw std::logic_error(fmt::format("two cases {} \"{}\" are awaited", one.number, one.id));
  }
}

Answer AnswerStream::answer(const Case& question) const {
  const auto found = place_of_id_.find(question.id);
  if (found == place_of_id_.end()) return Failed{"no answer to this case is awaited", {}, false};
  const std::size_t place = found->second;
  Line line;
  {
    const std::lock_guard lock(mutex_);
    while (next_ <= place) read_line();
    const auto at = ready_.find(place);
    if (at == ready_.end()) return Failed{"its answer was judged before", {}, false};
    line = std::move(at->second);
    ready_.erase(at);
  }
  if (!line.fault.empty()) return Failed{line.fault, {}, false};
  const auto shown = [](std::string_view text) {
    return std::vector<std::string>{
        fmt::format("line: {}{}", text.substr(0, 200), text.size() > 200 ? "..." : "")};
  };
  if (!line.echo.empty() && line.echo != write_case_text(question))
    return Failed{"the case that came back is not the one that was asked", shown(line.echo), false};
  try {
    return read_answer_text(line.text, question, files_);
  } catch (const Error& error) {
    return Failed{fmt::format("a malformed answer: {}", error.what()), shown(line.text), false};
  }
}

/// Cases from the next one on get no answer.
void AnswerStream::lose(std::size_t until, const std::string& why) const {
  for (; next_ < std::min(until, numbers_.size()); ++next_) ready_[next_].fault = why;
}

void AnswerStream::blame(std::string fault) const {
  faults_.push_back(fmt::format("line {}: {}", line_, fault));
}

void AnswerStream::read_line() const {
  std::string text;
  if (!std::getline(lines_, text)) {
    lose(numbers_.size(), fmt::format("no answer: the lines end after line {}", line_));
    return;
  }
  ++line_;
  if (lines_.eof()) {  // no end of line: who knows what is missing
    if (next_ == numbers_.size()) blame("is cut short, and answers no case");
    lose(next_ + 1, fmt::format("no answer: line {}, the last, is cut short", line_));
    return;
  }
  std::uint64_t number = 0;
  const auto [stop, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest =
      std::string_view(text).substr(static_cast<std::size_t>(stop - text.data()));
  if (wrong != std::errc{} || !rest.starts_with(' ')) {
    blame(fmt::format("does not begin with the number of a case: {}", text.substr(0, 60)));
    return;
  }
  const auto found = place_of_number_.find(number);
  if (found == place_of_number_.end()) {
    blame(fmt::format("case {} was not asked", number));
    return;
  }
  const std::size_t place = found->second;
  const bool echoed = rest.substr(1).starts_with("case1 ");
  if (place < next_) {
    blame(fmt::format("case {} again, or out of its place: it is after case {}", number,
                      numbers_[next_ - 1]));
    return;
  }
  if (echoed) {
    ready_[place].echo = rest.substr(1);
    return;
  }
  lose(place, fmt::format("no answer in its place: line {} is of case {}", line_, number));
  ready_[place].text = rest.substr(1);
  next_ = place + 1;
}

std::vector<std::string> AnswerStream::rest() {
  const std::lock_guard lock(mutex_);
  while (lines_ && lines_.peek() != std::istream::traits_type::eof()) read_line();
  if (faults_.size() > kFaults) {
    const std::size_t more = faults_.size() - kFaults;
    faults_.resize(kFaults);
    faults_.push_back(fmt::format("and {} more lines like these", more));
  }
  return faults_;
}

}  // namespace leafproof::oracle
