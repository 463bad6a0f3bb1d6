// Laws of members and views: nothing crosses members, and a view is its own batch.
#include "oracle/compare.h"
#include "oracle/report.h"
#include "properties/arbitrary.h"
#include "properties/questions.h"
#include "properties/subject.h"

namespace leafproof::properties {
namespace {

class Batches : public Law {};

/// Any pass of [T] on a batch, with its parameters.
Case any_pass(const Batch& batch) {
  const Op op = *rc::gen::elementOf(topology_ops());
  const bool around_zero = op == Op::ErodeBox;
  Case question = ask_box(op, batch, *(around_zero ? boxes_around_zero() : boxes()));
  if (op == Op::Refine || op == Op::Coarsen) question.factor = *factors();
  if (op == Op::Prune) question.mask = *masks(batch);
  if (op == Op::Merge || op == Op::Intersect || op == Op::Subtract) {
    // Something that overlaps, of the same B: the batch itself, a little moved.
    question.other = moved(batch, {1, 0, 0});
  }
  if (op == Op::FromPoints) {
    for (auto& list : question.source.members) {
      auto& points = question.points.emplace_back();
      for (const Voxel& v : list) points.push_back({v.x * 0.5, v.y * 0.25, v.z * 2.0});
      list.clear();
    }
  }
  return question;
}

/// The same question about the listed members only, as a batch of their own.
Case rebuilt(const Case& question, const std::vector<std::int64_t>& members) {
  Case made = question;
  made.source = {};
  made.points.clear();
  if (made.mask) made.mask->clear();
  if (made.other) made.other = Batch{};
  for (const std::int64_t member : members) {
    const auto m = static_cast<std::size_t>(member);
    made.source.members.push_back(question.source.members[m]);
    made.source.maps.push_back(question.source.maps[m]);
    made.source.names.push_back(question.source.names[m]);
    if (!question.points.empty()) made.points.push_back(question.points[m]);
    if (made.mask) made.mask->push_back((*question.mask)[m]);
    if (made.other) {
      made.other->members.push_back(question.other->members[m]);
      made.other->maps.push_back(question.other->maps[m]);
      made.other->names.push_back(question.other->names[m]);
    }
  }
  return made;
}

void assert_equal(const Layout& expected, const Layout& actual) {
  const Verdict verdict = compare(expected, actual, Profile::Layout, true);
  if (!verdict.ok()) RC_FAIL(text_verdict(verdict));
}

TEST_P(Batches, AMemberAloneIsTheMemberInItsBatch) {
  const Subject run = subject();
  holds("a member built in a batch equals the member built alone [L-3]", [&] {
    const Case question = any_pass(*batches());
    const Layout together = run.layout(question);
    for (std::size_t m = 0; m < question.source.size(); ++m) {
      const Layout alone = run.layout(rebuilt(question, {static_cast<std::int64_t>(m)}));
      reference::Grid grid = together.grids.at(m);
      grid.index = 0;
      grid.count = 1;  // all but grid index and count
      const Layout cut{{grid},
                       {0, grid.byte_size},
                       {0, grid.voxel_count},
                       {0, std::uint64_t{grid.leaves.size()}}};
      assert_equal(alone, cut);
    }
  });
}

TEST_P(Batches, AViewReadsAsIfRebuilt) {
  const Subject run = subject();
  holds("a pass on a view equals the pass on the view rebuilt as a batch [T-9]", [&] {
    Batch batch = *batches();
    const auto members = *selections(batch.size());
    const Case question = any_pass(batch);
    // from_... take lists, which have no views.
    RC_PRE(question.op != Op::FromIjk && question.op != Op::FromPoints);
    const Case own = rebuilt(question, members);
    Case viewed = question;
    viewed.view = members;
    viewed.mask = own.mask;  // mask and second operand are in view order
    viewed.other = own.other;
    assert_equal(run.layout(own), run.layout(viewed));
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Batches, testing::ValuesIn(subjects()), name_of);

}  // namespace
}  // namespace leafproof::properties
