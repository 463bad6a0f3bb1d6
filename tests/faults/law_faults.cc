#include "tests/faults/law_faults.h"

#include <tuple>
#include <utility>

#include "tests/faults/mechanisms.h"
#include "tests/faults/plain.h"

namespace leafproof::faults {
namespace {

using oracle::Answer;
using oracle::Batch;

/// A fault made for a law: what a healthy backend is asked instead.
struct Bent {
  std::string_view name;
  void (*question)(Case&);
};

std::size_t voxels_of(const Case& c) {
  std::size_t voxels = 0;
  for (const auto& member : c.source.members) voxels += member.size();
  return voxels;
}

/// Of a batch of few voxels, `edit`: what depends on how many there are breaks laws of unions.
template <class Edit>
void where_few(Case& c, const Edit& edit) {
  if (voxels_of(c) <= 4) edit();
}

const std::vector<Bent>& bent() {
  static const std::vector<Bent> all{
      {"law/erosion-box-mirrored",
       [](Case& c) {
         if (c.op != Op::ErodeBox) return;
         for (std::size_t a = 0; a < 3; ++a)
           std::tie(c.lo[a], c.hi[a]) = std::pair(-c.hi[a], -c.lo[a]);
       }},
      {"law/erosion-box-too-small",
       [](Case& c) {
         if (c.op == Op::ErodeBox && c.hi[2] > 0) --c.hi[2];
       }},
      {"law/erosion-of-odd-is-none",
       [](Case& c) {
         if (c.op == Op::ErodeBox && voxels_of(c) % 2 == 1) c.lo = c.hi = {0, 0, 0};
       }},
      {"law/dilation-box-too-large",
       [](Case& c) {
         if (c.op == Op::DilateBox) ++c.hi[2];
       }},
      {"law/dilation-of-few-is-none",
       [](Case& c) {
         if (c.op == Op::DilateBox) where_few(c, [&c] { c.lo = c.hi = {0, 0, 0}; });
       }},
      {"law/dual-by-minus-one",
       [](Case& c) {
         if (c.op != Op::Dual) return;
         c.op = Op::DilateBox;
         c.lo = {-1, -1, -1};
       }},
      {"law/last-row-of-a-list-lost",
       [](Case& c) {
         if (c.op == Op::FromIjk)
           for (auto& list : c.source.members)
             if (!list.empty()) list.pop_back();
       }},
      {"law/negative-features-are-zero",
       [](Case& c) {
         for (double& x : c.operands.features.values)
           if (x < 0) x = 0;
       }},
      {"law/points-rounded-up",
       [](Case& c) {
         for (auto& list : c.points)
           for (auto& point : list) point[2] += 0.75;
       }},
      {"law/last-voxel-is-never-pruned",
       [](Case& c) {
         if (c.mask && c.op == Op::Prune)
           for (auto& flags : *c.mask)
             if (!flags.empty()) flags.back() = 1;
       }},
      {"law/mask-of-refine-inverted",
       [](Case& c) {
         if (c.mask && c.op == Op::Refine)
           for (auto& flags : *c.mask)
             for (auto& flag : flags) flag = flag == 0;
       }},
      {"law/merge-without-the-last",
       [](Case& c) {
         if (c.op == Op::Merge && c.other)
           for (auto& member : c.other->members)
             if (!member.empty()) member.pop_back();
       }},
      {"law/merge-with-itself-is-none",
       [](Case& c) {
         if (c.op == Op::Merge && c.other && c.other->members == c.source.members)
           c.op = Op::Subtract;
       }},
      {"law/intersection-is-the-source",
       [](Case& c) {
         if (c.op == Op::Intersect) c.other = c.source;
       }},
      {"law/coarsening-of-few-is-none",
       [](Case& c) {
         if (c.op == Op::Coarsen) where_few(c, [&c] { c.factor = {1, 1, 1}; });
       }},
      {"law/coarsening-by-one-more",
       [](Case& c) {
         if (c.op == Op::Coarsen && c.factor[1] > 3) ++c.factor[1];
       }},
      {"law/refining-by-one-more",
       [](Case& c) {
         if (c.op == Op::Refine && c.factor[1] > 3) ++c.factor[1];
       }},
  };
  return all;
}

class BentBackend : public oracle::Backend {
 public:
  explicit BentBackend(const Bent& bent) : bent_(bent) {}
  std::string_view name() const override { return bent_.name; }
  std::string_view description() const override { return "a fault made for a law"; }
  Answer answer(const Case& question) const override {
    Case asked = question;
    bent_.question(asked);
    return plain_answer(Fault::None, asked);
  }

 private:
  const Bent& bent_;
};

}  // namespace

std::vector<std::string> law_faults() {
  std::vector<std::string> names{"none"};
  for (const Planted& each : planted())
    if (each.ask == by_answers) names.push_back(each.name());
  for (const Bent& each : bent()) names.emplace_back(each.name);
  return names;
}

std::unique_ptr<oracle::Backend> with_law_fault(const std::string& name) {
  if (name == "none") return std::make_unique<Plain>();
  for (const Planted& each : planted())
    if (each.name() == name) return std::make_unique<Plain>(each.fault);
  for (const Bent& each : bent())
    if (each.name == name) return std::make_unique<BentBackend>(each);
  throw oracle::Error(oracle::ErrorKind::InvalidArgument, {.operation = "laws",
                                                           .argument = "fault",
                                                           .value = name,
                                                           .reason = "must be one of law_faults()",
                                                           .member = {},
                                                           .row = {}});
}

}  // namespace leafproof::faults
