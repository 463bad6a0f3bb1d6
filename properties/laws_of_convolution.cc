// Laws of the grids of a convolution: what the relation alone demands of them.
#include "oracle/compare.h"
#include "properties/arbitrary.h"
#include "properties/questions.h"
#include "properties/subject.h"

namespace leafproof::properties {
namespace {

class ConvGrids : public Law {};

Triple minus(const Triple& t) {
  return {-t[0], -t[1], -t[2]};
}

/// The fine grid moves by S times as much as the coarse one.
TEST_P(ConvGrids, FollowTranslationsOfTheStride) {
  const Subject run = subject();
  holds("conv_grid(X + S v) = conv_grid(X) + v, and the other way [K-1] [K-3] [K-4]", [&] {
    const Batch source = *batches();
    const Kernel kernel = *kernels();
    const Triple by = *translations(), fine = product(kernel.stride, by);
    RC_ASSERT(run(ask_grid(moved(source, fine), kernel, Direction::Forward)).members ==
              moved(run(ask_grid(source, kernel, Direction::Forward)), by).members);
    RC_ASSERT(run(ask_grid(moved(source, by), kernel, Direction::Transposed)).members ==
              moved(run(ask_grid(source, kernel, Direction::Transposed)), fine).members);
  });
}

TEST_P(ConvGrids, KeepUnions) {
  const Subject run = subject();
  holds("the grid of a union is the union of the grids [K-3] [K-4]", [&] {
    const auto [a, b] = *pairs();
    const Kernel kernel = *kernels();
    const Direction direction = *directions();
    const auto grid = [&](const Batch& x) { return run(ask_grid(x, kernel, direction)); };
    RC_ASSERT(grid(run(ask_two(Op::Merge, a, b))).members ==
              run(ask_two(Op::Merge, grid(a), grid(b))).members);
  });
}

TEST_P(ConvGrids, OrderAndRepeatsOfAListAreNothing) {
  const Subject run = subject();
  holds("a list turned round and repeated has the same grid [T-1] [K-3]", [&] {
    const auto once = *lists();
    const Kernel kernel = *kernels();
    const Direction direction = *directions();
    auto twice = once;
    for (std::size_t m = 0; m < once.size(); ++m) {
      twice[m].insert(twice[m].end(), once[m].rbegin(), once[m].rend());
    }
    const auto grid = [&](const std::vector<std::vector<Voxel>>& members) {
      Case listed = ask(Op::FromIjk, reference::from_ijk(members));
      listed.source.members = members;
      return run(ask_grid(run(listed), kernel, direction)).members;
    };
    RC_ASSERT(grid(once) == grid(twice));
  });
}

TEST_P(ConvGrids, ThereAndBackIsNoLess) {
  const Subject run = subject();
  holds("a coarse voxel is joined to fine ones; a fine one to coarse where K >= S at D = 1 [K-1]",
        [&] {
          const Batch source = *batches();
          Kernel kernel = *kernels();
          const auto there_and_back = [&](Direction first, Direction then) {
            return run(ask_grid(run(ask_grid(source, kernel, first)), kernel, then));
          };
          RC_ASSERT(contains(there_and_back(Direction::Transposed, Direction::Forward), source));
          kernel.dilation = {1, 1, 1};
          for (std::size_t a = 0; a < 3; ++a) {
            kernel.size[a] = std::max(kernel.size[a], kernel.stride[a]);
          }
          RC_ASSERT(contains(there_and_back(Direction::Forward, Direction::Transposed), source));
        });
}

TEST_P(ConvGrids, OddKernelsComposeAndHaveNoDirectionAtStrideOne) {
  const Subject run = subject();
  holds("S = 1, K odd: by K then by L is by K + L - 1; forward is transposed [K-1]", [&] {
    const Batch source = *dense_batches();
    Kernel first = *kernels(), second = *kernels(), both;
    for (std::size_t a = 0; a < 3; ++a) {
      first.size[a] |= 1;
      second.size[a] |= 1;
      first.stride[a] = second.stride[a] = both.stride[a] = 1;
      second.dilation[a] = both.dilation[a] = first.dilation[a];
      both.size[a] = first.size[a] + second.size[a] - 1;
    }
    const auto grid = [&](const Batch& x, const Kernel& k, Direction d) {
      return run(ask_grid(x, k, d));
    };
    const auto forward = Direction::Forward;
    RC_ASSERT(grid(grid(source, first, forward), second, forward).members ==
              grid(source, both, forward).members);
    RC_ASSERT(grid(source, first, Direction::Transposed).members ==
              grid(source, first, forward).members);
  });
}

TEST_P(ConvGrids, AreMirroredWithTheLattice) {
  const Subject run = subject();
  holds("x -> o - x of the fine side is x -> -x of the coarse, o = D(K - 1) mod 2 [K-1]", [&] {
    const Batch source = *batches();
    const Kernel kernel = *kernels();
    Triple odd;
    for (std::size_t a = 0; a < 3; ++a) odd[a] = kernel.dilation[a] * (kernel.size[a] - 1) % 2;
    const auto grid = [&](const Batch& x, Direction d) { return run(ask_grid(x, kernel, d)); };
    const Batch mirrored_fine = moved(mirrored(source), odd);
    RC_ASSERT(grid(mirrored_fine, Direction::Forward).members ==
              mirrored(grid(source, Direction::Forward)).members);
    RC_ASSERT(moved(grid(mirrored(source), Direction::Transposed), minus(odd)).members ==
              mirrored(grid(source, Direction::Transposed)).members);
  });
}

TEST_P(ConvGrids, SpecialCasesFollow) {
  const Subject run = subject();
  holds("D = 1: a scale, a box, a refined box [K-5]", [&] {
    const Batch source = *batches();
    const auto grid = [&](const Kernel& k, Direction d) {
      return run(ask_grid(source, k, d)).members;
    };
    const Triple one{1, 1, 1}, two{2, 2, 2}, three{3, 3, 3};
    const auto forward = Direction::Forward, transposed = Direction::Transposed;
    const Kernel halves{two, two, one};
    RC_ASSERT(grid(halves, forward) == run(ask_scale(Op::Coarsen, source, two)).members);
    RC_ASSERT(grid(halves, transposed) == run(ask_scale(Op::Refine, source, two)).members);
    Kernel box = *kernels();
    box.stride = box.dilation = one;
    Triple before, after;  // P, and K - 1 - P
    for (std::size_t a = 0; a < 3; ++a) {
      before[a] = (box.size[a] - 1) / 2;
      after[a] = box.size[a] - 1 - before[a];
    }
    RC_ASSERT(grid(box, forward) ==
              run(ask_box(Op::DilateBox, source, {minus(after), before})).members);
    RC_ASSERT(grid(box, transposed) ==
              run(ask_box(Op::DilateBox, source, {minus(before), after})).members);
    const Batch refined = run(ask_scale(Op::Refine, source, two));
    RC_ASSERT(grid({three, two, one}, transposed) ==
              run(ask_box(Op::DilateBox, refined, {{-1, -1, -1}, {0, 0, 0}})).members);
  });
}

TEST_P(ConvGrids, AMemberAloneIsTheMemberInItsBatch) {
  const Subject run = subject();
  holds("members do not meet; a view is its own batch [L-3] [T-9]", [&] {
    const Batch source = *batches();
    const Kernel kernel = *kernels();
    const Direction direction = *directions();
    const auto members = *selections(source.size());
    const Batch together = run(ask_grid(source, kernel, direction));
    for (std::size_t m = 0; m < source.size(); ++m) {
      const std::vector<std::int64_t> only{static_cast<std::int64_t>(m)};
      RC_ASSERT(run(ask_grid(selected(source, only), kernel, direction)).members ==
                selected(together, only).members);
    }
    Case viewed = ask_grid(source, kernel, direction);
    viewed.view = members;
    const Layout of_view = run.layout(viewed);
    const Layout rebuilt = run.layout(ask_grid(selected(source, members), kernel, direction));
    RC_ASSERT(compare(rebuilt, of_view, Profile::Layout, true).ok());
  });
}

TEST_P(ConvGrids, AxesMayBeReordered) {
  const Subject run = subject();
  holds("with the axes of X, K, S and D reordered the grid is, too [K-1] [K-3] [K-4]", [&] {
    const Batch source = *batches();
    const Kernel kernel = *kernels();
    const Direction direction = *directions();
    const Order order = *orders();
    RC_ASSERT(
        run(ask_grid(reordered(source, order), reordered(kernel, order), direction)).members ==
        reordered(run(ask_grid(source, kernel, direction)), order).members);
  });
}

TEST_P(ConvGrids, AreMonotone) {
  const Subject run = subject();
  holds("the grid of a part of X is a part of the grid of X [K-3] [K-4]", [&] {
    const Batch source = *dense_batches();
    const Batch part = some_of(source);
    const Kernel kernel = *kernels();
    const Direction direction = *directions();
    RC_ASSERT(
        contains(run(ask_grid(source, kernel, direction)), run(ask_grid(part, kernel, direction))));
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, ConvGrids, testing::ValuesIn(subjects()), name_of);

}  // namespace
}  // namespace leafproof::properties
