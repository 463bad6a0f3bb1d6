// Laws of kernel maps: which pairs of one map follow from those of another.
#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "properties/arbitrary.h"
#include "properties/questions.h"
#include "properties/subject.h"
#include "reference/kernel_map.h"

namespace leafproof::properties {
namespace {

class Maps : public Law {};

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// A pair with the voxels of its rows.
struct Edge {
  std::int64_t tap = 0, member = 0;
  Voxel source, target;
  auto key() const {
    return std::tuple(tap, member, source.x, source.y, source.z, target.x, target.y, target.z);
  }
  friend bool operator==(const Edge& a, const Edge& b) { return a.key() == b.key(); }
  friend bool operator<(const Edge& a, const Edge& b) { return a.key() < b.key(); }
};
using Edges = std::vector<Edge>;

void showValue(const Edge& edge, std::ostream& out) {
  out << "tap " << edge.tap << ", member " << edge.member << ": ";
  rc::show(edge.source, out);
  out << " -> ";
  rc::show(edge.target, out);
}

/// Of a map that is well formed, sorted.
Edges edges(const KernelMap& map, const Batch& source, const Batch& target) {
  const auto voxels = [](const Batch& batch) {
    std::vector<std::pair<std::int64_t, Voxel>> rows;
    for (std::size_t m = 0; m < batch.size(); ++m) {
      for (const Voxel& v : batch.members[m]) rows.emplace_back(m, v);
    }
    return rows;
  };
  const auto from = voxels(source), to = voxels(target);
  Edges all;
  for (std::size_t t = 0; t + 1 < map.offsets.size(); ++t) {
    for (auto i = map.offsets[t]; i < map.offsets[t + 1]; ++i) {
      const auto& [member, voxel] = from.at(at(map.gather[at(i)]));
      const auto& [same, other] = to.at(at(map.scatter[at(i)]));
      RC_ASSERT(member == same);  // nothing crosses members [L-3]
      all.push_back({static_cast<std::int64_t>(t), member, voxel, other});
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

template <class Change>
Edges changed(Edges all, const Change& change) {
  for (Edge& edge : all) change(edge);
  std::sort(all.begin(), all.end());
  return all;
}

Voxel plus(const Voxel& v, const Triple& by) {
  return {static_cast<std::int32_t>(v.x + by[0]), static_cast<std::int32_t>(v.y + by[1]),
          static_cast<std::int32_t>(v.z + by[2])};
}

Triple tap_of(const Kernel& kernel, std::int64_t number) {  // [K-2]
  return {number / (kernel.size[1] * kernel.size[2]), number / kernel.size[2] % kernel.size[1],
          number % kernel.size[2]};
}

std::int64_t taps_of(const Kernel& kernel) {
  return kernel.size[0] * kernel.size[1] * kernel.size[2];
}

/// A question about a map with a target of either policy: `target` is what it is onto.
struct Asked {
  Case question;
  Batch target;
};

Asked any_map(const Subject& run, const Batch& source) {
  Asked asked;
  const Kernel kernel = *kernels();
  const Direction direction = *directions();
  asked.question = ask_conv(Op::KernelMap, source, kernel, direction);
  const int policy = *rc::gen::inRange(0, 3);
  if (policy == 0) {
    asked.target = run(ask_grid(source, kernel, direction));  // and the question generates it
  } else {
    asked.target = policy == 1 ? *targets_near(source, kernel, direction) : source;
    asked.question.target = asked.target;
  }
  return asked;
}

TEST_P(Maps, AreWellFormed) {
  const Subject run = subject();
  holds("offsets delimit all pairs; rows are there; target rows ascend, none twice [M-2] [M-3]",
        [&] {
          const Batch source = *dense_batches();
          const auto [question, target] = any_map(run, source);
          const KernelMap map = run.map(question);
          RC_ASSERT(map.offsets.size() == at(taps_of(question.kernel)) + 1);
          RC_ASSERT(map.offsets.front() == 0);
          RC_ASSERT(map.offsets.back() == static_cast<std::int64_t>(map.gather.size()));
          RC_ASSERT(map.gather.size() == map.scatter.size());
          // Of a transposed map the order of the forward one will do: ascending source rows.
          const auto in_order = [&](const std::vector<std::int64_t>& column, std::size_t tap) {
            return std::is_sorted(column.begin() + map.offsets[tap],
                                  column.begin() + map.offsets[tap + 1], std::less_equal<>());
          };
          for (std::size_t tap = 0; tap + 1 < map.offsets.size(); ++tap) {
            RC_ASSERT(map.offsets[tap] <= map.offsets[tap + 1]);
            RC_ASSERT(in_order(map.scatter, tap) ||
                      (question.direction == Direction::Transposed && in_order(map.gather, tap)));
            for (const auto* column : {&map.gather, &map.scatter}) {
              const std::set<std::int64_t> once(column->begin() + map.offsets[tap],
                                                column->begin() + map.offsets[tap + 1]);
              RC_ASSERT(static_cast<std::int64_t>(once.size()) ==
                        map.offsets[tap + 1] - map.offsets[tap]);
              if (once.empty()) continue;
              RC_ASSERT(*once.begin() >= 0);
              RC_ASSERT(*once.rbegin() < rows_of(column == &map.gather ? source : target));
            }
          }
        });
}

TEST_P(Maps, EveryPairIsOfTheRelation) {
  const Subject run = subject();
  std::size_t pairs = 0, inputs = 0;
  holds("fine = S coarse + D t - floor(D (K - 1) / 2) [K-1] [K-2]", [&] {
    const Batch source = *dense_batches();
    const auto [question, target] = any_map(run, source);
    ++inputs;
    const Kernel& k = question.kernel;
    for (const Edge& edge : edges(run.map(question), source, target)) {
      ++pairs;
      const bool forward = question.direction == Direction::Forward;
      const Voxel &fine = forward ? edge.source : edge.target,
                  &coarse = forward ? edge.target : edge.source;
      const Triple f{fine.x, fine.y, fine.z}, c{coarse.x, coarse.y, coarse.z};
      const Triple tap = tap_of(k, edge.tap);
      for (std::size_t a = 0; a < 3; ++a) {
        // Twice as much, so that nothing is halved: the phase is the larger half rounded down.
        const std::int64_t twice = 2 * (k.stride[a] * c[a] + k.dilation[a] * tap[a] - f[a]);
        const std::int64_t wanted = k.dilation[a] * (k.size[a] - 1);
        RC_ASSERT(twice == wanted - (wanted & 1));
      }
    }
  });
  RecordProperty("pairs", std::to_string(pairs));
  EXPECT_TRUE(!in_full(inputs) || pairs > 20 * inputs)
      << "the input has too few pairs to show anything";
}

TEST_P(Maps, TheTransposedIsTheForwardSwapped) {
  const Subject run = subject();
  holds("the transposed map is the forward map of the same batches, swapped [M-1]", [&] {
    const Batch source = *dense_batches();
    auto [question, target] = any_map(run, source);
    question.target = target;
    const Edges there = edges(run.map(question), source, target);
    const bool forward = question.direction == Direction::Forward;
    const Case back = ask_map(target, source, question.kernel,
                              forward ? Direction::Transposed : Direction::Forward);
    RC_ASSERT(changed(edges(run.map(back), target, source),
                      [](Edge& e) { std::swap(e.source, e.target); }) == there);
  });
}

TEST_P(Maps, ARestrictedMapIsThePartOfTheCompleteOne) {
  const Subject run = subject();
  holds("restricted: the pairs of the complete map whose target is there [K-6]", [&] {
    const Batch source = *dense_batches();
    const Kernel kernel = *kernels();
    const Direction direction = *directions();
    const Batch complete = run(ask_grid(source, kernel, direction));
    const Batch target = *targets_near(source, kernel, direction);
    Edges all =
        edges(run.map(ask_conv(Op::KernelMap, source, kernel, direction)), source, complete);
    std::vector<std::set<std::tuple<int, int, int>>> there(target.size());
    for (std::size_t m = 0; m < target.size(); ++m) {
      for (const Voxel& v : target.members[m]) there[m].insert({v.x, v.y, v.z});
    }
    std::erase_if(all, [&](const Edge& e) {
      return !there[at(e.member)].contains({e.target.x, e.target.y, e.target.z});
    });
    RC_ASSERT(edges(run.map(ask_map(source, target, kernel, direction)), source, target) == all);
  });
}

TEST_P(Maps, ACompleteTargetHasNoRowWithoutPairs) {
  const Subject run = subject();
  holds("every target row has a pair; so has every fine row where K >= S at D = 1 [M-6]", [&] {
    const Batch source = *dense_batches();
    Kernel kernel = *kernels();
    const Direction direction = *directions();
    const auto map = [&] { return run.map(ask_conv(Op::KernelMap, source, kernel, direction)); };
    const auto coverage = reference::target_coverage(map());
    RC_ASSERT(coverage.uncovered.empty());
    kernel.dilation = {1, 1, 1};
    for (std::size_t a = 0; a < 3; ++a) {
      kernel.size[a] = std::max(kernel.size[a], kernel.stride[a]);
    }
    RC_ASSERT(reference::source_coverage(map()).uncovered.empty());
  });
}

/// A box of voxels from `low` on, `sides` long.
std::vector<Voxel> solid(const Triple& low, const Triple& sides) {
  std::vector<Voxel> all;
  for (std::int64_t x = 0; x < sides[0]; ++x) {
    for (std::int64_t y = 0; y < sides[1]; ++y) {
      for (std::int64_t z = 0; z < sides[2]; ++z) {
        all.push_back(plus(Voxel{0, 0, 0}, sum(low, {x, y, z})));
      }
    }
  }
  return all;
}

TEST_P(Maps, SolidBoxesHaveAsManyPairsAsTheyShould) {
  const Subject run = subject();
  holds("of a solid box the pairs of every tap are known in closed form [K-1] [M-6]", [&] {
    const Kernel kernel = *kernels();
    const Triple low = *translations();
    Triple times = *factors(), sides;
    for (std::size_t a = 0; a < 3; ++a) {
      times[a] = (times[a] + 1) / 2;
      sides[a] = times[a] * kernel.stride[a];
    }
    const Batch box = reference::from_ijk({solid(low, sides)});
    const auto pairs = [&](const KernelMap& map, std::int64_t tap) {
      return map.offsets.at(at(tap + 1)) - map.offsets.at(at(tap));
    };
    // The sides are multiples of S: each tap takes one residue on each axis.
    const KernelMap forward = run.map(ask_conv(Op::KernelMap, box, kernel));
    // Every coarse voxel is joined to a fine one by every tap.
    const KernelMap transposed =
        run.map(ask_conv(Op::KernelMap, box, kernel, Direction::Transposed));
    // Target = source at S = 1: what the box and the moved box share.
    Kernel dense = kernel;
    dense.stride = {1, 1, 1};
    const KernelMap same = run.map(ask_map(box, box, dense));
    for (std::int64_t number = 0; number < taps_of(kernel); ++number) {
      RC_ASSERT(pairs(forward, number) == times[0] * times[1] * times[2]);
      RC_ASSERT(pairs(transposed, number) == rows_of(box));
      const Triple tap = tap_of(kernel, number);
      std::int64_t shared = 1;
      for (std::size_t a = 0; a < 3; ++a) {
        const std::int64_t by =
            kernel.dilation[a] * tap[a] - kernel.dilation[a] * (kernel.size[a] - 1) / 2;
        shared *= std::max<std::int64_t>(0, sides[a] - std::abs(by));
      }
      RC_ASSERT(pairs(same, number) == shared);
    }
    for (const std::int64_t degree : reference::source_coverage(transposed).degrees) {
      RC_ASSERT(degree == taps_of(kernel));
    }
  });
}

TEST_P(Maps, FollowTranslationsOfTheStride) {
  const Subject run = subject();
  holds("source and target moved, by S v and v, have the same pairs [K-1]", [&] {
    const Batch source = *dense_batches();
    auto [question, target] = any_map(run, source);
    const Triple v = *translations(), sv = product(question.kernel.stride, v);
    const bool forward = question.direction == Direction::Forward;
    const Triple &of_source = forward ? sv : v, &of_target = forward ? v : sv;
    const Batch from = moved(source, of_source), to = moved(target, of_target);
    RC_ASSERT(edges(run.map(ask_map(from, to, question.kernel, question.direction)), from, to) ==
              changed(edges(run.map(question), source, target), [&](Edge& e) {
                e.source = plus(e.source, of_source);
                e.target = plus(e.target, of_target);
              }));
  });
}

TEST_P(Maps, AxesMayBeReordered) {
  const Subject run = subject();
  holds("with all axes reordered the pairs are the same, their taps reordered [K-1] [K-2]", [&] {
    const Batch source = *dense_batches();
    const auto [question, target] = any_map(run, source);
    const Order order = *orders();
    const Kernel kernel = reordered(question.kernel, order);
    const Batch from = reordered(source, order), to = reordered(target, order);
    RC_ASSERT(edges(run.map(ask_map(from, to, kernel, question.direction)), from, to) ==
              changed(edges(run.map(question), source, target), [&](Edge& e) {
                const Triple tap = reordered(tap_of(question.kernel, e.tap), order);
                e.tap = (tap[0] * kernel.size[1] + tap[1]) * kernel.size[2] + tap[2];
                e.source = reordered(e.source, order);
                e.target = reordered(e.target, order);
              }));
  });
}

TEST_P(Maps, SubmanifoldMapsAreSymmetric) {
  const Subject run = subject();
  holds(
      "tap t from a to b if and only if tap K-1-t from b to a; the middle one is the identity "
      "[M-5]",
      [&] {
        const Batch source = *dense_batches();
        Kernel kernel = *kernels();
        for (std::size_t a = 0; a < 3; ++a) {
          kernel.size[a] |= 1;
          kernel.stride[a] = 1;
        }
        const DenseMap map = run.dense(ask_conv(Op::SubmanifoldIndexMap, source, kernel));
        RC_ASSERT(map.taps == taps_of(kernel));
        RC_ASSERT(map.rows == rows_of(source));
        for (std::int64_t tap = 0; tap < map.taps; ++tap) {
          for (std::int64_t row = 0; row < map.rows; ++row) {
            const std::int64_t other = map.index[at(tap * map.rows + row)];
            RC_ASSERT(other >= -1 && other < map.rows);
            if (2 * tap == map.taps - 1) RC_ASSERT(other == row);
            if (other >= 0)
              RC_ASSERT(map.index[at((map.taps - 1 - tap) * map.rows + other)] == row);
          }
        }
      });
}

TEST_P(Maps, TheDenseFormHoldsTheSamePairs) {
  const Subject run = subject();
  holds("index[tap][target row] is the pair's source row, and -1 elsewhere [M-4]", [&] {
    const Batch source = *dense_batches();
    auto [question, target] = any_map(run, source);
    const KernelMap map = run.map(question);
    question.dense = true;
    const DenseMap dense = run.dense(question);
    RC_ASSERT(dense.taps == taps_of(question.kernel));
    RC_ASSERT(dense.rows == rows_of(target));
    std::vector<std::int64_t> index(at(dense.taps * dense.rows), -1);
    for (std::size_t t = 0; t + 1 < map.offsets.size(); ++t) {
      for (auto i = map.offsets[t]; i < map.offsets[t + 1]; ++i) {
        index.at(t * at(dense.rows) + at(map.scatter[at(i)])) = map.gather[at(i)];
      }
    }
    RC_ASSERT(dense.index == index);
  });
}

TEST_P(Maps, AMemberAloneIsTheMemberInItsBatch) {
  const Subject run = subject();
  holds("the map of a view, and of one member, is that of the batch rebuilt [L-3] [T-9]", [&] {
    const Batch source = *dense_batches();
    const auto [question, target] = any_map(run, source);
    const auto members = *selections(source.size());
    const Batch from = selected(source, members), to = selected(target, members);
    Case rebuilt = question, viewed = question;
    rebuilt.source = from;
    viewed.view = members;
    if (question.target) rebuilt.target = viewed.target = to;  // which is in view order
    const KernelMap map = run.map(rebuilt);
    RC_ASSERT(run.map(viewed) == map);
    Edges together;  // of the listed members
    const Edges all = edges(run.map(question), source, target);
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (Edge edge : all) {
        if (edge.member != members[i]) continue;
        edge.member = static_cast<std::int64_t>(i);
        together.push_back(edge);
      }
    }
    RC_ASSERT(edges(map, from, to) == changed(together, [](Edge&) {}));
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Maps, testing::ValuesIn(subjects()), name_of);

}  // namespace
}  // namespace leafproof::properties
