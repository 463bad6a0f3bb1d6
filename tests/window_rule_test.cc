// Which relations a CPU gathers through windows (gpu/window_rule.h), and how large these are: the
// masks are judged by every sweep, but a window that is never taken, or too large, only costs time.
#include "gpu/window_rule.h"

#include <gtest/gtest.h>

namespace {

using leafproof::gpu::AxisRelation;
using leafproof::gpu::WindowRule;

/// Sets windows from the same relation on every axis.
bool taken(WindowRule& rule, const AxisRelation& axis) {
  const AxisRelation axes[3] = {axis, axis, axis};
  return rule.set_windows(axes);
}

TEST(WindowRule, TakesWhatFits) {
  constexpr int kMost = WindowRule::kAcross - 7;  // offsets in a row that still fit
  struct {
    AxisRelation axis;
    int across;  // 0: not taken
  } const rows[] = {
      {{1, 1, -1, 1, 3}, 10},                        // K = 3
      {{1, 1, 0, 1, 1}, 8},                          // K = 1
      {{1, 1, -3, 3, 3}, 14},                        // K = 3, D = 3
      {{1, 1, 0, 1, kMost}, 25},                     // the widest
      {{1, 1, 0, 1, kMost + 1}, 0},                  // one wider
      {{1, 1, 0, 17, 2}, 25},                        // two offsets, as far apart as may be
      {{1, 1, 0, 18, 2}, 0},                         //
      {{1, 2, 0, 1, 2}, 16},                         // S = 2
      {{1, 2, 0, 1, 10}, 24},                        //
      {{1, 2, 0, 1, 12}, 0},                         //
      {{2, 1, 0, 1, 2}, 4},                          // the transposed K = S = 2
      {{2, 1, -1, 1, 3}, 5},                         // and K = 3
      {{2, 1, 1, 1, WindowRule::kMostOffsets}, 16},  // as many as there may be
      {{1, 3, 0, 1, 3}, 0},                          // strides that windows have not
      {{2, 2, 0, 1, 2}, 0},                          //
      {{1, 1, 0, 1, WindowRule::kMostOffsets + 1}, 0},
  };
  for (const auto& [axis, across] : rows) {
    SCOPED_TRACE(testing::Message() << "factor " << axis.factor << ", stride " << axis.stride
                                    << ", " << axis.count << " offsets, step " << axis.step);
    WindowRule rule;
    ASSERT_EQ(taken(rule, axis), across != 0);
    if (across == 0) continue;
    for (const WindowRule::Window& w : rule.window) {
      EXPECT_EQ(w.across, across);
      EXPECT_EQ(w.count, axis.count);
      int end = 0;
      for (int i = 0; i < w.count; ++i) {
        EXPECT_GE(w.at[i], 0);
        EXPECT_TRUE(w.odd[i] == 0 || (w.odd[i] == 1 && axis.factor == 2));
        end = std::max(end, w.at[i] + (axis.factor == 1 ? 7 * w.stride : 3) + 1);
      }
      EXPECT_EQ(end, across);  // nothing beyond what some offset needs
    }
  }
}

}  // namespace
