// See judge.h.
#include "oracle/judge.h"

#include <new>
#include <stdexcept>

#include "oracle/compare_conv.h"
#include "oracle/layout_view.h"

namespace leafproof::oracle {

std::optional<Profile> profile_asked(const Answer& answer) {
  if (const auto* buffer = std::get_if<GridBuffer>(&answer)) return buffer->profile;
  if (const auto* map = std::get_if<KernelMapAnswer>(&answer)) return map->profile;
  if (const auto* dense = std::get_if<DenseMapAnswer>(&answer)) return dense->profile;
  if (std::holds_alternative<VoxelsAnswer>(answer)) return Profile::Topology;
  return {};
}

Verdict of_operation(Op op, Verdict verdict) {
  if (verdict.first && verdict.first->clause == "T") verdict.first->clause = clause_of(op);
  return verdict;
}

Standard::Standard(const Case& question, const Backend& reference)
    : answer_(reference.answer(question)),
      op_(question.op),
      about_maps_(question.op == Op::MapAfter || question.op == Op::FromPoints) {
  const bool maps = std::holds_alternative<Maps>(answer_);
  if (!layout() && !error() && !maps && !is_of_convolution(answer_))
    throw std::logic_error("the reference answered neither with a result nor with a refusal: " +
                           question.id);
}

Verdict Standard::judge(const Answer& actual) const {
  return of_operation(op_, compared(actual));
}

Verdict Standard::compared(const Answer& actual) const {
  if (const auto profile = profile_asked(actual))
    return compare(answer_, actual, *profile, about_maps_);
  const auto* buffer = std::get_if<GridBuffer>(&actual);
  if (std::holds_alternative<KernelMapAnswer>(actual))
    return compare(answer_, actual, Profile::Bytes, /*judge_maps=*/true);
  if (buffer == nullptr) return compare(answer_, actual, Profile::Layout, /*judge_maps=*/true);
  // Equal bytes need no reading; unequal ones are read, distrusted and explained by compare().
  if (layout() != nullptr && has_bytes_of(*buffer, *layout())) {
    Verdict verdict;
    verdict.profile = Profile::Bytes;
    verdict.members = static_cast<std::int64_t>(layout()->grids.size());
    verdict.voxels = static_cast<std::int64_t>(layout()->voxel_offsets.back());
    return verdict;
  }
  return compare(answer_, actual, Profile::Bytes);
}

Verdict verdict_of_exception(const std::exception& error) {
  Verdict verdict;
  verdict.outcome = Outcome::Different;
  verdict.differences = 1;
  verdict.compared = false;
  // A machine short of memory is no fault of an answer, and no judgement of it either.
  const auto* typed = dynamic_cast<const Error*>(&error);
  const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                      (typed != nullptr && typed->kind() == ErrorKind::OutOfMemory);
  verdict.first = Difference{};
  verdict.first->clause = memory ? "E-3" : "E-1";
  verdict.first->what = memory ? "the backend, or its judge, ran out of memory: not judged"
                               : "an exception instead of an answer";
  verdict.first->expected = "an answer, or a typed refusal";
  verdict.first->actual = error.what();
  return verdict;
}

Verdict judge(const Case& question, const Backend& reference, const Backend& backend) {
  return judge(Standard(question, reference), question, backend);
}

Verdict judge(const Standard& standard, const Case& question, const Backend& backend) {
  try {
    return standard.judge(backend.answer(question));
  } catch (const std::exception& error) {
    return verdict_of_exception(error);
  }
}

}  // namespace leafproof::oracle
