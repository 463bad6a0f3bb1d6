// Laws of refine and coarsen.
#include "properties/arbitrary.h"
#include "properties/questions.h"
#include "properties/subject.h"

namespace leafproof::properties {
namespace {

class Scale : public Law {};

TEST_P(Scale, CoarsenUndoesRefine) {
  const Subject run = subject();
  holds("coarsen(f) after refine(f) is the identity [T-8]", [&] {
    const Batch batch = *batches();
    const Triple f = *factors();
    const Batch fine = run(ask_scale(Op::Refine, batch, f));
    RC_ASSERT(run(ask_scale(Op::Coarsen, fine, f)).members == batch.members);
  });
}

TEST_P(Scale, RefineMultipliesTheCount) {
  const Subject run = subject();
  holds("each voxel becomes f.x * f.y * f.z voxels [T-2]", [&] {
    const Batch batch = *batches();
    const Triple f = *factors();
    const Batch fine = run(ask_scale(Op::Refine, batch, f));
    RC_ASSERT(fine.size() == batch.size());
    for (std::size_t m = 0; m < batch.size(); ++m) {
      RC_ASSERT(fine.members[m].size() ==
                batch.members[m].size() * static_cast<std::size_t>(f[0] * f[1] * f[2]));
    }
  });
}

TEST_P(Scale, CoarsensCompose) {
  const Subject run = subject();
  holds("coarsen(a) then coarsen(b) is coarsen(ab) [T-8]", [&] {
    const Batch batch = *batches();
    const Triple a = *factors();
    const Triple b = *factors();
    const Batch step = run(ask_scale(Op::Coarsen, batch, a));
    RC_ASSERT(run(ask_scale(Op::Coarsen, step, b)).members ==
              run(ask_scale(Op::Coarsen, batch, product(a, b))).members);
  });
}

TEST_P(Scale, RefinesCompose) {
  const Subject run = subject();
  holds("refine(a) then refine(b) is refine(ab) [T-2]", [&] {
    const Batch batch = *rc::gen::resize(12, batches());  // up to 8^3 fine voxels for each
    const Triple a = *rc::gen::map(factors(), [](Triple t) { return Triple{t[0] % 3 + 1, 2, 1}; });
    const Triple b = *rc::gen::map(factors(), [](Triple t) { return Triple{2, t[1] % 3 + 1, 3}; });
    const Batch step = run(ask_scale(Op::Refine, batch, a));
    RC_ASSERT(run(ask_scale(Op::Refine, step, b)).members ==
              run(ask_scale(Op::Refine, batch, product(a, b))).members);
  });
}

TEST_P(Scale, RefineFollowsATranslation) {
  const Subject run = subject();
  holds("refine(f) of S + t is refine(f) of S, moved by f * t [T-2]", [&] {
    const Batch batch = *batches();
    const Triple f = *factors();
    const Triple t = *translations();
    RC_ASSERT(run(ask_scale(Op::Refine, moved(batch, t), f)).members ==
              moved(run(ask_scale(Op::Refine, batch, f)), product(f, t)).members);
  });
}

TEST_P(Scale, CoarsenFollowsATranslation) {
  const Subject run = subject();
  holds("coarsen(f) of S + f * t is coarsen(f) of S, moved by t [T-3], [L-4]", [&] {
    const Batch batch = *batches();
    const Triple f = *factors();
    const Triple t = *translations();
    RC_ASSERT(run(ask_scale(Op::Coarsen, moved(batch, product(f, t)), f)).members ==
              moved(run(ask_scale(Op::Coarsen, batch, f)), t).members);
  });
}

TEST_P(Scale, UnionsAreKept) {
  const Subject run = subject();
  holds("refine and coarsen of a union are the union of theirs [T-2], [T-3], [T-6]", [&] {
    const auto [a, b] = *pairs();
    const Triple f = *factors();
    for (const Op op : {Op::Refine, Op::Coarsen}) {
      const Batch together = run(ask_scale(op, run(ask_two(Op::Merge, a, b)), f));
      const Batch left = run(ask_scale(op, a, f));
      RC_ASSERT(together.members ==
                run(ask_two(Op::Merge, left, run(ask_scale(op, b, f)))).members);
    }
  });
}

TEST_P(Scale, MaskedRefineIsRefineOfThePruned) {
  const Subject run = subject();
  holds("refine(f) with a mask is prune(mask), then refine(f) [T-2], [T-6]", [&] {
    const Batch batch = *batches();
    const Masks mask = *masks(batch);
    const Triple f = *factors();
    Case masked = ask_mask(Op::Refine, batch, mask);
    masked.factor = f;
    RC_ASSERT(run(masked) == run(ask_scale(Op::Refine, run(ask_mask(Op::Prune, batch, mask)), f)));
  });
}

TEST_P(Scale, AxesMayBeReordered) {
  const Subject run = subject();
  holds("refine and coarsen of S with its axes reordered are theirs, reordered [T-2], [T-3]", [&] {
    const Batch batch = *batches();
    const Triple f = *factors();
    const Order order = *orders();
    for (const Op op : {Op::Refine, Op::Coarsen}) {
      RC_ASSERT(run(ask_scale(op, reordered(batch, order), reordered(f, order))).members ==
                reordered(run(ask_scale(op, batch, f)), order).members);
    }
  });
}

TEST_P(Scale, AreMonotone) {
  const Subject run = subject();
  holds("of a part of S, refine and coarsen are a part of those of S [T-2], [T-3]", [&] {
    const Batch batch = *batches();
    const Batch part = some_of(batch);
    const Triple f = *factors();
    for (const Op op : {Op::Refine, Op::Coarsen}) {
      RC_ASSERT(contains(run(ask_scale(op, batch, f)), run(ask_scale(op, part, f))));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Scale, testing::ValuesIn(subjects()), name_of);

}  // namespace
}  // namespace leafproof::properties
