// One member after the other, both lists in canonical order, side by side.
#include "oracle/compare_voxels.h"

#include <fmt/format.h>

#include <algorithm>

#include "oracle/compare_member.h"
#include "oracle/compare_numbers.h"
#include "oracle/window.h"
#include "reference/canonical_order.h"

namespace leafproof::oracle {
namespace {

using reference::canonical_less;
using Voxels = std::vector<Voxel>;

std::string text_at(const Voxels& voxels, std::int64_t i) {
  if (i < 0 || i >= static_cast<std::int64_t>(voxels.size())) return {};
  return to_text(voxels[static_cast<std::size_t>(i)]);
}

/// A few of both lists around their places i and j.
Window around(const Voxels& expected, std::size_t i, const Voxels& actual, std::size_t j) {
  std::vector<WindowRow> rows;
  for (std::int64_t d = -3; d <= 3; ++d) {
    const auto left = static_cast<std::int64_t>(i) + d, right = static_cast<std::int64_t>(j) + d;
    WindowRow row{fmt::format("voxel {}", left), text_at(expected, left), text_at(actual, right),
                  "", d == 0};
    if (!row.expected.empty() || !row.actual.empty()) rows.push_back(std::move(row));
  }
  return side_by_side(rows);
}

class Member {
 public:
  Member(const Voxels& expected, const Voxels& actual, std::int64_t number, Verdict& verdict)
      : expected_(expected), actual_(actual), sorted_(actual), number_(number), verdict_(verdict) {
    std::sort(sorted_.begin(), sorted_.end(), canonical_less);
  }

  void judge(bool own_order) {
    std::size_t i = 0, j = 0;
    bool differs = false;
    while (i < expected_.size() || j < sorted_.size()) {
      if (j == sorted_.size() ||
          (i < expected_.size() && canonical_less(expected_[i], sorted_[j]))) {
        ++verdict_.missing;
        note("T", "a missing voxel", expected_[i], to_text(expected_[i]), "no voxel there", i, j);
        ++i;
        differs = true;
        continue;
      }
      std::size_t end = j;
      while (end < sorted_.size() && sorted_[end] == sorted_[j]) ++end;
      const bool wanted = i < expected_.size() && expected_[i] == sorted_[j];
      if (!wanted) {
        ++verdict_.extra;
        note("T", "an extra voxel", sorted_[j], "no voxel there", to_text(sorted_[j]), i, j);
      }
      for (std::size_t again = j + 1; again < end; ++again) {
        ++verdict_.repeated;
        note("L-2", "a repeated voxel", sorted_[j], to_text(sorted_[j]),
             fmt::format("{}, {} times", to_text(sorted_[j]), end - j), i, again);
      }
      differs = differs || !wanted || end - j > 1;
      i += wanted;
      j = end;
    }
    if (!differs && !own_order) judge_order();
  }

 private:
  // Equal as sets: element by element then.
  void judge_order() {
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      if (expected_[i] == actual_[i]) continue;
      add_difference(verdict_, {.clause = "G-2",
                                .what = "the order of voxels",
                                .member = number_,
                                .coordinate = actual_[i],
                                .path = fmt::format("voxel {}", i),
                                .expected = to_text(expected_[i]),
                                .actual = to_text(actual_[i]),
                                .window = around(expected_, i, actual_, i)});
      return;
    }
  }

  void note(const char* clause, const char* what, Voxel at, std::string expected,
            std::string actual, std::size_t i, std::size_t j) {
    ++verdict_.differences;
    if (verdict_.first) return;
    verdict_.first = Difference{.clause = clause,
                                .what = what,
                                .member = number_,
                                .coordinate = at,
                                .path = fmt::format("voxel {}", i),
                                .expected = std::move(expected),
                                .actual = std::move(actual),
                                .window = around(expected_, i, sorted_, j)};
  }

  const Voxels &expected_, &actual_;
  Voxels sorted_;
  std::int64_t number_;
  Verdict& verdict_;
};

}  // namespace

void compare_voxels(const Batch& expected, const VoxelsAnswer& actual, bool judge_maps,
                    Verdict& verdict) {
  const auto count = [&](const char* clause, const char* what, std::size_t want, std::size_t have) {
    if (want != have)
      add_difference(verdict, {.clause = clause,
                               .what = what,
                               .expected = fmt::format("{}", want),
                               .actual = fmt::format("{}", have)});
  };
  count("L-2", "number of members", expected.size(), actual.members.size());
  const Voxels none;
  for (std::size_t m = 0; m < std::max(expected.size(), actual.members.size()); ++m)
    Member(m < expected.size() ? expected.members[m] : none,
           m < actual.members.size() ? actual.members[m] : none, static_cast<std::int64_t>(m),
           verdict)
        .judge(actual.own_order);
  if (!judge_maps || !actual.maps) return;
  count("G-7", "number of maps", expected.size(), actual.maps->size());
  for (std::size_t m = 0; m < std::min(expected.size(), actual.maps->size()); ++m)
    verdict.differences += compare_maps(expected.maps[m], (*actual.maps)[m],
                                        static_cast<std::int64_t>(m), verdict.first);
}

}  // namespace leafproof::oracle
