// Every pass on every backend against the reference: the input is a question, decoded so that any
// bytes are one, with voxels around the boundaries of the tree. A difference is a finding.
#include <memory>
#include <vector>

#include "fuzz/batches.h"
#include "fuzz/verdict.h"
#include "reference/passes.h"

namespace leafproof::fuzz {
namespace {

using namespace oracle;

Masks masks(Bytes& input, const Batch& batch) {
  Masks made;
  for (const auto& member : batch.members) {
    auto& flags = made.emplace_back();
    for (std::size_t row = 0; row < member.size(); ++row) flags.push_back(input.choice(2) == 1);
  }
  return made;
}

Case question_from(Bytes& input) {
  Case question;
  question.op = topology_ops()[input.choice(topology_ops().size())];
  question.id = "fuzz";
  for (std::size_t axis = 0; axis < 3; ++axis) {
    question.factor[axis] = static_cast<std::int64_t>(input.choice(7));  // 0 is refused [T-11]
    question.lo[axis] = static_cast<std::int64_t>(input.choice(20)) - 10;
    question.hi[axis] = question.lo[axis] + static_cast<std::int64_t>(input.choice(12)) - 1;
  }
  const std::size_t members = input.choice(5);
  const auto raw = lists(input, members);
  question.source = reference::from_ijk(raw);
  switch (question.op) {
    case Op::FromIjk:
      question.source.members = raw;
      break;
    case Op::FromPoints:
      for (const auto& list : raw) {
        auto& points = question.points.emplace_back();
        for (const Voxel& v : list) points.push_back({v.x * 0.5, v.y * 0.25, v.z + 0.5});
      }
      for (auto& list : question.source.members) list.clear();
      break;
    case Op::Refine:
      if (input.choice(2) == 1) question.mask = masks(input, question.source);
      break;
    case Op::Prune:
      question.mask = masks(input, question.source);
      break;
    case Op::Merge:
    case Op::Intersect:
    case Op::Subtract:
      question.other = reference::from_ijk(lists(input, members));
      break;
    default:
      break;
  }
  return question;
}

void run(Bytes input) {
  static const std::vector<std::unique_ptr<Backend>> backends = [] {
    std::vector<std::unique_ptr<Backend>> made;
    for (const std::string& name : backend_names()) made.push_back(make_backend(name));
    return made;
  }();
  const Case question = question_from(input);
  const Answer expected = make_backend("reference")->answer(question);
  for (const auto& backend : backends) {
    const Answer actual = backend->answer(question);
    const bool bytes = std::holds_alternative<GridBuffer>(actual);
    demand_equal(question, *backend, expected, actual, bytes ? Profile::Bytes : Profile::Layout);
  }
}

}  // namespace
}  // namespace leafproof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  leafproof::fuzz::run(leafproof::fuzz::Bytes({data, size}));
  return 0;
}
