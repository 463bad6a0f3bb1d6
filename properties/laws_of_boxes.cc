// Laws of dilation, dual and erosion.
#include "properties/arbitrary.h"
#include "properties/questions.h"
#include "properties/subject.h"

namespace leafproof::properties {
namespace {

class Boxes : public Law {};

Batch dilated(const Subject& run, const Batch& batch, const Box& box) {
  return run(ask_box(Op::DilateBox, batch, box));
}
Batch eroded(const Subject& run, const Batch& batch, const Box& box) {
  return run(ask_box(Op::ErodeBox, batch, box));
}
Box sum_of(const Box& a, const Box& b) {
  return {sum(a.lo, b.lo), sum(a.hi, b.hi)};
}

TEST_P(Boxes, DilationsCompose) {
  const Subject run = subject();
  holds("dilation by a, then by b, is dilation by the sum of the boxes [T-4]", [&] {
    const Batch batch = *batches();
    const Box a = *boxes();
    const Box b = *boxes();
    RC_ASSERT(dilated(run, dilated(run, batch, a), b) == dilated(run, batch, sum_of(a, b)));
  });
}

TEST_P(Boxes, ErosionsCompose) {
  const Subject run = subject();
  holds("erosion by a, then by b, is erosion by the sum of the boxes [T-5]", [&] {
    // Dilated first: an erosion of scattered voxels says nothing.
    const Batch batch = dilated(run, *batches(), {{-3, -3, -3}, {3, 3, 3}});
    const auto small = rc::gen::map(boxes_around_zero(), [](Box box) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        box.lo[axis] /= 2;
        box.hi[axis] /= 2;
      }
      return box;
    });
    const Box a = *small;
    const Box b = *small;
    RC_ASSERT(eroded(run, eroded(run, batch, a), b) == eroded(run, batch, sum_of(a, b)));
  });
}

TEST_P(Boxes, ErosionIsAdjointToDilation) {
  const Subject run = subject();
  holds("A lies in erode(B) if and only if dilate(A) lies in B [T-4], [T-5]", [&] {
    const Batch a = *batches();
    const Box box = *boxes_around_zero();
    const Batch grown = dilated(run, a, box);
    RC_ASSERT(contains(eroded(run, grown, box), a));  // B = dilate(A): it holds
    const Masks mask = *masks(grown);                 // B = some of it: it holds only where all is
    const Batch some = run(ask_mask(Op::Prune, grown, mask));
    RC_ASSERT(contains(eroded(run, some, box), a) == contains(some, grown));
    RC_ASSERT(contains(some, dilated(run, eroded(run, some, box), box)));
  });
}

TEST_P(Boxes, FollowATranslation) {
  const Subject run = subject();
  holds("dilation and erosion of S + t are those of S, moved by t [T-4], [T-5]", [&] {
    const Batch batch = dilated(run, *batches(), {{0, 0, 0}, {2, 2, 2}});
    const Box box = *boxes_around_zero();
    const Triple t = *translations();
    RC_ASSERT(dilated(run, moved(batch, t), box) == moved(dilated(run, batch, box), t));
    RC_ASSERT(eroded(run, moved(batch, t), box) == moved(eroded(run, batch, box), t));
  });
}

TEST_P(Boxes, DilationKeepsUnions) {
  const Subject run = subject();
  holds("dilation of a union is the union of the dilations [T-4], [T-6]", [&] {
    const auto [a, b] = *pairs();
    const Box box = *boxes();
    RC_ASSERT(dilated(run, run(ask_two(Op::Merge, a, b)), box) ==
              run(ask_two(Op::Merge, dilated(run, a, box), dilated(run, b, box))));
  });
}

TEST_P(Boxes, ErosionKeepsIntersections) {
  const Subject run = subject();
  holds("erosion of an intersection is the intersection of the erosions [T-5], [T-6]", [&] {
    const auto [a, b] = *pairs();
    const Box wide{{-2, -2, -2}, {2, 2, 2}};
    const Batch left = dilated(run, a, wide);
    const Batch right = dilated(run, b, wide);
    const Box box = *boxes_around_zero();
    RC_ASSERT(eroded(run, run(ask_two(Op::Intersect, left, right)), box) ==
              run(ask_two(Op::Intersect, eroded(run, left, box), eroded(run, right, box))));
  });
}

TEST_P(Boxes, ABoxOfOneVoxelMoves) {
  const Subject run = subject();
  holds("a dilation by [d, d] is a translation by d [T-4]", [&] {
    const Batch batch = *batches();
    const Triple t = *translations();
    RC_ASSERT(dilated(run, batch, {t, t}) == moved(batch, t));
  });
}

TEST_P(Boxes, DualIsTheOctantPad) {
  const Subject run = subject();
  holds("dual has the voxels of the dilation by [0,1]^3 [T-4]", [&] {
    const Batch batch = *batches();
    RC_ASSERT(run(ask(Op::Dual, batch)).members ==
              dilated(run, batch, {{0, 0, 0}, {1, 1, 1}}).members);
  });
}

TEST_P(Boxes, AxesMayBeReordered) {
  const Subject run = subject();
  holds("dilation, dual and erosion of S with its axes reordered are theirs [T-4], [T-5]", [&] {
    const Batch batch = dilated(run, *batches(), {{0, 0, 0}, {2, 2, 2}});
    const Box box = *boxes_around_zero();
    const Order order = *orders();
    const Batch other = reordered(batch, order);
    RC_ASSERT(dilated(run, other, reordered(box, order)).members ==
              reordered(dilated(run, batch, box), order).members);
    RC_ASSERT(eroded(run, other, reordered(box, order)).members ==
              reordered(eroded(run, batch, box), order).members);
    RC_ASSERT(run(ask(Op::Dual, other)).members ==
              reordered(run(ask(Op::Dual, batch)), order).members);
  });
}

TEST_P(Boxes, AreMonotone) {
  const Subject run = subject();
  holds("of a part of S, dilation, dual and erosion are a part of those of S [T-4], [T-5]", [&] {
    const Batch batch = dilated(run, *batches(), {{-1, -1, -1}, {2, 2, 2}});
    // Some of its voxels; and, since that erodes to little, what an erosion leaves of it.
    const Box box = *boxes_around_zero();
    for (const Batch& part : {some_of(batch), eroded(run, batch, {{-1, 0, 0}, {0, 0, 1}})}) {
      RC_ASSERT(contains(dilated(run, batch, box), dilated(run, part, box)));
      RC_ASSERT(contains(eroded(run, batch, box), eroded(run, part, box)));
      RC_ASSERT(contains(run(ask(Op::Dual, batch)), run(ask(Op::Dual, part))));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Boxes, testing::ValuesIn(subjects()), name_of);

}  // namespace
}  // namespace leafproof::properties
