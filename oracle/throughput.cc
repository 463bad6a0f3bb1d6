// See throughput.h.
#include "oracle/throughput.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>

#include "oracle/case_text.h"
#include "oracle/choice_source.h"
#include "oracle/judge.h"
#include "oracle/shapes.h"
#include "reference/canonical_order.h"

namespace leafproof::oracle {
namespace {

constexpr const char* kFamilies[] = {"single", "pair",   "corners", "leaf",
                                     "block",  "parity", "shell",   "random"};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A family, folded into a cube of 64 voxels: inside a root tile, or around a corner of eight.
std::vector<Voxel> member(Mix mix, ChoiceSource& choices, const Shape& shape) {
  Place place;
  place.ends = false;
  place.budget = 60;
  const std::int32_t lowest = mix == Mix::OneTile ? 1024 : -32;
  std::vector<Voxel> voxels = make_member(choices, shape, place);
  for (Voxel& v : voxels) v = {(v.x & 63) + lowest, (v.y & 63) + lowest, (v.z & 63) + lowest};
  if (mix == Mix::EightTiles)
    for (int corner = 0; corner < 8; ++corner)
      voxels.push_back({corner & 1 ? 9 : -9, corner & 2 ? 9 : -9, corner & 4 ? 9 : -9});
  reference::make_canonical(voxels);
  return voxels;
}

Batch batch(Mix mix, ChoiceSource& choices, const Shape& shape) {
  Batch made;
  for (int m = 0; m < (mix == Mix::OneTile ? 1 : 3); ++m)
    made.members.push_back(member(mix, choices, shape));
  made.maps.resize(made.size());
  made.names.resize(made.size());
  return made;
}

}  // namespace

std::string_view to_string(Mix mix) {
  return mix == Mix::OneTile ? "one tile, one member" : "eight tiles, three members";
}

Case mix_case(Mix mix, std::uint64_t number) {
  const auto& ops = topology_ops();
  Case c;
  c.op = ops[number % ops.size()];
  ChoiceSource choices{static_cast<std::uint64_t>(mix), number};
  const Shape& shape = *find_shape(kFamilies[number / ops.size() % std::size(kFamilies)]);
  c.id = fmt::format("{}, case {}", to_string(mix), number);
  c.source = batch(mix, choices, shape);
  if (c.op == Op::FromPoints)
    for (auto& list : c.source.members) {
      auto& points = c.points.emplace_back();
      for (const Voxel& v : list)
        points.push_back(
            {static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)});
      list.clear();
    }
  if (c.op == Op::FromIjk)
    for (auto& list : c.source.members) choices.shuffle(list);
  if (c.op == Op::Refine || c.op == Op::Coarsen) c.factor = {2, 2, 2};
  if (c.op == Op::DilateBox) c.lo = {-1, -1, -1}, c.hi = {1, 1, 1};
  if (c.op == Op::ErodeBox) c.lo = {-1, 0, 0};
  if (c.op == Op::Prune) {
    c.mask.emplace();
    for (const auto& voxels : c.source.members) {
      auto& flags = c.mask->emplace_back(voxels.size());
      for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = i % 7 < 3;
    }
  }
  if (c.op == Op::Merge || c.op == Op::Intersect || c.op == Op::Subtract)
    c.other = batch(mix, choices, shape);
  return c;
}

Throughput measure_throughput(Mix mix, const Backend& reference, const Backend& backend,
                              double seconds, int threads) {
  std::atomic<std::uint64_t> next{0};
  const double end = now() + seconds;
  const auto work = [&] {
    Throughput t;
    double before = now();
    const auto lap = [&before](double& of) {
      const double after = now();
      of += after - before;
      before = after;
    };
    while (before < end) {
      const Case question = mix_case(mix, next++);
      lap(t.made);
      const Standard standard(question, reference);
      lap(t.reference);
      const Answer answer = backend.answer(question);
      lap(t.backend);
      const Verdict verdict = standard.judge(answer);
      lap(t.judged);
      ++t.cases;
      if (!verdict.ok())
        throw Error(ErrorKind::Corrupt, {.operation = "measure the throughput",
                                         .argument = "case",
                                         .value = write_case_text(question),
                                         .reason = "must come out equal to be worth measuring",
                                         .member = {},
                                         .row = {}});
    }
    return t;
  };
  std::vector<std::future<Throughput>> running;
  for (int i = 0; i < threads; ++i) running.push_back(std::async(std::launch::async, work));
  Throughput sum;
  sum.mix = mix;
  for (auto& one : running) {
    const Throughput t = one.get();
    sum.cases += t.cases;
    sum.made += t.made;
    sum.reference += t.reference;
    sum.backend += t.backend;
    sum.judged += t.judged;
  }
  return sum;
}

std::string text_throughput(const std::vector<Throughput>& measured, std::string_view backend) {
  std::string text = fmt::format(
      "Differential cases of {} a second of one thread, and where its time goes:\n"
      "{:<28}{:>9}{:>10}   {:>8}{:>11}{:>9}{:>8}  (us a case)\n",
      backend, "mix", "cases", "cases/s", "made", "reference", "backend", "judged");
  for (const Throughput& t : measured) {
    const double cases = static_cast<double>(std::max<std::int64_t>(1, t.cases));
    const auto micros = [&](double seconds) { return 1e6 * seconds / cases; };
    text += fmt::format("{:<28}{:>9}{:>10.0f}   {:>8.1f}{:>11.1f}{:>9.1f}{:>8.1f}\n",
                        to_string(t.mix), t.cases, cases / std::max(1e-9, t.total()),
                        micros(t.made), micros(t.reference), micros(t.backend), micros(t.judged));
  }
  return text;
}

}  // namespace leafproof::oracle
