// Laws of lists, masks and set operations.
#include <algorithm>
#include <random>

#include "properties/arbitrary.h"
#include "properties/questions.h"
#include "properties/subject.h"

namespace leafproof::properties {
namespace {

class Sets : public Law {};

Batch listed(const std::vector<std::vector<Voxel>>& lists) {
  Batch raw;
  raw.members = lists;
  raw.maps.resize(lists.size());
  raw.names.resize(lists.size());
  return raw;
}

TEST_P(Sets, OrderAndRepeatsOfAListDoNotMatter) {
  const Subject run = subject();
  holds("from_ijk of a permuted list with repeats is from_ijk of the list [T-1]", [&] {
    const auto lists = *properties::lists();
    auto shuffled = lists;
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    for (auto& list : shuffled) {
      const std::size_t repeats = list.size() / 2;
      for (std::size_t row = 0; row < repeats; ++row) list.push_back(list[row]);
      std::shuffle(list.begin(), list.end(), random);
    }
    RC_ASSERT(run(ask(Op::FromIjk, listed(shuffled))) == run(ask(Op::FromIjk, listed(lists))));
  });
}

TEST_P(Sets, AListOfTheResultGivesTheResult) {
  const Subject run = subject();
  holds("from_ijk of a batch's own voxels is the batch [T-1], [G-2]", [&] {
    const Batch once = run(ask(Op::FromIjk, listed(*lists())));
    RC_ASSERT(run(ask(Op::FromIjk, once)) == once);
  });
}

TEST_P(Sets, APointAtAVoxelsCentreIsThatVoxel) {
  const Subject run = subject();
  holds("from_points of the voxels' own coordinates is from_ijk [T-1]", [&] {
    const auto lists = *properties::lists();
    Case question = ask(Op::FromPoints, listed(lists));
    for (auto& list : question.source.members) list.clear();
    for (const auto& list : lists) {
      auto& points = question.points.emplace_back();
      for (const Voxel& v : list) {
        points.push_back(
            {static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)});
      }
    }
    RC_ASSERT(run(question) == run(ask(Op::FromIjk, listed(lists))));
  });
}

TEST_P(Sets, AMaskParts) {
  const Subject run = subject();
  holds("prune(mask) and prune(not mask) part a batch in two [T-6]", [&] {
    const Batch batch = *batches();
    const Masks mask = *masks(batch);
    Masks others = mask;
    for (auto& member : others) {
      for (auto& flag : member) flag = flag == 0 ? 1 : 0;
    }
    const Batch kept = run(ask_mask(Op::Prune, batch, mask));
    const Batch left = run(ask_mask(Op::Prune, batch, others));
    RC_ASSERT(run(ask_two(Op::Merge, kept, left)) == batch);
    RC_ASSERT(run(ask_two(Op::Subtract, batch, kept)) == left);
  });
}

TEST_P(Sets, MergeIsAUnion) {
  const Subject run = subject();
  holds("merge is from_ijk of both lists; it commutes and repeats without effect [T-6]", [&] {
    const auto [a, b] = *pairs();
    std::vector<std::vector<Voxel>> lists = a.members;
    for (std::size_t m = 0; m < lists.size(); ++m) {
      lists[m].insert(lists[m].end(), b.members[m].begin(), b.members[m].end());
    }
    const Batch merged = run(ask_two(Op::Merge, a, b));
    RC_ASSERT(merged.members == run(ask(Op::FromIjk, listed(lists))).members);
    RC_ASSERT(merged.members == run(ask_two(Op::Merge, b, a)).members);
    RC_ASSERT(run(ask_two(Op::Merge, merged, b)) == merged);
    RC_ASSERT(merged.maps == a.maps);  // the first operand's [T-10]
    RC_ASSERT(merged.names == a.names);
  });
}

TEST_P(Sets, DifferencesAndIntersectionsPart) {
  const Subject run = subject();
  holds("A is (A minus B) and (A with B); A with B is A minus (A minus B) [T-6]", [&] {
    const auto [a, b] = *pairs();
    const Batch only = run(ask_two(Op::Subtract, a, b));
    const Batch both = run(ask_two(Op::Intersect, a, b));
    RC_ASSERT(run(ask_two(Op::Merge, only, both)) == a);
    RC_ASSERT(run(ask_two(Op::Subtract, a, only)) == both);
    RC_ASSERT(both.members == run(ask_two(Op::Intersect, b, a)).members);
    RC_ASSERT(run(ask_two(Op::Subtract, a, a)).members ==
              std::vector<std::vector<Voxel>>(a.size()));  // emptied, still there [T-7]
  });
}

TEST_P(Sets, WhatChangesNothingGivesTheBatch) {
  const Subject run = subject();
  holds("a mask of ones, a batch with itself and a view of all members give the batch [T-6] [T-9]",
        [&] {
          const Batch batch = *batches();
          Masks all;
          Case viewed = ask_two(Op::Merge, batch, batch);
          viewed.view.emplace();
          for (const auto& member : batch.members) {
            viewed.view->push_back(static_cast<std::int64_t>(all.size()));
            all.emplace_back(member.size(), 1);
          }
          RC_ASSERT(run(ask_mask(Op::Prune, batch, all)) == batch);
          RC_ASSERT(run(ask_two(Op::Merge, batch, batch)) == batch);
          RC_ASSERT(run(ask_two(Op::Intersect, batch, batch)) == batch);
          RC_ASSERT(run(viewed) == batch);
        });
}

INSTANTIATE_TEST_SUITE_P(Backends, Sets, testing::ValuesIn(subjects()), name_of);

}  // namespace
}  // namespace leafproof::properties
